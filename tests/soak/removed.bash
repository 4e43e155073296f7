# tests/soak/removed.bash - files go, or are others, below programs that run
#
# While captures arrive one after the other, files and directories below the
# aggregator's root, or in the agent's spool, are removed, cut, emptied,
# renamed, replaced, made links or given other bytes.  With the captures still
# on their nodes all of it arrives, and what the root has by then is whole: the
# result is built once more of nothing else.  In the mode "release" the agent
# removes what was acknowledged: what is not in that result is named then, rank
# by rank, and no end of an agent is one with 0.

# shellcheck disable=SC2034,SC2154

RANKS=6

# ---- damage ----

# victims PATTERN: those that are there, in 'found'.  Behind other names than
# *-0 there are raw files in a spool, by links: they are the captures' own.  A
# shipment that is damaged before it is hashed is sealed as it is, and named by
# the aggregator: so these are older.
victims ()
{
    local not=lock old=()

    case $how:$1 in
    rm:* | rename:* | link:*) ;;
    *:*items/*)
        not='*-[1-9]*'
        old=(! -newermt '0.3 seconds ago')
        ;;
    esac
    mapfile -t found < <(find "$below" -path "$below/$1" ! -name "$not" \
        "${old[@]}" 2>/dev/null | sort)
}

# other_bytes FILE: some blocks of it are others, its size is the same
other_bytes ()
{
    local size n

    size=$(stat -c %s "$1" 2>/dev/null) || return 0
    for ((n = 0; n < 3 && size > 0; n++)); do
        random "$size"
        head -c 512 /dev/urandom | head -c $((size - DRAW)) |
            dd of="$1" bs=1 seek="$DRAW" conv=notrunc status=none 2>/dev/null
    done
}

# damage HOW PATH: it may go meanwhile
damage ()
{
    local size away=$CASE/away.$((++nth))

    {
        case $1 in
        rm) rm -rf "$2" ;;
        rename) mv "$2" "$away" ;;
        empty) [ ! -f "$2" ] || truncate -s 0 "$2" ;;
        cut)
            size=$(stat -c %s "$2") && [ -f "$2" ] &&
                random "$((size + 1))" && truncate -s "$DRAW" "$2"
            ;;
        replace)                    # by something else of the same size
            if [ -d "$2" ]; then
                mv "$2" "$away" && mkdir "$2"
            else
                size=$(stat -c %s "$2") && mv "$2" "$away" &&
                    head -c "$size" /dev/urandom >"$2"
            fi
            ;;
        link) mv "$2" "$away" && ln -s "$away" "$2" ;;
        bytes) [ ! -f "$2" ] || other_bytes "$2" ;;
        esac
    } 2>/dev/null
    echo "$1 $2" >>damage.log
    return 0
}

strike ()
{
    victims "$pattern"
    [ ${#found[@]} -gt 0 ] || return 1
    if [ "$how" = link ] || [ "$how" = rename ] || [ "$how" = cut ]; then
        random "${#found[@]}"
        found=("${found[DRAW]}")
    fi
    for file in "${found[@]}"; do
        damage "$how" "$file"
    done
}

strike_or_revive ()
{
    strike || { operate && keep_alive && false; }
}

# ---- what came of it ----

# An operator repairs a ledger of which the aggregator says that it cannot use
# it.
operate ()
{
    tail -n 1 service.log |
        grep -qE 'fsck aggregator --repair|disk image is malformed' || return 0
    stop_service
    "$BIN/rollcall" fsck --repair aggregator "$PLACE/root" >>fsck.log 2>&1
    echo "event=repaired" >>service.log
}

arrived_or_revive ()
{
    all_arrived || { operate && keep_alive && false; }
}

# at_rest: the agent has nothing that is not delivered, by its own word
at_rest ()
{
    local said name

    said=$("$BIN/rollcall" status --json "$PLACE/state" 2>/dev/null) || return
    for name in undelivered unsettled sealing analysing; do
        [[ $said =~ \"$name\":[[:space:]]*0, ]] || return
    done
}

at_rest_or_revive ()
{
    at_rest || { operate && keep_alive && false; }
}

# settle: a root is looked at each second, and what was lost is asked for; a
# while without anything open is the end of that
settle ()
{
    local n

    for n in 1 2 3; do
        await "$PATIENCE" at_rest_or_revive ||
            complain "the agent never comes to rest: $(tail -n 2 agent.log)" ||
            return
        sleep 0.7
    done
    at_rest || settle
}

# checked: what is on disk is what it says, or fsck has a word for it and sets
# it right: behind --repair nothing is wrong any more
checked ()
{
    local side=$1 dir=$2 status

    "$BIN/rollcall" fsck --repair "$side" "$dir" >fsck.log 2>&1
    status=$?
    echo "$status" >>"fsck.$side"
    case $status in
    0) return ;;
    1) ;;
    66) [ ! -e "$dir/ledger.db" ] && return ;;
    *) complain "fsck $side: $status, $(cat fsck.log)" || return ;;
    esac
    "$BIN/rollcall" fsck "$side" "$dir" >>fsck.log 2>&1 ||
        complain "fsck $side, behind a repair: $(cat fsck.log)"
}

# whole: the result is made again, of what is in the root
whole ()
{
    stop_agent
    stop_service
    rm -rf "$PLACE/root/jobs/j"
    "$BIN/rollcall" build --root "$PLACE/root" j >build.log 2>&1
    built=$?
    [ $built -le 1 ] || complain "build: $built, $(cat build.log)"
}

# raw_files_of RANK: as the root has them
raw_files_of ()
{
    "$BIN/rollcall" archive get --root "$PLACE/root" j "$1" back >get.log 2>&1 ||
        complain "archive get: $(cat get.log)" || return
    find back -name '*rollcall[.-]*' -delete
}

lost_ranks_of ()                    # DB: that have no whole capture in it
{
    local r

    for ((r = 0; r < RANKS; r++)); do
        [ -n "$(sqlite3 -readonly "$1" "SELECT 1 FROM Capture WHERE rank=$r AND
            state IN ('complete', 'partial')" 2>/dev/null)" ] || echo $r
    done
}

# names RANK: the agent's log says of its capture that it is lost
names ()
{
    local file

    file=$(echo original/*/profiler_info_"$1".json)
    file=${file%/*}
    grep -q "event=lost .*${file##*/}" once.log
}

