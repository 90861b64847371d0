#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A TLS server that floods the client with records without data: tls_flood.py CERTIFICATE KEY KIND COUNT [ALPN]

KIND is `key-update`, `ticket` (NewSessionTicket) or `hello` (HelloRequest during the handshake, for which no key is needed).
COUNT messages are prepared and sent at once, so that the client always finds more. Python's own ssl module cannot send
them: this calls OpenSSL. Prints `port N`, and `flooded BYTES` when all is sent.
"""
import ctypes
import ctypes.util
import socket
import sys

ssl = ctypes.CDLL(ctypes.util.find_library("ssl"))
crypto = ctypes.CDLL(ctypes.util.find_library("crypto"))
P, I, S = ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p
SELECT = ctypes.CFUNCTYPE(I, P, ctypes.POINTER(P), ctypes.POINTER(ctypes.c_ubyte), P, ctypes.c_uint, P)


def declare(library, name, result, *arguments):
    function = getattr(library, name)
    function.restype, function.argtypes = result, arguments
    return function


new_context = declare(ssl, "SSL_CTX_new", P, P)
server_method = declare(ssl, "TLS_server_method", P)
use_certificate = declare(ssl, "SSL_CTX_use_certificate_chain_file", I, P, S)
use_key = declare(ssl, "SSL_CTX_use_PrivateKey_file", I, P, S, I)
set_select = declare(ssl, "SSL_CTX_set_alpn_select_cb", None, P, SELECT, P)
new_ssl = declare(ssl, "SSL_new", P, P)
set_bio = declare(ssl, "SSL_set_bio", None, P, P, P)
accept_state = declare(ssl, "SSL_set_accept_state", None, P)
do_handshake = declare(ssl, "SSL_do_handshake", I, P)
is_in_handshake = declare(ssl, "SSL_in_init", I, P)
key_update = declare(ssl, "SSL_key_update", I, P, I)
new_ticket = declare(ssl, "SSL_new_session_ticket", I, P)
new_bio = declare(crypto, "BIO_new", P, P)
memory = declare(crypto, "BIO_s_mem", P)
bio_read = declare(crypto, "BIO_read", I, P, S, I)
bio_write = declare(crypto, "BIO_write", I, P, S, I)

# An unencrypted TLS 1.2 record with a HelloRequest.
HELLO_REQUEST = bytes([22, 3, 3, 0, 4, 0, 0, 0, 0])


def drain(bio):
    pieces, buffer = [], ctypes.create_string_buffer(1 << 16)
    while (count := bio_read(bio, buffer, len(buffer))) > 0:
        pieces.append(buffer.raw[:count])
    return b"".join(pieces)


def messages(tls, outgoing, kind, count):
    for _ in range(count):
        if kind == "key-update":
            assert key_update(tls, 0) == 1
        elif kind == "ticket":
            assert new_ticket(tls) == 1
        do_handshake(tls)
    return drain(outgoing)


def serve(plain, context, kind, count):
    tls, incoming, outgoing = new_ssl(context), new_bio(memory()), new_bio(memory())
    set_bio(tls, incoming, outgoing)
    accept_state(tls)
    while is_in_handshake(tls):
        do_handshake(tls)
        plain.sendall(drain(outgoing))
        if is_in_handshake(tls):
            data = plain.recv(1 << 16)
            if not data:
                return
            bio_write(incoming, data, len(data))
    flood = messages(tls, outgoing, kind, count)
    plain.sendall(flood)
    print("flooded", len(flood), flush=True)
    while plain.recv(1 << 16):
        pass


def main():
    certificate, key, kind, count = sys.argv[1:5]
    protocol = sys.argv[5].encode() if len(sys.argv) > 5 else b"h2"

    @SELECT
    def select(_, out, length, offered, size, __):
        names = bytes((ctypes.c_ubyte * size).from_address(offered))
        at = names.find(bytes([len(protocol)]) + protocol)
        if at < 0:
            return 3
        out[0] = offered + at + 1
        length[0] = len(protocol)
        return 0

    context = new_context(server_method())
    assert use_certificate(context, certificate.encode()) == 1 and use_key(context, key.encode(), 1) == 1
    set_select(context, select, None)
    listener = socket.create_server(("127.0.0.1", 0))
    print("port", listener.getsockname()[1], flush=True)
    while True:
        plain, _ = listener.accept()
        try:
            if kind == "hello":
                plain.recv(1 << 16)
                plain.sendall(HELLO_REQUEST * int(count))
                print("flooded", len(HELLO_REQUEST) * int(count), flush=True)
            else:
                serve(plain, context, kind, int(count))
        except OSError:
            pass
        plain.close()


main()
