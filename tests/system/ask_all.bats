#!/usr/bin/env bats
# Verbs ask all of several aggregators: each on a port of its own, with keys of
# its own; one reader's key is enrolled at all of them

load service_helper

# begin N: the service N, again or for the first time; its root is rootN
begin ()
{
    local before

    touch "service$1.log"
    before=$(grep -c event=listening "service$1.log") || true
    "$AGGREGATOR" --root "$TEST_DIR/root$1" --keys "$TEST_DIR/keys$1" \
        --listen "tcp://127.0.0.1:${ports[$1]}" >>"service$1.log" 2>&1 3>&- &
    services[$1]=$!
    begun ()
    {
        [ "$(grep -c event=listening "service$1.log")" -gt "$2" ]
    }
    eventually begun "$1" "$before"
}

# die N: at once, as by a power cut
die ()
{
    kill -KILL "${services[$1]}"
    wait "${services[$1]}" || true
}

# key DIR NAME [OPTION]...: a pair in mine/, enrolled in DIR
key ()
{
    local dir=$1 name=$2

    shift 2
    [ -e "mine/$name.key" ] || "$ROLLCALL" key new "$name" --dir mine
    "$ROLLCALL" key enrol "mine/$name.pub" "$name" --dir "$dir" "$@"
}

# services N: 1 to N; the file "list" names them; alice reads all, as does me
services ()
{
    local n

    ports=() services=()
    for ((n = 1; n <= $1; n++)); do
        "$ROLLCALL" key new server --dir "keys$n"
        key "keys$n" node
        key "keys$n" me --reads-all
        choose_port
        ports[n]=$PORT
        echo "tcp://127.0.0.1:$PORT $TEST_DIR/keys$n/server.pub" >>list
        begin "$n"
    done >keys.log
    export ROLLCALL_KEY=$TEST_DIR/mine/me.key XDG_CACHE_HOME=$TEST_DIR/cache
}

at ()                               # N: its name
{
    echo "tcp://127.0.0.1:${ports[$1]}"
}

# deliver N JOB DIR [OPTION]...: to the service N, until it is built
deliver ()
{
    local n=$1 job=$2 dir=$3

    shift 3
    timeout "$LIMIT" "$AGENT" --state "$TEST_DIR/spool$n$job" --job "$job" \
        --once --aggregator "$(at "$n")" --key mine/node.key \
        --server-key "keys$n/server.pub" "$@" "$dir" >agent.log 2>&1 ||
        fail "$(cat agent.log)"
    delivered () { [ "$(grep -c "event=built job=$2 " "service$1.log")" -ge 1 ]; }
    eventually delivered "$n" "$job"
}

# ask VERB [WORD]...: all of them
ask ()
{
    "$ROLLCALL" "$@" --aggregators list
}

names ()                            # of the jobs that were listed
{
    awk '!/^(job |rollcall|\(|$)/ { print $1 }' <<<"$output" | tr '\n' ' '
}

@test "show names files of another host in full, and says whose they are" {
    services 1
    "$CAPTURE_MAKER" --quiet --ranks 2 --ops 4 one
    deliver 1 b one
    # by a service that knows its root by a name that means nothing elsewhere
    kill "${services[1]}"
    wait "${services[1]}"
    "$AGGREGATOR" --root root1 --listen "tcp://127.0.0.1:${ports[1]}" --keys keys1 \
        >>service1.log 2>&1 3>&- &
    services[1]=$!
    eventually begun 1 1
    run ask show b
    expect_status 0
    shows "at            $(at 1), where the files below are" \
        "result        $PWD/root1/jobs/b/" "report        $PWD/root1/jobs/b/"
    run ask show b --json
    expect_status 0
    shows "\"analysis_db\": \"$PWD/root1/jobs/b/"
}

