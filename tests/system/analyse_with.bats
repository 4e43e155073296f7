#!/usr/bin/env bats
# Captures that were never analysed: --analyse-with and its limits

load service_helper

# raw_job [OPTION]...: job/, whose results are in prepared/CAPTURE instead
raw_job ()
{
    local capture

    make --ranks 2 "$@"
    mkdir -p prepared
    for capture in job/*_ascend_??; do
        mv "$capture/ASCEND_PROFILER_OUTPUT" "prepared/${capture#job/}"
    done
    export PREPARED=$TEST_DIR/prepared
}

# program NAME: an analyser from standard input; $1 is the capture
program ()
{
    { echo '#!/bin/bash'; cat; } >"$1"
    chmod +x "$1"
}

# good: analyses every capture; bad: not that of rank 1
programs ()
{
    program good <<'SCRIPT'
cp -a "$PREPARED/${1##*/}" "$1/ASCEND_PROFILER_OUTPUT"
SCRIPT
    program bad <<'SCRIPT'
echo "$1" >>"$TEST_DIR/runs"
[ ! -e "$1/profiler_info_1.json" ] || { echo one; echo no licence; exit 3; }
exec "$TEST_DIR/good" "$1"
SCRIPT
}

slow_begins ()                      # in an agent that watches job/
{
    service
    watching --quiet-period 0.1s --analyse-with "$PWD/slow" job
    begun () { [ -e begun ]; }
    eventually begun
}

runs_are ()                         # N
{
    is "runs" "$1" "$(wc -l <runs)"
}

states_are ()                       # STATES, by rank
{
    [ -e "$DB" ] && [ "$(sql "SELECT group_concat(state) FROM Roster
                              ORDER BY rank" 2>/dev/null)" = "$1" ]
}

reason_of ()                        # RANK
{
    sql "SELECT reason FROM Capture WHERE rank=$1 AND state<>'superseded'"
}

@test "analyze: raw captures are analysed first, and are as any other" {
    raw_job
    programs
    analyze --analyse-with "$PWD/good"
    expect_status 0
    shows "analysing 2 captures" "2 of 2 present"
    truth_holds
    [ -e out/cluster_analysis_output/analyses ]
}

