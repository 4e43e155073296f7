#!/usr/bin/env bats
# rollcall run: a COMMAND computes what it computes without it, whatever it is

bats_require_minimum_version 1.5.0
load service_helper
load hosts

set_up ()
{
    : "${MPI_WRITER_FORTRAN:?names mpi_writer_fortran}"
    export MPI_WRITER_FORTRAN
    setup_mpi
    cat >m.py <<'SCRIPT'
import os
from mpi4py import MPI
rank, size = MPI.COMM_WORLD.rank, MPI.COMM_WORLD.size
total = MPI.COMM_WORLD.allreduce(1)
with open(f"said.{rank}", "w") as f:
    f.write(f"rank {rank} of {size}, sum {total}\n")
MPI.Finalize()
os.environ["MPI_RANK"], os.environ["MPI_SIZE"] = str(rank), str(size)
os.execv("./mpi_capture", ["./mpi_capture"])
SCRIPT
    printf '#!/bin/bash\n: first\n"$MPI_WRITER" said ./mpi_capture\n' >script
    chmod +x script
}

teardown ()
{
    kill_all
    hosts_down
}

need_mpi4py ()
{
    /usr/bin/python3 -c 'import mpi4py' 2>/dev/null || skip "no mpi4py"
}

need_mpich ()
{
    [ -x "${MPI_WRITER_MPICH:-}" ] || skip "no MPICH to compile with"
    export MPI_WRITER_MPICH
}

# computes COMMAND...: on 4 ranks, in one world
computes ()
{
    rm -rf said.* out state
    run mpirun_run 4 -- "$@"
    expect_status 0 || return
    job_line || return
    shows "4 of 4 present" "says, all on this host" || return
    one_world 4
    equals_analyze state 4
    nothing_runs
}

@test "mpi4py: one world, without any option" {
    set_up
    need_mpi4py
    computes /usr/bin/python3 m.py
}

@test "mpi4py is confirmed by MPI itself, rank by rank" {
    local rank

    set_up
    need_mpi4py
    computes /usr/bin/python3 m.py
    for rank in 0 1 2 3; do
        says "$(run_dir)/agent.log" "event=mpi-rank rank=$rank size=4" ||
            fail "$(cat "$(run_dir)/agent.log")"
    done
}

# Level0 captures without metadata, in the directories of their wrappers: by
# themselves nobody's.
nameless_captures ()
{
    cat >mpi_capture <<'SCRIPT'
#!/bin/sh
exec "$CAPTURE_MAKER" --quiet --ranks "$MPI_SIZE" --ops 8 --level 0 \
    --no-metadata --no-groups --no-rank --only-rank "$MPI_RANK" \
    "$ROLLCALL_CAPTURE_DIR"
SCRIPT
}

verified ()
{
    sqlite3 "${1:-$DB}" \
        "SELECT group_concat(verified, ' ') FROM Roster ORDER BY rank"
}

@test "captures that give nothing to check are confirmed by MPI" {
    set_up
    nameless_captures
    run mpirun_run 4 -- sh -c '"$MPI_WRITER" said ./mpi_capture'
    expect_status 0
    shows "4 of 4 present"
    is "confirmed" "1 1 1 1" "$(verified)"
    nothing_runs
    # the same captures of processes that do not call MPI
    rm -r out state
    run mpirun_run 4 -- sh -c \
        'MPI_RANK=$RANK MPI_SIZE=$WORLD_SIZE ./mpi_capture'
    expect_status 0
    is "confirmed" "0 0 0 0" "$(verified)"
    nothing_runs
}

# A service keeps it for results that are built when the run is over.
@test "what MPI has said outlives run and aggregator" {
    set_up
    nameless_captures
    service
    run mpirun -np 3 "$ROLLCALL" run --text --job j \
        --aggregator "tcp://127.0.0.1:$PORT" -- \
        sh -c '"$MPI_WRITER" said ./mpi_capture'
    expect_status 0
    kill -KILL "$service"
    eventually gone "$service"
    run "$ROLLCALL" build --root root -o again j
    expect_status 0
    is "confirmed" "1 1 1" \
        "$(verified again/cluster_analysis_output/analysis.db)"
    run "$ROLLCALL" jobs --root root --job j
    shows "3 ranks: MPI"
    # a ledger that is made again takes it over
    sqlite3 root/ledger.db "UPDATE item SET rank=7 WHERE seq=1"
    run "$ROLLCALL" fsck aggregator --repair root
    shows "the ledger was rebuilt"
    run "$ROLLCALL" build --root root -o repaired j
    expect_status 0
    is "confirmed" "1 1 1" \
        "$(verified repaired/cluster_analysis_output/analysis.db)"
    nothing_runs
}

