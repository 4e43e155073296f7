# tests/system/helper.bash - what the tests of the programs share
#
# From the environment: ROLLCALL_BIN (folder of the programs), CAPTURE_MAKER,
# PAUSE_READ (pause_read.c as a library), HEALTHY_JOBS (how many of them
# findings.bats and healthy.bats try).  Every test works in a directory of its own, so that
# tests can run in parallel and twice.

# shellcheck disable=SC2154         # bats sets status, output, BATS_*

TABLES="CommAnalyzerTime CommAnalyzerBandwidth CommAnalyzerMatrix StepTraceTime"
EXTRAS="CaptureInfo MemoryPeak OperatorStatistic ApiStatistic OtherFile"
# all that is made by default
RESULTS=$'analysis.db\ncluster_analysis.db\nreport.html'

setup ()
{
    : "${ROLLCALL_BIN:?names the folder of the programs}"
    : "${CAPTURE_MAKER:?names the capture maker}"
    ROLLCALL=$ROLLCALL_BIN/rollcall
    # a library that is loaded first is not what the sanitizer expects
    export ASAN_OPTIONS=verify_asan_link_order=0:${ASAN_OPTIONS:-}
    unset ROLLCALL_THREADS
    [ -z "${ROLLCALL_QUICK_TESTS:-}" ] || HEALTHY_JOBS=20
    plain_shell
    loadable PAUSE_READ SHARED_FS_LIBRARY SHIFT_CLOCK SWAP_AT_OPEN MPI_TOOL
    cd "$BATS_TEST_TMPDIR" || return
    DB=out/cluster_analysis_output/analysis.db
}

# loadable VARIABLE...: the libraries that they name, by paths without the blanks
# and colons at which LD_PRELOAD is divided
loadable ()
{
    local name

    for name; do
        [[ "${!name:-}" == *[\ :]* ]] || continue
        ln -sf "${!name}" "$BATS_RUN_TMPDIR/$name.so"
        export "$name=$BATS_RUN_TMPDIR/$name.so"
    done
}

# plain_shell: what bats does for itself is not done in tests.  It notes where it
# is before each command, which takes longer than most commands; where one has
# failed is all that it needs.  And 'part' lets it read the file in the C locale,
# and in a shorter way.
plain_shell ()
{
    unset -f bats-preprocess
    unset SYSTEM_TESTS_PART
    trap - DEBUG
    trap 'note_failure "$?"' ERR
    if [ -n "${TEST_LC_ALL+set}" ]; then
        LC_ALL=$TEST_LC_ALL
        [ -n "$LC_ALL" ] || unset LC_ALL
        unset TEST_LC_ALL
    fi
}

# note_failure STATUS: of a command, and where it is
note_failure ()
{
    bats_capture_stack_trace
    BATS_DEBUG_LAST_STACK_TRACE_IS_VALID=1
    BATS_ERROR_STATUS=${BATS_ERROR_STATUS:-$1}
}

# make [OPTION]...: a job of 4 ranks in job/, its truth in truth.db
make ()
{
    rm -rf job truth.db
    "$CAPTURE_MAKER" --quiet --ranks 4 --ops 8 --truth truth.db "$@" job
}

# analyze [ARGUMENT]...: job/ into out/, as text; sets status and output
analyze ()
{
    run "$ROLLCALL" analyze --text -o out "$@" job
}

# real_setup FOLDER: captures of a real job, where there are some, as job/
real_setup ()
{
    [ -n "${ROLLCALL_REAL_CAPTURES:-}" ] ||
        skip "ROLLCALL_REAL_CAPTURES is unset: nothing real was tested"
    [ -d "$ROLLCALL_REAL_CAPTURES/$1" ] ||
        skip "$ROLLCALL_REAL_CAPTURES has no $1"
    cp -r "$ROLLCALL_REAL_CAPTURES/$1" job
    chmod -R u+rwX job
}

sql ()
{
    sqlite3 -batch "${2:-$DB}" "$1"
}

fail ()
{
    echo "$*" >&2
    return 1
}

# is WHAT EXPECTED GOT
is ()
{
    [ "$2" = "$3" ] || fail "$1: expected \"$2\", got \"$3\""
}

expect_status ()
{
    [ "$status" -eq "$1" ] || fail "exit status $status, not $1: $output"
}

# shows TEXT...: each is somewhere in the output
shows ()
{
    local text

    for text; do
        [[ "$output" == *"$text"* ]] || fail "no \"$text\" in: $output" ||
            return
    done
}

# says FILE TEXT: it is somewhere in there
says ()
{
    grep -qF -- "$2" "$1"
}

