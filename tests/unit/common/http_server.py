#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A server that misbehaves on request, for test_http*.c and test_ws.c: the path says how. Plain sockets, so that every byte is ours.

http_server.py FOLDER writes its certificates there, prints one line with its ports `http https https-with-client-certificate`
and ends when its standard input does.
"""
from __future__ import annotations

import base64
import datetime
import gzip
import ipaddress
import itertools
import json
import pathlib
import socket
import ssl
import struct
import sys
import threading
import urllib.parse

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from ws_behaviours import WebSocketBehaviours

connection_ids = itertools.count(1)
counts: dict[str, int] = {}
held = 0
held_peak = 0
gate = threading.Condition()


class Connection(WebSocketBehaviours):
    """One connection of a client: requests one after another until somebody ends it."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self.file = sock.makefile("rb")
        self.id = next(connection_ids)
        self.dies_at_next = False

    def serve(self) -> None:
        try:
            while self.serve_one():
                pass
        except (OSError, ssl.SSLError):
            pass
        finally:
            self.file.close()
            self.sock.close()

    def serve_one(self) -> bool:
        start = self.file.readline().decode("latin-1").split()
        if len(start) != 3:
            return False
        self.method, self.target = start[0], start[1]
        self.headers: list[list[str]] = []
        while (line := self.file.readline().decode("latin-1").strip()):
            name, _, value = line.partition(":")
            self.headers.append([name, value.strip()])
        self.body = self.file.read(int(self.header("content-length") or 0))
        url = urllib.parse.urlsplit(self.target)
        self.query = dict(urllib.parse.parse_qsl(url.query))
        with gate:
            counts[url.path] = counts.get(url.path, 0) + 1
        if self.dies_at_next:
            return False
        if self.method == "CONNECT":
            return self.tunnel()
        words = url.path.strip("/").split("/")
        behaviour = getattr(self, "do_" + words[0].replace("-", "_"), None)
        if behaviour is None:
            return self.answer(404, b"no such behaviour")
        return behaviour(*words[1:]) is not False

    def header(self, name: str) -> str | None:
        return next((value for key, value in self.headers if key.lower() == name), None)

    def send(self, data: bytes) -> None:
        self.sock.sendall(data)

    def answer(self, status: int, body: bytes = b"", **headers: str) -> bool:
        head = f"HTTP/1.1 {status} Words\r\nContent-Length: {len(body)}\r\n"
        head += "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
        self.send(head.encode() + b"\r\n" + (body if self.method != "HEAD" else b""))
        return True

    def begin_chunks(self, status: int = 200) -> None:
        self.send(f"HTTP/1.1 {status} Words\r\nTransfer-Encoding: chunked\r\n\r\n".encode())

    def chunk(self, data: bytes) -> None:
        self.send(b"%x\r\n%s\r\n" % (len(data), data))

    # ---- good answers ----

    def do_hello(self) -> None:
        self.answer(200, b"hello")

    def do_echo(self, *_rest: str) -> None:
        document = {"connection": self.id, "method": self.method, "target": self.target, "headers": self.headers,
                    "body": self.body.decode("latin-1")}
        self.answer(200, json.dumps(document).encode(), Content_Type="application/json")

    def do_refuse(self, status: str) -> None:
        """And repeats what it was shown, as some do."""
        self.answer(int(status), json.dumps(self.headers).encode() + base64.b64decode(self.query.get("x", "")))

    def do_status(self, status: str) -> None:
        self.answer(int(status), f"status {status}".encode(), **self.query)

    def do_pieces(self, count: str) -> None:
        """Numbered lines in chunks that are cut anywhere, also within their sizes."""
        text = b"".join(b"line %d\n" % i for i in range(int(count)))
        wire = b""
        for at in range(0, len(text), 1000):
            piece = text[at:at + 1000]
            wire += b"%x;extension=1\r\n%s\r\n" % (len(piece), piece)
        wire += b"0\r\nX-Trailer: 1\r\nRetry-After: 5\r\n\r\n"
        self.begin_chunks()
        for at in range(0, len(wire), 777):
            self.send(wire[at:at + 777])

    def do_interim(self) -> None:
        self.send(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nRetry-After: 9\r\n\r\n")
        self.answer(200, b"after all")

    def do_gzip(self) -> None:
        if "gzip" in (self.header("accept-encoding") or ""):
            self.answer(200, gzip.compress(b"packed " * 1000), Content_Encoding="gzip")
        else:
            self.answer(200, b"unpacked")

    def do_count(self) -> None:
        with gate:
            self.answer(200, str(counts.get(self.query["of"], 0)).encode())

    # ---- waiting ----

    def do_hold(self) -> None:
        """Answers when /release was asked."""
        global held, held_peak
        with gate:
            held += 1
            held_peak = max(held_peak, held)
            gate.notify_all()
            gate.wait_for(lambda: self.query["gate"] in counts)
            held -= 1
        self.answer(200, b"released")

    def do_release(self, name: str) -> None:
        with gate:
            counts[name] = 1
            gate.notify_all()
        self.answer(200)

    def do_peak(self) -> None:
        """The greatest number held at once; waits until `held` are."""
        with gate:
            gate.wait_for(lambda: held >= int(self.query["held"]))
            self.answer(200, str(held_peak).encode())

    def do_stream(self) -> None:
        """One line at once and one when /release was asked, then silence until the client leaves."""
        self.begin_chunks(int(self.query.get("status", 200)))
        self.chunk(b"first\n")
        with gate:
            gate.wait_for(lambda: self.query["gate"] in counts)
        self.chunk(b"second\n")
        self.file.read(1)

    def do_drip(self, count: str) -> None:
        """Bytes with a pause before each: more than an idle time together, less than one each."""
        self.begin_chunks()
        for _ in range(int(count)):
            threading.Event().wait(0.05)
            self.chunk(b".")
        self.chunk(b"")

    def do_flood(self) -> None:
        self.begin_chunks()
        while True:
            self.chunk(b"x" * 16000)

    def do_silent(self) -> None:
        self.file.read(1)

    def do_stall(self) -> None:
        self.send(b"HTTP/1.1 200 Words\r\nContent-Length: 100\r\n\r\nsome")
        self.file.read(1)

    # ---- bad ends ----

    def do_nothing(self) -> bool:
        return False

    def do_cut(self) -> bool:
        self.send(b"HTTP/1.1 200 Words\r\nContent-Length: 100\r\n\r\nsome")
        return False

    def do_cut_head(self) -> bool:
        self.send(b"HTTP/1.1 200 Words\r\nContent-Len")
        return False

    def do_cut_chunks(self) -> bool:
        self.begin_chunks(int(self.query.get("status", 200)))
        self.chunk(b"whole\n")
        self.send(b"a\r\npart")
        return False

    def do_reset(self) -> bool:
        self.send(b"HTTP/1.1 200 Words\r\nContent-Length: 100\r\n\r\nsome")
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        return False

    def do_garbage(self) -> bool:
        self.send(b"SSH-2.0-OpenSSH_9.2\r\n")
        return False

    def do_bad_chunk(self) -> bool:
        self.begin_chunks()
        self.send(b"zz\r\n")
        return False

    def do_two_members(self) -> None:
        body = gzip.compress(b"one") + gzip.compress(b"two")
        self.answer(200, body, Content_Encoding="gzip")

    def do_last_answer(self) -> None:
        """The next request on this connection is read and gets no byte: what an idle time at the server looks like."""
        self.dies_at_next = True
        self.answer(200, b"good bye")

    # ---- too much ----

    def do_zeros(self, count: str) -> None:
        self.answer(200, bytes(int(count)))

    def do_bomb(self) -> None:
        self.answer(200, gzip.compress(bytes(20_000_000)), Content_Encoding="gzip")

    def do_long_head(self) -> None:
        self.send(b"HTTP/1.1 200 Words\r\n")
        for i in range(100_000):
            self.send(b"X-Header-%d: %s\r\n" % (i, b"x" * 100))

    # ---- a proxy ----

    def tunnel(self) -> bool:
        host, _, port = self.target.rpartition(":")
        counts["tunnel"] = int(self.header("authorization") is not None)
        far = socket.create_connection((host.strip("[]"), int(port)))
        self.send(b"HTTP/1.1 200 Connected\r\nX-Proxy: yes\r\nRetry-After: 3\r\n\r\n")
        threading.Thread(target=pump, args=(far, self.sock), daemon=True).start()
        pump(self.sock, far)
        return False


def pump(source: socket.socket, sink: socket.socket) -> None:
    try:
        while (data := source.recv(65536)):
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        pass


class Authority:
    """A certificate authority of the tests."""

    def __init__(self, name: str) -> None:
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        self.certificate = self.sign(self.subject, self.key, [x509.BasicConstraints(True, None)])

    def sign(self, subject: x509.Name, key: ec.EllipticCurvePrivateKey,
             extensions: list[x509.ExtensionType]) -> x509.Certificate:
        now = datetime.datetime.utcnow()
        builder = (x509.CertificateBuilder().subject_name(subject).issuer_name(self.subject)
                   .public_key(key.public_key()).serial_number(x509.random_serial_number())
                   .not_valid_before(now - datetime.timedelta(days=1))
                   .not_valid_after(now + datetime.timedelta(days=1)))
        for extension in extensions:
            builder = builder.add_extension(extension, isinstance(extension, x509.BasicConstraints))
        return builder.sign(self.key, hashes.SHA256())

    def issue(self, folder: pathlib.Path, name: str, *names: x509.GeneralName) -> None:
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        certificate = self.sign(subject, key, [x509.SubjectAlternativeName(names)] if names else [])
        write(folder / f"{name}.crt", certificate)
        (folder / f"{name}.key").write_bytes(key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()))


