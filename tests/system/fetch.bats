#!/usr/bin/env bats
# Raw files on demand: what a service wants of them, and what users fetch

load service_helper

made ()                             # [OPTION]...: captures of 4 ranks in job/
{
    "$CAPTURE_MAKER" --quiet --ranks 4 --ops 8 "$@" job
}

# raw_of RANK [JOB]: how many raw files of it the root has
raw_of ()
{
    "$ROLLCALL" archive ls --root root | awk -F '\t' -v rank="$1" \
        -v job="${2:-j}" '$1 == job && $2 == rank && $4 == "raw"' | wc -l
}

raw_are ()                          # N of rank 0, of 1, ... [JOB]
{
    local rank=0 n

    for n in $1; do
        is "raw files of rank $rank" "$n" "$(raw_of "$rank" "${2:-j}")" ||
            return
        rank=$((rank + 1))
    done
}

fetch ()                            # [OPTION]... JOB
{
    run timeout "$LIMIT" "$ROLLCALL" fetch --root root "$@"
}

capture_of_rank ()                  # RANK
{
    local info

    info=$(find job -name "profiler_info_$1.json")
    dirname "$info"
}

# as_it_was RANK: its capture comes back from the root
as_it_was ()
{
    local capture

    capture=$(capture_of_rank "$1")
    rm -rf back
    run "$ROLLCALL" archive get --root root j "$(basename "$capture")" back
    expect_status 0
    diff -r -x '*rollcall[.-]*' "$capture" "back/$(basename "$capture")"
}

connected ()                        # more than N times
{
    [ "$(grep -c event=agent-connected service.log)" -gt "$1" ]
}

# collecting [OPTION]...: an agent of job j that stays
collecting ()
{
    local before

    before=$(grep -c event=agent-connected service.log) || true
    watching --raw --quiet-period 1s "$@" job
    eventually connected "$before"
}

# stop_agent: one that stays may have something that has to be quiet for longer
stop_agent ()
{
    kill "$watcher"
    wait "$watcher" || true
}

delivered ()                        # all rows, by the agent that stays
{
    eventually captures_are 4
}

@test "want-raw all: raw files of every rank come" {
    made
    service
    run agent --once --raw job
    expect_status 0
    raw_are "5 5 5 5"
    # they can be fetched, too, and are there
    collecting
    fetch --rank 2 j
    expect_status 0
    shows "all 5 files are in the root (rollcall archive get j 2 DIR)"
    stop_agent
    stop_service
}

@test "want-raw none: rows of every rank come, and no raw file" {
    made
    service --want-raw none
    run agent --once --raw job
    expect_status 0
    shows "wants raw files on demand only"
    raw_are "0 0 0 0"
    run "$ROLLCALL" fsck agent spool/spool-j
    expect_status 0
    delivered
    # an agent that knows it hashes nothing
    rm -rf job
    made --seed 2
    run agent --once --raw job
    expect_status 0
    shows "items=1"
    ! grep -q "items=6" <<<"$output"
    raw_are "0 0 0 0"
    stop_service
}

@test "want-raw: only all, none and suspects, and only of a service" {
    run "$AGGREGATOR" --root root --want-raw some
    expect_status 2
    shows "use all, none or suspects"
    run "$AGGREGATOR" --root root --job j --out out --want-raw none
    expect_status 2
    shows "for a service"
}

@test "want-raw suspects: a slow rank and a healthy one, before the agent ends" {
    "$CAPTURE_MAKER" --quiet --steady --overlap 60 --ranks 4 --steps 6 \
        --ops 40 --slow-rank 2 job
    service --want-raw suspects
    run agent --once --raw job
    expect_status 0
    is "raw files of the slow rank" 5 "$(raw_of 2)"
    is "raw files" 10 "$("$ROLLCALL" archive ls --root root |
        awk -F '\t' '$4 == "raw"' | wc -l)"
    as_it_was 2
    # nothing is suspected in a job without findings
    rm -rf job
    "$CAPTURE_MAKER" --quiet --steady --overlap 60 --ranks 4 --steps 6 \
        --ops 40 job
    run agent --once --raw --job k job
    expect_status 0
    raw_are "0 0 0 0" k
    stop_service
}

