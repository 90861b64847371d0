#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An HTTP/2 server over TLS that follows a script, valid or not: scripted_server.py CERTIFICATE KEY SCRIPT [ALPN]

SCRIPT has a part for each connection, separated by `;`, and in it an action for each request, separated by `,`; later requests
get a normal response. A part `refused` closes its connection before the handshake; `mute` leaves it open without a handshake;
`http1` disables HTTP/2 on it. With a first part `no-sessions`, each connection that offers a TLS session is reset.
Connections are served concurrently. It writes frames by hand, so that it can write invalid ones, and prints on standard output:

  port N                      it listens
    connection [resumed] ALPN   a connection was established
    handshake IN OUT            and the bytes of its records up to the client's Finished
    request STREAM records N    a request is complete, and came in N TLS records
  frame NAME                  any other frame that the client sent
    carried IN OUT              the bytes of a closed connection: received by this end's kernel, and sent
"""
import socket
import ssl
import struct
import sys
import threading
import time

NAMES = ["DATA", "HEADERS", "PRIORITY", "RST_STREAM", "SETTINGS", "PUSH_PROMISE", "PING", "GOAWAY", "WINDOW_UPDATE",
         "CONTINUATION"]
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
STATUS_200 = b"\x88"


def frame(kind, flags=0, stream=0, payload=b""):
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def answer(stream, body=b"{}"):
    return frame(1, 4, stream, STATUS_200) + frame(0, 1, stream, body)


def go_away(last, code=0):
    return frame(7, 0, 0, struct.pack(">II", last, code))


def say(*words):
    # One write, so that lines of several connections are not interleaved.
    sys.stdout.write(" ".join(map(str, words)) + "\n")
    sys.stdout.flush()


# The frames sent for a request on a stream; a number in a list is a wait in seconds, `None` closes the connection there.
ACTIONS = {
    "answer": lambda s: [answer(s)],
    "two-goaways": lambda s: [go_away(0x7FFFFFFF), go_away(s), answer(s), None],
    "goaway-after": lambda s: [answer(s) + go_away(s), None],
    "goaway-idle": lambda s: [answer(s), 0.1, go_away(s), None],
    "goaway-below": lambda s: [go_away(0x7FFFFFFF) + go_away(s - 2 if s > 1 else 0), None],
    "goaway-calm": lambda s: [go_away(0, 11), None],
    "refuse": lambda s: [frame(3, 0, s, struct.pack(">I", 7))],
    "reset": lambda s: [frame(3, 0, s, struct.pack(">I", 2))],
    "requires-http1": lambda s: [frame(3, 0, s, struct.pack(">I", 13))],
    "reset-amid": lambda s: [frame(1, 4, s, STATUS_200) + frame(0, 0, s, b"{") + frame(3, 0, s, struct.pack(">I", 2))],
    "reset-after": lambda s: [answer(s) + frame(3, 0, s, bytes(4))],
    "close": lambda s: [None],
    "half": lambda s: [frame(1, 4, s, STATUS_200) + frame(0, 0, s, b"{"), None],
    "silence": lambda s: [],
    "garbage": lambda s: [b"\xff" * 64],
    "push": lambda s: [frame(5, 4, s, struct.pack(">I", 2) + STATUS_200)],
    "pings": lambda s: [frame(6, 0, 0, b"12345678") + answer(s) + frame(6, 0, 0, b"abcdefgh")],
    "ping-flood": lambda s: [frame(6, 0, 0, b"12345678") * 20_000],
    "settings-flood": lambda s: [frame(4) * 20_000],
    "empty-flood": lambda s: [frame(1, 4, s, STATUS_200) + frame(0, 0, s) * 20_000],
    "reset-flood": lambda s: [frame(3, 0, s, struct.pack(">I", 8)) * 20_000],
    "continuation-flood": lambda s: [frame(1, 0, s, STATUS_200) + frame(9, 0, s, b"") * 20_000],
    "endless-head": lambda s: [frame(1, 0, s, STATUS_200) + frame(9, 0, s, b"\x00\x01a\x7f\x80\x7d" + b"x" * 16_000) * 100],
    "padded": lambda s: [frame(1, 4 | 8 | 32, s, b"\x03\0\0\0\0\x10" + STATUS_200 + bytes(3))
                         + frame(0, 1 | 8, s, b"\x05{}" + bytes(5))],
    "continued": lambda s: [frame(1, 0, s, b""), frame(9, 0, s, STATUS_200[:0]), frame(9, 4, s, STATUS_200),
                            frame(0, 1, s, b"{}")],
    "interim": lambda s: [frame(1, 4, s, b"\x48\x03103"), answer(s)],
    "trailers": lambda s: [frame(1, 4, s, STATUS_200) + frame(0, 0, s, b"{}") + frame(1, 5, s, b"\x00\x01a\x01b")],
    "error-500": lambda s: [frame(1, 5, s, b"\x8e")],
    "error-502": lambda s: [frame(1, 4, s, b"\x48\x03502") + frame(0, 1, s, b"<html>Bad Gateway</html>")],
    "error-503": lambda s: [frame(1, 5, s, b"\x48\x03503")],
    "tiny-headers": lambda s: [answer(s) + frame(4, 0, 0, struct.pack(">HI", 6, 1))],
    # The body of the next request has to wait; the next two act as soon as its HEADERS are received.
    "no-window": lambda s: [answer(s) + frame(4, 0, 0, struct.pack(">HI", 4, 0))],
    "early": lambda s: [answer(s)],
    "window-flood": lambda s: [frame(8, 0, 0, struct.pack(">I", 1)) * 20_000],
    "no-streams": lambda s: [answer(s) + frame(4, 0, 0, struct.pack(">HI", 3, 0))],
    "table-of-nothing": lambda s: [frame(4, 0, 0, struct.pack(">HI", 1, 0)) + answer(s)],
    "no-head": lambda s: [frame(0, 1, s, b"{}")],
    "no-status": lambda s: [frame(1, 5, s, b"\x00\x01a\x01b")],
    "bad-block": lambda s: [frame(1, 5, s, b"\x80")],
    "too-large": lambda s: [frame(1, 4, s, STATUS_200)] + [frame(0, 0, s, bytes(16_000))] * 8,
    "bytewise": lambda s: [bytes([byte]) for byte in answer(s)],
}


EARLY = {"early", "window-flood"}


class Link:
    """TLS on a socket, record by record, so that the bytes of the handshake can be distinguished from later ones."""

    def __init__(self, plain, context):
        self.plain = plain
        self.incoming, self.outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = context.wrap_bio(self.incoming, self.outgoing, server_side=True)
        self.buffer = b""
        self.received = self.sent = 0
        self.written = 0
        while True:
            try:
                # The last step writes session tickets, which come after the handshake.
                self.tls.do_handshake()
                self.flush()
                return
            except ssl.SSLWantReadError:
                self.sent += self.flush()
                record = self.record()
                if not record:
                    raise OSError("the client left amid the handshake") from None
                self.received += len(record)
                self.incoming.write(record)
            except ssl.SSLError:
                self.flush()
                raise

    def record(self):
        while len(self.buffer) < 5 or len(self.buffer) < 5 + int.from_bytes(self.buffer[3:5], "big"):
            data = self.plain.recv(1 << 16)
            if not data:
                return b""
            self.buffer += data
        length = 5 + int.from_bytes(self.buffer[3:5], "big")
        record, self.buffer = self.buffer[:length], self.buffer[length:]
        return record

    def flush(self):
        data = self.outgoing.read()
        self.plain.sendall(data)
        self.written += len(data)
        return len(data)

    def recv(self):
        """The contents of the next record with data; empty at the end."""
        while True:
            try:
                return self.tls.read(1 << 16)
            except ssl.SSLWantReadError:
                record = self.record()
                if not record:
                    return b""
                self.incoming.write(record)
            except ssl.SSLZeroReturnError:
                return b""

    def sendall(self, data):
        for start in range(0, len(data), 16_000):
            self.tls.write(data[start : start + 16_000])
            self.flush()

    def close(self):
        try:
            self.tls.unwrap()
        except ssl.SSLError:
            pass
        self.flush()
        # The client's close_notify may come after this end's.
        self.plain.shutdown(socket.SHUT_WR)
        self.plain.settimeout(1)
        while self.plain.recv(1 << 16):
            pass

    def ending(self):
        """How the client has closed the connection, according to the kernel, a short time after close_notify."""
        time.sleep(0.02)
        state = self.plain.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0]
        return {7: "by a reset", 8: "in order"}.get(state, "not")

    def carried(self):
        """The bytes received, from TCP_INFO, because unread data is lost at a reset; and the bytes written."""
        return struct.unpack_from("=Q", self.plain.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 136), 128)[0], self.written


class Connection:
    def __init__(self, link, actions):
        self.link = link
        self.actions = actions
        self.buffer = b""
        self.records = 0

    def receive(self):
        data = self.link.recv()
        self.records += 1
        self.buffer += data
        return bool(data)

    def serve(self):
        while len(self.buffer) < len(PREFACE):
            if not self.receive():
                return
        assert self.buffer.startswith(PREFACE), self.buffer
        self.buffer = self.buffer[len(PREFACE):]
        self.link.sendall(frame(4, 0, 0, struct.pack(">HI", 3, 100)))
        while True:
            while len(self.buffer) < 9 or len(self.buffer) < 9 + int.from_bytes(self.buffer[:3], "big"):
                if not self.receive():
                    return
            length = int.from_bytes(self.buffer[:3], "big")
            kind, flags, stream = self.buffer[3], self.buffer[4], int.from_bytes(self.buffer[5:9], "big")
            self.buffer = self.buffer[9 + length:]
            if kind == 4 and not flags & 1:
                self.link.sendall(frame(4, 1))
            elif kind in (0, 1):
                if flags & 1 or kind == 1 and self.actions and self.actions[0] in EARLY:
                    say("request", stream, "records", self.records)
                    self.records = 0
                    if not self.act(stream):
                        return
                continue
            say("frame", NAMES[kind])
            if not self.buffer:
                self.records = 0

    def act(self, stream):
        action = self.actions.pop(0) if self.actions else "answer"
        for piece in ACTIONS[action](stream):
            if piece is None:
                # Further data from the client is read, so that closing does not become a reset.
                time.sleep(0.05)
                return False
            if isinstance(piece, float):
                time.sleep(piece)
            else:
                self.link.sendall(piece)
        return True


def offers_session(plain):
    """Whether the client's first message, the ClientHello, has the extension pre_shared_key."""
    hello, size = b"", 5
    while len(hello) < size:
        hello = plain.recv(1 << 16, socket.MSG_PEEK)
        size = 5 + int.from_bytes(hello[3:5], "big")
    # Record header, message header, version and random; then session ID, cipher suites, compression methods.
    at = 5 + 4 + 34
    at += 1 + hello[at]
    at += 2 + int.from_bytes(hello[at : at + 2], "big")
    at += 1 + hello[at]
    at += 2
    while at < size:
        kind, length = struct.unpack_from(">HH", hello, at)
        if kind == 0x29:
            return True
        at += 4 + length
    return False


