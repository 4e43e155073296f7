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
