#!/usr/bin/env bats
# rollcall run: what becomes of the captures of a parallel job

bats_require_minimum_version 1.5.0
load run_helper

@test "without a launcher: a world of 1" {
    run "$ROLLCALL" run --text -o out -- ./writer
    expect_status 0
    job_line
    shows "1 of 1 present"
    equals_analyze state 1
    has_rows 1
    nothing_runs
}

@test "8 ranks: the rows are those of analyze on the same captures" {
    run mpirun_run 8 -- ./writer
    expect_status 0
    job_line
    shows "8 of 8 present"
    equals_analyze state 8
    has_rows 8
    is "ranks with memory" 8 \
        "$(sql "SELECT count(DISTINCT rank) FROM MemoryPeak")"
    is "ranks with kernels" 8 \
        "$(sql "SELECT count(DISTINCT rank) FROM KernelDetail")"
    is "rows" 1 "$(sql "SELECT count(*) > 1000 FROM (SELECT rank FROM
                        CommAnalyzerTime UNION ALL SELECT rank FROM
                        CommAnalyzerBandwidth UNION ALL SELECT rank FROM
                        CommAnalyzerMatrix)")"
    nothing_runs
}

@test "a complete run leaves its captures, its result and its logs only" {
    local left

    run mpirun_run 2 -- ./writer
    expect_status 0
    nothing_runs
    # where the path of the programs has a blank, a link to the library
    left=$(cd "$(run_dir)" && find . -maxdepth 1 -mindepth 1 \
        ! -name librollcall_world.so | sort)
    is "left in the run's directory" \
        "$(printf './%s\n' agent.log agent.over aggregator.json \
            aggregator.log captures joined result.json run.json | sort)" "$left"
    is "left beside it" "$(job)" "$(ls "$ROLLCALL_STATE_DIR")"
    is "left in OUT" "cluster_analysis_output" "$(ls -A out)"
}

@test "a result says who started the job, with what, under which scheduler" {
    SLURM_JOB_ID=4711 run "$ROLLCALL" run --text -o out -- sh -c \
        ./writer sh --token=abc
    expect_status 0
    is "who" "4711 $(id -un)" "$(sql "SELECT group_concat(value, ' ') FROM
        (SELECT value FROM Job WHERE key IN ('scheduler_id', 'user')
         ORDER BY key)")"
    is "command" "sh -c ./writer sh --token= (not shown)" \
        "$(sql "SELECT value FROM Job WHERE key='command'")"
}

@test "--only of a run says which files it leaves, all are named" {
    run mpirun_run 2 --only analysis.db -- ./writer
    expect_status 0
    is "files" analysis.db "$(ls -A out/cluster_analysis_output)"
    run mpirun_run 2 --only text -- ./writer
    expect_status 0
    shows "out/cluster_analysis_output/cluster_analysis.db (" \
        "out/cluster_analysis_output/cluster_step_trace_time.csv ("
    is "files" 6 "$(find out/cluster_analysis_output -type f | wc -l)"
    run "$ROLLCALL" run --only report.doc -- true
    expect_status 2
    shows "report.doc"
}

@test "COMMAND that exits with 3 on one rank: status 3, the rank is named" {
    cat >fails <<'SCRIPT'
#!/bin/sh
[ "$RANK" -ne 2 ] || { ./writer; exit 3; }
./writer
touch wrote.$RANK
exec sleep 1000
SCRIPT
    chmod +x fails
    run mpirun_run 4 --deadline 120s -- ./fails
    expect_status 3
    shows "rank 2: ended with status 3" \
        "of 3 ranks: rollcall ended it, since rank 2 failed"
    roster_says 2 present "COMMAND ended with status 3"
    # those that had written by then are there
    for rank in 0 1 3; do
        [ ! -e wrote.$rank ] || roster_says $rank present "" || return
    done
    is "in time" 1 "$((SECONDS < 100))"
    is "how they ended" "|3||15|" "|$(sql "SELECT command_status || '||' FROM
        Roster WHERE rank=2")$(sql "SELECT command_signal FROM Roster WHERE
        rank<>2 GROUP BY 1")|"
    # query missing has only ranks that are not present, and this one is
    "$ROLLCALL" query --csv ends "$DB" | tr -d '\r' >ends.csv
    is "the first of query ends" "2,3,,present" \
        "$(sed -n 2p ends.csv | cut -d , -f 1,3,4,6)"
    is "ranks that were ended" 3 "$(grep -cE \
        '^[013],[^,]*,,15,20[0-9-]+T[0-9:]+Z,' ends.csv)"
    nothing_runs
}

@test "why COMMAND failed is said once, and a pipe gets text" {
    run "$ROLLCALL" run -o out -- sh -c 'exit 4'
    expect_status 4
    is "lines" 1 "$(grep -c "COMMAND ended with status 4" <<<"$output")"
    shows "  rank 0: COMMAND ended with status 4"
    run "$ROLLCALL" run -o out -- sh -c './writer; exit 5'
    expect_status 5
    is "lines" 1 "$(grep -c "ended with status 5" <<<"$output")"
    shows "COMMAND       rank 0: ended with status 5"
    [[ "$output" != *event=* ]] || fail "$output"
    nothing_runs
}

@test "COMMAND that is killed by a signal: 128 + n, and the signal's name" {
    run mpirun_run 2 -- sh -c './writer; [ $RANK -ne 1 ] || kill -KILL $$'
    expect_status 137
    shows "rank 1: was killed by signal 9 (Killed)"
    roster_says 1 present "signal 9"
    nothing_runs
}

@test "COMMAND that does not exist: 127" {
    run mpirun_run 2 -- ./no-such-program
    expect_status 127
    shows "cannot run ./no-such-program: No such file"
    nothing_runs
    # and one that may not be run
    touch plain-file
    rm -rf state
    run "$ROLLCALL" run --text -o out -- ./plain-file
    expect_status 126
    shows "cannot run ./plain-file: Permission denied"
    nothing_runs
}

@test "a rank that writes no capture is named, with the place and the reason" {
    run mpirun_run 3 -- sh -c '[ $RANK -eq 1 ] || ./writer'
    expect_status 1
    shows "2 of 3 present"
    roster_says 1 missing "it wrote no capture below"
    roster_says 1 missing "captures/rank1"
    nothing_runs
}

@test "nobody writes a capture: 65, and each rank is named" {
    run mpirun_run 2 -- true
    expect_status 65
    roster_says 0 missing "it wrote no capture below"
    roster_says 1 missing "it wrote no capture below"
    nothing_runs
}

# A typo in COMMAND must not cost the result of the run before, of which the
# captures may be gone; and what fails again and again keeps one copy only.
@test "a run without any rows keeps the result that was there" {
    local d=out/cluster_analysis_output page rows

    run mpirun_run 2 -- ./writer
    expect_status 0
    rows=$(sql "SELECT count(*) FROM StepTraceTime")
    page=$(cksum <$d/report.html)
    run mpirun_run 2 -- ./wrtier
    expect_status 127
    shows "analysis.db.before-rollcall (it was there before)"
    is "rows" "$rows" "$(sqlite3 $d/analysis.db.before-rollcall \
                         "SELECT count(*) FROM StepTraceTime")"
    is "page" "$page" "$(cksum <$d/report.html.before-rollcall)"
    roster_says 0 missing "status 127"
    run mpirun_run 2 -- true
    expect_status 65
    is "copies" 1 "$(ls $d | grep -c '^analysis.db.before')"
    run mpirun_run 2 -- ./writer
    expect_status 0
    is "copies" 1 "$(ls $d | grep -c '^analysis.db.before')"
    is "rows" "$rows" "$(sql "SELECT count(*) FROM StepTraceTime")"
    nothing_runs
}

