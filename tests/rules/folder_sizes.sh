#!/bin/bash
# tests/rules/folder_sizes.sh [SOURCE_DIR] - no folder has too many files
#
# At most 40, without those of folders in it: who opens one sees all of it.  Held
# to it are the folders of the sources and those of the tests; not
#
#     tests/system        one file of cases for each verb or subject, found by its
#                         name: all load the same helpers from beside them, and
#                         are listed in one CMakeLists.txt by what they cost
#     tests/fuzz/corpus   data
set -euo pipefail
cd "${1:-$(dirname "$0")/../..}"

MOST=40
bad=0 count=0
while read -r files folder; do
    count=$((count + 1))
    [ "$files" -gt "$MOST" ] || continue
    echo "$folder: $files files, more than $MOST"
    bad=$((bad + 1))
done < <(find common node_agent aggregator cli tests \
    \( -path tests/system -o -path tests/fuzz/corpus \) -prune -o \
    -type f ! -name '.*' -printf '%h\n' | sort | uniq -c)
echo "$count folders, $bad faults"
[ "$count" -gt 0 ] && [ "$bad" -eq 0 ]
