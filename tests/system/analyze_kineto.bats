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
    reason_has 0 "its times count from the start of its profiler"
}

@test "a list of events of each rank: nobody knows whose they are" {
    local rank

    for rank in 0 1; do
        old job/rank$rank/vm_2$rank.1795435041868.pt.trace.json \
            ProfilerStep#1:90:500 aten%%add:110:50
    done
    analyze
    expect_status 1
    shows "it has no rank, and is not the only capture"
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

# event CATEGORY NAME TID TS DUR [ARGUMENTS]
event ()
{
    printf '{"ph": "X", "cat": "%s", "name": "%s", "pid": 1, "tid": %s, ' \
        "$1" "$2" "$3"
    printf '"ts": %s, "dur": %s, "args": {%s}}' "$4" "$5" "${6:-}"
}

# called TS CORRELATION [NAME]; on_device NAME TS DUR CORRELATION [CATEGORY]
called ()
{
    event cuda_runtime "${3:-cudaLaunchKernel}" 1 "$1" 2 "\"correlation\": $2"
}

on_device ()
{
    event "${5:-kernel}" "$1" 7 "$2" "$3" \
        "\"device\": 0, \"stream\": 7${4:+, \"correlation\": $4}"
}

step_mark ()
{
    event user_annotation "ProfilerStep#$1" 1 "$2" "$3"
}

# trace FILE EVENT...; HEADER comes before the events, FOOTER behind them
DEVICE='"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "A100"}]'

trace ()
{
    local file=$1 IFS=,

    shift
    mkdir -p "${file%/*}"
    printf '{%s"traceEvents": [%s]%s}' "${HEADER-$DEVICE, }" "$*" \
        "${FOOTER:-}" >"$file"
}

# a step of 100 us in which one kernel of 30 us was launched
small ()
{
    trace "$1" "$(step_mark 5 100 100)" "$(called 110 1)" \
        "$(on_device gemm 120 30 1)"
}

@test "leftovers: of no step, told with their time, not in the breakdown" {
    trace job/t.json "$(step_mark 5 100 100)" "$(step_mark 6 200 100)" \
        "$(on_device gemm 101 20 901)" \
        "$(on_device ncclDevKernel_AllReduce_Sum_f32_RING_LL 121 4 902)" \
        "$(called 110 1)" "$(on_device gemm 130 30 1)" \
        "$(called 210 2)" "$(on_device gemm 230 40 2)" \
        "$(event gpu_user_annotation ProfilerStep#5 7 100 60)"
    analyze
    expect_status 0
    is "steps" $'5|30|30\n6|40|40' \
        "$(sql "SELECT step, computing, stage FROM StepTraceTime")"
    is "ops" 0 "$(sql "SELECT count(*) FROM CommAnalyzerTime")"
    is "breakdown" "communication 0.000 computing 70.000 idle 70.000 \
other 0.000 outside_communication 4.000 outside_computing 20.000 \
outside_events 2 overlapped 0.000 total 140.000" "$(sql "SELECT
        group_concat(name || ' ' || value, ' ') FROM (SELECT name, value FROM
        CaptureInfo WHERE kind='breakdown' ORDER BY name)")"
    reason_has 0 "left out of the steps: 2 of 4 events of the device, \
computing 20.000 us, communication 4.000 us, memory only 0.000 us (2 of them"
}

@test "no kernel has its launch: the steps on the device decide" {
    trace job/t.json "$(step_mark 5 100 100)" \
        "$(event gpu_user_annotation ProfilerStep#5 7 100 60)" \
        "$(on_device gemm 101 20 901)" "$(on_device gemm 300 20 902)"
    analyze
    expect_status 0
    is "steps" "5|20|20" \
        "$(sql "SELECT step, computing, stage FROM StepTraceTime")"
    reason_has 0 "left out of the steps: 1 of 2 events of the device"
}

# filler N: a member of the header that is so long
filler ()
{
    printf '"metadata": {"text": "%s"}, ' \
        "$(head -c "$1" /dev/zero | tr '\0' x)"
}

@test "keys of a trace at any offset: 20 kB, 1 MiB, 6 MiB, last, compressed" {
    local n

    for n in 20000 1048576 6291456; do
        HEADER=$(filler $n)
        FOOTER=", $DEVICE"
        small job/t.json
        analyze
        expect_status 0
        shows "1 of 1 present"
        is "at $n" "5|30" "$(sql "SELECT step, computing
            FROM StepTraceTime")"
        gzip job/t.json
        analyze
        expect_status 0
        is "compressed, at $n" "5|30" "$(sql "SELECT step, computing
            FROM StepTraceTime")"
        rm -r job out
    done
    # a key of another's is none: it lies deeper
    mkdir job
    printf '{%s"inner": {"traceEvents": [{"ph": "X"}], "schemaVersion": 1}}' \
        "$(filler 20000)" >job/t.json
    analyze
    expect_status 66
}

@test "what could be a trace and is not taken is named with the reason" {
    small job/t.json
    printf '{%s"traceEvents": []}' "$(filler 20000)" >job/empty.json
    printf '[{"ph": "X", "name": "a", "ts": 1, "dur": 2, "pid": 1}]' \
        >job/list.json
    gzip -c job/t.json | head -c 60 >job/cut.json.gz
    echo '{"name": "something else"}' >job/other.json
    analyze
    expect_status 0
    shows "job/empty.json is not read as a trace: its traceEvents are not events" \
        "job/list.json is not read as a trace: it is a list of events" \
        "job/cut.json.gz is not read as a trace: its compressed content"
    ! [[ "$output" == *other.json* ]] || fail "$output"
}

@test "calls of which none starts work: what the host did" {
    trace job/t.json "$(event cpu_op aten::add 1 100 40)" \
        "$(called 100 1 cudaGetDeviceCount)" \
        "$(called 200 2 cudaDeviceSynchronize)"
    analyze
    expect_status 0
    is "step" "|40|40" \
        "$(sql "SELECT step, computing, stage FROM StepTraceTime")"
    # but one that does says that the device was not recorded
    trace job/t.json "$(event cpu_op aten::add 1 100 40)" \
        "$(called 100 1 cudaGetDeviceCount)" "$(called 200 2 cudaMemcpyAsync)"
    analyze
    expect_status 65
    reason_has 0 "there is 1 launch, and no event of the device"
}

@test "a trace that holds nothing says so" {
    trace job/t.json "$(called 100 1 cudaGetDeviceCount)"
    analyze
    expect_status 0
    reason_has 0 "it has nothing to report"
}

@test "waits and marks of MTIA are no work, and what has no call is told" {
    mtia () { on_device "$1" "$2" "$3" "${4:-}" mtia_ccp_events; }
    trace job/t.json "$(event mtia_runtime "runFunction - job" 1 100 5 \
        '"correlation": 1')" "$(mtia merge 110 30 1)" \
        "$(mtia event_wait 140 50 1)" "$(mtia event_record 190 1 1)" \
        "$(mtia dma_request 150 5 1)" "$(mtia pe_exe 20 40)"
    analyze
    expect_status 0
    is "step" "|30|81" \
        "$(sql "SELECT step, computing, stage FROM StepTraceTime")"
    is "memory only, without the wait" 5 \
        "$(sql "SELECT memory_only FROM StepExtra")"
    reason_has 0 "left out of the steps: 1 of 5 events of the device, \
computing 40.000 us"
}

# of Kineto until 2024; with them the step would end when the host goes on
@test "waits of the host, whose stream is -1 without a sign, are no events" {
    waits () { event cuda_sync "$1" -1 "$2" "$3" "\"stream\": $4, \"device\": 0,
        \"correlation\": 2"; }
    local stream

    for stream in -1 4294967295; do
        trace job/t.json "$(step_mark 5 100 100)" "$(called 110 1)" \
            "$(on_device gemm 120 30 1)" \
            "$(called 115 2 cudaDeviceSynchronize)" \
            "$(waits "Stream Sync" 150 2 7)" \
            "$(waits "Context Sync" 150 40 $stream)"
        analyze
        expect_status 0
        is "step, stream $stream" "5|30|32" \
            "$(sql "SELECT step, computing, stage FROM StepTraceTime")"
    done
}

@test "work of MTIA of no stream: counted, and told" {
    trace job/t.json "$(event mtia_runtime "runFunction - job" 1 100 5 \
        '"correlation": 1')" \
        "$(event mtia_ccp_events merge 7 110 30 '"correlation": 1')" \
        "$(event mtia_ccp_events dma_request 7 150 5 '"size": 16')"
    analyze
    expect_status 0
    is "step" "|30" "$(sql "SELECT step, computing FROM StepTraceTime")"
    is "operators" $'dma_request|1|5\nmerge|1|30' "$(sql "SELECT op_type,
        count, total_time FROM OperatorStatistic ORDER BY 1")"
    reason_has 0 "left out of the steps: 1 of 2 events of the device"
}

@test "hccl:* where the device tells of no communication: ops of the host" {
    trace job/t.json "$(step_mark 5 100 100)" "$(called 110 1)" \
        "$(on_device merge 120 30 1)" \
        "$(event cpu_op c10d::allreduce_ 1 105 30)" \
        "$(event user_annotation hccl:all_reduce 1 110 20)"
    analyze
    expect_status 0
    is "op" "hccl_allReduce__unknown_0_1|0.02|step5" "$(sql "SELECT
        hccl_op_name, elapse_time, step FROM CommAnalyzerTime")"
    is "the device" "30|0" "$(sql "SELECT computing, communication
        FROM StepTraceTime")"
}

@test "ops without Kineto: of the backend, or else the calls of torch" {
    old job/t.json c10d%%allreduce_:100:50 nccl%all_reduce:110:30
    analyze
    expect_status 0
    is "the backend's" "nccl_allReduce__unknown_0_1|0.03" "$(sql "SELECT
        hccl_op_name, elapse_time FROM CommAnalyzerTime")"
    old job/t.json c10d%%allreduce_:100:50
    analyze
    is "the call" "c10d_allReduce__unknown_0_1|0.05" "$(sql "SELECT
        hccl_op_name, elapse_time FROM CommAnalyzerTime")"
}

@test "traces of one process, one after the other, are of one rank" {
    local i

    for i in 1 2 3; do
        trace "job/t$i.json" "$(event cpu_op aten::add 1 "$((i * 1000))" 40)" \
            "$(called "$((i * 1000 + 10))" 1)" \
            "$(on_device gemm "$((i * 1000 + 20))" "${i}0" 1)"
    done
    analyze
    expect_status 0
    shows "1 of 1 present"
    is "captures" $'0|10\n0|20\n0|30' "$(sql "SELECT rank, computing
        FROM StepTraceTime ORDER BY computing")"
}
