# tests/soak/flip.bash - one byte of what is on disk is another one
#
# A shipment in the spool, the agent's ledger, a stored segment, the
# aggregator's ledger, one byte at a time.  It is detected (what it was is named
# as not delivered, or failed, or the program says what is damaged and ends),
# or has no effect on any answer.  Everything else is delivered, nobody
# crashes, and no row is there that was not in the captures.  What is damaged in
# a spool is read again from the captures, at the latest by the agent that is
# started after one that ended with 74: nothing of it is lost.

# shellcheck disable=SC2034,SC2154

# wrong_rows REF DB: rows of the result that the captures do not have
wrong_rows ()
{
    local rows lost doubled

    read -r rows lost doubled < <(difference "$1" "$2")
    echo "${doubled:-unreadable}"
}

lost_ranks ()                       # REF DB: whose rows are not all there
{
    sqlite3 -readonly "$2" "ATTACH '$1' AS ref;
        SELECT r.rank FROM ref.StepTraceTime r LEFT JOIN main.StepTraceTime m
            ON m.rank=r.rank AND m.step=r.step WHERE m.rank IS NULL
        UNION SELECT t.rank FROM
            (SELECT rank, count(*) n FROM ref.CommAnalyzerMatrix GROUP BY rank) t
            LEFT JOIN (SELECT rank, count(*) n FROM main.CommAnalyzerMatrix
                GROUP BY rank) u ON u.rank=t.rank WHERE t.n IS NOT u.n
        ORDER BY 1" | paste -sd' '
}

# is_named RANK: its loss is told in the result, or by one of the programs
is_named ()
{
    [ -n "$(sqlite3 -readonly "$DB" "SELECT 1 FROM Capture WHERE rank=$1 AND
        state<>'complete' UNION SELECT 1 FROM Roster WHERE rank=$1 AND
        state<>'present'")" ] ||
        grep -qiE 'damage|quarantin|changed or vanished|not delivered|corrupt|malformed|checksum' \
            service.log
}

# judge WHAT: the outcome of a flip; counts in 'outcomes'
judge ()
{
    local ref=ref/cluster_analysis_output/analysis.db wrong ranks rank

    if [ ! -e "$DB" ]; then
        outcome="no result"
        return 1
    fi
    wrong=$(wrong_rows "$ref" "$DB")
    ranks=$(lost_ranks "$ref" "$DB")
    if [ "$wrong" != 0 ]; then
        outcome="$wrong rows that are not the captures'"
        total_doubled=$((total_doubled + 1))
        return 1
    fi
    if [ "$side" = spool ] && [ -n "$ranks" ]; then
        outcome="ranks $ranks did not arrive, though their captures are there"
        total_lost=$((total_lost + 1))
        return 1
    fi
    for rank in $ranks; do
        if ! is_named "$rank"; then
            outcome="rank $rank is lost silently"
            total_lost=$((total_lost + 1))
            return 1
        fi
    done
    case $ranks in
    "") outcome="no effect" ;;
    *\ *)
        outcome="ranks $ranks were lost by one byte"
        total_lost=$((total_lost + 1))
        return 1
        ;;
    *) outcome="named" ;;
    esac
}

# A process that has ended did so with words, not by a signal.
ended_well ()                       # PID WHO
{
    alive "$1" && return
    end_process "$1" 0
    [ "$ended" -lt $DIED ] || complain "$2 crashed with status $ended"
}

captures_told ()                    # N, or more, whatever became of them
{
    [ -e "$DB" ] && [ "$(sqlite3 -readonly "$DB" "SELECT count(*) FROM Capture
        WHERE state<>'superseded'" 2>/dev/null || echo 0)" -ge "$1" ]
}

told_or_over ()
{
    captures_told "$CAPTURES" || ! alive "$agent_pid" || ! alive "$service_pid"
}

# next_life: after an agent that has ended.  It named a damaged ledger (74), so
# the next one is to set that aside; one of a newer version it refuses (73).
next_life ()
{
    case $ended in
    74) ;;
    73)
        grep -q 'written by a newer rollcall' agent.log ||
            complain "the agent cannot use its spool: $(tail -n 1 agent.log)" ||
            return
        outcome=refused
        return
        ;;
    *)
        complain "the agent ended with $ended: $(tail -n 1 agent.log)"
        return
        ;;
    esac
    lives=2
    start_agent
    await "$FLIP_WAIT" told_or_over
    alive "$agent_pid" || complain "the next agent, too: $(tail -n 1 agent.log)"
}