judge_kept ()
{
    local rank

    whole || return
    for ((rank = 0; rank < RANKS; rank++)); do
        raw_files_of $rank || return
    done
    verdict "" "" original back >verdict.txt || complain "$(cat verdict.txt)"
}

# What is lost there was released, and is named.
judge_released ()
{
    local rank lost status

    stop_agent
    "$BIN/rollcall-agent" --state "$PLACE/state" --job j --once --raw \
        --release shipped --aggregator "$AGENT_ENDPOINT" job >once.log 2>&1
    status=$?
    whole || return
    lost=$(lost_ranks_of "$DB")
    total_captures=$((total_captures + RANKS))
    for rank in $lost; do
        echo "$rank" >>"$WORK/named"
        names "$rank" || complain "rank $rank is lost silently" || {
            total_lost=$((total_lost + 1))
            return 1
        }
    done
    if [ -n "$lost" ]; then
        [ "$status" -ne 0 ] || complain "ranks $lost are lost, status 0" ||
            return
        [ "$built" -ne 0 ] || [ ! -e "$DB" ] ||
            complain "ranks $lost are lost, the build says 0" || return
    fi
    [ ! -e "$DB" ] || [ "$(wrong_rows ref/cluster_analysis_output/analysis.db \
        "$DB")" = 0 ] || {
        total_doubled=$((total_doubled + 1))
        complain "rows that are not the captures'"
    }
}

