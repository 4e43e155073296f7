#!/usr/bin/env bats
# rollcall analyze: what was in the place of its output before, and what may
# not be changed by it

load helper

OUT=out/cluster_analysis_output

# A test that failed in between leaves no process of sqlite3 behind.
teardown ()
{
    cd "$BATS_TEST_TMPDIR" || return
    if [ -p free ]; then
        : <>free
        wait "$holder" || true
    fi
}

# with_log DB SQL: as a writer leaves it that was killed: its last changes are
# in DB-wal only.
with_log ()
{
    holding "$1" "PRAGMA journal_mode=WAL; PRAGMA wal_autocheckpoint=0; $2"
    cp "$1" "$1-wal" saved/
    let_go
    cp "saved/$(basename "$1")" "saved/$(basename "$1")-wal" "$(dirname "$1")"
}

# The log would be replayed into whatever is called analysis.db next.
@test "the write-ahead log of an old result does not get into the new one" {
    mkdir saved
    make
    analyze
    with_log "$DB" "UPDATE CommAnalyzerTime SET wait_time=4711;"
    [ -s "$DB-wal" ]
    analyze
    expect_status 0
    truth_and_more
    is "files" "$RESULTS" "$(ls -A $OUT)"
}

# The same, of a file that SQLite cannot bring to rest any more.
@test "a log whose database is damaged is gone, too" {
    mkdir saved
    make
    analyze
    with_log "$DB" "UPDATE CommAnalyzerTime SET wait_time=4711;"
    printf 'nonsense' | dd of="$DB" bs=1 seek=16 conv=notrunc status=none
    analyze
    expect_status 0
    truth_and_more
    is "files" "$RESULTS" "$(ls -A $OUT)"
}

# hot_journal DB SQL: as a writer that was killed in mid-transaction leaves it
hot_journal ()
{
    holding "$1" "PRAGMA cache_size=1; BEGIN; $2"
    cp "$1" "$1-journal" saved/
    let_go
    cp "saved/$(basename "$1")" "saved/$(basename "$1")-journal" \
        "$(dirname "$1")"
}

@test "the journal of a killed writer does not get into the new result" {
    mkdir saved
    make
    analyze
    hot_journal "$DB" "UPDATE CommAnalyzerTime SET wait_time=4711;
        UPDATE CommAnalyzerMatrix SET bandwidth=7;"
    [ -s "$DB-journal" ]
    make --skip-ranks 3
    analyze
    expect_status 1
    truth_and_more
    is "files" "$RESULTS" "$(ls -A $OUT)"
    is "check" ok "$(sql "PRAGMA integrity_check")"
}

@test "another tool's database is kept with what is in its log only" {
    local old=$OUT/analysis.db.before-rollcall

    mkdir -p saved $OUT
    sql "CREATE TABLE precious (x)" $OUT/analysis.db
    with_log $OUT/analysis.db "INSERT INTO precious VALUES (1), (2);"
    make
    analyze
    expect_status 0
    truth_and_more
    is "rows kept" 2 "$(sql "SELECT count(*) FROM precious" $old)"
    [ ! -e $DB-wal ]
}

# As a viewer does that has it open: what it has not written back must stay
# with the file, and it goes on working.
@test "another tool's database is kept while a viewer has it open" {
    local old=$OUT/analysis.db.before-rollcall

    mkdir -p $OUT
    sql "CREATE TABLE precious (x)" $OUT/analysis.db
    holding $OUT/analysis.db "PRAGMA journal_mode=WAL;
        PRAGMA wal_autocheckpoint=0; INSERT INTO precious VALUES (1), (2);
        BEGIN; SELECT count(*) FROM precious;"
    make
    analyze
    expect_status 0
    is "rows kept" 2 "$(sql "SELECT count(*) FROM precious" $old)"
    let_go
    is "rows kept" 2 "$(sql "SELECT count(*) FROM precious" $old)"
    truth_and_more
}

@test "another tool's database is kept with the journal of a killed writer" {
    local old=$OUT/analysis.db.before-rollcall

    mkdir -p saved $OUT
    sql "CREATE TABLE precious (x, y);
         INSERT INTO precious SELECT value, zeroblob(3000)
         FROM generate_series(1, 500)" $OUT/analysis.db
    hot_journal $OUT/analysis.db "UPDATE precious SET x=-1, y=zeroblob(3001);"
    make
    analyze
    expect_status 0
    truth_and_more
    is "rows kept" 500 "$(sql "SELECT count(*) FROM precious WHERE x>0" $old)"
    [ ! -e $DB-journal ]
}

# A file that is no database has none of these of its own, but somebody's they
# are: nothing that another tool wrote is deleted.
@test "logs that belong to nothing are kept, too" {
    mkdir -p $OUT
    echo text >$OUT/analysis.db
    echo log >$OUT/analysis.db-wal
    make
    analyze
    expect_status 0
    truth_and_more
    is "kept" log "$(cat $OUT/analysis.db.before-rollcall-wal)"
    echo alone >$OUT/analysis.db-journal
    rm $DB
    analyze
    expect_status 0
    truth_and_more
    is "kept" alone "$(cat $OUT/analysis.db.before-rollcall.1-journal)"
}

# written_now SQL...: somebody is writing what is in the way; nothing changes
written_now ()
{
    for sql; do
        holding $OUT/analysis.db "$sql"
        find $OUT -type f -exec cksum {} + | sort -k 3 >before
        analyze
        expect_status 73
        shows "process $holder" "is writing" "$OUT/analysis.db"
        find $OUT -type f -exec cksum {} + | sort -k 3 | cmp before -
        let_go
    done
}

