# tests/soak/ledgers.bash - ledgers of which many bytes are others
#
# Pages, the head, the end, everything; another database, a directory, a log of
# another one beside it: of the agent's ledger and of the aggregator's, while
# nobody runs.  Both are started on it, and again where a program ends and says
# so; an operator does what it asks for (fsck --repair), and no more.  By then
# everything has arrived, once, nobody was killed by a signal, and whoever had
# a ledger that he could not use has named it.

# shellcheck disable=SC2034,SC2154

# shellcheck source=tests/soak/flip.bash
. "$here/flip.bash"

# over FILE AT BYTES: other bytes there
over ()
{
    head -c "$3" /dev/urandom |
        dd of="$1" bs=4096 seek="$2" oflag=seek_bytes conv=notrunc status=none
}

# spoil KIND FILE
spoil ()
{
    local size n

    size=$(stat -c %s "$2")
    case $1 in
    pages)                          # some of them, not the first
        for n in 1 2 3; do
            random "$((size / 4096))"
            over "$2" $((DRAW * 4096)) 4096
        done
        ;;
    head) over "$2" 0 4096 ;;
    bytes)
        for ((n = 0; n < 200; n++)); do
            random "$size"
            over "$2" "$DRAW" 1
        done
        ;;
    zeros)
        random "$size"
        truncate -s "$DRAW" "$2"
        truncate -s "$size" "$2"
        ;;
    cut)
        random "$size"
        truncate -s "$DRAW" "$2"
        ;;
    empty) truncate -s 0 "$2" ;;
    noise) over "$2" 0 "$size" ;;
    longer) head -c 20000 /dev/urandom >>"$2" ;;
    other)
        rm -f "$2"*
        sqlite3 "$2" "PRAGMA journal_mode=WAL; CREATE TABLE mail (a TEXT);
            INSERT INTO mail VALUES ('not a ledger')" >/dev/null
        ;;
    wal)                            # of another one
        rm -f "$2-wal" "$2-shm"
        head -c 40000 /dev/urandom >"$2-wal"
        ;;
    shm) head -c 32768 /dev/urandom >"$2-shm" ;;
    directory)
        rm -f "$2"
        mkdir "$2"
        ;;
    esac
}

# repair agent|aggregator DIR: what an operator does who reads the last line
repair ()
{
    local status

    echo "$1" >>repaired
    "$BIN/rollcall" fsck --repair "$@" >>fsck.log 2>&1
    status=$?
    [ $status -lt $DIED ] || complain "fsck $1 died: $status" || return
    [ $status -le 1 ] || complain "fsck $1: $status: $(tail -n 2 fsck.log)"
}

told ()                             # LOG: its last error is about the ledger
{
    grep -E 'level=(error|warn)' "$1" | grep -qi 'ledger'
}

# live: until all is there; whoever ends is started again, or repaired first
live ()
{
    local life

    for ((life = 0; life < 6; life++)); do
        alive "$service_pid" || start_service
        alive "$agent_pid" || start_agent
        await 200 arrived_or_ended
        all_arrived && return
        ended_well "$agent_pid" agent && ended_well "$service_pid" aggregator ||
            return
        if ! alive "$service_pid"; then
            told service.log || complain "the aggregator ends, and says: $(
                tail -n 1 service.log)" || return
            repair aggregator root || return
        fi
        if ! alive "$agent_pid"; then
            told agent.log ||
                complain "the agent ends, and says: $(tail -n 1 agent.log)" ||
                return
            [ $life -lt 2 ] || repair agent state/spool-j || return
        elif alive "$service_pid"; then
            break
        fi
    done
    complain "not everything arrives; service: $(tail -n 1 service.log); " \
        "agent: $(tail -n 1 agent.log)"
}

arrived_or_ended ()
{
    all_arrived || ! alive "$agent_pid" || ! alive "$service_pid"
}

# one_case spool|store KIND
one_case ()
{
    local side=$1 kind=$2 file signal=TERM

    case $kind in wal | shm) signal=KILL ;; esac
    "make_$side" "$signal" || return
    [ "$side" = spool ] && mv template state || mv template root
    file=root/ledger.db
    [ "$side" = store ] || file=state/spool-j/ledger.db
    [ "$side" = spool ] || rm -rf root/jobs
    : >agent.log
    : >service.log
    spoil "$kind" "$file"
    live || return
    ORIGINAL=job
    verdict >verdict.txt || complain "$(cat verdict.txt)" || return
    if [ -e repaired ]; then
        echo "$side $kind: repaired"
    elif told agent.log || told service.log; then
        echo "$side $kind: named, and set right"
    else
        echo "$side $kind: no effect"
    fi >>"$WORK/outcomes"
}

part_ledgers ()
{
    local side kind i rounds=1
    local kinds="pages head bytes zeros cut empty noise longer other wal shm
        directory"

    [ -z "$LONG" ] || rounds=3
    CASES=()
    for ((i = 0; i < rounds; i++)); do
        for side in spool store; do
            for kind in $kinds; do
                CASES+=("$side $kind")
            done
        done
    done
    workers 8 take_cases
    sort "$WORK/outcomes" 2>/dev/null | uniq -c | sed 's/^ */  /'
    report "$total_cases ledgers"
}
