#!/usr/bin/env bats
# rollcall analyze on captures that are whole

load helper

# every_form AGE: all forms and levels of one age of the profiler
every_form ()
{
    local form level

    for form in text db both; do
        for level in 0 1 2; do
            echo "$1 $form level $level"
            make --age "$1" --form "$form" --level "$level"
            analyze
            expect_status 0
            shows "4 of 4 present"
            truth_and_more
            is "ranks" "present 4" \
                "$(sql "SELECT state || ' ' || count(*) FROM Roster
                        GROUP BY state")"
            is "captures" "complete Level$level $(source_of "$form") 2" \
                "$(sql "SELECT DISTINCT state || ' ' || profiler_level || ' '
                        || source || ' ' || steps FROM Capture")"
        done
    done
}

source_of ()
{
    case $1 in
    text) echo text ;;
    *) echo analysis.db ;;
    esac
}

# A reader that takes the fields of one year for those of another would lose
# columns or rows here.
@test "captures of 2023: every form and level gives the rows of the truth" {
    every_form 2023
}

@test "captures of 2024: every form and level gives the rows of the truth" {
    every_form 2024
}

@test "captures of 2025: every form and level gives the rows of the truth" {
    every_form 2025
}

@test "captures of 2026: every form and level gives the rows of the truth" {
    every_form 2026
}

# The comparison itself: if it overlooked a difference, every test above would
# pass on a wrong result.
@test "the comparison with the truth notices one wrong row" {
    make
    analyze
    expect_status 0
    truth_and_more
    sql "UPDATE CommAnalyzerTime SET wait_time=wait_time+1e-9 WHERE rowid=(SELECT rowid FROM
        CommAnalyzerTime LIMIT 1 OFFSET 6)"
    run truth_holds
    expect_status 1
    analyze
    sql "UPDATE CommAnalyzerMatrix SET op_name=NULL WHERE rowid=(SELECT rowid FROM
        CommAnalyzerMatrix LIMIT 1 OFFSET 6)"
    run truth_holds
    expect_status 1
    analyze
    sql "DELETE FROM StepTraceTime WHERE rowid=(SELECT rowid FROM
        StepTraceTime LIMIT 1 OFFSET 2)"
    run truth_holds
    expect_status 1
    analyze
    sql "UPDATE CommAnalyzerBandwidth SET rowid=-1 WHERE rowid=(SELECT rowid FROM
        CommAnalyzerBandwidth LIMIT 1 OFFSET 6)"
    run truth_holds
    expect_status 1
}

@test "CRLF, indented metadata and a rank that is a string change nothing" {
    make --crlf --indent --string-rank
    analyze
    expect_status 0
    truth_and_more
}

@test "directories that people renamed are still captures of their rank" {
    make --layout renamed
    analyze
    expect_status 0
    truth_and_more
}

# Several batches of rows, and text that is larger than a reader's buffer.
@test "captures of 6000 ops give the rows of the truth" {
    make --ranks 2 --ops 3000
    analyze
    expect_status 0
    truth_and_more
}

# Threads write ranges of captures into one file: a range that is lost, doubled
# or in another place shows.
@test "any number of threads gives the same tables" {
    local j

    make --ranks 7
    for j in 1 2 5; do
        run "$ROLLCALL" analyze -q -j "$j" -o "out$j" job
        expect_status 0
    done
    ROLLCALL_THREADS=3 run "$ROLLCALL" analyze -q -o out3 job
    expect_status 0
    for j in 2 3 5; do
        same_tables out1/cluster_analysis_output/analysis.db \
            "out$j/cluster_analysis_output/analysis.db"
    done
    DB=out5/cluster_analysis_output/analysis.db
    truth_and_more
}

@test "--steps takes these steps only, from every table" {
    local w="replace(step, 'step', '') IN ('11', '13', '14')"

    make --steps 5 --first-step 10
    analyze --steps 11,13-20
    expect_status 0
    truth_and_more "$w"
    is "other steps" 0 "$(sql "SELECT count(*) FROM StepTraceTime
                               WHERE NOT $w")"
    is "other steps" 0 "$(sql "SELECT count(*) FROM CommAnalyzerMatrix
                               WHERE NOT $w")"
    is "Job.steps" 11,13-20 "$(sql "SELECT value FROM Job WHERE key='steps'")"
}

