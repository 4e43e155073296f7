#!/bin/bash
# tests/include_rules.sh [SOURCE_DIR] - who may include whom
#
# Names every #include of the sources that breaks the rule of
# doc/architecture.md: the table of the folders is in rules/folders.sh, that of
# the libraries below.  Tests may include anything.
set -euo pipefail
folders=$("$(dirname "$0")/rules/folders.sh")
cd "${1:-$(dirname "$0")/..}"

# A library's header (what it begins with), and where it may be included.
doors='
mpi.h         node_agent/world/ aggregator/builder/mpi_door.c
zmq.h         common/net/
curl/         common/object_store/http.c
cjson/        common/json/json.c
lz4           common/base/pack.c
openssl/      common/base/digest.c
archive.h     aggregator/interchange/tar_stream.c
archive_entry.h aggregator/interchange/tar_stream.c
resolv.h      common/net/srv.c
zlib.h        common/store/inflate.c common/store/deflate.c common/store/checksum.c
libpq-fe.h    aggregator/postgres/postgres.c
sqlite3.h     common/store/db. node_agent/extract/ node_agent/identity/ node_agent/spool/ aggregator/
'

{
    printf 'folder %s\n' "${folders//$'\n'/$'\nfolder '}"
    find common node_agent aggregator cli -name '*.h' -printf 'header %p\n'
    grep -rnE '^[[:space:]]*#[[:space:]]*include' --include='*.[ch]' \
        common node_agent aggregator cli | sed 's/^/include /'
} | awk -v doors="$doors" '
    function begins (text, start) { return index (text, start) == 1 }

    function wrong (why) { print where ": " why; bad++ }

    function folder_of (path) {
        sub (/\/[^\/]*$/, "", path)
        return path
    }

    # the paths of a header of ours: beside the file or below a root
    function resolve (file, name,    i, own, paths) {
        own = folder_of(file)
        paths = (own "/" name) in headers ? " " own "/" name : ""
        for (i = 1; i <= nroots; i++)
            if (roots[i] != own && (roots[i] "/" name) in headers)
                paths = paths " " roots[i] "/" name
        return substr (paths, 2)
    }

    function check_door (file, name,    i, k, n, part) {
        for (i = 1; i <= ndoors; i++) {
            n = split (door[i], part, " ")
            if (!begins(name, part[1]))
                continue
            for (k = 2; k <= n; k++)
                if (begins(file, part[k]))
                    return
            wrong("<" name "> may be included by none but" \
                  substr (door[i], index (door[i], " ")))
        }
    }

    BEGIN {
        nroots = split ("common node_agent aggregator cli", roots, " ")
        n = split (doors, line, "\n")
        for (i = 1; i <= n; i++)
            if (gsub (/ +/, " ", line[i]))
                door[++ndoors] = line[i]
    }

    $1 == "folder" { allowed[$2, $3] = 1; next }
    $1 == "header" { headers[$2] = 1; next }

    {
        count++
        split ($2, part, ":")
        file = part[1]
        where = part[1] ":" part[2]
        name = $0
        sub (/^[^"<]*["<]/, "", name)
        sub (/[">].*/, "", name)
        if ($0 ~ /include *</) {
            check_door(file, name)
        } else if (split (resolve(file, name), paths, " ") != 1) {
            wrong("\"" name "\" is not one file, but: " resolve(file, name))
        } else {
            from = folder_of(file)
            to = folder_of(paths[1])
            if (from != to && !((from, to) in allowed))
                wrong(from " may not include " to " (\"" name "\")")
        }
    }

    END {
        printf "%d includes, %d against the rules\n", count, bad
        exit !count || bad > 0
    }'
