#!/usr/bin/env bats
# rollcall run with a COMMAND that is an MPI program itself

load service_helper

@test "an MPI program is told from others by itself: one world of 8" {
    setup_mpi
    run mpirun_run 8 -- "$MPI_WRITER" said ./mpi_capture
    expect_status 0
    job_line
    shows "8 of 8 present"
    one_world 8
    equals_analyze state 8
    is "left in OUT" "cluster_analysis_output" "$(ls -A out)"
    is "left beside the job" "$(job)" "$(ls "$ROLLCALL_STATE_DIR")"
    nothing_runs
}

# A socket takes 24 messages at once: a host of more ranks than that was waited
# for until the deadline.
@test "a host of 30 ranks: all of them report, and the run is over at once" {
    run mpirun_run 30 --deadline 50s -- true
    expect_status 65
    shows "0 of 30 present"
    ! [[ "$output" == *"deadline"* ]] || fail "$output"
    nothing_runs
}

@test "--child mpi: a script that runs an MPI program" {
    setup_mpi
    printf '#!/bin/sh\nexec "$MPI_WRITER" said ./mpi_capture\n' >script
    chmod +x script
    run mpirun_run 4 --child mpi -- ./script
    expect_status 0
    shows "4 of 4 present"
    one_world 4
    nothing_runs
}

@test "--child plain: an MPI program would be a world of its own" {
    setup_mpi
    run mpirun_run 2 --child plain -- "$MPI_WRITER" said ./mpi_capture
    # whatever comes of it, it is over and nothing is left
    nothing_runs
}

@test "--launcher: the front end starts mpirun" {
    setup_mpi
    run "$ROLLCALL" run --text -o out --launcher "mpirun -np 8" -- \
        "$MPI_WRITER" said ./mpi_capture
    expect_status 0
    job_line
    shows "8 of 8 present"
    one_world 8
    equals_analyze state 8
    nothing_runs
}

@test "--launcher with a COMMAND that is not an MPI program" {
    run "$ROLLCALL" run --text -o out --launcher "mpirun -np 3" -- ./writer
    expect_status 0
    shows "3 of 3 present"
    nothing_runs
}

# one_master N: all COMMANDs were told the same place on this host
one_master ()
{
    is "answers" "$1" "$(cat met.* | wc -l)"
    is "places" 1 "$(sort -u met.* | wc -l)"
    [[ "$(cat met.0)" =~ ^127\.0\.0\.1\ [1-9][0-9]*$ ]] ||
        fail "rank 0 was told: $(cat met.0)"
}

meet='echo "$MASTER_ADDR $MASTER_PORT" >met.$RANK; exec ./writer'

# What torch.distributed needs; without it each rank ended at once.
@test "--launcher: ranks of one host are told where to meet" {
    run "$ROLLCALL" run --text --launcher "mpirun -np 3" -o out -- \
        sh -c "$meet"
    expect_status 0
    one_master 3
    # who says it himself has it so
    run env MASTER_ADDR=localhost MASTER_PORT=4711 "$ROLLCALL" run --text \
        --launcher "mpirun -np 2" -o out2 -- sh -c "$meet"
    expect_status 0
    is "own" "localhost 4711" "$(sort -u met.0 met.1)"
    nothing_runs
}

@test "--aggregator: ranks of one host are told where to meet" {
    service
    run mpirun -np 3 "$ROLLCALL" run --text --job j \
        --aggregator "tcp://127.0.0.1:$PORT" -- sh -c "$meet"
    expect_status 0
    one_master 3
    eventually captures_are 3
    stop_service
}

# It was ignored: captures went where nobody had asked for.
@test "--launcher: it has its own aggregator, and takes no other" {
    run "$ROLLCALL" run --launcher "mpirun -np 2" --job j -o out \
        --aggregator tcp://127.0.0.1:5555 -- true
    expect_status 2
    [[ "$output" == *"--launcher starts an aggregator of its own"* ]]
    run "$ROLLCALL" run --launcher "mpirun -np 2" --job j -o out \
        --aggregators tcp://127.0.0.1:5555 -- true
    expect_status 2
    [[ "$output" == *"rollcall run --aggregators"* ]]
}

@test "--launcher: every option is handed on, or is the front end's own" {
    local name said

    printf '#!/bin/sh\nprintf "%%s\\n" "$@" >handed\n' >launch
    chmod +x launch
    # all that there are; without --interface the name of one would be needed
    run "$ROLLCALL" run --launcher ./launch -o out --text --port 20000-30000 \
        --watch a --watch b --deadline 5s --quiet-period 1.5s --child auto \
        --raw --owner --release never --max-rate 1MB --expect-bytes 1kB --insecure \
        --state "$TEST_DIR/state" --job j --analyse-with /bin/false \
        --analyse-jobs 2 --analyse-timeout 1m --analyse-memory 1GB \
        --analyse-processes 2 --analyse-export db --analyse-steps 1-3 \
        --only analysis.db --foreign-output -- true
    expect_status 69
    for name in $("$ROLLCALL_BIN/rollcall-run" --help-names); do
        said=$(grep -cxF -- "$name" handed || true)
        case $name in
        --out | --launcher | --interface | --port | --json | --text | --help | \
            --finish | --aggregators | --spread | --copies | --away)
            is "$name" 0 "$said" ;;
        --watch)
            is "$name" 2 "$said" ;;
        *)  is "$name" 1 "$said" ;;
        esac
    done
    after () { grep -A 1 -xF -- "$1" handed | tail -n 1; }
    is "release" never "$(after --release)"
    is "rate" 1000000 "$(after --max-rate)"
    is "bytes" 1000 "$(after --expect-bytes)"
    is "quiet" 1.500000000s "$(after --quiet-period)"
    is "job" j "$(after --job)"
}

