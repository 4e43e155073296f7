#!/usr/bin/env bats
# Who waited for whom: a rank that is late is named, whatever reads the job

load helper

most_waited_for ()
{
    sql "SELECT late_rank FROM Wait GROUP BY 1 ORDER BY sum(wait_ms) DESC
         LIMIT 1"
}

waits ()                            # DB: all that is told of waiting
{
    sql "SELECT * FROM Wait ORDER BY rowid" "$1"
    sql "SELECT * FROM CommAnalyzerTime ORDER BY rowid" "$1"
    sql "SELECT * FROM CommAnalyzerBandwidth ORDER BY rowid" "$1"
    sql "SELECT * FROM CaptureInfo WHERE kind='clock' ORDER BY rowid" "$1"
    sql "SELECT * FROM Job WHERE key LIKE 'wait%' OR key LIKE 'clock%'
         ORDER BY key" "$1"
}

# alike_with_threads: the same for any number of them
alike_with_threads ()
{
    local j

    for j in 1 3 7; do
        "$ROLLCALL" analyze -q -j "$j" -o "out$j" job
        waits "out$j/cluster_analysis_output/analysis.db" >"waits$j"
    done
    [ -s waits1 ]
    cmp waits1 waits3
    cmp waits1 waits7
}

@test "the rank that computes longer is the one that others wait for" {
    make --ranks 16 --ops 40 --slow-rank 5
    analyze
    expect_status 0
    is "late" 5 "$(most_waited_for)"
    is "rule" "shortest elapse" \
        "$(sql "SELECT value FROM Job WHERE key='wait_rule'")"
    is "ranks that waited for themselves or for no member" 0 \
        "$(sql "SELECT count(*) FROM Wait w WHERE late_rank=waiting_rank OR
                (SELECT count(*) FROM CommGroupMember m WHERE
                 m.comm_group=w.comm_group AND
                 m.rank IN (w.late_rank, w.waiting_rank)) <> 2")"
    truth_holds
    alike_with_threads
}

@test "an op that a rank lacks does not count" {
    make --ranks 4 --skip-ranks 2
    analyze
    expect_status 1
    is "waits in groups that rank 2 is in" 0 \
        "$(sql "SELECT count(*) FROM Wait WHERE comm_group IN (SELECT
                comm_group FROM CommGroupMember WHERE rank=2)")"
}

# trace RANK: three all-reduces of four ranks; rank 2 comes 20 ms late to each
trace ()
{
    local i rank=$1 start end events=

    for i in 0 1 2; do
        start=$((1000 + i * 100000 + rank * 10 + (rank == 2) * 20000))
        end=$((1000 + i * 100000 + 20000 + 500))
        events="$events,
 {\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"record_param_comms\",
  \"pid\": 9, \"tid\": 9, \"ts\": $start, \"dur\": 5, \"args\":
  {\"External id\": $((i + 1)), \"Collective name\": \"allreduce\",
   \"dtype\": \"Float\", \"In msg nelems\": 250000, \"Out msg nelems\": 250000,
   \"Group size\": 4, \"Process Group Name\": \"0\",
   \"Process Group Description\": \"default_pg\", \"Seq\": $i}},
 {\"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": \"cudaLaunchKernel\",
  \"pid\": 9, \"tid\": 9, \"ts\": $((start + 1)), \"dur\": 2, \"args\":
  {\"External id\": $((i + 1)), \"correlation\": $((i + 1))}},
 {\"ph\": \"X\", \"cat\": \"kernel\", \"name\":
  \"ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgs)\",
  \"pid\": 0, \"tid\": 20, \"ts\": $((start + 5)),
  \"dur\": $((end - start - 5)), \"args\":
  {\"External id\": $((i + 1)), \"device\": 0, \"stream\": 20,
   \"correlation\": $((i + 1)), \"Collective name\": \"allreduce\",
   \"dtype\": \"Float\", \"In msg nelems\": 250000, \"Out msg nelems\": 250000,
   \"Group size\": 4, \"Process Group Name\": \"0\",
   \"Process Group Description\": \"default_pg\"}}"
    done
    cat >"job/rank$rank.pt.trace.json" <<JSON
{"schemaVersion": 1, "distributedInfo": {"backend": "nccl", "rank": $rank,
 "world_size": 4, "pg_count": 1, "pg_config": [{"pg_name": "0", "pg_desc":
 "default_pg", "backend_config": "cuda:nccl", "pg_size": 4,
 "ranks": [0, 1, 2, 3]}]},
 "host_name": "${2:-h}", "baseTimeNanoseconds": 1757664000000000000,
 "displayTimeUnit": "ms", "traceEvents": [
 {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#7", "pid": 9,
  "tid": 9, "ts": 100, "dur": 400000, "args": {"External id": 99}}$events]}
JSON
}

@test "traces: the late rank, waits, transits and bandwidths" {
    local rank

    mkdir job
    for rank in 0 1 2 3; do
        trace $rank
    done
    analyze
    [ "$status" -ne 65 ] || skip "this version reads no traces"
    expect_status 0
    is "late" "2 9" "$(sql "SELECT late_rank || ' ' || sum(ops) FROM Wait
                            GROUP BY late_rank")"
    is "rule" "latest start" \
        "$(sql "SELECT value FROM Job WHERE key='wait_rule'")"
    is "of rank 0 in us: 20 ms and the ranks' 20 us; then 0.475 ms" "20020 475" \
        "$(sql "SELECT DISTINCT CAST(round(wait_time * 1000) AS INTEGER) ||
                ' ' || CAST(round(transit_time * 1000) AS INTEGER)
                FROM CommAnalyzerTime WHERE rank=0")"
    # 1 MB all-reduced among 4: 1.5 MB in 0.475 ms
    is "bandwidth" "HCCS 1.5 3.1579,SDMA 1.5 3.1579" \
        "$(sql "SELECT group_concat(x) FROM (SELECT DISTINCT transport_type ||
                ' ' || transit_size || ' ' || bandwidth x FROM
                CommAnalyzerBandwidth WHERE rank=0)")"
    alike_with_threads
    # on two hosts
    trace 3 other
    analyze
    is "transports" RDMA "$(sql "SELECT DISTINCT transport_type FROM
                                 CommAnalyzerBandwidth")"
    # one is missing: nothing is told that would be wrong
    rm job/rank1.pt.trace.json
    analyze
    expect_status 1
    is "waits" "0 0" "$(sql "SELECT count(*) || ' ' || (SELECT count(wait_time)
                            FROM CommAnalyzerTime) FROM Wait")"
}
