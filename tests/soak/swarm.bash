# tests/soak/swarm.bash - 1,024 agents at once, and the aggregator dies
#
# tests/kit/agent_swarm.c: one process, a socket and a state for each.  Some
# are slow, some stalled, some dead; when half is durable all of them restart
# at once; the aggregator is killed when a quarter is.  The aggregator's memory
# is limited to what it promises.

# shellcheck disable=SC2034,SC2154

SERVICE_MIB=256                     # doc/reliability.md

note_service ()                     # before it is killed, and at the end
{
    local kib

    kib=$(peak_kib "$service_pid")
    [ "${kib:-0}" -le "$peak" ] || peak=$kib
    ticks=$((ticks + $(cpu_ticks "$service_pid")))
}

# one_case NAME AGENTS [OPTION N]...: of agent_swarm; prints a row of the table
one_case ()
{
    local name=$1 n=$2 peak=0 ticks=0 line word a others='' all='' state=0 swarm

    shift 2
    captures "$n" --ranks-per-host 8
    oracle || return
    mkdir swarm
    start_service
    await 30 listens "$PORT" || complain "$(cat service.log)" || return
    exec {events}< <(exec "$KIT/agent_swarm" "$ENDPOINT" j job swarm "$@" \
        limit "${SWARM_LIMIT:-$([ -n "$LONG" ] && echo 900 || echo 120)}" 2>swarm.log)
    swarm=$!
    while read -r -u "$events" word a line; do
        case $word in
        quarter)
            [ "$name" = plain ] && continue
            note_service
            stop_service KILL
            start_service
            ;;
        others) others=$a ;;
        all) all=$a ;;
        durable) echo "$word $a $line" >counts ;;
        esac
    done
    wait "$swarm"
    state=$?
    exec {events}<&-
    [ $state -eq 0 ] ||
        complain "$name: $(cat counts swarm.log; tail -n 3 service.log)" ||
        return
    await 120 all_arrived || complain "$name: there is no result: $(tail -n 3 \
        service.log)"
    note_service
    verdict >verdict.txt || complain "$name: $(cat verdict.txt)" || state=1
    printf '| %s | %d | %.1f | %.1f | %d | %.1f |\n' "$name" "$n" \
        "$(bc_div "$others" 1000)" "$(bc_div "$all" 1000)" \
        $((peak / 1024)) "$(bc_div "$ticks" "$(getconf CLK_TCK)")" \
        >>"$WORK/table"
    [ $((peak / 1024)) -le $SERVICE_MIB ] ||
        complain "$name: the aggregator took $((peak / 1024)) MiB" || state=1
    return $state
}

bc_div ()                           # A B
{
    awk -v a="${1:-0}" -v b="$2" 'BEGIN { printf "%.3f", a / b }'
}

part_swarm ()
{
    CASES=("killed 1024 slow 32 stalled 96 dead 32 storm 1")
    if [ -n "$LONG" ]; then
        CASES+=("plain 1024" "blobs 1024 slow 64 stalled 128 dead 64 storm 1
            blob 1000000")
    fi
    workers 1 take_cases
    echo "| what | agents | s until all but the stalled and dead are durable" \
        "| s until all are | aggregator's peak MiB | its CPU s |"
    cat "$WORK/table" 2>/dev/null
    report "$total_cases cases"
}
