"""The common part of all servers: who may ask, and how much of it."""

from __future__ import annotations

import asyncio
import base64
import binascii
import hmac
import logging
import socket
import threading
import time
import traceback
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from math import inf

import h11
import uvicorn
from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from ksched_cli.errors import UsageError, shortened_lines
from ksched_cli.report.words import printable
from ksched_cli.serve.listening import MAX_CONNECTIONS, Listening

# The bytes of a request, and of all that are read at a time: 5,000 nodes with 100 images each have
# 60 MB.
MAX_BODY = 256 << 20
MAX_BODIES = 512 << 20
# How long a client may take to send a request's body.
READ_SECONDS = 30.0
# The same for all of a request, also where nobody reads its body.
REQUEST_SECONDS = 60.0
# Longer than Go's client keeps an idle connection, which it then closes itself.
KEEP_ALIVE_SECONDS = 120
_STOP_SECONDS = 3
# How long the same message of a server's log is only counted.
LOG_SECONDS = 60.0
_LOGGERS = ("uvicorn", "mcp")
_MEANINGS = {
    "Exceeded concurrency limit.": f"{MAX_CONNECTIONS} connections are open: a request was refused "
    "(503)",
    "Invalid HTTP request received.": "a request that is not HTTP was refused (400)",
}
_DISCONNECTED = "a client disconnected in the middle of its request"


class RepeatedLines(logging.Handler):
    """Warns of what the HTTP server and the MCP SDK log: a client can cause a line with each
    request, so that the same message is written once a minute, with a count.

    warn: takes a line
    """

    def __init__(self, warn: Callable[[str], None]) -> None:
        super().__init__(logging.WARNING)
        self._warn = warn
        # By the place that logs: when its line was written, how often more since, and the line.
        self._written: dict[tuple[str, int], tuple[float, int, str]] = {}

    def emit(self, record: logging.LogRecord) -> None:
        key, now = (record.pathname, record.lineno), time.monotonic()
        at, count, _ = self._written.get(key, (-inf, 0, ""))
        line = _MEANINGS.get(str(record.msg)) or shortened_lines(record.getMessage())
        error = record.exc_info[1] if record.exc_info else None
        if isinstance(error, ClientDisconnect):  # no defect, although the SDK logs it as one
            line, error = _DISCONNECTED, None
        if now - at < LOG_SECONDS:
            self._written[key] = (at, count + 1, line)
            return
        self._written[key] = (now, 0, line)
        self._write(line, count)
        if error is not None:
            for detail in traceback.format_exception(error):
                self._warn(printable(detail.rstrip()))

    def close(self) -> None:
        """Write what came since the last lines."""
        for _, count, line in self._written.values():
            if count:
                self._write(line, count - 1)
        self._written.clear()
        super().close()

    def _write(self, line: str, more: int) -> None:
        self._warn(printable(line) + (f" ({more + 1:,} times)" if more else ""))


def is_foreign(headers: Mapping[str, str], listening: Listening) -> bool:
    """Return whether a page of another site asks; one of another port of this host is one, too."""
    scheme = "https" if listening.certificate else "http"
    own = f"{scheme}://{headers.get('host', '')}"
    return headers.get("origin", own) != own


@dataclass(slots=True)
class OriginCheck:
    """Refuses the requests of other sites' pages."""

    app: ASGIApp
    listening: Listening

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and is_foreign(Headers(scope=scope), self.listening):
            refusal = PlainTextResponse("a page of another site may not ask\n", 403)
            await refusal(scope, receive, send)
            return
        await self.app(scope, receive, send)


@dataclass(slots=True)
class TokenCheck:
    """Lets requests through that know the token: as `Authorization: Bearer TOKEN`, or as the
    password of Basic, which Go's client sends for http://NAME:TOKEN@HOST.

    open_paths: those that anybody may ask for
    """

    app: ASGIApp
    token: str
    open_paths: Collection[str] = ()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"] not in self.open_paths:
            sent = dict(scope["headers"]).get(b"authorization", b"")
            if self.token and not hmac.compare_digest(secret(sent), self.token.encode()):
                headers = {"WWW-Authenticate": "Bearer"}
                refusal = PlainTextResponse("the token is missing or wrong\n", 401, headers)
                await refusal(scope, receive, send)
                return
        await self.app(scope, receive, send)


def secret(authorization: bytes) -> bytes:
    kind, _, value = authorization.partition(b" ")
    if kind.lower() == b"basic":
        try:
            return base64.b64decode(value, validate=True).partition(b":")[2]
        except binascii.Error:
            return b""
    return value.strip() if kind.lower() == b"bearer" else b""


