# tests/soak/liar.bash - an aggregator talks nonsense, and an agent believes it
#
# tests/kit/hostile_aggregator.c answers `agent --once --raw --release shipped`.
# It may say that it has what it has not, so that the agent removes captures.
# But the agent must not crash, write or remove anything else, send what is not
# of its captures, or take much memory; and what is left of its captures comes
# to the next, honest aggregator.

# shellcheck disable=SC2034,SC2154

# shellcheck source=tests/soak/hostile.bash
. "$SOURCES/tests/soak/hostile.bash"

AGENT_KIB=$((64 * 1024))            # doc/reliability.md

# What is there besides captures and the agent's state.
others ()
{
    find beside beside-link job -not -path '*_ascend_pt*' \
        -not -name '.rollcall*' \( -type d -printf 'd %p\n' -o \
        -printf '%y %p %l %s\n' \) | sort
    find beside -type f -exec sha256sum {} + | sort
}

believe ()                          # the agent, until its aggregator is gone
{
    local kib=0 now

    "$BIN/rollcall-agent" --once --state state --job j --raw \
        --release shipped --aggregator "$ENDPOINT" --quiet-period 0.1s job \
        >agent.log 2>&1 3>&- &
    agent_pid=$!
    while alive "$hostile_pid" && alive "$agent_pid"; do
        now=$(peak_kib "$agent_pid")
        [ "${now:-0}" -le "$kib" ] || kib=$now
        sleep 0.05
    done
    stop_agent
    kill "$hostile_pid" 2>/dev/null
    wait "$hostile_pid" || complain "$(cat hostile.log)"
    [ "$ended" -lt "$DIED" ] || complain "the agent died ($ended)" || return
    is_sanitized || [ "$kib" -le $AGENT_KIB ] ||
        complain "the agent took $kib KiB"
}

# one_case SEED MANNER MESSAGES
one_case ()
{
    local state=0 canary="canary-$RANDOM-$1"

    RAW=--raw
    captures 3
    raw_files 1200000
    mkdir -p beside/deep
    echo "$canary" | tee beside/file beside/deep/file job/file >/dev/null
    ln -s beside beside-link
    ln -s ../beside job/link
    others >before
    "$KIT/hostile_aggregator" "$ENDPOINT" "$1" "$2" "$3" "$canary" \
        >hostile.log 2>&1 3>&- &
    hostile_pid=$!
    await 30 grep -qs ready hostile.log || complain "$(cat hostile.log)" ||
        return
    believe || state=1
    others >after
    diff before after >&2 || complain "written or removed elsewhere" || state=1
    no_report agent.log || state=1
    tail -n 1 hostile.log >>"$WORK/sent"
    if compgen -G 'job/*_ascend_pt' >/dev/null; then
        rm job/file job/link
        oracle || return
        deliver || complain "$*: not everything arrived" || state=1
        restarts=$((restarts - 2))      # these are not deaths
        verdict >verdict.txt || complain "$*: $(cat verdict.txt)" || state=1
        no_report agent.log service.log || state=1
    fi
    return $state
}

part_liar ()
{
    local i n=1 messages=2000 manner

    [ -z "$LONG" ] || n=20 messages=20000
    CASES=()
    for ((i = 0; i < n; i++)); do
        for manner in nonsense liar greedy; do
            CASES+=("$((SEED * 1000 + i)) $manner $messages")
        done
    done
    workers 2 take_cases
    report "$(awk '{ s += $2; o += $4; c += $6; l += $8 } END {
        printf "%d answers to %d offers, %d chunks, %d of them not of a" \
               " capture", s, o, c, l }' "$WORK/sent"), build $(build_name)"
}
