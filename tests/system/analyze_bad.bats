#!/usr/bin/env bats
# rollcall analyze on captures that are broken: what is said of them, and that
# the other ranks come to no harm

load helper

teardown ()
{
    cd "$BATS_TEST_TMPDIR" || return
    chmod -R u+rwX job 2>/dev/null || true
}

others_unharmed ()
{
    truth_and_more || return
    is "other ranks" "0 2 3" "$(sql "SELECT group_concat(rank, ' ')
        FROM Roster WHERE rank<>1 AND state='present'")"
}

# after_analysis STATE TEXT...: rank 1 is in this state and every text is in
# its reason; the roster follows, and with it the exit status
after_analysis ()
{
    local state=$1

    shift
    others_unharmed
    state_is 1 "$state"
    case $state in
    complete)
        expect_status 0
        roster_is 1 present
        ;;
    collecting | raw | analysing)
        expect_status 1
        roster_is 1 raw
        ;;
    *)
        expect_status 1
        roster_is 1 "$state"
        ;;
    esac
    reason_has 1 "$@"
}

rows_of ()
{
    sql "SELECT count(*) FROM $2 WHERE rank=$1"
}

# ---- damaged text files ----

@test "communication.json is cut off" {
    make --break truncated-json:1
    analyze
    after_analysis partial "communication.json" "op hcom_" "byte " \
        "the file ends" "(CommAnalyzerTime, CommAnalyzerBandwidth)"
    [ "$(rows_of 1 CommAnalyzerTime)" -gt 0 ]       # what came before counts
    [ "$(rows_of 1 CommAnalyzerMatrix)" -gt 0 ]
}

@test "a text stands where a number should" {
    make --break wrong-type:1
    analyze
    after_analysis partial "communication.json" "op hcom_" "byte " \
        "where a number was expected"
}

@test "communication.json is empty" {
    make --break empty-file:1
    analyze
    after_analysis partial "communication.json is empty"
    is "rows" 0 "$(rows_of 1 CommAnalyzerTime)"
}

@test "communication_matrix.json is not there" {
    make --break missing-file:1
    analyze
    after_analysis partial "CommAnalyzerMatrix is missing" \
        "communication_matrix.json"
    [ "$(rows_of 1 CommAnalyzerTime)" -gt 0 ]
}

@test "step_trace_time.csv is not there" {
    make --break missing-csv:1
    analyze
    after_analysis partial "StepTraceTime is missing" "step_trace_time.csv"
}

# What is stored must be valid UTF-8 all the same, or readers of the database
# stumble over it.
@test "bytes that are not UTF-8 are replaced, counted and placed" {
    make --break bad-utf8:1
    analyze
    after_analysis partial "communication.json: byte " "not valid UTF-8" \
        "(1 byte stored as"
    is "replaced" 1 "$(sql "SELECT count(DISTINCT hccl_op_name)
        FROM CommAnalyzerTime WHERE rank=1 AND hex(hccl_op_name)
        LIKE '%EFBFBD%'")"
}

@test "a number is too large for a double" {
    make --break overflow-number:1
    analyze
    after_analysis partial "communication.json" "byte " "1e999" "too large"
}

# 200 MB of one string: neither kept in memory nor waited for.
@test "a string without an end: quick, in little memory" {
    make --break huge-string:1 --huge-bytes 200000000
    run timeout 60 "$ROLLCALL" analyze --text -o out job
    after_analysis partial "communication.json: byte " "longer than"
}

@test "100,000 brackets in each other" {
    make --break deep-nesting:1
    analyze
    after_analysis partial "communication.json" "byte "
}

# again FILE BEFORE WHAT BEHIND: in this file of rank 1 what matches is there
# twice, between these two
again ()
{
    local file

    file=$(output_of 1)/$1
    cp "$file" before
    sed -i "s/\($2\)\($3\)\($4\)/\1\2, \2\3/" "$file"
    ! cmp -s before "$file" || fail "nothing in $1 is $2$3$4"
}

