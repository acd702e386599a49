"""What goes out: the wire format, whole objects, kept connections."""

import threading

import pytest

from extenders.servers import everything
from ksched_cli.testing import cluster, node, pod

ODD = {"annotations": {"example.com/note": "kept"}, "resourceVersion": "7"}


def whole_node(name):
    found = node(name, labels={"zone": "a"})
    found["metadata"] |= ODD
    found["status"]["nodeInfo"] = {"kernelVersion": "6.1"}
    return found


def whole_pod(name, **fields):
    found = pod(name, **fields)
    found["metadata"] |= ODD
    found["spec"]["containers"][0]["livenessProbe"] = {"httpGet": {"port": 80}}
    return found


def scores(data):
    return []


def test_a_filter_is_sent_the_pod_and_the_nodes_whole(serve, extended):
    server = serve({"/x/filter": everything})
    state = cluster(whole_node("a"), whole_node("b"), whole_pod("p", cpu="0.5"))
    run, _ = extended(state, {"urlPrefix": f"{server.url}/x/", "filterVerb": "filter"})
    run.run()
    (asked,) = server.asked
    assert asked.headers["Content-Type"] == "application/json"
    assert list(asked.data) == ["Pod", "Nodes", "NodeNames"]
    assert asked.data["NodeNames"] is None
    assert [one["metadata"]["name"] for one in asked.data["Nodes"]["items"]] == ["a", "b"]
    assert asked.data["Nodes"]["items"][0] == whole_node("a")
    sent = asked.data["Pod"]
    assert sent["metadata"]["annotations"] == ODD["annotations"]
    assert sent["spec"]["containers"][0]["livenessProbe"] == {"httpGet": {"port": 80}}
    # What the API server fills in, and quantities as it writes them.
    assert sent["metadata"]["uid"] == "default/p"
    assert (sent["spec"]["priority"], sent["spec"]["schedulerName"]) == (0, "default-scheduler")
    assert sent["spec"]["containers"][0]["resources"] == {"requests": {"cpu": "500m"}}
    assert "nodeName" not in sent["spec"]


def test_an_extender_with_a_cache_is_sent_names(serve, extended):
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
    assert [one.path for one in server.asked] == ["/filter", "/prioritize"]
    for one in server.asked:
        assert (one.data["Nodes"], one.data["NodeNames"]) == (None, ["a", "b"])


def test_requests_follow_limits_and_allocatable_follows_capacity(serve, extended):
    server = serve({"/filter": everything})
    bare = {"kind": "Node", "metadata": {"name": "a"}, "status": {"capacity": {"pods": 9}}}
    container = {"name": "c", "resources": {"limits": {"example.com/gpu": 0}}}
    state = cluster(bare, pod("p", spec={"containers": [container]}))
    run, _ = extended(state, {"urlPrefix": server.url, "filterVerb": "filter"})
    run.run()
    (asked,) = server.asked
    gpu = {"example.com/gpu": "0"}
    sent = asked.data["Pod"]["spec"]["containers"][0]["resources"]
    assert sent == {"limits": gpu, "requests": gpu}
    assert asked.data["Nodes"]["items"][0]["status"]["allocatable"] == {"pods": "9"}
    assert asked.data["Nodes"]["items"][0]["spec"] == {}


def test_nodes_are_asked_about_in_the_order_of_visits(serve, extended):
    zones = {"a": "1", "b": "1", "c": "2"}
    key = "topology.kubernetes.io/zone"
    nodes = [node(name, labels={key: zone}) for name, zone in zones.items()]
    server = serve({"/filter": everything})
    extender = {"urlPrefix": server.url, "filterVerb": "filter", "nodeCacheCapable": True}
    run, _ = extended(cluster(*nodes, pod("p"), pod("q")), extender)
    run.run()
    assert server.asked[0].data["NodeNames"] == ["a", "c", "b"]


def victims_state():
    low = [pod(f"low{i}", cpu="1", node="a", priority=i) for i in range(2)]
    return cluster(node("a", cpu="2"), *low, pod("p", cpu="2", priority=9))


@pytest.mark.parametrize("cached", [True, False])
def test_a_preempter_is_sent_victims_or_their_uids(cached, serve, extended):
    server = serve({"/preempt": lambda data: {}})
    run, _ = extended(
        victims_state(),
        {"urlPrefix": server.url, "preemptVerb": "preempt", "nodeCacheCapable": cached},
    )
    run.run()
    data = server.asked[0].data
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
        assert [one["metadata"]["name"] for one in pods] == ["low1", "low0"]
        assert pods[0]["spec"]["nodeName"] == "a"


def test_a_nomination_is_sent_with_the_pod(serve, extended):
    server = serve({"/filter": everything})
    run, _ = extended(victims_state(), {"urlPrefix": server.url, "filterVerb": "filter"})
    run.run()
    (asked,) = server.asked
    assert asked.data["Pod"]["status"]["nominatedNodeName"] == "a"


def test_a_connection_is_used_again(serve, extended):
    server = serve({"/filter": everything, "/prioritize": scores})
    extender = {
        "urlPrefix": server.url,
        "filterVerb": "filter",
        "prioritizeVerb": "prioritize",
        "weight": 1,
    }
    run, _ = extended(cluster(node("a"), node("b"), *(pod(f"p{i}") for i in range(5))), extender)
    run.run()
    assert len(server.asked) == 10
    assert len({one.connection for one in server.asked}) == 1


def test_prioritizers_are_asked_at_the_same_time(serve, extended):
    """Each answers only once the others have been asked as well."""
    together = threading.Barrier(3, timeout=5)

    def wait(data):
        together.wait()
        return [{"Host": "b", "Score": 1}]

    servers = [serve({"/prioritize": wait}) for _ in range(3)]
    run, said = extended(
        cluster(node("a"), node("b"), pod("p")),
        *({"urlPrefix": one.url, "prioritizeVerb": "prioritize", "weight": 1} for one in servers),
    )
    found = run.run()
    assert said == []
    assert found.placements == {"default/p": "b"}
    assert [len(one.asked) for one in servers] == [1, 1, 1]
