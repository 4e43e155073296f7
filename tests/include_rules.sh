#!/bin/bash
# tests/include_rules.sh [SOURCE_DIR] - who may include whom
#
# Names every #include of the sources that breaks the rule of
# doc/architecture.md, which is in the two tables below.  Tests may include
# anything.
set -euo pipefail
cd "${1:-$(dirname "$0")/..}"

# A module, its folder, and the modules whose headers it may include.
modules='
base        common/base   base
store       common/store  base store
json        common/json   base store json
model       common/model  base store json model
net         common/net    base store json model net
node_agent  node_agent    base store json model net node_agent
aggregator  aggregator    base store json model net aggregator
cli         cli           base store json model net node_agent aggregator cli
'

# A library's header (what it begins with), and where it may be included.
doors='
mpi.h         node_agent/world/
zmq.h         common/net/
cjson/        common/json/json.c
lz4           common/base/pack.c
openssl/      common/base/digest.c
zlib.h        common/store/inflate.c common/store/deflate.c
sqlite3.h     common/store/db. node_agent/extract/ node_agent/identity/ node_agent/spool/ aggregator/
'

{
    find common node_agent aggregator cli -name '*.h' -printf 'header %p\n'
    grep -rnE '^[[:space:]]*#[[:space:]]*include' --include='*.[ch]' \
        common node_agent aggregator cli | sed 's/^/include /'
} | awk -v modules="$modules" -v doors="$doors" '
    function begins (text, start) { return index (text, start) == 1 }

    function wrong (why) { print where ": " why; bad++ }

    function module_of (path,    i) {
        for (i = 1; i <= nmodules; i++)
            if (begins(path, folder[i] "/"))
                return module[i]
        return "none"
    }

    # the paths of a header of ours: beside the file or below a root
    function resolve (file, name,    i, own, paths) {
        own = file
        sub (/[^\/]*$/, "", own)
        paths = (own name) in headers ? " " own name : ""
        for (i = 1; i <= nroots; i++)
            if (roots[i] "/" != own && (roots[i] "/" name) in headers)
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
        n = split (modules, line, "\n")
        for (i = 1; i <= n; i++) {
            if (split (line[i], part, " ") < 3)
                continue
            module[++nmodules] = part[1]
            folder[nmodules] = part[2]
            for (k = 3; k in part; k++)
                allowed[part[1], part[k]] = 1
        }
        n = split (doors, line, "\n")
        for (i = 1; i <= n; i++)
            if (gsub (/ +/, " ", line[i]))
                door[++ndoors] = line[i]
    }

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
        } else if (!((module_of(file), module_of(paths[1])) in allowed)) {
            wrong(module_of(file) " may not include " module_of(paths[1]) \
                  " (\"" name "\")")
        }
    }

    END {
        printf "%d includes, %d against the rules\n", count, bad
        exit !count || bad > 0
    }'
