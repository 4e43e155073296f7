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
    reason_has 0 "when that was is not known"
}

@test "torch without Kineto, 4 ranks of gloo: who they are is not in them" {
    real_setup real2/torch113_ddp
    analyze
    expect_status 1
    is "states" "unexpected|4" "$(sql "SELECT state, count(*) FROM Capture
        WHERE rank IS NULL GROUP BY 1")"
    shows "it has no rank, and is not alone"
    shows "give it one (RANK in the job's environment)"
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
}
