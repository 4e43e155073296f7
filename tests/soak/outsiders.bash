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

# through OLD SAID: deliver through a relay that writes what the agent says into
# SAID, and says OLD before the agent's first message
through ()
{
    local relay there=$PORT took

    choose_port
    "$ROLLCALL_BUILD/tests/system/wire_peer" replay "$PORT" "$there" "$2" \
        "$1" >relay.log 2>&1 3>&- &
    relay=$!
    await 60 listens "$PORT" || complain "$(cat relay.log)" || return
    AGENT_ENDPOINT=tcp://127.0.0.1:$PORT
    took=$(deliver_once)
    kill "$relay"
    wait "$relay"
    AGENT_ENDPOINT=$ENDPOINT PORT=$there
    [ -n "$took" ]
}

# size_of FILE OFFSET: the number of eight bytes, the highest first
size_of ()
{
    echo $((0x$(od -An -v -tx1 -j "$2" -N 8 "$1" | tr -d ' \n')))
}

# Who plays it gets a greeting and the server's first words, which are the same
# for everybody, and nothing that only an agent gets.
ANONYMOUS=$((64 + 2 + 168))

played ()                           # FILE
{
    local got

    got=$("$KIT/stranger_crowd" "$PORT" play "$1" | sed 's/got //')
    [ "${got:-9999}" -le $ANONYMOUS ] ||
        complain "$1 was answered with $got bytes"
}

agents_seen ()
{
    grep -c ' event=agent-connected ' service.log
}

# The client's greeting, HELLO and INITIATE are 64, 202 and 9 bytes and more.
replayed ()
{
    local state=0 agents begin

    ROLLCALL_KEYS=$CASE/keys start_service
    await 60 listens "$PORT" || complain "$(cat service.log)" || return
    through '' said || complain "$(tail -n 3 agent.log)" || return
    [ "$(stat -c %s said)" -gt 10000 ] || complain "nothing recorded" || return
    agents=$(agents_seen)
    begin=$((64 + 202 + 9 + $(size_of said $((64 + 202 + 1)))))
    tail -c +$((begin + 1)) said >messages
    tail -c +65 said >headless
    { head -c 64 said; cat messages; } >unshaken
    { head -c $((64 + 202)) said; cat messages; } >half
    for file in said headless messages unshaken half; do
        played "$file" || state=1
    done
    [ "$(agents_seen)" -eq "$agents" ] || complain "somebody was let in" ||
        state=1
    [ -z "$LONG" ] || replayed_within || state=1
    return $state
}

# The agent's own words again, in another session of its own: libzmq reads no
# more of that connection, and the aggregator ends it, as it is silent.
replayed_within ()
{
    local agents

    agents=$(agents_seen)
    through messages said2
    grep -q replayed relay.log || complain "nothing was replayed" || return
    [ "$(agents_seen)" -eq "$agents" ] || complain "they were heard" || return
    deliver_once >took
    [ -s took ] || complain "not delivered: $(tail -n 3 agent.log)"
}

# one_case hold N DESCRIPTORS | replay
one_case ()
{
    local state=0

    RAW=--raw
    captures 2
    oracle || return
    enrol honest || return
    case $1 in
    hold) held "$2" "$3" || state=1 ;;
    replay) replayed || state=1 ;;
    esac
    await "$PATIENCE" all_arrived || complain "$*: there is no result" || state=1
    verdict >verdict.txt || complain "$*: $(cat verdict.txt)" || state=1
    stop_service
    [ "$ended" -lt "$DIED" ] && no_report service.log || state=1
    return $state
}

part_outsiders ()
{
    CASES=("hold $([ -n "$LONG" ] && echo 2000 || echo 300) 4096"
        "hold 500 300" replay)
    workers 2 take_cases
    report "a session played 5 times${LONG:+, and within another}; $(awk '{ printf "%s%d connections: served after %d s, %d %% CPU",
        (NR > 1 ? "; " : ""), $1, $2, $3 }' "$WORK/held")"
}
