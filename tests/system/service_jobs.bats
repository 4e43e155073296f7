#!/usr/bin/env bats
# Several jobs below one tree that one service watches: each has an id, a
# result and a roll of its own, whoever dies meanwhile

load service_helper

# any_agent [OPTION]...: that was told no job
any_agent ()
{
    timeout "$LIMIT" "$AGENT" --state "$TEST_DIR/spool" \
        --aggregator "tcp://127.0.0.1:${PORT:-9}" "$@"
}

any_watching ()                     # [OPTION]... DIR: in the background
{
    "$AGENT" --state "$TEST_DIR/spool" \
        --aggregator "tcp://127.0.0.1:$PORT" "$@" >>agent.log 2>&1 3>&- &
    watcher=$!
}

# make_job NAME [OPTION]...: captures in watch/NAME, the first an hour or more
# before the second
make_job ()
{
    local name=$1

    shift
    "$CAPTURE_MAKER" --quiet --ranks 4 --ops 8 "$@" "watch/$name"
}

two_jobs ()
{
    make_job a --seed 1
    make_job b --seed 2 --start 1790000000 --process 2
}

jobs_are ()                         # N: with a result, and nothing is behind
{
    run "$ROLLCALL" jobs --root root
    [ "$(grep -c ' built: ' <<<"$output")" = "$1" ] &&
        [ "$(wc -l <<<"$output")" = $(($1 + 1)) ]
}

# job_of NAME: of the captures that are in watch/NAME
job_of ()
{
    local one

    one=$(basename "$(find "watch/$1" -name '*_ascend_pt' | sort | head -n 1)")
    "$ROLLCALL" archive ls --root root |
        awk -F '\t' -v c="$one" '$3 == c { print $1; exit }'
}

db_of ()                            # JOB
{
    echo "root/jobs/$1/cluster_analysis_output/analysis.db"
}

# is_whole NAME: its job has its four ranks, and the rows of analyze
is_whole ()
{
    local job ref=ref-$1

    job=$(job_of "$1")
    [ -n "$job" ] || fail "$1 is of no job" || return
    rm -rf "$ref"
    "$ROLLCALL" analyze -o "$ref" "watch/$1" >ref.log 2>&1 ||
        fail "$(cat ref.log)" || return
    same_tables "$ref/cluster_analysis_output/analysis.db" "$(db_of "$job")"
    is "captures of $1" "4 complete" "$(sql "SELECT count(*) || ' ' ||
        min(state) FROM Capture" "$(db_of "$job")")"
}

# delivered_whole: two jobs, to a service
delivered_whole ()
{
    two_jobs
    service
    run any_agent --once watch
    expect_status 0
    both_are_whole
}

# Both are built before all of their captures have come, too.
whole_jobs_are ()                   # N
{
    jobs_are "$1" && [ "$(grep -c ' built: 4 of 4 present$' <<<"$output")" = "$1" ]
}

both_are_whole ()
{
    eventually whole_jobs_are 2
    is_whole a
    is_whole b
    [ "$(job_of a)" != "$(job_of b)" ]
    run "$ROLLCALL" archive ls --root root
    [[ $output != *superseded* ]] || fail "$output"
}

@test "two jobs of one tree at once: each has its own result and roll" {
    local job

    delivered_whole
    job=$(job_of a)
    [[ $job =~ ^20251124T[0-9]{6}Z-[0-9a-f]{8}$ ]] || fail "$job"
    run "$ROLLCALL" query missing "$job" --root root
    expect_status 0
    [ ! -e root/jobs/default ]
    stop_service
}

@test "two jobs, one after the other: the first is left alone" {
    make_job a --seed 1
    service
    run any_agent --once watch
    expect_status 0
    eventually jobs_are 1
    first=$(job_of a)
    make_job b --seed 2 --start 1790000000 --process 2
    run any_agent --once watch
    expect_status 0
    both_are_whole
    is "the first job" "$first" "$(job_of a)"
    is "its builds" 1 "$(builds "$first")"
    stop_service
}

# Else one would pass for a newer version of the other.
@test "two jobs whose captures have the same names in two directories" {
    local i as=() bs=()

    two_jobs
    as=(watch/a/*_ascend_pt) bs=(watch/b/*_ascend_pt)
    for i in 0 1 2 3; do
        mv "${bs[i]}" "watch/b/${as[i]##*/}"
    done
    service
    run any_agent --once --raw watch
    expect_status 0
    eventually jobs_are 2
    run "$ROLLCALL" jobs --root root
    is "jobs of 4 ranks" 2 "$(grep -c ' 4 .* built: 4 of 4 present$' <<<"$output")"
    run "$ROLLCALL" archive ls --root root
    [[ $output != *superseded* ]] || fail "$output"
    run "$ROLLCALL" fsck aggregator root
    stop_service
}

# all_given: whatever came is of some job
all_given ()
{
    [ "$(grep -c event=divided service.log)" -ge "$1" ]
}

@test "two jobs through one service under kill -9: two complete rolls" {
    two_jobs
    service
    any_watching watch
    grows () { [ "$(grep -c event=sealed agent.log)" -ge "$1" ]; }
    eventually grows 2
    kill -KILL "$watcher"
    wait "$watcher" || true
    kill_service                # what came is in no job yet, perhaps
    service
    any_watching watch
    eventually all_given 2
    kill_service                # what was given to a job is not built, perhaps
    service
    both_are_whole
    ends_with 0
    stop_service
    run "$ROLLCALL" fsck aggregator root
    expect_status 0
}

