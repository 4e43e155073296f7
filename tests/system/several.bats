#!/usr/bin/env bats
# Several aggregators: each job goes to one of them, or to two; one of them dies,
# and comes back or does not

load several_helper

@test "each job goes whole to the aggregator that its id chooses" {
    local job first second third
    declare -A used

    services 3
    make
    for job in a b c d e f; do
        run deliver "$job" job
        expect_status 0
        read -r first second third <<<"$(choices "$job")"
        is "captures of $job" "4 0 0" "$(captures_at "$first" "$job") $(
            captures_at "$second" "$job") $(captures_at "$third" "$job")"
        used[$first]=1
    done
    [ "${#used[@]}" -gt 1 ]
}

@test "a list in a file, and what no list can be" {
    services 2
    make --ranks 1
    tr , '\n' <<<"# both"$'\n'"$LIST" >list
    LIST=list run deliver j job
    expect_status 0
    is "captures" 1 "$(captures_at "$(choices j | cut -d' ' -f1)" j)"
    LIST=nowhere run deliver j job
    expect_status 78
    shows "nowhere"
    LIST=tcp://127.0.0.1:1,tcp://127.0.0.1:1 run deliver j job
    expect_status 78
    shows "twice"
    LIST=tcp://10.1.1.1:1,$LIST run deliver j job
    expect_status 78
    shows "10.1.1.1" "--key"
    run agent --once --copies 2 job
    expect_status 2
    run agent --once --away 1s job
    expect_status 2
    run agent --once --spread 8 job
    expect_status 2
    shows "--spread needs --aggregators"
    # it may be set for all agents of a host, also for those without a list
    ROLLCALL_SPREAD=8 run agent --once --world-size 9 --raw job
    expect_status 0
    # no list, despite the variable
    ROLLCALL_AGGREGATORS=nowhere run agent --once --aggregators '' job
    expect_status 0
}

# Each has a key of its own: with another's nobody would be talked to.
@test "two copies: each aggregator has its key, and one is away for a while" {
    local n first

    "$ROLLCALL" key new node --dir mine
    for n in 1 2; do
        "$ROLLCALL" key new server --dir keys$n
        "$ROLLCALL" key enrol mine/node.pub node --dir keys$n
    done
    services 2
    LIST=
    for n in 1 2; do
        LIST+="tcp://127.0.0.1:${ports[n]} $TEST_DIR/keys$n/server.pub,"
    done
    LIST=${LIST%,}
    make
    run deliver j job --copies 2 --key mine/node.key
    expect_status 0
    for n in 1 2; do
        is "captures at $n" 4 "$(captures_at $n j)"
    done
    run deliver j job --copies 2
    expect_status 78
    shows "--key"
    # one copy, of a job whose first choice is away: it is found to be back
    first=$(choices k | cut -d' ' -f1)
    die "$first"
    "$AGENT" --state "$TEST_DIR/spool" --job k --aggregators "$LIST" --away $AWAY \
        --key mine/node.key --quiet-period 0.1s job >>agent.log 2>&1 3>&- &
    watcher=$!
    eventually says agent.log event=moved
    begin "$first"
    eventually captures_at_are "$first" k 4
    eventually all_delivered
    ends_with 0
}

# stands_still SECONDS: the agent that is watching, and nobody else; then it goes on
stands_still ()
{
    goes_on () { [ spool/spool-j/status.json -nt went ]; }
    kill -STOP "$watcher"
    sleep "$1"
    touch went
    kill -CONT "$watcher"
    eventually goes_on
}

