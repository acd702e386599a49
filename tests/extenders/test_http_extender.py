"""What an extender is sent, and what its responses and failures mean for a pod.

Whatever an extender does, a run ends in time, and by kube-scheduler's rules.
"""

import threading
from dataclasses import dataclass
from typing import Any

import pytest

from ksched_cli.cluster.state import ClusterState
from ksched_cli.testing import cluster, node, pod
from tests.extenders.failures import FAILURES, PATIENT, SLOW
from tests.extenders.fixtures import Extended, Serve
from tests.extenders.servers import Server, everything


def scores(data: dict[str, Any]) -> list[Any]:
    return []


STATE = cluster(node("a"), node("b"), pod("p"))


def failing(server: Server, timeout: str = PATIENT, **fields: Any) -> dict[str, Any]:
    return {"urlPrefix": server.url, "httpTimeout": timeout, "nodeCacheCapable": True, **fields}


@dataclass(frozen=True)
class Failure:
    """A server that fails, and the message that names the failure."""

    server: Server
    message: str
    timeout: str

    def extender(self, **fields: Any) -> dict[str, Any]:
        return failing(self.server, self.timeout, **fields)


@pytest.fixture(params=FAILURES)
def failure(request: pytest.FixtureRequest, serve: Serve) -> Failure:
    answer, message = FAILURES[request.param]
    server = serve({"/verb": answer})
    timeout = SLOW.get(request.param, PATIENT)
    return Failure(server, message.format(url=server.url), timeout)


def test_a_filter_that_fails_fails_the_pod(failure: Failure, extended: Extended) -> None:
    run, warnings = extended(STATE, failure.extender(filterVerb="verb"))
    record = run.run()
    assert failure.message in record.last["default/p"].error
    assert record.pending == ("default/p",)
    assert len(warnings) == 1
    assert failure.server.url in warnings[0]


def test_a_filter_that_may_be_ignored_is(failure: Failure, extended: Extended) -> None:
    run, warnings = extended(STATE, failure.extender(filterVerb="verb", ignorable=True))
    assert run.run().placements == {"default/p": "a"}
    assert len(warnings) == 1


def test_a_prioritizer_that_fails_gives_no_scores(failure: Failure, extended: Extended) -> None:
    run, warnings = extended(STATE, failure.extender(prioritizeVerb="verb", weight=1))
    record = run.run()
    scores = record.last["default/p"].detail.scores
    assert scores
    assert all(failure.server.url not in by_source for by_source in scores.values())
    assert len(warnings) == 1
    assert record.placements == {"default/p": "a"}


def test_a_preempter_that_fails_leaves_the_pod_pending(
    failure: Failure, extended: Extended
) -> None:
    state = cluster(
        node("a", cpu="1"), pod("low", cpu="1", node="a"), pod("p", cpu="1", priority=9)
    )
    run, _ = extended(state, failure.extender(preemptVerb="verb"))
    record = run.run()
    assert failure.message in record.last["default/p"].message
    assert record.evicted == ()


def test_a_preempter_that_may_be_ignored_is(failure: Failure, extended: Extended) -> None:
    state = cluster(
        node("a", cpu="1"), pod("low", cpu="1", node="a"), pod("p", cpu="1", priority=9)
    )
    run, _ = extended(state, failure.extender(preemptVerb="verb", ignorable=True))
    assert run.run().placements == {"default/p": "a"}


def test_a_binder_that_fails_leaves_the_pod_pending(failure: Failure, extended: Extended) -> None:
    run, _ = extended(STATE, failure.extender(bindVerb="verb"), bind=True)
    record = run.run()
    assert failure.message in record.last["default/p"].error
    assert record.pending == ("default/p",)
    assert run.snapshot.pod_count.sum() == 0


def test_an_error_in_the_answer_is_the_pods_error(serve: Serve, extended: Extended) -> None:
    server = serve({"/filter": {"Error": "no more licences"}})
    run, warnings = extended(STATE, failing(server, filterVerb="filter"))
    assert run.run().last["default/p"].error == "no more licences"
    assert warnings == []
    run, warnings = extended(STATE, failing(server, filterVerb="filter", ignorable=True))
    assert run.run().placements == {"default/p": "a"}


def test_a_node_that_is_named_twice_counts_twice(serve: Serve, extended: Extended) -> None:
    """Upstream keeps both: more than one node is left, so that they are scored."""
    server = serve({"/filter": {"NodeNames": ["b", "b"]}})
    run, warnings = extended(STATE, failing(server, filterVerb="filter"))
    attempt = run.run().last["default/p"]
    assert (attempt.node, attempt.ties, warnings) == ("b", ("b", "b"), [])


