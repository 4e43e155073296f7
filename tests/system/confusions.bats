#!/usr/bin/env bats
# Jobs, ranks, hosts and steps that are mixed up are told apart, or named.  The
# table is confusions.table; CONFUSION=NAME tries that line alone.

load helper

NOW=1763978400                      # when the newer job begins

# ---- what a line makes ----

# make_job [OPTION]...: a job in the directory 'in', of the name 'job' (its
# truth is job.db), from a seed, and 'at' seconds after NOW
make_job ()
{
    mkdir -p "${in:=job}"
    "$CAPTURE_MAKER" --quiet --ranks 4 --ops 16 --steps 3 \
        --seed "${seed:-2}" --pid "${pid:-40000}" --start "$(awk "BEGIN {
            printf \"%.3f\", $NOW + ${at:-0} }")" \
        --truth "${job:-newer}.db" "$@" "$in"
}

newer ()
{
    job=newer seed=2 pid=20000 make_job "$@"
}

older ()                            # by a day, if nothing else is said
{
    job=older seed=1 pid=30000 at=${at:--86400} make_job "$@"
}

mark ()                             # as 'rollcall run' leaves it
{
    mkdir -p job
    echo "{\"job\":\"$1\",\"rank\":-1,\"world_size\":-1}" >job/.rollcall-job
}

# on_metadata RANK SCRIPT, on_trace RANK SCRIPT, on_db RANK SQL
on_metadata ()
{
    sed -i "$2" "$(capture_of "$1")/profiler_metadata.json"
}

on_trace ()
{
    sed -i "$2" "$(grep -l "\"rank\": $1," job/*.json)"
}

on_db ()
{
    sqlite3 job/*/ASCEND_PROFILER_OUTPUT/ascend_pytorch_profiler_"$1".db "$2"
}

# The pairs of another job: its first group is of ranks 0 and 2.
other_pairs ()
{
    local rank

    for rank; do
        on_metadata "$rank" 's/"group_name_3"/"group_name_1"/
            s/"group_name_2"/"group_name_x"/
            s/"group_name_4"/"group_name_2"/
            s/"group_name_x"/"group_name_4"/'
    done
}

# disguise RANK AS: a second one of the capture, which says it is another's
disguise ()
{
    local from to=job/node0_39999_20251124100000000_ascend_pt

    from=$(capture_of "$1")
    cp -r "$from" "$to"
    sed "s/\"rank_id\": $1/\"rank_id\": $2/" "$to/profiler_info_$1.json" \
        >"$to/profiler_info_$2.json"
    rm "$to/profiler_info_$1.json"
    sed -i "s/\"rank\": $1/\"rank\": $2/" "$to/profiler_metadata.json"
}

# Traces whose names have the worker only.
without_pids ()
{
    local file

    for file in job/*.json; do
        mv "$file" "${file%_*}.${file#*.}"
    done
}

copy_as ()                          # RANK WORKER
{
    local from

    from=$(capture_of "$1")
    cp -r "$from" "job/$2_${from##*/node0_}"
}

# ---- what a line checks ----

ranks_that_are ()
{
    sql "SELECT group_concat(rank) FROM (SELECT rank FROM Roster
         WHERE state='$1' ORDER BY rank)"
}

count ()                            # WHAT FROM
{
    sql "SELECT count($1) FROM $2"
}

# All rows of steps are of this job, and it has no others.
rows_are_of ()
{
    local columns="rank, step, round(computing, 1), round(communication, 1)"

    sqlite3 -batch "$DB" "ATTACH '$1.db' AS truth;
        SELECT 'not there', * FROM (SELECT $columns FROM truth.StepTraceTime
            EXCEPT SELECT $columns FROM main.StepTraceTime)
        UNION ALL
        SELECT 'not its own', * FROM (SELECT $columns FROM main.StepTraceTime
            EXCEPT SELECT $columns FROM truth.StepTraceTime)"
}