@test "captures in the working directory" {
    run mpirun_run 2 -- ./writer .
    expect_status 0
    shows "2 of 2 present"
    nothing_runs
}

# It is where raw files of the result come to be, too: COMMAND's captures there,
# one that is moved at the end and one that is written then, are no result.
@test "captures that COMMAND leaves in OUT/captures at its end" {
    local raw

    sealed_script
    cat >leaves <<'SCRIPT'
#!/bin/sh
step () { "$CAPTURE_MAKER" --quiet --ranks 1 --steps 1 --first-step $1 --seed $1 $2; }
step 1 early
./sealed 1
mkdir captures
mv early/* captures
step 2 captures/late
SCRIPT
    chmod +x leaves
    for raw in --text --raw; do
        rm -rf state captures early
        run timeout 120 "$ROLLCALL" run "$raw" --quiet-period 0.2s -- ./leaves
        expect_status 0
        is "steps with $raw" 2 "$(sql "SELECT count(DISTINCT step) FROM
            StepTraceTime" cluster_analysis_output/analysis.db)"
    done
    nothing_runs
}

# The agent that another one follows does not take the result's copies for
# COMMAND's captures: one would be in the result twice, or hold it up.
@test "an agent dies while OUT/captures is written" {
    mkfifo reached go
    preloads rollcall-aggregator "$PAUSE_READ"
    PAUSE_AT=0.report.html PAUSE_REACHED=$PWD/reached \
        PAUSE_GO=$PWD/go background "$ROLLCALL" run --text --raw -o . \
        --quiet-period 0.1s -- ./writer
    timeout "$LIMIT" cat reached
    [ -e captures ] || cp -r "$(run_dir)/captures/rank0" captures
    # half of it
    rm "$(find captures -name 'step_trace_time.csv')"
    # shellcheck disable=SC2046         # a number
    kill -KILL $(processes_named rollcall-agent)
    twice () { [ "$(grep -c event=done "$(run_dir)/agent.log")" = 2 ]; }
    eventually twice
    go_on
    end_of "$pid"
    expect_status 0
    is "captures" 1 "$(sql "SELECT count(*) FROM Capture" \
                       cluster_analysis_output/analysis.db)"
    ! grep -q "event=sealed.*$PWD/captures" "$(run_dir)/agent.log"
    nothing_runs
}

# It was on nobody's list when its host said its last word: the run would end
# without it, and with 0.
@test "a capture that is found while the result is built is in it" {
    local writer

    mkfifo reached go
    preloads rollcall-aggregator "$PAUSE_READ"
    PAUSE_AT=0.report.html PAUSE_REACHED=$PWD/reached \
        PAUSE_GO=$PWD/go background "$ROLLCALL" run --text -o out -- ./writer
    timeout "$LIMIT" cat reached
    "$CAPTURE_MAKER" --quiet --ranks 1 --steps 1 --first-step 9 --seed 9 late
    # it does not settle before that build has ended
    (cd late/*_ascend_pt && touch "$TEST_DIR/writes" &&
        while [ ! -e "$TEST_DIR/over" ] && printf x >changes; do
            sleep 0.02
        done) &
    writer=$!
    eventually test -e writes
    mv late "$(run_dir)/captures/rank0/"
    eventually says "$(run_dir)/agent.log" "event=late-captures"
    eventually says "$(run_dir)/aggregator.log" "event=not-done"
    go_on
    eventually says "$(run_dir)/aggregator.log" "event=build-repeated"
    touch over
    wait "$writer" || true
    end_of "$pid"
    expect_status 0
    is "captures" 2 "$(sql "SELECT count(*) FROM Capture")"
    nothing_runs
}

# "rollcall analyze makes one" was said of it.
@test "a result that a run has not made yet: wait for that run" {
    local what job

    mkfifo reached go
    background "$ROLLCALL" run --text -o out -- \
        sh -c 'echo >reached; read -r _ <go; exec ./writer'
    timeout "$LIMIT" cat reached
    job=$(basename "$(dirname "$(run_dir)")")
    for what in out "$job"; do
        run "$ROLLCALL" findings "$what"
        expect_status 66
        shows "there is no result in $what yet: job $job" "is under way" \
            "rollcall wait $job --state $ROLLCALL_STATE_DIR"
    done
    mkdir elsewhere
    run "$ROLLCALL" findings elsewhere
    expect_status 66
    shows "rollcall analyze makes one"
    go_on
    end_of "$pid"
    expect_status 0
    nothing_runs
}

@test "captures in a directory that --watch names, made by COMMAND" {
    mkdir elsewhere
    run mpirun_run 2 --watch "$PWD/elsewhere/a" -w elsewhere/b -- \
        sh -c 'mkdir -p elsewhere/a elsewhere/b
               [ $RANK -eq 0 ] && ./writer elsewhere/a || ./writer elsewhere/b'
    expect_status 0
    shows "2 of 2 present"
    equals_analyze elsewhere 2
    nothing_runs
}

@test "--watch names a directory by ../, which COMMAND makes" {
    mkdir work
    # the agent's own working directory is another one
    run env -C work "$ROLLCALL" run --text -o "$TEST_DIR/out" \
        -w ../beside/captures -- sh -c 'mkdir -p ../beside/captures
            exec ../writer ../beside/captures'
    expect_status 0
    shows "1 of 1 present"
    nothing_runs
}

@test "a capture without a rank in its wrapper's directory is of that rank" {
    run mpirun_run 2 -- sh -c 'exec "$CAPTURE_MAKER" --quiet --ranks 2 \
        --only-rank $RANK --no-rank "$ROLLCALL_CAPTURE_DIR"'
    expect_status 0
    is "ranks" "0 1" "$(sql "SELECT group_concat(rank, ' ') FROM
                             (SELECT rank FROM Capture ORDER BY rank)")"
    has_rows 2
    nothing_runs
}

@test "a capture that was not analysed is raw: status 1, and named" {
    run mpirun_run 2 -- sh -c './writer
        cd $ROLLCALL_CAPTURE_DIR/*_ascend_pt && mkdir -p PROF_1/device_0/data
        [ $RANK -eq 0 ] || rm -r ASCEND_PROFILER_OUTPUT'
    expect_status 1
    roster_says 1 raw ""
    roster_says 0 present ""
    nothing_runs
}

@test "captures of an earlier job in the working directory are not taken" {
    local made now

    "$CAPTURE_MAKER" --quiet --ranks 2 --seed 9 --layout renamed .
    made=$(stat -c %Z rank_0_ascend_pt rank_1_ascend_pt | sort -n | tail -1)
    older () { printf -v now '%(%s)T' -1 && [ "$now" -gt $((made + 2)) ]; }
    eventually older
    # if the clock was set back they are of this one, so they are told of
    run mpirun_run 2 -- true
    expect_status 65
    roster_says 0 missing "last changed before COMMAND began,"
    roster_says 1 missing "(left out: 2 captures last changed"
    run mpirun_run 2 -- ./writer .
    expect_status 0
    is "captures" 2 "$(sql "SELECT count(*) FROM Capture")"
    is "old ones" 0 "$(sql "SELECT count(*) FROM Capture
                            WHERE name LIKE 'rank_%'")"
    nothing_runs
}

@test "COMMAND's environment and descriptors" {
    cat >look <<'SCRIPT'
#!/bin/bash
env | sort >env.$RANK
ls /proc/$$/fd >fd.$RANK
grep -E '^Sig(Blk|Ign)' /proc/self/status >signals.$RANK
exec ./writer
SCRIPT
    chmod +x look
    # what bats itself ignores is not passed on
    run env --default-signal mpirun -np 3 "$ROLLCALL" run -o out \
        --child plain -- ./look
    expect_status 0
    for rank in 0 1 2; do
        # 255 is bash's own, of the script
        is "descriptors" "0 1 2 255" "$(sort -n fd.$rank | paste -sd ' ')"
        for v in RANK=$rank LOCAL_RANK=$rank WORLD_SIZE=3 \
            MASTER_ADDR=127.0.0.1 "ROLLCALL_JOB=$(job)" \
            "ROLLCALL_CAPTURE_DIR=$(run_dir)/captures/rank$rank" \
            "ASCEND_WORK_PATH=$(run_dir)/captures/rank$rank"; do
            grep -qxF "$v" env.$rank || fail "no $v in $(cat env.$rank)"
        done
        grep -qE '^MASTER_PORT=[0-9]+$' env.$rank
        run -1 grep -E '^(OMPI|PMIX|ORTE|PMI|OPAL)_' env.$rank
        is "ignored signals" "SigIgn:	0000000000000000" \
            "$(grep Ign signals.$rank)"
        is "blocked signals" "SigBlk:	0000000000000000" \
            "$(grep Blk signals.$rank)"
    done
    is "one MASTER_PORT" 1 "$(sort -u <(grep -h ^MASTER_PORT env.*) | wc -l)"
    nothing_runs
}

@test "--raw: the files of the captures, byte by byte" {
    run mpirun_run 3 --raw --release never -- sh -c './writer
        cd $ROLLCALL_CAPTURE_DIR/*_ascend_pt && mkdir -p PROF_1/host/empty &&
        head -c 3000000 /dev/urandom >PROF_1/big && : >PROF_1/host/nothing'
    expect_status 0
    for rank in 0 1 2; do
        find "$(run_dir)/captures/rank$rank" -type d -empty -delete
        for capture in "$(run_dir)/captures/rank$rank"/*_ascend_pt; do
            diff -r "$capture" "out/captures/$(basename "$capture")"
        done
    done
    is "captures" 3 "$(find out/captures -maxdepth 1 -name '*_ascend_pt' |
                       wc -l)"
    nothing_runs
}

# What the tuner of operators reads is beside the capture, not in it.
@test "--raw: arguments of operators beside a capture come and go with it" {
    local args

    run mpirun_run 2 --raw -- sh -c './writer
        cd $ROLLCALL_CAPTURE_DIR && set -- *_ascend_pt &&
        mkdir -p $1_op_args/thread &&
        echo "arguments of $RANK" >$1_op_args/thread/0.json'
    expect_status 0
    for args in out/captures/*_ascend_pt; do
        [ -d "${args}_op_args" ] || fail "nothing is beside $args"
    done
    is "arguments" $'arguments of 0\narguments of 1' \
        "$(sort out/captures/*_ascend_pt_op_args/thread/0.json)"
    [ ! -e "$(run_dir)/captures" ] ||
        is "left" "" "$(find "$(run_dir)/captures" -name '*_op_args*')"
    run "$ROLLCALL" analyze --text -o again out/captures
    expect_status 0
    is "files beside" 2 "$(sqlite3 \
        again/cluster_analysis_output/analysis.db \
        "SELECT count(*) FROM OtherFile WHERE path LIKE '../%_op_args/'")"
    nothing_runs
}

@test "--raw: captures of two ranks that have one name are both there" {
    make --ranks 2 --layout renamed
    run mpirun_run 2 --raw -- sh -c \
        'cp -r job/rank_${RANK}_ascend_pt "$ROLLCALL_CAPTURE_DIR/prof_ascend_pt"'
    expect_status 0
    for rank in 0 1; do
        diff -r "job/rank_${rank}_ascend_pt" \
            "out/captures/rank$rank/prof_ascend_pt"
    done
    is "what is there" $'rank0\nrank1' "$(ls out/captures)"
    nothing_runs
}

mark_of ()                          # DIR KEY
{
    sqlite3 :memory: "SELECT json_extract(readfile('$1/.rollcall-job'), '$.$2')"
}

@test "directories for captures say of which job they are" {
    run mpirun_run 2 --raw --release never -- sh -c './writer
        cp "$ROLLCALL_CAPTURE_DIR/.rollcall-job" at-the-start.$RANK'
    expect_status 0
    for rank in 0 1; do
        cmp at-the-start.$rank "$(run_dir)/captures/rank$rank/.rollcall-job"
        is "job" "$(job)" "$(mark_of "$(run_dir)/captures/rank$rank" job)"
        is "rank" $rank "$(mark_of "$(run_dir)/captures/rank$rank" rank)"
        is "world" 2 "$(mark_of "$(run_dir)/captures/rank$rank" world_size)"
    done
    is "job" "$(job)" "$(mark_of out/captures job)"
    is "rank" -1 "$(mark_of out/captures rank)"
    nothing_runs
}

# Captures of two jobs may have one name, and none is in the other's place.
@test "--raw: two jobs into one OUT, each with its captures" {
    local job

    make --ranks 2 --layout renamed
    for job in one two; do
        echo "$job" >job/rank_0_ascend_pt/README
        run mpirun_run 2 --raw --job "$job" -- sh -c \
            'cp -r job/rank_${RANK}_ascend_pt "$ROLLCALL_CAPTURE_DIR"'
        expect_status 0
    done
    is "the first one's" one "$(mark_of out/captures job)"
    is "the second one's" two "$(mark_of out/captures/two job)"
    is "a file of both" "one two" "$(cd out/captures &&
        cat rank_0_ascend_pt/README two/rank_0_ascend_pt/README | xargs)"
    run "$ROLLCALL" analyze --text --list-jobs out
    expect_status 0
    shows "2 jobs here" ": one, 2 ranks" ": two, 2 ranks"
    nothing_runs
}

@test "--raw: a rank's directory that is the capture itself" {
    make --ranks 1
    cat >command <<'SCRIPT'
#!/bin/sh
cp -r job/*_ascend_pt/. "$ROLLCALL_CAPTURE_DIR"
SCRIPT
    chmod +x command
    run "$ROLLCALL" run --text -o out --raw -- ./command
    expect_status 0
    shows "1 of 1 present"
    is "other files" 0 "$(sql "SELECT count(*) FROM OtherFile
                               WHERE path LIKE '%rollcall%'")"
    is "marks in OUT" ./.rollcall-job \
        "$(cd out/captures && find . -name .rollcall-job)"
    [ ! -e "$(run_dir)/captures/rank0" ] || fail "$(ls -AR "$(run_dir)/captures")"
    nothing_runs
}

# sealed N: the agent has taken so many captures by now; for COMMANDs
sealed_script ()
{
    cat >sealed <<'SCRIPT'
#!/bin/bash
until [ "$(grep -c event=sealed "$ROLLCALL_CAPTURE_DIR/../../agent.log")" -ge "$1" ]
do sleep 0.05; done
SCRIPT
    chmod +x sealed
}

@test "--raw: a capture that was being removed leaves OUT whole" {
    sealed_script
    cat >command <<'SCRIPT'
#!/bin/bash
./writer
tar -cf kept.tar -C "$ROLLCALL_CAPTURE_DIR" .   # a directory would be captures
./sealed 1
rm -r "$ROLLCALL_CAPTURE_DIR"/*/ASCEND_PROFILER_OUTPUT \
    "$ROLLCALL_CAPTURE_DIR"/*/profiler_metadata.json
./sealed 2
SCRIPT
    chmod +x command
    run "$ROLLCALL" run --text -o out --raw --release never \
        --quiet-period 0.2s -- ./command
    expect_status 0
    has_rows 1
    mkdir kept
    tar -xf kept.tar -C kept
    diff -r -x '.rollcall-*' kept out/captures
    [ ! -e "$(run_dir)/root" ]      # the rest is in OUT, too
    nothing_runs
}

# What is acknowledged is on its node, in OUT, or in a root that stays.
@test "--raw: of two directories of one name none is lost" {
    local id rows

    make --ranks 1 --layout renamed
    rm -rf other
    "$CAPTURE_MAKER" --quiet --ranks 1 --ops 8 --layout renamed --seed 7 \
        --first-step 50 other
    echo "the only copy" >job/rank_0_ascend_pt/only-here
    # one date, as the ticks of a clock give
    find job other -exec touch -d 2024-05-06T07:08:09 {} +
    sealed_script
    cat >command <<'SCRIPT'
#!/bin/bash
mkdir "$ROLLCALL_CAPTURE_DIR"/epoch0 "$ROLLCALL_CAPTURE_DIR"/epoch1
cp -a job/rank_0_ascend_pt "$ROLLCALL_CAPTURE_DIR"/epoch0
./sealed 1
cp -a other/rank_0_ascend_pt "$ROLLCALL_CAPTURE_DIR"/epoch1
./sealed 2
SCRIPT
    chmod +x command
    run "$ROLLCALL" run --text -o out --raw --quiet-period 0.2s -- ./command
    expect_status 0
    shows "have the same name, rank_0_ascend_pt, and the same rank" \
        "versions that are not in the result stay in $(run_dir)/root"
    diff -r other/rank_0_ascend_pt out/captures/rank_0_ascend_pt
    id=$(job)
    run "$ROLLCALL" archive --root "$(run_dir)/root" ls "$id"
    expect_status 0
    rows=$(grep -c $'\trows\t' <<<"$output")
    is "rows" 2 "$rows"
    shows only-here
    # the later one was not removed after it was found to be a second one
    diff -r other/rank_0_ascend_pt \
        "$(run_dir)/captures/rank0/epoch1/rank_0_ascend_pt"
    nothing_runs
}

# A host that died holds the older one up: the newer result was gone then.
@test "a run that ends late does not replace the result of one that began later" {
    local older newer=cluster_analysis_output

    background mpirun_run 1 -- bash -c \
        'touch began; until [ -e go ]; do sleep 0.05; done; exec ./writer'
    eventually test -e began
    older=$(job)
    run mpirun_run 1 --job later -- ./writer
    expect_status 0
    touch go
    end_of "$pid"
    expect_status 0
    shows "written       $TEST_DIR/out/$newer.of-$older/analysis.db" \
        "note: the result of job later, which began later, stays"
    is "in OUT" later "$(sql "SELECT value FROM Job WHERE key='job'" \
        "out/$newer/analysis.db")"
    is "beside it" "$older" "$(sql "SELECT value FROM Job WHERE key='job'" \
        "out/$newer.of-$older/analysis.db")"
    [ -s "out/$newer.of-$older/report.html" ]
    is "kept" "" "$(find out -name '*.before-rollcall*')"
    # in the order in which they began, as ever
    run mpirun_run 1 --job last -- ./writer
    expect_status 0
    is "in OUT" last "$(sql "SELECT value FROM Job WHERE key='job'" \
        "out/$newer/analysis.db")"
    nothing_runs
}

@test "--deadline: a capture that never settles is taken as it is" {
    # the shell that goes on writing is COMMAND's orphan
    cat >restless <<'SCRIPT'
#!/bin/bash
./writer
cd "$ROLLCALL_CAPTURE_DIR"/*_ascend_pt || exit
(while echo more >>logs; do sleep 0.05; done) >/dev/null 2>&1 </dev/null &
SCRIPT
    chmod +x restless
    SECONDS=0
    run "$ROLLCALL" run --text -o out --deadline 10s -- ./restless
    [ "$SECONDS" -lt 60 ]
    expect_status 1
    has_rows 1
    # what its writer had yet to write is in no result
    shows "was still being written when half of the deadline had passed" \
        "_ascend_pt: it was still being written"
    is "state" partial "$(sql "SELECT state FROM Capture" \
        out/cluster_analysis_output/analysis.db)"
    nothing_runs
}

# bats test_tags=slow
@test "agent and aggregator do not answer: said with pids and captures, 69" {
    local agent aggregator

    cat >command <<'SCRIPT'
#!/bin/bash
./writer
touch wrote.$RANK
until [ -e go.end ]; do sleep 0.05; done
SCRIPT
    chmod +x command
    background mpirun_run 2 --deadline 2s -- ./command
    eventually test -e wrote.0
    eventually test -e wrote.1
    agent=$(processes_named rollcall-agent)
    aggregator=$(processes_named rollcall-aggregator)
    kill -STOP "$agent" "$aggregator"
    SECONDS=0
    touch go.end
    end_of "$pid"
    # the deadline, 30 s, and what a busy machine takes
    [ $SECONDS -ge 30 ] && [ $SECONDS -lt 80 ] || fail "after $SECONDS s"
    expect_status 69
    shows "the agent (pid $agent) and the aggregator (pid $aggregator)" \
        "of host $(uname -n) do not answer" "$(run_dir)/captures" \
        "kill -CONT" "rollcall wait $(job)"
    # as it says
    kill -CONT "$agent" "$aggregator"
    run "$ROLLCALL" wait --text --timeout 120s "$(job)"
    expect_status 0
    shows "2 of 2 present"
    nothing_runs
}

@test "OUT that cannot be written: 73 on all ranks, no COMMAND starts" {
    mkdir closed
    chmod 555 closed
    run humbly mpirun -np 3 "$ROLLCALL" run -o closed/out -- touch started
    expect_status 73
    shows "closed/out"
    [ ! -e started ]
    nothing_runs
    touch a-file
    run mpirun -np 2 "$ROLLCALL" run -o a-file/out -- touch started
    expect_status 73
    shows "a-file"
    [ ! -e started ]
    nothing_runs
}

@test "a state directory that cannot be used: said before COMMAND starts" {
    touch a-file
    run "$ROLLCALL" run --state a-file/state -o out -- touch started
    expect_status 73
    shows "a-file"
    mkdir -m 777 open
    run "$ROLLCALL" run --state open -o out -- touch started2
    expect_status 73
    shows "open is not a directory that only you can write"
    [ ! -e started2 ]
    nothing_runs
}

@test "a state directory by a relative path" {
    run mpirun -np 2 "$ROLLCALL" run --state near/state -o out --text -- \
        ./writer
    expect_status 0
    shows "2 of 2 present"
    nothing_runs
}

@test "spaces and more in the paths of OUT, state and COMMAND" {
    local odd=$'with space, "quote" \'and\' $x'

    mkdir "$odd" "$odd/bin"
    cp writer "$odd/bin/the writer"
    run mpirun -np 2 "$ROLLCALL" run --state "$TEST_DIR/$odd/state" \
        -o "$odd/out" --text -- "$odd/bin/the writer"
    expect_status 0
    DB="$odd/out/cluster_analysis_output/analysis.db"
    has_rows 2
    nothing_runs
}

@test "a state directory longer than a socket's address" {
    local long=state/$(printf 'd%.0s' {1..120})/$(printf 'e%.0s' {1..120})

    export ROLLCALL_STATE_DIR=$TEST_DIR/$long
    run mpirun_run 2 -- ./writer
    expect_status 0
    shows "2 of 2 present"
    nothing_runs
}

@test "--json: one document, the job's line is on standard error" {
    run --separate-stderr mpirun -np 2 "$ROLLCALL" run --json -o out -- \
        ./writer
    expect_status 0
    echo "$output" >result.json
    # sqlite3 reads JSON
    is "ranks" 2 "$(sqlite3 :memory: "SELECT
        json_extract(readfile('result.json'), '$.ranks_present')")"
    is "job" "$(job)" "$(sqlite3 :memory: "SELECT
        json_extract(readfile('result.json'), '$.job')")"
    [[ "$stderr" =~ ^job\ run- ]]
    nothing_runs
}

@test "standard input and output are COMMAND's" {
    run --separate-stderr sh -c 'printf "one\ntwo\n" |
        "$0" run --text -o out -- sh -c "cat; echo error >&2; ./writer"' \
        "$ROLLCALL"
    expect_status 0
    is "first line" 1 "$([[ "${lines[0]}" == job* ]] && echo 1)"
    is "second line" "one" "${lines[1]}"
    is "third line" "two" "${lines[2]}"
    is "standard error" "error" "$stderr"
    nothing_runs
}

@test "two runs at once on one host do not meet" {
    mpirun -np 3 "$ROLLCALL" run --text -o out1 -- ./writer >log1 2>&1 3>&- &
    local first=$!
    # two that make Open MPI's directory in TMPDIR at once: one fails, at times
    mkdir tmp2
    TMPDIR=$PWD/tmp2 mpirun -np 2 "$ROLLCALL" run --text -o out2 -- ./writer >log2 2>&1 3>&- &
    local second=$!
    wait $first || fail "$(cat log1)"
    wait $second || fail "$(cat log2)"
    grep -q "3 of 3 present" log1
    grep -q "2 of 2 present" log2
    DB=out1/cluster_analysis_output/analysis.db has_rows 3
    DB=out2/cluster_analysis_output/analysis.db has_rows 2
    nothing_runs
}

@test "a second run into the same OUT replaces the result of the first" {
    run mpirun_run 3 -- ./writer
    expect_status 0
    run mpirun_run 2 -- ./writer
    expect_status 0
    has_rows 2
    is "in the result's directory" "" "$(ls -A out/cluster_analysis_output |
        grep -vE '^(analysis|cluster_analysis).db$|^report.html$' || true)"
    nothing_runs
}

@test "--job: the id is used, and not twice" {
    run mpirun_run 2 --job my-job -- ./writer
    expect_status 0
    shows "my-job"
    is "job" my-job "$(job)"
    run mpirun_run 2 --job my-job -- touch started
    expect_status 73
    shows "my-job"
    [ ! -e started ]
    run "$ROLLCALL" run --job ../up -o out -- touch started
    expect_status 2
    [ ! -e started ]
    nothing_runs
}

# as torchrun starts its workers, the same variables at every launch
torch ()
{
    local rank pids=() rc=0

    for rank in 0 1; do
        env RANK=$rank WORLD_SIZE=2 LOCAL_RANK=$rank LOCAL_WORLD_SIZE=2 \
            TORCHELASTIC_RUN_ID=none MASTER_ADDR=127.0.0.1 MASTER_PORT=29500 \
            "$ROLLCALL" run --text -o "$1" -- ./writer >log.$rank 2>&1 3>&- &
        pids+=($!)
    done
    wait "${pids[0]}" || rc=$?
    wait "${pids[1]}" || rc=$?
    return $rc
}

@test "under torchrun, the same launch twice: two jobs" {
    torch out || fail "$(cat log.0 log.1)"
    has_rows 2
    torch out2 || fail "$(cat log.0 log.1)"
    DB=out2/cluster_analysis_output/analysis.db has_rows 2
    is "left in OUT" "cluster_analysis_output" "$(ls -A out2)"
    is "jobs" 2 "$(ls "$ROLLCALL_STATE_DIR" | grep -c ^run-)"
    nothing_runs
}

@test "the variables of services on this host are not for the run's" {
    run env ROLLCALL_WHEN_FULL=drop-oldest-shipped ROLLCALL_RELEASE=shipped \
        ROLLCALL_STATE=/nowhere ROLLCALL_AGGREGATOR=tcp://127.0.0.1:9 \
        ROLLCALL_JOB=other ROLLCALL_LISTEN=tcp://127.0.0.1:9 \
        ROLLCALL_ROOT=/nowhere ROLLCALL_KEYS=/nowhere ROLLCALL_KEY=/nowhere \
        ROLLCALL_SERVER_KEY=/nowhere ROLLCALL_AGGREGATORS=/nowhere \
        ROLLCALL_COPIES=2 ROLLCALL_AWAY=9s \
        mpirun -np 2 "$ROLLCALL" run --text -o out -- ./writer
    expect_status 0
    shows "2 of 2 present"
    is "captures" 2 "$(find "$(run_dir)/captures" -name '*_ascend_pt' | wc -l)"
    nothing_runs
}

@test "an agent that does not start: its own words, and no COMMAND" {
    # what a run's agent does take from the environment, and cannot use
    run env ROLLCALL_CPU_BUDGET=none "$ROLLCALL" run -o out -- touch started
    expect_status 71
    shows "did not start" "agent.log, ends with: rollcall-agent: --cpu-budget"
    [ ! -e started ]
}

@test "a capture that may not be read: named, the others are there" {
    chmod 777 .
    mkdir -m 777 free
    run env -C free ROLLCALL_STATE_DIR="$PWD/free/state" TMPDIR="$PWD/free" \
        setpriv --bounding-set=-dac_override,-dac_read_search \
        mpirun -np 2 "$ROLLCALL" run --text -o out --deadline 10s -- \
        sh -c '../writer; [ $RANK -eq 0 ] ||
               chmod 000 $ROLLCALL_CAPTURE_DIR/*_ascend_pt'
    expect_status 1
    DB=free/out/cluster_analysis_output/analysis.db
    roster_says 0 present ""
    is "rank 1" 0 "$(sql "SELECT count(*) FROM Roster WHERE rank=1 AND
                          state='present'")"
    shows "rank 1" "Permission denied"
    nothing_runs
}

@test "somebody who is not root" {
    chmod a+x "$BATS_RUN_TMPDIR" "$BATS_RUN_TMPDIR/test" .
    as_nobody test -x "$ROLLCALL" -a -x "$CAPTURE_MAKER" ||
        skip "nobody cannot reach $ROLLCALL"
    mkdir -m 777 free
    run as_nobody env -C free -u OMPI_ALLOW_RUN_AS_ROOT TMPDIR="$PWD/free" \
        HOME="$PWD/free" ROLLCALL_STATE_DIR="$PWD/free/state" \
        mpirun -np 2 "$ROLLCALL" run --text -o out -- ../writer
    expect_status 0
    shows "2 of 2 present"
    nothing_runs
}

@test "STATE on a full disk: what is missing is said before COMMAND, 73" {
    [ "$(id -u)" -eq 0 ] && unshare -m true 2>/dev/null ||
        skip "no mount namespaces"
    mkdir small
    run unshare -m sh -c 'mount -t tmpfs -o size=64k,nr_inodes=200 tmpfs small &&
        { head -c 1000000 /dev/zero >small/fill; } 2>/dev/null
        exec "$@"' sh "$ROLLCALL" run --state small/state -o out -- touch ran
    expect_status 73
    shows "No space left on device" "inodes, one for each file"
    [ ! -e ran ]
}

@test "OUT on a full disk: 73 with the reason, the captures stay" {
    [ "$(id -u)" -eq 0 ] && unshare -m true 2>/dev/null ||
        skip "no mount namespaces"
    mkdir out
    run unshare -m sh -c 'mount -t tmpfs -o size=64k tmpfs out &&
        exec mpirun -np 2 "$0" run --text -o out --deadline 10s -- ./writer' \
        "$ROLLCALL"
    expect_status 73
    shows "the result could not be written" "full"
    is "captures" 2 "$(find state -name '*_ascend_pt' | wc -l)"
    nothing_runs
}

# OUT may be below a directory that is watched: what is put there is not new.
# And what is removed is gone when the launcher returns, who may kill the rest.
@test "--raw: OUT in the working directory; captures are gone at the end" {
    cat >many <<'SCRIPT'
#!/bin/sh
./writer && cd "$ROLLCALL_CAPTURE_DIR"/*_ascend_pt && mkdir many && cd many &&
    seq 1000 | split -l 1 -a 3 -
SCRIPT
    chmod +x many
    run mpirun_run 2 --raw -o out --deadline 60s -- ./many
    expect_status 0
    shows "2 of 2 present"
    is "left" 0 "$(find state -path '*/captures/*' -type f \
        ! -name ".rollcall-*" | wc -l)"
    is "in OUT" 2000 "$(find out/captures -path '*/many/*' | wc -l)"
    # a later run does not take them for its own
    run mpirun_run 2 --raw -o later -- ./writer
    expect_status 0
    is "captures" 2 "$(sql "SELECT count(*) FROM Capture" \
        later/cluster_analysis_output/analysis.db)"
    nothing_runs
}

# A result that fails when most of it is written: its raw files do not fit.
@test "--raw: OUT that runs full: no capture goes, all is in the root named" {
    local root

    [ "$(id -u)" -eq 0 ] && unshare -m true 2>/dev/null ||
        skip "no mount namespaces"
    mkdir out
    cat >large <<'SCRIPT'
#!/bin/sh
./writer && cd "$ROLLCALL_CAPTURE_DIR"/*_ascend_pt &&
    head -c 3000000 /dev/urandom >big
SCRIPT
    chmod +x large
    run unshare -m sh -c 'mount -t tmpfs -o size=4m tmpfs out &&
        exec mpirun -np 2 "$0" run --text --raw -o out -- ./large' \
        "$ROLLCALL"
    expect_status 73
    root=$(run_dir)/root
    shows "the result could not be written" "everything delivered is in $root:"
    is "captures" 2 "$(find state -path '*/captures/*/big' | wc -l)"
    grep -q "event=captures-kept .*OUT could not be written" "$(run_dir)/agent.log"
    run "$ROLLCALL" build --root "$root" -o again "$(job)"
    expect_status 0
    # nobody is there any more who could say it
    is "how they ended" "0 0" "$(sql "SELECT group_concat(command_status, ' ')
        FROM Roster WHERE command_ended_ns>0" \
        again/cluster_analysis_output/analysis.db)"
    run "$ROLLCALL" archive --root "$root" get "$(job)" 1 back
    expect_status 0
    cmp "$(run_dir)"/captures/rank1/*_ascend_pt/big back/*/big
    nothing_runs
}

