"""Whatever an extender does, a run ends in time, and as kube-scheduler's rules say."""

import socket
import struct
import time
from contextlib import suppress

import pytest

from extenders.servers import Code, Raw, unused_port
from ksched_cli.testing import cluster, node, pod

QUICK = "300ms"


def reset(handler):
    """Closes the connection so that the other side sees a reset."""
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    handler.connection.close()


def break_off(handler):
    """Announces more than it sends."""
    handler.send_response(200)
    handler.send_header("Content-Length", "1000")
    handler.end_headers()
    handler.wfile.write(b'{"NodeNames": ["a"')


def reset_in_the_middle(handler):
    break_off(handler)
    handler.wfile.flush()
    reset(handler)


def sleep(handler):
    time.sleep(1)


def drip(handler):
    """A byte now and then, so that no single read takes long."""
    handler.send_response(200)
    handler.send_header("Content-Length", "1000")
    handler.end_headers()
    with suppress(OSError):
        for _ in range(40):
            handler.wfile.write(b" ")
            handler.wfile.flush()
            time.sleep(0.05)


def drip_headers(handler):
    with suppress(OSError):
        for _ in range(40):
            handler.wfile.write(b"H")
            handler.wfile.flush()
            time.sleep(0.05)


def gigabyte(handler):
    handler.send_response(200)
    handler.send_header("Content-Length", str(1 << 30))
    handler.end_headers()
    with suppress(OSError):
        for _ in range(1 << 10):
            handler.wfile.write(b" " * (1 << 20))


TIMEOUT = "context deadline exceeded (Client.Timeout exceeded while awaiting headers)"
# How it fails, the answer, a part of the message.
FAULTS = {
    "a reset": (Raw(reset), "connection reset by peer"),
    "a closed connection": (Raw(lambda handler: None), "EOF"),
    "an answer broken off": (Raw(break_off), "unexpected EOF"),
    "a reset in the middle": (Raw(reset_in_the_middle), "EOF"),
    "a slow answer": (Raw(sleep), TIMEOUT),
    "an answer byte by byte": (Raw(drip), "while reading body"),
    "headers byte by byte": (Raw(drip_headers), TIMEOUT),
    "a gigabyte": (Raw(gigabyte), "the answer is longer than"),
    "code 500": (Code(500, b"boom"), "failed verb with extender at URL {url}/verb, code 500"),
    "code 201": (Code(201, b"{}"), "failed verb with extender at URL {url}/verb, code 201"),
    "a redirect": (Code(307, b"", {"Location": "/elsewhere"}), "code 307"),
    "no JSON": (b"<html>", "invalid character '<' looking for beginning of value"),
    "nothing": (b"", "EOF"),
    "the wrong shape": ([["a"]], "json: cannot unmarshal array into"),
}

STATE = cluster(node("a"), node("b"), pod("p"))


def faulty(server, **fields):
    return {"urlPrefix": server.url, "httpTimeout": QUICK, "nodeCacheCapable": True, **fields}


@pytest.fixture(params=FAULTS)
def fault(request, serve):
    """The server that fails, and what is said of it."""
    answer, message = FAULTS[request.param]
    server = serve({"/verb": answer, "/elsewhere": {"NodeNames": ["a", "b"]}})
    return server, message.format(url=server.url)


@pytest.fixture(autouse=True)
def in_time():
    """Far below what the servers would take, far above what a loaded machine does."""
    began = time.monotonic()
    yield
    assert time.monotonic() - began < 8


def test_a_filter_that_fails_fails_the_pod(fault, extended):
    server, message = fault
    run, said = extended(STATE, faulty(server, filterVerb="verb"))
    found = run.run()
    assert message in found.last["default/p"].error
    assert found.pending == ("default/p",)
    assert len(said) == 1
    assert server.url in said[0]


def test_a_filter_that_may_be_ignored_is(fault, extended):
    server, _ = fault
    run, said = extended(STATE, faulty(server, filterVerb="verb", ignorable=True))
    assert run.run().placements == {"default/p": "a"}
    assert len(said) == 1


def test_a_prioritizer_that_fails_gives_no_scores(fault, extended):
    server, _ = fault
    run, said = extended(STATE, faulty(server, prioritizeVerb="verb", weight=1))
    found = run.run()
    scores = found.last["default/p"].detail.scores
    assert scores
    assert all(server.url not in by_source for by_source in scores.values())
    assert len(said) == 1
    assert found.placements == {"default/p": "a"}


def test_a_preempter_that_fails_leaves_the_pod_pending(fault, extended):
    server, message = fault
    state = cluster(
        node("a", cpu="1"), pod("low", cpu="1", node="a"), pod("p", cpu="1", priority=9)
    )
    run, _ = extended(state, faulty(server, preemptVerb="verb"))
    found = run.run()
    assert message in found.last["default/p"].message
    assert found.evicted == ()


