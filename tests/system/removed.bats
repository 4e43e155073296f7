#!/usr/bin/env bats
# Files below the root are removed, cut or replaced while it is served: nothing
# is acknowledged into what has no name any more, and what was acknowledged is
# asked for again, or named

load service_helper

named_lost ()                       # [DIR]: captures that $output names so
{
    grep -c "event=lost .*: the aggregator has lost .*$PWD/job/${1:-}.* no longer here" \
        <<<"$output" || true
}

rows_of ()                          # JOB: how many captures the service has
{
    "$ROLLCALL" archive ls --root root "$1" | awk '$4 == "rows"' | wc -l
}

# sound: nothing is damaged, by the service's own check
sound ()
{
    stop_service
    run "$ROLLCALL" fsck aggregator root
    expect_status 0
}

# many DIR: small captures, some seconds' work for an agent
RANKS=300
[ -z "${ROLLCALL_SANITIZED:-}" ] || RANKS=100
many ()
{
    "$CAPTURE_MAKER" --quiet --ranks $RANKS --ops 1 "$1"
}

asked_again ()
{
    says service.log "event=redelivery-requested"
}

@test "the segment that is written to is removed: what came is delivered again" {
    local items

    make
    service
    watching --raw --quiet-period 0.1s job
    eventually captures_are 4
    eventually durable
    items=$(durable)
    rm root/segments/00000001
    eventually asked_again
    eventually says service.log "segment 1 in $PWD/root/segments was removed or emptied"
    eventually says agent.log "4 captures that are here are delivered again"
    eventually durable_are $((2 * items))
    [ -s root/segments/00000002 ]
    run "$ROLLCALL" archive get --root root j 0 back
    expect_status 0
    # told once, and not at each HELLO from then on
    is "redeliveries" 1 "$(grep -c event=redelivery agent.log)"
    ends_with 0
    another_job k
    captures_are 4
    as_analyzed
    sound
}

# An agent that removes what is acknowledged must not lose it.
@test "the segment is removed while agents deliver and release: none is lost" {
    local before left watcher

    many job
    service
    watching --raw --release shipped --quiet-period 0.1s job
    some () { [ "$(grep -c event=released agent.log)" -gt 3 ]; }
    eventually some
    rm root/segments/00000001
    eventually asked_again
    done_now () { [ -z "$(ls job)" ] && durable >/dev/null; }
    eventually done_now
    kill "$watcher"
    wait "$watcher" || true
    # what had gone by then is named, the others are there
    before=$(sed -n 's/.* \([0-9]*\) captures\? that the aggregator had .*/\1/p' \
                 agent.log)
    left=$((RANKS - before))
    [ "$before" -gt 0 ] && [ "$left" -gt 0 ]
    eventually captures_are "$left"
    is "named" "$before" "$(sql "SELECT count(*) FROM Capture WHERE
        state='failed' AND reason LIKE '%removed from the root%'")"
    stop_service
}

@test "the segment is removed, the captures were released: each rank is named" {
    local rank

    make
    service
    run agent --once --raw --release shipped job
    expect_status 0
    eventually captures_are 4
    is "left" 0 "$(find job -name '*_ascend_pt' | wc -l)"
    rm root/segments/00000001
    removed () { says service.log "event=removed"; }
    eventually removed
    for rank in 0 1 2 3; do
        says service.log "event=lost job=j rank=$rank "
    done
    # the result that has them stays as it is, until something else comes
    captures_are 4
    "$CAPTURE_MAKER" --quiet --ranks 4 --seed 9 new
    mkdir job/later
    mv "$(dirname new/*/profiler_info_0.json)" job/later
    run agent --once --raw job
    expect_status 1
    shows "4 captures that it had acknowledged are no longer here"
    is "named" 4 "$(named_lost)"
    # of rank 0 a capture of the same name has come instead
    rebuilt () { [ "$(sql "SELECT count(*) FROM Capture WHERE state='failed'
                           AND reason LIKE '%removed from the root%'")" = 3 ]; }
    eventually rebuilt
    is "ranks without a reason" 0 "$(sql "SELECT count(*) FROM Roster WHERE
        state<>'present' AND ifnull(reason, '')=''")"
    eventually says service.log "present=1 expected=4 failed=3"
    stop_service
}

# released DIR SEED: two captures, delivered and removed
released ()
{
    "$CAPTURE_MAKER" --quiet --ranks 2 --seed "$2" "job/$1"
    run agent --once --raw --release shipped job
    [ -z "$(find job -name '*_ascend_pt')" ]
}

removed_again ()
{
    says service.log "event=removed"
}

