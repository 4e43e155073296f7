#!/usr/bin/env bats
# rollcall analyze on captures of real jobs, which are not part of the project:
# ROLLCALL_REAL_CAPTURES names a folder that has them.  The profiler's own
# analysis.db of each rank is what the result must equal.

load helper

# own_db RANK: the profiler's database of that rank
own_db ()
{
    local found=("$ROLLCALL_REAL_CAPTURES/$which"/rank*"$1"_ascend_pt)

    echo "${found[0]}/ASCEND_PROFILER_OUTPUT/analysis.db"
}

# compare RANK TABLE [ORDER]: how many of our rows the profiler does not have
# in the same place, how many of its rows we do not, whether it has any
compare ()
{
    local rank=$1 table=$2 ours=${3:-rowid} columns

    # only what both have: old profilers have no deviceId
    columns=$(sqlite3 -batch "$DB" "ATTACH '$(own_db "$rank")' AS own;
        SELECT group_concat(a.name) FROM
        pragma_table_info('$table', 'main') a JOIN
        pragma_table_info('$table', 'own') b ON b.name=a.name")
    [ -n "$columns" ] || fail "no columns of $table" || return
    sqlite3 -batch "$DB" "ATTACH '$(own_db "$rank")' AS own;
        CREATE TEMP VIEW ours AS SELECT row_number() OVER (ORDER BY $ours),
            $columns FROM main.$table b WHERE rank=$rank;
        CREATE TEMP VIEW theirs AS SELECT row_number() OVER (ORDER BY rowid),
            $columns FROM own.$table;
        SELECT count(*) FROM (SELECT * FROM ours EXCEPT SELECT * FROM theirs)
        UNION ALL SELECT count(*) FROM
        (SELECT * FROM theirs EXCEPT SELECT * FROM ours)
        UNION ALL SELECT (SELECT count(*) FROM theirs) > 0"
}

# equal RANK TABLE [ORDER]: all values, in the profiler's order
equal ()
{
    is "$2 of rank $1: only ours, only the profiler's, any" $'0\n0\n1' \
        "$(compare "$@")"
}

# StepTraceTime of the text differs as its rounding does (the captures' own
# documentation): sums of doubles, and two columns in quarters of a us.
steps_near ()
{
    is "steps of rank $1 that are not near" 0 "$(sqlite3 -batch "$DB" "
        ATTACH '$(own_db "$1")' AS own;
        WITH o AS (SELECT row_number() OVER (ORDER BY rowid) AS n, *
                   FROM main.StepTraceTime WHERE rank=$1),
             t AS (SELECT row_number() OVER (ORDER BY rowid) AS n, *
                   FROM own.StepTraceTime)
        SELECT abs((SELECT count(*) FROM o) - (SELECT count(*) FROM t)) +
            (SELECT count(*) = 0 FROM t) +
            (SELECT count(*) FROM o JOIN t ON o.n=t.n
             WHERE NOT (o.step IS t.step
             AND abs(o.computing-t.computing) <= 2e-9 * t.computing
             AND abs(o.communication_not_overlapped -
                 t.communication_not_overlapped)
                 <= 2e-9 * t.communication_not_overlapped
             AND abs(o.overlapped-t.overlapped) <= 2e-9 * t.communication
             AND abs(o.communication-t.communication)
                 <= 2e-9 * t.communication
             AND abs(o.free-t.free) <= 2e-9 * t.stage
             AND abs(o.stage-t.stage) <= 0.25
             AND abs(o.bubble-t.bubble) <= 2e-9 * t.stage
             AND abs(o.communication_not_overlapped_and_exclude_receive -
                 t.communication_not_overlapped_and_exclude_receive)
                 <= 2e-9 * t.stage
             AND abs(o.preparing-t.preparing) <= 0.25))")"
}

@test "4 ranks, 2 of them here: rows equal the profiler's own" {
    local rank table

    which=qwen3_4rank
    real_setup $which
    analyze
    expect_status 1
    shows "2 of 4 present" "missing     2, 3"
    is "source" analysis.db "$(sql "SELECT DISTINCT source FROM Capture")"
    is "missing" 2,3 "$(sql "SELECT group_concat(rank) FROM Roster
                             WHERE state='missing'")"
    for rank in 0 1; do
        for table in $TABLES; do
            equal $rank "$table"
        done
    done
}

@test "the same from the text export: equal, except for its rounding" {
    local rank table

    which=qwen3_4rank
    real_setup $which
    rm job/*/ASCEND_PROFILER_OUTPUT/analysis.db
    analyze
    expect_status 1
    is "source" text "$(sql "SELECT DISTINCT source FROM Capture")"
    is "states" "complete" "$(sql "SELECT DISTINCT state FROM Capture")"
    for rank in 0 1; do
        equal $rank CommAnalyzerTime "start_timestamp, rowid"
        equal $rank CommAnalyzerMatrix
        steps_near $rank
        # an op's start orders the bandwidth rows too
        equal $rank CommAnalyzerBandwidth "(SELECT t.start_timestamp
            FROM main.CommAnalyzerTime t WHERE t.rank=b.rank AND
            t.hccl_op_name=b.hccl_op_name AND t.group_name=b.group_name AND
            t.step=b.step), rowid"
    done
}

@test "every group of a real job is known by its communicator" {
    which=qwen3_4rank
    real_setup $which
    analyze
    is "ops" "$(sql "SELECT count(*) FROM CommAnalyzerTime")" \
        "$(sql "SELECT count(*) FROM CommAnalyzerTime t JOIN CommGroup g
                ON g.group_name=t.group_name AND g.group_id IS NOT NULL
                JOIN CommGroupMember m ON m.comm_group=g.id AND
                m.rank=t.rank")"
    is "source ranks that are not the row's own" 0 \
        "$(sql "SELECT count(*) FROM CommAnalyzerMatrix x JOIN CommGroup g
                ON g.group_name=x.group_name JOIN CommGroupMember m
                ON m.comm_group=g.id AND m.group_rank=x.src_rank
                WHERE m.rank<>x.rank AND EXISTS (SELECT 1 FROM CommGroupMember
                    o WHERE o.comm_group=g.id AND o.rank=x.rank)")"
}

@test "a text export with everything else beside it" {
    local out=job/rank0_ascend_pt/ASCEND_PROFILER_OUTPUT

    real_setup text_level1
    analyze -n 1
    expect_status 0
    is "state" "complete text Level1" "$(sql "SELECT state || ' ' || source ||
        ' ' || profiler_level FROM Capture")"
    is "steps" "$(($(wc -l <"$out/step_trace_time.csv") - 1))" \
        "$(sql "SELECT count(*) FROM StepTraceTime")"
    is "ops" "$(grep -o '"Start Timestamp(us)"' "$out/communication.json" |
                wc -l)" "$(sql "SELECT count(*) FROM CommAnalyzerTime")"
}

@test "event databases with the profiler's own analysis.db beside them" {
    local rank table

    which=event_db
    real_setup $which
    analyze
    expect_status 1             # ops are of positions 0 to 7
    shows "2 of at least 8 present" "missing     2-7"
    is "source" analysis.db "$(sql "SELECT DISTINCT source FROM Capture")"
    for rank in 0 1; do
        for table in $TABLES; do
            equal $rank "$table"
        done
    done
}

# sums FILE KEY COUNT TOTAL: the rows of a CSV file without quotes, the sums of
# two columns, all found by their names
sums ()
{
    tr -d '\r' <"$1" | awk -F, -v key="$2" -v count="$3" -v total="$4" '
        NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
        { rows++; n += $at[count]; t += $at[total] }
        END { printf "%d %d %.3f\n", rows, n, t }'
}

# peaks FILE COLUMN: "<component> <largest value> <first time it was reached>"
peaks ()
{
    tr -d '\r\t' <"$1" | awk -F, -v column="$2" '
        NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
        $at[column] + 0 > max[$at["Component"]] {
            max[$at["Component"]] = $at[column] + 0
            time[$at["Component"]] = $at["Timestamp(us)"] }
        END { for (c in time) printf "%s %.6f %.0f\n", c, max[c],
            int (time[c]) }' |
        sort
}

# peaks_of KIND: the same from the result, of rank 0
peaks_of ()
{
    sql "SELECT printf('%s %.6f %d', component, peak, peak_timestamp)
         FROM MemoryPeak WHERE rank=0 AND deviceId=0 AND kind='$1'" | sort
}

# What awk makes of the files themselves: a column taken for another one, a
# row lost or a sum wrong would differ.
@test "statistics and memory of the text export are those of its files" {
    local which out

    for which in text_level1/rank0 qwen3_4rank/rank_0; do
        real_setup "${which%/*}"
        out=job/${which#*/}_ascend_pt/ASCEND_PROFILER_OUTPUT
        analyze
        is "operators of $which" \
            "$(sums $out/op_statistic.csv "OP Type" Count "Total Time(us)")" \
            "$(sql "SELECT printf('%d %d %.3f', count(*), sum(count),
                    sum(total_time)) FROM OperatorStatistic WHERE rank=0")"
        # there, means of three decimals were summed
        is "kernels of $which" "1 1" "$(sql "SELECT (k.n = o.n) || ' ' ||
            (abs(k.us - o.us) < 0.1) FROM
            (SELECT sum(count) AS n, sum(total_time) AS us FROM KernelDetail
                WHERE rank=0) k,
            (SELECT sum(count) AS n, sum(total_time) AS us
                FROM OperatorStatistic WHERE rank=0) o")"
        is "APIs of $which" \
            "$(sums $out/api_statistic.csv "API Name" Count "Time(us)")" \
            "$(sql "SELECT printf('%d %d %.3f', count(*), sum(count),
                    sum(total_time)) FROM ApiStatistic WHERE rank=0")"
        is "modules of $which" \
            "$(peaks $out/npu_module_mem.csv "Total Reserved(MB)")" \
            "$(peaks_of module)"
        rm -rf job out
    done
    real_setup text_level1
    out=job/rank0_ascend_pt/ASCEND_PROFILER_OUTPUT
    analyze
    for which in Allocated Reserved Active; do
        is "$which" "$(peaks $out/memory_record.csv "Total $which(MB)")" \
            "$(peaks_of "${which,,}")"
    done
}

