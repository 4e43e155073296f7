#!/usr/bin/env bats
# rollcall build and analyze under mpirun: processes that read captures together

load service_helper
load store_helper
load hosts
load postgres_helper

teardown ()
{
    [ -z "${s3rver:-}" ] || stop_store
    kill_all
    hosts_down
    [ -z "${PG_DIR:-}" ] || postgres_remove
}

rows_of ()                          # RESULT: the SHA-256 of its rows
{
    "$ROLLCALL" fsck result "$1" | sed -n 's/.*: in order; rows //p'
}

# only_results DIR: no temporary file is beside them
only_results ()
{
    is "files in $1" "$RESULTS" \
        "$(ls -A -I analyses "$1/cluster_analysis_output")"
}

# A job of captures in job/, and of their rows in ROOT; 'one': the rows of one
# process's result.
seven_ranks ()                      # ROOT
{
    make --ranks 7 --steps 3 --extras
    # one that takes a rank's rows back, and one that has none
    "$CAPTURE_MAKER" --quiet --ranks 7 --steps 3 --extras --only-rank 2 \
        --break truncated-json:2 other
    mv other/*_ascend_pt job/second_2_ascend_pt
    "$CAPTURE_MAKER" --quiet --ranks 7 --steps 3 --only-rank 3 --break raw:3 raw
    mv raw/*_ascend_pt job/raw_3_ascend_pt
    # ranks may call a group by several names
    sed -i 's/"group_name": *"/&z/g' "$(capture_of 0)/profiler_metadata.json"
    one_job
    run "$ROLLCALL" analyze -q -j 1 -o one job
    one=$(rows_of one)
    is "digits" 64 "${#one}"
    "$ROLLCALL" archive add --no-raw --root "$1" --job j job >added
}

@test "a result is the same for any number of processes" {
    local n args

    seven_ranks root
    run "$ROLLCALL" build --root root -o one.built j
    for n in 1 2 3 5; do
        args=()
        [ $n -ne 3 ] || args=(-j 6)         # two threads each
        run mpirun -np $n "$ROLLCALL" analyze --text "${args[@]}" -o "a$n" job
        shows "5 of 7 present"
        is "summaries of $n" 1 "$(grep -c '^ranks' <<<"$output")"
        is "analysed by $n" "$one" "$(rows_of "a$n")"
        only_results "a$n"
        run mpirun -np $n "$ROLLCALL" build --text "${args[@]}" --root root \
            -o "b$n" j
        is "built by $n" "$(rows_of one.built)" "$(rows_of "b$n")"
        only_results "b$n"
    done
    # into the root, which one of them has locked
    run mpirun -np 2 "$ROLLCALL" build --root root j
    is "in the root" "$(rows_of one.built)" "$(rows_of root/jobs/j)"
    "$ROLLCALL" fsck aggregator --root root
}

@test "lists of many ranks, too" {
    local n

    make --ranks 80 --steps 1 --ops 2
    one_job
    "$ROLLCALL" archive add --no-raw --root root --job j job >added
    "$ROLLCALL" analyze -q --only analysis.db -o one job
    "$ROLLCALL" build --only analysis.db --root root -o one.built j
    is "members of the world" 80 "$(sql "SELECT max(size) FROM CommGroup" \
        one.built/cluster_analysis_output/analysis.db)"
    for n in 2 3 5; do
        mpirun -np $n "$ROLLCALL" analyze -q --only analysis.db -o "a$n" job
        is "analysed by $n" "$(rows_of one)" "$(rows_of "a$n")"
        mpirun -np $n "$ROLLCALL" build --only analysis.db --root root \
            -o "b$n" j
        is "built by $n" "$(rows_of one.built)" "$(rows_of "b$n")"
    done
}

@test "what is wrong is said once, and ends all" {
    run mpirun -np 3 "$ROLLCALL" analyze --text
    expect_status 2
    is "sentences" 1 "$(grep -c 'no directory was given' <<<"$output")"
    run mpirun -np 3 "$ROLLCALL" build --help
    expect_status 0
    is "helps" 1 "$(grep -c '^usage' <<<"$output")"
    make --ranks 2 --steps 1 --ops 8
    ROLLCALL_TOGETHER=1 run mpirun -np 2 sh -c 'exec "$0" analyze -q \
        -o out.$OMPI_COMM_WORLD_RANK job' "$ROLLCALL"
    [ "$status" -ne 0 ]
    shows "rank 1 was started with another command line"
    run mpirun -np 1 "$ROLLCALL" analyze -q -o one job : \
        -np 1 "$ROLLCALL" analyze -q -o two job
    expect_status 0
    only_results one
    only_results two
    mkdir empty
    run mpirun -np 2 "$ROLLCALL" analyze empty
    expect_status 66
}

@test "a host without the library is named, and nothing is built" {
    make --ranks 2 --steps 1 --ops 8
    mkdir bare
    cp "$ROLLCALL" bare
    run mpirun -np 2 bare/rollcall analyze -q -o out job
    expect_status 72
    shows "rollcall analyze: on $(hostname): " "librollcall_mpi.so"
    # one of two: the other waits for it in MPI until the launcher ends it
    # shellcheck disable=SC2016
    ROLLCALL_TOGETHER=1 run mpirun -np 2 sh -c '
        [ $OMPI_COMM_WORLD_RANK = 0 ] || set -- bare/rollcall
        exec "$1" analyze -q -o out job' - "$ROLLCALL"
    expect_status 72
    shows "rollcall analyze: on $(hostname): " "librollcall_mpi.so"
    [ ! -e out ]
}

@test "several jobs in a directory are built one after the other" {
    make --ranks 2 --steps 1 --ops 8
    "$CAPTURE_MAKER" --quiet --ranks 2 --steps 1 --ops 8 --seed 7 \
        --start 1764900000 --process 7 job/later
    "$ROLLCALL" analyze -q --all-jobs -o one job || true
    run mpirun -np 2 "$ROLLCALL" analyze -q --all-jobs -o two job
    is "jobs" "$(cd one && ls)" "$(cd two && ls)"
    for one in one/*; do
        is "rows of $one" "$(rows_of "$one")" "$(rows_of "two/${one##*/}")"
    done
}

