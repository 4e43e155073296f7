#!/usr/bin/env bats
# Several aggregators: each job goes to one of them, or to two; one of them dies,
# and comes back or does not

load service_helper

AWAY=5s                             # the least that there is

# begin N: the service N, again or for the first time; its root is rootN
begin ()
{
    local before keys=()

    touch "service$1.log"
    before=$(grep -c event=listening "service$1.log") || true
    [ ! -d "keys$1" ] || keys=(--keys "$TEST_DIR/keys$1")
    "$AGGREGATOR" --root "$TEST_DIR/root$1" --listen "tcp://127.0.0.1:${ports[$1]}" \
        "${keys[@]}" >>"service$1.log" 2>&1 3>&- &
    services[$1]=$!
    begun ()
    {
        [ "$(grep -c event=listening "service$1.log")" -gt "$2" ]
    }
    eventually begun "$1" "$before"
}

# services N: 1 to N, on ports of their own; LIST names them
services ()
{
    local n

    ports=() services=() LIST=
    for ((n = 1; n <= $1; n++)); do
        choose_port
        ports[n]=$PORT
        LIST+=${LIST:+,}tcp://127.0.0.1:$PORT
        begin "$n"
    done
}

# die N: at once, as by a power cut
die ()
{
    kill -KILL "${services[$1]}"
    wait "${services[$1]}" || true
}

# choices JOB: the numbers of the services, as the job chooses them; computed as
# doc/format-wire.md says
choices ()
{
    local n

    for n in "${!ports[@]}"; do
        echo "$(printf '%s\0%s' "tcp://127.0.0.1:${ports[n]}" "$1" |
            sha256sum | cut -d' ' -f1) $n"
    done | sort -r | cut -d' ' -f2 | tr '\n' ' '
}

# deliver JOB DIR [OPTION]...: by an agent that ends then
deliver ()
{
    local job=$1 dir=$2

    shift 2
    timeout "$LIMIT" "$AGENT" --state "$TEST_DIR/spool" --job "$job" --once \
        --aggregators "$LIST" "$@" "$dir"
}

# captures_at N JOB: how many the root of a service has, each once
captures_at ()
{
    "$ROLLCALL" archive ls --json --root "root$1" "$2" 2>/dev/null |
        grep -c '"kind":"rows"' || true
}

captures_at_are ()                  # N JOB COUNT
{
    [ "$(captures_at "$1" "$2")" = "$3" ]
}

built_at ()                         # N JOB COUNT
{
    local db=root$1/jobs/$2/cluster_analysis_output/analysis.db

    [ -e "$db" ] && [ "$(sql "SELECT count(*) FROM Capture WHERE
                              state='complete'" "$db" 2>/dev/null)" = "$3" ]
}

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
    LIST=tcp://127.0.0.1:1 run deliver j job --copies 2
    expect_status 78
    shows "--copies 2 needs as many aggregators"
    LIST=tcp://10.1.1.1:1,$LIST run deliver j job
    expect_status 78
    shows "10.1.1.1" "--key"
    run agent --once --copies 2 job
    expect_status 2
    run agent --once --away 1s job
    expect_status 2
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
    ends_with 0
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
    is "captures" 2 "$(captures_at "$second" j)"
    # the first one may come back, and has a right to them
    is "left" 2 "$(find job -name '*_ascend_pt' | wc -l)"
    eventually built_at "$second" j 2
    is "missing" 0,1 "$(sql "SELECT group_concat(rank) FROM Roster
        WHERE state='missing'" "root$second/jobs/j/cluster_analysis_output/analysis.db")"
    says "service$second.log" "(rank 0), which tcp://127.0.0.1:${ports[first]} had"
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
    shows "event=moved"
    is "captures at $second" 4 "$(captures_at "$second" j)"
    is "captures at $third" 2 "$(captures_at "$third" j)"
    eventually built_at "$second" j 4
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