# Whoever writes a key twice means one of the two; both were rows.
@test "a key is twice in an object: it does not count twice" {
    local file before what behind

    while read -r file before what behind; do
        make --steps 1 --ops 1
        behind=${behind//_/ }
        again "$file" "${before#-}" "${what//_/ }" "${behind#-}"
        analyze
        expect_status 1
        state_is 1 partial
        reason_has 1 "$file: " "occurs twice" || fail "$before$what$behind"
        is "others" 3 "$(sql "SELECT count(*) FROM Roster WHERE
            state='present'")"
    done <<'END'
communication.json ^{ "step10":.*}}} }$
communication.json - "p2p":_{} -
communication.json "collective":.{ "hcom.*} }}}$
communication.json - "Communication_Time_Info":_{[^}]*} -
communication.json - "Communication_Bandwidth_Info":.*}} },_"Total.*
communication.json - "RDMA":_{[^}]*}} -
communication.json - "Size_Distribution":_{"[^}]*} -
communication.json - "[0-9.e-]*":_\[[^]]*\] -
communication_matrix.json ^{ "step10":.*}}} }$
communication_matrix.json - "[a-z]*-top1@[0-9]*":_{[^@]*}} -
communication_matrix.json - "[0-9]*-[0-9]*":_{[^}]*} -
END
}

@test "something follows the end of communication.json" {
    make --break trailing-garbage:1
    analyze
    after_analysis partial "communication.json: byte " \
        "where the end of the file was expected"
    [ "$(rows_of 1 CommAnalyzerTime)" -gt 0 ]
}

@test "communication.json is a link" {
    make --break symlink:1
    analyze
    after_analysis partial "communication.json is a symbolic link"
}

@test "communication.json is a directory" {
    make
    rm "$(output_of 1)/communication.json"
    mkdir "$(output_of 1)/communication.json"
    unbroken_but 1
    analyze
    after_analysis partial "communication.json is not a regular file but a" \
        "directory: remove it, or put the file in its place"
}

# open(2) says "No such device or address".
@test "communication.json is a socket" {
    command -v python3 >/dev/null || skip "no python3"
    make
    rm "$(output_of 1)/communication.json"
    (cd "$(output_of 1)" && python3 -c \
        'import socket; socket.socket(socket.AF_UNIX).bind("communication.json")')
    unbroken_but 1
    analyze
    after_analysis partial "communication.json is not a regular file but a" \
        "socket: remove it, or put the file in its place"
}

# unbroken_but RANK: a capture that the test itself broke is not in the truth
unbroken_but ()
{
    local table

    for table in $TABLES; do
        sql "DELETE FROM $table WHERE rank=$1" truth.db
    done
}

# Opening a FIFO waits for a writer that never comes.
@test "FIFOs in place of files do not stop it" {
    local name

    for name in communication.json communication_matrix.json \
        step_trace_time.csv analysis.db; do
        make --form both
        unbroken_but 1
        rm "$(output_of 1)/"*
        mkfifo "$(output_of 1)/$name"
        run timeout 60 "$ROLLCALL" analyze --text -o out job
        after_analysis failed "$name is not a regular file"
    done
    make
    unbroken_but 1
    rm "$(capture_of 1)/profiler_metadata.json"
    mkfifo "$(capture_of 1)/profiler_metadata.json"
    run timeout 60 "$ROLLCALL" analyze --text -o out job
    after_analysis partial "profiler_metadata.json is not a regular file"
}

@test "damage in step_trace_time.csv is placed by its line" {
    local csv

    make
    unbroken_but 1
    csv=$(output_of 1)/step_trace_time.csv
    sed -i '3s/^\([^,]*,[^,]*\),[^,]*,/\1,12:30,/' "$csv"
    analyze
    after_analysis partial "step_trace_time.csv: line 3" "(StepTraceTime)"
    is "rows" 1 "$(rows_of 1 StepTraceTime)"
    sed -i '1s/Computing/Comuting/' "$csv"
    analyze
    after_analysis partial "step_trace_time.csv: line 1" "no column" \
        "Computing"
    printf 'Device_id,Step' >"$csv"
    analyze
    after_analysis partial "step_trace_time.csv: line 1" "no column"
    sed 's/^0,10,.*/1e300,10,1,1,1,1,1,1,1,1,1/' \
        "$(output_of 0)/step_trace_time.csv" >"$csv"
    analyze
    expect_status 0             # an odd device number harms nobody
}

# A file system that lost the end of a file often gives zeros instead.
@test "a file full of zeros" {
    make
    unbroken_but 1
    head -c 20000 /dev/zero >"$(output_of 1)/communication.json"
    head -c 20000 /dev/zero >"$(output_of 1)/step_trace_time.csv"
    analyze
    after_analysis partial "communication.json: byte 0" \
        "step_trace_time.csv: line 1"
}

