#!/usr/bin/env bats
# results whose rows of ops lie in parts: --one-file

load service_helper

rows_of ()                          # RESULT: the SHA-256 of its rows
{
    "$ROLLCALL" fsck result "$1" | sed -n 's/.*: in order; rows //p'
}

OUT=cluster_analysis_output

parts_of ()                         # RESULT: their names
{
    (cd "$1/$OUT" && ls -d analysis.*.part-*.db 2>/dev/null) || true
}

count_parts ()                      # RESULT
{
    parts_of "$1" | wc -l
}

# A job of 64 ranks on 8 hosts: as one file in res1/, and in four parts in res4/.
both_results ()
{
    make --ranks 64 --ops 6 --steps 3 "$@"
    "$ROLLCALL" analyze -q -o res1 job
    "$ROLLCALL" analyze -q --one-file "${SIZE:-1MB}" -o res4 job
}

# same COMMAND...: '@' is the result; both print the same, but for its path and
# when it was built
same ()
{
    local result

    for result in res1 res4; do
        "$ROLLCALL" "${@/#@/$result}" >"$result.said" 2>&1 || true
        sed -i "s/\<$result\>/RESULT/g; s/20..-..-..T..:..:..Z/TIME/" \
            "$result.said"
    done
    cmp res1.said res4.said || fail "it differs: $*: $(diff res1.said res4.said |
        head -5)"
}

@test "64 ranks in four parts: each verb prints the same" {
    local name part

    both_results --slow-rank 17 --bubble 3
    is "parts" 4 "$(count_parts res4)"
    is "parts of one" 0 "$(count_parts res1)"
    is "ranks of parts" $'0-15 2\n16-31 2\n32-47 2\n48-63 2' \
        "$(sql "SELECT ranks || ' ' || hosts FROM Part" res4/$OUT/analysis.db)"
    is "rows" "$(rows_of res1)" "$(rows_of res4)"
    "$ROLLCALL" query --list | tail -n +2 | awk '{ print $1 }' >names
    while read -r name; do
        same query "$name" @
    done <names
    for name in ops packets slower links; do
        same query "$name" --rank 17 @
        same query "$name" --step 11 --rank 33 --peer 34 @
    done
    same findings @
    same findings --threshold slow_rank_percent=0.1 @
    "$ROLLCALL" analyze -q --only analysis.db -o third job
    same compare third @
    same compare --json @ third
}

@test "64 ranks in four parts: statements see one table" {
    both_results
    same query --sql "SELECT rowid, * FROM CommAnalyzerBandwidth" @
    same query --sql "SELECT * FROM CommOp WHERE rank IN (3, 15, 16, 40)" @
    same query --sql "SELECT * FROM LinkBandwidth WHERE rank>40" @
    same query --sql "SELECT rank, step, count(*), max(elapse_time) FROM
        CommAnalyzerTime GROUP BY 1, 2" @
    same query --sql "SELECT a.rank, b.rank, a.elapse_time-b.elapse_time FROM
        CommAnalyzerTime a JOIN CommAnalyzerTime b ON b.rank=a.rank+16 AND
        b.hccl_op_name=a.hccl_op_name ORDER BY 3 DESC, 1 LIMIT 40" @
    same query --sql "SELECT typeof(transit_time), typeof(package_size),
        count(*) FROM CommAnalyzerBandwidth GROUP BY 1, 2" @
    same query --sql "SELECT max(rank), min(rank) FROM CommAnalyzerMatrix" @
    same query --sql "DELETE FROM CommAnalyzerTime" @
}

