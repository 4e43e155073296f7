#!/usr/bin/env bats
# A rank that comes late: the service uses the rows of the result again, and the
# result is the same as one that was built of everything

load service_helper

rows_of ()                          # RESULT: the SHA-256 of its rows
{
    "$ROLLCALL" fsck result "$1" | sed -n 's/.*: in order; rows //p'
}

# all_but_one: job/ without the capture of its rank 7, which is in late/
all_but_one ()
{
    make --ranks 16 --steps 2 --ops 20
    mkdir late
    mv "$(find job -name '*_ascend_pt' | sort | sed -n 8p)" late/
}

built_again ()                      # N: how many builds there were at least
{
    [ "$(builds)" -ge "$1" ]
}

@test "a late rank: only its rows are written" {
    all_but_one
    service --only analysis.db
    run agent --once job
    expect_status 0
    eventually captures_are 15
    run agent --once late
    expect_status 0
    eventually captures_are 16
    eventually built_again 2
    [ "$(grep -c 'event=built .* reused=15 ' service.log)" = 1 ] ||
        fail "$(cat service.log)"
    stop_service
    "$ROLLCALL" build --root root -o new j >/dev/null
    is "rows" "$(rows_of new)" "$(rows_of root/jobs/j)"
    run "$ROLLCALL" fsck aggregator root        # the ledger has their SHA-256
    expect_status 0
}

@test "a late rank: kill -9 leaves the former result or the new one" {
    local i before after now

    all_but_one
    service --only analysis.db
    run agent --once job
    expect_status 0
    eventually captures_are 15
    stop_service
    cp -r root/jobs/j former            # with its build_state
    service --only analysis.db
    run agent --once late
    expect_status 0
    eventually captures_are 16
    stop_service
    before=$(rows_of former) after=$(rows_of root/jobs/j)
    [ "$before" != "$after" ]
    for i in 1 2 3 4 5 6 7 8 9 10 11 12; do
        rm -rf root/jobs/j
        cp -r former root/jobs/j
        timeout -s KILL "0.0$((i * 5 + 10))" "$ROLLCALL" build --root root \
            --only analysis.db j >/dev/null 2>&1 || true
        now=$(rows_of root/jobs/j)
        [ "$now" = "$before" ] || [ "$now" = "$after" ] || fail "$now"
    done
    "$ROLLCALL" build --root root --only analysis.db j >/dev/null
    is "rows" "$after" "$(rows_of root/jobs/j)"
    is "temporary files" "analysis.db" \
        "$(ls -A root/jobs/j/cluster_analysis_output)"
}
