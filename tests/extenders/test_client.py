"""Calls reuse connections, have one deadline, and fail in Go's words."""

import gzip
import socket
from collections.abc import Iterator
from typing import Any, Protocol

import pytest
from urllib3.util import connection

from ksched_cli import __version__
from ksched_cli.config.types import Extender
from ksched_cli.extenders.client import (
    TIMEOUT,
    ExtenderRequest,
    HttpReply,
    HTTPTransport,
    UnreachableError,
)
from ksched_cli.testing import cluster, node, pod
from tests.extenders.fixtures import Extended, Serve
from tests.extenders.servers import Code, everything, unused_port

QUICK = "300ms"
STATE = cluster(node("a"), node("b"), pod("p"))


def scores(data: dict[str, Any]) -> list[Any]:
    return []


class Call(Protocol):
    """Sends a body of JSON to a URL; gives the reply."""

    def __call__(self, url: str, body: bytes = b"{}") -> HttpReply: ...


@pytest.fixture
def call() -> Iterator[Call]:
    transport = HTTPTransport(Extender(url_prefix="http://127.0.0.1", http_timeout=5 * 10**9))

    def send(url: str, body: bytes = b"{}") -> HttpReply:
        return transport.start(ExtenderRequest(url, body))()

    yield send
    transport.close()


def test_a_reply_is_status_and_body_and_the_request_says_who_sends_it(
    serve: Serve, call: Call
) -> None:
    server = serve({"/x": {"a": 1}})
    assert call(f"{server.url}/x", b'{"b": 2}') == HttpReply(200, b'{"a": 1}')
    (received,) = server.calls
    assert received.data == {"b": 2}
    assert received.headers["Content-Type"] == "application/json"
    assert received.headers["User-Agent"] == f"ksched/{__version__}"


def test_a_compressed_body_is_unpacked(serve: Serve, call: Call) -> None:
    server = serve({"/x": Code(200, gzip.compress(b"[]"), {"Content-Encoding": "gzip"})})
    assert call(f"{server.url}/x").body == b"[]"


def test_the_body_is_read_only_with_status_200(serve: Serve, call: Call) -> None:
    server = serve({"/x": Code(500, b"boom")})
    assert call(f"{server.url}/x") == HttpReply(500, b"")


def test_user_and_password_of_the_url_are_sent_as_basic_authentication(
    serve: Serve, call: Call
) -> None:
    server = serve({"/x": {}})
    call(server.url.replace("http://", "http://me:s%20t@") + "/x")
    assert server.calls[0].headers["authorization"] == "Basic bWU6cyB0"


@pytest.mark.parametrize("status", [307, 308])
def test_a_redirect_that_keeps_method_and_body_is_followed_with_both(
    status: int, serve: Serve, call: Call
) -> None:
    other = serve({"/y": {"b": 1}})
    server = serve({"/x": Code(status, headers={"Location": f"{other.url}/y"})})
    assert call(f"{server.url}/x", b'{"a": 1}') == HttpReply(200, b'{"b": 1}')
    (received,) = other.calls
    assert received.data == {"a": 1}
    assert received.headers["Content-Type"] == "application/json"


@pytest.mark.parametrize("status", [301, 302, 303])
def test_other_redirects_are_followed_as_get_without_a_body(
    status: int, serve: Serve, call: Call
) -> None:
    server = serve({"/x": Code(status, headers={"Location": "y"}), "/y": {"b": 1}})
    assert call(f"{server.url}/x") == HttpReply(200, b'{"b": 1}')
    assert server.calls[1].data is None
    assert "Content-Type" not in server.calls[1].headers


def test_a_body_that_a_redirect_dropped_does_not_come_back(serve: Serve, call: Call) -> None:
    server = serve(
        {
            "/x": Code(302, headers={"Location": "/y"}),
            "/y": Code(307, headers={"Location": "/z"}),
            "/z": {},
        }
    )
    assert call(f"{server.url}/x").status == 200
    assert [received.data for received in server.calls] == [{}, None, None]


def test_a_redirect_to_nowhere_is_the_reply(serve: Serve, call: Call) -> None:
    assert call(serve({"/x": Code(302)}).url + "/x") == HttpReply(302, b"")


