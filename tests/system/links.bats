#!/usr/bin/env bats
# Symbolic links that lead elsewhere, put where rollcall writes or removes by
# whoever owns the directory: nothing is made, changed or removed there; and
# those that lead to what a user names, which are followed

load service_helper

OUT=job/cluster_analysis_output

# What must not change, and nothing may be made in.
elsewhere ()
{
    mkdir elsewhere
    sqlite3 elsewhere/analysis.db "CREATE TABLE precious(a);
        INSERT INTO precious VALUES (1);"
    cp -a elsewhere before
}

is_untouched ()
{
    diff -r before elsewhere
    is "dates" "$(stat -c '%n %Y %Z %i' elsewhere/* | sort)" "$dates"
}

teardown ()
{
    [ -z "${other:-}" ] || rm -rf "$other"
    kill_all
}

as_root ()
{
    [ "$(id -u)" -eq 0 ] || skip "only root can"
}

# Whoever owns the directory owns what is in it.
give_away ()
{
    chown -R nobody "$@"
}

# ---- analyze ----

@test "an output directory that is a link is not followed" {
    make
    elsewhere
    dates=$(stat -c '%n %Y %Z %i' elsewhere/* | sort)
    ln -s ../elsewhere $OUT
    run "$ROLLCALL" analyze job
    expect_status 73
    shows "$OUT is a symbolic link" "-o DIR"
    mkdir out
    ln -s ../elsewhere out/cluster_analysis_output
    analyze
    expect_status 73
    ln -sfn ../nowhere $OUT
    run "$ROLLCALL" analyze job
    expect_status 73
    is_untouched
    [ ! -e nowhere ]
}

@test "the directory of a job that is a link is not followed" {
    make
    elsewhere
    dates=$(stat -c '%n %Y %Z %i' elsewhere/* | sort)
    one_job
    mkdir out
    ln -s ../elsewhere out/night
    analyze --all-jobs
    expect_status 73
    shows "out/night is a symbolic link"
    is_untouched
}

@test "links in the path that a user gives are followed" {
    make
    mkdir real
    ln -s job captures
    ln -s real way
    run "$ROLLCALL" analyze --text -o way/deeper captures
    expect_status 0
    DB=real/deeper/cluster_analysis_output/analysis.db truth_holds
    ln -s way/deeper further
    run "$ROLLCALL" analyze --text -o further captures
    expect_status 0
    run "$ROLLCALL" report -o way/page.html further
    expect_status 0
    [ -s real/page.html ]
    run "$ROLLCALL" analyze --text captures
    expect_status 0
    DB=$OUT/analysis.db truth_holds
}

@test "an output on another file system" {
    make
    other=$(mktemp -d /dev/shm/links-XXXXXX)
    [ "$(stat -c %d "$other")" != "$(stat -c %d .)" ] || skip "/dev/shm is /"
    ln -s "$other" out
    analyze
    expect_status 0
    truth_holds
    is "files" "$RESULTS" "$(ls -A "$other/cluster_analysis_output")"
}

# The database is being written by then, and all others come later.
@test "a temporary directory that is renamed in mid-work is not followed" {
    local dir

    make
    elsewhere
    dates=$(stat -c '%n %Y %Z %i' elsewhere/* | sort)
    paused_at step_trace_time.csv "$ROLLCALL" analyze -j 1 job
    dir=$(basename "$(echo $OUT/.rollcall-*)")
    mv "$OUT/$dir" $OUT/moved
    ln -s ../../elsewhere "$OUT/$dir"
    go_on
    end_of "$pid"
    expect_status 0
    is_untouched
    DB=$OUT/analysis.db truth_holds
    is "files of results" "$RESULTS" "$(cd $OUT && ls ./*.db ./*.html |
        sed 's|./||')"
    is "what is left of it" "" "$(ls -A $OUT/moved)"
}

@test "an output directory that is renamed in mid-work is not followed" {
    make
    elsewhere
    dates=$(stat -c '%n %Y %Z %i' elsewhere/* | sort)
    paused_at step_trace_time.csv "$ROLLCALL" analyze -j 1 job
    mv $OUT job/moved
    ln -s ../elsewhere $OUT
    go_on
    end_of "$pid"
    expect_status 0
    is_untouched
    DB=job/moved/analysis.db truth_holds
    is "files" "$RESULTS" "$(ls -A job/moved)"
}

# Who swaps a name all the time wins some of the races.
@test "temporary directories that are swapped all the time" {
    local i

    make
    elsewhere
    dates=$(stat -c '%n %Y %Z %i' elsewhere/* | sort)
    mkdir $OUT
    (
        while [ ! -e stop ]; do
            for d in $OUT/.rollcall-*; do
                [ -L "$d" ] || { mv "$d" "$d.moved" &&
                    ln -s ../../elsewhere "$d"; }
            done
        done 2>/dev/null
    ) 3>&- &
    for ((i = 0; i < 8; i++)); do
        "$ROLLCALL" analyze --quiet job >>log 2>&1 || true
    done
    : >stop
    wait $!
    is_untouched
}

# What is in the place of a database was looked at, then somebody swapped it.
@test "results that are links in mid-work are not followed" {
    make
    elsewhere
    dates=$(stat -c '%n %Y %Z %i' elsewhere/* | sort)
    paused_at '?.cluster_analysis.db' "$ROLLCALL" analyze -j 1 job
    ln -sf ../../elsewhere/analysis.db $OUT/analysis.db
    go_on
    end_of "$pid"
    expect_status 73
    shows "$OUT/analysis.db"
    [[ $output != */proc/self* ]]
    is_untouched
}

