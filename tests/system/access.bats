#!/usr/bin/env bats
# Who sees what of a root: users of this host by the socket for them, operators,
# and nodes by their keys.  The users are some that every system has.

load service_helper

# others WORK: a directory that they can reach
setup_users ()
{
    [ "$(id -u)" -eq 0 ] || skip "needs root, to be other users"
    command -v setpriv >/dev/null || skip "needs setpriv"
    open=$(mktemp -d /tmp/rollcall-access-XXXXXX)
    chmod 0755 "$open"
    as daemon test -x "$ROLLCALL" || skip "other users cannot run $ROLLCALL"
    cd "$open" || return
    TEST_DIR=$open
    export ROLLCALL_SOCKET=$open/socket/control.sock ROLLCALL_ROOT=$open/root
}

teardown ()
{
    [ -z "${service:-}" ] || kill "$service" 2>/dev/null || true
    cd /
    [ -z "${open:-}" ] || rm -rf "$open"
}

as ()                               # USER COMMAND...
{
    setpriv --reuid "$1" --regid "$1" --clear-groups "${@:2}"
}

as_member ()                        # USER GROUP COMMAND...
{
    setpriv --reuid "$1" --regid "$1" --groups "$2" "${@:3}"
}

deliver ()                          # JOB
{
    run agent --once --raw --job "$1" --state "$open/spool.$1" "$1"
    expect_status 0
    was () { [ "$(builds "$1")" -ge 1 ]; }
    eventually was "$1"
}

# Two jobs of daemon and bin, and one that both have captures of.
serves ()                           # [OPTION]...
{
    service "$@"
    "$CAPTURE_MAKER" --quiet --ranks 1 --ops 2 alice
    "$CAPTURE_MAKER" --quiet --ranks 1 --ops 2 --seed 2 bob
    "$CAPTURE_MAKER" --quiet --ranks 2 --ops 2 --seed 3 both
    chown -R daemon alice
    chown -R bin bob both
    chown -R daemon "$(find both -mindepth 1 -maxdepth 1 | sort | head -n 1)"
    for job in alice bob both; do
        deliver "$job"
    done
    own_is_known () { as daemon "$ROLLCALL" jobs | grep -q alice; }
    eventually own_is_known
}

only ()                             # JOB: of the three, in the output
{
    for job in alice bob both; do
        case $job in
        "$1") shows "$job" ;;
        *) ! grep -qw "$job" <<<"$output" || fail "shows $job: $output" ;;
        esac
    done
}

@test "a user sees and gets what is his, by the socket, and nothing else" {
    setup_users
    serves
    run as daemon "$ROLLCALL" jobs --json
    expect_status 0
    only alice
    run as daemon "$ROLLCALL" jobs --where "abs(iif(job='bob', \
        -9223372036854775807-1, 1))>0"
    expect_status 0
    only alice
    run as daemon "$ROLLCALL" jobs --where "owner IS NOT 'daemon'" \
        --user --root=/
    expect_status 0
    shows "no rows"
    run as daemon "$ROLLCALL" show alice
    expect_status 0
    shows "user          daemon"
    run as daemon "$ROLLCALL" archive ls
    expect_status 0
    only alice
    for job in bob both; do
        run as daemon "$ROLLCALL" show "$job"
        expect_status 66
        run as daemon "$ROLLCALL" jobs --job "$job"
        expect_status 66
        run as daemon "$ROLLCALL" archive ls "$job"
        expect_status 66
        run as daemon "$ROLLCALL" archive result "$job"
        expect_status 66
        run as daemon "$ROLLCALL" fetch --rank 0 "$job"
        expect_status 66
        shows "no job $job of user daemon"
        mkdir -p "mine.$job" && chown daemon "mine.$job"
        run as daemon "$ROLLCALL" archive get "$job" 0 "mine.$job"
        expect_status 66
        is "files of $job" 0 "$(find "mine.$job" -type f | wc -l)"
    done
    "$ROLLCALL" archive result alice >want.db
    as daemon "$ROLLCALL" archive result alice >got.db
    cmp want.db got.db
    # and so does a verb that reads it
    mkdir cache && chown daemon cache
    for job in alice bob; do
        run as daemon env -C cache XDG_CACHE_HOME=$PWD/cache "$ROLLCALL" query \
            --json steps "$job"
        [ "$job" = bob ] || is "steps" "$(env -C cache "$ROLLCALL" query --json \
            steps alice)" "$output"
    done
    expect_status 66
    # as wide as his terminal
    for width in 40 100; do
        is "ls at $width" "$("$ROLLCALL" archive ls --width "$width" alice)" \
            "$(as daemon "$ROLLCALL" archive ls --width "$width" alice)"
    done
    [ "$(as daemon "$ROLLCALL" jobs --width 40)" != "$(as daemon "$ROLLCALL" \
        jobs --width 100)" ] || fail "jobs has no width"
    # both of these are bin's own, and only one is all his
    run as bin "$ROLLCALL" jobs
    only bob
    run "$ROLLCALL" jobs
    shows both
    run as daemon "$ROLLCALL" fetch --rank 0 --wait 0 alice
    shows "rank 0      "
}

