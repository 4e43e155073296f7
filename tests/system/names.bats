#!/usr/bin/env bats
# Names and texts of a hostile maker of captures, through every verb that
# prints: none of their bytes does anything to a terminal, a log or a page

load service_helper

ESC=$'\e]0;owned\a\e[2J'            # a title, and an empty screen
BIDI=$'\xe2\x80\xae\xe2\x81\xa6'    # U+202E, U+2066
HTML='<img src=x onerror=alert(1)>'
FORMULA='=cmd|calc'
# as JSON has them
JSON_TEXT='\u001b[2J\u202e\u2066\n\u009b2J%n%s<img src=x onerror=alert(1)>\"'

# hostile_job: captures with such names of everything that is named
hostile_job ()
{
    local file name text=${JSON_TEXT//\\/\\\\}

    make --ranks 3
    for file in job/*/profiler_metadata.json \
        job/*/ASCEND_PROFILER_OUTPUT/communication.json \
        job/*/ASCEND_PROFILER_OUTPUT/communication_matrix.json; do
        # names of ops, groups and environment variables
        sed -i "s|hcom_all[Rr]educe|&$text|g
            s|\"default_group\"|\"$text\"|g" "$file" 2>/dev/null || true
    done
    file=$(capture_of 0)
    for name in "$ESC" "$BIDI" "$HTML" "$FORMULA" $'new\nline' $'\xff\xfe'; do
        echo x >"$file/$name.txt"
        mkdir "$file/d$name"
        echo x >"$file/d$name/trace.json"
    done
    # one of them a whole capture's, and one that is damaged
    mv "$(capture_of 1)" "job/$ESC$BIDI$HTML"$'\n'"_ascend_pt"
    mkdir "job/x$ESC$BIDI"$'\n'"y"
    mv "$(capture_of 2)" "job/x$ESC$BIDI"$'\n'"y/"
    file=$(find job/x* -name communication.json)
    truncate -s 100 "$file"
    echo '[{"ph": "X"}]' >"job/$ESC$BIDI.pt.trace.json"
}

# clean WHAT FILE: nothing in it that a terminal would obey, or that would turn
# a line around; it is UTF-8
clean ()
{
    if LC_ALL=C grep -naP '[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]' "$2" >bad
    then
        fail "$1: control characters: $(head -n 3 bad | cat -v)" || return
    fi
    if LC_ALL=C grep -naP '\xe2\x80[\xaa-\xae]|\xe2\x81[\xa6-\xa9]' "$2" >bad
    then
        fail "$1: directions: $(head -n 3 bad | cat -v)" || return
    fi
    iconv -f UTF-8 -t UTF-8 "$2" >/dev/null || fail "$1: is no UTF-8"
}

# prints VERB...: whatever its exit status, it died of no signal
prints ()
{
    local status=0

    "$ROLLCALL" "$@" >out.txt 2>&1 </dev/null || status=$?
    [ $status -lt 126 ] || fail "$*: status $status" || return
    [ -s out.txt ] || fail "$*: says nothing" || return
    clean "$*" out.txt
}

# on_terminal VERB...: the same on one
on_terminal ()
{
    local words

    printf -v words '%q ' "$ROLLCALL" "$@"
    timeout 90 script -qec "stty cols 80; $words" /dev/null >raw.txt 2>&1 \
        </dev/null || true
    # what it writes itself: colours, "to the start of the line", "clear it"
    sed 's/\x1b\[[0-9;]*[mK]//g; s/\r//g' raw.txt >out.txt
    clean "$* on a terminal" out.txt
}

@test "hostile names: analyze, query, findings, compare, export, report" {
    local name verb

    hostile_job
    prints analyze --text -o out job
    prints analyze --text -o again job
    prints analyze --json -o again job
    prints analyze --list-jobs job
    on_terminal analyze -o again job
    "$ROLLCALL" query --list >list.txt
    for name in $(awk '/^[a-z]/ { print $1 }' list.txt); do
        "$ROLLCALL" query "$name" out >q.txt 2>&1 </dev/null || true
        clean "query $name" q.txt
        "$ROLLCALL" query --json "$name" out >q.txt 2>&1 </dev/null || true
        clean "query --json $name" q.txt
    done
    for name in missing ranks groups; do
        on_terminal query "$name" out
        on_terminal query --csv "$name" out     # a file has texts as they are
    done
    for verb in findings report; do
        prints $verb out || true
    done
    on_terminal findings out
    prints compare out again
    on_terminal compare out again
    for name in out/cluster_analysis_output/report.html; do
        ! grep -qF "$HTML" $name || fail "the page has the tag as it is"
        # other than a page's own
        clean "the page" $name
    done
    "$ROLLCALL" export -o trace.json out >out.txt 2>&1 || true
    clean export out.txt
    [ ! -e trace.json ] || clean "the trace" trace.json
}

@test "hostile names: delivery, logs, jobs, status, archive, fsck, wait, doctor" {
    hostile_job
    service
    agent --once --raw --quiet-period 0s job >agent.log 2>&1 || true
    eventually test -e "$DB"
    clean "the agent's log" agent.log
    export ROLLCALL_ROOT=$TEST_DIR/root
    prints jobs
    prints jobs --json
    on_terminal jobs
    prints status "$TEST_DIR/root"
    prints status "$TEST_DIR/spool"
    prints archive ls j
    prints archive verify j
    prints archive get j 0 back
    prints wait --timeout 1s "$ESC$BIDI"
    prints doctor --state "$TEST_DIR/$ESC"
    prints query missing "$ESC$BIDI"
    stop_service
    clean "the aggregator's log" service.log
    prints fsck aggregator root
    prints fsck agent "$TEST_DIR/spool/spool-j"
    prints fsck agent "$TEST_DIR/$ESC$BIDI"
    prints build --text -o "o$ESC$BIDI" j
}

# What an operator types, or a scheduler gives, is printed back by messages.
@test "hostile words of a command line" {
    local verb

    for verb in analyze run wait build query compare export findings report \
        jobs archive fsck status doctor key; do
        "$ROLLCALL" $verb "$ESC$BIDI"$'\n' >out.txt 2>&1 </dev/null || true
        clean "$verb" out.txt
        "$ROLLCALL" $verb "--$ESC$BIDI" >out.txt 2>&1 </dev/null || true
        clean "$verb --option" out.txt
    done
    "$ROLLCALL" "$ESC$BIDI" >out.txt 2>&1 || true
    clean "a verb" out.txt
    "$AGENT" --job "$ESC$BIDI" --once . >out.txt 2>&1 || true
    clean "a job" out.txt
    "$AGGREGATOR" --job "$ESC$BIDI" --root "r$ESC" \
        --listen "tcp://127.0.0.1:0$ESC" >out.txt 2>&1 || true
    clean "a job of the aggregator" out.txt
    ROLLCALL_JOB="$ESC" "$AGENT" --once . >out.txt 2>&1 || true
    clean "a job in the environment" out.txt
}
