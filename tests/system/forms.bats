#!/usr/bin/env bats
# Captures of MindSpore and of the msprof program, as their users meet them

load service_helper

# prof NUMBER DEVICE HOST RANK: a capture of msprof with one op
prof ()
{
    local dir=job/PROF_00000${1}_20250109161601123_ABC

    mkdir -p "$dir/analyze" "$dir/device_$2" "$dir/host"
    echo "{\"rank_id\": $4, \"hostUid\": \"$3\", \"hostname\": \"host$3\"}" \
        >"$dir/device_$2/info.json.$2"
    cat >"$dir/analyze/communication.json" <<JSON
{"hcom_send__1_$1@7": {"Communication Time Info": {"Start Timestamp(us)": 5.5,
 "Elapse Time(ms)": 1, "Transit Time(ms)": 0, "Wait Time(ms)": 0,
 "Synchronization Time(ms)": 0, "Idle Time(ms)": 1},
 "Communication Bandwidth Info": {"HCCS": {"Transit Size(MB)": 4,
 "Transit Time(ms)": 2, "Bandwidth(GB/s)": 2, "Large Packet Ratio": 0,
 "Size Distribution": {"4": [1, 2]}}}}, "Total HCCL Operators": {}}
JSON
    cat >"$dir/analyze/communication_matrix.json" <<JSON
{"hcom_send__1_$1@7": {"0-1": {"Transport Type": "HCCS", "Transit Size(MB)": 4,
 "Transit Time(ms)": 2, "Bandwidth(GB/s)": 2}}}
JSON
}

ops ()
{
    sql "SELECT group_concat(rank || ':' || hccl_op_name || ':' || type)
         FROM (SELECT * FROM CommAnalyzerTime ORDER BY rank)"
}

@test "msprof: ranks of info.json; steps are missing, and that is said" {
    prof 1 0 22 1
    prof 2 0 11 0
    analyze
    expect_status 1
    is "ops" "0:hcom_send__1_2:p2p,1:hcom_send__1_1:p2p" "$(ops)"
    is "captures" "msprof|text|partial|host11|0" "$(sql "SELECT framework,
        source, state, host, device_id FROM Capture WHERE rank=0")"
    reason_has 0 "StepTraceTime is missing" "msprof_*.db"
    is "matrix" 2 "$(sql "SELECT count(*) FROM CommAnalyzerMatrix
                          WHERE hccl_op_name='send-total'")"
}

# By host, then device: in the agent's way, too.
@test "msprof: nobody has a rank" {
    prof 1 1 22 -1
    prof 2 4 11 -1
    prof 3 0 22 -1
    analyze
    expect_status 1
    is "ops" "0:hcom_send__1_2:p2p,1:hcom_send__1_3:p2p,2:hcom_send__1_1:p2p" \
        "$(ops)"
    reason_has 2 "from the order of hosts and devices"
    service
    run agent --once --quiet-period 0s job
    expect_status 0
    three () { [ -e "$DB" ] && [ "$(sql "SELECT count(*) FROM Capture
                                         WHERE state='partial'")" = 3 ]; }
    eventually three
    is "ops" "0:hcom_send__1_2:p2p,1:hcom_send__1_3:p2p,2:hcom_send__1_1:p2p" \
        "$(ops)"
    stop_service
}

