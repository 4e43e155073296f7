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
    reason_has 2 "by the order of hosts and devices"
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
