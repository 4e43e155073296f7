#!/usr/bin/env bats
# What is planted in a job is found, named and sized; and nothing else is

load helper

# healthy [OPTION]...: a job in which nothing is wrong but what is planted
healthy ()
{
    make --steady --overlap 60 --ranks 16 --steps 6 --ops 40 "$@"
    analyze --only analysis.db
}

findings ()                         # kinds that are not mere notes
{
    sql "SELECT group_concat(kind) FROM (SELECT DISTINCT kind FROM Finding
         WHERE severity<>'note' OR kind='clock' ORDER BY kind)"
}

# sized KIND: within 10 % of the truth, which has a row for each rank
sized ()
{
    local planted found

    planted=$(sql "SELECT abs(avg(effect_ms)) || ' ' || avg(effect_percent)
                   FROM Planted WHERE kind='$1'" truth.db)
    found=$(sql "SELECT effect_ms || ' ' || ifnull(effect_percent, 0)
                 FROM Finding WHERE kind='$1'")
    awk -v planted="$planted" -v found="$found" -v kind="$1" 'BEGIN {
        n = split (planted, p, " ")
        if (split (found, f, " ") != n || p[1] == 0)
            exit 1
        for (i = 1; i <= n; i++)
            if (!(kind == "clock" && i == 2) &&
                (f[i] < 0.9 * p[i] || f[i] > 1.1 * p[i]))
                exit 1
    }' || fail "$1: planted $planted, found $found"
}

# notes_of RANKS: others are nobody's fault
notes_of ()
{
    is "ranks with notes that were not planted" "" \
        "$(sql "SELECT group_concat(rank) FROM Finding WHERE severity='note'
                AND kind='late_arriver' AND rank NOT IN ($1)")"
}

# queries_run: each of them, in any SQLite
queries_run ()
{
    local query n=0

    while IFS= read -r query; do
        sql "$query" >rows || fail "$query" || return
        [ -s rows ] || fail "no rows: $query" || return
        n=$((n + 1))
    done < <(sql "SELECT query FROM Finding")
    [ "$n" -gt 0 ]
}

# planted KIND COLUMNS VALUES: the only kind, so large, with a query that runs
planted ()
{
    is "kinds" "$1" "$(findings)" || return
    is "$1" "$3" "$(sql "SELECT $2 FROM Finding WHERE kind='$1'")" || return
    sized "$1" && queries_run
}

@test "a healthy job" {
    healthy
    is "findings" 0 "$(sql "SELECT count(*) FROM Finding")"
    run "$ROLLCALL" findings out
    expect_status 0
    shows "nothing stands out"
}

@test "a slow rank, and that others wait for it" {
    healthy --slow-rank 5
    planted slow_rank "rank, step IS NULL" "5|1"
    notes_of 5
    is "who is late" "5|This follows from finding 1." "$(sql "SELECT rank,
        substr(text, -29) FROM Finding WHERE kind='late_arriver'" |
        sed 's/|./|/; s/|  */|/')"
}

@test "a slow rank of two, and of a stage of two" {
    healthy --ranks 2 --slow-rank 1
    planted slow_rank "rank, step IS NULL" "1|1"
    healthy --ranks 4 --slow-rank 2
    planted slow_rank "rank, step IS NULL" "2|1"
}

@test "a slow link" {
    healthy
    sql "SELECT rank, step, computing FROM StepTraceTime" >computing
    healthy --slow-link 2-3
    # nobody computes more for it: its ranks would look slow, too
    sql "SELECT rank, step, computing FROM StepTraceTime" | cmp computing -
    planted slow_link "rank, peer" "2|3"
    notes_of "2, 3"
}

@test "a slow node, of two and of four" {
    healthy --slow-node 1
    planted slow_host "rank, instr(text, 'host node1 ')>0" "8|1"
    healthy --ranks 32 --slow-node 2
    planted slow_host "rank, instr(text, 'host node2 ')>0" "16|1"
}

@test "steps that are late from one on" {
    healthy --late-step 13
    planted late_steps "step, rank IS NULL" "13|1"
    notes_of ""
}

