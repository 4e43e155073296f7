#!/bin/bash
# tests/rules/folder_words.sh [SOURCE_DIR] - each folder says what is in it
#
# In the head comment of its header of the same name, or else of its first file
# ("This folder: ..."); and in a line of doc/architecture.md.
set -euo pipefail
cd "${1:-$(dirname "$0")/../..}"

bad=0 count=0
while read -r folder; do
    count=$((count + 1))
    file=$folder/${folder##*/}.h
    [ -e "$file" ] || file=$(printf '%s\n' "$folder"/*.[ch] | LC_ALL=C sort |
        head -n 1)
    sed '/\*\/$/q' "$file" | grep -q '^ \* This folder: ' || {
        echo "$file: its head does not say what is in $folder (This folder:)"
        bad=$((bad + 1))
    }
    grep -q "^    $folder/ " doc/architecture.md || {
        echo "doc/architecture.md: there is no line for $folder/"
        bad=$((bad + 1))
    }
done < <(find common node_agent aggregator cli -name '*.[ch]' -printf '%h\n' |
    sort -u)
echo "$count folders, $bad faults"
[ "$count" -gt 0 ] && [ "$bad" -eq 0 ]
