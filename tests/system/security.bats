#!/usr/bin/env bats
# Only who is invited: keys, what happens without the right one, and versions
# of the protocol

load run_helper

setup_keys ()
{
    : "${WIRE_PEER:?names wire_peer}"
    choose_port
    unset ROLLCALL_KEY ROLLCALL_SERVER_KEY ROLLCALL_KEYS
    export HOME=$TEST_DIR XDG_CONFIG_HOME=$TEST_DIR/config
}

key ()                              # ARGUMENT...: rollcall key
{
    "$ROLLCALL" key "$@" --dir keys >>key.log 2>&1 ||
        fail "key $*: $(cat key.log)"
}

# A key for the aggregator, one for an agent that is invited, one for another.
make_keys ()
{
    key new server
    key new node1
    key new stranger
    key enrol keys/node1.pub node1
}

service ()                          # [OPTION]...
{
    "$AGGREGATOR" --root root --listen "tcp://127.0.0.1:$PORT" "$@" \
        >>service.log 2>&1 3>&- &
    service=$!
    eventually listens "$PORT" || fail "$(cat service.log)"
}

stop_service ()
{
    kill "$service"
    wait "$service" || fail "the service ended with $?: $(cat service.log)"
    nothing_runs
}

# agent KEY SERVER_KEY [ARGUMENT]...: delivers job/ once; sets status, output
agent ()
{
    local key=$1 server=$2

    shift 2
    rm -rf spool        # for what was delivered nobody need connect
    run timeout 120 "$AGENT" --once --state spool --job j \
        --aggregator "tcp://127.0.0.1:$PORT" --key "$key" \
        --server-key "$server" "$@" job
}

# The aggregator has named the peer and the reason.
service_says ()                     # TEXT
{
    eventually grep -qE "event=peer-(refused|left).*$1" service.log ||
        fail "no \"$1\" in: $(cat service.log)"
}

@test "who is enrolled delivers; names and data do not travel in clear" {
    local relay

    setup_keys
    make_keys
    make
    service --keys keys
    grep -q "encrypted, enrolled keys only" service.log
    "$WIRE_PEER" relay $((PORT + 1)) "$PORT" passed 3>&- &
    relay=$!
    eventually listens $((PORT + 1))
    PORT=$((PORT + 1)) agent keys/node1.key keys/server.pub --raw
    expect_status 0
    [ "$(stat -c %s passed)" -gt 10000 ]
    ! grep -q -a "ascend_pt" passed
    stop_service_and "$relay"
    # and this is how it would look: else the above shows nothing
    service
    rm -rf passed spool
    "$WIRE_PEER" relay $((PORT + 1)) "$PORT" passed 3>&- &
    relay=$!
    eventually listens $((PORT + 1))
    timeout 120 "$AGENT" --once --state spool --job j2 --raw \
        --aggregator "tcp://127.0.0.1:$((PORT + 1))" job
    grep -q -a "ascend_pt" passed
    stop_service_and "$relay"
}

stop_service_and ()                 # PID
{
    kill "$1"
    wait "$1" || true
    stop_service
}

@test "a key that is not enrolled: 77, said at both ends, with the address" {
    local fingerprint

    setup_keys
    make_keys
    run "$ROLLCALL" key enroll keys/stranger.pub --dir keys
    expect_status 2
    shows "there is no command \"enroll\""
    run "$ROLLCALL" key enrol keys/stranger.pub --dir keys
    expect_status 2
    shows "enrol: which NAME does keys/stranger.pub get?"
    make
    service --keys keys
    agent keys/stranger.key keys/server.pub
    expect_status 77
    # as key list has it, at both ends
    fingerprint=$("$ROLLCALL" key list --dir keys |
        sed -n 's/^own *\([0-9a-f]*\) .* stranger$/\1/p')
    [ -n "$fingerprint" ]
    shows "refuses this key, $fingerprint (" "rollcall key enrol"
    is "said in one line" 1 "$(grep -v event=waiting <<<"$output" |
        grep -o "tcp://" | wc -l)"
    service_says "127.0.0.1: key $fingerprint is not enrolled"
    # as it says
    key enrol keys/stranger.pub stranger
    agent keys/stranger.key "$(sed -n 's/.*public-key = "\(.*\)"/\1/p' \
        keys/server.pub)"
    expect_status 0
    stop_service
}