# ---- damaged databases ----

# broken_db KIND STATE TEXT...: alone, then with the text export beside it
broken_db ()
{
    local kind=$1 state=$2

    shift 2
    make --form db --break "$kind:1"
    analyze
    after_analysis "$state" "$@"
    make --form both --break "$kind:1"
    "$CAPTURE_MAKER" --quiet --ranks 4 --ops 8 --form text \
        --truth truth.db job.text
    rm -rf job.text
    analyze
    expect_status 0
    state_is 1 complete
    roster_is 1 present
    is "rank 1 from the text" $'0\n0\n0\n0\n0\n0\n0\n0' \
        "$(for t in $TABLES; do unordered_differences "$t" 1; done)"
}

# As differences, of one rank, wherever the rows stand.
unordered_differences ()
{
    local columns

    columns=$(columns_of "$1") || return
    sqlite3 -batch "$DB" "ATTACH 'truth.db' AS truth;
        SELECT count(*) FROM (
            SELECT $columns, count(*) FROM main.$1 WHERE rank=$2
            GROUP BY $columns
            EXCEPT SELECT $columns, count(*) FROM truth.$1 WHERE rank=$2
            GROUP BY $columns)
        UNION ALL SELECT count(*) FROM (
            SELECT $columns, count(*) FROM truth.$1 WHERE rank=$2
            GROUP BY $columns
            EXCEPT SELECT $columns, count(*) FROM main.$1 WHERE rank=$2
            GROUP BY $columns)"
}

@test "analysis.db: its pages are spoilt; the text export stands in" {
    broken_db corrupt-db failed "analysis.db: database disk image is malformed"
    reason_has 1 "analysis.db: database disk image is malformed" \
        "the text export was read instead"
    is "source" text "$(sql "SELECT source FROM Capture WHERE rank=1")"
}

@test "analysis.db is cut off; the text export stands in" {
    broken_db truncated-db failed \
        "analysis.db: database disk image is malformed"
    reason_has 1 "the text export was read instead"
}

@test "analysis.db: a column is not there; the text stands in for its table" {
    broken_db db-missing-column partial \
        "analysis.db: table CommAnalyzerTime has no column wait_time"
    reason_has 1 "wait_time" "the text export was read instead"
    [[ "$(sql "SELECT source FROM Capture WHERE rank=1")" == \
        *CommAnalyzerTime=text*CommAnalyzerMatrix=analysis.db* ]]
}

@test "analysis.db: columns that viewers added are no damage" {
    broken_db db-extra-column complete
    is "reason" "" "$(sql "SELECT reason FROM Capture WHERE rank=1")"
}

@test "analysis.db: a table is not there; the text stands in for it" {
    broken_db db-missing-table partial "CommAnalyzerMatrix is missing" \
        "analysis.db"
}

# The journal says that the database is in the middle of a change; SQLite
# would undo that, but a capture is not to be written to.
@test "analysis.db with the journal of a killed writer" {
    broken_db hot-journal failed "analysis.db-journal" "analyse the capture"
    fingerprint job >before
    analyze
    fingerprint job >after
    cmp before after
}

@test "analysis.db is empty, or something else" {
    make --form db
    unbroken_but 1
    : >"$(output_of 1)/analysis.db"
    analyze
    after_analysis failed "analysis.db is empty"
    echo "this is no database, though it is called one" \
        >"$(output_of 1)/analysis.db"
    analyze
    after_analysis failed "analysis.db: file is not a database"
    rm "$(output_of 1)/analysis.db"
    sql "CREATE TABLE other (x)" "$(output_of 1)/analysis.db"
    analyze
    after_analysis failed "StepTraceTime is missing"
}

@test "analysis.db: a text where a number should be" {
    make --form db
    unbroken_but 1
    sql "UPDATE CommAnalyzerTime SET wait_time='long' WHERE rowid=9" \
        "$(output_of 1)/analysis.db"
    analyze
    after_analysis partial "analysis.db" "CommAnalyzerTime.wait_time" "long"
    is "rows before it" 8 "$(rows_of 1 CommAnalyzerTime)"
}

