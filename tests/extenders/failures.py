"""Answers of extenders that fail, and a part of the message that each of them makes."""

import gzip
import socket
import struct
import time
from contextlib import suppress
from http.server import BaseHTTPRequestHandler

from ksched_cli.extenders.client import TIMEOUT
from tests.extenders.servers import Answer, Code, Raw

# httpTimeout, where only that ends the call, where headers have to come before it, and where the
# answer ends the call.
QUICK, LONGER, PATIENT = "100ms", "500ms", "60s"


def reset(handler: BaseHTTPRequestHandler) -> None:
    """Closes the connection so that the other side sees a reset."""
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    handler.connection.close()


def break_off(handler: BaseHTTPRequestHandler) -> None:
    """Announces more than it sends."""
    handler.send_response(200)
    handler.send_header("Content-Length", "1000")
    handler.end_headers()
    handler.wfile.write(b'{"NodeNames": ["a"')


def reset_in_the_middle(handler: BaseHTTPRequestHandler) -> None:
    break_off(handler)
    handler.wfile.flush()
    reset(handler)


def silence(handler: BaseHTTPRequestHandler) -> None:
    """Says nothing until the other side gives up."""
    with suppress(OSError):
        handler.connection.recv(1)


def drip(handler: BaseHTTPRequestHandler) -> None:
    """A byte now and then, so that no single read takes long."""
    handler.send_response(200)
    handler.send_header("Content-Length", "1000")
    handler.end_headers()
    with suppress(OSError):
        for _ in range(400):
            handler.wfile.write(b" ")
            time.sleep(0.05)


def drip_headers(handler: BaseHTTPRequestHandler) -> None:
    with suppress(OSError):
        for _ in range(400):
            handler.wfile.write(b"H")
            time.sleep(0.05)


def gigabyte(handler: BaseHTTPRequestHandler) -> None:
    handler.send_response(200)
    handler.send_header("Content-Length", str(1 << 30))
    handler.end_headers()
    with suppress(OSError):
        for _ in range(1 << 10):
            handler.wfile.write(b" " * (1 << 20))


def endless(handler: BaseHTTPRequestHandler) -> None:
    """A body without a length that goes on as long as anybody reads."""
    handler.send_response(200)
    handler.send_header("Connection", "close")
    handler.end_headers()
    with suppress(OSError):
        while True:
            handler.wfile.write(b" " * (1 << 20))


# 64 MiB of spaces.
BOMB = gzip.compress(b" " * (64 << 20), 1)
# What only the timeout ends.
SLOW = {"no answer": QUICK, "an answer byte by byte": LONGER, "headers byte by byte": QUICK}
# How it fails, the answer, a part of the message.
FAILURES: dict[str, tuple[Answer, str]] = {
    "a reset": (Raw(reset), "connection reset by peer"),
    "a closed connection": (Raw(lambda handler: None), "EOF"),
    "an answer broken off": (Raw(break_off), "unexpected EOF"),
    "a reset in the middle": (Raw(reset_in_the_middle), "connection reset by peer"),
    "no answer": (Raw(silence), TIMEOUT),
    "an answer byte by byte": (Raw(drip), "while reading body"),
    "headers byte by byte": (Raw(drip_headers), TIMEOUT),
    "a gigabyte": (Raw(gigabyte), "the answer is longer than"),
    "code 500": (Code(500, b"boom"), "failed verb with extender at URL {url}/verb, code 500"),
    "code 201": (Code(201, b"{}"), "failed verb with extender at URL {url}/verb, code 201"),
    "an endless answer": (Raw(endless), "the answer is longer than"),
    "a gzip bomb": (Code(200, BOMB, {"Content-Encoding": "gzip"}), "the answer is longer than"),
    "redirects in a circle": (Code(307, headers={"Location": "/verb"}), "after 10 redirects"),
    "a redirect to nowhere": (Code(307), "code 307"),
    "no JSON": (b"<html>", "invalid character '<' looking for beginning of value"),
    "nothing": (b"", "EOF"),
    "the wrong shape": ([["a"]], "json: cannot unmarshal array into"),
}
