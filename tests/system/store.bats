#!/usr/bin/env bats
# tests/system/store.bats - the segments of a service, in an object store.  In the
# build with fault points a segment has 64 KiB.

load service_helper
load store_helper

each_has_store

# store_says NAME: of the service's status
store_is ()                         # NAME VALUE
{
    [ "$(store_says "$1")" = "$2" ]
}

# deliver JOB [OPTION of the maker]...: several segments
deliver ()
{
    local job=$1

    shift
    rm -rf "$job"
    "$CAPTURE_MAKER" --quiet --ranks 2 --ops "${OPS:-600}" --extras "$@" "$job"
    run agent --once --raw --job "$job" "$job"
    expect_status 0
}

sealed ()                           # the paths of all but the last segment
{
    find root/segments -type f -size +0 | sort | sed '$d'
}

# all_stored: each sealed segment is in the store, byte by byte, and nothing waits
all_stored ()
{
    local path n=0

    # the last one is sealed when the next one is begun
    as_sealed () { store_is stored "$(sealed | wc -l)" && store_is waiting 0; }
    eventually as_sealed || fail "$(store_says why)" || return
    for path in $(sealed); do
        object check "$(cat root/id)/segments/${path##*/}" "$path"
        expect_status 0
        n=$((n + 1))
    done
    [ "$n" -ge 3 ] || fail "only $n segments were sealed"
}

fsck_store ()                       # [OPTION]...
{
    run "$ROLLCALL" fsck aggregator --store "$STORE" "$@" root
}

# bats test_tags=faults
@test "segments go to the store when they are sealed, once" {
    ulimit -c 4096 2>/dev/null || true
    service --store "$STORE"
    # credentials would be in a core file
    [ "$(awk '/Max core file size/ { print $5 }' "/proc/$service/limits")" -le 1 ]
    deliver j
    all_stored
    puts=$(counted requests.PUT)
    [[ "$(cat service.log)" != *testsecret* ]]
    stop_service
    service --store "$STORE"
    all_stored
    is "PUTs of the next life, of a probe" 1 $(($(counted requests.PUT) - puts))
    stop_service
    fsck_store
    expect_status 0
    shows "0 holes, 0 orphans, 0 uploads"
}

# bats test_tags=faults
@test "a store that is away delays nothing, and gets everything later" {
    stop_proxy
    service --store "$STORE"
    deliver j
    has_failed () { [ -n "$(store_says why)" ] && [ "$(store_says waiting)" -gt 0 ]; }
    eventually has_failed
    run "$ROLLCALL" status root
    shows "wait for upload since 20" "$STORE is known to have 0 segments (0 B): it has not"
    eventually says service.log event=store-failed
    start_proxy
    faults '[{"fault": "500", "times": 2}, {"fault": "slowdown", "times": 2},
             {"fault": "cut", "method": "PUT", "times": 2},
             {"fault": "lost-answer", "method": "PUT", "times": 2},
             {"fault": "cut-answer", "method": "GET", "times": 1}]'
    all_stored
    eventually says service.log event=store-back
    is "no signature was wrong" 0 "$(counted refused.SignatureDoesNotMatch)"
    stop_service
}

@test "a service that begins while its store is away says what the store has" {
    local n

    service --store "$STORE" --store-after 1s
    OPS=10 deliver early
    has_some () { [ "$(store_says stored)" -ge "$1" ] && store_is waiting 0; }
    eventually has_some 1
    run "$ROLLCALL" status root
    shows "$STORE has "
    stop_service
    stop_proxy
    service --store "$STORE" --store-after 1s --cache-size 1MB
    n=$(store_says stored)          # what was noted of the build may wait
    [ "$n" -ge 1 ] || fail "none is known"
    OPS=10 deliver late
    some_wait () { [ "$(store_says waiting)" -ge 1 ]; }
    eventually some_wait
    run "$ROLLCALL" status root
    shows "$STORE is known to have $n segment" "it has not answered since" \
        "for upload since 20"
    [[ "$output" != *"0 B of segments are here"* ]]
    start_proxy
    eventually has_some $((n + 1))
    run "$ROLLCALL" status root
    shows "$STORE has "
    [[ "$output" != *"is known to have"* ]] || fail "$output"
    stop_service
}

# Whoever reads the log would think that it is away until the next restart.
@test "a store that is back before anything is uploaded is said to be back" {
    stop_proxy
    service --store "$STORE" --store-after 1s
    says service.log event=store-failed
    start_proxy
    deliver j
    eventually says service.log event=store-back
    stop_service
}

