#!/usr/bin/env bats
# rollcall run: whose a capture is that lies where several jobs run

# shellcheck disable=SC2154         # bats sets status, output, BATS_*

source "${BATS_TEST_DIRNAME:?}/run_helper.bash"

eval "runs_$(declare -f setup)"     # run_helper.bash's

# Two jobs of one rank, whose captures differ, and a directory for both.
setup ()
{
    runs_setup
    local n

    mkdir here
    for n in 1 2; do
        "$CAPTURE_MAKER" --quiet --ranks 1 --ops 8 --layout renamed \
            --seed "$n" "made$n"
        "$ROLLCALL" analyze --only analysis.db -o "ref$n" "made$n" \
            >ref.log 2>&1 || fail "$(cat ref.log)" || return
    done
    # write N [NAME]: job N's capture, named after this process by default.  It
    # comes whole: an agent that sees a file of it open knows its writer.
    cat >write <<'SCRIPT'
#!/bin/bash
to=${2:-host_$$_20260102030405678_ascend_pt}
cp -r "$TEST_DIR/made$1/rank_0_ascend_pt" "$TEST_DIR/copy.$1.$$" &&
    mv -T "$TEST_DIR/copy.$1.$$" "$to"
SCRIPT
    # both: until both jobs have come so far
    cat >both <<'SCRIPT'
#!/bin/bash
: >"$TEST_DIR/$2.$1"
until [ -e "$TEST_DIR/$2.1" ] && [ -e "$TEST_DIR/$2.2" ]; do
    [ $SECONDS -lt 120 ] || exit 1      # the other one will not come
    sleep 0.05
done
SCRIPT
    # sealed: until this job's agent has taken a capture
    cat >sealed <<'SCRIPT'
#!/bin/bash
until grep -q event=sealed "$ROLLCALL_CAPTURE_DIR/../../agent.log"; do
    [ $SECONDS -lt 120 ] || exit 1      # nor will it be taken
    sleep 0.05
done
SCRIPT
    chmod +x write both sealed
}

# job_in_here N [OPTION]... -- COMMAND...: in the background; its output is in
# log.N, its process in 'pids'.  An agent that is slow has half of the deadline.
pids=()
job_in_here ()
{
    local n=$1

    shift
    env -C here "$ROLLCALL" run --text -o "$TEST_DIR/out$n" \
        --quiet-period 0.3s "$@" >"log.$n" 2>&1 3>&- &
    pids+=($!)
}

# ends: both; statuses in 'ended'
ends ()
{
    local pid

    ended=
    for pid in "${pids[@]}"; do
        status=0
        wait "$pid" || status=$?
        ended+="$status "
    done
    ended=${ended% }
}

# logged PATTERN [N]: an agent has logged that; of job N
logged ()
{
    local job='*'

    [ -z "${2:-}" ] || job=$(sed -n 's/^job *//p' "log.$2")
    # shellcheck disable=SC2086         # a pattern
    cat state/$job/*/agent.log 2>/dev/null | grep -q "$1"
}

rows_of ()                          # DIR
{
    sql "SELECT rank, step, computing, communication FROM StepTraceTime
         ORDER BY 1, 2" "$1/cluster_analysis_output/analysis.db"
}

# has_its_own N: the result of job N is that of its capture
has_its_own ()
{
    is "rows of job $1" "$(rows_of "ref$1")" "$(rows_of "out$1")" &&
        grep -q "1 of 1 present" "log.$1"
}

# has_nothing_of N: job N has no row of the other one's
has_nothing_of ()
{
    is "job $1's captures of the other" "" "$(comm -12 \
        <(rows_of "out$1" 2>/dev/null | sort) \
        <(rows_of "ref$((3 - $1))" | sort))"
}

# Neither takes what is in doubt, both name it.
both_doubt ()
{
    local n

    is "statuses" "1 1" "$ended" || { cat log.1 log.2; return 1; }
    for n in 1 2; do
        grep -q "it is not known which of them wrote it" "log.$n" ||
            fail "$n: $(cat "log.$n")" || return
        has_nothing_of "$n" || return
    done
}

@test "two jobs in one directory: a script's child that lives is known" {
    local n

    for n in 1 2; do
        job_in_here $n -- bash -c "../both $n began
            bash -c '. ../write $n; ../both $n wrote; ../sealed' child; true"
    done
    ends
    is "statuses" "0 0" "$ended" || fail "$(cat log.1 log.2)"
    has_its_own 1
    has_its_own 2
    nothing_runs
}

@test "two jobs in one directory: it is not known who wrote" {
    local n

    # each has one that is certain, too
    for n in 1 2; do
        job_in_here $n -- bash -c "
            ../write $n \$ROLLCALL_CAPTURE_DIR/rank_0_ascend_pt
            ../both $n began; ../write $n prof${n}_ascend_pt; ../both $n wrote"
    done
    ends
    both_doubt
    has_its_own 1
    has_its_own 2
    nothing_runs
}

@test "two jobs in one directory: all that they have is in doubt: 1" {
    local n

    for n in 1 2; do
        job_in_here $n -- bash -c "../both $n began
            ../write $n prof${n}_ascend_pt; ../both $n wrote"
    done
    ends
    both_doubt
    for n in 1 2; do
        grep -q "0 of 1 present" "log.$n"
        grep -q "rank 0: its capture may be one of 2 that are in doubt, such as\
 .*/here/prof[12]_ascend_pt: it is of this job or of job\
 $(sed -n 's/^job *//p' "log.$((3 - n))")" "log.$n" || fail "$(cat "log.$n")"
    done
    nothing_runs
}

