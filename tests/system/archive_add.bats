#!/usr/bin/env bats
# rollcall archive add: captures of a directory, in a root as if agents had
# delivered them

load service_helper

add ()                              # [ARGUMENT]...
{
    run "$ROLLCALL" archive --root root add "$@"
}

# state_of DIR: content, mode and time of each file
state_of ()
{
    (cd "$1" && find . -type f ! -name '*rollcall[.-]*' -printf '%P %m %T@\0' |
        sort -z && find . -type f ! -name '*rollcall[.-]*' -print0 | sort -z |
        xargs -0 -r sha256sum -z) | tr '\0\n' '\n|'
}

# back JOB [RANK]...: got back as it was
back ()
{
    local job=$1 rank

    shift
    rm -rf back
    for rank; do
        "$ROLLCALL" archive --root root get "$job" "$rank" back >/dev/null
    done
    is "what came back" "$(state_of job)" "$(state_of back)"
}

# the only job of the root
the_job ()
{
    "$ROLLCALL" archive --root root ls | cut -f 1 | sort -u
}

@test "add: rows and raw files, given back as they were, known ones for nothing" {
    local dir

    make --ranks 3
    dir=$(capture_of 1)
    mkdir "$dir/a folder"
    : >"$dir/empty"
    printf x >"$dir/one byte"
    head -c 3000000 /dev/urandom >"$dir/noise"
    head -c 3000000 /dev/zero >"$dir/zeros"
    printf y >"$dir/a folder/"$'new\nline'
    printf z >"$dir/"$'not UTF-8 \xff\xfe'
    mkdir "${dir}_op_arg" && echo beside >"${dir}_op_arg/args"
    chmod 751 "$dir/one byte"
    chmod 400 "$dir/noise"
    touch -d '1999-12-31 23:59:59.123456789' "$dir/one byte" "$dir/empty"
    add job
    expect_status 0
    shows "3 captures of 1 job"
    back "$(the_job)" 0 1 2
    before=$(du -sb root/segments | cut -f 1)
    add -j 3 job
    expect_status 0
    shows " 0 B newly stored"
    is "bytes of the segments" "$before" "$(du -sb root/segments | cut -f 1)"
    cp -a job job.moved             # known contents, under other names
    add --job other --no-raw job.moved
    expect_status 0
    is "jobs" "$(printf '%s\n' other "$(the_job | grep -v other)" | sort)" \
        "$(the_job)"
    ! "$ROLLCALL" archive --root root ls other | grep -q raw || fail "raw files"
    run "$ROLLCALL" fsck aggregator root
    expect_status 0
}

@test "add: what is built of it is what analyze makes" {
    make --ranks 4
    "$ROLLCALL" analyze -q -o out job >/dev/null
    add job
    expect_status 0
    "$ROLLCALL" build --root root -o built "$(the_job)" >/dev/null
    same_tables {out,built}/cluster_analysis_output/analysis.db
}

@test "add: into a root that is served, which builds it; tags, and two jobs" {
    make --ranks 2
    service
    add --tag nightly --tag b job
    expect_status 0
    shows "the aggregator of this root builds"
    job=$(the_job)
    built () { [ -e "root/jobs/$job/cluster_analysis_output/analysis.db" ]; }
    eventually built
    run "$ROLLCALL" jobs --root root --tag nightly
    shows "$job"
    back "$job" 0 1
    is "what is left of batches" "" "$(ls root/incoming)"
    # another job in the same directory
    "$CAPTURE_MAKER" --quiet --ranks 2 --ops 8 --seed 2 \
        --start 1790000000 --process 2 job/more
    add job
    expect_status 0
    shows "4 captures of 2 jobs"
    stop_service
    run "$ROLLCALL" fsck aggregator root
    expect_status 0
}

@test "add: captures of a run keep its job, and how many ranks it has" {
    make --ranks 2
    printf '{"job": "mine", "rank": -1, "world_size": 3}\n' >job/.rollcall-job
    add job
    expect_status 0
    is "job" mine "$(the_job)"
    is "expected ranks" 3 \
        "$(sqlite3 root/ledger.db "SELECT world_size FROM job")"
    # of its job only, and a program without a launcher says nothing
    add --job other job
    printf '{"job": "alone", "rank": -1, "world_size": 1}\n' >job/.rollcall-job
    add job
    expect_status 0
    is "claims" "mine 3" \
        "$(sqlite3 -separator ' ' root/ledger.db "SELECT job, world_size FROM word")"
    : >job/.rollcall-job
    add --job other job
    expect_status 0
    is "told" 1 "$(grep -c "job/.rollcall-job is damaged" <<<"$output")"
}