def write(path: pathlib.Path, certificate: x509.Certificate) -> None:
    path.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))


def make_certificates(folder: pathlib.Path) -> None:
    authority = Authority("authority")
    write(folder / "ca.crt", authority.certificate)
    write(folder / "stranger.crt", Authority("stranger").certificate)
    authority.issue(folder, "address", x509.IPAddress(ipaddress.ip_address("127.0.0.1")))
    authority.issue(folder, "named", x509.DNSName("api.example.test"))
    authority.issue(folder, "client")


def tls_context(folder: pathlib.Path, wants_client: bool) -> ssl.SSLContext:
    """The certificate for the address, and the other one for whoever asks for its name."""
    named = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    named.load_cert_chain(folder / "named.crt", folder / "named.key")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "address.crt", folder / "address.key")
    if wants_client:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(folder / "ca.crt")

    def choose(sock: ssl.SSLSocket, name: str | None, _context: ssl.SSLContext) -> None:
        if name == "api.example.test":
            sock.context = named

    context.sni_callback = choose
    return context


def listen(context: ssl.SSLContext | None) -> int:
    listener = socket.create_server(("127.0.0.1", 0), backlog=128)

    def handle(sock: socket.socket) -> None:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            served = context.wrap_socket(sock, server_side=True) if context else sock
        except (OSError, ssl.SSLError):
            sock.close()
            return
        Connection(served).serve()

    def accept() -> None:
        while True:
            sock, _ = listener.accept()
            threading.Thread(target=handle, args=(sock,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    return listener.getsockname()[1]


def main() -> None:
    folder = pathlib.Path(sys.argv[1])
    make_certificates(folder)
    print(listen(None), listen(tls_context(folder, False)), listen(tls_context(folder, True)), flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
