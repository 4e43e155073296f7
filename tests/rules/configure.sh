#!/bin/bash
# tests/rules/configure.sh CMAKE SOURCE_DIR - to configure again changes no
# command: or all would be compiled again by each second call of quickstart
set -euo pipefail

there=$(mktemp -d)
trap 'rm -rf "$there"' EXIT

commands ()
{
    "$1" -S "$2" -B "$there/build" -G Ninja >"$there/log" 2>&1 ||
        { cat "$there/log"; exit 1; }
    grep -E '^ *(FLAGS|INCLUDES|DEFINES|LINK_[A-Z]*) = ' \
        "$there/build/build.ninja"
}

commands "$@" >"$there/first"
commands "$@" >"$there/second"
[ -s "$there/first" ]
diff "$there/first" "$there/second" >"$there/differ" ||
    { head -n 20 "$there/differ"; exit 1; }