# Who lost a run's result would look for it in the root of a service.
@test "build of a run's job says where it is, jobs where its result is" {
    local root id

    run mpirun_run 2 -o out -- sh -c '[ $RANK = 1 ] || ./writer'
    expect_status 1
    root=$(run_dir)/root
    id=$(job)
    run "$ROLLCALL" jobs --root "$root" --json
    expect_status 0
    shows '"built"' "\"$PWD/$DB\""
    rm -r out
    run "$ROLLCALL" jobs --root "$root"
    shows " none"
    run "$ROLLCALL" build --root nowhere "$id"
    expect_status 66
    shows "rollcall build --root $root -o $PWD/out $id"
    run "$ROLLCALL" build --root "$root" -o "$PWD/out" "$id"
    expect_status 1
    [ -e "$DB" ] || fail "no $DB"
    rm -r state out
    run mpirun_run 2 -o out -- ./writer
    expect_status 0
    run "$ROLLCALL" build --root nowhere "$(job)"
    expect_status 66
    shows "is a run of this host" "$(run_dir)/captures"
    nothing_runs
}

# unsealable [COMMAND]...: a COMMAND whose capture finds no room in the spool
# (a directory is where the shipment should go), until COMMAND lets it.
unsealable ()
{
    cat >unsealable <<SCRIPT
#!/bin/sh
host=\$(dirname "\$(dirname "\$ROLLCALL_CAPTURE_DIR")")
mkdir -p "\$host/spool/items/0/1-0"
./writer
until grep -q event=seal-failed "\$host/agent.log"; do sleep 0.05; done
$*
SCRIPT
    chmod +x unsealable
}

