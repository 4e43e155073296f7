#!/usr/bin/env bats
# Disks that run full, captures that are released, bulk work that gives way

load service_helper

# disk SIZE: a small file system of this test's own, in small/ of a mount
# namespace; 'inside COMMAND...' sees it.
disk ()
{
    mkdir small
    unshare -m sh -c "mount -t tmpfs -o size=$1 none small &&
        echo ok >mounted && exec sleep 600" 3>&- 2>mount.log &
    namespace=$!
    mounted () { [ -e mounted ] || gone "$namespace"; }
    eventually mounted
    [ -e mounted ] || skip "no mounting here: $(cat mount.log)"
    sees_test_dir "$namespace" || skip "this is a chroot, which nsenter leaves"
}

inside ()
{
    # by its path: the directory that we are in is the one outside
    nsenter -t "$namespace" -m sh -c 'cd "$TEST_DIR" && exec "$@"' sh "$@"
}

nothing_acknowledged ()
{
    is "items that are durable" 0 \
        "$(sql "SELECT count(*) FROM item WHERE state='durable'" \
            spool/spool-j/ledger.db)"
}

@test "an aggregator below its floor takes nothing in, and goes on later" {
    make
    service --disk-floor 100%
    watching --quiet-period 0.1s job
    eventually says service.log event=disk-floor
    sealed () { [ "$(grep -c event=sealed agent.log)" = 4 ]; }
    eventually sealed
    eventually says agent.log event=connected
    kill "$watcher" "$service"
    wait "$watcher" "$service" || true
    nothing_acknowledged
    is "contents" 0 "$(sql "SELECT count(*) FROM content" root/ledger.db)"
    service
    run agent --once job
    expect_status 0
    eventually captures_are 4
    as_analyzed
}

@test "an aggregator's disk that fills up: what was acknowledged stays whole" {
    disk 16m
    make --ops 40
    choose_port
    dd if=/dev/zero of=fill bs=1M count=13 status=none
    inside cp fill small/fill
    inside "$AGGREGATOR" --root "$TEST_DIR/small/root" --disk-floor 5MB \
        --listen "tcp://127.0.0.1:$PORT" >>service.log 2>&1 3>&- &
    eventually says service.log event=disk-floor
    watching --quiet-period 0.1s job
    eventually says agent.log event=connected
    inside rm small/fill
    eventually says service.log event=disk-room
    built () { says service.log event=built; }
    eventually built
}

# The status would go on to be that of the second before the disk was full.
@test "status tells of an aggregator whose disk is full to the last byte" {
    disk 8m
    choose_port
    inside "$AGGREGATOR" --root "$TEST_DIR/small/root" \
        --listen "tcp://127.0.0.1:$PORT" >>service.log 2>&1 3>&- &
    state () { [[ "$(inside "$ROLLCALL" status small/root)" == *"$1"* ]]; }
    eventually state serving
    inside sh -c 'cat /dev/zero >small/fill' 2>/dev/null || true
    eventually state no-room
    state "small/root has only"
    inside rm small/fill
    eventually state serving
}

