# tests/soak/interchange.bash - what puts data into a root, or takes it out, is
# killed at random
#
# add, import, export, backup and restore are killed with -9, with an aggregator
# on the root and without one, which is killed, too.  After each kill the
# exported file is an older whole one or the new whole one, a restored root is
# whole or not there, and the backup can be restored.  In the end everything is
# done once more: the root has what one has into which nobody has killed.  While
# raw files are fetched, the verb, the agent or the aggregator is killed.  A disk
# that is full at a write of an import is one clear error, and the next import
# enters everything.

# shellcheck disable=SC2034,SC2153,SC2154

rollcall ()
{
    "$BIN/rollcall" "$@"
}

archive ()                          # ROOT COMMAND...
{
    rollcall archive --root "$@"
}

# Two jobs, of which one is exported; and a root that has both, in $WORK/base.
prepare ()
{
    mkdir -p "$WORK/base" && cd "$WORK/base" || return
    "$MAKER" --quiet --ranks 3 --ops 2 --steps 1 --age 2026 job
    raw_files 700000
    "$MAKER" --quiet --ranks 2 --ops 2 --steps 1 --seed 5 --age 2026 other
    {
        archive src add --job o other && archive src export o o.tar
        archive root add --tag t --job j job && cp -r root without_o &&
            archive root import o.tar && archive without_j import o.tar
        archive root export j j.tar
    } >log 2>&1 || complain "$(cat log)" || return
    state_of root >items
}

state_of ()                         # ROOT: its items and tags
{
    archive "$1" ls | sort
    sqlite3 -readonly "$1/ledger.db" "SELECT job, value FROM fact
        WHERE key='tag'" | sort
}

# what is under way, killed after a random time; its name goes to 'killed'
kill_one ()                         # NAME COMMAND...
{
    local pid

    random 60000
    "$BIN/rollcall" "${@:2}" >killed.log 2>&1 &
    pid=$!
    sleep "$(printf '0.%06d' "$DRAW")"
    if kill -KILL "$pid" 2>/dev/null; then
        echo "$1" >>"$WORK/kills"
    else
        echo "$1" >>"$WORK/missed"
    fi
    wait "$pid" 2>/dev/null
    return 0
}

whole_export ()                     # FILE
{
    rm -rf scratch
    archive scratch import "$1" >import.log 2>&1 ||
        complain "the export is not whole: $(cat import.log)" || return
    rm -rf scratch
}

whole_root ()                       # ROOT
{
    rollcall fsck aggregator "$1" >fsck.log 2>&1 ||
        complain "$1: $(cat fsck.log)"
}

# Restored, a backup is whole: the former or the new one.
whole_backup ()
{
    [ -e bak/ledger.db ] || return 0
    rm -rf restored restored.restoring
    rollcall restore bak restored >restore.log 2>&1 ||
        complain "the backup is not whole: $(cat restore.log)"
}

one_kill ()                         # [served]
{
    local what

    random 6
    case $DRAW in
    0) kill_one add archive --root root add --tag t --job j "$WORK/base/job" ;;
    1) kill_one import archive --root root import "$WORK/base/o.tar" ;;
    2)
        [ -e root/ledger.db ] || return 0
        kill_one export archive --root root export j out.tar
        [ ! -e out.tar ] || whole_export out.tar
        ;;
    3)
        [ -e root/ledger.db ] || return 0
        kill_one backup backup --root root bak
        whole_backup
        ;;
    4)
        [ -e bak/ledger.db ] || return 0
        rm -rf again
        kill_one restore restore bak again
        [ ! -e again ] || whole_root again
        ;;
    5)
        if [ -n "${1-}" ] && alive "$service_pid"; then
            kill_one add archive --root root add --tag t --job j \
                "$WORK/base/job"
            stop_service KILL
            start_service "${NO_FAULTS[@]}"
            echo aggregator >>"$WORK/kills"
        else
            kill_one plain archive --root root import --job j "$WORK/base/p.tar"
        fi
        ;;
    esac
}

finish ()
{
    {
        archive root add --tag t --job j "$WORK/base/job" &&
            archive root import "$WORK/base/o.tar" &&
            archive root export j out.tar && rollcall backup --root root bak
    } >finish.log 2>&1 || complain "the last time: $(cat finish.log)"
}

compare ()                          # ROOT
{
    local lost doubled

    state_of "$1" >items
    lost=$(comm -23 "$WORK/base/items" items | wc -l)
    doubled=$(comm -13 "$WORK/base/items" items | wc -l)
    total_lost=$((total_lost + lost)) total_doubled=$((total_doubled + doubled))
    total_files=$((total_files + $(wc -l <items)))
    [ $((lost + doubled)) -eq 0 ] || complain "$1 differs: $(diff \
        "$WORK/base/items" items | head -n 5)"
}

kills_case ()                       # KILLS [served]
{
    local i

    if [ -n "${2-}" ]; then
        start_service "${NO_FAULTS[@]}"
        await "$PATIENCE" test -e root/control.sock || return
    fi
    for ((i = 0; i < $1; i++)); do
        one_kill "${2-}" || return
    done
    finish || return
    if [ -n "${2-}" ]; then
        stop_service
    fi
    whole_root root || return
    compare root || return
    archive root verify --deep >verify.log 2>&1 || complain "$(cat verify.log)" ||
        return
    whole_backup || return
    compare restored || return
    whole_export out.tar
    [ -z "$(ls root/incoming 2>/dev/null)" ] ||
        complain "left in root/incoming: $(ls root/incoming)"
}