# bats test_tags=faults
@test "killed at any time, each segment is there once" {
    service --store "$STORE"
    faults '[{"fault": "slow", "rate": 100000, "method": "HEAD"}]'
    deliver j
    for i in 1 2 3; do
        kill_service
        service --store "$STORE"
    done
    faults '[]'
    all_stored
    stop_service
    fsck_store
    expect_status 0
}

# bats test_tags=faults
@test "what the collection empties is deleted there, too" {
    service --store "$STORE"
    deliver j
    deliver k --seed 7
    all_stored
    "$ROLLCALL" archive --root root rm j --apply
    "$ROLLCALL" archive --root root gc --apply --unused 0
    # not before what was alive in it is there elsewhere
    [ -n "$(ls root/store/gone)" ]
    stop_service
    service --store "$STORE" --store-after 1s
    deleted () { [ "$(store_says deleted)" -ge 1 ]; }
    eventually deleted
    none_waits () { [ -z "$(ls root/store/gone)" ]; }
    eventually none_waits
    stop_service
    fsck_store
    expect_status 0
    shows "0 orphans"
}

# bats test_tags=faults
@test "holes, orphans and lost uploads are found" {
    service --store "$STORE"
    deliver j
    all_stored
    stop_service
    id=$(cat root/id)
    object rm "$id/segments/00000002"
    object put "$id/segments/00000099" root/segments/00000001
    head -c 40000000 /dev/zero >large
    faults '[{"fault": "cut", "method": "PUT", "skip": 1}]'
    object --tries 1 put "$id/segments/00000098" large
    expect_status 1
    faults '[{"fault": "stale-list"}]'
    object put "$id/segments/00000097" root/segments/00000001
    fsck_store
    expect_status 1
    shows "segment 2 counts as stored in $STORE, and is not there" \
        "$id/segments/00000099 has no segment here" "1 hole, 1 orphan, 1 upload"
    object rm "$id/segments/00000097"
    faults '[]'
    fsck_store --repair --store-endpoint "http://localhost:$STORE_PORT"
    shows "not at http://localhost:$STORE_PORT: nothing is repaired"
    fsck_store --store-proxy http://127.0.0.1:1
    shows "127.0.0.1 port 1" "in order: " # what is here is checked, too
    fsck_store --repair --delete-orphans
    expect_status 1
    service --store "$STORE"
    all_stored
    stop_service
    fsck_store
    expect_status 0
}

# bats test_tags=faults
@test "an object with other bytes is not written over" {
    service --store "$STORE"
    deliver j
    all_stored
    stop_service
    id=$(cat root/id)
    object put "$id/segments/00000001" root/segments/00000002
    rm -r root/store
    service --store "$STORE"
    conflict () { says service.log event=store-conflict; }
    eventually conflict
    eventually store_is conflicts 1
    object check "$id/segments/00000001" root/segments/00000002
    expect_status 0
    # until somebody has removed it
    object rm "$id/segments/00000001"
    over () { store_is conflicts 0 && store_is waiting 0; }
    eventually over
    is "why" "" "$(store_says why)"
    object check "$id/segments/00000001" root/segments/00000001
    expect_status 0
    stop_service
}

# refused TEXT [OPTION]...: what was given cannot be, in a sentence
refused ()
{
    local text=$1

    shift
    run "$AGGREGATOR" --root root "$@"
    expect_status 2
    shows "$text"
    [[ "$output" != *hidden* ]]
    [ ! -e root ]
}

@test "what cannot be a store is refused" {
    refused "s3://BUCKET/PREFIX is expected" --store /var/lib
    refused "without --job" --store s3://bucket --job j
    refused "endpoint" --store s3://bucket --store-endpoint \
        http://user:hidden@host
    refused "cannot read certificates from none" --store s3://bucket \
        --store-ca none
    refused "the least is 1M" --store s3://bucket --cache-size 5
    refused "--cache-size needs --store" --cache-size 1G
    refused "--store-endpoint needs --store" --store-endpoint http://host
    refused "--store-ca needs --store" --store-ca none
    refused "--store-proxy needs --store" --store-proxy http://host
    refused "--store-rate needs --store" --store-rate 1M
    refused "5 bytes a second would send nothing: the least is 64k" \
        --store "$STORE" --store-rate 5
    refused "--store-after needs --store" --store-after 1s
    run "$ROLLCALL" fsck aggregator --store /var/lib root
    expect_status 2
    run "$ROLLCALL" fsck aggregator --delete-orphans root
    expect_status 2
    shows "needs --store"
}

