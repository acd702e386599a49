"""Why a call came to nothing, in Go's words, which end up in kube-scheduler's messages.

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


def before_body(error: Exception, url: str) -> str:
    """Go's words for why there was no answer."""
    where = parse_url(url)
    address = f"{where.host}:{where.port or (443 if where.scheme == 'https' else 80)}"
    if isinstance(error, ReadTimeoutError):
        return TIMEOUT
    if isinstance(error, NameResolutionError):
        return f"dial tcp: lookup {where.host}: no such host"
    inner = error.__cause__ or error.__context__
    if isinstance(error, NewConnectionError):
        number = inner.errno if isinstance(inner, OSError) else None
        said = os.strerror(number).lower() if number else str(error)
        return f"dial tcp {address}: connect: {said}"
    if isinstance(error, SSLError):
        return f"tls: {error}"
    if isinstance(error, ProtocolError):
        return _broken_off(error, address)
    return str(error)


def _broken_off(error: ProtocolError, address: str) -> str:
    reason = next((one for one in error.args if isinstance(one, Exception)), None)
    if isinstance(reason, OSError) and reason.errno == errno.ECONNRESET:
        return f"read tcp {address}: read: connection reset by peer"
    return "EOF"


def post(url: str) -> str:
    return f'Post "{redacted(url)}"'


def redacted(url: str) -> str:
    """Without the password, as Go shows it."""
    return _PASSWORD.sub(r"\1:***@", url)


def in_body(error: Exception) -> str:
    """The answer began, and did not come to its end."""
    return BODY_TIMEOUT if isinstance(error, ReadTimeoutError) else "unexpected EOF"