@test "a failure costs that rank only, and is quoted" {
    raw_job
    programs
    analyze --analyse-with "$PWD/bad"
    expect_status 1
    roster_is 0 present
    reason_has 1 "status 3" "no licence" "analyses/"
    roster_is 1 raw
    grep -q "^one$" out/cluster_analysis_output/analyses/*.log
}

# What a failed analysis has left may look whole, and lack half of the ops.
@test "one that fails behind its results: they count, and are not whole" {
    raw_job
    programs
    program late <<'SCRIPT'
"$TEST_DIR/good" "$1"
[ ! -e "$1/profiler_info_1.json" ] || { echo disk full; exit 3; }
SCRIPT
    analyze --analyse-with "$PWD/late"
    expect_status 1
    state_is 0 complete
    state_is 1 partial
    reason_has 1 "status 3" "disk full"
    [ "$(sql "SELECT count(*) FROM StepTraceTime WHERE rank=1")" -gt 0 ]
}

@test "one that removes, renames or replaces the capture: its rank is known" {
    local what

    for what in 'rm -r "$1"' 'mv "$1" "$1.moved"' \
        'rm -r "$1"; ln -s "$TEST_DIR" "$1"' \
        'rm -r "$1"; cp -r "${1%/*}"/node0_20003_* "$1"'; do
        rm -rf job prepared
        raw_job
        programs
        { echo '[ -e "$1/profiler_info_1.json" ] || exec "$TEST_DIR/good" "$1"'
          echo "$what"; } | program takes
        analyze --analyse-with "$PWD/takes"
        expect_status 1
        roster_is 0 present
        roster_is 1 failed
        reason_has 1 "its analysis ended with status"
    done
}

@test "a program that ends well and does nothing; one that is not there" {
    raw_job
    analyze --analyse-with true
    expect_status 65
    shows "though its analysis ended with status 0"
    analyze --analyse-with "$PWD/no-such-thing"
    expect_status 65
    shows "status 127" "no-such-thing"
    analyze --analyse-with " "
    expect_status 2
}

@test "words of COMMAND are split by a shell, the capture's path is not" {
    raw_job
    programs
    mv job "j ob \$(touch broken)"
    program words <<'SCRIPT'
[ "$1" = "a  b" ] && [ $# = 2 ] && exec "$TEST_DIR/good" "$2"
SCRIPT
    run "$ROLLCALL" analyze --text -o out --analyse-with "$PWD/words 'a  b'" \
        "j ob \$(touch broken)"
    expect_status 0
    [ ! -e broken ]
}

@test "one that hangs is killed with all that it has started" {
    raw_job
    program hang <<'SCRIPT'
trap '' TERM HUP
setsid sleep 600 &
sleep 600 &
echo half >"$1/half"
mkdir "$1/ASCEND_PROFILER_OUTPUT"
sleep 600
SCRIPT
    analyze --analyse-with "$PWD/hang" --analyse-timeout 0.5s
    expect_status 65
    reason_has 0 "killed after 0.5 s"
    state_is 0 raw
    no_processes
}

@test "one that wants too much memory fails, and the reason says so" {
    raw_job
    program hog <<'SCRIPT'
exec awk 'BEGIN { s = "0123456789abcdef"; while (1) s = s s }'
SCRIPT
    analyze --analyse-with "$PWD/hog" --analyse-memory 300MB
    expect_status 65
    reason_has 1 "its analysis"
    state_is 1 raw
    no_processes
}

@test "interrupted while a capture is analysed: nothing is left" {
    raw_job
    program hang <<'SCRIPT'
touch "$TEST_DIR/begun"
setsid sleep 600 &
sleep 600
SCRIPT
    background "$ROLLCALL" analyze -o out --analyse-with "$PWD/hang" job
    begun () { [ -e begun ]; }
    eventually begun
    kill -TERM "$pid"
    end_of "$pid"
    expect_status 143
    shows "nothing was written"
    [ ! -e "$DB" ]
    no_processes
}

@test "what a good one leaves running is killed" {
    raw_job
    programs
    program leaves <<'SCRIPT'
"$TEST_DIR/good" "$1"
setsid sleep 600 </dev/null >/dev/null 2>&1 &
SCRIPT
    analyze --analyse-with "$PWD/leaves"
    expect_status 0
    no_processes
}

@test "a log has an end, however much is said; its last line is kept" {
    local log

    raw_job
    program loud <<'SCRIPT'
yes "this is a line" | head -c 30000000
echo "the last word"
exit 1
SCRIPT
    analyze --analyse-with "$PWD/loud"
    expect_status 65
    reason_has 0 "the last word"
    for log in out/cluster_analysis_output/analyses/*.log; do
        [ "$(stat -c %s "$log")" -lt 1100000 ]
        grep -q "bytes left out" "$log"
        is "the end" "the last word" "$(tail -n 1 "$log")"
    done
}

@test "--analyse-jobs: one at a time, or two" {
    raw_job
    programs
    program alone <<'SCRIPT'
mkdir "$TEST_DIR/busy" || touch "$TEST_DIR/overlapped"
"$TEST_DIR/good" "$1"
rmdir "$TEST_DIR/busy"
SCRIPT
    program together <<'SCRIPT'
touch "$TEST_DIR/started-$$"
until [ "$(ls -d "$TEST_DIR"/started-* | wc -l)" = 2 ]; do sleep 0.05; done
exec "$TEST_DIR/good" "$1"
SCRIPT
    analyze --analyse-with "$PWD/alone" --analyse-memory 200MB
    expect_status 0
    [ ! -e overlapped ]
    rm -r job/*/ASCEND_PROFILER_OUTPUT
    analyze --analyse-with "$PWD/together" --analyse-jobs 2 \
        --analyse-memory 200MB --analyse-timeout 50s
    expect_status 0
}