@test "each job of three aggregators is listed once, and found by its name" {
    services 3
    "$CAPTURE_MAKER" --quiet --ranks 2 --ops 4 one
    "$CAPTURE_MAKER" --quiet --ranks 3 --ops 4 --seed 2 two
    deliver 1 b one
    deliver 2 a two --raw
    deliver 3 b one                 # a second copy
    deliver 3 c two
    run ask jobs
    expect_status 0
    is "jobs" "a b c " "$(names)"
    shows "at" "$(at 2)"
    grep -Eq "^b .* $(at 1), $(at 3)|^b .* $(at 3), $(at 1)" <<<"$output" ||
        fail "$output"
    run ask jobs --json
    expect_status 0
    is "jobs" 3 "$(grep -o '"copies_are": "the same"' <<<"$output" | wc -l)"
    shows '"not_answered": []'
    run ask jobs --json --where 'ranks=3'
    is "jobs" 2 "$(grep -o '"copies_are"' <<<"$output" | wc -l)"
    # one root among them, and the same as one alone
    run ask jobs --root root2 --job a
    expect_status 0
    shows "root2, $(at 2)"
    run "$ROLLCALL" jobs --root root1 --root root2 --root root3 --root ./root1
    expect_status 0
    is "jobs of roots" "a b c " "$(names)"
    # results
    run ask query steps a --json
    expect_status 0
    is "rows" "$("$ROLLCALL" query steps a --json --root root2)" "$output"
    is "kept" 1 "$(find cache -name '*.db' | wc -l)"
    run ask query steps a --json
    expect_status 0
    is "kept" 1 "$(find cache -name '*.db' | wc -l)"
    # what is kept here is nobody's to look at
    run ask report a
    expect_status 0
    shows "./report-a.html"
    [ -s report-a.html ]
    is "pages" 0 "$(find cache -name '*.html' | wc -l)"
    run "$ROLLCALL" query steps c --root root1 --root root3
    expect_status 0
    run ask show c
    expect_status 0
    shows c "at            $(at 3)"
    # the name of a directory here that has no result
    mkdir -p a c
    run ask query steps a --json
    expect_status 0
    is "rows" "$("$ROLLCALL" query steps a --json --root root2)" "$output"
    rmdir a c
    # files
    run ask archive ls a
    expect_status 0
    is "items" "$("$ROLLCALL" archive ls a --root root2)" "$output"
    run ask archive get a got
    expect_status 0
    "$ROLLCALL" archive get a want --root root2
    diff -r want got
    run ask query steps d
    expect_status 66
    shows "no aggregator that answers has a job d"
    run ask jobs --where 'nothing=1'
    expect_status 2
    is "lines" 1 "$(wc -l <<<"$output")"
}

items_of ()                         # N JOB: lines of archive ls
{
    "$ROLLCALL" archive ls "$2" --root "root$1"
}

@test "archive ls of three aggregators lists the items of each job once" {
    services 3
    "$CAPTURE_MAKER" --quiet --ranks 2 --ops 4 one
    "$CAPTURE_MAKER" --quiet --ranks 3 --ops 4 --seed 2 two
    deliver 1 b one
    deliver 2 a two --raw
    deliver 3 b one                 # a second copy
    deliver 3 c two
    run ask archive ls
    expect_status 0
    is "items" "$({ items_of 1 b; items_of 2 a; items_of 3 c; } | sort)" \
        "$(sort <<<"$output")"
    run ask archive ls --json
    expect_status 0
    is "items" "$({ items_of 1 b; items_of 2 a; items_of 3 c; } | wc -l)" \
        "$(grep -c '"content"' <<<"$output")"
    is "with their place" "$(items_of 2 a | wc -l)" \
        "$(grep -c "\"at\": \"$(at 2)\".*\"job\":\"a\"" <<<"$output")"
    shows '"not_answered": []'
    # as it is at its place, to the last digit
    is "time" "$("$ROLLCALL" archive ls a --json --root root2 |
        grep -o '"mtime_ns":[0-9]*' | sort)" \
        "$(grep -o '"mtime_ns":[0-9]*' <<<"$output" | sort)"
    command -v python3 >/dev/null && python3 -c 'import json, sys; json.load (sys.stdin)' \
        <<<"$output"
    run ask archive ls --width 200
    expect_status 0
    shows "content" "at" "$(at 2)"
    run "$ROLLCALL" archive ls --root root1 --root root2 --root root3
    expect_status 0
    is "items of roots" "$({ items_of 1 b; items_of 2 a; items_of 3 c; } | sort)" \
        "$(sort <<<"$output")"
    run ask archive ls d
    expect_status 66
    run ask archive ls a/b
    expect_status 2
    shows "is not the name of a job"
    run ask archive verify
    expect_status 2
    # what one alone had is missing, and it is named
    die 2
    run ask archive ls
    expect_status 1
    shows "$(at 2) has not answered: "
    [[ "$output" != *"a	"* ]] || fail "$output"
    run ask archive ls --json
    expect_status 1
    shows "\"not_answered\": [{\"at\": \"$(at 2)\""
    run ask archive ls a
    expect_status 69
    die 1
    die 3
    run ask archive ls
    expect_status 69
}

