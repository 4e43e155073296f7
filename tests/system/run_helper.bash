# tests/system/run_helper.bash - what the tests of runs and services share
#
# From the environment, besides helper.bash's: MPI_WRITER (mpi_writer.c).
# Whatever a test starts carries ROLLCALL_TEST_ID in its environment, daemons
# too, so that nothing of a run can be left unnoticed or untidied.

# shellcheck disable=SC2154         # bats sets status, output, BATS_*
# shellcheck source=tests/system/helper.bash
source "${BASH_SOURCE[0]%/*}/helper.bash"

LIMIT=${LIMIT:-300}                           # seconds for anything to happen

eval "helper_$(declare -f setup)"   # helper.bash's, under another name

setup ()
{
    helper_setup
    # MPI leaks
    export ASAN_OPTIONS=detect_leaks=0:$ASAN_OPTIONS
    AGENT=$ROLLCALL_BIN/rollcall-agent
    AGGREGATOR=$ROLLCALL_BIN/rollcall-aggregator
    TEST_DIR=$PWD
    export TEST_DIR CAPTURE_MAKER ROLLCALL_TEST_ID=$TEST_DIR
    export ROLLCALL_STATE_DIR=$TEST_DIR/state TMPDIR=$TEST_DIR/tmp
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    export HWLOC_HIDE_ERRORS=2          # a chroot without /sys is no concern here
    export OMPI_MCA_rmaps_base_oversubscribe=1
    unset RANK WORLD_SIZE LOCAL_RANK LOCAL_WORLD_SIZE MASTER_ADDR MASTER_PORT
    unset ROLLCALL_DEADLINE ROLLCALL_INSECURE ROLLCALL_JOB ROLLCALL_PORT
    unset ROLLCALL_QUIET_PERIOD ROLLCALL_INTERFACE ROLLCALL_AGGREGATOR
    mkdir tmp
    # COMMAND that writes this rank's capture, where it is told to
    cat >writer <<'SCRIPT'
#!/bin/sh
exec "$CAPTURE_MAKER" --quiet --ranks "$WORLD_SIZE" --ops 8 --extras \
    --only-rank "$RANK" "${1:-$ROLLCALL_CAPTURE_DIR}"
SCRIPT
    chmod +x writer
}

teardown ()
{
    kill_all
}

# ---- processes ----