# Or a mistyped step would look like a job that did nothing.
@test "--steps without any such step says so, and what there is" {
    make --repeat 2             # 10 and 11, then 12 and 13
    analyze --steps 99
    expect_status 65
    shows "no capture has any of the steps 99" "steps 10 to 13"
    nothing_left .
    analyze                     # nor is a result replaced by an empty one
    cp "$DB" before.db
    analyze --steps 14-20
    expect_status 65
    cmp before.db "$DB"
}

# Then the steps are not what is wrong.
@test "--steps of captures that cannot be read: the reasons are told" {
    make --ranks 1 --break raw:0
    analyze --steps 99
    expect_status 65
    shows "never analysed" "no capture could be read"
}

@test "--world-size larger than the job names the ranks that are missing" {
    make
    analyze --world-size 6
    expect_status 1
    shows "4 of 6 present" "missing     4, 5"
    roster_is 5 missing
    truth_and_more
}

@test "--world-size smaller than the job: ranks that nobody expected" {
    make
    analyze --world-size 3
    expect_status 1
    shows "3 of 3 present" "unexpected  3" "3 ranks are expected"
    roster_is 3 unexpected
    run "$ROLLCALL" analyze --world-size 1 -o one job
    expect_status 1
    shows "1 of 1 present" "1 rank is expected" "1 is expected (--world-size)"
    is "expected" 0 "$(sql "SELECT expected FROM Roster WHERE rank=3")"
    truth_and_more              # its rows are kept
}

@test "ranks that did not come are named, exit status 1" {
    make --ranks 9 --skip-ranks 1,4-6,8
    analyze
    expect_status 1
    shows "4 of 9 present" "missing     1, 4-6, 8"
    is "missing" 1,4,5,6,8 "$(sql "SELECT group_concat(rank) FROM Roster
                                   WHERE state='missing'")"
    truth_and_more
}

# Without metadata the highest rank is all that is known: a missing last rank
# is not in the roster, so the summary must say that it guesses; but there were
# as many as links show.
@test "without metadata the number of ranks is a guess, and said to be" {
    make --skip-ranks 1
    rm job/*/profiler_metadata.json
    analyze
    expect_status 1
    shows "is a guess" "missing     1"
    is "known by" guess "$(sql "SELECT value FROM Job
                                WHERE key='roster_known_by'")"
    truth_and_more
    make --skip-ranks 2,3
    rm job/*/profiler_metadata.json
    analyze
    expect_status 1
    shows "2 of at least 4 present" "missing     2, 3"
    is "known by" "ops of the captures" "$(sql "SELECT value FROM Job
                                WHERE key='roster_known_by'")"
    analyze --world-size 4
    shows "2 of 4 present" "missing     2, 3"
    echo '{"job":"j","rank":-1,"world_size":5}' >job/.rollcall-job
    analyze
    shows "2 of 5 present" "missing     2-4"
    is "known by" "marks of the captures" "$(sql "SELECT value FROM Job
                                WHERE key='roster_known_by'")"
    # a damaged one is named once, and the captures are read
    echo '{"job":"j","rank":-1,"wor' >job/.rollcall-job
    analyze
    shows "2 of at least 4 present"
    is "told" 1 "$(grep -c "job/.rollcall-job is damaged" <<<"$output")"
}

# A launcher's number of ranks is no statement of the captures.
@test "marks do not outvote what one capture says of its world" {
    make --ranks 3
    rm "$(capture_of 0)/profiler_metadata.json" \
        "$(capture_of 2)/profiler_metadata.json"
    echo '{"job":"j","rank":-1,"world_size":6}' >job/.rollcall-job
    analyze
    expect_status 0
    shows "3 of 3 present"
    is "known by" "metadata of the captures" "$(sql "SELECT value FROM Job
                                WHERE key='roster_known_by'")"
}

@test "--repeat: all captures of a rank are kept" {
    make --repeat 2
    analyze
    expect_status 0
    truth_and_more
    is "captures" 8 "$(sql "SELECT count(*) FROM Capture
                            WHERE state='complete'")"
    is "steps" 10,11,12,13 \
        "$(sql "SELECT group_concat(DISTINCT step) FROM StepTraceTime")"
}