@test "a result for which a disk has no room is named, until it is built" {
    disk 16m
    make --ops 40
    choose_port
    inside "$AGGREGATOR" --root "$TEST_DIR/small/root" --disk-floor 0 \
        --listen "tcp://127.0.0.1:$PORT" >>service.log 2>&1 3>&- &
    state () { [[ "$(inside "$ROLLCALL" status small/root)" == *"$1"* ]]; }
    eventually state serving
    # what arrives has room, its result has not
    inside sh -c 'cat /dev/zero >small/fill' 2>/dev/null || true
    inside truncate -s -400K small/fill
    run agent --once job
    expect_status 0
    eventually says service.log event=build-failed
    eventually state build-failed
    eventually state "job j: its result could not be built since 20"
    state "disk is full" || state "No space left"
    state "small/root has "
    state "free without it, and ${TMPDIR:-/var/tmp}, where it sorts, "
    state ": make room on the full one; it is tried again by itself"
    run inside "$ROLLCALL" jobs --root small/root
    shows "its result could not be built since 20" "make room on the full one"
    run inside "$ROLLCALL" jobs --root small/root --json
    shows '"unbuilt": {"since": "20'
    run inside "$ROLLCALL" show --root small/root j
    shows "not built     its result could not be built since 20"
    # each try is later than the one before, and leaves nothing
    tries () { [ "$(grep -c event=build-failed service.log)" -ge "$1" ]; }
    eventually tries 2
    eventually state "(2 tries)"
    is "files of the result" 0 "$(inside find small/root/jobs -type f | wc -l)"
    inside rm small/fill
    eventually says service.log event=built
    eventually state serving
    ! state "could not be built" || fail "it is still named"
    run inside "$ROLLCALL" jobs --root small/root
    shows built
    [[ "$output" != *"could not be built"* ]]
}

@test "an agent below its floor keeps the originals, and goes on when there is room" {
    disk 16m
    make
    service
    inside cp -r job small/captures
    dd if=/dev/zero of=fill bs=1M count=13 status=none
    inside cp fill small/fill
    inside "$AGENT" --state "$TEST_DIR/small/spool" --job j \
        --disk-floor 5MB --quiet-period 0.1s \
        --aggregator "tcp://127.0.0.1:$PORT" "$TEST_DIR/small/captures" \
        >>agent.log 2>&1 3>&- &
    eventually says agent.log "captures stay where they are"
    ! says agent.log event=sealed
    inside rm small/fill
    eventually says agent.log event=spool-has-room
    eventually captures_are 4
    as_analyzed
}

# No floor: the disk is found to be full when it is written to.
@test "a full disk of the spool is said once, and waited for" {
    disk 8m
    make
    mkdir later
    service
    inside "$AGENT" --state "$TEST_DIR/small/spool" --job j \
        --disk-floor 0 --spool-quota 1GB --quiet-period 0.1s \
        --aggregator "tcp://127.0.0.1:$PORT" later >>agent.log 2>&1 3>&- &
    eventually says agent.log event=connected
    inside sh -c 'cat /dev/zero >small/fill' 2>/dev/null || true
    cp -r job/*_ascend_pt later
    eventually says agent.log "captures stay where they are"
    says agent.log event=no-room
    tried_again () { [ "$(grep -c event=no-room agent.log)" -ge 2 ]; }
    eventually tried_again
    [ "$(grep -c . agent.log)" -lt 20 ] || fail "$(cat agent.log)"
    inside rm small/fill
    eventually captures_are 4
    as_analyzed
}

@test "a run warns when a disk with captures runs full, before and meanwhile" {
    disk 16m
    dd if=/dev/zero of=fill bs=1M count=15 status=none
    cat >command <<'SCRIPT'
#!/bin/sh
cp fill small/fill
touch began
until [ -e go ]; do sleep 0.05; done
exec ./writer
SCRIPT
    chmod +x command
    # one directory of two on it, and no more said than once
    background inside "$ROLLCALL" run --text -o out -w small/a -w small/b -- \
        ./command
    eventually test -e began
    eventually says "$(run_dir)/agent.log" "has only"
    touch go
    end_of "$pid"
    expect_status 0
    shows "note          host" "small/a has only" "must stay free"
    ! [[ "$output" == *warning* ]] || fail "$output"
    is "lines" 1 "$(grep -c event=no-room "$(run_dir)/agent.log")"
    rm -rf state
    # and now that it is full, before COMMAND starts
    run inside "$ROLLCALL" run --text -o out -w small/a -w small/b -- ./writer
    expect_status 0
    shows "warning: host" "small/a has only"
    is "warnings" 1 "$(grep -c warning <<<"$output")"
    rm -rf state
    run inside env -C small "$ROLLCALL" run --text -o "$TEST_DIR/out" -- \
        "$TEST_DIR/writer"
    expect_status 0
    shows "if COMMAND's profiler writes into its working directory" \
        "small has only"
}

# The job writes on, so room counts for more than that OUT may fail later.
@test "a run removes what was delivered before its end only for want of room" {
    disk 16m
    dd if=/dev/zero of=fill bs=1M count=15 status=none
    cat >command <<'SCRIPT'
#!/bin/sh
./writer
touch "$(echo "$ROLLCALL_CAPTURE_DIR"/*/ASCEND_PROFILER_OUTPUT)"/analyse.done
touch began
until [ -e go ]; do sleep 0.05; done
cp fill small/fill
while [ -e "$(find "$ROLLCALL_CAPTURE_DIR" -name '*_ascend_pt')" ]; do
    sleep 0.05
