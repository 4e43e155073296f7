#!/usr/bin/env bats
# cluster_analysis.db: what MindStudio Insight takes for granted holds, on
# captures that are made and on real ones, and what breaks it would be found

load helper
load cluster_rules

CLUSTER=out/cluster_analysis_output/cluster_analysis.db

rules_hold ()
{
    [ ${#RULES[@]} -gt 20 ] || fail "there are no rules" || return
    is "broken rules" "" "$(broken_rules "$CLUSTER")"
}

cluster ()
{
    sql "$1" "$CLUSTER"
}

# near WHAT QUERY: both columns of each row are equal but for rounding
near ()
{
    is "$1" 0 "$(cluster "SELECT count(*) FROM ($2)
        WHERE abs(a-b) > 1e-9*max(1, abs(a)) OR (a IS NULL)<>(b IS NULL)")"
}

@test "all rules hold, whatever form the captures have" {
    local form

    for form in text db both timeline kernels; do
        make --ranks 8 --ops 20 --form $form
        analyze                     # kernels do not tell of links: status 1
        shows "$CLUSTER"
        rules_hold
    done
    for form in 2023 2024 2025; do
        make --ranks 4 --age $form
        analyze
        expect_status 0
        rules_hold
    done
}

@test "all rules hold with Level0, without ranks, with two captures a rank" {
    make --level 0
    analyze
    rules_hold
    make --ranks 1 --no-rank
    analyze
    rules_hold
    make --repeat 2
    analyze
    rules_hold
}

@test "a transport that viewers do not know is NULL" {
    make
    sed -i 's/"HCCS"/"NVLINK"/' job/*/ASCEND_PROFILER_OUTPUT/*matrix.json
    analyze
    is "in analysis.db" 1 "$(sql "SELECT count(*) > 0 FROM CommAnalyzerMatrix
        WHERE transport_type = 'NVLINK'")"
    rules_hold
}

# The names that a viewer takes are the same on both sides of a join, and the
# text files are still JSON and CSV.
@test "all rules hold with steps that have names" {
    local db table

    make --ranks 4 --ops 20 --form db
    for db in job/*/ASCEND_PROFILER_OUTPUT/analysis.db; do
        sqlite3 "$db" "UPDATE StepTraceTime SET
            step=iif(step='10', 'warm up; a', 'a|b,c')"
        for table in Time Bandwidth Matrix; do
            sqlite3 "$db" "UPDATE CommAnalyzer$table SET
                step=iif(step='step10', 'warm up; a', 'stepa|b,c')"
        done
    done
    analyze --only text
    expect_status 0
    rules_hold
    is "steps" "2 2" "$(cluster "SELECT (SELECT count(DISTINCT step) FROM
        ClusterStepTraceTime) || ' ' || (SELECT count(DISTINCT step) FROM
        ClusterCommunicationTime)")"
    is "steps of the CSV" "$(cluster "SELECT group_concat(step, ' ') FROM
        ClusterStepTraceTime")" "$(sqlite3 :memory: ".import --csv \
        out/cluster_analysis_output/cluster_step_trace_time.csv t" \
        "SELECT group_concat(Step, ' ') FROM t")"
}

# breaks RULE SQL: that rule is found broken, and no other is needed for it
breaks ()
{
    cp "$CLUSTER" broken.db
    sqlite3 broken.db "PRAGMA writable_schema=ON; $2"
    [[ $'\n'"$(broken_rules broken.db 2>/dev/null)"$'\n' == \
        *$'\n'"$1"$'\n'* ]] ||
        fail "$1 was not found broken by: $2" || return
    breakable+=" $1"
}

# again TABLE COLUMNS: with columns of other types, as a wrong tool writes them
again ()
{
    echo "CREATE TABLE copy AS SELECT * FROM $1; DROP TABLE $1;
          CREATE TABLE $1 ($2); INSERT INTO $1 SELECT * FROM copy"
}

@test "each rule is found broken where it is" {
    local t=ClusterCommunicationTime b=ClusterCommunicationBandwidth
    local m=ClusterCommunicationMatrix g=CommunicationGroupMapping breakable=""
    local s=ClusterStepTraceTime total="hccl_op_name='Total Op Info'" rule

    make --ranks 8 --ops 20
    analyze
    rules_hold
    breaks steps-columns "ALTER TABLE $s RENAME preparing TO prepared"
    breaks time-columns "ALTER TABLE $t RENAME elapsed_time TO elapse_time"
    breaks bandwidth-columns "ALTER TABLE $b RENAME band_type TO transport_type"
    breaks matrix-columns "ALTER TABLE $m RENAME src_rank TO src"
    breaks mapping-columns "ALTER TABLE $g DROP COLUMN pg_name"
    breaks steps-as-text "$(again $s "step INTEGER, type, 'index', computing,
        n, o, c, free, stage, bubble, x, preparing, dp, pp, tp")"
    breaks step-spelling "UPDATE $m SET step=substr(step, 5)"
    breaks one-group-a-name "INSERT INTO $g SELECT 'p2p', rank_set, group_name,
        group_id, 'other' FROM $g LIMIT 1"
    breaks one-group-a-list-entry "INSERT INTO $g SELECT type, rank_set,
        group_name || 'x', group_id, pg_name FROM $g LIMIT 1"
    breaks groups-mapped "DELETE FROM $g WHERE rowid=3"
    breaks mapping-type "UPDATE $g SET type='mixed' WHERE rowid=2"
    breaks rank-set-spelling "UPDATE $g SET rank_set='(1, 0)' WHERE rowid=1"
    breaks rank-set-spelling "UPDATE $g SET rank_set='(1,0)' WHERE rowid=1"
    breaks one-total-in-time "DELETE FROM $t WHERE rowid=
        (SELECT max(rowid) FROM $t WHERE $total)"
    breaks one-total-in-time "INSERT INTO $t SELECT * FROM $t WHERE $total
        LIMIT 1"
    breaks total-in-bandwidth "DELETE FROM $b WHERE rowid=
        (SELECT max(rowid) FROM $b WHERE $total)"
    breaks total-in-matrix "DELETE FROM $m WHERE rowid=
        (SELECT max(rowid) FROM $m WHERE $total)"
    breaks ranks-are-integers "UPDATE $t SET rank_id='rank0' WHERE rank_id=0"
    breaks ops-of-one-name "UPDATE $t SET hccl_op_name='other' WHERE rowid=
        (SELECT max(t.rowid) FROM $t t JOIN $g USING (group_name)
         WHERE type='collective' AND NOT $total)"
    breaks known-bands "UPDATE $b SET band_type='NVLINK' WHERE rowid=5"
    breaks known-transports "UPDATE $m SET transport_type='NVLINK'
        WHERE rowid=5"
    breaks names-allowed "UPDATE $t SET hccl_op_name='a;b' WHERE rowid=1"
    breaks names-allowed "UPDATE $t SET hccl_op_name='a''b' WHERE rowid=1"
    breaks names-allowed "UPDATE $t SET hccl_op_name='a' || char(7)
        WHERE rowid=1"
    breaks names-allowed "UPDATE $g SET pg_name=printf('%501d', 0)
        WHERE rowid=1"
    breaks names-allowed "UPDATE $s SET step='a;b' WHERE rowid=1"
    breaks names-allowed "UPDATE HostInfo SET hostName='a;b'"
    breaks names-allowed "UPDATE RankDeviceMap SET profilePath='a;b'"
    breaks hosts-columns "ALTER TABLE HostInfo RENAME hostUid TO uid"
    breaks devices-columns "ALTER TABLE RankDeviceMap RENAME rankId TO rank"
    breaks hosts-known "DELETE FROM HostInfo WHERE rowid=1"
    breaks one-row-a-step "INSERT INTO $s SELECT * FROM $s LIMIT 1"
    breaks ranks-fit "UPDATE $s SET \"index\"='4294967296' WHERE rowid=1"
    breaks links-within-groups "UPDATE $m SET dst_rank=dst_rank+100
        WHERE rowid=1"
    breaks base-info-whole "UPDATE ClusterBaseInfo
        SET value=json_remove(value, '$.world_size')"
    breaks fresh "PRAGMA user_version=2026010100"
    breaks fresh "CREATE TABLE status_info (x)"
    breaks indexes "DROP INDEX ${t}_op"
    for rule in "${!RULES[@]}"; do
        [[ "$breakable " == *" $rule "* ]] || fail "$rule was never broken"
    done
}

@test "totals are the sums of the ops, of each op's traffic once" {
    make --ranks 8 --ops 40
    analyze
    near "times" "SELECT sum(CASE WHEN n='Total Op Info' THEN v END) AS a,
        sum(CASE WHEN n<>'Total Op Info' THEN v END) AS b FROM
        (SELECT step, rank_id, group_name, hccl_op_name AS n, elapsed_time +
         10*transit_time + 100*wait_time + 1000*synchronization_time +
         10000*idle_time AS v FROM ClusterCommunicationTime)
        GROUP BY step, rank_id, group_name"
    near "sizes" "SELECT t.transit_size AS a, (SELECT sum(mb) FROM
        (SELECT DISTINCT hccl_op_name, transit_size AS mb FROM
         ClusterCommunicationBandwidth o WHERE o.step=t.step AND
         o.rank_id=t.rank_id AND o.group_name=t.group_name AND
         o.band_type=t.band_type AND o.hccl_op_name<>'Total Op Info')) AS b
        FROM ClusterCommunicationBandwidth t
        WHERE hccl_op_name='Total Op Info'"
    near "packets" "SELECT sum(CASE WHEN t THEN v END) AS a,
        sum(CASE WHEN t THEN 0 ELSE v END) AS b FROM
        (SELECT *, hccl_op_name='Total Op Info' AS t,
         1000*count + total_duration AS v FROM ClusterCommunicationBandwidth)
        GROUP BY step, rank_id, group_name, band_type, package_size"
    near "links" "SELECT sum(CASE WHEN n='Total Op Info' THEN v END) AS a,
        sum(CASE WHEN n<>'Total Op Info' THEN v END) AS b FROM
        (SELECT *, hccl_op_name AS n, transit_size + 1000*transit_time AS v
         FROM ClusterCommunicationMatrix WHERE n='Total Op Info' OR
         n LIKE '%-total') GROUP BY step, group_name, src_rank, dst_rank"
}

# no_rows_differ OURS THEIRS: queries on the two databases that must be alike
no_rows_differ ()
{
    is "rows of one only" 0 "$(sqlite3 -batch "$CLUSTER" "
        ATTACH '$DB' AS a; SELECT count(*) FROM
        (SELECT * FROM ($1 EXCEPT $2) UNION ALL
         SELECT * FROM ($2 EXCEPT $1))")"
}

@test "ops are those of analysis.db, and links are between global ranks" {
    make --ranks 8 --ops 20
    analyze
    no_rows_differ "SELECT step, rank_id, hccl_op_name, group_name,
        start_timestamp, elapsed_time, transit_time, wait_time,
        synchronization_time, idle_time FROM ClusterCommunicationTime
        WHERE hccl_op_name<>'Total Op Info'" "SELECT step, rank, hccl_op_name,
        group_name, start_timestamp, elapse_time, transit_time, wait_time,
        synchronization_time, idle_time FROM a.CommAnalyzerTime"
    no_rows_differ "SELECT step, rank_id, hccl_op_name, group_name, band_type,
        transit_size, package_size, count, total_duration
        FROM ClusterCommunicationBandwidth
        WHERE hccl_op_name<>'Total Op Info'" "SELECT step, rank, hccl_op_name,
        group_name, transport_type, transit_size, package_size, count,
        total_duration FROM a.CommAnalyzerBandwidth"
    no_rows_differ "SELECT step, hccl_op_name, m.group_name, src_rank, dst_rank,
        transport_type, op_name, transit_size, transit_time
        FROM ClusterCommunicationMatrix m
        WHERE hccl_op_name<>'Total Op Info'" "SELECT x.step, hccl_op_name,
        x.group_name, x.rank, d.rank, transport_type, op_name, transit_size,
        transit_time FROM a.CommAnalyzerMatrix x
        JOIN a.CommGroup g ON g.group_name=x.group_name
        JOIN a.CommGroupMember s ON s.comm_group=g.id AND s.rank=x.rank
        JOIN a.CommGroupMember d ON d.comm_group=g.id AND
        d.group_rank=CAST(x.dst_rank AS INTEGER)"
}

# Its place in its groups is known: what others sent to it is not lost.
@test "links to a rank that is missing are there, of stages what is left" {
    make --ranks 8 --ops 20
    analyze
    cluster "SELECT DISTINCT group_name, src_rank, dst_rank FROM
        ClusterCommunicationMatrix WHERE src_rank<>5 ORDER BY 1, 2, 3" >whole
    make --ranks 8 --ops 20 --skip-ranks 5
    analyze
    expect_status 1
    rules_hold
    cluster "SELECT DISTINCT group_name, src_rank, dst_rank FROM
        ClusterCommunicationMatrix ORDER BY 1, 2, 3" >missing
    cmp whole missing
    [ "$(cluster "SELECT count(*) FROM ClusterCommunicationMatrix
                  WHERE dst_rank=5")" -gt 0 ]
    is "stages" "(0,1,2,3)|(4,5,6,7)" "$(cluster "SELECT group_concat(\"index\",
        '|') FROM (SELECT DISTINCT \"index\" FROM ClusterStepTraceTime
        WHERE type='stage' ORDER BY 1)")"
}

@test "a stage is as long as its slowest rank, ranks have their indexes" {
    make --ranks 8 --ops 20 --slow-rank 6
    analyze
    near "stages" "SELECT s.computing AS a, (SELECT max(computing) FROM
        ClusterStepTraceTime r WHERE r.type='rank' AND r.step=s.step AND
        instr(s.\"index\", r.\"index\") > 0) AS b
        FROM ClusterStepTraceTime s WHERE type='stage'"
    is "stages" 4 "$(cluster "SELECT count(*) FROM ClusterStepTraceTime WHERE
        type='stage' AND dp_index || pp_index || tp_index='NANANA'")"
    # tensor 2, data 2, pipeline 2
    is "indexes" "000 001 100 101 010 011 110 111" "$(cluster "SELECT
        group_concat(dp_index || pp_index || tp_index, ' ')
        FROM ClusterStepTraceTime WHERE type='rank' AND step='10'")"
}

@test "the same for any number of threads" {
    local j

    make --ranks 8 --ops 20
    for j in 1 2 3 7; do
        analyze -j $j
        sqlite3 "$CLUSTER" .dump >"dump$j"
        cmp dump1 "dump$j"
    done
}

@test "--only leaves it out, and another tool's file is kept" {
    make
    analyze --only analysis.db
    expect_status 0
    [ ! -e "$CLUSTER" ]
    sql "CREATE TABLE precious (x)" "$CLUSTER"
    analyze --only cluster_analysis.db
    expect_status 0
    shows "cluster_analysis.db.before-rollcall (it was there before)"
    rules_hold
    is "kept" precious "$(sql "SELECT name FROM sqlite_schema" \
        "$CLUSTER.before-rollcall")"
    analyze
    is "files" 4 "$(find out/cluster_analysis_output -type f | wc -l)"
    analyze --only analysis.db,cluster.db
    expect_status 2
    shows "\"cluster.db\" is not a result"
}

TEXTS="cluster_communication.json cluster_communication_matrix.json"
TEXTS+=" cluster_step_trace_time.csv communication_group.json"

# json FILE PATH...: what jq would give
json ()
{
    sqlite3 :memory: "SELECT json_extract(readfile(
        'out/cluster_analysis_output/$1'), '$2')"
}

