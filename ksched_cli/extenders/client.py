"""HTTP calls to extenders: connections are reused, a whole call has one deadline, responses are
limited in size. Where a call fails, the message is Go's, which kube-scheduler's messages contain.

`enableHTTPS` without a CA trusts any certificate, as in Go.

Upstream: pkg/scheduler/extender.go (NewHTTPExtender, makeTransport, send), client-go/transport
(TLSConfigFor), net/http (Client.Do, url.Error), net (OpError), crypto/tls, crypto/x509 (verify.go).
"""

from __future__ import annotations

import errno
import os
import ssl
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol
from urllib.parse import unquote, urljoin

import urllib3
from urllib3 import exceptions
from urllib3.util import parse_url

from ksched_cli import __version__
from ksched_cli.config.types import Extender, ExtenderTLSConfig
from ksched_cli.errors import UsageError
from ksched_cli.framework.preemption import ExtenderError
from ksched_cli.kube.small_files import read_small_file
from ksched_cli.masking import masked_url

TIMEOUT = "context deadline exceeded (Client.Timeout exceeded while awaiting headers)"
BODY_TIMEOUT = (
    "context deadline exceeded (Client.Timeout or context cancellation while reading body)"
)

# Go's messages for OpenSSL's X509_V_ERR codes.
_CERTIFICATE_PROBLEMS = {
    10: "certificate has expired or is not yet valid",
    9: "certificate has expired or is not yet valid",
    **dict.fromkeys((2, 18, 19, 20, 21), "certificate signed by unknown authority"),
    62: "certificate is valid for other names, not {host}",
    64: "certificate is valid for other names, not {host}",
}


def request_error_message(error: Exception, url: str) -> str:
    """Return the message of an error before the response's headers had arrived."""
    try:
        host, address = parse_url(url).host or "", _address(url)
    except exceptions.LocationParseError:
        return "invalid URL"
    if isinstance(error, exceptions.ReadTimeoutError):
        return TIMEOUT
    if isinstance(error, exceptions.NameResolutionError):
        return f"dial tcp: lookup {host}: no such host"
    cause = error.__cause__ or error.__context__
    if isinstance(error, exceptions.NewConnectionError):
        number = cause.errno if isinstance(cause, OSError) else None
        reason = os.strerror(number).lower() if number else str(error)
        return f"dial tcp {address}: connect: {reason}"
    if isinstance(error, exceptions.SSLError):
        return _tls_error_message(error, host)
    if isinstance(error, exceptions.ProtocolError):
        return _reset_message(address) if _is_reset(error) else "EOF"
    return str(error)


def _tls_error_message(error: exceptions.SSLError, host: str) -> str:
    cause = _cause(error)
    if isinstance(cause, ssl.SSLCertVerificationError):
        problem = _CERTIFICATE_PROBLEMS.get(cause.verify_code, cause.verify_message)
        return f"tls: failed to verify certificate: x509: {problem.format(host=host)}"
    if isinstance(cause, ssl.SSLEOFError):
        return "EOF"
    reason = cause.reason if isinstance(cause, ssl.SSLError) and cause.reason else ""
    if reason == "WRONG_VERSION_NUMBER":
        return "tls: first record does not look like a TLS handshake"
    _, is_alert, alert = reason.partition("_ALERT_")
    return f"remote error: tls: {alert.lower().replace('_', ' ')}" if is_alert else f"tls: {error}"


def _cause(error: Exception) -> Exception | None:
    """Return the error that urllib3's wraps."""
    return next((arg for arg in error.args if isinstance(arg, Exception)), None)


def _is_reset(error: Exception) -> bool:
    cause = _cause(error)
    return isinstance(cause, OSError) and cause.errno == errno.ECONNRESET


def body_error_message(error: Exception, url: str) -> str:
    """Return the message of an error while the response's body was read."""
    if isinstance(error, exceptions.ReadTimeoutError):
        return BODY_TIMEOUT
    return _reset_message(_address(url)) if _is_reset(error) else "unexpected EOF"


def _reset_message(address: str) -> str:
    return f"read tcp {address}: read: connection reset by peer"


def _address(url: str) -> str:
    parsed = parse_url(url)
    return f"{parsed.host}:{parsed.port or (443 if parsed.scheme == 'https' else 80)}"


def post_prefix(url: str) -> str:
    """Return what url.Error puts before an error of a POST: the method and the URL."""
    return f'Post "{masked_url(url)}"'


