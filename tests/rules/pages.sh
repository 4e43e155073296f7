#!/bin/bash
# tests/rules/pages.sh MAN_DIR BIN_DIR - man pages are whole and well formed
#
# Every option that a program knows is in its page.  With mandoc, each page is
# checked by it.
set -uo pipefail
man=$1 bin=$2
bad=0

# has PAGE PROGRAM...: the page has every option of the program
has ()
{
    local page=$man/$1 names name

    shift
    names=$("$@" --help-names) && [ -n "$names" ] || {
        echo "$*: no --help-names"
        bad=1
    }
    for name in $names; do
        grep -Fq -e "${name//-/\\-}" -e "$name" "$page" || {
            echo "$page does not have $name"
            bad=1
        }
    done
}

has rollcall-analyze.1 "$bin/rollcall" analyze
has rollcall-fsck.1 "$bin/rollcall" fsck
has rollcall-archive.1 "$bin/rollcall" archive
has rollcall-build.1 "$bin/rollcall" build
has rollcall-jobs.1 "$bin/rollcall" jobs
has rollcall-show.1 "$bin/rollcall" show
has rollcall-trend.1 "$bin/rollcall" trend
has rollcall-query.1 "$bin/rollcall" query
has rollcall-compare.1 "$bin/rollcall" compare
has rollcall-export.1 "$bin/rollcall" export
has rollcall-fetch.1 "$bin/rollcall" fetch
has rollcall-report.1 "$bin/rollcall" report
has rollcall-run.1 "$bin/rollcall-run"
has rollcall-wait.1 "$bin/rollcall" wait
has rollcall-key.1 "$bin/rollcall" key
has rollcall-agent.8 "$bin/rollcall-agent"
has rollcall-aggregator.8 "$bin/rollcall-aggregator"
for page in "$man"/*.[18]; do
    if grep -q '@[A-Z]*@' "$page"; then
        echo "$page: something was not filled in"
        bad=1
    fi
    if command -v mandoc >/dev/null; then
        mandoc -T lint -W error "$page" || bad=1
    fi
done
exit "$bad"
