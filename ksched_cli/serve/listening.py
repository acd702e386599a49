"""The address of a server, and its rules for clients. Does not load the extra."""

from __future__ import annotations

import ipaddress
import socket
from dataclasses import dataclass
from pathlib import Path

from ksched_cli.errors import InputError, UsageError

MAX_CONNECTIONS = 256


@dataclass(frozen=True, slots=True)
class Listening:
    """The address of a server, and its rules for clients.

    certificate, key: files of PEM, or ""; token: what clients have to know, or ""
    """

    host: str
    port: int
    certificate: str = ""
    key: str = ""
    token: str = ""

    @classmethod
    def of(cls, address: str, certificate: str, key: str, token_file: str) -> Listening:
        """address: HOST:PORT. Raises UsageError, InputError."""
        host, _, port = address.rpartition(":")
        host = host.removeprefix("[").removesuffix("]")
        if not host or not port.isdecimal() or int(port) > 65535:
            raise UsageError(f"--listen {address}: expected HOST:PORT, such as 127.0.0.1:8888")
        if bool(certificate) != bool(key):
            raise UsageError("--tls-certificate and --tls-key require each other")
        token = _token(token_file) if token_file else ""
        if not token and not is_loopback(host):
            raise UsageError(
                f"--listen {address} can be reached from other machines, which requires "
                "--token-file"
            )
        return cls(host, int(port), certificate, key, token)

    def bind(self) -> socket.socket:
        """Return a socket that listens. Raises UsageError."""
        family = socket.AF_INET6 if ":" in self.host else socket.AF_INET
        # asyncio sends at once, without Nagle's 40 ms, only where the protocol is named.
        listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((self.host, self.port))
            listener.listen(MAX_CONNECTIONS)
        except OSError as error:
            listener.close()
            raise UsageError(
                f"--listen {self.host}:{self.port} cannot be used: {error.strerror}"
            ) from None
        return listener

    def url(self, port: int) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http{'s' if self.certificate else ''}://{host}:{port}"


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach it."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _token(path: str) -> str:
    """Read the token of a file. Raises InputError."""
    try:
        token = Path(path).read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        problem = getattr(error, "strerror", None) or "not text"
        raise InputError(path, f"cannot be read: {problem}") from None
    if not token or not token.isascii() or any(c.isspace() or c in ":/@" for c in token):
        raise InputError(path, "expected a token: letters, digits, - and _ on one line")
    return token