done
SCRIPT
    chmod +x command
    background inside timeout 200 "$ROLLCALL" run --text --raw -o out -w small \
        -- ./command
    eventually test -e began
    delivered () { [ "$(sql "SELECT count(*) FROM item WHERE kind=2" \
                        "$(run_dir)/root/ledger.db")" = \
                     "$(find state -path '*_ascend_pt/*' -type f | wc -l)" ]; }
    eventually delivered
    is "captures" 1 "$(find state -name '*_ascend_pt' | wc -l)"
    touch go
    end_of "$pid"
    expect_status 0
    says "$(run_dir)/agent.log" event=released
    is "in OUT" 1 "$(find out/captures -name '*_ascend_pt' | wc -l)"
}

@test "a spool at its quota holds one shipment more at most" {
    make --ranks 8
    choose_port                     # nobody listens: nothing is delivered
    watching --quiet-period 0.1s --spool-quota 1k job
    eventually says agent.log "(--spool-quota)"
    is "sealed" 1 "$(grep -c event=sealed agent.log)"
    service
    eventually captures_are 8
    as_analyzed
}

# Whoever looks at the status alone must not believe that they were delivered.
@test "--when-full refuse gives captures up, and says so" {
    make
    service
    run agent --once --when-full refuse --disk-floor 100% job
    expect_status 1
    shows "was refused" "must stay free (--disk-floor)"
    # event=refused is the aggregator's doing, and has another cure
    is "events" "4 0" "$(grep -c event=capture-refused <<<"$output") $(
        grep -c event=refused <<<"$output")"
    run agent --once job            # they are still there
    expect_status 0
    eventually captures_are 4
}

# Nobody would know of it but the next start.
@test "a capture that goes while it waits for room is named at once: 1" {
    make --ranks 2
    choose_port                     # nobody listens: nothing is delivered
    background agent --once --spool-quota 1B job
    eventually says log "captures stay where they are"
    eventually says log event=sealed
    if says log "$(basename "$(capture_of 0)")"; then
        rm -r "$(capture_of 1)"
    else
        rm -r "$(capture_of 0)"
    fi
    service
    end_of "$pid"
    expect_status 1
    shows event=capture-vanished "vanished before it was read"
    eventually captures_are 1
    stop_service
}

@test "an agent that ends while captures wait for room: 75" {
    make
    choose_port
    watching --quiet-period 0.1s --disk-floor 100% job
    eventually says agent.log "captures stay where they are"
    ends_with 75
}

@test "captures are released when all of them is delivered, and only then" {
    make
    cp -r job original
    ln -s /etc/passwd "$(capture_of 1)/link"
    choose_port
    watching --raw --release shipped --quiet-period 0.1s job
    sealed () { [ "$(grep -c event=sealed agent.log)" = 4 ]; }
    eventually sealed
    is "captures" 4 "$(find job -maxdepth 1 -name '*_ascend_pt' | wc -l)"
    service
    released () { [ "$(grep -c event=released agent.log)" = 3 ]; }
    eventually released
    # a link is nothing that was delivered: that capture stays as it was
    is "captures" 1 "$(find job -maxdepth 1 -name '*_ascend_pt' | wc -l)"
    says agent.log "$(basename "$(capture_of 1)"): link is neither a file"
    [ -L "$(capture_of 1)/link" ]
    [ -s /etc/passwd ]
    eventually captures_are 4
    kill "$watcher"
    wait "$watcher" || true
    rm -r job
    mv original job
    as_analyzed
}