@test "a wrong key of the aggregator: 69 after a while, said at both ends" {
    setup_keys
    make_keys
    make
    service --keys keys
    agent keys/node1.key keys/stranger.pub
    expect_status 69
    shows "ends the connection in the handshake" "--server-key"
    service_says "its key for this aggregator is wrong"
    stop_service
}

# The node would have what it takes to be the aggregator.
@test "the aggregator's secret is refused as --server-key" {
    setup_keys
    make_keys
    agent keys/node1.key keys/server.key
    expect_status 78
    shows "keys/server.key is a secret key" ".pub"
}

@test "no key where one is wanted, and one where none is: 77 at once" {
    setup_keys
    make_keys
    make
    service --keys keys
    run timeout 120 "$AGENT" --once --state spool --job j \
        --aggregator "tcp://127.0.0.1:$PORT" job
    expect_status 77
    shows "encrypted"
    service_says "does not encrypt"
    stop_service
    service
    agent keys/node1.key keys/server.pub
    expect_status 77
    shows "does not encrypt"
    stop_service
}

refused_shown ()                    # STATE TEXT: by status
{
    run "$ROLLCALL" status "$1"
    [[ "$output" == *" refused "*"$2"* ]]
}

# It goes on, since somebody may enrol it; who looks is not sent to the network.
@test "a service agent with a key that is not the right one: refused" {
    local agents=()

    setup_keys
    make_keys
    mkdir none
    service --keys keys
    "$AGENT" --state unknown --aggregator "tcp://127.0.0.1:$PORT" \
        --key keys/stranger.key --server-key keys/server.pub none \
        >unknown.log 2>&1 3>&- &
    agents+=($!)
    "$AGENT" --state wrong --aggregator "tcp://127.0.0.1:$PORT" \
        --key keys/node1.key --server-key keys/stranger.pub none \
        >wrong.log 2>&1 3>&- &
    agents+=($!)
    eventually grep -q "event=refused.*rollcall key enrol" unknown.log
    eventually refused_shown unknown "rollcall key enrol"
    ! grep event=not-connected unknown.log
    eventually grep -q "event=refused.*--server-key" wrong.log
    eventually refused_shown wrong "--server-key"
    key enrol keys/stranger.pub stranger
    eventually grep -q event=connected unknown.log
    kill "${agents[@]}"
    wait "${agents[@]}" || true
    stop_service
}

@test "revoked while connected: a service agent is told, and comes back" {
    local agent

    setup_keys
    make_keys
    make
    service --keys keys
    "$AGENT" --state spool --job j --aggregator "tcp://127.0.0.1:$PORT" \
        --key keys/node1.key --server-key keys/server.pub job \
        >agent.log 2>&1 3>&- &
    agent=$!
    eventually grep -q event=connected agent.log
    key revoke node1
    eventually grep -q "event=refused.*127.0.0.1:$PORT refuses .*revoked" \
        agent.log
    eventually refused_shown spool "was revoked"
    service_says "of node1, was revoked"
    # the same key for good; a new one comes in
    run "$ROLLCALL" key enrol keys/node1.pub node1 --dir keys
    expect_status 77
    shows "was revoked"
    is "lines of the agent in a minute" 1 \
        "$(grep -c event=refused agent.log)"
    kill "$agent"
    wait "$agent" || true
    agent keys/node1.key keys/server.pub
    expect_status 77
    key rotate node1
    key enrol keys/node1.pub node1
    agent keys/node1.key keys/server.pub
    expect_status 0
    stop_service
}

@test "rotate: the older key is good for the grace, and not longer" {
    setup_keys
    make_keys
    make
    service --keys keys
    cp -p keys/node1.key old.key
    key rotate node1 --grace 1h
    agent old.key keys/server.pub
    expect_status 0
    agent keys/node1.key keys/server.pub
    expect_status 0
    cp -p keys/node1.key old.key
    key rotate node1 --grace 0
    agent old.key keys/server.pub
    expect_status 77
    service_says "was replaced"
    run "$ROLLCALL" key list --dir keys
    expect_status 0
    shows "own" "enrolled" "expired"
    run "$ROLLCALL" key list --json --dir keys
    is "states" "own own own enrolled expired" \
        "$(sed -n 's/.*"state":.*"\(.*\)".*/\1/p' <<<"$output" | xargs)"
    stop_service
}

