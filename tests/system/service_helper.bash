# tests/system/service_helper.bash - an aggregator as a service, and its agents

# shellcheck disable=SC2154         # bats sets status, output, BATS_*
# shellcheck source=tests/system/run_helper.bash
source "${BASH_SOURCE[0]%/*}/run_helper.bash"


# listening N: it said so more than N times, or cannot
listening ()
{
    [ "$(grep -c event=listening service.log)" -gt "$1" ] || gone "$service"
}

service ()                          # [OPTION]...: start it, or again
{
    local before

    touch service.log
    before=$(grep -c event=listening service.log) || true
    [ -n "${PORT:-}" ] || choose_port
    "$AGGREGATOR" --root "$TEST_DIR/root" --listen "tcp://127.0.0.1:$PORT" \
        "$@" >>service.log 2>&1 3>&- &
    service=$!
    eventually listening "$before" && ! gone "$service" ||
        fail "$(cat service.log)" || return
    DB=root/jobs/j/cluster_analysis_output/analysis.db
}

# agent [OPTION]...: of job j, its spool in spool/; without a service nobody
# is at the other end
agent ()
{
    timeout "$LIMIT" "$AGENT" --state "$TEST_DIR/spool" --job j \
        --aggregator "tcp://127.0.0.1:${PORT:-9}" "$@"
}

# watching [OPTION]... DIR: in the background
watching ()
{
    "$AGENT" --state "$TEST_DIR/spool" --job j \
        --aggregator "tcp://127.0.0.1:$PORT" "$@" >>agent.log 2>&1 3>&- &
    watcher=$!
}

# at_once COMMAND...: all that it writes appears at one moment to the agent that
# is watching: on a slow machine half of it would have been quiet for long enough
at_once ()
{
    kill -STOP "$watcher"
    "$@"
    kill -CONT "$watcher"
}

# ends_with STATUS: the one that is watching, told to end
ends_with ()
{
    local status=0

    kill "$watcher" 2>/dev/null || true
    wait "$watcher" || status=$?
    [ "$status" = "$1" ] || fail "the agent ended with $status: $(cat agent.log)"
}

# durable [DIR]: how many items are, in the life of the agent with its spool
# there, if it knows of nothing that is open.  A result may be there before it
# knows that.
durable ()
{
    local name status_text

    status_text=$("$ROLLCALL" status --json "${1:-spool}") || return
    for name in undelivered unsettled sealing analysing; do
        [[ $status_text =~ \"$name\":[[:space:]]*0, ]] || return
    done
    [[ $status_text =~ \"items_durable\":[[:space:]]*([1-9][0-9]*), ]] &&
        echo "${BASH_REMATCH[1]}"
}

durable_are ()                      # N
{
    [ "$(durable)" = "$1" ]
}

# release_dies_at POINT: of agent.release, and the next agent goes on
release_dies_at ()
{
    export ROLLCALL_FAULT=agent.release.$1
    run agent --once --raw --release shipped job
    expect_status 137
    unset ROLLCALL_FAULT
    run agent --once --raw --release shipped job
    expect_status 0
}

captures_are ()                     # N: in the result
{
    [ -e "$DB" ] && [ "$(sql "SELECT count(*) FROM Capture WHERE
                              state='complete'" 2>/dev/null)" = "$1" ]
}

# A job of three ranks with its raw files, delivered and built: not only its
# result is there, what was found of it is in the root, too.
deliver_raw_job ()                  # [OPTION of the service]...
{
    make --ranks 3
    service "$@"
    run agent --once --raw job
    expect_status 0
    built_all () { grep -q "event=built job=j .* present=3 " service.log; }
    eventually built_all
    eventually captures_are 3
    export ROLLCALL_ROOT=$TEST_DIR/root
}

builds ()                           # [JOB]: how many there were
{
    grep -c "event=built job=${1:-j} " service.log
}

# was_built: analysis.db is there before the other files are
was_built ()
{
    [ "$(builds)" -ge 1 ]
}

# another_job ID: delivered and built, behind everything that was due by now
another_job ()
{
    rm -rf "$1"
    "$CAPTURE_MAKER" --quiet --ranks 1 --ops 1 "$1"
    run agent --once --job "$1" "$1"
    expect_status 0
    built () { [ "$(builds "$1")" -ge 1 ]; }
    eventually built "$1"
}

# At once, as by the OOM killer; what is not gone yet has its port still.
kill_service ()
{
    kill -KILL "$service"
    wait "$service" || true
}

stop_service ()
{
    kill "$service"
    wait "$service" || fail "the service ended with $?: $(cat service.log)"
    nothing_runs
    ! listens "$PORT"
}

as_analyzed ()
{
    "$ROLLCALL" analyze -o ref job >ref.log 2>&1 || fail "$(cat ref.log)"
    same_tables ref/cluster_analysis_output/analysis.db "$DB"
}