@test "threads that were profiled beside the main one" {
    local rank own

    which=event_db
    real_setup $which
    analyze
    for rank in 0 1; do
        own=$(dirname "$(own_db $rank)")/ascend_pytorch_profiler_$rank.db
        is "threads of rank $rank" "$(sqlite3 -batch "$own" "SELECT
            count(DISTINCT globalTid) || ' ' || (count(DISTINCT globalTid) - 1)
            FROM PYTORCH_API")" "$(sql "SELECT group_concat(value, ' ') FROM
            CaptureInfo WHERE rank=$rank AND kind='threads'")"
    done
}

@test "metadata, configuration and the other files of a real capture" {
    real_setup qwen3_4rank
    analyze
    is "versions" "2.7.1 8.3.RC1" "$(sql "SELECT group_concat(value, ' ') FROM
        CaptureInfo WHERE rank=0 AND kind='config' AND name LIKE '%version'")"
    is "environment" expandable_segments:True "$(sql "SELECT DISTINCT value
        FROM CaptureInfo WHERE kind='environment' AND
        name='PYTORCH_NPU_ALLOC_CONF'")"
    is "world" 4,4 "$(sql "SELECT group_concat(value) FROM CaptureInfo WHERE
        kind='metadata' AND name='distributed_args.world_size'")"
    rm -rf job out
    real_setup text_level1
    analyze
    is "a file that is not read" \
        "$(stat -c %s job/*/ASCEND_PROFILER_OUTPUT/operator_memory.csv)" \
        "$(sql "SELECT bytes FROM OtherFile WHERE
                path='ASCEND_PROFILER_OUTPUT/operator_memory.csv'")"
    is "files that are" 0 "$(sql "SELECT count(*) FROM OtherFile WHERE
        path LIKE '%statistic.csv' OR path LIKE '%communication%'")"
}

