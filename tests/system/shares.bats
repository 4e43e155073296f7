#!/usr/bin/env bats
# One node that is invited wants all of a service: there is room for the others,
# and what it took is given back

load run_helper

GREEDY_JOBS=1100        # more than half of what there may be
GREEDY_AGENTS=1200      # a process has 1,024 descriptors at first
GREEDY_RANKS=131072

begin ()                            # [NAME=VALUE]...: the service's environment
{
    local i

    : "${GREEDY_AGENT:?names greedy_agent}"
    unset ROLLCALL_KEY ROLLCALL_SERVER_KEY ROLLCALL_KEYS
    export HOME=$TEST_DIR XDG_CONFIG_HOME=$TEST_DIR/config
    choose_port
    for i in server greedy node; do
        "$ROLLCALL" key new $i --dir keys >>key.log 2>&1
        [ $i = server ] || "$ROLLCALL" key enrol keys/$i.pub $i --dir keys \
            >>key.log 2>&1
    done
    env "$@" "$AGGREGATOR" --root root --keys keys --agents 4000 \
        --listen "tcp://127.0.0.1:$PORT" >>service.log 2>&1 3>&- &
    service=$!
    eventually listens "$PORT" || fail "$(cat service.log)"
}

# greedy WHAT...: in the background, until its answers are printed
greedy ()
{
    mkfifo hold
    "$GREEDY_AGENT" "tcp://127.0.0.1:$PORT" keys/greedy.key keys/server.pub \
        "$@" <hold >greedy.out 2>greedy.err 3>&- &
    greedy=$!
    exec {open}>hold
    eventually answered
    grep -q welcome greedy.out || fail "$(cat greedy.err)"
}

answered ()
{
    [ -s greedy.out ] || gone $greedy
}

leave ()                            # the greedy one
{
    exec {open}>&-
    wait $greedy || true
}

# Another node, with a job that is new.
others_are_served ()
{
    "$CAPTURE_MAKER" --quiet --ranks 1 --ops 4 job
    run timeout 120 "$AGENT" --once --state spool --job other \
        --aggregator "tcp://127.0.0.1:$PORT" --key keys/node.key \
        --server-key keys/server.pub job
    [ "$status" -eq 0 ] || fail "another node: $status: $output"
}

rss_kib ()
{
    sed -n 's/^VmRSS:[[:space:]]*\([0-9]*\).*/\1/p' "/proc/$service/status"
}

below ()                            # KIB
{
    [ "$(rss_kib)" -lt "$1" ]
}

@test "one key opens all jobs that it may: another node's is taken" {
    begin
    greedy jobs $GREEDY_JOBS
    read -r _ welcome _ refused <greedy.out
    [ "$welcome" -ge 1000 ] && [ "$refused" -ge 50 ] ||
        fail "welcome $welcome, refused $refused"
    grep -q 'event=no-share .*more jobs of key' service.log
    others_are_served
    leave
}

@test "one key has more connections than descriptors: another node is taken" {
    begin
    greedy agents $GREEDY_AGENTS
    is "answers" "welcome $GREEDY_AGENTS refused 0" "$(cat greedy.out)"
    others_are_served
    leave
}

# 128 MB are said, of which half of what there is room for may stay.
@test "one key says texts of all ranks there are: bounded, and given back" {
    local before

    begin SHIFT_WHEN="$PWD/later" SHIFT_S=700 LD_PRELOAD="$SHIFT_CLOCK"
    others_are_served
    before=$(rss_kib)
    greedy ranks $GREEDY_RANKS 1000
    grep -q 'event=no-share .*more .*of key' service.log
    echo "before $before KiB, with texts $(rss_kib) KiB"
    [ -n "${ROLLCALL_SANITIZED:-}" ] || below $((before + 80 * 1024)) ||
        fail "$(rss_kib) KiB, before $before"
    rm -rf job spool
    others_are_served
    leave
    touch later                     # more than ten minutes
    if [ -z "${ROLLCALL_SANITIZED:-}" ]; then
        eventually below $((before + 16 * 1024)) ||
            fail "$(rss_kib) KiB, before $before"
    fi
    echo "at last $(rss_kib) KiB"
}

teardown ()
{
    kill_all
}
