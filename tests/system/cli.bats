#!/usr/bin/env bats
# The command line of rollcall: help, usage errors, exit status

load helper

@test "--help tells the verbs, each verb's --help its options" {
    for option in --help -h help; do
        run "$ROLLCALL" $option
        expect_status 0
        shows "usage: rollcall VERB" "analyze"
    done
    for option in "analyze --help" "analyze -h" "help analyze"; do
        run "$ROLLCALL" $option
        expect_status 0
        shows "usage: rollcall analyze" "--world-size" "--steps" "--help"
    done
}

@test "help fits a terminal of 80 columns" {
    local verb

    for verb in $("$ROLLCALL" __complete); do
        run "$ROLLCALL" "$verb" --help
        expect_status 0
        is "long lines of $verb" "" "$(grep '.\{81\}' <<<"$output")"
    done
    for verb in "$ROLLCALL-agent" "$ROLLCALL-aggregator"; do
        run "$verb" --help
        is "long lines of $verb" "" "$(grep '.\{81\}' <<<"$output")"
    done
}

@test "--version" {
    for option in --version -V; do
        run "$ROLLCALL" $option
        expect_status 0
        [[ "$output" =~ ^rollcall\ [0-9]+\.[0-9]+\.[0-9]+$ ]]
    done
}

@test "no verb, or one that there is not" {
    run "$ROLLCALL"
    expect_status 2
    shows "usage: rollcall VERB"
    for verb in "analyse job" "help analyse"; do
        run "$ROLLCALL" $verb
        expect_status 2
        is "what is said" "rollcall: there is no verb \"analyse\": did you mean\
 analyze? rollcall --help lists all verbs" "$output"
    done
    run "$ROLLCALL" frobnicate
    expect_status 2
    is "what is said" "rollcall: there is no verb \"frobnicate\"; rollcall\
 --help lists all verbs" "$output"
}

# bad_usage TEXT ARGUMENT...: exit status 2, a message, nothing on standard
# output and nothing written
bad_usage ()
{
    local text=$1

    shift
    run "$ROLLCALL" "$@"
    expect_status 2
    shows "$text" "rollcall analyze: "
    is "standard output" "" "$("$ROLLCALL" "$@" 2>/dev/null)"
    nothing_left .
}

@test "usage errors name what is wrong" {
    make
    bad_usage "no directory was given" analyze
    bad_usage "--bad" analyze --bad job
    bad_usage "-x" analyze -x job
    bad_usage "needs a value" analyze job -o
    bad_usage "\"many\" is not a whole number" analyze -j many job
    bad_usage "--threads" analyze --threads 0 job
    bad_usage "--threads" analyze --threads 65 job
    bad_usage "there is no option --thread; did you mean --threads?" \
        analyze --thread 2 job
    bad_usage "there is no option --jobs; did you mean --job?" \
        analyze --jobs 2 job
    bad_usage "there is no option --wrold-size; did you mean --world-size?" \
        analyze --wrold-size 4 job
    bad_usage "--world-size" analyze --world-size 0 job
    bad_usage "--world-size" analyze -n 99999999999999999999 job
    bad_usage "--world-size" analyze -n 4x job
    bad_usage "\"five\" is not a step" analyze --steps 10,five job
    bad_usage "\"12-10\" is not a step" analyze --steps 12-10 job
    bad_usage "is not a step" analyze --steps "" job
    bad_usage "\"table\" is not a result" analyze --only table job
    bad_usage "-o DIR" analyze job job
}

# DIR/NAME would be in the root directory.
@test "an empty name of a directory or file is a usage error of every verb" {
    local command

    make --ranks 1
    analyze
    for command in "analyze job -o" "analyze job --topology" "run -o" \
        "run --state" "run --watch" "build j -o" "build j --root" \
        "report out -o" "export out --perfetto" "export out --csv" \
        "archive ls --root" "key list --dir" "status --state" "wait j --state" \
        "doctor --state" "findings out --root"; do
        # shellcheck disable=SC2086
        run "$ROLLCALL" $command ""
        expect_status 2
        shows " is empty"
    done
    run "$ROLLCALL" archive get --root root job 0 ""
    expect_status 2
    shows "DIR is empty"
    # nothing was wrong there, and nobody at work
    for command in status doctor; do
        run "$ROLLCALL" $command ""
        expect_status 2
        shows "DIR is empty"
    done
    run "$ROLLCALL_BIN/rollcall-agent" --once --state "" job
    expect_status 2
    run "$ROLLCALL_BIN/rollcall-aggregator" --root ""
    expect_status 2
    run "$ROLLCALL" analyze ""
    expect_status 66
    [ ! -e /cluster_analysis_output ]
}