@test "a capture that must not be written is not analysed" {
    raw_job
    programs
    [ "$(id -u)" -ne 0 ] || command -v setpriv >/dev/null || skip "needs setpriv"
    chmod a-w job/*_ascend_pt
    run humbly "$ROLLCALL" analyze --text -o out --analyse-with "$PWD/bad" job
    expect_status 65
    shows "was not analysed" "not allowed"
    [ ! -e runs ]
}

# A python3 that has torch_npu, or has not, and counts how often it is asked.
python ()
{
    mkdir bin
    program bin/python3 <<SCRIPT
echo "\$2" >>"\$TEST_DIR/asked"
case \$2 in
"import torch_npu") exit $1 ;;
*"from torch_npu.profiler.profiler import analyse"*) exec "\$TEST_DIR/good" "\$3" ;;
esac
exit 9
SCRIPT
    PATH=$PWD/bin:$PATH
}

@test "without --analyse-with: torch_npu's own analysis, where it is" {
    raw_job
    programs
    python 0
    analyze
    expect_status 0
    shows "with torch_npu"
    truth_holds
    is "asked" 1 "$(grep -c "^import torch_npu" asked)"
}

@test "without torch_npu, and with none, captures stay raw" {
    raw_job
    programs
    python 1
    analyze
    expect_status 65
    shows "run torch_npu.profiler.profiler.analyse"
    is "asked" 1 "$(wc -l <asked)"
    rm asked
    analyze --analyse-with none
    expect_status 65
    [ ! -e asked ]
    "$CAPTURE_MAKER" --quiet --ranks 2 job2
    run "$ROLLCALL" analyze -o out2 job2
    expect_status 0
    [ ! -e asked ]                  # nothing was raw
}

# modules: torch_npu and mindspore, for the python3 that is here, each with the
# arguments of its own analyse; they analyse as good does, and note how they
# were called
modules ()
{
    local module

    command -v python3 >/dev/null || skip "needs python3"
    for module in torch_npu mindspore; do
        mkdir -p py/$module/profiler
        touch py/$module/__init__.py py/$module/profiler/__init__.py
    done
    cat >py/torch_npu/profiler/profiler.py <<'PYTHON'
import os, subprocess
def analyse(profiler_path, max_process_number=3, export_type=None):
    with open(os.environ["TEST_DIR"] + "/called", "a") as f:
        print("torch_npu", max_process_number, export_type, file=f)
    subprocess.run([os.environ["TEST_DIR"] + "/good", profiler_path])
PYTHON
    cat >py/mindspore/profiler/profiler.py <<'PYTHON'
import functools, os, subprocess
def quietly(f):
    return functools.wraps(f)(lambda *args, **named: f(*args, **named))
@quietly
def analyse(profiler_path, max_process_number=3, pretty=False,
            step_list=None, data_simplification=True):
    with open(os.environ["TEST_DIR"] + "/called", "a") as f:
        print("mindspore", max_process_number, step_list, file=f)
    subprocess.run([os.environ["TEST_DIR"] + "/good", profiler_path])
PYTHON
    export PYTHONPATH=$PWD/py PYTHONDONTWRITEBYTECODE=1
}

calls_are ()                        # CALL: of the two ranks
{
    is "calls" "$1"$'\n'"$1" "$(cat called)"
    rm called
}

@test "MindSpore's raw captures: by its own analysis, also if renamed" {
    local capture n=0

    raw_job --form mindspore
    programs
    modules
    analyze
    expect_status 0
    shows "with mindspore" "2 of 2 present"
    truth_holds
    calls_are "mindspore 3 None"
    for capture in job/*_ascend_ms; do
        mv "$capture/ASCEND_PROFILER_OUTPUT" "prepared/one_$n"
        mv "$capture" "job/one_$((n++))"
    done
    analyze
    expect_status 0
    calls_are "mindspore 3 None"
}

@test "MindSpore is not here: its captures stay raw, and its analyse is named" {
    raw_job --form mindspore
    programs
    python 0                        # which has torch_npu
    analyze
    expect_status 65
    shows "run mindspore.profiler.profiler.analyse"
    is "asked" "import mindspore.profiler.profiler" "$(cat asked)"
}

@test "captures of both profilers: each by its own" {
    raw_job --form mindspore
    programs
    modules
    mv job ms
    raw_job
    rm -r job/*_20012_* ms/*_20003_*        # rank 1 is MindSpore's
    mv ms/* job/
    analyze
    shows "capture that was never analysed, with torch_npu" \
        "never analysed, with mindspore"
    is "calls" "mindspore torch_npu" "$(cut -d ' ' -f 1 called | sort -u |
                                        paste -s -d ' ')"
}

# Each killed what the other had started: their logs were called alike.
@test "two analyses at once, each in a directory of its own" {
    local first status=0

    modules
    raw_job --form mindspore
    programs
    mkdir one two
    cp -a job one/
    cp -a job two/
    # the first one's search for mindspore lasts until the second has ended
    # (what polls is a COMMAND of the test; its event is a file)
    cat >py/mindspore/__init__.py <<'PYTHON'
import os, time
while "HELD" in os.environ and not os.path.exists(os.environ["HELD"]):
    time.sleep(0.05)
PYTHON
    (cd one && HELD=$TEST_DIR/held exec "$ROLLCALL" analyze --text \
        -o out job >../first.log 2>&1 3>&-) &
    first=$!
    begun () { [ -e one/out/cluster_analysis_output/analyses/mindspore.log ]; }
    eventually begun
    (cd two && "$ROLLCALL" analyze --text -o out job)
    touch held
    wait "$first" || status=$?
    is "status" 0 $status || fail "$(cat first.log)"
    is "calls" 4 "$(wc -l <called)"
}

@test "what is told to the profilers' own analyses, and what is left out" {
    local form

    modules
    for form in mindspore both; do
        rm -rf prepared
        raw_job --form $form
        programs
        analyze --analyse-processes 5 --analyse-export db,text \
            --analyse-steps 3,5-7
        expect_status 0
        if [ $form = mindspore ]; then
            calls_are "mindspore 5 [3, 5, 6, 7]"
            grep -q "^export_type is left out" \
                out/cluster_analysis_output/analyses/*.log
        else
            calls_are "torch_npu 5 ['db', 'text']"
            grep -q "^step_list is left out" \
                out/cluster_analysis_output/analyses/*.log
        fi
    done
    analyze --analyse-export xml
    expect_status 2
    shows "text,db"
    analyze --analyse-steps 3-
    expect_status 2
    shows "--analyse-steps: \"3-\""
    analyze --analyse-steps 0-1000000000000
    expect_status 2
    shows "more than"
}

@test "agent: MindSpore's raw captures, and what its analysis is told" {
    raw_job --form mindspore
    programs
    modules
    service
    run agent --once --analyse-processes 2 --analyse-steps 1 job
    expect_status 0
    shows "python3 has mindspore"
    eventually captures_are 2
    truth_holds
    calls_are "mindspore 2 [1]"
    stop_service
}

@test "run: what the analysis is told reaches the agent" {
    programs
    modules
    program raw_writer <<'SCRIPT'
./writer &&
    for capture in "$ROLLCALL_CAPTURE_DIR"/*_ascend_pt; do
        mkdir -p "$TEST_DIR/prepared"
        mv "$capture/ASCEND_PROFILER_OUTPUT" "$TEST_DIR/prepared/${capture##*/}"
    done
