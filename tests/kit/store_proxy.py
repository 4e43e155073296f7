#!/usr/bin/env python3
# tests/kit/store_proxy.py - an object store that has faults, for tests
#
#     store_proxy.py --upstream http://127.0.0.1:PORT --key ID:SECRET
#         [--port N] [--ready FILE] [--tls CERT KEY] [--odd-etags]
#
# Stands before s3rver (from npm), and is what that is not: it refuses requests
# that are not signed or whose signature (AWS Signature 4) is wrong, compares
# x-amz-content-sha256 and Content-MD5 with the bytes, makes the etags of objects
# in parts as S3 does, and knows the uploads that were not ended.  It plays the
# faults that it is told, and counts.  FILE gets the port once it listens.
#
#     POST /-/faults    a JSON list of rules, in place of those that were there
#     GET  /-/counts    a JSON object: requests, bytes, by method, refused, ...;
#                       reads, read: of objects, answers and bytes
#
# A rule: {"fault": KIND, "method": M, "key": RE, "query": RE, "times": N,
# "skip": K, ...}: for requests of that method whose key and query match, the K
# first ones left out, N times (always, if it is not given).  KINDs:
#
#     500  slowdown  denied  expired       an error ("retry_after": s); "expired"
#                                          only for the session token "token"
#     skew                                 the clock is "off" s ahead here
#     cut                                  the connection ends after "bytes" of
#                                          the request, or at its begin
#     cut-answer                           after "bytes" of the answer's body
#     lost-answer                          after the request was carried out
#     held-answer                          the same, but nothing ends for "s" seconds
#     silent                               no answer for "s" seconds
#     slow                                 "rate" bytes/s of the answer
#     lost-upload                          the upload is forgotten, then
#                                          NoSuchUpload
#     flip                                 a byte of the answer's body differs
#     stale-list                           lists are as they were when the rule
#                                          was set
import argparse
import base64
import hashlib
import hmac
import http.client
import http.server
import json
import os
import re
import socket
import ssl
import sys
import threading
import time
import urllib.parse
from email.utils import formatdate
from xml.sax.saxutils import escape

ERRORS = {
    "500": (500, "InternalError", "We encountered an internal error."),
    "slowdown": (503, "SlowDown", "Please reduce your request rate."),
    "denied": (403, "AccessDenied", "Access Denied"),
    "expired": (400, "ExpiredToken", "The provided token has expired."),
    "skew": (403, "RequestTimeTooSkewed", "The difference between the request "
             "time and the current time is too large."),
    "lost-upload": (404, "NoSuchUpload", "The specified upload does not exist."),
}
SKEW_MAX_S = 900


class Refused(Exception):
    def __init__(self, status, code, message="", headers=()):
        super().__init__(code)
        self.status, self.code, self.message = status, code, message
        self.headers = dict(headers)


class Cut(Exception):
    pass