# against TABLE COLUMNS TOLERANCE KEY: how many rows of $DB differ by more than
# the tolerance from those of by_json.db, or are not in both.  The key's columns
# are told apart by IS, since a timeline need not know the group.
against ()
{
    local table=$1 columns=$2 tolerance=$3 key=$4 column differ=0 same=1

    for column in $columns; do
        differ+=" OR abs(o.$column - t.$column) > $tolerance OR
            (o.$column IS NULL) <> (t.$column IS NULL)"
    done
    for column in $key; do
        same+=" AND o.$column IS t.$column"
    done
    sqlite3 -batch "$DB" "ATTACH 'by_json.db' AS json;
        SELECT (SELECT count(*) FROM json.$table) - (SELECT count(*)
            FROM main.$table o JOIN json.$table t ON $same
            WHERE NOT ($differ))
        UNION ALL SELECT count(*) - (SELECT count(*) FROM json.$table)
            FROM main.$table"
}

# near_json TABLE COLUMNS TOLERANCE KEY: none differs
near_json ()
{
    is "$1: rows whose $2 differ, rows too many" $'0\n0' "$(against "$@")"
}

# only FILE: what else gives tables is taken away
only ()
{
    local out=job/rank0_ascend_pt/ASCEND_PROFILER_OUTPUT

    cp "$DB" by_json.db
    rm "$out"/communication*.json "$out"/step_trace_time.csv
    if [ "$1" = kernel_details.csv ]; then
        rm "$out/trace_view.json"
    fi
    rm -r out
    analyze -n 1
}

