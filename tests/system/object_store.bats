#!/usr/bin/env bats
# tests/system/object_store.bats - the client of object stores, against s3rver
# behind a proxy that plays faults

load run_helper
load store_helper

make_files ()
{
    head -c 100000 /dev/urandom >small
    head -c 40000000 /dev/urandom >large        # five parts
}

each_has_store make_files

is_ok ()                            # it went well, and no secret is in its words
{
    expect_status 0
    [[ "$output" != *testsecret* ]] || fail "the secret is in: $output"
}

fails_with ()                       # ERRNO TEXT...
{
    expect_status 1
    shows "errno $1" "${@:2}"
    [[ "$output" != *testsecret* ]] || fail "the secret is in: $output"
}

@test "objects are written, listed, read in ranges, and deleted" {
    object put a/b small; is_ok
    object put large large; is_ok
    object put 'odd +&=?%2F~' small; is_ok
    object ls
    shows "100000 $(md5sum <small | cut -c 1-32) a/b" "40000000 " " large"
    object ls a/
    [[ "$output" != *large* ]]
    "$OBJECT_TOOL" $STORE get large 16777000 1000 | cmp - \
        <(tail -c +16777001 large | head -c 1000)
    object get large 39999990 11; fails_with EBADMSG "has 10 bytes"
    object head 'odd +&=?%2F~'; is_ok
    object check large large; is_ok
    object check large small; fails_with EBADMSG
    object rm a/b; is_ok
    object rm a/b; is_ok
    object head a/b; fails_with ENOENT
    STORE=s3://elsewhere/pre object ls; fails_with ENXIO "no bucket elsewhere"
    is "requests that were refused" 0 "$(counted refused.SignatureDoesNotMatch)"
}

@test "the proxy takes nothing that is unsigned or has another hash" {
    object put a small; is_ok
    run python3 - "$AWS_ENDPOINT_URL" <<'PYTHON'
import sys
import urllib.error
import urllib.request
for method in ("GET", "PUT"):
    r = urllib.request.Request(sys.argv[1] + "/bucket/pre/a", b"x" if method ==
                               "PUT" else None, method=method)
    try:
        urllib.request.urlopen(r)
        print("taken")
    except urllib.error.HTTPError as e:
        print(e.code)
PYTHON
    is "both" $'403\n403' "$output"
    object check a small; is_ok
}

@test "errors that pass are asked again, and others are named" {
    faults '[{"fault": "500", "times": 1}, {"fault": "slowdown", "times": 1}]'
    object put a small; is_ok
    is "SlowDown was played" 1 "$(counted fault.slowdown)"
    faults '[{"fault": "slowdown"}]'
    object --tries 2 put a small
    fails_with EAGAIN "asked 2 times: SlowDown"
    faults '[{"fault": "denied", "method": "DELETE"}]'
    object rm a; fails_with EACCES AccessDenied
    faults '[{"fault": "skew", "off": 3600}]'
    object head a; fails_with ETIME "the clock of this machine is 3" " s behind"
    faults '[{"fault": "cut", "times": 1, "bytes": 1000000, "method": "PUT"}]'
    object put large large; is_ok
    faults '[{"fault": "cut-answer", "times": 1}]'
    "$OBJECT_TOOL" $STORE get large 0 16777216 | cmp - <(head -c 16777216 large)
    faults '[{"fault": "silent", "times": 1, "s": 20}]'
    object --silence 1 check a small; is_ok
    faults '[{"fault": "slow", "rate": 1000, "method": "GET", "times": 1}]'
    object get a 0 200; is_ok
}

@test "an upload goes on where it ended, and lost ones begin anew" {
    faults '[{"fault": "cut", "method": "PUT", "skip": 2}]'
    object --tries 1 put k large; fails_with EHOSTUNREACH
    faults '[]'
    object uploads
    id=$(awk '/ k$/ { print $1 }' <<<"$output")
    [ -n "$id" ]
    before=$(counted requests.PUT)
    object --resume "$id" put k large; is_ok
    is "parts that were sent" 3 $(($(counted requests.PUT) - before))
    object --resume "$id" put k large; is_ok
    faults '[{"fault": "lost-upload", "method": "PUT", "skip": 1, "times": 1}]'
    object put l large; is_ok
    faults '[{"fault": "lost-answer", "method": "POST", "query": "uploadId",
              "times": 1}]'
    object put m large; is_ok
    faults '[{"fault": "500", "method": "PUT", "skip": 1}]'
    object --tries 1 put n large; fails_with EAGAIN
    faults '[]'
    object uploads
    id=$(awk '/ n$/ { print $1 }' <<<"$output")
    object abort n "$id"; is_ok
    object abort n "$id"; is_ok
    object uploads
    [[ "$output" != *" n"* ]]
    object check k large; is_ok
    object check l large; is_ok
    object check m large; is_ok
}

@test "a store whose etags are no MD5 is read back" {
    stop_proxy
    start_proxy --odd-etags
    before=$(counted sent)
    object put large large; is_ok
    [ "$(counted sent)" -ge $((before + 40000000)) ]
    faults '[{"fault": "flip", "method": "GET", "times": 1}]'
    object check large large; fails_with EBADMSG "differs"
}

@test "credentials are read again when they have expired" {
    unset AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY
    object ls; fails_with ENOKEY AWS_SHARED_CREDENTIALS_FILE
    export AWS_SHARED_CREDENTIALS_FILE=$PWD/file
    printf '[default]\naws_access_key_id=%s\naws_secret_access_key=%s\n%s\n' \
        TESTKEY testsecret aws_session_token=OLD >file
    object put a small; is_ok
    faults '[{"fault": "expired", "token": "OLD"}]'
    object head a; fails_with EKEYEXPIRED "come from the file"
    sed -i s/OLD/NEW/ file
    object head a; is_ok
    sed -i s/testsecret/another/ file
    object head a; fails_with EKEYREJECTED SignatureDoesNotMatch \
        "the store does not take the credentials of the file of credentials"
}

@test "TLS of an unknown CA and a proxy that is away are named" {
    command -v openssl >/dev/null || skip "needs openssl"
    object --tries 1 --proxy http://127.0.0.1:1 ls; fails_with EHOSTUNREACH
    openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out cert.pem \
        -days 2 -subj /CN=127.0.0.1 -addext subjectAltName=IP:127.0.0.1 \
        2>/dev/null
    stop_proxy
    start_proxy --tls cert.pem key.pem
    object ls; fails_with EPERM TLS
    object --ca cert.pem ls; is_ok
}