# Counted table by table: one bad byte does not condemn the tables behind it.
@test "analysis.db: bytes that are not UTF-8" {
    make --form db
    unbroken_but 1
    sql "UPDATE CommAnalyzerTime SET hccl_op_name=CAST(x'68ff63' AS TEXT)
         WHERE rowid=3" "$(output_of 1)/analysis.db"
    analyze
    after_analysis partial "analysis.db: not valid UTF-8 (1 byte stored" \
        "(CommAnalyzerTime)"
    is "stored" 68EFBFBD63 "$(sql "SELECT hex(hccl_op_name)
        FROM CommAnalyzerTime WHERE rank=1 LIMIT 1 OFFSET 2")"
}

@test "analysis.db while another process writes it" {
    make --form db
    unbroken_but 1
    holding "$(output_of 1)/analysis.db" "BEGIN EXCLUSIVE;"
    analyze
    let_go
    after_analysis failed "analysis.db is locked"
    holding "$(output_of 1)/analysis.db" \
        "PRAGMA cache_size=1; BEGIN; UPDATE CommAnalyzerTime SET wait_time=7;
         UPDATE CommAnalyzerMatrix SET bandwidth=7;"
    analyze
    let_go
    after_analysis failed "analysis.db is locked"
    analyze                     # nobody committed: all is as it was
    expect_status 0
}

# A viewer that has the capture open turns its database into WAL, and what was
# written last is in the -wal file only.
@test "analysis.db with a write-ahead log: its content counts" {
    make --form db
    unbroken_but 1
    holding "$(output_of 1)/analysis.db" "PRAGMA journal_mode=WAL;
        PRAGMA wal_autocheckpoint=0;
        UPDATE StepTraceTime SET computing=4711 WHERE rowid=1;"
    [ -s "$(output_of 1)/analysis.db-wal" ]
    mkdir tmp
    ls -A "$(output_of 1)" >before
    TMPDIR=$PWD/tmp analyze
    ls -A "$(output_of 1)" >after
    let_go
    expect_status 0
    others_unharmed
    is "computing" 4711 "$(sql "SELECT computing FROM StepTraceTime
                                WHERE rank=1 ORDER BY rowid LIMIT 1")"
    cmp before after
    is "copies left" "" "$(ls -A tmp)"
}

# ---- captures that are not finished ----

@test "never analysed: raw, and what to do" {
    make --break raw:1
    analyze
    after_analysis raw "never analysed" "profiler.analyse"
}

@test "the analysis has begun: analysing" {
    make --break analysing:1
    analyze
    after_analysis analysing "analysis began"
}

# Its rank is not known yet: the file that says it is written at the end.
@test "still collecting: its rank is missing, the capture is named" {
    make --break collecting:1
    analyze
    expect_status 1
    others_unharmed
    roster_is 1 missing
    is "state" collecting "$(sql "SELECT state FROM Capture
                                  WHERE rank IS NULL")"
    shows "no profiler_info" "missing     1"
}

# Old profilers never write the marker, and what can be read whole is whole.
@test "without analyse.done, but whole: complete" {
    make --age 2026 --break no-done:1
    analyze
    after_analysis complete
}

@test "analyse.done, but no results: failed" {
    make --age 2026 --form db
    unbroken_but 1
    rm "$(output_of 1)/analysis.db"
    analyze
    after_analysis failed "StepTraceTime is missing"
}

@test "Level0 is complete, and which level gives more is said once" {
    make --level 0
    analyze
    expect_status 0
    truth_and_more
    shows "4 captures, e.g. " "Level0" "Level1 has"
    is "notes" 1 "$(grep -c "note:" <<<"$output")"
    make
    mkdir job/again
    cp -r "$(capture_of 0)" job/again
    analyze
    shows "note: capture node0_"        # of one only
    [[ "$output" != *"1 capture"* ]] || fail "$output"
}

@test "an event database that is none, alone: failed, and why" {
    make
    unbroken_but 1
    rm "$(output_of 1)/"*
    echo x >"$(output_of 1)/ascend_pytorch_profiler_1.db"
    analyze
    after_analysis failed "ascend_pytorch_profiler_1.db"
}

# ---- changes while it is read ----

@test "communication.json grows while it is read" {
    make --ranks 2
    paused_at communication.json "$ROLLCALL" analyze --text -j 1 -o out job
    echo >>"$(output_of 0)/communication.json"
    go_on
    end_of "$pid"
    expect_status 1
    state_is 0 partial
    reason_has 0 "communication.json changed while it was read"
    state_is 1 complete
}