@test "a capture that cannot be put into the spool is named" {
    unsealable true
    run mpirun_run 1 --quiet-period 0.1s --deadline 15s -- ./unsealable
    expect_status 65                # the only one
    shows "rank 0: its capture was not delivered: cannot create" \
        "Is a directory"
    nothing_runs
}

@test "a capture that got into the spool at the second try is no loss" {
    unsealable 'rmdir "$host/spool/items/0/1-0"
        until grep -q event=sealed "$host/agent.log"; do sleep 0.05; done'
    run mpirun_run 1 --quiet-period 0.1s -- ./unsealable
    expect_status 0
    shows "1 of 1 present"
    [[ "$output" != *"not delivered"* ]] || fail "$output"
    nothing_runs
}

# What fails once must not end a run that has an hour.
@test "a capture that gets into the spool after the last COMMAND is no loss" {
    unsealable true
    background mpirun_run 1 --quiet-period 0.1s --deadline 1h -- ./unsealable
    failed () { grep -q event=seal-failed state/*/*/agent.log 2>/dev/null; }
    eventually failed
    ended () { [ -z "$(processes_named unsealable)" ]; }
    eventually ended
    rmdir "$(run_dir)/spool/items/0/1-0"
    end_of "$pid"
    expect_status 0
    shows "1 of 1 present"
    [[ "$output" != *"not delivered"* ]] || fail "$output"
    nothing_runs
}

