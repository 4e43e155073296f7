#!/usr/bin/env bats
# table KernelDetail, and which kernels of a rank are slower than another's

load helper

# what the truth has of each kind of kernel, and what was made of it
TRUTH="SELECT rank, step, name, op_type, core_type, input_shapes, count(*) AS n,
    sum(us) AS total, min(us) AS least, max(us) AS most FROM Kernel
    GROUP BY 1, 2, 3, 4, 5, 6"

# kernels_near STEP: as many rows as in the truth, and each is one of there;
# STEP is what a row has for step, in SQL
kernels_near ()
{
    local same="o.rank IS t.rank AND $1 IS t.step AND o.name=t.name
        AND o.op_type=t.op_type AND o.core_type=t.core_type
        AND o.input_shapes=t.input_shapes AND o.count=t.n"

    is "kernels, and those of the truth" \
        "$(sql "SELECT count(*) || ' ' || count(*) FROM ($TRUTH)" truth.db)" \
        "$(sqlite3 -batch "$DB" "ATTACH 'truth.db' AS truth;
            SELECT (SELECT count(*) FROM KernelDetail) || ' ' || count(*)
            FROM KernelDetail o JOIN ($TRUTH) t ON $same
            WHERE abs(o.total_time - t.total) < 0.001
            AND abs(o.min_time - t.least) < 0.001
            AND abs(o.max_time - t.most) < 0.001")"
}

@test "kernels of a text export, of its database and of both are the truth's" {
    local form

    for form in "text --extras" "both --extras" kernels event_db; do
        # shellcheck disable=SC2086     # words
        make --steps 3 --form $form
        analyze
        kernels_near o.step
        is "devices" 4 "$(sql "SELECT count(DISTINCT deviceId) FROM (SELECT
            rank, deviceId FROM KernelDetail GROUP BY 1)")"
    done
}

# What computes is what the kernels took, as far as nothing runs side by side.
@test "kernels without steps, and of old files" {
    make --form msprof --steps 1
    analyze
    kernels_near "'10'"
    is "steps" 0 "$(sql "SELECT count(step) FROM KernelDetail")"
    make --age 2023 --form text --extras
    analyze
    expect_status 0
    kernels_near o.step
    is "devices" 0 "$(sql "SELECT count(deviceId) FROM KernelDetail")"
    is "counters" 0.25 "$(sql "SELECT DISTINCT
        json_extract(aic_metrics, '\$.aic_mac_ratio') FROM KernelDetail")"
}

# Of a step that both captures of a rank have, the kernels would count twice.
@test "--steps, and two captures with one step" {
    make --extras --steps 3
    cp -r "$(capture_of 1)" "job/x_ascend_pt"
    analyze --steps 11
    is "steps" 11 "$(sql "SELECT group_concat(DISTINCT step)
        FROM KernelDetail")"
    is "rows of rank 1" "$(sql "SELECT count(*) FROM ($TRUTH) WHERE rank=1
        AND step='11'" truth.db)" "$(sql "SELECT count(*) FROM KernelDetail
        WHERE rank=1")"
}

@test "a damaged kernel_details.csv makes its capture partial, and no sums" {
    make --extras
    truncate -s -20 "$(output_of 1)/kernel_details.csv"
    analyze
    expect_status 1
    state_is 1 partial
    reason_has 1 "kernel_details.csv: line " "KernelDetail"
    is "ranks" 0,2,3 "$(sql "SELECT group_concat(DISTINCT rank)
        FROM KernelDetail")"
    is "the four tables" "$(sql "SELECT count(*) FROM StepTraceTime" truth.db)" \
        "$(sql "SELECT count(*) FROM StepTraceTime")"
}

# query ARGUMENT...: sets status and output
query ()
{
    run "$ROLLCALL" query --raw-csv "$@" out
}

# A kind of rank 2 takes twice as long as on rank 3; nothing else of it does.
@test "which kernels of a rank are slower than those of another" {
    make --extras --steady
    awk -F, -v OFS=, '/aclnnMul_/ { $11 = 2 * $11 } { print }' \
        "$(output_of 3)/kernel_details.csv" >slow.csv
    cp slow.csv "$(output_of 2)/kernel_details.csv"
    analyze
    query slower --rank 2 --peer 3
    expect_status 0
    is "rows" 2 "${#lines[@]}"
    is "columns" rank,name,op_type,count,mean_us,other_us,slower_percent \
        "$(cut -d , -f 1-7 <<<"${lines[0]}")"
    is "kernel" 2,aclnnMul_MulAiCore_Mul,Mul \
        "$(cut -d , -f 1-3 <<<"${lines[1]}")"
    is "percent" 100 "$(cut -d , -f 7 <<<"${lines[1]}")"
    is "ms" "$(sql "SELECT round(sum(us) / 1e3, 3) FROM Kernel WHERE rank=3 AND
        name LIKE 'aclnnMul%'" truth.db)" "$(cut -d , -f 8 <<<"${lines[1]}")"
    query slower --rank 3 --peer 2
    is "the other way round" 1 "${#lines[@]}"
    query slower --rank 2 --peer 3 --step 10
    is "of one step" 2 "${#lines[@]}"
    # beside all others, and all ranks beside the others
    query slower --rank 2
    is "slowest" 2,aclnnMul_MulAiCore_Mul "$(cut -d , -f 1,2 <<<"${lines[1]}")"
    query slower
    is "slowest" 2,aclnnMul_MulAiCore_Mul "$(cut -d , -f 1,2 <<<"${lines[1]}")"
}

@test "a rank that is compared with none, and a query without another rank" {
    make --extras
    analyze
    query slower --rank 1 --peer 9
    expect_status 65
    shows "there is no rank 9"
    query steps --peer 1
    expect_status 2
    shows "does not depend on a peer"
}
