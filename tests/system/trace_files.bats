#!/usr/bin/env bats
# Captures that are one file, a trace of torch.profiler: delivered, released,
# superseded and given back as directories are

load service_helper

# trace FILE RANK [MARK]: a small one; MARK makes another content of it
trace ()
{
    mkdir -p "${1%/*}"
    cat >"$1" <<JSON
{"schemaVersion": 1, "deviceProperties": [],
 "distributedInfo": {"backend": "nccl", "rank": $2, "world_size": 3},
 "displayTimeUnit": "ms", "baseTimeNanoseconds": 1757664000000000000,
 "traceEvents": [
  {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#7", "pid": 1,
   "tid": 1, "ts": 1000, "dur": 500, "args": {"External id": 1}},
  {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1,
   "tid": 1, "ts": 1010, "dur": 5, "args": {"correlation": 11}},
  {"ph": "X", "cat": "kernel", "name": "gemm${3:-}", "pid": 0, "tid": 7,
   "ts": 1020, "dur": 100,
   "args": {"device": 0, "stream": 7, "correlation": 11}}
 ], "traceName": "t.pt.trace.json"}
JSON
}

traces ()
{
    trace job/rank0.1757664000000000000.pt.trace.json 0
    trace job/deep/rank1.pt.trace.json 1
    trace job/rank2.pt.trace.json.gz 2
    gzip -c job/rank2.pt.trace.json.gz >packed
    mv packed job/rank2.pt.trace.json.gz
}

# N captures came in all, whatever could be read of them
came ()
{
    [ -e "$DB" ] && [ "$(sql "SELECT count(*) FROM Capture
                              WHERE state<>'superseded'" 2>/dev/null)" = "$1" ]
}

names ()
{
    sql "SELECT group_concat(name, ' ') FROM (SELECT name FROM Capture
         WHERE state<>'superseded' ORDER BY name)"
}

@test "traces are delivered under their names, and are those of analyze" {
    traces
    service
    run agent --once --raw job
    expect_status 0
    eventually came 3
    is "captures" "rank0.1757664000000000000.pt.trace.json \
rank1.pt.trace.json rank2.pt.trace.json.gz" "$(names)"
    as_analyzed_or_not
    is "state and reason" \
        "$(sql "SELECT name, state, rank FROM Capture ORDER BY name" \
            ref/cluster_analysis_output/analysis.db)" \
        "$(sql "SELECT name, state, rank FROM Capture ORDER BY name")"
    is "items: rows and one raw file of each" 6 \
        "$(sql "SELECT count(*) FROM item" root/ledger.db)"
    stop_service
}

# analyze ends with 65 as long as it can read none of them
as_analyzed_or_not ()
{
    "$ROLLCALL" analyze -o ref job >ref.log 2>&1 || [ $? -eq 65 ] ||
        fail "$(cat ref.log)"
    same_tables ref/cluster_analysis_output/analysis.db "$DB"
}

@test "archive: a trace comes back byte for byte" {
    traces
    service
    run agent --once --raw job
    expect_status 0
    eventually came 3
    export ROLLCALL_ROOT=$TEST_DIR/root
    run "$ROLLCALL" archive get j rank2.pt.trace.json.gz back
    expect_status 0
    cmp job/rank2.pt.trace.json.gz \
        back/rank2.pt.trace.json.gz/rank2.pt.trace.json.gz
    run "$ROLLCALL" archive verify j
    expect_status 0
    stop_service
}

