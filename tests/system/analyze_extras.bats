#!/usr/bin/env bats
# rollcall analyze: what else captures hold

load helper

# rows TABLE [WHERE]
rows ()
{
    sql "SELECT count(*) FROM $1 WHERE ${2:-1}"
}

# awk's sum over one column of all captures' files of that name
sum_of ()
{
    awk -F, -v name="$2" '
        FNR == 1 { for (i = 1; i <= NF; i++) if ($i == name) at = i; next }
        { n += $at } END { printf "%.3f\n", n }' \
        job/*/ASCEND_PROFILER_OUTPUT/"$1"
}

@test "each rank's statistics, memory, metadata and other files" {
    make --extras
    analyze
    expect_status 0
    truth_and_more
    is "states" complete "$(sql "SELECT DISTINCT state FROM Capture")"
    is "operators" "160 $(sum_of op_statistic.csv 'Total Time(us)')" \
        "$(sql "SELECT printf('%d %.3f', count(*), sum(total_time))
                FROM OperatorStatistic")"
    is "APIs" "240 $(sum_of api_statistic.csv 'Time(us)')" \
        "$(sql "SELECT printf('%d %.3f', count(*), sum(total_time))
                FROM ApiStatistic")"
    is "memory" "active 4,allocated 4,module 36,reserved 8,timeline 36" \
        "$(sql "SELECT group_concat(kind || ' ' || n) FROM (SELECT kind,
                count(*) AS n FROM MemoryPeak GROUP BY kind ORDER BY kind)")"
    is "largest" "$(cat job/*/*/memory_record.csv | cut -d, -f4 | sort -g |
        tail -n 1)" "$(sql "SELECT max(peak) FROM MemoryPeak
                            WHERE component='PTA' AND kind='reserved'")"
    is "world" 4,4,4,4 "$(sql "SELECT group_concat(value) FROM CaptureInfo
        WHERE name='distributed_args.world_size'")"
    is "level" Level1 "$(sql "SELECT DISTINCT value FROM CaptureInfo
        WHERE kind='config' AND name='_profiler_level'")"
    is "not read" "ASCEND_PROFILER_OUTPUT/operator_details.csv 4" \
        "$(sql "SELECT path || ' ' || count(*) FROM OtherFile
                WHERE path LIKE '%.csv' GROUP BY path")"
}

# The same where the four tables come from a database beside the text.
@test "analysis.db and the text export: the rest comes from the text" {
    local table

    make --extras --form both
    analyze
    expect_status 0
    truth_and_more
    is "source" analysis.db "$(sql "SELECT DISTINCT source FROM Capture")"
    for table in $EXTRAS; do
        is "ranks with rows of $table" 4 \
            "$(sql "SELECT count(DISTINCT rank) FROM $table")"
    done
}

# Sums are of a whole capture: neither another capture of the rank nor --steps
# takes anything from them.
@test "two captures of a rank: both keep their rows, also with --steps" {
    local table once

    make --extras --repeat 2
    analyze
    expect_status 0
    truth_and_more
    is "steps" 10,11,12,13 \
        "$(sql "SELECT group_concat(DISTINCT step) FROM StepTraceTime")"
    for table in $EXTRAS; do
        is "captures with rows of $table" 8 \
            "$(sql "SELECT count(DISTINCT capture) FROM $table")"
    done
    once=$(for table in $EXTRAS; do rows "$table"; done)
    analyze --steps 11,12
    expect_status 0
    is "steps" 11,12 \
        "$(sql "SELECT group_concat(DISTINCT step) FROM StepTraceTime")"
    is "rows" "$once" "$(for table in $EXTRAS; do rows "$table"; done)"
    is "rows of rank 1 with --steps 11" 2 "$(sql "SELECT
        count(DISTINCT capture) FROM OperatorStatistic WHERE rank=1")"
}

# Everything else of that rank is there, and the file and line are named.
@test "a damaged file makes its capture partial, and loses nothing else" {
    make --extras
    sed -i '5s/,[0-9.]*,/,x,/3' "$(capture_of 1)"/*/op_statistic.csv
    printf '[[1],[[0,1,2' >"$(capture_of 2)"/*/memory_timeline.json
    analyze
    expect_status 1
    truth_and_more
    is "state" partial "$(sql "SELECT state FROM Roster WHERE rank=1")"
    case $(sql "SELECT reason FROM Capture WHERE rank=1") in
    *"op_statistic.csv: line 5: not a number: \"x\" (OperatorStatistic)"*) ;;
    *) fail "reason: $(sql "SELECT reason FROM Capture WHERE rank=1")" ;;
    esac
    case $(sql "SELECT reason FROM Capture WHERE rank=2") in
    *"memory_timeline.json: byte "*"(MemoryPeak)"*) ;;
    *) fail "reason: $(sql "SELECT reason FROM Capture WHERE rank=2")" ;;
    esac
    is "rows before the damage" 3 "$(rows OperatorStatistic rank=1)"
    is "APIs" 60 "$(rows ApiStatistic rank=1)"
    is "memory beside the timeline" 1 \
        "$(rows MemoryPeak "rank=2 AND kind='allocated'")"
}

@test "what looks like a secret is not carried" {
    make
    local more='"HF_TOKEN": "hunter2", "My_Api_Key": "hunter2"'

    more+=', "proxy": "http://me:hunter2@proxy:3128", "test_key1": "shown"'
    sed -i "s|\"HCCL_ALGO\": \"\"|$more|" job/*/profiler_metadata.json
    analyze
    expect_status 0
    is "values" "(not shown) 8" "$(sql "SELECT value || ' ' || count(*) FROM
        CaptureInfo WHERE name IN ('HF_TOKEN', 'My_Api_Key') GROUP BY value")"
    is "by its form" "(not shown)" "$(sql "SELECT DISTINCT value FROM
        CaptureInfo WHERE name='proxy'")"
    is "no secret" shown "$(sql "SELECT DISTINCT value FROM CaptureInfo WHERE
        name='test_key1'")"
    grep -q hunter2 "$(capture_of 1)/profiler_metadata.json"
    ! grep -q hunter2 "$DB"
}
