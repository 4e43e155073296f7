# tests/system/browser.bash - a real browser, without a screen
#
# Chromium, driven over a pipe by its own protocol (DevTools): what a test does
# is what a person does, keys included.  Load it after helper.

# browser_open: sets 'browser', its pid; skips the test where there is none
browser_open ()
{
    local alone=() target

    command -v chromium >/dev/null ||
        skip "NOT TESTED in a browser: apt install chromium"
    [ "$(id -u)" -ne 0 ] || alone=(--no-sandbox)
    mkfifo to from
    chromium --headless "${alone[@]}" --disable-gpu --hide-scrollbars \
        --no-first-run --disable-dev-shm-usage --user-data-dir="$PWD/profile" \
        --remote-debugging-pipe about:blank 3<to 4>from >browser.out 2>&1 &
    browser=$!
    exec {browser_to}>to {browser_from}<from
    browser_id=0 session=
    : >events
    ask Target.createTarget '{"url": "about:blank"}'
    target=$(answer '$.result.targetId')
    ask Target.attachToTarget \
        "{\"targetId\": \"$target\", \"flatten\": true}"
    session=$(answer '$.result.sessionId')
    ask Page.enable
    ask Runtime.enable
    ask Log.enable
    ask Network.enable
}

# browser_close: by itself, so that all of its processes end
browser_close ()
{
    [ -n "${browser-}" ] || return 0
    session=
    ask Browser.close || true
    wait "$browser" || true
    exec {browser_to}>&- {browser_from}<&-
    browser=
}

# hear: the next message, into 'message'; a minute's silence is a failure
hear ()
{
    IFS= read -r -d '' -t 60 -u "$browser_from" message ||
        fail "the browser says nothing: $(tail -n 5 browser.out)"
}

# ask METHOD [PARAMETERS]: sends it and waits for the answer, in 'message'
ask ()
{
    local text

    browser_id=$((browser_id + 1))
    text="{\"id\": $browser_id, \"method\": \"$1\", \"params\": ${2:-{\}}"
    [ -z "$session" ] || text+=", \"sessionId\": \"$session\""
    printf '%s}\0' "$text" >&"$browser_to"
    until hear && [[ "$message" == "{\"id\":$browser_id,"* ]]; do
        [ -n "$message" ] || return 1
        printf '%s\n' "$message" >>events
    done
    [[ "$message" != *"\"error\":{"* ]] || fail "$1: $message"
}

# answer PATH: of the last message
answer ()
{
    printf '%s' "$message" >message.json
    sqlite3 -batch :memory: \
        "SELECT json_extract(readfile('message.json'), '$1')"
}

# happened NAME: waits for an event
happened ()
{
    until grep -q "\"method\":\"$1\"" events; do
        hear || return
        printf '%s\n' "$message" >>events
    done
}

# visit FILE[#PLACE]: until it is loaded
visit ()
{
    : >events
    ask Page.navigate '{"url": "about:blank"}'
    happened Page.loadEventFired || return
    : >events
    ask Page.navigate "{\"url\": \"file://$PWD/$1\"}"
    happened Page.loadEventFired
}

# js EXPRESSION: prints its value
js ()
{
    local quoted

    printf '%s' "$1" >expression
    quoted=$(sqlite3 -batch :memory: \
        "SELECT json_quote(CAST(readfile('expression') AS TEXT))")
    ask Runtime.evaluate "{\"expression\": $quoted, \"returnByValue\": true}" ||
        return
    [[ "$message" != *'"exceptionDetails"'* ]] || fail "$1: $message" || return
    answer '$.result.result.value'
}

# press KEY [CODE]: as a person does
press ()
{
    local key="\"key\": \"$1\", \"code\": \"$1\", \"windowsVirtualKeyCode\": $2"
    local text=

    [ "$1" != Enter ] || text=', "text": "\r"'
    ask Input.dispatchKeyEvent "{\"type\": \"keyDown\", $key$text}" &&
        ask Input.dispatchKeyEvent "{\"type\": \"keyUp\", $key}"
}

# type_text TEXT: into what has the focus
type_text ()
{
    ask Input.insertText "{\"text\": \"$1\"}"
}

# window WIDTH HEIGHT light|dark
window ()
{
    ask Emulation.setDeviceMetricsOverride "{\"width\": $1, \"height\": $2,
        \"deviceScaleFactor\": 1, \"mobile\": false}" &&
        ask Emulation.setEmulatedMedia "{\"features\": [{\"name\":
            \"prefers-color-scheme\", \"value\": \"$3\"}]}"
}

# picture FILE: of the window, as PNG
picture ()
{
    ask Page.captureScreenshot '{"format": "png"}' &&
        answer '$.result.data' | base64 -d >"$1"
}

# quiet: no error, no violation of the page's policy, nothing loaded
quiet ()
{
    ! grep -E '"Runtime.exceptionThrown"|"Log.entryAdded"' events ||
        fail "the page complains"
    ! grep '"Network.requestWillBeSent"' events |
        grep -v '"url":"file://[^"]*report.html' || fail "the page loads"
}