# The profiler's analysis starts anew: it deletes the output and makes it again.
@test "communication.json is replaced while it is read" {
    make --ranks 2
    paused_at communication.json "$ROLLCALL" analyze --text -j 1 -o out job
    cp "$(output_of 0)/communication.json" copy
    mv copy "$(output_of 0)/communication.json"
    go_on
    end_of "$pid"
    expect_status 1
    reason_has 0 "communication.json changed while it was read"
}

@test "the output vanishes while it is read" {
    make --ranks 2
    paused_at communication.json "$ROLLCALL" analyze --text -j 1 -o out job
    rm -r "$(output_of 0)"
    go_on
    end_of "$pid"
    expect_status 1
    state_is 0 partial
    reason_has 0 "communication.json changed" "CommAnalyzerMatrix is missing" \
        "StepTraceTime is missing"
    state_is 1 complete
}

@test "step_trace_time.csv changes while it is read" {
    make --ranks 2
    paused_at step_trace_time.csv "$ROLLCALL" analyze --text -j 1 -o out job
    echo >>"$(output_of 0)/step_trace_time.csv"
    go_on
    end_of "$pid"
    expect_status 1
    reason_has 0 "step_trace_time.csv changed while it was read"
}

@test "analysis.db changes while it is read: the text stands in" {
    make --ranks 2 --form both
    paused_at analysis.db "$ROLLCALL" analyze --text -j 1 -o out job
    touch -d 2001-01-01 "$(output_of 0)/analysis.db"
    go_on
    end_of "$pid"
    expect_status 0
    state_is 0 complete
    reason_has 0 "analysis.db changed while it was read" \
        "the text export was read instead"
    is "rows of rank 0" $'0\n0\n0\n0\n0\n0\n0\n0' \
        "$(for t in $TABLES; do unordered_differences "$t" 0; done)"
}

# ---- what may not be read ----

@test "an output directory that may not be read" {
    make --break unreadable:1
    run humbly "$ROLLCALL" analyze --text -o out job
    after_analysis failed "ASCEND_PROFILER_OUTPUT" "Permission denied"
}

@test "a capture that may not be read: its rank is missing, it is named" {
    make
    unbroken_but 1
    chmod 0 "$(capture_of 1)"
    run humbly "$ROLLCALL" analyze --text -o out job
    expect_status 1
    others_unharmed
    roster_is 1 missing
    shows "no rank: node0_" "failed" "Permission denied"
}

@test "a file that may not be read" {
    make
    unbroken_but 1
    chmod 0 "$(output_of 1)/communication.json"
    run humbly "$ROLLCALL" analyze --text -o out job
    after_analysis partial "communication.json" "Permission denied"
}

@test "ASCEND_PROFILER_OUTPUT is a link" {
    make
    unbroken_but 1
    mv "$(output_of 1)" elsewhere
    ln -s ../../elsewhere "$(output_of 1)"
    analyze
    after_analysis failed "ASCEND_PROFILER_OUTPUT is a symbolic link"
}

# ---- damaged metadata ----

@test "profiler_metadata.json is damaged: the rows count, partial" {
    local meta

    make
    unbroken_but 1
    meta=$(capture_of 1)/profiler_metadata.json
    for text in '{"parallel_group_info": {' '[]' 'null' '{} {}'; do
        echo "$text" >"$meta"
        analyze
        after_analysis partial "profiler_metadata.json: "
        [ "$(rows_of 1 CommAnalyzerTime)" -gt 0 ]
    done
    : >"$meta"
    analyze
    after_analysis partial "profiler_metadata.json is empty"
    printf '{"parallel_group_info": {"\xff": {"global_ranks": [1]}}}' >"$meta"
    analyze
    after_analysis partial "profiler_metadata.json: byte 26: not valid UTF-8"
}

# It is scanned, not held in memory: large jobs have large lists of ranks.
@test "profiler_metadata.json of 17 MB is read like any other" {
    make
    unbroken_but 1
    printf '{"x": "%017000000d", "parallel_group_info": {"last": {
        "group_name": "tp", "global_ranks": [0, 1]}}}' 0 \
        >"$(capture_of 1)/profiler_metadata.json"
    run timeout 60 "$ROLLCALL" analyze --text -o out job
    state_is 1 complete
    is "the group behind" "0,1" "$(sql "SELECT group_concat(m.rank) FROM
        CommGroup g JOIN CommGroupMember m ON m.comm_group=g.id
        WHERE group_id='last'")"
}