# ---- root, and the directories of others ----

@test "root writes into another user's directory only if it is told to" {
    as_root
    make
    give_away job
    run "$ROLLCALL" analyze job
    expect_status 77
    shows "job is another user's" "--foreign-output"
    [ ! -e $OUT ]
    run "$ROLLCALL" analyze --foreign-output --text job
    expect_status 0
    DB=$OUT/analysis.db truth_holds
    run "$ROLLCALL" report $OUT/analysis.db
    expect_status 0
    give_away job
    run "$ROLLCALL" report $OUT/analysis.db
    expect_status 77
    run "$ROLLCALL" report --foreign-output $OUT/analysis.db
    expect_status 0
    # its own, which the other one could rename
    chown -R root $OUT
    run "$ROLLCALL" analyze job
    expect_status 77
    # what would be made in it is written into it
    run "$ROLLCALL" analyze -o job/new/deeper job
    expect_status 77
    shows "job is another user's"
    (cd job && run "$ROLLCALL" analyze -o new . && expect_status 77)
    [ ! -e job/new ]
    run "$ROLLCALL" analyze --foreign-output -o job/new/deeper job
    expect_status 0
    rm -r job/new
    analyze
    expect_status 0
}

@test "without /proc it says so" {
    as_root
    make
    run unshare -m sh -c "mount -t tmpfs none /proc && exec \"\$@\"" sh \
        "$ROLLCALL" analyze job
    [[ $output != *unshare* ]] || skip "no namespaces here: $output"
    shows "/proc, which is not mounted"
    # the sanitizer ends with 1 there: it has its options from /proc
    [[ $output == *LeakSanitizer* ]] || expect_status 73
    run unshare -m sh -c "mount -t tmpfs none /proc && exec \"\$@\"" sh \
        "$ROLLCALL" archive --root root add job
    is "times" 1 "$(grep -c "/proc, which is not mounted" <<<"$output")"
    [[ $output == *LeakSanitizer* ]] || expect_status 74
}

# ---- removing captures ----

# watching_swapped OWNER: the tree that an agent watches is swapped for a link of
# OWNER to theirs/, which is another user's; all that is there is delivered
watching_swapped ()
{
    make --ranks 2
    mv job theirs
    mkdir job
    chown -R daemon theirs
    service
    watching --raw --release shipped --quiet-period 0.1s job
    eventually says agent.log event=connected
    rmdir job
    ln -s theirs job
    chown -h "$1" job
    eventually captures_are 2
    # it may not know that yet, and would end with 75
    eventually durable >/dev/null
}

