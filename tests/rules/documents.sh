#!/bin/bash
# tests/rules/documents.sh [SOURCE_DIR] - documents keep to their form
#
# Links to files of the tree lead somewhere, and no line has more than 100
# characters.
set -euo pipefail
cd "${1:-$(dirname "$0")/../..}"
export LC_ALL=C.UTF-8

shopt -s nullglob
bad=0
documents=(README.md CONTRIBUTING.md NEWS doc/*.md tests/*/README.md)

for file in "${documents[@]}"; do
    while IFS= read -r line; do
        echo "$file:${line%%:*}: more than 100 characters"
        bad=$((bad + 1))
    done < <(grep -nE '^.{101}' "$file" || true)
    while IFS= read -r target; do
        if [ ! -e "$(dirname "$file")/$target" ]; then
            echo "$file: there is no $target"
            bad=$((bad + 1))
        fi
    done < <(grep -oE '\]\([^)#:]+(#[^)]*)?\)' "$file" |
        sed -E 's/^\]\(([^)#]+).*/\1/' || true)
done
echo "${#documents[@]} documents, $bad faults"
[ "$bad" -eq 0 ]
