#!/usr/bin/env bats
# rollcall jobs, show, trend, archive tag and pin: the jobs of one service over
# some weeks, and how they are found again

load service_helper

json ()                             # PATH of a member in the file json
{
    sqlite3 -batch :memory: "SELECT json_extract(readfile('json'), '$1')"
}

# job_at NAME DAY [OPTION]...: of 8 ranks, delivered and built
job_at ()
{
    local name=$1 start=$((1790000000 + $2 * 86400))

    shift 2
    "$CAPTURE_MAKER" --quiet --ranks 8 --ops 8 --steady --start "$start" "$@" \
        "$name.captures"
    run agent --once --job "$name" "$name.captures"
    expect_status 0
    built () { [ "$(builds "$name")" -ge 1 ]; }
    eventually built
}

# four_jobs: rank 3 is slow in two of them
four_jobs ()
{
    export ROLLCALL_ROOT=$TEST_DIR/root ROLLCALL_STATE_DIR=$TEST_DIR/state
    service
    job_at one 0 --seed 1
    job_at two 8 --seed 2 --slow-rank 3
    job_at three 15 --seed 3 --slow-rank 3
    job_at four 16 --seed 4
}

jobs_of ()                          # [OPTION]...: their names in a line
{
    "$ROLLCALL" jobs "$@" | sed -n '2,$s/ .*//p' | grep -v '^(no' |
        tr '\n' ' '
}

# not_into_theirs: root writes nothing into another user's directory
not_into_theirs ()
{
    touch theirs/file
    ln -s file theirs/link
    chown -hR 65534 theirs
    run "$ROLLCALL" trend --html theirs/link
    expect_status 77
    is "the user's file" "" "$(cat theirs/file)"
    [ -L theirs/link ] || fail "the user's link was replaced"
    run "$ROLLCALL" trend --html theirs/link --foreign-output
    expect_status 0
    shows "written       theirs/link: 1 job"
}

@test "jobs of weeks: marked, chosen, shown, compared" {
    local report

    four_jobs
    run "$ROLLCALL" archive tag two night gpt3
    expect_status 0
    shows "job two: tags night gpt3; not pinned"
    run "$ROLLCALL" archive pin two
    shows "job two: tags night gpt3; pinned"
    run "$ROLLCALL" archive tag four night
    # a mark builds nothing again
    is "builds of two" 1 "$(builds two)"

    is "all" "four one three two " "$(jobs_of)"
    is "with a tag" "four two " "$(jobs_of --tag night)"
    is "of a user" "four one three two " "$(jobs_of --user "$(id -un)")"
    is "of nobody" "" "$(jobs_of --user nobody-else)"
    is "where" "two " "$(jobs_of --where "pinned AND present = 8")"
    is "late" "four three " "$(jobs_of --where "began > '2026-10'")"
    # old ones that have come since
    is "come" "four one three two " "$(jobs_of --since 2h)"
    run "$ROLLCALL" jobs --user nobody-else
    shows "(no rows: none of 4 jobs matches)"
    is "with more findings" "three two " "$(jobs_of --where "findings > 1")"
    is "of a host" "four one three two " "$(jobs_of --host node0)"

    run "$ROLLCALL" show two
    expect_status 0
    shows "night, since" "pinned" "8 of 8 present" "slow" "node0 (8 ranks)" \
        "GB/s" "report.html"
    "$ROLLCALL" show two --json >json
    is "tags" night "$(json '$.tags[0]')"
    is "present" 8 "$(json '$.roll.present')"
    report=$(json '$.report')
    [ -s "$report" ] || fail "no report: $report"

    run "$ROLLCALL" trend
    expect_status 0
    shows "4 jobs, 4 with steps, of 1 user" "2026-09-21" "slow_rank" \
        "node0 device 3"
    "$ROLLCALL" trend --json >json
    is "the last week" 2026-10-05 "$(json '$.rows[2].key')"
    is "slow again" 2 "$(json '$.slow_again[0].jobs')"
    "$ROLLCALL" trend --by tag --json >json
    is "by tag" night "$(json '$.rows[#-1].key')"
    run "$ROLLCALL" trend --html trend.html
    expect_status 0
    grep -q 'href="root/jobs/two/cluster_analysis_output/report.html"' \
        trend.html || fail "no link to a report"
    run grep -c '<script' trend.html
    is "scripts" 0 "$output"

    # the marks are in the segments, too
    stop_service
    rm root/ledger.db*
    run "$ROLLCALL" fsck aggregator root --repair
    is "with a tag, after a repair" "four two " "$(jobs_of --tag night)"
    is "where, after a repair" "two " "$(jobs_of --where pinned)"
    run "$ROLLCALL" archive untag two night
    shows "job two: tags gpt3; pinned"
    is "with a tag" "four " "$(jobs_of --tag night)"
}

