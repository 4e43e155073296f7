#!/usr/bin/env bats
# rollcall-aggregator as a service and agents that deliver to it: what is
# acknowledged is there, once, whoever dies meanwhile

load service_helper

@test "an agent delivers once: the rows are those of analyze" {
    make
    service
    run agent --once job
    shows "event=waiting" "until the captures here are read and tcp://" \
        "event=delivered" "4 items, " "nothing is left to deliver"
    expect_status 0
    eventually captures_are 4
    as_analyzed
    truth_and_more
    # a word that all is well, beside an error, would be believed
    run agent --once nowhere
    expect_status 66
    shows "0 items, " "not all was searched"
    stop_service
}

# once_paused_at FILE: an agent with --once --raw, as paused_at
once_paused_at ()
{
    paused_at "$1" "$AGENT" --state "$TEST_DIR/spool" --job j \
        --aggregator "tcp://127.0.0.1:$PORT" --once --raw job
}

# Else only who asks would learn of it: nobody waits for a service.
@test "a service warns of a result that lacks ranks" {
    make --skip-ranks 2
    service
    run agent --once job
    expect_status 0
    eventually was_built
    grep -q "level=warn .*event=built .* present=3 expected=4 missing=1$" \
        service.log || fail "$(cat service.log)"
    run "$ROLLCALL" query missing j --root root
    shows "no capture of it was found"
    make
    run agent --once job
    expect_status 0
    eventually grep -q "level=info .*event=built .* present=4 expected=4$" \
        service.log
}

# It would be sealed as one without files, and the place where it is now never
# be looked at.
@test "--once: a capture that is moved while it is read is delivered whole" {
    local c

    make --ranks 1
    service
    c=$(basename "$(capture_of 0)")
    once_paused_at communication.json
    mkdir job/sub
    mv "job/$c" job/sub/
    go_on
    end_of "$pid"
    shows "job/$c was moved, removed or exchanged while it was read" \
        "event=sealed capture=$PWD/job/sub/$c rank=0 state=complete"
    [[ $output != *"event=sealed capture=$PWD/job/$c "* ]]
    run "$ROLLCALL" archive get --root root j 0 back
    expect_status 0
    diff -r -x '*rollcall[.-]*' job/sub back
}

# What had been left out was on nobody's list when all else was acknowledged.
@test "--once: a raw file that is cut while it is read is delivered" {
    local c

    make --ranks 1
    service
    c=$(capture_of 0)
    truncate -s 3M "$c/zz.bin"
    once_paused_at zz.bin
    truncate -s 2M "$c/zz.bin"
    go_on
    end_of "$pid"
    expect_status 0
    run "$ROLLCALL" archive get --root root j 0 back
    expect_status 0
    diff -r -x '*rollcall[.-]*' job back
}

# to_service N [OPTION]... -- COMMAND...: a run that delivers to the service
to_service ()
{
    local n=$1

    shift
    run timeout 200 mpirun -np "$n" "$ROLLCALL" run --text --job j \
        --aggregator "tcp://127.0.0.1:$PORT" "$@"
}

@test "a run that delivers to a service ends when everything is there" {
    service
    # a deadline that is not waited for
    to_service 3 --deadline 1h -- sh -c '[ $RANK -eq 1 ] || ./writer'
    expect_status 0
    eventually captures_are 2
    # nobody would know afterwards
    reasoned () {
        roster_says 1 missing "it wrote no capture below" 2>roster.log
    }
    eventually reasoned || fail "$(cat roster.log)"
    stop_service
    # what is in use while COMMANDs may still be started stays with the marks
    is "left in the run's directory" \
        "agent.log agent.over captures master.json" \
        "$(ls --ignore librollcall_world.so "$(run_dir)" | xargs)"
    # as of any run
    to_service 1 -- touch started
    expect_status 73
    shows "job j has been run on this host before"
    [ ! -e started ]
}

