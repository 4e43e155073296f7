#!/usr/bin/env bats
# What an aggregator has acknowledged and does not have any more: agents deliver
# it again, or name what they cannot

load service_helper

named_lost ()                       # how many captures $output names so
{
    grep -c 'event=lost .*: the aggregator has lost .* no longer here' \
        <<<"$output" || true
}

end_service ()                      # agents may live on
{
    kill "$service"
    wait "$service" || fail "the service ended with $?: $(cat service.log)"
}

# lose_root COMMAND...: while nobody serves it, and then somebody does
lose_root ()
{
    end_service
    "$@"
    service
}

# Otherwise all that was delivered before stays away for good: its agent has
# nothing that it would offer.
@test "a root is lost: agents that live on deliver all of it again" {
    local items

    make
    service
    watching --raw --quiet-period 0.1s job
    eventually captures_are 4
    eventually durable
    items=$(durable)
    lose_root rm -rf root
    eventually captures_are 4
    says agent.log "4 captures that are here are delivered again"
    eventually says service.log "event=redelivery-requested"
    eventually durable_are $((2 * items))
    run "$ROLLCALL" archive get --root root j 0 back
    expect_status 0
    as_analyzed
    # once, and not at each HELLO from then on
    is "redeliveries" 1 "$(grep -c event=redelivery agent.log)"
    ends_with 0
    stop_service
}

# Else it might have been released when its second turn comes, and count as lost.
@test "a root is lost while a capture is sealed: that is done once" {
    mkfifo reached go
    "$CAPTURE_MAKER" --quiet --ranks 2 --skip-ranks 1 --extras job/early
    service
    LD_PRELOAD=$PAUSE_READ PAUSE_AT='late.data' PAUSE_REACHED=reached PAUSE_GO=go \
        watching --raw --quiet-period 0.1s job
    eventually durable
    "$CAPTURE_MAKER" --quiet --ranks 2 --skip-ranks 0 --extras late
    echo of raw files >"$(echo late/*_ascend_pt)/late.data"
    mv late job/
    timeout 90 cat reached
    lose_root rm -rf root
    eventually says agent.log event=redelivery
    go_on
    eventually captures_are 2
    eventually durable
    is "sealed" 1 "$(grep -c 'event=sealed .*/late/' agent.log)"
    ends_with 0
    stop_service
}

# --once says that all is there, so it has to ask.
@test "a root is lost: --once with nothing new delivers all of it again" {
    make
    service
    run agent --once job
    expect_status 0
    lose_root rm -rf root
    run agent --once job
    expect_status 0
    shows "4 captures that are here are delivered again"
    eventually captures_are 4
    # and it has settled
    run agent --once job
    expect_status 0
    [[ $output != *event=redelivery* ]]
    stop_service
}

# The ledger of a backup knows nothing of what came later; that it has grown
# again until the agent of that comes back does not help.
@test "an old backup of a root is put back: what came later is delivered again" {
    make --ranks 2
    service
    run agent --once job
    expect_status 0
    stop_service
    cp -a root backup
    service
    "$CAPTURE_MAKER" --quiet --ranks 2 --seed 5 other
    run timeout 120 "$AGENT" --state "$TEST_DIR/spool2" --job k --once \
        --aggregator "tcp://127.0.0.1:$PORT" other
    expect_status 0
    lose_root sh -c 'rm -rf root && mv backup root'
    "$CAPTURE_MAKER" --quiet --ranks 4 --seed 6 third
    run agent --once third
    expect_status 0
    [[ $output != *event=redelivery* ]]
    run timeout 120 "$AGENT" --state "$TEST_DIR/spool2" --job k --once \
        --aggregator "tcp://127.0.0.1:$PORT" other
    expect_status 0
    shows "2 captures that are here are delivered again"
    run "$ROLLCALL" archive verify --root root
    expect_status 0
    is "captures of k" 2 "$("$ROLLCALL" archive ls --json --root root k |
        grep -o '"capture"' | wc -l)"
    stop_service
}