@test "what a link leads to that came in the place of a watched DIR stays" {
    as_root
    watching_swapped nobody
    kept ()
    {
        [ "$(grep -c 'event=not-releasable.*through a link' agent.log)" = 2 ]
    }
    eventually kept
    ends_with 0
    is "captures" 2 "$(find theirs -maxdepth 1 -name '*_ascend_pt' | wc -l)"
    # nor in another life
    run agent --once --raw --release shipped theirs
    is "captures" 2 "$(find theirs -maxdepth 1 -name '*_ascend_pt' | wc -l)"
}

# As one does it with a link to the newest of several trees.
@test "captures behind a link of root or of their owner are released" {
    as_root
    watching_swapped root
    released () { [ "$(grep -c event=released agent.log)" = 2 ]; }
    eventually released
    "$CAPTURE_MAKER" --quiet --ranks 3 --only-rank 2 more
    ln -s more new
    chown -hR daemon more new
    mv -T new job
    released () { [ "$(grep -c event=released agent.log)" = 3 ]; }
    eventually released
    ends_with 0
}

@test "captures behind a link that the user typed are released" {
    make --ranks 2
    mv job real
    ln -s real job
    [ "$(id -u)" -ne 0 ] || chown -h nobody job
    service
    run agent --once --raw --release shipped job
    expect_status 0
    is "captures" "" "$(ls real)"
}

