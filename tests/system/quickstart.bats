#!/usr/bin/env bats
# deploy/quickstart, with what is built already
#
# It is for people: what it says at its end is what they see.

load helper

setup_file ()
{
    [ "$ROLLCALL_BIN" -ef "$BATS_TEST_DIRNAME/../../build/release/bin" ] ||
        skip "quickstart runs what is in build/release"
}

# cmake_is TEXT: a cmake that builds nothing, and does this
cmake_is ()
{
    mkdir -p bin
    printf '#!/bin/bash\n%s\n' "$1" >bin/cmake
    chmod +x bin/cmake
}

quickstart ()
{
    TMPDIR=$PWD PATH=$PWD/bin:$PATH run bash \
        "$BATS_TEST_DIRNAME/../../deploy/quickstart" "$@"
}

@test "the damaged job is the first one, and the end is what stands out" {
    local jobs

    cmake_is true
    quickstart
    expect_status 0
    mapfile -t jobs < <(grep '^job  ' <<<"$output")
    is "the damaged job" "${jobs[0]}" "${jobs[1]}"
    output=${output##*== what stands out}
    shows "slow_link" "slow_rank" "/job/cluster_analysis_output/report.html"
    ! [[ "$output" == *"mpirun"* ]] || fail "$output"
}

# Another user's directory, or that of another TMPDIR, was taken for it.
@test "a command goes to where it ran, and puts the programs into PATH" {
    local command

    cmake_is true
    mkdir "a place"
    (cd "a place" && mv ../bin . && quickstart && expect_status 0 &&
        echo "$output" >../said)
    command=$(sed -n 's/^to go on, type this: //p' said)
    run env -i bash -c "PATH=/usr/bin:/bin && $command &&
        pwd && command -v rollcall && rollcall analyze -q job"
    expect_status 0
    is "the directory" "$PWD/a place" "$(dirname "${lines[0]}")"
    [ "${lines[1]}" -ef "$ROLLCALL" ] || fail "${lines[1]}"
}

# mpirun rollcall build, and cmake --install, had no librollcall_mpi.so.
@test "all that is installed is built" {
    cmake_is "echo \"\$*\" >>$PWD/called"
    quickstart
    expect_status 0
    run cat called
    shows "--target programs capture_maker"
}

# "installing" was said before.
@test "packages that only root may install" {
    local tool

    cmake_is true
    for tool in bash dirname mktemp rm cat; do
        ln -s "$(command -v "$tool")" bin/
    done
    printf '#!/bin/sh\necho 1000\n' >bin/id
    printf '#!/bin/sh\necho "$*" | grep -q " gcc$" || echo installed\n' \
        >bin/dpkg-query
    ln -s "$(command -v grep)" bin/
    chmod +x bin/id bin/dpkg-query
    PATH=$PWD/bin TMPDIR=$PWD run bash \
        "$BATS_TEST_DIRNAME/../../deploy/quickstart"
    expect_status 77
    is "what it says" "packages are missing, and to install them needs root;\
 as root, run: apt-get install --no-install-recommends gcc" "$output"
}

# They ended on "the job has been aborted", which nobody has asked for.
@test "scenes under mpirun end on what stands out, and the report" {
    local scenes scene

    cmake_is true
    quickstart
    expect_status 0
    scenes=$(sed -n '/^== .*under mpirun/,/^== what stands out/p' <<<"$output")
    ! grep -qi 'aborted\|non-zero' <<<"$scenes" || fail "$scenes"
    is "scenes" 2 "$(grep -c '^\$ mpirun' <<<"$scenes")"
    for scene in out silent; do
        output=${scenes##*-o $scene --}
        output=${output%%$'\n'== *}
        shows "$ rollcall findings $scene" "slow_rank"
        is "the last line" "report.html" "$(sed '/^$/d' <<<"$output" |
            sed '$!d; s|.*/'"$scene"'/cluster_analysis_output/||')"
    done
}

# Two minutes of silence were taken for a hang.
@test "a long build says how far it is" {
    cmake_is '[ "$1" != --build ] || for i in {1..12}; do
                  echo "[$i/12] Building C object x.o"; sleep 1; done'
    quickstart "$PWD"
    expect_status 66
    [[ "$output" =~ "   1"[01]" of 12" ]] || fail "$output"
}

@test "a build that fails is shown, and its status is the end's" {
    cmake_is '[ "$1" != --build ] || { echo "[1/2] no such thing" >&2; exit 3; }'
    quickstart
    expect_status 3
    shows "no such thing" "quickstart: failed"
}
