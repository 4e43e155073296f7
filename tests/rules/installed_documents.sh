#!/bin/bash
# tests/rules/installed_documents.sh CMAKE BUILD_DIR DOCDIR - links of
# installed documents lead somewhere, as those of the tree do
set -euo pipefail

there=$(mktemp -d)
trap 'rm -rf "$there"' EXIT
DESTDIR=$there "$1" --install "$2" --component documents >/dev/null
bash "$(dirname "$0")/documents.sh" "$there$3"
