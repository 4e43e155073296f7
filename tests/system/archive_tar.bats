#!/usr/bin/env bats
# rollcall archive export and import: jobs as tar files

load service_helper

archive ()                          # ROOT COMMAND...
{
    "$ROLLCALL" archive --root "$@"
}

# filled [OPTION of the maker]...: a root with job j
filled ()
{
    make --ranks 2 "$@"
    archive root add --job j --tag t job >/dev/null
}

state_of ()                         # DIR
{
    (cd "$1" && find . -type f -printf '%P %m %T@\0' | sort -z &&
        find . -type f -print0 | sort -z | xargs -0 -r sha256sum -z) |
        tr '\0\n' '\n|'
}

all_of ()                           # ROOT DIR
{
    archive "$1" get j 0 "$2" >/dev/null
    archive "$1" get j 1 "$2" >/dev/null
    find "$2" -name '*rollcall[.-]*' -delete    # their hashes are those of ls
}

digest_of ()                        # ROOT: of the rows of job j, built
{
    "$ROLLCALL" build --root "$1" -o "$1.out" j >/dev/null
    cat "$1.out"/cluster_analysis_output/analysis.db >"$1.db"
    for table in $TABLES $EXTRAS Roster Capture; do
        sql "SELECT rowid, * FROM $table ORDER BY rowid" "$1.db"
    done | sha256sum
}

@test "export, import: another root has the same, and tar unpacks it" {
    local dir

    make --ranks 2
    dir=$(capture_of 1)
    : >"$dir/empty"
    printf x >"$dir/one byte"
    head -c 3000000 /dev/urandom >"$dir/noise"
    printf y >"$dir/"$'new\nline'
    printf z >"$dir/"$'not UTF-8 \xff\xfe'
    printf z >"$dir/ünï"
    mkdir "${dir}_op_arg" && echo beside >"${dir}_op_arg/args"
    chmod 751 "$dir/one byte"
    touch -d '1999-12-31 23:59:59.123456789' "$dir/one byte"
    archive root add --job j --tag t job >/dev/null
    archive root pin j >/dev/null
    run archive root export j j.tar
    expect_status 0
    run archive other import j.tar
    expect_status 0
    is "items" "$(archive root ls)" "$(archive other ls)"
    is "rows" "$(digest_of root)" "$(digest_of other)"
    is "facts" "$(sqlite3 root/ledger.db "SELECT job, key, value, at_ns, by
        FROM fact")" "$(sqlite3 other/ledger.db "SELECT job, key, value,
        at_ns, by FROM fact")"
    all_of root a
    all_of other b
    is "what comes back" "$(state_of a)" "$(state_of b)"
    # a second time
    before=$(du -sb other/segments | cut -f 1)
    run archive other import --json j.tar
    expect_status 0
    shows '"stored":	0'
    is "items" "$(archive root ls)" "$(archive other ls)"
    is "segments" "$before" "$(du -sb other/segments | cut -f 1)"
    run "$ROLLCALL" fsck aggregator other
    expect_status 0
    # people, with tar
    mkdir plain
    tar xpf j.tar -C plain 2>/dev/null
    is "what tar unpacks" "$(state_of job)" "$(state_of plain/j/captures)"
    is "hashes" "" "$(tail -n 1 plain/rollcall-manifest.jsonl |
        grep -v '"what":"end"')"
}

