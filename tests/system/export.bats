#!/usr/bin/env bats
# rollcall export: a trace for viewers, and CSV files

load helper

# export_trace ARGUMENT...: into trace.json, and its events into trace.db
export_trace ()
{
    rm -f trace.db
    run "$ROLLCALL" export --perfetto trace.json "$@" out
    expect_status 0
    is "strict JSON" 1 "$(sqlite3 -batch :memory: \
        "SELECT json_valid(readfile('trace.json'))")" || return
    sqlite3 -batch trace.db "CREATE TABLE e AS SELECT
        value ->> 'ph' AS ph, value ->> 'pid' AS pid, value ->> 'tid' AS tid,
        value ->> 'ts' AS ts, value ->> 'dur' AS dur, value ->> 'cat' AS cat,
        value ->> 'name' AS name, value -> 'args' AS args
        FROM json_each(readfile('trace.json'), '\$.traceEvents')"
}

trace ()
{
    sql "$1" trace.db
}

# spans_nest_nowhere: viewers would draw one as if another had called it
spans_nest_nowhere ()
{
    is "spans that overlap on their track" 0 "$(trace "SELECT count(*) FROM
        (SELECT ts, lag(ts + dur) OVER (PARTITION BY pid, tid ORDER BY ts, dur)
         AS before FROM e WHERE ph = 'X') WHERE before > ts + 1e-6")"
}

@test "every op and step of every rank is in the trace, on tracks with names" {
    make --ranks 4 --steps 3
    analyze
    export_trace
    shows "4 ranks" "offsets of 4 of 4 ranks subtracted"
    is "ops" "$(sql "SELECT count(*) FROM CommAnalyzerTime")" \
        "$(trace "SELECT count(*) FROM e WHERE ph = 'X' AND cat <> 'step'")"
    is "steps" "$(sql "SELECT count(*) FROM StepTraceTime")" \
        "$(trace "SELECT count(*) FROM e WHERE ph = 'X' AND cat = 'step'")"
    is "their time" "$(sql "SELECT CAST(round(sum(elapse_time)) AS INTEGER)
                            FROM CommAnalyzerTime")" \
        "$(trace "SELECT CAST(round(sum(dur) / 1e3) AS INTEGER) FROM e
                  WHERE ph = 'X' AND cat <> 'step'")"
    is "tracks without a name" 0 "$(trace "SELECT count(*) FROM e x
        WHERE ph = 'X' AND NOT EXISTS (SELECT 1 FROM e n WHERE n.ph = 'M' AND
            n.name = 'thread_name' AND n.pid = x.pid AND n.tid = x.tid)")"
    is "steps on the main thread, which viewers put first" 1 "$(trace "SELECT
        min((pid = tid) = (cat = 'step')) FROM e WHERE ph = 'X'")"
    is "ranks with a name" 4 "$(trace "SELECT count(*) FROM e
        WHERE name = 'process_name' AND args ->> 'name' LIKE 'rank %node0%'")"
    is "the first" 0.0 "$(trace "SELECT min(ts) FROM e")"
    spans_nest_nowhere
}

@test "a rank that is missing has a mark with the reason" {
    make --ranks 4 --skip-ranks 2
    analyze
    export_trace
    shows "1 rank, with a mark"
    is "the mark" "missing|no capture of it was found" \
        "$(trace "SELECT name, args ->> 'reason' FROM e
                  WHERE ph = 'i' AND pid = 2")"
}

# Two ranks whose clocks are 500 ms apart, as table CaptureInfo has it.
apart ()
{
    make --ranks 2 --ops 4
    analyze
    sql "DELETE FROM CaptureInfo WHERE kind = 'clock';
         INSERT INTO CaptureInfo (kind, name, value, rank, capture)
         VALUES ('clock', 'offset_ms', '500', 1, 2),
                ('clock', 'offset_ms', '0', 0, 1);
         UPDATE CommAnalyzerTime SET start_timestamp = start_timestamp + 500e3
         WHERE rank = 1"
}

@test "all ranks are on one clock, unless that is not wanted" {
    local first="SELECT round(max(ts)) FROM (SELECT pid, min(ts) AS ts FROM e
                 WHERE ph = 'X' GROUP BY pid)"

    apart
    export_trace
    shows "offsets of 2 of 2 ranks subtracted, the largest 500.000 ms"
    is "apart" 1 "$(trace "SELECT (${first}) < 100e3")"
    is "said in the trace" 1 "$(sqlite3 -batch :memory: "SELECT
        readfile('trace.json') ->> '\$.otherData.clocks' LIKE '%500.000 ms%'")"
    export_trace --raw-clocks
    shows "as recorded"
    is "apart" 1 "$(trace "SELECT (${first}) > 400e3")"
    sql "DELETE FROM CaptureInfo WHERE kind = 'clock'"
    export_trace
    shows "no offset is known"
}

