#!/usr/bin/env bats
# rollcall run: whoever dies, whenever, nobody hangs, nothing is left running,
# and the roll is called
#
# Each test starts a run of 4 ranks, stops it at one of three points, kills one
# of its processes and looks at what is left:
#   before   no COMMAND has written its capture
#   after    every COMMAND has, and still runs
#   ended    every COMMAND has ended; the aggregator is held, so that the run
#            is not over

load run_helper

RANKS=4

start_run ()                        # [OPTION]...
{
    cat >command <<'SCRIPT'
#!/bin/bash
wait_for () { until [ -e "$1" ]; do sleep 0.05; done; }
echo $PPID >wrapper.$RANK
# what it started must not be left, either
sleep 1000 </dev/null >/dev/null 2>&1 &
echo $$ >command.$RANK
wait_for go.write
./writer
touch wrote.$RANK
wait_for go.end
SCRIPT
    chmod +x command
    # bash starts what is in the background with SIGINT ignored; mpirun kills
    # after a second what it has sent SIGTERM, which a busy machine may need to
    # let wrappers say who has ended them
    env --default-signal OMPI_MCA_odls_base_sigkill_timeout=6 mpirun -np $RANKS "$ROLLCALL" run --text -o out \
        --deadline 10s "$@" -- ./command >log 2>&1 3>&- &
    pid=$!
    for_ranks began
}

# for_ranks FILE: until each rank has made it
for_ranks ()
{
    local rank file=$1

    [ "$file" != began ] || file=command
    for ((rank = 0; rank < RANKS; rank++)); do
        eventually test -s "$file.$rank" -o -e "$file.$rank"
    done
}

# until_point before|after|ended
until_point ()
{
    local rank

    case $1 in
    before) return ;;
    esac
    touch go.write
    for_ranks wrote
    [ "$1" = ended ] || return 0
    # an aggregator that does not answer
    kill -STOP "$(processes_named rollcall-aggregator)"
    touch go.end
    for ((rank = 0; rank < RANKS; rank++)); do
        eventually gone "$(cat command.$rank)"
    done
    for ((rank = 1; rank < RANKS; rank++)); do
        eventually gone "$(cat wrapper.$rank)"
    done
}

# kill_one SIGNAL WHOM
kill_one ()
{
    case $2 in
    command) kill -"$1" "$(cat command.2)" ;;
    wrapper0) kill -"$1" "$(cat wrapper.0)" ;;
    wrapper) kill -"$1" "$(cat wrapper.2)" ;;
    agent) kill -"$1" "$(processes_named rollcall-agent)" ;;
    aggregator) kill -"$1" "$(processes_named rollcall-aggregator)" ;;
    mpirun) kill -"$1" "$pid" ;;
    esac
}

# A held aggregator may go on.
release ()
{
    local p

    for p in $(processes_named rollcall-aggregator); do
        kill -CONT "$p" 2>/dev/null || true         # it may have ended
    done
}

# What is true after every death.
the_roll_is_called ()
{
    local captures

    end_of "$pid"
    SECONDS=0
    status=0
    "$ROLLCALL" wait --text --timeout 120s "$(job)" >wait.log 2>&1 ||
        status=$?
    output=$(cat wait.log)
    nothing_runs || fail "$(cat log)" || return
    [ -e "$DB" ] || fail "no result: $output; $(cat log)" || return
    captures=$(find state -name '*_ascend_pt' | wc -l)
    has_rows "$captures"
}

# death SIGNAL WHOM WHEN
death ()
{
    start_run
    until_point "$3"
    kill_one "$1" "$2"
    case $2 in
    agent | aggregator)
        touch go.write go.end ;;
    esac
    release
    the_roll_is_called
}

# ranks_are STATE [STATE]...: states of the ranks, in this order
ranks_are ()
{
    is "ranks" "$*" "$(sql "SELECT group_concat(state, ' ') FROM
                            (SELECT state FROM Roster ORDER BY rank)")"
}

# Nobody is blamed for what the launcher did to all.
all_ended_by_launcher ()
{
    is "ranks that the launcher ended" $RANKS "$(sql "SELECT count(*) FROM
        Roster WHERE reason LIKE 'ended by its launcher (signal %'")" ||
        fail "$(sql "SELECT rank, reason FROM Roster")"
}

launcher_says ()
{
    grep -qF "$1" log || fail "the launcher's output has no \"$1\": $(cat log)"
}

@test "COMMAND is killed before it has written" {
    death KILL command before
    expect_status 137
    roster_says 2 missing "COMMAND was killed by signal 9"
    roster_says 1 missing "rollcall ended it, since rank 2 failed"
}

@test "COMMAND is killed after it has written" {
    death KILL command after
    expect_status 137
    roster_says 2 present "COMMAND was killed by signal 9"
    ranks_are present present present present
}

@test "a wrapper is killed before its COMMAND has written" {
    death KILL wrapper before
    expect_status 137
    roster_says 2 missing "its wrapper was killed, and its COMMAND with it"
}

@test "a wrapper is killed after its COMMAND has written" {
    death KILL wrapper after
    expect_status 137
    roster_says 2 present "its wrapper was killed"
    ranks_are present present present present
}