@test "the same from the timeline: equal, but for the text's own rounding" {
    real_setup text_level1
    analyze -n 1
    only trace_view.json
    expect_status 0
    is "state" "complete timeline" \
        "$(sql "SELECT state || ' ' || source FROM Capture")"
    near_json StepTraceTime "computing communication_not_overlapped overlapped
        communication free bubble
        communication_not_overlapped_and_exclude_receive" 0.001 step
    near_json StepTraceTime "stage preparing" 0.19 step
    near_json CommAnalyzerTime start_timestamp 0 "hccl_op_name step type"
    near_json CommAnalyzerTime "elapse_time transit_time wait_time
        synchronization_time idle_time" 2.5e-4 "hccl_op_name step type"
    near_json CommAnalyzerBandwidth "transit_time total_duration" 2.5e-4 \
        "hccl_op_name step type transport_type transit_size bandwidth
        large_packet_ratio package_size count"
    near_json CommAnalyzerMatrix transit_time 2.5e-4 "hccl_op_name src_rank dst_rank
        transport_type transit_size bandwidth step type op_name"
}

@test "the same from kernel_details.csv: what it has is near" {
    real_setup text_level1
    analyze -n 1
    only kernel_details.csv
    is "state" "partial kernel_details" \
        "$(sql "SELECT state || ' ' || source FROM Capture")"
    near_json StepTraceTime "computing communication_not_overlapped overlapped
        communication free bubble
        communication_not_overlapped_and_exclude_receive" 0.02 step
    near_json StepTraceTime stage 0.25 step
    near_json CommAnalyzerTime start_timestamp 0.25 "hccl_op_name step type"
    near_json CommAnalyzerTime elapse_time 2e-5 "hccl_op_name step type"
    is "what it cannot know" 0 "$(sql "SELECT count(transit_time) +
        count(wait_time) + count(synchronization_time) + count(idle_time) +
        (SELECT count(preparing) FROM StepTraceTime) FROM CommAnalyzerTime")"
}

@test "steps from kernel_details.csv equal the profiler's own" {
    which=qwen3_4rank
    real_setup $which
    rm -r job/rank_1_ascend_pt
    cd job/rank_0_ascend_pt/ASCEND_PROFILER_OUTPUT
    rm analysis.db communication*.json step_trace_time.csv
    cd - >/dev/null
    analyze
    is "StepTraceTime that differs" 0 "$(sqlite3 -batch "$DB" "
        ATTACH '$(own_db 0)' AS own;
        SELECT count(*) <> 1 FROM main.StepTraceTime o JOIN
        own.StepTraceTime t USING (deviceId, step, computing, communication,
            communication_not_overlapped, overlapped, free, stage, bubble)")"
    is "groups that are not known" 0 "$(sql "SELECT count(*) FROM
        CommAnalyzerTime WHERE group_name IS NULL")"
    is "ops that differ" 0 "$(sqlite3 -batch "$DB" "
        ATTACH '$(own_db 0)' AS own;
        SELECT (SELECT count(*) FROM own.CommAnalyzerTime) - count(*) FROM
        main.CommAnalyzerTime o JOIN own.CommAnalyzerTime t
        USING (hccl_op_name, group_name, step, type)
        WHERE abs(o.start_timestamp - t.start_timestamp) <= 0.25 AND
        abs(o.elapse_time - t.elapse_time) <= 1e-9")"
}

# near_hta WHAT NUMBER: a value of the breakdown of rank $rank is NUMBER up to $off
near_hta ()
{
    is "$1 of rank $rank is off by" ok "$(sql "SELECT CASE WHEN
        abs(value - $2) <= $off THEN 'ok' ELSE value - $2 END
        FROM CaptureInfo WHERE kind='breakdown' AND name='$1' AND
        rank=$rank")"
}