# 0 would be taken for all of it.
@test "a rank is present, another capture of it is not: 1, named, all stays" {
    unsealable './writer "$ROLLCALL_CAPTURE_DIR/b"'
    run mpirun_run 1 --quiet-period 0.1s --deadline 15s -- ./unsealable
    expect_status 1
    shows "1 of 1 present" "was not delivered: cannot create" \
        "captures that are not delivered: 1 not put into the spool"
    [ -e "$(run_dir)/spool/ledger.db" ]
    [ -e "$(run_dir)/root/ledger.db" ]
    nothing_runs
}

@test "--deadline: a raw file that has not come by then: 1, named" {
    cat >large <<'SCRIPT'
#!/bin/sh
./writer
head -c 30000000 /dev/urandom >"$(ls -d "$ROLLCALL_CAPTURE_DIR"/*_pt)/big"
SCRIPT
    chmod +x large
    run mpirun_run 1 --raw --max-rate 1MB --deadline 12s -- ./large
    expect_status 1
    shows "1 of 1 present" "not everything was delivered when the deadline" \
        "(items: " "the first that is offered is big of node0" "$(run_dir)/spool"
    [ -e "$(run_dir)/spool/ledger.db" ]
    nothing_runs
}

@test "wait: a rank of which nobody knows whether it ended" {
    run mpirun_run 1 -- ./writer
    expect_status 0
    local unknown='{"rank": 0, "host": "a", "status": -1, "reason": null}'
    sed -i 's/"failed_ranks":[[:space:]]*\[\]/"failed_ranks": ['"$unknown"']/' \
        "$(run_dir)/result.json"
    grep -q null "$(run_dir)/result.json"
    run "$ROLLCALL" wait --text "$(job)"
    expect_status 0
    shows "1 of 1 present"
    [[ "$output" != *COMMAND* ]] || fail "$output"
}