@test "add: a file that is written to meanwhile is read again, or named" {
    local file

    make --ranks 1
    file=$(find job -name step_trace_time.csv)
    paused_at step_trace_time.csv "$ROLLCALL" archive --root root \
        add -j 1 job
    cp -p "$file" changed && echo >>changed && cp -p changed "$file"
    touch "$file"
    go_on
    end_of "$pid"
    expect_status 0
    back "$(the_job)" 0
    # whoever never ends
    rm -rf root
    (while [ ! -e enough ]; do echo >>"$file"; done) 3>&- &
    add job
    touch enough
    wait $!
    if [ "$status" -ne 0 ]; then
        expect_status 1
        shows "it changes while it is read"
        is "items" "" "$("$ROLLCALL" archive --root root ls)"
    fi
}

@test "add: what cannot be done is said" {
    add
    expect_status 2
    shows "which directory"
    add nothing
    expect_status 66
    mkdir empty
    add empty
    expect_status 66
    shows "no captures below empty"
    make --ranks 1
    add --raw --no-raw job
    expect_status 2
    add --tag "a b" job
    expect_status 2
    add --compress zip job
    expect_status 2
}

# A few MiB hold none of it, or some captures.
@test "add: captures of one name and rank in two directories are told" {
    local here

    make --ranks 1
    mkdir one two copy
    cp -rp job two/job
    cp -rp job copy/job
    mv job one/job
    find two -name '*.csv' -exec sh -c 'echo >>"$1"' - {} \;
    here=$(realpath "$PWD")
    add --job j one copy one
    expect_status 0
    rm -r root
    add --job j one two
    expect_status 1
    shows "$here/one/job" "has its name and rank" "only the newest counts"
    is "versions" 2 "$("$ROLLCALL" archive --root root ls | grep -c rows)"
    tar cf both.tar one two
    run "$ROLLCALL" archive --root other import --job j both.tar
    expect_status 1
    shows "has its name and rank"
    add one two                     # without a job, each has its place
    expect_status 0
}

@test "add: links are named, and cost nothing" {
    local dir

    make --ranks 1
    dir=$(capture_of 0)
    ln -s "$(ls "$dir" | head -n 1)" "$dir/latest"
    mkfifo "$dir/pipe"
    add --job j job
    expect_status 0
    shows "/latest: it is a symbolic link" "/pipe: it is no regular file" \
        "1 capture of 1 job"
}

@test "add: a directory that becomes a link after the search is not entered" {
    make --ranks 1
    mkdir theirs
    mv job theirs/job
    cp -rp theirs private
    printf secret >"$(find private -name '*_ascend_pt')/secret"
    ln -s "$PWD/private/job" theirs/job~
    run env LD_PRELOAD="$SWAP_AT_OPEN" SWAP_AT="$(realpath theirs)/job" \
        "$ROLLCALL" archive --root root add --job j theirs
    expect_status 1
    shows "cannot open" "theirs/job"
    is "items" "" "$("$ROLLCALL" archive --root root ls)"
}