# "no communication op, no step" sent people to look for damage
@test "a rank or step that is not there is named, with those that are" {
    make --ranks 12 --steps 2 --skip-ranks 3
    analyze
    run "$ROLLCALL" export --perfetto out
    expect_status 2
    shows "out is a directory: --perfetto and --chrome take the file to write"
    run "$ROLLCALL" export --perfetto - --rank 12 out
    expect_status 65
    shows "no rank 12 in" "its ranks: 0, 1, 2, 3, 4, 5, 6, 7 and 4 more"
    run "$ROLLCALL" export --perfetto - --step step12 out
    expect_status 65
    shows "there is no step 12 in this result; its steps: 10, 11"
    run "$ROLLCALL" export --perfetto - --rank 3 --step 11 out
    expect_status 65
    shows "rank 3 is missing: no capture of it was found"
    sql "UPDATE CommAnalyzerTime SET start_timestamp=NULL;
         DELETE FROM StepExtra"
    run "$ROLLCALL" export --perfetto - --rank 2 --step 11 out
    expect_status 65
    shows "no step of rank 2, step 11 has a start time"
    run "$ROLLCALL" export --perfetto - out
    expect_status 65
    shows "no communication op and no step of this result has a start time"
}

@test "names of any kind, ops that overlap, and times that are none" {
    make --ranks 2 --ops 4
    analyze
    first=$(sql "SELECT min(rowid) FROM CommAnalyzerTime")
    # shellcheck disable=SC1003         # a backslash for JSON
    sql "UPDATE CommAnalyzerTime SET hccl_op_name =
             'a\"b\\c' || char(10, 27, 0x9b, 0x6f22) WHERE rowid = $first;
         UPDATE CommAnalyzerTime SET elapse_time = 1000 WHERE rank = 0;
         UPDATE CommAnalyzerTime SET start_timestamp = NULL WHERE rowid = $first + 2;
         UPDATE CommAnalyzerTime SET start_timestamp = 9e999 WHERE rowid = $first + 3;
         UPDATE CommAnalyzerTime SET group_name = NULL WHERE rowid = $first + 1"
    export_trace
    shows "left out      2"
    is "the name" 1 "$(trace "SELECT count(*) FROM e WHERE name =
        'a\"b\\c' || char(10, 27, 0x9b, 0x6f22)")"
    is "tracks that are a second one" 1 "$(trace "SELECT count(*) > 0 FROM e
        WHERE name = 'thread_name' AND args ->> 'name' LIKE '% #2'")"
    is "ops of no group" 1 "$(trace "SELECT count(*) FROM e WHERE
        args ->> 'name' = 'ops of no named group'")"
    spans_nest_nowhere
}

@test "one rank, one step, compressed, and on standard output" {
    make --ranks 2 --steps 2
    analyze
    export_trace --rank 1 --step 11
    is "ranks and steps" "1|step 11" "$(trace "SELECT DISTINCT pid, name FROM e
        WHERE cat = 'step'")"
    is "other ranks" 0 "$(trace "SELECT count(*) FROM e WHERE pid <> 1")"
    "$ROLLCALL" export --quiet --chrome all.json --perfetto all.json.gz out >said
    "$ROLLCALL" export --perfetto - out >stdout.json
    [ ! -s said ]
    gzip -dc all.json.gz | cmp - all.json
    cmp stdout.json all.json
}

@test "what cannot be written is told, and leaves what was there" {
    make
    analyze
    echo old >trace.json
    run "$ROLLCALL" export --perfetto /dev/full out
    expect_status 73
    shows "No space left"
    run sh -c "'$ROLLCALL' export --perfetto - out >/dev/full"
    expect_status 73
    shows "cannot write to standard output: No space left"
    run "$ROLLCALL" export --perfetto nowhere/trace.json out
    expect_status 73
    run "$ROLLCALL" export --perfetto trace.json --rank 77 out
    expect_status 65
    shows "there is no rank 77 in this result; its ranks: 0, 1, 2, 3"
    is "what was there" old "$(cat trace.json)"
    run "$ROLLCALL" export out
    expect_status 2
    run "$ROLLCALL" export --csv "" out
    expect_status 2
    run "$ROLLCALL" export --csv - out
    expect_status 2
    shows "name a directory"
    [ ! -e ./- ]
    is "left behind" "" "$(find . -name '*.tmp')"
}

# stopped_by SIGNAL FILE ARGUMENT...: while an export writes a file like FILE
stopped_by ()
{
    local signal=$1 file=$2

    shift 2
    paused_at "$file" "$ROLLCALL" export "$@" out
    kill "-$signal" "$pid"
    go_on
    end_of "$pid"
    shows "interrupted, "
    is "left behind" "" "$(find . -name '*.tmp')"
}

@test "interrupted: no temporary file stays, and what was there does" {
    make
    analyze
    echo old >trace.json
    stopped_by INT 'trace.json.*.tmp' --perfetto trace.json
    expect_status 130
    shows "trace.json was not written"
    stopped_by TERM 'trace.json.gz.*.tmp' --chrome trace.json.gz
    expect_status 143
    is "what was there" old "$(cat trace.json)"
    [ ! -e trace.json.gz ]
}