@test "build --all under mpirun: one job after the other, each by all" {
    local n

    make --ranks 3 --steps 1 --ops 8
    for n in 1 2; do
        one_job
        "$ROLLCALL" archive add --no-raw --root root --job j$n job >added
    done
    "$ROLLCALL" build --all --root root -o one
    run mpirun -np 2 "$ROLLCALL" build --all --root root
    expect_status 0
    shows "j1: 3 of 3 present" "j2: 3 of 3 present" "2 of 2 jobs built"
    for n in 1 2; do
        is "rows of j$n" "$(rows_of one/j$n)" "$(rows_of root/jobs/j$n)"
        only_results root/jobs/j$n
    done
    "$ROLLCALL" fsck aggregator --root root
    run mpirun -np 2 "$ROLLCALL" build --all --root root
    expect_status 0
    shows "0 of 2 jobs built"
    # one of another command line ends all
    rm -r root/jobs/*
    ROLLCALL_TOGETHER=1 run mpirun -np 3 sh -c '[ $OMPI_COMM_WORLD_RANK != 2 ] ||
        quiet=-q; exec "$0" build --all --root root $quiet' "$ROLLCALL"
    [ "$status" -ne 0 ]
    shows "rank 2 was started with another command line" "0 of 2 jobs built"
    [[ "$output" != *"not understood"* ]]
}

# cut PASSES VERB [OPERAND]...: MPI fails in that pass of two processes
cut ()
{
    run mpirun -x LD_PRELOAD="$MPI_TOOL" -x MPI_CUT="$1" -np 2 "$ROLLCALL" "${@:2}"
    expect_status 73
    shows "the other processes cannot be reached"
}

@test "a process that was left in a pass ends what follows" {
    : "${MPI_TOOL:?names a library that wraps MPI_Iprobe}"
    local n

    make --ranks 2 --steps 1 --ops 8
    "$CAPTURE_MAKER" --quiet --ranks 2 --steps 1 --ops 8 --seed 7 \
        --start 1764900000 --process 7 job/later
    # all captures are read once before there are jobs
    cut 2 analyze -q --all-jobs -o out job
    shows "a process of this launch has left: 1 of 2 jobs were not analysed"
    [ ! -e out ] || is "results" "" "$(find out -name analysis.db)"
    rm -r job/later
    one_job
    for n in 1 2 3; do
        "$ROLLCALL" archive add --no-raw --root root --job j$n job >added
    done
    "$ROLLCALL" build --root root -o all/j3 j3
    cut 1 build --all --root root -o all
    shows "a process of this launch has left: 1 of 2 jobs were not tried" \
        "0 of 3 jobs built"
    [[ "$output" != *"up to date"* ]] || fail "$output"
    run "$ROLLCALL" build --all --root root -o all
    expect_status 0
    shows "2 of 3 jobs built; the others are up to date"
}

@test "one process of many that calls it alone is alone" {
    make --ranks 2 --steps 1 --ops 8
    run mpirun -np 2 sh -c 'if [ $OMPI_COMM_WORLD_RANK = 1 ]; then
        "$0" analyze --text -o out job; fi' "$ROLLCALL"
    expect_status 0
    shows "2 of 2 present"
}

# A shell runs the last command of its script without a process of its own.
@test "what a script of each process calls last is alone, too" {
    local n

    make --ranks 2 --steps 1 --ops 8
    run mpirun -np 2 sh -c 'exec "$0" analyze --text \
        -o out.$OMPI_COMM_WORLD_RANK job' "$ROLLCALL"
    expect_status 0
    for n in 0 1; do
        only_results out.$n
    done
    # nobody waits for the other one, which is not rollcall
    mkfifo over
    run mpirun -np 2 sh -c '[ $OMPI_COMM_WORLD_RANK = 0 ] || exec cat over
        exec 3>over; exec "$0" analyze --text -o out job' "$ROLLCALL"
    expect_status 0
    shows "2 of 2 present"
}

# on_one_processor OPTION...: as mpirun without --bind-to none does it
on_one_processor ()
{
    # shellcheck disable=SC2016
    ROLLCALL_TOGETHER=1 run mpirun -np 2 sh -c 'exec taskset -c "$0" "$@" job' \
        "$one" "$ROLLCALL" analyze -q -o out "$@"
    expect_status 0
}

@test "mpirun has bound the processes to few processors: that is said" {
    local all one

    all=$(nproc) one=$(taskset -cp $$ | sed 's/.*: //; s/[-,].*//')
    [ "$all" -gt 1 ] || skip "there is one processor"
    make --ranks 4 --steps 1 --ops 8
    on_one_processor
    shows "on $(hostname) mpirun lets its processes use 1 of $all processors"
    is "sentences" 1 "$(grep -c 'processors' <<<"$output")"
    on_one_processor -j 2
    shows "use 1 of $all processors; mpirun --bind-to none" "--threads 1 says"
    on_one_processor -j 1
    is "what is said of what was wanted" "" "$output"
    run mpirun -np 2 --bind-to none "$ROLLCALL" analyze -q -o out job
    is "what is said without a binding" "" "$output"
}

