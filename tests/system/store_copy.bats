#!/usr/bin/env bats
# tests/system/store_copy.bats - agents whose second copy is in the object store of
# the only aggregator that is there

load several_helper
load store_helper

each_has_store

# of job j, with two copies and one aggregator
keeping ()
{
    timeout "$LIMIT" "$AGENT" --state "$TEST_DIR/spool" --job j --copies 2 \
        --aggregators "tcp://127.0.0.1:$PORT" "$@"
}

kept ()                             # files of items in the spool
{
    find spool -path '*/items/*' -type f | wc -l
}

@test "what is only in the aggregator is kept, until it is in its store" {
    "$CAPTURE_MAKER" --quiet --ranks 2 --ops 50 --extras job
    service
    run keeping --once --raw --release shipped job
    expect_status 1
    shows event=not-stored "has no object store"
    before=$(kept)
    [ "$before" -gt 2 ]
    stop_service
    # the store is away
    service --store "$STORE"
    faults '[{"fault": "denied", "method": "PUT"}]'
    run keeping --once --raw --release shipped --deadline 1s job
    expect_status 1
    shows "has not said that they are in its object store" "they stay here"
    is files "$before" "$(kept)"
    [ "$(find job -name '*_ascend_pt' | wc -l)" = 2 ]
    # the root is gone for good before the store had anything, and the captures
    # with it: the spool has all
    kill_service
    mv root old
    mv job was
    faults '[]'
    service --store "$STORE" --store-after 1h
    mkdir job
    run keeping --once --raw job
    expect_status 0
    is files 0 "$(kept)"
    # now the store alone has it
    kill_service
    rm -r root
    run "$ROLLCALL" restore --store "$STORE" --root-id \
        "$(ls store/bucket/pre | grep -v "$(cat old/id)" | head -1)" root
    expect_status 0
    run "$ROLLCALL" archive --root root get j back
    expect_status 0
    for dir in back/*_ascend_pt; do
        diff -r -x rollcall.shipment -x .rollcall-job "$dir" "was/${dir##*/}"
    done
    [ "$(find back -name '*_ascend_pt' | wc -l)" = 2 ]
}

@test "a segment that was removed before it was in the store does not hold up all later ones" {
    "$CAPTURE_MAKER" --quiet --ranks 2 --ops 50 --extras job
    service --store "$STORE" --store-after 1s
    faults '[{"fault": "denied", "method": "PUT"}]'
    run keeping --once --raw --deadline 1s job
    expect_status 1
    eventually test -e root/segments/00000002
    rm root/segments/00000001
    eventually says service.log event=removed
    faults '[]'
    run keeping --once --raw job
    expect_status 0
    is files 0 "$(kept)"
    stop_service
}

@test "a segment whose only copy somebody deleted does not hold up all later ones" {
    "$CAPTURE_MAKER" --quiet --ranks 2 --ops 2500 --extras first
    "$CAPTURE_MAKER" --quiet --ranks 2 --ops 50 --seed 7 --extras job
    service --store "$STORE" --store-after 1s --cache-size 1M
    run agent --once --raw --job first first
    expect_status 0
    went () { [ "$(store_says evicted)" -ge 1 ]; }
    eventually went || fail "$(store_says why)"
    stop_service
    object rm "$(cat root/id)/segments/00000001"
    run "$ROLLCALL" fsck aggregator --repair --store "$STORE" root
    expect_status 1
    service --store "$STORE" --store-after 1s --cache-size 1M
    run keeping --once --raw job
    expect_status 0
    is files 0 "$(kept)"
    is conflicts 0 "$(store_says conflicts)"
    # what is left of it is there, too
    run agent --once --raw --job first first
    expect_status 0
    stored () { [ "$(store_says waiting)" = 0 ]; }
    eventually stored || fail "$(store_says why)"
    stop_service
    run "$ROLLCALL" archive --root root verify
    expect_status 0
    run "$ROLLCALL" fsck aggregator --store "$STORE" root
    expect_status 0
    shows "0 holes, 0 orphans"
}

