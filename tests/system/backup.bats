#!/usr/bin/env bats
# rollcall backup and restore: a root, and its copy

load service_helper

backup ()                           # [OPTION]...
{
    run "$ROLLCALL" backup --root root "$@"
}

items ()                            # ROOT
{
    "$ROLLCALL" archive --root "$1" ls
}

cat_backup ()
{
    find bak -type f ! -name lock -exec sha256sum {} + | sort
}

# filled JOB [OPTION of the maker]...
filled ()
{
    local job=$1

    shift
    make --ranks 2 "$@"
    "$ROLLCALL" archive --root root add --job "$job" job >/dev/null
}

@test "backup, restore: the same, each time only what is new" {
    filled a
    backup bak
    expect_status 0
    first=$(items root)
    run "$ROLLCALL" restore bak one
    expect_status 0
    is "items" "$first" "$(items one)"
    run "$ROLLCALL" fsck aggregator one
    expect_status 0
    filled b --seed 7
    run "$ROLLCALL" backup --root root --json bak
    expect_status 0
    copied=$(sqlite3 -batch :memory: \
        "SELECT json_extract('${output//\'/}', '\$.copied')")
    [ "$copied" -gt 0 ] && [ "$copied" -lt \
        "$(stat -c %s root/segments/00000001)" ] || fail "copied $copied"
    backup bak
    expect_status 0
    shows "copied 0 B"
    run "$ROLLCALL" restore bak two
    expect_status 0
    is "items" "$(items root)" "$(items two)"
    # it is a root like any other
    "$ROLLCALL" build --root two -o out b >/dev/null
    "$ROLLCALL" build --root two b >/dev/null
    run "$ROLLCALL" archive --root two add --job c job
    expect_status 0
}

@test "backup: verbs may look into it, and nothing else changes it" {
    filled a
    backup bak
    expect_status 0
    run "$ROLLCALL" jobs --root bak
    expect_status 0
    [ -e bak/catalogue.db ] || fail "no cache was left: the test says nothing"
    for verb in "archive add --root bak --job b job" "build --root bak a" \
        "archive --root bak pin a" "archive --root bak gc --apply"; do
        # shellcheck disable=SC2086         # words
        run "$ROLLCALL" $verb
        expect_status 77
        shows "bak is a backup" "rollcall restore"
    done
    run "$ROLLCALL" findings --root bak a
    expect_status 66
    shows "bak is a backup, which has no results: rollcall build --root bak a \
-o DIR" "rollcall restore bak ROOT"
    run "$ROLLCALL" findings bak
    expect_status 66
    shows "rollcall build --root bak JOB -o DIR"
    run "$ROLLCALL" build --root bak -o out a
    expect_status 0
    run "$ROLLCALL" findings out
    [ "$status" -lt 2 ] || fail "status $status"
    run "$AGGREGATOR" --listen tcp://127.0.0.1:0 --root bak
    [ "$status" -ne 0 ] || fail "an aggregator serves a backup"
    shows "bak is a backup"
    backup bak
    expect_status 0
    # a root is no place for a backup, also if it has no results
    run "$ROLLCALL" backup --root bak root
    expect_status 73
    shows "root is a root"
}

