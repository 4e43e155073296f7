# tests/soak/lib.bash - what the parts of the test kit share; sourced by bash
#
# A case is a directory: job/ (captures), state/ (of the agent), root/ (of the
# aggregator), ref/ (the oracle: what `rollcall analyze` makes of job/), logs.
# The programs are driven from outside only, so that nothing here knows how
# ledger, spool and store look inside.
#
# From the environment: ROLLCALL_BUILD, a build directory with the test kit.

# shellcheck disable=SC2034         # variables are the parts' to use

BIN=$ROLLCALL_BUILD/bin
KIT=$ROLLCALL_BUILD/tests/kit
MAKER=$ROLLCALL_BUILD/tests/maker/capture_maker
TABLES="CommAnalyzerTime CommAnalyzerBandwidth CommAnalyzerMatrix StepTraceTime"
PATIENCE=${PATIENCE:-120}           # seconds for anything to happen
held_ports=()                       # a pipe for each: tests/kit/hold_port.c
DIED=128                            # exit statuses above are signals
NO_FAULTS=(-u ROLLCALL_FAULT -u ROLLCALL_FAULT_ONCE -u ROLLCALL_FAULT_TRACE
    -u LD_PRELOAD)

# reach_kit DIR: LD_PRELOAD is divided at blanks and colons; if the kit's path has
# them, it gets another one
reach_kit ()
{
    [[ "$KIT" == *[\ :]* ]] || return 0
    ln -s "$KIT" "$1/kit"
    KIT=$1/kit
}

complain ()
{
    echo "  $*" >&2
    return 1
}

# await SECONDS COMMAND...: until it succeeds; what takes long is asked for less
# often
await ()
{
    local end=$((SECONDS + $1)) pauses=(0.05 0.05 0.05 0.05 0.1 0.1 0.15) n=0

    shift
    until "$@"; do
        [ $SECONDS -lt $end ] || return 1
        sleep "${pauses[n]}"
        n=$((n < 6 ? n + 1 : 6))
    done
}

# random N: 0 to N-1, from the seed; sets DRAW (a subshell would lose the state)
random ()
{
    SEED_STATE=$(((SEED_STATE * 6364136223846793005 + 1442695040888963407)))
    DRAW=$((((SEED_STATE >> 33) & 0x3fffffff) % $1))
}

listens ()                          # PORT: whether anything does, on this host
{
    local hex

    hex=$(printf ':%04X' "$1")
    awk -v port="$hex" '$4 == "0A" && index ($2, port) { found = 1 }
                        END { exit !found }' /proc/net/tcp /proc/net/tcp6
}

# choose_port: sets PORT to one that nobody else has, in this run or in another,
# until end_case and as long as a program lives that was started since then:
# whoever listens late must not find that another case's agents are answered
# there.  Those of tests/system, and those that the system gives out, are above.
choose_port ()
{
    local held

    exec {held}< <(exec "$KIT/hold_port" 10000 14999) || return
    read -r PORT <&"$held" || complain "no free port" || return
    held_ports+=("$held")
}

free_ports ()
{
    local held

    for held in "${held_ports[@]}"; do
        exec {held}<&-
    done
    held_ports=()
}

# ---- a case ----

# begin_case DIR: make it, and be in it
begin_case ()
{
    CASE=$1
    rm -rf "$CASE"
    mkdir -p "$CASE" && cd "$CASE" || return
    agent_pid='' service_pid='' restarts=0 stuck=0
    RAW=''                          # --raw: raw files too
    AGENT_MORE=''                   # more options
    ORIGINAL=job                    # the captures, when job/ does not keep them
    : >agent.log
    : >service.log
    choose_port || return
    ENDPOINT=tcp://127.0.0.1:$PORT
    AGENT_ENDPOINT=$ENDPOINT        # other than that with a proxy in between
    live_in "$CASE"
}

# live_in DIR: root/ and state/ are there
live_in ()
{
    PLACE=$1
    RESULT=$PLACE/root/jobs/j
    DB=$RESULT/cluster_analysis_output/analysis.db
}

