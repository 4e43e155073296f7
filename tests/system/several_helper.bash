# tests/system/several_helper.bash - several aggregators on ports of their own

# shellcheck disable=SC2154         # bats sets status, output, BATS_*
# shellcheck source=tests/system/service_helper.bash
source "${BASH_SOURCE[0]%/*}/service_helper.bash"

AWAY=5s                             # the least that there is

# begin N [OPTION]...: the service N, again or for the first time; its root is
# rootN
begin ()
{
    local n=$1 before keys=()

    shift
    touch "service$n.log"
    before=$(grep -c event=listening "service$n.log") || true
    [ ! -d "keys$n" ] || keys=(--keys "$TEST_DIR/keys$n")
    "$AGGREGATOR" --root "$TEST_DIR/root$n" --listen "tcp://127.0.0.1:${ports[n]}" \
        "${keys[@]}" "$@" >>"service$n.log" 2>&1 3>&- &
    services[n]=$!
    begun ()
    {
        [ "$(grep -c event=listening "service$1.log")" -gt "$2" ] ||
            gone "${services[$1]}"
    }
    eventually begun "$n" "$before" && ! gone "${services[n]}" ||
        fail "$(cat "service$n.log")"
}

# services N: 1 to N, on ports of their own; LIST names them
services ()
{
    local n

    ports=() services=() LIST=
    for ((n = 1; n <= $1; n++)); do
        choose_port
        ports[n]=$PORT
        LIST+=${LIST:+,}tcp://127.0.0.1:$PORT
        begin "$n"
    done
}

# die N: at once, as by a power cut
die ()
{
    kill -KILL "${services[$1]}"
    wait "${services[$1]}" || true
}

# choices JOB: the numbers of the services, as the job chooses them; computed as
# doc/format-wire.md says
choices ()
{
    local n

    for n in "${!ports[@]}"; do
        echo "$(printf '%s\0%s' "tcp://127.0.0.1:${ports[n]}" "$1" |
            sha256sum | cut -d' ' -f1) $n"
    done | sort -r | cut -d' ' -f2 | tr '\n' ' '
}

# choices_of_host JOB [HOST]: the same for the raw files of a host, or this one
choices_of_host ()
{
    local n

    for n in "${!ports[@]}"; do
        echo "$(printf '%s\0%s\0%s' "tcp://127.0.0.1:${ports[n]}" "$1" \
            "${2:-$(uname -n)}" | sha256sum | cut -d' ' -f1) $n"
    done | sort -r | cut -d' ' -f2 | tr '\n' ' '
}

# deliver JOB DIR [OPTION]...: by an agent that ends then
deliver ()
{
    local job=$1 dir=$2

    shift 2
    timeout "$LIMIT" "$AGENT" --state "$TEST_DIR/spool" --job "$job" --once \
        --aggregators "$LIST" "$@" "$dir"
}

# captures_at N JOB: how many the root of a service has, each once
captures_at ()
{
    "$ROLLCALL" archive ls --json --root "root$1" "$2" 2>/dev/null |
        grep -c '"kind":"rows"' || true
}

# raw_at N JOB: of how many captures the root of a service has raw files
raw_at ()
{
    "$ROLLCALL" archive ls --json --root "root$1" "$2" 2>/dev/null |
        grep '"kind":"raw"' | sed 's/.*"capture":"\([^"]*\)".*/\1/' | sort -u | wc -l
}

captures_at_are ()                  # N JOB COUNT
{
    [ "$(captures_at "$1" "$2")" = "$3" ]
}

built_at ()                         # N JOB COUNT
{
    local db=root$1/jobs/$2/cluster_analysis_output/analysis.db

    [ -e "$db" ] && [ "$(sql "SELECT count(*) FROM Capture WHERE
                              state='complete'" "$db" 2>/dev/null)" = "$3" ]
}

# all_delivered: nothing is under way, also not what is offered again; an agent
# that is ended before ends with 75
all_delivered ()
{
    local name status

    status=$("$ROLLCALL" status --json spool)
    for name in unsettled sealing undelivered; do
        grep -Eq "\"$name\":[[:space:]]*0," <<<"$status" || return
    done
}