@test "usage" {
    run "$ROLLCALL" run
    expect_status 2
    shows "which COMMAND?"
    run "$ROLLCALL" run --child wrong -- true
    expect_status 2
    shows "is not auto, plain or mpi"
    run "$ROLLCALL" run --no-such -- true
    expect_status 2
    run "$ROLLCALL" run --port 9-1 -o out -- true
    expect_status 2
    shows "--port"
    run "$ROLLCALL" run --aggregator tcp://127.0.0.1:9 -o out -- true
    expect_status 2
    shows "--aggregator needs --job"
    # nobody is to believe in a second copy that there is not
    run "$ROLLCALL" run --copies 2 -o out -- touch started
    expect_status 2
    shows "--copies needs --aggregators"
    run "$ROLLCALL" run --away 1m -o out -- touch started
    expect_status 2
    shows "--away needs --aggregators"
    run "$ROLLCALL" run --aggregators tcp://127.0.0.1:9 --job j --away 1s -o out \
        -- touch started
    expect_status 2
    shows "--away: use 5s or more"
    [ ! -e started ]
    run env OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_RANK=7 "$ROLLCALL" run \
        -o out -- true
    expect_status 78
    shows "OMPI_COMM_WORLD_RANK=7"
    run "$ROLLCALL" run --help
    expect_status 0
    shows "--deadline"
    nothing_runs
}

