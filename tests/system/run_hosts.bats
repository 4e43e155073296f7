#!/usr/bin/env bats
# rollcall run over several hosts (network namespaces)

load run_helper
load hosts

teardown ()
{
    kill_all
    hosts_down
}

@test "3 hosts with 2 ranks each: one agent per host, one result" {
    local i

    set_up_hosts 3
    # whose names do not say a host
    run mpirun_hosts "$ROLLCALL" run --text -o out -- sh -c \
        'exec "$CAPTURE_MAKER" --quiet --ranks 6 --only-rank $RANK \
            --layout renamed "$ROLLCALL_CAPTURE_DIR"'
    expect_status 0
    shows "6 of 6 present"
    has_rows 6
    is "hosts" "h0 h0 h1 h1 h2 h2" "$(sql "SELECT group_concat(host, ' ') FROM
        (SELECT host FROM Roster ORDER BY rank)")"
    for ((i = 0; i < 3; i++)); do
        # its state directory is its own, with the captures of its ranks
        is "agents of h$i" 1 "$(ls -d ../tmp.$i/state/*/*/agent.log | wc -l)"
        is "captures of h$i" 2 "$(find ../tmp.$i -name '*_ascend_pt' | wc -l)"
    done
    is "aggregators" 1 "$(ls -d ../tmp.*/state/*/*/aggregator.log | wc -l)"
    mkdir all
    cp -r ../tmp.*/state/*/*/captures/* all/
    equals_analyze all 6
    only_hosts_left
}

@test "COMMAND fails on the other host: its status, the rank is named" {
    set_up_hosts 2
    run mpirun_hosts "$ROLLCALL" run --text -o out --deadline 20s \
        -- sh -c './writer; [ $RANK -ne 3 ] || exit 4; touch wrote.$RANK
                  exec sleep 1000'
    expect_status 4
    shows "rank 3: ended with status 4"
    roster_says 3 present "COMMAND ended with status 4"
    only_hosts_left
}

@test "an agent is killed on the other host: another goes on" {
    local p

    set_up_hosts 2
    mpirun_hosts "$ROLLCALL" run --text -o out -- \
        sh -c 'touch began.$RANK; until [ -e go ]; do sleep 0.05; done
               ./writer' >log 2>&1 3>&- &
    pid=$!
    for p in 0 1 2 3; do
        eventually test -e began.$p
    done
    for p in $(processes_named rollcall-agent); do
        if grep -q -- "--aggregator" "/proc/$p/cmdline" &&
            [ "$(readlink "/proc/$p/ns/net")" = \
              "$(readlink "/proc/$(cat ../pid.h1)/ns/net")" ]; then
            kill -KILL "$p"
        fi
    done
    touch go
    end_of "$pid"
    expect_status 0
    shows "4 of 4 present"
    only_hosts_left
}

heard_in_ledger ()                  # N: ranks, with their hosts
{
    local DB
    DB=$(echo ../tmp.0/state/*/*/root/ledger.db)
    [ "$(sql "SELECT count(*) FROM heard WHERE host<>''" 2>/dev/null)" = "$1" ]
}

@test "all is killed on both hosts: wait finishes it on the one that was named" {
    local p job hosts

    set_up_hosts 2
    mpirun_hosts "$ROLLCALL" run --text -o out -- \
        sh -c '[ $RANK -gt 1 ] || ./writer; touch began.$RANK
               exec sleep 1000' >log 2>&1 3>&- &
    for p in 0 1 2 3; do
        eventually test -e began.$p
    done
    # the only one who knows then where a rank was
    eventually heard_in_ledger 4
    hosts=" $(cat ../pid.h0) $(cat ../pid.h1) "
    for p in $(processes); do
        [[ "$hosts" == *" $p "* ]] || kill -KILL "$p" || true
    done
    only_hosts_left
    job=$(sed -n 's/^job *//p' log)
    grep "^host  *h0 (if the launcher dies, call there: rollcall wait $job --state " log
    run ../on h1 "$ROLLCALL" wait "$job"
    expect_status 66
    shows "job $job was on this host, its aggregator on another" \
        "and not delivered is below "
    dir=$(sed -n 's/.*: rollcall status \(.*\) tells how much.*/\1/p' \
        <<<"$output")
    run ../on h1 "$ROLLCALL" status "$dir"
    shows rollcall-agent "$job"
    run ../on h0 "$ROLLCALL" wait --text "$job"
    [ "$status" -ne 0 ]
    shows "2 of 4 present"
    roster_says 0 present ""
    roster_says 3 missing \
        "still on host h1: rollcall wait $job there says where"
    is "where missing ranks were" "h1 h1" "$(sql "SELECT
        group_concat(host, ' ') FROM Roster WHERE state='missing'")"
    only_hosts_left
}

@test "MPI programs on several hosts find the aggregator by --launcher" {
    set_up_hosts 2
    cat >mpi_capture <<'SCRIPT'
#!/bin/sh
exec "$CAPTURE_MAKER" --quiet --ranks "$MPI_SIZE" --ops 8 \
    --only-rank "$MPI_RANK" "$ROLLCALL_CAPTURE_DIR"
SCRIPT
    cat >launch <<SCRIPT
#!/bin/bash
source '$BATS_TEST_DIRNAME/hosts.bash'
HOSTS=2 TEST_DIR=$TEST_DIR mpirun_hosts "\$@"
SCRIPT
    chmod +x mpi_capture launch
    run ../on h0 "$ROLLCALL" run --text -o out --launcher ./launch \
        -- "$MPI_WRITER" said ./mpi_capture
    expect_status 0
    shows "4 of 4 present"
    is "what rank 3 said" "rank 3 of 4, sum 4" "$(cat said.3)"
    only_hosts_left
}