@test "the library is loaded by the first request to a store only" {
    for program in "$ROLLCALL" "$AGGREGATOR" "$AGENT"; do
        run ldd "$program"
        [[ "$output" != *libcurl* ]] || fail "$program needs libcurl"
    done
    service
    ! grep libcurl "/proc/$service/maps"
    stop_service
}

# deliver job j, and wait until nothing but heads, lists and items is here
let_go ()
{
    OPS=2500                        # more than the least cache
    # all of it in one segment: a slow delivery would be divided by --store-after,
    # and what is below the least cache stays
    service
    deliver j
    stop_service
    service --store "$STORE" --store-after 1s --cache-size 1M
    went () {
        [ "$(store_says evicted)" -ge 1 ] && store_is waiting 0 &&
            [ "$(store_says local_bytes)" -lt 300000 ]
    }
    eventually went || fail "$(store_says why)"
}

# frugal rows|all COMMAND...: it goes well, and reads at most 1.1 of that from the
# store, with no more requests than there are chunks
frugal ()
{
    local bytes chunks read reads

    read -r bytes chunks <<<"$(needed "$1")"
    [ "$bytes" -gt 500000 ] || fail "only $bytes bytes are there" || return
    shift
    read=$(counted read) reads=$(counted reads)
    run "$@"
    expect_status 0
    read=$(($(counted read) - read)) reads=$(($(counted reads) - reads))
    echo "$read of $bytes bytes, $reads requests for $chunks chunks: $*"
    [ "$read" -le $((bytes * 11 / 10)) ] && [ "$read" -ge $((bytes / 2)) ] &&
        [ "$reads" -le "$chunks" ]
}

@test "what was let go is read from the store, by each who reads" {
    RESULT=root/jobs/j/cluster_analysis_output/analysis.db
    OPS=2500
    service
    deliver j
    stop_service
    "$ROLLCALL" build --root root j >/dev/null
    rows=$("$ROLLCALL" fsck result "$RESULT" | sed 's/.*: //')
    before=$(du -s --block-size=1 root/segments | cut -f 1)
    let_go
    [ "$(du -s --block-size=1 root/segments | cut -f 1)" -lt $((before / 2)) ]
    run "$ROLLCALL" status root
    shows "of segments are here, of at most "
    frugal all "$ROLLCALL" archive --root root verify
    frugal all "$ROLLCALL" archive --root root verify --deep
    frugal all "$ROLLCALL" archive --root root get j back
    for dir in back/*_ascend_pt; do
        diff -r -x rollcall.shipment -x .rollcall-job "$dir" "j/${dir##*/}"
    done
    stop_service
    rm -r root/jobs
    frugal rows "$ROLLCALL" build --root root j
    is "rows" "$rows" "$("$ROLLCALL" fsck result "$RESULT" | sed 's/.*: //')"
    run "$ROLLCALL" fsck aggregator root
    expect_status 0
    shows "are only in the object store"
    fsck_store
    expect_status 0
    frugal all "$ROLLCALL" backup --root root bak
    run "$ROLLCALL" restore bak again
    expect_status 0
    env -u AWS_ENDPOINT_URL "$ROLLCALL" archive --root again verify
    # the ledger, from what is here
    rm -r root/ledger.db* root/catalogue.db*
    run "$ROLLCALL" fsck aggregator --repair root
    expect_status 1
    run "$ROLLCALL" archive --root root verify
    expect_status 0
    run "$ROLLCALL" jobs --root root
    shows j
    run "$ROLLCALL" build --root root j
    expect_status 0
    is "rows" "$rows" "$("$ROLLCALL" fsck result "$RESULT" | sed 's/.*: //')"
}