# let_go: of job j, nothing but heads, lists and items is in the root
let_go ()
{
    went () { [ "$(store_says waiting)" = 0 ] && [ "$(store_says evicted)" -ge 1 ]; }
    service --store "$STORE" --store-after 1s --cache-size 1M
    eventually went
    stop_service
}

# far_build PROCESSES OUT [VARIABLE=VALUE]...: all but rank 0 do not see the root,
# and have these variables
far_build ()
{
    local n=$1 out=$2

    shift 2
    # shellcheck disable=SC2016
    ROLLCALL_TOGETHER=1 run mpirun -np "$n" sh -c 'out=$1 program=$2
        shift 2
        [ $OMPI_COMM_WORLD_RANK = 0 ] || exec unshare --mount sh -c "
            mount -t tmpfs none root && exec \"\$@\"" - \
            env "$@" "$program" build --only analysis.db --root root -o "$out" j
        exec "$program" build --only analysis.db --root root -o "$out" j' - \
        "$out" "$ROLLCALL" "$@"
    expect_status 0
    is "rows of $out" "$(rows_of one)" "$(rows_of "$out")"
}

# none_twice COMMAND...: it reads what it needs of the store, and nothing twice
none_twice ()
{
    local bytes chunks read reads

    read -r bytes chunks <<<"$(needed rows)"
    read=$(counted read) reads=$(counted reads)
    "$@" || return
    read=$(($(counted read) - read)) reads=$(($(counted reads) - reads))
    echo "$read of $bytes bytes, $reads requests for $chunks chunks: $*"
    [ "$read" -ge "$bytes" ] && [ "$read" -le $((bytes * 11 / 10)) ] &&
        [ "$reads" -le "$chunks" ]
}

# beside_the_root PROCESSES OUT: all see the root
beside_the_root ()
{
    run mpirun -np "$1" "$ROLLCALL" build --only analysis.db --root root \
        -o "$2" j
    expect_status 0
    is "rows of $2" "$(rows_of one)" "$(rows_of "$2")"
}