times_of ()                         # DIR: of raw files, and modes
{
    (cd "$1" && find . -name '*.json' -printf '%p %m %T@\n' | sort)
}

@test "what a user gets by the socket is his, and as it was" {
    setup_users
    serves
    mkdir mine && chown daemon mine
    run as daemon "$ROLLCALL" archive get alice 0 mine
    expect_status 0
    shows "5 raw files and rollcall.shipment in mine"
    run as daemon "$ROLLCALL" archive get alice 0 mine
    expect_status 73
    shows "nothing is overwritten"
    run as daemon "$ROLLCALL" archive get --file '*.none' alice 0 none
    expect_status 66
    shows "no rank 0 with such a file"
    "$ROLLCALL" archive get alice 0 root.own >/dev/null
    diff -r mine root.own
    # and all ranks of it
    mkdir all && chown daemon all
    run as daemon "$ROLLCALL" archive get alice all
    expect_status 0
    "$ROLLCALL" archive get alice root.all >/dev/null
    diff -r all root.all
    is "times and modes" "$(times_of root.own)" "$(times_of mine)"
    is owners daemon "$(find mine -printf '%u\n' | sort -u)"
    # where he may not write, the service does not, either
    mkdir closed
    run as daemon "$ROLLCALL" archive get alice 0 closed
    expect_status 73
    is "files in closed" "" "$(ls closed)"
    # one that is damaged is named, and the others come
    rm -rf mine/*
    dd if=/dev/urandom of="$(find root/segments -type f | sort | head -n 1)" \
        bs=1 seek=5000 count=64 conv=notrunc status=none
    "$ROLLCALL" archive get alice 0 damaged >own.out 2>&1 || true
    run as daemon "$ROLLCALL" archive get alice 0 mine
    diff -r mine damaged
}

# moved there by whoever may write to both directories, say
@test "a capture with a file of another user is shown to operators only" {
    setup_users
    service
    for job in rows raw mine; do
        "$CAPTURE_MAKER" --quiet --ranks 1 --ops 2 --seed "${#job}" "$job"
        chown -R daemon "$job"
    done
    chown bin "$(find rows -name step_trace_time.csv)"
    chown bin "$(find raw -name 'profiler_info*.json')"
    for job in rows raw mine; do
        deliver "$job"
    done
    mine_is_known () { as daemon "$ROLLCALL" jobs | grep -q mine; }
    eventually mine_is_known
    run as daemon "$ROLLCALL" jobs
    ! grep -qwE "rows|raw" <<<"$output" || fail "$output"
}

# by one job, and by all: nobody serves the root meanwhile
@test "a job that a verb builds is of whoever has all of its captures" {
    setup_users
    serves
    stop_service
    "$CAPTURE_MAKER" --quiet --ranks 1 --ops 2 --seed 4 bins
    "$CAPTURE_MAKER" --quiet --ranks 1 --ops 2 --seed 5 own
    chown -R bin bins
    chown -R daemon own
    "$ROLLCALL" archive add --job alice bins >/dev/null
    "$ROLLCALL" archive add --job own own >/dev/null
    "$ROLLCALL" build alice >/dev/null
    "$ROLLCALL" build --all >/dev/null
    service
    run as daemon "$ROLLCALL" jobs
    shows own
    ! grep -qw alice <<<"$output" || fail "$output"
    run as daemon "$ROLLCALL" archive ls alice
    expect_status 66
}

@test "a user who can read too little is told so, not that it is damaged" {
    setup_users
    "$CAPTURE_MAKER" --quiet --ranks 1 --ops 2 job
    "$ROLLCALL" archive add --job j job >/dev/null
    "$ROLLCALL" build j >/dev/null
    chown -R daemon root
    chown root root/segments/*
    chmod 600 root/segments/*
    for what in "verify" "verify j"; do
        # shellcheck disable=SC2086     # words
        run as daemon "$ROLLCALL" archive $what
        expect_status 77
        shows "root/segments/00000001: Permission denied"
        ! grep -q damaged <<<"$output" || fail "$output"
    done
    cp -p root/jobs/j/cluster_analysis_output/analysis.db former.db
    mkdir -m 0777 got
    for what in "build j" "archive get j got/j"; do
        # shellcheck disable=SC2086     # words
        run as daemon "$ROLLCALL" $what
        expect_status 77
        shows "root/segments/00000001: Permission denied"
    done
    cmp former.db root/jobs/j/cluster_analysis_output/analysis.db
    chmod 700 root
    for what in jobs "show j" trend "archive ls" "archive export j j.tar"; do
        # shellcheck disable=SC2086     # words
        run as bin "$ROLLCALL" $what
        expect_status 77
        shows "no service answers at $ROLLCALL_SOCKET (ROLLCALL_SOCKET)"
    done
}

@test "a user changes nothing, and is told who may" {
    setup_users
    serves --operator sys --operator @games
    for what in "archive tag alice x" "archive pin alice" "jobs merge bob alice" \
        "jobs --job alice --expect 3" "archive verify"; do
        # shellcheck disable=SC2086     # words
        run as daemon "$ROLLCALL" $what
        [ "$status" -ne 0 ]
    done
    for what in "verify" "verify alice" "export alice x.tar"; do
        # shellcheck disable=SC2086     # words
        run as daemon "$ROLLCALL" archive $what
        expect_status 77
        shows "archive ${what%% *} is only for users who can read the root"
    done
    run as daemon "$ROLLCALL" status "$PWD/root"
    expect_status 77
    run as daemon "$ROLLCALL" archive tag alice x
    expect_status 77
    shows "for operators of this root: its owner, root, sys, @games"
    run "$ROLLCALL" show alice
    ! grep -q "tag " <<<"$output"
    # nobody else's process is at his command
    run as daemon cat root/ledger.db
    [ "$status" -ne 0 ]
    is "mode of the root" 750 "$(stat -c %a root)"
    is "mode of its socket" 600 "$(stat -c %a root/control.sock)"
}

@test "operators, by name and by group, see and change all" {
    setup_users
    serves --operator sys --operator @games
    run as sys "$ROLLCALL" jobs
    expect_status 0
    shows bob
    shows both
    run as_member daemon games "$ROLLCALL" archive tag bob seen
    expect_status 0
    run "$ROLLCALL" show bob
    shows "by daemon"
    run as_member daemon games "$ROLLCALL" show bob
    expect_status 0
    run as bin "$ROLLCALL" archive rm both --apply
    expect_status 77
    for what in "rm both" gc; do
        # shellcheck disable=SC2086     # words
        run as sys "$ROLLCALL" archive $what
        expect_status 77
        shows "archive ${what%% *} --apply" "without a look"
    done
    run as sys "$ROLLCALL" archive rm both --apply
    expect_status 0
    shows "removed of job both: 2 captures"
    grep -q 'sys.*archive rm' root/audit.log || fail "$(cat root/audit.log)"
    run "$AGGREGATOR" --root other --operator nobody-of-this-name
    expect_status 2
    shows "no user nobody-of-this-name"
}

@test "without --socket a user has no way in, with another root it is said" {
    setup_users
    serves
    mkdir -m 0700 another
    run env ROLLCALL_ROOT="$open/another" setpriv --reuid daemon --regid daemon \
        --clear-groups "$ROLLCALL" show alice
    expect_status 66
    shows "has another root"
    stop_service
    [ ! -e "$ROLLCALL_SOCKET" ]
    run as daemon "$ROLLCALL" jobs
    expect_status 77
}

@test "a node reads nothing, whatever it says" {
    : "${WIRE_PEER:?names wire_peer}"
    service
    "$CAPTURE_MAKER" --quiet --ranks 1 --ops 2 job
    run agent --once --raw job
    expect_status 0
    run timeout 60 "$WIRE_PEER" snoop "tcp://127.0.0.1:$PORT" heard
    expect_status 0
    is "types that it heard" $'32\n33' "$output"
    for word in "$(ls job)" ASCEND profiler_metadata; do
        ! grep -aqF "$word" heard || fail "it heard of $word"
    done
    stop_service
}

status_has ()                       # DIR TEXT
{
    "$ROLLCALL" status "$1" | grep -q "$2"
}

@test "beyond a quota data waits, its agent says why, and goes on by itself" {
    service --quota-job 4kB
    "$CAPTURE_MAKER" --quiet --ranks 2 --ops 40 job
    watching --raw --quiet-period 1s job
    eventually status_has spool "delivery waits: quota of job j is full"
    eventually status_has root "job j: delivery waits: quota of job j is full"
    eventually status_has root "are stored"
    eventually grep -q 'event=quota .*the job itself has' service.log
    eventually says agent.log event=delivery-waits
    kill "$service"
    wait "$service"
    service --quota-job 1GB --quota-user 1GB --quota-root 1GB
    all_came () { [ "$(durable || echo 0)" -ge 10 ] 2>/dev/null; }
    eventually all_came
    holds_more () {
        [[ "$("$ROLLCALL" status --json root | tr -d ' \t\n')" =~ \"stored_bytes\":([0-9]+) ]] &&
            [ "${BASH_REMATCH[1]}" -gt 4000 ]
    }
    eventually holds_more
    ends_with 0
    stop_service
    run "$AGGREGATOR" --root root --quota-user alice=much
    expect_status 2
}

@test "run --raw --owner: files have their owner again, and not without it" {
    [ "$(id -u)" -eq 0 ] || skip "needs root, to give files away"
    for option in --owner --raw; do
        rm -rf caps
        run "$ROLLCALL" run -o "out$option" --raw $option --watch caps -- \
            sh -c '"$CAPTURE_MAKER" --quiet --ranks 1 --ops 2 caps &&
                   chown -R daemon:bin caps'
        expect_status 0
    done
    is "owner" daemon:bin "$(find out--owner/captures -name '*.csv' -printf '%u:%g\n' | sort -u)"
    is "without" root:root "$(find out--raw/captures -name '*.csv' -printf '%u:%g\n' | sort -u)"
}

@test "who may not make the default directories is told the options" {
    setup_users
    [ ! -e /var/lib/rollcall ] || skip "this host has a root"
    unset ROLLCALL_ROOT ROLLCALL_STATE
    run as daemon "$AGGREGATOR" --listen tcp://127.0.0.1:0
    expect_status 73
    shows "/var/lib/rollcall: Permission denied: name another directory with --root DIR"
    run as daemon "$ROLLCALL" archive add .
    shows "/var/lib/rollcall: Permission denied: name another directory with --root DIR"
    run as daemon "$ROLLCALL_BIN/rollcall-agent" --once .
    expect_status 73
    shows "cannot make directory /var/lib/rollcall-agent" \
        ": Permission denied: name another directory with --state DIR"
}