@test "a store that is away is named by each who needs it" {
    let_go
    stop_service
    stop_proxy
    run "$ROLLCALL" archive --root root verify
    expect_status 74
    shows "segment 1 is not here any more" "s3://bucket/pre"
    run "$ROLLCALL" archive --root root get j 0 back
    expect_status 73
    shows "segment 1 is not here any more"
    run "$ROLLCALL" build --root root j
    expect_status 74
    shows "segment 1 is not here any more"
    run "$ROLLCALL" backup --root root bak
    expect_status 74
    shows "segment 1 is not here any more"
    run "$ROLLCALL" fsck aggregator root
    expect_status 0
    unset AWS_ACCESS_KEY_ID
    start_proxy
    run "$ROLLCALL" archive --root root verify
    shows "segment 1 is not here any more" "AWS_ACCESS_KEY_ID"
    # a service goes on taking in, and says that it cannot build
    export AWS_ACCESS_KEY_ID=TESTKEY
    faults '[{"fault": "500", "method": "GET"}]'
    service --store "$STORE" --store-after 1s --cache-size 1M
    deliver k --seed 7
    stop_service
    faults '[]'
    run "$ROLLCALL" archive --root root verify
    expect_status 0
}

@test "what is alive in a segment that was let go is copied out of the store" {
    let_go
    deliver k --seed 7
    both () { [ "$(store_says evicted)" -ge 2 ] && store_is waiting 0; }
    eventually both || fail "$(store_says why)"
    "$ROLLCALL" archive --root root rm j --apply
    faults '[{"fault": "denied", "method": "DELETE"}]'
    "$ROLLCALL" archive --root root gc --apply --unused 0
    refused () { [[ "$(store_says why)" == *AccessDenied* ]]; }
    eventually refused
    faults '[]'
    none_waits () { [ -z "$(ls root/store/gone)" ]; }
    eventually none_waits
    run "$ROLLCALL" archive --root root verify
    expect_status 0
    stop_service
    fsck_store
    expect_status 0
    shows "0 holes, 0 orphans"
}

@test "an object that was deleted by others is uploaded again before its copy goes" {
    OPS=2500
    service --store "$STORE" --store-after 1s
    deliver j
    one () { [ "$(store_says stored)" -ge 1 ] && store_is waiting 0; }
    eventually one
    stop_service
    object rm "$(cat root/id)/segments/00000001"
    service --store "$STORE" --store-after 1s --cache-size 1M
    went () { [ "$(store_says evicted)" -ge 1 ]; }
    eventually went || fail "$(store_says why)"
    is lost 1 "$(store_says lost)"
    # marks that were removed are found out again
    stop_service
    rm -r root/store
    run "$ROLLCALL" archive --root root verify
    expect_status 1
    service --store "$STORE" --store-after 1s --cache-size 1M
    again () { [ -f root/store/00000001 ] && store_is waiting 0; }
    eventually again
    run "$ROLLCALL" archive --root root verify
    expect_status 0
    stop_service
    run "$AGGREGATOR" --root root --store s3://bucket/other
    expect_status 73
    shows "segment 1 is only in s3://bucket/pre"
}

# What is only there is lost with it, and is named; whoever has it delivers it again.
@test "an object that was deleted by others when it was the only copy is named by a repair" {
    let_go
    stop_service
    object rm "$(cat root/id)/segments/00000001"
    run "$ROLLCALL" archive --root root verify
    expect_status 74
    shows "NoSuchKey" "fsck aggregator --repair --store $STORE root names"
    # as it is printed: the root knows where that store is
    run env -u AWS_ENDPOINT_URL "$ROLLCALL" fsck aggregator --repair --store "$STORE" root
    expect_status 1
    shows "segment 1 counts as stored in $STORE, and is not there" \
        "job j rank 0" "job j rank 1" "1 hole"
    fsck_store
    expect_status 0
    service --store "$STORE" --store-after 1s --cache-size 1M
    run agent --once --raw --job j j
    expect_status 0
    again () { "$ROLLCALL" archive --root root verify; }
    eventually again
    stop_service
}

# other_etag: the mark of segment 1 has another one than the object
other_etag ()
{
    sed 's/"etag": *"[^"]*"/"etag":"other"/' root/store/00000001 >mark
    cmp mark root/store/00000001 && fail "it has no etag"
    cp mark root/store/00000001
}