@test "bash -c, a script, env and nice around an MPI program: one world" {
    set_up
    computes bash -c '"$MPI_WRITER" said ./mpi_capture; exit $?'
    computes ./script
    computes env SOME=thing "$MPI_WRITER" said ./mpi_capture
    computes nice -n 1 "$MPI_WRITER" said ./mpi_capture
}

@test "MPI from Fortran: one world, confirmed" {
    set_up
    computes sh -c '"$MPI_WRITER_FORTRAN" said ./mpi_capture'
    says "$(run_dir)/agent.log" "event=mpi-rank rank=3 size=4"
}

@test "the launcher's variables stay, ours are where none were" {
    printf '#!/bin/bash\nenv | sort >env.$OMPI_COMM_WORLD_RANK\n%s\n' \
        'exec env RANK=$OMPI_COMM_WORLD_RANK ./writer' >look
    chmod +x look
    run env --default-signal WORLD_SIZE=2 MASTER_ADDR=there \
        mpirun -np 2 "$ROLLCALL" run --text -o out -- ./look
    expect_status 0
    for rank in 0 1; do
        for v in RANK=$rank LOCAL_RANK=$rank WORLD_SIZE=2 MASTER_ADDR=there \
            OMPI_COMM_WORLD_RANK=$rank OMPI_COMM_WORLD_SIZE=2; do
            grep -qxF "$v" env.$rank || fail "no $v in $(cat env.$rank)"
        done
        grep -q '^PMIX_NAMESPACE=.' env.$rank
    done
    nothing_runs
}

@test "an MPICH program under Open MPI's mpirun: 78 and a sentence" {
    set_up
    need_mpich
    run mpirun_run 2 --deadline 20s -- "$MPI_WRITER_MPICH" said ./mpi_capture
    expect_status 78
    shows "finds a world of 1, though the launcher started 2 ranks" \
        "use that library's own mpirun"
    is "times" 1 "$(grep -c "finds a world of 1" <<<"$output")"
    [ ! -e said.0 ]
    nothing_runs
    rm -rf state
    run mpirun_run 2 --deadline 20s -- bash -c '"$MPI_WRITER_MPICH" said true'
    expect_status 78
    nothing_runs
}

@test "MPICH's own mpirun: one world of its programs" {
    set_up
    need_mpich
    run mpirun.mpich -np 3 "$ROLLCALL" run --text -o out -- \
        sh -c '"$MPI_WRITER_MPICH" said ./mpi_capture'
    expect_status 0
    shows "3 of 3 present" "as MPICH says, all on this host"
    one_world 3
    says "$(run_dir)/agent.log" "event=mpi-rank rank=2 size=3"
    nothing_runs
}

@test "MPI's rank is not that of the launcher's variables: named" {
    set_up
    cat >exchanged <<'SCRIPT'
#!/bin/bash
export OMPI_COMM_WORLD_RANK=$((1 - OMPI_COMM_WORLD_RANK))
exec "$ROLLCALL" run --text -o out -- sh -c '"$MPI_WRITER" said ./mpi_capture'
SCRIPT
    chmod +x exchanged
    export ROLLCALL
    run mpirun -np 2 ./exchanged
    expect_status 1             # somebody has to look
    shows "2 of 2 present" \
        "the launcher's rank 1 is rank 0 of 2 in MPI" \
        "the launcher's rank 0 is rank 1 of 2 in MPI"
    one_world 2
    is "confirmed, by ops" "1 1" "$(verified)"
    nothing_runs
    rm -r said.* out state
    nameless_captures
    run mpirun -np 2 ./exchanged
    expect_status 1
    shows "0 of 2 present" \
        "the launcher's rank 0 is rank 1 of 2 in MPI"
    is "confirmed" "0 0" "$(verified)"
    roster_says 0 partial "is rank 1 of 2 in MPI"
    run "$ROLLCALL" query missing out
    shows "rank 1 is rank 0 of 2 in MPI" "rank 0 is rank 1 of 2 in MPI"
    nothing_runs
}

@test "--child plain: a world of 1 is warned of only" {
    set_up
    run mpirun_run 2 --deadline 20s --child plain -- sh -c \
        '"$MPI_WRITER" said ./mpi_capture'
    shows "finds a world of 1" "leave out --child plain" \
        "COMMAND does not use"
    [ -e said.0 ]
    nothing_runs
}