@test "64 ranks in four parts: other files and exports are the same" {
    local result

    both_results
    for result in res1 res4; do
        "$ROLLCALL" export --quiet --csv $result.csv $result
        "$ROLLCALL" export --quiet --perfetto $result.trace $result
        "$ROLLCALL" report -o $result.html $result >/dev/null
        sed -i 's/20..-..-..T..:..:..Z//g' $result.csv/Job.csv $result.html
        sed "s/\<$result\>//g" -i $result.html $result.csv/Job.csv
        sqlite3 $result/$OUT/cluster_analysis.db .dump | grep ^INSERT |
            sort >$result.cluster
    done
    diff -r res1.csv res4.csv
    cmp res1.trace res4.trace
    cmp res1.html res4.html
    cmp res1.cluster res4.cluster
    [ "$(wc -l <res1.cluster)" -gt 1000 ]
}

@test "parts: threads, processes and kinds of captures do not matter" {
    local n

    SIZE=100k both_results --ops 2
    for n in 1 4; do
        "$ROLLCALL" analyze -q -j $n --only analysis.db --one-file 100k \
            -o "t$n" job
        is "ranks of parts of $n threads" \
            "$(sql "SELECT ranks FROM Part" res4/$OUT/analysis.db)" \
            "$(sql "SELECT ranks FROM Part" "t$n/$OUT/analysis.db")"
        is "rows of $n threads" "$(rows_of res1)" "$(rows_of "t$n")"
    done
    # rows that SQLite changes after they were written; hosts that alternate
    make --ranks 16 --form kineto
    "$ROLLCALL" analyze -q -o res1 job
    "$ROLLCALL" analyze -q --one-file 20k -o res4 job
    [ "$(count_parts res4)" -gt 2 ]
    is "rows of traces" "$(rows_of res1)" "$(rows_of res4)"
    rm -rf job
    for n in 0 1 2 3 4 5 6 7; do
        "$CAPTURE_MAKER" --quiet --ranks 8 --ops 8 --only-rank "$n" --repeat 2 \
            --host-name "h$((n % 2))" --boot $((n % 2 * 1000)) job
    done
    "$ROLLCALL" analyze -q -o res1 job
    "$ROLLCALL" analyze -q --one-file 350k -o res4 job
    is "ranks of parts" $'0,2,4,6\n1,3,5,7' \
        "$(sql "SELECT ranks FROM Part" res4/$OUT/analysis.db)"
    is "rows of hosts that alternate" "$(rows_of res1)" "$(rows_of res4)"
    same query ops @
    same query --sql "SELECT rowid, * FROM CommAnalyzerTime" @
}

@test "a part is missing, exchanged, of another build, cut: a sentence" {
    local a b

    both_results
    { read -r a; read -r b; } < <(parts_of res4)
    cd res4/$OUT
    mv "$b" away
    # what needs no ops works; what needs those of other ranks, too
    run "$ROLLCALL" query steps .
    expect_status 0
    run "$ROLLCALL" query --sql "SELECT * FROM CommAnalyzerTime WHERE rank=3" .
    expect_status 0
    refused "$b, the part of this result with ranks 16-31, is missing: put it \
back beside analysis.db, or build or analyze the job again"
    ln "$a" "$b"
    refused "$b"
    rm "$b"
    (cd ../.. && "$ROLLCALL" analyze -q --one-file 1MB -o again job)
    cp "../../again/$OUT/"analysis.*.part-0002.db "$b"
    refused "$b is not the part with ranks 16-31 that belongs to this analysis.db"
    head -c 300000 away >"$b"
    refused "has 300000 bytes instead of $(stat -c %s away)"
    cp away "$b"
    is "rows" "$(rows_of ../../res1)" "$(rows_of .)"
    # a byte of a value: only the sum shows it
    printf 'Z' | dd of="$b" bs=1 conv=notrunc status=none \
        seek=$(($(grep -abo hcom_ "$b" | sed -n '900s/:.*//p') + 6))
    run "$ROLLCALL" fsck result .
    expect_status 1
    shows "$b is not what was built with this analysis.db"
}