@test "a run with --raw lays traces down so that analyze finds them again" {
    traces
    cat >work <<'SCRIPT'
#!/bin/sh
cp "$TEST_DIR"/job/rank$RANK* "$TEST_DIR"/job/*/rank$RANK* \
    "$ROLLCALL_CAPTURE_DIR" 2>/dev/null
cp "$TEST_DIR"/job/deep/rank1.pt.trace.json \
    "$ROLLCALL_CAPTURE_DIR"/same.pt.trace.json
echo "$RANK" >>"$ROLLCALL_CAPTURE_DIR"/same.pt.trace.json
SCRIPT
    chmod +x work
    run timeout 200 mpirun -np 3 "$ROLLCALL" run --text -o out --raw \
        --release never -- ./work
    [ -d out/captures ] || fail "$output"
    (cd out/captures && find . -type f ! -name ".rollcall-*" | sort) >laid
    for file in ./rank0.1757664000000000000.pt.trace.json \
        ./rank1.pt.trace.json ./rank2.pt.trace.json.gz; do
        grep -qx "$file" laid || fail "$file is not in: $(cat laid)"
        cmp "out/captures/$file" "$(find job -name "${file#./}")"
    done
    run "$ROLLCALL" analyze -o again out/captures
    DB=again/cluster_analysis_output/analysis.db
    [ "$(sql "SELECT count(*) FROM Capture")" -ge 4 ] || fail "$output"
    ! grep -q '/rank1.pt.trace.json/' laid
}

# ranks_of DB: what is known of captures that say nothing themselves
ranks_of ()
{
    DB=$1 sql "SELECT rank, host, state FROM Capture ORDER BY rank"
}

# A launcher alone knows the ranks of these; nobody knows where the last is.
@test "a run with --raw: analyze and archive add know its ranks and hosts" {
    local root=$TEST_DIR/root

    trace one/t.json 0
    sed -i '/distributedInfo/d' one/t.json
    cat >work <<'SCRIPT'
#!/bin/sh
[ "$RANK" = 3 ] || cp "$TEST_DIR"/one/t.json \
    "$ROLLCALL_CAPTURE_DIR/h_$((99 - RANK)).1757664000000000000.pt.trace.json"
SCRIPT
    chmod +x work
    run timeout 200 mpirun --oversubscribe -np 4 "$ROLLCALL" run --text -o out \
        --raw --job four -- ./work
    expect_status 1
    shows "3 of 4 present"
    is "ranks" 3 "$(ranks_of out/cluster_analysis_output/analysis.db |
        grep -c "^[012]|[^|]\+|complete$")"
    ranks_of out/cluster_analysis_output/analysis.db >known
    run "$ROLLCALL" analyze --text -o again out
    expect_status 1
    shows "3 of 4 present" "missing" "3"
    is "analyze" "$(cat known)" \
        "$(ranks_of again/cluster_analysis_output/analysis.db)"
    run "$ROLLCALL" archive --root "$root" add out
    expect_status 0
    shows "job four"
    run "$ROLLCALL" build --root "$root" --text -o built four
    expect_status 1
    shows "3 of 4 present"
    is "add" "$(cat known)" \
        "$(ranks_of built/cluster_analysis_output/analysis.db)"
    "$ROLLCALL" archive --root "$root" get four back
    run "$ROLLCALL" archive --root other add back
    expect_status 0
    shows "job four"
    run "$ROLLCALL" build --root other --text -o third four
    shows "3 of 4 present"
    is "get and add" "$(cat known)" \
        "$(ranks_of third/cluster_analysis_output/analysis.db)"
    run "$ROLLCALL" archive --root other get four more
    expect_status 0
    is "raw files" "$(find back -type f | sort | sed s/^back//)" \
        "$(find more -type f | sort | sed s/^more//)"
    nothing_runs
}

@test "traces are released when they are delivered, each alone" {
    traces
    echo "not a capture" >job/notes.txt
    service
    watching --raw --release shipped --quiet-period 0.1s job
    released () { [ "$(grep -c event=released agent.log)" = 3 ]; }
    eventually released || fail "$(cat agent.log)"
    is "left" "job/notes.txt" "$(find job -type f)"
    [ -d job/deep ]
    ends_with 0
    eventually came 3
    stop_service
}

@test "--release never, after= and when-full leave a trace where it is" {
    local policy

    trace job/rank0.pt.trace.json 0
    service
    for policy in never after=1h when-full; do
        rm -rf spool
        run agent --once --raw --release "$policy" job
        expect_status 0
        [ -e job/rank0.pt.trace.json ]
    done
    run agent --once --raw --release after=0s job
    stop_service
}

@test "a trace that was written again is superseded, and not released before" {
    trace job/rank0.pt.trace.json 0
    choose_port                     # nobody listens yet
    watching --raw --release shipped --quiet-period 0.1s job
    sealed () { [ "$(grep -c event=sealed agent.log)" -ge "$1" ]; }
    eventually sealed 1
    kill -STOP "$watcher"
    trace job/rank0.pt.trace.json 0 _again
    service
    kill -CONT "$watcher"
    eventually sealed 2
    released () { says agent.log event=released; }
    eventually released || fail "$(cat agent.log)"
    [ ! -e job/rank0.pt.trace.json ]
    one_new ()
    {
        [ -e "$DB" ] &&
            is "captures that count" 1 "$(sql "SELECT count(*) FROM Capture
                WHERE state<>'superseded'")" 2>/dev/null
    }
    eventually one_new
    kill "$watcher"
    wait "$watcher" || true
    export ROLLCALL_ROOT=$TEST_DIR/root
    run "$ROLLCALL" archive get j rank0.pt.trace.json back
    expect_status 0
    grep -q gemm_again back/rank0.pt.trace.json/rank0.pt.trace.json
    stop_service
}

@test "an agent that is killed in the middle of traces: each is there, once" {
    local i

    for ((i = 0; i < 40; i++)); do
        trace "job/$i/rank$i.pt.trace.json" "$i"
        head -c 300000 /dev/zero | tr '\0' ' ' >>"job/$i/rank$i.pt.trace.json"
    done
    service
    watching --raw --quiet-period 0.1s job
    some_sealed () { grep -q event=sealed agent.log; }
    eventually some_sealed
    kill -KILL "$watcher"
    wait "$watcher" || true
    run agent --once --raw job
    expect_status 0
    eventually came 40
    is "items" 80 "$(sql "SELECT count(*) FROM item" root/ledger.db)"
    export ROLLCALL_ROOT=$TEST_DIR/root
    run "$ROLLCALL" archive verify j
    expect_status 0
    stop_service
}

# Needs the build with fault points (preset faults).
# bats test_tags=faults
@test "a release of a trace that is cut short is finished at the next start" {
    grep -q ROLLCALL_FAULT_ONCE "$AGENT" || skip "no fault points in this build"
    local point

    service
    for point in unlink sync; do
        rm -rf spool
        trace "job/$point.pt.trace.json" 0 "$point"
        release_dies_at "$point"
        [ ! -e "job/$point.pt.trace.json" ] || fail "$output"
    done
    stop_service
}
