# tests/soak/messages.bash - an enrolled agent talks nonsense meanwhile
#
# tests/kit/hostile_agent.c, with a key of its own: damaged, misplaced and
# recorded messages, while an honest agent delivers to the same job.  Nothing of
# the honest one may be lost or doubled, no row be added to its ranks, nobody
# crash, and the aggregator's memory stay bounded.

# shellcheck disable=SC2034,SC2154

# shellcheck source=tests/soak/hostile.bash
. "$SOURCES/tests/soak/hostile.bash"

SERVICE_KIB=$((256 * 1024))         # doc/reliability.md

# one_case SEED MESSAGES
one_case ()
{
    local state=0 kib

    RAW=--raw
    ! is_sanitized || PATIENCE=480
    captures 4
    raw_files 1500000
    oracle || return
    enrol honest evil || complain "no keys" || return
    export ROLLCALL_KEYS=$CASE/keys
    AGENT_MORE="--key $CASE/keys/honest.key --server-key $CASE/keys/server.pub"
    mv job stage
    mkdir job
    keep_alive
    restarts=0
    await 60 listens "$PORT" || complain "$(cat service.log)" || return
    # captures come while the other one talks
    "$KIT/hostile_agent" "$ENDPOINT" "$1" "$2" \
        "$SOURCES/tests/fuzz/corpus/message" keys/evil.key keys/server.pub \
        >hostile.log 2>&1 3>&- &
    hostile_pid=$!
    mv stage/*_ascend_pt job/
    deliver || complain "messages, seed $1: not everything arrived" || state=1
    wait "$hostile_pid" || complain "hostile: $(cat hostile.log)" || state=1
    kib=$(peak_kib "$service_pid")
    verdict >verdict.txt || complain "$(cat verdict.txt)" || state=1
    [ "$restarts" -eq 0 ] || complain "somebody died" || state=1
    stop_service
    [ "$ended" -lt "$DIED" ] && no_report service.log agent.log || state=1
    is_sanitized || [ "${kib:-0}" -le $SERVICE_KIB ] ||
        complain "the aggregator took $kib KiB" || state=1
    cat hostile.log >>"$WORK/sent"
    return $state
}

part_messages ()
{
    local i n=2 messages=750

    [ -z "$LONG" ] || n=24 messages=1000
    CASES=()
    for ((i = 0; i < n; i++)); do
        CASES+=("$((SEED * 1000 + i)) $messages")
    done
    workers 2 take_cases
    report "$(awk '{ s += $2; c += $4; a += $6 }
        END { printf "%d messages over %d connections, %d answered", s, c, a }' \
        "$WORK/sent"), build $(build_name)"
}
