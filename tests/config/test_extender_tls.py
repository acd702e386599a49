"""Whether kube-scheduler can set up TLS for an extender."""

import pytest

from ksched_cli.config.startup import transport_error
from ksched_cli.config.types import Extender, ExtenderTLSConfig

PEM = b"-----BEGIN CERTIFICATE-----"


@pytest.mark.parametrize(
    ("tls", "message"),
    [
        (None, None),
        (ExtenderTLSConfig(insecure=True), None),
        (ExtenderTLSConfig(ca_data=PEM), None),
        (ExtenderTLSConfig(ca_data=PEM, insecure=True), "insecure flag is not allowed"),
        (ExtenderTLSConfig(ca_data=b"x"), "unable to parse bytes as PEM block"),
        (ExtenderTLSConfig(ca_file="/nowhere/ca"), "open /nowhere/ca: no such file or directory"),
        (ExtenderTLSConfig(ca_file="/"), "read /: is a directory"),
        (ExtenderTLSConfig(cert_data=b"x", key_data=PEM), "in certificate input"),
        (ExtenderTLSConfig(cert_data=PEM, key_data=b"x"), "in key input"),
    ],
)
def test_a_connection_that_cannot_be_made_has_upstreams_message(
    tls: ExtenderTLSConfig | None, message: str | None
) -> None:
    error = transport_error(Extender(tls_config=tls))
    assert error is None if message is None else message in str(error)


def test_https_with_root_certificates_is_not_insecure() -> None:
    extender = Extender(enable_https=True, tls_config=ExtenderTLSConfig(ca_data=PEM))
    assert transport_error(extender) is None
