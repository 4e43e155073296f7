#!/usr/bin/env bats
# rollcall doctor and rollcall status, and what rollcall run says beforehand

load service_helper

# check NAME: the line of this check in the output
check ()
{
    grep -E "^[a-z]+ +$1 " <<<"$output"
}

@test "doctor says how things are, and 0 without a problem" {
    umask 027
    run "$ROLLCALL" doctor .
    expect_status 0
    shows "is on a local disk" "SQLite" "PR_SET_PDEATHSIG works"
    [[ "$(check umask)" == ok* ]] || fail "$output"
    umask 022
    run "$ROLLCALL" doctor .
    expect_status 0
    [[ "$(check umask)" == warning*"0022: others can read captures"* ]] ||
        fail "$output"
}

@test "doctor wants twenty times the raw data" {
    run "$ROLLCALL" doctor --expect-bytes 1E .
    [[ "$(check room)" == warning* ]] || fail "$output"
    shows "20 times the raw data"
    run "$ROLLCALL" doctor --expect-bytes 1k .
    [[ "$(check room)" == ok* ]] || fail "$output"
}

# A name that was mistyped had room, inodes and a local disk.
@test "doctor says when a directory is not there" {
    run "$ROLLCALL" doctor ./nosuch
    expect_status 0
    [[ "$(check exists)" == warning*"./nosuch does not exist"*"of . was"* ]] ||
        fail "$output"
    run "$ROLLCALL" doctor .
    is "the check" "" "$(check exists)"
}

@test "doctor says when a directory cannot be written" {
    local dir

    mkdir -m 0555 closed
    for dir in closed closed/below; do
        run humbly "$ROLLCALL" doctor "$dir"
        expect_status 1
        [[ "$(check writable)" == problem*"closed cannot be written by user "* ]] ||
            fail "$output"
        shows "Permission denied"
    done
    : >file                         # nobody can, not even root
    run "$ROLLCALL" doctor file
    expect_status 1
    [[ "$(check writable)" == problem*"file is not a directory"* ]] ||
        fail "$output"
    run "$ROLLCALL" doctor /proc
    expect_status 1
    [[ "$(check writable)" == problem*"/proc cannot be written"* ]] ||
        fail "$output"
    mkdir open
    run "$ROLLCALL" doctor open
    expect_status 0
    [[ "$(check writable)" == ok* ]] || fail "$output"
    is "left behind" "" "$(ls -A open)"
}

@test "doctor gives limits with their unit" {
    ulimit -l 64
    run "$ROLLCALL" doctor .
    [[ "$(check memlock)" == warning*" 65536 bytes: too little "* ]] ||
        fail "$output"
}

# A run without it goes on, and says so once: nobody may read that.
@test "doctor says when the library for COMMAND is missing" {
    run "$ROLLCALL" doctor .
    [[ "$(check preload)" == ok*"librollcall_world.so"* ]] || fail "$output"
    mkdir bin
    cp "$ROLLCALL_BIN"/rollcall* bin
    run bin/rollcall doctor .
    expect_status 0
    [[ "$(check preload)" == \
        warning*"librollcall_world.so is not installed beside"*"MPI_Init"* ]] ||
        fail "$output"
}

@test "doctor says who has the port" {
    service
    run "$ROLLCALL" doctor --port "$PORT" .
    expect_status 0
    shows "rollcall-aggregator --listen"
    [[ "$(check port)" == "warning"*"taken by process $service"* ]] ||
        fail "$output"
}

@test "doctor asks an aggregator: that begins no job there" {
    service
    run "$ROLLCALL" doctor --aggregator "tcp://127.0.0.1:$PORT" .
    expect_status 0
    [[ "$(check aggregator)" == ok*"not encrypted" ]] || fail "$output"
    [[ "$(check clock-offset)" == ok*"is "?(-)"0.0"* ]] || fail "$output"
    is "jobs" 0 "$(find root/jobs -mindepth 1 2>/dev/null | wc -l)"
    grep -q event=agent-connected service.log && fail "$(cat service.log)"
    stop_service
    run "$ROLLCALL" doctor --aggregator tcp://192.0.2.1:7 .
    expect_status 1
    [[ "$(check aggregator)" == problem*"there are no keys"* ]] ||
        fail "$output"
}

@test "doctor says what is the matter with keys, at both ends" {
    choose_port
    local keys=(--key keys/node.key --server-key keys/server.pub
                --aggregator "tcp://127.0.0.1:$PORT" --keys keys)

    run "$ROLLCALL" doctor --keys keys .
    [[ "$(check keys)" == ok*"none in keys"* ]] || fail "$output"
    "$ROLLCALL" key new node --dir keys
    run "$ROLLCALL" doctor --keys keys .
    [[ "$(check keys)" == ok*"no server.key"* ]] || fail "$output"
    "$ROLLCALL" key new server --dir keys
    service --keys keys
    run "$ROLLCALL" doctor "${keys[@]}" .
    expect_status 1
    [[ "$(check keys)" == warning*"0 enrolled"* ]] || fail "$output"
    [[ "$(check aggregator)" == problem*"refuses this key"* ]] ||
        fail "$output"
    "$ROLLCALL" key enrol keys/node.pub node --dir keys
    run "$ROLLCALL" doctor "${keys[@]}" .
    expect_status 0
    [[ "$(check keys)" == ok*"1 enrolled"* ]] || fail "$output"
    [[ "$(check aggregator)" == ok*" encrypted" ]] || fail "$output"
    chmod 644 keys/server.key           # others can read the secret
    run "$ROLLCALL" doctor --keys keys .
    expect_status 1
    [[ "$(check keys)" == problem* ]] || fail "$output"
    run "$ROLLCALL" doctor --key keys/node.key .
    expect_status 2
    stop_service
}

