# tests/soak/agents.bash - 64 agents and their aggregator, killed at random
#
# Real programs: each agent has a host (namespaces), a spool and a directory of
# its own, where captures keep appearing; every other one removes what it has delivered.  All the time one
# of the 65 is killed with SIGKILL and started again.  At the end everything
# has to be there, and the aggregator may have grown neither in memory nor in
# descriptors.  SOAK_MINUTES sets how long the 2,400 kills of the long form take
# (120).

# shellcheck disable=SC2034,SC2153,SC2154

AGENTS=64
AGENTS_MIB=256                      # of the aggregator: doc/reliability.md
AGENTS_DESCRIPTORS=16               # more at the end than in the beginning

# make_hosts: for each member a UTS and a mount namespace, which stay when it is
# killed: by the second one a host is told from others.
make_hosts ()
{
    local i

    for ((i = 0; i <= AGENTS; i++)); do
        # shellcheck disable=SC2016
        setpriv --pdeathsig KILL unshare -um sh -c \
            'hostname "$0" && : >"$1" && exec sleep infinity' \
            "node$i" "$CASE/host.$i" 3>&- &
        hosts[i]=$!
    done
    for ((i = 0; i <= AGENTS; i++)); do
        await 30 test -e "$CASE/host.$i" || complain "no host $i" || return
    done
}

end_hosts ()
{
    kill -KILL "${hosts[@]}" 2>/dev/null
    wait "${hosts[@]}" 2>/dev/null
}

# in_host N COMMAND...: in place of this shell, and not longer than its parent
in_host ()
{
    local host=${hosts[$1]}

    shift
    exec setpriv --pdeathsig KILL nsenter -t "$host" -u -m "$@"
}

start_member ()                     # N: 0 to AGENTS-1; the aggregator behind
{
    local i=$1 more=()

    if [ "$i" -eq $AGENTS ]; then
        in_host $AGENTS "$BIN/rollcall-aggregator" --root "$PLACE/root" \
            --listen "$ENDPOINT" --raw --threads 1 >>service.log 2>&1 3>&- &
    else
        [ $((i % 2)) -eq 0 ] || more=(--release shipped)
        in_host "$i" "$BIN/rollcall-agent" --state "$PLACE/state.$i" --job j \
            --aggregator "$ENDPOINT" --quiet-period 0.1s --raw "${more[@]}" \
            "$PLACE/watched/$i" >>"agent.$i.log" 2>&1 3>&- &
    fi
    members[i]=$!
}

# dead N: it ended, though nobody killed it (without another process)
dead ()
{
    local line

    ! { read -r line <"/proc/${members[$1]}/stat"; } 2>/dev/null ||
        [[ $line == *') Z '* ]]
}

# end_member N SIGNAL: one that ended before is said, and counts as a failure
end_member ()
{
    local state=0 by_itself=''

    dead "$1" && by_itself=1
    kill "-$2" "${members[$1]}" 2>/dev/null
    wait "${members[$1]}" 2>/dev/null || state=$?
    [ -z "$by_itself" ] ||
        complain "member $1 ended by itself with status $state" || own_ends+=1
}

end_members ()
{
    local i

    for ((i = 0; i <= AGENTS; i++)); do
        end_member "$i" TERM
    done
}

