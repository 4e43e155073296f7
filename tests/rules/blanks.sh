#!/bin/bash
# tests/rules/blanks.sh CMAKE SOURCE_DIR - a tree whose path has a blank builds:
# at least the sources that scripts of cmake/ make out of paths
set -euo pipefail

there=$(mktemp -d)
trap 'rm -rf "$there"' EXIT
tree="$there/my roll, call"

mkdir "$tree"
tar -C "$2" --exclude=./build --exclude=./.git -c . | tar -C "$tree" -x
quietly ()
{
    "$@" >"$there/log" 2>&1 || { cat "$there/log"; exit 1; }
}
quietly "$1" -S "$tree" -B "$tree/build" -G Ninja
for source in html_page/page_assets.c findings/finding_sql.c; do
    quietly "$1" --build "$tree/build" --target "aggregator/$source"
    [ -s "$tree/build/aggregator/$source" ]
done
