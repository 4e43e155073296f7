#!/usr/bin/env bats
# rollcall fsck result: results that are equal, and one that is damaged

load service_helper

rows_of ()                          # RESULT: the SHA-256 of its rows
{
    "$ROLLCALL" fsck result "$1" | sed -n 's/.*: in order; rows //p'
}

@test "a result is the same for any number of threads" {
    local n one

    make --ranks 7 --steps 3 --extras
    "$ROLLCALL" analyze -q -j 1 -o one job
    one=$(rows_of one)
    is "digits" 64 "${#one}"
    for n in 2 5; do
        "$ROLLCALL" analyze -q -j $n -o other job
        is "rows of $n threads" "$one" "$(rows_of other)"
    done
    # another job is another result
    "$CAPTURE_MAKER" --quiet --ranks 7 --steps 3 --extras --seed 9 other.job
    "$ROLLCALL" analyze -q -o other other.job
    [ "$one" != "$(rows_of other)" ]
}

# The first rank takes longest, and calls its groups by later names; others come
# first with theirs, and one has none.
@test "a result is the same whatever each rank calls its groups" {
    local n one

    make --ranks 8 --steps 1 --ops 4000 --only-rank 0
    "$CAPTURE_MAKER" --quiet --ranks 8 --steps 1 --ops 8 --skip-ranks 0 job
    sed -i 's/"group_name": *"/&z/g' "$(capture_of 0)/profiler_metadata.json"
    sed -i 's/"group_name": *"[^"]*"/"group_name": ""/g' \
        "$(capture_of 5)/profiler_metadata.json"
    "$ROLLCALL" analyze -q -j 1 -o one job
    one=$(rows_of one)
    is "names that are not the least" 0 "$(sqlite3 \
        one/cluster_analysis_output/analysis.db "SELECT count(*) FROM CommGroup
        WHERE pg_name='' OR (pg_name LIKE 'z%' AND size > 1)")"
    for n in 4 2 4 8 4; do
        "$ROLLCALL" analyze -q -j $n -o other job
        is "rows of $n threads" "$one" "$(rows_of other)"
    done
    one_job
    "$ROLLCALL" archive add --no-raw --root root --job j job >added
    "$ROLLCALL" build --root root -j 1 -o one j >/dev/null
    for n in 4 8 4; do
        "$ROLLCALL" build --root root -j $n -o other j >/dev/null
        is "rows of $n threads" "$(rows_of one)" "$(rows_of other)"
    done
}

@test "a result of the archive is that of the service" {
    local n

    make --ranks 5
    service
    run agent --once job
    expect_status 0
    noted () { "$ROLLCALL" jobs --root root | grep -q ' built: '; }
    eventually noted
    stop_service
    for n in 1 3; do
        "$ROLLCALL" build --root root -j $n -o "out$n" j >/dev/null
        is "rows of $n threads" "$(rows_of root/jobs/j)" "$(rows_of "out$n")"
    done
}

@test "a damaged result is named, and a file that is none" {
    make --ranks 2
    "$ROLLCALL" analyze -q -o out job
    run "$ROLLCALL" fsck --json result out
    expect_status 0
    shows '"rows":'
    # the number of cells of a page in the middle
    printf 'Z' | dd of="$DB" bs=1 conv=notrunc status=none \
        seek=$((16384 * ($(stat -c %s "$DB") / 32768) + 3))
    run "$ROLLCALL" fsck result out
    expect_status 1
    shows "analysis.db is damaged: page"
    run "$ROLLCALL" fsck --json result out
    expect_status 1
    shows '"fault":'
    run "$ROLLCALL" fsck result nowhere
    expect_status 66
    run "$ROLLCALL" fsck result out out
    expect_status 2
    shows 'unexpected argument "out"'
}