@test "a run's second copy is in the store of its only aggregator" {
    wrapped ()
    {
        run timeout "$LIMIT" "$ROLLCALL" run --text --raw --copies 2 --job "$1" \
            --aggregators "tcp://127.0.0.1:$PORT" --deadline "$2" -- ./writer
    }
    service
    wrapped k 1s
    expect_status 69
    shows "has no object store"
    stop_service
    service --store "$STORE" --store-after 1s
    wrapped j 60s
    expect_status 0
    # now the store alone has it
    kill_service
    rm -r root
    run "$ROLLCALL" restore --store "$STORE" root
    expect_status 0
    run "$ROLLCALL" archive --root root get j back
    expect_status 0
    is "captures" 1 "$(find back -name '*_ascend_pt' | wc -l)"
}

# store_at N: it writes into the store at once
store_at ()
{
    die "$1"
    begin "$1" --store "$STORE" --store-after "${2:-1s}"
}

status_has ()                       # TEXT: that of the agent
{
    "$ROLLCALL" status spool | grep -qF -- "$1"
}

kept_are ()                         # N: as its agent says; or a pattern
{
    "$ROLLCALL" status --json spool | grep -Eq "\"kept\":[[:space:]]*$1,"
}

@test "two copies, and one aggregator is away: the other one's store has the second" {
    local first second

    services 2
    read -r first second <<<"$(choices j)"
    "$CAPTURE_MAKER" --quiet --ranks 4 --skip-ranks 2,3 --extras job/early
    cp -r job was
    run deliver j job --copies 2 --raw --release shipped
    expect_status 0
    is "left" 0 "$(find job -name '*_ascend_pt' | wc -l)"
    store_at "$second"
    die "$first"
    "$CAPTURE_MAKER" --quiet --ranks 4 --skip-ranks 0,1 --extras job/late
    cp -r job/late was/
    run deliver j job --copies 2 --raw --release shipped --away $AWAY
    expect_status 0
    shows "event=store-stands-in" "tcp://127.0.0.1:${ports[first]} is away"
    is "left" 0 "$(find job -name '*_ascend_pt' | wc -l)"
    is "kept" 0 "$(kept)"
    is "captures" 4 "$(captures_at "$second" j)"
    eventually built_at "$second" j 4
    # the job is whole without the root
    die "$second"
    run "$ROLLCALL" restore --store "$STORE" back
    expect_status 0
    run "$ROLLCALL" archive --root back get j got
    expect_status 0
    is "captures" 4 "$(find got -name '*_ascend_pt' | wc -l)"
    for dir in was/*/*_ascend_pt; do
        diff -r -x rollcall.shipment -x .rollcall-job "$dir" "got/${dir##*/}"
    done
    begin "$second" --store "$STORE"
    # the first one is back: nothing is lost, and rows count once
    begin "$first"
    "$CAPTURE_MAKER" --quiet --ranks 5 --skip-ranks 0,1,2,3 job/later
    run deliver j job --copies 2 --raw --release shipped --away $AWAY
    expect_status 0
    is "captures" 5 "$(captures_at "$second" j)"
    eventually built_at "$second" j 5
    run "$ROLLCALL" jobs --root "root$first" --root "root$second"
    shows "root$second has 5 captures of 5 ranks"
}

# Whoever comes back gets what is still here.
@test "two copies: the one that was away gets what the store had the second copy of" {
    local first second

    services 2
    read -r first second <<<"$(choices j)"
    store_at "$second"
    make --ranks 1 --extras
    mv job early
    mkdir job
    mv early job/
    "$AGENT" --state "$TEST_DIR/spool" --job j --aggregators "$LIST" --copies 2 \
        --away $AWAY --raw --quiet-period 0.1s job >>agent.log 2>&1 3>&- &
    watcher=$!
    eventually captures_at_are "$first" j 1
    eventually captures_at_are "$second" j 1
    die "$first"
    eventually says agent.log event=store-stands-in
    "$CAPTURE_MAKER" --quiet --ranks 2 --skip-ranks 0 --extras job/late
    eventually captures_at_are "$second" j 2
    eventually kept_are 0
    # one that is not in the store yet
    faults '[{"fault": "denied", "method": "PUT"}]'
    "$CAPTURE_MAKER" --quiet --ranks 3 --skip-ranks 0,1 --extras job/later
    eventually captures_at_are "$second" j 3
    eventually says agent.log event=no-second-copy
    eventually says agent.log "object store of tcp://127.0.0.1:${ports[second]}"
    eventually kept_are '[1-9][0-9]*'
    eventually status_has "the second copy does not get into the object store of"
    begin "$first"
    eventually captures_at_are "$first" j 3
    eventually kept_are 0
    eventually built_at "$first" j 3
    eventually built_at "$second" j 3
    eventually all_delivered
    ends_with 0
    run "$ROLLCALL" jobs --root "root$first" --root "root$second" --json
    shows '"copies_are": "the same"'
}

