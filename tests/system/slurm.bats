#!/usr/bin/env bats
# rollcall run under Slurm: one machine, two nodes by name
#
# What ends a step kills what it has left behind with proctrack/cgroup, the usual
# setting, and not with proctrack/linuxproc.

load service_helper

slurm_missing ()
{
    local program

    [ "$(id -u)" -eq 0 ] || { echo "slurmd needs root"; return; }
    for program in munged slurmctld slurmd srun; do
        command -v $program >/dev/null || { echo "no $program"; return; }
    done
}

# Control groups are named after nodes, and those of two tests are not to be one.
# A result has to be there within KillWait after a signal; on a busy machine 5 s
# are too few, and Slurm's own default is 30.
write_config ()                     # PROCTRACK
{
    local host i PORT           # these are not the service's

    host=$(hostname -s)
    choose_port
    NODE=rc$PORT-
    cat >slurm/slurm.conf <<CONF
ClusterName=rollcall
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$PORT
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$TEST_DIR/slurm/munge.socket
CredType=cred/munge
MpiDefault=none
ProctrackType=proctrack/$1
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
JobAcctGatherType=jobacct_gather/none
ReturnToService=2
SlurmctldPidFile=$TEST_DIR/slurm/slurmctld.pid
SlurmdPidFile=$TEST_DIR/slurm/slurmd.%n.pid
SlurmdSpoolDir=$TEST_DIR/slurm/spool.%n
TmpFS=$TEST_DIR/slurm/tmp.%n
StateSaveLocation=$TEST_DIR/slurm/state
SlurmctldLogFile=$TEST_DIR/slurm/slurmctld.log
SlurmdLogFile=$TEST_DIR/slurm/slurmd.%n.log
SlurmdParameters=config_overrides
PropagateResourceLimits=NONE
KillWait=30
CONF
    for i in 0 1; do
        choose_port
        echo "NodeName=$NODE$i NodeAddr=127.0.0.1 NodeHostname=$host" \
            "Port=$PORT CPUs=4 RealMemory=1000 State=UNKNOWN" \
            >>slurm/slurm.conf
        mkdir "slurm/spool.$NODE$i" "slurm/tmp.$NODE$i"
    done
    echo "PartitionName=all Nodes=${NODE}[0-1] Default=YES MaxTime=INFINITE" \
        "State=UP OverSubscribe=FORCE:4" >>slurm/slurm.conf
    cgroup_config >slurm/cgroup.conf
}

# cgroup_version: which one slurmd can have; it refuses a mixture for its v2.
cgroup_version ()
{
    if grep -qv '^0::' /proc/self/cgroup; then
        echo v1
    else
        echo v2
    fi
}

# Without IgnoreSystemd v2 asks a systemd for its place.
cgroup_config ()
{
    echo "CgroupPlugin=cgroup/$(cgroup_version)"
    case $(cgroup_version) in
    v1) echo "CgroupAutomount=no" ;;
    v2) printf 'IgnoreSystemd=yes\nCgroupMountpoint=%s\n' "$(cgroup2)" ;;
    esac
}

cgroup2 ()                          # where it is mounted
{
    awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts
}

slurmctld_answers ()
{
    [[ "$(scontrol ping 2>/dev/null)" == *"is UP"* ]]
}

nodes_idle ()
{
    [ "$(sinfo -h -o %t 2>/dev/null)" = idle ]
}

# What of v1 is used is the freezer; v2's plugin wants a directory of systemd's.
cgroup_missing ()
{
    local dir=/sys/fs/cgroup/freezer

    if [ "$(cgroup_version)" = v2 ]; then
        dir=$(cgroup2)/system.slice
        [ -d "$dir" ] || ! mkdir "$dir" 2>/dev/null || SLICE=$dir
    fi
    mkdir "$dir/rc$$" 2>/dev/null && rmdir "$dir/rc$$" ||
        MISSING="no control group can be made in $dir ($(cgroup_version))"
}

