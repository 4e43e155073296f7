#!/usr/bin/env bats
# rollcall compare: in what two runs differ by more than noise

load helper

# a_run NAME STEPS [OPTION]...: so many steps of a job of 8 ranks
a_run ()
{
    local name=$1 steps=$2

    shift 2
    "$CAPTURE_MAKER" --quiet --ranks 8 --ops 16 --steps 16 "$@" "$name.job"
    run "$ROLLCALL" analyze -q -s "$steps" -o "$name" "$name.job"
    rm -rf "$name.job"
}

compare ()
{
    run "$ROLLCALL" compare "$@"
}

# verdict METRIC: of a.json
verdict ()
{
    sqlite3 -batch :memory: "SELECT value ->> 'verdict' FROM
        json_each(readfile('a.json'), '\$.metrics')
        WHERE value ->> 'metric' = '$1'"
}

@test "other steps of the same job are the same" {
    a_run a 10-17
    a_run b 18-25
    compare a b
    expect_status 0
    shows "nothing by more than noise" \
        "8 of 8 ranks present, 8 steps (10 to 17)"
    "$ROLLCALL" compare --json a b >a.json
    is "strict JSON" 1 "$(sqlite3 -batch :memory: \
        "SELECT json_valid(readfile('a.json'))")"
    is "step time" same "$(verdict "step time")"
}

@test "a slow rank and a slow link are told from the job" {
    a_run a 10-17
    a_run b 18-25 --slow-rank 5 --slow-link 2-3
    compare a b
    expect_status 1
    shows "single ranks" "computing of rank 5" "bandwidth: HCCS of rank 2"
    "$ROLLCALL" compare --json a b >a.json || [ $? -eq 1 ]
    is "computing of all ranks" "within noise" "$(verdict computing)"
    is "ranks that compute otherwise" 5 "$(sqlite3 -batch :memory: "SELECT
        group_concat(r.value ->> 'rank') FROM
        json_each(readfile('a.json'), '\$.metrics') m,
        json_each(m.value, '\$.farthest_ranks') r
        WHERE m.value ->> 'metric' = 'computing'")"
}

# All steps of B compute twice as long, with hardly any noise.
slower ()
{
    a_run a 10-17
    cp -r a b
    for run in a b; do
        sql "UPDATE StepTraceTime SET computing = 1000 + rank + step" \
            "$run/cluster_analysis_output/analysis.db"
    done
    sql "UPDATE StepTraceTime SET computing = computing * 2" \
        b/cluster_analysis_output/analysis.db
}

@test "which run is worse depends on which is the first" {
    slower
    compare a b
    expect_status 1
    shows "computing +100.0 %"
    "$ROLLCALL" compare --json a b >a.json || [ $? -eq 1 ]
    is "B after A" WORSE "$(verdict computing)"
    "$ROLLCALL" compare --json b a >a.json || [ $? -eq 1 ]
    is "A after B" better "$(verdict computing)"
    # twice as long is not more than a floor of 200 %
    "$ROLLCALL" compare --floor 200 --json a b >a.json || true
    is "below the floor" same "$(verdict computing)"
}

@test "too few steps are told, and are no success" {
    a_run a 10,11
    a_run b 12,13
    compare a b
    expect_status 65
    shows "too few steps" "differ        it cannot be told"
    run "$ROLLCALL" compare --width 60 a b
    expect_status 65
    shows "too few steps to tell noise from difference: 3 in each run"
    ! grep "^too few.*better" <<<"$output" || fail "wider than a terminal"
    [[ "$output" != *"nothing"* ]] || fail "nothing is told: $output"
}

# A rank has seven links: the median of its bandwidths hides one of them.
@test "runs that differ by one slow link differ by that link" {
    a_run a 10-17
    cp -r a b
    sql "UPDATE Link SET transit_time = 4 * transit_time, bandwidth =
         bandwidth / 4 WHERE src_rank = 6 AND dst_rank = 1" \
        b/cluster_analysis_output/analysis.db
    compare a b
    expect_status 1
    shows "differ        single ranks or links only" \
        "links: HCCS of link 6 -> 1"
    is "the row" "links: HCCS GB/s link 6 -> 1 -75.0" \
        "$(sed -n 's/^\(links: HCCS *GB.s\) *\(link.*\)/\1 \2/p' \
            <<<"$output" | tr -s ' ' | cut -d ' ' -f 1-7,10)"
    "$ROLLCALL" compare --json a b >a.json || [ $? -eq 1 ]
    is "the link" "6 1" "$(sqlite3 -batch -separator ' ' :memory: "SELECT
        r.value ->> 'src_rank', r.value ->> 'dst_rank' FROM
        json_each(readfile('a.json'), '\$.metrics') m,
        json_each(m.value, '\$.farthest_links') r
        WHERE m.value ->> 'metric' = 'links: HCCS'")"
}

# "same" would be read as no difference at all.
@test "what is large and within noise is not called the same" {
    a_run a 10-17
    cp -r a b
    sql "UPDATE StepTraceTime SET computing = computing * 1.275" \
        b/cluster_analysis_output/analysis.db
    compare a b
    expect_status 0
    is "the row" "computing ms 27.5 within noise" "$(grep "^computing" \
        <<<"$output" | tr -s ' ' | cut -d ' ' -f 1,2,5,7-)"
    is "what did not change" "same" "$(sed -n 's/^free .*  //p' \
        <<<"$output")"
    "$ROLLCALL" compare --json a b >a.json
    is "the same in JSON" "within noise" "$(verdict computing)"
}

@test "ranks that one run lacks, other worlds, other settings" {
    a_run a 10-17
    a_run b 10-17 --skip-ranks 3
    compare a b
    expect_status 1
    shows "only in A   3" "7 in both" \
        "in their ranks; else nothing by more than noise"
    cp -r a c
    sql "UPDATE CaptureInfo SET value = '7' WHERE
         name = 'ASCEND_GLOBAL_LOG_LEVEL' AND rank < 4" \
        c/cluster_analysis_output/analysis.db
    compare a c
    expect_status 0
    shows "settings that differ" "ASCEND_GLOBAL_LOG_LEVEL"
    is "the row" "environment ASCEND_GLOBAL_LOG_LEVEL 3 7 4" \
        "$(grep ASCEND_GLOBAL <<<"$output" | tr -s ' ')"
}

# "too few steps" sent people to record more of them.
@test "runs without times of steps, or a rank in both, or of an older version" {
    a_run a 10,11
    cp -r a b
    sql "DELETE FROM StepTraceTime" b/cluster_analysis_output/analysis.db
    compare a b
    expect_status 1
    shows "B has no times of steps (table StepTraceTime)"
    compare b b
    expect_status 2
    shows "b and b are the same file"
    cp -r b c
    compare b c
    rm -r c
    expect_status 65
    shows "A has no times of steps" "B has no times of steps"
    [[ "$output" != *"are needed"* ]]
    cp -r a c
    sql "UPDATE Roster SET state = 'missing' WHERE rank < 4" \
        a/cluster_analysis_output/analysis.db
    sql "UPDATE Roster SET state = 'missing' WHERE rank >= 4" \
        c/cluster_analysis_output/analysis.db
    compare a c
    expect_status 1
    shows "the runs have no rank in common"
    [[ "$output" != *"are needed"* ]]
}

@test "two results it must be" {
    a_run a 10-17
    compare a
    expect_status 2
    compare a nowhere
    expect_status 66
    echo "this is a text, not a database" >text
    compare a text
    expect_status 65
}