@test "a capture that has changed is not released" {
    make --ranks 1
    choose_port
    watching --raw --release shipped --quiet-period 0.1s job
    eventually says agent.log event=sealed
    kill -STOP "$watcher"
    echo >>"$(capture_of 0)/profiler_info_0.json"
    service
    kill -CONT "$watcher"
    eventually captures_are 1
    check () { says agent.log event=not-released ||
               [ "$(grep -c event=sealed agent.log)" = 2 ]; }
    eventually check
}

# The first one, which all others come behind, cannot be opened.
@test "a capture that cannot be looked at holds up no other release" {
    local first

    make
    choose_port
    watching --raw --release shipped --quiet-period 0.1s job
    sealed () { [ "$(grep -c event=sealed agent.log)" = 4 ]; }
    eventually sealed
    kill -STOP "$watcher"
    first=$(sed -nE 's/.*event=sealed capture=(\S*) .*/\1/p' agent.log |
        head -n 1)
    mv "$first" elsewhere
    ln -s "$PWD/elsewhere" "$first"
    service
    kill -CONT "$watcher"
    released () { [ "$(grep -c event=released agent.log)" = 3 ]; }
    eventually released
    # once; or a search has seen before what it is now
    [ "$(grep -c event=not-released agent.log)" -le 1 ]
    says agent.log event=not-released || says agent.log event=not-releasable
    [ -d elsewhere ]
}

@test "a file that cannot be removed is named, and holds up no other capture" {
    local file

    make
    file=$(capture_of 0)/profiler_info_0.json
    chattr +i "$file" 2>/dev/null || skip "no immutable files here"
    service
    run agent --once --raw --release shipped job
    find job -name profiler_info_0.json -exec chattr -i {} +
    expect_status 0
    shows "its rest, .rollcall-removing-" \
        "cannot remove profiler_info_0.json"
    is "released" 3 "$(grep -c event=released <<<"$output")"
    # the next life tries it again
    run agent --once --raw --release shipped job
    expect_status 0
    is "what is left" "" "$(find job -mindepth 1)"
    stop_service
}

# Whoever wants room must not wait for it in vain.
@test "--release says what it leaves that was delivered without it" {
    make --ranks 2
    service
    run agent --once --raw job
    expect_status 0
    run agent --once --raw --release shipped job
    expect_status 0
    shows "event=not-releasable text=\"2 captures will not be released: an earlier"
    is "captures" 2 "$(find job -maxdepth 1 -name '*_ascend_pt' | wc -l)"
}

@test "a release is nothing for captures whose raw files stay here" {
    make --ranks 1
    run agent --once --release shipped job
    expect_status 2
    shows "give --raw, or --release-rows-only"
    run agent --once --when-full drop-oldest-shipped job
    expect_status 2
    service
    run agent --once --release shipped --release-rows-only job
    expect_status 0
    is "captures" 0 "$(find job -maxdepth 1 -name '*_ascend_pt' | wc -l)"
    eventually captures_are 1
}

@test "what went as rows only is not all of it for an agent with --raw" {
    local files

    make
    files=$(find job -path '*_ascend_pt/*' -type f | wc -l)
    service
    run agent --once --release after=1h --release-rows-only job
    expect_status 0
    run agent --once --raw --release shipped job
    expect_status 0
    is "raw files" "$files" "$(sql "SELECT count(*) FROM item WHERE kind=2" \
        root/ledger.db)"
    is "captures" 0 "$(find job -maxdepth 1 -name '*_ascend_pt' | wc -l)"
    eventually captures_are 4
}