# The path of the capture of a rank (the first one, if there are several).
capture_of ()
{
    local info=(job/*_ascend_pt/profiler_info_"$1".json)

    [ -e "${info[0]}" ] && echo "${info[0]%/*}"
}

output_of ()
{
    echo "$(capture_of "$1")/ASCEND_PROFILER_OUTPUT"
}

# state_is RANK STATE: of its only capture
state_is ()
{
    is "Capture.state of rank $1" "$2" \
        "$(sql "SELECT state FROM Capture WHERE rank=$1")"
}

# reason_has RANK TEXT...: Capture.reason, Roster.reason and the summary
reason_has ()
{
    local rank=$1 text where

    shift
    for text; do
        for where in Capture Roster; do
            [[ "$(sql "SELECT reason FROM $where WHERE rank=$rank")" == \
                *"$text"* ]] || fail "$where of rank $rank does not say" \
                "\"$text\" but: $(sql "SELECT state, reason FROM $where
                                       WHERE rank=$rank")" || return
        done
        shows "$text" || return
    done
}

roster_is ()
{
    is "Roster.state of rank $1" "$2" \
        "$(sql "SELECT state FROM Roster WHERE rank=$1")"
}

columns_of ()
{
    sql "SELECT group_concat('\"' || name || '\"') FROM pragma_table_info('$1')
         WHERE name NOT IN ('rank', 'capture')" "$DB"
}

# differences TABLE [WHERE]: rows of the ranks in the truth that are not equal
# and in the same place there, the other way round, or that differ in how
# often they occur.  EXCEPT takes NULL for equal to NULL.
differences ()
{
    local columns rows

    columns=$(columns_of "$1") || return
    rows="SELECT row_number() OVER (ORDER BY rowid), rank, $columns FROM"
    sqlite3 -batch "$DB" "ATTACH 'truth.db' AS truth;
        CREATE TEMP VIEW ours AS $rows main.$1 WHERE rank IN
            (SELECT rank FROM truth.StepTraceTime) AND ${2:-1};
        CREATE TEMP VIEW theirs AS $rows truth.$1 WHERE ${2:-1};
        SELECT count(*) FROM (SELECT * FROM ours EXCEPT SELECT * FROM theirs)
        UNION ALL
        SELECT count(*) FROM (SELECT * FROM theirs EXCEPT SELECT * FROM ours)"
}

# truth_holds [WHERE]: every row of the unbroken ranks is there, is equal, and
# has its place.
truth_holds ()
{
    local table

    for table in $TABLES; do
        is "rows of $table that differ from the truth" $'0\n0' \
            "$(differences "$table" "${1:-}")" || return
    done
}

# Like truth_holds, and the truth is not empty.
truth_and_more ()
{
    is "the truth has rows" 1 \
        "$(sql "SELECT count(*) > 0 FROM StepTraceTime" truth.db)" || return
    truth_holds "$@"
}

# same_tables A B: the tables of captures in two results
same_tables ()
{
    local table

    for table in $TABLES $EXTRAS; do
        cmp <(sql "SELECT * FROM $table ORDER BY rowid" "$1") \
            <(sql "SELECT * FROM $table ORDER BY rowid" "$2") ||
            fail "$table differs" || return
    done
}

# The files below a directory with their content; links are not followed.
fingerprint ()
{
    (cd "$1" && find . -type f -exec cksum {} + | sort -k 3 &&
         find . ! -type f | sort)
}

# nothing_left DIR: no result and no temporary file
nothing_left ()
{
    local left

    left=$(find "$1" -path '*cluster_analysis_output/*')
    is "left behind in $1" "" "$left"
}

# Run as root without the right to ignore permissions, or as whoever we are.
humbly ()
{
    if [ "$(id -u)" -eq 0 ]; then
        setpriv --bounding-set=-dac_override,-dac_read_search "$@"
    else
        "$@"
    fi
}

# background COMMAND...: sets 'pid'; its output goes to the file 'log'
background ()
{
    "$@" >log 2>&1 3>&- &
    pid=$!
}

# paused_at FILE COMMAND...: in the background, until its first read or write of
# a file of that name (or like that pattern); 'go_on' lets it continue.
paused_at ()
{
    local file=$1

    shift
    rm -f reached go
    mkfifo reached go
    # a shell has its background processes ignore SIGINT, and who runs the tests
    # may ignore others
    background env --default-signal LD_PRELOAD="$PAUSE_READ" \
        PAUSE_AT="$file" \
        PAUSE_REACHED=reached PAUSE_GO=go "$@"
    timeout 90 cat reached || fail "$file was never seen: $(cat log)"
}

go_on ()
{
    timeout 90 sh -c ': >go'
}

# end_of PID: waits; sets status and output as run does
end_of ()
{
    status=0
    wait "$1" || status=$?
    output=$(cat log)
}

# holding DB SQL: a process of sqlite3 that has done this and keeps the
# database open until 'let_go'.
holding ()
{
    rm -f held free
    mkfifo held free
    (printf '%s\n.shell echo >held\n' "$2"; cat free) |
        sqlite3 -batch "$1" >sqlite.log 2>&1 3>&- &
    holder=$!
    timeout 90 cat held >held.log || fail "sqlite3: $(cat sqlite.log)"
}

let_go ()
{
    timeout 90 sh -c ': >free'
    wait "$holder" || true
}

# one_job: what is in job/ is of one job, as `rollcall run` marks it
one_job ()
{
    echo '{"job":"night","rank":-1,"world_size":-1}' >job/.rollcall-job
}