@test "profiler_metadata.json with 100,000 brackets, or 5 MB of groups" {
    local meta

    make
    unbroken_but 1
    meta=$(capture_of 1)/profiler_metadata.json
    printf '[%.0s' {1..100000} >"$meta"
    analyze
    after_analysis partial "profiler_metadata.json: byte 0"
    { printf '{"x": '; printf '[%.0s' {1..100000}; } >"$meta"
    analyze
    after_analysis partial "profiler_metadata.json: " "nested containers"
    {
        printf '{"parallel_group_info": {'
        printf '"group %d": {"global_ranks": [0, 1]}, ' {1..100000}
        printf '"last": {"global_ranks": [1]}}}'
    } >"$meta"
    run timeout 60 "$ROLLCALL" analyze --text -o out job
    after_analysis partial "profiler_metadata.json: group " "too many"
}

@test "groups of nonsense are left out, the others count" {
    make
    unbroken_but 1
    cat >"$(capture_of 1)/profiler_metadata.json" <<'EOF'
{"parallel_group_info": {
  "good": {"group_name": "tp", "group_rank": 1, "global_ranks": [0, 1]},
  "empty": {"group_name": "x", "global_ranks": []},
  "text": {"group_name": "x", "global_ranks": "0, 1"},
  "words": {"group_name": "x", "global_ranks": [0, "one"]},
  "minus": {"group_name": "x", "global_ranks": [-1]},
  "huge": {"group_name": "x", "global_ranks": [1e300]},
  "number": 7, "null": null}}
EOF
    analyze
    after_analysis partial "profiler_metadata.json: group text" "group words" \
        "group minus" "group huge" "group number" "group null"
    is "good" "0,1" "$(sql "SELECT group_concat(m.rank) FROM CommGroup g
        JOIN CommGroupMember m ON m.comm_group=g.id WHERE group_id='good'")"
    is "bad" 0 "$(sql "SELECT count(*) FROM CommGroup
        WHERE group_id IN ('text', 'words', 'minus', 'huge', 'number')")"
}

@test "profiler_info is damaged: the rank is in its name" {
    make
    unbroken_but 1
    echo '{' >"$(capture_of 1)/profiler_info_1.json"
    analyze
    after_analysis partial "profiler_info_1.json: not valid JSON"
}

@test "ranks in file names: leading zeros, no rank, none at all" {
    local c

    make --ranks 8
    c=$(capture_of 7)
    mv "$c/profiler_info_7.json" "$c/profiler_info_007.json"
    analyze
    expect_status 0
    truth_and_more
    c=$(capture_of 6)
    mv "$c/profiler_info_6.json" "$c/profiler_info_99999999999999999999.json"
    analyze
    expect_status 1             # its content still says rank 6
    state_is 6 partial
    reason_has 6 "profiler_info_99999999999999999999.json" "not a rank"
}

# Somebody copied two captures into one directory: which rank's rows these are
# nobody can tell, so that they must not pass for one of them in silence.
@test "profiler_info files of two ranks in one capture" {
    make
    unbroken_but 1
    cp "$(capture_of 3)/profiler_info_3.json" "$(capture_of 1)"
    analyze
    after_analysis partial "rank 1" "rank 3" "two captures in one directory"
}

# ---- one rank, several captures ----