# A response repeats parts of the request and adds reasons. How much longer than four times the
# request it may be.
MAX_EXTRA_BYTES = 16 << 20
CHUNK_BYTES = 1 << 16
# After the deadline, how long to wait for the thread's own error.
GRACE_SECONDS = 0.1
# Three years: sockets and threads cannot wait for the 292 that a duration may be.
MAX_SECONDS = 1e8
OK = 200
# What net/http follows: 10 requests in all, as GET without a body but where the status keeps both.
REDIRECTS = (301, 302, 303, 307, 308)
REDIRECTS_WITH_BODY = (307, 308)
MAX_REQUESTS = 10

# urllib3 warns where certificates are not checked, which is the configuration's choice.
urllib3.disable_warnings(exceptions.InsecureRequestWarning)


class UnreachableError(ExtenderError):
    """There was no response, or not in time."""


@dataclass(frozen=True, slots=True)
class ExtenderRequest:
    """url: with the verb; body: JSON."""

    url: str
    body: bytes


@dataclass(frozen=True, slots=True)
class HttpReply:
    """status: of HTTP; body: empty unless the status is 200."""

    status: int
    body: bytes


class Transport(Protocol):
    """Sends requests: over the network, or answers them from a recording."""

    def start(self, request: ExtenderRequest) -> Callable[[], HttpReply]:
        """Send the request; the result waits for the reply, or raises UnreachableError."""
        ...

    def close(self) -> None: ...


class HTTPTransport:
    """Calls one extender over a pool of connections."""

    def __init__(self, extender: Extender) -> None:
        seconds = min(extender.http_timeout / 10**9, MAX_SECONDS)
        # Negative: without a timeout, as in Go.
        self._seconds = seconds if seconds > 0 else None
        tls_options: dict[str, Any] = {}
        if extender.url_prefix.lower().startswith("https:"):
            tls_options["ssl_context"] = tls_context(extender)
            if extender.tls_config is not None and extender.tls_config.server_name:
                name = extender.tls_config.server_name
                tls_options |= {"server_hostname": name, "assert_hostname": name}
        self._pool = urllib3.PoolManager(num_pools=2, maxsize=4, retries=False, **tls_options)
        self._connect_error = ""

    def start(self, request: ExtenderRequest) -> Callable[[], HttpReply]:
        if problem := self._connect_error:

            def fail() -> HttpReply:
                raise UnreachableError(problem)

            return fail
        call = _Call(self._pool, request, self._seconds)
        call.start()
        return lambda: self._wait(call)

    def _wait(self, call: _Call) -> HttpReply:
        try:
            return call.reply()
        except _NoConnectionError as error:
            # No host answers at that address: each further call would take the timeout as well.
            self._connect_error = str(error)
            raise

    def close(self) -> None:
        self._pool.clear()


class _NoConnectionError(UnreachableError):
    """Connecting took the whole timeout."""