@test "status of three aggregators: a block for each, and the worst status" {
    services 3
    key keys1 alice --reads somebody
    run ask status
    expect_status 0
    is "blocks" "$(at 1) $(at 2) $(at 3)" "$(grep ^tcp <<<"$output" | paste -sd' ')"
    is "daemons" 3 "$(grep -c '^rollcall-aggregator .* serving' <<<"$output")"
    run ask status --json
    expect_status 0
    is "places" 3 "$(grep -c '"at": "tcp://' <<<"$output")"
    shows '"not_answered": []' '"alive":true'
    run "$ROLLCALL" status --root root1 --root root2
    expect_status 0
    is "daemons of roots" 2 "$(grep -c '^rollcall-aggregator .* serving' <<<"$output")"
    run "$ROLLCALL" status --json --root root1 --aggregators list
    expect_status 0
    is "places" 4 "$(grep -c '"at": ' <<<"$output")"
    command -v python3 >/dev/null && python3 -c 'import json, sys; json.load (sys.stdin)' \
        <<<"$output"
    run ask status j
    expect_status 2
    # who may see the jobs of one user hears of no others
    run env ROLLCALL_KEY=mine/alice.key "$ROLLCALL" status --aggregators \
        "$(head -1 list)"
    expect_status 77
    shows "only for who may see the jobs of all"
    die 2
    run ask status
    expect_status 69
    shows "$(at 2) has not answered: "
    is "blocks" "$(at 1) $(at 3)" "$(grep "^tcp[^ ]*$" <<<"$output" | paste -sd' ')"
    run "$ROLLCALL" status --root root1 --root root2 --root root9
    expect_status 66
    shows "root9 has not answered: No such file or directory"
    run ask status --json
    expect_status 69
    shows "\"not_answered\": [{\"at\": \"$(at 2)\""
}

# No copy counts twice, and what is of one job comes from one place.
@test "trend of three aggregators is that of one root with all of their jobs" {
    services 3
    "$CAPTURE_MAKER" --quiet --ranks 4 --ops 8 --seed 1 --slow-rank 3 one
    "$CAPTURE_MAKER" --quiet --ranks 4 --ops 8 --seed 2 --slow-rank 3 two
    "$CAPTURE_MAKER" --quiet --ranks 4 --ops 8 --seed 2 --skip-ranks 2,3 part
    deliver 1 a one
    deliver 2 b part
    deliver 3 b two                 # a better copy
    deliver 3 c one
    "$ROLLCALL" archive tag c x --root root3
    key keys1 alice --reads somebody
    # the same in one
    deliver 1 b two
    deliver 1 c one
    "$ROLLCALL" archive tag c x --root root1
    for by in week tag host user; do
        "$ROLLCALL" trend --root root1 --by "$by" >want
        run ask trend --by "$by"
        expect_status 0
        is "by $by" "$(cat want)" "$(grep -v '^rollcall trend: job b: ' <<<"$output")"
        "$ROLLCALL" trend --root root1 --by "$by" --json >want
        run "$ROLLCALL" trend --json --root root2 --root root3 --root root1 --by "$by"
        expect_status 0
        is "by $by" "$(sed 's/}$//' want), \"not_answered\": []}" \
            "$(grep -v '^rollcall trend: job b: ' <<<"$output")"
    done
    run ask trend --where 'ranks=2'
    shows "1 job"
    run ask trend --tag x
    expect_status 0
    shows "1 job"
    run ask trend --where 'nothing=1'
    expect_status 2
    is "lines" 1 "$(wc -l <<<"$output")"
    run ask trend --html page.html --root root3
    [ -s page.html ]
    run ask trend --facts
    expect_status 2
    for verb in jobs trend; do
        run "$ROLLCALL" $verb --root root1 --postgres postgresql:///x
        expect_status 2
        shows "leave out --aggregators and --root"
        run "$ROLLCALL" $verb --root root1 --key mine/alice.key
        expect_status 2
        shows "--key needs --aggregators"
    done
    run env ROLLCALL_KEY=mine/alice.key "$ROLLCALL" trend --aggregators \
        "$(head -1 list)"
    expect_status 0
    shows "0 jobs"
    die 3
    run ask trend
    expect_status 1
    shows "3 jobs" "$(at 3) has not answered: "
    die 1
    die 2
    run ask trend
    expect_status 69
}

