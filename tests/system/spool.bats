#!/usr/bin/env bats
# The agent's spool: what travels, and what happens to what is damaged

load service_helper

# Seal what is in job/, with nobody there to deliver it to.
seal ()
{
    choose_port
    : >agent.log                # a former one's lines do not count
    "$AGENT" --state "$TEST_DIR/spool" --job j --quiet-period 0.1s \
        --aggregator "tcp://127.0.0.1:$PORT" "$@" job >agent.log 2>&1 3>&- &
    local watcher=$!

    all_sealed () { [ "$(grep -c event=sealed agent.log)" -ge 4 ]; }
    eventually all_sealed
    kill "$watcher"
    wait "$watcher" || true
}

stop_service ()
{
    kill "$service"
    wait "$service" || fail "the service ended with $?: $(cat service.log)"
    nothing_runs
}

shipment () { echo spool/spool-j/items/0/"$1"-0; }

# flip FILE OFFSET: another byte there
flip ()
{
    printf 'Z' | dd of="$1" bs=1 seek="$2" conv=notrunc 2>/dev/null
}

@test "fsck: a spool that is whole, one that is none, one that is in use" {
    make
    seal
    run "$ROLLCALL" fsck agent spool/spool-j
    expect_status 0
    shows "0 faults"
    run "$ROLLCALL" fsck agent job
    expect_status 66
    run "$ROLLCALL" fsck agent spool
    expect_status 66
    shows "spool/spool-j is one"
    run "$ROLLCALL" fsck agent
    expect_status 2
    run "$ROLLCALL" fsck agnt spool
    expect_status 2
    shows "agnt: use agent, aggregator or result"
    run flock spool/spool-j/lock "$ROLLCALL" fsck agent spool/spool-j
    expect_status 75
}