@test "text files are made when they are named, and say the same" {
    local file set step op

    make --ranks 8 --ops 20
    analyze
    is "files" "$RESULTS" "$(ls -A out/cluster_analysis_output)"
    analyze --only text
    expect_status 0
    for file in $TEXTS; do
        shows "out/cluster_analysis_output/$file"
        [ "${file##*.}" = csv ] || is "$file is JSON" 1 "$(sqlite3 :memory: \
            "SELECT json_valid(readfile('out/cluster_analysis_output/$file'))")"
    done
    cp -r out first
    analyze --only text
    diff -r -x "*.db" first out || fail "not the same again" || return
    is "files" 7 "$(find out/cluster_analysis_output -type f | wc -l)"
    is "groups" "$(cluster "SELECT count(*) FROM CommunicationGroupMapping")" \
        "$(sqlite3 :memory: "SELECT json_array_length(readfile(
           'out/cluster_analysis_output/communication_group.json'),
           '$.comm_group_parallel_info')")"
    for op in "hccl_op_name='Total Op Info'" "hccl_op_name LIKE 'hcom%'"; do
        IFS='|' read -r set step op <<<"$(cluster "SELECT replace(rank_set, ',',
            ', '), step, hccl_op_name || '@' || group_name || '\".\"' || rank_id
            FROM ClusterCommunicationTime JOIN CommunicationGroupMapping
            USING (group_name) WHERE $op LIMIT 1")"
        is "elapse of $op" "$(cluster "SELECT elapsed_time FROM
            ClusterCommunicationTime WHERE step='$step' AND hccl_op_name || '@'
            || group_name || '\".\"' || rank_id='$op'")" "$(json \
            cluster_communication.json "\$.\"$set\".$step.\"$op\".\"\
Communication Time Info\".\"Elapse Time(ms)\"")"
    done
    is "steps" "$(cluster "SELECT count(*) + 1 FROM ClusterStepTraceTime")" \
        "$(awk 'END { print NR }' out/cluster_analysis_output/*.csv)"
    is "links" "$(cluster "SELECT count(*) FROM ClusterCommunicationMatrix")" \
        "$(grep -o '"Transport Type"' \
           out/cluster_analysis_output/cluster_communication_matrix.json |
           wc -l)"
}

