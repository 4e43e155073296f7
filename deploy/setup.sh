# deploy/setup.sh - what quickstart and check share; sourced by bash
#
# Installs the Debian packages that are missing, and only those; configures and
# builds a preset, doing only what is not done yet.  Output of apt-get and
# cmake is shown when they fail.

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
export LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive

# What it takes to build everything (the tests' library is needed to configure
# them: the maker of captures is one of them) and to start a job.
BUILD_PACKAGES=(gcc libc6-dev cmake ninja-build pkg-config libsqlite3-dev
    libssl-dev liblz4-dev libzstd-dev libcjson-dev zlib1g-dev libarchive-dev libzmq3-dev
    libpq-dev libcurl4-openssl-dev
    libopenmpi-dev openmpi-bin libcmocka-dev libjs-d3 scdoc)

SETUP_LOG=$(mktemp "${TMPDIR:-/tmp}/rollcall-setup-XXXXXX")

trap 'rm -f "$SETUP_LOG"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

say ()
{
    printf '\n== %s\n' "$*"
}

# quietly COMMAND...: its output goes to the log, which is shown if it fails
quietly ()
{
    "$@" >>"$SETUP_LOG" 2>&1 </dev/null && return
    local status=$?

    cat "$SETUP_LOG" >&2
    : >"$SETUP_LOG"
    printf '%s: failed (%s)\n' "${0##*/}" "$*" >&2
    return "$status"
}

as_root ()
{
    if [ "$(id -u)" -eq 0 ]; then
        "$@"
    elif [ -t 0 ]; then
        sudo "$@"
    else
        sudo -n "$@"
    fi
}

missing_packages ()
{
    local package

    for package; do
        [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" = \
            installed ] || echo "$package"
    done
}

apt_install ()
{
    as_root env DEBIAN_FRONTEND=noninteractive \
        apt-get install -y -q --no-install-recommends "$@"
}

# setup_packages PACKAGE...
setup_packages ()
{
    local missing s=''

    if ! command -v dpkg-query >/dev/null; then
        echo "this is not Debian: $* must be there" >&2
        return
    fi
    mapfile -t missing < <(missing_packages "$@")
    if [ "${#missing[@]}" -eq 0 ]; then
        return
    fi
    if [ "$(id -u)" -ne 0 ] && ! command -v sudo >/dev/null; then
        echo "packages are missing, and to install them needs root; as root," \
            "run: apt-get install --no-install-recommends ${missing[*]}" >&2
        exit 77
    fi
    [ "${#missing[@]}" -eq 1 ] || s=s
    say "installing ${#missing[@]} package$s: ${missing[*]}"
    echo "   this can take some minutes, and prints nothing until it is done"
    # lists that are absent or out of date are the one reason to fail
    apt_install "${missing[@]}" >>"$SETUP_LOG" 2>&1 </dev/null && return
    quietly as_root apt-get update -q || exit
    quietly apt_install "${missing[@]}" || exit
}

# setup_optional WHY PACKAGE...: where they cannot be had it is said, no more
setup_optional ()
{
    local why=$1

    shift
    (setup_packages "$@") || echo "not installed: $*; $why" >&2
}

# counted COMMAND...: a build; its output, and every 10 s how far it is (by the
# "[done/all]" in front of its lines) on descriptor 4
counted ()
{
    local line next=$((SECONDS + 10))

    "$@" 2>&1 | while IFS= read -r line; do
        echo "$line"
        [ $SECONDS -ge $next ] || continue
        [[ $line =~ ^\[([0-9]+)/([0-9]+)\] ]] || continue
        echo "   ${BASH_REMATCH[1]} of ${BASH_REMATCH[2]}" >&4
        next=$((SECONDS + 10))
    done
    return "${PIPESTATUS[0]}"
}

# setup_build PRESET [TARGET]...
setup_build ()
{
    local preset=$1 targets=()

    shift
    [ $# -eq 0 ] || targets=(--target "$@")
    (cd "$ROOT" && quietly cmake --preset "$preset" &&
        quietly counted cmake --build --preset "$preset" \
            --parallel "$(nproc)" "${targets[@]}") 4>&1
}