# slurm_up [PROCTRACK]: cgroup, or linuxproc
slurm_up ()
{
    local proctrack=${1:-linuxproc}

    MISSING=$(slurm_missing)
    [ -n "$MISSING" ] || [ "$proctrack" != cgroup ] || cgroup_missing
    [ -z "$MISSING" ] || skip "no Slurm: $MISSING"
    mkdir -m 755 slurm slurm/state
    head -c 1024 /dev/urandom >slurm/munge.key
    chmod 600 slurm/munge.key
    write_config "$proctrack"
    export SLURM_CONF=$TEST_DIR/slurm/slurm.conf
    # two "nodes" on one host would share segments by name
    export OMPI_MCA_btl=self,tcp OMPI_MCA_pml=ob1
    munged --force --socket="$TEST_DIR/slurm/munge.socket" \
        --key-file="$TEST_DIR/slurm/munge.key" \
        --pid-file="$TEST_DIR/slurm/munged.pid" \
        --log-file="$TEST_DIR/slurm/munged.log" \
        --seed-file="$TEST_DIR/slurm/seed" 3>&-
    slurmctld 3>&-
    # a node that it does not hear at once is asked for half a minute later
    eventually slurmctld_answers
    slurmd -N "${NODE}0" 3>&-
    slurmd -N "${NODE}1" 3>&-
    eventually nodes_idle ||
        fail "$(sinfo 2>&1; cat slurm/slurmctld.log)"
}

# What a test that fails leaves of steps: their daemons write their title over
# their environment, by which kill_all knows whose they are.
kill_steps ()
{
    local dir

    for dir in /proc/[0-9]*; do
        [ "$(cat "$dir/comm" 2>/dev/null)" != slurmstepd ] ||
            [[ "$(readlink "$dir/cwd")" != "$TEST_DIR/slurm"* ]] ||
            kill -KILL "${dir#/proc/}" || true
    done
}

