"""Why a call to an extender failed, in Go's words, which kube-scheduler's messages contain.

Upstream: net/http (Client.Do, url.Error), net (OpError), crypto/tls, crypto/x509 (verify.go).
"""

from __future__ import annotations

import errno
import os
import re
import ssl

from urllib3.exceptions import (
    LocationParseError,
    NameResolutionError,
    NewConnectionError,
    ProtocolError,
    ReadTimeoutError,
    SSLError,
)
from urllib3.util import parse_url

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

_PASSWORD = re.compile(r"(://[^/@:]*):[^/@]*@")


def request_error_message(error: Exception, url: str) -> str:
    """The message of an error before the response's headers had arrived."""
    try:
        host, address = parse_url(url).host or "", _address(url)
    except LocationParseError:
        return "invalid URL"
    if isinstance(error, ReadTimeoutError):
        return TIMEOUT
    if isinstance(error, NameResolutionError):
        return f"dial tcp: lookup {host}: no such host"
    cause = error.__cause__ or error.__context__
    if isinstance(error, NewConnectionError):
        number = cause.errno if isinstance(cause, OSError) else None
        reason = os.strerror(number).lower() if number else str(error)
        return f"dial tcp {address}: connect: {reason}"
    if isinstance(error, SSLError):
        return _tls_error_message(error, host)
    if isinstance(error, ProtocolError):
        return _reset_message(address) if _is_reset(error) else "EOF"
    return str(error)


def _tls_error_message(error: SSLError, host: str) -> str:
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
    """The error that urllib3's wraps."""
    return next((arg for arg in error.args if isinstance(arg, Exception)), None)


def _is_reset(error: Exception) -> bool:
    cause = _cause(error)
    return isinstance(cause, OSError) and cause.errno == errno.ECONNRESET


def body_error_message(error: Exception, url: str) -> str:
    """The message of an error while the response's body was read."""
    if isinstance(error, ReadTimeoutError):
        return BODY_TIMEOUT
    return _reset_message(_address(url)) if _is_reset(error) else "unexpected EOF"


def _reset_message(address: str) -> str:
    return f"read tcp {address}: read: connection reset by peer"


def _address(url: str) -> str:
    parsed = parse_url(url)
    return f"{parsed.host}:{parsed.port or (443 if parsed.scheme == 'https' else 80)}"


def post_prefix(url: str) -> str:
    """What url.Error puts before an error of a POST: the method and the URL."""
    return f'Post "{redacted(url)}"'


def redacted(url: str) -> str:
    """The URL with its password as ***, as Go's URL.Redacted prints it."""
    return _PASSWORD.sub(r"\1:***@", url)