# bats test_tags=hosts
@test "who does not see the root reads from its object store, or through rank 0" {
    local missing n

    missing=$(hosts_missing)
    [ -z "$missing" ] || skip "no mount of a process's own: $missing"
    start_store
    # shipments of one chunk, and of several
    make --ranks 4 --steps 2 --ops 24000
    "$CAPTURE_MAKER" --quiet --ranks 4 --steps 2 --ops 800 --only-rank 2 other
    rm -r "$(capture_of 2)"
    mv other/*_ascend_pt job
    one_job
    "$ROLLCALL" archive add --no-raw --root root --job j job >added
    let_go
    none_twice beside_the_root 1 one
    for n in 2 3; do
        none_twice far_build $n far$n
        [[ "$output" != *"through rank 0"* ]] || fail "$output"
        none_twice beside_the_root $n beside$n
    done
    # with a key that the store does not know
    far_build 3 refused AWS_ACCESS_KEY_ID=OTHER
    shows "reads through rank 0 what is in the object store: segment 1 is not here"
    [ "$(counted refused.InvalidAccessKeyId)" -ge 1 ]
}

# bats test_tags=hosts
@test "who sees the ledger, and no segments or others, reads them through rank 0" {
    local missing segment size view

    missing=$(hosts_missing)
    [ -z "$missing" ] || skip "no mount of a process's own: $missing"
    make --ranks 12 --steps 2 --ops 4000
    one_job
    "$ROLLCALL" archive add --no-raw --root root --job j job >added
    "$ROLLCALL" build --only analysis.db --root root -o one j
    mkdir none zeros
    cp -r root/segments damaged
    for segment in root/segments/*; do
        size=$(stat -c %s "$segment")
        truncate -s "$size" "zeros/${segment##*/}"
        dd if=/dev/zero of="damaged/${segment##*/}" bs=$((size / 3)) seek=1 \
            count=1 conv=notrunc status=none
    done
    for view in none zeros damaged; do
        # shellcheck disable=SC2016
        ROLLCALL_TOGETHER=1 run mpirun -np 2 sh -c 'view=$1
            shift
            [ $OMPI_COMM_WORLD_RANK = 0 ] || exec unshare --mount sh -c "
                mount --bind $view root/segments && exec \"\$@\"" - "$@"
            exec "$@"' - $view "$ROLLCALL" build --only analysis.db --root root \
            -o "$view.out" j
        expect_status 0
        is "rows with $view" "$(rows_of one)" "$(rows_of "$view.out")"
        shows "reads through rank 0 what it cannot read itself of $PWD/root: "
    done
}

# killed RANK: of two, in the middle of its reading
killed ()
{
    rm -f reached.* go.*
    mkfifo reached.0 reached.1 go.0 go.1
    # shellcheck disable=SC2016
    ROLLCALL_TOGETHER=1 background mpirun -np 2 sh -c 'r=$OMPI_COMM_WORLD_RANK
        echo $$ >pid.$r
        [ $r -gt '"$1"' ] || export LD_PRELOAD="$PAUSE_READ" \
            PAUSE_AT=communication.json PAUSE_REACHED=reached.$r PAUSE_GO=go.$r
        exec "$0" analyze -q -j 2 -o out job' "$ROLLCALL"
    timeout 90 cat reached.0 || fail "rank 0 has read nothing: $(cat log)"
    if [ "$1" = 1 ]; then
        # what rank 0 does not read
        timeout 90 cat reached.1 || fail "rank 1 has read nothing: $(cat log)"
        timeout 90 sh -c ': >go.0'
    fi
    kill -KILL "$(cat "pid.$1")"
    # shellcheck disable=SC2154
    end_of "$pid"
}

@test "a process is killed: the former result stays, and nothing else" {
    local before rank

    make --ranks 4 --steps 2 --ops 8
    "$ROLLCALL" analyze -q -o out job
    before=$(fingerprint out)
    for rank in 1 0; do
        killed $rank
        expect_status 137
        is "what is there after rank $rank" "$before" "$(fingerprint out)"
        is "sentences of rollcall" "$rank" \
            "$(grep -c '^rollcall analyze: .*nothing was written' log)"
    done
}

# in_parts OUT [OPTION]...: build the job of the root
in_parts ()
{
    run "$ROLLCALL" build --only analysis.db --one-file 400k --root root -o "$1" \
        "${@:2}" j
}