@test "a problem gives 1, also as JSON" {
    run "$ROLLCALL" doctor --json .
    expect_status 0
    sqlite3 :memory: "SELECT json_array_length ('$output', '\$.checks') > 10"
    # a state directory that others can write to
    mkdir open
    chmod 777 open
    run "$ROLLCALL" doctor --state open
    expect_status 1
    [[ "$(check state)" == problem* ]] || fail "$output"
}

@test "status shows the daemons, and which of them was killed" {
    export ROLLCALL_ROOT=$TEST_DIR/none ROLLCALL_STATE=$TEST_DIR/none
    make --ranks 1
    run "$ROLLCALL" status
    expect_status 0
    shows "no daemon is running" "--root" "--agents"
    run "$ROLLCALL" status nosuchjob
    expect_status 66
    service
    watching --quiet-period 0.1s job
    eventually captures_are 1
    shown () { run "$ROLLCALL" status .; [[ "$output" == *"$1"* ]]; }
    eventually shown " serving "
    eventually shown " watching "
    # who has told the daemons need not tell it again (one of them may be
    # building anew by now)
    ROLLCALL_ROOT=root ROLLCALL_STATE=spool run "$ROLLCALL" status
    shows "rollcall-aggregator " "rollcall-agent "
    # nor does a directory of runs that cannot be used hide services
    mkdir open
    chmod 777 open
    ROLLCALL_ROOT=root ROLLCALL_STATE=spool run "$ROLLCALL" status --state open
    expect_status 66
    shows "rollcall-aggregator " "rollcall-agent " "only you can"
    delivered () { run "$ROLLCALL" status --json .
                   [[ "$output" == *'"items_entered":'*1* ]]; }
    eventually delivered
    [[ "$output" == *'"clock_offset_ns":'* ]] || fail "$output"
    is "daemons" 2 "$(sqlite3 :memory: \
        "SELECT json_array_length ('${output//\'/\'\'}', '\$.daemons')")"
    kill -KILL "$watcher"
    wait "$watcher" || true
    eventually shown " gone "
    kill "$service"
    wait "$service" || true
    run "$ROLLCALL" status .
    ! [[ "$output" == *aggregator* ]] || fail "$output"
}

# A dead node was one of "agents: 3" in the status, and nowhere in the log.
@test "a service names the agent that fell silent, and no other" {
    make --ranks 1
    service
    run agent --once job            # who ends in order is not missed
    expect_status 0
    watching --state "$PWD/spool2" --job k --quiet-period 0.1s job
    eventually durable spool2       # or the next one would have it to deliver
    kill -KILL "$watcher"
    wait "$watcher" || true
    lost () { run "$ROLLCALL" status root
              [[ "$output" == *"not heard: host $(hostname)"*" since 2"* ]]; }
    eventually lost
    is "events" 1 "$(grep -c event=agent-lost service.log)"
    grep -q "event=agent-lost job=k host=.* last_heard=2" service.log ||
        fail "$(cat service.log)"
    run "$ROLLCALL" status --json root
    is "silent" k "$(sqlite3 :memory: "SELECT json_extract (
        '${output//\'/\'\'}', '\$.daemons[0].status.silent[0].job')")"
    is "agents of that job" 0 "$(sqlite3 :memory: "SELECT value ->> 'agents'
        FROM json_each ('${output//\'/\'\'}', '\$.daemons[0].status.jobs')
        WHERE value ->> 'job'='k'")"
    watching --state "$PWD/spool2" --job k --quiet-period 0.1s job
    heard () { run "$ROLLCALL" status root; [[ "$output" != *"not heard"* ]]; }
    eventually heard
    ends_with 0
    stop_service
}

@test "run warns of too little room, and COMMAND's umask keeps others out" {
    umask 022
    run "$ROLLCALL" run -o out --expect-bytes 1E -- \
        sh -c 'umask >mask; exec ./writer'
    expect_status 0
    shows "warning: host" "20 times the raw data"
    is "umask" 0027 "$(cat mask)"
    umask 077
    run "$ROLLCALL" run -o out -- sh -c 'umask >mask; exec ./writer'
    expect_status 0
    ! [[ "$output" == *warning* ]] || fail "$output"
    is "umask" 0077 "$(cat mask)"
}

@test "a run with --raw releases what it made a place for, nothing else" {
    run "$ROLLCALL" run -o out --raw -w own -- \
        sh -c './writer; mkdir own; cp -r "$ROLLCALL_CAPTURE_DIR"/* own/'
    own=$(find own -name '*_ascend_pt' | wc -l)
    is "captures that the user owns" 1 "$own"
    is "captures of the run" "" \
        "$(find state -path '*/captures/*' -name '*_ascend_pt')"
    [ -n "$(find out/captures -name 'profiler_info*')" ]
    run "$ROLLCALL" run -o out2 --release shipped -- ./writer
    expect_status 2
    run "$ROLLCALL" run -o out3 --raw --release never -- ./writer
    expect_status 0
    [ -n "$(find state -path '*/captures/*' -name '*_ascend_pt')" ]
}
