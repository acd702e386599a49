"""Why a call to an extender failed, in Go's words, which kube-scheduler's messages contain.

Upstream: net/http (Client.Do, url.Error), net (OpError).
"""

from __future__ import annotations

import errno
import os
import re

from urllib3.exceptions import (
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

_PASSWORD = re.compile(r"(://[^/@:]*):[^/@]*@")


def request_error_message(error: Exception, url: str) -> str:
    """The message of an error before the response's headers had arrived."""
    parsed = parse_url(url)
    address = f"{parsed.host}:{parsed.port or (443 if parsed.scheme == 'https' else 80)}"
    if isinstance(error, ReadTimeoutError):
        return TIMEOUT
    if isinstance(error, NameResolutionError):
        return f"dial tcp: lookup {parsed.host}: no such host"
    cause = error.__cause__ or error.__context__
    if isinstance(error, NewConnectionError):
        number = cause.errno if isinstance(cause, OSError) else None
        reason = os.strerror(number).lower() if number else str(error)
        return f"dial tcp {address}: connect: {reason}"
    if isinstance(error, SSLError):
        return f"tls: {error}"
    if isinstance(error, ProtocolError):
        return _protocol_error_message(error, address)
    return str(error)


def _protocol_error_message(error: ProtocolError, address: str) -> str:
    cause = next((arg for arg in error.args if isinstance(arg, Exception)), None)
    if isinstance(cause, OSError) and cause.errno == errno.ECONNRESET:
        return f"read tcp {address}: read: connection reset by peer"
    return "EOF"


def body_error_message(error: Exception) -> str:
    """The message of an error while the response's body was read."""
    return BODY_TIMEOUT if isinstance(error, ReadTimeoutError) else "unexpected EOF"


def post_prefix(url: str) -> str:
    """What url.Error puts before an error of a POST: the method and the URL."""
    return f'Post "{redacted(url)}"'


def redacted(url: str) -> str:
    """The URL with its password as ***, as Go's URL.Redacted prints it."""
    return _PASSWORD.sub(r"\1:***@", url)
