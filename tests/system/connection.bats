#!/usr/bin/env bats
# An aggregator that is not there: what log, status and the last words of an
# agent say of it

load service_helper

status_is ()                        # STATE [WHY]
{
    run "$ROLLCALL" status spool
    [[ "$output" == *" $1 "*"${2:-}"* ]]
}

not_connected ()                    # N: so many lines say so
{
    [ "$(grep -c event=not-connected agent.log)" -ge "$1" ]
}

# The first who looks is told where, and that no firewall is to blame.
@test "nobody listens: said at once, each minute, and by --once at its end" {
    local once status=0

    make --ranks 1
    choose_port
    timeout 120 "$AGENT" --once --state once --job j \
        --aggregator "tcp://127.0.0.1:$PORT" job >once.log 2>&1 3>&- &
    once=$!
    watching --quiet-period 0.1s job
    eventually not_connected 1
    grep -q "event=not-connected.*tcp://127.0.0.1:$PORT: connection refused" \
        agent.log
    eventually status_is not-connected "connection refused"
    wait "$once" || status=$?
    is "--once" 69 "$status"
    grep -q "event=ending.*tcp://127.0.0.1:$PORT: connection refused" once.log
    grep -q event=not-connected once.log
    eventually not_connected 2
    ends_with 75
}

@test "an aggregator that comes, dies, and comes again: status follows" {
    make --ranks 1
    choose_port
    watching --quiet-period 0.1s job
    eventually status_is not-connected
    service
    eventually status_is watching
    eventually captures_are 1
    eventually says agent.log event=connected
    kill_service
    eventually status_is not-connected
    service
    eventually status_is watching
    ends_with 0
    stop_service
}

# It has an answer: whoever looks for a firewall then looks in the wrong place.
@test "an agent whose place another one has is told so, and says it once" {
    local second

    make --ranks 1
    service
    watching --quiet-period 0.1s job
    eventually captures_are 1
    eventually durable
    "$AGENT" --state second --job j --aggregator "tcp://127.0.0.1:$PORT" job \
        >second.log 2>&1 3>&- &
    second=$!
    eventually says second.log event=refused
    refused () { "$ROLLCALL" status second | grep -q ' refused '; }
    eventually refused
    kill "$second"
    wait "$second" || true
    says second.log "another agent is connected as the one of host"
    is "lines" 1 "$(grep -c event=refused second.log)"
    ! grep -e firewall -e event=not-connected second.log || fail "misled"
    ends_with 0
    stop_service
}

# A list of every agent that ever was hides the one that matters.
@test "an agent that was killed: gone, for an hour, or as long as it owes" {
    make --ranks 1
    service
    watching --quiet-period 0.1s job
    eventually captures_are 1
    eventually durable
    kill -KILL "$watcher"
    wait "$watcher" || true
    status_is gone
    touch -d '61 minutes ago' spool/*/status.json
    run "$ROLLCALL" status spool
    shows "no daemon is running in "
    run "$ROLLCALL" status --json spool
    is "daemons" '{"daemons": []}' "$(tr -d '\n' <<<"$output")"
    # what it owes is told as long as it does
    sed -i -E 's/("undelivered":[[:space:]]*)0/\12/' spool/*/status.json
    touch -d '61 minutes ago' spool/*/status.json
    status_is gone
    stop_service
}

# Who reads "0 undelivered" alone believes that all is there.
@test "a capture that waits for its quiet period is shown as unread" {
    make --ranks 3
    find job -exec touch {} +       # it was written just now
    service
    watching --quiet-period 1h job
    unread () { run "$ROLLCALL" status spool
                grep -qE "rollcall-agent .* watching +$1 +0 " <<<"$output"; }
    eventually unread 3
    shows " unread "
    ends_with 75
    watching --quiet-period 0.1s job
    eventually unread 0
    eventually captures_are 3
    ends_with 0
    stop_service
}

# Its socket takes connections, and nothing else: no event of the network comes.
@test "an aggregator that is stopped: not connected, until it goes on" {
    make --ranks 1
    service
    watching --quiet-period 0.1s job
    eventually captures_are 1
    eventually status_is watching
    kill -STOP "$service"
    eventually status_is not-connected "does not answer"
    eventually not_connected 1
    kill -CONT "$service"
    eventually status_is watching
    said_again () { [ "$(grep -c event=connected agent.log)" = 2 ]; }
    eventually said_again
    ends_with 0
    stop_service
}