@test "--child plain: no variables of the launcher" {
    printf '#!/bin/sh\nenv >env.$RANK\nexec ./writer\n' >look
    chmod +x look
    run mpirun_run 2 --child plain -- ./look
    expect_status 0
    shows "2 of 2 present"
    run -1 grep -hE '^(OMPI|PMIX|ORTE|PMI|OPAL)_' env.0 env.1
    nothing_runs
}

# What a tool of MPI's profiling interface does: it is behind ours.
@test "what is preloaded stays so, and is called" {
    set_up
    : "${MPI_TOOL:?names a library that wraps MPI_Init}"
    run env LD_PRELOAD="$MPI_TOOL" mpirun -np 2 "$ROLLCALL" run --text \
        -o out -- sh -c '"$MPI_WRITER" said ./mpi_capture'
    expect_status 0
    shows "2 of 2 present"
    is "calls of the tool" 2 "$(grep -c "the tool wraps MPI_Init" <<<"$output")"
    one_world 2
    says "$(run_dir)/agent.log" "event=mpi-rank rank=1 size=2"
    nothing_runs
}

@test "a place with spaces and colons for the library" {
    set_up
    mkdir "a place: this"
    cp "$ROLLCALL_BIN"/{,lib}rollcall* "a place: this"
    ROLLCALL="$PWD/a place: this/rollcall"
    computes ./script
    says "$(run_dir)/agent.log" "event=mpi-rank rank=3 size=4"
}

@test "two runs one after the other in one launch: two jobs" {
    cat >both <<'SCRIPT'
#!/bin/sh
"$ROLLCALL" run --text -o one -- ./writer
"$ROLLCALL" run --text -o two -- ./writer
SCRIPT
    chmod +x both
    export ROLLCALL
    run mpirun -np 2 ./both
    expect_status 0
    DB=one/cluster_analysis_output/analysis.db has_rows 2
    DB=two/cluster_analysis_output/analysis.db has_rows 2
    nothing_runs
}

# ---- COMMAND is a launcher ----

# fake_torchrun [NODES]: what torchrun, msrun, deepspeed do: one child for each
# rank
fake_torchrun ()
{
    export NODES=${1:-1}
    cat >torchrun <<'SCRIPT'
#!/bin/bash
n=$1 status=0 node=${OMPI_COMM_WORLD_RANK:-$RANK}
shift
for ((i = 0; i < n; i++)); do
    env RANK=$((n * node + i)) WORLD_SIZE=$((n * NODES)) LOCAL_RANK=$i \
        LOCAL_WORLD_SIZE=$n \
        TORCHELASTIC_RUN_ID=none MASTER_ADDR=127.0.0.1 MASTER_PORT=$MASTER_PORT "$@" &
    pids+=($!)
done
for pid in "${pids[@]}"; do
    wait $pid || status=1
done
exit $status
SCRIPT
    chmod +x torchrun
}

@test "COMMAND is torchrun: the roll is over the ranks that it starts" {
    fake_torchrun
    run "$ROLLCALL" run --text -o out -- ./torchrun 4 ./writer
    expect_status 0
    job_line
    shows "4 of 4 present"
    has_rows 4
    equals_analyze state 4
    says "$(run_dir)/agent.log" "event=launcher-found rank=0 size=4"
    is "local ranks" "0 1 2 3" "$(sql "SELECT group_concat(local_rank, ' ')
        FROM (SELECT * FROM Roster ORDER BY rank)")"
    [ ! -e "$(run_dir)/told" ]
    is "marks" 4 "$(cat "$(run_dir)"/captures/rank[0-3]/.rollcall-job |
        tr -d ' ' | grep -o '"world_size":4' | wc -l)"
    nothing_runs
}

@test "COMMAND is torchrun: captures that do not say their rank" {
    fake_torchrun
    run "$ROLLCALL" run --text -o out -- ./torchrun 3 sh -c \
        'exec "$CAPTURE_MAKER" --quiet --ranks 3 --only-rank $RANK --no-rank \
            "$ROLLCALL_CAPTURE_DIR"'
    expect_status 0
    shows "3 of 3 present"
    has_rows 3
    is "captures" 3 "$(ls -d "$(run_dir)"/captures/rank[012]/*_ascend_pt | wc -l)"
    nothing_runs
}

@test "COMMAND is torchrun: a rank without a capture is named" {
    fake_torchrun
    run "$ROLLCALL" run --text -o out -- ./torchrun 4 sh -c \
        '[ $RANK -eq 2 ] || exec ./writer'
    expect_status 1
    shows "3 of 4 present"
    roster_says 2 missing "captures/rank2"
    nothing_runs
}

@test "COMMAND is torchrun, and fails: its status, the others' captures" {
    fake_torchrun
    run "$ROLLCALL" run --text -o out -- ./torchrun 3 sh -c \
        './writer; [ $RANK -ne 1 ] || exit 9'
    expect_status 1
    shows "3 of 3 present" "ended with status 1"
    nothing_runs
}