@test "an aggregator that is not there: 69, before COMMAND starts" {
    run "$ROLLCALL" run --aggregator tcp://127.0.0.1:9 --job j -o out -- \
        touch started
    expect_status 69
    shows "cannot reach the aggregator" "tcp://127.0.0.1:9" "does it run there"
    [ ! -e started ]
    run "$ROLLCALL" run --aggregator nonsense --job j2 -o out -- touch started
    expect_status 2
    nothing_runs
}

@test "wait: an unknown job, one that is over, one that is not" {
    run "$ROLLCALL" wait no-such-job
    expect_status 66
    shows "there is no job no-such-job"
    run "$ROLLCALL" wait
    expect_status 2
    mkfifo go
    background mpirun_run 2 -- sh -c 'touch began.$RANK
        [ $RANK -ne 0 ] || cat go; ./writer'
    eventually test -e began.0
    run "$ROLLCALL" wait --timeout 0.2s "$(job)"
    expect_status 75
    shows "still under way"
    "$ROLLCALL" wait --text "$(job)" >wait.log 2>&1 3>&- &
    local waiter=$!
    echo >go
    end_of "$pid"
    expect_status 0
    wait $waiter || fail "$(cat wait.log)"
    grep -q "2 of 2 present" wait.log
    run "$ROLLCALL" wait --text "$(job)"
    expect_status 0
    shows "2 of 2 present"
    nothing_runs
}

# in_large: into a directory in memory, where there is some: ten thousands of
# names cost a disk ten seconds of CPU time
in_large ()
{
    LARGE=$(mktemp -d /dev/shm/rollcall-large-XXXXXX) || LARGE=
    cd "${LARGE:-$PWD}"
}

teardown ()
{
    kill_all
    [ -z "${LARGE:-}" ] || rm -rf "$LARGE"
}

# The walk of a large working directory takes place beside the loop: it must
# not keep what lies in the capture directory from being delivered.
# bats test_tags=slow
@test "a working directory of 60,000 directories holds up nothing" {
    in_large
    mkdir large
    (cd large && mkdir -p $(seq -f d%g 300) &&
        for d in d*; do (cd "$d" && mkdir $(seq 200)); done)
    run env -C large timeout 120 "$ROLLCALL" run --text -o ../out -- \
        "$TEST_DIR/writer"
    expect_status 0
    shows "1 of 1 present"
    nothing_runs
}

# The profiler removes what it wrote in warm-up steps.
@test "a capture that is removed before it is finished is none" {
    run "$ROLLCALL" run --text -o out -- sh -c '
        mkdir -p "$ROLLCALL_CAPTURE_DIR/w_1_20251124095900000_ascend_pt/FRAMEWORK"
        until grep -q event=connected "$ROLLCALL_STATE_DIR"/*/*/agent.log; do
            sleep 0.05
        done
        rm -r "$ROLLCALL_CAPTURE_DIR"/w_1_*
        ./writer'
    expect_status 0
    shows "1 of 1 present"
    nothing_runs
}

# It was written: somebody would look for what kept the profiler from it.
@test "a capture that goes before it is read is named, for its rank, too" {
    run "$ROLLCALL" run --text -o out -- sh -c './writer
        until grep -qas _ascend_pt "$ROLLCALL_STATE_DIR"/*/*/spool/ledger.db-wal
        do
            sleep 0.05
        done
        rm -r "$ROLLCALL_CAPTURE_DIR"/*_ascend_pt'
    expect_status 65                # the only one
    shows "rank 0: its capture was not delivered:" "vanished before it was read"
    grep -q event=capture-vanished state/*/*/agent.log
    nothing_runs
}

@test "a capture that goes before it could be put into the spool is not waited for" {
    unsealable 'rm -r "$ROLLCALL_CAPTURE_DIR"/*_ascend_pt
        ./writer "$ROLLCALL_CAPTURE_DIR/b"'
    run mpirun_run 1 --quiet-period 0.1s --deadline 1h -- ./unsealable
    expect_status 1
    shows "1 of 1 present" "vanished before it was read"
    nothing_runs
}

# Each job's captures lie in the working directory of both.  The writer keeps
# its name's process alive until the other job has looked.
@test "two jobs in one working directory: each takes its own captures" {
    cat >named <<'SCRIPT'
#!/bin/sh
"$CAPTURE_MAKER" --quiet --ranks 1 --ops 8 --seed "$1" "tmp/$1"
mv "tmp/$1"/*_ascend_pt "$PWD/node0_$$_2025112410000000${1}_ascend_pt"
until [ -e go ]; do sleep 0.05; done
SCRIPT
    chmod +x named
    "$ROLLCALL" run --text --quiet-period 0.1s -o out1 -- ./named 1 >one 2>&1 3>&- &
    "$ROLLCALL" run --text --quiet-period 0.1s -o out2 -- ./named 2 >two 2>&1 3>&- &
    check () { [ "$(cat state/*/*/agent.log | grep -c event=sealed)" = 2 ]; }
    eventually check
    : >go
    wait
    is "captures of the first" 1 "$(sqlite3 \
        out1/cluster_analysis_output/analysis.db \
        "SELECT count(*) FROM Capture WHERE name LIKE '%001_ascend_pt'")"
    is "captures of the first" 1 "$(sqlite3 \
        out1/cluster_analysis_output/analysis.db \
        'SELECT count(*) FROM Capture')"
    is "captures of the second" 1 "$(sqlite3 \
        out2/cluster_analysis_output/analysis.db \
        'SELECT count(*) FROM Capture')"
    nothing_runs
}

