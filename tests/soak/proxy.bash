# tests/soak/proxy.bash - the connection breaks in every way, at every ACK
#
# A TCP proxy (tests/kit/fault_proxy.c) between agent and aggregator.  A case
# in which the proxy broke nothing proves nothing, and fails.

# shellcheck disable=SC2034,SC2154

start_proxy ()                      # COMMAND...: the first rules
{
    local target=$PORT line

    choose_port
    rm -f control
    : >proxy.log
    mkfifo control
    exec {control}<>control
    # -: the proxy must not keep its own input open
    "$KIT/fault_proxy" "$PORT" "$target" <control >>proxy.log 2>&1 \
        3>&- {control}>&- &
    proxy_pid=$!
    AGENT_ENDPOINT=tcp://127.0.0.1:$PORT
    for line; do
        tell_proxy "$line" || return
    done
}

tell_proxy ()                       # COMMAND: done when this returns
{
    local before

    before=$(grep -cxF "done $1" proxy.log)
    echo "$1" >&"$control"
    # shellcheck disable=SC2317
    told () { [ "$(grep -cxF "done $1" proxy.log)" -gt "$before" ]; }
    await 20 told "$1" || complain "the proxy does not answer to $1"
}

breaks ()
{
    grep -c '^break' proxy.log
}

stop_proxy ()
{
    breaks >>"$WORK/breaks.$BASHPID"
    echo quit >&"$control"
    wait "$proxy_pid"
    exec {control}>&-
}

sent_bytes ()                       # N: so many came from the agent by now
{
    local up

    tell_proxy stat || return
    up=$(sed -n 's/^stat.* up \([0-9]*\) .*/\1/p' proxy.log | tail -n 1)
    [ "${up:-0}" -ge "$1" ]
}

# one_case acks WHEN HOW | reset BYTES TIMES | delay MS | partition SECONDS |
#          half [HEAL]
one_case ()
{
    local what=$1 ok=0 items patience=240

    RAW=--raw
    case "$*" in
    acks*half) captures 1; patience=2000 ;; # silence takes 60 s for each
    *) captures 2 ;;
    esac
    case $what in
    acks | delay) ;;
    half) raw_files 100000 ;;
    *) raw_files 9000000 ;;
    esac
    oracle || return
    items=$((CAPTURES + $(find job -type f | wc -l)))
    case $what in
    acks) start_proxy "acks $2 $3" || return ;;
    reset) start_proxy "up $2 $3 rst" || return ;;
    delay) start_proxy "delay $2" || return ;;
    half) start_proxy "up 50000 1 half" || return ;;
    partition) start_proxy || return ;;
    esac
    keep_alive
    case $what in
    partition)
        await "$PATIENCE" sent_bytes 3000000 || complain "nothing was sent"
        tell_proxy stall
        sleep "$2"                  # what the partition is
        tell_proxy go
        ;;
    half)
        one_break () { [ "$(breaks)" -ge 1 ]; }
        await "$PATIENCE" one_break || complain "nothing broke"
        # without healing, the agent has to find out that it is silent
        [ -z "${2-}" ] || { sleep "$2"; tell_proxy go; }
        ;;
    esac
    PATIENCE=$patience delivered "$*" || ok=1
    case $what in
    acks)                           # the result can be there before the last
        all_broken () { [ "$(breaks)" -ge "$items" ]; }
        await $((patience / 2)) all_broken
        [ "$(breaks)" -eq "$items" ] ||
        complain "$*: $(breaks) ACKs broken, of $items" || ok=1 ;;
    reset) [ "$(breaks)" -eq "$3" ] ||
        complain "$*: $(breaks) connections reset, not $3" || ok=1 ;;
    half) [ "$(breaks)" -eq 1 ] || complain "$*: nothing broke" || ok=1 ;;
    esac
    stop_proxy
    return $ok
}

part_proxy ()
{
    local n

    CASES=("acks before fin" "acks after rst" "acks before rst"
        "acks after fin" "reset 1700000 4" "reset 300000 3" "delay 300"
        "partition 1" "half 1")
    if [ -n "$LONG" ]; then
        CASES+=(half "acks before half" "delay 1000"
            "partition 2" "partition 5" "partition 10" "partition 20"
            "partition 30")
        for n in 70 1000 50000 1000000 1048576 1048700 1048800 2097152; do
            CASES+=("reset $n 5")
        done
        CASES+=("reset 5000000 3")  # 18 MB are sent in all
    fi
    workers 8 take_cases
    n=$(cat "$WORK"/breaks.* 2>/dev/null | awk '{ n += $1 } END { print n + 0 }')
    report "$total_cases cases, connections broken $n"
}
