# tests/soak/faults.bash - something goes wrong at every fault point
#
# The points are those that the sources name: FAULT ("...").  At each, agent or
# aggregator is killed, or the operation fails for want of space or by an error
# of the disk, the first or the second time that it comes by.  Whoever died is
# started again, until everything is delivered.  A point that no delivery comes
# by is a failure, too: it would never be tested.

# shellcheck disable=SC2034,SC2154

# Points that no delivery of a service comes by, and where what is behind them is
# shown: a raw file that has changed, and captures that vanish or are moved, in
# test_spool; what is delivered once more in test_spool_redeliver; tallies that
# are wrong in test_spool_damage; what wrappers said in system.run_death; what is
# kept of analyses in system.analyse_with; a repair of a root in system.archive;
# advice and the end in peace, on which nothing depends, in test_spool; what
# removes and collects in the part deletion.
ELSEWHERE=(agent.spool.gone.unlink agent.spool.gone.commit
    agent.spool.recount.commit agent.spool.redeliver.commit
    agent.spool.vanished.commit agent.spool.said.commit agent.analysis.keep
    aggregator.check.aside aggregator.check.replace aggregator.check.describe
    agent.spool.advice.commit agent.spool.close.commit
    aggregator.audit.write aggregator.gc.copy aggregator.gc.commit
    aggregator.gc.unlink)

# Every name of a point in the sources, whether it stands in FAULT itself or is
# handed on to it.
fault_points ()
{
    grep -rhoE '"(agent|aggregator)(\.[a-z]+){2,}"' --include='*.c' \
        "$SOURCES/common" "$SOURCES/node_agent" "$SOURCES/aggregator" |
        tr -d '"' | sort -u
}

# prepare POINT PASS ACTION: captures with raw files of several chunks; sets
# 'fault', what is put into the environment
prepare ()
{
    fault=(ROLLCALL_FAULT="$1:$2:$3" ROLLCALL_FAULT_ONCE="$CASE/hit"
        ROLLCALL_FAULT_TRACE="$CASE/trace")
    RAW=--raw
    captures 2
    raw_files 1200000
    case $1 in
    agent.release.*)
        AGENT_MORE="--release shipped"
        cp -r job original
        ORIGINAL=original
        ;;
    esac
    oracle
}

# A shipment in the spool is damaged: it is set aside, and read once more.
damage_spool ()
{
    local shipment

    sealed () { [ "$(grep -c event=sealed agent.log)" -ge "$CAPTURES" ]; }
    start_agent
    await "$PATIENCE" sealed || complain "nothing was sealed" || return
    stop_agent KILL
    shipment=$(find state -type f -path '*/items/*' | sort | head -n 1)
    "$KIT/flip_byte" "$shipment" 200
}

# deliver_struck: wait for the result, and note whether the fault struck
deliver_struck ()                   # POINT PASS ACTION
{
    delivered "$*" || return
    [ ! -e trace ] || sort -u trace >>"$WORK/traced"
    [ -e hit ] || return 0
    echo "$*" >>"$WORK/hits"
    if [ "$3" != kill ] && [ $restarts -gt 0 ]; then
        echo "$*" >>"$WORK/ended"   # it gave up instead of trying again
    fi
}

plain_case ()                       # POINT PASS ACTION
{
    prepare "$@" || return
    start_service "${fault[@]}"
    start_agent "${fault[@]}"
    deliver_struck "$@"
}

# A new segment begins after 256 MiB of small files.
big_case ()                         # POINT PASS ACTION
{
    local i

    prepare "$@" || return
    for ((i = 0; i < 330; i++)); do
        head -c 900000 /dev/urandom >"$(printf '%s/PROF_1/data%d' \
            "$(find job -name '*_ascend_pt' | head -n 1)" "$i")"
    done
    start_service "${fault[@]}"
    start_agent "${fault[@]}"
    PATIENCE=240 deliver_struck "$@"
}