# bats test_tags=faults
@test "an object with another etag is compared before it is blamed" {
    service --store "$STORE"
    deliver j
    all_stored
    stop_service
    key=$(cat root/id)/segments/00000001
    other_etag
    fsck_store
    expect_status 0
    shows "0 holes" "1 of the objects has another etag than before, and was read: --repair"
    grep -q '"other"' root/store/00000001
    fsck_store --repair
    expect_status 0
    [[ "$output" != *"another etag"* ]]
    ! grep -q '"other"' root/store/00000001 || fail "the new etag was not noted"
    # damage here says nothing of the object, which is perhaps the last copy
    cp root/segments/00000001 whole
    printf '\377' | dd of=root/segments/00000001 bs=1 seek=2000 conv=notrunc status=none
    other_etag
    fsck_store
    expect_status 1
    shows "segment 1 is damaged here: whether its object" "0 holes" "1 damaged"
    cp whole root/segments/00000001
    fsck_store --repair
    expect_status 0
    # of the same size
    head -c "$(stat -c %s root/segments/00000001)" /dev/zero >zeros
    object put "$key" zeros
    fsck_store
    expect_status 1
    shows "segment 1 counts as stored in $STORE, and has other bytes there" "1 hole"
    fsck_store --repair
    shows "it is uploaded again once that object is deleted"
    object rm "$key"
    service --store "$STORE"
    all_stored
    stop_service
    fsck_store
    expect_status 0
}

@test "an object with another etag is read if the segment was let go" {
    let_go
    stop_service
    key=$(cat root/id)/segments/00000001
    size=$(stat -c %s root/segments/00000001)
    "$OBJECT_TOOL" "$STORE" get "$key" 0 "$size" >copy
    other_etag
    fsck_store
    expect_status 0
    shows "0 holes"
    # a byte in the first hole differs
    python3 -c 'import os, sys
at = os.lseek(os.open(sys.argv[1], os.O_RDONLY), 0, os.SEEK_HOLE) + 5
with open(sys.argv[2], "r+b") as f:
    f.seek(at)
    old = f.read(1)
    f.seek(at)
    f.write(bytes([old[0] ^ 1]))' root/segments/00000001 copy
    object put "$key" copy
    fsck_store --repair
    expect_status 1
    shows "segment 1 is only in $STORE, and 1 of its " "rollcall archive verify" "1 hole"
    grep -q '"whole"' root/store/00000001
    # it was cut, or has more: what is right is not given up
    "$OBJECT_TOOL" "$STORE" get "$key" 0 "$size" >copy
    head -c $((size / 2)) copy >half
    object put "$key" half
    fsck_store --repair
    expect_status 1
    shows "segment 1 is only in $STORE, and " " have other bytes: " "1 hole"
    cp copy more
    echo >>more
    object put "$key" more
    fsck_store
    expect_status 1
    shows "and 1 of its " "1 hole"
    # none of it is right
    head -c "$size" /dev/zero >zeros
    object put "$key" zeros
    fsck_store
    expect_status 1
    shows "and has other bytes there: its contents are lost; --repair names them"
    fsck_store --repair
    expect_status 1
    shows "job j rank 0" "job j rank 1"
    fsck_store
    expect_status 0
}

# wrong TEXT [OPTION]...: a service does not begin with that, and says why
wrong ()
{
    local text=$1

    shift
    run timeout "$LIMIT" "$AGGREGATOR" --root new --listen \
        "tcp://127.0.0.1:$PORT" "$@"
    [ "$status" != 0 ] && [ "$status" != 124 ] || fail "status $status" || return
    shows event=start-failed "$text"
    [[ "$output" != *testsecret* ]]
}

@test "a service does not begin with a store that is wrong" {
    choose_port
    wrong "there is no bucket elsewhere" --store s3://elsewhere/pre
    faults '[{"fault": "skew", "off": 3600}]'
    wrong "the clock of this machine is 3" --store "$STORE"
    faults '[{"fault": "denied"}]'
    wrong "AccessDenied" --store s3://bucket/theirs
    faults '[{"fault": "denied", "method": "PUT"}]'
    wrong "cannot write" --store s3://bucket/theirs
    faults '[{"fault": "expired", "token": ""}]'
    wrong "have to be renewed there" --store "$STORE"
    faults '[]'
    AWS_SECRET_ACCESS_KEY=x wrong "SignatureDoesNotMatch" --store "$STORE"
    shows "the store does not take the credentials of the environment"
    faults '[{"fault": "denied", "method": "DELETE"}]'
    service --store "$STORE"
    for text in event=store-failed "cannot delete" AccessDenied; do
        says service.log "$text"
    done
    stop_service
    command -v openssl >/dev/null || return 0
    openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out cert.pem \
        -days 2 -subj /CN=127.0.0.1 -addext subjectAltName=IP:127.0.0.1 \
        2>/dev/null
    stop_proxy
    start_proxy --tls cert.pem key.pem
    wrong "TLS" --store "$STORE"
}