SCRIPT
    export PREPARED=$TEST_DIR/prepared
    run "$ROLLCALL" run --text -o out --analyse-processes 4 \
        --analyse-export text --analyse-steps 2 -- ./raw_writer
    expect_status 0
    shows "1 of 1 present"
    is "calls" "torch_npu 4 ['text']" "$(cat called)"
    nothing_runs
}

@test "agent: raw captures are delivered, analysed, and delivered again" {
    raw_job
    programs
    service
    run agent --once --analyse-with "$PWD/good" job
    expect_status 0
    eventually captures_are 2
    truth_holds
    stop_service
}

@test "agent: a failure is named, not tried again until the capture changes" {
    raw_job
    programs
    service
    run agent --once --analyse-with "$PWD/bad" job
    expect_status 0
    runs_are 2
    eventually states_are present,raw
    failed () { [[ "$(reason_of 1)" == *"status 3"*"no licence"* ]]; }
    eventually failed
    run agent --once --analyse-with "$PWD/bad" job
    expect_status 0
    runs_are 2
    for capture in job/*_ascend_pt; do
        touch "$capture/new"
    done
    run agent --once --analyse-with "$PWD/bad" job
    expect_status 0
    runs_are 3
    stop_service
}

@test "agent: without torch_npu it asks once, and says so" {
    raw_job
    programs
    python 1
    service
    run agent --once job
    expect_status 0
    shows "python3 has no torch_npu"
    is "asked" 1 "$(wc -l <asked)"
    eventually states_are raw,raw
    stop_service
}

# bats test_tags=slow
@test "agent: killed in the middle of an analysis, the next one goes on" {
    raw_job
    programs
    program slow <<'SCRIPT'
[ ! -e "$TEST_DIR/go" ] || exec "$TEST_DIR/good" "$1"
mkdir -p "$1/ASCEND_PROFILER_OUTPUT"
setsid sleep 601 </dev/null >/dev/null 2>&1 &
touch "$TEST_DIR/begun"
sleep 600
SCRIPT
    slow_begins
    kill -KILL "$watcher"
    wait "$watcher" || true
    slow_is_gone () { [ -z "$(processes_named slow)" ]; }
    eventually slow_is_gone         # it dies with the agent
    touch go
    rm -r job/*/ASCEND_PROFILER_OUTPUT
    watching --quiet-period 0.1s --analyse-with "$PWD/slow" job
    eventually captures_are 2
    is "left of the first one" "" "$(processes_named sleep)"
    truth_holds
    eventually durable
    ends_with 0
    stop_service
}

