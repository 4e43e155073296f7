# tests/system/store_helper.bash - an object store with faults
#
# From the environment: STORE_SERVER (its module), OBJECT_TOOL, STORE_KIT (tests/kit).

# shellcheck disable=SC2154         # bats sets status, output, BATS_*

# each_has_store [COMMAND]: each test of the file has a store, and then COMMAND is
# carried out
each_has_store ()
{
    store_then=${1:-true}
    eval "run_$(declare -f setup)"  # run_helper.bash's, under another name
    setup ()
    {
        run_setup
        start_store
        "$store_then"
    }
    teardown ()
    {
        stop_store
        kill_all
    }
}

# start_store [OPTION of store_proxy.py]...: AWS_ENDPOINT_URL is where; bucket
# "bucket" is there
start_store ()
{
    command -v python3 >/dev/null || skip "needs python3"
    command -v node >/dev/null || skip "needs node"
    [ -d "${STORE_SERVER:?}" ] || skip "needs s3rver of npm: tests/kit/get_s3rver"
    "$OBJECT_TOOL" --built || skip "needs libcurl"
    mkdir -p store
    # not of the processes that have to be gone when a service has ended
    env -u ROLLCALL_TEST_ID node "$STORE_KIT/s3rver.js" "$STORE_SERVER" "$PWD/store" "$PWD/s3rver.port" \
        TESTKEY testsecret bucket >s3rver.log 2>&1 3>&- &
    s3rver=$!
    eventually test -s s3rver.port || fail "$(cat s3rver.log)" || return
    start_proxy "$@"
    export AWS_ACCESS_KEY_ID=TESTKEY AWS_SECRET_ACCESS_KEY=testsecret
    # no test asks the machine that it runs on
    export AWS_EC2_METADATA_DISABLED=true AWS_SHARED_CREDENTIALS_FILE=$PWD/none
    unset AWS_SESSION_TOKEN AWS_PROFILE AWS_REGION AWS_DEFAULT_REGION
    unset http_proxy https_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY all_proxy
    STORE=s3://bucket/pre
}

start_proxy ()
{
    rm -f proxy.port
    env -u ROLLCALL_TEST_ID python3 "$STORE_KIT/store_proxy.py" --key TESTKEY:testsecret --port \
        "${STORE_PORT:-0}" --upstream "http://127.0.0.1:$(cat s3rver.port)" \
        --ready proxy.port "$@" >>proxy.log 2>&1 3>&- &
    proxy=$!
    eventually test -s proxy.port || fail "$(cat proxy.log)" || return
    STORE_PORT=$(cat proxy.port)
    export AWS_ENDPOINT_URL=http://127.0.0.1:$STORE_PORT
    [ "${1:-}" != --tls ] || AWS_ENDPOINT_URL=https://127.0.0.1:$STORE_PORT
}

stop_store ()                       # in teardown
{
    kill ${s3rver:-} ${proxy:-} 2>/dev/null || true
    wait ${s3rver:-} ${proxy:-} 2>/dev/null || true
}

# stop_proxy: nobody listens there until start_proxy
stop_proxy ()
{
    kill "$proxy"
    wait "$proxy" || true
    proxy=
}

# proxy_says METHOD PATH [BODY]: the body of its answer
proxy_says ()
{
    local LC_ALL=C body=${3:-} http

    exec {http}<>"/dev/tcp/127.0.0.1/$STORE_PORT"
    printf '%s %s HTTP/1.0\r\nContent-Length: %d\r\n\r\n%s' "$1" "$2" "${#body}" \
        "$body" >&"$http"
    sed '1,/^\r*$/d' <&"$http"
    exec {http}>&-
}

# faults RULES: as store_proxy.py says
faults ()
{
    [ "$(proxy_says POST /-/faults "$1")" = set ]
}

# counted NAME: how often, since the proxy was started
counted ()
{
    local counts

    counts=$(proxy_says GET /-/counts) && [[ "$counts" == {*} ]] || return
    [[ "$counts" =~ \"${1//./\\.}\":\ ([0-9]+) ]] && echo "${BASH_REMATCH[1]}" || echo 0
}

# store_says NAME: what the status of the service of 'root' says of its store
store_says ()
{
    "$ROLLCALL" status --json root >"$BATS_TEST_TMPDIR/status" &&
        sqlite3 :memory: "SELECT json_extract(readfile('$BATS_TEST_TMPDIR/status'),
            '\$.daemons[0].status.store.$1')"
}

# object ARGUMENT...: of object_tool, in the store; sets status and output
object ()
{
    local options=()

    while [[ "$1" == --* ]]; do
        options+=("$1" "$2")
        shift 2
    done
    run "$OBJECT_TOOL" "${options[@]}" "$STORE" "$@"
}

# needed rows|all: bytes of the chunks that these contents have in the store only,
# and how many, as the ledger and the marks say
needed ()
{
    python3 - root "$1" <<'PYTHON'
import json
import os
import sqlite3
import sys
root, what = sys.argv[1:]
marks = [n for n in os.listdir(root + "/store") if n.isdigit()]
far = {int(n) for n in marks if json.load(open(root + "/store/" + n))["evicted"]}
db = sqlite3.connect("file:%s/ledger.db?mode=ro" % root, uri=True)
chunks = set()
def add(content):
    segment, at, stored, form = db.execute(
        "SELECT segment, offset, stored, form FROM content WHERE id=?",
        (content,)).fetchone()
    if form == 16:
        with open("%s/segments/%08d" % (root, segment), "rb") as f:
            f.seek(at)
            ids = f.read(stored)
        for i in range(0, stored, 32):
            add(ids[i:i + 32])
    elif segment in far:
        chunks.add((segment, at, stored))
for content, in db.execute("SELECT DISTINCT content FROM item WHERE kind=1 OR ?",
                           (what == "all",)):
    add(content)
print(sum(c[2] for c in chunks), len(chunks))
PYTHON
}