# The processes of this test, not zombies (they have no environment).  What is
# run for looking is not to be found itself.
processes ()
{
    local file

    for file in $(env -u ROLLCALL_TEST_ID grep -lzxF \
        "ROLLCALL_TEST_ID=$TEST_DIR" /proc/[0-9]*/environ 2>/dev/null); do
        file=${file#/proc/}
        echo "${file%/environ}"
    done
}

# processes_named NAME: those of this test
processes_named ()
{
    local pid

    for pid in $(processes); do
        if [ "$(cat "/proc/$pid/comm" 2>/dev/null)" = "${1:0:15}" ]; then
            echo "$pid"
        fi
    done
}

kill_all ()
{
    local pids i

    for ((i = 0; i < 100; i++)); do
        pids=$(processes)
        [ -n "$pids" ] || return 0
        # shellcheck disable=SC2086     # a list
        kill -KILL $pids 2>/dev/null || true
        sleep 0.05
    done
}

describe_processes ()
{
    local pid

    for pid in $(processes); do
        echo "$pid $(tr '\0' ' ' 2>/dev/null <"/proc/$pid/cmdline")"
    done 2>/dev/null
}

# eventually COMMAND...: until it succeeds, for at most LIMIT seconds.  What is
# not so at once is asked for less and less often: most of the time of a machine
# that runs many tests went into asking.
eventually ()
{
    local end=$((SECONDS + LIMIT)) n=0
    local pauses=(0.02 0.05 0.05 0.1 0.1 0.1 0.15 0.15 0.25)

    until "$@"; do
        [ $SECONDS -lt $end ] || fail "never became true: $*" || return
        sleep "${pauses[n]}"
        n=$((n < 8 ? n + 1 : 8))
    done
}

no_processes ()
{
    [ -z "$(processes)" ]
}

# sees_test_dir PID: whether this test's directory is where nsenter finds itself
# in the mounts of a process; it leaves a chroot
sees_test_dir ()
{
    nsenter -t "$1" --mount test -d "$TEST_DIR" 2>/dev/null
}

gone ()                             # PID: ended, or a zombie
{
    local line

    { read -r line <"/proc/$1/stat"; } 2>/dev/null || return 0
    [[ ${line##*) } == Z* ]]
}

# choose_port: sets PORT to one, below those that the system gives out, that no
# other test has until this one has ended: where a service is to be away for a
# while, agents must not find another test's
choose_port ()
{
    local held

    exec {held}< <(exec env -u ROLLCALL_TEST_ID "$HOLD_PORT" 15000 29999)
    read -r PORT <&"$held" || fail "no free port"
}

# listens PORT: whether anything does, on this host
listens ()
{
    local hex

    hex=$(printf ':%04X' "$1")
    awk -v port="$hex" '$4 == "0A" && index ($2, port) { found = 1 }
                        END { exit !found }' /proc/net/tcp /proc/net/tcp6
}

# The ports that the aggregators of this test have listened on.
ports ()
{
    # shellcheck disable=SC2046         # file names without spaces
    find "${ROLLCALL_STATE_DIR:-state}" -name aggregator.log -exec \
        sed -nE 's/.*event=listening text="[^,]*:([0-9]+), .*/\1/p' {} + |
        sort -u
}

is_free ()                          # PORT
{
    ! listens "$1"
}

# nothing_runs: no process of the run is left, and nobody listens.  A test
# beside this one may have been given the port by now: it lets go of it, too.
nothing_runs ()
{
    local port

    eventually no_processes ||
        fail "left: $(describe_processes)" || return
    for port in $(ports); do
        eventually is_free "$port" ||
            fail "port $port is still taken" || return
    done
}

# ---- runs ----

# mpirun_run N [OPTION]... -- COMMAND...: rollcall run on N ranks
mpirun_run ()
{
    local n=$1

    shift
    mpirun -np "$n" "$ROLLCALL" run --text -o out "$@"
}

job_line ()
{
    [[ "${lines[0]}" =~ ^job\ +[^\ ]+$ ]] ||
        fail "the first line is: ${lines[0]}"
}

# The only job of this test.
job ()
{
    local jobs=("$ROLLCALL_STATE_DIR"/*/)

    [ ${#jobs[@]} -eq 1 ] && [ -d "${jobs[0]}" ] && basename "${jobs[0]}"
}

run_dir ()                          # of this host
{
    local dirs=("$ROLLCALL_STATE_DIR"/*/*/)

    echo "${dirs[0]%/}"
}

# preloads PROGRAM LIBRARY: daemons of runs, too, which do not inherit it
preloads ()
{
    mkdir bin
    cp "$ROLLCALL_BIN"/{,lib}rollcall* bin
    printf '#!/bin/sh\nLD_PRELOAD="%s" exec "%s" "$@"\n' "$2" \
        "$ROLLCALL_BIN/$1" >"bin/$1"
    ROLLCALL=$PWD/bin/rollcall
}

# for COMMANDs that are MPI programs
setup_mpi ()
{
    : "${MPI_WRITER:?names mpi_writer}"
    export MPI_WRITER
    # what mpi_writer becomes: writes the capture of its MPI rank
    cat >mpi_capture <<'SCRIPT'
#!/bin/sh
exec "$CAPTURE_MAKER" --quiet --ranks "$MPI_SIZE" --ops 8 \
    --only-rank "$MPI_RANK" "$ROLLCALL_CAPTURE_DIR"
SCRIPT
    chmod +x mpi_capture
}

# one_world N: COMMAND's MPI_COMM_WORLD had N ranks
one_world ()
{
    local rank

    for ((rank = 0; rank < $1; rank++)); do
        is "what rank $rank said" "rank $rank of $1, sum $1" \
            "$(cat said.$rank)" || return
    done
}

# equals_analyze DIR [N]: what was collected is what `analyze` makes of DIR
equals_analyze ()
{
    "$ROLLCALL" analyze ${2:+--world-size $2} -o ref "$1" >ref.log 2>&1 ||
        fail "analyze: $(cat ref.log)" || return
    same_tables ref/cluster_analysis_output/analysis.db "$DB"
}

has_rows ()                         # N: that many ranks have some
{
    is "ranks with rows" "$1" \
        "$(sql "SELECT count(DISTINCT rank) FROM StepTraceTime")"
}

# roster_says RANK STATE TEXT
roster_says ()
{
    local got

    got=$(sql "SELECT state || ' ' || ifnull(reason, '') FROM Roster
               WHERE rank=$1")
    [[ "$got" == "$2 "*"$3"* ]] || fail "rank $1 is: $got, not $2 ... $3"
}

# As somebody who is not root.
as_nobody ()
{
    if [ "$(id -u)" -eq 0 ]; then
        runuser -u nobody -- "$@"
    else
        "$@"
    fi
}