# Also for less than --away, again and again, as a node does that swaps.
@test "an agent that stood still does not take its aggregators for away" {
    local n

    services 3
    make --ranks 4
    "$AGENT" --state "$TEST_DIR/spool" --job j --aggregators "$LIST" --copies 2 \
        --away $AWAY --quiet-period 0.1s job >>agent.log 2>&1 3>&- &
    watcher=$!
    both_have ()
    {
        captures_at_are "$1" j "$3" && captures_at_are "$2" j "$3"
    }
    # shellcheck disable=SC2046     # numbers
    set -- $(choices j)
    eventually both_have "$1" "$2" 4
    stands_still 7
    for n in 1 2 3 4; do
        stands_still 3.9
    done
    "$CAPTURE_MAKER" --quiet --ranks 1 job/later
    eventually both_have "$1" "$2" 5
    is "captures of the third" 0 "$(captures_at "$3" j)"
    ! grep -E "event=moved|event=store-stands-in|is away|not-connected" agent.log ||
        fail "it says so"
    eventually all_delivered
    ends_with 0
}

# bats test_tags=slow
@test "--once: when all aggregators are away, all of them are named" {
    local n

    services 2
    make --ranks 1
    for n in 1 2; do
        die $n
    done
    run deliver j job --away $AWAY
    expect_status 69
    output=$(grep event=ending <<<"$output")
    shows "the aggregators cannot be reached: tcp://" \
        "tcp://127.0.0.1:${ports[1]}" "tcp://127.0.0.1:${ports[2]}"
}

# The next one knows the bytes of raw files from another job, and lacks the rows.
@test "one copy: of a job that is lost the next aggregator has raw files only" {
    local first second

    services 2
    read -r first second <<<"$(choices j)"
    make --ranks 2
    cp -r job same
    run deliver k same --raw --copies 2
    expect_status 0
    run deliver j job --raw --release shipped
    expect_status 0
    die "$first"
    run deliver j job --raw --away $AWAY
    expect_status 1
    shows "event=lost" "(rank 0), which tcp://127.0.0.1:${ports[first]} had"
    is "raw files" 2 "$(raw_at "$second" j)"
    is "rows" 0 "$(captures_at "$second" j)"
    # nobody can build it, and nobody is told to
    run "$ROLLCALL" show --root "root$second" j
    expect_status 0
    shows "result        none: raw files are here, but no rows"
    [[ $output != *"have delivered"* ]] || fail "a rank that is lost has delivered"
    run "$ROLLCALL" build --root "root$second" -o built j
    expect_status 66
    shows "has raw files of job j, but no rows"
    run "$ROLLCALL" query --root "root$second" ranks j
    expect_status 66
    shows "has raw files of job j, but no rows"
}

# What was released is nowhere else: it is named, by rank and by who had it.
@test "one copy: the aggregator of a job dies for good" {
    local first second

    services 3
    read -r first second _ <<<"$(choices j)"
    "$CAPTURE_MAKER" --quiet --ranks 4 --skip-ranks 2,3 job/early
    run deliver j job --raw --release shipped
    expect_status 0
    is "left" 0 "$(find job -name '*_ascend_pt' | wc -l)"
    "$CAPTURE_MAKER" --quiet --ranks 4 --skip-ranks 0,1 job/late
    die "$first"
    run deliver j job --raw --release shipped --away $AWAY
    expect_status 1
    shows "event=moved" "tcp://127.0.0.1:${ports[first]} is away" \
        "(rank 0), which tcp://127.0.0.1:${ports[first]} had acknowledged" \
        "(rank 1), which tcp://127.0.0.1:${ports[first]} had acknowledged"
    [[ $output != *" 0 captures"* ]] || fail "it counts what is not there"
    is "captures" 2 "$(captures_at "$second" j)"
    # the first one may come back, and has a right to them
    is "left" 2 "$(find job -name '*_ascend_pt' | wc -l)"
    eventually built_at "$second" j 2
    is "missing" 0,1 "$(sql "SELECT group_concat(rank) FROM Roster
        WHERE state='missing'" "root$second/jobs/j/cluster_analysis_output/analysis.db")"
    eventually says "service$second.log" "(rank 0), which tcp://127.0.0.1:${ports[first]} had"
    # it does come back: nothing is lost, and nothing is there twice
    begin "$first"
    run deliver j job --raw --release shipped --away $AWAY
    expect_status 0
    is "captures" 4 "$(captures_at "$first" j)"
    eventually built_at "$first" j 4
    is "left" 0 "$(find job -name '*_ascend_pt' | wc -l)"
}