class _Call(threading.Thread):
    """One request. A thread, because no socket timeout limits a whole call: name lookup, each
    address tried and each read of a response has its own."""

    def __init__(
        self, pool: urllib3.PoolManager, request: ExtenderRequest, seconds: float | None
    ) -> None:
        super().__init__(name="ksched-extender", daemon=True)
        self._pool = pool
        self._request = request
        self._url = request.url
        self._seconds = seconds
        self._deadline = None if seconds is None else time.monotonic() + seconds
        self._has_headers = False
        self._reply: HttpReply | None = None
        self._error: Exception | None = None

    def reply(self) -> HttpReply:
        """Wait for the reply. Raises ExtenderError, UnreachableError without a reply."""
        self.join(None if self._deadline is None else max(self._deadline - time.monotonic(), 0))
        if self._reply is not None:
            return self._reply
        # The thread ends at about the same time, and its error is more precise.
        self.join(GRACE_SECONDS)
        if self._error is not None:
            raise self._error
        if self._has_headers:
            raise UnreachableError(BODY_TIMEOUT)
        raise UnreachableError(f"{post_prefix(self._url)}: {TIMEOUT}")

    def run(self) -> None:
        try:
            self._reply = self._exchange()
        except ExtenderError as error:
            self._error = error
        except exceptions.NewConnectionError as error:
            # Refused, or no such host. In urllib3 a subclass of ConnectTimeoutError, but immediate.
            self._error = UnreachableError(self._message(error))
        except exceptions.ConnectTimeoutError:
            self._error = _NoConnectionError(f"{post_prefix(self._url)}: {TIMEOUT}")
        except Exception as error:
            self._error = UnreachableError(self._message(error))

    def _exchange(self) -> HttpReply:
        """Return the reply after following redirects. Upstream: net/http (Client.do)."""
        method, body = "POST", self._request.body
        for _ in range(MAX_REQUESTS):
            response = self._send(method, body)
            self._has_headers = True
            try:
                location = response.headers.get("Location", "")
                if response.status not in REDIRECTS or not location:
                    content = b""
                    if response.status == OK:
                        content = self._read(
                            response, MAX_EXTRA_BYTES + 4 * len(self._request.body)
                        )
                        response.release_conn()
                    return HttpReply(response.status, content)
            finally:
                # Closes the connection of a response that was not read to its end.
                response.close()
            self._has_headers = False
            self._url = urljoin(self._url, location)
            if response.status not in REDIRECTS_WITH_BODY:
                method, body = "GET", b""
        raise UnreachableError(f"{post_prefix(location)}: stopped after {MAX_REQUESTS} redirects")

    def _send(self, method: str, body: bytes) -> urllib3.BaseHTTPResponse:
        scheme = self._url.partition("://")[0].lower() if "://" in self._url else ""
        if scheme not in ("http", "https"):
            message = f'{post_prefix(self._url)}: unsupported protocol scheme "{scheme}"'
            raise UnreachableError(message)
        headers = {"Accept-Encoding": "gzip", "User-Agent": f"ksched/{__version__}"}
        if body:
            headers["Content-Type"] = "application/json"
        user = urllib3.util.parse_url(self._url).auth
        if user:
            headers |= urllib3.util.make_headers(basic_auth=unquote(user))
        return self._pool.request(
            method,
            self._url,
            body=body or None,
            headers=headers,
            timeout=urllib3.Timeout(connect=self._seconds, read=self._seconds),
            redirect=False,
            preload_content=False,
        )

    def _read(self, response: urllib3.BaseHTTPResponse, limit: int) -> bytes:
        """Return the body, of at most `limit` bytes."""
        parts: list[bytes] = []
        size = 0
        while part := response.read1(CHUNK_BYTES):
            size += len(part)
            if size > limit:
                raise ExtenderError(f"the answer is longer than {limit} bytes")
            if self._deadline is not None and time.monotonic() > self._deadline:
                raise UnreachableError(BODY_TIMEOUT)
            parts.append(part)
        return b"".join(parts)

    def _message(self, error: Exception) -> str:
        if self._has_headers:
            return body_error_message(error, self._url)
        return f"{post_prefix(self._url)}: {request_error_message(error, self._url)}"


def tls_context(extender: Extender) -> ssl.SSLContext:
    """Return the TLS context for an extender. Raises UsageError where certificates or keys are
    unusable."""
    tls = extender.tls_config or ExtenderTLSConfig()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    # As in Go, any certificate of the pool ends a chain, an intermediate one too.
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    has_ca = bool(tls.ca_data or tls.ca_file)
    try:
        if tls.insecure or (extender.enable_https and not has_ca):
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        elif has_ca:
            authorities = tls.ca_data or read_small_file(tls.ca_file)
            with _private_files(authorities) as (path,):
                context.load_verify_locations(cafile=path)
        else:
            context.load_default_certs()
        # Data takes precedence over files, as for certificates of authorities.
        if (tls.cert_data or tls.cert_file) and (tls.key_data or tls.key_file):
            certificate = tls.cert_data or read_small_file(tls.cert_file)
            key = tls.key_data or read_small_file(tls.key_file)
            with _private_files(certificate, key) as paths:
                # The empty password makes an encrypted key an error, not a prompt on the terminal.
                context.load_cert_chain(paths[0], paths[1], password="")  # nosec B106  # see above
    except (OSError, ValueError) as error:
        message = f"extender {masked_url(extender.url_prefix)}: tlsConfig cannot be used: {error}"
        raise UsageError(message) from None
    return context


@contextmanager
def _private_files(*contents: bytes) -> Iterator[list[str]]:
    """Yield the paths of temporary files that only their owner may read, from which OpenSSL
    reads."""
    with tempfile.TemporaryDirectory(prefix="ksched-") as folder:
        paths = [os.path.join(folder, f"{number}.pem") for number in range(len(contents))]
        for path, content in zip(paths, contents, strict=True):
            with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                file.write(content)
        yield paths