# killed_at RANK POINT: of two processes that build it, the one that gets there
killed_at ()
{
    # shellcheck disable=SC2016
    ROLLCALL_TOGETHER=1 run mpirun -np 2 sh -c 'rank=$1 point=$2
        shift 2
        [ $OMPI_COMM_WORLD_RANK != $rank ] || export ROLLCALL_FAULT=$point
        exec "$@"' - "$1" "$2:kill" "$ROLLCALL" build --only analysis.db \
        --one-file 400k --root root -j 2 -o out j
}

# Needs the build with fault points (preset faults).
# bats test_tags=faults
@test "a process is killed while a result is divided: the former one or the new one" {
    grep -q ROLLCALL_FAULT_ONCE "$ROLLCALL" || skip "no fault points in this build"
    local case former whole files dead=0

    make --ranks 16
    one_job
    "$ROLLCALL" archive add --no-raw --root root --job j job >added
    in_parts new
    in_parts out --world-size 17
    whole=$(rows_of new) former=$(rows_of out)
    files=$(ls -A new/cluster_analysis_output | wc -l)
    [ "$files" -ge 3 ] && [ "$former" != "$whole" ]
    cp -r out former
    for case in 0:pages.write:{2,20,40,60} 0:publish.fsync:{1,2,3} \
        0:publish.rename:{1,2,3} 1:pages.write:1; do
        killed_at "${case%%:*}" "aggregator.${case#*:}"
        if [ "$status" -eq 0 ]; then
            is "rows after $case" "$whole" "$(rows_of out)"
        else
            expect_status 137
            is "rows after $case" "$former" "$(rows_of out)"
            is "files that are no parts after $case" analysis.db \
                "$(ls -A out/cluster_analysis_output |
                    grep -v -e part- -e '^[.]rollcall[.]lock$')"
            dead=$((dead + 1))
        fi
        in_parts out
        expect_status 0
        is "rows after that" "$whole" "$(rows_of out)"
        is "files after that" "$files" "$(ls -A out/cluster_analysis_output | wc -l)"
        rm -r out
        cp -r former out
    done
    [ "$dead" -ge 8 ] || fail "only $dead were killed"
}

# With Open MPI's default (300 s, and 9 times 20) mpirun sees it after 8 minutes.
# bats test_tags=hosts
@test "the net between two hosts is cut: the launcher ends the build" {
    local before

    set_up_hosts 2
    # what was sent and not acknowledged holds keepalive back
    nsenter --net="/run/netns/$NET-h0" sysctl -qw net.ipv4.tcp_retries2=3
    nsenter --net="/run/netns/$NET-h1" sysctl -qw net.ipv4.tcp_retries2=3
    make --ranks 4 --steps 2 --ops 8
    "$ROLLCALL" analyze -q -o out job
    before=$(fingerprint out)
    mkfifo reached.0 reached.1 go.0 go.1
    # shellcheck disable=SC2016
    ROLLCALL_TOGETHER=1 PER_HOST=1 background mpirun_hosts \
        -x ROLLCALL_TOGETHER --mca oob_tcp_keepalive_time 1 \
        --mca oob_tcp_keepalive_intvl 1 --mca oob_tcp_keepalive_probes 2 sh -c '
        r=$OMPI_COMM_WORLD_RANK
        export LD_PRELOAD="$1" PAUSE_AT=communication.json \
            PAUSE_REACHED=reached.$r PAUSE_GO=go.$r
        exec "$0" analyze -q -j 1 -o out job' "$ROLLCALL" "$PAUSE_READ"
    timeout 90 cat reached.0 reached.1 || fail "$(cat log)"
    ip -n "$NET-sw" link set v1 down
    timeout 90 sh -c ': >go.0'
    end_of "$pid"
    [ "$status" -ne 0 ] || fail "$output"
    is "what is there" "$before" "$(fingerprint out)"
    only_hosts_left
}