@test "key list: a key that cannot be read is named, and the others are listed" {
    setup_keys
    make_keys
    chmod 644 keys/node1.key
    echo nothing >keys/enrolled/node1.pub
    run "$ROLLCALL" key list --dir keys
    expect_status 77
    shows "keys/node1.key" "chmod 600" "keys/enrolled/node1.pub" "server"
    run "$ROLLCALL" key list --json --dir keys
    expect_status 77
    shows "chmod 600" '"name":' '"server"'
    chmod 600 keys/node1.key
    run "$ROLLCALL" key list --dir keys
    expect_status 65
    shows "keys/enrolled/node1.pub" "own"
}

@test "key list: who may not read the directory is told so" {
    local as=()

    setup_keys
    make_keys
    chmod 0 keys
    if [ "$(id -u)" -eq 0 ]; then
        as=(runuser -u nobody --)
        "${as[@]}" test -x "$ROLLCALL" || skip "nobody may not run $ROLLCALL"
        chmod 755 .
    fi
    run "${as[@]}" "$ROLLCALL" key list --dir "$PWD/keys"
    chmod 700 keys
    expect_status 77
    shows "keys: Permission denied"
}

@test "key: an option that another action takes is refused" {
    for words in "list --reads me" "new x --host a" "revoke x --any-host" \
        "list --replace" "rotate x --json"; do
        # shellcheck disable=SC2086
        run "$ROLLCALL" key $words --dir keys
        expect_status 2
        shows "${words%% *}: --" " for "
    done
    [ ! -e keys ] || fail "a key was made"
}

hellos ()                           # of job j, that were taken
{
    grep -c "event=agent-connected job=j " service.log
}

heard_again ()                      # BEFORE
{
    [ "$(hellos)" -gt "$1" ]
}

# restart_service: with the key that is there now; HEARD before it was up
restart_service ()
{
    kill "$service"
    wait "$service" || fail "the service ended with $?: $(cat service.log)"
    HEARD=$(hellos)
    service --keys keys
}

captures_are ()                     # N: in the result of job j
{
    [ "$(sql "SELECT count(*) FROM Capture WHERE state='complete'" \
        root/jobs/j/cluster_analysis_output/analysis.db 2>/dev/null)" = "$1" ]
}

