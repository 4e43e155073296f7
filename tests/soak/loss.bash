# tests/soak/loss.bash - packets are lost on the way
#
# Agent and aggregator in a network namespace of their own, where nft drops 5
# and 20 % of the packets on loopback: all must arrive.  With 50 % nobody may
# hang, and what is acknowledged must be there when the loss ends.

# shellcheck disable=SC2034,SC2154

packet_loss ()                      # PERCENT
{
    local rule="numgen random mod 100 < $1 counter drop"

    nft delete table inet soak 2>/dev/null
    [ "$1" -eq 0 ] || nft "add table inet soak;
        add chain inet soak in { type filter hook input priority 0; };
        add rule inet soak in iifname lo $rule"
}

dropped ()
{
    nft list table inet soak 2>/dev/null |
        sed -n 's/.*packets \([0-9]*\) .*/\1/p'
}

# one_case PERCENT: called in the namespace
one_case ()
{
    local percent=$1 lost state=0

    RAW=--raw
    captures 3
    raw_files $((percent < 20 ? 3000000 : 200000))
    oracle || return
    # packets of a size that real ones have; loopback's are 64 KiB
    ip link set lo up mtu 1500
    packet_loss "$percent" || return
    keep_alive
    if [ "$percent" -lt 50 ]; then
        PATIENCE=240 delivered "loss of $percent %" || state=1
        lost=$(dropped)
    else
        await 20 all_arrived        # it need not
        lost=$(dropped)
        alive "$agent_pid" && alive "$service_pid" ||
            complain "somebody ended" || state=1
        # a stuck process does not end on SIGTERM
        end_quickly () { stop_agent; stop_service; }
        local began=$SECONDS
        end_quickly
        [ $((SECONDS - began)) -le 20 ] || complain "hung" || state=1
        packet_loss 0
        delivered "after a loss of $percent %" || state=1
    fi
    packet_loss 0
    echo "$percent %: ${lost:-0} packets" >>"$WORK/lost"
    [ "${lost:-0}" -gt 0 ] || complain "no packet was lost" || state=1
    return $state
}

part_loss ()
{
    local percent tools=(nft ip unshare) tool

    for tool in "${tools[@]}"; do
        if ! command -v "$tool" >/dev/null; then
            echo "  SKIPPED: packet loss, since there is no $tool"
            return 0
        fi
    done
    if ! unshare -rn nft add table inet soak 2>/dev/null; then
        echo "  SKIPPED: packet loss, since namespaces are not permitted"
        return 0
    fi
    CASES=(5 20 50)
    # each worker in a namespace of its own
    for percent in "${CASES[@]}"; do
        (
            export SOAK_LOSS=$percent WORK SEED ROLLCALL_BUILD SOURCES KEEP here
            # shellcheck disable=SC2016
            exec unshare -rn bash -uo pipefail -c '
                . "$here/lib.bash"
                . "$here/loss.bash"
                CASES=("$SOAK_LOSS")
                no_totals
                WORK=$WORK/$SOAK_LOSS
                mkdir "$WORK"
                take_cases 0 1
                put_totals "$WORK/totals"'
        ) &
    done
    wait
    for percent in "${CASES[@]}"; do
        add_totals "$WORK/$percent/totals"
    done
    report "$total_cases cases, dropped $(cat "$WORK"/*/lost 2>/dev/null | paste -sd';')"
}