@test "export, import: through a pipe, packed, without a job's division changed" {
    make --ranks 2
    archive root add job >/dev/null
    job=$(archive root ls | cut -f 1 | sort -u)
    archive root export "$job" - | gzip >job.tar.gz
    archive other import - <job.tar.gz >/dev/null
    is "items" "$(archive root ls)" "$(archive other ls)"
    is "assignments" "$(sqlite3 root/ledger.db "SELECT * FROM assignment")" \
        "$(sqlite3 other/ledger.db "SELECT * FROM assignment")"
    # what was removed is there again, also in a new ledger
    archive other rm "$job" --apply >/dev/null
    is "items of a removed job" "" "$(archive other ls)"
    archive other import - <job.tar.gz >/dev/null
    is "items after a removal" "$(archive root ls)" "$(archive other ls)"
    rm other/ledger.db*
    "$ROLLCALL" fsck aggregator --repair other >/dev/null || :
    is "items of a new ledger" "$(archive root ls)" "$(archive other ls)"
    # what a user has changed since then stays
    "$ROLLCALL" jobs --root other split "$job" rank1 >/dev/null
    mine=$(archive other ls | cut -f 1-3 | sort)
    archive other tag "$job" later >/dev/null
    archive other untag "$job" later >/dev/null
    archive other import - <job.tar.gz >/dev/null
    is "the division" "$mine" "$(archive other ls | cut -f 1-3 | sort)"
}

@test "import: into a root that is served" {
    filled
    archive root export j j.tar >/dev/null
    mv root first
    service
    run archive root import j.tar
    expect_status 0
    built () { [ -e root/jobs/j/cluster_analysis_output/analysis.db ]; }
    eventually built
    is "items" "$(archive first ls)" "$(archive root ls)"
    is "what is left" "" "$(ls root/incoming)"
}

@test "import: an ordinary tar file of captures" {
    make --ranks 2
    tar cf plain.tar --format=pax job
    run archive root import --job j plain.tar
    expect_status 0
    shows "2 captures of 1 job"
    all_of root back
    is "what comes back" "$(state_of job)" "$(state_of back)"
    is "what is left" "" "$(ls root/incoming)"
    tar czf plain.tar.gz --format=pax job
    run archive root import plain.tar.gz
    run archive root import plain.tar.gz
    expect_status 0
    shows " 0 B newly stored"
    is "jobs" 2 "$(archive root ls | cut -f 1 | sort -u | wc -l)"
}

@test "import: an ordinary tar file is dated by its files, not by its unpacking" {
    local before

    make --ranks 1
    tar -C job -cf dot.tar .
    run archive root import dot.tar
    expect_status 0
    before=$(archive root ls)
    ln -s root link
    archive root import dot.tar >/dev/null
    archive link import dot.tar >/dev/null
    is "items" "$before" "$(archive root ls)"
    # an older version than the one that is there
    echo >>"$(find job -name '*.csv' | head -n 1)"
    archive other add --job j job >/dev/null
    before=$(archive other ls)
    archive other import --job j dot.tar >/dev/null
    is "what counts" "$before" "$(archive other ls | grep -v superseded)"
}

@test "import: what is cut short or was changed enters nothing" {
    local size at

    filled
    archive root export j j.tar >/dev/null
    size=$(stat -c %s j.tar)
    for at in 1 300 512 1500 $((size / 3)) $((size / 2)) $((size - 3000)); do
        head -c "$at" j.tar >cut.tar
        run archive other import cut.tar
        expect_status 65
        is "items" "" "$(archive other ls 2>/dev/null || true)"
    done
    for at in 0 600 1100 $((size / 3)) $((size / 2)) $((size - 12000)); do
        cp j.tar changed.tar
        printf '\x07' | dd of=changed.tar bs=1 seek="$at" conv=notrunc status=none
        run archive other import changed.tar
        if [ "$status" -eq 0 ]; then            # a byte that says nothing
            is "items after $at" "$(archive root ls)" "$(archive other ls)"
            rm -r other
        else
            is "items after $at" "" "$(archive other ls 2>/dev/null || true)"
        fi
    done
    printf 'no tar file' >text
    run archive other import text
    expect_status 65
    : >empty
    run archive other import empty
    expect_status 65
    run archive other import nowhere
    expect_status 66
    run archive root export nojob x.tar
    expect_status 66
    [ ! -e x.tar ] || fail "x.tar"
}