# bats test_tags=hosts
@test "3 hosts, and one has the root: the others read and write through it" {
    local out

    # of h0 alone
    set_up_hosts 3
    export PER_HOST=1
    seven_ranks ../tmp.0/root
    run "$ROLLCALL" build --root ../tmp.0/root -o one.built j
    for out in "$TMPDIR/out" shared; do
        run mpirun_hosts "$ROLLCALL" build --text --root "$TMPDIR/root" \
            -o "$out" j
        shows "5 of 7 present"
        is "rows in $out" "$(rows_of one.built)" \
            "$(rows_of "${out/$TMPDIR/../tmp.0}")"
        only_results "${out/$TMPDIR/../tmp.0}"
    done
    # where hosts have one file, each writes to it; one that is copied in the end
    # is in TMPDIR
    mkdir shared.files
    run mpirun_hosts -x LD_PRELOAD="$SHARED_FS_LIBRARY" -x SHARED_FS_TYPE=lustre \
        -x SHARED_FS="$PWD/shared.files" -x TMPDIR="$PWD/shared.files" \
        "$ROLLCALL" build --text --root "$TMPDIR/root" -o shared.files/out j
    shows "5 of 7 present"
    is "rows in one file" "$(rows_of one.built)" "$(rows_of shared.files/out)"
    only_results shared.files/out
    # captures that all see, and those of one host
    run mpirun_hosts "$ROLLCALL" analyze -q -o out.all job
    is "rows of all" "$one" "$(rows_of out.all)"
    cp -r job ../tmp.0/job
    run mpirun_hosts "$ROLLCALL" analyze -q -o out.h0 "$TMPDIR/job"
    shows "a process on h1 takes no part: $TMPDIR/job" \
        "a process on h2 takes no part"
    is "rows of h0" "$one" "$(rows_of out.h0)"
    only_hosts_left
}

# past_one_machine: hosts a, b and c, with disks and variables of their own, that
# ssh reaches from the first; the writer of captures is train.sh
past_one_machine ()
{
    local i name=(a b c)

    for i in 0 1 2; do
        echo "10.99.0.$((i + 1)) ${name[i]}" >>../hosts
        ../on h$i hostname "${name[i]}"
        ../on h$i mount -t tmpfs tmpfs /var/tmp
    done
    mv writer train.sh
    # what a site has in its configuration of Open MPI
    export OMPI_MCA_plm_rsh_no_tree_spawn=1 OMPI_MCA_oob_tcp_if_include=eth0 \
        OMPI_MCA_pml=ob1 OMPI_MCA_btl=self,vader,tcp \
        OMPI_MCA_btl_tcp_if_include=eth0
    mkdir bin
    cat >bin/ssh <<SCRIPT
#!/bin/bash
# ssh [-x] [-n] HOST COMMAND...: elsewhere, and without the caller's variables
[ "\$1" != -x ] || shift
# one in the background stands still when it reads from a terminal
[ "\$1" = -n ] || [[ "\$*" != *rollcall-aggregator* ]] || exit 255
[ "\$1" != -n ] || shift
case \$1 in a) h=h0 ;; b) h=h1 ;; c) h=h2 ;; *) exit 255 ;; esac
shift
cd /
exec $TEST_DIR/on \$h env -i PATH="$PATH:/usr/sbin:/sbin" TMPDIR="$TMPDIR" \
    ROLLCALL_TEST_ID="$ROLLCALL_TEST_ID" CAPTURE_MAKER="$CAPTURE_MAKER" \
    $(env | grep ^OMPI_ | tr '\n' ' ') /bin/sh -c "\$*"
SCRIPT
    chmod +x bin/ssh
}

# bats test_tags=hosts
@test "README: past one machine, its fifteen lines work as they are printed" {
    local host n=0

    needs_postgres
    postgres_start
    psql -qc 'CREATE ROLE root SUPERUSER LOGIN'
    set_up_hosts 3
    export PATH=$PWD/bin:$ROLLCALL_BIN:$PATH \
        ROLLCALL_POSTGRES="postgresql:///jobs?host=$PG_DIR"
    past_one_machine
    sed -n '/^## Past one machine/,/^## /s/^    //p' \
        "$BATS_TEST_DIRNAME/../../README.md" >lines
    is "lines" 15 "$(wc -l <lines)"
    ../on h0 bash lines >said 2>&1 3>&- || true
    output=$(cat said)
    shows "3 of 3 present" nightly
    [[ "$(tail -n 1 said)" == *nightly* ]] || fail "$output"
    is "ranks in the result" 3 "$(sql "SELECT count(*) FROM Roster WHERE
        state='present'" result/cluster_analysis_output/analysis.db)"
    for host in h0 h1 h2; do
        if ../on $host "$ROLLCALL" show -r /var/tmp/root nightly; then
            n=$((n + 1))
        fi
    done
    is "copies" 2 "$n"
}
