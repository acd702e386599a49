"""HTTPS: who is trusted, and as whom ksched shows itself."""

import base64
import ssl
import tempfile
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

import pytest
import trustme

from ksched_cli.errors import KschedError
from ksched_cli.testing import cluster, node, pod
from tests.extenders.fixtures import Extended, Serve
from tests.extenders.servers import everything

UNKNOWN = "tls: failed to verify certificate: x509: certificate signed by unknown authority"
STATE = cluster(node("a"), pod("p"))


class Party:
    """Certificates of one authority: for a server and a client, in files and as data."""

    def __init__(self, folder: Path) -> None:
        self.authority = trustme.CA()
        self.server = self.authority.issue_cert("127.0.0.1", "extender.example.com")
        client = self.authority.issue_cert("ksched@example.com")
        self.ca = self.authority.cert_pem.bytes()
        self.certificate = b"".join(blob.bytes() for blob in client.cert_chain_pems)
        self.key = client.private_key_pem.bytes()
        contents = {"caFile": self.ca, "certFile": self.certificate, "keyFile": self.key}
        for name, content in contents.items():
            (folder / name).write_bytes(content)
        self.files = {name: str(folder / name) for name in contents}

    def context(self, *, asks_for_certificate: bool = False) -> ssl.SSLContext:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        self.server.configure_cert(context)
        if asks_for_certificate:
            context.verify_mode = ssl.CERT_REQUIRED
            self.authority.configure_trust(context)
        return context


@pytest.fixture(scope="module")
def party(tmp_path_factory: pytest.TempPathFactory) -> Party:
    return Party(tmp_path_factory.mktemp("tls"))


class Placed(Protocol):
    """Empty if the pod finds a node with such a server and such a tlsConfig, else the message.

    fields: the extender's other fields.
    """

    def __call__(
        self, context: ssl.SSLContext, tls: Mapping[str, object] | None, **fields: object
    ) -> str: ...


@pytest.fixture
def placed(serve: Serve, extended: Extended) -> Placed:
    def answer(context: ssl.SSLContext, tls: Mapping[str, object] | None, **fields: object) -> str:
        server = serve({"/filter": everything}, context)
        extender = {"urlPrefix": server.url, "filterVerb": "filter", "tlsConfig": tls, **fields}
        run, _ = extended(STATE, extender)
        record = run.run()
        return "" if record.placements else record.last["default/p"].error

    return answer


def data(content: bytes) -> str:
    return base64.b64encode(content).decode()


def test_a_server_is_trusted_by_a_ca_from_a_file_or_from_data(party: Party, placed: Placed) -> None:
    assert placed(party.context(), {"caFile": party.files["caFile"]}) == ""
    assert placed(party.context(), {"caData": data(party.ca)}, enableHTTPS=True) == ""


def test_a_server_of_another_authority_is_not_trusted(
    party: Party, placed: Placed, tmp_path: Path
) -> None:
    other = Party(tmp_path)
    assert UNKNOWN in placed(party.context(), {"caData": data(other.ca)})


@pytest.mark.filterwarnings("ignore:Unverified HTTPS request")
def test_without_a_ca_the_systems_authorities_decide_unless_https_is_enabled(
    party: Party, placed: Placed
) -> None:
    """Upstream: enableHTTPS without a CA means insecure."""
    assert UNKNOWN in placed(party.context(), None)
    assert placed(party.context(), None, enableHTTPS=True) == ""
    assert placed(party.context(), {"insecure": True}) == ""


def test_a_certificate_for_another_name_is_refused_unless_that_name_is_given(
    party: Party, placed: Placed, tmp_path: Path
) -> None:
    other = Party(tmp_path)
    other.server = other.authority.issue_cert("extender.example.com")
    trusts = {"caData": data(other.ca)}
    assert "x509: certificate is valid for other names, not 127.0.0.1" in placed(
        other.context(), trusts
    )
    assert placed(other.context(), {**trusts, "serverName": "extender.example.com"}) == ""
    assert "match" in placed(other.context(), {**trusts, "serverName": "other.example.com"})


def test_an_expired_certificate_is_refused(party: Party, placed: Placed, tmp_path: Path) -> None:
    other = Party(tmp_path)
    other.server = other.authority.issue_cert(
        "127.0.0.1", not_after=datetime(2020, 1, 1, tzinfo=UTC)
    )
    assert "x509: certificate has expired or is not yet valid" in placed(
        other.context(), {"caData": data(other.ca)}
    )


def test_a_client_certificate_is_shown_from_files_or_from_data(
    party: Party, placed: Placed
) -> None:
    context = party.context(asks_for_certificate=True)
    assert placed(context, party.files) == ""
    context = party.context(asks_for_certificate=True)
    shown = {"caData": data(party.ca), "certData": data(party.certificate)}
    assert placed(context, {**shown, "keyData": data(party.key)}) == ""


def test_who_asks_for_a_client_certificate_gets_one_or_refuses(
    party: Party, placed: Placed
) -> None:
    context = party.context(asks_for_certificate=True)
    message = placed(context, {"caData": data(party.ca)})
    # The server hangs up at once; what is noticed first is a race.
    ends = ("remote error: tls: certificate required", ": EOF", "connection reset by peer")
    assert message.endswith(ends)


def test_data_goes_before_files(party: Party, placed: Placed, tmp_path: Path) -> None:
    other = Party(tmp_path)
    tls = {"caFile": other.files["caFile"], "caData": data(party.ca)}
    assert placed(party.context(), tls) == ""


def test_a_key_that_does_not_belong_to_the_certificate_ends_the_command(
    party: Party, extended: Extended, tmp_path: Path
) -> None:
    tls = {**party.files, "keyFile": Party(tmp_path).files["keyFile"]}
    extender = {"urlPrefix": "https://127.0.0.1:1", "filterVerb": "filter", "tlsConfig": tls}
    with pytest.raises(KschedError, match="tlsConfig cannot be used"):
        extended(STATE, extender)


def test_no_key_is_left_in_a_file(
    party: Party, placed: Placed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    shown = {"caData": data(party.ca), "certData": data(party.certificate)}
    context = party.context(asks_for_certificate=True)
    assert placed(context, {**shown, "keyData": data(party.key)}) == ""
    assert list(tmp_path.iterdir()) == []
