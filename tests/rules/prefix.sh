#!/bin/bash
# tests/rules/prefix.sh CMAKE BUILD_DIR - what is installed below a prefix that
# only cmake --install was told is there, nothing of it elsewhere, and the
# units start the programs that are there, also when DESTDIR goes before it
set -euo pipefail

there=$(mktemp -d)
trap 'rm -rf "$there"' EXIT

# units PREFIX ROOT - those below ROOT/PREFIX name PREFIX's own programs
units ()
{
    local unit program

    for unit in rollcall-agent rollcall-aggregator; do
        program=$(sed -n 's/^ExecStart="\(.*\)".*/\1/p' \
                      "$2$1/lib/systemd/system/$unit.service")
        if [ "$program" != "$1/bin/$unit" ] || [ ! -x "$2$program" ]; then
            echo "$unit.service starts $program, not $1/bin/$unit"
            exit 1
        fi
    done
}

# target 'programs' makes all that is installed, without the tests
ninja -C "$2" -t commands programs >"$there/commands"
grep -rhoE "FILES \"$2/[^\"]*\"" --include=cmake_install.cmake "$2" |
    sed "s|^FILES \"$2/||; s|\"\$||" | sort -u >"$there/made"
while read -r file; do
    if ! grep -qE "[ /]$file( |$)" "$there/commands"; then
        echo "$file is installed, and target programs does not make it"
        exit 1
    fi
done <"$there/made"
if ! grep -q librollcall_mpi "$there/made"; then
    echo "what is installed is not known"
    exit 1
fi

# with DESTDIR nothing that goes astray leaves the test's directory
DESTDIR=$there/dest "$1" --install "$2" --prefix /chosen >/dev/null
units /chosen "$there/dest"
astray=$(find "$there/dest" -type f ! -path "$there/dest/chosen/*")
if [ -n "$astray" ]; then
    echo "not below the prefix:" $astray
    exit 1
fi

"$1" --install "$2" --prefix "$there/its own" >/dev/null
units "$there/its own" ""
# what is loaded into COMMANDs is where run looks for it, and MPI likewise
for module in librollcall_world.so librollcall_mpi.so; do
    if [ ! -r "$there/its own/libexec/rollcall/$module" ]; then
        echo "$module is not beside rollcall-run"
        exit 1
    fi
done
"$there/its own/bin/rollcall" --version