@test "the same steps twice: the newer capture counts, both are named" {
    local old new

    make --break duplicate-same-step:1
    one_job
    analyze
    expect_status 0
    others_unharmed
    roster_is 1 present
    old=$(sql "SELECT name FROM Capture WHERE rank=1 ORDER BY name LIMIT 1")
    new=$(sql "SELECT name FROM Capture WHERE rank=1
               ORDER BY name DESC LIMIT 1")
    is "rows of the older one" 0 "$(sql "SELECT count(*) FROM CommAnalyzerTime
        t JOIN Capture c ON c.id=t.capture WHERE c.name='$old'")"
    is "rows of the newer one" 16 "$(sql "SELECT count(*)
        FROM CommAnalyzerTime t JOIN Capture c ON c.id=t.capture
        WHERE c.name='$new'")"
    shows "steps 10, 11: taken from the newer capture $new" \
        "steps 10, 11: the older capture $old has them too"
}

@test "many steps twice: the reason stays short" {
    make --steps 40 --ops 1 --break duplicate-same-step:1
    one_job
    analyze
    expect_status 0
    shows "steps 10, 11, 12, 13, 14, 15, 16, 17, ...: taken from"
    is "steps of rank 1" 40 "$(rows_of 1 StepTraceTime)"
}

# the captures of node1 end when those of node0 do
at_one_time ()
{
    local ended

    ended=$(grep -ho '"collectionTimeEnd": *[0-9]*' \
        job/node0_*/profiler_info_1.json | tail -n 1)
    sed -i "s/\"collectionTimeEnd\": *[0-9]*/$ended/" \
        job/node1_*/profiler_info_1.json
}

@test "the same rank from two hosts: both named, neither used" {
    make --break two-hosts:1
    at_one_time
    one_job
    analyze
    expect_status 1
    others_unharmed
    roster_is 1 failed
    reason_has 1 "two hosts" "node0 (" "node1 ("
    is "states" "failed 2" "$(sql "SELECT state || ' ' || count(*)
        FROM Capture WHERE rank=1 GROUP BY state")"
    is "rows" 0 "$(rows_of 1 CommAnalyzerTime)"
}

# With three captures each one must name the other host, not its own.
@test "a rank that went on on another host, under one id: both count" {
    make --break two-hosts:1
    one_job
    analyze
    expect_status 0
    shows "4 of 4 present" "taken from the newer capture node1_"
}

@test "the same rank from two hosts, twice from one of them" {
    make --repeat 2 --break two-hosts:1
    at_one_time
    one_job
    analyze
    expect_status 1
    is "reasons that do not name both hosts" 0 "$(sql "SELECT count(*)
        FROM Capture WHERE rank=1 AND NOT (reason LIKE '%node0 (%' AND
        reason LIKE '%node1 (%')")"
}

@test "the same capture in two places: once" {
    make
    cp -a job copy
    run "$ROLLCALL" analyze --text -o out job copy
    expect_status 0
    truth_and_more
    is "states" "complete 4,superseded 4" "$(sql "SELECT group_concat(s)
        FROM (SELECT state || ' ' || count(*) AS s FROM Capture
              GROUP BY state)")"
    shows "the same name"
}

# The raw captures on their node, their analysed copies elsewhere: the copies
# count, whichever directory comes first.
@test "a capture that is analysed in one place and raw in the other" {
    make
    mkdir raw
    cp -a job/* raw
    rm -r raw/*/ASCEND_PROFILER_OUTPUT
    for dirs in "raw job" "job raw"; do
        # shellcheck disable=SC2086
        run "$ROLLCALL" analyze --text -o out $dirs
        expect_status 0
        truth_and_more
        shows "another capture of the same name can be read"
    done
}

@test "one capture of a rank is whole, the other one is not" {
    make --repeat 2
    unbroken_but 1
    rm "$(output_of 1)/step_trace_time.csv"
    analyze
    expect_status 1
    others_unharmed
    roster_is 1 partial
    is "states" "partial,complete" "$(sql "SELECT group_concat(state)
        FROM Capture WHERE rank=1")"
    rm -r "$(output_of 1)"
    analyze
    expect_status 1
    roster_is 1 partial         # some of its steps are there
    is "states" "raw,complete" "$(sql "SELECT group_concat(state)
        FROM Capture WHERE rank=1")"
}

# A newer copy counts for what could be read of it, not for its age.
@test "the newer copy of a capture is damaged: the older one counts" {
    local f j

    make --ranks 2
    cp -a job copy
    for f in copy/*/ASCEND_PROFILER_OUTPUT/*.*; do
        echo damage >"$f"
    done
    for j in 1 4; do
        run "$ROLLCALL" analyze --text -j $j -o out job copy
        expect_status 0
        truth_and_more
        run "$ROLLCALL" analyze --text -j $j -o out copy job
        expect_status 0
        truth_and_more
        shows "another capture of the same name can be read"
    done
}

# Damage of one table in the newer capture must not cost the older one's rows.
@test "the newer capture of a step lacks a table: the older one gives it" {
    local new links

    make --break duplicate-same-step:1
    one_job
    analyze
    links=$(rows_of 1 CommAnalyzerMatrix)
    new=$(printf '%s\n' job/*/profiler_info_1.json | sort | tail -n 1)
    : >"${new%/*}/ASCEND_PROFILER_OUTPUT/communication.json"
    analyze
    expect_status 1
    others_unharmed
    roster_is 1 partial
    is "ops" "$(rows_of 0 CommAnalyzerTime)" "$(rows_of 1 CommAnalyzerTime)"
    is "links" "$links" "$(rows_of 1 CommAnalyzerMatrix)"
    is "steps" 2 "$(rows_of 1 StepTraceTime)"
    is "captures of ops, of steps" "1 1 1" "$(sql "SELECT
        (SELECT count(DISTINCT capture) FROM CommAnalyzerTime WHERE rank=1),
        (SELECT count(DISTINCT capture) FROM StepTraceTime WHERE rank=1),
        (SELECT max(capture) FROM CommAnalyzerTime WHERE rank=1) <
        (SELECT max(capture) FROM StepTraceTime WHERE rank=1)" | tr '|' ' ')"
    shows "but for CommAnalyzerTime, CommAnalyzerBandwidth"
}