# Agents have a copy of server.pub.  In whichever order it and the aggregator's
# key are replaced: no agent is started again, and nothing is lost.
@test "rotate server: an agent at work finds the new key by itself" {
    local watcher

    setup_keys
    make_keys
    make --ranks 2
    mkdir later
    mv "$(find job -name '*_ascend_pt' | head -n 1)" later
    cp keys/server.pub known.pub
    service --keys keys
    "$AGENT" --state watched --job j --quiet-period 0.1s \
        --aggregator "tcp://127.0.0.1:$PORT" --key keys/node1.key \
        --server-key known.pub job >watcher.log 2>&1 3>&- &
    watcher=$!
    eventually captures_are 1
    # agents get the file first: it has both keys
    key rotate server --grace 1h
    cp keys/server.pub known.pub
    run "$ROLLCALL" doctor --aggregator "tcp://127.0.0.1:$PORT" \
        --key keys/node1.key --server-key known.pub
    shows "answers within"
    restart_service
    eventually heard_again "$HEARD"
    # the aggregator is first, and nobody gets in until the file comes
    key rotate server --grace 0
    restart_service
    eventually grep -q -- "--server-key is not" watcher.log
    is "who got in" "$HEARD" "$(hellos)"
    mv later/* job
    cp keys/server.pub known.pub
    eventually heard_again "$HEARD"
    eventually captures_are 2
    kill "$watcher"
    wait "$watcher" || fail "the agent ended with $?: $(cat watcher.log)"
    stop_service
}

@test "secrets that others may read, and files that are none: refused" {
    setup_keys
    make_keys
    make
    chmod 640 keys/node1.key
    agent keys/node1.key keys/server.pub
    expect_status 78
    shows "mode 0640" "make a new key"
    agent keys/node1.pub keys/server.pub
    expect_status 78
    shows "no secret key"
    agent keys/absent.key keys/server.pub
    expect_status 78
    shows "there is no keys/absent.key"
    echo nonsense >keys/server.key
    run timeout 60 "$AGGREGATOR" --root root --keys keys \
        --listen "tcp://127.0.0.1:$PORT"
    expect_status 78
    shows "keys/server.key" "line 1"
    is "modes" "600 644" "$(stat -c %a keys/stranger.key keys/stranger.pub |
        xargs)"
}

@test "beyond loopback there are keys, or a word for having none" {
    setup_keys
    run timeout 60 "$AGGREGATOR" --root root --listen "tcp://*:$PORT"
    expect_status 78
    shows "rollcall key new server" "--insecure" "anybody"
    run timeout 60 "$AGENT" --once --state spool --job j \
        --aggregator "tcp://192.0.2.1:$PORT" .
    expect_status 78
    shows "rollcall key new" "--insecure"
}

@test "key: names are not paths, and what is wrong is said" {
    local name

    setup_keys
    for name in ../x a/b .x "" "a b"; do
        run "$ROLLCALL" key new "$name" --dir keys
        expect_status 2
        shows "is not a name for a key"
    done
    [ ! -e keys ]
    run "$ROLLCALL" key
    expect_status 2
    run "$ROLLCALL" key rotate --dir keys
    expect_status 2
    shows "rotate: which NAME?"
    run "$ROLLCALL" key new a b --dir keys
    expect_status 2
    shows "new: unexpected argument \"b\""
    run "$ROLLCALL" key revoke nobody --dir keys
    expect_status 66
    run "$ROLLCALL" key enrol "no such file" x --dir keys
    expect_status 66
    echo nonsense >bad.pub
    key new n1
    # a node's or a person's; nothing is enrolled before that is clear
    for use in "--reads eve --any-host" "--reads-all --host node1" "--reads e/ve" \
        "--reads eve --reads-all" "--host node/1"; do
        # shellcheck disable=SC2086     # words
        run "$ROLLCALL" key enrol keys/n1.pub person --dir other $use
        expect_status 2
        run "$ROLLCALL" key enrol keys --dir other $use
        expect_status 2
        [ ! -e other/enrolled/person.pub ] && [ ! -e other/enrolled/n1.pub ]
    done
    run "$ROLLCALL" key enrol bad.pub x --dir keys
    expect_status 65
    key new a
    run "$ROLLCALL" key new a --dir keys
    expect_status 73
    shows "there is a key"
}

# ---- words ----

said ()                             # KEY SIZE: the ledger has it
{
    "$ROLLCALL" jobs --root root --job j |
        grep -q "^  $2 ranks: node, host .*, key $1$"
}

# says KEY SIZE: an agent that brings nothing says how many ranks job j has
says ()
{
    local speaker

    mkdir -p none
    "$AGENT" --state "spool.$1" --job j --world-size "$2" \
        --aggregator "tcp://127.0.0.1:$PORT" --key "keys/$1.key" \
        --server-key keys/server.pub none >"$1.log" 2>&1 3>&- &
    speaker=$!
    eventually said "$1" "$2"
    kill "$speaker"
    wait "$speaker" || true
}

result ()                           # SQL: of job j
{
    sqlite3 root/jobs/j/cluster_analysis_output/analysis.db "$1"
}

expected_are ()                     # N: in the result, as it is now
{
    [ "$(result "SELECT value FROM Job WHERE key='world_size'" 2>&1)" = "$1" ]
}

@test "one node's word about the ranks is named, not believed; --expect corrects" {
    setup_keys
    make_keys
    key enrol keys/stranger.pub stranger
    make
    service --keys keys
    agent keys/node1.key keys/server.pub
    expect_status 0
    eventually expected_are 4
    says stranger 131072
    eventually grep -q "event=agent-note job=j .*key stranger says 131072: not \
used, 4 ranks are expected (metadata of the captures)" service.log
    note () { result "SELECT value FROM Job WHERE key GLOB 'note.*'"; }
    noted () { note | grep -q "key stranger says 131072"; }
    eventually noted
    is "who is there" "4|4" "$(result "SELECT sum(state='present'), count(*)
        FROM Roster")"
    run "$ROLLCALL" jobs --root root --job j
    expect_status 0
    shows "how many ranks it should have, and who says so:" \
        "  131072 ranks: node, host $(hostname), key stranger"
    run "$ROLLCALL" build --root root --text -o out j
    expect_status 0
    shows "4 of 4 present" "note: host $(hostname), key stranger says 131072"
    # somebody knows better
    run "$ROLLCALL" jobs --root root --job j --expect 6
    expect_status 0
    shows "6 ranks of job j; its result is built again"
    eventually expected_are 6
    is "missing" "2" "$(result "SELECT count(*) FROM Roster WHERE
        state='missing'")"
    says stranger 131071
    stop_service
    # nobody serves: it does it itself
    run "$ROLLCALL" jobs --root root --job j --expect 5 --json
    expect_status 0
    shows '"world_size":	5'
    run "$ROLLCALL" fsck aggregator --root root
    expect_status 0
    service --keys keys
    eventually expected_are 5
    run "$ROLLCALL" jobs --root root --job j --expect 0
    expect_status 0
    eventually expected_are 4
    stop_service
    # of a job that no agent speaks of now; durable when it is answered
    service --keys keys
    run "$ROLLCALL" jobs --root root --job j --expect 7
    expect_status 0
    eventually expected_are 7
    run "$ROLLCALL" jobs --root root --job j --expect 3
    kill -9 "$service"
    wait "$service" || true
    expect_status 0
    rm root/ledger.db*          # and in the records, too
    run "$ROLLCALL" fsck aggregator --root root --repair
    service --keys keys
    eventually expected_are 3
    run "$ROLLCALL" jobs --root root --job j
    shows "  3 ranks: rollcall jobs --expect" ", key stranger"
    stop_service
}

@test "jobs --expect: what makes no sense, is not there, or somebody else has" {
    setup_keys
    make --ranks 1
    run "$ROLLCALL" jobs --root root --job j --expect 4
    expect_status 66
    service
    is "the socket" "600" "$(stat -c %a root/control.sock)"
    run timeout 120 "$AGENT" --once --state spool --job j \
        --aggregator "tcp://127.0.0.1:$PORT" job
    expect_status 0
    run "$ROLLCALL" jobs --root root --expect 4
    expect_status 2
    shows "--expect needs --job"
    run "$ROLLCALL" jobs --root root --job j --expect 131073
    expect_status 2
    run "$ROLLCALL" jobs --root root --job k --expect 4
    expect_status 66
    shows "there is no job k in root"
    run "$ROLLCALL" jobs --root root --job k
    expect_status 66
    stop_service
    [ ! -e root/control.sock ]
    # a service that was killed left it there
    service
    kill -9 "$service"
    wait "$service" || true
    [ -e root/control.sock ]
    run "$ROLLCALL" jobs --root root --job j --expect 2
    expect_status 0
    shows "the next aggregator, or rollcall build, builds it again"
}

# ---- whose rows, and of which host ----

elsewhere ()                        # HOST COMMAND...: on a host of that name
{
    # shellcheck disable=SC2016     # for that shell
    unshare -u sh -c 'hostname "$0" && exec "$@"' "$@"
}

# deliver_any HOST KEY [ARGUMENT]...: job/, once, of a host of that name, which
# was told no job
deliver_any ()
{
    local host=$1 key=$2

    shift 2
    rm -rf spool
    run elsewhere "$host" timeout 120 "$AGENT" --once --state spool \
        --aggregator "tcp://127.0.0.1:$PORT" --key "keys/$key.key" \
        --server-key keys/server.pub "$@" job
}

deliver ()                          # HOST KEY [ARGUMENT]...: of job j
{
    deliver_any "$@" --job j
}

can_rename_hosts ()
{
    elsewhere h true 2>/dev/null || skip "no namespaces for host names here"
}

@test "a key writes for the host it is bound to; others are refused in words" {
    setup_keys
    can_rename_hosts
    make_keys
    make
    service --keys keys
    deliver node1 node1
    expect_status 0
    grep -q "event=key-bound .*key node1 is now bound to host node1" service.log
    grep -q "event=agent-connected job=j host=node1 key=node1" service.log
    eventually expected_are 4
    deliver node2 node1
    expect_status 77
    shows "key node1 is bound to host node1" "and not to node2" \
        "rollcall key bind node1 --host HOST"
    grep -q "event=host-refused .*key node1 .* not to node2" service.log
    counted () { grep -q '"hosts_refused":	[1-9]' root/status.json; }
    eventually counted
    # a later life has not forgotten
    stop_service
    service --keys keys
    deliver node2 node1
    expect_status 77
    key bind node1 --host node1 --host node2
    deliver node2 node1
    expect_status 0
    deliver node3 node1
    expect_status 77
    shows "key node1 is bound to host node1 node2, not to node3"
    run "$ROLLCALL" key list --dir keys
    shows "node1, of node1 node2"
    key bind node1 --any-host
    deliver node3 node1
    expect_status 0
    # said when it is enrolled
    key enrol keys/stranger.pub stranger --host node2
    deliver node1 stranger
    expect_status 77
    stop_service
}

# Four ranks of node1's key, then rank 2 once more of the stranger's, in job j.
rank_2_of_another ()
{
    setup_keys
    can_rename_hosts
    make_keys
    key enrol keys/stranger.pub stranger
    make
    service --keys keys
    deliver node1 node1
    expect_status 0
    eventually expected_are 4
    rm -r job
    make --ranks 4 --only-rank 2 --ops 9
    deliver node2 stranger
    expect_status 0
}

names_both ()                       # JOB: its summary
{
    run "$ROLLCALL" build --root root --text -o out "$1"
    shows "note: rank 2: its rows arrived with key node1 of host node1, then \
with key stranger of host node2"
}

@test "another key's rows of a rank: named with both keys, in log and summary" {
    rank_2_of_another
    eventually grep -q "event=agent-note job=j .*rank 2: its rows arrived with key \
node1 of host node1, then with key stranger of host node2" service.log
    names_both j
    [[ $output != *"note: rank 1"* ]]
    stop_service
}

# Nobody knows of which job rows are when they come: the warning is not to be
# missed for that.
@test "another key's rows of a rank of a job that nobody named: the same" {
    local job steps

    setup_keys
    can_rename_hosts
    make_keys
    key enrol keys/stranger.pub stranger
    make
    service --keys keys
    deliver_any node1 node1
    expect_status 0
    eventually divided_into 1
    job=$(sed -n 's/.*event=divided job=\([^ ]*\) .*/\1/p' service.log)
    cp -a job first
    # another would have a window of its own, and so be another job's
    find job -name 'profiler_info_[013].json' -printf '%h\n' | xargs rm -r
    steps=$(find job -name step_trace_time.csv)
    sed -i '2s/[0-9]*\.[0-9]*/9.5/' "$steps"
    deliver_any node2 stranger
    expect_status 0
    eventually divided_into 2
    is "jobs" "$job" "$(sed -n 's/.*event=divided job=\([^ ]*\) .*/\1/p' \
        service.log | sort -u)"
    eventually grep -q "event=agent-note job=$job .*rank 2: its rows arrived with key \
node1 of host node1, then with key stranger of host node2" service.log
    ! grep -q "event=agent-note .*rank [013]: its rows" service.log
    names_both "$job"
    # the same captures once more, in a directory that both see
    rm -r job
    mv first job
    deliver_any node3 stranger
    expect_status 77
    key bind stranger --host node2 --host node3
    deliver_any node3 stranger
    expect_status 0
    stop_service
    ! grep -q "event=agent-note .*rank [013]: its rows" service.log
}

