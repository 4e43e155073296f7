#!/usr/bin/env bats
# Healthy jobs of all kinds are one job each, whole, without a warning: 100 of
# them, five of a kind (HEALTHY_JOBS)

load helper

KINDS=20
NOW=1763978400

# pick WORD...: one of them, by the seed; another one at each call
pick ()
{
    turn=$((turn + 1))
    picked=${*:1 + (seed * 7919 + turn * 104729 + seed / 3) % $#:1}
}

# a_job: options of an ordinary one, in 'opts'; sets 'ranks'
a_job ()
{
    local ops ids steady

    pick 4 8 2 16 6; ranks=$picked
    pick 8 12 20 28; ops=$picked
    pick group root group "group --no-groups"; ids=$picked
    pick "" --steady; steady=$picked
    # shellcheck disable=SC2206         # words
    opts=(--ranks "$ranks" --ops "$ops" --seed "$seed" --ids $ids $steady
          --start "$((NOW + seed * 86400)).$((seed % 10))")
    pick 3 1 2 5; opts+=(--steps "$picked")
    pick 10 0 1 250; opts+=(--first-step "$picked")
}

make_it ()
{
    "$CAPTURE_MAKER" --quiet "${opts[@]}" "$@" job
}

# a_form: of the ordinary ones
a_form ()
{
    pick text db both event_db kineto text mindspore
    opts+=(--form "$picked")
}

# present_but LIST: these are missing, the others are there, and no more
present_but ()
{
    local rank there="" missing=""

    for ((rank = 0; rank < ranks; rank++)); do
        case ,$1, in
        *,$rank,*) missing+=,$rank ;;
        *) there+=,$rank ;;
        esac
    done
    is "present" "${there#,}" "$(in_state present)" &&
        is "missing" "${missing#,}" "$(in_state missing)" &&
        is "others" "" "$(sql "SELECT group_concat(rank || state) FROM Roster
                               WHERE state NOT IN ('present', 'missing')")" &&
        is "captures" "" "$(sql "SELECT group_concat(name || ' ' || state)
            FROM Capture WHERE state NOT IN ('complete', 'superseded')")"
}

in_state ()
{
    sql "SELECT group_concat(rank) FROM (SELECT rank FROM Roster
         WHERE state='$1' ORDER BY rank)"
}

# unharmed [MISSING]: one job, all of it, and not a word of warning
unharmed ()
{
    local expected=0 got=0

    [ -n "${1:-}" ] && expected=1
    "$ROLLCALL" analyze --text -o out job >log 2>err || got=$?
    is "exit status" "$expected" "$got" &&
        present_but "${1:-}" &&
        ! grep -E "jobs? here|warning|contradict|doubt" log err &&
        is "stderr" "" "$(cat err)"
}

# each_of KIND: a function that makes and tries one, with several seeds
each_of ()
{
    local sets=$(((HEALTHY_JOBS + KINDS - 1) / KINDS)) bad=0 seed
    local turn picked ranks opts

    for ((seed = 1; seed <= sets; seed++)); do
        mkdir "$BATS_TEST_TMPDIR/$seed"
        cd "$BATS_TEST_TMPDIR/$seed" || return
        turn=0
        a_job
        "$1" >why 2>&1 || {
            printf '%s %s: %s\n%s\n' "$seed" "${opts[*]}" \
                "$(paste -sd ' ' why)" "$(cat log err)" >&2
            bad=$((bad + 1))
        }
    done
    [ "$bad" -eq 0 ] || fail "$bad of $sets"
}

subset ()
{
    local gone=$((seed % (ranks - 1)))  # the last one may not be known

    [ "$ranks" -lt 6 ] || gone+=,$((gone + 1 < ranks - 1 ? gone + 1 : 0))
    a_form
    opts+=(--skip-ranks "$gone")
    make_it
    unharmed "$gone"
}

windows ()
{
    local last=$((ranks - 1))

    opts+=(--steps 6 --first-step 10)
    pick "40-42" "13-18" "12-13" "16-20"
    opts+=(--window "$last:$picked")
    a_form
    make_it
    unharmed
}

repeated ()
{
    pick 2 3 5; opts+=(--repeat "$picked")
    pick 0 1 4; opts+=(--wait "$picked")
    pick 0 1; opts+=(--warmup "$picked" --first-step 10)
    pick 0.5 60 4000; opts+=(--gap "$picked")
    a_form
    make_it
    unharmed
}

every_tenth ()
{
    pick list schedule
    if [ "$picked" = list ]; then
        opts+=("--steps-list=10,20,30,40")
    else
        opts+=(--steps 1 --repeat 4 --wait 8 --warmup 1 --first-step 10
               --gap 30)
    fi
    a_form
    make_it
    unharmed
}

