# tests/soak/messages.bash - an enrolled agent talks nonsense meanwhile
#
# tests/kit/hostile_agent.c, with a key of its own: damaged, misplaced and
# recorded messages, while an honest agent delivers to the same job; and once more
# with the key of a person, who may ask for everything.  Nothing of
# the honest one may be lost or doubled, no row be added to its ranks, nobody
# crash, and the aggregator's memory stay bounded.

# shellcheck disable=SC2034,SC2154

# shellcheck source=tests/soak/hostile.bash
. "$SOURCES/tests/soak/hostile.bash"

SERVICE_KIB=$((256 * 1024))         # doc/reliability.md

# one_case SEED MESSAGES
one_case ()
{
    local state=0 kib key hostile_pids=() pid

    RAW=--raw
    ! is_sanitized || PATIENCE=480
    captures 4
    raw_files 1500000
    oracle || return
    enrol honest evil asker &&
        "$BIN/rollcall" key bind --reads-all asker --dir keys >/dev/null ||
        complain "no keys" || return
    export ROLLCALL_KEYS=$CASE/keys
    AGENT_MORE="--key $CASE/keys/honest.key --server-key $CASE/keys/server.pub"
    mv job stage
    mkdir job
    keep_alive
    restarts=0
    await 60 listens "$PORT" || complain "$(cat service.log)" || return
    # captures come while the others talk
    for key in evil asker; do
        "$KIT/hostile_agent" "$ENDPOINT" "$1" "$2" \
            "$SOURCES/tests/fuzz/corpus/message" keys/$key.key keys/server.pub \
            >hostile.$key 2>&1 3>&- &
        hostile_pids+=($!)
    done
    mv stage/*_ascend_pt job/
    deliver || complain "messages, seed $1: not everything arrived" || state=1
    for pid in "${hostile_pids[@]}"; do
        wait "$pid" || complain "hostile: $(cat hostile.*)" || state=1
    done
    kib=$(peak_kib "$service_pid")
    verdict >verdict.txt || complain "$(cat verdict.txt)" || state=1
    [ "$restarts" -eq 0 ] || complain "somebody died" || state=1
    stop_service
    [ "$ended" -lt "$DIED" ] && no_report service.log agent.log || state=1
    is_sanitized || [ "${kib:-0}" -le $SERVICE_KIB ] ||
        complain "the aggregator took $kib KiB" || state=1
    cat hostile.evil hostile.asker >>"$WORK/sent"
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
