"""States are read from files, folders and standard input, as kubectl prints them or by hand."""

from __future__ import annotations

import json
from io import BytesIO
from pathlib import Path

import msgspec
import pytest

from ksched_cli.cluster.loading.load import default_state_path, load_state
from ksched_cli.cluster.objects import Pod
from ksched_cli.cluster.state import ClusterState
from ksched_cli.errors import InputError, UsageError
from tests.cluster.build import manifest, state


def read(text: str) -> ClusterState:
    return load_state(["-"], BytesIO(text.encode()))


def names(found: ClusterState) -> list[str]:
    return [node.name for node in found.nodes]


NODE = '{"kind": "Node", "metadata": {"name": "%s"}}'
A, B = NODE % "a", NODE % "b"
YAML_A, YAML_B = "{kind: Node, metadata: {name: a}}", "{kind: Node, metadata: {name: b}}"


@pytest.mark.parametrize(
    "text",
    [
        "kind: Node\nmetadata: {name: a}\n---\n---\nkind: Node\nmetadata: {name: b}\n",
        f"kind: List\nitems:\n- {YAML_A}\n- {YAML_B}\n",
        "apiVersion: v1\nkind: NodeList\nitems:\n- metadata: {name: a}\n- metadata: {name: b}\n",
        f'{{"kind": "List", "items": [{A}, {B}]}}',
        f"{A}\n{B}\n",
        f"\ufeff{A}{B}",
        f'{{"kind": "List", "items": [{{"kind": "NodeList", "items": [{A}]}}, {B}]}}',
    ],
    ids=["documents", "list", "typed list", "JSON list", "JSON lines", "byte order mark", "nested"],
)
def test_the_same_objects_come_out_of_every_form(text: str) -> None:
    assert names(read(text)) == ["a", "b"]


def test_a_folder_gives_its_files_in_order_of_name(tmp_path: Path) -> None:
    (tmp_path / "2.json").write_text(NODE % "b")
    (tmp_path / "1.yml").write_text(NODE % "a")
    (tmp_path / "0.txt").write_text("no state")
    (tmp_path / "deeper").mkdir()
    (tmp_path / "deeper" / "3.yaml").write_text(NODE % "c")
    assert names(load_state([str(tmp_path)])) == ["a", "b"]


