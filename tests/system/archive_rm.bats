#!/usr/bin/env bats
# rollcall archive rm, prune and gc: what is removed stays removed, and is no
# loss

load service_helper

items ()                            # [WHERE]: in the ledger
{
    sqlite3 root/ledger.db "SELECT count(*) FROM item ${1:+WHERE $1}"
}

# The root is sound, also if its ledger is made from its segments.
sound ()
{
    run "$ROLLCALL" fsck aggregator
    expect_status 0
    rm -f root/ledger.db root/ledger.db-*
    run "$ROLLCALL" fsck aggregator --repair
    run "$ROLLCALL" fsck aggregator
    expect_status 0
    run "$ROLLCALL" archive verify
    expect_status 0
}

@test "archive rm: a rank is removed, says so, and does not come back" {
    local before

    deliver_raw_job
    before=$(items "rank=1")
    run "$ROLLCALL" archive rm j 1
    expect_status 0
    shows "to be removed of job j: 1 capture, $before files" "--apply does it"
    is "items" "$before" "$(items "rank=1")"
    [ ! -e root/audit.log ] || fail "a plan is in the log"
    run "$ROLLCALL" archive rm j 1 --apply
    expect_status 0
    is "items" 0 "$(items "rank=1")"
    eventually captures_are 2
    is "reason" 1 "$(sql "SELECT count(*) FROM Roster WHERE rank=1 AND
        state='missing' AND reason LIKE 'its captures were removed on % by %'")"
    # another agent, which knows of nothing, delivers all of it again
    rm -r spool
    run agent --once --raw job
    expect_status 0
    is "items" 0 "$(items "rank=1")"
    is "lines" 1 "$(grep -c event=removed-before service.log)"
    stop_service
    grep -q '"verb":"archive rm","job":"j","what":"1","captures":1' \
        root/audit.log || fail "$(cat root/audit.log)"
    sound
    is "items" 0 "$(items "rank=1")"
    # what is newer is taken as ever
    find "$(capture_of 1)" -type f -exec touch {} +
    service
    run agent --once job
    expect_status 0
    is "captures" 1 "$(items "rank=1 AND kind=1")"
}

@test "archive rm: a job is removed with its result, but not if it is pinned" {
    deliver_raw_job
    run "$ROLLCALL" archive rm nothing
    expect_status 66
    "$ROLLCALL" archive pin j
    run "$ROLLCALL" archive rm j --apply
    expect_status 77
    shows "job j is pinned"
    stop_service
    "$ROLLCALL" archive unpin j
    run "$ROLLCALL" archive rm j --apply --json
    expect_status 0
    shows '"all":' '"applied":'
    [ ! -e root/jobs/j ] || fail "its result is there"
    for verb in "jobs --job j" "show j" "build j" "archive ls j" \
        "archive rm j"; do
        # shellcheck disable=SC2086     # words
        run "$ROLLCALL" $verb
        expect_status 66
        shows "job j was removed on 20" " UTC by "
    done
    is "lines" "archive pin archive unpin archive rm" \
        "$(sed 's/.*"verb":"\([a-z ]*\)".*/\1/' root/audit.log | xargs)"
    sound
    is "items" 0 "$(items)"
    # an agent with all of it, and one that only knows what it delivered
    service
    run agent --once --raw job
    expect_status 0
    rm -r spool
    run agent --once --raw job
    expect_status 0
    is "items" 0 "$(items)"
    [ ! -e root/jobs/j ] || fail "its result is there"
}

segments ()
{
    find root/segments -type f -printf '%s\n' | awk '{ n += $1 } END { print n }'
}

@test "archive gc: frees what was removed, beside a service and without" {
    local before verify

    deliver_raw_job
    "$ROLLCALL" archive rm j 1 --apply
    before=$(segments)
    run "$ROLLCALL" archive gc
    expect_status 0
    shows "are not used" "can be freed, in 1 segment" "--apply does it"
    is "bytes" "$before" "$(segments)"
    run "$ROLLCALL" archive gc --apply
    expect_status 0
    shows "were freed, in 1 segment"
    # a busy agent may have sent the others as they are
    [ "$(segments)" -lt $((before - 10000)) ] || fail "$before: $(segments)"
    grep -q "event=collected .* segments=1" service.log ||
        fail "$(cat service.log)"
    run "$ROLLCALL" archive gc --apply
    shows "were freed, in 0 segments"
    # a version of a capture, and what has arrived since
    find "$(capture_of 1)" -type f -exec touch {} +
    run agent --once --raw job
    expect_status 0
    eventually captures_are 3
    stop_service
    "$ROLLCALL" archive rm j "$(basename "$(capture_of 2)")" --apply
    run "$ROLLCALL" archive gc --apply --unused 0 --json
    expect_status 0
    shows '"applied":'
    sound
    is "ranks" "0 1" "$(sqlite3 root/ledger.db \
        "SELECT DISTINCT rank FROM item ORDER BY rank" | xargs)"
    "$ROLLCALL" archive get j 0 out
    diff -r "$(capture_of 0)" "out/$(basename "$(capture_of 0)")" |
        grep -v "rollcall[.-][a-z]*$" && fail "it differs"
    # nothing is left of a root that is empty
    "$ROLLCALL" archive rm j --apply
    "$ROLLCALL" archive gc --apply
    [ "$(segments)" -lt 20000 ] || fail "$(segments) bytes are left"
    service
    run agent --once --raw job
    expect_status 0
}