@test "a mount in a capture is read, and stays with it; others go" {
    local capture in_it

    as_root
    make --ranks 2
    cp -r job original
    capture=$(capture_of 0)
    in_it=$capture/ASCEND_PROFILER_OUTPUT
    service
    run unshare -m sh -c "
        mount -t tmpfs none /mnt && cp -r $in_it/. /mnt &&
        mount --bind /mnt $in_it || exit 111
        timeout $LIMIT '$AGENT' --state '$TEST_DIR/spool' --job j \
            --aggregator tcp://127.0.0.1:$PORT --once --raw \
            --release shipped job
        echo status=\$? files=\$(find $capture -type f | wc -l)
        '$ROLLCALL' analyze --quiet -o mounted job; echo analyzed=\$?"
    [ "$status" -ne 111 ] && [[ $output != unshare:* ]] ||
        skip "no mounts here: $output"
    shows "files=$(find "original/${capture#*/}" -type f | wc -l)" \
        "event=released" "event=not-released"
    captures_are 2 || eventually captures_are 2
    [ -d "$capture" ]
    is "what is set aside" "" "$(find job -name '.rollcall-removing*')"
    is "captures" 1 "$(find job -maxdepth 1 -name '*_ascend_pt' | wc -l)"
}

# ---- archive get ----

@test "archive get follows no link that waits for it" {
    local name

    make --ranks 2
    elsewhere
    dates=$(stat -c '%n %Y %Z %i' elsewhere/* | sort)
    service
    run agent --once --raw job
    expect_status 0
    name=$(basename "$(capture_of 1)")
    mkdir back
    ln -s ../elsewhere "back/$name"
    run "$ROLLCALL" archive get --root root j 1 back
    expect_status 1
    shows "back/$name is a symbolic link"
    is_untouched
    rm "back/$name"
    mkdir "back/$name"
    ln -s ../../elsewhere "back/$name/ASCEND_PROFILER_OUTPUT"
    run "$ROLLCALL" archive get --root root j 1 back
    expect_status 1
    shows "ASCEND_PROFILER_OUTPUT is a symbolic link"
    [ -s "back/$name/rollcall.shipment" ]
    is_untouched
    # the one that is typed may be one
    mkdir real
    ln -s real typed
    run "$ROLLCALL" archive get --root root j 1 typed/deeper
    expect_status 0
    diff -r -x '*rollcall[.-]*' "$(capture_of 1)" "real/deeper/$name"
    stop_service
}

@test "archive get as root, into another user's directory" {
    as_root
    make --ranks 1
    service
    run agent --once --raw job
    expect_status 0
    mkdir back
    give_away back
    run "$ROLLCALL" archive get --root root j 0 back
    expect_status 77
    shows "back is another user's" "--foreign-output"
    run "$ROLLCALL" archive get --root root j 0 back/new
    expect_status 77
    is "files" "" "$(ls back)"
    run "$ROLLCALL" archive get --root root --foreign-output j 0 back
    expect_status 0
    stop_service
}

# ---- run and build ----

# owner_runs OUT [OPTION]...: a run of one rank, which says that it has begun
owner_runs ()
{
    rm -f started
    run "$ROLLCALL" run --deadline 60s -o "$@" -- sh -c ': >started; ./writer'
}

# Before COMMAND starts: at its end nobody wants to hear that it was for nothing.
@test "run as root, into another user's directory" {
    as_root
    mkdir theirs mine
    give_away theirs
    owner_runs theirs
    expect_status 77
    shows "theirs is another user's" "--foreign-output"
    [ ! -e started ]
    is "files" "" "$(ls -A theirs)"
    run "$ROLLCALL" run --launcher env -o theirs -- ./writer
    expect_status 77
    owner_runs theirs/new
    expect_status 77
    is "files" "" "$(ls -A theirs)"
    run env RANK=0 WORLD_SIZE=1 LOCAL_RANK=0 LOCAL_WORLD_SIZE=1 "$ROLLCALL" \
        run -o theirs -- ./writer
    expect_status 77
    owner_runs theirs --foreign-output --raw
    expect_status 0
    [ -s theirs/cluster_analysis_output/analysis.db ]
    # directories in it that are another's
    mkdir mine/cluster_analysis_output mine/captures
    give_away mine/captures
    owner_runs mine
    expect_status 0
    owner_runs mine --raw
    expect_status 77
    shows "mine/captures is another user's"
    give_away mine/cluster_analysis_output
    owner_runs mine
    expect_status 77
    shows "mine/cluster_analysis_output is another user's"
    [ ! -e started ]
}

# Those of root, of everybody, and such as are not there yet; and a user's own.
@test "run into directories that are nobody else's" {
    mkdir -m 1777 sticky
    mkdir own
    owner_runs sticky
    expect_status 0
    owner_runs sticky/new --raw
    expect_status 0
    ln -s own typed
    owner_runs typed
    expect_status 0
    [ -s own/cluster_analysis_output/analysis.db ]
    [ "$(id -u)" -eq 0 ] || return 0
    other=$(mktemp -d /tmp/links-XXXXXX)
    # who may not enter the directory that the programs are in
    cp "$ROLLCALL_BIN"/{,lib}rollcall* "$CAPTURE_MAKER" writer "$other"
    chown -R 65534 "$other"
    cd "$other"
    run setpriv --reuid=65534 --clear-groups env TMPDIR="$other" \
        CAPTURE_MAKER="$other/${CAPTURE_MAKER##*/}" \
        ROLLCALL_STATE_DIR="$other/state" "$other/rollcall" run -o out --raw \
        -- ./writer
    cd "$TEST_DIR"
    expect_status 0
    [ -s "$other/out/cluster_analysis_output/analysis.db" ]
}

# Its owner may put raw files where there is room; what his link leads to is not
# looked at first and opened by its name then.
@test "where OUT/captures leads to is swapped when it is opened" {
    as_root
    make --ranks 1
    elsewhere
    dates=$(stat -c '%n %Y %Z %i' elsewhere/* | sort)
    mkdir -p theirs/room
    give_away theirs
    ln -s room theirs/captures
    ln -s ../elsewhere theirs/room~
    chown -h nobody theirs/captures theirs/room~
    LD_PRELOAD=$SWAP_AT_OPEN SWAP_AT=$PWD/theirs/room service --raw \
        --out theirs --foreign-output
    run agent --once --raw job
    expect_status 0
    built () { grep -q ' event=\(build-failed\|raw\) ' service.log; }
    eventually built
    [ -L theirs/room ]
    is_untouched
    says service.log "theirs/captures is a symbolic link"
    stop_service
    # and is followed when nobody swaps it
    mv -T theirs/room theirs/link
    mv theirs/room~ theirs/room
    service --raw --out theirs --foreign-output
    arrived () { [ -n "$(ls theirs/room)" ]; }
    eventually arrived
}

# What was resolved when the run began is not resolved again at its end; what
# was delivered waits for who looks after it.
@test "an OUT that is swapped while COMMAND runs is not followed" {
    as_root
    elsewhere
    dates=$(stat -c '%n %Y %Z %i' elsewhere/* | sort)
    mkdir theirs theirs/out
    give_away theirs
    cat >swaps <<'END'
#!/bin/sh
./writer && mv theirs/out theirs/moved && ln -s ../elsewhere theirs/out &&
    chown -h "$1" theirs/out
END
    chmod +x swaps
    run "$ROLLCALL" run --foreign-output --raw --job j -o theirs/out -- \
        ./swaps nobody
    expect_status 73
    shows "theirs/out is a symbolic link" "rollcall build --root"
    is_untouched
    # one of root is followed: there is more room where it leads to
    mkdir room
    rm theirs/out
    mv theirs/moved theirs/out
    sed -i s/elsewhere/room/ swaps
    run "$ROLLCALL" run --foreign-output --raw --job k -o theirs/out -- \
        ./swaps root
    expect_status 0
    is_untouched
    [ -s room/cluster_analysis_output/analysis.db ]
}

# Rank 1 would be on another host: it never comes.
@test "a meeting file is removed from the OUT that it was written into" {
    elsewhere
    dates=$(stat -c '%n %Y %Z %i' elsewhere/* | sort)
    mkdir out
    cat >swaps <<'END'
#!/bin/sh
set -e
for file in out/.rollcall-*.json; do
    : >"elsewhere/${file#out/}"
done
mv out moved
ln -s elsewhere out
END
    chmod +x swaps
    run env RANK=0 WORLD_SIZE=2 LOCAL_RANK=0 LOCAL_WORLD_SIZE=1 \
        MASTER_ADDR=127.0.0.1 MASTER_PORT=29555 "$ROLLCALL" run \
        --deadline 1s -o out -- ./swaps
    is "in the OUT of then" "" "$(ls -A moved | grep json)"
    [ "$(find elsewhere -name '.rollcall-*.json' -size 0 | wc -l)" = 1 ]
}

@test "build as root, into another user's directory" {
    as_root
    make --ranks 1
    service
    run agent --once --raw job
    expect_status 0
    mkdir theirs
    give_away theirs
    run "$ROLLCALL" build --root root -o theirs j
    expect_status 77
    shows "theirs is another user's" "--foreign-output"
    run "$ROLLCALL" build --root root -o theirs/new j
    expect_status 77
    is "files" "" "$(ls -A theirs)"
    run "$ROLLCALL" build --root root --foreign-output -o theirs j
    expect_status 0
    run "$ROLLCALL" build --root root -o new/one j
    expect_status 0
    stop_service
    run "$ROLLCALL" build --root root j
    expect_status 0
    # an aggregator says so before anything is delivered
    run timeout "$LIMIT" "$AGGREGATOR" --root root --insecure --out theirs \
        --listen tcp://127.0.0.1:0
    expect_status 77
    shows "theirs is another user's"
    run timeout "$LIMIT" "$AGGREGATOR" --root root --insecure \
        --out theirs/new --listen tcp://127.0.0.1:0
    expect_status 77
}

# What is told of a result is read from it again: not from what a link leads to
# that came in its place.
@test "a result that is a link by the time that build tells of it" {
    make --ranks 5
    "$ROLLCALL" analyze --quiet -o far job
    rm -rf job
    make --ranks 1
    service
    run agent --once --raw job
    expect_status 0
    stop_service
    paused_at '*report.html' "$ROLLCALL" build --text --root root -o theirs j
    ln -sf ../../far/cluster_analysis_output/analysis.db \
        theirs/cluster_analysis_output/analysis.db
    go_on
    end_of "$pid"
    [ "$status" -ne 0 ]
    [[ $output != *"5 of 5"* ]] || fail "it tells what is elsewhere"
    shows theirs/cluster_analysis_output
}

# ---- export ----

# The table is read to its end while its file is beside where it will be.
@test "a directory of export that is renamed in mid-work is not followed" {
    make --ranks 1
    analyze
    elsewhere
    dates=$(stat -c '%n %Y %Z %i' elsewhere/* | sort)
    paused_at 'Capture.csv.*' "$ROLLCALL" export --csv tables out
    mv tables moved
    ln -s elsewhere tables
    go_on
    end_of "$pid"
    expect_status 0
    is_untouched
    [ -s moved/schema.json ]
    [ -s moved/Wait.csv ]
    is "temporary files" "" "$(find moved -name '*.tmp')"
    rm tables
    paused_at 't.json.*' "$ROLLCALL" export --perfetto moved/t.json out
    mv moved tables
    ln -s elsewhere moved
    go_on
    end_of "$pid"
    expect_status 0
    is_untouched
    [ -s tables/t.json ]
}

@test "export as root, into another user's directory" {
    as_root
    make --ranks 1
    analyze
    mkdir theirs
    give_away theirs
    run "$ROLLCALL" report -o theirs/page.html out
    expect_status 77
    shows "theirs is another user's"
    run "$ROLLCALL" report --foreign-output -o theirs/page.html out
    expect_status 0
    rm theirs/*
    run "$ROLLCALL" export --perfetto theirs/t.json out
    expect_status 77
    shows "theirs is another user's"
    run "$ROLLCALL" export --csv theirs out
    expect_status 77
    run "$ROLLCALL" export --csv theirs/new out
    expect_status 77
    is "files" "" "$(ls theirs)"
    run "$ROLLCALL" export --foreign-output --perfetto theirs/t.json out
    expect_status 0
    mkfifo theirs/pipe
    cat theirs/pipe >copy &
    run "$ROLLCALL" export --perfetto theirs/pipe out
    wait $!
    expect_status 0
    cmp copy theirs/t.json
}

# ---- logs of analyses ----

@test "logs of analyses are not written through links" {
    local capture log

    make --ranks 2
    for capture in job/*_ascend_pt; do
        mkdir -p "prepared/${capture#job/}"
        mv "$capture/ASCEND_PROFILER_OUTPUT" "prepared/${capture#job/}"
    done
    printf '%s\n' '#!/bin/bash' 'echo "$1"' \
        "cp -a '$PWD/prepared'/\${1##*/}/. \"\$1\"" >good
    chmod +x good
    cp -a job raw
    "$ROLLCALL" analyze --quiet --analyse-with "$PWD/good" -o out job
    truth_holds
    elsewhere
    cp -a elsewhere/analysis.db elsewhere/log
    rm -r before
    cp -a elsewhere before
    dates=$(stat -c '%n %Y %Z %i' elsewhere/* | sort)
    # the names of logs are known; this is one user's directory
    for log in out/cluster_analysis_output/analyses/*.log; do
        ln -sf ../../../elsewhere/log "$log"
    done
    rm -r job
    cp -a raw job
    "$ROLLCALL" analyze --quiet --analyse-with "$PWD/good" -o out job
    is_untouched
    [ ! -L "$log" ] && [ -s "$log" ]
    rm -r out/cluster_analysis_output/analyses job
    ln -s ../../elsewhere out/cluster_analysis_output/analyses
    cp -a raw job
    run "$ROLLCALL" analyze --quiet --analyse-with "$PWD/good" \
        --analyse-timeout 1s -o out job
    shows "analyses is a symbolic link"
    is_untouched
}
