"""Requests to an API server, and one message for each way in which they fail."""

import json
import os
import socket
import ssl
from pathlib import Path
from typing import Any

import pytest
import trustme

from ksched_cli.live import client
from ksched_cli.live.client import RETRIES, ClusterError, StatusError
from tests.live.fake_api_server import CLOSED, CUT, DRIPS, ENDLESS, HANGS, Outage
from tests.live.fixtures import Connect, Serve


def test_an_answer_is_its_body(serve: Serve, connected: Connect) -> None:
    assert b"v1.34.1" in connected(serve()).get("/version")


def test_a_token_goes_with_each_request(serve: Serve, connected: Connect) -> None:
    server = serve()
    server.faults.token = "t1"
    assert connected(server, user={"token": "t1"}).get("/version")


def test_credentials_that_are_not_accepted_are_named_by_their_context(
    serve: Serve, connected: Connect
) -> None:
    server = serve()
    server.faults.token = "t1"
    with pytest.raises(ClusterError, match=r"credentials of context here of .*: 401 Unauthorized"):
        connected(server, user={"token": "t2"}).get("/version")


def test_a_refusal_has_the_status_and_the_reason_of_the_server(
    serve: Serve, connected: Connect
) -> None:
    server = serve()
    server.faults.refused = {"/version": 403}
    with pytest.raises(StatusError, match="403 no access to /version") as error:
        connected(server).get("/version")
    assert error.value.status == 403


def test_a_server_that_is_not_there_does_not_answer(serve: Serve, connected: Connect) -> None:
    server = serve()
    connection = connected(server)
    server.close()
    with pytest.raises(ClusterError, match=r"does not answer: Connection refused \(context here"):
        connection.get("/version")