# refused TEXT: by all that need rows of that part
refused ()
{
    run "$ROLLCALL" query --sql "SELECT * FROM CommAnalyzerTime" .
    expect_status 65
    shows "$1"
    run "$ROLLCALL" export --csv "$BATS_TEST_TMPDIR/csv" .
    expect_status 65
    shows "$1"
    run "$ROLLCALL" export --perfetto "$BATS_TEST_TMPDIR/trace" .
    expect_status 65
    shows "$1"
    run "$ROLLCALL" findings --threshold slow_rank_percent=0.1 .
    expect_status 65
    shows "$1"
    run "$ROLLCALL" fsck result .
    expect_status 1
    shows "$b" ", or build or analyze the job again"
}

@test "a check of a result that is replaced meanwhile finds no fault" {
    both_results
    paused_at 'analysis.*.part-0001.db' "$ROLLCALL" fsck result res4
    "$ROLLCALL" analyze -q --one-file 1MB -o res4 job
    go_on
    end_of "$pid"
    expect_status 0
    shows "in order; rows $(rows_of res1)"
}

@test "a part is damaged, a link, a directory; analysis.db alone: a sentence" {
    local a b n

    both_results
    { read -r a; read -r b; } < <(parts_of res4)
    cd res4/$OUT
    cp "$b" ../../whole
    printf Z | dd of="$b" bs=1 conv=notrunc status=none
    refused "$b, the part of this result with ranks 16-31, is damaged ("
    cp ../../whole "$b"
    for ((n = 9; n < $(stat -c %s "$b") / 4096; n += 9)); do
        dd if=/dev/zero of="$b" bs=4096 seek="$n" count=1 conv=notrunc \
            status=none
    done
    refused "$b, the part of this result with ranks 16-31, is damaged (page "
    rm "$b"
    ln -s ../../whole "$b"
    refused "is a symbolic link: put the file itself there"
    rm "$b"
    mkdir "$b"
    refused "is no file: put it back beside analysis.db"
    rmdir "$b"
    cp ../../whole "$b"
    # that may not be read is no damage
    chmod 0 "$b"
    run humbly "$ROLLCALL" fsck result .
    expect_status 77
    shows "$b cannot be read: Permission denied"
    run humbly "$ROLLCALL" query --sql "SELECT * FROM CommOp" .
    expect_status 74
    shows "ranks 16-31, cannot be read: Permission denied"
    chmod 600 "$b"
    is "rows" "$(rows_of ../../res1)" "$(rows_of .)"
    # what needs no ops works with a copy of analysis.db
    cp analysis.db ../../copy.db
    cd ../..
    "$ROLLCALL" query steps copy.db >copy.said
    "$ROLLCALL" query steps res1 >res1.said
    cmp res1.said copy.said
    run "$ROLLCALL" query --sql "SELECT * FROM CommOp" copy.db
    expect_status 65
    shows "$a, the part of this result with ranks 0-15, is missing: put it back"
}

@test "parts in a directory of any name, of a result of any name, by any way" {
    local odd="a b'c\"d?e#f%41" rows

    make --ranks 16 --ops 40
    "$ROLLCALL" analyze -q -o res1 job
    rows=$(rows_of res1)
    mkdir "$odd"
    (cd "$odd" && "$ROLLCALL" analyze -q --one-file 400k \
        -o "file:x?mode=memory" ../job)
    is "rows" "$rows" "$(rows_of "$odd/file:x?mode=memory")"
    cd "$odd"
    is "rows here" "$rows" "$(rows_of "file:x?mode=memory")"
    [ -e "file:x?mode=memory/$OUT/cluster_analysis.db" ]
    mv "file:x?mode=memory/$OUT" moved
    cd moved
    is "rows of it" "$rows" "$(rows_of analysis.db)"
    mv analysis.db "file:y?vfs=memdb"
    is "rows of another name" "$rows" "$(rows_of "file:y?vfs=memdb")"
    cd ..
    ln -s "moved/file:y?vfs=memdb" link.db
    is "rows by a link" "$rows" "$(rows_of link.db)"
    is "ops by a link" "$("$ROLLCALL" query ops ../res1)" \
        "$("$ROLLCALL" query ops link.db)"
    # it is not a former result that is replaced: its parts stay
    mv moved "file:x?mode=memory/$OUT"
    "$ROLLCALL" analyze -q --only analysis.db -o "file:x?mode=memory" ../job
    is "rows of what stays" "$rows" \
        "$(rows_of "file:x?mode=memory/$OUT/file:y?vfs=memdb")"
}