def test_redirects_in_a_circle_end_after_ten_requests(serve: Serve, call: Call) -> None:
    server = serve({"/x": Code(307, headers={"Location": "/x"})})
    with pytest.raises(UnreachableError, match=r'^Post "/x": stopped after 10 redirects$'):
        call(f"{server.url}/x")
    assert len(server.calls) == 10


def test_user_and_password_follow_a_relative_redirect_only(serve: Serve, call: Call) -> None:
    other = serve({"/y": {}})
    server = serve(
        {
            "/near": Code(307, headers={"Location": "/y"}),
            "/y": {},
            "/far": Code(307, headers={"Location": f"{other.url}/y"}),
        }
    )
    authorised = server.url.replace("http://", "http://me:secret@")
    call(f"{authorised}/near")
    call(f"{authorised}/far")
    assert server.calls[1].headers["authorization"]
    assert "authorization" not in {name.lower() for name in other.calls[0].headers}


def test_a_redirect_to_another_scheme_is_refused(serve: Serve, call: Call) -> None:
    server = serve({"/x": Code(302, headers={"Location": "file:///etc/passwd"})})
    with pytest.raises(UnreachableError, match='unsupported protocol scheme "file"'):
        call(f"{server.url}/x")


def test_a_refused_connection_is_unreachable_in_gos_words(call: Call) -> None:
    url = f"http://127.0.0.1:{unused_port()}/x"
    with pytest.raises(UnreachableError, match=r'^Post "http.*": dial tcp .*: connection refused$'):
        call(url)


def test_other_schemes_are_refused(call: Call) -> None:
    with pytest.raises(UnreachableError, match='unsupported protocol scheme "ftp"'):
        call("ftp://127.0.0.1")


@pytest.mark.parametrize("url", ["127.0.0.1:80/x", "ftp://127.0.0.1", "http://", "nonsense"])
def test_a_url_that_is_none_is_an_error_of_the_pod(url: str, extended: Extended) -> None:
    run, warnings = extended(STATE, {"urlPrefix": url, "filterVerb": "filter"})
    assert run.run().last["default/p"].error
    assert len(warnings) == 1


def test_an_unknown_host_is_an_error_of_the_pod(extended: Extended) -> None:
    url = "http://extender.invalid"
    run, warnings = extended(STATE, {"urlPrefix": url, "filterVerb": "filter"})
    assert "lookup extender.invalid: no such host" in run.run().last["default/p"].error
    assert len(warnings) == 1


def test_where_nobody_takes_the_call_is_tried_once(
    extended: Extended, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A full backlog: connecting takes the whole timeout, and would for each pod."""
    connect, tries = connection.create_connection, []

    def counted(address: tuple[str, int], *args: Any, **options: Any) -> socket.socket:
        tries.append(address)
        return connect(address, *args, **options)

    monkeypatch.setattr(connection, "create_connection", counted)
    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        address = full.getsockname()
        waiting = [socket.socket() for _ in range(4)]
        for client in waiting:
            client.setblocking(False)
            client.connect_ex(address)
        state = cluster(node("a"), *(pod(f"p{i}") for i in range(4)))
        url = f"http://127.0.0.1:{address[1]}"
        run, warnings = extended(state, {"urlPrefix": url, "filterVerb": "f", "httpTimeout": QUICK})
        record = run.run()
        for client in waiting:
            client.close()
    assert tries == [address]
    assert len(record.attempts) == 4
    assert all(TIMEOUT in attempt.error for attempt in record.attempts)
    assert len(warnings) == 1


def test_a_connection_is_used_again(serve: Serve, extended: Extended) -> None:
    server = serve({"/filter": everything, "/prioritize": scores})
    extender = {
        "urlPrefix": server.url,
        "filterVerb": "filter",
        "prioritizeVerb": "prioritize",
        "weight": 1,
    }
    run, _ = extended(cluster(node("a"), node("b"), *(pod(f"p{i}") for i in range(5))), extender)
    run.run()
    assert len(server.calls) == 10
    assert len({call.connection for call in server.calls}) == 1
