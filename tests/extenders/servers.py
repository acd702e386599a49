"""Extenders for tests: real servers on the loopback address, which end with the test."""

from __future__ import annotations

import json
import socket
import ssl
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

# What a path answers: plain data for JSON, bytes for a body as it stands, or a function that is
# given the request's data, or (where it is a Raw) the handler itself.
Answer = Any


@dataclass(frozen=True)
class Raw:
    """Takes the connection in its own hands."""

    act: Callable[[BaseHTTPRequestHandler], None]


@dataclass(frozen=True)
class Code:
    """An answer with another status than 200."""

    status: int
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class ReceivedCall:
    """A request as it came. connection: equal for requests that came over the same one."""

    path: str
    data: Any
    headers: Mapping[str, str]
    connection: tuple[str, int]


class Server:
    """answers: path → answer. calls: the requests received, in order."""

    def __init__(self, answers: Mapping[str, Answer], tls: ssl.SSLContext | None = None) -> None:
        self.answers = dict(answers)
        self.calls: list[ReceivedCall] = []
        self._http = QuietServer(("127.0.0.1", 0), self._handler())
        if tls is not None:
            self._http.socket = tls.wrap_socket(
                self._http.socket, server_side=True, do_handshake_on_connect=False
            )
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()
        self.port = self._http.server_address[1]
        self.url = f"http{'s' if tls else ''}://127.0.0.1:{self.port}"

    def close(self) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True  # headers and body are written one after the other

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                data = json.loads(body) if body else None
                headers = dict(self.headers.items())
                server.calls.append(ReceivedCall(self.path, data, headers, self.client_address))
                answer = server.answers.get(self.path, Code(404))
                if isinstance(answer, Raw):
                    self.close_connection = True
                    answer.act(self)
                    return
                self.say(answer(data) if callable(answer) else answer)

            do_GET = do_POST  # noqa: N815  # http.server looks for this name

            def say(self, answer: Answer) -> None:
                if not isinstance(answer, Code):
                    text = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
                    answer = Code(200, text)
                self.send_response(answer.status)
                for name, value in answer.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(answer.body)))
                self.end_headers()
                self.wfile.write(answer.body)

            def log_message(self, *args: object) -> None: ...

        return Handler


class QuietServer(ThreadingHTTPServer):
    """Clients that break off, and handshakes that fail, are part of the tests: no traceback."""

    request_queue_size = 128  # a recorder watches all resources at once

    def handle_error(self, *args: object) -> None: ...


def unused_port() -> int:
    """A port where nobody listens."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def everything(data: Mapping[str, Any]) -> dict[str, Any]:
    """A filter that lets every node pass."""
    return {"Nodes": data["Nodes"], "NodeNames": data["NodeNames"]}
