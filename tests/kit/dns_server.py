# tests/kit/dns_server.py - a name server on loopback that knows one name
#
#     dns_server.py NAME MODE [HOST:PORT]...
#
# It prints its port.  Questions of NAME's SRV records are answered with the
# targets; others with "no such name".  MODE: good; fail (it cannot answer now);
# garbage (bytes that are no records); none (the name has no record); long (by TCP
# only, as the answer is too long for a datagram); @FILE: what is in the file then.
# Only for tests: it compares names as they are.
import socket
import struct
import sys
import threading


def encode(name):
    return b"".join(bytes([len(p)]) + p.encode() for p in name.split(".")) + b"\0"


def record(target):
    host, port = target.rsplit(":", 1)
    data = struct.pack(">HHH", 10, 5, int(port)) + encode(host)
    return b"\xc0\x0c" + struct.pack(">HHIH", 33, 1, 60, len(data)) + data


def answer(question, known, mode, targets, by_tcp):
    end = question.index(b"\0", 12) + 5
    asked = question[12:end]
    flags, records = 0x8180, b""
    if mode.startswith("@"):
        with open(mode[1:], encoding="ascii") as f:
            mode = f.read().strip()
    if mode == "fail":
        flags |= 2
    elif asked != encode(known) + b"\0\x21\0\1":
        flags |= 3
    elif mode == "long" and not by_tcp:
        flags |= 0x200
    elif mode == "garbage":
        records = b"\xc0\x0c" + b"\xff" * 40
    elif mode != "none":
        records = b"".join(record(t) for t in targets)
    n = len(targets) if records else 0
    return question[:2] + struct.pack(">HHHHH", flags, 1, n, 0, 0) + asked + records


def serve_tcp(listener, *how):
    while True:
        peer, _ = listener.accept()
        with peer, peer.makefile("rb") as f:
            size = f.read(2)
            if len(size) == 2:
                data = answer(f.read(struct.unpack(">H", size)[0]), *how, True)
                peer.sendall(struct.pack(">H", len(data)) + data)


def main():
    known, mode, targets = sys.argv[1], sys.argv[2], sys.argv[3:]
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as listener, \
            socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        s.bind(listener.getsockname())
        threading.Thread(target=serve_tcp, args=(listener, known, mode, targets),
                         daemon=True).start()
        print(listener.getsockname()[1], flush=True)
        while True:
            question, peer = s.recvfrom(4096)
            s.sendto(answer(question, known, mode, targets, False), peer)


main()