@test "--release-rows-only: a capture without all of its rows stays" {
    local raw cut

    make --ranks 3
    raw=$(capture_of 1) cut=$(capture_of 2)
    # never analysed; and one file of it is cut short
    rm -r "$raw/ASCEND_PROFILER_OUTPUT"
    mkdir -p "$raw/PROF_1/device_0/data"
    truncate -s 100 "$(output_of 2)/communication.json"
    service
    run agent --once --release shipped --release-rows-only job
    expect_status 0
    is "captures" "$(printf '%s\n' "$raw" "$cut" | sort)" \
        "$(find job -maxdepth 1 -name '*_ascend_pt' | sort)"
    [ -d "$raw/PROF_1" ]
    shows "$(basename "$raw") will not be released: it is raw" \
        "$(basename "$cut") will not be released: it is partial"
}

# The older version must not stand for the one that is to stay.
@test "a capture that will not be released is not released as it was before" {
    make --ranks 2
    service
    run agent --once --release after=1h --release-rows-only job
    expect_status 0
    is "releases" 2 "$(sql "SELECT count(*) FROM release" \
        spool/spool-j/ledger.db)"
    truncate -s 100 "$(output_of 1)/communication.json"
    run agent --once --release after=1h --release-rows-only job
    expect_status 0
    shows "$(basename "$(capture_of 1)") will not be released: it is partial"
    is "releases" "$PWD/$(capture_of 0)" "$(sql "SELECT path FROM release" \
        spool/spool-j/ledger.db)"
}

@test "on a busy node bulk work still finishes" {
    make
    service
    # as many loops as CPUs: the idle class gets next to nothing
    for ((i = 0; i < $(nproc); i++)); do
        sh -c 'while :; do :; done' 3>&- &
    done
    watching --quiet-period 0.1s --backlog-limit 1s job
    eventually captures_are 4
    as_analyzed
}

@test "a capture that is written without end holds up the others for a while" {
    local endless

    make --ranks 2
    service
    mkdir job/endless_ascend_pt
    (while echo >>job/endless_ascend_pt/profiler_info_7.json; do
         sleep 0.1
     done) 3>&- 2>/dev/null &
    endless=$!
    watching --raw --hold --quiet-period 2s --backlog-limit 3s job
    eventually says agent.log state=complete
    eventually captures_are 2
    kill "$endless"                 # or bats could not remove where it writes
}

@test "--max-rate is kept to" {
    make --ranks 1
    head -c 4000000 /dev/urandom >"$(capture_of 0)/big"
    service
    start=$(date +%s%N)
    run agent --once --raw --max-rate 1MB job
    expect_status 0
    took=$((($(date +%s%N) - start) / 1000000))
    # what gathers at the start and the last piece are not waited for
    [ "$took" -ge 1500 ] || fail "4 MB went in $took ms"
    is "raw files" 1 "$(sql "SELECT count(*) FROM item WHERE path='big' AND
                             state IN (6, 7)" spool/spool-j/ledger.db)"
}

# Half of it would be gone.
@test "a capture of which not all may be removed stays as it is" {
    [ "$(id -u)" -ne 0 ] || command -v setpriv >/dev/null || skip "needs setpriv"
    local dir

    make --ranks 2
    dir=$(capture_of 0)
    mkdir "$dir/sub"
    echo 1 >"$dir/sub/f"
    chmod 555 "$dir/sub"
    cp -a "$dir" whole
    service
    for _ in 1 2; do
        run humbly timeout 120 "$AGENT" --state "$TEST_DIR/spool" --job j \
            --aggregator "tcp://127.0.0.1:$PORT" --once --raw \
            --release shipped job
        expect_status 0
        [[ "$output" != *"came later"* ]] || fail "$output"
        diff -r "$dir" whole
    done
    [ -z "$(capture_of 1)" ]
    stop_service
}

