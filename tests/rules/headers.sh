#!/bin/bash
# tests/rules/headers.sh SOURCE_DIR CC [FLAG]... - every header compiles alone
set -euo pipefail
cd "$1"
shift

bad=0 count=0
while read -r header; do
    count=$((count + 1))
    # included twice: its guard has to work, too
    printf '#include "%s"\n#include "%s"\n' "$header" "$header" |
        "$@" -std=c11 -D_GNU_SOURCE -Wall -Wextra -Werror -fsyntax-only \
            -I. -Icommon -Inode_agent -Iaggregator -Icli -x c - || {
        echo "$header does not compile alone"
        bad=$((bad + 1))
    }
done < <(find common node_agent aggregator cli -name '*.h' | sort)
echo "$count headers, $bad do not compile alone"
[ "$count" -gt 0 ] && [ "$bad" -eq 0 ]
