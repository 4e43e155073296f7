#!/usr/bin/env bats
# tests/system/roll.bats - is each rank the one that it says it is

load helper

# the rows are those of the ranks that the captures are of
rows_are_true ()
{
    is "rows" "$(sql "SELECT group_concat(rank || ' ' || step || ' ' ||
            round(computing, 3), ',') FROM (SELECT * FROM StepTraceTime
            ORDER BY rank, step)" truth.db)" \
        "$(sql "SELECT group_concat(rank || ' ' || step || ' ' ||
            round(computing, 3), ',') FROM (SELECT * FROM StepTraceTime
            ORDER BY rank, step)")"
}

verified ()
{
    sql "SELECT group_concat(verified, '') FROM Roster"
}

@test "every rank of a healthy job is confirmed by its ops" {
    for options in "" "--form db" "--form event_db" "--form timeline" \
                   "--repeat 2" "--layout renamed" "--ids root"; do
        # shellcheck disable=SC2086         # words
        make $options
        analyze
        expect_status 0
        is "verified with $options" 1111 "$(verified)"
    done
}

@test "where nothing can be checked nothing is said" {
    for options in "--level 0" "--form kernels" "--form kineto" \
                   "--no-groups" "--no-metadata --form event_db"; do
        # shellcheck disable=SC2086         # words
        make $options
        analyze
        expect_status "$([ "$options" = "--form kernels" ] && echo 1 || echo 0)"
        is "verified with $options" 0000 "$(verified)"
        ! grep -E "doubt|exchanged|filed under" <<< "$output" ||
            fail "with $options: $output"
    done
}

@test "two ranks with exchanged files are filed where their ops are" {
    for options in "--swap 1-2:outputs" "--swap 1-2:info" \
                   "--swap 0-3:outputs --form db" \
                   "--swap 2-3:outputs --repeat 2"; do
        # shellcheck disable=SC2086         # words
        make $options
        analyze
        expect_status 1
        shows "4 of 4 present" "filed under rank" "exchanged?"
        is "verified with $options" 1111 "$(verified)"
        rows_are_true
    done
}

@test "a capture that says another's rank is filed under its own" {
    make --claim-rank 2:3
    analyze
    expect_status 1
    shows "4 of 4 present" "filed under rank 2"
    rows_are_true
    make --claim-rank 2:5 --skip-ranks 3
    analyze
    expect_status 1
    shows "3 of 4 present" "filed under rank 2" "missing     3"
}

@test "ranks of hosts are renumbered, and nobody has to look" {
    for options in "" "--form db" "--level 0"; do
        # shellcheck disable=SC2086         # words
        make --ranks 8 --ranks-per-host 4 --local-ranks $options
        analyze
        expect_status 0
        shows "8 of 8 present" "4 captures, e.g." "ranks within hosts of 4"
        rows_are_true
    done
}

@test "names that differ where no op decides: the rank is in doubt" {
    make --level 0 --swap 1-2:info
    analyze
    expect_status 1
    shows "2 of 4 present" "partial     1, 2" "in doubt"
    is "verified" 0000 "$(verified)"
}

@test "rows of a rank in doubt are in the tables, and tell nothing" {
    make --ranks 8 --steps 4 --slow-rank 2 --level 0 --swap 2-5:info
    analyze
    expect_status 1
    shows "6 of 8 present" "partial     2, 5"
    is "rows" 32 "$(sql "SELECT count(*) FROM StepTraceTime")"
    is "ranks in doubt" 2,5 "$(sql "SELECT group_concat(rank) FROM
        (SELECT rank FROM LeftOut ORDER BY rank)")"
    is "ranks in means" 6 "$(sql "SELECT max(ranks) FROM StepTrend")"
    ! grep "slowest rank  [25]" <<< "$output" || fail "$output"
    is "blamed" 0 "$(sql "SELECT count(*) FROM Finding WHERE rank IN (2, 5)
        AND kind<>'missing_ranks'")"
    run "$ROLLCALL" findings out
    [[ "$output" != *"Rank 2"* && "$output" != *"Rank 5"* ]] || fail "$output"
}

@test "captures of no rank are nobody's: rows without one, exit 1" {
    make --form kineto --no-rank --ranks 2
    analyze
    expect_status 1
    shows "no rank: node0_" "it has no rank"
    is "states" unexpected,unexpected "$(sql "SELECT group_concat(state)
        FROM Capture WHERE rank IS NULL")"
    is "roster" 0 "$(sql "SELECT count(*) FROM Roster")"
    is "their rows" 4,0 "$(sql "SELECT count(*), count(rank) FROM
        StepTraceTime" | tr '|' ,)"
}

@test "traces of one process are of one rank" {
    make --form kineto --no-rank --ranks 1 --repeat 3
    analyze
    expect_status 0
    shows "1 of 1 present" "of one process" "steps         6: 10 to 15"
    is "rows" 6 "$(sql "SELECT count(*) FROM StepTraceTime WHERE rank=0")"
    # a copy of one, and then what is none: two hosts with a process of that
    # number, at one time
    make --form kineto --no-rank --ranks 1
    mkdir job/other
    cp job/*.json job/other
    analyze
    expect_status 0
    shows "1 of 1 present"
    for trace in job/other/*.json; do
        mv "$trace" job/other/node0_20003.1763978400000000000.pt.trace.json
    done
    analyze
    expect_status 1
    is "their rows" 4,0 "$(sql "SELECT count(*), count(rank) FROM
        StepTraceTime" | tr '|' ,)"
}

@test "a rank without a step is partial, and query missing names the step" {
    make --steps 6 --drop-step 2:13
    analyze
    expect_status 1
    shows "3 of 4 present" "partial     2" "step 13 is not in it"
    run "$ROLLCALL" query missing out
    [[ "$output" == *2*partial*"step 13 is not in it"* ]] || fail "$output"
    # nobody has what was not asked for
    analyze --steps 10-12
    expect_status 0
    # all lack it
    make --steps 6 --drop-step 0:13 --drop-step 1:13 --drop-step 2:13 \
        --drop-step 3:13
    analyze
    expect_status 0
}

@test "ranks with other windows are all present, which a note says" {
    make --steps 6 --window 3:40-42
    analyze
    expect_status 0
    shows "4 of 4 present" "its steps (40 to 42) are not"
}

@test "a step that profiling made longer is out of means, and said in one line" {
    make --steps 8 --warmup 0 --inflate-edge first --steady
    analyze
    expect_status 0
    shows "step 10 of 4 captures: profiling itself" "steps         8: 10 to 17"
    is "steps in means" 7 "$(sql "SELECT count(*) FROM StepTrend")"
    is "findings" 0 "$(sql "SELECT count(*) FROM Finding WHERE kind IN
        ('late_steps', 'late_step')")"
    analyze --all-steps
    expect_status 0
    ! grep "profiling itself" <<< "$output" || fail "$output"
    is "steps in means" 8 "$(sql "SELECT count(*) FROM StepTrend")"
    is "edges" 4 "$(sql "SELECT count(*) FROM StepExtra WHERE
        profiler_edge=1")"
}
