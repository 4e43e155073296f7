#!/usr/bin/env bats
# rollcall run over four hosts, of which one fails, or the net between them

load run_helper
load hosts

teardown ()
{
    kill_all
    hosts_down
}

# job_of_8 [OPTION]... -- COMMAND: in the background, until all have begun
job_of_8 ()
{
    local rank

    mpirun_hosts "$ROLLCALL" run --text -o out "$@" >log 2>&1 3>&- &
    pid=$!
    for rank in 0 1 2 3 4 5 6 7; do
        eventually test -e "began.$rank" || fail "$(cat log)" || return
    done
}

HELD='touch began.$RANK; until [ -e go ]; do sleep 0.05; done; ./writer'

all_present ()
{
    end_of "$pid"
    expect_status 0
    shows "8 of 8 present"
    has_rows 8
    only_hosts_left
}

on_net ()                           # HOST COMMAND...: in its network only
{
    nsenter --net="/run/netns/$NET-$1" "${@:2}"
}

need_nft ()
{
    command -v nft >/dev/null || skip "no nft"
    on_net h0 nft list tables >/dev/null 2>&1 || skip "nft is not permitted here"
}

cut_link ()                         # HOST
{
    on_net "$1" nft "add table inet cut;
        add chain inet cut in { type filter hook input priority 0; };
        add chain inet cut out { type filter hook output priority 0; };
        add rule inet cut in iifname eth0 drop;
        add rule inet cut out oifname eth0 drop"
}

mend_link ()                        # HOST
{
    on_net "$1" nft delete table inet cut
}

# How long a host takes to refuse a connection of another one: a way and back.
round_trip_ms ()
{
    local begun=$EPOCHREALTIME end

    ! ../on h0 bash -c '</dev/tcp/10.99.0.2/9' 2>/dev/null || return
    end=$EPOCHREALTIME
    echo $(((${end/./} - ${begun/./}) / 1000))
}

# From when all COMMANDs have begun: where packets are lost mpirun hangs now and
# then, before it has started anything.
@test "4 hosts: 50 ms lie between them, and packets are lost" {
    local ms

    set_up_hosts 4
    job_of_8 -- sh -c "$HELD"
    if ! slow_net 50 5; then
        touch go
        end_of "$pid"
        skip "no slow net: $(cat ../relay.log)"
    fi
    ms=$(round_trip_ms)
    [ "$ms" -ge 100 ] || fail "a round trip takes $ms ms"
    touch go
    all_present
}

# A rank that has never been heard of is waited for for 10 s only.
all_heard ()
{
    [ "$(cat ../tmp.0/state/*/*/aggregator.log | grep -c event=agent-connected)" -eq 4 ]
}

# The ranks of that host end meanwhile; nobody gives its agent up.
@test "4 hosts: a link is cut for 20 s" {
    set_up_hosts 4
    need_nft
    job_of_8 -- sh -c "$HELD"
    eventually all_heard
    cut_link h2
    touch go
    sleep 20
    mend_link h2
    all_present
}

@test "4 hosts: the aggregator is killed" {
    set_up_hosts 4
    job_of_8 -- sh -c "$HELD"
    kill -KILL "$(processes_named rollcall-aggregator)"
    touch go
    all_present
}

kill_host ()                        # HOST: all but what keeps it
{
    local p net

    net=$(readlink "/proc/$(cat "../pid.$1")/ns/net")
    for p in $(processes); do
        if [ "$p" != "$(cat "../pid.$1")" ] &&
            [ "$(readlink "/proc/$p/ns/net")" = "$net" ]; then
            kill -KILL "$p" || true
        fi
    done
}

@test "4 hosts: one dies: who was there is named, the others are in the result" {
    local job

    set_up_hosts 4
    need_nft
    # or mpirun would wait for five minutes
    export OMPI_MCA_oob_tcp_keepalive_time=5 OMPI_MCA_oob_tcp_keepalive_intvl=1
    export OMPI_MCA_oob_tcp_keepalive_probes=3
    job_of_8 --deadline 10s -- sh -c '[ $RANK -gt 5 ] || ./writer
        touch began.$RANK; exec sleep 1000'
    eventually all_heard
    cut_link h3
    kill_host h3
    wait "$pid" || true
    job=$(sed -n 's/^job *//p' log | head -n 1)
    run ../on h0 "$ROLLCALL" wait --text "$job"
    shows "6 of 8 present"
    roster_says 0 present ""
    roster_says 6 missing ""
    only_hosts_left
}

@test "4 hosts: the disk of one is full: who could not write is named" {
    set_up_hosts 4
    ../on h3 mount -t tmpfs -o size=16m none "$TMPDIR"
    job_of_8 --deadline 20s -- sh -c "$HELD"
    ../on h3 sh -c 'cat /dev/zero >"$TMPDIR/fill"' 2>/dev/null || true
    touch go
    end_of "$pid"
    [ "$status" -ne 0 ]
    shows "of 8 present"
    # one of its two ranks fails first; the other one may be ended for it
    [[ "$output" =~ "  rank"s?" "[67-]+": COMMAND ended with status" ]] ||
        fail "$output"
    only_hosts_left
}

# The service may be asked by whoever reaches it; who is not enrolled is refused.
@test "4 hosts: their agents are services with keys" {
    local i

    set_up_hosts 4
    "$ROLLCALL" key new server --dir keys
    for i in 0 1 2 3; do
        "$ROLLCALL" key new node$i --dir keys
        [ $i -eq 3 ] || "$ROLLCALL" key enrol keys/node$i.pub node$i --dir keys
        "$CAPTURE_MAKER" --quiet --ranks 4 --ops 8 --only-rank $i job.$i
    done
    ../on h0 "$AGGREGATOR" --root root --listen tcp://0.0.0.0:7077 \
        --keys keys >service.log 2>&1 3>&- &
    eventually says service.log event=listening
    for i in 0 1 2 3; do
        ../on h$i "$AGENT" --state spool.$i --job j --quiet-period 0.5s \
            --key keys/node$i.key --server-key keys/server.pub \
            --aggregator tcp://10.99.0.1:7077 job.$i >agent.$i.log 2>&1 3>&- &
    done
    DB=root/jobs/j/cluster_analysis_output/analysis.db
    captures () { [ "$(sql "SELECT count(*) FROM Capture" 2>/dev/null)" = "$1" ]; }
    eventually captures 3
    eventually says agent.3.log "rollcall key enrol"
    "$ROLLCALL" key enrol keys/node3.pub node3 --dir keys
    eventually captures 4
    has_rows 4
}