# end_case [keep]: nothing runs any more, and nothing is left
end_case ()
{
    stop_agent
    stop_service
    free_ports
    cd / || return
    [ "${1-}" = keep ] || rm -rf "$CASE"
}

# captures N [OPTION]...: of N ranks, small, finished (analyse.done)
captures ()
{
    local n=$1

    shift
    "$MAKER" --quiet --ranks "$n" --ops 2 --steps 1 --age 2026 "$@" job
}

# raw_files BYTES: one more for each capture, of chance
raw_files ()
{
    local capture

    for capture in job/*_ascend_pt; do
        mkdir -p "$capture/PROF_1"
        head -c "$1" /dev/urandom >"$capture/PROF_1/data"
    done
}

oracle ()
{
    rm -rf ref
    "$BIN/rollcall" analyze -o ref job >ref.log 2>&1 ||
        complain "analyze: $(cat ref.log)"
    CAPTURES=$(sqlite3 ref/cluster_analysis_output/analysis.db \
        "SELECT count(*) FROM Capture WHERE state IN ('complete', 'partial')")
}

# ---- the programs ----

# start_service [NAME=VALUE]...: the aggregator, with more in its environment
start_service ()
{
    # shellcheck disable=SC2086     # RAW is empty or an option
    env "$@" "$BIN/rollcall-aggregator" --root "$PLACE/root" \
        --listen "$ENDPOINT" $RAW >>service.log 2>&1 3>&- &
    service_pid=$!
}

# start_agent [NAME=VALUE]...: as a service that watches job/
start_agent ()
{
    # shellcheck disable=SC2086
    env "$@" "$BIN/rollcall-agent" --state "$PLACE/state" --job j \
        --aggregator "$AGENT_ENDPOINT" --quiet-period 0.1s $RAW $AGENT_MORE job \
        >>agent.log 2>&1 3>&- &
    agent_pid=$!
}

alive ()                            # PID
{
    local line

    [ -n "$1" ] && { read -r line <"/proc/$1/stat"; } 2>/dev/null &&
        [[ ${line##*) } != Z* ]]
}

peak_kib ()                         # PID: of its memory so far
{
    sed -n 's/^VmHWM:[[:space:]]*\([0-9]*\).*/\1/p' "/proc/$1/status" \
        2>/dev/null
}

cpu_ticks ()                        # PID
{
    sed 's/.*) //' "/proc/$1/stat" 2>/dev/null | awk '{ print $12 + $13 }'
}

# end_process PID SIGNAL: sets 'ended' to its status
end_process ()
{
    ended=0
    [ -n "$1" ] || return 0
    kill "-$2" "$1" 2>/dev/null || true
    wait "$1" 2>/dev/null || ended=$?
}

stop_agent ()
{
    end_process "$agent_pid" "${1:-TERM}"
    agent_pid=''
}

stop_service ()
{
    end_process "$service_pid" "${1:-TERM}"
    service_pid=''
}

# keep_alive: whoever died is started again, without what killed it
keep_alive ()
{
    if ! alive "$service_pid"; then
        end_process "$service_pid" 0
        restarts=$((restarts + 1))
        start_service "${NO_FAULTS[@]}"
    fi
    if ! alive "$agent_pid"; then
        end_process "$agent_pid" 0
        restarts=$((restarts + 1))
        start_agent "${NO_FAULTS[@]}"
    fi
}

# ---- what came of it ----

captures_arrived ()                 # N, or more
{
    [ -e "$DB" ] && [ "$(sqlite3 -readonly "$DB" "SELECT count(*) FROM Capture
        WHERE state IN ('complete', 'partial')" 2>/dev/null || echo 0)" -ge "$1" ]
}

raw_arrived ()
{
    local want got

    [ -n "$RAW" ] || return 0
    [ -d "$RESULT/captures" ] || return
    want=$(find "$ORIGINAL" -type f | wc -l)
    got=$(find "$RESULT/captures" -type f ! -name ".rollcall-*" | wc -l)
    [ "$got" -ge "$want" ] &&
        diff -rqx '.rollcall-*' "$ORIGINAL" "$RESULT/captures" >/dev/null
}

