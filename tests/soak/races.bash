# tests/soak/races.bash - who owns a tree swaps names while root works in it
#
# tests/kit/swap_names.c, as another user, exchanges directories and files of
# his tree with links into a directory of root's, all the time.  Each verb that
# writes or removes below a directory works there as root.  In root's directory
# nothing may be made, changed or removed.

# shellcheck disable=SC2034,SC2154

OTHER=65534                         # the user: nobody

# picture DIR: names, inodes, modes, owners, sizes, times, targets and contents;
# not how many names a file has, since an agent has one in its spool meanwhile
picture ()
{
    find "$1" -printf '%p %i %m %U %s %T@ %l\n' | sort
    find "$1" -type f -exec sha256sum {} + | sort
}

# aim: root's directory has what the user's have, under the same names
aim ()
{
    local name

    mkdir -m 700 outside
    cp -r job/. outside
    cp -r job/*/ASCEND_PROFILER_OUTPUT outside
    sqlite3 outside/analysis.db "CREATE TABLE precious (a)"
    for name in cluster_analysis.db report.html page.html trace.json \
        schema.json Capture.csv CommAnalyzerTime.csv tables; do
        cp outside/analysis.db "outside/$name"
    done
}

# ---- what is tried: each sets SWAP (directories and patterns) and WORK_WITH ----

try_analyze_output ()               # the output directory itself
{
    SWAP=(home/job 'cluster_analysis_output')
    WORK_WITH=("$BIN/rollcall" analyze --foreign-output --text home/job)
}

try_analyze_temporary ()            # what is made in it
{
    SWAP=(home/job/cluster_analysis_output '.rollcall-*')
    WORK_WITH=("$BIN/rollcall" analyze --foreign-output --text home/job)
}

try_analyze_results ()
{
    SWAP=(home/job/cluster_analysis_output '*')
    WORK_WITH=("$BIN/rollcall" analyze --foreign-output --text home/job)
}

# It watches home/job, which is exchanged from then on; the captures come then.
# What DIR leads to at the start is what its user meant: doc/security.md.
try_release_tree ()
{
    SWAP=(home job)
    LATE=1
    MAY_TAKE=2
    WORK_WITH=("$BIN/rollcall-agent" --state "$CASE/state" --job j
        --aggregator "$ENDPOINT" --quiet-period 0.1s --raw --release shipped
        home/job)
}

# One that is exchanged is moved, and read anew, for ever.
try_release_captures ()
{
    try_release_tree
    SWAP=(home/job '*_ascend_pt' "home/job/$FIRST" '*')
    LATE=''
}

try_archive_get ()
{
    SWAP=(home/back '*' "home/back/$FIRST" '*')
    mkdir -p "home/back/$FIRST"
    WORK_WITH=("$BIN/rollcall" archive get --root root --foreign-output j 0
        home/back)
}

try_export_tables ()
{
    mkdir home/tables
    SWAP=(home/tables '*')
    WORK_WITH=("$BIN/rollcall" export --foreign-output --csv home/tables ref)
}

try_export_trace ()
{
    SWAP=(home '*trace*')
    : >home/trace.json
    WORK_WITH=("$BIN/rollcall" export --foreign-output --perfetto
        home/trace.json ref)
}

try_report ()
{
    SWAP=(home '*page*')
    : >home/page.html
    WORK_WITH=("$BIN/rollcall" report --foreign-output -o home/page.html ref)
}

try_build ()
{
    SWAP=(home/job '*' home/job/cluster_analysis_output '*')
    WORK_WITH=("$BIN/rollcall" build --root root --foreign-output -o
        home/job j)
}

try_run ()
{
    SWAP=(home/job '*' home/job/cluster_analysis_output '*')
    WORK_WITH=("$BIN/rollcall" run --foreign-output --deadline 5s -o home/job --
        true)
}

# ---- one after the other ----

prepare ()                          # TRY: the user's tree, new
{
    rm -rf home state
    mkdir home
    cp -r job home/job
    mkdir home/job/cluster_analysis_output
    "try_$1"
    chown -hR $OTHER:$OTHER home
}

# start_swapper: reads from 'line' that it has begun
start_swapper ()
{
    local n

    random 1000000000
    exec {line}< <(exec "$KIT/swap_names" "$DRAW" $OTHER "$CASE/outside" \
        "${SWAP[@]}")
    swapper=$!
    read -r -u "$line" n || complain "$1: nobody swaps"
}

end_swapper ()                      # adds to 'swaps'
{
    local n=0

    kill -TERM "$swapper"
    read -r -u "$line" n
    exec {line}<&-
    swaps=$((swaps + n))
}

watches ()                          # LOG
{
    grep -q event=connected "$1"
}

# work TRY: the program, while names are swapped; sets 'state'
work ()
{
    local worker tree

    : >"$1.last"
    [ -n "$LATE" ] || start_swapper "$1" || return
    timeout -k 60 "$MAY_TAKE" "${WORK_WITH[@]}" >"$1.last" 2>&1 3>&- &
    worker=$!
    if [ -n "$LATE" ]; then
        exec {tree}<home/job
        await 30 watches "$1.last" || complain "$1: nobody watches"
        start_swapper "$1" || return
        cp -r job/. "/proc/self/fd/$tree/"
        exec {tree}<&-
    fi
    state=0
    wait $worker || state=$?
    end_swapper
}

# race TRY: status 1 when something went wrong
race ()
{
    local swapper line state=0 LATE='' MAY_TAKE=60

    prepare "$1"
    [ -z "$LATE" ] || rm -rf home/job/*_ascend_pt
    work "$1" || return
    exits+=" $state"
    [ $state -lt "$DIED" ] && { [ $state -ne 124 ] || [ $MAY_TAKE -lt 60 ]; } ||
        complain "$1: status $state: $(tail -n 3 "$1.last")" || return
    picture outside >now
    cmp -s before now || {
        elsewhere=$((elsewhere + 1))
        diff before now >"$1.diff"
        complain "$1: written elsewhere: $(head -n 4 "$1.diff")"
    }
}

# one_case TRY TIMES
one_case ()
{
    local i swaps=0 exits='' elsewhere=0 state=0

    RAW=--raw
    captures 2
    oracle || return
    FIRST=$(basename "$(printf '%s\n' job/*_ascend_pt | head -n 1)")
    aim
    start_service
    await 30 listens "$PORT" || complain "$(cat service.log)" || return
    "$BIN/rollcall-agent" --state "$CASE/first" --job j --once --raw \
        --aggregator "$ENDPOINT" job >agent.log 2>&1 ||
        complain "$(cat agent.log)" || return
    picture outside >before
    for ((i = 0; i < $2; i++)); do
        race "$1" || state=1
        [ $elsewhere -eq 0 ] || break
    done
    echo "$1 $i $swaps $elsewhere$exits" >>"$WORK/races"
    return $state
}

part_races ()
{
    local try times=8

    if [ "$(id -u)" -ne 0 ]; then
        echo "  SKIPPED: races with the owner of a tree, which take root"
        return 0
    fi
    [ -z "$LONG" ] || times=100
    CASES=()
    while IFS= read -r try; do
        CASES+=("${try#try_} $times")
    done < <(compgen -A function try_)
    workers 2 take_cases
    sed 's/^/  /' "$WORK/races" | cut -c 1-79
    report "$(awk '{ t += $2; s += $3; e += $4 } END {
        printf "tries %d, names exchanged %d, written elsewhere %d", t, s, e }' \
        "$WORK/races")"
}