# Who has released them can be told of those that are lost, and only of those.
@test "a segment is cut, the next removed: only what was in it is named" {
    local size

    service
    released one 1
    expect_status 0
    size=$(stat -c %s root/segments/00000001)
    released two 2
    expect_status 0
    truncate -s "$size" root/segments/00000001
    eventually removed_again
    run agent --once --raw job
    expect_status 1
    is "named" 2 "$(named_lost)"
    is "named of the second" 2 "$(named_lost two)"
    released three 3
    expect_status 1                 # of the second
    [ -s root/segments/00000002 ]
    : >service.log
    rm root/segments/00000002
    eventually removed_again
    run agent --once --raw job
    expect_status 1
    is "named of the first" 0 "$(named_lost one)"
    run agent --once --raw job
    expect_status 1
    is "named" 4 "$(named_lost)"
    is "named of the third" 2 "$(named_lost three)"
    is "named of the first" 0 "$(named_lost one)"
    stop_service
}

# Nobody writes to it, and everything else goes on.
@test "an older segment is removed or cut: what was in it is asked for" {
    local how items

    for how in "rm" "truncate -s 5000"; do
        rm -rf job root spool agent.log service.log
        make
        service
        watching --raw --quiet-period 0.1s job
        eventually captures_are 4
        eventually durable
        items=$(durable)
        # so that another one is written to
        mv root/segments/00000001 away
        eventually asked_again
        eventually durable_are $((2 * items))
        [ -s root/segments/00000002 ]
        : >service.log
        mv root/segments/00000002 kept
        eventually asked_again
        eventually durable_are $((3 * items))
        : >service.log
        mv away root/segments/00000001
        $how root/segments/00000003
        eventually asked_again
        eventually durable_are $((4 * items))
        ends_with 0
        sound
    done
}

@test "the segment that is written to is cut: what was behind it comes again" {
    local items

    make
    service
    watching --raw --quiet-period 0.1s job
    eventually captures_are 4
    eventually durable
    items=$(durable)
    truncate -s 3000 root/segments/00000001
    eventually says service.log "was cut while it was in use"
    eventually says agent.log "are delivered again"
    eventually durable_are $((2 * items))
    ends_with 0
    another_job k
    captures_are 4
    as_analyzed
    sound
}

