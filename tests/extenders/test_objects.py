"""Pods and nodes are sent whole, with what the API server and the scheduler fill in."""

import json
from typing import Any

from ksched_cli.cluster.objects import Node, ObjectMeta, Pod
from ksched_cli.cluster.pod_info import PodCatalog
from ksched_cli.extenders.wire import NodeJsonCache, pod_json
from ksched_cli.testing import cluster, node, pod
from tests.extenders.fixtures import Extended, Serve
from tests.extenders.servers import everything

ODD = {"annotations": {"example.com/note": "kept"}, "resourceVersion": "7"}


def whole_node(name: str) -> dict[str, Any]:
    manifest = node(name, labels={"zone": "a"})
    manifest["metadata"] |= ODD
    manifest["status"]["nodeInfo"] = {"kernelVersion": "6.1"}
    return manifest


def whole_pod(name: str, **fields: Any) -> dict[str, Any]:
    manifest = pod(name, **fields)
    manifest["metadata"] |= ODD
    manifest["spec"]["containers"][0]["livenessProbe"] = {"httpGet": {"port": 80}}
    return manifest


def test_a_filter_is_sent_the_pod_and_the_nodes_whole(serve: Serve, extended: Extended) -> None:
    server = serve({"/x/filter": everything})
    state = cluster(whole_node("a"), whole_node("b"), whole_pod("p", cpu="0.5"))
    run, _ = extended(state, {"urlPrefix": f"{server.url}/x/", "filterVerb": "filter"})
    run.run()
    (call,) = server.calls
    assert call.headers["Content-Type"] == "application/json"
    assert list(call.data) == ["Pod", "Nodes", "NodeNames"]
    assert call.data["NodeNames"] is None
    assert [item["metadata"]["name"] for item in call.data["Nodes"]["items"]] == ["a", "b"]
    assert call.data["Nodes"]["items"][0] == whole_node("a")
    sent = call.data["Pod"]
    assert sent["metadata"]["annotations"] == ODD["annotations"]
    assert sent["spec"]["containers"][0]["livenessProbe"] == {"httpGet": {"port": 80}}
    # What the API server fills in, and quantities as it writes them.
    assert sent["metadata"]["uid"] == "default/p"
    assert (sent["spec"]["priority"], sent["spec"]["schedulerName"]) == (0, "default-scheduler")
    assert sent["spec"]["containers"][0]["resources"] == {"requests": {"cpu": "500m"}}
    assert "nodeName" not in sent["spec"]


def test_requests_follow_limits_and_allocatable_follows_capacity(
    serve: Serve, extended: Extended
) -> None:
    server = serve({"/filter": everything})
    bare = {"kind": "Node", "metadata": {"name": "a"}, "status": {"capacity": {"pods": 9}}}
    container = {"name": "c", "resources": {"limits": {"example.com/gpu": 0}}}
    state = cluster(bare, pod("p", spec={"containers": [container]}))
    run, _ = extended(state, {"urlPrefix": server.url, "filterVerb": "filter"})
    run.run()
    (call,) = server.calls
    gpu = {"example.com/gpu": "0"}
    sent = call.data["Pod"]["spec"]["containers"][0]["resources"]
    assert sent == {"limits": gpu, "requests": gpu}
    assert call.data["Nodes"]["items"][0]["status"]["allocatable"] == {"pods": "9"}
    assert call.data["Nodes"]["items"][0]["spec"] == {}


def test_the_json_of_a_node_is_made_once() -> None:
    (first, second), cache = cluster(node("a"), node("b")).nodes, NodeJsonCache()
    assert cache.of(first) is cache.of(first)
    assert json.loads(bytes(cache.of(second)))["metadata"]["name"] == "b"


def test_where_a_pod_runs_or_is_nominated_is_sent_in_place_of_what_the_file_says() -> None:
    (running,) = cluster(node("a"), pod("p", node="a")).pods
    data = json.loads(bytes(pod_json(PodCatalog().info(running), "b", "c")))
    assert data["spec"]["nodeName"] == "b"
    assert data["status"]["nominatedNodeName"] == "c"
    data = json.loads(bytes(pod_json(PodCatalog().info(running))))
    assert "nodeName" not in data["spec"]
    assert "nominatedNodeName" not in data["status"]


def test_objects_that_no_file_holds_are_sent_with_all_three_parts() -> None:
    bare = Pod(ObjectMeta("p", "web", "uid-1"))
    data = json.loads(bytes(pod_json(PodCatalog().info(bare))))
    assert (data["metadata"]["namespace"], data["metadata"]["uid"]) == ("web", "uid-1")
    assert isinstance(data["spec"], dict)
    assert isinstance(data["status"], dict)
    data = json.loads(bytes(NodeJsonCache().of(Node(ObjectMeta("n")))))
    assert data["metadata"]["name"] == "n"
