#!/usr/bin/env bats
# The test kit itself: it notices what it is there to notice.  What it finds in
# the programs is told by tests/soak/run.

load helper

setup ()
{
    helper=${BATS_TEST_DIRNAME}/../soak/lib.bash
    export ROLLCALL_BUILD=${ROLLCALL_BIN%/bin}
    plain_shell
    cd "$BATS_TEST_TMPDIR"
    # shellcheck source=tests/soak/lib.bash
    . "$helper"
    reach_kit "$PWD"
    no_totals
    SEED_STATE=1
}

teardown ()
{
    [ -z "${service_pid:-}" ] || kill -KILL "$service_pid" 2>/dev/null || true
    [ -z "${agent_pid:-}" ] || kill -KILL "$agent_pid" 2>/dev/null || true
}

# What is loaded with LD_PRELOAD would come before the sanitizer's library.
unless_sanitized ()
{
    ! ldd "$ROLLCALL_BIN/rollcall-agent" | grep -qE 'lib[at]san' ||
        skip "a sanitizer's library has to be the first"
}

oracle_of_two ()
{
    begin_case "$PWD/case"
    captures 2
    oracle
    ref=ref/cluster_analysis_output/analysis.db
    cp "$ref" got.db
}

says ()                             # TEXT: the verdict, which is bad
{
    local text

    text=$(verdict "$ref" got.db) && fail "the verdict is good: $text"
    [[ "$text" == *"$1" ]] || fail "expected $1: $text"
}

@test "the verdict: equal results are good" {
    oracle_of_two
    run verdict "$ref" got.db
    expect_status 0
    shows "captures 2 " ": lost 0, doubled 0"
}

@test "the verdict: a row that is lost, one that is there twice" {
    oracle_of_two
    sqlite3 got.db "DELETE FROM StepTraceTime WHERE rank=1"
    says "lost 1, doubled 0"
    cp "$ref" got.db
    sqlite3 got.db "INSERT INTO CommAnalyzerTime SELECT * FROM CommAnalyzerTime
                    LIMIT 2"
    says "lost 0, doubled 2"
}

@test "the verdict: a value that differs, a NULL, another rank's capture" {
    oracle_of_two
    sqlite3 got.db "UPDATE CommAnalyzerMatrix SET bandwidth=bandwidth+1e-9
                    WHERE rowid=(SELECT min(rowid) FROM CommAnalyzerMatrix)"
    says "lost 1, doubled 1"
    cp "$ref" got.db
    sqlite3 got.db "UPDATE StepTraceTime SET free=NULL WHERE rowid=(SELECT
                    min(rowid) FROM StepTraceTime)"
    says "lost 1, doubled 1"
    cp "$ref" got.db
    sqlite3 got.db "UPDATE StepTraceTime SET capture=(SELECT max(id) FROM
                    Capture) WHERE rowid=(SELECT min(rowid) FROM
                    StepTraceTime)"
    says "lost 1, doubled 1"
}

@test "the verdict: raw files" {
    oracle_of_two
    cp -r job tree
    run verdict "$ref" got.db job tree
    expect_status 0
    echo >>"$(find tree -name '*.csv' | head -n 1)"
    rm "$(find tree -name 'profiler_info*' | head -n 1)"
    touch tree/more
    run verdict "$ref" got.db job tree
    expect_status 1
    shows "lost 2, doubled 1"
}

# Whoever comes second is kept away, also one of another user, or in another
# root directory; the service of the case itself is not.
@test "no two cases have one port" {
    hold () { timeout 10 "$KIT/hold_port" "$PORT" "$PORT"; }
    free () {
        local held
        exec {held}< <(hold 2>&1)
        [ "$(head -n 1 <&"$held")" = "$PORT" ]
        local state=$?
        exec {held}<&-
        return $state
    }
    begin_case "$PWD/case"
    run hold
    expect_status 1
    start_service
    await 30 listens "$PORT"
    run hold
    expect_status 1
    stop_service
    end_case
    await 30 free
}

@test "the recorder sees all that agent and aggregator write" {
    unless_sanitized
    # shellcheck source=tests/soak/power.bash
    . "${helper%/*}/power.bash"
    begin_case "$PWD/case"
    RAW=--raw
    record
    # an opened "." is its directory, not a file of it
    is "files named ." 0 \
        "$(grep -acP '_output/\.rollcall-\w{6}/\.\x00' power.log)"
    # with everything durable nothing can be lost, with nothing all of it can
    run "$KIT/power_replay" power.log "$CASE/disk" 999999999 1 all cut
    expect_status 0
    [ "$output" -gt 0 ] || fail "no ACK was noted"
    run "$KIT/power_replay" power.log "$CASE/disk" 0 1 all nothing
    expect_status 0
    is "files before the first record" 0 "$(find nothing -type f | wc -l)"
}

# Also what is written as a stream; what is not fsynced is found missing.
@test "the recorder sees all files of a result" {
    unless_sanitized
    begin_case "$PWD/case"
    captures 4
    mkdir disk disk/out
    LD_PRELOAD="$KIT/power_recorder.so" POWER_ROOT="$CASE/disk" \
        POWER_LOG="$CASE/power.log" "$ROLLCALL_BIN/rollcall" analyze -q \
        --only text,report.html -o "$CASE/disk/out" job
    mv disk recorded
    "$KIT/power_replay" power.log "$CASE/disk" 999999999 1 none again >/dev/null
    diff -r recorded again || fail "the log misses something" || return
    "$KIT/power_replay" power.log "$CASE/disk" 999999999 1 all cut >/dev/null
    # the lock that is removed at the end may come back: the next build removes it
    rm -f cut/out/cluster_analysis_output/.rollcall.lock
    diff -r recorded cut || fail "something was not made durable"
}

@test "a disk fails where and when it is told to" {
    unless_sanitized
    export DISK_FAULT="write:enospc:1:1:*/there" DISK_FAULT_HITS=$PWD/hits
    run env LD_PRELOAD="$KIT/disk_fault.so" sh -c 'echo x >"$0"' "$PWD/here"
    expect_status 0
    run env LD_PRELOAD="$KIT/disk_fault.so" "$KIT/flip_byte" here 0
    expect_status 0
    run env LD_PRELOAD="$KIT/disk_fault.so" dd if=here of=there status=none
    [ "$status" -ne 0 ]
    shows "No space left on device"
    is "what failed" "write $PWD/there" "$(cat hits)"
}

@test "the proxy breaks the connection at every ACK, and all arrives" {
    # shellcheck source=tests/soak/proxy.bash
    . "${helper%/*}/proxy.bash"
    WORK=$PWD
    begin_case "$PWD/case"
    one_case acks after rst
    end_case
    is "connections broken" 14 "$(cat "$WORK"/breaks.*)"
}