# check WORD: prints why not, if it does not hold
check ()
{
    local value=${1#*=}

    case $1 in
    jobs=1) ! grep "jobs here" log ;;
    jobs=*) grep -q "^$value jobs here; built the newest" log ||
        echo "no '$value jobs here': $(head -n 1 log)" ;;
    says=*) grep -qE "$value" log || echo "does not say /$value/" ;;
    nothing) [ ! -e out ] || echo "there is a result" ;;
    built=*) is "results" "$value" \
        "$(find out -name analysis.db | wc -l)" 2>&1 ;;
    present=* | missing=* | partial=* | failed=*)
        is "${1%%=*}" "$value" "$(ranks_that_are "${1%%=*}")" 2>&1 ;;
    not_present=*) is "rank $value present" 0 \
        "$(count rank "Roster WHERE rank=$value AND state='present'")" 2>&1 ;;
    unexpected=*) is "unexpected" "$value" \
        "$(count id "Capture WHERE state='unexpected'")" 2>&1 ;;
    roster=*) is "rows of Roster" "$value" "$(count rank Roster)" 2>&1 ;;
    captures=*) is "captures" "$value" \
        "$(count id "Capture WHERE state<>'superseded'")" 2>&1 ;;
    nobody) is "rows, and those with a rank" "1 0" \
        "$(sql "SELECT (count(*) > 0) || ' ' || count(rank)
                FROM StepTraceTime")" 2>&1 ;;
    world=*) is "world" "$value" \
        "$(sql "SELECT value FROM Job WHERE key='world_size'")" 2>&1 ;;
    rows=*) rows_are_of "$value" 2>&1 | head -n 4 ;;
    own=*) rows_are_of "$value" 2>&1 | grep -v "^not there" | head -n 4 ;;
    assumed) is "assumed" 1 \
        "$(sql "SELECT value NOT IN ('', '0', 'no') FROM Job
                WHERE key='assumed'")" 2>&1 ;;
    verified=*) is "verified" "$value" \
        "$(sql "SELECT group_concat(verified) FROM
                (SELECT verified FROM Roster ORDER BY rank)")" 2>&1 ;;
    edges=*) is "edges" "$value" \
        "$(sql "SELECT step || ':' || count(*) FROM StepExtra
                WHERE profiler_edge=1 GROUP BY step")" 2>&1 ;;
    hosts=*) is "hosts" "$value" \
        "$(count 'DISTINCT host' Roster)" 2>&1 ;;
    host=*) is "host" "$value" \
        "$(sql "SELECT group_concat(DISTINCT host) FROM Capture")" 2>&1 ;;
    finds=*) is "findings" 1 \
        "$(count '*' "Finding WHERE kind='$value'")" 2>&1 ;;
    blamed=*) is "blamed" "$value" \
        "$(sql "SELECT group_concat(DISTINCT rank) FROM Finding
                WHERE kind='slow_rank'")" 2>&1 ;;
    *) echo "no such check: $1" ;;
    esac
}

section ()
{
    current=$1
}

# confusion NAME MAKE STATUS CHECKS
confusion ()
{
    local why="" word status=0 line options=()
    local in job seed at pid        # of MAKE only

    [ "$current" = "$wanted" ] || return 0
    [ "${CONFUSION:-$1}" = "$1" ] || return 0
    number=$((number + 1))
    mkdir "$BATS_TEST_TMPDIR/$number"
    cd "$BATS_TEST_TMPDIR/$number" || return
    unset in job seed at pid
    eval "$2"
    "$ROLLCALL" analyze --text --only analysis.db -o out "${options[@]}" job \
        >log 2>&1 || status=$?
    [ "$3" = '*' ] || [ "$3" = "$status" ] ||
        why="exit status $status, not $3; "
    for word in $4; do
        line=$(check "$word" 2>&1 | paste -sd ' ') || true
        why+=${line:+$line; }
    done
    [ -z "$why" ] && return
    printf '%s: %s\n' "$1" "$why" >&2
    bad=$((bad + 1))
}

# confused SECTION: no line of it is wrong, and it has so many
confused ()
{
    number=0 bad=0 wanted=$1
    # shellcheck source=/dev/null
    source "$BATS_TEST_DIRNAME/confusions.table"
    [ -n "${CONFUSION:-}" ] || [ "$number" -ge "$2" ] ||
        fail "only $number lines"
    [ "$bad" -eq 0 ] || fail "$bad of $number lines are wrong"
}

@test "jobs that are mixed up" {
    confused jobs 30
}

@test "traces of one process, and of nobody" {
    confused traces 6
}

@test "ranks that are not who they say they are" {
    confused ranks 20
}

@test "steps that are missing, and steps that are too long" {
    confused steps 10
}

@test "hosts that are mixed up" {
    confused hosts 10
}

@test "what was told apart before there were rules for it" {
    confused kept 1
}