@test "COMMAND is torchrun: another agent knows the ranks, too" {
    fake_torchrun
    background "$ROLLCALL" run --text -o out -- ./torchrun 3 sh -c \
        'touch began.$RANK; until [ -e go ]; do sleep 0.05; done; exec ./writer'
    eventually test -e began.0 -a -e began.1 -a -e began.2
    # shellcheck disable=SC2046         # a number
    kill -KILL $(processes_named rollcall-agent)
    touch go
    end_of "$pid"
    expect_status 0
    shows "3 of 3 present"
    nothing_runs
}

@test "COMMAND is torchrun, and its wrapper is killed: nothing is left" {
    fake_torchrun
    background "$ROLLCALL" run --text -o out --deadline 5s -- ./torchrun 2 \
        bash -c 'touch began.$RANK; sleep 1000; :'
    eventually test -e began.0 -a -e began.1
    # not before its ranks are known
    eventually says "$(run_dir)/agent.log" "event=launcher-found"
    # shellcheck disable=SC2046         # a number
    kill -KILL $(processes_named rollcall-run)
    end_of "$pid"
    nothing_runs
}

@test "COMMAND is mpirun: the roll is over the ranks of its world" {
    set_up
    cat >said_rank <<'SCRIPT'
#!/bin/bash
echo "$RANK of $WORLD_SIZE" >given.$OMPI_COMM_WORLD_RANK
exec "$MPI_WRITER" said ./mpi_capture
SCRIPT
    chmod +x said_rank
    run "$ROLLCALL" run --text -o out -- mpirun -np 3 ./said_rank
    expect_status 0
    shows "3 of 3 present"
    one_world 3
    is "told" "2 of 3" "$(cat given.2)"
    says "$(run_dir)/agent.log" "event=mpi-rank rank=2 size=3"
    nothing_runs
}

@test "a helper that is started over fewer ranks changes nothing" {
    set_up
    run mpirun_run 2 -- sh -c '
        env -u OMPI_COMM_WORLD_SIZE mpirun -np 1 true || true
        exec ./writer'
    expect_status 0
    shows "2 of 2 present"
    nothing_runs
}

# ---- several hosts ----

set_up_hosts ()
{
    local missing

    missing=$(hosts_missing)
    [ -z "$missing" ] || skip "no simulated hosts: $missing"
    set_up
    hosts_up "$1" || return
    export ROLLCALL_STATE_DIR=$TMPDIR/state
    mkdir work
    mv writer mpi_capture m.py script work
    cd work || return
}