# breakdown TOTAL IDLE COMPUTING OTHER OVERLAP%
breakdown ()
{
    near_hta total "$1"
    near_hta idle "$2"
    near_hta computing "$3"
    near_hta other "$4"
    is "overlap of rank $rank is off by" ok "$(sql "SELECT CASE WHEN
        abs(100 * o.value / c.value - $5) < $percent THEN 'ok'
        ELSE 100 * o.value / c.value - $5 END FROM CaptureInfo o
        JOIN CaptureInfo c ON c.rank=o.rank WHERE o.rank=$rank AND
        o.name='overlapped' AND c.name='communication'")"
}

@test "a trace of torch.profiler: what HTA makes of it, but for its rounding" {
    local rank=0 off percent=1

    real_setup kineto/nccl_1of2
    # it rounds the start and the end of 2516 and 3774 events to whole us
    off=2516
    analyze -s 4,5
    breakdown 435586 338781 75169 21636 14.31
    off=3774
    analyze
    expect_status 1
    shows "1 of 2 present"
    breakdown 660550 506512 113012 41026 15.14
    is "idle is free without memory" 0 "$(sql "SELECT count(*)
        FROM StepTraceTime s JOIN StepExtra e ON e.step=s.step
        WHERE s.free < e.memory_only")"
    is "ops" "15 collective" "$(sql "SELECT count(*), type
        FROM CommAnalyzerTime WHERE hccl_op_name LIKE 'nccl_allReduce%'" |
        tr '|' ' ')"
    is "size of one (MB)" 26.550272 "$(sql "SELECT DISTINCT transit_size
        FROM CommAnalyzerBandwidth WHERE transit_size > 26.5 AND
        transit_size < 27")"
}

@test "traces of whole us: exactly what HTA makes of them" {
    local rank off=0 percent=0.01

    real_setup kineto/sampled_2of128
    analyze -s 551
    rank=0 breakdown 600058 321378 106252 172428 11.81
    rank=1 breakdown 600674 328671 135548 136455 20.05
    analyze
    expect_status 1
    shows "2 of 128 present"
    is "why groups are not known" 2 "$(sql "SELECT count(*) FROM Capture
        WHERE reason LIKE '%does not record the group of%'")"
}

@test "8 ranks of gloo, on hosts without a device" {
    real_setup kineto/gloo8
    analyze
    expect_status 0
    shows "8 of 8 present"
    is "steps" "8 1 2" "$(sql "SELECT count(DISTINCT rank), min(step),
        max(step) FROM StepTraceTime" | tr '|' ' ')"
    # it sleeps: nothing computes there, and nobody waits
    is "who has most free time" 5 "$(sql "SELECT rank FROM StepTraceTime
        GROUP BY rank ORDER BY sum(free) DESC LIMIT 1")"
    is "groups" 13 "$(sql "SELECT count(*) FROM CommGroup")"
    is "ops" 8 "$(sql "SELECT count(DISTINCT rank) FROM CommAnalyzerTime
        WHERE hccl_op_name LIKE 'gloo_allReduce%' AND elapse_time > 0")"
    is "why columns are NULL" 8 "$(sql "SELECT count(*) FROM Capture WHERE
        reason LIKE '%group_name%' AND reason LIKE '%transit_size%'")"
}

# matched RANK TABLE KEY CONDITION: how many rows of ours and of the profiler's
# have no match by KEY, how many matches break CONDITION (o: ours, t: the
# profiler's), whether there are any
matched ()
{
    is "$2 of rank $1: only ours, only the profiler's, not near, any" \
        $'0\n0\n0\n1' "$(sqlite3 -batch "$DB" "
        ATTACH '$(own_db "$1")' AS own;
        CREATE TEMP VIEW ours AS SELECT * FROM main.$2 WHERE rank=$1;
        SELECT count(*) FROM ours o WHERE NOT EXISTS
            (SELECT 1 FROM own.$2 t WHERE $3);
        SELECT count(*) FROM own.$2 t WHERE 1 <>
            (SELECT count(*) FROM ours o WHERE $3);
        SELECT count(*) FROM ours o JOIN own.$2 t ON $3 WHERE NOT ($4);
        SELECT count(*) > 0 FROM own.$2")"
}

