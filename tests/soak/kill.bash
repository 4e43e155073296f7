# tests/soak/kill.bash - kill -9 of agent, aggregator and both, at random
#
# Batches of rounds: in each round a capture more is there, and then something
# is killed (tests/kit/kill_rounds.c).  After a batch both are started once
# more, and the result is compared.

# shellcheck disable=SC2034,SC2154

one_case ()                         # ROUNDS
{
    local line

    RAW=--raw
    captures "$1"
    random 3
    [ "$DRAW" -gt 0 ] || raw_files 1500000
    oracle || return
    mv job stage
    mkdir job
    random 1000000000
    "$KIT/kill_rounds" "$DRAW" "$1" 300 "$CASE/stage" "$CASE/job" -- \
        "$BIN/rollcall-aggregator" --root "$CASE/root" --listen "$ENDPOINT" \
        --raw -- \
        "$BIN/rollcall-agent" --state "$CASE/state" --job j --aggregator \
        "$ENDPOINT" --quiet-period 0.1s --raw "$CASE/job" \
        >rounds.log 2>programs.log || complain "crashed: $(cat rounds.log)" ||
        return
    tail -n 1 rounds.log >>"$WORK/rounds"
    delivered "kill $*"
}

part_kill ()
{
    local i rounds=20 batch=10

    [ -z "$LONG" ] || rounds=10000 batch=20
    CASES=()
    for ((i = 0; i < rounds; i += batch)); do
        CASES+=("$batch")
    done
    workers 4 take_cases
    report "$(awk '{ gsub (/[:,;]/, "")
                     n += $2; a += $4; s += $6; b += $8; e += $12; c += $14 }
        END { printf "rounds %d: killed agent %d, aggregator %d, both %d; " \
                     "ended by themselves %d, crashed %d", n, a, s, b, e, c }' \
        "$WORK/rounds")"
}
