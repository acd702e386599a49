"""A live cluster as a state."""

from ksched_cli.live.snapshot import ClusterReader, live_state, whole_object
from ksched_cli.testing import node, pod
from tests.live.fixtures import Connect, Serve


def test_a_state_has_the_objects_and_the_warnings(serve: Serve, connected: Connect) -> None:
    server = serve(node("n"), pod("p", namespace="web"))
    server.faults.refused = {"/apis/storage.k8s.io/v1/csinodes": 403}
    state = live_state(ClusterReader(connected(server), convert=whole_object), (), "the cluster")
    assert [obj.name for obj in (*state.nodes, *state.pods)] == ["n", "p"]
    assert state.warnings[0].startswith("no right to list CSINode: ")


def test_extenders_get_the_json_of_the_server(serve: Serve, connected: Connect) -> None:
    annotated = node("n")
    annotated["metadata"]["annotations"] = {"acme.example/rack": "7"}
    state = live_state(
        ClusterReader(connected(serve(annotated)), convert=whole_object), (), "the cluster"
    )
    assert b"acme.example/rack" in bytes(state.nodes[0].raw)