teardown ()
{
    kill_steps
    kill_all
    [ -z "${NODE:-}" ] || find /sys/fs/cgroup/*/slurm_"$NODE"* \
        "$(cgroup2)/system.slice/$NODE"* -depth -type d \
        -exec rmdir {} + 2>/dev/null || true
    [ -z "${SLICE:-}" ] || rmdir "$SLICE" 2>/dev/null || true
}

# Daemons of the run, wrappers and COMMANDs; Slurm's own are killed in the end.
run_is_gone ()
{
    local all

    all=$(describe_processes)
    [[ ! "$all" =~ rollcall-|writer|capture_maker|slurmstepd|srun ]]
}

@test "srun --mpi=pmix: 8 tasks, the rows are those of analyze" {
    slurm_up
    run timeout 120 srun --mpi=pmix -N 2 -n 8 "$ROLLCALL" run --text -o out \
        -- ./writer
    expect_status 0
    shows "8 of 8 present"
    has_rows 8
    equals_analyze state 8
    eventually run_is_gone || fail "$(describe_processes)"
}

@test "srun: COMMAND fails on one task: its status" {
    slurm_up
    run timeout 120 srun --mpi=pmix -n 4 "$ROLLCALL" run --text -o out \
        --deadline 20s -- sh -c './writer; [ $RANK -ne 1 ] || exit 3
                                 exec sleep 1000'
    expect_status 3
    shows "rank 1: ended with status 3"
    eventually run_is_gone || fail "$(describe_processes)"
}

@test "srun with an --mpi that does not fit: no worlds of 1, but a sentence" {
    slurm_up
    run timeout 120 srun --mpi=none -N 2 -n 2 "$ROLLCALL" run -o out -- \
        touch started
    expect_status 78
    shows "srun --mpi=pmix"
    [ ! -e started ]
    eventually run_is_gone || fail "$(describe_processes)"
    # on one node there is nothing to exchange over MPI
    run timeout 120 srun --mpi=none -N 1 -n 2 "$ROLLCALL" run --text -o out \
        -- ./writer
    expect_status 0
    shows "2 of 2 present" "as Slurm says, all on this host"
    eventually run_is_gone || fail "$(describe_processes)"
}

@test "srun: an MPI library that does not fit ends COMMAND" {
    [ -x "${MPI_WRITER_MPICH:-}" ] || skip "no MPICH to compile with"
    slurm_up
    export MPI_WRITER_MPICH
    run timeout 120 srun --mpi=none -N 1 -n 2 "$ROLLCALL" run --text -o out \
        --deadline 20s -- sh -c '"$MPI_WRITER_MPICH" said true'
    expect_status 78
    shows "finds a world of 1" "srun --mpi=pmix"
    [ ! -e said.0 ]
    eventually run_is_gone || fail "$(describe_processes)"
}

@test "srun with MPI programs as COMMAND" {
    slurm_up
    cat >mpi_capture <<'SCRIPT'
#!/bin/sh
exec "$CAPTURE_MAKER" --quiet --ranks "$MPI_SIZE" --ops 8 \
    --only-rank "$MPI_RANK" "$ROLLCALL_CAPTURE_DIR"
SCRIPT
    chmod +x mpi_capture
    run timeout 120 srun --mpi=pmix -n 4 "$ROLLCALL" run --text -o out -- \
        "$MPI_WRITER" said ./mpi_capture
    expect_status 0
    shows "4 of 4 present"
    is "what rank 3 said" "rank 3 of 4, sum 4" "$(cat said.3)"
    eventually run_is_gone || fail "$(describe_processes)"
}

# Slurm does not say what it was given, so ROLLCALL_TOGETHER does; mpirun in a
# batch job does say it.
@test "srun and mpirun: tasks on two nodes build one result together" {
    local rows srun

    slurm_up
    "$CAPTURE_MAKER" --quiet --ranks 4 --steps 2 --ops 8 job
    "$ROLLCALL" analyze -q -o one job
    rows=$("$ROLLCALL" fsck result one | sed -n 's/.*: in order; rows //p')
    ROLLCALL_TOGETHER=1 run timeout 120 srun --mpi=pmix -N 2 -n 4 "$ROLLCALL" \
        analyze --text -o two job
    expect_status 0
    is "summaries" 1 "$(grep -c '^ranks' <<<"$output")"
    run "$ROLLCALL" fsck result two
    shows "in order; rows $rows"
    # one is killed: with --kill-on-bad-exit srun ends the other, too
    mkfifo reached.0 reached.1 go.0 go.1
    # shellcheck disable=SC2016
    ROLLCALL_TOGETHER=1 srun --mpi=pmix --kill-on-bad-exit -N 2 -n 2 sh -c '
        r=$SLURM_PROCID
        echo $$ >pid.$r
        export LD_PRELOAD="$1" PAUSE_AT=communication.json \
            PAUSE_REACHED=reached.$r PAUSE_GO=go.$r
        exec "$0" analyze -q -j 1 -o two job' "$ROLLCALL" "$PAUSE_READ" \
        >killed.log 2>&1 3>&- &
    srun=$!
    timeout 90 cat reached.0 reached.1 || fail "$(cat killed.log)"
    timeout 90 sh -c ': >go.0'
    kill -KILL "$(cat pid.1)"
    run timeout 90 tail --pid=$srun -f /dev/null
    expect_status 0
    run "$ROLLCALL" fsck result two
    shows "in order; rows $rows"
    # without ROLLCALL_TOGETHER each is alone; the root is another's
    "$ROLLCALL" archive add --no-raw --root root --job j job >added
    service
    run timeout 120 srun --mpi=pmix -n 2 "$ROLLCALL" build --root root j
    expect_status 75
    shows "this is one of 2 processes of a launcher" "ROLLCALL_TOGETHER=1" \
        "srun --kill-on-bad-exit"
    kill "$service"
    printf '#!/bin/sh\nmpirun %s analyze --text -o three job\n' \
        "$ROLLCALL" >batch.sh
    sbatch -N 2 -n 4 -o batch.out batch.sh
    eventually no_slurm_job
    is "summaries" 1 "$(grep -c '^ranks' batch.out)"
    run "$ROLLCALL" fsck result three
    shows "in order; rows $rows"
    # an array divides the jobs
    "$CAPTURE_MAKER" --quiet --ranks 2 --steps 1 --ops 8 --seed 7 job.k
    "$ROLLCALL" archive add --no-raw --root root --job k job.k >added
    printf '#!/bin/sh\n%s build --all --root root -o array\n' "$ROLLCALL" \
        >batch.sh
    sbatch --array=0-1 -n 1 -o 'batch.%a.out' batch.sh
    eventually no_slurm_job
    is "jobs" "j k" "$(cd array && echo *)"
    is "builds" 2 "$(cat batch.?.out | grep -c present)"
    # some of its tasks again
    rm -r array
    sbatch --array=1,2,9 -n 1 -o 'uneven.%a.out' batch.sh
    eventually no_slurm_job
    is "refusals" 3 "$(cat uneven.?.out | grep -c "not evenly spaced")"
    [ ! -e array ]
    printf '#!/bin/sh\n%s build --all --root root -o array --share %s/2\n' \
        "$ROLLCALL" '$SLURM_ARRAY_TASK_ID' >batch.sh
    sbatch --array=0,1 -n 1 -o 'share.%a.out' batch.sh
    eventually no_slurm_job
    is "jobs of two shares" "j k" "$(cd array && echo *)"
}

# ---- a job that is ended ----

# COMMAND that has written its capture and goes on.
endless ()
{
    cat >endless <<'SCRIPT'
#!/bin/sh
./writer
touch ready.$RANK
exec sleep 1000
SCRIPT
    chmod +x endless
}

all_ready ()                        # N
{
    [ "$(find . -maxdepth 1 -name 'ready.*' | wc -l)" -eq "$1" ]
}

slurm_job ()                        # the only one, or nothing
{
    squeue -h -o %i
}

no_slurm_job ()
{
    [ -z "$(slurm_job)" ]
}

ends_with_a_result ()               # SCANCEL-OPTION...
{
    endless
    srun --mpi=pmix -N 2 -n 8 "$ROLLCALL" run --text -o out -- ./endless \
        >srun.out 2>srun.err 3>&- &
    eventually all_ready 8
    scancel "$@" "$(slurm_job)"
    eventually no_slurm_job
    eventually run_is_gone || fail "$(describe_processes)"
    output=$(cat srun.out)
    shows "8 of 8 present"
    has_rows 8
    is "ranks that the launcher ended" 8 "$(sql "SELECT count(*) FROM Roster
        WHERE reason LIKE 'ended by its launcher (signal %'")" ||
        fail "$(sql "SELECT rank, reason FROM Roster")"
}

@test "srun, proctrack/cgroup: scancel: a result" {
    slurm_up cgroup
    ends_with_a_result
}

@test "srun, proctrack/cgroup: scancel -s INT: a result" {
    slurm_up cgroup
    ends_with_a_result -s INT
}

@test "srun, proctrack/linuxproc: scancel: a result" {
    slurm_up
    ends_with_a_result
}

# submit_and_cancel COMMAND: as a batch job of 4 ranks, ended when all are ready
submit_and_cancel ()
{
    endless
    printf '#!/bin/sh\n%s\n' "$1" >batch.sh
    sbatch -N 1 -n 4 -o batch.out batch.sh
    eventually all_ready 4
    scancel "$(slurm_job)"
    eventually no_slurm_job
    eventually run_is_gone || fail "$(describe_processes)"
}

wait_finishes ()
{
    run timeout 120 "$ROLLCALL" wait --text "$(job)"
    shows "4 of 4 present"
    has_rows 4
    # it is told again, and nothing is left
    run "$ROLLCALL" wait --text "$(job)"
    shows "4 of 4 present"
    eventually run_is_gone || fail "$(describe_processes)"
}

@test "mpirun in sbatch, proctrack/cgroup: scancel: wait finishes it" {
    slurm_up cgroup
    submit_and_cancel "mpirun -np 4 --oversubscribe $ROLLCALL run --text \
        -o out -- ./endless"
    output=$(cat batch.out)
    shows "rollcall wait $(job)"
    wait_finishes
    [[ "$output" != *"time limit"* ]]           # nobody says so
}

@test "--launcher srun, proctrack/cgroup: scancel: a result" {
    slurm_up cgroup
    endless
    "$ROLLCALL" run --text -o out --launcher "srun --mpi=pmix -N 2 -n 8" -- \
        ./endless >run.out 2>run.err 3>&- &
    eventually all_ready 8
    scancel "$(slurm_job)"
    eventually run_is_gone || fail "$(describe_processes)"
    output=$(cat run.out)
    shows "8 of 8 present"
    has_rows 8
}

@test "--launcher srun in sbatch, proctrack/cgroup: scancel: wait finishes it" {
    slurm_up cgroup
    submit_and_cancel "$ROLLCALL run --text -o out \
        --launcher 'srun --mpi=pmix -n 4' -- ./endless"
    wait_finishes
}

# ---- a time limit ----

# in_dir KIND COMMAND...: a job in a directory of its own, begun
in_dir ()
{
    mkdir "$1"
    cp endless writer "$1"
    cd "$1" || return
    ROLLCALL_STATE_DIR=$PWD/state "${@:2}" >log 2>&1 3>&- &
    eventually all_ready 4 || fail "$(cat log)"
    cd ..
}

# Slurm's controller looks for jobs beyond their limits twice a minute; a time
# that has passed when it reads it is refused.
limits_pass ()
{
    local job

    for job in $(squeue -h -o %i); do
        scontrol update "JobId=$job" EndTime=now+5
    done
    eventually no_slurm_job
    eventually run_is_gone || fail "$(describe_processes)"
}

limit_is_told ()                    # KIND
{
    local DB=$1/$DB

    has_rows 4
    roster_says 0 present "since the Slurm job was at its time limit"
    is "ranks that the launcher ended" 4 "$(sql "SELECT count(*) FROM Roster
        WHERE reason LIKE 'ended by its launcher (signal %'")" ||
        fail "$(sql "SELECT rank, reason FROM Roster")"
}

@test "proctrack/cgroup: a time limit: a result of each kind of job, the reason" {
    local start=("$ROLLCALL" run --text -o out) batch

    slurm_up cgroup
    endless
    printf '#!/bin/sh\n%s\n' "exec mpirun -np 4 --oversubscribe \
        ${start[*]} -- ./endless" >batch.sh
    # one wait for all
    in_dir srun srun --mpi=pmix -N 2 -n 4 "${start[@]}" -- ./endless
    in_dir front "${start[@]}" --launcher "srun --mpi=pmix -N 2 -n 4" -- \
        ./endless
    in_dir batch sbatch -N 1 -n 4 -o batch.out ../batch.sh
    batch=$(sed -n 's/^Submitted batch job //p' batch/log)
    limits_pass
    limit_is_told srun
    limit_is_told front
    # mpirun kills what it has started, mostly before anybody could be asked; who
    # finishes it may ask, and names no other job than its own
    export ROLLCALL_STATE_DIR=$PWD/batch/state
    run timeout 120 "$ROLLCALL" wait --text "$(job)"
    shows "4 of 4 present"
    [[ $output == *"Slurm ended its job $batch at the time limit"* ||
        $output == *"since the Slurm job was at its time limit"* ]] ||
        fail "the reason is not in: $output"
    DB=batch/$DB
    has_rows 4
}
