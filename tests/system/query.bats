#!/usr/bin/env bats
# rollcall query: questions to a result, answered as rows

load helper

# query ARGUMENT...: to the job; sets status and output
query ()
{
    run "$ROLLCALL" query "$@" out
}

# refused SQL: it is a usage error, and the result is as it was
refused ()
{
    local before

    before=$(cksum <"$DB")
    query --sql "$1"
    expect_status 2
    is "the result after $1" "$before" "$(cksum <"$DB")"
}

@test "every query with a name runs, and its SQL runs in sqlite3 as well" {
    local name

    make --ranks 4 --steps 2 --extras
    analyze
    "$ROLLCALL" query --list | tail -n +2 | awk '{ print $1 }' >names
    [ "$(wc -l <names)" -ge 10 ]
    while read -r name; do
        query "$name"
        expect_status 0
        "$ROLLCALL" query --json "$name" out >ours.json
        "$ROLLCALL" query --print-sql "$name" >query.sql
        # as many rows; how numbers are written is not the same
        is "rows of $name" "$(sqlite3 -batch "$DB" <query.sql | wc -l)" \
            "$(sqlite3 -batch :memory: \
                "SELECT count(*) FROM json_each(readfile('ours.json'))")"
    done <names
}

@test "a rank that is missing, a slow rank, one rank and one step" {
    make --ranks 4 --steps 2 --skip-ranks 2 --slow-rank 1
    analyze
    query missing
    expect_status 0
    shows "missing" "no capture of it was found"
    is "rows" 2 "${#lines[@]}"
    query --csv ranks
    is "the slowest" 1 "$(cut -d , -f 1 <<<"${lines[1]}")"
    query --csv --rank 3 --step step11 steps
    expect_status 0
    is "rows" 2 "${#lines[@]}"
    is "step" 11 "$(cut -d , -f 1 <<<"${lines[1]}")"
    # not an empty table, as if nothing were slow
    query --rank 4 steps
    expect_status 65
    shows "there is no rank 4 in this result; its ranks: 0, 1, 2, 3"
    query --step 9 links
    expect_status 65
    shows "there is no step 9 in this result; its steps: 10, 11"
    query --csv --rank 2 steps
    expect_status 0
    query --rank 3 job
    expect_status 2
    shows "does not depend on a rank"
}

@test "JSON and CSV say what is in the database" {
    make
    analyze
    "$ROLLCALL" query --json --sql "SELECT * FROM CommAnalyzerTime" out >a.json
    sqlite3 -batch "$DB" "ATTACH ':memory:' AS m;
        CREATE TABLE m.j AS SELECT value ->> 'hccl_op_name' AS op,
            value ->> 'start_timestamp' AS start, value ->> 'idle_time' AS idle
            FROM json_each(readfile('a.json'));
        SELECT count(*), (SELECT count(*) FROM CommAnalyzerTime) FROM j;
        SELECT op, start, idle FROM j EXCEPT SELECT hccl_op_name,
            start_timestamp, idle_time FROM CommAnalyzerTime" >compared
    is "rows, and those that differ" 1 "$(wc -l <compared)"
    is "as many" "$(cut -d '|' -f 1 compared)" "$(cut -d '|' -f 2 compared)"
    "$ROLLCALL" query --csv --sql "SELECT 'a,\"b', NULL, '', 0.1, x'ff'" out \
        >a.csv
    # shellcheck disable=SC1003         # backslashes for tr
    is "CSV" '"a,""b",,"",0.1,X'"'FF'" "$(tail -n 1 a.csv | tr -d '\r')"
    is "lines that end in CR LF" 2 "$(grep -c $'\r$' a.csv)"
}

# A spreadsheet runs what begins like a formula; a terminal obeys an escape.
@test "CSV is safe for spreadsheets and terminals, --raw-csv is what is there" {
    local sql="SELECT '=1+1' AS a, '-2' AS b, -3 AS c, 'x'||char(27)||'y' AS d"

    make --ranks 1
    analyze
    "$ROLLCALL" query --csv --sql "$sql" out >safe.csv
    is "safe" "'=1+1,-2,-3,"$'x\x1by\r' "$(tail -n 1 safe.csv)"
    "$ROLLCALL" query --raw-csv --sql "$sql" out >raw.csv
    is "raw" "=1+1,-2,-3,"$'x\x1by\r' "$(tail -n 1 raw.csv)"
    run "$ROLLCALL" query --raw-csv --json --sql "$sql" out
    expect_status 2
    sqlite3 "$DB" "UPDATE Job SET value='@x' WHERE key='inputs'"
    "$ROLLCALL" export --csv tables out
    grep -q "^inputs,'@x" tables/Job.csv
    "$ROLLCALL" export --raw-csv --csv again out
    grep -q "^inputs,@x" again/Job.csv
    run "$ROLLCALL" export --raw-csv --perfetto t.json out
    expect_status 2
    script -qec true /dev/null >/dev/null 2>&1 ||
        skip "there is no script(1), or no pseudo-terminal"
    run script -qec "'$ROLLCALL' query --csv --sql \"$sql\" out" /dev/null
    shows 'x\x1by'
    [[ "$output" != *$'\x1b'* ]] || fail "$output"
}