@test "text files of another tool are kept" {
    local file

    make
    mkdir -p out/cluster_analysis_output
    for file in $TEXTS; do
        printf '{"theirs": 1}\n' >"out/cluster_analysis_output/$file"
    done
    analyze --only text
    expect_status 0
    for file in $TEXTS; do
        is "kept $file" '{"theirs": 1}' \
            "$(cat "out/cluster_analysis_output/$file.before-rollcall")"
    done
}

# To open it would mean to wait until somebody else does.
@test "a pipe where a result goes is no result, and is kept" {
    local file

    make
    for file in analysis.db cluster_analysis.db communication_group.json; do
        rm -rf out
        mkdir -p out/cluster_analysis_output
        mkfifo "out/cluster_analysis_output/$file"
        timeout 120 "$ROLLCALL" analyze -q --only text -o out job
        [ -p "out/cluster_analysis_output/$file.before-rollcall" ]
        [ -s "out/cluster_analysis_output/$file" ]
    done
}

# Each real job that is at hand, of any source.
@test "all rules hold for captures of real jobs" {
    local job n=0

    [ -n "${ROLLCALL_REAL_CAPTURES:-}" ] ||
        skip "ROLLCALL_REAL_CAPTURES is unset: nothing real was tested"
    for job in "$ROLLCALL_REAL_CAPTURES"/*/ "$ROLLCALL_REAL_CAPTURES"/*/*/; do
        rm -rf out
        "$ROLLCALL" analyze -q -o out "$job" 2>err || [ $? -eq 1 ] || continue
        rules_hold || fail "of $job" || return
        n=$((n + 1))
    done
    [ "$n" -gt 0 ]
}