@test "a database that is being written stays where it is: 73, and by whom" {
    make
    mkdir -p $OUT
    sql "CREATE TABLE precious (x)" $OUT/analysis.db
    written_now "BEGIN IMMEDIATE; INSERT INTO precious VALUES (1);"
    analyze                     # ours, from here on
    written_now "BEGIN IMMEDIATE; DELETE FROM Job;" \
        "PRAGMA journal_mode=WAL; BEGIN IMMEDIATE; DELETE FROM Job;"
    analyze
    expect_status 0
    truth_and_more
}

@test "who reads the former result does not hinder the next one" {
    make
    analyze
    holding $OUT/analysis.db "BEGIN; SELECT count(*) FROM Job;"
    analyze
    expect_status 0
    let_go
    truth_and_more
    sql "CREATE TABLE precious (x)" other.db
    mv other.db $OUT/analysis.db
    holding $OUT/analysis.db "BEGIN; SELECT count(*) FROM precious;"
    analyze
    expect_status 0
    let_go
    truth_and_more
}

# In a container every run has the same process id, and those of another one
# mean nothing.
@test "what a killed run left is in no other one's way, of the same id even" {
    unshare -p -f true 2>/dev/null || skip "no process namespaces here"
    make
    paused_at communication.json unshare -p -f --kill-child \
        "$ROLLCALL" analyze -j 2 -o out job
    kill -KILL "$pid"
    end_of "$pid"
    run unshare -p -f "$ROLLCALL" analyze --text -j 2 -o out job
    expect_status 0
    truth_and_more
}

# ---- not into captures ----

@test "an output within a capture is refused, the capture stays as it was" {
    local c

    make
    c=$(capture_of 2)
    fingerprint job >before
    run "$ROLLCALL" analyze "$c"
    expect_status 2
    shows "lies in, the capture" "/${c##*/}, and"
    run "$ROLLCALL" analyze "$c/ASCEND_PROFILER_OUTPUT/.."
    expect_status 2
    for out in "$c" "$c/ASCEND_PROFILER_OUTPUT" "$c/new/dir" \
        "job/../$c/new"; do
        run "$ROLLCALL" analyze -o "$out" job
        expect_status 2
        shows "lies in, the capture" "/${c##*/}, and"
    done
    ln -s "$c" link
    run "$ROLLCALL" analyze -o link/new job
    expect_status 2
    fingerprint job | cmp before -
}

# Ids of jobs are any text: each gets a directory of its own below OUT.
@test "jobs whose ids are no names of directories do not meet in one" {
    local i=0 id

    for id in a_b a/b ../x . "$(printf 'c\\n\\u001b')" "$(printf 'z%.0s' {1..255})" \
        "$(printf '/%.0s' {1..255})"; do
        "$CAPTURE_MAKER" --quiet --ranks 2 --ops 4 --seed $i "job/$i"
        printf '{"job": "%s"}' "$id" >"job/$i/.rollcall-job"
        i=$((i + 1))
    done
    analyze --all-jobs
    expect_status 0
    is "directories" 7 "$(find out -mindepth 1 -maxdepth 1 -type d | wc -l)"
    is "results" 7 "$(find out -name analysis.db | wc -l)"
    "$ROLLCALL" analyze --all-jobs --json -o again job >all.json
    is "documents" 7 "$(sqlite3 :memory: \
        "SELECT json_array_length(readfile('all.json'))")"
    is "ids" 7 "$(for i in out/*/cluster_analysis_output/analysis.db; do
        sqlite3 "$i" "SELECT value FROM Job WHERE key='job'" | head -1
    done | sort -u | wc -l)"
    [ -d out/a_b ]
    is "strange names" "" "$(find . -name '*[[:cntrl:]]*')"
    [ ! -e x ]
}

# A limit of processes, or no room for a stack, as here: no machine has so much.
@test "a thread cannot be started: that is said, and nothing is written" {
    [ -z "${ROLLCALL_SANITIZED:-}" ] || skip "a sanitizer needs room for its own stacks"
    local args

    make --ranks 2 --steps 1 --ops 8
    for args in "-o out" "-o out --all-jobs" "-o out --job 1" --list-jobs; do
        # shellcheck disable=SC2016,SC2086
        run sh -c 'ulimit -s 200000000000 && exec "$@"' - "$ROLLCALL" analyze \
            $args job
        [ "$args" = --list-jobs ] && expect_status 71 || expect_status 73
        shows "cannot start a thread"
        is "results" "" "$(find . -name analysis.db)"
    done
}

# The roster has a place for each rank, none for each capture; and where nothing
# says how many ranks there are, those that are gone are not expected either.
@test "a result that lacks captures of the one before says which" {
    local gone one

    make --ranks 2 --repeat 2
    analyze
    expect_status 0
    [[ $output != *"note:"* ]]
    gone=$(ls -d job/*/profiler_info_1.json | tail -n 1)
    gone=$(basename "$(dirname "$gone")")
    rm -r "job/${gone:?}"
    analyze
    one="the replaced result had 1 capture that is now missing or of another"
    one+=" job: rank 1: $gone"
    shows "$one"
    is "note" 1 "$(sql "SELECT count(*) FROM Job WHERE key GLOB 'note.*' AND
        value='$one'")"
    # nothing has gone since then
    analyze
    [[ $output != *"the replaced result"* ]]
    # another job's captures were not to be in it
    mv job first
    make --ranks 2 --seed 9 --start 1790000000
    analyze
    expect_status 0
    [[ $output != *"the replaced result"* ]]
}