# put_back_older RELEASE: captures of job/early are in the backup, those of
# job/late are not; and what is released stays so
put_back_older ()
{
    "$CAPTURE_MAKER" --quiet --ranks 2 --seed 4 job/early
    service
    run agent --once --raw --release "$1" job
    expect_status 0
    stop_service
    cp -a root backup
    service
    "$CAPTURE_MAKER" --quiet --ranks 3 --seed 5 job/late
    run agent --once --raw --release "$1" job
    expect_status 0
    lose_root sh -c 'rm -rf root && mv backup root'
}

# It has a part of what is not here: only the agent knows what it is to ask for,
# and only the root what it has.
@test "an old backup is put back: of what was released only what it lacks is lost" {
    local items

    put_back_older shipped
    is "left" 0 "$(find job -name '*_ascend_pt' | wc -l)"
    run agent --once --raw job
    expect_status 1
    shows "5 captures that it had acknowledged are no longer here: it is asked" \
        "3 captures that the aggregator had acknowledged are no longer here"
    is "named" 3 "$(named_lost)"
    [[ $output != *"has lost"*job/early/* ]]
    eventually says service.log "event=agent-note job=j" "3 captures that the aggregator"
    # and in every later life, the same ones
    run agent --once --raw job
    expect_status 1
    [[ $output != *event=redelivery* ]]
    is "named" 3 "$(named_lost)"
    [[ $output != *job/early/* ]]
    # nothing came of what was only asked for
    run "$ROLLCALL" archive verify --root root
    expect_status 0
    is "captures at the service" 2 "$("$ROLLCALL" archive ls --root root j |
        awk '$4 == "rows"' | wc -l)"
    stop_service
}

# Nothing is lost by that, and nothing is to be said.
# bats test_tags=slow
@test "a backup is put back that has all of it: nothing is called lost" {
    put_back_older shipped
    end_service
    rm -rf root job spool
    put_back_older when-full
    rm -r job/early
    run agent --once --raw job
    expect_status 0
    shows "3 captures that are here are delivered again" \
        "the aggregator still has all of the captures that are no longer here"
    [[ $output != *event=lost* ]]
    run agent --once --raw job
    expect_status 0
    [[ $output != *event=redelivery* ]]
    stop_service
}

# The wrong disk was mounted, and then the right one.
@test "a lost root comes back: what it has was never lost" {
    "$CAPTURE_MAKER" --quiet --ranks 2 --seed 4 job/early
    service
    run agent --once --raw --release shipped job
    expect_status 0
    lose_root mv root away
    run agent --once --raw job
    expect_status 1
    is "named" 2 "$(named_lost)"
    "$CAPTURE_MAKER" --quiet --ranks 1 --seed 6 job/late
    run agent --once --raw --release shipped job
    expect_status 1
    lose_root sh -c 'mv root other && mv away root'
    run agent --once --raw job
    expect_status 1
    is "named of it" 1 "$(sed '1,/event=redelivery/d' <<<"$output" |
        grep -c 'event=lost .*job/late/')"
    ! sed '1,/event=redelivery/d' <<<"$output" | grep 'event=lost .*job/early/'
    run agent --once --raw job
    expect_status 1
    is "named" 1 "$(named_lost)"
    stop_service
}

# Who is not answered does not know: that is not 0, nor a loss.
@test "what is not here is asked for until the aggregator answers" {
    put_back_older shipped
    end_service
    service --disk-floor 100%
    watching --raw job
    eventually says agent.log "5 captures that it had acknowledged are no longer here"
    ends_with 75
    ! says agent.log event=lost
    end_service
    service
    run agent --once --raw job
    expect_status 1
    is "named" 3 "$(named_lost)"
    stop_service
}

# What only the aggregator had is lost: that has to be said, by whoever knows.
@test "a root is lost: captures that had been released are named" {
    make --ranks 3
    service
    run agent --once --raw --release shipped job
    expect_status 0
    is "left" 0 "$(find job -name '*_ascend_pt' | wc -l)"
    "$CAPTURE_MAKER" --quiet --ranks 1 --seed 9 job/later
    lose_root rm -rf root
    run agent --once --raw job
    expect_status 1
    shows "0 captures that are here" \
        "3 captures that it had acknowledged are no longer here" \
        "3 captures that the aggregator had acknowledged are no longer here"
    is "named" 3 "$(named_lost)"
    eventually says service.log "event=agent-note job=j" "no longer here"
    # and in every later life, each of them
    run agent --once --raw job
    expect_status 1
    is "named" 3 "$(named_lost)"
    stop_service
}

# They are on a file system that is not mounted yet, say: not taken for
# delivered when it is.
@test "a root is lost: what is away then is delivered when it comes" {
    make
    service
    run agent --once job
    expect_status 0
    end_service
    rm -rf root
    mv job away
    mkdir job
    service
    run agent --once job
    expect_status 1
    run agent --once job
    expect_status 1
    is "named" 4 "$(named_lost)"
    rmdir job
    mv away job
    run agent --once job
    expect_status 0
    [[ $output != *event=lost* ]]
    eventually captures_are 4
    stop_service
}

# Tidied away into another directory, and delivered from there as well.
@test "a root is lost: captures that were moved before are not called lost" {
    "$CAPTURE_MAKER" --quiet --ranks 4 job/new
    service
    run agent --once job
    expect_status 0
    mv job/new job/done
    run agent --once job
    expect_status 0
    lose_root rm -rf root
    run agent --once job
    expect_status 0
    shows "4 captures that are here are delivered again"
    [[ $output != *"no longer here"* ]]
    eventually captures_are 4
    stop_service
}

# The same as "away" for an agent that lives on.
# bats test_tags=slow
@test "a root is lost: an agent that watches delivers what is away then" {
    make
    service
    watching --quiet-period 0.1s job
    eventually captures_are 4
    eventually durable
    end_service
    rm -rf root
    mv job away
    mkdir job
    service
    eventually says agent.log "4 captures that it had acknowledged are no longer here"
    rmdir job
    mv away job
    eventually captures_are 4
    eventually durable
    ends_with 0
    stop_service
}

# Nobody has said that it is still there: the aggregator cannot be asked.
@test "a root is lost: nothing is released while the aggregator is away" {
    local seed

    make --ranks 2
    service
    run agent --once --raw --release when-full job
    expect_status 0
    end_service
    rm -rf root
    mkdir job/later
    watching --raw --release shipped --quiet-period 0.1s job
    # it has searched, and had time for a release, when it has found two more
    for seed in 7 8; do
        "$CAPTURE_MAKER" --quiet --ranks 1 --seed $seed "job/later/$seed"
        eventually says agent.log "sealed capture=$PWD/job/later/$seed/"
    done
    service --disk-floor 100%
    eventually says agent.log event=redelivery
    ! says agent.log event=released
    is "captures" 4 "$(find job -name '*_ascend_pt' | wc -l)"
    ends_with 75
    stop_service
}

# Needs the build with fault points (preset faults).  Nothing of it had gone.
# bats test_tags=faults
@test "a root is lost: a removal that had begun waits for the aggregator" {
    grep -q ROLLCALL_FAULT_ONCE "$AGENT" || skip "no fault points in this build"
    local point files

    for point in unlink rename; do
        rm -rf job other spool root agent.log
        make --ranks 1
        files=$(find job -type f | wc -l)
        service
        ROLLCALL_FAULT=agent.release.$point:1:kill \
            run agent --once --raw --release shipped job
        expect_status 137
        end_service
        rm -rf root
        "$CAPTURE_MAKER" --quiet --ranks 2 --seed 7 other
        rm -r "$(dirname other/*/profiler_info_0.json)"     # another rank
        watching --raw --release shipped --quiet-period 0.1s job other
        # when that is read a removal would have begun
        eventually says agent.log "sealed capture=$PWD/other/"
        is "files" "$files" "$(find job -type f | wc -l)"
        rm -rf other
        service
        eventually says agent.log "1 capture that is here is delivered again"
        released () { says agent.log "released text=$PWD/job/"; }
        eventually released
        is "raw files" "$files" "$(sql "SELECT count(*) FROM item WHERE kind=2
            AND rank=0" root/ledger.db)"
        kill "$watcher" "$service"
        wait "$watcher" "$service" || true
    done
}

# Needs the build with fault points (preset faults).  A search may have ended
# when it gets its name again.
# bats test_tags=faults
@test "a root is lost: --once takes back what was only set aside" {
    grep -q ROLLCALL_FAULT_ONCE "$AGENT" || skip "no fault points in this build"
    local left

    make --ranks 1
    service
    ROLLCALL_FAULT=agent.release.unlink:1:kill \
        run agent --once --raw --release shipped job
    expect_status 137
    lose_root rm -rf root
    run agent --once --raw --release when-full job
    expect_status 0
    shows "1 capture that is here is delivered again"
    [ -d "$(capture_of 0)" ]
    eventually captures_are 1
    as_analyzed
    # not if something of it has gone
    ROLLCALL_FAULT=agent.release.unlink:2:kill \
        run agent --once --raw --release shipped job
    expect_status 137
    lose_root rm -rf root
    left=$(find job -type f | wc -l)
    [ "$left" -gt 0 ]
    run agent --once --raw --release shipped job
    expect_status 1
    shows "stays: $PWD/job/.rollcall-removing-" "does not hold all of it" \
        "1 capture that it had acknowledged is no longer here"
    is "files" "$left" "$(find job/.rollcall-removing-* -type f | wc -l)"
    stop_service
}

# forget_mark: as if the note were lost, with all that it says
forget_mark ()
{
    sql "DELETE FROM note WHERE name='mark'" spool/spool-j/ledger.db
}

# Such a one could not be asked, and the next one must not be believed to have
# what it knows nothing of.
@test "a root without marks is lost: nothing is released, all comes again" {
    local seed

    make --ranks 2
    service
    run agent --once --raw --release when-full job
    expect_status 0
    end_service
    rm -rf root
    forget_mark
    mkdir job/later
    watching --raw --release shipped --quiet-period 0.1s job
    for seed in 7 8; do
        "$CAPTURE_MAKER" --quiet --ranks 1 --seed $seed "job/later/$seed"
        eventually says agent.log "sealed capture=$PWD/job/later/$seed/"
    done
    is "captures" 4 "$(find job -name '*_ascend_pt' | wc -l)"
    service --disk-floor 100%
    eventually says agent.log "2 captures are offered again"
    eventually says service.log event=disk-floor
    is "captures" 4 "$(find job -name '*_ascend_pt' | wc -l)"
    ! says agent.log event=released
    ends_with 75
    end_service
    service
    run agent --once --raw job
    expect_status 0
    [[ $output != *event=redelivery* ]]
    is "captures at the service" 4 "$("$ROLLCALL" archive ls --root root j |
        awk '$4 == "rows"' | wc -l)"
    stop_service
}