@test "import: hostile tar files write nothing outside, and are named" {
    local long

    make --ranks 1
    mkdir outside
    ln -s "$PWD/outside" job/link
    ln "$(find job -name profiler_metadata.json)" job/hard
    mkfifo job/fifo
    truncate -s 40M job/holes
    tar cSf bad.tar job
    tar rf bad.tar --transform 's,^,../,' "$(find job -name '*.csv')" -P
    tar rf bad.tar --transform "s,^,$PWD/outside/," \
        "$(find job -name '*.csv')" -P
    long=$(printf 'x%.0s' $(seq 250))
    long=$long/$long/$long/$long/$long/$long/$long/$long
    tar rf bad.tar --transform "s,.*,$long/$long/$long/y," \
        "$(find job -name '*.csv')"
    tar rf bad.tar --transform "s,.*,$(printf 'd/%.0s' $(seq 200))y," \
        "$(find job -name '*.csv')"
    tar rf bad.tar --transform 's,.*,job/link/through,' \
        "$(find job -name '*.csv')"
    tar rf bad.tar "$(find job -name '*.csv')"
    run archive root import --job j bad.tar
    expect_status 1
    shows "job/link: it is a symbolic link" "it is a hard link" \
        "job/fifo: it is no regular file" "job/holes: it has holes" \
        "its path leads out with .." "its path is absolute" \
        "its name is too long" "it is in too many directories" \
        "another member has that name"
    is "outside" "" "$(ls outside)"
    is "what is left" "" "$(ls root/incoming)"
    is "captures" 1 "$(archive root ls | grep -c 'rows')"
    run "$ROLLCALL" fsck aggregator root
    expect_status 0
}

@test "import: many members, in little memory" {
    if ldd "$ROLLCALL" | grep -q 'lib[at]san'; then
        skip "sanitizers take more"
    fi
    mkdir -p many/sub
    (cd many/sub && seq 20000 | xargs touch)
    make --ranks 1
    tar cf many.tar many job
    (ulimit -v 400000 && archive root import --job j many.tar) >said
    grep -q "1 capture of 1 job" said || fail "$(cat said)"
}

@test "export: a file that is there stays until the new one is whole" {
    filled
    echo before >j.tar
    spoiled=$(sqlite3 root/ledger.db "SELECT printf('root/segments/%08d %d',
        segment, offset) FROM content JOIN item ON id=content WHERE rank=1
        AND path LIKE '%.csv'")
    mkdir small
    run archive root export nojob j.tar
    expect_status 66
    is "the file" before "$(cat j.tar)"
    run archive root export j nodir/j.tar
    expect_status 73
    shows "there is no directory nodir"
    run archive root export j small
    expect_status 73
    shows "such as small/j.tar"
    run archive other import job
    expect_status 2
    shows "job is a directory: rollcall archive add"
    printf X | dd of="${spoiled% *}" bs=1 seek="${spoiled#* }" conv=notrunc \
        status=none
    run archive root export j j.tar
    expect_status 1
    shows "step_trace_time.csv" "it is left out"
    run archive other import j.tar
    expect_status 0
    is "temporary files" "" "$(compgen -G 'j.tar.tmp*' || true)"
}

@test "export: into a pipe, and beside files of others" {
    filled
    mkfifo pipe
    cat pipe >got &
    archive root export j pipe
    wait $!
    [ -p pipe ] || fail "the pipe was replaced"
    archive other import got >/dev/null
    is "items" "$(archive root ls)" "$(archive other ls)"
    run archive root export j job
    expect_status 73
    touch j.tar.tmp.1 j.tar.tmp.2 j.tar.tmp.notes
    exec 6<j.tar.tmp.2
    flock 6
    archive root export j j.tar >/dev/null
    is "what stays" "j.tar.tmp.2 j.tar.tmp.notes" "$(echo j.tar.tmp.*)"
}