@test "every row names its capture, and that one its rank" {
    local table

    make --repeat 2
    analyze
    for table in $TABLES; do
        is "rows of $table without a capture" 0 "$(sql "SELECT count(*)
            FROM $table t LEFT JOIN Capture c ON c.id=t.capture
            WHERE c.rank IS NOT t.rank")"
    done
}

# The join that the documentation promises: one group for each row.
@test "every row of the tables belongs to exactly one group" {
    make
    analyze
    is "rows" "$(sql "SELECT count(*) FROM CommAnalyzerTime")" \
        "$(sql "SELECT count(*) FROM CommAnalyzerTime t
                JOIN CommGroup g ON g.group_name=t.group_name
                JOIN CommGroupMember m ON m.comm_group=g.id AND
                m.rank=t.rank")"
    is "types" "collective p2p" "$(sql "SELECT group_concat(type, ' ') FROM
        (SELECT DISTINCT type FROM CommGroup WHERE type IS NOT NULL
         ORDER BY 1)")"
}

# The group is then known from other ranks' metadata: a second group made of
# this rank's ops would double its rows in that join.
@test "the groups of a rank without metadata are those of the others" {
    make
    rm "$(capture_of 1)/profiler_metadata.json"
    analyze
    expect_status 0
    is "rows" "$(sql "SELECT count(*) FROM CommAnalyzerTime")" \
        "$(sql "SELECT count(*) FROM CommAnalyzerTime t
                JOIN CommGroup g ON g.group_name=t.group_name
                JOIN CommGroupMember m ON m.comm_group=g.id AND
                m.rank=t.rank")"
    is "groups without a name" 0 \
        "$(sql "SELECT count(*) FROM CommGroup WHERE group_id IS NULL")"
}

@test "--only analysis.db is made, any other name is a usage error" {
    make
    analyze --only analysis.db
    expect_status 0
    is "files" analysis.db "$(ls -A out/cluster_analysis_output)"
    analyze --only cluster.db
    expect_status 2
    shows "cluster.db"
}

json ()
{
    sqlite3 -batch :memory: "SELECT json_extract(readfile('summary.json'),
                                                 '\$.$1')"
}

@test "--json prints one valid object with the values of the database" {
    make --skip-ranks 2 --slow-rank 3
    "$ROLLCALL" analyze --json -o out job >summary.json || [ $? -eq 1 ]
    is "valid JSON" 1 "$(sqlite3 -batch :memory: \
        "SELECT json_valid(readfile('summary.json'))")"
    is "ranks expected" 4 "$(json ranks_expected)"
    is "ranks present" 3 "$(json ranks_present)"
    is "missing rank" 2 "$(json 'ranks_not_present[0].rank')"
    is "its state" missing "$(json 'ranks_not_present[0].state')"
    is "slowest rank" 3 "$(json slowest_rank.rank)"
    is "first step" 10 "$(json first_step)"
    is "rows" "$(sql "SELECT (SELECT count(*) FROM CommAnalyzerTime) +
        (SELECT count(*) FROM CommAnalyzerBandwidth) +
        (SELECT count(*) FROM CommAnalyzerMatrix) +
        (SELECT count(*) FROM StepTraceTime)")" "$(json rows)"
    is "bytes" "$(stat -c %s "$DB")" "$(json file_bytes)"
    is "path" "$DB" "$(json path)"
    is "computing" 1 "$(sql "SELECT abs(avg(computing) -
        $(json computing_us)) < 1e-6 FROM StepTraceTime")"
}

# Somebody is always last: that alone is worth no line.
@test "the slowest rank and link are named only if they stand out" {
    make --ranks 8 --ops 40
    analyze
    expect_status 0
    shows "slowest rank  none stands out" "slowest link  none stands out"
    "$ROLLCALL" analyze --json -o out job >summary.json
    is "slowest rank" "" "$(json slowest_rank)"
    make --ranks 8 --ops 40 --slow-rank 5 --slow-link 2-3
    analyze
    shows "slowest rank  5: " "slowest link  2 -> 3 over HCCS"
}