@test "want-raw suspects: of captures that were divided into jobs" {
    "$CAPTURE_MAKER" --quiet --steady --overlap 60 --ranks 4 --steps 6 \
        --ops 40 --slow-rank 1 job
    service --want-raw suspects
    run timeout "$LIMIT" "$AGENT" --state "$TEST_DIR/spool" --once --raw \
        --aggregator "tcp://127.0.0.1:$PORT" job
    expect_status 0
    is "raw files" 10 "$("$ROLLCALL" archive ls --root root |
        awk -F '\t' '$4 == "raw"' | wc -l)"
    stop_service
}

@test "fetch: one file, a pattern, a whole rank" {
    made
    service --want-raw none
    collecting
    delivered
    fetch --rank 1 --file communication.json j
    expect_status 0
    shows "its file is in the root"
    raw_are "0 1 0 0"
    fetch --rank 1 --file '*.csv' --json j
    expect_status 0
    shows '"state":	"came"'
    raw_are "0 2 0 0"
    fetch --rank 1 --rank 3 j
    expect_status 0
    run "$ROLLCALL" archive --root root get j some
    is "what is not there" "10 raw files and 4 shipments in some: some raw files \
of ranks 0, 2 were not delivered: rollcall fetch --rank R j asks for them" \
        "$output"
    raw_are "0 5 0 5"
    as_it_was 1
    fetch --rank 1 --file nothing.json j
    expect_status 1
    shows "it never had such a file"
    fetch --rank 7 j
    expect_status 1
    shows "rank 7      job j has no capture of it"
    fetch --rank 1 nobody
    expect_status 66
    fetch --rank 1 --file ../x j
    expect_status 2
    fetch j
    expect_status 2
    stop_agent
    stop_service
}

@test "fetch: a capture that was removed, and a file that was changed" {
    local capture

    made
    service --want-raw none
    collecting
    delivered
    rm -r "$(capture_of_rank 1)"
    fetch --rank 1 j
    expect_status 1
    shows "it was moved or removed"
    # of another rank one file is not what the rows are of
    capture=$(capture_of_rank 2)
    kill -STOP "$watcher"
    echo more >>"$capture/profiler_metadata.json"
    fetch --rank 2 --wait 0 j
    expect_status 75
    shows "on its way"
    raw_are "0 0 0 0"
    kill -CONT "$watcher"
    stop_agent
    stop_service
}

@test "fetch: its agent may not give raw files" {
    made
    service
    watching --quiet-period 1s job
    delivered
    fetch --rank 1 j
    expect_status 1
    shows "without --raw"
    raw_are "0 0 0 0"
    stop_agent
    stop_service
}

@test "fetch: no agent, no service" {
    made
    service --want-raw none
    run agent --once --raw job
    expect_status 0
    fetch --rank 1 --json j
    expect_status 75
    shows '"state":	"no-agent"'
    fetch --rank 1 j
    expect_status 75
    shows "no agent of host" "is connected: start rollcall-agent there"
    # who comes later delivers what was asked for, also with --once
    run agent --once --raw job
    expect_status 0
    raw_are "0 5 0 0"
    fetch --rank 1 j
    expect_status 0
    stop_service
    # what the root has needs nobody
    fetch --rank 1 --rank 9 j
    expect_status 1
    shows "all 5 files are in the root" "rank 9      job j has no capture of it"
    fetch --rank 1 --json j
    expect_status 0
    shows '"state":	"came"' '"files":	5'
    fetch --rank 1 --rank 0 j
    expect_status 75
    shows "no aggregator serves root, so no agent can be asked: start \
rollcall-aggregator --root root"
}

@test "fetch: the agent is killed before it delivers" {
    made
    service --want-raw none
    collecting
    delivered
    kill -STOP "$watcher"
    fetch --rank 2 --wait 0 j
    expect_status 75
    kill -KILL "$watcher"
    wait "$watcher" || true
    collecting
    fetch --rank 2 --wait 60 j
    expect_status 0
    as_it_was 2
    raw_are "0 0 5 0"
    stop_agent
    stop_service
}