@test "a part alone: sqlite3 and rollcall ask it" {
    local a

    both_results
    a=res4/$OUT/$(parts_of res4 | head -1)
    is "check" ok "$(sql "PRAGMA integrity_check" "$a")"
    is "captures" 16 "$(sql "SELECT count(*) FROM Capture" "$a")"
    is "ops" "$(sql "SELECT group_concat(peers) FROM CommOp WHERE rank<16" \
            res1/$OUT/analysis.db)" \
        "$(sql "SELECT group_concat(peers) FROM CommOp" "$a")"
    is "schema" "$(sql "SELECT name, sql FROM sqlite_schema ORDER BY name" \
            res1/$OUT/analysis.db)" \
        "$(sql "SELECT name, sql FROM sqlite_schema WHERE name NOT IN
                ('Part', 'PartRange') ORDER BY name" "$a")"
    "$ROLLCALL" query steps --rank 5 "$a" >part.said 2>note
    says note "is one part of a result: it has ops, steps and captures of some"
    "$ROLLCALL" query steps --rank 5 res1 >res1.said
    cmp res1.said part.said
}

@test "a root: from one file to parts and back, and what was left behind" {
    local rows

    make --ranks 16
    one_job
    "$ROLLCALL" archive add --no-raw --root root --job j job >added
    "$ROLLCALL" build --root root j >/dev/null
    rows=$(rows_of root/jobs/j)
    is "state of one file" 1 "$(find root/jobs/j -name build_state | wc -l)"
    "$ROLLCALL" build --root root --one-file 400k j >/dev/null
    is "rows" "$rows" "$(rows_of root/jobs/j)"
    [ "$(count_parts root/jobs/j)" -eq 2 ]
    is "state of parts" "" "$(find root/jobs/j -name build_state)"
    parts_of root/jobs/j >before
    # of a build that was killed between the parts and analysis.db
    touch root/jobs/j/$OUT/analysis.00112233aabbccdd.part-0001.db
    "$ROLLCALL" build --root root --one-file 400k j >/dev/null
    [ "$(count_parts root/jobs/j)" -eq 2 ]
    parts_of root/jobs/j >after
    ! cmp -s before after || fail "the parts were not replaced"
    is "fsck" "$rows" "$(rows_of root/jobs/j)"
    # its size is that of all its files
    "$ROLLCALL" jobs --json --root root >jobs.json
    is "bytes" "$(cat root/jobs/j/$OUT/analysis*.db | wc -c)" \
        "$(sed -n 's/.*"result_bytes": \([0-9]*\).*/\1/p' jobs.json)"
    run "$ROLLCALL" fsck aggregator root
    shows "1 result; 0 damaged"
    # a late rank
    "$CAPTURE_MAKER" --quiet --ranks 17 --only-rank 16 late
    "$ROLLCALL" archive add --no-raw --root root --job j late >added
    "$ROLLCALL" build --root root --one-file 400k j >/dev/null || true
    "$ROLLCALL" build --root root -o full j >/dev/null || true
    is "rows with the late rank" "$(rows_of full)" "$(rows_of root/jobs/j)"
    "$ROLLCALL" build --root root j >/dev/null || true
    is "files" "$RESULTS" "$(ls root/jobs/j/$OUT)"
    is "rows of one file" "$(rows_of full)" "$(rows_of root/jobs/j)"
    # a job that goes leaves nothing
    "$ROLLCALL" build --root root --one-file 400k j >/dev/null || true
    [ "$(count_parts root/jobs/j)" -gt 1 ]
    "$ROLLCALL" archive rm --root root --apply j >/dev/null
    is "what is left" "" "$(ls root/jobs)"
}

