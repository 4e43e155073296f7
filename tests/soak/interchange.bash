# tests/soak/interchange.bash - what puts data into a root, or takes it out, is
# killed at random
#
# add, import, export, backup and restore are killed with -9, with an aggregator
# on the root and without one, which is killed, too.  After each kill the
# exported file is an older whole one or the new whole one, a restored root is
# whole or not there, and the backup can be restored.  In the end everything is
# done once more: the root has what one has into which nobody has killed.

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
        archive root add --tag t --job j job && archive root import o.tar
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

one_case ()                         # KILLS [served]
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
    archive root verify >verify.log 2>&1 || complain "$(cat verify.log)" ||
        return
    whole_backup || return
    compare restored || return
    whole_export out.tar
    [ -z "$(ls root/incoming 2>/dev/null)" ] ||
        complain "left in root/incoming: $(ls root/incoming)"
}

part_interchange ()
{
    local i cases=4 kills=8

    [ -z "$LONG" ] || cases=70 kills=20
    prepare || return
    (cd "$WORK/base" && tar cf p.tar --format=pax job)
    CASES=()
    for ((i = 0; i < cases; i++)); do
        CASES+=("$kills $([ $((i % 2)) -eq 0 ] || echo served)")
    done
    workers 2 take_cases
    report "killed $(sort "$WORK/kills" | uniq -c |
        awk '{ printf "%s%s %d", n++ ? ", " : "", $2, $1 }'), too late \
$(cat "$WORK/missed" 2>/dev/null | wc -l)"
}