def main():
    certificate, key, script = sys.argv[1:4]

    def context(protocols):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        context.set_alpn_protocols(protocols.split(","))
        return context

    usual, http1 = context(sys.argv[4] if len(sys.argv) > 4 else "h2"), context("http/1.1")
    listener = socket.create_server(("127.0.0.1", 0))
    say("port", listener.getsockname()[1])
    connections = [part.split(",") if part else [] for part in script.split(";")]
    has_no_sessions = connections[0] == ["no-sessions"]
    if has_no_sessions:
        connections.pop(0)
    mute = []
    while True:
        plain, _ = listener.accept()
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if connections and connections[0] == ["refused"]:
            connections.pop(0)
            plain.close()
        elif connections and connections[0] == ["mute"]:
            connections.pop(0)
            mute.append(plain)
        elif has_no_sessions and offers_session(plain):
            plain.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            plain.close()
            say("reset")
        else:
            is_http1 = bool(connections) and connections[0] == ["http1"]
            if is_http1:
                connections.pop(0)
            threading.Thread(target=serve, args=(plain, http1 if is_http1 else usual, connections), daemon=True).start()


def serve(plain, context, connections):
    try:
        link = Link(plain, context)
    except (OSError, ssl.SSLError) as error:
        say("refused", error)
        plain.close()
        return
    protocol = link.tls.selected_alpn_protocol()
    say("connection", *(["resumed"] if link.tls.session_reused else []), protocol)
    say("handshake", link.received, link.sent)
    try:
        if protocol == "h2":
            Connection(link, connections.pop(0) if connections else []).serve()
        else:
            # A part with actions is for a connection with HTTP/2.
            if connections and not connections[0]:
                connections.pop(0)
            while link.recv():
                link.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
    except (OSError, ssl.SSLError) as error:
        say("broken", error)
    say("ended", link.ending())
    try:
        link.close()
    except OSError:
        pass
    say("carried", *link.carried())
    plain.close()


main()
