#!/bin/bash
# tests/rules/lengths.sh [SOURCE_DIR] - how long files and functions are
#
# A compass, not a fence: it prints, and never fails.  A function begins with a
# brace in the first column and ends with the next one there.
cd "${1:-$(dirname "$0")/../..}" || exit 0
mapfile -t files < <(find common node_agent aggregator cli -name '*.c' | sort)

wc -l "${files[@]}" | grep -v ' total$' | sort -n |
    awk '{ n[NR] = $1; f[NR] = $2 }
         END { printf "files      median %4d, 95 %% below %4d, longest %4d",
                      n[int ((NR + 1) / 2)], n[int (NR * .95 + .999)], n[NR]
               printf " (%s)\n", f[NR] }'
awk 'FNR == 1 { start = 0 }
     /^{/ { start = FNR; next }
     /^}/ && start { print FNR - start - 1, FILENAME ":" start; start = 0 }' \
    "${files[@]}" | sort -n |
    awk '{ n[NR] = $1; f[NR] = $2 }
         END { printf "functions  median %4d, 95 %% below %4d, longest %4d",
                      n[int ((NR + 1) / 2)], n[int (NR * .95 + .999)], n[NR]
               printf " (%s), %d in all\n", f[NR], NR }'
exit 0
