# tests/soak/outsiders.bash - connections that do not get far
#
# Many connections to an aggregator with keys stall at each byte of the greeting
# and in the handshake (tests/kit/stranger_crowd.c), or take all descriptors of
# one that has few; a session that was recorded is played again.  An honest
# agent is served within 10 s meanwhile, and the aggregator takes little time.

# shellcheck disable=SC2034,SC2154

# shellcheck source=tests/soak/hostile.bash
. "$SOURCES/tests/soak/hostile.bash"

SERVED_S=10
IDLE_TICKS_PER_S=20                 # of 100: with all of them there

deliver_once ()                     # seconds that it took, or nothing
{
    local began=$SECONDS

    rm -rf once
    timeout 120 "$BIN/rollcall-agent" --once --raw --state once --job j \
        --aggregator "$AGENT_ENDPOINT" --key keys/honest.key \
        --server-key keys/server.pub job >>agent.log 2>&1 3>&- &&
        echo $((SECONDS - began))
}

# held N DESCRIPTORS: an agent is served in between
held ()
{
    local n=$1 state=0 took ticks crowd

    (ulimit -n "$2" && exec "$BIN/rollcall-aggregator" --root root \
        --listen "$ENDPOINT" --keys keys --raw) >>service.log 2>&1 3>&- &
    service_pid=$!
    await 60 listens "$PORT" || complain "$(cat service.log)" || return
    rm -f held
    mkfifo held
    exec {crowd}<>held
    "$KIT/stranger_crowd" "$PORT" hold "$n" <held >crowd.log 2>&1 3>&- \
        {crowd}>&- &
    crowd_pid=$!
    await 60 grep -q held crowd.log || complain "$(cat crowd.log)" || state=1
    took=$(deliver_once)
    [ "${took:-99}" -le $SERVED_S ] ||
        complain "$n connections: served after ${took:-no} s" || state=1
    ticks=$(cpu_ticks "$service_pid")
    sleep 2                         # what they cost while nothing happens
    ticks=$((($(cpu_ticks "$service_pid") - ticks) / 2))
    [ $ticks -le $IDLE_TICKS_PER_S ] ||
        complain "$n connections: $ticks % of a CPU" || state=1
    kill "$crowd_pid"
    wait "$crowd_pid"
    exec {crowd}>&-
    echo "$n $took $ticks" >>"$WORK/held"
    return $state
}

# one_case hold N DESCRIPTORS
one_case ()
{
    local state=0

    RAW=--raw
    captures 2
    oracle || return
    enrol honest || return
    live_in "$CASE"
    held "$2" "$3" || state=1
    await 60 all_arrived || complain "$*: there is no result" || state=1
    verdict >verdict.txt || complain "$*: $(cat verdict.txt)" || state=1
    stop_service
    [ "$ended" -lt "$DIED" ] && no_report service.log || state=1
    return $state
}

part_outsiders ()
{
    CASES=("hold $([ -n "$LONG" ] && echo 2000 || echo 300) 4096"
        "hold 500 300")
    workers 2 take_cases
    report "$(awk '{ printf "%s%d connections: served after %d s, %d %% CPU",
        (NR > 1 ? "; " : ""), $1, $2, $3 }' "$WORK/held")"
}