@test "a run that delivers to a service waits for a rank that starts late" {
    service
    cat >late <<'SCRIPT'
#!/bin/sh
# rank 1 only when all of rank 0 is there, and the result built
[ "$OMPI_COMM_WORLD_RANK" -eq 0 ] ||
    until grep -q "event=built job=j" service.log; do sleep 0.05; done
exec "$@"
SCRIPT
    chmod +x late
    run timeout 200 mpirun -np 2 ./late "$ROLLCALL" run --text --job j \
        --aggregator "tcp://127.0.0.1:$PORT" -- ./writer
    expect_status 0
    eventually captures_are 2
    stop_service
}

# finish_run: by the command that the run has printed
finish_run ()
{
    local command=${said#*all that is left: rollcall-agent}

    run eval "timeout $LIMIT '$AGENT' ${command%%$'\n'*}"
}

@test "a run that a service takes nothing of ends at its deadline, and says so" {
    local run_dir said

    mkdir "it's here"
    ROLLCALL_STATE_DIR="$PWD/it's here"
    service --disk-floor 100%
    to_service 2 --deadline 12s -- ./writer
    expect_status 69
    shows "when the deadline passed, 2 items of the spool were not delivered" \
        "captures that are still here stay, below" \
        "this delivers all that is left: rollcall-agent --once"
    said=$output
    run_dir=$(run_dir)
    is "captures" 2 "$(find "$run_dir/captures" -name '*_ascend_pt' | wc -l)"
    [ -e "$run_dir/spool/ledger.db" ]
    run "$ROLLCALL" wait j
    expect_status 66
    shows "was delivered to a service" "rollcall show JOB"
    stop_service
    service
    finish_run
    expect_status 0
    eventually captures_are 2
    [ ! -e "$run_dir/spool" ]
    finish_run
    expect_status 66
    shows "what that run left was delivered"
    stop_service
}

@test "what a run left is delivered wherever COMMAND wrote it, and nothing of later jobs" {
    local said

    service --disk-floor 100%
    mkdir here there
    run timeout 200 mpirun -np 2 "$ROLLCALL" run --text --job j --deadline 6s \
        --aggregator "tcp://127.0.0.1:$PORT" --max-ranks 200000 --watch there -- \
        sh -c '[ $RANK = 0 ] && exec ./writer here || exec ./writer there'
    expect_status 69
    said=$output
    shows " --max-ranks 200000"
    stop_service
    # one is only in the spool now, and the next job writes beside the other
    rm -r here/*_ascend_pt
    "$CAPTURE_MAKER" --quiet --ranks 4 --skip-ranks 0,1 there
    service
    finish_run
    expect_status 0
    eventually captures_are 2
    is "ranks" "0 1" "$(sql "SELECT group_concat(rank, ' ') FROM
        (SELECT DISTINCT rank FROM Capture ORDER BY rank)")"
    stop_service
}

# A child of COMMAND goes on writing when nobody waits for that any more: that
# what is delivered is all of it would be a lie.
@test "a run names a capture that is written to when it is too late" {
    local writer late

    service --disk-floor 100%       # nothing is delivered for a while
    background "$ROLLCALL" run --text --job j --raw --quiet-period 0.5s \
        --deadline 40s --aggregator "tcp://127.0.0.1:$PORT" -- ./writer
    has_ended () { run "$ROLLCALL" status --json "$(run_dir)"
                   [[ "$output" =~ delivering|waiting ]]; }
    eventually has_ended
    late=$(run_dir)/captures/late
    "$CAPTURE_MAKER" --quiet --ranks 1 --ops 1 --seed 7 "$late"
    late=$(echo "$late"/*_ascend_pt)
    (while [ ! -e over ] && printf x >"$late/changes"; do sleep 0.02; done) &
    writer=$!
    # when half of the deadline has passed it is taken as it is
    taken () { grep -q "event=sealed.*$late" "$(run_dir)/agent.log"; }
    eventually taken
    kill_service
    service
    end_of "$pid"
    touch over
    wait "$writer" || true
    expect_status 69
    shows "1 found or written too late to be read"
    stop_service
}

@test "a run whose capture cannot be put into the spool: 69, and says so" {
    service
    cat >unsealable <<'SCRIPT'
#!/bin/sh
host=$(dirname "$(dirname "$ROLLCALL_CAPTURE_DIR")")
mkdir -p "$host/spool/items/0/1-0"
./writer
until grep -q event=seal-failed "$host/agent.log"; do sleep 0.05; done
./writer "$ROLLCALL_CAPTURE_DIR/b"
SCRIPT
    chmod +x unsealable
    to_service 1 --quiet-period 0.1s --deadline 20s -- ./unsealable
    expect_status 69
    shows "captures that are not delivered: 1 not put into the spool"
    eventually captures_are 1
    [ -e "$(run_dir)/spool/ledger.db" ]
    stop_service
}

@test "--once tries a capture that cannot be put into the spool once more" {
    make --ranks 2
    service
    mkdir -p spool/spool-j/items/0/1-0
    background agent --once job
    failed () { grep -q event=seal-failed log; }
    eventually failed
    rmdir spool/spool-j/items/0/1-0
    end_of "$pid"
    expect_status 0
    eventually captures_are 2
    stop_service
}

@test "--once: a capture that cannot be put into the spool: 73, the rest goes" {
    make --ranks 2
    service
    mkdir -p spool/spool-j/items/0/1-0
    run agent --once job
    expect_status 73
    is "tries" 2 "$(grep -c event=seal-failed <<<"$output")"
    eventually captures_are 1
    stop_service
}

# Its agents could not record when it ended.
@test "what is made after a run whose agents have died is not the run's" {
    local n said

    service
    mkdir prof later
    mkfifo go.write go.end
    cat >command <<'SCRIPT'
#!/bin/sh
: >began
read -r _ <go.write
./writer prof
read -r _ <go.end
SCRIPT
    chmod +x command
    "$ROLLCALL" run --text --job j --aggregator "tcp://127.0.0.1:$PORT" \
        -- ./command >log 2>&1 3>&- &
    pid=$!
    eventually test -e began
    kill -STOP "$service"       # it takes nothing, or the run would end by itself
    timeout 90 sh -c 'echo >go.write'
    sealed () { grep -q event=sealed "$(run_dir)/agent.log"; }
    eventually sealed 2>sealed.log
    timeout 90 sh -c 'echo >go.end'
    # as soon as one listens
    next () { gone "$pid" || [ "$(grep -c "to=collecting" \
        "$(run_dir)/agent.log")" -gt "$n" ]; }
    for ((n = 0; ; n++)); do
        eventually next
        ! gone "$pid" || break
        # shellcheck disable=SC2046     # a list
        kill -KILL $(processes_named rollcall-agent) 2>/dev/null || true
    done
    end_of "$pid"
    expect_status 69
    said=$(cat log)
    kill -CONT "$service"
    RANK=0 WORLD_SIZE=1 ./writer later
    finish_run
    expect_status 0
    shows "event=capture-of-other-job" "$PWD/later/"
    ! grep -q "sealed capture=$PWD/later" <<<"$output" || fail "it took it"
    eventually captures_are 1
    stop_service
}

# Needs the build with fault points (preset faults).
# bats test_tags=faults
@test "a run whose agent dies again and again: 69, and says so" {
    grep -q ROLLCALL_FAULT_ONCE "$AGENT" || skip "no fault points in this build"
    service
    export ROLLCALL_FAULT=agent.seal.write
    to_service 1 --deadline 20s -- ./writer
    unset ROLLCALL_FAULT
    expect_status 69
    shows "not everything is delivered: the agent of host" "rollcall-agent --once"
    stop_service
}

@test "delivering again is harmless, with the spool and without" {
    make
    service
    run agent --once job
    expect_status 0
    eventually captures_are 4
    run agent --once job
    expect_status 0
    rm -rf spool
    run agent --once job
    expect_status 0
    another_job k
    another_job l
    is "builds: nothing new came of j" 1 "$(builds)"
    is "captures" "complete 4" "$(sql "SELECT state || ' ' || count(*)
                                       FROM Capture GROUP BY state")"
    as_analyzed
    stop_service
}

@test "a service that is killed before it built builds when it starts" {
    make
    service
    run agent --once job
    expect_status 0
    kill_service
    [ ! -e "$DB" ] || skip "this machine is slow: it had been built"
    service
    eventually captures_are 4
    grep -q "event=unbuilt .*job j: its result lacks some" service.log
    as_analyzed
    stop_service
    # and not once more at the next start
    service
    another_job k
    is "builds" 1 "$(builds)"
    stop_service
}

# The session of the README ends so: whoever ends the service looks at the
# result then.
@test "a service that is told to end builds what came first" {
    make
    service
    run agent --once job
    expect_status 0
    stop_service
    captures_are 4
    as_analyzed
    : >service.log
    service
    stop_service
    ! grep -q event=unbuilt service.log
}

# The first turn of its loop finds the signal: what a former life left is not
# due then.
@test "a service that is told to end when it starts builds what was left" {
    local job

    make
    service
    for job in j k; do
        run agent --once --job $job job
        expect_status 0
    done
    stop_service
    rm -rf root/jobs
    : >service.log
    service
    stop_service
    says service.log event=ending
    for job in j k; do
        is "builds of $job" 1 "$(builds $job)"
    done
    captures_are 4
}

@test "a service that is told to end twice ends at once" {
    make
    mkfifo reached go
    LD_PRELOAD=$PAUSE_READ PAUSE_AT=0.report.html PAUSE_REACHED=reached \
        PAUSE_GO=go service
    run agent --once job
    expect_status 0
    kill "$service"
    timeout 90 cat reached
    eventually grep -q event=ending service.log
    kill "$service"
    signals () { [ "$(grep -c event=signal service.log)" = 2 ]; }
    eventually signals
    go_on
    stop_service
    is "builds" 0 "$(builds)"
    service
    eventually was_built
    says service.log "event=unbuilt"
    stop_service
}

@test "a result that was deleted is built when the service starts" {
    make
    service
    run agent --once job
    expect_status 0
    eventually was_built
    # two more than the captures know of: that must not be forgotten
    run "$ROLLCALL" jobs --root root --job j --expect 6
    expect_status 0
    eventually grep -q "event=built .* expected=6" service.log
    captures_are 4
    stop_service
    rm -r root/jobs
    service
    eventually captures_are 4
    grep -q "event=unbuilt .*job j: its result is missing" service.log
    as_analyzed
    is "ranks" "4 present, 2 missing" "$(sql "SELECT group_concat(x, ', ') FROM
        (SELECT count(*) || ' ' || state x FROM Roster GROUP BY state
         ORDER BY state DESC)")"
    stop_service
}

# a failure is forgotten when the next build begins
@test "a build that fails is tried again" {
    make
    mkdir -p root/jobs/j
    touch root/jobs/j/cluster_analysis_output   # where a directory is to be
    service
    run agent --once job
    expect_status 0
    build_failed () { grep -q "event=build-failed job=j" service.log; }
    eventually build_failed
    rm root/jobs/j/cluster_analysis_output
    eventually captures_are 4 || fail "$(cat service.log)"
    stop_service
}

@test "an agent is killed in the middle and started again" {
    make --ranks 8 --ops 300
    service
    watching --quiet-period 0.1s job
    some_sealed () { grep -q event=sealed agent.log; }
    eventually some_sealed
    kill -KILL "$watcher"
    wait "$watcher" || true
    run agent --once job
    expect_status 0
    eventually captures_are 8
    as_analyzed
    truth_holds
    stop_service
}

# raw files that take a while
raw_captures ()
{
    local capture

    make --ranks 3
    for capture in job/*_ascend_pt; do
        mkdir "$capture/PROF_1"
        head -c 60000000 /dev/urandom >"$capture/PROF_1/data"
    done
}

# It takes an hour to hash: whoever ends the agent does not wait for that.
@test "an agent that is told to end does not finish the file it is at" {
    make --ranks 1
    truncate -s 1T "$(capture_of 0)/huge"
    choose_port                     # nobody listens
    watching --raw --quiet-period 0.1s job
    linked () { [ -n "$(find spool -size +1G 2>/dev/null)" ]; }
    eventually linked
    kill "$watcher"
    gone_now () { gone "$watcher"; }
    eventually gone_now
    ends_with 75
    ! grep -q event=sealed agent.log
}

# bats test_tags=slow
@test "the aggregator is killed while it takes in: nothing lost or twice" {
    local i stored

    raw_captures
    service
    LIMIT=400 agent --once --raw job >agent.log 2>&1 3>&- &
    local sender=$!
    for i in 1 2 3; do
        stored=$(du -sb root/segments | cut -f 1)
        arriving () {
            [ "$(du -sb root/segments | cut -f 1)" -gt "$stored" ] ||
                gone "$sender"
        }
        eventually arriving
        kill_service
        service
    done
    wait "$sender" || fail "$(cat agent.log)"
    # a build rests three times as long as it took, which may be long
    eventually captures_are 3 || fail "$(cat service.log)"
    as_analyzed
    stop_service
    is "items" "$(($(find job -type f | wc -l) + 3))" \
        "$(sqlite3 root/ledger.db "SELECT count(*) FROM item")"
    is "items that are there twice" 0 "$(sqlite3 root/ledger.db "SELECT
        count(*) FROM (SELECT 1 FROM item GROUP BY kind, rank, capture, path
                       HAVING count(*) > 1)")"
}

# bats test_tags=slow
@test "a capture that is finished is delivered while others are written" {
    make --ranks 2
    mkdir later
    service
    watching --quiet-period 0.2s later
    at_once cp -r job/*_20003_*_ascend_pt later/
    eventually captures_are 1
    at_once cp -r job/*_20012_*_ascend_pt later/
    eventually captures_are 2
    kill "$watcher"
    wait "$watcher" || fail "the agent ended with $?: $(cat agent.log)"
    stop_service
}

@test "analyse.done ends the waiting" {
    make --ranks 2 --age 2026
    mkdir later
    service
    watching --quiet-period 1h later
    # a date of just now, so that it is not quiet by its dates
    cp -r job/*_ascend_pt later/
    eventually captures_are 2
    kill "$watcher"
    wait "$watcher" || fail "the agent ended with $?: $(cat agent.log)"
    stop_service
}

@test "a capture that was analysed again supersedes its older self" {
    make --ranks 2 --layout renamed
    service
    watching --quiet-period 0.2s job
    eventually captures_are 2
    rm -rf new truth.db
    "$CAPTURE_MAKER" --quiet --ranks 2 --ops 8 --layout renamed --seed 7 \
        --truth truth.db new
    at_once cp -r new/rank_1_ascend_pt/. job/rank_1_ascend_pt
    superseded ()
    {
        [ "$(sql "SELECT count(*) FROM Capture WHERE state='superseded'")" = 1 ]
    }
    eventually superseded
    is "captures" "complete 2,superseded 1" "$(sql "SELECT group_concat(x) FROM
        (SELECT state || ' ' || count(*) x FROM Capture GROUP BY state)")"
    truth_holds "rank=1"
    kill "$watcher"
    wait "$watcher" || fail "the agent ended with $?: $(cat agent.log)"
    stop_service
}

# Both wait in the spool; the newer one has one chunk, the older one several.
@test "the newer version of a capture counts, whichever is delivered first" {
    "$CAPTURE_MAKER" --quiet --ranks 1 --steps 40 --ops 400 --layout renamed \
        --seed 3 job
    sealed () { [ "$(grep -c event=sealed agent.log)" -ge "$1" ]; }
    choose_port                         # nobody is there
    watching --quiet-period 0.1s job
    eventually sealed 1
    "$CAPTURE_MAKER" --quiet --ranks 1 --ops 8 --layout renamed --seed 7 \
        --truth truth.db new
    at_once cp -r new/. job
    eventually sealed 2
    kill "$watcher"
    wait "$watcher" || true
    service
    cp -r spool spool.before
    mkdir nowhere
    run agent --once nowhere
    expect_status 0
    eventually captures_are 1
    truth_holds
    # an agent that did not live to hear of it says all of it again
    rm -rf spool
    mv spool.before spool
    run agent --once nowhere
    expect_status 0
    stop_service
    "$ROLLCALL" build j --root root -o again
    DB=again/cluster_analysis_output/analysis.db
    truth_holds
    is "versions" 2 "$(sql "SELECT count(*) FROM item WHERE kind=1" \
                           root/ledger.db)"
}

# Whoever tidies up by hand removes file by file, and the agent looks on.
@test "a capture that is being removed does not replace the whole one" {
    make --ranks 2 --layout renamed
    service
    watching --quiet-period 0.2s job
    eventually captures_are 2
    at_once rm job/rank_1_ascend_pt/ASCEND_PROFILER_OUTPUT/communication*.json
    superseded ()
    {
        [ "$(sql "SELECT count(*) FROM Capture WHERE state='superseded'")" = 1 ]
    }
    eventually superseded
    is "captures" "complete 2,superseded 1" "$(sql "SELECT group_concat(x) FROM
        (SELECT state || ' ' || count(*) x FROM Capture GROUP BY state)")"
    truth_holds
    kill "$watcher"
    wait "$watcher" || fail "the agent ended with $?: $(cat agent.log)"
    stop_service
}

# A mistyped path must not look like a delivery.
# A socket takes 24 messages at once: what was lost at a node is more words than
# that, and once they stood in the way of all that was to be delivered.
@test "a node that has much to say delivers all the same" {
    local captures

    make --ranks 40 --ops 1
    service
    watching --quiet-period 600s job
    sees_all () { run "$ROLLCALL" status --json spool
                  [[ "$output" =~ \"unsettled\":[[:space:]]*40, ]]; }
    eventually sees_all
    kill -KILL "$watcher"
    wait "$watcher" || true
    captures=(job/*_ascend_pt)
    rm -r "${captures[@]:2}"
    run agent --once --quiet-period 0s job
    expect_status 1                 # 38 of them are lost, and named
    eventually captures_are 2
    stop_service
}

@test "a directory that is not there: 66 with --once, else a warning" {
    make
    service
    run agent --once job nowhere
    expect_status 66
    shows "cannot open directory nowhere: No such file or directory"
    eventually captures_are 4       # of the other one
    watching --quiet-period 0.1s later
    eventually grep -q "later does not exist yet" agent.log
    ends_with 0
    stop_service
}

# Captures may be in it: 0 would be taken for all of them.
@test "--once: a directory below that cannot be read: 66, the rest goes" {
    [ "$(id -u)" -ne 0 ] || command -v setpriv >/dev/null || skip "needs setpriv"
    make --ranks 2
    mkdir job/private
    mv "$(capture_of 1)" job/private
    chmod 0 job/private
    service
    run humbly timeout 120 "$AGENT" --state "$TEST_DIR/spool" --job j --once \
        --aggregator "tcp://127.0.0.1:$PORT" job
    expect_status 66
    shows "cannot read directory" "job/private"
    chmod 700 job/private
    eventually captures_are 1
    stop_service
}

# A terminal that is closed, a pipe whose reader is killed: data goes on.
@test "whoever reads the log goes away: agent and aggregator go on" {
    local status=0

    make --ranks 2
    choose_port
    mkfifo lines others             # one each: a line of one of them would
    "$AGGREGATOR" --root "$TEST_DIR/root" --listen "tcp://127.0.0.1:$PORT" \
        >lines 2>&1 3>&- &          # satisfy the reader of the other
    service=$!
    head -c 1 lines >first
    DB=root/jobs/j/cluster_analysis_output/analysis.db
    eventually listens "$PORT"
    "$AGENT" --state "$TEST_DIR/spool" --job j --once \
        --aggregator "tcp://127.0.0.1:$PORT" job >others 2>&1 3>&- &
    watcher=$!
    head -c 1 others >first
    wait "$watcher" || status=$?
    is "status" 0 "$status"
    eventually captures_are 2
    kill "$service"
    wait "$service"
}

@test "two agents with one state directory: the second says so" {
    make
    mkdir empty
    service
    watching empty
    eventually test -e spool/spool-j/ledger.db
    run agent --once job
    expect_status 73
    shows "another agent has the spool"
    ends_with 0
    stop_service
}

@test "two aggregators with one root: the second says so" {
    service
    run timeout 60 "$AGGREGATOR" --root root --listen tcp://127.0.0.1:1
    expect_status 73
    shows "root is locked" "process $service has it"
    stop_service
}

@test "a port that is taken is said" {
    service
    run timeout 60 "$AGGREGATOR" --root root2 \
        --listen "tcp://127.0.0.1:$PORT"
    expect_status 73
    shows "tcp://127.0.0.1:$PORT" "the port is taken"
    stop_service
}

@test "a root that cannot be made or written: 73 with the path" {
    run timeout 60 "$AGGREGATOR" --root /proc/no/root --listen tcp://127.0.0.1:1
    expect_status 73
    shows "/proc/no"
    mkdir -m 555 closed
    run humbly timeout 60 "$AGGREGATOR" --root closed/root \
        --listen tcp://127.0.0.1:1
    expect_status 73
    shows "closed/root"
    run humbly timeout 60 "$AGENT" --once --state closed/state .
    expect_status 73
    shows "closed/state"
    nothing_runs
}

@test "a job's id that cannot be one is refused, for what is wrong with it" {
    local job long

    long=$(printf '%0300d' 0)
    for job in a/b "$long" . .. ""; do
        run "$AGENT" --once --state spool --job "$job" .
        expect_status 2
        shows "1 to 255 bytes, no slash in it, and is not . or .."
    done
    run "$ROLLCALL" run --job "$long" -- true
    expect_status 2
    shows "less than 128 letters"
}

@test "addresses that other hosts reach need --insecure, on both sides" {
    choose_port
    run timeout 60 "$AGGREGATOR" --root root --listen "tcp://*:$PORT"
    expect_status 78
    shows "can be reached from other hosts" "--insecure"
    run timeout 60 "$AGENT" --once --state spool --job j \
        --aggregator "tcp://192.0.2.1:$PORT" .
    expect_status 78
    shows "is on another host" "--insecure"
    "$AGGREGATOR" --insecure --root root --listen "tcp://*:$PORT" \
        >>service.log 2>&1 3>&- &
    service=$!
    eventually listens "$PORT"
    grep -q "not encrypted" service.log
    stop_service
}

# What was written from then on would be in files that nobody finds any more.
@test "a root that is removed, or replaced: nothing is acknowledged, it ends" {
    local how status

    raw_captures
    for how in removed replaced; do
        rm -rf root spool
        service
        mv root away
        [ $how = removed ] || cp -r away root
        status=0
        watching --once --raw job
        wait "$service" || status=$?
        is "status of the service" 74 $status
        grep -q "event=root-gone" service.log || fail "$(cat service.log)"
        eventually says agent.log event=sealed
        ends_with 75            # it has them yet
        rm -rf away service.log agent.log
    done
}

# counted WHAT DIR: by the program whose directory it is
counted ()
{
    "$ROLLCALL" status --json "$2" | grep -Po "\"$1\":\s*\K[0-9]+"
}

all_durable ()                      # there is something, and nothing is open
{
    [ -n "$(durable)" ]
}

# Each commit is fsyncs on both sides, and each offer a round trip: for 65,536
# files one by one, or by the eight, that took minutes.
# bats test_tags=slow
@test "small files share commits: so many for a batch, not for a file" {
    local dir files=3000 where

    rm -rf job
    "$CAPTURE_MAKER" --quiet --ranks 1 --ops 1 job
    dir=$(capture_of 0)
    mkdir "$dir/small"
    seq $files | split -l 1 -a 3 - "$dir/small/"
    service
    watching --raw --quiet-period 0.1s job
    eventually all_durable
    [ "$(durable)" -gt $files ]
    for where in spool root; do
        [ "$(counted commits $where)" -le $((files / 16)) ] ||
            fail "$(counted commits $where) commits in $where"
    done
    ends_with 0
}