@test "nothing is written, attached or loaded, whatever is asked" {
    make
    analyze
    refused "SELECT a FROM NoSuchTable"
    shows "no such table: NoSuchTable; rollcall query tables lists"
    refused "DELETE FROM Job"
    refused "CREATE TEMP TABLE x (a)"
    refused "ATTACH 'other.db' AS o"
    refused "VACUUM INTO 'other.db'"
    refused "SELECT load_extension('x')"
    refused "PRAGMA journal_mode=wal"
    refused "UPDATE sqlite_master SET sql = ''"
    refused "SELECT 1; SELECT 2"
    refused ""
    [ ! -e other.db ]
    query --sql "SELECT 1; -- and no more"
    expect_status 0
    query --sql "WITH RECURSIVE a(x) AS (VALUES(1) UNION ALL SELECT x+1 FROM a)
                 SELECT max(x) FROM a" --timeout 100ms
    expect_status 75
    query --sql "SELECT zeroblob(60000000) || zeroblob(60000000)"
    expect_status 74
}

@test "SQL from standard input, a limit, a width" {
    make
    analyze
    run "$ROLLCALL" query --sql - --limit 3 out \
        <<<"SELECT 'a very long text that nobody reads' AS what, rank
            FROM StepTraceTime -- the end"
    expect_status 0
    is "lines" 4 "${#lines[@]}"
    shows "that nobody reads"
    query --width 16 --sql "SELECT 'a very long text' AS what, 123456"
    is "the row" "a very    123456" "${lines[1]}"
    is "and its end" "long text" "${lines[2]} ${lines[3]}"
}

# A reason that was cut sent people to the file for its end.
# Those that sort only so many rows have the same ones first.
@test "a limit is the beginning of all rows" {
    local name

    make
    analyze
    for name in longest waits late links ops; do
        "$ROLLCALL" query --csv "$name" out | head -n 4 >first
        "$ROLLCALL" query --csv -n 3 "$name" out >limited
        [ "$(wc -l <limited)" = 4 ] || fail "$name"
        cmp first limited
    done
}

@test "on a terminal of 80 columns reasons are wrapped, heads are bold" {
    script -qec true /dev/null >/dev/null 2>&1 ||
        skip "there is no script(1), or no pseudo-terminal"
    make --break truncated-json:1 --skip-ranks 2
    analyze
    reason=$(sql "SELECT reason FROM Roster WHERE rank = 1")
    on_terminal ()
    {
        TERM=xterm "$@" script -qec "stty cols 80; '$ROLLCALL' query missing \
out" /dev/null | tr -d '\r' >seen
    }
    on_terminal env -u NO_COLOR
    is "bold lines" 1 "$(grep -c $'^\e\[1m' seen)"
    on_terminal env NO_COLOR=1
    is "escapes with NO_COLOR" 0 "$(grep -c $'\e' seen)"
    is "lines that are too long" "" "$(grep '.\{81\}' seen)"
    [[ "$(tr -d ' \n-' <seen)" == *"$(tr -d ' -' <<<"$reason")"* ]] ||
        fail "not all of the reason: $(cat seen)"
    is "escapes in a pipe" 0 "$("$ROLLCALL" query missing out | grep -c $'\e')"
    [[ "$("$ROLLCALL" query missing out)" == *"$reason"* ]]
}

@test "a result is found by file, directory, job or where one is" {
    make
    analyze
    mkdir -p root/jobs/nightly
    cp -r out/cluster_analysis_output root/jobs/nightly/
    for what in out out/cluster_analysis_output "$DB"; do
        run "$ROLLCALL" query job "$what"
        expect_status 0
    done
    run "$ROLLCALL" query --root root job nightly
    expect_status 0
    (cd out && "$ROLLCALL" query job)
    # a run of this host, as rollcall run leaves it
    mkdir -p -m 0700 state/run-1/host
    printf '{"analysis_db": "%s"}' "$PWD/$DB" >state/run-1/host/result.json
    run "$ROLLCALL" query --state state job run-1
    expect_status 0
    run "$ROLLCALL" query --root root job weekly
    expect_status 66
    shows "weekly"
    run "$ROLLCALL" query job job
    expect_status 66
    shows "rollcall analyze makes one"
    run "$ROLLCALL" query out ranks
    expect_status 2
    shows "the question comes first: rollcall query ranks out"
    run "$ROLLCALL" query jobs out
    expect_status 2
    shows 'no query "jobs": did you mean job? --list'
    run "$ROLLCALL" query waists out
    expect_status 2
    shows 'no query "waists": did you mean waits?'
    run "$ROLLCALL" query frobnicate out
    expect_status 2
    shows 'no query "frobnicate"; there are missing, ends, steps, ' "job, tables; --list"
}

@test "what is no result is named" {
    make
    analyze
    sql "PRAGMA user_version = 99"
    query job
    expect_status 65
    shows "its tables are of version 99" "analyze or build it again"
    echo "this is a text, not a database" >text
    sqlite3 other.db "CREATE TABLE t (a); INSERT INTO t VALUES (3)"
    run "$ROLLCALL" query job text
    expect_status 65
    shows "not an SQLite database"
    run "$ROLLCALL" query job other.db
    expect_status 65
    shows "not an analysis.db"
    run "$ROLLCALL" query --csv --sql "SELECT a FROM t" other.db
    expect_status 0
    shows 3
}