# Of Sept 2024: communication is that of tasks, not of ops.
@test "steps from an event database of 2024 equal the profiler's" {
    real_setup real2/event_db_2024
    own=$(echo job/*/ASCEND_PROFILER_OUTPUT)
    mv "$own/analysis.db" own.db
    analyze
    is "steps" "$(sqlite3 own.db "SELECT step, round(computing, 3),
            round(communication_not_overlapped, 3), round(overlapped, 3),
            round(communication, 3), round(free, 3), round(stage, 3), bubble,
            round(communication_not_overlapped_and_exclude_receive, 3),
            round(preparing, 3) FROM StepTraceTime")" \
        "$(sql "SELECT step, round(computing, 3),
            round(communication_not_overlapped, 3), round(overlapped, 3),
            round(communication, 3), round(free, 3), round(stage, 3), bubble,
            round(communication_not_overlapped_and_exclude_receive, 3),
            round(preparing, 3) FROM StepTraceTime")"
    shows "18903.303 us of step50, which by ops would be 22665.868 us"
}

# The profiler computed on fractions of a ns, of which the database has whole
# ones, and on a start that is up to 22 us away.  Ops are matched by name and
# group, never by time.
@test "tables from event databases equal the profiler's, to their precision" {
    local rank op="o.hccl_op_name=t.hccl_op_name AND
        o.group_name=t.group_name AND o.step=t.step AND o.type=t.type"

    which=event_db
    real_setup $which
    rm job/*/ASCEND_PROFILER_OUTPUT/analysis.db
    analyze
    expect_status 1
    is "source" event_db "$(sql "SELECT DISTINCT source FROM Capture")"
    is "states" "complete" "$(sql "SELECT DISTINCT state FROM Capture")"
    is "ranks and devices" "0 0,1 1" "$(sql "SELECT group_concat(rank || ' ' ||
        device_id) FROM Capture")"
    for rank in 0 1; do
        matched $rank CommAnalyzerTime "$op" "
            abs(o.start_timestamp-t.start_timestamp) <= 22 AND
            abs(o.elapse_time-t.elapse_time) <= 1.5e-6 AND
            abs(o.transit_time-t.transit_time) <= 1.5e-6 AND
            abs(o.wait_time-t.wait_time) <= 1.5e-6 AND
            abs(o.synchronization_time-t.synchronization_time) <= 1.5e-6 AND
            abs(o.idle_time-t.idle_time) <= 1.5e-6"
        matched $rank CommAnalyzerBandwidth "$op AND
            o.transport_type=t.transport_type AND
            o.package_size=t.package_size" "
            o.transit_size=t.transit_size AND o.count=t.count AND
            o.large_packet_ratio=t.large_packet_ratio AND
            abs(o.transit_time-t.transit_time) <= 7e-6 AND
            abs(o.total_duration-t.total_duration) <= 7e-6 AND
            abs(o.bandwidth-t.bandwidth) <= 1.001e-4"
        matched $rank CommAnalyzerMatrix "$op AND o.src_rank=t.src_rank AND
            o.dst_rank=t.dst_rank" "
            o.transit_size=t.transit_size AND o.op_name=t.op_name AND
            o.transport_type=t.transport_type AND
            abs(o.transit_time-t.transit_time) <= 7e-6 AND
            abs(o.bandwidth-t.bandwidth) <=
                iif(o.transport_type='LOCAL', 0.051, 2e-4)"
        matched $rank StepTraceTime "o.step IS t.step" "
            abs(o.computing-t.computing) < 1e-9 AND
            abs(o.communication_not_overlapped -
                t.communication_not_overlapped) < 1e-9 AND
            abs(o.overlapped-t.overlapped) < 1e-9 AND
            abs(o.communication-t.communication) < 1e-9 AND
            abs(o.free-t.free) < 1e-9 AND abs(o.stage-t.stage) < 1e-9 AND
            o.bubble=t.bubble AND abs(o.preparing-t.preparing) < 1e-9 AND
            abs(o.communication_not_overlapped_and_exclude_receive -
                t.communication_not_overlapped_and_exclude_receive) < 1e-9"
        is "order of ops" "$(sql "SELECT hccl_op_name FROM CommAnalyzerTime" \
            "$(own_db $rank)")" "$(sql "SELECT hccl_op_name FROM
            CommAnalyzerTime WHERE rank=$rank")"
    done
    is "sums of operators" 187 "$(sql "SELECT sum(count) FROM OperatorStatistic
        WHERE rank=0")"
    # no two kernels of this job run side by side
    is "kernels" "0 187 0,1 187 0" "$(sql "SELECT group_concat(t) FROM (SELECT
        k.rank || ' ' || sum(count) || ' ' ||
        (abs(sum(total_time) - s.computing) > 1e-6) AS t FROM KernelDetail k
        JOIN StepTraceTime s USING (rank, step, deviceId) GROUP BY k.rank)")"
    is "with counters" 155 "$(sql "SELECT count(aic_metrics) FROM KernelDetail
        WHERE rank=0")"
}

# Rank 5 sleeps 30 ms in each step.
@test "eight ranks of gloo: the one that sleeps is the one waited for" {
    real_setup kineto/gloo8
    analyze
    expect_status 0
    is "late" 5 "$(sql "SELECT late_rank FROM Wait GROUP BY 1 ORDER BY
                        sum(wait_ms) DESC LIMIT 1")"
    is "more than 30 ms in each step" 2 \
        "$(sql "SELECT count(*) FROM (SELECT step FROM Wait WHERE late_rank=5
                GROUP BY step HAVING max(wait_ms) > 30)")"
    # the others wait as unevenly as they are late: that is no noise of it
    is "found" "5|21" "$(sql "SELECT rank, CAST(effect_ms AS INTEGER) FROM
        Finding WHERE kind='late_arriver'")"
}

# They have no rank of their own: the trace's name says whose they are.
@test "memory timelines beside the traces whose names they begin with" {
    real_setup kineto/gloo8
    printf '[[1700000000000000],[[0,1048576]]]' >job/rank0_mem.json
    printf '[[1700000000000000000,2,3145728,4]]' | gzip \
        >job/rank1.raw.json.gz
    echo x >job/rank1_stacks.txt
    analyze
    expect_status 0
    is "peaks" "0 PARAMETER 1.0,1 ACTIVATION 3.0" "$(sql "SELECT
        group_concat(rank || ' ' || component || ' ' || (peak + 0.0)) FROM
        MemoryPeak WHERE component<>'TOTAL'")"
    is "not read" "1 rank1_stacks.txt" \
        "$(sql "SELECT rank || ' ' || path FROM OtherFile")"
}

@test "timelines that torch_npu exported alone: ranks by their names" {
    local out=job/rank0_ascend_pt/ASCEND_PROFILER_OUTPUT

    real_setup text_level1
    mkdir lone
    cp "$out/trace_view.json" lone/rank0.json
    gzip -c "$out/trace_view.json" >lone/rank1.json.gz
    mv job whole
    mv lone job
    analyze
    expect_status 0
    is "states" "2 complete timeline" "$(sql "SELECT count(*), state, source
        FROM Capture GROUP BY 2, 3" | tr '|' ' ')"
    is "computing (us)" "$(sed -n 2p "whole/${out#job/}/step_trace_time.csv" |
        awk -F , '{ printf "%.3f", $2 }')" \
        "$(sql "SELECT DISTINCT printf('%.3f', computing)
                FROM StepTraceTime")"
    is "why it is rank 1" 1 "$(sql "SELECT count(*) FROM Capture WHERE rank=1
        AND reason LIKE '%from the file%'")"
}

# The type of an op is told by its name where a capture does not say it: of
# real ops it must be what the profiler says.
@test "the same text as MindSpore's: types by names are the profiler's" {
    local rank

    which=qwen3_4rank
    real_setup $which
    rm job/*/ASCEND_PROFILER_OUTPUT/analysis.db
    for rank in 0 1; do
        mv "job/rank_${rank}_ascend_pt" "job/rank_${rank}_ascend_ms"
        # p2p and collective change places
        sed -i -E 's/"p2p": ?\{/"x": {/g; s/"collective": ?\{/"p2p": {/g
                   s/"x": \{/"collective": {/g' \
            job/rank_${rank}_ascend_ms/ASCEND_PROFILER_OUTPUT/comm*.json
    done
    analyze
    expect_status 1
    for rank in 0 1; do
        equal $rank CommAnalyzerTime "start_timestamp, rowid"
        # only their order differs, with that of the categories
        equal $rank CommAnalyzerMatrix "type='collective', rowid"
    done
}

# CANN's database has neither steps nor types.
@test "a real analysis.db made into communication_analyzer.db of msprof" {
    local rank prof

    which=qwen3_4rank
    real_setup $which
    for rank in 0 1; do
        prof=job/PROF_00000${rank}_20251127123437386_ABC
        mkdir -p "$prof/analyze" "$prof/device_$rank"
        echo '{"rank_id": -1, "hostUid": "7", "hostname": "real"}' \
            >"$prof/device_$rank/info.json.$rank"
        sqlite3 -batch "$prof/analyze/communication_analyzer.db" "
            ATTACH '$(own_db $rank)' AS own;
            CREATE TABLE CommAnalyzerTime AS SELECT hccl_op_name, group_name,
                start_timestamp, elapse_time, transit_time, wait_time,
                synchronization_time, idle_time FROM own.CommAnalyzerTime;
            CREATE TABLE CommAnalyzerBandwidth AS SELECT hccl_op_name,
                group_name, transport_type, transit_size, transit_time,
                bandwidth, large_packet_ratio, package_size, count,
                total_duration FROM own.CommAnalyzerBandwidth"
    done
    rm -r job/rank*
    analyze
    expect_status 1
    is "ranks" "0,1" "$(sql "SELECT group_concat(rank) FROM Roster
                             WHERE state='partial'")"
    is "host" real "$(sql "SELECT DISTINCT host FROM Capture")"
    is "steps" step "$(sql "SELECT DISTINCT step FROM CommAnalyzerTime")"
    sql "UPDATE CommAnalyzerTime SET step='step13';
         UPDATE CommAnalyzerBandwidth SET step='step13'"
    for rank in 0 1; do
        is "step of rank $rank" step13 "$(sql "SELECT DISTINCT step
            FROM CommAnalyzerTime" "$(own_db $rank)")"
        equal $rank CommAnalyzerTime
        equal $rank CommAnalyzerBandwidth
    done
}

# Captures of several real jobs in one directory: pairs whose evidence is enough,
# and the members of one job.
@test "real captures of two jobs are told apart, those of one are not" {
    local pair real=$ROLLCALL_REAL_CAPTURES

    which=qwen3_4rank
    real_setup $which
    for pair in "qwen3_4rank/rank_0 event_db/rank1" \
        "qwen3_4rank/rank_1 text_level1/rank0" \
        "text_level1/rank0 event_db/rank1" "text_level1/rank0 event_db/rank0" \
        "real2/event_db_2024/rank1 qwen3_4rank/rank_0"; do
        run "$ROLLCALL" analyze --text -o out "$real/${pair% *}_ascend_pt" \
            "$real/${pair#* }_ascend_pt"
        shows "2 jobs here; built the newest"
    done
    for pair in "qwen3_4rank/rank_0 qwen3_4rank/rank_1" \
        "event_db/rank0 event_db/rank1"; do
        run "$ROLLCALL" analyze --text -o out "$real/${pair% *}_ascend_pt" \
            "$real/${pair#* }_ascend_pt"
        [[ "$output" != *"jobs here"* ]] || fail "$output"
    done
    run "$ROLLCALL" analyze --text -o out "$real/kineto"
    shows "3 jobs here; built the newest" "8 of 8 present"
}

# One iteration of MindSpore on CANN of Aug 2023.  Figures: real2/README.md
@test "timelines below a device, of 2023" {
    real_setup real2/mindspore_2023
    analyze
    is "capture" "timeline|complete|0|0" "$(sql "SELECT source, state, rank,
        device_id FROM Capture")"
    is "step" "1|5914.58|41534.3|0|41534.3|113.63|47562.51" "$(sql "SELECT
        step, computing, communication_not_overlapped, overlapped,
        communication, free, stage FROM StepTraceTime")"
    is "bytes, ms" "HCCS|294968576|20.0429;PCIE|98323456|6.8405" "$(sql "
        SELECT group_concat(t, ';') FROM (SELECT DISTINCT transport_type || '|'
        || CAST(round(transit_size * 1e6) AS INTEGER) || '|' ||
        round(transit_time, 4) AS t FROM CommAnalyzerBandwidth WHERE
        transport_type<>'SDMA' ORDER BY 1)")"
    is "on the chip" "28092288|0.10416" "$(sql "SELECT CAST(round(transit_size
        * 1e6) AS INTEGER), transit_time FROM CommAnalyzerMatrix WHERE
        hccl_op_name='allreduce-total' AND transport_type='LOCAL'")"
}