@test "the wrapper of rank 0 is killed before its COMMAND has written" {
    death KILL wrapper0 before
    expect_status 137
    roster_says 0 missing "its wrapper was killed, and its COMMAND with it"
}

@test "the wrapper of rank 0 is killed after its COMMAND has written" {
    death KILL wrapper0 after
    expect_status 137
    roster_says 0 present "its wrapper was killed"
    ranks_are present present present present
}

@test "the wrapper of rank 0 is killed after all COMMANDs have ended" {
    death KILL wrapper0 ended
    expect_status 0
    ranks_are present present present present
}

@test "the agent is killed before COMMAND has written: another goes on" {
    death KILL agent before
    expect_status 0
    launcher_says "4 of 4 present"
}

@test "the agent is killed after COMMAND has written: another goes on" {
    death KILL agent after
    expect_status 0
    launcher_says "4 of 4 present"
}

@test "the agent is killed after all COMMANDs have ended: another goes on" {
    death KILL agent ended
    expect_status 0
    launcher_says "4 of 4 present"
}

# Needs the build with fault points (preset faults).
# bats test_tags=faults
@test "the agent's ledger is damaged in use: another sets it aside, goes on" {
    grep -q ROLLCALL_FAULT_ONCE "$ROLLCALL_BIN/rollcall-agent" ||
        skip "no fault points in this build"
    export ROLLCALL_FAULT=agent.spool.next:6:damaged ROLLCALL_FAULT_ONCE=$PWD/hit
    start_run
    touch go.write go.end
    the_roll_is_called
    [ -e hit ]
    expect_status 0
    launcher_says "4 of 4 present"
    grep -q "event=ledger-damaged.*in quarantine" "$(run_dir)/agent.log"
}

# Each may die three times, whatever happens to the other.
# bats test_tags=slow
@test "agent and aggregator are killed two and three times: others go on" {
    local who

    start_run
    for who in agent aggregator agent aggregator aggregator; do
        kill_one KILL $who
        back () { [ -n "$(processes_named rollcall-$who)" ]; }
        eventually back
    done
    touch go.write go.end
    the_roll_is_called
    expect_status 0
    launcher_says "4 of 4 present"
}

@test "the aggregator is killed before COMMAND has written: another goes on" {
    death KILL aggregator before
    expect_status 0
    launcher_says "4 of 4 present"
}

@test "the aggregator is killed after COMMAND has written: another goes on" {
    death KILL aggregator after
    expect_status 0
    launcher_says "4 of 4 present"
}

@test "the aggregator is killed after all COMMANDs have ended" {
    death KILL aggregator ended
    expect_status 0
    launcher_says "4 of 4 present"
}

@test "mpirun is killed before COMMAND has written" {
    death KILL mpirun before
    [ "$status" -ne 0 ]
    ranks_are missing missing missing missing
}

@test "mpirun is killed after COMMAND has written" {
    death KILL mpirun after
    ranks_are present present present present
}

@test "mpirun is killed after all COMMANDs have ended" {
    death KILL mpirun ended
    expect_status 0
    ranks_are present present present present
}

# kill_at_once: all processes, before one of them can see that another is gone
kill_at_once ()
{
    local pids before=

    while pids=$(processes); [ "$pids" != "$before" ]; do
        # shellcheck disable=SC2086     # a list
        kill -STOP $pids 2>/dev/null || true
        before=$pids
    done
    kill_all
}

# As a scheduler does with all that a job has left behind.
everything_is_killed ()             # WHEN
{
    start_run
    until_point "$1"
    kill_at_once
    the_roll_is_called
    [[ "$output" == *"died before it was over: it is restarted"* ]] ||
        fail "wait says: $output"
    "$ROLLCALL" wait --text "$(job)" >again.log 2>&1 || [ $? -eq "$status" ]
    ! grep "restarted" again.log
}

@test "everything is killed: wait finishes a run of more ranks than its own limit" {
    start_run --max-ranks 8
    until_point after
    kill_at_once
    export ROLLCALL_MAX_RANKS=2
    the_roll_is_called
    ranks_are present present present present
}

# A run that began later has put its result there meanwhile.
@test "everything is killed: what wait finishes later replaces no newer result" {
    local first before

    start_run
    until_point before
    kill_at_once
    first=$(job)
    rm -f "$(run_dir)/joined"           # as before an agent has said hello
    run mpirun -np 2 "$ROLLCALL" run --text -o out --job later -- ./writer
    expect_status 0
    before=$(sha256sum <"$DB")
    touch go.write
    run "$ROLLCALL" wait --text "$first"
    shows "$first" "of-$first"
    is "the newer result" "$before" "$(sha256sum <"$DB")"
    [ -e "out/cluster_analysis_output.of-$first/analysis.db" ]
    nothing_runs
}

@test "everything is killed before COMMAND has written: wait finishes it" {
    everything_is_killed before
    [ "$status" -ne 0 ]
    ranks_are missing missing missing missing
}