# appear N: the agent's next capture, whole at one moment as a rename is
appear ()
{
    local list=("$CASE/job/node$1"_*) next=${shown[$1]}

    [ "$next" -lt ${#list[@]} ] || return 0
    cp -r "${list[next]}" "$CASE/making" &&
        mv "$CASE/making" "$PLACE/watched/$1/${list[next]##*/}"
    shown[$1]=$((next + 1))
}

# note_aggregator: its memory, and descriptors in each third of the time
note_aggregator ()                  # TICK TICKS
{
    local pid=${members[AGENTS]} fds key value third=$(($1 * 3 / $2)) status

    fds=("/proc/$pid/fd"/*)
    [ "${#fds[@]}" -le "${descriptors[third]}" ] ||
        descriptors[third]=${#fds[@]}
    { mapfile -t status <"/proc/$pid/status"; } 2>/dev/null || return 0
    for key in "${status[@]}"; do
        [[ $key == VmHWM:* ]] || continue
        value=${key//[!0-9]/}
        [ "$value" -le "${peaks[third]}" ] || peaks[third]=$value
    done
}

# torture TICKS PERIOD PER-ROUND CHOICE: in each period a kill, and the next
# capture of some agents; 1 of CHOICE kills is the aggregator's
torture ()
{
    local tick i who

    for ((tick = 0; tick < $1; tick++)); do
        for ((i = tick % $3; i < AGENTS; i += $3)); do
            appear "$i"
        done
        sleep "$2"
        note_aggregator "$tick" "$1"
        random "$4"
        who=$AGENTS
        [ "$DRAW" -eq 0 ] || { random $AGENTS; who=$DRAW; }
        end_member "$who" KILL
        start_member "$who"
        kills[who < AGENTS ? 0 : 1]=$((kills[who < AGENTS ? 0 : 1] + 1))
        [ $((tick % 200)) -ne 199 ] || echo "  $((tick + 1)) of $1 kills:" \
            "aggregator ${peaks[*]} KiB, ${descriptors[*]} descriptors"
    done
}

# arrived_at_last: like deliver of lib.bash
arrived_at_last ()
{
    local end=$((SECONDS + PATIENCE + CAPTURES / 20))

    until all_arrived; do
        [ $SECONDS -lt $end ] || return 1
        sleep 1
    done
}

# one_case SECONDS PERIOD PER-ROUND CHOICE
one_case ()
{
    local ticks i state=0 kills=(0 0) own_ends='' shown=() members=()
    local descriptors=(0 0 0) peaks=(0 0 0) hosts=()

    ticks=$(awk -v s="$1" -v p="$2" 'BEGIN { print int (s / p) }')
    RAW=--raw
    captures $AGENTS --ranks-per-host 1 --repeat $((ticks / $3))
    oracle && make_hosts || return
    for ((i = 0; i <= AGENTS; i++)); do
        shown[i]=0
        mkdir -p "watched/$i"
        start_member "$i"
    done
    torture "$ticks" "$2" "$3" "$4"
    for ((i = 0; i < AGENTS; i++)); do
        while [ "${shown[i]}" -lt $((ticks / $3)) ]; do
            appear "$i"
        done
    done
    if ! arrived_at_last; then
        stuck=$((stuck + 1))
        for ((i = 0; i <= AGENTS; i++)); do
            end_member "$i" KILL
            start_member "$i"
        done
        arrived_at_last || complain "not everything arrived" || state=1
    fi
    # who was killed last has yet to hear that it arrived
    await "$PATIENCE" released || complain "$LEFT" || state=1
    end_members
    end_hosts
    verdict >verdict.txt || complain "$(cat verdict.txt)" || state=1
    ! grep -q event=redelivery-requested service.log ||
        complain "what had been acknowledged was not there any more" || state=1
    [ -z "$own_ends" ] || state=1
    released || complain "$LEFT" || state=1
    sizes || state=1
    echo "kills: agents ${kills[0]}, aggregator ${kills[1]}; aggregator's peak" \
        "in each third ${peaks[*]} KiB, descriptors ${descriptors[*]}" \
        >"$WORK/words"
    return $state
}

# released: who removes has removed all, and the others nothing; else LEFT says who
# has not
released ()
{
    local i left want

    for ((i = 0; i < AGENTS; i++)); do
        left=("watched/$i"/*_ascend_pt)
        [ -e "${left[0]}" ] || left=()
        want=${shown[i]}
        [ $((i % 2)) -eq 0 ] || want=0
        LEFT="agent $i: ${#left[@]} captures are left, not $want"
        [ ${#left[@]} -eq "$want" ] || return
    done
}

sizes ()
{
    local last=${descriptors[2]}

    [ "$last" -le $((descriptors[0] + AGENTS_DESCRIPTORS)) ] ||
        complain "the aggregator's descriptors grow: ${descriptors[*]}" ||
        return
    [ $((peaks[2] / 1024)) -le $AGENTS_MIB ] ||
        complain "the aggregator took ${peaks[2]} KiB"
}

part_agents ()
{
    local seconds=30 period=0.25 each=16 choice=16

    if ! unshare -um true 2>/dev/null; then
        echo "  SKIPPED: 64 agents, since namespaces are not permitted"
        return 0
    fi
    if ! nsenter -t $$ --mount test -d "$WORK"; then
        echo "  SKIPPED: 64 agents, since this is a chroot, which nsenter leaves"
        return 0
    fi
    if [ -n "$LONG" ]; then
        seconds=$((${SOAK_MINUTES:-120} * 60)) each=10 choice=$((AGENTS + 1))
        period=$(awk "BEGIN { print $seconds / 2400 }")
    fi
    CASES=("$seconds $period $each $choice")
    workers 1 take_cases
    report "$(cat "$WORK/words" 2>/dev/null)"
}
