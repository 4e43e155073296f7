#!/usr/bin/env bats
# Captures of several jobs in one directory, as their users meet them: listed,
# chosen, built, and named by the result of each.

load helper

NOW=1763978400                      # when the newer job begins

# two_jobs: of 4 ranks, a day apart, in job/
two_jobs ()
{
    local day

    for day in 0 1; do
        "$CAPTURE_MAKER" --quiet --ranks 4 --ops 8 --steps 3 --seed "1$day" \
            --pid "${day}2000" --start "$((NOW - 86400 * day)).000" job
    done
    "$ROLLCALL" analyze --list-jobs --json job >jobs.json
    NEW=$(name_of 0)
    OLD=$(name_of 1)
}

name_of ()                          # INDEX, from 0
{
    sqlite3 :memory: "SELECT json_extract(readfile('jobs.json'),
        '\$.jobs[$1].job')"
}

@test "--list-jobs lists the jobs, and writes nothing" {
    mkdir job
    two_jobs
    fingerprint job >before
    run "$ROLLCALL" analyze --text --list-jobs job
    expect_status 0
    shows "2 jobs here" "  1: $NEW, 4 ranks, " "  2: $OLD, 4 ranks, " \
        "--job 2 -o DIR builds it" "    another job: "
    is "lines" 4 "$(wc -l <<<"$output")"
    fingerprint job | cmp before -
    is "members" "2|0|4|1" "$(sqlite3 :memory: "
        WITH j(x) AS (SELECT readfile('jobs.json'))
        SELECT json_array_length(x, '\$.jobs'),
            json_extract(x, '\$.jobs[0].built'),
            json_extract(x, '\$.jobs[1].ranks'),
            json_extract(x, '\$.jobs[1].why') <> '' FROM j")"
    # it is the list that analyze gives
    analyze
    shows "2 jobs here; built the newest: $NEW" "not built   2: $OLD, 4 ranks"
}

@test "--list-jobs of one job, of none, and with options that build" {
    make
    fingerprint job >before
    run "$ROLLCALL" analyze --text --list-jobs job
    expect_status 0
    shows "1 job here" ", 4 ranks, "
    [[ "$output" != *"builds it"* ]] || fail "$output"
    fingerprint job | cmp before -
    mkdir nothing
    run "$ROLLCALL" analyze --list-jobs nothing
    expect_status 66
    for option in --all-jobs "--job 1" "-o out"; do
        # shellcheck disable=SC2086
        run "$ROLLCALL" analyze --list-jobs $option job
        expect_status 2
        shows "--list-jobs builds nothing"
    done
    [ ! -e out ]
}

# Whoever opens the result later knows nothing of what analyze printed.
@test "a result says that other jobs lay beside it" {
    two_jobs
    analyze
    expect_status 0
    is "note" 1 "$(sql "SELECT value LIKE '1 of 2 jobs of job; the other: ' ||
        '$OLD, 4 ranks, 2025-11-23 %' FROM Job WHERE key='other_jobs'")"
    run "$ROLLCALL" query steps out
    expect_status 0
    shows "note: 1 of 2 jobs of job; the other: $OLD"
    "$ROLLCALL" query --csv steps out 2>words >steps.csv
    [ ! -s words ] || fail "$(cat words)"
    grep -q "1 of 2 jobs of job; the other: $OLD" \
        out/cluster_analysis_output/report.html
    "$ROLLCALL" analyze --json -o out --job 2 job >summary.json
    is "note" 1 "$(sqlite3 :memory: "SELECT json_extract(
        readfile('summary.json'), '\$.other_jobs') LIKE
        '1 of 2 jobs of job; the other: $NEW,%'")"
    rm -r out job
    make
    analyze
    is "no other jobs" 0 "$(sql "SELECT count(*) FROM Job
                                 WHERE key='other_jobs'")"
    "$ROLLCALL" query steps out 2>words
    [ ! -s words ] || fail "$(cat words)"
}

@test "where several results are, the verbs name them" {
    two_jobs
    analyze --all-jobs
    expect_status 0
    for verb in findings report "query missing"; do
        # shellcheck disable=SC2086
        run "$ROLLCALL" $verb out
        expect_status 66
        shows "several results are here" "  rollcall $verb out/$NEW" \
            "  rollcall $verb out/$OLD"
    done
    run "$ROLLCALL" compare out out
    expect_status 66
    shows "several results are here" "  rollcall compare ... out/$OLD"
    rm -r "out/$OLD"
    run "$ROLLCALL" findings out
    expect_status 66
    shows "the result is in a directory of its job" "findings out/$NEW"
}

@test "a name that several jobs have, or none, and those that there are" {
    two_jobs
    run "$ROLLCALL" analyze --job 2025 -o out job
    expect_status 2
    shows "2 jobs begin with \"2025\": 1: $NEW, 2: $OLD"
    run "$ROLLCALL" analyze --job nobody -o out job
    expect_status 2
    shows "no job is \"nobody\"; there are 1: $NEW, 2: $OLD"
    [ ! -e out ]
}