@test "parts on a full disk: the former result stays" {
    unshare -m true 2>/dev/null || skip "no mount namespaces here"
    make --ranks 16 --ops 60
    run unshare -m sh -c '
        mkdir small
        mount -t tmpfs -o size=8m rollcall-test small || exit 99
        "$1" analyze -q --only analysis.db --one-file 0 -o small job
        ls small/'$OUT' >former
        "$1" analyze -q --only analysis.db --one-file 1MB -o small job
        status=$?
        ls small/'$OUT' >left
        exit $status' sh "$ROLLCALL"
    [ "$status" -ne 99 ] || skip "file systems cannot be mounted here"
    expect_status 73
    [[ "$output" =~ "No space left"|"disk is full" ]] || fail "$output"
    cmp former left
}

# ---- several builds at once ----

# sharing COMMAND...: as if out/ were on NFS
sharing ()
{
    env LD_PRELOAD="$SHARED_FS_LIBRARY" "SHARED_FS=$PWD/out" "$@"
}

# Of 16 and of 17 ranks, to compare with; the first one into out/ is stopped
# when analysis.db is there, but cluster_analysis.db is not.
first_is_stopped ()
{
    make --ranks 16
    mkdir out
    "$ROLLCALL" analyze -q --one-file 400k -o one job
    run "$ROLLCALL" analyze -q --one-file 400k --world-size 17 -o two job
    expect_status 1
    paused_at "*cluster_analysis.db" env \
        LD_PRELOAD="$PAUSE_READ:$SHARED_FS_LIBRARY" "SHARED_FS=$PWD/out" \
        "$ROLLCALL" analyze -q --one-file 400k -o out job
    first=$pid
    is "rows of the first" "$(rows_of one)" "$(rows_of out)"
    is "parts of the first" 2 "$(count_parts out)"
}

# second_says: the sentence of the one that comes meanwhile, in the background
second_says ()
{
    rm -f said
    mkfifo said
    exec 8<>said
    env --default-signal LD_PRELOAD="$SHARED_FS_LIBRARY" "SHARED_FS=$PWD/out" \
        "$ROLLCALL" analyze -q --one-file 400k --world-size 17 -o out job \
        2>said 8>&- 3>&- &
    second=$!
    read -r -t 60 -u 8 line || fail "the second one said nothing"
}

# left_are RESULT: its files and rows, and no others
left_are ()
{
    is "rows" "$(rows_of "$1")" "$(rows_of out)"
    is "parts" 2 "$(count_parts out)"
    is "files" "$(ls -A "$1/$OUT" | grep -v part-)" \
        "$(ls -A out/$OUT | grep -v part-)"
    is "cluster_analysis.db" \
        "$(sqlite3 "$1/$OUT/cluster_analysis.db" .dump | sha256sum)" \
        "$(sqlite3 out/$OUT/cluster_analysis.db .dump | sha256sum)"
    "$ROLLCALL" query ops out >ops
}

@test "two builds of parts at once: the second one waits, and says for whom" {
    local first second line

    first_is_stopped
    second_says
    [[ $line =~ "process $first on host $(uname -n) is writing its result into "\
"out/$OUT, and is waited for; " ]] || fail "$line"
    kill -INT "$second"
    status=0
    wait "$second" || status=$?
    expect_status 130
    is "rows after that" "$(rows_of one)" "$(rows_of out)"
    is "parts after that" 2 "$(count_parts out)"
    second_says
    go_on
    end_of "$first"
    expect_status 0
    status=0
    wait "$second" || status=$?
    expect_status 1
    exec 8>&-
    left_are two
}