# ---- captures without a rank ----

@test "a single capture without a rank is rank 0 of 1" {
    make --ranks 1 --no-rank
    sql "UPDATE $(echo "$TABLES" | sed 's/ .*//') SET rank=0" truth.db
    for t in $TABLES; do
        sql "UPDATE $t SET rank=0" truth.db
    done
    analyze
    expect_status 0
    truth_and_more
    shows "1 of 1 present"
    [[ "$output" != *guess* ]] || fail "$output"
}

# A program without distribution has no communication at Level1 either.
@test "a single capture without rank and communication is complete" {
    make --ranks 1 --no-rank --ops 0
    sed -i 's/\(,10,[0-9.]*\),[0-9.]*,[0-9.]*,[0-9.]*,/\1,0,0,0,/;
            s/\(,11,[0-9.]*\),[0-9.]*,[0-9.]*,[0-9.]*,/\1,0,0,0,/' \
        job/*/ASCEND_PROFILER_OUTPUT/step_trace_time.csv
    analyze
    expect_status 0
    is "reason" "" "$(sql "SELECT reason FROM Capture")"
}

@test "a process with several devices: one row for each of them" {
    make --ranks 1 --no-rank --ops 0
    cat >job/*/ASCEND_PROFILER_OUTPUT/step_trace_time.csv <<'EOF'
Device_id,Step,Computing,Communication(Not Overlapped),Overlapped,Communication,Free,Stage,Bubble,Communication(Not Overlapped and Exclude Receive),Preparing
0,,10.5,0.0,0.0,0,1.0,11.5,0,0.0,2
1,,20.5,0.0,0.0,0,1.0,21.5,0,0.0,2
EOF
    analyze
    expect_status 0
    is "rows" "0 0 10.5,0 1 20.5" "$(sql "SELECT group_concat(rank || ' ' ||
        deviceId || ' ' || computing) FROM StepTraceTime
        WHERE step IS NULL")"
    shows "steps         one, without a name"
}

@test "captures without a rank among others: unexpected, no harm done" {
    make
    "$CAPTURE_MAKER" --quiet --ranks 2 --no-rank --seed 7 extra
    mkdir job/extra
    mv extra/* job/extra
    analyze
    expect_status 1
    truth_and_more
    is "states" unexpected,unexpected "$(sql "SELECT group_concat(state)
        FROM Capture WHERE rank IS NULL")"
    shows "no rank: node0_" "it has no rank"
    is "their rows" 4 "$(sql "SELECT count(*) FROM StepTraceTime
                              WHERE rank IS NULL")"
}

# ---- nothing at all ----

@test "no capture can be read: exit status 65, the reasons are told" {
    make --form db
    for db in job/*/ASCEND_PROFILER_OUTPUT/analysis.db; do
        echo "no database" >"$db"
    done
    analyze
    expect_status 65
    shows "0 of 4 present" "failed      0-3" "no capture could be read" \
        "file is not a database"
    is "captures" "failed 4" "$(sql "SELECT state || ' ' || count(*)
        FROM Capture GROUP BY state")"
}

@test "nothing is finished: exit status 65" {
    make --break raw:0 --break raw:1 --break analysing:2 --break collecting:3
    analyze
    expect_status 65
    shows "raw         0-2" "missing     3"
}

# Damage without a single row in front of it is no "partial" capture.
@test "text files that are broken from the start: failed" {
    make
    unbroken_but 1
    for f in "$(output_of 1)"/*.json "$(output_of 1)"/*.csv; do
        echo '<html>quota exceeded</html>' >"$f"
    done
    analyze
    after_analysis failed "communication.json: byte 0" \
        "communication_matrix.json: byte 0" "step_trace_time.csv: line 1"
}