@test "agent: told to end, it kills an analysis, which is done later" {
    raw_job
    programs
    program slow <<'SCRIPT'
[ ! -e "$TEST_DIR/go" ] || exec "$TEST_DIR/good" "$1"
touch "$TEST_DIR/begun"
sleep 600
SCRIPT
    slow_begins
    ends_with 75
    is "processes" "" "$(processes_named slow)$(processes_named sleep)"
    touch go
    run agent --once --analyse-with "$PWD/slow" job
    expect_status 0
    eventually captures_are 2
    stop_service
}

# struck FAULT COMMAND: one agent is struck by it, the next one is not
struck ()
{
    rm -rf spool root service.log runs
    service
    ROLLCALL_FAULT=$1 run agent --once --raw --analyse-with "$2" job
    [[ "$1" == *:eio ]] && expect_status 0 || expect_status 137
    run agent --once --raw --analyse-with "$2" job
    expect_status 0
}

# Needs the build with fault points (preset faults).  Three records are kept:
# that it waits, that the analysis has ended, and that it is raw still.
# bats test_tags=faults
@test "agent: whenever it dies around an analysis, the next one ends it" {
    grep -q ROLLCALL_FAULT_ONCE "$AGENT" || skip "no fault points in this build"
    local fault

    raw_job --ranks 1
    programs
    program idle <<'SCRIPT'
echo >>"$TEST_DIR/runs"
SCRIPT
    for fault in agent.analysis.keep:{1,2,3}:{kill,eio} \
        agent.spool.seal.commit:{1,2}:kill; do
        struck "$fault" "$PWD/idle"
        [ -s runs ] || fail "$fault: never analysed"
        eventually states_are raw
        failed () { [[ "$(reason_of 0)" == *"ended with status 0"* ]]; }
        eventually failed
        is "$fault: half records" "" "$(find spool -name '*.tmp.*')"
        stop_service
    done
    for fault in agent.analysis.keep:{1,2}:{kill,eio} \
        agent.spool.seal.commit:{1,2}:kill; do
        rm -rf job/*/ASCEND_PROFILER_OUTPUT
        struck "$fault" "$PWD/good"
        eventually captures_are 1
        truth_holds
        stop_service
    done
}

@test "agent: what was delivered when there was no program is analysed later" {
    raw_job
    programs
    service
    run agent --once --analyse-with none job
    expect_status 0
    eventually states_are raw,raw
    run agent --once --analyse-with "$PWD/good" job
    expect_status 0
    eventually captures_are 2
    truth_holds
    stop_service
}

# Nobody may wait for what is not going to be read.
@test "agent: --when-full refuse, and a capture that has been analysed" {
    raw_job --ranks 1
    programs
    program slow <<'SCRIPT'
touch "$TEST_DIR/begun"
sleep 600
SCRIPT
    slow_begins
    ends_with 75
    run agent --once --when-full refuse --disk-floor 100% \
        --analyse-with "$PWD/good" job
    expect_status 1
    shows "was refused when it had been analysed"
    is "refusals" 1 "$(grep -c event=capture-refused <<<"$output")"
    run agent --once --analyse-with none job
    expect_status 0
    eventually captures_are 1
    stop_service
}

# Nothing to wait for: the agent ends.
# bats test_tags=slow
@test "agent: a capture that goes while it waits to be analysed" {
    local last

    raw_job
    programs
    program slow <<'SCRIPT'
touch "$TEST_DIR/begun"
until [ -e "$TEST_DIR/go" ]; do sleep 0.05; done
exec "$TEST_DIR/good" "$1"
SCRIPT
    service
    watching --quiet-period 0.1s --analyse-with "$PWD/slow" job
    begun () { [ -e begun ] && [ "$(grep -c event=sealed agent.log)" = 2 ]; }
    eventually begun
    for last in job/*_ascend_pt; do
        # the one that is not under way
        [ -n "$(processes_named slow)" ] &&
            grep -qF "${last##*/}" /proc/"$(processes_named slow)"/cmdline ||
            rm -r "$last"
    done
    touch go
    eventually captures_are 1
    one_known () { [ -z "$(find spool/analyses-j -name '*.json')" ]; }
    eventually one_known
    # until a search has ended it may have been moved
    settled () { "$ROLLCALL" status --json spool |
                 grep -q '"unsettled":[[:space:]]*0,'; }
    eventually settled
    ends_with 0
    stop_service
}