@test "what is given to jobs outlives the ledger" {
    local a b

    delivered_whole
    a=$(job_of a) b=$(job_of b)
    stop_service
    rm -f root/ledger.db*
    run "$ROLLCALL" fsck aggregator --repair root
    expect_status 1
    run "$ROLLCALL" fsck aggregator root
    expect_status 0
    service
    both_are_whole
    is "the first job" "$a" "$(job_of a)"
    is "the second job" "$b" "$(job_of b)"
    stop_service
}

@test "an id that was given is one job, whatever its captures show" {
    two_jobs
    service
    run agent --once watch
    expect_status 0
    eventually jobs_are 1
    [ -e "$DB" ]
    stop_service
}

# Nothing tells of which job rank 1 is: it profiled other steps.
@test "silence joins a capture to a job that ended less than --job-gap ago" {
    "$CAPTURE_MAKER" --quiet --ranks 2 --ops 8 --only-rank 0 watch/a
    service --job-gap 1h
    run any_agent --once watch
    expect_status 0
    eventually jobs_are 1
    "$CAPTURE_MAKER" --quiet --ranks 2 --ops 8 --only-rank 1 --first-step 50 \
        --seed 2 --process 2 --start $((1763978400 + 7200)) watch/b
    run any_agent --once watch
    expect_status 0
    eventually jobs_are 2
    stop_service
    rm -rf root spool           # both at once
    service --job-gap 1h
    run any_agent --once watch
    expect_status 0
    eventually jobs_are 2
    stop_service
    rm -rf root spool
    service --job-gap 3h
    run any_agent --once watch
    expect_status 0
    eventually jobs_are 1
    run "$ROLLCALL" jobs --root root
    [[ $output == *" 2 "*" 2 "*" assumed"*"built: "* ]] || fail "$output"
    stop_service
}

# A new version of a capture is that of its job.
@test "a capture that is analysed again counts in its own job" {
    local one

    delivered_whole
    one=$(find watch/a -name '*_ascend_pt' | sort | head -n 1)
    b=$(job_of b)
    touch "$one"/ASCEND_PROFILER_OUTPUT/*.json
    run any_agent --once watch
    expect_status 0
    eventually jobs_are 2
    is "captures" "complete 4,superseded 1" "$(sql "SELECT
        group_concat(state || ' ' || n) FROM (SELECT state, count(*) AS n FROM
        Capture GROUP BY state ORDER BY state)" "$(db_of "$(job_of a)")")"
    is "builds of the other" 1 "$(builds "$b")"
    stop_service
}

gone_is ()                          # JOB: no result of it is there
{
    [ ! -e "root/jobs/$1/cluster_analysis_output" ]
}

# By whoever serves the root, and without a service.
@test "jobs merge and split say which captures are of one job" {
    local a b new

    delivered_whole
    a=$(job_of a) b=$(job_of b)
    run "$ROLLCALL" jobs --root root merge "$a" "$b"
    expect_status 0
    shows "merged        4 captures into job $a; its result is built again in 2 s"
    eventually jobs_are 1
    is "captures" 8 "$(sql "SELECT count(*) FROM Capture" "$(db_of "$a")")"
    eventually gone_is "$b"
    kill_service                # it stays so
    service
    eventually jobs_are 1
    stop_service
    run "$ROLLCALL" jobs --root root --json split "$a" \
        "$(basename "$(ls -d watch/b/*_ascend_pt | head -n 1)")" rank3
    expect_status 0
    new=$(sed -n 's/.*"job":[^"]*"\([^"]*\)".*/\1/p' <<<"$output")
    [[ $new =~ ^20 && $new != "$a" ]] || fail "$new"
    service
    eventually jobs_are 2
    is "captures" 5 "$(sql "SELECT count(*) FROM Capture" "$(db_of "$a")")"
    is "captures" 3 "$(sql "SELECT count(*) FROM Capture" "$(db_of "$new")")"
    "$ROLLCALL" jobs --root root --json >jobs.json
    is "whose word" "hand 2|hand 3" "$(sqlite3 -separator ' ' -newline '|' \
        :memory: "SELECT json_extract(value, '\$.id'),
            json_extract(value, '\$.by_hand')
            FROM json_each(readfile('jobs.json'), '\$.jobs')
            ORDER BY json_extract(value, '\$.by_hand')" | sed 's/|$//')"
    run "$ROLLCALL" jobs --root root split "$a" nobody
    expect_status 66
    shows "job $a has no capture nobody"
    run "$ROLLCALL" jobs --root root merge "$a" nothing
    expect_status 66
    run "$ROLLCALL" jobs --root root mix "$a" nothing
    expect_status 2
    run agent --once watch/a
    expect_status 0
    run "$ROLLCALL" jobs --root root merge "$a" j
    expect_status 2
    shows "job j got its id from"
    stop_service
}

# Of one name and rank: both are there, and both come back.
@test "archive get: a capture and its copy in another directory" {
    local one

    make_job a
    cp -a watch/a watch/b
    service
    run any_agent --once --raw watch
    expect_status 0
    eventually jobs_are 1
    run "$ROLLCALL" archive get --root root "$(job_of a)" 0 back
    expect_status 0
    one=$(basename "$(ls -d watch/a/*_ascend_pt | head -n 1)")
    [ -e "back/$one/rollcall.shipment" ]
    is "copies" 1 "$(find back -mindepth 2 -maxdepth 2 -name "$one" | wc -l)"
    is "files" "$(find "back/$one" -type f | wc -l)" \
        "$(find back -mindepth 3 -path "*/$one/*" -type f \
            ! -path "back/$one/*" | wc -l)"
    stop_service
}
