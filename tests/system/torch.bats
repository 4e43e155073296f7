#!/usr/bin/env bats
# A job of torch from its first step to its findings: the example of doc/usage.md,
# one of whose four ranks sleeps in each step; longer than in that example, as
# other tests make the steps of all ranks uneven
#
# Debian's torch has no Kineto, and writes neither ranks nor dates: what is
# known of them is known by the run.

load service_helper
load hosts

teardown ()
{
    kill_all
    hosts_down
}

PYTHON=/usr/bin/python3             # Debian's, whose torch it is

setup_file ()
{
    "$PYTHON" -c 'import torch' 2>/dev/null ||
        skip "python3-torch is not installed: no job of torch was run"
}

# one thread a rank: four of them share the cores with other tests
torch_setup ()
{
    export OMP_NUM_THREADS=1
    TRAIN=$BATS_TEST_DIRNAME/../../doc/examples/train.py
    # Python 3.11 iterates over the names of a Flag in another way than
    # torch 1.13 thinks, whose launcher does not start without this
    cat >torchrun.py <<'PYTHON'
from torch.distributed import run
run.Std.from_str = classmethod (lambda cls, text: cls (int (text)))
run.main ()
PYTHON
}

# is_the_job: all are there, with 16 steps and ops, and rank 2 is found.  The
# last reduction of a rank may be under way when its profiler stops: not there.
is_the_job ()
{
    shows "4 of 4 present"
    is "steps of each rank" "16 16 16 16" "$(sql "SELECT group_concat(n, ' ')
        FROM (SELECT count(*) AS n FROM StepTraceTime GROUP BY rank)")"
    is "steps in which a rank reduced nothing" 0 "$(sql "SELECT count(*) FROM
        StepTraceTime AS s WHERE step < 15 AND NOT EXISTS (SELECT 1 FROM
        CommAnalyzerTime AS c WHERE c.rank = s.rank AND
        c.step = 'step' || s.step AND hccl_op_name LIKE 'gloo_allReduce%')")"
    # as idle, or as the one for which the others wait: their ops are those of
    # one group only where a busy machine lets them end together
    run "$ROLLCALL" findings "${DB%/*/*}"
    expect_status 1
    [[ "$output" =~ [Rr]ank\ 2[\ ,] ]] || fail "rank 2 is not found: $output"
}

@test "under mpirun" {
    torch_setup
    run mpirun_run 4 -- "$PYTHON" "$TRAIN" --late 2 --by 200
    expect_status 0
    is_the_job
    nothing_runs
}

@test "under torch's own launcher" {
    torch_setup
    run "$ROLLCALL" run --text -o out -- "$PYTHON" torchrun.py \
        --nproc_per_node 4 "$TRAIN" --late 2 --by 200
    expect_status 0
    is_the_job
    nothing_runs
}

# Two hosts, whose agents deliver to one service.  Where rank 0 is nobody can
# know but who starts the job.
@test "by two agents, to a service" {
    torch_setup
    choose_port
    set_up_hosts 2
    ../on h0 "$AGGREGATOR" --insecure --root "$TEST_DIR/root" \
        --listen "tcp://10.99.0.1:$PORT" >../service.log 2>&1 3>&- &
    service=$!
    cd .. && eventually listening 0
    DB=root/jobs/j/cluster_analysis_output/analysis.db
    run mpirun_hosts -x OMP_NUM_THREADS -x GLOO_SOCKET_IFNAME=eth0 \
        -x MASTER_ADDR=10.99.0.1 -x MASTER_PORT=4711 \
        "$ROLLCALL" run --text --insecure --job j \
        --aggregator "tcp://10.99.0.1:$PORT" -- "$PYTHON" "$TRAIN" --late 2 --by 200
    expect_status 0
    eventually captures_are 4
    is "agents" 2 "$(sql "SELECT count(DISTINCT host) FROM Capture")"
    run "$ROLLCALL" jobs --root root
    is_the_job
    kill "$service"
    wait "$service" || fail "the service ended with $?"
    only_hosts_left
}