@test "a result in parts comes with its parts" {
    local part bytes

    export ROLLCALL_ONE_FILE=400k
    services 1
    "$CAPTURE_MAKER" --quiet --ranks 16 --ops 20 job
    deliver 1 j job
    in_parts ()
    {
        compgen -G "root1/jobs/j/cluster_analysis_output/analysis.*.part-*.db" >parts
    }
    eventually in_parts
    cd root1/jobs/j/cluster_analysis_output
    bytes=$(cat analysis.db analysis.*.part-*.db | wc -c)
    [ "$(ls analysis.*.part-*.db | wc -l)" -ge 2 ]
    cd "$TEST_DIR"
    run ask jobs --json
    shows "\"result_bytes\": $bytes"
    run ask query ops j --json
    expect_status 0
    is "rows" "$("$ROLLCALL" query ops j --json --root root1)" "$output"
    # a part that was dropped comes again
    part=$(find cache -name '*.part-0002.db')
    rm "$part"
    run ask query ops j --json
    expect_status 0
    [ -s "$part" ]
    # and one that is another one, if its analysis.db is not here
    find cache -name '*-*.db' ! -name '*.part-*' -delete
    tr a-f b-g <"$part" >other
    cat other >"$part"
    run ask query ops j --json
    expect_status 0
    run "$ROLLCALL" fsck result "$(find cache -name '*-*.db' ! -name '*.part-*')"
    expect_status 0
    # and one that is no longer whole
    : >"$part"
    run ask query ops j --json
    expect_status 0
    [ -s "$part" ]
    # by hand
    mkdir copy
    "$ROLLCALL" archive result j --root root1 >copy/analysis.db 2>said
    for part in $(sed -n 's/.*archive result j //p' said); do
        "$ROLLCALL" archive result j "$part" --root root1 >"copy/$part"
    done
    run "$ROLLCALL" fsck result copy
    expect_status 0
    run "$ROLLCALL" archive result j ../analysis.db --root root1
    expect_status 2
    run "$ROLLCALL" archive result j analysis.0011223344556677.part-0001.db \
        --root root1
    expect_status 66
    shows "has no part"
}

# shim: bin/asks is rollcall, but what rootB, or a service, runs of it fails as the
# file "how" says, unless it is the list of jobs
shim ()
{
    mkdir bin
    cp "$ROLLCALL_BIN"/{,lib}rollcall* bin
    mv bin/rollcall bin/asks
    cat >bin/rollcall <<END
#!/bin/bash
how=\$(<"$TEST_DIR/how")
[[ "\$1" != jobs && "\$*" == *root[B1]* ]] || how=
case \$how in
killed) kill -KILL \$\$ ;;
died) kill -KILL \$PPID ;;
empty) exit 0 ;;
half) "$TEST_DIR/bin/asks" "\$@" | sed 2q; exit 0 ;;
words) echo "first" >&2; echo "rollcall \$1: no ledger" >&2; exit 74 ;;
esac
exec "$TEST_DIR/bin/asks" "\$@"
END
    chmod +x bin/rollcall
}

not_in_full ()                      # PLACE REASON VERB WORD...: beside rootA
{
    local place=$1 why=$2

    shift 2
    run bin/asks "$@" --root rootA
    expect_status 1
    shows "$place has not answered in full: $why"
    is "messages" 1 "$(grep -c "${why:-in full}" <<<"$output")"
    run bin/asks "$@" --root rootA --json
    expect_status 1
    shows "\"not_answered\": [{\"at\": \"$place\", \"reason\": \"$why"
}

@test "who answers the first question and not the second is named, and why" {
    local how
    declare -A why=([killed]="it was killed (signal 9)" [half]="its list has no end"
        [empty]="it gave no" [words]="no ledger")

    shim
    "$CAPTURE_MAKER" --quiet --ranks 1 --ops 4 one
    "$ROLLCALL" archive add --root rootA --job a one
    "$ROLLCALL" archive add --root rootB --job b one
    for how in killed empty words half; do
        echo $how >how
        not_in_full rootB "${why[$how]}" archive ls --root rootB
        grep -q '"job":"a"' <<<"$output" || fail "$output"
        [ $how = half ] ||
            not_in_full rootB "${why[$how]}" trend --root rootB
    done
    # of one job nothing is left
    echo killed >how
    run bin/asks archive ls b --root rootA --root rootB
    expect_status 69
    shows "rootB has not answered in full: it was killed"
    echo whole >how
    run bin/asks archive ls --root rootA --root rootB
    expect_status 0
    # an aggregator that dies between the questions
    AGGREGATOR=$TEST_DIR/bin/rollcall-aggregator services 1
    deliver 1 c one
    echo died >how
    not_in_full "$(at 1)" "" archive ls --aggregators list
    AGGREGATOR=$TEST_DIR/bin/rollcall-aggregator begin 1
    not_in_full "$(at 1)" "" trend --aggregators list
}