# known TEXT [OPTION]...: one that has worked with it goes on, and says why not
known ()
{
    local text=$1

    shift
    service --store-after 1s "$@"
    deliver j --seed "$((++seed))"
    said () { [[ "$(store_says why)" == *"$text"* ]]; }
    eventually said || fail "$(store_says why)"
    stop_service
}

@test "what is wrong with the store later is named, and delivery goes on" {
    seed=0
    service --store "$STORE"
    stop_service
    faults '[{"fault": "skew", "off": 3600}]'
    known "the clock of this machine is 3" --store "$STORE"
    faults '[{"fault": "denied"}]'
    known "AccessDenied" --store "$STORE"
    faults '[]'
    known "127.0.0.1 port 1" --store "$STORE" --store-proxy http://127.0.0.1:1
    # until the root is full
    faults '[{"fault": "denied"}]'
    service --store "$STORE" --store-after 1s --disk-floor 100%
    full () { [[ "$("$ROLLCALL" status root)" == *disk-floor*wait*AccessDenied* ]]; }
    eventually full
    stop_service
    faults '[]'
    # all of it is there in the end
    service --store "$STORE" --store-after 1s
    none_waits () { store_is waiting 0; }
    eventually none_waits
    stop_service
    fsck_store
    expect_status 0
    run "$ROLLCALL" archive --root root verify
    expect_status 0
}

keys ()                             # ID SECRET: the file of credentials has these
{
    printf '[default]\naws_access_key_id = %s\naws_secret_access_key = %s\n' "$@" >credentials.new
    mv credentials.new credentials
}

@test "credentials that are replaced or corrected are read while the service runs" {
    said () { [[ "$(store_says why)" == *"$1"* ]]; }
    more_than () { [ "$(store_says stored)" -gt "$1" ] && store_is waiting 0; }

    unset AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY
    export AWS_SHARED_CREDENTIALS_FILE=$PWD/credentials
    keys TESTKEY testsecret
    service --store "$STORE" --store-after 1s
    stop_service
    # a service that knows its store begins, too, with what the store refuses
    keys TESTKEY wrong
    service --store "$STORE" --store-after 1s
    OPS=10 deliver j
    eventually said "SignatureDoesNotMatch: the store does not take the credentials of the file"
    keys TESTKEY testsecret
    eventually more_than 0 || fail "$(store_says why)"
    # there is another key, and then the former one is deleted
    stop_proxy
    start_proxy --key S3RVER:S3RVER
    OPS=10 deliver k --seed 2
    eventually said InvalidAccessKeyId
    n=$(store_says stored)
    keys S3RVER S3RVER
    eventually more_than "$n" || fail "$(store_says why)"
    is "why" "" "$(store_says why)"
    stop_service
    fsck_store
    expect_status 0
    shows "0 holes, 0 orphans, 0 uploads"
    [[ "$(cat service.log)" != *testsecret* ]]
}

# core_limit COMMAND...: of a process that asks the store, which does not answer
core_limit ()
{
    local before verb

    before=$(counted fault.silent)
    "$@" >verb.log 2>&1 3>&- &
    verb=$!
    asks () { [ "$(counted fault.silent)" -gt "$before" ]; }
    eventually asks || fail "$(cat verb.log)"
    [ "$(awk '/Max core file size/ { print $5 }' "/proc/$verb/limits")" -le 1 ] ||
        fail "$*: $(cat "/proc/$verb/limits")"
    kill -KILL "$verb"
    wait "$verb" || true
}

@test "a verb that asks the store leaves no core file" {
    ulimit -c 4096 2>/dev/null || true
    service --store "$STORE"
    stop_service
    faults '[{"fault": "silent", "s": 60}]'
    core_limit "$ROLLCALL" restore --store "$STORE" new
    core_limit "$ROLLCALL" fsck aggregator --store "$STORE" root
}