@test "fsck: a tag and a pin that were withdrawn are no damage after a collection" {
    make --ranks 1 --steps 1 --ops 4
    "$ROLLCALL" archive add --root root --job j --tag one job
    "$ROLLCALL" archive add --root root --no-raw --job k --tag two job
    "$ROLLCALL" archive pin --root root j
    "$ROLLCALL" archive unpin --root root j
    "$ROLLCALL" archive untag --root root j one
    "$ROLLCALL" archive rm --root root j --apply
    run "$ROLLCALL" archive gc --root root --unused 0 --apply
    expect_status 0
    shows "were freed, in 1 segment"
    run "$ROLLCALL" fsck aggregator root
    expect_status 0
    shows "0 damaged"
    # the tag of k is told of still, with a ledger that is made of the records
    rm root/ledger.db*
    "$ROLLCALL" fsck aggregator --repair root || true
    run "$ROLLCALL" jobs --root root --json
    shows '"two"'
    [[ "$output" != *'"one"'* ]] || fail "$output"
    "$ROLLCALL" fsck aggregator root
}

jobs_are ()                         # NAME...
{
    [ "$(sqlite3 root/ledger.db "SELECT DISTINCT job FROM item ORDER BY job" |
        xargs)" = "$*" ]
}

@test "archive prune, and a service that does it by itself" {
    deliver_raw_job
    another_job k
    another_job l
    "$ROLLCALL" archive pin j
    "$ROLLCALL" archive tag k old
    run "$ROLLCALL" archive prune
    expect_status 2
    run "$ROLLCALL" archive prune --keep-last 1
    expect_status 0
    shows "pinned, and stays: job j" "to be removed: job k" "1 of 3 jobs"
    jobs_are j k l
    run "$ROLLCALL" archive prune --keep-last 1 --tag new
    expect_status 0
    shows "0 of 3 jobs"
    for bad in "--max-size 5" "--keep-last 0" "--keep-days 0"; do
        # shellcheck disable=SC2086     # words
        run "$ROLLCALL" archive prune $bad --apply
        expect_status 2
        # shellcheck disable=SC2086     # words
        run "$AGGREGATOR" --root root $bad
        expect_status 2
    done
    jobs_are j k l
    "$ROLLCALL" archive tag l old
    run "$ROLLCALL" archive prune --keep-last 1 --tag old --apply
    expect_status 0
    shows "removed job k"
    "$ROLLCALL" archive untag l old
    jobs_are j l
    another_job m
    run "$ROLLCALL" archive prune --max-size 1GB --json
    expect_status 0
    shows '"removed":'
    stop_service
    service --keep-last 1 --keep-days "old=9"
    eventually jobs_are j m
    reported () { grep -q "event=retention jobs=3 removed=1 " service.log; }
    eventually reported
    collected () { grep -q "event=collected" service.log; }
    eventually collected
    [ ! -e root/jobs/l ] || fail "its result is there"
    grep -q '"user":"service","verb":"retention","job":"l"' root/audit.log ||
        fail "$(cat root/audit.log)"
    stop_service
    sound
    run "$AGGREGATOR" --keep-days x
    expect_status 2
}

of_environment ()                   # how many values of it the result has
{
    sql "SELECT count(*) FROM CaptureInfo WHERE kind='environment'"
}

# What prune --forget-metadata-after asks for, of a job that is too young for it.
@test "archive prune: the environment of a job is forgotten, its rows are not" {
    local rows

    command -v python3 >/dev/null || skip "needs python3"
    deliver_raw_job
    [ "$(of_environment)" -gt 0 ] || fail "there is none"
    rows=$(sql "SELECT count(*) FROM CommAnalyzerTime")
    run "$ROLLCALL" archive prune --forget-metadata-after 1
    expect_status 0
    [[ "$output" != *"to be forgotten"* ]] || fail "$output"
    (cd root && python3 -c "import socket
s = socket.socket (socket.AF_UNIX)
s.connect ('control.sock')
s.send (b'{\"do\": \"forget\", \"job\": \"j\", \"by\": \"me\", \"uid\": 7}\n')
print (s.recv (4096))") >answer
    grep -q '"ok":true' answer || fail "$(cat answer)"
    forgotten () { [ "$(of_environment)" = 0 ] && captures_are 3; }
    eventually forgotten
    is "rows" "$rows" "$(sql "SELECT count(*) FROM CommAnalyzerTime")"
    # who it was is what the kernel says, not what the request says
    grep -q '"uid":0,"user":"root","verb":"archive prune","job":"j","what":"command and' \
        root/audit.log || fail "$(cat root/audit.log)"
    stop_service
    sound
    "$ROLLCALL" build j
    is "environment" 0 "$(of_environment)"
}

@test "archive add: what was removed and is added again is there, also in a new ledger" {
    local before served

    for served in yes no; do
        rm -rf root spool job
        deliver_raw_job
        before=$(items superseded=0)
        "$ROLLCALL" archive rm j 1 --apply >/dev/null
        [ "$(items superseded=0)" -lt "$before" ] || fail "nothing was removed"
        [ $served = yes ] || stop_service
        run "$ROLLCALL" archive add --job j job
        expect_status 0
        is "items" "$before" "$(items superseded=0)"
        [ $served = no ] || stop_service
        sound
        is "items of a new ledger" "$before" "$(items superseded=0)"
    done
}