def test_a_host_that_there_is_not_does_not_answer(
    serve: Serve, connected: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    connection = connected(serve())

    def unresolved(*_: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unresolved)
    with pytest.raises(ClusterError, match=r"does not answer: .*Name or service not known"):
        connection.get("/version")


def test_a_server_that_goes_away_names_what_was_read(serve: Serve, connected: Connect) -> None:
    server = serve()
    server.faults.dies_after = 0
    with pytest.raises(ClusterError, match=r"does not answer while pods were read: Remote end"):
        connected(server).get("/version", what="pods")


@pytest.mark.parametrize("outage", [429, 500, 502, 503, 504, CLOSED, CUT])
def test_what_may_pass_is_asked_for_again_a_few_times(
    outage: Outage, serve: Serve, connected: Connect
) -> None:
    server = serve()
    server.faults.passing["/version"] = [outage] * RETRIES
    assert b"v1.34.1" in connected(server).get("/version")
    server.faults.refused["/version"] = outage
    with pytest.raises(ClusterError):
        connected(server).get("/version")
    assert len(server.requests) == 2 * (RETRIES + 1)


@pytest.mark.parametrize("outage", [400, 403, 404, 410])
def test_what_does_not_pass_is_asked_for_once(
    outage: Outage, serve: Serve, connected: Connect
) -> None:
    server = serve()
    server.faults.refused["/version"] = outage
    with pytest.raises(StatusError):
        connected(server).get("/version")
    assert len(server.requests) == 1


def test_a_server_that_hangs_does_not_answer(
    serve: Serve, connected: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "READ_SECONDS", 0.05)
    server = serve()
    server.faults.refused["/version"] = HANGS
    with pytest.raises(ClusterError, match="does not answer: Read timed out"):
        connected(server).get("/version")
    server.faults.watches["/api/v1/pods"] = [HANGS]
    with (
        pytest.raises(ClusterError, match="does not answer: Read timed out"),
        connected(server).stream("/api/v1/pods", {"watch": "1"}, 0.05) as lines,
    ):
        next(lines)


def test_a_line_that_comes_in_several_pieces_is_one(serve: Serve, connected: Connect) -> None:
    server, metadata = serve(), {"name": "p", "annotations": {"long": "x" * 300_000}}
    server.publish("ADDED", {"kind": "Pod", "apiVersion": "v1", "metadata": metadata})
    query = {"watch": "1", "resourceVersion": "10000"}
    with connected(server).stream("/api/v1/pods", query, 10) as lines:
        event = json.loads(next(lines))
    assert event["object"]["metadata"]["annotations"] == metadata["annotations"]


def test_an_answer_without_an_end_is_read_up_to_a_size(
    serve: Serve, connected: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "MAX_ANSWER", 1 << 20)
    monkeypatch.setattr(client, "MAX_LINE", 1 << 20)
    server = serve()
    server.faults.refused["/version"] = ENDLESS
    with pytest.raises(ClusterError, match="its answer is longer than 1048576 bytes"):
        connected(server).get("/version")
    server.faults.watches["/api/v1/pods"] = [ENDLESS]
    with (
        pytest.raises(ClusterError, match="a line is longer than 1048576 bytes"),
        connected(server).stream("/api/v1/pods", {"watch": "1"}, 10) as lines,
    ):
        next(lines)


def test_an_answer_that_comes_byte_by_byte_is_read_for_a_while(
    serve: Serve, connected: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "ANSWER_SECONDS", 0.3)
    server = serve()
    server.faults.refused["/version"] = DRIPS
    with pytest.raises(ClusterError, match=r"does not answer: not complete after 0\.3 s"):
        connected(server).get("/version")


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


def tls_context(authority: trustme.CA, *, asks_for_certificate: bool) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    if asks_for_certificate:
        context.verify_mode = ssl.CERT_REQUIRED
        authority.configure_trust(context)
    return context


def test_a_client_certificate_lets_in(
    serve: Serve, connected: Connect, authority: trustme.CA, tmp_path: Path
) -> None:
    server = serve(tls=tls_context(authority, asks_for_certificate=True))
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    cluster = {"certificate-authority": "ca.pem"}
    certificate = authority.issue_cert("user@example.com")
    certificate.private_key_pem.write_to_path(str(tmp_path / "user.key"))
    certificate.cert_chain_pems[0].write_to_path(str(tmp_path / "user.pem"))
    user = {"client-certificate": "user.pem", "client-key": "user.key"}
    assert connected(server, cluster=cluster, user=user).get("/version")
    with pytest.raises(ClusterError, match=r"does not answer: .*(certificate|EOF|reset)"):
        connected(server, cluster=cluster).get("/version")


def test_a_certificate_of_nobody_we_know_is_an_error(
    serve: Serve, connected: Connect, authority: trustme.CA
) -> None:
    server = serve(tls=tls_context(authority, asks_for_certificate=False))
    with pytest.raises(ClusterError, match=r"does not answer: .*certificate verify failed"):
        connected(server).get("/version")
    assert connected(server, cluster={"insecure-skip-tls-verify": True}).get("/version")


def test_certificates_are_read_once_however_many_connections_break(
    serve: Serve,
    connected: Connect,
    authority: trustme.CA,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    server = serve(tls=tls_context(authority, asks_for_certificate=False))
    server.faults.passing["/version"] = [CUT] * RETRIES
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    reads, load = [], ssl.SSLContext.load_verify_locations

    def counted(context: ssl.SSLContext, *args: Any, **rest: Any) -> None:
        reads.append(args)
        load(context, *args, **rest)

    monkeypatch.setattr(ssl.SSLContext, "load_verify_locations", counted)
    connection = connected(server, cluster={"certificate-authority": "ca.pem"})
    assert connection.get("/version")
    assert (len(server.requests), len(reads)) == (RETRIES + 1, 1)


def test_a_certificate_that_is_renewed_on_disk_is_read_again(
    serve: Serve, connected: Connect, authority: trustme.CA, tmp_path: Path
) -> None:
    server, file = serve(tls=tls_context(authority, asks_for_certificate=False)), tmp_path / "ca"
    file.write_bytes(trustme.CA().cert_pem.bytes())
    connection = connected(server, cluster={"certificate-authority": "ca"})
    with pytest.raises(ClusterError, match="certificate verify failed"):
        connection.get("/version")
    file.write_bytes(authority.cert_pem.bytes())
    os.utime(file, ns=(0, 1))
    assert connection.get("/version")


def test_a_proxy_may_have_a_certificate_though_the_server_has_none(
    serve: Serve,
    connected: Connect,
    authority: trustme.CA,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    """The system's certificates are those that SSL_CERT_FILE names."""
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
    proxy = serve(tls=tls_context(authority, asks_for_certificate=False))
    assert connected(serve(), cluster={"proxy-url": proxy.url}).get("/version")
    assert len(proxy.requests) == 1