@test "two jobs in one directory: the only capture is in doubt, and named" {
    local job

    job_in_here 1 -- bash -c "../both 1 began
        ../write 1 prof_ascend_pt; ../both 1 wrote"
    job_in_here 2 -- bash -c '../write 2 "$ROLLCALL_CAPTURE_DIR/own_ascend_pt"
        ../both 2 began; ../both 2 wrote'
    ends
    is "statuses" "1 1" "$ended" || fail "$(cat log.1 log.2)"
    job=$(sed -n 's/^job *//p' log.2)
    grep -q "rank 0: its capture may be .*/here/prof_ascend_pt, which is in doubt:\
 it is of this job or of job $job\$" log.1 || fail "$(cat log.1)"
    has_its_own 2
    nothing_runs
}

# in_namespace N LINE...: COMMAND of job N, which is process 1 of its namespace
in_namespace ()
{
    local n=$1

    shift
    printf '%s\n' '#!/bin/bash' "$@" >"inner$n"
    chmod +x "inner$n"
    job_in_here "$n" -- unshare -pf --mount-proc "../inner$n"
}

@test "two jobs in pid namespaces: who has a file open is known" {
    unshare -pf --mount-proc true 2>/dev/null || skip "no pid namespaces"
    # paths of files that others in other mounts have open begin elsewhere there
    [ "$(id -u)" -ne 0 ] || sees_test_dir $$ || skip "this is a chroot"
    local n

    for n in 1 2; do
        in_namespace $n "../both $n began" \
            ". ../write $n host_1_2026010203040567${n}_ascend_pt" \
            'exec 7>>"$to/FRAMEWORK.log"' "../both $n wrote" \
            "../sealed" "exec 7>&-"
    done
    ends
    is "statuses" "0 0" "$ended" || fail "$(cat log.1 log.2)"
    has_its_own 1
    has_its_own 2
    nothing_runs
}

@test "two jobs in pid namespaces: one number of two processes is no proof" {
    unshare -pf --mount-proc true 2>/dev/null || skip "no pid namespaces"
    local n

    # whether a file was seen open is a matter of luck
    for n in 1 2; do
        in_namespace $n "../write $n \$ROLLCALL_CAPTURE_DIR/rank_0_ascend_pt" \
            "../both $n began" \
            "../write $n host_1_2026010203040567${n}_ascend_pt" \
            "../both $n wrote" \
            'until [ "$(grep -cE "event=(owner-unknown|sealed)" \' \
            '    "$ROLLCALL_CAPTURE_DIR/../../agent.log")" -ge 3 ]' \
            'do sleep 0.05; done'
    done
    ends
    [[ "$ended" =~ ^[01]\ [01]$ ]] || fail "$(cat log.1 log.2)"
    for n in 1 2; do
        has_its_own $n
        has_nothing_of $n
    done
    nothing_runs
}