def test_several_paths_make_one_state(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(NODE % "a")
    paths = [str(tmp_path / "a.json"), "-"]
    assert names(load_state(paths, BytesIO((NODE % "b").encode()))) == ["a", "b"]


def test_without_a_path_the_variable_counts_then_a_file_that_lies_here(tmp_path: Path) -> None:
    assert default_state_path({"KSCHED_STATE": "x.yaml"}, tmp_path) == "x.yaml"
    (tmp_path / "cluster.json").write_text("{}")
    assert default_state_path({}, tmp_path) == str(tmp_path / "cluster.json")
    (tmp_path / "cluster.yaml").write_text("")
    assert default_state_path({}, tmp_path) == str(tmp_path / "cluster.yaml")


def test_where_there_is_no_state_the_error_says_what_was_looked_for(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"KSCHED_STATE.*cluster\.yaml, cluster\.yml, cluster"):
        default_state_path({}, tmp_path)


def test_null_is_the_same_as_absent() -> None:
    found = read(
        "kind: Node\n"
        "metadata: {name: a, creationTimestamp: null, labels: {gpu: null}}\n"
        "spec: {taints: null}\n"
        "status: {capacity: {cpu: null}}\n"
        "---\n"
        "kind: Pod\n"
        "metadata: {name: p, labels: null}\n"
        "spec: {containers: null, nodeSelector: null, priority: null}\n"
        "status: null\n"
        "---\n"
        "kind: PodList\n"
        "items: null\n"
    )
    assert found.nodes[0].metadata.labels == {"gpu": ""}
    assert str(found.nodes[0].status.allocatable["cpu"]) == "0"
    assert found.pods[0].spec.containers == ()


def test_unknown_kinds_are_counted_and_unknown_fields_ignored() -> None:
    found = read(
        "kind: ConfigMap\nmetadata: {name: a}\n"
        "---\nkind: ConfigMap\nmetadata: {name: a}\n"
        "---\nkind: Odd\nitems: {odd: true}\nmetadata: {name: x}\n"
        "---\nkind: Node\nmetadata: {name: a, colour: red}\nmood: good\n"
    )
    assert found.skipped == {"ConfigMap": 2, "Odd": 1}
    assert names(found) == ["a"]


def test_a_kind_of_the_same_name_in_another_group_is_not_ours() -> None:
    service = {"kind": "Service", "metadata": {"name": "s"}}
    found = state(
        {**service, "apiVersion": "serving.knative.dev/v1", "spec": {"template": {}}},
        {**service, "apiVersion": "v1"},
    )
    assert list(found.services) == [("default", "s")]
    assert found.skipped == {"Service": 1}


def test_scalars_are_read_as_kubernetes_reads_them() -> None:
    found = read(
        "kind: Pod\nmetadata: {name: p, creationTimestamp: 2026-01-01T00:00:00Z}\n"
        "spec: {hostNetwork: yes, containers: [{resources: {requests: {cpu: 1.5, memory: 1e9}}}]}\n"
    )
    pod = found.pods[0]
    assert pod.metadata.creation_timestamp == "2026-01-01T00:00:00Z"
    assert pod.spec.host_network
    assert pod.spec.containers[0].resources.requests["cpu"].milli_value() == 1500
    assert pod.spec.containers[0].resources.requests["memory"].value() == 10**9


def test_times_are_brought_into_one_form() -> None:
    pod = manifest(status={"startTime": "2026-01-01T02:00:00+02:00"})
    pod["metadata"]["creationTimestamp"] = "2026-01-01T00:00:00.25Z"
    found = state(pod).pods[0]
    assert found.metadata.creation_timestamp == "2026-01-01T00:00:00Z"
    assert found.status.start_time == "2026-01-01T00:00:00Z"


def test_pods_of_one_template_share_spec_and_labels_wherever_they_are_bound() -> None:
    pods = []
    for index, node in enumerate(["", "n1", "n2"]):
        pod = manifest(
            f"p{index}",
            **({"nodeName": node} if node else {}),
            volumes=[{"name": f"kube-api-access-abcd{index}"}],
            priority=0,
        )
        pod["metadata"]["labels"] = {"app": "web"}
        pods.append(pod)
    free, first, second = state(*pods).pods
    assert first.spec is second.spec
    assert first.metadata.labels is second.metadata.labels is free.metadata.labels
    assert [pod.node_name for pod in (free, first, second)] == ["", "n1", "n2"]


def test_a_node_selector_with_a_key_named_node_name_is_not_cut_out() -> None:
    selecting = manifest("a", nodeSelector={"nodeName": "x"})
    both = manifest("b", nodeSelector={"nodeName": "x"}, nodeName="x")
    one, two = state(selecting, both).pods
    assert (one.node_name, one.spec.node_selector) == ("", {"nodeName": "x"})
    assert (two.node_name, two.spec.node_selector) == ("x", {"nodeName": "x"})


def test_extenders_get_pods_and_nodes_as_they_came() -> None:
    node = {"kind": "Node", "metadata": {"name": "n"}, "status": {"podCIDR": "10.0.0.0/8"}}
    pod = {**manifest(nodeName="n", hostname="h"), "own": [1, None]}
    found = state(node, pod)
    assert msgspec.json.decode(found.pods[0].raw) == pod
    assert msgspec.json.decode(found.nodes[0].raw) == node


def test_yaml_gives_extenders_json() -> None:
    found = read("kind: Pod\nmetadata: {name: p}\nspec: {hostname: h}\n")
    assert json.loads(bytes(found.pods[0].raw))["spec"] == {"hostname": "h"}


def test_older_device_objects_are_brought_into_todays_shape() -> None:
    claim = {"devices": {"requests": [{"name": "r", "deviceClassName": "gpu"}]}}
    found = state(
        {
            "apiVersion": "resource.k8s.io/v1beta1",
            "kind": "ResourceSlice",
            "metadata": {"name": "s"},
            "spec": {"devices": [{"name": "d", "basic": {"capacity": {"m": {"value": "1Gi"}}}}]},
        },
        {
            "apiVersion": "resource.k8s.io/v1beta1",
            "kind": "ResourceClaim",
            "metadata": {"name": "c"},
            "spec": claim,
        },
    )
    device = found.resource_slices["s"].spec.devices[0]
    assert str(device.capacity["m"].value) == "1Gi"
    request = found.resource_claims["default", "c"].spec.devices.requests[0]
    assert request.exactly is not None
    assert (request.exactly.device_class_name, request.exactly.count) == ("gpu", 1)


@pytest.mark.parametrize(("phase", "finished"), [("Succeeded", True), ("Running", False)])
def test_a_finished_pod_is_known_by_its_phase(phase: str, finished: bool) -> None:
    pod: Pod = state(manifest(status={"phase": phase})).pods[0]
    assert pod.finished is finished


def test_a_missing_file_and_an_empty_folder_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        load_state([str(tmp_path / "gone.yaml")])
    with pytest.raises(InputError, match=r"holds no \.yaml"):
        load_state([str(tmp_path)])