@test "fetch: the aggregator is killed before anything comes" {
    made
    service --want-raw none
    collecting
    delivered
    kill -STOP "$watcher"
    fetch --rank 3 --wait 0 j
    expect_status 75
    kill_service
    service --want-raw none
    kill -CONT "$watcher"
    arrived () { [ "$(raw_of 3)" = 5 ]; }
    eventually arrived
    fetch --rank 3 --wait 60 j
    expect_status 0
    as_it_was 3
    stop_agent
    stop_service
}

@test "fetch: of two jobs only the one that is named" {
    made
    service --want-raw none
    run agent --once --raw job
    expect_status 0
    mkdir other
    "$CAPTURE_MAKER" --quiet --ranks 4 --ops 8 --seed 5 other
    "$AGENT" --state "$TEST_DIR/spool-k" --job k --raw --quiet-period 1s \
        --aggregator "tcp://127.0.0.1:$PORT" other >>other.log 2>&1 3>&- &
    watcher=$!
    built () { [ "$(builds k)" -ge 1 ]; }
    eventually built
    fetch --rank 1 k
    expect_status 0
    raw_are "0 0 0 0" j
    raw_are "0 5 0 0" k
    fetch --rank 1 j
    expect_status 75
    stop_agent
    stop_service
}

@test "what is not wanted holds up no release, and what is wanted does" {
    made
    service --want-raw none
    run agent --once --raw --release shipped job
    expect_status 0
    # raw files that nobody else has: rows alone do not suffice
    is "captures" 4 "$(find job -mindepth 1 -maxdepth 1 | wc -l)"
    rm -rf spool root/wants.json
    fetch --rank 0 --wait 0 j
    expect_status 75
    run agent --once --raw --release shipped --release-rows-only job
    expect_status 0
    raw_are "5 0 0 0"
    is "captures" 0 "$(find job -mindepth 1 -maxdepth 1 | wc -l)"
    # and says where it is
    collecting
    fetch --rank 1 j
    expect_status 1
    shows "it was released"
    stop_agent
    stop_service
}

@test "want-raw suspects: of a run with a service, which ends behind them" {
    cat >slow <<'SCRIPT'
#!/bin/sh
exec "$CAPTURE_MAKER" --quiet --steady --overlap 60 --ranks "$WORLD_SIZE" \
    --steps 6 --ops 40 --slow-rank 2 --only-rank "$RANK" "$ROLLCALL_CAPTURE_DIR"
SCRIPT
    chmod +x slow
    service --want-raw suspects
    run mpirun_run 4 --raw --job j --quiet-period 0.5s \
        --aggregator "tcp://127.0.0.1:$PORT" -- ./slow
    expect_status 0
    is "raw files of the slow rank" 5 "$(raw_of 2)"
    is "raw files" 10 "$("$ROLLCALL" archive ls --root root |
        awk -F '\t' '$4 == "raw"' | wc -l)"
    stop_service
}

@test "fetch: what the root has lost of it comes again" {
    made
    service --want-raw none
    collecting
    delivered
    fetch --rank 1 j
    expect_status 0
    rm root/segments/00000001
    again () { [ "$(grep -c "event=raw-came .* rank=1 " service.log)" = 2 ]; }
    eventually again
    as_it_was 1
    raw_are "0 5 0 0"
    stop_agent
    stop_service
    run "$ROLLCALL" fsck aggregator root
    expect_status 0
}

@test "fetch: a capture that was analysed again" {
    made --layout renamed
    service --want-raw none
    collecting
    delivered
    fetch --rank 1 j
    expect_status 0
    "$CAPTURE_MAKER" --quiet --ranks 4 --ops 12 --layout renamed --seed 7 new
    at_once cp -r new/rank_1_ascend_pt/. job/rank_1_ascend_pt
    newer () { [ "$("$ROLLCALL" archive ls --root root j |
        awk '$2 == 1 && $4 == "rows"' | wc -l)" = 2 ]; }
    eventually newer
    fetch --rank 1 j
    expect_status 0
    shows "all 5 files are in the root"
    as_it_was 1
    stop_agent
    stop_service
}
