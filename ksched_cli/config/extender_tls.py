"""Whether kube-scheduler can set up TLS for an extender.

Upstream: pkg/scheduler/extender.go (makeTransport), client-go transport.TLSConfigFor.
Files are read, as kube-scheduler does when it starts; whether their contents are certificates is
judged only as far as being PEM goes.
"""

from __future__ import annotations

import os

from ksched_cli.config.types import Extender, ExtenderTLSConfig

_BOTH = "specifying a root certificates file with the insecure flag is not allowed"
_REASONS = {2: "no such file or directory", 13: "permission denied", 20: "not a directory"}


def transport_error(extender: Extender) -> str | None:
    """Why no connection can be made, in upstream's words."""
    tls = extender.tls_config or ExtenderTLSConfig()
    has_ca = bool(tls.ca_file or tls.ca_data)
    has_certificate = bool(tls.cert_file or tls.cert_data) and bool(tls.key_file or tls.key_data)
    insecure = tls.insecure or (extender.enable_https and not has_ca)
    if not (has_ca or has_certificate or insecure or tls.server_name):
        return None
    if has_ca and insecure:
        return _BOTH
    for data, file in (
        (tls.ca_data, tls.ca_file),
        (tls.cert_data, tls.cert_file),
        (tls.key_data, tls.key_file),
    ):
        error = None if data or not file else _unreadable(file)
        if error is not None:
            return error
    return _certificate_error(tls, has_ca)


def _unreadable(file: str) -> str | None:
    try:
        with open(file, "rb") as opened:
            opened.read(1)
    except IsADirectoryError:
        return f"read {file}: is a directory"
    except OSError as error:
        number = error.errno or 0
        return f"open {file}: {_REASONS.get(number, os.strerror(number).lower())}"
    return None


def _certificate_error(tls: ExtenderTLSConfig, has_ca: bool) -> str | None:
    if has_ca and tls.ca_data and b"-----BEGIN" not in tls.ca_data:
        return "unable to load root certificates: unable to parse bytes as PEM block"
    if tls.cert_data and b"-----BEGIN" not in tls.cert_data:
        return "tls: failed to find any PEM data in certificate input"
    if tls.cert_data and tls.key_data and b"-----BEGIN" not in tls.key_data:
        return "tls: failed to find any PEM data in key input"
    return None