# An upgrade: the root has everything, also what is not on its node any more.
@test "a root without marks is not lost: nothing is called so" {
    local items

    make --ranks 2
    service
    run agent --once --raw --release shipped job
    expect_status 0
    "$CAPTURE_MAKER" --quiet --ranks 1 --seed 9 job/later
    run agent --once --raw job
    expect_status 0
    items=$("$ROLLCALL" archive ls --root root j | wc -l)
    forget_mark
    run agent --once --raw job
    expect_status 0
    shows "1 capture is offered again"
    [[ $output != *event=lost* ]]
    is "items" "$items" "$("$ROLLCALL" archive ls --root root j | wc -l)"
    run agent --once --raw job
    expect_status 0
    [[ $output != *event=redelivery* ]]
    stop_service
}

# Then there is nothing that an aggregator could have lost.
@test "nothing was ever acknowledged: --once waits for no aggregator" {
    mkdir job
    run agent --once job
    expect_status 0
}

# It must not be released before it has arrived for the second time.
@test "a root is lost: captures that were to be released stay until they are" {
    make --ranks 2
    service
    run agent --once --raw --release when-full job
    expect_status 0
    lose_root rm -rf root
    # it has no room, and takes nothing
    end_service
    service --disk-floor 100%
    watching --raw --release shipped --quiet-period 0.1s job
    eventually says agent.log event=redelivery
    eventually says service.log event=disk-floor
    is "captures" 2 "$(find job -name '*_ascend_pt' | wc -l)"
    end_service
    service
    released () { [ "$(grep -c event=released agent.log)" = 2 ]; }
    eventually released
    eventually captures_are 2
    ends_with 0
    stop_service
}

