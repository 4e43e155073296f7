#!/bin/bash
# tests/rules/packages.sh SOURCE_DIR - doc/installing.md names the packages that
# are installed before building: who builds by hand has no other list
set -euo pipefail
cd "$1"

# shellcheck source=deploy/setup.sh
. deploy/setup.sh
printf '%s\n' "${BUILD_PACKAGES[@]}" | sort >"$SETUP_LOG"
sed -n '/^# Installing/,/^    cmake/p' doc/installing.md |
    sed -n '/apt-get install/,/[^\\]$/p' | tr -d '\\' |
    sed 's/.*apt-get install//' | tr -s ' ' '\n' | grep -v -e '^-' -e '^$' |
    sort | diff "$SETUP_LOG" - && echo "doc/installing.md names all packages"
