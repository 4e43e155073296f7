# tests/soak/power.bash - the power is cut at any moment
#
# One delivery is recorded (tests/kit/power_recorder.c): every write, fsync,
# rename, link, unlink of agent and aggregator, in order.  From that the
# directories are made as a disk may have them after a power cut at some moment
# (tests/kit/power_replay.c), of the agent's machine, the aggregator's, or
# both; what had not been made durable is kept, dropped or torn by chance.
# Then both start on that.  The machine that was not cut knows all that it was
# told: an agent that was told that its rows are safe does not send them again,
# so that a promise that was broken is a lost row.

# shellcheck disable=SC2034,SC2154

# record: a delivery, in the case's directory; the log is power.log
record ()
{
    local noted=(LD_PRELOAD="$KIT/power_recorder.so" POWER_ROOT="$CASE/disk"
        POWER_LOG="$CASE/power.log") more

    captures 6
    raw_files 1100000
    oracle || return
    mkdir later
    more=(job/*_ascend_pt)
    mv "${more[@]:3}" later/
    live_in "$CASE/disk"
    mkdir disk disk/root disk/state
    start_service "${noted[@]}"
    start_agent "${noted[@]}"
    await "$PATIENCE" captures_arrived 3 || complain "nothing is delivered" || return
    mv later/* job/                 # so that segments and ledgers grow
    await "$PATIENCE" all_arrived || complain "not everything is delivered" || return
    stop_agent
    stop_service
    mv disk recorded
    "$KIT/power_replay" power.log "$CASE/disk" 999999999 1 none again \
        >/dev/null || return
    # the recorder has seen everything, or the rest proves nothing
    diff -rq recorded again >diff.txt ||
        complain "the log misses something: $(head -n 5 diff.txt)"
}

# cut_once MOMENT VICTIM SEED
cut_once ()
{
    local acks

    rm -rf disk
    acks=$("$KIT/power_replay" power.log "$CASE/disk" "$1" "$3" "$2" disk) ||
        return
    mkdir -p disk/root disk/state
    : >service.log
    : >agent.log
    restarts=0
    delivered "cut at record $1 of $records, $2, seed $3, $acks ACKs sent"
    local state=$?
    total_acks=$((total_acks + acks))
    stop_agent
    stop_service
    return $state
}

# one_case CUTS
one_case ()
{
    local i victims=(root state all) state=0 records total_acks=0 moment seed

    RAW=--raw
    record || return
    records=$("$KIT/power_replay" power.log "$CASE/disk")
    for ((i = 0; i < $1; i++)); do
        # evenly over the time, and by chance between
        random $((records / $1 + 1))
        moment=$((i * records / $1 + DRAW))
        # once when all is done, and nobody will do anything again
        [ $i -gt 0 ] || moment=$records
        random 3
        seed=$((SEED * 1000 + i))
        if ! cut_once "$moment" "${victims[DRAW]}" "$seed"; then
            state=1
            total_failed=$((total_failed + 1))
            cp -r disk "failed.$i" 2>/dev/null
            cp service.log "failed.$i/" && cp agent.log "failed.$i/"
        fi
        total_cuts=$((total_cuts + 1))
    done
    echo "$1 $records $total_acks" >>"$WORK/cuts"
    return $state
}

part_power ()
{
    local i

    CASES=()
    if [ -n "$LONG" ]; then
        for ((i = 0; i < 60; i++)); do
            CASES+=(50)
        done
    else
        CASES=(5 5 5 5 5 5)
    fi
    total_cuts=0
    workers 6 take_cases
    report "$(awk '{ n += $1; r += $2; a += $3 } END { printf "%d cuts in " \
        "recordings of %d records, after %d ACKs", n, r, a }' "$WORK/cuts" \
        2>/dev/null)"
}