# Anybody can make /tmp/rollcall-0 before root does: no run began.
@test "another's directory at the default place: the next one, for all alike" {
    local first next job

    unset ROLLCALL_STATE_DIR XDG_RUNTIME_DIR
    first=tmp/rollcall-$(id -u) next=tmp/rollcall-$(id -u).1
    mkdir -m 0755 "$first"
    run mpirun_run 2 -- ./writer
    expect_status 0
    shows "2 of 2 present"
    is "in the directory that others may enter" "" "$(ls "$first")"
    is "mode of the next" 700 "$(stat -c %a "$next")"
    job=$(basename "$next"/run-*)
    run "$ROLLCALL" wait "$job"
    expect_status 0
    shows "2 of 2 present"
    rmdir "$first"                  # the name is free again
    run "$ROLLCALL" wait "$job"
    expect_status 0
    [ ! -e "$first" ] || fail "the place has changed" || return
    # one that the user has made is first
    mkdir -m 0700 xdg xdg/rollcall
    XDG_RUNTIME_DIR=$PWD/xdg run mpirun_run 2 -- ./writer
    expect_status 0
    is "jobs there" 1 "$(ls xdg/rollcall | grep -c ^run-)"
    ROLLCALL_STATE_DIR=$TEST_DIR/tmp nothing_runs
}

# It was advised to use mpirun, which there is none of.
@test "RANK and WORLD_SIZE, and no rank 0 to be found: 78, what to do then" {
    run env RANK=1 WORLD_SIZE=2 LOCAL_RANK=0 LOCAL_WORLD_SIZE=1 \
        MASTER_ADDR=nowhere MASTER_PORT=1 "$ROLLCALL" run --text -o out -- \
        ./writer
    expect_status 78
    shows "rank 1 on host" "or rank 0 was not started" \
        "with an OUT that all hosts share" "--aggregator tcp://HOST:PORT"
    [[ "$output" != *mpirun* ]] || fail "$output"
}

# At 8 ranks it stood among 7 that were ended.
@test "the rank that failed is named before those that were ended for it" {
    run mpirun_run 4 --deadline 20s -- sh -c \
        'touch began.$RANK; [ $RANK -eq 2 ] || exec sleep 1000
         until [ -e began.0 -a -e began.1 -a -e began.3 ]; do sleep 0.05; done
         exit 3'
    expect_status 3
    shows "ranks 0-1, 3: rollcall ended it, since rank 2 failed"
    is "first" "rank 2: COMMAND ended with status 3" \
        "$(grep -o '^  rank [0-9]*: .* status 3' <<<"$output" | head -n 1 |
           sed 's/^  //')"
    [[ "${output%%"  rank 2: "*}" != *"rollcall ended it"* ]] || fail "$output"
    nothing_runs
}

@test "all default places are another's: the user's own runtime directory" {
    local dir i

    unset ROLLCALL_STATE_DIR XDG_RUNTIME_DIR
    dir=tmp/rollcall-$(id -u)
    : >"$dir"
    for ((i = 1; i <= 9; i++)); do
        ln -s / "$dir.$i"
    done
    run mpirun_run 2 -- ./writer
    expect_status 73
    shows "rollcall-$(id -u) is not a directory of yours" "choose one with --state"
    mkdir -m 0700 xdg
    XDG_RUNTIME_DIR=$PWD/xdg run mpirun_run 2 -- ./writer
    expect_status 0
    shows "2 of 2 present"
    is "jobs there" 1 "$(ls xdg/rollcall | grep -c ^run-)"
    ROLLCALL_STATE_DIR=$TEST_DIR/xdg nothing_runs
}

# Of a home directory the summary had hundreds of lines.
@test "what lies beside a run and is not searched is one line" {
    local deep=1/2/3/4/5/6/7/8/9/a/b/c/d/e/f/g/h/i

    for i in 1 2 3; do
        mkdir -p "d$i/$deep"
    done
    run "$ROLLCALL" run --job home -o out -- ./writer
    expect_status 0
    is "notes" 1 "$(grep -c "not searched" <<<"$output")"
    shows "3 directories were not searched for captures, as "
    is "in the log" 3 "$(cat state/home/*/agent.log | grep -c "d[123]/$deep\
\|d[123]/.*any deeper")"
    run "$ROLLCALL" analyze -o again . state/home
    shows "2 more were not searched: --verbose lists them"
    is "named" 1 "$(grep -c "any deeper" <<<"$output")"
    run "$ROLLCALL" analyze -v -o again . state/home
    is "named with -v" 3 "$(grep -c "any deeper" <<<"$output")"
}

# The end of a run waited for all that lies in a home directory.
@test "of a large working directory a part is searched, what is new first" {
    in_large
    # a_ sorts before the capture, and is more than is read of what is old
    python3 - <<'END'
import os
for i in range(7):
    os.makedirs(f"a_{i}")
    for k in range(8000):
        os.mkdir(f"a_{i}/{k}") if k % 100 == 0 else os.mknod(f"a_{i}/{k}")
    os.utime(f"a_{i}", (1000, 1000))
END
    mkdir -p z/results
    run "$ROLLCALL" run --job large -o out -- "$TEST_DIR/writer" z/results
    expect_status 0
    shows "1 of 1 present" "is so large that " \
          " directories in it were not searched for captures, as $PWD/" \
          "--watch DIR searches all of DIR"
    # who names it wants all of it
    run "$ROLLCALL" run --job named -o out2 --watch . -- "$TEST_DIR/writer"
    expect_status 0
    is "notes" 0 "$(grep -c "not searched for captures" <<<"$output")"
}

# It was silent for as long as the last captures took.
# The aggregator waits, as for a large result, until something was told: a result
# can be made before COMMAND, or its launcher, has ended.
@test "on a terminal the end of a run tells what is waited for" {
    local n options

    script -qec true /dev/null >/dev/null 2>&1 ||
        skip "there is no script(1), or no pseudo-terminal"
    mkfifo reached go
    preloads rollcall-aggregator "$PAUSE_READ"
    cat >launcher <<'SCRIPT'
#!/bin/sh
# ends while the result is made
mpirun -np 2 --oversubscribe "$@" &
exec cat reached
SCRIPT
    chmod +x launcher
    is_told ()
    {
        tr '\r' '\n' <seen |
            grep -q '^COMMAND has ended: .*, for [0-9]* s \.\.\. .\[K'
    }
    for n in 1 2; do
        options=
        [ $n -eq 1 ] || options="--launcher ./launcher"
        PAUSE_AT=0.report.html PAUSE_REACHED=$PWD/reached PAUSE_GO=$PWD/go \
            background script -fqec \
            "'$ROLLCALL' run $options -o out$n -- ./writer" seen
        [ $n -eq 2 ] || timeout "$LIMIT" cat reached
        eventually is_told || fail "nothing was told: $(cat -v seen)"
        go_on
        end_of "$pid"
        expect_status 0
        tr '\r' '\n' <seen | grep -q '^.\[Kjob  ' ||
            fail "not cleared: $(cat -v seen)"
    done
    is "in a pipe" 0 "$("$ROLLCALL_BIN/rollcall" run -o out3 -- ./writer 2>&1 |
        grep -c 'has ended')"
}