@test "README: its ten lines work as they are printed" {
    local line

    make --ranks 4
    sed -n '/^## The archive/,/^## /s/^    //p' \
        "$BATS_TEST_DIRNAME/../../README.md" >lines
    is "lines" 10 "$(wc -l <lines)"
    export PATH=$ROLLCALL_BIN:$PATH
    while IFS= read -r line; do
        eval "$line" >said 2>&1 || fail "$line: $(cat said)"
    done <lines
    is "what came back" "$(find "$(capture_of 3)" -type f | wc -l)" \
        "$(find back3 -type f ! -name '*rollcall[.-]*' | wc -l)"
    is "the other root" "$(rollcall archive ls)" \
        "$(rollcall archive --root copy ls)"
    is "the restored root" "$(rollcall archive ls)" \
        "$(rollcall archive --root restored ls)"
}

# forge NEW: plain/, which was unpacked from j.tar, as NEW
forge ()
{
    tar tf j.tar >order
    tar -C plain --format=pax --no-recursion -cf "$1" -T order
}

@test "import: a job cannot reach into another one" {
    local job before

    make --ranks 2
    archive root add job >/dev/null
    job=$(archive root ls | cut -f 1 | sort -u)
    archive other add job >/dev/null
    # the same versions, with another content
    printf forged >"$(capture_of 1)/forged"
    touch -d '2001-01-01' "$(capture_of 1)/forged"
    archive root add job >/dev/null
    archive root export "$job" j.tar >/dev/null
    mkdir plain
    tar xpf j.tar -C plain
    sed -i "s/$job/evil/" plain/rollcall-export.json
    sed -i '/"what":"assigned"/d; /"what":"\(fact\|claim\|rank\)"/d' \
        plain/rollcall-manifest.jsonl
    forge evil.tar
    before=$(archive other ls)
    run archive other import evil.tar
    expect_status 65
    shows "a record of another job"
    is "items" "$before" "$(archive other ls)"
    # what is whole says how much stays elsewhere
    "$ROLLCALL" jobs --root other split "$job" rank1 >/dev/null
    run archive other import j.tar
    expect_status 0
    shows "stay in the jobs that this root has assigned them to"
}

@test "import: another job of that name is not mixed with this one" {
    local before

    filled
    archive root export j j.tar >/dev/null
    make --ranks 2 --seed 7
    archive other add --job j job >/dev/null
    before=$(archive other ls)
    run archive other import j.tar
    expect_status 73
    shows "has a job j with" "--job NAME" "--merge"
    is "items" "$before" "$(archive other ls)"
    run archive other import --no-raw j.tar
    expect_status 2
    run archive other import --job k j.tar
    expect_status 0
    shows "job k"
    is "items of k" "$(archive root ls | cut -f 2-)" \
        "$(archive other ls k | cut -f 2-)"
    is "items of j" "$before" "$(archive other ls j)"
    run archive other import --merge j.tar
    expect_status 0
    # what came without a job
    archive third add job >/dev/null
    job=$(archive third ls | cut -f 1 | sort -u)
    archive third export "$job" - | archive other import --job l - >/dev/null
    is "items of l" "$(archive third ls | cut -f 2-)" \
        "$(archive other ls l | cut -f 2-)"
    run "$ROLLCALL" fsck aggregator other
    expect_status 0
}

@test "add, import: root puts nothing into the root of another user" {
    [ "$(id -u)" -eq 0 ] || skip "it needs root"
    filled
    archive root export j j.tar >/dev/null
    mkdir -p "it's" && chown daemon "it's"
    run archive "it's" add --job j job
    expect_status 77
    shows "belongs to user daemon" "sudo -u daemon"
    run archive "it's" import j.tar
    expect_status 77
    is "what is there" "" "$(ls -A "it's")"
}

