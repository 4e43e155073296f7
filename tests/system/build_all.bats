#!/usr/bin/env bats
# rollcall build --all: the results that are missing, behind or of another
# version, some at once; and fsck, which compares them with what was built

load service_helper

# Three jobs in a root that nobody serves, each with a result.
three_jobs ()
{
    local i

    service
    for i in 1 2 3; do
        "$CAPTURE_MAKER" --quiet --ranks 2 --steps 1 --ops 8 --seed "$i" \
            --start $((1764000000 + i * 100000)) --process "$i" "job$i"
        timeout "$LIMIT" "$AGENT" --state "$TEST_DIR/spool" --job "j$i" \
            --aggregator "tcp://127.0.0.1:$PORT" --once "job$i"
    done
    all_built () { [ "$("$ROLLCALL" jobs | grep -c ' built: ')" = 3 ]; }
    export ROLLCALL_ROOT=$TEST_DIR/root
    eventually all_built
    stop_service
}

db_of ()                            # JOB
{
    echo "root/jobs/$1/cluster_analysis_output/analysis.db"
}

@test "only the jobs that need it are built, and the result is the same" {
    local before

    three_jobs
    run "$ROLLCALL" build --all
    expect_status 0
    shows "0 of 3 jobs built; the others are up to date"
    before=$("$ROLLCALL" fsck result j2)
    rm "$(db_of j2)"
    sqlite3 "$(db_of j3)" "UPDATE Job SET value='0.0.9' WHERE
        key='rollcall_version'"
    run "$ROLLCALL" build --all --at-once 2
    expect_status 0
    shows "j2: 2 of 2 present" "j3: 2 of 2 present" "2 of 3 jobs built"
    is "rows of j2" "$before" "$("$ROLLCALL" fsck result j2)"
    # an aggregator finds nothing to do
    run "$ROLLCALL" build --all
    shows "0 of 3 jobs built"
    run "$ROLLCALL" build -o all.out --all
    expect_status 0
    shows "3 of 3 jobs built"
    [ -s all.out/j1/cluster_analysis_output/analysis.db ]
}

# task ID MIN MAX STEP COUNT [ARGUMENT]...: of an array of Slurm, into tasks.out
task ()
{
    run env SLURM_ARRAY_TASK_ID="$1" SLURM_ARRAY_TASK_MIN="$2" \
        SLURM_ARRAY_TASK_MAX="$3" SLURM_ARRAY_TASK_STEP="$4" \
        SLURM_ARRAY_TASK_COUNT="$5" "$ROLLCALL" build -o tasks.out --all \
        "${@:6}"
}

jobs_built ()                       # by the last command
{
    grep -c present <<<"$output" || true
}

@test "the tasks of an array divide the jobs, each is in one share" {
    local built i step

    three_jobs
    for i in 3 5; do
        task $i 3 5 2 2
        expect_status 0
        shows "share $(((i - 3) / 2))/2: "
        built+=$(jobs_built)+
    done
    is "jobs built by both" 3 $((${built}0))
    is "jobs" "j1 j2 j3" "$(cd tasks.out && echo *)"
    # some tasks that failed, again: nobody knows what they had
    rm -r tasks.out
    for i in 1 2 9; do
        for step in 1 7 8; do
            task $i 1 9 $step 3
            expect_status 2
            shows "not evenly spaced" "jobs task $i has" "--array=0-2" --share
        done
    done
    task 2 1 10 3 4                     # of 1,2,8,10
    expect_status 2
    task 1 1 9 "" 3
    expect_status 2
    shows "SLURM_ARRAY_TASK_STEP is no number"
    [ ! -e tasks.out ]
    # they say it themselves; so do people
    built=
    for i in 1 2 9; do
        task $i 1 9 1 3 --share $i/10
        expect_status 0
        shows "share $i/10: "
        built+=$(jobs_built)+
    done
    for i in 0 3 4 5 6 7 8; do
        run "$ROLLCALL" build -o tasks.out --all --share $i/10
        expect_status 0
        built+=$(jobs_built)+
    done
    is "jobs built by ten" 3 $((${built}0))
    task 9 1 9 1 3 --share 0/1
    expect_status 0
    shows "0 of 3 jobs built; the others are up to date"
    # one task alone is all of its array
    task 9 9 9 1 1
    shows "0 of 3 jobs built"
    # in the root the variables do not count
    run env SLURM_ARRAY_TASK_ID=1 "$ROLLCALL" build --all
    shows "0 of 3 jobs built"
    for i in 10/10 1 /3 1/ 1/0 -1/3 a/b 1/3/5 1111111111111111/3; do
        run "$ROLLCALL" build -o tasks.out --all --share "$i"
        expect_status 2
        shows "$i"
    done
    run "$ROLLCALL" build -o tasks.out --share 0/2 j1
    expect_status 2
    shows "--all"
}

@test "fsck: a result that was changed is named, and built again" {
    three_jobs
    run "$ROLLCALL" fsck aggregator
    expect_status 0
    shows "3 results; 0 damaged"
    sqlite3 "$(db_of j1)" "UPDATE StepTraceTime SET computing=computing+1
        WHERE rowid=(SELECT min(rowid) FROM StepTraceTime)"
    rm "$(db_of j2)"                # a cache may be removed
    run "$ROLLCALL" fsck aggregator
    expect_status 1
    shows "job j1: its result has other rows than were built" \
        "1 result; 1 damaged"
    run "$ROLLCALL" fsck --repair aggregator
    expect_status 1
    shows "it is built again"
    run "$ROLLCALL" build --all
    expect_status 0
    shows "j1: 2 of 2 present" "j2: 2 of 2 present" "2 of 3 jobs built"
    run "$ROLLCALL" fsck aggregator
    expect_status 0
    shows "3 results; 0 damaged"
}

# killed between jobs: what was built stays built
@test "build --all that is interrupted goes on where it was" {
    three_jobs
    rm -r root/jobs
    "$ROLLCALL" build --all --at-once 1 >build.log 2>&1 3>&- &
    one_is_there () { [ -s "$(db_of j1)" ]; }
    eventually one_is_there
    kill -TERM $!
    wait $! || [ $? -eq 143 ] || fail "$(cat build.log)"
    run "$ROLLCALL" build --all
    expect_status 0
    run "$ROLLCALL" build --all
    shows "0 of 3 jobs built"
    run "$ROLLCALL" fsck aggregator
    expect_status 0
    shows "3 results; 0 damaged"
}

@test "build --all: a job that fails does not stop the others" {
    three_jobs
    rm -r root/jobs
    mkdir root/jobs
    echo "no directory" >root/jobs/j2
    run "$ROLLCALL" build --all
    expect_status 73
    shows "job j2: " "2 of 3 jobs built" "j1: 2 of 2 present" \
        "j3: 2 of 2 present"
    run "$ROLLCALL" build --all j1
    expect_status 2
    shows 'unexpected argument "j1"'
    run "$ROLLCALL" build
    expect_status 2
}