@test "a root of a backup does not touch the objects of the one that lives" {
    service --store "$STORE" --store-after 1s
    deliver j
    one () { [ "$(store_says stored)" -ge 1 ] && store_is waiting 0; }
    eventually one
    stop_service
    "$ROLLCALL" backup --root root bak >/dev/null
    "$ROLLCALL" restore bak new >/dev/null
    choose_port
    wrong "are those of another root with this id" --store "$STORE"
    shows "$TEST_DIR/root since 20" "--take-over new"
    run "$ROLLCALL" fsck aggregator --store "$STORE" --delete-orphans new
    expect_status 77
    # the first one is gone for good
    run "$ROLLCALL" fsck aggregator --store "$STORE" --take-over new
    expect_status 0
    mv root old
    mv new root
    # what comes now is not written behind what is there
    service --store "$STORE" --store-after 1s
    deliver k --seed 7
    eventually one
    is "conflicts" 0 "$(store_says conflicts)"
    stop_service
    fsck_store
    expect_status 0
    shows "0 holes, 0 orphans"
}

@test "a root that is gone for good is taken over from the store alone" {
    RESULT=root/jobs/j/cluster_analysis_output/analysis.db
    let_go
    built () { [ -f "$RESULT" ]; }
    eventually built
    rows=$("$ROLLCALL" fsck result "$RESULT" | sed 's/.*: //')
    # what comes now is not uploaded: it is lost with the root
    faults '[{"fault": "denied", "method": "PUT"}]'
    deliver k --seed 7
    stop_service
    faults '[]'
    id=$(cat root/id)
    # another root with the same prefix
    object put "0123456789abcdef0123456789abcdef/segments/00000001" /etc/passwd
    mv root old
    run "$ROLLCALL" restore --store "$STORE" root
    expect_status 2
    shows "choose one with --root-id" "$id: " "$TEST_DIR/root since" \
        "0123456789abcdef0123456789abcdef"
    run "$ROLLCALL" restore --store "$STORE" --root-id 00 root
    expect_status 66
    run "$ROLLCALL" restore --store s3://bucket/none root
    expect_status 66
    run "$ROLLCALL" restore --store "$STORE" --store-proxy http://127.0.0.1:1 root
    shows "127.0.0.1 port 1"
    [ ! -e root ]
    object rm "0123456789abcdef0123456789abcdef/segments/00000001"
    size=$(stat -c %s old/segments/00000001)
    # what is damaged on its way is asked for once more
    faults '[{"fault": "flip", "method": "GET", "key": "segments/", "times": 3}]'
    run "$ROLLCALL" restore --store "$STORE" flipped
    expect_status 0
    run "$ROLLCALL" archive --root flipped verify
    expect_status 0
    faults '[]'
    before=$(counted read)
    run "$ROLLCALL" restore --store "$STORE" root
    expect_status 0
    shows "which stay in the store" "1 job, 0 known" "agents that still have it deliver it again"
    [ $(($(counted read) - before)) -lt $((size / 2)) ] ||
        fail "read $(($(counted read) - before)) of $size"
    [ "$(cat root/id)" = "$id" ]
    # the new one is whole, and the first one keeps its hands off
    run "$ROLLCALL" archive --root root verify
    expect_status 0
    frugal all "$ROLLCALL" archive --root root get j back
    for dir in back/*_ascend_pt; do
        diff -r -x rollcall.shipment -x .rollcall-job "$dir" "j/${dir##*/}"
    done
    service --store "$STORE" --store-after 1s --cache-size 1M
    eventually built
    is rows "$rows" "$("$ROLLCALL" fsck result "$RESULT" | sed 's/.*: //')"
    deliver k --seed 7              # the agent has it still
    two () { [ "$(store_says stored)" -ge 2 ] && store_is waiting 0; }
    eventually two || fail "$(store_says why)"
    stop_service
    fsck_store
    expect_status 0
    shows "0 holes, 0 orphans"
    mv root new
    mv old root
    service --store "$STORE" --store-after 1s
    others () { [[ "$(store_says why)" == *"another root with this id"* ]]; }
    eventually others
    stop_service
}

@test "a root is made of all segments, also of those that an older list lacks" {
    service --store "$STORE" --store-after 1s
    deliver j
    one () { [ "$(store_says stored)" -ge 1 ] && store_is waiting 0; }
    eventually one || fail "$(store_says why)"
    faults '[{"fault": "stale-list"}]'
    deliver k --seed 7
    two () { [ "$(store_says stored)" -ge 2 ] && store_is waiting 0; }
    eventually two || fail "$(store_says why)"
    stop_service
    mv root old
    run "$ROLLCALL" restore --store "$STORE" root
    expect_status 0
    shows "2 jobs"
    run "$ROLLCALL" archive --root root verify
    expect_status 0
    for job in j k; do
        is "captures of $job" "$("$ROLLCALL" archive ls --root old "$job" | wc -l)" \
            "$("$ROLLCALL" archive ls --root root "$job" | wc -l)"
    done
}