@test "interrupted while tables are written: the directory does not refuse" {
    make
    analyze
    stopped_by HUP 'Roster.csv.*.tmp' --csv tables
    expect_status 129
    shows "nothing was written into tables"
    [ ! -e tables ]
    # one that was there stays, as empty as it was
    mkdir tables
    stopped_by INT 'Capture.csv.*.tmp' --csv tables
    expect_status 130
    is "files" "" "$(ls -A tables)"
    run "$ROLLCALL" export --csv tables out
    expect_status 0
}

# nohup would protect nothing if the handler were set all the same.
@test "a signal that is ignored stays so" {
    make
    analyze
    paused_at 'trace.json.*.tmp' env --ignore-signal=HUP \
        "$ROLLCALL" export --perfetto trace.json out
    kill -HUP "$pid"
    go_on
    end_of "$pid"
    expect_status 0
    [ -s trace.json ]
}

@test "a full disk leaves nothing of the tables: they can be tried again" {
    make --ops 100
    analyze
    # in blocks of 1024 bytes: small tables go, the one of ops does not
    run bash -c "ulimit -f 20; trap '' XFSZ; '$ROLLCALL' export --csv t out"
    expect_status 73
    shows "t/CommAnalyzer" "File too large"
    [ ! -e t ]
    run "$ROLLCALL" export --csv t out
    expect_status 0
}

# Whatever reads it says the same, and what to do.
@test "a result that is damaged inside" {
    make --ranks 4 --steps 3
    analyze
    cp -r out good
    page=$(sql "SELECT rootpage FROM sqlite_schema WHERE name='StepTraceTime'")
    size=$(sql "PRAGMA page_size")
    head -c "$size" /dev/zero | tr '\0' '\377' | dd of="$DB" bs="$size" \
        seek=$((page - 1)) conv=notrunc status=none
    for verb in "export --perfetto trace.json" "export --csv tables" report \
        "report -o -" "compare good"; do
        # shellcheck disable=SC2086     # words
        run "$ROLLCALL" $verb out
        expect_status 65
        shows "$DB is damaged (SQLite: database disk image is malformed): make it"
    done
    run "$ROLLCALL" query steps out
    expect_status 65
    shows "malformed"
    [ ! -e trace.json ] && [ ! -e tables ]
}

@test "CSV has every row of every table, NULL apart from an empty text" {
    local table

    make --ranks 2 --steps 2 --extras
    analyze
    sql "UPDATE Capture SET reason = '', host = 'a,\"b' || char(13, 10)
         WHERE id = 1"
    run "$ROLLCALL" export --csv tables out
    expect_status 0
    is "strict JSON" 1 "$(sqlite3 -batch :memory: \
        "SELECT json_valid(readfile('tables/schema.json'))")"
    for table in $(sql "SELECT name FROM sqlite_schema WHERE type = 'table'
                        AND name NOT LIKE 'sqlite%'"); do
        rm -f back.db
        sqlite3 -batch back.db ".import --csv tables/$table.csv t" 2>&1 |
            grep -v "already exists" || true
        # NULL and an empty text are one to .import: see below
        is "rows of $table that differ" 0 "$(sql "ATTACH 'back.db' AS b;
            CREATE TEMP TABLE c AS SELECT * FROM main.$table WHERE 0;
            INSERT INTO c SELECT * FROM b.t;
            SELECT count(*) FROM (SELECT $(nulls_empty "$table") FROM c EXCEPT
                SELECT $(nulls_empty "$table") FROM main.$table)" 2>/dev/null ||
            sql "SELECT count(*) FROM $table")"
        is "rows of $table" "$(sql "SELECT count(*) FROM $table")" \
            "$(sqlite3 -batch :memory: "SELECT value ->> 'rows' FROM
                json_each(readfile('tables/schema.json'), '\$.tables')
                WHERE value ->> 'table' = '$table'")"
    done
    # bytes of the first capture: host with quotes, no reason, no hash
    grep -q $'^1,0,"a,""b\r$' tables/Capture.csv
    grep -q '^",0,.*,complete,"",2,.*,$' <(tr -d '\r' <tables/Capture.csv)
    is "a unit" "double ms" "$(sqlite3 -batch -separator ' ' :memory: "SELECT
        c.value ->> 'type', c.value ->> 'unit' FROM
        json_each(readfile('tables/schema.json'), '\$.tables') t,
        json_each(t.value, '\$.columns') c WHERE t.value ->> 'table' = 'Wait'
        AND c.value ->> 'name' = 'wait_ms'")"
    run "$ROLLCALL" export --csv tables out
    expect_status 73
    shows "not empty"
    # it would be all ranks all the same
    run "$ROLLCALL" export --csv others --rank 1 out
    expect_status 2
    [ ! -e others ]
}

# nulls_empty TABLE: its columns, for comparing what .import makes of NULL
nulls_empty ()
{
    sql "SELECT group_concat('ifnull(\"' || name || '\", '''')')
         FROM pragma_table_info('$1')"
}