class RefusedError(Exception):
    """A refused request. status: of HTTP"""

    def __init__(self, status: int, message: str) -> None:
        self.status = status
        super().__init__(message)


@dataclass(slots=True)
class Bodies:
    """Reads the bodies of requests, of bounded size each and together. seconds: for one body"""

    largest: int = field(default_factory=lambda: MAX_BODY)
    seconds: float = field(default_factory=lambda: READ_SECONDS)
    read: int = 0

    async def of(self, request: Request) -> tuple[bytes, int]:
        """Return a body, and its size, which must be returned to `done`. Raises RefusedError."""
        parts: list[bytes] = []
        size = 0
        try:
            async with asyncio.timeout(self.seconds):
                async for part in request.stream():
                    size += len(part)
                    self.read += len(part)
                    if size > self.largest:
                        raise RefusedError(413, f"a request has at most {self.largest} bytes")
                    if self.read > MAX_BODIES:
                        raise RefusedError(503, "too much is sent at once; try again")
                    parts.append(part)
            return b"".join(parts), size
        except BaseException as error:
            self.done(size)
            if isinstance(error, TimeoutError):
                raise RefusedError(408, f"not sent within {self.seconds:g} s") from None
            if isinstance(error, ClientDisconnect):
                raise RefusedError(400, "the client disconnected") from None
            raise

    def done(self, size: int) -> None:
        """A body is not needed any more."""
        self.read -= size


class BoundedProtocol(H11Protocol):  # type: ignore[misc]  # uvicorn is not followed
    """Ends connections without a request, with half of one, and with an answer that is not read,
    after a while. uvicorn waits forever, except between requests."""

    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self.timeout_keep_alive_task = self.loop.call_later(
            self.timeout_keep_alive, self.timeout_keep_alive_handler
        )

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.conn.their_state not in (h11.IDLE, h11.SEND_BODY):
            self._cancel()
        elif self._deadline is None:
            self._deadline = self.loop.call_later(REQUEST_SECONDS, self.transport.abort)

    def connection_lost(self, exc: Exception | None) -> None:
        self._cancel()
        super().connection_lost(exc)

    def timeout_keep_alive_handler(self) -> None:
        """Close at once: an orderly close needs a client that reads what was sent."""
        self.transport.abort()

    def _cancel(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


@dataclass(slots=True)
class HttpServer:
    """Runs an application until it is stopped. warn: takes lines about clients, and defects"""

    app: ASGIApp
    listening: Listening
    warn: Callable[[str], None]
    _listener: socket.socket = field(init=False)
    _server: uvicorn.Server = field(init=False)
    _thread: threading.Thread | None = None
    _log: RepeatedLines = field(init=False)

    def __post_init__(self) -> None:
        """Make the server, with TLS where there are certificates. Raises UsageError, also for
        unusable certificates."""
        at = self.listening
        config = uvicorn.Config(
            self.app,
            http=BoundedProtocol,
            ws="none",
            loop="asyncio",
            log_config=None,
            access_log=False,
            proxy_headers=False,
            server_header=False,
            limit_concurrency=MAX_CONNECTIONS,
            timeout_keep_alive=KEEP_ALIVE_SECONDS,
            timeout_graceful_shutdown=_STOP_SECONDS,
            ssl_certfile=at.certificate or None,
            ssl_keyfile=at.key or None,
        )
        try:
            config.load()
        except OSError as error:  # ssl.SSLError is one
            raise UsageError(
                f"--tls-certificate {at.certificate} and --tls-key {at.key} cannot be used: "
                f"{error.strerror or error}"
            ) from None
        self._listener = at.bind()
        self._server = uvicorn.Server(config)
        self._log = RepeatedLines(self.warn)
        for name in _LOGGERS:
            logging.getLogger(name).addHandler(self._log)

    @property
    def url(self) -> str:
        return self.listening.url(self._listener.getsockname()[1])

    def start(self) -> None:
        """Start the server in a thread of its own."""
        self._thread = threading.Thread(
            target=self._server.run, args=([self._listener],), name="http", daemon=True
        )
        self._thread.start()

    def stop(self) -> None:
        """Stop the server and end its connections; a request that is being answered gets a
        moment."""
        self._server.should_exit = True
        if self._thread is not None:
            self._thread.join(2 * _STOP_SECONDS)
        self._listener.close()
        for name in _LOGGERS:
            logging.getLogger(name).removeHandler(self._log)
        self._log.close()