all_arrived ()
{
    captures_arrived "$CAPTURES" && raw_arrived
}

arrived_or_revive ()
{
    all_arrived || { keep_alive && false; }
}

# deliver: run both until the result has everything.  If that does not come
# about in half of the time both are started once more, which is counted
# (stuck): a service must not need that.
deliver ()
{
    keep_alive
    await "$((PATIENCE / 2))" arrived_or_revive && return
    stuck=$((stuck + 1))
    restarts=$((restarts - 2))      # these are not deaths
    stop_agent
    stop_service
    await "$((PATIENCE / 2))" arrived_or_revive
}

# The columns of a table as k0, k1, ... but for the capture's number, which is
# replaced by its name.
columns_of ()
{
    sqlite3 -readonly "$1" "SELECT group_concat('t.\"' || name || '\" AS k' ||
        cid) FROM pragma_table_info('$2') WHERE name<>'capture'"
}

# difference REF DB: "rows lost doubled", as bags of rows: a row that is there
# with another value is lost, and the other one doubled
difference ()
{
    local table columns sql='' side

    for table in $TABLES; do
        columns=$(columns_of "$1" "$table")
        side="SELECT $columns, c.name AS who"
        sql+="${sql:+ UNION ALL }SELECT total(max(n, 0)), total(max(-n, 0))
            FROM (SELECT sum(one) n FROM (
            $side, 1 one FROM ref.$table t JOIN ref.Capture c
                ON c.id=t.capture
            UNION ALL $side, -1 FROM main.$table t LEFT JOIN main.Capture c
                ON c.id=t.capture)
            GROUP BY who, $(grep -o ' k[0-9]*' <<<"$columns" | paste -sd,))"
    done
    sqlite3 -readonly -separator ' ' "$2" "ATTACH '$1' AS ref;
        SELECT (SELECT count(*) FROM main.CommAnalyzerTime) +
            (SELECT count(*) FROM main.CommAnalyzerBandwidth) +
            (SELECT count(*) FROM main.CommAnalyzerMatrix) +
            (SELECT count(*) FROM main.StepTraceTime),
            CAST(sum(column1) AS INTEGER), CAST(sum(column2) AS INTEGER)
        FROM (SELECT 0 AS column1, 0 AS column2 UNION ALL $sql)"
}

# raw_difference DIR OTHER: "files lost doubled"; a file that differs is lost
raw_difference ()
{
    local file files=0 lost=0 doubled=0

    while IFS= read -r -d '' file; do
        files=$((files + 1))
        cmp -s "$1/$file" "$2/$file" || lost=$((lost + 1))
    done < <(cd "$1" && find . -type f -print0)
    while IFS= read -r -d '' file; do
        [ -f "$1/$file" ] || doubled=$((doubled + 1))
    done < <(cd "$2" 2>/dev/null &&
        find . -type f ! -name ".rollcall-*" -print0)   # a mark, of no capture
    echo "$files $lost $doubled"
}