divided_into ()                     # N: times that captures were given to jobs
{
    [ "$(grep -c event=divided service.log)" -ge "$1" ]
}

# Else who makes the ledger again lets a key speak for any host.
@test "a ledger that is made again knows which key is whose, and whose rows" {
    rank_2_of_another
    stop_service
    rm root/ledger.db*
    run "$ROLLCALL" fsck aggregator root --repair
    service --keys keys
    deliver node1 stranger
    expect_status 77
    shows "key stranger is bound to host node2" "and not to node1"
    deliver node2 node1
    expect_status 77
    names_both j
    stop_service
}

@test "key: hosts that make no sense" {
    setup_keys
    key new a
    run "$ROLLCALL" key bind a --host h --dir keys
    expect_status 66
    key enrol keys/a.pub a
    run "$ROLLCALL" key bind a --dir keys
    expect_status 2
    shows "give --host, --any-host, --reads or --reads-all"
    run "$ROLLCALL" key bind a --host "" --dir keys
    expect_status 2
    run "$ROLLCALL" key bind a --host h --any-host --dir keys
    expect_status 2
    key bind a --host h
    key enrol keys/a.pub a              # again: what was said stays
    run "$ROLLCALL" key list --json --dir keys
    shows '"hosts":	"h"'
}

# ---- runs ----