@test "a job whose writer has ended leaves another one's alone that is --raw" {
    local n

    for n in 1 2; do
        job_in_here $n $([ $n = 1 ] || echo --raw -o out) -- bash -c "
            ../both $n began
            bash -c '. ../write $n; ../sealed' child
            # the other one's result appears below the working directory
            [ $n = 2 ] || until [ -e ../done.2 ]; do sleep 0.05; done"
    done
    status=0
    wait "${pids[1]}" || status=$?
    [ $status -eq 0 ] || fail "$(cat log.2)"
    [ -n "$(ls here/out/captures)" ]
    : >done.2
    unset 'pids[1]'
    ends
    is "status" 0 "$ended" || fail "$(cat log.1)"
    has_its_own 1
    is "captures of job 1" 1 "$(DB=out1/cluster_analysis_output/analysis.db \
        sql "SELECT count(*) FROM Capture")"
    nothing_runs
}

@test "a job that came and went is not forgotten by one that goes on" {
    # the first one's agent is stopped while all this happens
    job_in_here 1 -- bash -c '../write 1 "$ROLLCALL_CAPTURE_DIR/own_ascend_pt"
        ../sealed; until [ -e ../over ]; do sleep 0.05; done'
    eventually logged event=sealed
    local agent

    agent=$(processes_named rollcall-agent)
    kill -STOP "$agent"
    job_in_here 2 --deadline 20s -- bash -c \
        '../write 2 "$ROLLCALL_CAPTURE_DIR/own_ascend_pt"
        ../write 2 short_ascend_pt'
    eventually logged event=owner-unknown
    status=0
    wait "${pids[1]}" || status=$?
    [ $status -eq 1 ] || fail "$(cat log.2)"
    # which job, and why nobody could ask
    grep -q "this job and job $(sed -n 's/^job *//p' log.1) (its agent,\
 process $agent, does not answer) run in one directory" log.2 ||
        fail "$(cat log.2)"
    kill -CONT "$agent"
    : >over
    unset 'pids[1]'
    ends
    is "status" 1 "$ended" || fail "$(cat log.1)"
    ended="1 1"
    both_doubt
    has_its_own 1
    nothing_runs
}

@test "what a job has taken that is over is known to one that was stopped" {
    job_in_here 1 -- bash -c '../write 1 "$ROLLCALL_CAPTURE_DIR/own_ascend_pt"
        ../sealed; until [ -e ../over ]; do sleep 0.05; done'
    eventually logged event=sealed
    local agent

    agent=$(processes_named rollcall-agent)
    kill -STOP "$agent"
    job_in_here 2 -- bash -c "bash -c '. ../write 2; ../sealed' child; true"
    status=0
    wait "${pids[1]}" || status=$?
    [ $status -eq 0 ] || fail "$(cat log.2)"
    kill -CONT "$agent"
    : >over
    unset 'pids[1]'
    ends
    is "status" 0 "$ended" || fail "$(cat log.1)"
    has_its_own 1
    has_its_own 2
    ! grep -q "^note" log.1 log.2 || fail "$(cat log.1 log.2)"
    nothing_runs
}

@test "another job without variables, in a session of its own" {
    local n

    mkfifo went.1 went.2
    for n in 1 2; do
        job_in_here $n -- bash -c "../both $n began
            env -i TEST_DIR='$TEST_DIR' PATH='$PATH' \
                LOG=\"\$ROLLCALL_CAPTURE_DIR/../../agent.log\" setsid --fork \
                nohup bash -c '. ../write $n; ../both $n wrote; : >../went.$n
                    until grep -q event=sealed \$LOG; do sleep 0.05; done' \
                >../nohup.$n 2>&1
            cat ../went.$n"
    done
    ends
    is "statuses" "0 0" "$ended" || fail "$(cat log.1 log.2)"
    has_its_own 1
    has_its_own 2
    nothing_runs
}

# make_groups: control groups for two jobs, in 'groups'; removed by teardown
groups=
make_groups ()
{
    local n

    groups=$(findmnt -n -o TARGET -t cgroup2 | head -n 1)
    [ -n "$groups" ] || skip "no control groups are mounted"
    groups+=/rollcall-test-$$
    for n in 1 2; do
        mkdir -p "$groups/$n" 2>/dev/null &&
            (echo $BASHPID >"$groups/$n/cgroup.procs") 2>/dev/null ||
            skip "no control groups can be made"
        # in_group.N COMMAND...: in that one
        printf '#!/bin/sh\necho $$ >"%s"\nexec "$@"\n' \
            "$groups/$n/cgroup.procs" >"in_group.$n"
        printf '#!/bin/sh\nexec ../in_group.%s "%s" "$@"\n' $n "$ROLLCALL" \
            >"rollcall.$n"
        chmod +x "in_group.$n" "rollcall.$n"
    done
}