# Two numbers for one link made people ask which one is wrong.
@test "summary and finding tell the same bandwidths of a link" {
    local link

    make --ranks 8 --ops 40 --slow-link 2-3
    analyze
    link=$(sed -n 's/^slowest link  //p' <<<"$output")
    "$ROLLCALL" findings out >found || [ $? -eq 1 ]
    is "the link" "$link" "$(sed -n "s/.*The link \(.* over [A-Z,]*\) moves \
\(.*\), the median of its kind is \(.* GB\/s\):.*/\1: \2, median of its kind \
\3/p" found)"
    # an edge step that does not count, counts in neither
    sql "DELETE FROM Finding"
    run "$ROLLCALL" report out
    "$ROLLCALL" analyze --json -o out job >summary.json
    is "its transports" "HCCS,SIO" "$(sqlite3 -batch :memory: "SELECT
        json_extract(readfile('summary.json'), '\$.slowest_link.transport')")"
}

# A few bytes take a few microseconds on any link.
@test "short messages say nothing of a link's bandwidth" {
    make --ranks 8 --ops 40 --form db
    sql "UPDATE CommAnalyzerMatrix SET transit_size=9.6e-05,
         transit_time=0.0017 WHERE src_rank='0' AND dst_rank='3'" \
        "$(output_of 0)/analysis.db"
    analyze
    expect_status 0
    shows "slowest link  none stands out"
}

# The rows of an older capture that a newer one replaces are counted no more.
@test "the summary counts the rows that are in the file" {
    make --break duplicate-same-step:1
    one_job
    "$ROLLCALL" analyze --json -o out job >summary.json
    is "rows" "$(sql "SELECT (SELECT count(*) FROM CommAnalyzerTime) +
        (SELECT count(*) FROM CommAnalyzerBandwidth) +
        (SELECT count(*) FROM CommAnalyzerMatrix) +
        (SELECT count(*) FROM StepTraceTime)")" "$(json rows)"
}

# It is of one of the files, and not of each.
@test "a note about the files of a result is said once" {
    make --ranks 2
    sed -i 's/"0-1":/"0-9":/' "$(output_of 0)/communication_matrix.json"
    run "$ROLLCALL" analyze -o out job
    is "lines with the note" 1 \
        "$(grep -c 'row of links: it is not known' <<<"$output")"
    shows "  note: cluster_analysis.db lacks"
}

# Lines of logs are the daemons'.
@test "a pipe gets the text that a terminal gets" {
    make --skip-ranks 2
    run "$ROLLCALL" analyze -o out job
    expect_status 1
    shows "ranks         3 of 4 present" "  missing     2"
    [[ "$output" != *"event="* ]] || fail "$output"
    local piped=$output

    run "$ROLLCALL" analyze --text -o out job
    is "with --text" "$piped" "$output"
}

@test "text on a terminal" {
    script -qec true /dev/null >/dev/null 2>&1 ||
        skip "there is no script(1), or no pseudo-terminal"
    make
    run script -qec "'$ROLLCALL' analyze -o out job" /dev/null
    expect_status 0
    shows "ranks         4 of 4 present"
}

# After "0 s left" a job of 256 ranks showed nothing for ten seconds.
@test "on a terminal each phase is told, and no line of it stays" {
    script -qec true /dev/null >/dev/null 2>&1 ||
        skip "there is no script(1), or no pseudo-terminal"
    make
    script -qec "'$ROLLCALL' analyze -o out job" /dev/null >seen
    tr '\r' '\n' <seen >lines
    for phase in "reading: 4 of 4 captures" joining "computing who waited" \
        "making indexes" "summing up" "computing findings" \
        "checking the file" "making the files beside analysis.db"; do
        grep -q "^$phase.*.\[K$" lines || fail "no $phase in: $(cat -v lines)"
    done
    grep -q "^.\[Kjob  " lines || fail "not cleared: $(cat -v lines)"
    is "through a pipe" "" "$("$ROLLCALL" analyze -o out job 2>&1 >/dev/null)"
}

@test "--quiet prints nothing, whatever comes of it" {
    make --skip-ranks 2
    run "$ROLLCALL" analyze -q -o out job
    expect_status 1
    is "output" "" "$output"
}

