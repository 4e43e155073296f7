# tests/soak/shutdown.bash - a file system is shut down below a program
#
# The spool or the root is on an ext4 file system of its own, which dies while
# captures come and go: from one moment on nothing can be read or written, and
# what was not synced is gone when it is mounted again, as after a power
# failure.  What had been acknowledged is there then, and all of it arrives.

# shellcheck disable=SC2034,SC2154

IMAGE_MB=96

may_shut_down ()
{
    local dir=$WORK/try state=1

    [ "$(id -u)" -eq 0 ] && command -v mkfs.ext4 >/dev/null || return
    mkdir -p "$dir"
    truncate -s 8M "$dir.img"
    mkfs.ext4 -q "$dir.img" 2>/dev/null &&
        mount -o loop "$dir.img" "$dir" 2>/dev/null || return
    "$KIT/shut_down_fs" "$dir" nothing 2>/dev/null && state=0
    umount "$dir"
    return $state
}

# dies DIR HOW: after some of a second; whoever uses it is told nothing
dies ()
{
    random 700
    sleep "0.$(printf '%03d' "$DRAW")"
    "$KIT/shut_down_fs" "$1" "$2" || complain "cannot shut down $1"
}

# A mount namespace that somebody made meanwhile has the file system, too: then
# it is still the dead one that is mounted again.
mounted_alive ()                    # DIR IMAGE
{
    { ! mountpoint -q "$1" || umount "$1"; } &&
        mount -o loop "$2" "$1" && touch "$1/alive" 2>/dev/null &&
        rm "$1/alive"
}

# mount_again DIR IMAGE: nobody has a file of it open
mount_again ()
{
    stop_agent KILL
    stop_service KILL
    await "$PATIENCE" mounted_alive "$1" "$2" ||
        complain "cannot mount $1 again"
}

# one_case agent|aggregator HOW TIMES
one_case ()
{
    local side=$1 how=$2 times=$3 dir i state=0

    RAW=--raw
    captures 6
    raw_files 1500000
    oracle || return
    [ "$side" = agent ] && dir=state || dir=root
    mkdir "$dir"
    truncate -s "${IMAGE_MB}M" image
    mkfs.ext4 -q image && mount -o loop,errors=continue image "$dir" ||
        complain "cannot mount an image" || return
    for ((i = 0; i < times; i++)); do
        keep_alive
        dies "$PWD/$dir" "$how" && mount_again "$dir" "$PWD/image" || {
            state=1
            break
        }
    done
    restarts=0                      # these are no deaths of their own
    [ $state -ne 0 ] || delivered "shutdown $*" || state=1
    stop_agent
    stop_service
    umount "$dir"
    return $state
}

part_shutdown ()
{
    local side how i rounds=1

    if ! may_shut_down; then
        echo "  SKIPPED: no ext4 file system may be mounted and shut down here"
        return
    fi
    [ -z "$LONG" ] || rounds=20
    CASES=()
    for ((i = 0; i < rounds; i++)); do
        for side in agent aggregator; do
            for how in flush log nothing; do
                CASES+=("$side $how $((1 + i % 3))")
            done
        done
    done
    workers 4 take_cases
    report "$total_cases cases"
}