def test_a_preempter_that_may_be_ignored_is(fault, extended):
    server, _ = fault
    state = cluster(
        node("a", cpu="1"), pod("low", cpu="1", node="a"), pod("p", cpu="1", priority=9)
    )
    run, _ = extended(state, faulty(server, preemptVerb="verb", ignorable=True))
    assert run.run().placements == {"default/p": "a"}


def test_a_binder_that_fails_leaves_the_pod_pending(fault, extended):
    server, message = fault
    run, _ = extended(STATE, faulty(server, bindVerb="verb"), bind=True)
    found = run.run()
    assert message in found.last["default/p"].error
    assert found.pending == ("default/p",)
    assert run.snapshot.pod_count.sum() == 0


def test_who_cannot_be_reached_is_named_once_with_the_cause(extended):
    port = unused_port()
    state = cluster(node("a"), *(pod(f"p{i}") for i in range(5)))
    run, said = extended(state, {"urlPrefix": f"http://127.0.0.1:{port}/x", "filterVerb": "filter"})
    found = run.run()
    cause = (
        f'Post "http://127.0.0.1:{port}/x/filter": '
        f"dial tcp 127.0.0.1:{port}: connect: connection refused"
    )
    assert {attempt.error for attempt in found.attempts} == {cause}
    assert said == [f"extender http://127.0.0.1:{port}/x cannot be reached: {cause}"]


def test_a_password_is_not_shown(extended):
    port = unused_port()
    url = f"http://me:secret@127.0.0.1:{port}"
    run, said = extended(STATE, {"urlPrefix": url, "filterVerb": "filter"})
    run.run()
    assert "secret" not in said[0]
    assert "me:***@" in said[0]


@pytest.mark.parametrize("url", ["127.0.0.1:80/x", "ftp://127.0.0.1", "http://", "nonsense"])
def test_a_url_that_is_none_is_a_fault_as_any_other(url, extended):
    run, said = extended(STATE, {"urlPrefix": url, "filterVerb": "filter"})
    assert run.run().last["default/p"].error
    assert len(said) == 1


def test_a_host_that_is_not_known_is_a_fault_as_any_other(extended):
    url = "http://extender.invalid"
    run, said = extended(STATE, {"urlPrefix": url, "filterVerb": "filter"})
    assert "lookup extender.invalid: no such host" in run.run().last["default/p"].error
    assert len(said) == 1


def test_where_nobody_takes_the_call_is_tried_once(extended):
    """A full backlog: connecting takes all the time there is, and would for each pod."""
    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        address = full.getsockname()
        waiting = [socket.socket() for _ in range(4)]
        for one in waiting:
            one.setblocking(False)
            one.connect_ex(address)
        state = cluster(node("a"), *(pod(f"p{i}") for i in range(40)))
        url = f"http://127.0.0.1:{address[1]}"
        run, said = extended(state, {"urlPrefix": url, "filterVerb": "f", "httpTimeout": QUICK})
        found = run.run()
        for one in waiting:
            one.close()
    assert all(TIMEOUT in attempt.error for attempt in found.attempts)
    assert len(said) == 1


def test_an_error_in_the_answer_is_the_pods_error(serve, extended):
    server = serve({"/filter": {"Error": "no more licences"}})
    run, said = extended(STATE, faulty(server, filterVerb="filter"))
    assert run.run().last["default/p"].error == "no more licences"
    assert said == []
    run, said = extended(STATE, faulty(server, filterVerb="filter", ignorable=True))
    assert run.run().placements == {"default/p": "a"}


@pytest.mark.parametrize("by_name", [True, False])
def test_a_node_that_does_not_exist_is_an_error(by_name, serve, extended):
    answer = (
        {"NodeNames": ["z"]} if by_name else {"Nodes": {"items": [{"metadata": {"name": "z"}}]}}
    )
    server = serve({"/filter": answer})
    run, _ = extended(STATE, faulty(server, filterVerb="filter", nodeCacheCapable=by_name))
    assert run.run().last["default/p"].error == (
        f'extender "{server.url}" claims a filtered node "z" '
        "which is not found in the input node list"
    )


def test_a_node_that_was_not_asked_about_is_an_error_by_name_and_fine_as_a_whole(
    serve,
    extended,
):
    state = cluster(node("a"), node("b", cpu="1"), pod("p", cpu="2"))
    server = serve({"/filter": {"NodeNames": ["b"]}})
    run, _ = extended(state, faulty(server, filterVerb="filter"))
    assert '"b" which is not found' in run.run().last["default/p"].error
    server = serve({"/filter": {"Nodes": {"items": [{"metadata": {"name": "b"}}]}}})
    run, _ = extended(state, faulty(server, filterVerb="filter", nodeCacheCapable=False))
    assert run.run().placements == {"default/p": "b"}
