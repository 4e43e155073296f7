#!/usr/bin/env bats
# rollcall jobs, archive and build: what an aggregator has, beside it and
# without it

load service_helper

# json FILTER: of the output
json ()
{
    sqlite3 -batch :memory: "SELECT json_extract(readfile('json'), '$1')"
}

of_rank ()                          # RANK: the name of its capture
{
    basename "$(capture_of "$1")"
}

# The raw file of a rank that has this name is damaged in the store.
spoil ()                            # RANK NAME
{
    local place

    place=$(sqlite3 root/ledger.db "SELECT printf('root/segments/%08d %d',
        segment, offset) FROM content JOIN item ON id=content WHERE rank=$1
        AND path LIKE '%$2'")
    printf 'X' | dd of="${place% *}" bs=1 seek="${place#* }" conv=notrunc \
        status=none
}

@test "jobs: what there is of each job, beside the aggregator" {
    deliver_raw_job
    noted () { "$ROLLCALL" jobs | grep -q ' built: '; }
    eventually noted
    run "$ROLLCALL" jobs
    expect_status 0
    [[ "${lines[1]}" =~ ^j\ +3\ +3\ +3\ .*\ given\ +built:\ 3\ of\ 3\ present$ ]] || fail "$output"
    "$ROLLCALL" jobs --json >json
    is "ranks" 3 "$(json '$.jobs[0].ranks')"
    is "result" built "$(json '$.jobs[0].result')"
    is "items" "$(($(find job -type f | wc -l) + 3))" \
        "$(json '$.jobs[0].items')"
    stop_service
    run "$ROLLCALL" jobs
    expect_status 0
    shows "built"
}

