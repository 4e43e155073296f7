#!/usr/bin/env bats
# Traces of torch.profiler that other years, builds and vendors wrote, which are
# not part of the project: real2/ of ROLLCALL_REAL_CAPTURES.  The figures are
# those of its README, computed from the events by other code.

load run_helper

# steps COLUMN...: of all rows of StepTraceTime, in the order of steps
steps ()
{
    local IFS=,

    sql "SELECT $* FROM StepTraceTime ORDER BY rank, CAST(step AS INTEGER),
         capture"
}

@test "a list of events, without Kineto: computing is the time of all ops" {
    real_setup real2/kineto_root_array
    analyze
    expect_status 0
    shows "1 of 1 present"
    is "step" "|3242290.115|0|3257428.525" \
        "$(steps step computing communication stage)"
    is "dates" "|" "$(sql "SELECT started_ns, ended_ns FROM Capture")"
    reason_has 0 "the trace does not say when that was"
}

@test "torch without Kineto, 4 ranks of gloo: who they are is not in them" {
    real_setup real2/torch113_ddp
    analyze
    expect_status 1
    is "states" "unexpected|4" "$(sql "SELECT state, count(*) FROM Capture
        WHERE rank IS NULL GROUP BY 1")"
    shows "it has no rank, and is not the only capture"
    shows "set RANK in the job's environment"
}