@pytest.mark.parametrize("by_name", [True, False])
def test_a_node_that_does_not_exist_is_an_error(
    by_name: bool, serve: Serve, extended: Extended
) -> None:
    answer = (
        {"NodeNames": ["z"]} if by_name else {"Nodes": {"items": [{"metadata": {"name": "z"}}]}}
    )
    server = serve({"/filter": answer})
    run, _ = extended(STATE, failing(server, filterVerb="filter", nodeCacheCapable=by_name))
    assert run.run().last["default/p"].error == (
        f'extender "{server.url}" claims a filtered node "z" '
        "which is not found in the input node list"
    )


def test_a_node_that_was_not_asked_about_is_an_error_by_name_and_fine_as_a_whole(
    serve: Serve,
    extended: Extended,
) -> None:
    state = cluster(node("a"), node("b", cpu="1"), pod("p", cpu="2"))
    server = serve({"/filter": {"NodeNames": ["b"]}})
    run, _ = extended(state, failing(server, filterVerb="filter"))
    assert '"b" which is not found' in run.run().last["default/p"].error
    server = serve({"/filter": {"Nodes": {"items": [{"metadata": {"name": "b"}}]}}})
    run, _ = extended(state, failing(server, filterVerb="filter", nodeCacheCapable=False))
    assert run.run().placements == {"default/p": "b"}


def test_an_extender_with_a_cache_is_sent_names(serve: Serve, extended: Extended) -> None:
    server = serve({"/filter": everything, "/prioritize": scores})
    run, _ = extended(
        cluster(node("a"), node("b"), pod("p")),
        {
            "urlPrefix": server.url,
            "filterVerb": "filter",
            "prioritizeVerb": "prioritize",
            "weight": 1,
            "nodeCacheCapable": True,
        },
    )
    run.run()
    assert [call.path for call in server.calls] == ["/filter", "/prioritize"]
    for call in server.calls:
        assert (call.data["Nodes"], call.data["NodeNames"]) == (None, ["a", "b"])


def test_nodes_are_asked_about_in_the_order_of_visits(serve: Serve, extended: Extended) -> None:
    zones = {"a": "1", "b": "1", "c": "2"}
    key = "topology.kubernetes.io/zone"
    nodes = [node(name, labels={key: zone}) for name, zone in zones.items()]
    server = serve({"/filter": everything})
    extender = {"urlPrefix": server.url, "filterVerb": "filter", "nodeCacheCapable": True}
    run, _ = extended(cluster(*nodes, pod("p"), pod("q")), extender)
    run.run()
    assert server.calls[0].data["NodeNames"] == ["a", "c", "b"]


def victims_state() -> ClusterState:
    low = [pod(f"low{i}", cpu="1", node="a", priority=i) for i in range(2)]
    return cluster(node("a", cpu="2"), *low, pod("p", cpu="2", priority=9))


@pytest.mark.parametrize("cached", [True, False])
def test_a_preempter_is_sent_victims_or_their_uids(
    cached: bool, serve: Serve, extended: Extended
) -> None:
    server = serve({"/preempt": lambda data: {}})
    run, _ = extended(
        victims_state(),
        {"urlPrefix": server.url, "preemptVerb": "preempt", "nodeCacheCapable": cached},
    )
    run.run()
    data = server.calls[0].data
    assert list(data) == ["Pod", "NodeNameToVictims", "NodeNameToMetaVictims"]
    absent, there = "NodeNameToVictims", "NodeNameToMetaVictims"
    if not cached:
        absent, there = there, absent
    assert data[absent] is None
    assert data[there]["a"]["NumPDBViolations"] == 0
    pods = data[there]["a"]["Pods"]
    if cached:
        assert pods == [{"UID": "default/low1"}, {"UID": "default/low0"}]
    else:
        assert [call["metadata"]["name"] for call in pods] == ["low1", "low0"]
        assert pods[0]["spec"]["nodeName"] == "a"


def test_prioritizers_are_asked_at_the_same_time(serve: Serve, extended: Extended) -> None:
    """Each answers only once the others have been asked as well."""
    together = threading.Barrier(3)

    def wait(data: dict[str, Any]) -> list[dict[str, Any]]:
        together.wait()
        return [{"Host": "b", "Score": 1}]

    servers = [serve({"/prioritize": wait}) for _ in range(3)]
    run, warnings = extended(
        cluster(node("a"), node("b"), pod("p")),
        *(
            {"urlPrefix": server.url, "prioritizeVerb": "prioritize", "weight": 1}
            for server in servers
        ),
    )
    record = run.run()
    assert warnings == []
    assert record.placements == {"default/p": "b"}
    assert [len(server.calls) for server in servers] == [1, 1, 1]


def test_a_nomination_is_sent_with_the_pod(serve: Serve, extended: Extended) -> None:
    server = serve({"/filter": everything})
    run, _ = extended(victims_state(), {"urlPrefix": server.url, "filterVerb": "filter"})
    run.run()
    (call,) = server.calls
    assert call.data["Pod"]["status"]["nominatedNodeName"] == "a"