@test "a damaged shipment is set aside, and its capture is sent all the same" {
    make
    seal
    flip "$(shipment 2)" 100
    run "$ROLLCALL" fsck --json agent spool/spool-j
    expect_status 1
    shows "items/0/2-0" "differs from what was sealed"
    service
    run agent --once job            # finds it without fsck
    expect_status 0
    eventually captures_are 4
    truth_and_more
    ls spool/spool-j/quarantine/*.reason
    stop_service
}

@test "fsck --repair: what is missing is read again" {
    make
    seal
    rm "$(shipment 1)"
    run "$ROLLCALL" fsck --repair agent spool/spool-j
    expect_status 1
    shows "missing" "sealed again"
    run "$ROLLCALL" fsck agent spool/spool-j
    expect_status 0
    service
    run agent --once job
    expect_status 0
    eventually captures_are 4
    truth_and_more
    stop_service
}

@test "a ledger that is garbage is set aside: everything is read again" {
    make
    seal
    head -c 8192 /dev/urandom >spool/spool-j/ledger.db
    service
    run agent --once job
    expect_status 0
    shows "event=ledger-damaged"
    eventually captures_are 4
    truth_and_more
    stop_service
}

# damage_page NAME: the first byte of this table or index of the ledger
damage_page ()
{
    flip spool/spool-j/ledger.db "$(sqlite3 spool/spool-j/ledger.db "
        PRAGMA wal_checkpoint(TRUNCATE);
        SELECT (rootpage - 1) * page_size FROM sqlite_schema, pragma_page_size
            WHERE name='$1'" | tail -n 1)"
}

# Else it would go on for ever with a ledger that takes nothing: "said" is met
# at the start, the others by the first capture.  With "item", "tally" and
# "item_durable" it does not get so far.
@test "one byte of the ledger: 74, or set aside at once; the data arrives" {
    local what expected last

    make
    service
    last=$(capture_of 3)
    mkdir later
    for what in said:74 capture:74 capture_key:74 item:0 tally:0 \
        item_durable:0; do
        expected=${what#*:}
        mv "$last" later/
        rm -rf spool
        agent --once job
        mv "later/$(basename "$last")" job/
        damage_page "${what%:*}"
        run agent --once job
        expect_status "$expected" || fail "$what"
        shows "event=ledger-damaged"
        [ "$expected" = 0 ] || shows "set aside at the next start"
        run agent --once job
        expect_status 0 || fail "$what"
        is "items that were delivered since ($what)" 4 "$(sql "SELECT count(*)
            FROM item WHERE state IN (6, 7)" spool/spool-j/ledger.db)"
    done
    eventually captures_are 4
    truth_and_more
    stop_service
}

# Set aside, the item takes its size off the sum of all, which is less than
# nothing then: the spool looked full, and the capture was never read again.
@test "a size in the ledger that is damaged does not fill the spool" {
    local size

    for size in "1<<40 WHERE id=1" "1<<62"; do
        rm -rf spool root
        make
        seal
        sqlite3 spool/spool-j/ledger.db "UPDATE item SET size=$size"
        service
        run agent --once job
        expect_status 0
        shows "its row in the ledger is damaged"
        eventually captures_are 4
        stop_service
    done
}

@test "--raw: a capture that is deleted after it was sealed arrives whole" {
    make
    cp -r job kept
    seal --raw
    rm -r job/*_ascend_pt
    service
    run agent --once --raw job
    expect_status 0
    eventually captures_are 4
    is "raw files that were released" \
        "$(find kept/*_ascend_pt -type f | wc -l)" \
        "$(sql "SELECT count(*) FROM item WHERE kind=2 AND state IN (6, 7)" \
            spool/spool-j/ledger.db)"
    stop_service
}

@test "--raw: a file that was written to is changed, the others arrive" {
    make
    seal --raw
    local file
    file=$(find job/*_ascend_pt -name profiler_info_0.json)
    flip "$file" 1
    touch -d @1 "$file"
    service
    mkdir elsewhere
    run agent --once --raw elsewhere
    expect_status 1
    is "changed" 1 "$(sql "SELECT count(*) FROM item WHERE state=8" \
                          spool/spool-j/ledger.db)"
    is "open" 0 "$(sql "SELECT count(*) FROM item WHERE state<6" \
                       spool/spool-j/ledger.db)"
    stop_service
}

# Neither may be missing in the archive without a word.
@test "--raw: files and directories that cannot be read are named" {
    make --ranks 1
    echo x >"$(capture_of 0)/secret"
    mkdir "$(capture_of 0)/closed"
    chmod 0 "$(capture_of 0)/secret" "$(capture_of 0)/closed"
    service
    run humbly "$AGENT" --once --raw --state "$TEST_DIR/spool" --job j \
        --aggregator "tcp://127.0.0.1:$PORT" job
    chmod 700 "$(capture_of 0)/closed"
    expect_status 1
    shows "2 of the raw files and directories of" "Permission denied"
    eventually captures_are 1
    stop_service
}

# A former life, or the one that finds it: who looks at the status must know.
@test "a damaged shipment whose capture is gone is lost: 1 in every life" {
    local life

    make
    seal
    flip "$(shipment 1)" 100
    rm -r "$(sql "SELECT path FROM capture WHERE id=1" spool/spool-j/ledger.db)"
    service
    for life in 1 2; do
        run agent --once job
        expect_status 1
        shows "event=lost" "was not read again" || fail "life $life"
    done
    eventually captures_are 3
    stop_service
}

@test "a capture that vanished before it was read is named in every life" {
    local life gone

    make --ranks 2
    choose_port
    "$AGENT" --state "$TEST_DIR/spool" --job j --quiet-period 1h \
        --aggregator "tcp://127.0.0.1:$PORT" job >agent.log 2>&1 3>&- &
    watcher=$!
    gone=$(capture_of 0)
    # seen, in one transaction with the other; the ledger itself is locked
    eventually grep -qas "$(basename "$gone")" spool/spool-j/ledger.db-wal
    ends_with 75
    cp -r "$gone" kept
    rm -r "$gone"
    service
    for life in 1 2; do
        run agent --once job
        expect_status 1
        shows "vanished before it was read" || fail "life $life"
    done
    mv kept "$gone"                 # it is back: nothing is lost
    run agent --once job
    expect_status 0
    eventually captures_are 2
    stop_service
}

@test "--raw: what was left out is named in every life" {
    local life deep

    make --ranks 1
    deep=$(capture_of 0)/$(printf 'd/%.0s' {1..40})
    mkdir -p "$deep"
    service
    for life in 1 2; do
        run agent --once --raw job
        expect_status 1
        shows "directories are not read any deeper" || fail "life $life"
    done
    grep -q "event=agent-note job=j .*text=.*read any deeper" service.log
    stop_service
}

# Needs the build with fault points (preset faults).
# bats test_tags=faults
@test "what was seen and could not be written down is, with the next search" {
    grep -q ROLLCALL_FAULT_ONCE "$AGENT" || skip "no fault points in this build"
    make --ranks 1
    choose_port
    ROLLCALL_FAULT=agent.spool.seen.commit:1:enospc \
        watching --quiet-period 1h job
    eventually grep -qas "$(basename "$(capture_of 0)")" \
        spool/spool-j/ledger.db-wal
    ends_with 75
    grep -q "event=ledger .*No space left" agent.log
    rm -r job/*_ascend_pt
    service
    run agent --once job
    expect_status 1
    shows "vanished before it was read"
    stop_service
}

# Needs the build with fault points.  Silently, it would offer them for ever.
# bats test_tags=faults
@test "ACKs that cannot be written down: it says so, and tries again" {
    grep -q ROLLCALL_FAULT_ONCE "$AGENT" || skip "no fault points in this build"
    make --ranks 2
    service
    ROLLCALL_FAULT=agent.spool.durable.commit:1:eio run agent --once job
    expect_status 0
    shows "event=spool-failed" "Input/output error" "tried again"
    rm -r spool
    ROLLCALL_FAULT=agent.spool.durable.commit:1:damaged run agent --once job
    expect_status 74
    run agent --once job
    expect_status 0
    shows "is in quarantine"
    stop_service
}

# Else who starts it would take it for done.
@test "an agent that cannot wait for anything ends with 71" {
    make --ranks 1
    choose_port
    watching --quiet-period 1h job
    eventually test -e spool/spool-j/status.json        # it has started
    prlimit --pid "$watcher" --nofile=2:2
    over () { ! kill -0 "$watcher" 2>/dev/null; }
    eventually over
    ends_with 71
    grep -q "event=ending.*cannot wait" agent.log
}

# Forgotten, it would be open for ever: --once would not end.
@test "what cannot be set aside is tried again, and holds up nothing" {
    make
    seal
    flip "$(shipment 1)" 100            # found when it is asked for
    rm "$(shipment 2)"                  # found when it is to be offered
    mkdir spool/spool-j/quarantine/item-{1,2}.reason
    service
    watching --quiet-period 0.1s job
    eventually captures_are 2
    is "failures said" 1 "$(grep -c event=spool-failed agent.log)"
    rmdir spool/spool-j/quarantine/item-{1,2}.reason
    eventually captures_are 4
    eventually durable
    ends_with 0
    truth_and_more
    stop_service
}

# peak_of PID: of its memory, in KiB
peak_of ()
{
    sed -n 's/^VmHWM:[[:space:]]*\([0-9]*\).*/\1/p' "/proc/$1/status"
}

# Whatever is delivered, a node's job needs the memory more.
@test "an agent that delivers takes 64 MiB at most, an aggregator 256" {
    local capture i

    if ldd "$AGENT" | grep -q 'lib[at]san'; then
        skip "sanitizers take more"
    fi
    make --ops 400 --steps 20
    for capture in job/*_ascend_pt; do
        mkdir "$capture/FRAMEWORK"
        head -c 32M /dev/urandom >"$capture/FRAMEWORK/packs_badly"
        head -c 32M /dev/zero >"$capture/FRAMEWORK/packs_well"
        for ((i = 0; i < 250; i++)); do
            echo "$capture $i" >"$capture/FRAMEWORK/small_$i"
        done
    done
    service
    watching --raw --quiet-period 0.1s job
    all_durable () { local n; n=$(durable) && [ "$n" -gt 1000 ]; }
    eventually all_durable
    [ "$(peak_of "$watcher")" -lt $((64 * 1024)) ]
    eventually captures_are 4
    [ "$(peak_of "$service")" -lt $((256 * 1024)) ]
    ends_with 0
    stop_service
}