@test "a clock that is off" {
    healthy --skew 4:50
    planted clock "rank" "4"
    notes_of ""
    healthy --skew 9:-3
    planted clock "rank, round(value, 1)" "9|-3.0"
}

@test "small packets" {
    healthy --small-packets
    planted small_packets "value>90" 1
}

@test "poor overlap" {
    healthy --overlap 10
    planted poor_overlap "rank IS NULL" 1
}

@test "bubbles in a pipeline" {
    healthy --bubble 10
    planted pipeline_bubble "rank IS NOT NULL" 1
}

@test "a rank that its host leaves idle" {
    healthy --idle-rank 6
    planted free_time "rank, instr(text, 'launches too late')>0" "6|1"
    notes_of 6
}

@test "two things at once" {
    healthy --slow-rank 5 --slow-link 9-10 --skew 3:20
    is "kinds" "clock,slow_link,slow_rank" "$(findings)"
    sized slow_rank
    sized clock
    queries_run
}

@test "ranks that are missing, and what that means" {
    healthy --skip-ranks 3,7 --slow-rank 5
    expect_status 1
    is "kinds" "missing_ranks,slow_rank" "$(findings)"
    sized slow_rank
    is "text" 1 "$(sql "SELECT text LIKE '2 of 16 ranks (3, 7) are %. 6 of 21 groups%'
                        FROM Finding WHERE kind='missing_ranks'")"
    queries_run
    run "$ROLLCALL" findings out
    is "told first" "high missing_ranks" \
        "$(head -n 1 <<<"$output" | awk '{ print $1, $2 }')"
}

@test "the same for any number of threads, and from any form" {
    healthy --slow-rank 5 --form both
    sql "SELECT * FROM Finding" >one
    analyze -j 1
    sql "SELECT * FROM Finding" >two
    cmp one two
}

@test "findings: text, JSON, thresholds, and what it is asked about" {
    healthy --slow-rank 5
    run "$ROLLCALL" findings out
    expect_status 1
    shows "high    slow_rank" "Rank 5 computes longer" "next   Compare" \
        "query  SELECT"
    run "$ROLLCALL" findings --json "$DB"
    expect_status 1
    shows '"kind":	"slow_rank"' '"rank":	5' '"effect_ms":' '"query":'
    cksum "$DB" >before
    # one that nobody reaches, found anew: notes have no cause any more
    run "$ROLLCALL" findings --threshold slow_rank_percent=60 \
        --threshold late_arriver_percent=60 out
    expect_status 0
    run "$ROLLCALL" findings --threshold slow_rank_percent=4 out
    expect_status 1
    shows "Rank 5 computes longer"
    cksum "$DB" | cmp before -
    (cd out && "$ROLLCALL" findings >/dev/null) || [ $? -eq 1 ]
    run "$ROLLCALL" findings out job
    expect_status 2
    run "$ROLLCALL" findings --threshold slow=1 out
    expect_status 2
    run "$ROLLCALL" findings --threshold sigmas=-1 out
    expect_status 2
    run "$ROLLCALL" findings --root . nobody
    expect_status 66
    run "$ROLLCALL" findings job
    expect_status 66
    run "$ROLLCALL" findings truth.db
    expect_status 65
    # what a threshold changes is stored by analyze
    analyze --threshold slow_rank_percent=60
    is "kinds" 0 "$(sql "SELECT count(*) FROM Finding
                         WHERE kind='slow_rank'")"
    sqlite3 "$DB" "PRAGMA user_version=2"
    run "$ROLLCALL" findings out
    expect_status 65
    shows "another version of rollcall"
}

@test "an aggregator's job" {
    make --slow-rank 2
    analyze
    mkdir -p root/jobs/j1
    mv out/cluster_analysis_output root/jobs/j1
    run "$ROLLCALL" findings --root root j1
    expect_status 1
}

