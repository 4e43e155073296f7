# tests/soak/deletion.bash - whoever removes and collects is killed, or has no
# disk
#
# A root has seven jobs with raw files, some of them equal.  `rollcall archive rm`,
# prune and gc work on it, by themselves or by a service, which also prunes by
# itself.  The one that works is killed with -9 at any time.  What nobody removed
# is there then, once, with right bytes, and what was removed before does not come
# back, also if the ledger is made again from the segments.  A disk that is full at
# a write of gc is one clear error, and the next gc frees everything.

# shellcheck disable=SC2034,SC2153,SC2154

JOBS=(k1 k2 k3 k4 k5 k6 k7)

# items ROOT: each by its name and content
items ()
{
    sqlite3 "$1/ledger.db" "SELECT job, kind, rank, capture, path,
        hex(content) FROM item ORDER BY 1, 2, 3, 4, 5, 6"
}

archive ()                          # ARGUMENT...: without faults
{
    env "${NO_FAULTS[@]}" "$BIN/rollcall" archive --root root "$@"
}

# What a killed one left in the segments is in the ledger after this.
recover ()
{
    archive untag k1 nothing >recover.log 2>&1
    grep -q "has no tag nothing\|there is no job k1" recover.log ||
        complain "it cannot be opened: $(cat recover.log)"
}

# compare BEFORE MAY-GO: the items now, with those before, of which some may be
# gone: lines of the file MAY-GO
compare ()
{
    local lost undeleted doubled

    items root >now
    lost=$(comm -23 "$1" now | comm -23 - <(sort "$2") | wc -l)
    undeleted=$(comm -13 "$1" now | wc -l)
    doubled=$(($(wc -l <now) - $(sort -u now | wc -l)))
    total_lost=$((total_lost + lost))
    total_doubled=$((total_doubled + doubled + undeleted))
    total_files=$((total_files + $(wc -l <now)))
    [ $((lost + undeleted + doubled)) -eq 0 ] ||
        complain "lost $lost, undeleted $undeleted, doubled $doubled"
}

intact ()
{
    archive verify --deep >verify.log 2>&1 && return
    total_lost=$((total_lost + 1))
    complain "damaged: $(head -n 5 verify.log)"
}

# choose_work: sets 'work', and the file may: what may be gone after it
choose_work ()
{
    local job rank last

    random ${#JOBS[@]}
    job=${JOBS[DRAW]}
    random 2
    rank=$DRAW
    random 6
    : >may
    case $DRAW in
    0) work=(rm "$job"); grep "^$job|" before >may || true ;;
    1) work=(rm "$job" "$rank"); grep "^$job|[12]|$rank|" before >may || true ;;
    2)
        random 3
        last=$((5 + DRAW))
        work=(prune --keep-last "$last")
        cp before may
        ;;
    *) work=(gc --unused 0) ;;
    esac
}

# killed VICTIM MS: after a random time of at most so many
killed ()
{
    random "$2"
    sleep "0.$(printf '%03d' "$DRAW")"
    kill -KILL "$1" 2>/dev/null || true
}

# work_and_kill verb|service: one piece of work
work_and_kill ()
{
    local pid status=0

    LC_ALL=C sort -o before before
    choose_work
    if [ "$1" = service ]; then
        env "${NO_FAULTS[@]}" "$BIN/rollcall-aggregator" --root root \
            --listen "$ENDPOINT" >>service.log 2>&1 &
        service_pid=$!
        await 20 test -S root/control.sock || complain "$(tail service.log)" ||
            return
    fi
    env "${NO_FAULTS[@]}" "$BIN/rollcall" archive --root root "${work[@]}" \
        --apply >work.log 2>&1 &
    pid=$!                          # the program's own
    if [ "$1" = service ]; then
        killed "$service_pid" "$MS"
        wait "$service_pid" 2>/dev/null
        service_pid=''              # now it would do the work itself
        kill -KILL "$pid" 2>/dev/null
    else
        killed "$pid" "$MS"
    fi
    wait "$pid" 2>/dev/null || status=$?
    echo "$1 ${work[0]}" >>"$WORK/killed"
    [ $status -gt $DIED ] && total_restarts=$((total_restarts + 1))
    recover || return
    compare before may || { echo "  ${work[*]}" >&2; return 1; }
    mv now before
}