# ---- where the results go ----

@test "without -o: into the one directory that is analysed" {
    make
    run "$ROLLCALL" analyze --text job
    expect_status 0
    DB=job/cluster_analysis_output/analysis.db
    truth_and_more
    # and it is no capture the next time
    run "$ROLLCALL" analyze --text job
    expect_status 0
    is "captures" 4 "$(sql "SELECT count(*) FROM Capture")"
}

@test "several directories need -o" {
    make
    run "$ROLLCALL" analyze job job
    expect_status 2
    shows "-o DIR"
    nothing_left .
}

@test "several directories, one below the other or twice: captures once" {
    make
    mkdir job/sub
    mv "$(capture_of 2)" job/sub
    run "$ROLLCALL" analyze --text -o out job/sub job job/. ./job/
    expect_status 0
    is "captures" 4 "$(sql "SELECT count(*) FROM Capture")"
    truth_and_more
}

@test "-o makes the directories on its way" {
    make
    run "$ROLLCALL" analyze -q -o a/b/c job
    expect_status 0
    DB=a/b/c/cluster_analysis_output/analysis.db
    truth_and_more
}

@test "a second run replaces what the first one wrote" {
    make --skip-ranks 3
    analyze
    expect_status 1
    make
    analyze
    expect_status 0
    truth_and_more
    is "files" "$RESULTS" "$(ls -A out/cluster_analysis_output)"
}

# Nobody loses the work of another tool to rollcall.
@test "another tool's analysis.db is kept, and said to be" {
    local d=out/cluster_analysis_output

    make
    mkdir -p "$d"
    sqlite3 "$d/analysis.db" "CREATE TABLE precious (x)"
    analyze
    expect_status 0
    shows "analysis.db.before-rollcall"
    is "kept" precious "$(sql "SELECT name FROM sqlite_schema" \
                          "$d/analysis.db.before-rollcall")"
    truth_and_more
    echo text >"$d/analysis.db"
    analyze
    shows "analysis.db.before-rollcall.1"
    is "kept" text "$(cat "$d/analysis.db.before-rollcall.1")"
    is "kept" precious "$(sql "SELECT name FROM sqlite_schema" \
                          "$d/analysis.db.before-rollcall")"
    analyze
    is "files" 5 "$(find "$d" -type f | wc -l)"
}

@test "the result is whole, and says what it is" {
    make
    analyze
    is "check" ok "$(sql "PRAGMA integrity_check")"
    is "application" 1380928588 "$(sql "PRAGMA application_id")"
    is "version" 1 "$(sql "PRAGMA user_version")"
    is "journal" delete "$(sql "PRAGMA journal_mode")"
    is "mode" 640 "$(stat -c %a "$DB")"
}

@test "views: ops and links, none of them twice" {
    make
    analyze
    is "CommOp" "$(sql "SELECT count(*) FROM CommAnalyzerTime")" \
        "$(sql "SELECT count(*) FROM CommOp")"
    is "ops without a group" 0 \
        "$(sql "SELECT count(*) FROM CommOp WHERE comm_group IS NULL")"
    is "LinkBandwidth" "$(sql "SELECT count(*) FROM (SELECT DISTINCT rank,
        step, group_name, hccl_op_name, transport_type
        FROM CommAnalyzerBandwidth)")" \
        "$(sql "SELECT count(*) FROM LinkBandwidth")"
    is "StepByRank" 8 "$(sql "SELECT count(*) FROM StepByRank
                              WHERE host='node0'")"
}

@test "analysing leaves the captures as they were" {
    make --form both
    fingerprint job >before
    analyze
    fingerprint job >after
    cmp before after
}

# ---- where the captures are ----

@test "a name with blanks and what SQLite's URIs give a meaning to" {
    make --form both
    mv job 'a job, 100% #1?'
    run "$ROLLCALL" analyze --text -o 'an out' 'a job, 100% #1?'
    expect_status 0
    DB='an out/cluster_analysis_output/analysis.db'
    truth_and_more
}

@test "from another directory, with relative paths" {
    make
    mkdir -p else/where
    cd else/where
    run "$ROLLCALL" analyze --text -o ../../out ../../job
    expect_status 0
    cd ../..
    truth_and_more
}