# flip_agent FILE POSITION: with the spool of template/
flip_agent ()
{
    local lives=1

    rm -rf state root
    cp -r template state
    "$KIT/flip_byte" "$1" "$2" || return
    start_service
    start_agent
    await "$FLIP_WAIT" told_or_over
    ended_well "$agent_pid" agent && ended_well "$service_pid" aggregator ||
        return
    if ! alive "$agent_pid"; then
        outcome="not used again"
        next_life || return
        [ "$outcome" != refused ] || return 0
    fi
    judge || return
    [ "$lives" = 1 ] || outcome="named, and arrived in the next life"
}

# flip_service FILE POSITION: with the root of template/, and one more capture,
# so that there is something to be built
flip_service ()
{
    rm -rf root state
    cp -r template root
    rm -rf root/jobs
    "$KIT/flip_byte" "$1" "$2" || return
    start_service
    start_agent
    await "$FLIP_WAIT" told_or_over
    ended_well "$agent_pid" agent && ended_well "$service_pid" aggregator ||
        return
    if ! alive "$service_pid" && grep -qE 'level=error' service.log; then
        outcome="refused"
        return
    fi
    judge
}

# make_spool SIGNAL: a spool with everything sealed, nothing delivered
make_spool ()
{
    captures 3
    oracle || return
    sealed () { [ "$(grep -c event=sealed agent.log)" -ge "$CAPTURES" ]; }
    start_agent
    await "$PATIENCE" sealed || complain "nothing was sealed: $(cat agent.log)" || return
    stop_agent "$1"
    mv state template
}

# make_store SIGNAL: a store with two captures; a third one is in job/ only
make_store ()
{
    local all

    captures 3
    oracle || return
    mkdir kept
    all=(job/*_ascend_pt)
    mv "${all[2]}" kept/
    start_service
    start_agent
    await "$PATIENCE" captures_arrived 2 || complain "nothing was delivered" || return
    stop_agent
    stop_service "$1"
    mv root template
    rm -rf job state
    mv kept job
}

# one_case spool|store PATTERN COUNT [FIRST STEP]: at COUNT positions, evenly and
# by chance; 0: at every STEPth from FIRST on
one_case ()
{
    local side=$1 pattern=$2 count=$3 first=${4:-0} step=${5:-1} file size i at
    local signal=TERM outcome state=0 n

    # where others keep all cores busy, captures are read again when they have
    # waited for the backlog limit (60 s), at the latest
    FLIP_WAIT=200
    # who ends in peace leaves no -wal, and has all in its ledger.db
    case $pattern in *-wal) signal=KILL ;; esac
    "make_$side" "$signal" || return
    mapfile -t file < <(cd template && find . -type f -path "./$pattern" |
        sort)
    if [ ${#file[@]} -eq 0 ]; then
        complain "there is no $pattern in: $(cd template && find . -type f |
            paste -sd' ')"
        return
    fi
    size=$(stat -c %s "template/${file[0]}")
    n=$((count > 0 ? count : (size - first + step - 1) / step))
    for ((i = 0; i < n; i++)); do
        at=$((first + i * step))
        if [ "$count" -gt 0 ]; then
            random "$((size / n + 1))"
            at=$(((i * size / n + DRAW) % size))
        fi
        : >agent.log
        : >service.log
        outcome=crashed
        if [ "$side" = spool ]; then
            flip_agent "state/${file[0]}" "$at"
        else
            flip_service "root/${file[0]}" "$at"
        fi || {
            state=1
            complain "$side ${file[0]} byte $at of $size: $outcome"
            [ -z "$KEEP" ] ||
                tail -n 3 agent.log service.log >>"$WORK/failed.$at"
        }
        echo "$side $pattern: $outcome" >>"$WORK/outcomes"
        stop_agent KILL
        stop_service KILL
    done
    return $state
}

part_flip ()
{
    local i count=14 kinds=("store segments/*" "spool *items/*")

    # ledgers have hundreds of thousands of bytes, each takes part of a second
    [ -z "$LONG" ] || count=250
    CASES=("spool *ledger.db $count" "spool *ledger.db-wal $count"
        "store *ledger.db $count" "store *ledger.db-wal $count")
    [ -n "$LONG" ] || CASES+=("${kinds[0]} $count" "${kinds[1]} $count")
    CASES+=("${CASES[@]}")          # twice: at other places
    # with its first byte SQLite can read nothing of a page; 4 KiB each
    CASES+=("spool *ledger.db 0 0 4096")
    [ -z "$LONG" ] || for i in {0..23}; do
        CASES+=("${kinds[i / 12]} 0 $((i % 12)) 12")
    done
    workers 12 take_cases
    sort "$WORK/outcomes" 2>/dev/null | uniq -c | sed 's/^ */  /'
    report "$(cat "$WORK/outcomes" 2>/dev/null | wc -l) bytes flipped"
}