@test "run: a connection without the run's key is refused; no key is left" {
    local endpoint

    setup_keys
    background mpirun_run 2 -- sh -c './writer; env >env.$RANK
        touch began.$RANK; until [ -e go ]; do sleep 0.05; done'
    eventually test -e began.0
    eventually test -e began.1
    eventually grep -q event=listening "$(run_dir)/aggregator.log"
    # the wrappers have looked whether it is there: they are no strangers
    is "strangers" "" "$(grep event=peer- "$(run_dir)/aggregator.log")"
    endpoint=tcp://127.0.0.1:$(ports)
    is "a stranger" "handshake-failed" \
        "$("$WIRE_PEER" agent "$endpoint" 2 1 0)"
    eventually grep -qE "event=peer-(refused|left)" \
        "$(run_dir)/aggregator.log"
    # read by the daemons, then gone
    is "secrets on disk" "" "$(find "$ROLLCALL_STATE_DIR" out -name '*.key')"
    touch go
    end_of "$pid"
    expect_status 0
    shows "2 of 2 present"
    ! grep -q "_KEY" env.0
    is "keys on disk" "" "$(find "$ROLLCALL_STATE_DIR" out -name keys)"
    nothing_runs
}

@test "run --launcher: the key is in no command line, and not COMMAND's" {
    local p secret

    setup_keys
    export ROLLCALL_INTERFACE=lo
    background "$ROLLCALL" run --text -o out --launcher "mpirun -np 2" -- \
        sh -c './writer; env >env.$RANK; touch began.$RANK
               until [ -e go ]; do sleep 0.05; done'
    eventually test -e began.0
    eventually test -e began.1
    p=$(processes_named mpirun)
    secret=$(tr '\0' '\n' <"/proc/${p%%$'\n'*}/environ" |
        sed -n 's/^ROLLCALL_RUN_KEYS=[^ ]* [^ ]* //p')
    is "length of the secret" 40 "${#secret}"
    for p in $(processes); do
        ! tr '\0' '\n' 2>/dev/null <"/proc/$p/cmdline" |
            grep -qF -e "$secret" || fail "$p shows it"
    done
    ! grep -qF -e "$secret" env.0 env.1
    touch go
    end_of "$pid"
    expect_status 0
    shows "2 of 2 present"
    nothing_runs
}

