# tests/soak/disk.bash - disks that are full, or faulty
#
# Writing, fsync, making and renaming of files fails with ENOSPC or EIO, once
# and several times, in the spool, both ledgers, the store and the output
# (tests/kit/disk_fault.c); then there is a small file system that is full
# until it grows, where mounting is permitted.  Nothing may be acknowledged
# that is not there, and once there is room all must arrive.

# shellcheck disable=SC2034,SC2154

# one_case inject agent|aggregator CALL ERROR NTH TIMES PATTERN
inject_case ()
{
    local side=$1 fault

    shift
    fault="$1:$2:$3:$4:$CASE/$5"
    fault=(DISK_FAULT="$fault" DISK_FAULT_HITS="$CASE/hits"
        LD_PRELOAD="$KIT/disk_fault.so")
    RAW=--raw
    captures 2
    raw_files 1200000
    oracle || return
    if [ "$side" = agent ]; then
        start_service
        start_agent "${fault[@]}"
    else
        start_service "${fault[@]}"
        start_agent
    fi
    # what is tried again every 30 s has to fail several times first
    PATIENCE=400 delivered "disk $side $*" || return
    [ -e hits ] || return 0         # no such call was made so often
    echo "$side $*" >>"$WORK/hits"
    [ $restarts -eq 0 ] || echo "$side $*" >>"$WORK/ended"
}

# small_case agent|aggregator SMALL BIG: in a mount namespace of its own
small_case ()
{
    local side=$1 dir

    RAW=--raw
    if [ "$side" = agent ]; then    # shipments are what fills its disk
        captures 8 --ops 3000
    else
        captures 3
        raw_files 6000000
    fi
    oracle || return
    dir=$([ "$side" = agent ] && echo state || echo root)
    mkdir "$dir"
    mount -t tmpfs -o "size=$2" tmpfs "$dir" || return
    keep_alive
    full () { grep -qiE 'no space|full|too little room' service.log agent.log; }
    await "$PATIENCE" full || complain "$*: nobody says that the disk is full"
    all_arrived && complain "$*: it was not full" && return 1
    mount -o "remount,size=$3" tmpfs "$dir" || return
    delivered "small $*"
    local state=$?
    stop_agent
    stop_service
    umount "$dir"
    return $state
}

one_case ()
{
    local kind=$1

    shift
    "${kind}_case" "$@"
}

part_disk ()
{
    local side call error n nths times pattern
    local -A patterns=([agent]="state/*" [aggregator]="root/*")
    local -A places=(
        [agent]="state/*items/* state/*ledger.db-wal state/*ledger.db"
        [aggregator]="root/ledger.db root/ledger.db-wal root/segments/*
            root/jobs/*")

    CASES=()
    set -f
    for side in agent aggregator; do
        for pattern in ${places[$side]}; do
            if [ -z "$LONG" ]; then
                times=3
                case $pattern in
                root/jobs/*) times=1 ;& # a build is tried again after 10 s
                *) CASES+=("inject $side write enospc 1 $times $pattern") ;;
                esac
                CASES+=("inject $side fsync eio 1 1 $pattern")
                continue
            fi
            nths=(1 2 3 5)          # a ledger is made by the first ones
            case $pattern in *-wal) nths+=(8 60) ;; esac
            for call in write fsync open rename; do
                for error in enospc eio; do
                    for n in "${nths[@]}"; do
                        for times in 1 5; do
                            CASES+=("inject $side $call $error $n $times $pattern")
                        done
                    done
                done
            done
        done
        [ -z "$LONG" ] || for call in unlink mkdir rename; do
            CASES+=("inject $side $call eio 1 1 ${patterns[$side]}")
        done
    done
    set +f
    if [ "$(id -u)" -eq 0 ] && unshare -m mount -t tmpfs -o size=1m tmpfs /mnt \
        2>/dev/null; then
        CASES+=("small aggregator 8m 200m" "small agent 300k 100m")
    else
        echo "  SKIPPED: small file systems, since mounting is not permitted"
    fi
    workers 8 take_cases
    report "$total_cases cases, struck $(cat "$WORK/hits" 2>/dev/null | wc -l)," \
        "ended instead of trying again" \
        "$(cat "$WORK/ended" 2>/dev/null | wc -l)"
}
