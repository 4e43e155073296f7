#!/usr/bin/env bats
# Traces of torch.profiler as other years and builds write them, in small: what
# the tables must be can be seen from the events

load helper

# old FILE EVENT...: a trace of torch without Kineto; EVENT is NAME:TS:DUR[:TID],
# with % for a colon in NAME
old ()
{
    local file=$1 event name ts dur tid comma=

    shift
    mkdir -p "${file%/*}"
    {
        printf '['
        for event; do
            IFS=: read -r name ts dur tid <<<"$event"
            printf '%s{"name": "%s", "ph": "X", "ts": %s, "dur": %s, ' \
                "$comma" "${name//%/:}" "$ts" "$dur"
            printf '"tid": %s, "pid": "CPU functions", "args": {}}' "${tid:-1}"
            comma=', '
        done
        printf ']'
    } >"$file"
}

@test "a list of events: ops and steps by their names, on no clock" {
    old job/sub/trace.json ProfilerStep#4:100:500 aten%%add:110:50 \
        MyFunction:200:37.502999999999986 Optimizer.step#SGD.step:120:400 \
        c10d%%allreduce_:300:10 gloo%all_reduce:310:100:2
    analyze
    expect_status 0
    shows "1 of 1 present"
    # the optimizer's mark is none of the ops; 37.503 is what was written
    is "step" "4|87.503|100|500" "$(sql "SELECT step, computing,
        communication, stage FROM StepTraceTime")"
    is "op" "gloo_allReduce__unknown_0_1|310|0.1|step4" "$(sql "SELECT
        hccl_op_name, start_timestamp, elapse_time, step
        FROM CommAnalyzerTime")"
    is "range" "Optimizer.step#SGD.step|400" "$(sql "SELECT name, total_time
        FROM UserRange WHERE name LIKE 'Opt%'")"
    is "dates" "|" "$(sql "SELECT started_ns, ended_ns FROM Capture")"
    reason_has 0 "its times count from the start of its process' profiler"
}

@test "a list of events of each rank: nobody knows whose they are" {
    local rank

    for rank in 0 1; do
        old job/rank$rank/vm_2$rank.1795435041868.pt.trace.json \
            ProfilerStep#1:90:500 aten%%add:110:50
    done
    analyze
    expect_status 1
    shows "it has no rank, and is not alone"
    is "states" "unexpected|2" "$(sql "SELECT state, count(*) FROM Capture
        WHERE rank IS NULL GROUP BY 1")"
}

@test "a list of events, cut short: what is there, and partial" {
    old job/trace.json ProfilerStep#1:90:500 aten%%add:110:50
    truncate -s -1 job/trace.json
    analyze
    expect_status 1
    state_is 0 partial
    is "computing" 50 "$(sql "SELECT computing FROM StepTraceTime")"
}

@test "a list of events with kernels: of the step in which they start" {
    mkdir job
    cat >job/trace.json <<'JSON'
[{"name": "ProfilerStep#1", "ph": "X", "ts": 0, "dur": 100, "tid": 1,
  "pid": "CPU functions", "args": {}},
 {"name": "gemm", "ph": "X", "ts": 20, "dur": 30, "tid": 0,
  "pid": "CUDA functions", "args": {}},
 {"name": "ProfilerStep#2", "ph": "X", "ts": 100, "dur": 100, "tid": 1,
  "pid": "CPU functions", "args": {}},
 {"name": "gemm", "ph": "X", "ts": 120, "dur": 40, "tid": 0,
  "pid": "CUDA functions", "args": {}}]
JSON
    analyze
    expect_status 0
    is "steps" $'1|30|20\n2|40|20' "$(sql "SELECT step, computing, preparing
        FROM StepTraceTime")"
}

@test "a list that is no trace is none" {
    mkdir job
    printf '[{"ph": "X", "name": "a", "ts": 1, "dur": 2, "pid": 1}]' >job/a.json
    analyze
    expect_status 66
}