@test "pin, gc, fsck --repair: root changes nothing in the root of another user" {
    [ "$(id -u)" -eq 0 ] || skip "it needs root"
    filled
    chown -R daemon root
    for verb in "archive --root root pin j" "archive --root root gc --apply" \
        "archive --root root rm j --apply" "fsck aggregator --repair root"; do
        # shellcheck disable=SC2086         # words
        run "$ROLLCALL" $verb
        expect_status 77
        shows "belongs to user daemon" "sudo -u daemon"
    done
    is "files of root" "" "$(find root -user root)"
}

@test "export -: one that is interrupted says that it is not whole" {
    make --ranks 1
    head -c 3000000 /dev/urandom >"$(capture_of 0)/noise"
    archive root add --job j job >/dev/null
    mkfifo pipe
    "$ROLLCALL" archive --root root export j - >pipe 2>said 3>&- &
    exec 5<pipe
    head -c 1 <&5 >/dev/null
    kill $!
    cat <&5 >/dev/null
    wait $! || true
    grep -q "no whole tar file" said || fail "$(cat said)"
}

@test "rm: the commands that are suggested can be typed" {
    make --ranks 1
    archive root add --job "it's" job >/dev/null
    run archive root rm "it's" 9
    shows "archive ls 'it'\\''s' lists them"
    archive root pin "it's" >/dev/null
    run archive root rm --apply "it's"
    shows "archive unpin 'it'\\''s' lets"
}

@test "import: batches are removed when nobody holds them, whatever their names" {
    filled
    archive root export j j.tar >/dev/null
    mkdir -p other/incoming/1-1-files other/incoming/999999999-2-files
    touch other/incoming/1-1-0 other/incoming/999999999-1-0
    exec 6<other/incoming/999999999-1-0 7<other/incoming/999999999-2-files
    flock 6
    flock 7
    archive other import j.tar >/dev/null
    is "what is held" "999999999-1-0 999999999-2-files" \
        "$(ls other/incoming | paste -sd ' ')"
}

@test "import: files without bytes do not use up a disk" {
    [ "$(id -u)" -eq 0 ] || skip "it needs root"
    mkdir disk many
    (cd many && seq 5000 | xargs touch)
    make --ranks 1
    tar cf many.tar many job
    mount -t tmpfs -o size=64m,nr_inodes=6000 tmpfs disk 2>/dev/null ||
        skip "no mount"
    run archive disk/root import --job j many.tar
    local was=$status said=$output left
    left=$(stat -f -c %d disk)
    umount disk
    is "status" 73 "$was"
    grep -q "more files only" <<<"$said" || fail "$said"
    [ "$left" -gt 5000 ] || fail "$left inodes are free"
}

@test "import: what is noted meanwhile goes to the disk of the root" {
    filled
    archive root export j j.tar >/dev/null
    export TMPDIR=$PWD/nowhere
    run archive other import j.tar
    expect_status 0
    # a manifest that the disk has no room for
    mkdir plain
    tar xpf j.tar -C plain
    yes '{"what":"rank"}' | head -c 40000000 >plain/rollcall-manifest.jsonl
    tar tf j.tar >order
    [ "$(id -u)" -eq 0 ] || skip "the rest needs root"
    mkdir disk
    mount -t tmpfs -o size=32m tmpfs disk 2>/dev/null || skip "no mount"
    tar -C plain --format=pax --no-recursion -cf full.tar -T order
    run archive disk/root import full.tar
    umount disk
    expect_status 73
}

@test "export: captures of one name and rank in two directories have two names" {
    local job

    make --ranks 1
    mkdir both
    mv job both/one
    cp -rp both/one both/two
    find both/two -name '*.csv' -exec sh -c 'echo >>"$1"' - {} \;
    archive root add both >/dev/null
    for job in $(archive root ls | cut -f 1 | sort -u); do
        archive root export "$job" "$job.tar" >/dev/null
        is "names that are there twice" "" \
            "$(tar tf "$job.tar" | sort | uniq -d)"
    done
    is "jobs" 1 "$(archive root ls | cut -f 1 | sort -u | wc -l)"
}