@test "a catalogue that is damaged, gone, locked or of others" {
    local all i

    four_jobs
    stop_service
    all=$("$ROLLCALL" jobs)
    for i in 1 2 3; do
        case $i in
        1) printf 'noise' >root/catalogue.db ;;
        2) rm root/catalogue.db ;;
        3) head -c 6000 /dev/urandom |
               dd of=root/catalogue.db bs=1 seek=2000 conv=notrunc \
                   status=none ;;
        esac
        is "the list, damaged in way $i" "$all" "$("$ROLLCALL" jobs 2>&1)"
        is "the list, again" "$all" "$("$ROLLCALL" jobs 2>&1)"
    done
    # two at once
    rm root/catalogue.db
    "$ROLLCALL" jobs >first 2>&1 3>&- &
    is "the second of two" "$all" "$("$ROLLCALL" jobs 2>&1)"
    wait $!
    is "the first of two" "$all" "$(cat first)"
    # a result that was removed
    rm -r root/jobs/two
    run "$ROLLCALL" jobs
    [ "$(grep -c ' built: 8 of 8' <<<"$output")" = 3 ] || fail "$output"
    run "$ROLLCALL" show two
    expect_status 0
    shows "result        none"
    [ "$(id -u)" = 0 ] || return 0
    # on a disk that cannot be written to
    rm root/catalogue.db
    if unshare -m true 2>/dev/null; then
        run unshare -m sh -c "mount --bind root root &&
            mount -o remount,ro,bind root && '$ROLLCALL' jobs"
        expect_status 0
        shows "one " "built: 8 of 8"
        [ ! -e root/catalogue.db ] || fail "it was written"
    fi
    chown -R 1:1 root
    "$ROLLCALL" jobs >/dev/null
    [ ! -e root/catalogue.db ] || fail "root wrote into the root of another"
}

@test "wrong filters, tags and jobs are refused with what is allowed" {
    export ROLLCALL_ROOT=$TEST_DIR/root ROLLCALL_STATE_DIR=$TEST_DIR/state
    service
    job_at one 0
    run "$ROLLCALL" jobs --where "speed > 1"
    expect_status 2
    shows "no such column: speed" "step_ms"
    run "$ROLLCALL" jobs --where "1; DROP TABLE job_row"
    expect_status 2
    run "$ROLLCALL" jobs --where "job = (SELECT 1)"
    expect_status 2
    shows "SELECT"
    run "$ROLLCALL" jobs --since yesterday
    expect_status 2
    shows "2026-11-01"
    run "$ROLLCALL" trend --by color
    expect_status 2
    run "$ROLLCALL" trend x
    expect_status 2
    run "$ROLLCALL" archive tag one "a b"
    expect_status 2
    shows "a tag has 1 to 64 bytes"
    run "$ROLLCALL" archive tag one "$(printf '%0300d' 1)"
    expect_status 2
    run "$ROLLCALL" archive tag one $'a\tb'
    expect_status 2
    run "$ROLLCALL" archive tag none x
    expect_status 66
    run "$ROLLCALL" archive untag one x
    expect_status 66
    shows "has no tag x"
    run "$ROLLCALL" show none
    expect_status 66
    run "$ROLLCALL" show
    expect_status 2
    stop_service
    run "$ROLLCALL" trend --html missing/dir/t.html
    expect_status 73
    shows "cannot write missing/dir/t.html: there is no directory missing/dir"
    mkdir theirs
    run "$ROLLCALL" trend --html theirs
    expect_status 2
    shows "theirs is a directory: give --html a file"
    [ "$(id -u)" != 0 ] || not_into_theirs
}