@test "run --aggregator: the node's own key is used, and still there after" {
    setup_keys
    make_keys
    service --keys keys
    cp -p keys/node1.key before
    background env ROLLCALL_KEY=keys/node1.key \
        ROLLCALL_SERVER_KEY=keys/server.pub \
        "$ROLLCALL" run --aggregator "tcp://127.0.0.1:$PORT" --job j \
        --text -- sh -c 'touch began; until [ -e go ]; do sleep 0.05; done
        ./writer'
    eventually test -e began
    # by now it has been read; a run's own key would be gone
    eventually grep -q event=connected "$(run_dir)/agent.log"
    cmp before keys/node1.key
    touch go
    end_of "$pid"
    expect_status 0
    cmp before keys/node1.key
    stop_service
}

@test "run --insecure: works, and says what it means" {
    setup_keys
    run mpirun_run 2 --insecure -- ./writer
    expect_status 0
    shows "2 of 2 present"
    grep -q "nothing is encrypted" "$(run_dir)/agent.log"
    nothing_runs
}

# ---- versions ----

# The bytes of doc/format-wire.md, not only what both programs have in common.
@test "an agent that was written by the book delivers" {
    setup_keys
    echo "a file" >file
    service
    run "$WIRE_PEER" agent "tcp://127.0.0.1:$PORT" 1 1 0 file
    is "what it heard" $'welcome\nacknowledged' "$output"
    stop_service
    is "in the ledger" "peer file" "$(sqlite3 root/ledger.db \
        "SELECT capture || ' ' || path FROM item")"
}

@test "an agent of version 2, an unknown type or member: refused in words" {
    setup_keys
    service
    run "$WIRE_PEER" agent "tcp://127.0.0.1:$PORT" 2 1 0
    shows "refused protocol version 2" "it has 1"
    run "$WIRE_PEER" agent "tcp://127.0.0.1:$PORT" 1 99 0
    shows "refused" "type 99"
    run "$WIRE_PEER" agent "tcp://127.0.0.1:$PORT" 1 1 5
    shows "refused" "5 bytes behind its members"
    is "said here too" 3 "$(grep -c event=refused service.log)"
    stop_service
}

@test "an aggregator of another version: the agent ends with 76 and says so" {
    local peer

    setup_keys
    make
    "$WIRE_PEER" aggregator "tcp://127.0.0.1:$PORT" 2 "what nobody reads" \
        >peer.log 2>&1 3>&- &
    peer=$!
    eventually listens "$PORT"
    run timeout 120 "$AGENT" --once --state spool --job j \
        --aggregator "tcp://127.0.0.1:$PORT" job
    expect_status 76
    kill "$peer"
    wait "$peer" || true
    shows "protocol version 2"
}

# ---- for a while ----