@test "a bad value in the environment is told like one on the command line" {
    make
    ROLLCALL_THREADS=x run "$ROLLCALL" analyze job
    expect_status 2
    shows "ROLLCALL_THREADS" "\"x\""
}

# It would be taken for an address of another host, and keys be asked for.
@test "an endpoint that is none is told by every program that takes one" {
    local command

    PATH=$ROLLCALL_BIN:$PATH
    for command in "rollcall-agent --state s --aggregator" \
        "rollcall-aggregator --root r --listen" \
        "rollcall doctor --aggregator" "rollcall run --job j --aggregator"; do
        # shellcheck disable=SC2086
        run $command 127.0.0.1:7077
        expect_status 2
        shows "\"127.0.0.1:7077\" is not of the form tcp://HOST:PORT"
    done
    [ ! -e s ] && [ ! -e r ]
}

# Of the one below it nothing but "No such file or directory" can be said.
@test "a directory that may not be made is named, with the reason" {
    make --ranks 1
    mkdir -m 0555 closed
    run humbly "$ROLLCALL_BIN/rollcall-agent" --once --state closed/a/b job
    expect_status 73
    shows "cannot make directory closed/a: Permission denied"
}

@test "options may stand behind the directory, -- ends them" {
    make
    run "$ROLLCALL" analyze job --text -o out
    expect_status 0
    mv job -- -job
    run "$ROLLCALL" analyze --text -o out -- -job
    expect_status 0
    truth_and_more
}

# One test for each line of the table in rollcall(1).
@test "exit status: 0 all present, 1 some not, 2 usage" {
    make
    analyze
    expect_status 0
    analyze -n 5
    expect_status 1
    analyze -n five
    expect_status 2
}

@test "exit status: 65 nothing readable, 66 no input, 73 no output" {
    make --ranks 1 --break raw:0
    analyze
    expect_status 65
    rm -r job
    analyze
    expect_status 66
    make
    echo text >file
    run "$ROLLCALL" analyze -o file job
    expect_status 73
}

# A shell completion that offers what is then refused helps nobody.
@test "every option that completion offers is one that there is" {
    local option

    run "$ROLLCALL" __complete
    shows "analyze"
    run "$ROLLCALL" __complete analyze
    expect_status 0
    for option in $output; do
        "$ROLLCALL" analyze --help | grep -q -e "$option" ||
            fail "$option is not in --help"
    done
}

# Help that a script keeps in a file must not be empty without a word.
@test "--help and --version say it when standard output is full" {
    local command

    for command in "rollcall --help" "rollcall help query" \
        "rollcall --version" "rollcall query --help" "rollcall-run --help" \
        "rollcall-agent --help" "rollcall-aggregator --help"; do
        # shellcheck disable=SC2086
        run sh -c 'exec "$0"/"$@" >/dev/full' "$ROLLCALL_BIN" $command
        expect_status 74
        shows "cannot write to standard output: No space left on device"
    done
}

# A summary that goes nowhere must not pass for one that was read.
@test "standard output is closed or full" {
    make
    "$ROLLCALL" analyze --text -o out job >&-
    [ -e "$DB" ]
    "$ROLLCALL" analyze --json -o out job >/dev/full || true
    truth_and_more
}

# Their sentences went to the next line in the middle of words.
@test "on a terminal labelled lines go on below themselves, in a pipe they do not" {
    local verb

    script -qec true /dev/null >/dev/null 2>&1 ||
        skip "there is no script(1), or no pseudo-terminal"
    make --ranks 4 --slow-rank 2
    rm -r "$(capture_of 3)"
    for verb in doctor "analyze -o out job" "findings out"; do
        script -qec "stty cols 60; '$ROLLCALL' $verb" /dev/null |
            tr '\r' '\n' | sed 's/^\x1b\[K//; / \.\.\. \x1b\[K$/d' >seen || :
        # but paths, which are not cut, and queries, which are copied; the
        # progress of a slow machine is taken out
        is "$verb: lines that are too long" "" \
            "$(grep '.\{61\}' seen | grep -v '^  query  \|/')"
        grep -q '^      *[a-z0-9+(%]' seen || grep -q '^    [a-z]' seen ||
            fail "$verb: nothing was continued: $(cat seen)"
        "$ROLLCALL" $verb >piped || :
        grep -q '.\{61\}' piped || fail "$verb: wrapped in a pipe"
    done
}