class Store:
    """What the proxy knows beside the server behind it."""

    def __init__(self, options):
        self.lock = threading.Lock()
        self.options = options
        self.rules = []
        self.counts = {}
        self.uploads = {}       # id: {"key", "parts": {n: (etag, size)}}
        self.etags = {}         # path of an object in parts: its etag
        self.written = {}       # path: time of its last write
        self.deleted = {}       # path: (time, its entry in lists)

    def count(self, what, n=1):
        with self.lock:
            self.counts[what] = self.counts.get(what, 0) + n

    def fault(self, method, key, query, token):
        """The rule that is for this request, or an empty one."""
        with self.lock:
            for r in self.rules:
                if (r.get("method", method) != method
                        or not re.search(r.get("key", ""), key)
                        or not re.search(r.get("query", ""), query)
                        or r.get("token", token) != token):
                    continue
                if r.get("skip", 0) > 0:
                    r["skip"] -= 1
                    continue
                if r.get("times", 1) <= 0:
                    continue
                if "times" in r:
                    r["times"] -= 1
                return r
        return {}


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def signed_with(secret, day, region, service, text):
    key = ("AWS4" + secret).encode()
    for part in (day, region, service, "aws4_request"):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    store = None                # a Store

    def log_message(self, *args):
        pass

    # ---- answers ----

    def send(self, status, headers, body, rule=None, head=False):
        rule = rule or {}
        kind = rule.get("fault")
        self.send_response_only(status)
        shift = rule.get("off", 0) if kind == "skew" else 0
        self.send_header("Date", formatdate(time.time() + shift, usegmt=True))
        for name, value in headers.items():
            self.send_header(name, value)
        if "Content-Length" not in headers:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if head:
            return
        if kind == "flip" and body:
            at = len(body) // 2
            body = body[:at] + bytes([body[at] ^ 1]) + body[at + 1:]
        if kind == "cut-answer":
            self.wfile.write(body[:rule.get("bytes", len(body) // 2)])
            raise Cut
        if kind == "slow":
            step = max(1, rule["rate"] // 10)
            for at in range(0, len(body), step):
                self.wfile.write(body[at:at + step])
                self.wfile.flush()
                time.sleep(0.1)
        else:
            self.wfile.write(body)
        self.store.count("sent", len(body))

    def send_xml(self, text, status=200, headers=None, rule=None, head=False):
        body = ('<?xml version="1.0" encoding="UTF-8"?>\n' + text).encode()
        h = {"Content-Type": "application/xml"}
        h.update(headers or {})
        if head:
            h["Content-Length"] = "0"
        self.send(status, h, b"" if head else body, rule, head)

    def refuse(self, r, rule, head):
        self.store.count("refused." + r.code)
        self.send_xml("<Error><Code>%s</Code><Message>%s</Message></Error>"
                      % (r.code, escape(r.message)), r.status, r.headers, rule,
                      head)

    # ---- what each request has to have ----

    def read_body(self, rule):
        size = int(self.headers.get("Content-Length") or 0)
        if rule.get("fault") == "cut":
            self.rfile.read(min(size, rule.get("bytes", 0)))
            raise Cut
        body = self.rfile.read(size)
        if len(body) != size:
            raise Cut
        self.store.count("received", size)
        return body

    def check_hashes(self, body):
        if "x-amz-content-sha256" not in self.headers:
            raise Refused(400, "InvalidRequest", "no x-amz-content-sha256")
        if self.headers["x-amz-content-sha256"] != sha256(body):
            raise Refused(400, "XAmzContentSHA256Mismatch")
        md5 = base64.b64encode(hashlib.md5(body).digest()).decode()
        if "Content-MD5" not in self.headers:
            raise Refused(400, "InvalidRequest", "no Content-MD5")
        if self.headers["Content-MD5"] != md5:
            raise Refused(400, "BadDigest")

    def check_signature(self, path, query):
        m = re.fullmatch(r"AWS4-HMAC-SHA256 Credential=([^/]+)/(\d{8})/([^/]+)/"
                         r"s3/aws4_request, ?SignedHeaders=([^,]+), ?"
                         r"Signature=([0-9a-f]{64})",
                         self.headers.get("Authorization", ""))
        if not m:
            raise Refused(403, "AccessDenied", "the request is not signed")
        key_id, day, region, names, signature = m.groups()
        if key_id != self.store.options.key.split(":")[0]:
            raise Refused(403, "InvalidAccessKeyId")
        signed = names.split(";")
        if any(n not in self.headers for n in signed):
            raise Refused(403, "SignatureDoesNotMatch", "what is signed is not "
                          "there: " + names)
        for name in self.headers:
            name = name.lower()
            if (name == "host" or name.startswith("x-amz-")) and name not in signed:
                raise Refused(403, "AccessDenied", name + " is not signed")
        # S3 sorts what it gets
        pairs = sorted(p if "=" in p else p + "=" for p in query.split("&") if p)
        canonical = "\n".join([
            self.command, path, "&".join(pairs),
            "".join("%s:%s\n" % (n, " ".join(self.headers[n].split()))
                    for n in signed),
            names, self.headers.get("x-amz-content-sha256", "")])
        date = self.headers.get("x-amz-date", "")
        scope = "/".join((day, region, "s3", "aws4_request"))
        text = "\n".join(("AWS4-HMAC-SHA256", date, scope,
                          sha256(canonical.encode())))
        secret = self.store.options.key.split(":", 1)[1]
        if signed_with(secret, day, region, "s3", text) != signature:
            raise Refused(403, "SignatureDoesNotMatch")
        then = time.mktime(time.strptime(date, "%Y%m%dT%H%M%SZ")) - time.timezone
        if abs(time.time() - then) > SKEW_MAX_S:
            raise Refused(*ERRORS["skew"])

    # ---- what the server behind does not have ----

    def parts(self, upload, query):
        first = int(query.get("part-number-marker", "0"))
        page = int(query.get("max-parts", "1000"))
        numbers = sorted(n for n in upload["parts"] if n > first)
        more = numbers[page:]
        numbers = numbers[:page]
        rows = "".join("<Part><PartNumber>%d</PartNumber><ETag>&quot;%s&quot;"
                       "</ETag><Size>%d</Size></Part>"
                       % ((n,) + upload["parts"][n]) for n in numbers)
        last = numbers[-1] if numbers else 0
        return ("<ListPartsResult><IsTruncated>%s</IsTruncated>"
                "<NextPartNumberMarker>%d</NextPartNumberMarker>%s"
                "</ListPartsResult>" % ("true" if more else "false", last, rows))

    def list_uploads(self, bucket, prefix):
        with self.store.lock:
            rows = "".join("<Upload><Key>%s</Key><UploadId>%s</UploadId>"
                           "</Upload>" % (escape(u["key"]), i)
                           for i, u in sorted(self.store.uploads.items())
                           if u["bucket"] == bucket and u["key"].startswith(prefix))
        return ("<ListMultipartUploadsResult><IsTruncated>false</IsTruncated>%s"
                "</ListMultipartUploadsResult>" % rows)

    def by_itself(self, bucket, key, query):
        """The answer of a request that does not go to the server behind."""
        if self.command == "GET" and not key and "uploads" in query:
            return self.list_uploads(bucket, query.get("prefix", ""))
        if "uploadId" not in query:
            return None
        with self.store.lock:
            upload = self.store.uploads.get(query["uploadId"])
            if not upload or upload["key"] != key:
                raise Refused(*ERRORS["lost-upload"])
            if self.command == "GET":
                return self.parts(upload, query)
            if self.command == "DELETE":
                del self.store.uploads[query["uploadId"]]
                return ""
        return None

    # ---- the server behind ----

    def forward(self, body):
        upstream = urllib.parse.urlsplit(self.store.options.upstream)
        c = http.client.HTTPConnection(upstream.hostname, upstream.port,
                                       timeout=60)
        headers = {n: v for n, v in self.headers.items()
                   if n.lower() not in ("connection", "expect")}
        try:
            c.request(self.command, self.path, body or None, headers)
            r = c.getresponse()
            data = r.read()
        finally:
            c.close()
        kept = {n: v for n, v in r.getheaders() if n.lower() in
                ("etag", "content-range", "content-type", "last-modified",
                 "x-amz-id-2", "accept-ranges")}
        if self.command == "HEAD":
            kept["Content-Length"] = r.getheader("Content-Length") or "0"
        return r.status, kept, data

    def learn(self, bucket, key, query, body, status, headers, data):
        """Note what went through; the answer, as S3 would give it."""
        s, path = self.store, bucket + "/" + key
        if status >= 300:
            return data
        with s.lock:
            if self.command == "POST" and "uploads" in query:
                m = re.search(rb"<UploadId>(.*?)</UploadId>", data)
                s.uploads[m.group(1).decode()] = {"bucket": bucket, "key": key,
                                                  "parts": {}}
            elif self.command == "PUT" and "uploadId" in query:
                etag = hashlib.md5(body).hexdigest()
                s.uploads[query["uploadId"]]["parts"][
                    int(query["partNumber"])] = (etag, len(body))
                headers["ETag"] = '"%s"' % etag
            elif self.command == "POST" and "uploadId" in query:
                u = s.uploads.pop(query["uploadId"])
                sums = b"".join(bytes.fromhex(u["parts"][n][0])
                                for n in sorted(u["parts"]))
                s.etags[path] = "%s-%d" % (hashlib.md5(sums).hexdigest(),
                                           len(u["parts"]))
                s.written[path] = time.time()
            elif self.command == "PUT" and key:
                s.etags.pop(path, None)
                s.written[path] = time.time()
            elif self.command == "DELETE" and key:
                s.deleted[path] = time.time()
            if self.command in ("GET", "HEAD") and key and path in s.etags:
                headers["ETag"] = '"%s"' % s.etags[path]
            if s.options.odd_etags and "ETag" in headers:
                headers["ETag"] = '"odd-%s"' % sha256(headers["ETag"].encode())[:32]
        return data

    def as_listed(self, bucket, data, rule):
        """A list with the etags of S3; and one of some time ago."""
        s = self.store

        def entry(m):
            path = bucket + "/" + m.group(2).decode()
            if (rule.get("fault") == "stale-list"
                    and s.written.get(path, 0) > rule["set"]):
                return b""
            text = m.group(0)
            if path in s.etags:
                text = re.sub(rb"<ETag>.*?</ETag>", b"<ETag>&quot;%s&quot;</ETag>"
                              % s.etags[path].encode(), text)
            return text

        with s.lock:
            return re.sub(rb"(<Contents>)<Key>(.*?)</Key>.*?</Contents>", entry,
                          data, flags=re.S)

    # ---- a request ----

    def control(self):
        if self.command == "POST":
            rules = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            with self.store.lock:
                self.store.rules = rules
                for r in rules:
                    r["set"] = time.time()
            self.send(200, {}, b"set")
            return
        with self.store.lock:
            body = json.dumps(self.store.counts).encode()
        self.send(200, {"Content-Type": "application/json"}, body)

    def play(self, rule, query):
        kind = rule.get("fault")
        if kind:
            self.store.count("fault." + kind)
        if kind == "silent":
            time.sleep(rule.get("s", 60))
            raise Cut
        if kind == "lost-upload":
            with self.store.lock:
                self.store.uploads.pop(query.get("uploadId"), None)
        if kind in ERRORS:
            headers = {}
            if "retry_after" in rule:
                headers["Retry-After"] = str(rule["retry_after"])
            raise Refused(*ERRORS[kind], headers=headers)

    def carry_out(self, rule, path, query_text):
        head = self.command == "HEAD"
        _, bucket, key = (urllib.parse.unquote(path) + "/").split("/", 2)
        key = key[:-1] if key.endswith("/") else key
        query = dict(urllib.parse.parse_qsl(query_text, keep_blank_values=True))
        body = self.read_body(rule)
        try:
            self.check_signature(path, query_text)
            self.check_hashes(body)
            self.play(rule, query)
            text = self.by_itself(bucket, key, query)
        except Refused as r:
            self.refuse(r, rule, head)
            return
        if text is not None:
            if text:
                self.send_xml(text)
            else:
                self.send(204, {}, b"")
            return
        status, headers, data = self.forward(body)
        data = self.learn(bucket, key, query, body, status, headers, data)
        if self.command == "GET" and not key and status == 200:
            data = self.as_listed(bucket, data, rule)
        if rule.get("fault") == "held-answer":
            self.store.count("held")
            time.sleep(rule.get("s", 60))
        if rule.get("fault") in ("lost-answer", "held-answer"):
            raise Cut
        if self.command == "GET" and key and status in (200, 206):
            self.store.count("reads")
            self.store.count("read", len(data))
        self.send(status, headers, data, rule, head)

    def answer(self):
        path, _, query = self.path.partition("?")
        if path.startswith("/-/"):
            self.control()
            return
        key = urllib.parse.unquote(path).split("/", 2)[-1]
        token = self.headers.get("x-amz-security-token", "")
        rule = self.store.fault(self.command, key, query, token)
        self.store.count("requests")
        self.store.count("requests." + self.command)
        if rule.get("fault") in ("cut", "cut-answer", "slow", "flip",
                                 "stale-list"):
            self.store.count("fault." + rule["fault"])
        try:
            self.carry_out(rule, path, query)
        except (Cut, ConnectionError):
            self.close_connection = True
            try:
                self.connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = answer


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def handle_error(self, request, client_address):
        if not isinstance(sys.exc_info()[1], (ConnectionError, ssl.SSLError)):
            super().handle_error(request, client_address)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--upstream", required=True)
    p.add_argument("--key", required=True)
    p.add_argument("--port", type=int, default=0)
    p.add_argument("--ready")
    p.add_argument("--tls", nargs=2)
    p.add_argument("--odd-etags", action="store_true")
    options = p.parse_args()
    Handler.store = Store(options)
    server = Server(("127.0.0.1", options.port), Handler)
    if options.tls:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*options.tls)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    if options.ready:
        with open(options.ready + ".new", "w") as f:
            print(server.server_address[1], file=f)
        os.rename(options.ready + ".new", options.ready)
    server.serve_forever()


if __name__ == "__main__":
    main()
