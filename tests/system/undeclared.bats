#!/usr/bin/env bats
# Traces that declare no groups (before torch 2.2, or without Kineto): ops are
# given one only if all ranks did the same ones and these end together

load helper

# rank RANK WORLD START:END...: NCCL's kernels in us, by the rank's own clock,
# which is AHEAD of the others'; SIZE elements each, two ops in a step
rank ()
{
    local number=$1 world=$2 op i=0 step ts events=() call dims

    shift 2
    for op; do
        ts=$((${op%:*} + AHEAD - 40))
        step=$((i / 2 + 1))
        if ((i % 2 == 0)); then
            events+=("$(event user_annotation "ProfilerStep#$step" \
                $((ts - 10)) 12000)")
        fi
        call='"Input type": ["float", "float"], "Input Dims"'
        dims="[[$SIZE]]"
        i=$((i + 1))
        events+=("$(event cpu_op c10d::allreduce_ $ts 30 \
                      '"Input Dims": [[], [], []]')"
            "$(event user_annotation nccl:all_reduce $((ts + 1)) 20 \
                "$call: $dims")"
            "$(event cuda_runtime cudaLaunchKernel $((ts + 2)) 2 \
                "\"correlation\": $i")"
            "$(event kernel ncclKernel_AllReduce_RING_LL_Sum_float \
                $((${op%:*} + AHEAD)) $((${op#*:} - ${op%:*})) \
                "\"device\": 0, \"stream\": 7, \"correlation\": $i")")
    done
    mkdir -p job
    (
        IFS=,
        printf '{"schemaVersion": 1, "deviceProperties": [{"id": 0}], '
        printf '"baseTimeNanoseconds": 1700000000000000000, '
        printf '"distributedInfo": {"backend": "nccl", "rank": %s, ' "$number"
        printf '"world_size": %s}, "traceEvents": [%s]}' "$world" \
            "${events[*]}"
    ) >"job/rank$number.json"
}

# event CATEGORY NAME TS DUR [ARGUMENTS]
event ()
{
    printf '{"ph": "X", "cat": "%s", "name": "%s", "pid": 1, "tid": 1, ' \
        "$1" "$2"
    printf '"ts": %s, "dur": %s, "args": {%s}}' "$3" "$4" "${5:-}"
}

AHEAD=0 SIZE=250000

# rank 1 comes last to the first ops, rank 0 to the others; all end together,
# up to 20 us
one_group ()
{
    rank 0 "$1" 10000:14000 20000:23500 31500:33000 40900:42000
    AHEAD=70000 rank 1 "$1" 13000:14010 23000:23520 30000:33000 40000:42010
}

waits ()
{
    sql "SELECT step, late_rank, waiting_rank, ops, round(wait_ms, 3)
         FROM Wait ORDER BY 1, 2"
}

no_group ()
{
    is "groups of ops" 0 "$(sql "SELECT count(group_name)
        FROM CommAnalyzerTime")"
    is "waits" 0 "$(sql "SELECT count(*) FROM Wait")"
    shows "the traces declare no groups. group_name stays NULL, and there are \
no waits: $1"
}