# ---- fetch ----

fetch_service ()
{
    RAW='--want-raw none' start_service "${NO_FAULTS[@]}"
}

fetch_agent ()
{
    RAW=--raw start_agent "${NO_FAULTS[@]}"
}

rows_are ()                         # N
{
    [ "$(sqlite3 -readonly root/ledger.db "SELECT count(*) FROM item
        WHERE kind=1" 2>/dev/null)" = "$1" ]
}

fetched ()                          # RANK
{
    rollcall fetch --root root --wait 5s --rank "$1" j >fetch.log 2>&1
}

# kill_of_fetch PID: the verb, the agent or the aggregator
kill_of_fetch ()
{
    local who=(verb agent aggregator)

    random 200
    sleep "$(printf '0.%03d' "$DRAW")"
    alive "$1" || echo fetch >>"$WORK/missed"
    random 3
    case $DRAW in
    0) kill -KILL "$1" 2>/dev/null ;;
    1) stop_agent KILL && fetch_agent ;;
    2) stop_service KILL && fetch_service ;;
    esac
    echo "fetch/${who[DRAW]}" >>"$WORK/kills"
    kill -KILL "$1" 2>/dev/null
    wait "$1" 2>/dev/null
    return 0
}

fetch_case ()                       # KILLS: while another rank is fetched, each
{
    local i lost doubled files

    captures "$1"
    raw_files 2000000
    fetch_service
    fetch_agent
    await "$PATIENCE" rows_are "$1" || complain "rows: $(tail agent.log)" ||
        return
    for ((i = 0; i < $1; i++)); do
        "$BIN/rollcall" fetch --root root --rank "$i" j >fetch.log 2>&1 &
        kill_of_fetch $!
        await "$PATIENCE" fetched "$i" ||
            complain "rank $i: $(cat fetch.log)" || return
    done
    stop_agent
    stop_service
    whole_root root || return
    archive root get j back >get.log 2>&1 || complain "$(cat get.log)" || return
    find back -name '*rollcall[.-]*' -delete
    read -r files lost doubled < <(raw_difference job back)
    doubled=$((doubled + $(sqlite3 -readonly root/ledger.db "SELECT count(*) -
        count(DISTINCT format('%d %s/%s', rank, capture, path)) FROM item
        WHERE kind=2")))
    total_files=$((total_files + files)) total_lost=$((total_lost + lost))
    total_doubled=$((total_doubled + doubled))
    [ $((lost + doubled)) -eq 0 ] || complain "lost $lost, doubled $doubled"
}

# ---- a full disk ----

# full_case POINT PASS job|plain: of an import
full_case ()
{
    local status=0 import=(import "$WORK/base/o.tar")

    cp -r "$WORK/base/without_o" root
    if [ "$3" = plain ]; then
        rm -rf root
        cp -r "$WORK/base/without_j" root
        import=(import --tag t --job j "$WORK/base/p.tar")
    fi
    env "${NO_FAULTS[@]}" ROLLCALL_FAULT="$1:$2:enospc" \
        ROLLCALL_FAULT_ONCE="$CASE/hit" "$BIN/rollcall" archive --root root \
        "${import[@]}" >full.log 2>&1 || status=$?
    if [ -e hit ]; then
        echo "$*" >>"$WORK/full"
        [ $status -ne 0 ] &&
            [ "$(grep -c 'No space left on device' full.log)" = 1 ] ||
            complain "exit status $status: $(cat full.log)" || return
    fi
    archive root verify --deep >verify.log 2>&1 || complain "$(cat verify.log)" ||
        return
    archive root "${import[@]}" >full.log 2>&1 || complain "$(cat full.log)" ||
        return
    whole_root root && compare root || return
    [ -z "$(ls root/incoming 2>/dev/null)" ] ||
        complain "left in root/incoming: $(ls root/incoming)"
}

one_case ()
{
    "$1_case" "${@:2}"
}

part_interchange ()
{
    local i point pass passes=1 cases=4 kills=8 fetches=1

    [ -z "$LONG" ] || cases=70 kills=20 passes=6 fetches=30
    prepare || return
    (cd "$WORK/base" && tar cf p.tar --format=pax job)
    CASES=()
    for ((i = 0; i < cases; i++)); do
        CASES+=("kills $kills $([ $((i % 2)) -eq 0 ] || echo served)")
    done
    for ((i = 0; i < fetches; i++)); do
        CASES+=("fetch $kills")
    done
    for ((pass = 1; pass <= passes; pass++)); do
        for point in store.append.write store.segment.fsync \
            store.segment.open store.names.fsync ledger.commit; do
            CASES+=("full aggregator.$point $pass job"
                "full aggregator.$point $pass plain")
        done
    done
    touch "$WORK/full"
    workers 2 take_cases
    report "killed $(sort "$WORK/kills" | uniq -c |
        awk '{ printf "%s%s %d", n++ ? ", " : "", $2, $1 }'), too late \
$(cat "$WORK/missed" 2>/dev/null | wc -l), full $(wc -l <"$WORK/full") times"
}
