"""TLS settings of an extender: its CA, its client certificate, whether certificates are checked.

Upstream: pkg/scheduler/extender.go (makeTransport), client-go/transport (TLSConfigFor). As there,
`enableHTTPS` without a CA trusts any certificate.
"""

from __future__ import annotations

import os
import ssl
import tempfile

from ksched_cli.config.types import Extender, ExtenderTLSConfig
from ksched_cli.errors import UsageError


def tls_context(extender: Extender) -> ssl.SSLContext:
    """Raises UsageError where certificates or keys are unusable."""
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
            _load_ca(context, tls)
        else:
            context.load_default_certs()
        _load_client_certificate(context, tls)
    except (OSError, ValueError) as error:
        message = f"extender {extender.url_prefix}: tlsConfig cannot be used: {error}"
        raise UsageError(message) from None
    return context


def _load_ca(context: ssl.SSLContext, tls: ExtenderTLSConfig) -> None:
    """Data takes precedence over files, here and for certificate and key."""
    if tls.ca_data:
        context.load_verify_locations(cadata=tls.ca_data.decode())
    else:
        context.load_verify_locations(cafile=tls.ca_file)


def _load_client_certificate(context: ssl.SSLContext, tls: ExtenderTLSConfig) -> None:
    """The ssl module reads certificate and key from files: data is written to temporary ones."""
    has_certificate = tls.cert_data or tls.cert_file
    if not (has_certificate and (tls.key_data or tls.key_file)):
        return
    with tempfile.TemporaryDirectory(prefix="ksched-") as folder:
        certificate = _write_file(folder, "tls.crt", tls.cert_data) or tls.cert_file
        key = _write_file(folder, "tls.key", tls.key_data) or tls.key_file
        # The empty password makes an encrypted key an error, not a prompt on the terminal.
        context.load_cert_chain(certificate, key, password="")  # nosec B106  # see above


def _write_file(folder: str, name: str, data: bytes) -> str:
    """The path of a new file that only its owner may read; "" without data."""
    if not data:
        return ""
    path = os.path.join(folder, name)
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(data)
    return path
