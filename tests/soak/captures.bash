# tests/soak/captures.bash - damaged captures beside healthy ones
#
# Captures of every form are damaged: bytes (tests/kit/damage_file.c), files in
# the place of others, things that are no files, names.  They are analysed and
# delivered together with two healthy ones, whose rows have to be those of the
# oracle.  No program may crash, hang or take more than its memory; a damaged
# capture is named with a reason, or has rows; and what is delivered is what
# is analysed.

# shellcheck disable=SC2034,SC2153,SC2154

# Those of msprof count only where there are no others: doc/formats.md.
FORMS=(text db event_db kineto timeline kernels mindspore both)
MEMORY_KIB=2000000                  # of address space, without a sanitizer

# some_file DIR: sets FILE to one of it
some_file ()
{
    local files

    mapfile -d '' files < <(find "$1" -type f -print0 | sort -z)
    random ${#files[@]}
    FILE=${files[DRAW]}
}

# no_file: in the place of FILE something else
no_file ()
{
    random 6
    rm -f "$FILE"
    case $DRAW in
    0) mkfifo "$FILE" ;;
    1) mkdir "$FILE" ;;
    2) ln -s /dev/zero "$FILE" ;;
    3) ln -s "$(basename "$FILE")" "$FILE" ;;
    4) mknod "$FILE" c 1 5 2>/dev/null || : >"$FILE" ;;
    5) leave_socket "$FILE" ;;
    esac
    DONE=no-file
}

# A socket's name is what is left of whoever listened there.
leave_socket ()
{
    (cd "$(dirname "$1")" && timeout -s KILL 0.2 socat \
        "UNIX-LISTEN:$(basename "$1")" - </dev/null >/dev/null 2>&1)
    [ -S "$1" ] || mkfifo "$1"
}

# damage ENTRY: sets DONE to what was done to it
damage ()
{
    local entry=$1 other

    some_file "$entry"
    random 6
    [ -d "$entry" ] || [ "$DRAW" -gt 1 ] || DRAW=2
    case $DRAW in
    0) no_file ;;
    1)
        other=$FILE
        some_file "$entry"
        cp "$FILE" swap.tmp && cat "$other" >"$FILE" && mv swap.tmp "$other"
        DONE=exchanged
        ;;
    *)
        random 1000000000
        DONE=$("$KIT/damage_file" "$DRAW" "$FILE")
        ;;
    esac
}

# Names that a terminal, a shell or a page would take for something else.
rename_evil ()                      # ENTRY N
{
    local base=${1##*/} evil=('a b ' $'a\nb' $'\e]0;x\a' $'\u202e' \
        '<script>' "'\"" '=1+1' "$(printf 'x%.0s' {1..180})")

    mv "$1" "${1%/*}/${evil[$2 % ${#evil[@]}]}$base"
}

# make_bad N: the captures of ranks 2 and on, in job/
make_bad ()
{
    local i form entry

    for ((i = 0; i < $1; i++)); do
        form=${FORMS[i % ${#FORMS[@]}]}
        rm -rf one
        # of the healthy ones' age: a year between captures is another job
        "$MAKER" --quiet --ranks $(($1 + 2)) --ops 2 --steps 1 --age 2026 \
            --form "$form" --only-rank $((i + 2)) one || return
        entry=$(echo one/*)
        damage "$entry" || complain "$entry cannot be damaged" || return
        echo "$form $DONE ${entry##*/}" >>bad.txt
        random 4
        if [ "$DRAW" -eq 0 ]; then
            rename_evil "$entry" "$i"
        fi
        mv one/* job/
    done
}

# limited COMMAND...: sets 'state', complains about a crash
limited ()
{
    state=0
    (
        [ -n "$sanitized" ] || ulimit -v $MEMORY_KIB
        exec timeout -s KILL 120 "$@"
    ) >last.log 2>&1 3>&- || state=$?
    [ $state -lt $DIED ] && ! grep -q 'Sanitizer\|runtime error' last.log ||
        complain "$1: status $state: $(tail -n 5 last.log)"
}

# only_healthy DB: without the rows of all others
only_healthy ()
{
    local table

    cp "$1" healthy.db
    for table in $TABLES; do
        echo "DELETE FROM $table WHERE capture NOT IN (SELECT id FROM Capture
            WHERE name IN ($HEALTHY));"
    done | sqlite3 healthy.db
    sqlite3 healthy.db "DELETE FROM Capture WHERE name NOT IN ($HEALTHY)"
}

# all_named DB N: each capture is there, and has rows or a reason; one whose
# damage makes it another job's is told to be of that
all_named ()
{
    local n

    n=$(sqlite3 -readonly "$1" "SELECT count(*) FROM Capture WHERE
        state='complete' OR coalesce(reason, '')<>''")
    [ "$n" -ge "$2" ] || grep -q 'jobs here' last.log || complain "$n captures of $2 are named: see $CASE"
}

# one_case N: of damaged ones
one_case ()
{
    local state=0 db=all/cluster_analysis_output/analysis.db bad=0

    captures 2 --ranks $(($1 + 2)) --skip-ranks "2-$(($1 + 1))"
    oracle 2>/dev/null              # it says that the others are not there
    HEALTHY=$(basename -a job/* | sed "s/.*/'&'/" | paste -sd,)
    make_bad "$1" || return
    limited "$BIN/rollcall" analyze -o all job || return
    all_named "$db" $(($1 + 2)) || bad=1
    only_healthy "$db"
    verdict "" healthy.db >verdict.txt || complain "the healthy ones: \
$(cat verdict.txt)" || bad=1
    start_service
    await 30 listens "$PORT" || complain "$(cat service.log)" || return
    limited "$BIN/rollcall-agent" --state "$CASE/state" --job j --once \
        --aggregator "$ENDPOINT" --quiet-period 0.1s job || return
    await 60 test -e "$DB" || complain "no result" || return
    stop_service
    limited "$BIN/rollcall" build --root root j || return
    only_healthy "$DB"
    verdict "" healthy.db >verdict.txt || complain "the healthy ones, \
delivered: $(cat verdict.txt)" || bad=1
    sqlite3 -readonly "$db" "SELECT state FROM Capture WHERE name NOT IN
        ($HEALTHY)" >>"$WORK/states"
    echo "$1" >>"$WORK/damaged"
    return $bad
}

part_captures ()
{
    local sanitized='' n=60 each=20 i

    ! grep -q __asan_init "$BIN/rollcall" || sanitized=1
    [ -z "$LONG" ] || n=700
    CASES=()
    for ((i = 0; i < n; i += each)); do
        CASES+=("$each")
    done
    workers 2 take_cases
    report "damaged $(awk '{ n += $1 } END { print n + 0 }' "$WORK/damaged"):" \
        "$(sort "$WORK/states" | uniq -c | awk '{ printf "%s %d ", $2, $1 }')"
}