@test "ends that agree but for one offset: one group, with sizes and waits" {
    one_group 2
    analyze
    expect_status 0
    shows "Their ops count as those of one group of 2 ranks" \
        "4 of them end together"
    # by a clock that is 70 ms ahead rank 1 would always be the last
    is "waits" "step1|1|0|2|5.98
step2|0|1|2|2.42" "$(waits)"
    is "offsets" "0|-35.005
1|35.005" "$(sql "SELECT rank, value*1 FROM CaptureInfo
        WHERE kind='clock' AND name='offset_ms' ORDER BY 1")"
    is "group" "2|2|0,1" "$(sql "SELECT g.size, count(*),
        group_concat(m.rank) FROM CommGroup g JOIN CommGroupMember m ON
        m.comm_group=g.id GROUP BY g.id")"
    is "ops of it" 8 "$(sql "SELECT count(*) FROM CommAnalyzerTime t
        JOIN CommGroup g ON g.group_name=t.group_name")"
    is "size: 2(n-1)/n of 1 MB" "1|8" "$(sql "SELECT transit_size, count(*)
        FROM CommAnalyzerBandwidth GROUP BY 1")"
    reason_has 0 "it is taken from ops that end together on all ranks"
}

@test "on one clock: who waited for whom" {
    rank 0 2 10000:14000 20000:23500 31500:33000 40900:42000
    rank 1 2 13000:14010 23000:23520 30000:33000 40000:42010
    analyze
    expect_status 0
    is "waits" "step1|1|0|2|6.0
step2|0|1|2|2.4" "$(waits)"
    is "bandwidth of what took 1.01 ms: rank 1, first op" "1|1.01|0.9901" \
        "$(sql "SELECT transit_size, round(transit_time, 3), bandwidth FROM
        CommAnalyzerBandwidth WHERE rank=1 ORDER BY rowid LIMIT 1")"
}

@test "two groups of equal dims: nobody of one waits for one of the other" {
    rank 0 4 10000:14000 20000:23500 31500:33000 40900:42000
    rank 1 4 13000:14010 23000:23520 30000:33000 40000:42010
    rank 2 4 10000:15400 20100:22500 29500:34100 40100:41700
    rank 3 4 11000:15410 21000:22510 30000:34110 39000:41710
    analyze
    expect_status 0
    no_group "with all clocks aligned, the ranks still end an op up to"
}

@test "a rank that did other ops, or ops of another size: no group" {
    one_group 2
    rank 1 2 13000:14010 23000:23520 30000:33000
    analyze
    expect_status 0
    no_group "ranks 0 and 1 did not do the same ops"
    one_group 2
    SIZE=250001 rank 1 2 13000:14010 23000:23520 30000:33000 40000:42010
    analyze
    no_group "ranks 0 and 1 did not do the same ops, of the same sizes"
}

@test "one op alone ends wherever a clock says: no group" {
    rank 0 2 10000:14000
    AHEAD=500 rank 1 2 13000:14010
    analyze
    expect_status 0
    no_group "fewer than two ops are on all ranks"
}

@test "ranks that are missing: waits are lower bounds, and said to be" {
    one_group 16
    analyze
    expect_status 1
    shows "Only 2 of 16 ranks are here, so these waits are lower bounds"
    # the group may have more than these
    is "sizes" "|1" "$(sql "SELECT DISTINCT transit_size, package_size
        FROM CommAnalyzerBandwidth")"
}

# gloo RANK NAME:TS:DUR...: torch without Kineto, which has no clock but its own
gloo ()
{
    local number=$1 op name ts dur comma=

    shift
    mkdir -p job
    {
        printf '['
        for op; do
            IFS=: read -r name ts dur <<<"$op"
            printf '%s{"name": "%s", "ph": "X", "ts": %s, "dur": %s, ' \
                "$comma" "${name/%all_reduce/gloo:all_reduce}" "$ts" "$dur"
            printf '"tid": 1, "pid": "CPU functions", "args": {}}'
            comma=', '
        done
        printf ']'
    } >"job/rank$number.pt.trace.json"
}

@test "on no common clock: common ends align them, and tell who came last" {
    gloo 0 ProfilerStep#1:0:50000 all_reduce:1000:20000 \
        ProfilerStep#2:50000:50000 all_reduce:52000:30000 \
        ProfilerStep#3:100000:50000 all_reduce:101000:20000
    # 7 ms behind, and 15 ms late; it stopped before the last op was over
    gloo 1 ProfilerStep#1:0:50000 all_reduce:9000:5000 \
        ProfilerStep#2:50000:50000 all_reduce:70000:5200 \
        ProfilerStep#3:100000:50000
    analyze
    expect_status 0
    is "waits, and how far off the clocks are at most" "step1|1|0|14.9|0.05
step2|1|0|24.9|0.05" "$(sql "SELECT step, late_rank, waiting_rank,
        round(wait_ms, 3), round(clock_error_ms, 3) FROM Wait ORDER BY 1")"
    is "offset and residue" "0|offset_ms|3.45
0|residue_ms|0.05
1|offset_ms|-3.45
1|residue_ms|0.05" "$(sql "SELECT rank, name, round(value, 3)
        FROM CaptureInfo WHERE kind='clock' ORDER BY 1, 2")"
    is "its own times stay" "1000|9000" "$(sql "SELECT max(iif(rank=0,
        start_timestamp, 0)), max(iif(rank=1, start_timestamp, 0))
        FROM CommAnalyzerTime WHERE step='step1'")"
    is "clocks are no finding" 0 "$(sql "SELECT count(*) FROM Finding
        WHERE kind='clock'")"
}

@test "several captures of each rank: each has a clock of its own" {
    local rank

    gloo 0 ProfilerStep#1:0:50000 all_reduce:1000:20000 \
        ProfilerStep#2:50000:50000 all_reduce:52000:30000
    gloo 1 ProfilerStep#1:0:50000 all_reduce:9000:5000 \
        ProfilerStep#2:50000:50000 all_reduce:70000:5200
    for rank in 0 1; do
        mv job/rank$rank.pt.trace.json job/rank$rank.1795435041000.pt.trace.json
    done
    # here the other one is 40 ms ahead, and rank 0 comes last
    gloo 0 ProfilerStep#11:0:50000 all_reduce:41000:2000 \
        ProfilerStep#12:50000:50000 all_reduce:92000:3000
    gloo 1 ProfilerStep#11:0:50000 all_reduce:1000:22000 \
        ProfilerStep#12:50000:50000 all_reduce:62000:13000
    for rank in 0 1; do
        mv job/rank$rank.pt.trace.json job/rank$rank.1795435042000.pt.trace.json
    done
    analyze
    expect_status 0
    shows "2 of 2 present"
    is "waits" "step1|1|0|14.9
step11|0|1|20.0
step12|0|1|10.0
step2|1|0|24.9" "$(sql "SELECT step, late_rank, waiting_rank,
        round(wait_ms, 3) FROM Wait ORDER BY 1")"
    rm job/rank1.1795435042000.pt.trace.json
    analyze
    expect_status 0
    no_group "some ranks have more captures than others"
}

@test "on no common clock, and ends that do not agree: no group" {
    gloo 0 ProfilerStep#1:0:50000 all_reduce:1000:20000 \
        ProfilerStep#2:50000:50000 all_reduce:52000:30000
    gloo 1 ProfilerStep#1:0:50000 all_reduce:9000:5000 \
        ProfilerStep#2:50000:50000 all_reduce:70000:13000
    analyze
    expect_status 0
    no_group "with all clocks aligned"
}