@test "msprof within a capture of torch_npu is part of that" {
    local capture

    make --ranks 1
    for capture in job/*_ascend_pt; do
        prof 1 0 22 5
        mv job/PROF_* "$capture"
    done
    analyze
    expect_status 0
    shows "1 of 1 present"
    truth_holds
}

# The same job, with directories and profiler_info as MindSpore makes them.
@test "MindSpore: rank and device of profiler_info, no Device_id in steps" {
    local capture rank

    make --age 2024 --ranks 2
    for rank in 0 1; do
        capture=$(capture_of $rank)
        echo "{\"profiler_parameters\": {\"profiler_level\": \"Level1\"},
               \"ms_profiler_info\": {\"rank_id\": $rank,
                                      \"device_id\": $((rank + 4))}}" \
            >"$capture/profiler_info_$rank.json"
        mv "$capture" "${capture%_pt}_ms"
    done
    analyze
    expect_status 0
    is "captures" $'ascend_ms|4|Level1\nascend_ms|5|Level1' \
        "$(sql "SELECT framework, device_id, profiler_level FROM Capture")"
    is "devices" "4,5" "$(sql "SELECT group_concat(DISTINCT deviceId)
                               FROM StepTraceTime")"
    sql "UPDATE StepTraceTime SET deviceId=NULL"
    truth_holds
}

# iterations NUMBER TS: the timeline of one iteration, as msprof wrote it in
# 2023: 30 us of computing, then an op of 20 us on two planes; times since boot
iteration ()
{
    local n=$1 at=$2 pid

    echo "["
    for pid in "3:Ascend Hardware" "5:HCCL" "6:Overlap Analysis"; do
        echo "{\"name\": \"process_name\", \"pid\": ${pid%%:*}, \"tid\": 0,
              \"args\": {\"name\": \"${pid#*:}\"}, \"ph\": \"M\"},
              {\"name\": \"process_labels\", \"pid\": ${pid%%:*}, \"tid\": 0,
              \"args\": {\"labels\": \"NPU\"}, \"ph\": \"M\"},"
    done
    for pid in "0:Plane 0" "1:Plane 1" "70000:Communication Kernel"; do
        echo "{\"name\": \"thread_name\", \"pid\": 5, \"tid\": ${pid%%:*},
              \"args\": {\"name\": \"${pid#*:}\"}, \"ph\": \"M\"},"
    done
    event () { echo "{\"name\": \"$1\", \"pid\": $2, \"tid\": $3, \"ts\": $4,
        \"dur\": $5, \"ph\": \"X\"${6:+, \"args\": {$6\}}}$7"; }
    event "Iteration $n" 3 9 "$at" 60 "" ,
    event Computing 6 0 $((at + 1)) 30 "" ,
    event Communication 6 1 $((at + 31)) 20 "" ,
    event "Communication(Not Overlapped)" 6 2 $((at + 31)) 20 "" ,
    event Default/AllReduce-op7_0 5 70000 $((at + 31)) 20 "" ,
    event Notify_Wait 5 0 $((at + 31)) 4 '"task type": "Notify_Wait",
        "src rank": 0, "dst rank": 4294967295, "transport type": "LOCAL",
        "size(Byte)": 0, "link type": "INVALID_TYPE"' ,
    event Memcpy 5 0 $((at + 36)) 8 '"task type": "Memcpy", "src rank": 0,
        "dst rank": 1, "transport type": "SDMA", "size(Byte)": 8000000,
        "link type": "HCCS"' ,
    event Memcpy 5 1 $((at + 36)) 10 '"task type": "Memcpy", "src rank": 0,
        "dst rank": 2, "transport type": "SDMA", "size(Byte)": 2000000,
        "link type": "PCIE"' ""
    echo "]"
}

@test "msprof of 2023: timelines of iterations below the device" {
    dir=job/PROF_000001_20230818142704322_ABC/device_4

    mkdir -p $dir/timeline
    echo '{"rank_id": 2, "hostname": "node7"}' >$dir/info.json.4
    iteration 10 56635864652 >$dir/timeline/msprof_4_2_10.json
    iteration 9 56635864152 >$dir/timeline/msprof_4_2_9.json
    # the same events again: they count once
    cp $dir/timeline/msprof_4_2_9.json $dir/timeline/hccl_4_2_9.json
    analyze
    is "capture" "msprof|timeline|complete|2|4|" "$(sql "SELECT framework,
        source, state, rank, device_id, started_ns FROM Capture")"
    is "steps" "9|30|20|20|50;10|30|20|20|50" "$(sql "
        SELECT group_concat(step || '|' || computing || '|' || communication
        || '|' || communication_not_overlapped || '|' || stage, ';') FROM
        (SELECT * FROM StepTraceTime ORDER BY CAST(step AS INTEGER))")"
    is "ops" "step9|Default/AllReduce-op7_0||collective
step10|Default/AllReduce-op7_0||collective" "$(sql "SELECT step, hccl_op_name,
        group_name, type FROM CommAnalyzerTime ORDER BY start_timestamp")"
    is "bandwidth" "HCCS|16;PCIE|4" "$(sql "SELECT group_concat(t, ';')
        FROM (SELECT transport_type || '|' || sum(transit_size) AS t FROM
        CommAnalyzerBandwidth WHERE transport_type<>'SDMA'
        GROUP BY transport_type ORDER BY 1)")"
    is "links" "0-1 8,0-2 2" "$(sql "SELECT group_concat(t) FROM (SELECT
        src_rank || '-' || dst_rank || ' ' || transit_size AS t FROM
        CommAnalyzerMatrix WHERE step='step9' AND
        hccl_op_name='allreduce-total' ORDER BY dst_rank)")"
}

# What lies between two iterations is idle time of neither.
@test "msprof of 2023: the same without an overlap analysis" {
    local n kernel

    dir=job/PROF_000001_20230818142704322_ABC/device_4
    mkdir -p $dir/timeline
    echo '{"rank_id": 2, "hostname": "node7"}' >$dir/info.json.4
    for n in 9 10; do
        kernel='{"name": "MatMul", "pid": 3, "tid": 2, "ts": '
        kernel+="$((56635859653 + n * 500)), \"dur\": 30, \"ph\": \"X\", "
        kernel+='"args": {"Task Type": "AI_CORE"}},'
        iteration $n $((56635859652 + n * 500)) |
            sed -e 's/Overlap Analysis/Something else/' \
                -e "s/^{\"name\": \"Iteration/$kernel&/" \
            >$dir/timeline/msprof_4_2_$n.json
    done
    analyze
    is "steps" "9|30|20|0|50;10|30|20|0|50" "$(sql "
        SELECT group_concat(step || '|' || computing || '|' || communication
        || '|' || free || '|' || stage, ';') FROM
        (SELECT * FROM StepTraceTime ORDER BY CAST(step AS INTEGER))" |
        sed 's/\.0|/|/g')"
    reason_has 2 "the timeline has no overlap analysis: its steps are computed"
}

# msprof_now: the made captures of job/ as the msprof of CANN 8.5 leaves them:
# --export gives the timeline, which knows no steps, beside tables that are not
# read; --analyze a file of communication, without steps and categories
msprof_now ()
{
    local capture rank=0 dir out

    "$CAPTURE_MAKER" --quiet --ranks 2 --steps 1 --ops 8 --age 2026 \
        --form text text
    make --ranks 2 --steps 1 --age 2026 --form timeline
    for capture in job/*_ascend_pt; do
        dir=job/PROF_00000${rank}_20261124100000000_ABC
        out=$dir/mindstudio_profiler_output
        mkdir -p "$dir/host" "$dir/device_$rank" "$out" "$dir/analyze"
        echo "{\"rank_id\": $rank, \"hostUid\": \"7\"}" \
            >"$dir/device_$rank/info.json.$rank"
        python3 - "$capture/ASCEND_PROFILER_OUTPUT/trace_view.json" \
            "text/${capture#job/}/ASCEND_PROFILER_OUTPUT" \
            "$out/msprof_20261124100001.json" "$dir/analyze" <<'PYTHON'
import json, sys
timeline, text, out, analyze = sys.argv[1:]
events = [e for e in json.load(open(timeline))
          if not e["name"].startswith("ProfilerStep")]
json.dump(events, open(out, "w"))
flat = {"Total HCCL Operators": {}}
for step in json.load(open(text + "/communication.json")).values():
    for ops in step.values():
        flat.update(ops)
json.dump(flat, open(analyze + "/communication.json", "w"))
PYTHON
        echo "Device_id,Op Name" >"$out/op_summary_20261124100001.csv"
        rm -r "$capture"
        rank=$((rank + 1))
    done
}

# sums TABLE COLUMNS [DATABASE]: without steps and groups
sums ()
{
    sql "SELECT $2 FROM $1 GROUP BY rank, $3 ORDER BY rank, $3" "${4:-$DB}"
}

@test "msprof of CANN 8.5: what --export wrote, alone and beside --analyze" {
    local steps ops bytes how

    command -v python3 >/dev/null || skip "needs python3"
    steps="rank, round(sum(computing), 1), round(sum(communication), 1),
           round(sum(overlapped), 1)"
    ops="rank, hccl_op_name, group_name, round(sum(elapse_time), 3)"
    bytes="rank, transport_type, round(sum(transit_size * count), 1)"
    msprof_now
    for how in both timeline; do
        [ $how = both ] || rm -r job/PROF_*/analyze
        analyze
        expect_status 0
        shows "2 of 2 present"
        is "captures" "msprof complete" "$(sql "SELECT DISTINCT framework ||
            ' ' || state FROM Capture")"
        is "$how: steps" "$(sums StepTraceTime "$steps" step truth.db)" \
            "$(sums StepTraceTime "$steps" step)"
        is "$how: ops" \
            "$(sums CommAnalyzerTime "$ops" hccl_op_name truth.db)" \
            "$(sums CommAnalyzerTime "$ops" hccl_op_name)"
        is "$how: bytes" \
            "$(sums CommAnalyzerBandwidth "$bytes" transport_type truth.db)" \
            "$(sums CommAnalyzerBandwidth "$bytes" transport_type)"
    done
}

# What only looks like it: never exported.
@test "msprof of 2023: a device that was never exported" {
    mkdir -p job/PROF_000001_20230818142704322_ABC/device_0/data
    analyze
    expect_status 65
    shows "msprof --export=on"
}
