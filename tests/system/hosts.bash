# tests/system/hosts.bash - several hosts on one machine
#
# A host is a network namespace with a name, IPC and mounts of its own; all are
# connected to a bridge that is in a namespace too, so that nothing is changed
# for the machine itself.  Needs root and CAP_SYS_ADMIN.

# shellcheck disable=SC2154         # TEST_DIR

# hosts_missing: says what is missing for hosts_up, if anything
hosts_missing ()
{
    local program

    [ "$(id -u)" -eq 0 ] || { echo "network namespaces need root"; return; }
    for program in ip nsenter unshare; do
        command -v $program >/dev/null || { echo "no $program"; return; }
    done
    program=$(unshare --net --uts --ipc --mount true 2>&1) ||
        { echo "namespaces are not permitted here: $program"; return; }
    sees_test_dir $$ ||
        echo "this is a chroot, which nsenter leaves"
}

# hosts_up N: h0, h1, ... as 10.99.0.1, 10.99.0.2, ...  deploy/check --quick has
# none: cases of files that it runs have the tag "hosts".
hosts_up ()
{
    local i ns

    [ -z "${ROLLCALL_QUICK_TESTS:-}" ] ||
        fail "a case that starts hosts has no tag" || return
    HOSTS=$1
    NET=rc$$
    ip netns add "$NET-sw"
    ip -n "$NET-sw" link add br0 type bridge
    ip -n "$NET-sw" link set br0 up
    echo "127.0.0.1 localhost" >hosts
    for ((i = 0; i < HOSTS; i++)); do
        echo "10.99.0.$((i + 1)) h$i" >>hosts
    done
    for ((i = 0; i < HOSTS; i++)); do
        ns=$NET-h$i
        ip netns add "$ns"
        ip link add "v$i" netns "$NET-sw" type veth peer name eth0 netns "$ns"
        ip -n "$NET-sw" link set "v$i" master br0 up
        ip -n "$ns" link set lo up
        ip -n "$ns" addr add "10.99.0.$((i + 1))/24" dev eth0
        ip -n "$ns" link set eth0 up
        host_up "$i" || return
    done
    cat >rsh <<SCRIPT
#!/bin/bash
# what mpirun starts its daemons with: rsh HOST COMMAND...
host=\$1; shift
exec $TEST_DIR/on \$host /bin/sh -c "\$*"
SCRIPT
    cat >on <<SCRIPT
#!/bin/bash
# on HOST COMMAND...
pid=\$(cat $TEST_DIR/pid.\$1); shift
exec nsenter -t "\$pid" --net --uts --ipc --mount --wd="\$PWD" -- "\$@"
SCRIPT
    chmod +x rsh on
}

# The process that keeps the namespaces of a host.
host_up ()
{
    local host

    nsenter --net="/run/netns/$NET-h$1" unshare --uts --ipc --mount \
        --propagation private sh -c "
            hostname h$1 && mount -t tmpfs tmpfs /dev/shm &&
            mount --bind hosts /etc/hosts && mkdir -p tmp.$1 &&
            mount --bind tmp.$1 $TMPDIR && echo \$\$ >pid.new.$1 &&
            exec sleep infinity" </dev/null >host.$1.log 2>&1 3>&- &
    host=$!
    begun () { [ -s "pid.new.$1" ] || gone "$host"; }
    eventually begun "$1" && [ -s "pid.new.$1" ] ||
        fail "host h$1 did not start: $(cat "host.$1.log")" || return
    mv "pid.new.$1" "pid.h$1"
}

hosts_down ()
{
    local i

    [ -n "${NET:-}" ] || return 0
    for ((i = 0; i < HOSTS; i++)); do
        ip netns del "$NET-h$i" 2>/dev/null || true
    done
    ip netns del "$NET-sw" 2>/dev/null || true
}

# slow_net MS PERCENT: frames between two hosts take so long each way, and that
# many are lost; false, with the reason in relay.log: it cannot be done here
slow_net ()
{
    local i ip=(ip -n "$NET-sw") pairs=()

    for ((i = 0; i < HOSTS; i++)); do
        "${ip[@]}" link set "v$i" nomaster
        "${ip[@]}" link add "d$i" type veth peer name "b$i"
        "${ip[@]}" link set "d$i" up
        "${ip[@]}" link set "b$i" master br0 up
        pairs+=("v$i" "d$i")
    done
    # both hosts' relays are in the way
    RELAYS=1
    nsenter --net="/run/netns/$NET-sw" "$NET_DELAY" \
        "$(awk "BEGIN { print $1 / 2 }")" "$(awk "BEGIN { print $2 / 2 }")" \
        "${pairs[@]}" </dev/null >"$TEST_DIR/relay.log" 2>&1 3>&- &
    relay_answers () { [ -s "$TEST_DIR/relay.log" ]; }
    eventually relay_answers
    grep -q '^ready' "$TEST_DIR/relay.log"
}

# mpirun_hosts [OPTION]...: PER_HOST (2) ranks on each host, started from the
# first
mpirun_hosts ()
{
    local list i per=${PER_HOST:-2}

    for ((i = 0; i < HOSTS; i++)); do
        list+=${list:+,}h$i:$per
    done
    "$TEST_DIR/on" h0 mpirun -np $((per * HOSTS)) --host "$list" --bind-to none \
        --mca plm_rsh_agent "$TEST_DIR/rsh" --mca plm_rsh_no_tree_spawn 1 \
        --mca oob_tcp_if_include eth0 --mca pml ob1 \
        --mca btl self,vader,tcp --mca btl_tcp_if_include eth0 "$@"
}

# ---- with run_helper.bash ----

set_up_hosts ()                     # N
{
    local missing

    missing=$(hosts_missing)
    [ -z "$missing" ] || skip "no simulated hosts: $missing"
    hosts_up "$1" || return
    # each host's own disk; other hosts' are not below the working directory
    export ROLLCALL_STATE_DIR=$TMPDIR/state
    mkdir work
    mv writer work
    cd work || return
}

# The hosts themselves are processes of this test, and what their net is made of.
only_hosts_left ()
{
    only_hosts () { local p; mapfile -t p < <(processes); [ ${#p[@]} -eq $((HOSTS + ${RELAYS:-0})) ]; }
    eventually only_hosts || fail "left: $(describe_processes)"
}