# What is to be analysed is not removed before that.
# For ever, and without a word, is what it must not wait for.
# bats test_tags=slow
@test "agent: --once gives up what somebody has locked; the next start does it" {
    local dir

    raw_job
    programs
    service
    dir=$(capture_of 0)
    flock "$dir" sleep 600 3>&- &
    held () { ! flock -n "$dir" true; }
    eventually held
    run agent --once --analyse-with "$PWD/good" --analyse-timeout 3s job
    expect_status 0
    shows "waits: process" "has locked it" "stays raw until the next start"
    eventually captures_are 1
    kill "$(processes_named sleep)"
    free () { flock -n "$dir" true; }
    eventually free
    run agent --once --analyse-with "$PWD/good" job
    expect_status 0
    eventually captures_are 2
    stop_service
}

@test "agent: --release waits for the analysis" {
    raw_job
    programs
    service --raw
    watching --quiet-period 0.1s --raw --release shipped \
        --analyse-with "$PWD/good" job
    released () { [ -z "$(ls job)" ]; }
    eventually released
    eventually captures_are 2
    truth_holds
    ends_with 0
    stop_service
}

@test "run: a rank whose capture is raw is present after its analysis" {
    programs
    program raw_writer <<'SCRIPT'
./writer &&
    for capture in "$ROLLCALL_CAPTURE_DIR"/*_ascend_pt; do
        mkdir -p "$TEST_DIR/prepared"
        mv "$capture/ASCEND_PROFILER_OUTPUT" "$TEST_DIR/prepared/${capture##*/}"
    done
SCRIPT
    export PREPARED=$TEST_DIR/prepared
    run "$ROLLCALL" run --text -o out --analyse-with "$PWD/bad" \
        --analyse-memory 500MB -- ./raw_writer
    expect_status 0
    shows "1 of 1 present"
    runs_are 1
    nothing_runs
}

@test "run: a program by a path that the agent would not find; too late" {
    programs
    run "$ROLLCALL" run -o out --analyse-with ./good -- ./writer
    expect_status 2
    shows "full path"
    program endless <<'SCRIPT'
exec sleep 600
SCRIPT
    program raw_writer <<'SCRIPT'
./writer && rm -r "$ROLLCALL_CAPTURE_DIR"/*_ascend_pt/ASCEND_PROFILER_OUTPUT
SCRIPT
    run "$ROLLCALL" run --text -o out --analyse-with "$PWD/endless" \
        --deadline 3s -- ./raw_writer
    [ "$status" -ne 0 ]
    shows "raw         0" "still to be analysed" "--deadline"
    nothing_runs
}
