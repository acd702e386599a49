"""Calls over HTTP: connections kept open, one deadline for a whole call, bounded answers.

Upstream: pkg/scheduler/extender.go (NewHTTPExtender, send). Faults are worded as Go words them.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol
from urllib.parse import unquote

import urllib3
from urllib3.exceptions import ConnectTimeoutError, InsecureRequestWarning, NewConnectionError

from ksched_cli import __version__
from ksched_cli.config.types import Extender
from ksched_cli.extenders.faults import BODY_TIMEOUT, TIMEOUT, before_body, in_body, post
from ksched_cli.extenders.tls import tls_context
from ksched_cli.framework.extender import ExtenderError

# An answer is part of the question and some reasons; what is much longer is a fault.
SPARE_BYTES = 16 << 20
CHUNK = 1 << 16
GRACE_SECONDS = 0.1
OK = 200

# Whether certificates are checked is the configuration's choice.
urllib3.disable_warnings(InsecureRequestWarning)


class UnreachableError(ExtenderError):
    """There was no answer at all, or not in time."""


@dataclass(frozen=True, slots=True)
class ExtenderRequest:
    """url: whole, with the verb; body: JSON."""

    url: str
    body: bytes


@dataclass(frozen=True, slots=True)
class Reply:
    status: int
    body: bytes


class Transport(Protocol):
    """Where requests go: to the network, or to a recording."""

    def start(self, request: ExtenderRequest) -> Callable[[], Reply]:
        """Sends it; the result waits for the reply and raises UnreachableError without one."""
        ...

    def close(self) -> None: ...


class HTTPTransport:
    """One extender's connections."""

    def __init__(self, extender: Extender) -> None:
        seconds = extender.http_timeout / 10**9
        # Less than 0 is for ever, as in Go.
        self._seconds = seconds if seconds > 0 else None
        secured: dict[str, Any] = {}
        if extender.url_prefix.lower().startswith("https:"):
            secured["ssl_context"] = tls_context(extender)
            if extender.tls_config is not None and extender.tls_config.server_name:
                name = extender.tls_config.server_name
                secured |= {"server_hostname": name, "assert_hostname": name}
        self._pool = urllib3.PoolManager(num_pools=2, maxsize=4, retries=False, **secured)
        self._out_of_reach = ""

    def start(self, request: ExtenderRequest) -> Callable[[], Reply]:
        if self._out_of_reach:
            return _failing(self._out_of_reach)
        call = _Call(self._pool, request, self._seconds)
        call.start()
        return lambda: self._wait(call)

    def _wait(self, call: _Call) -> Reply:
        try:
            return call.reply()
        except _NoConnectionError as error:
            # Nobody answers at that address: the next call would wait as long, and so for each pod.
            self._out_of_reach = str(error)
            raise

    def close(self) -> None:
        self._pool.clear()


def _failing(message: str) -> Callable[[], Reply]:
    def fail() -> Reply:
        raise UnreachableError(message)

    return fail


class _NoConnectionError(UnreachableError):
    """Connecting took all the time there was."""


class _Call(threading.Thread):
    """One request under way. A thread, because no socket timeout bounds a whole call: name lookup,
    each address tried and each piece of an answer has its own."""

    def __init__(
        self, pool: urllib3.PoolManager, request: ExtenderRequest, seconds: float | None
    ) -> None:
        super().__init__(name="ksched-extender", daemon=True)
        self._pool = pool
        self._request = request
        self._seconds = seconds
        self._end = None if seconds is None else time.monotonic() + seconds
        self._has_headers = False
        self._reply: Reply | None = None
        self._error: Exception | None = None

    def reply(self) -> Reply:
        self.join(None if self._end is None else max(self._end - time.monotonic(), 0))
        if self._reply is not None:
            return self._reply
        # It ends about now too, and knows better why there is no answer.
        self.join(GRACE_SECONDS)
        if self._error is not None:
            raise self._error
        if self._has_headers:
            raise UnreachableError(BODY_TIMEOUT)
        raise UnreachableError(f"{post(self._request.url)}: {TIMEOUT}")

    def run(self) -> None:
        try:
            self._reply = self._exchange()
        except ExtenderError as error:
            self._error = error
        except NewConnectionError as error:
            # Refused, or no such host: a kind of ConnectTimeoutError in urllib3, and quick.
            self._error = UnreachableError(self._worded(error))
        except ConnectTimeoutError:
            self._error = _NoConnectionError(f"{post(self._request.url)}: {TIMEOUT}")
        except Exception as error:
            self._error = UnreachableError(self._worded(error))

    def _exchange(self) -> Reply:
        request = self._request
        scheme = request.url.partition("://")[0].lower() if "://" in request.url else ""
        if scheme not in ("http", "https"):
            message = f'{post(request.url)}: unsupported protocol scheme "{scheme}"'
            raise UnreachableError(message)
        response = self._pool.request(
            "POST",
            request.url,
            body=request.body,
            headers=_headers(request.url),
            timeout=urllib3.Timeout(connect=self._seconds, read=self._seconds),
            redirect=False,
            preload_content=False,
        )
        self._has_headers = True
        try:
            body = b""
            if response.status == OK:
                body = self._read(response, SPARE_BYTES + 4 * len(request.body))
                response.release_conn()
            return Reply(response.status, body)
        finally:
            # Of an answer that was read to its end, nothing is left to close.
            response.close()

    def _read(self, response: urllib3.BaseHTTPResponse, limit: int) -> bytes:
        parts: list[bytes] = []
        size = 0
        while part := response.read1(CHUNK):
            size += len(part)
            if size > limit:
                raise ExtenderError(f"the answer is longer than {limit} bytes")
            if self._end is not None and time.monotonic() > self._end:
                raise UnreachableError(BODY_TIMEOUT)
            parts.append(part)
        return b"".join(parts)

    def _worded(self, error: Exception) -> str:
        url = self._request.url
        return in_body(error) if self._has_headers else f"{post(url)}: {before_body(error, url)}"


def _headers(url: str) -> dict[str, str]:
    headers = {
        "Content-Type": "application/json",
        "Accept-Encoding": "gzip",
        "User-Agent": f"ksched/{__version__}",
    }
    user = urllib3.util.parse_url(url).auth
    if user:
        headers |= urllib3.util.make_headers(basic_auth=unquote(user))
    return headers