# With a service the runs of the same machine were in no list.
@test "jobs: the runs of this machine are listed below those of the service" {
    deliver_raw_job
    stop_service
    run "$ROLLCALL" jobs
    expect_status 0
    [[ "$output" != *"last written"* ]] || fail "there is no run: $output"
    "$ROLLCALL" run --job mine -o mine.out -- ./writer >/dev/null
    run "$ROLLCALL" jobs
    expect_status 0
    [[ "${lines[1]}" == "j  "* ]] || fail "$output"
    shows "last written" "mine  " "1 of 1 present" \
        "mine.out/cluster_analysis_output/analysis.db"
    "$ROLLCALL" jobs --json >json
    is "job" j "$(json '$.jobs[0].job')"
    is "run" mine "$(json '$.runs[0].job')"
    # below several aggregators it is said whose they are
    run "$ROLLCALL" jobs --root root --root none
    expect_status 1
    shows "run of this host" "mine  "
    # one job is asked for alone, and so is the root of a run
    run "$ROLLCALL" jobs --job j
    [[ "$output" != *"last written"* ]] || fail "$output"
    "$ROLLCALL" run --job part -o part.out -- true || :
    run "$ROLLCALL" jobs --root state/part/*/root
    [[ "$output" != *"last written"* ]] || fail "$output"
}

# 7 of 8 were "7 ranks, built", and a damaged one was not seen at all.
# Its lines were 150 columns wide on any terminal.
@test "jobs, archive ls, status: on a terminal the list fits" {
    script -qec true /dev/null >/dev/null 2>&1 ||
        skip "there is no script(1), or no pseudo-terminal"
    deliver_raw_job
    script -qec "stty cols 72; '$ROLLCALL' status root" /dev/null |
        tr -d '\r' >seen
    grep -q "^rollcall-aggregator  " seen || fail "$(cat seen)"
    is "lines that are too long" "" "$(sed 's/\x1b\[[01]m//g' seen |
        grep '.\{73\}')"
    stop_service
    script -qec "stty cols 80; '$ROLLCALL' jobs" /dev/null | tr -d '\r' >seen
    grep -q "^j " seen || fail "$(cat seen)"
    is "lines that are too long" "" "$(sed 's/\x1b\[[01]m//g' seen |
        grep '.\{81\}')"
    # a table for people, lines for scripts
    script -qec "stty cols 80; '$ROLLCALL' archive ls" /dev/null |
        tr -d '\r' >seen
    grep -q "^j  *[012]  " seen || fail "$(cat seen)"
    is "lines that are too long" "" "$(sed 's/\x1b\[[01]m//g' seen |
        grep '.\{81\}')"
    is "lines" "$("$ROLLCALL" archive ls --json | grep -c '"content"')" \
        "$("$ROLLCALL" archive ls | grep -c "^j$(printf '\t')")"
}

@test "jobs: the roll of an incomplete job, in its own words" {
    local broken

    make --ranks 4
    rm -r "$(capture_of 3)"
    broken=$(capture_of 2)
    find "$broken" -name 'communication*.json' -exec sh -c 'printf "{" >"$1"' \
        sh {} \;
    service
    run agent --once job
    export ROLLCALL_ROOT=$TEST_DIR/root
    noted () { "$ROLLCALL" jobs | grep -q ' built: '; }
    eventually noted
    run "$ROLLCALL" jobs
    expect_status 0
    [[ "${lines[1]}" == *" 4 "*" built: 2 of 4 present, 1 missing, 1 "* ]] ||
        fail "$output"
    "$ROLLCALL" jobs --json >json
    is "present" 2 "$(json '$.jobs[0].roll.present')"
    is "missing" 1 "$(json '$.jobs[0].roll.missing')"
    is "expected" 4 "$(json '$.jobs[0].expected')"
    stop_service
    # its log counted what had failed as missing, and was silent of a part
    grep -qE 'event=built .* present=2 expected=4 missing=1 (partial|failed)=1$' \
        service.log || fail "$(grep event=built service.log)"
}

@test "archive get: a capture back byte for byte, and never over another" {
    local capture

    deliver_raw_job
    capture=$(of_rank 1)
    run "$ROLLCALL" archive get j 1 back
    expect_status 0
    diff -r -x '*rollcall[.-]*' "back/$capture" "job/$capture"
    is "captures" "$capture" "$(ls back)"
    run "$ROLLCALL" archive get j "$capture" back
    expect_status 73
    shows "back/$capture/" " exists, and nothing is overwritten: name another directory"
    diff -r -x '*rollcall[.-]*' "back/$capture" "job/$capture"
    run "$ROLLCALL" archive get j "$capture" back2
    expect_status 0
    run "$ROLLCALL" archive get j 7 back3
    expect_status 66
    run "$ROLLCALL" archive get k 1 back3
    expect_status 66
    [ ! -e back3 ]
    stop_service
}

@test "archive get: all ranks of a job" {
    deliver_raw_job
    run "$ROLLCALL" archive get j all
    expect_status 0
    shows "raw files and 3 shipments in all"
    diff -r -x '*rollcall[.-]*' all job
    is "shipments" 3 "$(find all -name rollcall.shipment | wc -l)"
    run "$ROLLCALL" archive get j all
    expect_status 73
    "$ROLLCALL" archive get j 2 rest >/dev/null
    run "$ROLLCALL" archive get j rest
    expect_status 73
    shows "in rest, which had others already"
    diff -r -x '*rollcall[.-]*' rest job
    run "$ROLLCALL" archive get --file '*.json' j some
    expect_status 0
    is "files" "$(find job -name '*.json' | wc -l)" "$(find some -type f | wc -l)"
    run "$ROLLCALL" archive get --superseded j old
    expect_status 66
    shows "job j has no capture with superseded versions"
    [ ! -e old ]
    stop_service
}

@test "archive get: two captures of one name and rank stay two" {
    local one two

    make --ranks 1
    one=$(of_rank 0)
    mv job first
    make --ranks 1 --seed 7
    [ -e "job/$one" ] || mv "job/$(of_rank 0)" "job/$one"
    mv job second
    echo mine >"second/$one/only here"
    export ROLLCALL_ROOT=$PWD/root
    one=$("$ROLLCALL" archive add first | sed -n 's/^job //p')
    two=$("$ROLLCALL" archive add second | sed -n 's/^job //p')
    run "$ROLLCALL" jobs merge "$one" "$two"
    expect_status 0
    run "$ROLLCALL" archive get "$one" back
    expect_status 0
    diff -r -x '*rollcall[.-]*' -x 'place-*' back first
    diff -r -x '*rollcall[.-]*' back/place-* second
    is "rows" 2 "$(find back -name rollcall.shipment | wc -l)"
}

# Whoever compares or packs what came back sees no difference.
@test "archive get: modes and times are those of the node; owners on request" {
    local name file

    make --ranks 1
    name=$(of_rank 0)
    file=$(find "job/$name" -type f | sort | head -n 1)
    file=${file#job/"$name"/}
    : >"job/$name/empty"
    chmod 0751 "job/$name/$file"
    chmod 4755 "job/$name/empty"
    touch -d @1234567890.123456789 "job/$name/$file"
    head -c 2500000 /dev/zero | tr '\0' x >"job/$name/large"
    [ "$(id -u)" != 0 ] || chown 1234:5678 "job/$name/large"
    service
    run agent --once --raw --owner job
    expect_status 0
    stop_service
    export ROLLCALL_ROOT=$TEST_DIR/root
    run "$ROLLCALL" archive get j 0 back
    expect_status 0
    facts () {
        (cd "$1" && find . -type f ! -name '*rollcall[.-]*' \
            -printf '%p %s %m %T@\n' | sort)
    }
    is "mode and time" "$(facts "job/$name" | sed 's/ 4755 / 755 /')" \
        "$(facts "back/$name")"
    diff -r -x '*rollcall[.-]*' "job/$name" "back/$name"
    # 2.5 MB that are all alike take next to nothing
    [ "$(stat -c %s root/segments/00000001)" -lt 200000 ] ||
        fail "$(ls -l root/segments)"
    "$ROLLCALL" archive verify --json >json
    [ "$(json '$.stored')" -lt 200000 ] || fail "$(cat json)"
    "$ROLLCALL" archive ls --json >json
    is "listed" 0751 "$(sqlite3 :memory: "SELECT json_extract(value, '$.mode') FROM
        json_each(json_extract(readfile('json'), '$.items')) WHERE
        json_extract(value, '$.path')='$file'")"
    [ "$(id -u)" = 0 ] || return 0
    is "not asked for" 0 "$(stat -c %u "back/$name/large")"
    run "$ROLLCALL" archive get --owner j 0 owned
    expect_status 0
    is "asked for" "1234:5678" "$(stat -c %u:%g "owned/$name/large")"
}

@test "archive get --superseded: what is in no result" {
    local capture
    local -a old

    deliver_raw_job
    capture=$(of_rank 1)
    cp -r "job/$capture" before
    echo >>"job/$capture/profiler_info_1.json"
    run agent --once --raw job
    expect_status 0
    run "$ROLLCALL" archive get j 1 back
    expect_status 0
    diff -r -x '*rollcall[.-]*' "job/$capture" "back/$capture"
    run "$ROLLCALL" archive get --superseded j 1 old
    expect_status 0
    old=("old/$capture"/profiler_info_1.json~*)
    is "versions" 1 ${#old[@]}
    cmp before/profiler_info_1.json "${old[0]}"
    "$ROLLCALL" archive ls j | grep superseded | grep -q "${old[0]##*~}"
    run "$ROLLCALL" archive get --superseded j 0 old
    expect_status 66
    shows "with superseded versions"
    stop_service
}

@test "archive ls and verify: every item, and every one that is damaged" {
    deliver_raw_job
    run "$ROLLCALL" archive ls j
    expect_status 0
    is "lines" "$(($(find job -type f | wc -l) + 3))" "${#lines[@]}"
    run "$ROLLCALL" archive verify
    expect_status 0
    shows " 0 damaged"
    spoil 2 communication.json
    run "$ROLLCALL" archive verify j
    expect_status 1
    shows "damaged: job j rank 2 $(of_rank 2)/" "communication.json" \
        " 1 damaged"
    run "$ROLLCALL" archive get j 2 back
    expect_status 1
    shows "its hash is wrong"
    [ ! -e "back/$(of_rank 2)/ASCEND_PROFILER_OUTPUT/communication.json" ]
    # add --verify of what came without its rows has to find whose it is
    spoil 1 "' AND kind=1 AND path LIKE '"
    run "$ROLLCALL" archive get j 1 back
    expect_status 1
    [ ! -e "back/$(of_rank 1)/rollcall.shipment" ]
    grep -q '"job":"j","rank":1' "back/$(of_rank 1)/.rollcall-job"
    run "$ROLLCALL" archive verify k
    expect_status 66
    # what is no item is told apart
    stop_service
    mkdir aside
    mv root/segments/* aside
    run "$ROLLCALL" archive verify
    expect_status 1
    [[ $output =~ ([0-9]+)" items, " ]]
    shows ", ${BASH_REMATCH[1]} damaged; 1 fault of segments"
}

@test "names with control characters neither break a list nor reach a terminal" {
    make --ranks 1
    odd=$'od\td\nname\e[2J'
    echo x >"$(capture_of 0)/$odd"
    service
    run agent --once --raw job
    expect_status 0
    eventually captures_are 1
    export ROLLCALL_ROOT=$TEST_DIR/root
    run "$ROLLCALL" archive ls j
    expect_status 0
    is "lines" "$(($(find job -type f -printf x | wc -c) + 1))" "${#lines[@]}"
    is "columns" 8 "$(awk -F'\t' '{ print NF }' <<<"$output" | sort -u)"
    shows 'od\td\nname\x1b[2J'
    spoil 0 "$odd"
    run "$ROLLCALL" archive verify j
    expect_status 1
    shows '/od\td\nname\x1b[2J: '
    run "$ROLLCALL" archive get j 0 back
    expect_status 1
    [[ $output != *$'\e'* ]]
    stop_service
}

# same_cluster OUT OUT: their cluster_analysis.db are there, and equal
same_cluster ()
{
    local out

    for out; do
        sqlite3 -readonly "$out/cluster_analysis_output/cluster_analysis.db" \
            .dump >"dump.$(basename "$out")" || return
    done
    cmp "dump.$(basename "$1")" "dump.$(basename "$2")"
}

@test "build: the result again, elsewhere beside the aggregator" {
    deliver_raw_job
    "$ROLLCALL" analyze -o ref job >ref.log 2>&1
    run "$ROLLCALL" build --text -o again j
    expect_status 0
    shows "3 of 3 present"
    same_tables ref/cluster_analysis_output/analysis.db \
        again/cluster_analysis_output/analysis.db
    same_cluster ref again
    eventually same_cluster ref root/jobs/j
    run "$ROLLCALL" build --text --only analysis.db -o third j
    expect_status 0
    is "files" analysis.db "$(ls -A third/cluster_analysis_output)"
    # agents may have been told a wrong number
    run "$ROLLCALL" build --text -n 4 -o other j
    expect_status 1
    shows "3 of 4 present" "rank 3: no capture of it was found (the captures'"
    run "$ROLLCALL" build j
    expect_status 75
    shows "process $service has it"
    stop_service
    rm -r root/jobs
    run "$ROLLCALL" build j
    expect_status 0
    same_tables ref/cluster_analysis_output/analysis.db "$DB"
    # and the aggregator knows that it was built
    : >service.log
    service
    stop_service
    ! grep -q event=unbuilt service.log
    run "$ROLLCALL" build k
    expect_status 66
}

@test "build: on a terminal each phase is told, and no line of it stays" {
    script -qec true /dev/null >/dev/null 2>&1 ||
        skip "there is no script(1), or no pseudo-terminal"
    deliver_raw_job
    stop_service
    script -qec "'$ROLLCALL' build -o again j" /dev/null >seen
    tr '\r' '\n' <seen >lines
    for phase in "reading: 3 of 3 captures" joining "computing who waited" \
        "making indexes" "summing up" "computing findings" \
        "checking the file" "making the files beside analysis.db"; do
        grep -q "^$phase.*.\[K$" lines || fail "no $phase in: $(cat -v lines)"
    done
    grep -q "^.\[Kjob  " lines || fail "not cleared: $(cat -v lines)"
    is "through a pipe" "" "$("$ROLLCALL" build -o again j 2>&1 >/dev/null)"
}

@test "build: interrupted, it leaves files that are whole, and no others" {
    deliver_raw_job
    stop_service
    paused_at 0.report.html "$ROLLCALL" build --only report.html -o again j
    kill -INT "$pid"
    go_on
    end_of "$pid"
    expect_status 130
    shows "interrupted, analysis.db is written, but not all"
    is "files" analysis.db "$(ls -A again/cluster_analysis_output)"
}

@test "what is damaged is named in the result" {
    deliver_raw_job
    stop_service
    place=$(sqlite3 root/ledger.db "SELECT printf('root/segments/%08d %d',
        segment, offset + size / 2) FROM content JOIN item ON id=content
        WHERE rank=1 AND kind=1")
    printf 'XYZ' | dd of="${place% *}" bs=1 seek="${place#* }" conv=notrunc \
        status=none
    run "$ROLLCALL" build --text -o damaged j
    expect_status 1
    shows "2 of 3 present" "rank 1" "$(of_rank 1)"
}

@test "fsck aggregator: a ledger that is lost, content that is damaged" {
    deliver_raw_job
    run "$ROLLCALL" fsck aggregator root
    expect_status 75
    shows "process $service has it"
    stop_service
    run "$ROLLCALL" fsck aggregator             # ROLLCALL_ROOT
    expect_status 0
    rm root/ledger.db
    spoiled=$(grep -c . <<<"$output")
    is "lines when all is well" 1 "$spoiled"
    run "$ROLLCALL" fsck aggregator root
    expect_status 1
    shows "the ledger is not there"
    run "$ROLLCALL" fsck --repair aggregator root
    expect_status 1
    spoil 2 communication.json
    run "$ROLLCALL" fsck --repair aggregator root
    expect_status 1
    shows "rank 2 $(of_rank 2)" "is damaged" "set aside"
    grep -q "^rank 2$" root/quarantine/*.reason
    run "$ROLLCALL" fsck aggregator root
    expect_status 0
    run "$ROLLCALL" archive verify
    expect_status 1
    shows "set aside" "communication.json"
    # a spool that forgot: what is missing is asked for, and all is well
    rm -rf spool
    service
    run agent --once --raw job
    expect_status 0
    stop_service
    run "$ROLLCALL" archive verify
    expect_status 0
}

# The record of a raw file of rank 2 is damaged, its content is not: only the
# ledger knows what it is.
spoil_record ()
{
    local name at byte segment=root/segments/00000001

    # capture and path, each behind its length: only an item has both
    name=$(sqlite3 root/ledger.db "SELECT printf('\Q%s\E.{4}\Q%s\E', capture,
        path) FROM item WHERE rank=2 AND kind=2 LIMIT 1")
    at=$(LC_ALL=C grep -aboP "(?s)$name" $segment | head -n 1 | cut -d : -f 1)
    byte=$(od -An -tu1 -N1 -j "$at" $segment)
    # whatever it is, another one: a checksum has any byte once in 256 times
    # shellcheck disable=SC2059
    printf "\\$(printf %o $((byte ^ 255)))" | dd of=$segment bs=1 seek="$at" \
        conv=notrunc status=none
}

# bats test_tags=faults
@test "fsck --repair aggregator: killed anywhere, the next one repairs all" {
    local point

    grep -q ROLLCALL_FAULT_ONCE "$AGGREGATOR" || skip "no fault points in this build"
    deliver_raw_job
    stop_service
    spoil_record
    "$ROLLCALL" archive ls | sort >before
    mv root spoiled
    for point in aside replace describe; do
        rm -rf root
        cp -r spoiled root
        ROLLCALL_FAULT=aggregator.check.$point \
            run "$ROLLCALL" fsck --repair aggregator
        expect_status 137
        run "$ROLLCALL" fsck --repair aggregator
        expect_status 1
        run "$ROLLCALL" fsck aggregator
        expect_status 0
        "$ROLLCALL" archive ls | sort | diff before -
        run "$ROLLCALL" archive verify
        expect_status 0
    done
}

@test "fsck --repair: what is made again is not for everybody to read" {
    deliver_raw_job
    stop_service
    is "before" "" "$(find root -perm /007)"
    spoil_record
    umask 022
    run "$ROLLCALL" fsck --repair aggregator
    expect_status 1
    is "ledger" 640 "$(stat -c %a root/ledger.db)"
    is "after" "" "$(find root -perm /007)"
}

@test "a ledger of a backup: all that came since is there, and it is said" {
    service
    stop_service
    cp root/ledger.db backup.db
    deliver_raw_job
    stop_service
    cp backup.db root/ledger.db
    items=$(($(find job -type f | wc -l) + 3))
    service
    eventually captures_are 3
    # of each item, and of its only chunk; and of the user, once that is built
    grep -Eq "event=recovered text=.* ($((2 * items))|$((2 * items + 1))) rec" \
        service.log ||
        fail "$items items: $(cat service.log)"
    stop_service
    run "$ROLLCALL" fsck aggregator
    expect_status 0
    shows "$items items"
}

@test "a root that is none, and a ledger that is damaged" {
    local verb

    mkdir empty
    for verb in jobs "archive ls" "archive verify" "build j"; do
        # shellcheck disable=SC2086
        run "$ROLLCALL" $verb --root empty
        expect_status 66
        shows "empty is not the root of an aggregator"
    done
    [ -z "$(ls empty)" ]
    deliver_raw_job
    stop_service
    sqlite3 root/ledger.db "UPDATE item SET rank=7 WHERE rank=1"
    run "$ROLLCALL" jobs
    expect_status 65
    shows "root/ledger.db is damaged" "fsck"
    run timeout 60 "$AGGREGATOR" --root root --listen "tcp://127.0.0.1:$PORT"
    expect_status 73
    shows "root/ledger.db is damaged" "fsck"
}

@test "wrong command lines" {
    run "$ROLLCALL" archive
    expect_status 2
    shows "name a command: use ls, get, result, verify"
    run "$ROLLCALL" archive get j 1
    expect_status 2
    shows "get: to which directory?"
    run "$ROLLCALL" archive get j
    expect_status 2
    shows "get: to which directory? (usage: rollcall archive get JOB [CAPTURE|RANK] DIR)"
    run "$ROLLCALL" archive ls j k
    expect_status 2
    shows "unexpected argument \"k\""
    run "$ROLLCALL" archive put j
    expect_status 2
    shows "unknown command archive put: use ls, get, result, verify"
    run "$ROLLCALL" jobs j
    expect_status 2
    run "$ROLLCALL" build
    expect_status 2
    run "$ROLLCALL" build ../j
    expect_status 2
}