# As after an aggregator that was taken for dead has come back.
@test "one of three is away: it is named, and what it alone had" {
    services 3
    "$CAPTURE_MAKER" --quiet --ranks 4 --ops 4 whole
    "$CAPTURE_MAKER" --quiet --ranks 4 --ops 4 --skip-ranks 2,3 part
    deliver 1 j part
    deliver 2 j whole
    deliver 3 k whole
    run ask jobs
    expect_status 0
    is "jobs" "j k " "$(names)"
    shows "job j: $(at 2) has 4 captures of 4 ranks, and all in its result; \
$(at 1) has 2 captures of 2 ranks, and not all in its result: it counts once, and \
the first is shown"
    run ask query steps j --json
    expect_status 0
    die 3
    run ask jobs
    expect_status 1
    is "jobs" "j " "$(names)"
    shows "$(at 3) has not answered: " "connection refused"
    run ask jobs --json
    expect_status 1
    shows "\"not_answered\": [{\"at\": \"$(at 3)\""
    run ask query steps k
    expect_status 69
    shows "no aggregator that answers has a job k"
    run ask query steps j
    expect_status 0
    die 1
    die 2
    run ask jobs
    expect_status 69
    begin 3
    run ask query steps k
    expect_status 0
}

# divide: a JOB of 2 ranks whose rows are at the service HOME_AT, its raw files at
# RAW_AT
divide ()                           # DIR
{
    local n i

    HOME_AT=
    for ((n = 1; ${#HOME_AT} == 0; n++)); do
        JOB=divided$n
        run timeout "$LIMIT" "$AGENT" --state "$TEST_DIR/spool$n" --job "$JOB" \
            --once --aggregators list --key mine/node.key --raw --spread 1 \
            --world-size 2 "$1"
        expect_status 0
        for i in "${!ports[@]}"; do
            run "$ROLLCALL" show --root "root$i" "$JOB"
            [[ "$output" != *"raw files at"* ]] || HOME_AT=$i
            [[ "$output" != *"rows at"* ]] || RAW_AT=$i
        done
    done
}

# Who has the raw files alone lacks nothing.
@test "a divided job is shown from its home, and its files come from where they are" {
    local capture

    services 3
    "$CAPTURE_MAKER" --quiet --ranks 2 --ops 4 --extras one
    divide one
    home_is_built () { grep -q "event=built job=$JOB " "service$HOME_AT.log"; }
    eventually home_is_built
    run ask jobs --job "$JOB"
    expect_status 0
    shows "2 of 2" "$(at "$HOME_AT"), $(at "$RAW_AT") (raw files)"
    [[ "$output" != *"counts once"* ]] || fail "$output"
    run ask jobs --job "$JOB" --json
    shows '"copies_are": "divided"' "\"raw_at\": \"$(at "$RAW_AT")\""
    run ask show "$JOB"
    expect_status 0
    shows "raw files at  $(at "$RAW_AT")" "2 present"
    # rows from its home, raw files from where they are
    run ask archive ls "$JOB"
    expect_status 0
    is "items" "$({ items_of "$HOME_AT" "$JOB"; items_of "$RAW_AT" "$JOB"; } |
        sort)" "$(sort <<<"$output")"
    run ask archive ls
    expect_status 0
    is "all items" "$({ items_of "$HOME_AT" "$JOB"; items_of "$RAW_AT" "$JOB"; } |
        sort)" "$(grep "^$JOB	" <<<"$output" | sort)"
    run ask archive get "$JOB" got
    expect_status 0
    [[ "$output" != *"not delivered"* ]] || fail "$output"
    for capture in one/*_ascend_pt; do
        diff -r -x rollcall.shipment -x .rollcall-job "$capture" \
            "got/${capture##*/}"
        [ -s "got/${capture##*/}/rollcall.shipment" ]
    done
    run ask archive get "$JOB" 1 one-rank
    expect_status 0
    is "captures" 1 "$(find one-rank -name '*_ascend_pt' | wc -l)"
    run ask archive get "$JOB" --file profiler_info_1.json some
    expect_status 0
    shows "1 raw file"
    # the home knows whom to ask
    run "$ROLLCALL" archive get "$JOB" rows --root "root$HOME_AT"
    expect_status 0
    shows "those of this job are delivered to $(at "$RAW_AT") (--aggregators asks there, too)" \
        "rows only"
    # the rows are away
    die "$HOME_AT"
    run ask jobs --job "$JOB"
    expect_status 1
    shows "$(at "$RAW_AT") has only raw files of it; its rows are at \
$(at "$HOME_AT"), which was not asked, or has not answered"
    run ask query steps "$JOB"
    expect_status 69
    run ask archive get "$JOB" raw
    expect_status 0
    shows "its rows are at $(at "$HOME_AT")"
    # a place that fails says why, and which one it is: it cannot open the file, or
    # its service has noticed before, after which the files are gone for good
    rm "root$RAW_AT/segments/00000001"
    run ask archive get "$JOB" half
    expect_status 1
    shows "/profiler_info_0.json, from $(at "$RAW_AT"): "
}