@test "an aggregator that is full: --once ends with 75, a service agent waits" {
    local peer agent

    setup_keys
    make
    "$WIRE_PEER" aggregator "tcp://127.0.0.1:$PORT" 1 "try again later" \
        >peer.log 2>&1 3>&- &
    peer=$!
    eventually listens "$PORT"
    run timeout 120 "$AGENT" --once --state spool --job j \
        --aggregator "tcp://127.0.0.1:$PORT" job
    expect_status 75
    shows "try again later"
    "$AGENT" --state spool --job j --quiet-period 0.1s \
        --aggregator "tcp://127.0.0.1:$PORT" job >agent.log 2>&1 3>&- &
    agent=$!
    eventually grep -q "event=refused.*try again later" agent.log
    kill "$peer"
    wait "$peer" || true
    service
    eventually grep -q event=connected agent.log
    kill "$agent"
    wait "$agent" || true
    stop_service
}

# As a proxy does while what is behind it starts.
@test "connections that are closed a few times are no refusal" {
    local peer agent status=0

    setup_keys
    make
    "$WIRE_PEER" closer "$PORT" 5 >peer.log 2>&1 3>&- &
    peer=$!
    eventually listens "$PORT"
    timeout 120 "$AGENT" --once --state spool --job j \
        --aggregator "tcp://127.0.0.1:$PORT" job >agent.log 2>&1 3>&- &
    agent=$!
    all_closed () { gone "$peer"; }
    eventually all_closed
    service
    wait "$agent" || status=$?
    is "the agent's status" 0 "$status"
    grep -q "event=not-connected.*ends the connection" agent.log
    stop_service
}

# The front end keeps the socket of an aggregator that is gone, so that one can be
# connected to: COMMAND would run, and nobody would collect anything.
@test "behind --launcher a COMMAND does not begin where no aggregator speaks" {
    local peer

    setup_keys
    "$WIRE_PEER" closer "$PORT" 1 >peer.log 2>&1 3>&- &
    peer=$!
    eventually listens "$PORT"
    run timeout 120 "$ROLLCALL" run --launched --insecure --job j \
        --aggregator "tcp://127.0.0.1:$PORT" -- touch began
    expect_status 69
    shows "no aggregator speaks there"
    [ ! -e began ]
    wait "$peer"
}

# ---- limits ----

@test "too few descriptors for the agents that may come: a warning" {
    setup_keys
    (ulimit -n 300 && exec "$AGGREGATOR" --root root --agents 100 \
        --listen "tcp://127.0.0.1:$PORT") >>service.log 2>&1 3>&- &
    service=$!
    eventually grep -q "event=descriptors-low.*for 44 agents" service.log
    eventually listens "$PORT"
    stop_service
}

# aborted [VARIABLE=VALUE]: an aggregator that ends with a core, where it may
aborted ()
{
    rm -rf root core*
    env "$@" "$AGGREGATOR" --root root --keys keys \
        --listen "tcp://127.0.0.1:$PORT" >>service.log 2>&1 3>&- &
    service=$!
    eventually listens "$PORT" || fail "$(cat service.log)"
    limit=$(sed -n 's/^Max core file size  *\([^ ]*\) .*/\1/p' \
        "/proc/$service/limits")
    kill -ABRT "$service"
    wait "$service" || true
}

# A secret of another process is in memory that is written whole, to where
# others may read.  With a limit of 0 a program that core_pattern names
# (|/usr/share/...) gets it all the same: with 1 the kernel starts none.
@test "a process that has a secret leaves no core file" {
    local secret limit pattern

    setup_keys
    make_keys
    ulimit -c unlimited 2>/dev/null || skip "there are no core files here"
    secret=$(sed -n 's/.*secret-key = "\(.*\)"/\1/p' keys/server.key)
    aborted A=b
    is "limit of core files" 1 "$limit"
    is "core files" "" "$(find . -name 'core*')"
    # who may not raise a hard limit of 0 has none that is better
    ! (ulimit -c 0 && ulimit -Hc 1) 2>/dev/null ||
        (ulimit -c 0 && aborted A=b && is "limit of core files" 1 "$limit")
    # and this is how it would look; sanitizers set a limit of their own
    ! ldd "$AGGREGATOR" | grep -q 'lib[at]san' || return 0
    aborted ROLLCALL_CORES=1
    is "limit of core files" unlimited "$limit"
    pattern=$(cat /proc/sys/kernel/core_pattern)
    if [ "$pattern" = core ]; then
        [ -z "$(find . -name 'core*')" ] || grep -qaF -- "$secret" core*
    fi
}