@test "a segment is cut in a large file: its capture is asked for again" {
    local items

    make --ranks 1
    head -c 3000000 /dev/urandom >"$(capture_of 0)/big.bin"
    service
    watching --raw --quiet-period 0.1s job
    eventually durable
    items=$(durable)
    truncate -s 2000000 root/segments/00000001
    eventually asked_again
    says service.log "segment 1 in $PWD/root/segments was cut"
    eventually durable_are $((2 * items))
    run "$ROLLCALL" archive get --root root j 0 back
    expect_status 0
    cmp back/*/big.bin "$(capture_of 0)/big.bin"
    ends_with 0
    sound
}

@test "the directory of the segments is renamed, and there is another one" {
    local items how

    make
    service
    watching --raw --quiet-period 0.1s job
    eventually captures_are 4
    eventually durable
    items=$(durable)
    for how in 1 2; do              # and the next time there is none
        mv root/segments "root/old$how"
        [ "$how" = 2 ] || mkdir -p root/segments
        eventually asked_again
        eventually durable_are $(((how + 1) * items))
        : >service.log
    done
    ends_with 0
    sound
}

# One that was released must not be called lost: the content is here.
@test "ledger.db is removed: it is put back, and nobody is asked for anything" {
    local what items

    make
    service
    run agent --once --raw --release shipped job
    expect_status 0
    eventually captures_are 4
    items=$("$ROLLCALL" archive ls --root root j | wc -l)
    for what in ledger.db ledger.db-wal ledger.db-shm "ledger.db ledger.db-wal"; do
        : >service.log
        # shellcheck disable=SC2086     # names
        (cd root && rm $what)
        eventually says service.log "event=ledger-gone"
        says service.log "it was written again"
        is "items" "$items" "$("$ROLLCALL" archive ls --root root j | wc -l)"
        run agent --once --raw job
        expect_status 0
        [[ $output != *event=redelivery* ]]
        rm -rf more
        "$CAPTURE_MAKER" --quiet --ranks 1 --seed $RANDOM more
        run agent --once --job k more
        expect_status 0
    done
    is "captures of k" 4 "$(rows_of k)"
    # and a next life has all of it
    stop_service
    service
    run agent --once --raw job
    expect_status 0
    [[ $output != *event=redelivery* ]]
    sound
}

@test "another ledger.db is put in its place: it is set aside" {
    make
    service
    run agent --once job
    expect_status 0
    sqlite3 other.db "CREATE TABLE x (y)"
    mv other.db root/ledger.db
    eventually says service.log "event=ledger-gone"
    is "captures" 4 "$(rows_of j)"
    is "the other one" "x" "$(sql "SELECT name FROM sqlite_schema" \
        root/quarantine/ledger-found-*.db)"
    sound
}

# Else the next life would not know what was lost, or may be removed.
@test "an agent's ledger is removed: it is put back, with all that it had" {
    local what before

    make
    service
    watching --raw --quiet-period 0.1s job
    eventually captures_are 4
    eventually durable
    before=$(durable)
    for what in ledger.db ledger.db-wal "ledger.db ledger.db-wal"; do
        : >agent.log
        # shellcheck disable=SC2086     # names
        (cd spool/spool-j && rm $what)
        eventually says agent.log "event=ledger-gone"
        says agent.log "it was written again, with all that it had"
    done
    "$CAPTURE_MAKER" --quiet --ranks 1 --seed 9 job/later
    more () { [ "$(durable)" -gt "$before" ]; }
    eventually more
    ends_with 0
    run agent --once --raw job
    expect_status 0
    [[ $output != *event=sealed* ]]     # it knows all of them
    sound
}

# It went on in a directory that nobody finds any more, or could seal nothing.
@test "an agent's spool is removed: it ends, and the next reads all again" {
    make
    service
    watching --raw --quiet-period 0.1s job
    eventually captures_are 4
    eventually durable
    rm -rf spool/spool-j
    eventually gone "$watcher"
    says agent.log "event=spool-gone"
    ends_with 74
    run agent --once --raw job
    expect_status 0
    another_job k
    captures_are 4
    as_analyzed
    sound
}

@test "the directories of a spool are removed: the next capture is sealed" {
    local items

    make --ranks 1
    service
    watching --raw --quiet-period 0.1s job
    eventually captures_are 1
    eventually durable
    items=$(durable)
    rm -rf spool/spool-j/items spool/spool-j/quarantine
    "$CAPTURE_MAKER" --quiet --ranks 1 --seed 9 job/later
    sealed_two () { [ "$(grep -c event=sealed agent.log)" = 2 ]; }
    eventually sealed_two
    # not the status of before: that had nothing undelivered, either
    more_durable () { [ "$(durable)" -gt "$items" ]; }
    eventually more_durable
    ends_with 0
    sound
}

# The agents of another host, and of another job, have lost nothing.
@test "only agents that have lost something are told so" {
    local first

    make --ranks 2
    service
    run agent --once job
    expect_status 0
    first=$(stat -c %s root/segments/00000001)
    "$CAPTURE_MAKER" --quiet --ranks 2 --seed 5 other
    head -c 3000000 /dev/urandom \
        >"$(dirname other/*/profiler_info_1.json)/big.bin"
    run timeout 120 "$AGENT" --state "$TEST_DIR/spool2" --job k --once --raw \
        --release shipped --aggregator "tcp://127.0.0.1:$PORT" other
    expect_status 0
    truncate -s "$first" root/segments/00000001
    removed () { says service.log "event=removed"; }
    eventually removed
    run agent --once job
    expect_status 0
    [[ $output != *event=redelivery* ]]
    run timeout 120 "$AGENT" --state "$TEST_DIR/spool2" --job k --once --raw \
        --aggregator "tcp://127.0.0.1:$PORT" other
    expect_status 1
    shows "2 captures that it had acknowledged are no longer here: it is asked" \
        "has lost rows and raw files of $(readlink -f other)/" \
        "2 captures that the aggregator had acknowledged are no longer here"
    is "named" 2 "$(grep -c event=lost <<<"$output")"
    stop_service
}

# Its end waits for what comes again.
@test "a run: the segment is removed before it ends, and the result has all" {
    mkfifo go
    printf '#!/bin/sh\n%s\n: <go\n' '"$CAPTURE_MAKER" --quiet --ranks 1 --ops 1 \
        "$ROLLCALL_CAPTURE_DIR"' >held
    chmod +x held
    background "$ROLLCALL" run --text --job j -o out --quiet-period 0.1s \
        -- ./held
    eventually durable "$ROLLCALL_STATE_DIR"
    rm "$(run_dir)/root/segments/00000001"
    go_on
    end_of "$pid"
    expect_status 0
    is "complete" 1 "$(sql "SELECT count(*) FROM Capture WHERE
        state='complete'" out/cluster_analysis_output/analysis.db)"
    shows "was removed from the aggregator's root"
}