@test "the same under rollcall run: steps and ops of 4 ranks" {
    real_setup real2/torch113_ddp
    cat >work <<'SCRIPT'
#!/bin/sh
cp "$TEST_DIR"/job/rank$RANK/*.json "$ROLLCALL_CAPTURE_DIR"
SCRIPT
    chmod +x work
    run timeout "$LIMIT" mpirun -np 4 "$ROLLCALL" run --text -o out -- ./work
    expect_status 0
    shows "4 of 4 present"
    is "steps" "0|1|93.0|63539
0|2|63661.0|49484
0|3|113179.0|39948
1|1|91.0|60303
1|2|60440.0|44496
1|3|104985.0|44095
2|1|92.0|51663
2|2|51807.0|49271
2|3|101113.0|44133
3|1|143.0|49510
3|2|49698.0|50276
3|3|100009.0|57199" "$(sql "SELECT rank, step, printf('%.1f', host_start),
        CAST(round(host_end-host_start) AS INTEGER)
        FROM StepExtra ORDER BY 1, 2")"
    is "ops" "0|step1|13912|49423
0|step2|70118|42693
0|step3|122241|27499
1|step1|13647|46273
1|step2|67947|36488
2|step1|37378|13817
2|step2|92576|7714
2|step3|138621|6124
3|step1|7270|41886
3|step2|69661|36202
3|step3|110031|42893" "$(sql "SELECT rank, step,
        CAST(round(start_timestamp) AS INTEGER),
        CAST(round(elapse_time*1000) AS INTEGER) FROM CommAnalyzerTime
        WHERE hccl_op_name LIKE 'gloo_allReduce__%' ORDER BY 1, 2")"
    # rank 2 sleeps for 30 ms before each
    is "who waited for whom" "step1|0|35.797|0.248
step1|1|30.166|2.538
step1|3|31.875|3.558
step2|0|34.789|0.248
step2|1|31.064|2.538
step2|3|24.682|3.558" "$(sql "SELECT step, waiting_rank, round(wait_ms, 3),
        round(clock_error_ms, 3) FROM Wait WHERE late_rank=2 ORDER BY 1, 2")"
    is "by nobody else" 0 "$(sql "SELECT count(*) FROM Wait
        WHERE late_rank<>2")"
    is "offsets, and what is left" "0|7.72|0.058
1|1.824|2.538
2|-4.611|0.248
3|-2.844|3.558" "$(sql "SELECT o.rank, round(o.value, 3), round(r.value, 3)
        FROM CaptureInfo o JOIN CaptureInfo r ON r.rank=o.rank AND
        r.name='residue_ms' WHERE o.name='offset_ms' ORDER BY 1")"
    is "found" "2|20.9" "$(sql "SELECT rank, round(effect_ms, 1) FROM Finding
        WHERE kind='late_arriver'")"
    is "clocks are no finding" 0 "$(sql "SELECT count(*) FROM Finding
        WHERE kind='clock'")"
    shows "all ranks did the same ops, and 2 of them end together: within \
3.558 ms, while one takes 39.187 ms"
}

@test "8 ranks of gloo do not do the same ops: of no group" {
    real_setup kineto/gloo8
    analyze
    expect_status 0
    is "groups of ops" 0 "$(sql "SELECT count(group_name)
        FROM CommAnalyzerTime")"
}

# breakdown NAME: of the first capture, in us
breakdown ()
{
    sql "SELECT value FROM CaptureInfo WHERE kind='breakdown' AND name='$1'
         ORDER BY capture LIMIT 1"
}

@test "kernels that were launched before the trace began are of no step" {
    real_setup real2/kineto_leftover
    analyze
    expect_status 1
    is "steps" "550|35713|31675|463|31212|301331|368256|5608
551|35891|36190|509|35681|303557|375129|4200
552|36292|30858|436|30422|308540|375254|4113
553|35940|37767|463|37304|301890|375134|4419
554|35840|26648|534|26114|310323|372277|4150" "$(steps step computing \
        communication overlapped communication_not_overlapped free stage \
        preparing)"
    is "memory only" "8456 7898 8234 7716 8222" "$(sql "SELECT
        group_concat(memory_only, ' ') FROM StepExtra")"
    is "ops of the five, as NCCL's kernels" 75 \
        "$(sql "SELECT count(*) FROM CommAnalyzerTime")"
    is "kinds" "allGather|10
allReduce|10
allToAll|45
reduceScatter|10" "$(sql "SELECT substr(hccl_op_name, 6,
        instr(hccl_op_name, '__')-6), count(*) FROM CommAnalyzerTime
        GROUP BY 1")"
    is "p2p" 0 "$(sql "SELECT count(*) FROM CommAnalyzerTime
        WHERE type='p2p'")"
    # in B: of the whole op, or of what 8 ranks must move of it
    sizes ()
    {
        sql "SELECT printf('%s %.0f', substr(step, 5), 1e6*sum($1))
             FROM CommAnalyzerBandwidth WHERE hccl_op_name LIKE 'nccl_$2!_!_%'
             ESCAPE '!' GROUP BY step" | tr '\n' ';'
    }
    is "all-reduce" "550 1793158928;551 1793158928;552 1793158928;\
553 1793158928;554 1793158928;" "$(sizes package_size allReduce)"
    is "all-to-all" "550 31593312;551 31458420;552 31596132;553 31579540;\
554 31646160;" "$(sizes package_size allToAll)"
    is "reduce-scatter" "550 117440512;551 117440512;552 117440512;\
553 117440512;554 117440512;" "$(sizes transit_size*8/7 reduceScatter)"
    is "all-gather" "550 117440512;551 117440512;552 117440512;\
553 117440512;554 117440512;" "$(sizes transit_size*8/7 allGather)"
    is "groups, by their tensors" 20 "$(sql "SELECT value FROM CaptureInfo
        WHERE name='ops of undeclared groups of 8'")"
    is "groups" 0 "$(sql "SELECT count(group_name) FROM CommAnalyzerTime")"
    # HTA, with the last step
    is "computing" 179676.000 "$(breakdown computing)"
    is "idle" 848216.000 "$(breakdown idle)"
    is "outside" "872 31394.000 24732.000" "$(breakdown outside_events) \
$(breakdown outside_computing) $(breakdown outside_communication)"
    reason_has 0 "left out of the steps: 872 of 7747 events of the device, \
computing 31394.000 us, communication 24732.000 us"
    # and without it
    analyze -s 550-553
    is "computing" 143836.000 "$(breakdown computing)"
    is "idle" 705853.000 "$(breakdown idle)"
}

@test "the list of events begins behind 26 kB of header" {
    real_setup real2/kineto_long_header
    analyze
    expect_status 0
    shows "1 of 1 present"
    is "step" "6|307.197|0|3600.628|3907.825|458.536" \
        "$(steps step computing communication free stage preparing)"
    is "memory only" 2.24 "$(sql "SELECT memory_only FROM StepExtra")"
    is "idle" 3598.388 "$(breakdown idle)"
}

@test "a model on the CPU of a host with CUDA: no call starts any work" {
    real_setup real2/kineto_cpu_only_on_cuda_host/with_ops
    analyze
    expect_status 0
    is "ops of the host" "|4384763.54|0|4819507.769" \
        "$(steps step computing communication stage)"
    reason_has 0 "no device was recorded: computing is the time of host ops"
    rm -r job out
    real_setup real2/kineto_cpu_only_on_cuda_host/no_ops
    analyze
    expect_status 0
    is "rows" 0 "$(sql "SELECT count(*) FROM StepTraceTime")"
    reason_has 0 "it has nothing to report"
}

@test "three traces of one process are three captures of one rank" {
    real_setup real2/kineto_one_process
    analyze
    expect_status 0
    shows "1 of 1 present"
    is "captures" "7402.396|0|328737.836|336140.232
7359.294|0|317497.762|324857.056
7359.92|0|22530.036|29889.956" \
        "$(steps computing communication free stage)"
    is "memory only" "115.298 115.489 115.298" "$(sql "SELECT
        group_concat(memory_only, ' ') FROM StepExtra")"
    is "kernels and copies" "549 544 544|11 11 11" "$(sql "SELECT
        (SELECT group_concat(n, ' ') FROM (SELECT sum(count) AS n
         FROM OperatorStatistic WHERE core_type='kernel' GROUP BY capture)),
        (SELECT group_concat(n, ' ') FROM (SELECT sum(count) AS n
         FROM OperatorStatistic WHERE core_type='memory' GROUP BY capture))")"
}

@test "MTIA: waiting and marks are no computing" {
    real_setup real2/kineto_mtia
    analyze
    expect_status 0
    is "step" "|306399.395|0" "$(steps step computing communication)"
    is "events" "dma_request|877|45371.19
event_record|291|99.265
event_wait|48|352569.592
merge|36|257869.75
pe_exe|24|107685.728
remote|37|48529.645" "$(sql "SELECT op_type, count, total_time
        FROM OperatorStatistic ORDER BY 1")"
    is "without a correlation" "322 107685.728" \
        "$(breakdown outside_events) $(breakdown outside_computing)"
    reason_has 0 "322 of 1313 events" "322 of them without their launch"
}
