"""Everything that may be read of a cluster, and what is said of the rest."""

import json
from typing import Any

import pytest

from ksched_cli.live.client import ApiServer as Client
from ksched_cli.live.client import ClusterError
from ksched_cli.live.snapshot import ClusterReader, whole_object
from ksched_cli.testing import node, pod
from tests.live.fake_api_server import SERVED, ApiServer
from tests.live.fixtures import Connect, Serve

NODE_LIST = "/api/v1/nodes"
POD_LIST = "/api/v1/pods"
WEB_LIST = "/api/v1/namespaces/web/pods"


@pytest.fixture
def server(serve: Serve) -> ApiServer:
    secret = pod("q", namespace="db")
    secret["spec"]["containers"][0]["env"] = [{"name": "PASSWORD", "value": "hunter2"}]
    return serve(node("n"), pod("p", namespace="web"), secret)


def read(client: Client, **options: Any) -> tuple[list[dict[str, Any]], ClusterReader]:
    reader = ClusterReader(client, **options)
    return [json.loads(item) for objects in reader.lists() for item in objects.items], reader


def names(objects: list[dict[str, Any]]) -> list[str]:
    return [obj["metadata"]["name"] for obj in objects]


def test_objects_have_their_kinds_and_not_their_secrets(
    server: ApiServer, connected: Connect
) -> None:
    objects, reader = read(connected(server))
    assert [obj["kind"] for obj in objects] == ["Node", "Pod", "Pod"]
    assert "hunter2" not in json.dumps(objects)
    assert reader.snapshot.warnings == ()
    assert reader.snapshot.server_version == "v1.34.1"


def test_objects_are_whole_where_that_is_asked_for(server: ApiServer, connected: Connect) -> None:
    objects, _ = read(connected(server), convert=whole_object)
    assert "hunter2" in json.dumps(objects)
    assert [list(obj)[:2] for obj in objects] == [["apiVersion", "kind"]] * 3


def test_of_events_only_those_that_an_audit_reads_are_there_and_only_on_request(
    serve: Serve, connected: Connect
) -> None:
    events = [
        {"apiVersion": "v1", "kind": "Event", "metadata": {"name": reason}, "reason": reason}
        for reason in ("Scheduled", "Killing", "Preempted", "FailedScheduling")
    ]
    served = {**SERVED, "v1": {**SERVED["v1"], "Event": ("events", True)}}
    server = serve(node("n"), *events, served=served)
    objects, _ = read(connected(server), events=True)
    assert names(objects) == ["n", "Scheduled", "Preempted"]
    assert names(read(connected(server))[0]) == ["n"]


def test_the_lists_tell_how_far_they_are_apart(server: ApiServer, connected: Connect) -> None:
    _, reader = read(connected(server))
    versions = [int(entry.resource_version) for entry in reader.snapshot.lists]
    assert reader.snapshot.revisions_apart == versions[-1] - versions[0] > 0


def test_forbidden_kinds_are_a_line_and_the_rest_is_read(
    server: ApiServer, connected: Connect
) -> None:
    storage = "/apis/storage.k8s.io/v1"
    server.faults.refused = {f"{storage}/csinodes": 403, f"{storage}/storageclasses": 403}
    objects, reader = read(connected(server))
    assert len(objects) == 3
    (line,) = reader.snapshot.absences
    assert line.startswith("no right to list StorageClass, CSINode: ksched cannot tell where ")


def test_rights_in_one_namespace_are_enough_for_it(server: ApiServer, connected: Connect) -> None:
    server.faults.refused = {POD_LIST: 403}
    objects, reader = read(connected(server), namespace="web")
    assert names(objects) == ["n", "p"]
    (line,) = reader.snapshot.warnings
    assert line.startswith("listed only in namespace web: Pod: nodes look emptier")
    objects, _ = read(connected(server, namespace="db"))
    assert names(objects) == ["n", "q"]


@pytest.mark.parametrize("status", [403, 404, 500])
@pytest.mark.parametrize("paths", [[POD_LIST, WEB_LIST], [NODE_LIST]])
def test_there_is_no_state_without_nodes_or_pods(
    status: int, paths: list[str], server: ApiServer, connected: Connect
) -> None:
    server.faults.refused = dict.fromkeys(paths, status)
    with pytest.raises(ClusterError, match=rf"has no (Node|Pod)|{status} no access to {paths[0]}"):
        read(connected(server), namespace="web")


def test_a_core_group_without_nodes_is_no_state(serve: Serve, connected: Connect) -> None:
    core = {kind: entry for kind, entry in SERVED["v1"].items() if kind != "Node"}
    with pytest.raises(ClusterError, match=r"the API server at http.* has no Node$"):
        read(connected(serve(served={**SERVED, "v1": core})))


def test_kinds_that_the_server_does_not_have_are_a_warning(
    serve: Serve, connected: Connect
) -> None:
    served = {version: kinds for version, kinds in SERVED.items() if "resource" not in version}
    _, reader = read(connected(serve(node("n"), served=served)))
    (line,) = reader.snapshot.absences
    assert line.startswith("the API server has no ResourceClaim, ResourceClaimTemplate, ")


@pytest.mark.parametrize("path", ["/version", "/apis/policy/v1/poddisruptionbudgets"])
def test_a_server_that_breaks_is_an_error(path: str, server: ApiServer, connected: Connect) -> None:
    server.faults.refused = {path: 500}
    with pytest.raises(ClusterError, match="500 no access"):
        read(connected(server))


def test_a_server_need_not_tell_its_version(server: ApiServer, connected: Connect) -> None:
    server.faults.refused = {"/version": 403}
    assert read(connected(server))[1].snapshot.server_version == ""