# held COMMAND: ./held does this, and ends when 'go_on' says so
held ()
{
    mkfifo go
    printf '#!/bin/sh\n%s\n: <go\n' "$1" >held
    chmod +x held
}

# Nobody can say that it is still there.
@test "a run whose service is silent at the deadline does not end with 0" {
    service
    held ./writer
    background "$ROLLCALL" run --text --job j --raw --quiet-period 0.1s \
        --deadline 11s --aggregator "tcp://127.0.0.1:$PORT" -- ./held
    eventually durable "$ROLLCALL_STATE_DIR"
    kill_service
    go_on
    end_of "$pid"
    expect_status 69
    shows "it may no longer have everything"
}

# some_go LOG: when more than ten captures have gone at the end.  They go fast.
some_go ()
{
    local line n=0 done='' tail

    exec 8< <(exec timeout "$LIMIT" tail -n +1 -F "$1" 2>/dev/null)
    tail=$!
    while [ $n -le 10 ] && read -r line <&8; do
        [[ $line != *event=done* ]] || done=1
        [[ ! $done || $line != *event=released* ]] || n=$((n + 1))
    done
    kill "$tail" 2>/dev/null || true
    exec 8<&-
    [ $n -gt 10 ]
}

# many_go SECONDS: a run with a service at work has delivered 400 captures, and
# they go now, one after the other, when the service dies and its root with it;
# then the clock jumps by more than the 10 s after which its last word is too
# old.  When it was silent for 60 s it is given up.
many_go ()
{
    service
    preloads rollcall-agent "$SHIFT_CLOCK"
    SHIFT_WHEN=$PWD/later SHIFT_S=$1 background "$ROLLCALL" run --text \
        --job j --raw --release shipped --quiet-period 0.1s --deadline 200s \
        --aggregator "tcp://127.0.0.1:$PORT" -- sh -c 'exec "$CAPTURE_MAKER" \
        --quiet --ranks 400 --ops 1 "$ROLLCALL_CAPTURE_DIR"'
    is_there () { [ -e "$(run_dir)/agent.log" ]; }
    eventually is_there
    LIMIT=150 some_go "$(run_dir)/agent.log"
    kill_service
    rm -rf root
    touch later
}