@test "two builds of parts at once, without locks: the files of one are left" {
    local first

    export SHARED_FS_LOCKS=none
    first_is_stopped
    run sharing "$ROLLCALL" analyze -q --one-file 400k --world-size 17 -o out job
    expect_status 1
    go_on
    end_of "$first"
    expect_status 75
    shows "another build has replaced analysis.db in " "has no locks"
    left_are two
}

@test "four builds of parts at once: one result is left, and it is whole" {
    local n pids=()

    make --ranks 16
    mkdir out
    "$ROLLCALL" analyze -q --one-file 400k -o one job
    for n in 1 2 3 4; do
        env LD_PRELOAD="$SHARED_FS_LIBRARY" "SHARED_FS=$PWD/out" \
            "$ROLLCALL" analyze -q --one-file 400k -o out job >said$n 2>&1 3>&- &
        pids+=($!)
    done
    for n in "${pids[@]}"; do
        wait "$n" || fail "$(cat said?)"
    done
    is "rows" "$(rows_of one)" "$(rows_of out)"
    is "parts" "$(count_parts one)" "$(count_parts out)"
    is "files" "$(ls -A one/$OUT | grep -v part-)" \
        "$(ls -A out/$OUT | grep -v part-)"
}

@test "parts of a build that died while it published: the next one removes them" {
    local dead=analysis.00112233aabbccdd.part-0001.db

    make --ranks 16
    mkdir out
    sharing "$ROLLCALL" analyze -q --one-file 400k -o out job
    is "files" 2 "$(count_parts out)"
    # a file that cannot be read may need them
    touch "out/$OUT/$dead"
    head -c 100 out/$OUT/analysis.db >out/$OUT/damaged.db
    echo "process 1 on host gone" >out/$OUT/.rollcall.lock
    run sharing "$ROLLCALL" analyze -q --one-file 400k -o out job
    expect_status 0
    shows "1 part of former results stays in " \
        "since damaged.db there is a result that cannot be read, and may need it"
    is "parts and the dead one" 3 "$(count_parts out)"
    rm out/$OUT/damaged.db
    run sharing "$ROLLCALL" analyze -q --one-file 400k -o out job
    expect_status 0
    is "said" "" "$output"
    is "parts" 2 "$(count_parts out)"
    is "hidden files" "" "$(cd out/$OUT && ls -d .[!.]* 2>/dev/null)"
}

# Needs the build with fault points (preset faults).
# bats test_tags=faults
@test "a build is killed while parts get their names: old or new, never both" {
    grep -q ROLLCALL_FAULT_ONCE "$ROLLCALL" || skip "no fault points in this build"
    local n former whole

    make --ranks 16
    "$ROLLCALL" analyze -q --only analysis.db --one-file 400k -o new job
    whole=$(rows_of new)
    run "$ROLLCALL" analyze -q --only analysis.db --one-file 400k -o out \
        --world-size 17 job
    former=$(rows_of out)
    [ "$former" != "$whole" ]
    for n in 1 2 3; do
        ROLLCALL_FAULT=aggregator.publish.rename:$n:kill run "$ROLLCALL" \
            analyze -q --only analysis.db --one-file 400k -o out job
        expect_status 137
        is "rows after death $n" "$former" "$(rows_of out)"
    done
    for n in enospc eio; do
        ROLLCALL_FAULT=aggregator.publish.rename:2:$n run "$ROLLCALL" \
            analyze -q --only analysis.db --one-file 400k -o out job
        [ "$status" -ne 0 ]
        is "rows after $n" "$former" "$(rows_of out)"
    done
    "$ROLLCALL" analyze -q --only analysis.db --one-file 400k -o out job
    is "rows" "$whole" "$(rows_of out)"
    is "parts" 2 "$(count_parts out)"
}