# Segments of this build have 64 KiB.
# bats test_tags=faults
@test "backup: full segments are linked, or copied on demand" {
    make --ranks 2
    head -c 200000 /dev/urandom >"$(capture_of 0)/noise"
    "$ROLLCALL" archive --root root add --job a job >/dev/null
    backup bak
    expect_status 0
    shows "linked 2" " kB (on disk only once, shared with the root; --copy copies it)"
    is "links of a full segment" 2 "$(stat -c %h root/segments/00000001)"
    is "links of the open one" 1 "$(stat -c %h "$(printf '%s\n' root/segments/* | tail -n 1)")"
    backup bak
    shows "copied 0 B"
    [[ "$output" != *linked* ]] || fail "$output"
    backup --copy copies
    expect_status 0
    is "links of a copy" 1 "$(stat -c %h copies/segments/00000001)"
    run "$ROLLCALL" restore copies new
    expect_status 0
    is "items" "$(items root)" "$(items new)"
    backup --copy bak
    expect_status 0
    is "links of what was linked" 1 "$(stat -c %h bak/segments/00000001)"
}

@test "backup: while the root is served and captures come in" {
    local i

    filled a
    service
    (i=0; while [ ! -e enough ] && [ "$i" -lt 1000 ]; do
        cp -r job "job.$((++i))"
        "$ROLLCALL" archive --root root add --job "j$i" "job.$i" >/dev/null ||
            echo failed >>trouble
    done) 3>&- &
    for i in 1 2 3 4 5; do
        backup bak
        expect_status 0
        rm -rf new
        run "$ROLLCALL" restore bak new
        expect_status 0
    done
    touch enough
    wait $!
    [ ! -e trouble ] || fail "$(cat trouble)"
    backup bak
    stop_service
    rm -rf new
    "$ROLLCALL" restore bak new >/dev/null
    is "items" "$(items root | sort)" "$(items new | sort)"
    # an agent's aggregator serves it
    mv root former && mv new root
    service
    run agent --once --raw job
    expect_status 0
}

@test "restore: what is damaged is named, and nothing is overwritten" {
    filled a
    backup bak
    mkdir full && touch full/something
    run "$ROLLCALL" restore bak full
    expect_status 73
    is "what is there" something "$(ls full)"
    run "$ROLLCALL" restore nothing new
    expect_status 66
    printf 'XX' | dd of=bak/segments/00000001 bs=1 seek=1000 conv=notrunc \
        status=none
    run "$ROLLCALL" restore bak new
    expect_status 65
    shows "the backup is damaged"
    is "left behind" "" "$(compgen -G 'new*' || true)"
    # another root into the same directory
    mv root former
    filled b --seed 5
    backup bak
    expect_status 73
    shows "is of another root"
    backup full
    expect_status 73
    shows "something else in it"
    backup root/bak
    expect_status 73
    shows "root/bak is in the root itself"
    mv root/segments/00000001 away
    backup bak2
    expect_status 65
    backup
    expect_status 2
    run "$ROLLCALL" restore bak
    expect_status 2
}

@test "backup: a full disk leaves the former backup" {
    [ "$(id -u)" -eq 0 ] || skip "it needs root"
    filled a
    mkdir small
    mount -t tmpfs -o size=2m tmpfs small 2>/dev/null || skip "no mount"
    backup small/bak
    expect_status 0
    head -c 3000000 /dev/urandom >"$(capture_of 1)/noise"
    "$ROLLCALL" archive --root root add --job b job >/dev/null
    backup small/bak
    local was=$status said=$output
    run "$ROLLCALL" restore small/bak new
    umount small
    expect_status 0
    is "items" 12 "$(items new | wc -l)"
    is "status" 73 "$was"
    is "sentences" 1 "$(grep -c "; the former backup is as it was" <<<"$said")"
}

@test "backup: a first one that fails is none, and says so" {
    filled a
    mv root/segments segments
    backup bak
    expect_status 65
    shows "this is no backup yet: repeat it"
    run "$ROLLCALL" restore bak new
    expect_status 66
    mv segments root/segments
    backup bak
    expect_status 0
}

@test "archive get --file; verify names what a chunk hurts, and add repairs it" {
    local spoiled

    filled a
    "$ROLLCALL" archive --root root add --job b job >/dev/null
    run "$ROLLCALL" archive --root root get --file '*.csv' a 1 back
    expect_status 0
    is "files" step_trace_time.csv "$(find back -type f -printf '%f\n')"
    run "$ROLLCALL" archive --root root get --file 'ASCEND*/comm*' a 1 back2
    is "files" 2 "$(find back2 -type f | wc -l)"
    run "$ROLLCALL" archive --root root get --file nothing a 1 back3
    expect_status 66
    [ ! -e back3 ] || fail "back3"
    spoiled=$(sqlite3 root/ledger.db "SELECT DISTINCT printf('root/segments/%08d %d',
        segment, offset) FROM content JOIN item ON id=content WHERE rank=1
        AND path LIKE '%.csv'")
    printf X | dd of="${spoiled% *}" bs=1 seek="${spoiled#* }" conv=notrunc \
        status=none
    run "$ROLLCALL" archive --root root verify
    expect_status 1
    shows "job a rank 1" "job b rank 1" "step_trace_time.csv" "2 damaged" \
        "archive add --verify"
    run "$ROLLCALL" archive --root root add --job a job
    shows " 0 B newly stored"
    run "$ROLLCALL" archive --root root add --verify --job a job
    expect_status 0
    run "$ROLLCALL" archive --root root verify
    expect_status 0
}

@test "archive get: no link in the way leads out" {
    local capture

    filled a
    capture=$(basename "$(capture_of 1)")
    mkdir outside back
    ln -s "$PWD/outside" "back/$capture"
    run "$ROLLCALL" archive --root root get a 1 back
    expect_status 1
    is "outside" "" "$(ls outside)"
    rm "back/$capture"
    mkdir "back/$capture"
    ln -s "$PWD/outside/file" "back/$capture/profiler_info_1.json"
    ln -s "$PWD/outside" "back/$capture/ASCEND_PROFILER_OUTPUT"
    run "$ROLLCALL" archive --root root get a 1 back
    [ "$status" -ne 0 ] || fail "it was written"
    is "outside" "" "$(ls outside)"
}

@test "backup: that of another root stays, whatever its segments are called" {
    local before

    filled a
    backup bak
    before=$(cat_backup)
    mv root first
    filled b --seed 9
    # as after a collection of all of the first segments
    mv bak/segments/00000001 bak/segments/00000009
    run "$ROLLCALL" backup --root root bak
    expect_status 73
    shows "is of another root"
    mv bak/segments/00000009 bak/segments/00000001
    is "the backup" "$before" "$(cat_backup)"
    # only names of segments are removed
    touch bak/segments/9.notes
    run "$ROLLCALL" backup --root first bak
    expect_status 0
    [ -e bak/segments/9.notes ] || fail "9.notes is gone"
    # the restored root has the id, and its ledger can be rebuilt
    run "$ROLLCALL" restore bak new
    rm new/ledger.db
    run "$ROLLCALL" fsck aggregator --repair new
    run "$ROLLCALL" backup --root new bak
    expect_status 0
}

@test "restore: nothing of others is removed, and two do not meet" {
    filled a
    backup bak
    # of somebody else
    mkdir new.restoring && touch new.restoring/mine
    run "$ROLLCALL" restore bak new
    expect_status 73
    shows "new.restoring is in the way"
    is "what is there" mine "$(ls new.restoring)"
    # of a restore that was killed, and of one that is under way
    rm new.restoring/mine
    mkdir new.restoring/segments
    touch new.restoring/{restoring,segments/1,ledger.db,lock}
    flock new.restoring/restoring "$ROLLCALL" restore bak new >said 2>&1 &&
        fail "two at once"
    grep -q "another restore to new is under way" said || fail "$(cat said)"
    run "$ROLLCALL" restore bak new
    expect_status 0
    is "what is there" "id ledger.db lock segments" "$(ls new | paste -sd ' ')"
    # into a directory, which stays if the backup is damaged
    mkdir -m 711 there
    cp -r bak bad
    printf 'XX' | dd of=bad/segments/00000001 bs=1 seek=1000 conv=notrunc \
        status=none
    run "$ROLLCALL" restore bad there
    expect_status 65
    is "what is there" "" "$(ls -A there)"
    run "$ROLLCALL" restore bak there
    expect_status 0
    is "what is there" "id ledger.db lock segments" "$(ls -A there | paste -sd ' ')"
    is "mode" 711 "$(stat -c %a there)"
    is "items" "$(items root)" "$(items there)"
    # of one that was killed at its end
    mkdir there/.restoring && touch there/.restoring/restoring
    mv there/ledger.db* there/.restoring
    run "$ROLLCALL" restore bak there
    expect_status 0
    is "items" "$(items root)" "$(items there)"
    run "$ROLLCALL" restore bak there
    expect_status 73
}

@test "restore: to a disk that is mounted" {
    [ "$(id -u)" -eq 0 ] || skip "it needs root"
    filled a
    backup bak
    mkdir disk
    mount -t tmpfs -o size=32m tmpfs disk 2>/dev/null || skip "no mount"
    mkdir disk/lost+found
    run "$ROLLCALL" restore bak disk
    local was=$status said=$output there
    there=$(items disk 2>&1) || true
    umount disk
    is "status" 0 "$was" || fail "$said"
    is "items" "$(items root)" "$there"
}
