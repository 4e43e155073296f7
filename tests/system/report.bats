#!/usr/bin/env bats
# rollcall report: a result as one page, which needs nothing else

load helper

PAGE=out/cluster_analysis_output/report.html

# report [ARGUMENT]...: of out/; sets status and output
report ()
{
    run "$ROLLCALL" report "$@" out
}

# data SQL: of the page's JSON, as a table function's argument j
data ()
{
    grep -o '<script type="application/json" id="data">.*</script>' "$PAGE" |
        sed 's/^[^>]*>//; s/<\/script>$//' >data.json
    sqlite3 -batch :memory: "WITH d(j) AS (SELECT readfile('data.json'))
        SELECT $1 FROM d"
}

# self_contained: nothing of it is anywhere else, and nothing else may run
self_contained ()
{
    local policy hash

    # texts of the data are no markup: the next test but one, and the browser's
    grep -v '^<script type="application/json"' "$PAGE" >page.txt
    ! grep -niE '<(link|img|iframe|object|embed|base)[ >]|@import|url\([^#]' \
        page.txt || fail "it refers to something"
    ! grep -niE '(src|href|action) *= *["'\'']?(https?:)?//' page.txt ||
        fail "it refers to a server"
    policy=$(grep -o 'content="default-src[^"]*"' "$PAGE")
    [[ "$policy" == *"default-src 'none'"* && "$policy" != *unsafe* &&
        "$policy" != *http* ]] || fail "policy: $policy"
    # one for each script and style, and no script besides
    is "hashes" 3 "$(grep -o "'sha256-" <<<"$policy" | wc -l)"
    is "scripts" 2 "$(grep -c '<script>' page.txt)"
}

@test "the page is there, is one file, and has what the result has" {
    make --ranks 4 --steps 2 --extras --slow-rank 1
    analyze
    report
    expect_status 0
    shows "written" "$PAGE"
    is "first line" "<!DOCTYPE html>" "$(head -n 1 "$PAGE")"
    self_contained
    grep -q 'Michael Bostock' "$PAGE"
    is "valid JSON" 1 "$(data 'json_valid(j)')"
    is "ranks" 4 "$(data "json_array_length(j, '\$.roll.rows')")"
    # the slow rank's first step, in ms, is that of the table
    is "computing" "$(sql "SELECT round(computing/1e3, 2) FROM StepTraceTime
        WHERE rank=1 ORDER BY CAST(step AS INTEGER) LIMIT 1")" \
        "$(data "round(json_extract(j, '\$.times.computing[2]'), 2)")"
    [ "$(data "json_array_length(j, '\$.memory.rows')")" -gt 0 ]
    # the same again: it is replaced, and nothing is kept beside it
    find out | sort >before
    cp "$PAGE" before.html
    report
    expect_status 0
    find out | sort | cmp before
    cmp "$PAGE" before.html
}

@test "every number of the links is that of their table" {
    make --ranks 4 --steps 2
    analyze
    report
    is "MB" "$(sql "SELECT round(sum(transit_size)) FROM CommAnalyzerMatrix
        WHERE src_rank<>dst_rank AND hccl_op_name LIKE '%-total'
        AND transit_time>0")" \
        "$(data "(SELECT round(sum(json_extract(value, '\$[4]'))) FROM
            json_each(j, '\$.links.rows'))")"
    is "waiting" "$(sql "SELECT round(sum(wait_ms), 2) FROM Wait")" \
        "$(data "(SELECT round(sum(json_extract(value, '\$[2]')), 2) FROM
            json_each(j, '\$.waits.rows'))")"
    is "packets" "$(sql "SELECT sum(count) FROM CommAnalyzerBandwidth WHERE
        transport_type<>'SDMA' AND package_size>0")" \
        "$(data "(SELECT sum(json_extract(value, '\$[2]')) FROM
            json_each(j, '\$.packets.rows'))")"
}

@test "names and reasons cannot become markup" {
    local evil='</script><script>alert(1)</script><!--<img src=//x>'

    make --ranks 4 --skip-ranks 2
    analyze
    sql "UPDATE Roster SET host='$evil', reason='$evil'||char(8232);
         UPDATE CommGroup SET pg_name='$evil';
         UPDATE Job SET value='$evil' WHERE key='inputs';
         UPDATE CommAnalyzerMatrix SET transport_type='$evil';
         DELETE FROM Finding;
         INSERT INTO Finding (id, kind, severity, text, hint, query)
         VALUES (1, '$evil', '$evil', '$evil', '$evil', '$evil')"
    report
    expect_status 0
    self_contained
    is "ends of scripts" 3 "$(grep -o '</script' "$PAGE" | wc -l)"
    ! grep -q 'alert(1)</script' "$PAGE"
    ! grep -q $'\xe2\x80\xa8' "$PAGE"
    is "the text" "$evil" "$(data "json_extract(j, '\$.findings.rows[0][9]')")"
}