@test "roll-ups: by host, kind, switch, step and pair" {
    make --ranks 32 --ranks-per-host 8 --slow-node 2 --steady
    printf '%s\n' '# host,switch,rack' 'node0, s0, r0' 'node1,s0,r0' \
        'node2,s1,r1' '' 'node3,s1' >topology
    analyze --topology topology
    expect_status 0
    is "the slowest host" node2 "$(sql "SELECT host FROM HostStep
                                        ORDER BY computing DESC LIMIT 1")"
    is "the slowest switch" "s1|r1|8" "$(sql "SELECT switch, rack, ranks FROM
        SwitchStep ORDER BY computing DESC LIMIT 1")"
    is "kinds" "dp,pp,tp,world" "$(sql "SELECT group_concat(kind) FROM
        (SELECT DISTINCT kind FROM KindStep ORDER BY kind)")"
    is "all ops" "$(sql "SELECT count(*) FROM CommAnalyzerTime")" \
        "$(sql "SELECT sum(ops) FROM GroupTime")"
    is "steps" "10,11" "$(sql "SELECT group_concat(step) FROM StepTrend")"
    is "data of links that are not local" 0 "$(sql "SELECT abs((SELECT
        sum(transit_size) FROM Link) - (SELECT sum(transit_size) FROM
        CommAnalyzerMatrix WHERE hccl_op_name LIKE '%-total' AND
        src_rank<>dst_rank)) > 0.001")"
    is "pairs" "$(sql "SELECT count(*) FROM (SELECT DISTINCT src_rank, dst_rank,
        transport_type FROM Link WHERE type='p2p')")" \
        "$(sql "SELECT count(*) FROM P2PPair")"
    is "blame" 1 "$(sql "SELECT abs((SELECT sum(wait_ms) FROM Blame) -
                         (SELECT sum(wait_ms) FROM Wait)) < 0.001")"
    is "switches of links" 1 "$(sql "SELECT count(*)>0 FROM SwitchLink WHERE
        src_switch='s0' AND dst_switch='s1' AND transport_type='RDMA'")"
    printf 'node0\n' >topology
    analyze --topology topology
    expect_status 65
    shows "line 1"
    printf '# host,switch\n' >topology
    analyze --topology topology
    expect_status 65
    shows "names no host"
    analyze --topology nowhere
    expect_status 66
}

# Nothing was said, and SwitchStep had one row of NULL.
@test "hosts that the topology does not name are named" {
    make --ranks 6 --ranks-per-host 1
    printf 'node1,s0\nnode4,s0\nother,s1\n' >topology
    analyze --topology topology
    expect_status 0
    shows "note: the topology does not name 4 of 6 hosts: node0, node2, node3,"
    [[ "$output" != *"..."* ]]
    printf 'node0.example,s0\n' >topology
    run "$ROLLCALL" analyze --json -o out --topology topology job
    expect_status 0
    shows "the topology names none of the hosts" \
        "node0, node1, node2, node3, ...\""
    printf 'node%s,s0\n' 0 1 2 3 4 5 >topology
    analyze --topology topology
    [[ "$output" != *"note: the topology"* ]]
    analyze
    [[ "$output" != *"note: the topology"* ]]
}

# One in a hundred; there are fewer jobs with a sanitizer.
@test "false alarms over 100 healthy jobs: one at most" {
    local seed alarms=0 shape
    local shapes=("--ranks 8 --steps 4 --ops 20" "--ranks 4 --steps 3 --ops 16"
                  "--ranks 16 --steps 5 --ops 24"
                  "--ranks 8 --ranks-per-host 4 --steps 6 --ops 12"
                  "--ranks 2 --steps 3 --ops 16")

    for seed in $(seq "$HEALTHY_JOBS"); do
        shape=${shapes[seed % ${#shapes[@]}]}
        rm -rf job out
        # shellcheck disable=SC2086     # words
        "$CAPTURE_MAKER" --quiet --steady --overlap 60 --seed "$seed" $shape job
        "$ROLLCALL" analyze -q -j 1 --only analysis.db -o out job
        if [ "$(sql "SELECT count(*) FROM Finding")" -gt 0 ]; then
            alarms=$((alarms + 1))
            sql "SELECT $seed, kind, text FROM Finding" >&2
        fi
    done
    [ "$alarms" -le 1 ]
}