@test "two copies: the aggregator of a job dies for good" {
    local first second third n

    services 3
    read -r first second third <<<"$(choices j)"
    "$CAPTURE_MAKER" --quiet --ranks 4 --skip-ranks 2,3 job/early
    run deliver j job --copies 2 --raw --release shipped
    expect_status 0
    for n in $first $second; do
        is "captures at $n" 2 "$(captures_at "$n" j)"
    done
    is "captures at $third" 0 "$(captures_at "$third" j)"
    is "left" 0 "$(find job -name '*_ascend_pt' | wc -l)"
    "$CAPTURE_MAKER" --quiet --ranks 4 --skip-ranks 0,1 job/late
    die "$first"
    run deliver j job --copies 2 --raw --release shipped --away $AWAY
    expect_status 0
    shows "event=moved" "event=one-copy" \
        "items of captures that are no longer here are at one aggregator only" \
        "tcp://127.0.0.1:${ports[third]} does not have them"
    [[ "$output" != *"still has all"* ]]
    is "captures at $second" 4 "$(captures_at "$second" j)"
    is "captures at $third" 2 "$(captures_at "$third" j)"
    eventually built_at "$second" j 4
}

# What was released is at the other one: that is said until it is copied.
@test "two copies: one aggregator comes back with an empty root" {
    local first second
    local lacks="12 items of captures that are no longer here are at one aggregator only"

    services 2
    read -r first second <<<"$(choices j)"
    "$CAPTURE_MAKER" --quiet --ranks 2 job
    "$AGENT" --state "$TEST_DIR/spool" --job j --aggregators "$LIST" --copies 2 \
        --raw --release shipped --quiet-period 0.1s job >>agent.log 2>&1 3>&- &
    watcher=$!
    released () { [ -z "$(find job -name '*_ascend_pt')" ]; }
    status_has () { "$ROLLCALL" status "$1" | grep -qF -- "$2"; }
    counts () { "$ROLLCALL" status --json spool | grep -Eq "\"items_$1\":[[:space:]]*$2,"; }
    eventually released
    counts durable 12 && counts confirmed 0
    ! status_has spool "one aggregator only" || fail "nothing is lacking"
    die "$first"
    rm -r "root$first"
    begin "$first"
    eventually status_has spool "$lacks: tcp://127.0.0.1:${ports[first]} does not"
    status_has spool "copy job j to it: rollcall archive export"
    eventually counts confirmed 12
    counts durable 12 || fail "they were delivered once"
    kill "$watcher"
    wait "$watcher" || true
    # each agent finds it, and delivers nothing
    run deliver j job --copies 2 --raw --release shipped
    expect_status 0
    shows event=one-copy "$lacks" "0 items, 0 B, to" \
        "12 delivered before are still there; nothing was left"
    run "$ROLLCALL" archive --root "root$second" export j j.tar
    expect_status 0
    run "$ROLLCALL" archive --root "root$first" import j.tar
    expect_status 0
    run deliver j job --copies 2 --raw --release shipped
    expect_status 0
    shows event=two-copies
    [[ "$output" != *"one aggregator only"* ]]
    run deliver j job --copies 2 --raw --release shipped
    expect_status 0
    shows "0 items, 0 B, to tcp" "; nothing was left"
    [[ "$output" != *event=two-copies* && "$output" != *"before"* ]]
}

# One aggregator is not two.
@test "two copies: while only one is there, nothing is delivered" {
    local first second

    services 2
    read -r first second <<<"$(choices j)"
    make
    die "$second"
    "$AGENT" --state "$TEST_DIR/spool" --job j --aggregators "$LIST" --copies 2 \
        --quiet-period 0.1s job >>agent.log 2>&1 3>&- &
    watcher=$!
    eventually captures_at_are "$first" j 4
    is "durable" "" "$(durable)"
    begin "$second"
    eventually durable_are 4
    is "captures" 4 "$(captures_at "$second" j)"
    ends_with 0
}