# An agent that starts while the other one is still away has nothing to offer again.
@test "two copies: what is in the store is not sealed again by each start" {
    local first second

    services 2
    read -r first second <<<"$(choices j)"
    store_at "$second"
    "$CAPTURE_MAKER" --quiet --ranks 2 --skip-ranks 1 --extras job/early
    run deliver j job --copies 2 --raw
    expect_status 0
    die "$first"
    "$CAPTURE_MAKER" --quiet --ranks 2 --skip-ranks 0 --extras job/late
    for start in first second third; do
        run deliver j job --copies 2 --raw --away $AWAY
        expect_status 0
        shows "event=store-stands-in"
        is "kept" 0 "$(kept)"
        [ $start = first ] || [[ $output != *event=sealed* ]]
        [[ $output != *event=revised* ]]
    done
    # whoever is back gets it, once
    begin "$first"
    run deliver j job --copies 2 --raw --away $AWAY
    expect_status 0
    shows "1 capture that only one aggregator has acknowledged is offered"
    run deliver j job --copies 2 --raw --away $AWAY
    expect_status 0
    [[ $output != *event=sealed* && $output != *event=revised* ]]
    for n in $first $second; do
        is "captures at $n" 2 "$(captures_at "$n" j)"
        eventually built_at "$n" j 2
    done
    run "$ROLLCALL" jobs --root "root$first" --root "root$second" --json
    shows '"copies_are": "the same"'
}

# find_divided: a JOB whose rows and raw files go to the same two services, in
# different order; HOME_AT is its home.  When the other one is away, the third one
# stands in for it, until that is away, too.
find_divided ()
{
    local n second

    for ((n = 0; ; n++)); do
        JOB=divided$n
        read -r HOME_AT second _ <<<"$(choices "$JOB")"
        [[ "$(choices_of_host "$JOB")" != "$second $HOME_AT "* ]] || break
    done
}

# spread [OPTION]...: all that there is of JOB, with two copies
spread ()
{
    deliver "$JOB" job --copies 2 --raw --release shipped --spread 3 \
        --world-size 4 --away $AWAY "$@"
}

@test "two copies of a large job, and all but its home are away: its store has the second" {
    local n raw others=()

    services 3
    find_divided
    raw=$(choices_of_host "$JOB" | cut -d' ' -f1)
    for n in 1 2 3; do
        [ "$n" = "$HOME_AT" ] || others+=("$n")
    done
    store_at "$HOME_AT"
    "$CAPTURE_MAKER" --quiet --ranks 4 --skip-ranks 2,3 --extras job/early
    cp -r job was
    run spread
    expect_status 0
    is "left" 0 "$(find job -name '*_ascend_pt' | wc -l)"
    is "raw files" "2 2" "$(raw_at "$raw" "$JOB") $(raw_at "$HOME_AT" "$JOB")"
    for n in "${others[@]}"; do
        die "$n"
    done
    "$CAPTURE_MAKER" --quiet --ranks 4 --skip-ranks 0,1,3 --extras job/late
    cp -r job/late was/
    run spread
    expect_status 0
    shows "event=store-stands-in" " is away, and no other aggregator" \
        "to tcp://127.0.0.1:${ports[HOME_AT]}; nothing is left"
    [[ $output != *event=store-stood-in* ]]
    is "left" 0 "$(find job -name '*_ascend_pt' | wc -l)"
    is "kept" 0 "$(kept)"
    # those that are back get what is still here, and lose nothing
    for n in "${others[@]}"; do
        begin "$n"
    done
    "$CAPTURE_MAKER" --quiet --ranks 4 --skip-ranks 0,1,2 --extras job/later
    cp -r job/later was/
    run spread
    expect_status 0
    is "left" 0 "$(find job -name '*_ascend_pt' | wc -l)"
    is "rows" 4 "$(captures_at "$HOME_AT" "$JOB")"
    is "raw files" "3 4" "$(raw_at "$raw" "$JOB") $(raw_at "$HOME_AT" "$JOB")"
    eventually built_at "$HOME_AT" "$JOB" 4
    # what only one aggregator had is in its store
    die "$HOME_AT"
    run "$ROLLCALL" restore --store "$STORE" back
    expect_status 0
    run "$ROLLCALL" archive --root back get "$JOB" got
    expect_status 0
    for n in early late; do
        for dir in was/$n/*_ascend_pt; do
            diff -r -x rollcall.shipment -x .rollcall-job "$dir" "got/${dir##*/}"
        done
    done
}