@test "copies that contradict each other are named, and none is chosen" {
    services 2
    "$CAPTURE_MAKER" --quiet --ranks 2 --ops 4 one
    "$CAPTURE_MAKER" --quiet --ranks 3 --ops 4 other
    deliver 1 j one
    deliver 2 j other
    run ask jobs
    expect_status 1
    is "jobs" "j " "$(names)"
    shows "they contradict each other"
    run ask query steps j
    expect_status 2
    shows "$(at 1)" "$(at 2)" "which job j is meant?"
    run "$ROLLCALL" query steps j --root root1
    expect_status 0
}

# As after an aggregator that was away, or is gone for good: nobody knows how many
# there should be, so neither is whole, and neither lies.
@test "copies of a job whose number of ranks is not known do not contradict each other" {
    services 2
    "$CAPTURE_MAKER" --quiet --ranks 2 --ops 4 --no-metadata early
    "$CAPTURE_MAKER" --quiet --ranks 3 --ops 4 --no-metadata late
    deliver 2 j late
    deliver 1 j early
    run ask jobs
    expect_status 0
    is "jobs" "j " "$(names)"
    shows "job j: $(at 2) has 3 captures of 3 ranks, and how many there should be is \
not known; $(at 1) has 2 captures of 2 ranks, and how many there should be is not \
known: it counts once, and the first is shown"
    run ask jobs --json
    shows '"copies_are": "not all whole"' '"known_by": "guess"'
    run ask query steps j
    expect_status 0
}

@test "who may ask: a reader, for whom; no node, and nobody without a key" {
    services 1
    key keys1 alice --reads somebody
    "$CAPTURE_MAKER" --quiet --ranks 1 --ops 4 one
    deliver 1 j one
    run env ROLLCALL_KEY=mine/node.key "$ROLLCALL" jobs --aggregators list
    expect_status 77
    shows "$(at 1) has refused: key node is one of a node, which reads nothing"
    run env ROLLCALL_KEY=mine/node.key "$ROLLCALL" status --aggregators list
    shows "$(at 1) has refused: key node is one of a node"
    # others' jobs are as if they did not exist
    run env ROLLCALL_KEY=mine/alice.key "$ROLLCALL" jobs --aggregators list
    expect_status 0
    is "jobs" "" "$(names)"
    run env ROLLCALL_KEY=mine/alice.key "$ROLLCALL" query steps j \
        --aggregators list
    expect_status 66
    run env -u ROLLCALL_KEY "$ROLLCALL" jobs --aggregators list
    expect_status 78
    "$ROLLCALL" key new stranger --dir mine
    run env ROLLCALL_KEY=mine/stranger.key "$ROLLCALL" jobs --aggregators list
    expect_status 77
    # and a reader delivers nothing
    run timeout "$LIMIT" "$AGENT" --state "$TEST_DIR/s" --job k --once \
        --aggregator "$(at 1)" --key mine/me.key --server-key keys1/server.pub one
    expect_status 77
    shows "key me is one of a person"
    "$ROLLCALL" key revoke me --dir keys1
    run ask jobs
    expect_status 77
}