eval "runs_$(declare -f teardown)"
teardown ()
{
    runs_teardown
    [ -z "$groups" ] || rmdir "$groups"/[12] "$groups" || true
}

# A server that was there before, in the group of one of them, as that of a
# scheduler's script is.
@test "two jobs in control groups: a writer that neither has started" {
    local n

    make_groups
    for n in 1 2; do
        ROLLCALL=$PWD/rollcall.$n job_in_here $n -- bash -c "../both $n began
            [ $n = 1 ] || ../write 2 \$ROLLCALL_CAPTURE_DIR/own_ascend_pt
            until [ -e ../over ]; do sleep 0.05; done"
    done
    eventually test -e began.1 -a -e began.2
    env -C here ../in_group.1 setsid bash -c '. ../write 1
        until [ -e ../over ]; do sleep 0.05; done' >server.log 2>&1 3>&- &
    eventually logged "event=sealed" 1
    eventually logged "event=capture-of-other-job" 2
    : >over
    ends
    is "statuses" "0 0" "$ended" || fail "$(cat log.1 log.2)"
    has_its_own 1
    has_its_own 2
    nothing_runs
}

@test "two jobs in one control group: that proves nothing" {
    local n

    make_groups
    for n in 1 2; do
        ROLLCALL=$PWD/rollcall.1 job_in_here $n -- bash -c "../both $n began
            ../write $n \$ROLLCALL_CAPTURE_DIR/own_ascend_pt
            until [ -e ../over ]; do sleep 0.05; done"
    done
    eventually test -e began.1 -a -e began.2
    env -C here ../in_group.1 setsid bash -c '. ../write 1
        until [ -e ../over ]; do sleep 0.05; done' >server.log 2>&1 3>&- &
    eventually logged "event=owner-unknown" 1
    eventually logged "event=owner-unknown" 2
    : >over
    ends
    both_doubt
    has_its_own 1
    has_its_own 2
    nothing_runs
}

@test "an agent that is killed does not take what it had left to others" {
    local n agent

    for n in 1 2; do
        job_in_here $n -- bash -c "../both $n began
            bash -c '. ../write $n; ../both $n wrote; ../sealed' child
            : >../sealed.$n; until [ -e ../end.$n ]; do sleep 0.05; done"
    done
    eventually [ -e sealed.1 ]
    eventually [ -e sealed.2 ]
    eventually logged event=capture-of-other-job 1
    : >end.2
    status=0
    wait "${pids[1]}" || status=$?
    [ $status -eq 0 ] || fail "$(cat log.2)"
    unset 'pids[1]'
    # the agent of the job that has ended ends by itself
    one_agent () { agent=$(processes_named rollcall-agent); [[ "$agent" =~ ^[0-9]+$ ]]; }
    eventually one_agent
    kill -KILL "$agent"
    : >end.1
    ends
    is "status" 0 "$ended" || fail "$(cat log.1)"
    has_its_own 1
    nothing_runs
}

@test "what lies in another run's directory is not taken" {
    mkdir -p here/there
    job_in_here 1 -- bash -c '. ../write 1; ../sealed
        until [ -e ../end ]; do sleep 0.05; done'
    ROLLCALL_STATE_DIR=$PWD/here/there/state job_in_here 2 -- bash -c \
        '../write 2 "$ROLLCALL_CAPTURE_DIR/own_ascend_pt"; ../sealed'
    status=0
    wait "${pids[1]}" || status=$?
    [ $status -eq 0 ] || fail "$(cat log.2)"
    : >end
    unset 'pids[1]'
    ends
    is "status" 0 "$ended" || fail "$(cat log.1)"
    has_its_own 1
    has_its_own 2
    nothing_runs
}