# name_server MODE [HOST:PORT]...: of _rollcall._tcp.test, for the agents
name_server ()
{
    command -v python3 >/dev/null || skip "needs python3"
    stop_name_server
    python3 "$STORE_KIT/dns_server.py" _rollcall._tcp.test \
        "$@" >dns.port 2>>dns.log 3>&- &
    name_server=$!
    eventually test -s dns.port
    export ROLLCALL_NAMESERVER=127.0.0.1:$(<dns.port)
}

stop_name_server ()
{
    [ -z "${name_server-}" ] || kill "$name_server"
    [ -z "${name_server-}" ] || wait "$name_server" || true
    name_server=
    rm -f dns.port
}

# find_spread: a JOB whose rows and raw files go to different services: HOME and
# RAW_AT
find_spread ()
{
    local n

    for ((n = 0; ; n++)); do
        JOB=spread$n
        HOME_AT=$(choices "$JOB" | cut -d' ' -f1)
        RAW_AT=$(choices_of_host "$JOB" | cut -d' ' -f1)
        [ "$HOME_AT" = "$RAW_AT" ] || break
    done
}

# spread: deliver all that there is of JOB, and remove it; a job of 4 ranks is
# larger than 3
spread ()                           # [OPTION]...
{
    deliver "$JOB" job --raw --release shipped --spread 3 --world-size 4 \
        --away $AWAY "$@"
}

left_are ()
{
    is "left" "$1" "$(find job -name '*_ascend_pt' | wc -l)"
}

@test "a large job: rows go to its home, raw files by host, until one is gone" {
    local other=0

    services 3
    find_spread
    "$CAPTURE_MAKER" --quiet --ranks 4 --skip-ranks 2,3 job/early
    run spread
    expect_status 0
    left_are 0
    is "rows at home" 2 "$(captures_at "$HOME_AT" "$JOB")"
    is "raw files at home" 0 "$(raw_at "$HOME_AT" "$JOB")"
    is "rows elsewhere" 0 "$(captures_at "$RAW_AT" "$JOB")"
    is "raw files elsewhere" 2 "$(raw_at "$RAW_AT" "$JOB")"
    run "$ROLLCALL" show --root "root$HOME_AT" "$JOB"
    shows "raw files at  tcp://127.0.0.1:${ports[RAW_AT]}"
    run "$ROLLCALL" show --root "root$RAW_AT" "$JOB"
    shows "rows at       tcp://127.0.0.1:${ports[HOME_AT]}" "where the rows are"
    # each says where the rest is, to those who ask it for that
    die "$HOME_AT"                  # or it still expects an agent that has ended
    begin "$HOME_AT"
    run "$ROLLCALL" fetch --root "root$HOME_AT" --rank 0 --wait 0s "$JOB"
    expect_status 75
    shows "raw files of this job are delivered to tcp://127.0.0.1:${ports[RAW_AT]}"
    run "$ROLLCALL" archive get --root "root$HOME_AT" "$JOB" got
    expect_status 0
    shows "ranks 0, 1 are not here: those of this job are delivered to tcp://127."
    [[ "$output" != *"rollcall fetch"* ]]
    run "$ROLLCALL" query --root "root$RAW_AT" steps "$JOB"
    expect_status 66
    shows "but no rows: they are delivered to tcp://127.0.0.1:${ports[HOME_AT]}"
    run "$ROLLCALL" build --root "root$RAW_AT" -o built "$JOB"
    expect_status 66
    shows "but no rows: they are delivered to tcp://127.0.0.1:${ports[HOME_AT]}"
    # the one with the raw files dies for good: those are named, and no rows
    die "$RAW_AT"
    "$CAPTURE_MAKER" --quiet --ranks 4 --skip-ranks 0,1 job/late
    run spread
    expect_status 1
    shows "(rank 0), which tcp://127.0.0.1:${ports[RAW_AT]} had acknowledged" \
        "(rank 1), which tcp://127.0.0.1:${ports[RAW_AT]} had acknowledged"
    eventually built_at "$HOME_AT" "$JOB" 4
    left_are 2
    for n in 1 2 3; do
        [ "$n" = "$RAW_AT" ] || other=$((other + $(raw_at "$n" "$JOB")))
    done
    is "raw files of the others" 2 "$other"
    # it is back: nothing is lost, and all is there once
    begin "$RAW_AT"
    run spread
    expect_status 0
    left_are 0
    is "raw files" 4 "$(raw_at "$RAW_AT" "$JOB")"
    is "rows" 4 "$(captures_at "$HOME_AT" "$JOB")"
    # no removal reaches others
    run "$ROLLCALL" archive rm --root "root$HOME_AT" "$JOB"
    expect_status 0
    shows "raw files of this job are at tcp://127.0.0.1:${ports[RAW_AT]}" "stay there"
    run "$ROLLCALL" archive rm --json --root "root$HOME_AT" "$JOB"
    expect_status 0
    shows "\"raw_at\":	\"tcp://127.0.0.1:${ports[RAW_AT]}\"" '"home":	null'
    run "$ROLLCALL" archive rm --apply --root "root$RAW_AT" "$JOB"
    expect_status 0
    shows "rows of this job are at tcp://127.0.0.1:${ports[HOME_AT]}" "stay there"
    # who has nothing of it any more does not say that it has
    run "$ROLLCALL" archive ls --root "root$RAW_AT" "$JOB"
    expect_status 66
    shows "was removed"
}