# verdict [REF-DB DB [JOB RAW-TREE]]: one line for a person; status 1 when
# anything is lost or doubled.  Adds to the part's totals.
verdict ()
{
    local ref=${1:-ref/cluster_analysis_output/analysis.db} db=${2:-$DB}
    local job=${3-${ORIGINAL-job}} tree=${4-} rows lost doubled files=0 flost=0 fdoubled=0
    local captures

    [ -n "${4-}" ] || [ -z "${RAW-}" ] || tree=$RESULT/captures
    if [ ! -e "$db" ]; then
        echo "there is no result $db"
        total_lost=$((total_lost + 1))
        return 1
    fi
    captures=$(sqlite3 -readonly "$db" "SELECT count(*) FROM Capture WHERE
        state IN ('complete', 'partial')")
    read -r rows lost doubled < <(difference "$ref" "$db")
    [ -z "$tree" ] ||
        read -r files flost fdoubled < <(raw_difference "$job" "$tree")
    if [ -z "${doubled-}" ]; then
        echo "$db cannot be read"
        total_lost=$((total_lost + 1))
        return 1
    fi
    total_captures=$((total_captures + captures))
    total_rows=$((total_rows + rows))
    total_files=$((total_files + files))
    total_lost=$((total_lost + lost + flost))
    total_doubled=$((total_doubled + doubled + fdoubled))
    echo "captures $captures rows $rows files $files:" \
        "lost $((lost + flost)), doubled $((doubled + fdoubled))"
    [ $((lost + doubled + flost + fdoubled)) -eq 0 ]
}

no_totals ()
{
    total_captures=0 total_rows=0 total_files=0 total_lost=0 total_doubled=0
    total_restarts=0 total_stuck=0 total_failed=0 total_cases=0
}

# ---- many cases at once ----

# A worker leaves its totals in a file; they are added up here.
put_totals ()                       # FILE
{
    echo "$total_captures $total_rows $total_files $total_lost" \
        "$total_doubled $total_restarts $total_stuck $total_failed" \
        "$total_cases" >"$1"
}

add_totals ()                       # FILE...
{
    local a b c d e f g h i file

    for file; do
        if ! read -r a b c d e f g h i <"$file"; then
            total_failed=$((total_failed + 1))
            continue
        fi
        total_captures=$((total_captures + a)) total_rows=$((total_rows + b))
        total_files=$((total_files + c)) total_lost=$((total_lost + d))
        total_doubled=$((total_doubled + e))
        total_restarts=$((total_restarts + f))
        total_stuck=$((total_stuck + g)) total_failed=$((total_failed + h))
        total_cases=$((total_cases + i))
    done
}

# workers N FUNCTION: run "FUNCTION WORKER N" in N processes, and add up
workers ()
{
    local n=$1 function=$2 i pids=()

    for ((i = 0; i < n; i++)); do
        (
            no_totals
            trap 'stop_agent KILL; stop_service KILL' EXIT
            agent_pid='' service_pid=''
            "$function" "$i" "$n"
            put_totals "$WORK/totals.$i"
        ) 2> >(grep --line-buffered -vE ' (Killed|Bus error)  ' \
            >&2) &              # bash's own words
        pids+=($!)
    done
    wait "${pids[@]}"
    for ((i = 0; i < n; i++)); do
        add_totals "$WORK/totals.$i"
        rm -f "$WORK/totals.$i"
    done
}

# report WORDS: the part's line
report ()
{
    echo "$*; captures $total_captures rows $total_rows files $total_files:" \
        "lost $total_lost, doubled $total_doubled" \
        "(died or restarted $total_restarts, stuck until restarted $total_stuck)"
    [ $((total_lost + total_doubled + total_failed + total_stuck)) -eq 0 ]
}

# take_cases WORKER N: for 'workers': those of the array CASES that are this
# one's, each given to the function 'one_case' in words.  It returns 1 when
# something went wrong besides what the verdict counts, and has said it.
take_cases ()
{
    local i words

    for ((i = $1; i < ${#CASES[@]}; i += $2)); do
        total_cases=$((total_cases + 1))
        SEED_STATE=$((SEED * 1000003 + i))
        if ! begin_case "$WORK/case.$i"; then
            total_failed=$((total_failed + 1))
            complain "case ${CASES[i]} cannot begin"
            continue
        fi
        read -ra words -d '' <<<"${CASES[i]}"
        if one_case "${words[@]}"; then
            end_case
        else
            total_failed=$((total_failed + 1))
            complain "case ${CASES[i]} failed${KEEP:+, see $CASE}"
            end_case "$KEEP"
        fi
        total_restarts=$((total_restarts + restarts))
        [ $stuck -eq 0 ] ||
            complain "case ${CASES[i]}: stuck until it was started again"
        total_stuck=$((total_stuck + stuck))
    done
}

# delivered WORDS: wait for the result, compare, complain with WORDS.  An
# aggregator that asked for something again had acknowledged too early: with
# captures that are still there nobody would miss it.
delivered ()
{
    deliver || complain "$*: not everything arrived"
    verdict >verdict.txt || complain "$*: $(cat verdict.txt)" || return
    ! grep -q event=redelivery-requested service.log ||
        complain "$*: what had been acknowledged was not there any more"
}
