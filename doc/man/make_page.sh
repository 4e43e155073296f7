#!/bin/sh
# doc/man/make_page.sh TEMPLATE PAGE VERSION PROGRAM [VERB] - one man page
#
# The template's lines @SYNOPSIS@ and @OPTIONS@ are replaced by what the
# program says of itself (--help-man), so that the page has the options that
# the program has.  A page without these lines needs no program.
set -eu

template=$1 page=$2 version=$3
shift 3

temp=$page.tmp
trap 'rm -f "$temp" "$temp.man"' EXIT
: >"$temp.man"
[ $# -eq 0 ] || "$@" --help-man >"$temp.man"

# section NAME: what follows "# NAME", up to the next heading
section ()
{
    awk -v wanted="# $1" '/^# / { on = $0 == wanted } on' "$temp.man"
}

while IFS= read -r line; do
    case $line in
    @*@)
        name=${line#@}
        section "${name%@}"
        ;;
    *)
        printf '%s\n' "$line"
        ;;
    esac
done <"$template" | sed "s/@VERSION@/$version/" >"$temp"
scdoc <"$temp" >"$page"