@test "a large job: its home is gone for good, with one copy and with two" {
    local second copies

    services 3
    find_spread
    second=$(choices "$JOB" | cut -d' ' -f2)
    for copies in 1 2; do
        JOB+=$copies
        while [ "$(choices "$JOB" | cut -d' ' -f1)" != "$HOME_AT" ]; do
            JOB+=.
        done
        second=$(choices "$JOB" | cut -d' ' -f2)
        "$CAPTURE_MAKER" --quiet --ranks 4 --skip-ranks 2,3 job/early
        run spread --copies $copies
        expect_status 0
        left_are 0
        run grep -h "event=homes-differ job=$JOB " service1.log service2.log service3.log
        is "one list of homes" "" "$output"
        "$CAPTURE_MAKER" --quiet --ranks 4 --skip-ranks 0,1 job/late
        die "$HOME_AT"
        run spread --copies $copies
        expect_status $((2 - copies))
        eventually built_at "$second" "$JOB" $((2 * copies))
        [ $copies = 2 ] || shows "(rank 1), which tcp://127.0.0.1:${ports[HOME_AT]} had"
        begin "$HOME_AT"
        run spread --copies $copies
        expect_status 0
        is "rows" 4 "$(captures_at "$HOME_AT" "$JOB")"
        left_are 0
    done
}

@test "two copies of a large job: nobody is called away while all are there" {
    services 3
    make --ranks 2
    run "$AGENT" --state "$TEST_DIR/spool" --job two --once --copies 2 --raw \
        --aggregators "$LIST" --spread 1 --world-size 2 job
    expect_status 0
    [[ "$output" != *store-st* ]] || fail "$output"
}