only_hosts_left ()
{
    only_hosts () { local p; p=($(processes)); [ ${#p[@]} -eq "$HOSTS" ]; }
    eventually only_hosts || fail "left: $(describe_processes)"
}

# bats test_tags=hosts
@test "3 hosts that share no OUT: a plain COMMAND goes on without options" {
    set_up_hosts 3
    run mpirun_hosts "$ROLLCALL" run --text -o out -- ./writer
    expect_status 0
    shows "6 of 6 present" "by MPI, since their hosts share no OUT"
    has_rows 6
    only_hosts_left
}

# bats test_tags=hosts
@test "3 hosts that share no OUT: a COMMAND that uses MPI ends with 78" {
    set_up_hosts 3
    need_mpi4py
    run mpirun_hosts "$ROLLCALL" run --text -o out --deadline 20s -- \
        /usr/bin/python3 m.py
    expect_status 78
    shows "finds a world of 1, though the launcher started 6 ranks" \
        'rollcall run --launcher "mpirun ..."'
    [ ! -e said.0 ]
    only_hosts_left
}

# bats test_tags=hosts
@test "3 hosts, mpi4py: --child mpi meets in OUT, or by --launcher" {
    set_up_hosts 3
    need_mpi4py
    run mpirun_hosts "$ROLLCALL" run --text -o out --child mpi -- \
        /usr/bin/python3 m.py
    expect_status 0
    shows "6 of 6 present" "which meet in OUT"
    one_world 6
    only_hosts_left
    rm said.*
    cat >launch <<SCRIPT
#!/bin/bash
source '$BATS_TEST_DIRNAME/hosts.bash'
HOSTS=3 TEST_DIR=$TEST_DIR mpirun_hosts "\$@"
SCRIPT
    chmod +x launch
    run ../on h0 "$ROLLCALL" run --text -o out --launcher ./launch -- \
        /usr/bin/python3 m.py
    expect_status 0
    shows "6 of 6 present"
    one_world 6
    only_hosts_left
}

# bats test_tags=hosts
@test "3 hosts, an MPI program, and no OUT that they share: refused" {
    set_up_hosts 3
    # each host has a work/out of its own
    for host in h0 h1 h2; do
        ../on $host sh -c 'mkdir -p out && mount -t tmpfs tmpfs out'
    done
    run mpirun_hosts "$ROLLCALL" run --text -o out -- "$MPI_WRITER" said \
        ./mpi_capture
    expect_status 78
    shows "OUT (out) is not visible here" "rollcall run --launcher"
    [ ! -e said.0 ]
    only_hosts_left
}

# srun --ntasks-per-node 1 ... torchrun --nnodes 2: the wrappers are nodes.
# bats test_tags=hosts
@test "2 hosts with a torchrun on each: the ranks are those of both" {
    set_up_hosts 2
    fake_torchrun 2
    cat >launch <<SCRIPT
#!/bin/bash
source '$BATS_TEST_DIRNAME/hosts.bash'
HOSTS=2 PER_HOST=1 TEST_DIR=$TEST_DIR mpirun_hosts "\$@"
SCRIPT
    chmod +x launch
    # whose names do not say a host
    run ../on h0 "$ROLLCALL" run --text -o out --launcher ./launch -- \
        ./torchrun 3 sh -c 'exec "$CAPTURE_MAKER" --quiet --ranks 6 \
            --ranks-per-host 3 --only-rank $RANK --layout renamed \
            "$ROLLCALL_CAPTURE_DIR"'
    expect_status 0
    shows "6 of 6 present"
    has_rows 6
    is "hosts" "h0 h0 h0 h1 h1 h1" "$(sql "SELECT group_concat(host, ' ') FROM
        (SELECT host FROM Roster ORDER BY rank)")"
    only_hosts_left
    rm -r out
    PER_HOST=1 run mpirun_hosts "$ROLLCALL" run --text -o out -- \
        ./torchrun 3 sh -c '[ $RANK = 1 ] || exec ./writer'
    expect_status 1
    shows "5 of 6 present"
    roster_says 1 missing "captures/rank1"
    only_hosts_left
}

# bats test_tags=hosts
@test "3 hosts that share OUT: mpi4py and plain COMMANDs, without options" {
    set_up_hosts 3
    need_mpi4py
    mkdir out
    export SHARED_FS=$PWD/out
    preloads rollcall-run "${SHARED_FS_LIBRARY:?names shared_fs}"
    run mpirun_hosts "$ROLLCALL" run --text -o out -- /usr/bin/python3 m.py
    expect_status 0
    shows "6 of 6 present" "which meet in OUT; MPI is left to COMMAND"
    one_world 6
    only_hosts_left
    run mpirun_hosts "$ROLLCALL" run --text -o out -- ./writer
    expect_status 0
    shows "6 of 6 present" "which meet in OUT"
    is "left in OUT" "cluster_analysis_output" "$(ls -A out)"
    only_hosts_left
}

# ---- one rank of a launch, of which the others are nowhere ----

# rank_1_alone: of two hosts, says Open MPI
rank_1_alone ()
{
    run env "PMIX_NAMESPACE=$TEST_DIR" OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=2 \
        OMPI_COMM_WORLD_LOCAL_RANK=0 OMPI_COMM_WORLD_LOCAL_SIZE=1 \
        "$ROLLCALL" run --text -o "${1:-out}" -- "$MPI_WRITER" said true
}

sees_the_machine ()
{
    [ "$(cat /proc/2/comm 2>/dev/null)" = kthreadd ] &&
        [ ! -e /proc/net/rpc/nfsd ] &&
        [[ "$(stat -f -c %T "$TEST_DIR")" =~ ^(ext2|xfs|btrfs|tmpfs|overlay) ]]
}

@test "OUT on a local disk, and rank 0 on another machine: refused soon" {
    set_up
    sees_the_machine || skip "not all processes of the machine are seen"
    rank_1_alone
    expect_status 78
    shows "OUT (out) is not visible here (it is on " \
        "and rank 0 on another machine)" "rollcall run --launcher"
    nothing_runs
}

# Hosts that one machine only plays, and containers of one machine.
@test "OUT on a local disk, and rank 0 may be here: it has its time" {
    set_up
    env "PMIX_NAMESPACE=$TEST_DIR" OMPI_COMM_WORLD_RANK=0 sleep 300 3>&- &
    rank_1_alone
    expect_status 78
    shows "OUT (out) is not visible here"
    [[ "$output" != *"another machine"* ]] || fail "$output"
    kill %1
    wait %1 || true
    nothing_runs
}
