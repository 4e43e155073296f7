#!/bin/bash
# tests/rules/completion.sh SOURCE_DIR BIN_DIR - the shell completes what the
# programs know, and the front door's man page names every verb
set -uo pipefail
source_dir=$(cd "$1" && pwd) || exit
PATH=$2:$PATH
# shellcheck source=deploy/completion/rollcall.bash
. "$source_dir/deploy/completion/rollcall.bash" || exit

bad=0

# offers WORDS... is EXPECTED...: completing the last of WORDS offers each
offers ()
{
    local COMP_WORDS=() COMP_CWORD COMPREPLY=() word offered

    while [ "$1" != is ]; do
        COMP_WORDS+=("$1")
        shift
    done
    shift
    COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
    "_${COMP_WORDS[0]//-/_}" "${COMP_WORDS[0]}"
    offered=$(printf '%s\n' ${COMPREPLY[@]+"${COMPREPLY[@]}"})
    for word; do
        if ! grep -Fqx -e "$word" <<<"$offered"; then
            echo "${COMP_WORDS[*]}: \"$word\" is not offered, but:" \
                "${COMPREPLY[*]-}"
            bad=1
        fi
    done
}

# nothing WORDS...: completing the last of WORDS offers nothing
nothing ()
{
    local COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()

    "_${1//-/_}" "$1"
    if [ "${#COMPREPLY[@]}" -ne 0 ]; then
        echo "$*: offers ${COMPREPLY[*]}"
        bad=1
    fi
}

dir=$(mktemp -d) || exit
trap 'rm -rf "$dir"' EXIT
mkdir "$dir/job one" "$dir/state" "$dir/state/run-1"

offers rollcall "" is analyze fsck run wait
offers rollcall an is analyze
nothing rollcall xyz
offers rollcall analyze --w is --world-size
offers rollcall query l is links late
offers rollcall run -- is --launcher --deadline
nothing rollcall run -- sh --o
cd "$dir" || exit
offers rollcall analyze j is "job one"
offers rollcall query links j is "job one"
offers rollcall run --child "" is auto plain mpi
offers rollcall trend --by "" is week tag host
offers rollcall jobs "" is merge split
ROLLCALL_STATE_DIR=$dir/state offers rollcall wait "" is run-1
offers rollcall-agent --on is --once
offers rollcall-aggregator --li is --listen --listen-fd

# each command of the verbs that have some, as their usage names it
for verb in archive fsck key; do
    usage=$(rollcall "$verb" --help | sed -n '/^usage:/,/^$/p' | tr '\n' ' ')
    usage=${usage#*rollcall "$verb" }
    usage=${usage#\[OPTION\]... }
    # shellcheck disable=SC2046     # words
    offers rollcall "$verb" "" is $(sed 's/ | /\n/g' <<<"$usage" |
        awk '{ print $1 }' | tr '|' '\n' | sort -u)
done

verbs=$(rollcall __complete)
if [ -z "$verbs" ]; then
    echo "rollcall __complete names no verb"
    bad=1
fi
for verb in $verbs; do
    if ! grep -q "^\*$verb\*" "$source_dir/doc/man/rollcall.1.scd.in"; then
        echo "rollcall(1) does not name the verb $verb"
        bad=1
    fi
done
exit "$bad"