# wrong_rows REF DB: rows of the result that the captures do not have
wrong_rows ()
{
    local rows lost doubled

    read -r rows lost doubled < <(difference "$1" "$2")
    echo "${doubled:-unreadable}"
}

# ---- a case ----

# arrive: all captures, one after the other, and damage in between
arrive ()
{
    local capture i=0 at=()

    for _ in 1 2; do
        random "$RANKS"
        at+=("$DRAW")
    done
    for capture in stage/*_ascend_pt; do
        mv "$capture" job/
        random 300
        sleep "0.$(printf '%03d' "$DRAW")"
        if [ $i -eq "${at[0]}" ] || [ $i -eq "${at[1]}" ]; then
            await 3 strike_or_revive && struck=$((struck + 1))
        fi
        keep_alive
        i=$((i + 1))
    done
}

# unnoticed: other bytes in a file of the same size are found when it is read
unnoticed ()
{
    case $how:$pattern in
    replace:segments/\* | bytes:* | *:jobs*)
        [ "$side" = service ]
        ;;
    *) false ;;
    esac
}

# one_case service|agent keep|release HOW PATTERN
one_case ()
{
    local side=$1 mode=$2 how=$3 pattern=$4 below found file nth=0 built struck=0

    case $side in
    service) below=$PLACE/root ;;
    agent) below=$PLACE/state ;;
    esac
    [ "$pattern" != . ] || { pattern=$(basename "$below"); below=$PLACE; }
    RAW=--raw
    captures $RANKS
    raw_files 1500000
    oracle || return
    cp -r job original
    ORIGINAL=original
    mv job stage
    mkdir job
    [ "$mode" = keep ] || AGENT_MORE="--release shipped"
    keep_alive
    restarts=0
    arrive
    [ $struck -eq 0 ] || echo "$*" >>"$WORK/struck"
    settle || return
    if [ "$mode" = keep ] && ! unnoticed; then
        deliver || complain "not everything arrived" || return
        settle || return
    fi
    [ $stuck -eq 0 ] || complain "not before it was started again" || return
    stop_agent
    stop_service
    checked agent "$PLACE/state/spool-j" || return
    checked aggregator "$PLACE/root" || return
    keep_alive
    restarts=$((restarts - 2))
    if [ "$mode" = keep ]; then
        deliver || complain "behind fsck: not everything arrived" || return
    fi
    settle || return
    [ "$mode" = keep ] && { judge_kept; return; }
    judge_released
}

part_removed ()
{
    local side mode how pattern hows i n=425
    local -A places=(
        [service]="segments/* ledger.db ledger.db-wal ledger.db-shm
            ledger.db* segments jobs ."
        [agent]="spool-j/items/*/* spool-j/items/* spool-j/items
            spool-j/ledger.db spool-j/ledger.db-wal spool-j/ledger.db*
            spool-j .")
    local kinds=()

    set -f
    for side in service agent; do
        for pattern in ${places[$side]}; do
            case $pattern in
            *db* | */\*) hows="rm cut empty rename replace link bytes" ;;
            spool-j | .) hows="rm rename replace" ;;
            *) hows="rm rename replace link" ;;     # directories
            esac
            for how in $hows; do
                # fsck names such a link, and ends
                [ "$how $pattern" != "link segments/*" ] || continue
                for mode in keep release; do
                    kinds+=("$side $mode $how $pattern")
                done
            done
        done
    done
    set +f
    CASES=()
    [ -n "$LONG" ] || n=20
    for ((i = 0; i < n; i++)); do   # short: here and there among them
        CASES+=("${kinds[(i * (n < 425 ? 11 : 1) + SEED) % ${#kinds[@]}]}")
    done
    workers 10 take_cases
    report "$total_cases cases," \
        "$(cat "$WORK/struck" 2>/dev/null | wc -l) struck," \
        "$(cat "$WORK/named" 2>/dev/null | wc -l) captures lost and named"
}
