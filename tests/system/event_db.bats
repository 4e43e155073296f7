#!/usr/bin/env bats
# Event databases: what rollcall makes of them, beside what SQL makes of them

load service_helper

# made FILE [SQL]: a database of the profiler's, changed by SQL
made ()
{
    mkdir -p "$(dirname "$1")"
    sqlite3 "$1" <"$BATS_TEST_DIRNAME/event_db_made.sql"
    sqlite3 "$1" "${2:-}"
}

# agrees FILE: each table has as many rows as SQL finds, and they are the same
agrees ()
{
    is "rows of each table, and rows that differ" \
        "CommAnalyzerTime|60|0 CommAnalyzerBandwidth|358|0"\
" CommAnalyzerMatrix|36|0 best links|36|0 StepTraceTime|3|0" \
        "$(sqlite3 -cmd "ATTACH '$1' AS e" "$DB" \
            <"$BATS_TEST_DIRNAME/event_db_truth.sql" | paste -sd ' ')"
}

@test "the tables that are made of a torch_npu database" {
    db=job/node0_1_20250109081616000_ascend_pt/ASCEND_PROFILER_OUTPUT
    db=$db/ascend_pytorch_profiler_0.db

    made "$db"
    analyze
    expect_status 1             # links show four positions
    shows "1 of at least 4 present"
    agrees "$db"
}

# readers that take rows in the order of the file would go wrong
@test "the same with rows in no order" {
    db=job/node0_1_20250109081616000_ascend_pt/ASCEND_PROFILER_OUTPUT
    db=$db/ascend_pytorch_profiler_0.db

    made "$db" "
        CREATE TABLE t AS SELECT * FROM TASK;
        CREATE TABLE i AS SELECT * FROM COMMUNICATION_TASK_INFO;
        CREATE TABLE o AS SELECT * FROM COMMUNICATION_OP;
        DELETE FROM TASK; DELETE FROM COMMUNICATION_TASK_INFO;
        DELETE FROM COMMUNICATION_OP;
        UPDATE o SET opId = 1000 - opId; UPDATE i SET opId = 1000 - opId;
        INSERT INTO TASK SELECT * FROM t ORDER BY globalTaskId * 7919 % 6007;
        INSERT INTO COMMUNICATION_TASK_INFO SELECT * FROM i
            ORDER BY globalTaskId * 5003 % 6007;
        INSERT INTO COMMUNICATION_OP SELECT * FROM o;
        DROP TABLE t; DROP TABLE i; DROP TABLE o;"
    analyze
    expect_status 1             # links show four positions
    shows "1 of at least 4 present"
    agrees "$db"
}

# the msprof program calls it otherwise, and leaves out who the rank is
@test "the tables that are made of a database of msprof" {
    db=job/PROF_000001_20250109161601123_ABC/msprof_20250109161700.db

    made "$db" "DROP TABLE RANK_DEVICE_MAP"
    analyze
    expect_status 1             # links show four positions
    shows "1 of at least 4 present"
    is "capture" "msprof|event_db|complete" \
        "$(sql "SELECT framework, source, state FROM Capture")"
    agrees "$db"
}

# Profilers of 2024 say how long a step communicates by the tasks of ops, those
# of 2025 by the ops.
@test "communication by tasks where the host is a number, and the other way" {
    db=job/node0_1_20250109081616000_ascend_pt/ASCEND_PROFILER_OUTPUT
    db=$db/ascend_pytorch_profiler_0.db
    by_tasks="WITH span AS (SELECT DISTINCT s.id AS step, t.startNs AS a,
            t.endNs AS b FROM COMMUNICATION_TASK_INFO i
            JOIN TASK t USING (globalTaskId)
            JOIN STEP_TIME s ON t.startNs BETWEEN s.startNs AND s.endNs),
        run AS (SELECT step, a, b, coalesce(max(b) OVER (PARTITION BY step
            ORDER BY a, b ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0)
            AS before FROM span)
        SELECT printf('%d %.3f', step, sum(max(b, before) - max(a, before))
            / 1e3) FROM run GROUP BY step ORDER BY step"
    ours="SELECT printf('%s %.3f', step, communication) FROM StepTraceTime
        ORDER BY CAST(step AS INTEGER)"

    made "$db" "DROP TABLE IF EXISTS HOST_INFO; CREATE TABLE HOST_INFO
        (hostUid INTEGER, hostName TEXT);
        INSERT INTO HOST_INFO VALUES (4711, 'node0')"
    analyze
    is "communication" "$(sqlite3 "$db" "$by_tasks")" "$(sql "$ours")"
    shows "hostUid is a number"
    shows "by ops would be"
    # all columns follow
    is "rows of which the parts are not the whole" 0 "$(sql "
        SELECT count(*) FROM StepTraceTime WHERE abs(communication -
        overlapped - communication_not_overlapped) > 1e-6 OR abs(stage -
        computing - communication_not_overlapped - free) > 1e-6")"

    rm -rf out "$db"
    made "$db" "DROP TABLE IF EXISTS HOST_INFO; CREATE TABLE HOST_INFO
        (hostUid TEXT, hostName TEXT);
        INSERT INTO HOST_INFO VALUES ('4711', 'node0')"
    analyze
    agrees "$db"
    shows "by tasks would be"
}