@test "the directory is itself a capture" {
    make
    run "$ROLLCALL" analyze --text -o out "$(capture_of 2)/"
    expect_status 1             # its metadata knows of 3 more
    shows "1 of 4 present" "missing     0, 1, 3"
    truth_holds "rank=2"
}

@test "captures in folders below folders" {
    make
    mkdir -p job/a/b/c/d job/e
    mv "$(capture_of 1)" job/a/b/c/d
    mv "$(capture_of 2)" job/e
    analyze
    expect_status 0
    truth_and_more
}

@test "links: a loop does no harm, a linked capture is told about" {
    make
    ln -s . job/loop
    ln -s .. job/up
    mv "$(capture_of 1)" away_ascend_pt
    ln -s ../away_ascend_pt job/away_ascend_pt
    ln -s ../away.json.gz job/rank1.pt.trace.json.gz
    analyze
    expect_status 1
    shows "job/away_ascend_pt is a symbolic link" "missing     1" \
        "job/rank1.pt.trace.json.gz is a symbolic link"
    is "captures" 3 "$(sql "SELECT count(*) FROM Capture")"
}

@test "a link given by hand is followed" {
    make
    ln -s job link
    run "$ROLLCALL" analyze --text -o out link
    expect_status 0
    truth_and_more
}

# A decimal comma would turn 1.5 into 1 when numbers are read or written.
@test "a locale with a decimal comma changes nothing" {
    local l=de_DE.UTF-8

    if ! locale -a | grep -qi '^de_DE\.utf-\?8$' &&
        localedef -i de_DE -f UTF-8 "$PWD/$l" 2>/dev/null; then
        export LOCPATH=$PWD
    fi
    make
    LC_ALL=$l LC_NUMERIC=$l run "$ROLLCALL" analyze --text -o out job
    expect_status 0
    truth_and_more
    LC_ALL=$l "$ROLLCALL" analyze --json -o out job >summary.json
    is "valid JSON" 1 "$(sqlite3 -batch :memory: \
        "SELECT json_valid(readfile('summary.json'))")"
}

# File names are bytes; a database of text that is not UTF-8 breaks readers.
@test "a name that is not UTF-8 is stored as UTF-8" {
    make
    mv "$(capture_of 1)" "$(printf 'job/\xff\xe9_ascend_pt')"
    "$ROLLCALL" analyze --json -o out job >summary.json
    truth_and_more
    is "name" EFBFBDEFBFBD5F \
        "$(sql "SELECT substr(hex(name), 1, 14) FROM Capture WHERE rank=1")"
}

@test "no captures below the directory" {
    mkdir -p job/empty
    analyze
    expect_status 66
    shows "no captures below" "_ascend_pt"
    nothing_left .
    [ ! -e out ]
}

@test "a directory that does not exist, or is a file" {
    analyze
    expect_status 66
    shows "job"
    [ ! -e out ]
    echo text >job
    analyze
    expect_status 66
    make
    run "$ROLLCALL" analyze -o out job missing
    expect_status 66
    shows "missing"
}

@test "directories that cannot be read are named, the rest is analysed" {
    make
    mkdir job/secret
    chmod 0 job/secret
    run humbly "$ROLLCALL" analyze -o out job/secret
    expect_status 77
    shows "cannot open directory job/secret: Permission denied"
    run humbly "$ROLLCALL" analyze --text -o out job
    chmod 700 job/secret
    expect_status 0
    shows "job/secret" "Permission denied"
    truth_and_more
}

@test "as a user who may read but not write" {
    local public

    [ "$(id -u)" -eq 0 ] || skip "only root can become another user"
    runuser -u nobody -- test -x "$ROLLCALL" ||
        skip "nobody may not run $ROLLCALL"
    public=$(mktemp -d)         # BATS_TEST_TMPDIR is below a private one
    echo "rm -rf '$public'" >cleanup
    chmod 755 "$public"
    make
    mv job "$public"
    chmod -R a+rX "$public/job"
    cd "$public"
    run runuser -u nobody -- "$ROLLCALL" analyze job
    expect_status 73
    shows "Permission denied" "give -o DIR"
    install -d -o nobody out
    run runuser -u nobody -- "$ROLLCALL" analyze --text -o out job
    expect_status 0
    cd "$BATS_TEST_TMPDIR"
    DB=$public/out/cluster_analysis_output/analysis.db
    truth_and_more
}

