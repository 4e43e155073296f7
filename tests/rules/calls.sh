#!/bin/bash
# tests/rules/calls.sh SOURCE_DIR BUILD_DIR - who may call whom
#
# Names every symbol that an object of the build takes of one in a folder that
# its own may not know (folders.sh): a call needs no header of that folder, so
# that the includes do not show it.
set -euo pipefail
folders=$("$(dirname "$0")/folders.sh")
sources=$1
cd "$2"

command -v nm > /dev/null || { echo "skipped: no nm here"; exit 77; }
objects=$(find common node_agent aggregator cli -name '*.c.o' 2> /dev/null |
    sort) || true
[ -n "$objects" ] || { echo "skipped: no objects in $2"; exit 77; }

# An object is MODULE/CMakeFiles/TARGET.dir/FILE.c.o.  One whose source has gone
# is left of an older build; what is generated lies in the build instead.
{
    printf 'folder %s\n' "${folders//$'\n'/$'\nfolder '}"
    while read -r object; do
        file=${object%%/CMakeFiles/*}/${object#*.dir/}
        file=${file%.o}
        if [ -e "$sources/$file" ] || [ -e "$file" ]; then
            echo "object $object $file"
        fi
    done <<< "$objects"
    # shellcheck disable=SC2086
    nm -A -P -g $objects | sed 's/^/symbol /'
} | awk '
    function folder_of (path) {
        sub (/\/[^\/]*$/, "", path)
        return path
    }

    $1 == "folder" { allowed[$2, $3] = 1; next }
    $1 == "object" { source[$2 ":"] = $3; count++; next }

    !($2 in source) || $3 == "main" { next }

    {
        from = folder_of(source[$2])
        if ($4 == "U" || $4 == "w") {
            users[++nusers] = source[$2] " " $3
        } else if ($3 !~ /^MPI_/) {     # stands in for that of the library
            defined[$3, from] = 1       # a program may have its own
            where[$3] = from
        }
    }

    END {
        for (i = 1; i <= nusers; i++) {
            split (users[i], part, " ")
            from = folder_of(part[1])
            if (!(part[2] in where) || (part[2], from) in defined)
                continue
            calls++
            to = where[part[2]]
            edges[from, to] = 1
            if (!((from, to) in allowed)) {
                print part[1] ": " from " may not call " part[2] " of " to
                bad++
            }
        }
        for (edge in edges)
            nedges++
        printf "%d objects, %d calls over %d borders of folders, %d against " \
               "the rules\n", count, calls, nedges, bad
        exit !calls || bad > 0
    }'