level0 ()
{
    opts+=(--level 0 --no-metadata)
    pick text db event_db; opts+=(--form "$picked")
    make_it
    unharmed
}

containers ()
{
    pick 1 2 4; opts+=(--ranks-per-host "$picked" --host-name localhost)
    pick text event_db kineto both; opts+=(--form "$picked")
    make_it
    unharmed
}

an_hour_apart ()
{
    pick 1 2; opts+=(--ranks-per-host "$picked")
    pick 3600000 -3600000 5400000; opts+=(--skew-host "1:$picked")
    a_form
    make_it
    unharmed
}

renamed ()
{
    opts+=(--layout renamed)
    a_form
    make_it
    unharmed
}

local_names ()
{
    pick 1 2 4; opts+=(--layout hosts --ranks-per-host "$picked")
    a_form
    make_it
    unharmed
}

uneven ()
{
    pick 3 5 7 9 11; ranks=$picked
    pick 2 3 8; opts+=(--ranks "$ranks" --ranks-per-host "$picked")
    a_form
    make_it
    unharmed
}

elastic ()
{
    mkdir job
    echo '{"job":"slurm-77","rank":-1,"world_size":-1}' >job/.rollcall-job
    a_form
    opts+=(--first-step 10 --steps 4)
    make_it
    pick 12 14 30
    opts+=(--first-step "$picked" --process 1 --start
           "$((NOW + seed * 86400 + 700))")
    pick 0 3; opts+=(--first-host "$picked")
    make_it
    unharmed
}

analysed_again ()
{
    make_it
    mkdir first
    mv job first/
    pick text db event_db both; opts+=(--form "$picked")
    make_it
    mkdir job/again
    mv first/job job/again/first
    unharmed
}

copies ()
{
    local one

    a_form
    make_it
    one=$(find job -mindepth 1 -maxdepth 1 -name "[!.]*" | sort |
          sed -n "$((1 + seed % ranks))p")
    mkdir job/copy
    cp -r "$one" job/copy/
    pick one all
    [ "$picked" = one ] || cp -r job all
    [ "$picked" = one ] || mv all job/all
    unharmed
}

two_devices ()
{
    opts+=(--devices 2)
    pick text db event_db kineto; opts+=(--form "$picked")
    make_it
    unharmed
}

event_dbs ()
{
    opts+=(--form event_db)
    pick "" "--no-metadata" "--no-host"
    # shellcheck disable=SC2206         # words
    opts+=($picked)
    make_it
    unharmed
}

plain_kineto ()
{
    opts+=(--form kineto --no-groups)
    pick real renamed; opts+=(--layout "$picked")
    pick "" --no-host
    # shellcheck disable=SC2206         # words
    opts+=($picked)
    make_it
    unharmed
}

msprof ()
{
    opts+=(--form msprof)
    pick "" --no-rank
    # shellcheck disable=SC2206         # words
    opts+=($picked)
    pick 8 2; opts+=(--ranks-per-host "$picked")
    make_it
    unharmed
}

mindspore ()
{
    opts+=(--form mindspore)
    pick real renamed; opts+=(--layout "$picked")
    make_it
    unharmed
}

mixed ()
{
    local half=$((ranks / 2))

    pick db event_db both
    make_it --form text --skip-ranks "$half-$((ranks - 1))"
    make_it --form "$picked" --skip-ranks "0-$((half - 1))"
    unharmed
}

one_step ()
{
    opts+=(--steps 1)
    a_form
    pick "" --no-schedule
    # shellcheck disable=SC2206         # words
    opts+=($picked)
    make_it
    unharmed
}

@test "a subset of the ranks: the others are missing, no more" {
    each_of subset
}

@test "ranks with different windows" {
    each_of windows
}

@test "the schedule repeats" {
    each_of repeated
}

@test "every 10th step only" {
    each_of every_tenth
}

@test "Level0 without metadata" {
    each_of level0
}

@test "one host name for all containers" {
    each_of containers
}

@test "hosts an hour apart in clock" {
    each_of an_hour_apart
}

@test "renamed directories" {
    each_of renamed
}

@test "directory names with local ranks" {
    each_of local_names
}

@test "uneven groups" {
    each_of uneven
}

@test "an elastic restart with an id" {
    each_of elastic
}

@test "an analysis done again" {
    each_of analysed_again
}

@test "copies" {
    each_of copies
}

@test "two devices a process" {
    each_of two_devices
}

@test "event databases only" {
    each_of event_dbs
}

@test "traces of Kineto without groups" {
    each_of plain_kineto
}

@test "msprof" {
    each_of msprof
}

@test "MindSpore" {
    each_of mindspore
}

@test "text and databases mixed" {
    each_of mixed
}

@test "one step" {
    each_of one_step
}
