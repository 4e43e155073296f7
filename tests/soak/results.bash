# tests/soak/results.bash - whoever replaces a result is killed, or has no disk
#
# `rollcall analyze` replaces an older result, of one step, by one of all steps.
# It is killed with -9 at any time, or the disk is full at one of its writes of
# pages.  Each file is the older one or the newer one then, whole; a full disk is
# one clear error, and nothing is left of it; and the next run leaves what a run
# that nobody disturbs leaves.

# shellcheck disable=SC2034,SC2153,SC2154

RESULTS=(analysis.db cluster_analysis.db report.html)

# rows DB: "ok" if it is whole, and the rows of each table
rows ()
{
    sqlite3 -readonly "$1" "PRAGMA integrity_check" 2>&1
    sqlite3 -readonly "$1" "SELECT name FROM sqlite_schema WHERE type = 'table'
        AND name NOT LIKE 'sqlite_%' ORDER BY name" 2>/dev/null |
        while read -r name; do
            echo "$name $(sqlite3 -readonly "$1" "SELECT count(*) FROM $name")"
        done
}

# is_new FILE: whole, and like that of a run that nobody disturbs
is_new ()
{
    case $1 in
    *.db)
        cmp -s <(rows "out/cluster_analysis_output/$1") "$WORK/base/rows.$1"
        ;;
    *)
        tail -c 20 "out/cluster_analysis_output/$1" | grep -q '</html>' &&
            [ "$(stat -c %s "out/cluster_analysis_output/$1")" -gt 100000 ]
        ;;
    esac
}

# The older files or the newer ones, in the order in which they are published.
all_whole ()
{
    local name new=0

    for name in "${RESULTS[@]}"; do
        if cmp -s "out/cluster_analysis_output/$name" \
            "$WORK/base/old/cluster_analysis_output/$name"; then
            continue
        fi
        is_new "$name" || complain "$name is neither the older nor the newer one
$(rows "out/cluster_analysis_output/$name" | head -n 5)" || return
        new=$((new + 1))
    done
    echo $new >>"$WORK/new"
}

replace ()                          # [NAME=VALUE]...
{
    env "${NO_FAULTS[@]}" "$@" "$BIN/rollcall" analyze -q -j 2 -o out \
        "$WORK/base/job" >replace.log 2>&1
}

killed_case ()
{
    local us pid

    random "$((RUN_MS * 1100))"
    us=$DRAW
    replace &
    pid=$!
    sleep "$(printf '0.%06d' $((us % 1000000)))"
    # the program, not the shell around it
    pkill -KILL -P "$pid" 2>/dev/null || kill -KILL "$pid" 2>/dev/null
    wait "$pid" 2>/dev/null
    all_whole || return
}

full_case ()                        # PASS
{
    local status=0

    replace ROLLCALL_FAULT="aggregator.pages.write:$1:enospc" || status=$?
    [ $status -eq 73 ] || complain "exit status $status: $(cat replace.log)" ||
        return
    [ "$(grep -c 'No space left on device' replace.log)" = 1 ] ||
        complain "$(cat replace.log)" || return
    # what was published before is new, and what could not be written is old
    all_whole || return
    find out -type f | sed 's,.*/,,' | sort | cmp -s - "$WORK/base/files" ||
        complain "left behind: $(find out -type f)"
}

one_case ()                         # killed | full PASS
{
    cp -r "$WORK/base/old" out
    "$1_case" "${@:2}" || return
    replace || complain "the next run: $(cat replace.log)" || return
    find out -type f | sed 's,.*/,,' | sort | cmp -s - "$WORK/base/files" ||
        complain "the next run leaves $(find out -type f)" || return
    all_whole
}

# An older and a newer result, how long the newer one takes, and how often pages
# are written for it; in $WORK/base.
prepare ()
{
    local began name

    mkdir -p "$WORK/base" && cd "$WORK/base" || return
    "$MAKER" --quiet --ranks 6 --steps 3 --ops 60 --age 2026 job
    env "${NO_FAULTS[@]}" "$BIN/rollcall" analyze -q -s 10 -o old job >log 2>&1 ||
        complain "$(cat log)" || return
    cp -r old new
    began=$(date +%s%N)
    env "${NO_FAULTS[@]}" ROLLCALL_FAULT_TRACE="$WORK/base/trace" \
        "$BIN/rollcall" analyze -q -j 2 -o new job >log 2>&1 ||
        complain "$(cat log)" || return
    RUN_MS=$((($(date +%s%N) - began) / 1000000))
    WRITES=$(grep -cx aggregator.pages.write trace)
    for name in analysis.db cluster_analysis.db; do
        rows "new/cluster_analysis_output/$name" >"rows.$name"
    done
    find new -type f | sed 's,.*/,,' | sort >files
    [ "$RUN_MS" -lt 900 ] || RUN_MS=900
    [ "$WRITES" -gt 0 ] || complain "no pages are written"
}

part_results ()
{
    local kills=20 fulls=10 i

    [ -z "$LONG" ] || kills=200 fulls=1000
    prepare || return
    CASES=()
    for ((i = 0; i < kills; i++)); do
        CASES+=("killed")
    done
    for ((i = 0; i < fulls && i < WRITES; i++)); do
        if [ -n "$LONG" ] || [ "$WRITES" -le $fulls ]; then
            CASES+=("full $((i + 1))")
        else
            random "$WRITES"
            CASES+=("full $((DRAW + 1))")
        fi
    done
    workers 2 take_cases
    report "killed $kills times, full $((${#CASES[@]} - kills)) times;" \
        "files that were new: $(sort "$WORK/new" | uniq -c |
            awk '{ printf "%s of 3 %d ", $2, $1 }')"
}
