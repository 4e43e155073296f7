#!/usr/bin/env bats
# rollcall jobs and rollcall clean: the runs of a machine, and what they leave

load run_helper

# a_run NAME COMMAND...
a_run ()
{
    local name=$1

    shift
    "$ROLLCALL" run --job "$name" -o "$name.out" -- "$@" >log 2>&1 ||
        [ $? -eq 65 ]
    ! "$ROLLCALL" clean "$name" | grep "under way"
    eventually has_ended "$name"
}

# Its daemons have gone, a moment after it.
has_ended ()
{
    "$ROLLCALL" clean "$1" | grep "^$1  *over" | grep -qv "still ending"
}

# Whoever has no service has runs.
@test "jobs without a service lists the runs of this machine" {
    unset ROLLCALL_ROOT
    [ ! -e /var/lib/rollcall ] || skip "there is a service here"
    a_run good ./writer
    a_run bad true
    run "$ROLLCALL" jobs
    expect_status 0
    shows "these are the runs of this machine" "good " "1 of 1 present" \
        "good.out/cluster_analysis_output/analysis.db" "bad " \
        "over, incomplete"
    "$ROLLCALL" jobs --json 2>/dev/null >jobs.json
    is "the runs" "bad good" "$(sqlite3 -batch -separator ' ' :memory: "SELECT
        group_concat(value ->> 'job', ' ') FROM
        json_each(readfile('jobs.json'), '\$.runs')")"
    run "$ROLLCALL" jobs --root .
    expect_status 66
    shows "is not the root of an aggregator"
}

@test "clean shows, and removes with --apply what is over and whole" {
    a_run good ./writer
    a_run bad true
    run "$ROLLCALL" clean
    expect_status 0
    shows "1 run, " "rollcall clean --apply removes that"
    [ -d state/good ]
    run "$ROLLCALL" clean --apply --older 1h
    shows "0 runs"
    [ -d state/good ]
    run "$ROLLCALL" clean --apply
    expect_status 0
    shows "removed"
    [ ! -e state/good ]
    [ -d state/bad ]
    [ -s good.out/cluster_analysis_output/analysis.db ]
    run "$ROLLCALL" clean --apply good
    expect_status 66
    run "$ROLLCALL" clean --apply --incomplete bad
    expect_status 0
    [ ! -e state/bad ]
}

# What a running job has on disk is all that there is of it.
@test "clean leaves a run that is under way alone" {
    printf '#!/bin/sh\necho $$ >began\nuntil [ -e go ]; do sleep 0.05; done\n' \
        >command
    chmod +x command
    "$ROLLCALL" run --job busy -o out -- ./command >log 2>&1 3>&- &
    pid=$!
    eventually test -s began
    run "$ROLLCALL" clean --apply --incomplete
    shows "busy" "it is under way"
    [ -d state/busy ]
    touch go
    end_of "$pid"
}

# The only copy of what a run measured may be its captures.
@test "clean keeps a run whose result is gone, or another run's by now" {
    a_run first ./writer
    "$ROLLCALL" run --job second -o first.out -- ./writer >log 2>&1
    a_run third ./writer
    rm -r third.out
    eventually has_ended second
    run "$ROLLCALL" clean --apply
    expect_status 0
    shows "over, result replaced" "over, result gone" "1 run, "
    [ -d state/first ]
    [ -d state/third ]
    [ ! -e state/second ]
}

# Below --state may be what somebody keeps there.
@test "clean makes no directory of a name that was mistyped" {
    run "$ROLLCALL" clean --state typo
    expect_status 66
    shows "typo: No such file or directory"
    [ ! -e typo ]
}

@test "clean removes nothing that is no run's" {
    mkdir -p -m 700 home/papers/thesis
    echo precious >home/papers/thesis/text
    run "$ROLLCALL" clean --state home --apply --incomplete
    expect_status 0
    shows "(no rows)" "0 runs, 0 B"
    is "text" precious "$(cat home/papers/thesis/text)"
}

# rollcall wait starts a run again, under a lock; what it needs must not go.
@test "clean leaves a run alone that is being finished" {
    a_run bad true
    exec 5>>"$(echo state/bad/*)/finish.lock"
    flock 5
    run "$ROLLCALL" clean --apply --incomplete bad
    expect_status 74
    shows "is being finished"
    [ -d "$(echo state/bad/*)/root" ]
    exec 5>&-
    run "$ROLLCALL" clean --apply --incomplete bad
    expect_status 0
    [ ! -e state/bad ]
}