@test "a root that still lives is not taken over unseen" {
    service --store "$STORE" --store-after 1s
    deliver j
    one () { [ "$(store_says stored)" -ge 1 ] && store_is waiting 0; }
    eventually one || fail "$(store_says why)"
    # while it is read, more comes
    faults '[{"fault": "slow", "rate": 4000, "method": "GET", "key": "segments/",
              "times": 1}]'
    "$ROLLCALL" restore --store "$STORE" new >restored 2>&1 3>&- &
    restoring=$!
    is_slow () { [ "$(counted fault.slow)" -ge 1 ]; }
    eventually is_slow || fail "$(cat restored)"
    kill -STOP $restoring
    deliver k --seed 7
    # not the next one, which is open and empty
    last=$((10#$(find root/segments -type f -size +0 -printf '%f\n' | sort | tail -n 1)))
    two () { [ -e "$(printf root/store/%08d $last)" ] && store_is waiting 0; }
    eventually two || fail "$(store_says why)"
    kill -CONT $restoring
    status=0 output=
    wait $restoring || status=$?
    expect_status 75
    says restored "still lives"
    # it does nothing there any more, and the next one gets all of it
    deliver l --seed 8
    others () { [[ "$(store_says why)" == *"another root with this id"* ]]; }
    eventually others
    stop_service
    run "$ROLLCALL" restore --store "$STORE" newer
    expect_status 0
    run "$ROLLCALL" jobs --root newer
    shows j k
    # what the former one sends late is in no one's way
    next=$(ls root/segments | tail -n 1)
    object put "$(cat root/id)/segments/$next" root/segments/00000001
    rm -r root
    mv newer root
    service --store "$STORE" --store-after 1s
    deliver l --seed 8
    eventually one || fail "$(store_says why)"
    is conflicts 0 "$(store_says conflicts)"
    stop_service
}

# killed_at FAULT COUNT: a service is killed when COUNT says that its first request
# of an upload, behind four of a probe, got no answer; the next one at its second,
# and so on, until one ends all before that
killed_at ()
{
    local n=4

    fell () { [ "$(counted "$count")" -gt "$before" ]; }
    ended () { fell || { [ "$(store_says stored)" -ge 2 ] && store_is waiting 0; }; }
    count=$2
    while [ $n -lt 30 ]; do
        before=$(counted "$count")
        faults "[{\"fault\": \"$1\", \"skip\": $n}]"
        service --store "$STORE" --store-after 1s
        eventually ended || fail "$("$ROLLCALL" status --json root)" || return
        fell || break
        kill_service
        n=$((n + 1))
    done
    stop_service
    faults '[]'
    [ $n -ge 10 ] || fail "only $((n - 4)) kills"
}

# two segments, the first one in three parts
two_segments ()
{
    stop_proxy
    service --store "$STORE" --store-after 1s
    "$CAPTURE_MAKER" --quiet --ranks 1 --ops 50 j
    head -c 20000000 /dev/urandom >"$(echo j/*_ascend_pt)/random.bin"
    run agent --once --raw --job j j
    expect_status 0
    one_waits () { [ "$(store_says waiting)" -ge 1 ]; }
    eventually one_waits
    deliver k --seed 7
    two_wait () { [ "$(store_says waiting)" -ge 2 ]; }
    eventually two_wait
    stop_service
    start_proxy
}

filled ()                           # the paths of all segments with something
{
    find root/segments -type f -size +0 | sort
}

@test "killed at each request, before and after it is carried out, nothing is lost" {
    two_segments
    for at in "silent fault.silent" "held-answer held"; do
        # shellcheck disable=SC2086     # two words
        killed_at $at
        for path in $(filled); do
            object check "$(cat root/id)/segments/${path##*/}" "$path"
            expect_status 0
        done
        # nothing is left of an upload whose id was never noted
        fsck_store
        expect_status 0
        shows "0 holes, 0 orphans, 0 uploads"
        run "$ROLLCALL" archive --root root verify
        expect_status 0
        object ls
        is "objects" "$(filled | wc -l)" "$(grep -c /segments/ <<<"$output")"
        for path in $(filled); do
            object rm "$(cat root/id)/segments/${path##*/}"
        done
        rm -r root/store
    done
}