left_here ()
{
    find "$ROLLCALL_STATE_DIR" -name '*_ascend_pt' | wc -l
}

# They are nowhere else any more.
# bats test_tags=slow
@test "a run's service dies while captures go: the others stay, and no 0" {
    many_go 50
    end_of "$pid"
    expect_status 69
    shows "it is not known whether it still has the data"
    [ "$(left_here)" -gt 0 ]
}

# The end is off: what is here is delivered again, what is not is named.
@test "a run's service loses its root while captures go: they come again" {
    local log gone

    many_go 12
    service
    end_of "$pid"
    expect_status 69
    shows "captures that are not delivered"
    log=$(run_dir)/agent.log
    says "$log" event=redelivery
    gone=$(sed /event=redelivery/q "$log" | grep -c event=released)
    [ "$gone" -lt 400 ]
    is "captures at the service" $((400 - gone)) "$("$ROLLCALL" archive ls \
        --root root j | awk '$4 == "rows"' | wc -l)"
    is "left here" 0 "$(left_here)"
    stop_service
}

# A run with a service has no result in OUT/captures: what is there is COMMAND's,
# also for an agent that another one follows after the host's last word.
@test "a run's agent dies at its end, the root is lost: ./captures come again" {
    service
    held '"$CAPTURE_MAKER" --quiet --ranks 1 --ops 1 captures'
    background "$ROLLCALL" run --text --job j --raw --quiet-period 0.1s \
        --aggregator "tcp://127.0.0.1:$PORT" -- ./held
    eventually durable "$ROLLCALL_STATE_DIR"
    kill_service
    rm -rf root
    go_on
    eventually says "$(run_dir)/agent.log" event=done
    # shellcheck disable=SC2046         # a number
    kill -KILL $(processes_named rollcall-agent)
    service
    end_of "$pid"
    expect_status 0
    is "captures at the service" 1 "$("$ROLLCALL" archive ls --root root j |
        awk '$4 == "rows"' | wc -l)"
    stop_service
}