# Needs the build with fault points (preset faults).
# bats test_tags=faults
@test "a release that broke off is no loss, and is tried at each start" {
    grep -q ROLLCALL_FAULT_ONCE "$AGENT" || skip "no fault points in this build"
    make --ranks 1
    service
    for _ in 1 2; do
        ROLLCALL_FAULT=agent.release.unlink:3:eio \
            run agent --once --raw --release shipped job
        expect_status 0
        shows event=not-released "cannot remove"
    done
    shows "its rest, .rollcall-removing-"
    run agent --once --raw --release shipped job
    expect_status 0
    is "captures" "" "$(find job -name '*_ascend_pt')"
    stop_service
}

# Needs the build with fault points (preset faults).  What is left is complete,
# too, and newer: it would count instead of the whole.
# bats test_tags=faults
@test "the rest of a removal is no newer version, though the ledger is lost" {
    grep -q ROLLCALL_FAULT_ONCE "$AGENT" || skip "no fault points in this build"
    local rows="SELECT count(*) FROM ApiStatistic WHERE rank=0" before

    make --ranks 1 --extras
    service
    ROLLCALL_FAULT=agent.release.unlink:2:kill \
        run agent --once --raw --release shipped job
    expect_status 137
    eventually captures_are 1
    before=$(sql "$rows")
    [ "$before" -gt 0 ]
    rm -f spool/spool-j/ledger.db-*
    head -c 128 /dev/urandom |
        dd of=spool/spool-j/ledger.db conv=notrunc status=none
    run agent --once --raw --release shipped job
    shows event=ledger-damaged
    another_job other
    is "versions" 1 "$(sql "SELECT count(*) FROM item WHERE kind=1 AND
                            job='j'" root/ledger.db)"
    is "rows of the file that had gone" "$before" "$(sql "$rows")"
    stop_service
}

# Needs the build with fault points (preset faults).
# bats test_tags=faults
@test "what came into a capture while it was removed is named; a new one goes" {
    grep -q ROLLCALL_FAULT_ONCE "$AGENT" || skip "no fault points in this build"
    local dir files

    make --ranks 1
    dir=$(capture_of 0)
    service
    ROLLCALL_FAULT=agent.release.unlink:3:kill \
        run agent --once --raw --release shipped job
    expect_status 137
    [ ! -e "$dir" ]
    echo late >"$(find job -name '.rollcall-removing-*')/late.txt"
    for _ in 1 2; do                # also when it was left by another life
        run agent --once --raw --release shipped job
        expect_status 1
        shows "$dir was delivered and removed, except for files that came later"
        is "what stays" "$dir/late.txt" "$(find job -path '*_ascend_pt/*' -type f)"
    done

    # under the same name; maybe with the same inode
    rm -r "$dir"
    make --ranks 1 --ops 16 --first-step 50
    files=$(find "$dir" -type f | wc -l)
    run agent --once --raw --release shipped job
    expect_status 0
    is "versions" 2 "$(sql "SELECT count(*) FROM item WHERE kind=1" \
        root/ledger.db)"
    [ ! -e "$dir" ]
    [ "$files" -gt 3 ]
}

# Needs the build with fault points (preset faults).
# bats test_tags=faults
@test "a release that is cut short is finished at the next start" {
    grep -q ROLLCALL_FAULT_ONCE "$AGENT" || skip "no fault points in this build"
    local point

    # add: it has sealed, and would leave for good what nobody wrote down
    for point in add commit rename sync unlink:2 rmdir sync:2 commit:2; do
        rm -rf job spool root agent.log
        make --ranks 1
        service
        release_dies_at "$point"
        is "captures" "" "$(find job -name '*_ascend_pt')"
        eventually captures_are 1
        is "superseded" 0 "$(sql "SELECT count(*) FROM Capture
                                  WHERE state='superseded'")"
        kill "$service"
        wait "$service" || true
    done
}