@test "a large job of several hosts: each has an aggregator of its raw files" {
    local n capture count=(0 0 0 0)

    unshare --uts true 2>/dev/null || skip "needs the right to name a host"
    services 3
    find_spread
    make --ranks 6
    n=0
    for capture in job/*_ascend_pt; do
        mkdir "of$n" && mv "$capture" "of$n/"
        run unshare --uts sh -c 'hostname "$1"; shift; exec "$@"' - "host$n" \
            timeout "$LIMIT" "$AGENT" --state "$TEST_DIR/spool$n" --job "$JOB" \
            --once --aggregators "$LIST" --raw --spread 3 --world-size 6 "of$n"
        expect_status 0
        capture=$(choices_of_host "$JOB" "host$n" | cut -d' ' -f1)
        count[capture]=$((count[capture] + 1))
        n=$((n + 1))
    done
    for n in 1 2 3; do
        is "raw files at $n" "${count[n]}" "$(raw_at "$n" "$JOB")"
    done
    is "rows" 6 "$(captures_at "$HOME_AT" "$JOB")"
    eventually built_at "$HOME_AT" "$JOB" 6
    run grep -c event=homes-differ service1.log service2.log service3.log
    is "homes" "0 0 0" "$(cut -d: -f2 <<<"$output" | xargs)"
}

# Rows wait; raw files do not.
@test "a large job: the disk of its home is full for a while" {
    services 3
    find_spread
    make
    die "$HOME_AT"
    begin "$HOME_AT" --disk-floor 100%
    "$AGENT" --state "$TEST_DIR/spool" --job "$JOB" --aggregators "$LIST" --raw \
        --spread 3 --world-size 4 --quiet-period 0.1s job >>agent.log 2>&1 3>&- &
    watcher=$!
    raw_are () { [ "$(raw_at "$RAW_AT" "$JOB")" = 4 ]; }
    eventually raw_are
    is "rows" 0 "$(captures_at "$HOME_AT" "$JOB")"
    die "$HOME_AT"
    begin "$HOME_AT"
    eventually built_at "$HOME_AT" "$JOB" 4
    is "rows" 4 "$(captures_at "$HOME_AT" "$JOB")"
    is "raw files at home" 0 "$(raw_at "$HOME_AT" "$JOB")"
    ends_with 0
}

@test "a list that DNS has" {
    local first n at

    services 2
    for n in 1 2; do
        at+=("127.0.0.1:${ports[n]}")
    done
    make --ranks 1
    first=$(choices j | cut -d' ' -f1)
    LIST=srv:_rollcall._tcp.test
    name_server good "${at[@]}" "${at[0]}"
    run deliver j job
    expect_status 0
    is "captures" 1 "$(captures_at "$first" j)"
    # too much for a datagram; beside one that is named, in a file
    name_server long "${at[1]}"
    printf '%s\n' "# all" $LIST "tcp://${at[0]}" >list
    LIST=list run deliver k job
    expect_status 0
    is "captures" 1 "$(captures_at "$(choices k | cut -d' ' -f1)" k)"
    LIST=srv:_other._tcp.test run deliver j job
    expect_status 78
    shows "DNS has no such name"
    # whoever answers for DNS cannot add servers to those that have a key
    echo "tcp://${at[0]} ${at[0]}.pub" >keys
    name_server good "${at[@]}"
    LIST="$LIST @keys" run deliver j job
    expect_status 78
    shows "DNS names tcp://${at[1]}, of which keys has no key"
    # what may pass is no fault of the list
    for mode in garbage none fail; do
        name_server $mode "${at[@]}"
        run deliver j job
        expect_status 75
        shows "_rollcall._tcp.test"
    done
    run "$ROLLCALL" run --job k --aggregators $LIST -- touch started
    expect_status 75
    [ ! -e started ]
    run "$ROLLCALL" jobs --aggregators $LIST
    expect_status 75
    shows "_rollcall._tcp.test"
    stop_name_server
}

@test "a service waits for DNS, and does not end when it goes" {
    services 1
    make --ranks 1
    LIST=srv:_rollcall._tcp.test
    echo fail >mode
    name_server "@$PWD/mode" "127.0.0.1:${ports[1]}"
    "$AGENT" --state "$TEST_DIR/spool" --job j --aggregators "$LIST" \
        --quiet-period 0.1s job >>agent.log 2>&1 3>&- &
    watcher=$!
    eventually says agent.log event=dns
    says agent.log "no name server answers, or can answer now: it is asked again in 1 s"
    echo garbage >mode
    eventually says agent.log "the answer of the name server is damaged"
    echo good >mode
    eventually captures_at_are 1 j 1
    stop_name_server
    "$CAPTURE_MAKER" --quiet --ranks 2 --skip-ranks 0 job/late
    eventually durable_are 2
    is "captures" 2 "$(captures_at 1 j)"
    ends_with 0
    # a name that is wrong is a fault of the list
    name_server good "127.0.0.1:${ports[1]}"
    run "$AGENT" --state "$TEST_DIR/spool2" --job j --aggregators srv:_x._tcp.test \
        job
    expect_status 78
    stop_name_server
}

# A service that was not upgraded yet, or was first.
@test "an aggregator of another version is left for the others" {
    local job=j peer n

    services 2
    choose_port
    "$WIRE_PEER" aggregator "tcp://127.0.0.1:$PORT" 2 "what nobody reads" \
        >peer.log 2>&1 3>&- &
    peer=$!
    eventually listens "$PORT"
    LIST+=,tcp://127.0.0.1:$PORT
    ports[3]=$PORT
    for ((n = 0; ; n++)); do            # a job that chooses it first
        [ "$(choices "$job" | cut -d' ' -f1)" != 3 ] || break
        job=j$n
    done
    make
    run deliver "$job" job
    expect_status 0
    shows "protocol version 2" event=moved
    is "named" 1 "$(grep -c event=refused <<<"$output")"
    is "captures" 4 "$(captures_at "$(choices "$job" | cut -d' ' -f2)" "$job")"
    # with no other one, it is the end
    LIST=tcp://127.0.0.1:$PORT run deliver "$job" job
    expect_status 76
    kill "$peer"
    wait "$peer" || true
}

# Several jobs under way, and their agents live on.
@test "one of three is killed under load, and comes back" {
    local job dead copies=1 agents=()

    services 3
    for job in a b c d; do
        "$CAPTURE_MAKER" --quiet --ranks 6 --skip-ranks 3,4,5 \
            "of_$job/early"
        copies=$((3 - copies))
        "$AGENT" --state "$TEST_DIR/spool_$job" --job "$job" --away $AWAY \
            --aggregators "$LIST" --copies $copies \
            --quiet-period 0.1s "of_$job" >"agent_$job.log" 2>&1 3>&- &
        agents+=($!)
    done
    read -r dead _ <<<"$(choices a)"
    eventually captures_at_are "$dead" a 3
    die "$dead"
    for job in a b c d; do
        "$CAPTURE_MAKER" --quiet --ranks 6 --skip-ranks 0,1,2 "of_$job/late"
    done
    for job in a b c d; do
        whole ()                    # at the first one of those that live
        {
            local i

            for i in $(choices "$job"); do
                [ "$i" = "$dead" ] || break
            done
            built_at "$i" "$job" 6
        }
        eventually whole
    done
    begin "$dead"
    eventually built_at "$dead" a 6
    for job in a b c d; do
        [ "$(grep -c event=lost "agent_$job.log")" = 0 ]
    done
    kill "${agents[@]}"
    wait "${agents[@]}" || true
}

@test "a run with several aggregators, of which the first choice is away" {
    local first second third

    services 3
    read -r first second third <<<"$(choices j)"
    die "$first"
    run timeout "$LIMIT" mpirun -np 2 "$ROLLCALL" run --text --job j \
        --aggregators "$LIST" --copies 2 --away $AWAY -- ./writer
    expect_status 0
    eventually built_at "$second" j 2
    eventually built_at "$third" j 2
    die "$third"
    run timeout "$LIMIT" "$ROLLCALL" run --job alone --deadline 30s \
        --aggregators "$LIST" --copies 2 --away $AWAY -- ./writer
    expect_status 69
    shows "not delivered" " is away, and tcp://127.0.0.1:${ports[second]} has no" \
        "object store (its --store) for the second copy"
    run "$ROLLCALL" run --job k --aggregators nowhere -- touch started
    expect_status 78
    run "$ROLLCALL" run --aggregators "$LIST" -- touch started
    expect_status 2
    [ ! -e started ]
}

# Agents of one process, each with a key; 2,048 of them in deploy/check --full.
@test "60 agents and three aggregators, of which one is killed" {
    run "$SWARM" 60 "$ROLLCALL_BIN/.."
    expect_status 0
    shows "15 jobs are whole, each rank once"
}