@test "--launcher --release never: what was delivered stays on the nodes" {
    run "$ROLLCALL" run --text -o out --launcher "mpirun -np 2" --raw \
        --release never -- ./writer
    expect_status 0
    is "captures" 2 "$(find "$(run_dir)/captures" -name '*_ascend_pt' | wc -l)"
    is "delivered" 2 "$(find out/captures -name '*_ascend_pt' | wc -l)"
    nothing_runs
}

@test "a failing MPI program: its status, its rank, the others' captures" {
    setup_mpi
    cat >fails <<'SCRIPT'
#!/bin/sh
./mpi_capture
[ "$MPI_RANK" -ne 1 ] || exit 5
exec sleep 1000
SCRIPT
    chmod +x fails
    run mpirun_run 4 --deadline 20s -- "$MPI_WRITER" said ./fails
    expect_status 5
    shows "rank 1: ended with status 5"
    roster_says 1 present "COMMAND ended with status 5"
    nothing_runs
}

@test "--launcher with a failing MPI program" {
    setup_mpi
    printf '#!/bin/sh\n./mpi_capture\n[ $MPI_RANK -ne 1 ] || exit 6\n' >fails
    chmod +x fails
    run "$ROLLCALL" run --text -o out --launcher "mpirun -np 2" -- \
        "$MPI_WRITER" said ./fails
    expect_status 6
    shows "rank 1: ended with status 6"
    roster_says 1 present "COMMAND ended with status 6"
    nothing_runs
}

@test "a launcher that cannot start: its status, and nothing is left" {
    run "$ROLLCALL" run -o out --launcher "no-such-launcher -np 2" -- true
    expect_status 127
    shows "no rank has reported" "no-such-launcher"
    nothing_runs
    run "$ROLLCALL" run -o out --launcher "sh -c 'exit 9'" -- true
    expect_status 9
    shows "no rank has reported"
    nothing_runs
    # without results neither "all are present" nor "some are not" is true
    for launcher in true false; do
        run "$ROLLCALL" run -o out --launcher "$launcher" -- true
        expect_status 69
        shows "no rank has reported"
        nothing_runs
    done
}

# It would end after a minute without anybody, and what is delivered later would
# come too late: test_aggregator_run shows that it waits for this pipe.
@test "--launcher: its end is told to the aggregator, also to a second one" {
    local first=none

    # another aggregator than the first, with a pipe
    waits_for_launcher ()
    {
        another=$(processes_named rollcall-aggregator)
        [ "$another" != "$first" ] &&
            [[ $(readlink "/proc/$another/fd/4") == pipe:* ]]
    }
    mkfifo go
    printf '#!/bin/sh\nread -r _ <go\nexec "$@"\n' >queue
    chmod +x queue
    "$ROLLCALL" run --text -o out --launcher "./queue mpirun -np 2" -- \
        ./writer >log 2>&1 3>&- &
    pid=$!
    eventually waits_for_launcher
    first=$another
    kill -KILL "$first"
    eventually waits_for_launcher
    echo >go
    end_of "$pid"
    expect_status 0
    shows "2 of 2 present"
    nothing_runs
}

@test "--launcher: the aggregator is killed, another goes on" {
    setup_mpi
    printf '#!/bin/sh\n>began.$MPI_RANK\n
            until [ -e go ]; do sleep 0.05; done\nexec ./mpi_capture\n' >waits
    chmod +x waits
    "$ROLLCALL" run --text -o out --launcher "mpirun -np 2" -- \
        "$MPI_WRITER" said ./waits >log 2>&1 3>&- &
    pid=$!
    eventually test -e began.0 -a -e began.1
    kill -KILL "$(processes_named rollcall-aggregator)"
    touch go
    end_of "$pid"
    expect_status 0
    shows "2 of 2 present"
    nothing_runs
}

@test "--launcher: SIGTERM to the front end ends the run" {
    setup_mpi
    printf '#!/bin/sh\n>began.$MPI_RANK\nexec sleep 1000\n' >waits
    chmod +x waits
    "$ROLLCALL" run --text -o out --deadline 5s \
        --launcher "mpirun -np 2" -- "$MPI_WRITER" said ./waits \
        >log 2>&1 3>&- &
    pid=$!
    eventually test -e began.0 -a -e began.1
    kill -TERM "$pid"
    end_of "$pid"
    [ "$status" -ne 0 ]
    nothing_runs
}