@test "a job of 1,024 ranks is a page that is small" {
    local size

    make --ranks 2 --steps 2
    analyze
    # ranks that are only in the tables: what is written of each is the same
    sql "WITH RECURSIVE c(i) AS (SELECT 2 UNION ALL SELECT i+1 FROM c
             WHERE i<1023)
         INSERT INTO Roster SELECT i, 'a-host-with-quite-a-name-'||(i/8), i%8,
             i%8, 1, 'failed', hex(randomblob(2000)), 0,
             NULL, NULL, NULL FROM c;
         WITH RECURSIVE c(i) AS (SELECT 2 UNION ALL SELECT i+1 FROM c
             WHERE i<1023)
         INSERT INTO StepTraceTime SELECT 0, s.value, 1e3+random()%1000, 2e3,
             3e3, 4e3, 5e3, 6e3, 7e3, 8e3, 9e3, i, 1 FROM c,
             json_each('[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,
                         21,22,23,24,25,26,27,28,29,30,31,32,33,34,35]') s;
         INSERT INTO Wait SELECT 'step10', 1, a.rank, b.rank, 1, 0.123456789, 0
             FROM Roster a, Roster b WHERE a.rank%8=b.rank%8"
    report
    expect_status 0
    size=$(stat -c %s "$PAGE")
    [ "$size" -lt 5000000 ] || fail "$size bytes"
    is "waiting cells" 4096 "$(data "json_array_length(j, '\$.waits.rows')")"
    is "by host" 1 "$(data "json_extract(j, '\$.fold.by_host')")"
}

@test "another tool's page is kept, and an option says where ours goes" {
    make --ranks 2
    analyze
    echo theirs >"$PAGE"
    report
    expect_status 0
    shows "$PAGE.before-rollcall"
    is "what was there" theirs "$(cat "$PAGE.before-rollcall")"
    mkdir elsewhere
    report -o elsewhere/x.html
    expect_status 0
    cmp "$PAGE" elsewhere/x.html
    run "$ROLLCALL" report -o y.html "$DB"
    expect_status 0
    cmp "$PAGE" y.html
    report -o elsewhere
    expect_status 2
    # it was renamed, and a page put in its place
    mkfifo pipe
    report -o pipe
    expect_status 2
    shows "not of a directory, device or pipe"
    [ -p pipe ]
    report -o y.html/x.html
    expect_status 73
    shows "y.html is not a directory"
    report -o no/such/place.html
    expect_status 73
    is "left over" "" "$(find . -name '.rollcall-*')"
}

@test "what is no result is refused, and nothing is written" {
    mkdir out
    report
    expect_status 66
    echo text >out/analysis.db
    report
    expect_status 65
    shows "not an SQLite database"
    rm out/analysis.db
    sqlite3 -batch out/analysis.db "CREATE TABLE t (x)"
    report
    expect_status 65
    is "files" 1 "$(find out -type f | wc -l)"
    run "$ROLLCALL" report out out
    expect_status 2
}

# The output's directory is made for its owner and group alone.
@test "a result that may not be read is no output that cannot be written" {
    make --ranks 2
    analyze
    chmod 000 "$DB"
    run humbly "$ROLLCALL" report -o here.html out
    expect_status 77
    shows "cannot read" "Permission denied"
    chmod 000 "${DB%/*}"
    run humbly "$ROLLCALL" report out
    chmod 700 "${DB%/*}"
    expect_status 77
    shows "cannot look for out/cluster_analysis_output" "Permission denied"
    [ ! -e here.html ]
}

@test "a result without rows is a page as well" {
    make --ranks 1 --break raw:0
    analyze
    [ -e "$DB" ] || skip "nothing was read, and no result was written"
    report
    expect_status 0
    is "valid JSON" 1 "$(data 'json_valid(j)')"
}

@test "a result of another version is refused" {
    make --ranks 2
    analyze
    sql "PRAGMA user_version=99"
    report
    expect_status 65
    shows "another version of rollcall" "analyze or build it again"
}

@test "what cannot be printed is not the page" {
    make --ranks 2
    analyze
    rm "$PAGE"
    run sh -c "'$ROLLCALL' report out >/dev/full"
    expect_status 74
    shows "cannot write to standard output: No space left"
    [ -s "$PAGE" ]
}

# A pipe to a mail or a browser elsewhere: the page and nothing beside it.
@test "report -o - is the page on standard output" {
    make --ranks 2
    analyze
    report
    "$ROLLCALL" report -o - out >piped.html
    cmp "$PAGE" piped.html
    [ ! -e ./- ]
    run sh -c "'$ROLLCALL' report -o - out >/dev/full"
    expect_status 74
    shows "cannot write to standard output: No space left"
}

@test "interrupted: the old page stays, and nothing is left beside it" {
    make --ranks 2
    analyze
    cksum <"$PAGE" >before
    paused_at 0.report.html "$ROLLCALL" report out
    kill -TERM "$pid"
    go_on
    end_of "$pid"
    expect_status 143
    shows "interrupted, no page was written"
    cmp before <(cksum <"$PAGE")
    is "files" "$RESULTS" "$(ls -A out/cluster_analysis_output)"
}

@test "a page that cannot be written leaves the old one" {
    make --ranks 2
    analyze
    report
    cksum <"$PAGE" >before
    # a page is larger than 0.2 MB: the limit is on it, not on the rest
    run bash -c "ulimit -f 100; trap '' XFSZ; '$ROLLCALL' report out"
    expect_status 73
    cmp before <(cksum <"$PAGE")
    is "left over" "" "$(find out -name '.rollcall-*')"
}