@test "everything is killed after COMMAND has written: wait finishes it" {
    everything_is_killed after
    ranks_are present present present present
}

@test "everything is killed after all COMMANDs have ended: wait finishes it" {
    everything_is_killed ended
    expect_status 0
    ranks_are present present present present
    # that was in the spool of their agent
    is "how they ended" "0 0 0 0" \
        "$(sql "SELECT group_concat(command_status, ' ') FROM Roster")"
}

@test "SIGTERM to mpirun before COMMAND has written" {
    death TERM mpirun before
    [ "$status" -ne 0 ]
    ranks_are missing missing missing missing
    all_ended_by_launcher
    launcher_says "rollcall wait $(job)"
}

@test "SIGTERM to mpirun after COMMAND has written" {
    death TERM mpirun after
    ranks_are present present present present
    all_ended_by_launcher
}

@test "SIGTERM to mpirun after all COMMANDs have ended" {
    death TERM mpirun ended
    expect_status 0
    ranks_are present present present present
}

@test "SIGINT to mpirun before COMMAND has written" {
    death INT mpirun before
    [ "$status" -ne 0 ]
    ranks_are missing missing missing missing
    all_ended_by_launcher
}

@test "SIGINT to mpirun after COMMAND has written" {
    death INT mpirun after
    ranks_are present present present present
    all_ended_by_launcher
}

@test "SIGINT to mpirun after all COMMANDs have ended" {
    death INT mpirun ended
    expect_status 0
    ranks_are present present present present
}

# Who types Ctrl-C has a prompt again while the run is still being ended, and
# saw no word of that.
@test "Ctrl-C says what goes on in the background, and how to get it" {
    printf '#!/bin/sh\necho $$ >began\nexec sleep 1000\n' >command
    chmod +x command
    env --default-signal "$ROLLCALL" run --text -o out -- ./command \
        >log 2>&1 3>&- &
    pid=$!
    eventually test -s began
    kill -STOP "$(processes_named rollcall-aggregator)"
    kill -INT "$pid"
    end_of "$pid"
    expect_status 143
    output=$(cat log)
    shows "job $(job) was interrupted. What it captured is still being \
collected (process $(processes_named rollcall-aggregator) of host" \
        "rollcall wait $(job)"
    "$ROLLCALL" wait --text --timeout 60s "$(job)" >waited 2>&1 3>&- &
    pid=$!
    eventually grep -q "is under way: waiting until its aggregator" waited
    release
    end_of "$pid"
    output=$(cat waited)
    shows "0 of 1 present"
    nothing_runs
}

# The summary of another job would pass for that of this one.
@test "wait names the run that has replaced a result" {
    local job

    for job in first second; do
        run "$ROLLCALL" run --job "$job" -o out -- true
        expect_status 65
    done
    run "$ROLLCALL" wait first
    expect_status 66
    shows "job first ended with" "is now that of job second" \
        "rollcall build --root"
    [[ "$output" != *"ranks  "* ]] || fail "another's summary: $output"
    run "$ROLLCALL" wait --json first
    expect_status 66
}

# It is nobody's fault within the program, which 70 would be.
@test "wait says that a result was removed, and how its job ended" {
    run "$ROLLCALL" run --job whole -o out -- ./writer
    expect_status 0
    run "$ROLLCALL" run --job none -o out2 -- true
    expect_status 65
    rm -r out out2
    run "$ROLLCALL" wait whole
    expect_status 66
    shows "job whole ended with all ranks present; its result is gone: " \
        "no longer exists"
    run "$ROLLCALL" wait --json none
    expect_status 66
    shows "no longer exists; rollcall build --root"
}

# As Slurm does, and a launcher that signals process groups: who dies first has
# not failed.
@test "a COMMAND is sent SIGTERM before the wrappers are" {
    start_run
    kill -TERM "$(cat command.2)"
    LIMIT=2 eventually gone "$(cat command.2)"
    # shellcheck disable=SC2046         # numbers
    kill -TERM $(cat wrapper.[0-3])
    the_roll_is_called
    is "ranks" 4 "$(sql "SELECT count(*) FROM Roster WHERE reason LIKE
        'ended by signal 15 of bash (process %'")" ||
        fail "$(sql "SELECT rank, reason FROM Roster")"
}

@test "SIGTERM to one COMMAND: that one has failed, the others are ended" {
    death TERM command before
    expect_status 143
    roster_says 2 missing "COMMAND was killed by signal 15"
    roster_says 1 missing "rollcall ended it, since rank 2 failed"
    # how each has ended is there, whyever it was
    is "signals" "15 15 15 15" "$(sql "SELECT group_concat(command_signal, ' ')
        FROM Roster")"
    is "times" 4 "$(sql "SELECT count(*) FROM Roster WHERE command_ended_ns/1e9
        BETWEEN strftime('%s','now')-600 AND strftime('%s','now')+1")"
    "$ROLLCALL" query --csv missing "$DB" >missing.csv
    grep -q '^rank,state,.*,command_status,command_signal,command_ended' missing.csv
    grep -qE '^2,missing,.*,,15,20[0-9-]+T[0-9:]+Z' missing.csv
}