# The host waits for a rank that does not come, up to the deadline.
@test "what was delivered before the deadline is removed at it" {
    service
    run env OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_RANK=0 \
        OMPI_COMM_WORLD_LOCAL_RANK=0 OMPI_COMM_WORLD_LOCAL_SIZE=2 \
        "$ROLLCALL" run --text --job j --raw --release shipped \
        --quiet-period 0.1s --deadline 15s --aggregator "tcp://127.0.0.1:$PORT" \
        -- sh -c 'exec "$CAPTURE_MAKER" --quiet --ranks 60 --ops 1 \
                  "$ROLLCALL_CAPTURE_DIR"'
    expect_status 0
    is "left here" 0 "$(left_here)"
    stop_service
}

# Releasing takes long where there are many, and the aggregator's word counts
# for 10 s: what was left then stayed without a word.
@test "--once releases all, if the aggregator can be heard" {
    make --ranks 400 --ops 1
    service
    LIMIT=400 LD_PRELOAD=$SHIFT_CLOCK SHIFT_WHEN=$PWD/later SHIFT_S=20 \
        background agent --once --raw --release shipped job
    # some go while others are delivered, most in a row at the end
    in_a_row () { [ "$(grep -c event=released log)" -gt 20 ]; }
    eventually in_a_row
    touch later
    end_of "$pid"
    expect_status 0
    is "left" 0 "$(find job -name '*_ascend_pt' | wc -l)"
    stop_service
}

# A repair sets damaged items aside; the agents still have them.
@test "a root was repaired: what was set aside is delivered again" {
    local items segment

    make
    service
    watching --quiet-period 0.1s job
    eventually captures_are 4
    eventually durable
    items=$(durable)
    end_service
    segment=$(find root/segments -type f | head -n 1)
    printf 'X' | dd of="$segment" bs=1 seek=2000 conv=notrunc status=none
    run "$ROLLCALL" fsck --repair aggregator root
    expect_status 1
    service
    eventually says agent.log "event=redelivery"
    eventually captures_are 4
    run "$ROLLCALL" fsck aggregator root
    [ "$status" -eq 75 ]                # it serves
    eventually durable_are $((2 * items))
    ends_with 0
    stop_service
    run "$ROLLCALL" fsck aggregator root
    expect_status 0
}
