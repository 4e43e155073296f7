#!/usr/bin/env bats
# rollcall analyze on captures that have nothing but a timeline, or nothing but
# kernel_details.csv

load helper

# near TABLE COLUMNS TOLERANCE KEY: as many rows as in the truth, and each has
# one there with the same key and values that are near.  Groups of old captures
# need not be known.
near ()
{
    local table=$1 columns=$2 tolerance=$3 key=$4 column good=1 same

    for column in $columns; do
        good+=" AND abs(o.$column - t.$column) <= $tolerance"
    done
    same="o.rank IS t.rank"
    for column in $key; do
        same+=" AND o.$column IS t.$column"
    done
    is "$table: rows, and those that are near in $columns" \
        "$(sql "SELECT count(*) || ' ' || count(*) FROM $table" truth.db)" \
        "$(sqlite3 -batch "$DB" "ATTACH 'truth.db' AS truth;
            SELECT (SELECT count(*) FROM main.$table) || ' ' || count(*)
            FROM main.$table o JOIN truth.$table t ON $same WHERE $good")"
}

steps_near ()
{
    near StepTraceTime "computing communication_not_overlapped overlapped
        communication free bubble
        communication_not_overlapped_and_exclude_receive" 0.001 \
        "deviceId step"
    near StepTraceTime stage 0.25 "deviceId step"
}

OP="hccl_op_name group_name step type"

# one_age AGE: timelines give the rows of the truth
one_age ()
{
    make --age "$1" --form timeline --steps 3 --ops 40
    analyze
    expect_status 0
    is "captures" "complete timeline 3" "$(sql "SELECT DISTINCT state || ' ' ||
        source || ' ' || steps FROM Capture")"
    steps_near
    near StepTraceTime preparing 0.25 "deviceId step"
    near CommAnalyzerTime start_timestamp 0 "$OP"
    near CommAnalyzerTime "elapse_time transit_time wait_time
        synchronization_time idle_time" 1e-9 "$OP"
    near CommAnalyzerBandwidth "transit_size transit_time bandwidth
        large_packet_ratio total_duration" 1e-6 \
        "$OP transport_type package_size count"
    near CommAnalyzerMatrix "transit_size transit_time bandwidth" 1e-6 \
        "$OP src_rank dst_rank transport_type op_name"
    is "steps on the host" "$(sql "SELECT count(*) FROM StepTraceTime")" \
        "$(sql "SELECT count(*) FROM StepExtra e JOIN StepTraceTime s USING
                (rank, step, deviceId) WHERE host_end > host_start")"
}

@test "timelines of 2025 give the rows of the truth" {
    one_age 2025
}

# No device in the labels, and the process of the ops has its old name.
@test "timelines of 2024 give the rows of the truth" {
    make --age 2024 --form timeline --ops 40
    analyze
    expect_status 0
    is "source" timeline "$(sql "SELECT DISTINCT source FROM Capture")"
    near StepTraceTime "computing communication free bubble" 0.001 step
    near CommAnalyzerTime "elapse_time transit_time wait_time" 1e-9 "$OP"
}

@test "a timeline of Level0 has ops, but no tasks" {
    make --level 0 --form timeline
    analyze
    expect_status 0
    # which was denied beside their rows
    shows "Level0, which records when communication ops ran" "Level1 does"
    [[ "$output" != *"no communication tables"* ]] || fail "$output"
    steps_near
    is "ops, and what is known of them" "64 64 0" "$(sql "SELECT count(*) || ' '
        || count(elapse_time) || ' ' || count(wait_time)
        FROM CommAnalyzerTime")"
}

@test "kernel_details.csv gives steps, and begin and length of ops" {
    local age

    for age in 2024 2025; do
        make --age $age --form kernels --steps 3 --ops 40
        analyze
        is "captures" "partial kernel_details 3" "$(sql "SELECT DISTINCT state
            || ' ' || source || ' ' || steps FROM Capture")"
        steps_near
        near CommAnalyzerTime start_timestamp 0 "$OP"
        near CommAnalyzerTime elapse_time 1e-9 "$OP"
    done
}

# A slow rank that is none would be found in the others' means.
@test "kernel_details.csv that is cut gives no sums of a part of its rows" {
    local file

    make --form kernels --steps 3 --ops 40
    file=$(output_of 1)/kernel_details.csv
    truncate -s $(($(stat -c %s "$file") / 2)) "$file"
    analyze
    state_is 1 partial
    reason_has 1 "kernel_details.csv: line " "StepTraceTime"
    is "steps" "0 3,2 3,3 3" "$(sql "SELECT group_concat(t) FROM (SELECT rank ||
        ' ' || count(*) AS t FROM StepTraceTime GROUP BY rank)")"
    [ "$(sql "SELECT count(*) FROM CommAnalyzerTime WHERE rank=1")" -gt 0 ]
    shows "slowest rank  none stands out"
}

@test "--steps leaves out the others" {
    make --form timeline --steps 3
    analyze --steps 11
    expect_status 0
    is "steps" "11 step11 step11 step11" "$(sql "SELECT
        (SELECT group_concat(DISTINCT step) FROM StepTraceTime) || ' ' ||
        (SELECT group_concat(DISTINCT step) FROM CommAnalyzerTime) || ' ' ||
        (SELECT group_concat(DISTINCT step) FROM CommAnalyzerBandwidth) || ' '
        || (SELECT group_concat(DISTINCT step) FROM CommAnalyzerMatrix)")"
}

@test "a timeline that is cut says where, and keeps what came before" {
    local trace

    make --form timeline
    trace=$(output_of 2)/trace_view.json
    truncate -s -1 "$trace"
    analyze
    expect_status 1
    state_is 2 partial
    reason_has 2 "trace_view.json: byte $(stat -c %s "$trace")"
    is "rows of all ranks" "$(sql "SELECT count(*) FROM CommAnalyzerTime" \
        truth.db)" "$(sql "SELECT count(*) FROM CommAnalyzerTime")"
}