# A point that only recovery comes by: the first life is killed at another
# point (FIRST), or its disk fails, and the second one, or the same, has the
# fault.
second_case ()                      # FIRST POINT PASS ACTION
{
    local first=$1 early

    shift
    prepare "$@" || return
    if [ "$first" = damage: ]; then
        damage_spool || return
        start_service "${fault[@]}"
        start_agent "${fault[@]}"
        deliver_struck "$@"
        return
    fi
    early=(ROLLCALL_FAULT="$first:1:kill" ROLLCALL_FAULT_ONCE="$CASE/first")
    case $first in
    fsync:* | write:*)
        early=("${fault[@]}" DISK_FAULT="$first" DISK_FAULT_HITS="$CASE/first"
            LD_PRELOAD="$KIT/disk_fault.so")
        ;;
    esac
    start_service "${early[@]}"
    start_agent "${early[@]}"
    struck_or_arrived () { [ -e first ] || all_arrived; }
    await 20 struck_or_arrived || true
    case $first in
    fsync:* | write:*) ;;
    *)
        stop_agent KILL
        stop_service KILL
        start_service "${fault[@]}"
        start_agent "${fault[@]}"
        ;;
    esac
    deliver_struck "$@"
}

one_case ()
{
    local kind=$1

    shift
    [ "$kind" != second ] || ! grep -qxF "$2 $3 $4" "$WORK/hits" || return 0
    "${kind}_case" "$@"
}

# missed: the points that were not struck by a first kill
missed ()
{
    printf '%s\n' "${points[@]}" | while read -r point; do
        [[ " ${ELSEWHERE[*]} " == *" $point "* ]] ||
            grep -qxF "$point 1 kill" "$WORK/hits" || echo "$point"
    done
}

# Every way to come by the points that were missed, until they are struck;
# those that are known to lead to one are tried first.
second_cases ()
{
    local point first side

    CASES=()
    for first in damage: agent.seal.write agent.spool.durable.unlink \
        "${points[@]}" "fsync:eio:1:1:*/segments/*" "fsync:eio:2:1:*-wal" \
        "write:enospc:9:1:*-wal" "write:eio:1:1:*/segments/*"; do
        for point in $(missed | grep -vF .segment.full); do
            side=${point%%.*}
            case $first in
            "$point") ;;
            "$side".* | *:*) CASES+=("second $first $point 1 kill") ;;
            esac
        done
    done
}

part_faults ()
{
    local point points action left=() hits=0 more=''

    mapfile -t points < <(fault_points)
    if [ ${#points[@]} -eq 0 ]; then
        echo "the sources have no fault points: nothing was tested"
        return 1
    fi
    CASES=()
    for point in "${points[@]}"; do
        CASES+=("plain $point 1 kill")
        [ -n "$LONG" ] || continue
        CASES+=("plain $point 2 kill")
        for action in enospc eio; do
            CASES+=("plain $point 1 $action" "plain $point 2 $action")
        done
    done
    : >"$WORK/hits"
    workers 8 take_cases
    second_cases
    workers 8 take_cases
    CASES=()
    mapfile -t left < <(missed)
    if [ -n "$LONG" ]; then
        for point in "${left[@]}"; do
            CASES+=("big $point 1 kill")
        done
        workers 1 take_cases
        mapfile -t left < <(missed)
    fi
    hits=$(wc -l <"$WORK/hits")
    [ ! -e "$WORK/ended" ] ||
        more=", ended instead of trying again $(wc -l <"$WORK/ended")"
    for point in "${left[@]}"; do
        # 256 MiB are too many for the short form
        if [ -z "$LONG" ] && [[ "$point" == *.segment.full ]]; then
            echo "  only the long form comes by $point"
        else
            echo "  no delivery comes by $point"
            total_failed=$((total_failed + 1))
        fi
    done
    report "${#points[@]} points, $total_cases cases, struck $hits$more"
}