teardown ()
{
    cd "$BATS_TEST_TMPDIR" || return
    if [ -e cleanup ]; then
        sh ./cleanup
    fi
}

# ---- outputs that fail ----

@test "an output that cannot be written" {
    make
    mkdir out
    chmod 500 out
    run humbly "$ROLLCALL" analyze -o out job
    expect_status 73
    shows "out/cluster_analysis_output" "Permission denied"
    nothing_left .
    chmod 700 out
    mkdir out/cluster_analysis_output
    chmod 500 out/cluster_analysis_output
    run humbly "$ROLLCALL" analyze -o out job
    expect_status 73
    chmod 700 out/cluster_analysis_output
    nothing_left .
}

@test "an output that is a file" {
    make
    echo text >out
    run "$ROLLCALL" analyze -o out job
    expect_status 73
    shows "out"
    is "the file" text "$(cat out)"
}

# In a mount namespace of its own, which takes the file system along at the
# end.  $1: bytes; the rest is run with the file system at 'small'.
with_small_disk ()
{
    mkdir -p small
    run unshare -m sh -c '
        mount -t tmpfs -o size="$1" rollcall-test small || exit 99
        shift
        "$@"
        status=$?
        find small -type f >left
        exit $status' sh "$@"
    [ "$status" -ne 99 ] || skip "file systems cannot be mounted here"
}

@test "a full disk: exit status 73, the reason, nothing left behind" {
    unshare -m true 2>/dev/null || skip "no mount namespaces here"
    make --ranks 2 --ops 1000
    for size in 100k 400k; do
        with_small_disk $size "$ROLLCALL" analyze -o small job
        expect_status 73
        shows "small/cluster_analysis_output"
        # SQLite says it of the empty tables
        [[ "$output" =~ "No space left"|"disk is full" ]] || fail "$output"
        is "left behind" "" "$(cat left)"
    done
    with_small_disk 100m "$ROLLCALL" analyze -o small job
    expect_status 0
}

# ---- being stopped ----

stopped_by ()
{
    make
    analyze
    cp "$DB" before.db
    paused_at communication.json "$ROLLCALL" analyze -o out job
    signals=$(grep ^Sig "/proc/$pid/status" | paste -sd' ')
    kill "-$1" "$pid"
    go_on
    end_of "$pid"
    shows "interrupted" || fail "before $1: $signals"
    is "files" "$RESULTS" "$(ls -A out/cluster_analysis_output)"
    cmp before.db "$DB"         # the old result is still there
}

@test "SIGINT while captures are read: ends soon, leaves nothing behind" {
    stopped_by INT
    expect_status 130
}

@test "SIGTERM and SIGHUP too" {
    stopped_by TERM
    stopped_by HUP
}

# nohup would protect nothing if the handler were set all the same.
@test "a signal that is ignored from the start stays ignored" {
    make
    paused_at communication.json sh -c \
        'trap "" HUP && exec "$0" "$@"' "$ROLLCALL" analyze --text -o out job
    kill -HUP "$pid"
    go_on
    end_of "$pid"
    expect_status 0
    truth_and_more
}

# Of a run that was killed nothing can clean up but the next one.
@test "what a killed run left is removed by the next one" {
    make
    paused_at communication.json "$ROLLCALL" analyze -o out job
    kill -KILL "$pid"
    end_of "$pid"
    expect_status 137
    [ -n "$(ls -A out/cluster_analysis_output)" ]
    analyze
    expect_status 0
    is "files" "$RESULTS" "$(ls -A out/cluster_analysis_output)"
}

# Two people analyse the same job at once: both get a whole result.
@test "two runs into one directory do not disturb each other" {
    make
    paused_at communication.json "$ROLLCALL" analyze -q -o out job
    analyze
    expect_status 0
    go_on
    end_of "$pid"
    expect_status 0
    is "files" "$RESULTS" "$(ls -A out/cluster_analysis_output)"
    truth_and_more
}
