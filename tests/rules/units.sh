#!/bin/bash
# tests/rules/units.sh CMAKE BUILD_DIR PREFIX - systemd understands the units
# that are installed, and what they start is there
set -euo pipefail

if ! command -v systemd-analyze >/dev/null; then
    echo "SKIPPED: systemd-analyze is not installed"
    exit 77
fi
there=$(mktemp -d)
trap 'rm -rf "$there"' EXIT
DESTDIR=$there "$1" --install "$2" >/dev/null
units=("$there$3"/lib/systemd/system/rollcall-*.service)
# what is installed there will be in PREFIX, and the pages where man looks
sed -i "s|^ExecStart=\"|&$there|; /^Documentation=/d" "${units[@]}"
# units of the system itself are not our matter
said=$(systemd-analyze verify "${units[@]}" 2>&1 | grep -F rollcall- || true)
echo "${#units[@]} units, faults: ${said:-none}"
[ -z "$said" ] && [ "${#units[@]}" -eq 2 ]
