"""Failed calls are described in Go's words."""

import errno
import ssl
from socket import gaierror

import pytest
from urllib3 import HTTPSConnectionPool
from urllib3.connection import HTTPSConnection
from urllib3.exceptions import (
    NameResolutionError,
    NewConnectionError,
    ProtocolError,
    ReadTimeoutError,
    SSLError,
)

from ksched_cli.extenders.client import (
    BODY_TIMEOUT,
    TIMEOUT,
    body_error_message,
    request_error_message,
)

URL = "https://me:secret@host/x"
RESET = ConnectionResetError(errno.ECONNRESET, "reset")
UNTRUSTED = "tls: failed to verify certificate: x509: "
POOL = HTTPSConnectionPool("host")


def refused() -> NewConnectionError:
    error = NewConnectionError(HTTPSConnection("host"), "failed")
    error.__cause__ = ConnectionRefusedError(errno.ECONNREFUSED, "refused")
    return error


def tls_error(reason: str) -> SSLError:
    error = ssl.SSLError(1, "of OpenSSL")
    error.reason = reason
    return SSLError(error)


def untrusted(code: int) -> SSLError:
    error = ssl.SSLCertVerificationError(1, "verify failed")
    error.verify_code, error.verify_message = code, "path length constraint exceeded"
    return SSLError(error)


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (untrusted(10), UNTRUSTED + "certificate has expired or is not yet valid"),
        (untrusted(18), UNTRUSTED + "certificate signed by unknown authority"),
        (untrusted(62), UNTRUSTED + "certificate is valid for other names, not host"),
        (untrusted(25), UNTRUSTED + "path length constraint exceeded"),
        (
            tls_error("TLSV13_ALERT_CERTIFICATE_REQUIRED"),
            "remote error: tls: certificate required",
        ),
        (
            tls_error("WRONG_VERSION_NUMBER"),
            "tls: first record does not look like a TLS handshake",
        ),
        (SSLError(ssl.SSLEOFError(8, "EOF occurred")), "EOF"),
        (ReadTimeoutError(POOL, URL, "slow"), TIMEOUT),
        (
            NameResolutionError("host", HTTPSConnection("host"), gaierror()),
            "dial tcp: lookup host: no such host",
        ),
        (refused(), "dial tcp host:443: connect: connection refused"),
        (SSLError("bad certificate"), "tls: bad certificate"),
        (ProtocolError("aborted", RESET), "read tcp host:443: read: connection reset by peer"),
        (ProtocolError("aborted"), "EOF"),
        (ValueError("anything else"), "anything else"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else "",
)
def test_an_error_before_the_headers_is_described_as_by_gos_client(
    error: Exception, message: str
) -> None:
    assert request_error_message(error, URL) == message


def test_the_port_is_the_urls_or_the_schemes() -> None:
    assert "dial tcp host:80:" in request_error_message(refused(), "http://host/x")
    assert "dial tcp host:81:" in request_error_message(refused(), "http://host:81/x")


def test_an_error_within_the_body_is_a_timeout_or_an_unexpected_end() -> None:
    assert body_error_message(ReadTimeoutError(POOL, URL, "slow"), URL) == BODY_TIMEOUT
    assert body_error_message(ProtocolError("broken"), URL) == "unexpected EOF"
    reset = body_error_message(ProtocolError("broken", RESET), URL)
    assert reset == "read tcp host:443: read: connection reset by peer"