@test "add: again, with other modes and with owners" {
    local file

    [ "$(id -u)" -eq 0 ] || skip "it needs root"
    make --ranks 1
    file=$(find job -name step_trace_time.csv)
    chown 12:34 "$file"
    owners () { sqlite3 root/ledger.db "SELECT uid, gid FROM item WHERE kind=2
        AND path LIKE '%step_trace_time.csv'"; }
    add --job j job
    is "owner" "-1|-1" "$(owners)"
    chmod 751 "$file"
    add --job j --owner job
    shows " 0 B newly stored"
    is "owner" "12|34" "$(owners)"
    add --job j job
    is "owner" "12|34" "$(owners)"
    back j 0
    run "$ROLLCALL" fsck aggregator root
    expect_status 0
    # a ledger that is made again says the same
    rm root/ledger.db*
    run "$ROLLCALL" fsck aggregator --repair root
    is "owner" "12|34" "$(owners)"
}

@test "add: a full disk is one sentence, and what is there stays good" {
    [ "$(id -u)" -eq 0 ] || skip "it needs root"
    make --ranks 2
    mkdir small
    mount -t tmpfs -o size=8m tmpfs small 2>/dev/null || skip "no mount"
    head -c 12000000 /dev/urandom >"$(capture_of 1)/noise"
    run "$ROLLCALL" archive --root small/root add job
    local said=$output was=$status
    run "$ROLLCALL" fsck aggregator small/root
    umount small
    expect_status 0
    is "status" 73 "$was"
    is "sentences" 1 "$(grep -c . <<<"$said")"
}

# of_files DIR: content, mode and time of each file, whatever its name
of_files ()
{
    find "$1" -type f ! -name '*rollcall[.-]*' -printf '%m %T@ %P\n' |
        while read -r mode time path; do
            printf '%s %s %s\n' "$mode" "$time" \
                "$(sha256sum <"$1/$path" | cut -c 1-64)"
        done | sort
}

@test "add: real captures come back as they were" {
    local name

    for name in text_level1 event_db; do
        [ -d "${ROLLCALL_REAL_CAPTURES:-}/$name" ] || skip "no real captures"
        rm -rf job back
        cp -rp "$ROLLCALL_REAL_CAPTURES/$name" job
        add --job "$name" job
        expect_status 0
        "$ROLLCALL" archive --root root ls "$name" | cut -f 3 | sort -u |
            while read -r capture; do
                "$ROLLCALL" archive --root root get "$name" "$capture" back
            done >/dev/null
        is "$name" "$(of_files job | grep -Fxf <(of_files back))" \
            "$(of_files back)"
        is "files of $name" "$(find job/*_pt -type f | wc -l)" \
            "$(find back -type f ! -name '*rollcall[.-]*' | wc -l)"
        "$ROLLCALL" archive --root root export "$name" "$name.tar" >/dev/null
        "$ROLLCALL" archive --root other import "$name.tar" >/dev/null
        is "items of $name" "$("$ROLLCALL" archive --root root ls "$name")" \
            "$("$ROLLCALL" archive --root other ls "$name")"
    done
}

# hosts_of ROOT: with their job
hosts_of ()
{
    sqlite3 "$1/ledger.db" "SELECT DISTINCT job, host FROM item"
}

@test "get, and add: the job that was asked for, and the host that an agent knew" {
    make --form kineto --no-host --ranks 2
    mkdir job/rank1
    mv job/*_20012.*.json job/rank1/trace.json
    echo '{"job":"old","rank":1,"host":"left"}' >job/rank1/.rollcall-job
    add job/rank1
    expect_status 0
    is "host" "old|left" "$(hosts_of root)"
    "$ROLLCALL" archive --root root export old old.tar
    "$ROLLCALL" archive --root new import --job "a new" old.tar
    is "host" "a new|left" "$(hosts_of new)"
    "$ROLLCALL" archive --root new get "a new" back
    "$ROLLCALL" archive --root other add back
    is "host" "a new|left" "$(hosts_of other)"
    "$ROLLCALL" archive --root other get "a new" again
    diff -r -x rollcall.shipment back again
}

@test "get: whose raw files are missing, and add of what came" {
    make --ranks 4
    add --job first job
    run "$ROLLCALL" archive --root root get first back
    expect_status 0
    is "said" "20 raw files and 4 shipments in back" "$output"
    # the shipments in it are not files of the captures
    add --job second back
    expect_status 0
    shows "4 captures of 1 job, 20 files"
    run "$ROLLCALL" archive --root root get second again
    expect_status 0
    is "said" "20 raw files and 4 shipments in again" "$output"
    is "files" "$(cd back && find . -type f | sort)" \
        "$(cd again && find . -type f | sort)"
    add --no-raw --job bare job
    run "$ROLLCALL" archive --root root get bare rows
    expect_status 0
    is "said" "4 shipments in rows: rows only. Raw files of ranks 0-3 were not \
delivered: rollcall fetch --rank R bare asks for them" "$output"
    find back/*_20012_* -name step_trace_time.csv -delete
    add --job some back
    run "$ROLLCALL" archive --root root get some part
    is "what is whole when it is added" \
        "19 raw files and 4 shipments in part" "$output"
}