@test "of two users each has what is its own" {
    [ "$(id -u)" -eq 0 ] || skip "only root can be two users"
    chmod a+x "$BATS_RUN_TMPDIR" "$BATS_RUN_TMPDIR/test" .
    as_nobody test -x "$ROLLCALL" -a -x "$CAPTURE_MAKER" ||
        skip "nobody cannot reach $ROLLCALL"
    local who=(daemon nobody) n

    chmod 777 here .
    chmod -R a+rX made1 made2
    for n in 1 2; do
        mkdir -m 777 "of$n"
        env -C here runuser -u "${who[n - 1]}" -- env \
            TMPDIR="$PWD/of$n" HOME="$PWD/of$n" \
            ROLLCALL_STATE_DIR="$PWD/of$n/state" "$ROLLCALL" run --text \
            -o "$TEST_DIR/of$n/out" --quiet-period 0.3s -- bash -c "
            ../both $n began; ../write $n prof${n}_ascend_pt; ../both $n wrote" \
            >"log.$n" 2>&1 3>&- &
        pids+=($!)
    done
    ends
    is "statuses" "0 0" "$ended" || fail "$(cat log.1 log.2)"
    mv of1/out out1
    mv of2/out out2
    has_its_own 1
    has_its_own 2
    nothing_runs
}

# ---- one job alone: nothing is left out, and nothing is said ----

alone ()                            # SCRIPT
{
    job_in_here 1 -- bash -c "$1"
    ends
    is "status" 0 "$ended" || fail "$(cat log.1)" || return
    has_its_own 1
    ! grep -q "^note" log.1 || fail "$(cat log.1)" || return
    nothing_runs
}

@test "one job: a grandchild that has ended has written it" {
    alone '(../write 1 &) ; wait; until ls *_ascend_pt; do sleep 0.05; done'
}

@test "one job: a writer without variables in a session of its own" {
    alone "env -i TEST_DIR='$TEST_DIR' PATH='$PATH' setsid nohup ../write 1 \
        >../nohup 2>&1"
}

@test "one job: a writer that goes on behind COMMAND" {
    alone 'setsid nohup ../write 1 >../nohup 2>&1 &
        until ls *_ascend_pt; do sleep 0.05; done'
}

@test "one job: in a pid namespace" {
    unshare -pf --mount-proc true 2>/dev/null || skip "no pid namespaces"
    alone 'unshare -pf --mount-proc ../write 1'
}

@test "one job: others run elsewhere" {
    mkdir elsewhere
    env -C elsewhere "$ROLLCALL" run --text -o "$TEST_DIR/out2" -- bash -c \
        'until [ -e ../end ]; do sleep 0.05; done; ../write 2' \
        >log.2 2>&1 3>&- &
    local other=$!

    eventually logged event=connected
    job_in_here 1 -- bash -c '../write 1 prof_ascend_pt'
    ends
    : >end
    wait $other || fail "$(cat log.2)"
    is "status" 0 "$ended" || fail "$(cat log.1)"
    has_its_own 1
    has_its_own 2
    nothing_runs
}

# Its agent is stopped, and so told this one nothing.
@test "one job: one runs elsewhere, and its agent does not answer" {
    local other agent

    mkdir elsewhere
    env -C elsewhere "$ROLLCALL" run --text -o "$TEST_DIR/out2" -- bash -c \
        ': >../began; until [ -e ../end ]; do sleep 0.05; done; ../write 2' \
        >log.2 2>&1 3>&- &
    other=$!
    eventually [ -e began ]
    agent=$(processes_named rollcall-agent)
    kill -STOP "$agent"
    job_in_here 1 -- bash -c '../write 1 prof_ascend_pt'
    ends
    kill -CONT "$agent"
    : >end
    wait $other || fail "$(cat log.2)"
    is "status" 0 "$ended" || fail "$(cat log.1)"
    has_its_own 1
    has_its_own 2
    ! grep -q "^note" log.1 || fail "$(cat log.1)"
    nothing_runs
}

@test "one job: the other one in its directory has ended before" {
    job_in_here 1 -- bash -c ': >../began; until [ -e ../end ]
        do sleep 0.05; done; ../write 1 prof_ascend_pt'
    eventually [ -e began ]
    job_in_here 2 -- bash -c '../write 2 "$ROLLCALL_CAPTURE_DIR/prof_ascend_pt"'
    status=0
    wait "${pids[1]}" || status=$?
    [ $status -eq 0 ] || fail "$(cat log.2)"
    : >end
    unset 'pids[1]'
    ends
    is "status" 0 "$ended" || fail "$(cat log.1)"
    has_its_own 1
    has_its_own 2
    nothing_runs
}