# A ledger that is made of the segments has what this one has.
rebuilt ()
{
    rm -f root/ledger.db root/ledger.db-*
    "$BIN/rollcall" fsck aggregator --repair root >fsck.log 2>&1
    : >may
    compare before may || return
    intact
}

kills_case ()                       # verb|service N
{
    local i

    for ((i = 0; i < $2; i++)); do
        if [ $((i % 24)) -eq 0 ]; then
            rm -rf root
            cp -r "$WORK/base/root" root
            cp "$WORK/base/items" before
        fi
        work_and_kill "$1" || return
        [ $((i % 8)) -ne 7 ] || intact || return
    done
    rm -f root/control.sock
    archive gc --apply --unused 0 >work.log 2>&1 || complain "$(cat work.log)" ||
        return
    : >may
    compare before may || return
    intact && rebuilt
}

# full_case POINT PASS: of a gc, by the verb
full_case ()
{
    local status=0

    cp -r "$WORK/base/removed" root
    cp "$WORK/base/left" before
    env "${NO_FAULTS[@]}" ROLLCALL_FAULT="$1:$2:enospc" \
        ROLLCALL_FAULT_ONCE="$CASE/hit" "$BIN/rollcall" archive --root root gc \
        --apply --unused 0 >work.log 2>&1 || status=$?
    if [ -e hit ]; then
        echo "$*" >>"$WORK/full"
        [ $status -ne 0 ] && [ "$(grep -c 'No space left on device' work.log)" = 1 ] ||
            complain "exit status $status: $(cat work.log)" || return
    fi
    recover || return
    : >may
    compare before may || return
    archive gc --apply --unused 0 >work.log 2>&1 || complain "$(cat work.log)" ||
        return
    archive gc --json --unused 0 --grace 0 >work.log 2>&1
    grep -q '"unused":[[:space:]]*0' work.log ||
        complain "not all is freed: $(cat work.log)" || return
    compare before may || return
    intact && rebuilt
}

one_case ()
{
    "$1_case" "${@:2}"
}

# The root, and what it has; one from which three jobs are removed; in
# $WORK/base.
prepare ()
{
    local job capture

    begin_case "$WORK/base" || return
    RAW=--raw
    start_service "${NO_FAULTS[@]}"
    for job in "${JOBS[@]}"; do
        "$MAKER" --quiet --ranks 2 --ops 2 --steps 1 --age 2026 "$job"
        for capture in "$job"/*_ascend_pt; do
            mkdir -p "$capture/PROF_1"
            head -c 40000 /dev/urandom >"$capture/PROF_1/own"
            head -c 30000 "$BIN/rollcall" >"$capture/PROF_1/same"
            case $job in            # of several chunks, some of them shared
            k3 | k4)
                { head -c 2097152 "$BIN/rollcall"; echo "$capture"; } \
                    >"$capture/PROF_1/large"
                ;;
            esac
        done
        env "${NO_FAULTS[@]}" "$BIN/rollcall-agent" --once --raw --state state \
            --job "$job" --aggregator "$ENDPOINT" --quiet-period 0.1s "$job" \
            >>agent.log 2>&1 || complain "$(tail agent.log)" || return
    done
    stop_service
    items root | LC_ALL=C sort >items
    cp -r root removed
    for job in k2 k4 k7; do
        env "${NO_FAULTS[@]}" "$BIN/rollcall" archive --root removed rm "$job" \
            --apply >work.log 2>&1 || complain "$(cat work.log)" || return
    done
    items removed | LC_ALL=C sort >left
    free_ports
}

part_deletion ()
{
    local LC_ALL=C kills=5 runs=4 passes=1 i pass point

    MS=60
    [ -z "$LONG" ] || kills=50 runs=14 passes=12
    prepare || return
    CASES=()
    for ((i = 0; i < runs; i++)); do
        CASES+=("kills $([ $((i % 2)) -eq 0 ] && echo verb || echo service) $kills")
    done
    for ((pass = 1; pass <= passes; pass++)); do
        for point in aggregator.audit.write aggregator.gc.copy \
            aggregator.gc.commit aggregator.gc.unlink \
            aggregator.store.append.write aggregator.store.segment.fsync \
            aggregator.ledger.commit aggregator.store.segment.open \
            aggregator.store.names.fsync; do
            CASES+=("full $point $pass")
        done
    done
    touch "$WORK/full" "$WORK/killed"
    workers 2 take_cases
    report "$(wc -l <"$WORK/killed") times killed, full $(wc -l <"$WORK/full")" \
        "times"
}