@test "what a run with two copies left is delivered when both aggregators are there" {
    local first second said

    services 2
    read -r first second <<<"$(choices j)"
    die "$first"
    mkdir prof
    # COMMAND ends when the agent knows who is away
    cat >until_away <<'SCRIPT'
#!/bin/bash
./writer "$1"
until grep -q "is away" "$ROLLCALL_CAPTURE_DIR/../../spool/status.json"; do
    [ $SECONDS -lt 120 ] || exit 1
    sleep 0.05
done
SCRIPT
    chmod +x until_away
    run timeout "$LIMIT" "$ROLLCALL" run --text --raw --job j --copies 2 --away 5s \
        --aggregators "$LIST" --deadline 9s -- ./until_away prof
    expect_status 69
    shows "When the aggregators can be reached" " --copies 2 --away 5s" \
        "COMMAND has ended; waiting until at most 9 s after the last COMMAND of this host" \
        " (--deadline): tcp://"
    is "said" 1 "$(grep -c "COMMAND has ended" <<<"$output")"
    said=${output#*all that is left: rollcall-agent}
    begin "$first"
    run eval "timeout $LIMIT '$AGENT' ${said%%$'\n'*}"
    expect_status 0
    for n in $first $second; do
        is "captures at $n" 1 "$(captures_at "$n" j)"
    done
}

# Nothing is lost, and it is said why.
@test "two copies: one aggregator is away, and so is the store of the other one" {
    local first second before

    services 2
    read -r first second <<<"$(choices j)"
    store_at "$second"
    die "$first"
    faults '[{"fault": "denied", "method": "PUT"}]'
    make --ranks 2 --extras
    run deliver j job --copies 2 --raw --release shipped --away $AWAY --deadline 1s
    expect_status 1
    shows event=not-stored "acknowledged by tcp://127.0.0.1:${ports[second]} only"
    before=$(kept)
    [ "$before" -gt 2 ]
    is "left" 2 "$(find job -name '*_ascend_pt' | wc -l)"
    # both come back, without the captures
    rm -r job
    mkdir job
    faults '[]'
    begin "$first"
    run deliver j job --copies 2 --raw --away $AWAY
    expect_status 0
    is "kept" 0 "$(kept)"
    for n in $first $second; do
        is "captures at $n" 2 "$(captures_at "$n" j)"
    done
}

# The other one and its store have two copies, but it is not known that both have it.
@test "two copies: one that lacks items is asked when it is there, not while it is away" {
    local first second

    services 2
    read -r first second <<<"$(choices j)"
    store_at "$second"
    "$CAPTURE_MAKER" --quiet --ranks 2 job
    run deliver j job --copies 2 --raw --release shipped
    expect_status 0
    is "left" 0 "$(find job -name '*_ascend_pt' | wc -l)"
    die "$first"
    rm -r "root$first"
    begin "$first"
    run deliver j job --copies 2 --raw --release shipped
    expect_status 0
    shows event=one-copy
    die "$first"
    run deliver j job --copies 2 --raw --release shipped --away $AWAY
    expect_status 0
    [[ $output != *event=two-copies* && $output != *"delivered before"* ]]
    begin "$first"
    run deliver j job --copies 2 --raw --release shipped
    expect_status 0
    shows event=one-copy "tcp://127.0.0.1:${ports[first]} does not have"
}

@test "kept items count for the quota of the spool" {
    service
    "$CAPTURE_MAKER" --quiet --ranks 3 --ops 3000 job
    keeping --spool-quota 100k --quiet-period 0.1s job >>agent.log 2>&1 3>&- &
    watcher=$!
    eventually status_has "kept until there is a second copy"
    kill "$watcher"
    wait "$watcher" || true
}
