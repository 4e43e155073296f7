# tests/soak/many.bash - one of three aggregators dies under load
#
# Captures keep appearing, and one agent delivers them to three aggregators, with
# one copy or two, and with or without --release.  At a random time the first or
# the second choice of the job is killed: for good, or for a while.  What is not
# at the one that has the job at the end is named with its rank, and that is only
# what was released with one copy.  With "spread" the raw files are at another one
# than the rows, and "raw" is the first choice for them.

# shellcheck disable=SC2034,SC2154

MANY_AWAY=5                         # seconds; the least that there is

start_one ()                        # N
{
    "$BIN/rollcall-aggregator" --root "$PLACE/root$1" --listen "${endpoints[$1]}" \
        --raw >>"service$1.log" 2>&1 3>&- &
    many[$1]=$!
}

stop_many ()
{
    local n

    for n in "${!many[@]}"; do
        end_process "${many[n]}" KILL
    done
    many=()
}

# by_choice [HOST]: the numbers of the aggregators as the job j orders them, or
# the raw files of a host
by_choice ()
{
    local n

    for n in "${!endpoints[@]}"; do
        echo "$({ printf '%s\0j' "${endpoints[n]}"
            [ -z "${1-}" ] || printf '\0%s' "$1"; } | sha256sum | cut -d' ' -f1) $n"
    done | sort -r | cut -d' ' -f2
}

# choose_endpoints [spread]: three; rows and raw files have other first choices
choose_endpoints ()
{
    local n address

    for n in 1 2 3; do
        choose_port || return
        endpoints[n]=$PORT
    done
    for ((address = 1; ; address++)); do
        for n in 1 2 3; do
            endpoints[n]=tcp://127.0.0.$address:${endpoints[n]##*:}
        done
        mapfile -t order < <(by_choice)
        mapfile -t raw_order < <(by_choice "$(uname -n)")
        [ -n "$1" ] && [ "${order[0]}" = "${raw_order[0]}" ] || break
    done
}

# use N RAW: the result is that of aggregator N, the raw files those of RAW
use ()
{
    DB=$PLACE/root$1/jobs/j/cluster_analysis_output/analysis.db
    RESULT=$PLACE/root$2/jobs/j
}

# first_but GONE CHOICE...: the first choice that is not gone
first_but ()
{
    [ "$1" != "$2" ] && echo "$2" || echo "$3"
}

# named: how many ranks the agent has named as lost, each once
named ()
{
    grep -o 'event=lost .*(rank [0-9]*), which tcp' agent.log |
        grep -o '(rank [0-9]*' | sort -u | wc -l
}

# raw_or_named: all rows are there, and all raw files of a capture, or its name
raw_or_named ()
{
    local capture whole=0

    captures_arrived "$CAPTURES" || return
    for capture in job/*_ascend_pt; do
        diff -rq "$capture" "$RESULT/captures/${capture##*/}" >/dev/null 2>&1 &&
            whole=$((whole + 1))
    done
    [ $(($(named) + whole)) -eq "$CAPTURES" ]
}

# whole_or_named: all that is not there is named
whole_or_named ()
{
    [ -e "$DB" ] && [ $(($(named) + $(captures_there))) -eq "$CAPTURES" ] &&
        [ "$(captures_there)" -gt 0 ]
}

captures_there ()
{
    sqlite3 -readonly "$DB" "SELECT count(*) FROM Capture
        WHERE state IN ('complete', 'partial')" 2>/dev/null || echo 0
}

# appear_all VICTIM BACK: each capture at one moment, and the kill between two of
# them
appear_all ()
{
    local list=(job/*_ascend_pt) i at

    random $((${#list[@]} - 2))
    at=$((DRAW + 1))
    for ((i = 0; i < ${#list[@]}; i++)); do
        cp -r "${list[i]}" making && mv making "watched/${list[i]##*/}"
        random 20
        sleep "0.$((10 + DRAW))"
        [ $i -eq $at ] || continue
        end_process "${many[$1]}" KILL
        unset "many[$1]"
    done
    [ "$2" = for-good ] && return
    sleep $((MANY_AWAY + 3))
    start_one "$1"
}

# one_case COPIES RELEASE first|second|raw for-good|back [spread]
one_case ()
{
    local copies=$1 release=$2 n list='' victim endpoints=() many=() state=0
    local order raw_order gone=0 more=() whole=whole_or_named

    RAW=--raw
    captures 24
    oracle || return
    mkdir watched
    choose_endpoints "${5-}" || return
    for n in 1 2 3; do
        list+=${list:+,}${endpoints[n]}
        start_one "$n"
        await 30 listens "${endpoints[n]##*:}" || complain "no aggregator $n" || return
    done
    [ -z "${5-}" ] || more=(--spread 1 --world-size 24)
    case $3 in
        first) victim=${order[0]} ;;
        second) victim=${order[1]} ;;
        raw) victim=${raw_order[0]} whole=raw_or_named ;;
    esac
    "$BIN/rollcall-agent" --state "$PLACE/state" --job j --aggregators "$list" \
        --copies "$copies" --away "${MANY_AWAY}s" --quiet-period 0.1s --raw \
        --release "$release" "${more[@]}" watched >>agent.log 2>&1 3>&- &
    agent_pid=$!
    appear_all "$victim" "$4"
    [ "$4" = back ] || gone=$victim
    n=$(first_but "$gone" "${order[@]}")
    use "$n" "$n"
    [ -z "${5-}" ] || use "$n" "$(first_but "$gone" "${raw_order[@]}")"
    if [ "$copies" = 1 ] && [ "$release" != never ] && [ "$4" = for-good ] &&
        [ "$3" != second ]; then
        await "$PATIENCE" $whole ||
            complain "$*: $(captures_there) of $CAPTURES, $(named) are named" ||
            state=1
        is_named=$((is_named + $(named)))
    else
        await "$PATIENCE" all_arrived || complain "$*: not everything arrived:" \
            "$(captures_there) of $CAPTURES" || state=1
        verdict >verdict.txt || complain "$*: $(cat verdict.txt)" || state=1
        [ "$4" = back ] || [ "$(named)" -eq 0 ] ||
            complain "$*: $(named) are named" || state=1
    fi
    echo "$is_named" >"$WORK/named.$BASHPID"
    stop_agent
    stop_many
    return $state
}

part_many ()
{
    local is_named=0 round

    CASES=("1 never first for-good" "1 shipped first for-good"
        "2 shipped first for-good" "2 shipped second back"
        "1 shipped raw for-good spread" "1 shipped first for-good spread"
        "2 shipped raw back spread" "2 shipped first for-good spread")
    if [ -n "$LONG" ]; then
        for round in 1 2 3 4 5 6 7 8 9 10; do
            CASES+=("1 never first for-good" "1 shipped first for-good"
                "1 never first back" "1 shipped first back"
                "2 shipped first for-good" "2 shipped second for-good"
                "2 shipped first back" "2 never second back"
                "1 never raw for-good spread" "1 shipped raw for-good spread"
                "1 never first for-good spread" "1 shipped first for-good spread"
                "1 shipped raw back spread" "1 shipped first back spread"
                "2 shipped raw for-good spread" "2 shipped first for-good spread"
                "2 shipped raw back spread" "2 shipped second back spread")
        done
    fi
    workers 4 take_cases
    report "${#CASES[@]} deaths of one of three; named as released and gone" \
        "$(cat "$WORK"/named.* 2>/dev/null | awk '{ n += $1 } END { print n + 0 }')"
}
