"""Documents of any kind become one state, with nulls and unknown kinds left out."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

import msgspec
import pytest

from ksched_cli.cluster.loading.collector import Collector
from ksched_cli.cluster.loading.load import load_state
from ksched_cli.cluster.loading.sources import Source, documents
from ksched_cli.cluster.state import ClusterState
from ksched_cli.errors import InputError
from ksched_cli.testing import cluster, node, pod


def read(text: str) -> ClusterState:
    return load_state(["-"], BytesIO(text.encode()))


def names(state: ClusterState) -> list[str]:
    return [node.name for node in state.nodes]


def collect(text: str, reads: tuple[str, ...] = ()) -> ClusterState:
    collector = Collector(reads)
    for document in documents(Source("state.yaml", text.encode())):
        collector.add(document)
    return collector.finish()


GROUP = "apiVersion: example.com/v1\nkind: PodGroup\nmetadata: {name: g}\n"


def test_kinds_that_a_plugin_reads_are_kept_as_plain_data() -> None:
    state = collect(GROUP, ("PodGroup.example.com",))
    (group,) = state.others["PodGroup.example.com"]
    assert group["metadata"] == {"name": "g"}
    assert state.skipped == {}
    assert collect(GROUP, ("PodGroup.example.org",)).skipped == {"PodGroup": 1}


def test_a_priority_class_may_follow_its_pods() -> None:
    pod = "kind: Pod\nmetadata: {name: p}\nspec: {priorityClassName: gold}\n"
    gold = "---\nkind: PriorityClass\nmetadata: {name: gold}\nvalue: 7\n"
    assert collect(pod + gold).pods[0].spec.priority == 7
    with pytest.raises(InputError, match='no PriorityClass "gold"'):
        collect(pod)


def test_a_pod_with_nulls_keeps_them_in_what_extenders_get() -> None:
    (pod,) = collect("kind: Pod\nmetadata: {name: p}\nspec: {containers: null}\n").pods
    assert pod.spec.containers == ()
    assert msgspec.json.decode(bytes(pod.raw))["spec"] == {"containers": None}


def test_null_is_the_same_as_absent() -> None:
    state = read(
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
    assert state.nodes[0].metadata.labels == {"gpu": ""}
    assert str(state.nodes[0].status.allocatable["cpu"]) == "0"
    assert state.pods[0].spec.containers == ()


def test_null_in_a_map_is_the_zero_value_of_what_the_map_holds() -> None:
    state = read(
        "apiVersion: resource.k8s.io/v1\nkind: ResourceSlice\nmetadata: {name: s}\n"
        "spec:\n  driver: d\n  pool: {name: p}\n"
        "  devices: [{name: a, capacity: {memory: null}, attributes: {model: null}}]\n"
        "---\n"
        "apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {name: c}\n"
        "spec: {devices: {requests: [{name: r, exactly: {capacity: {requests: null}}}]}}\n"
    )
    (device,) = state.resource_slices["s"].spec.devices
    assert str(device.capacity["memory"].value) == "0"
    assert list(device.attributes) == ["model"]
    (claim,) = state.resource_claims.values()
    (request,) = claim.spec.devices.requests
    assert request.exactly is not None
    assert request.exactly.capacity is not None
    assert request.exactly.capacity.requests == {}


def test_unknown_kinds_are_counted_and_unknown_fields_ignored() -> None:
    state = read(
        "kind: ConfigMap\nmetadata: {name: a}\n"
        "---\nkind: ConfigMap\nmetadata: {name: a}\n"
        "---\nkind: Odd\nitems: {odd: true}\nmetadata: {name: x}\n"
        "---\nkind: Node\nmetadata: {name: a, colour: red}\nmood: good\n"
    )
    assert state.skipped == {"ConfigMap": 2, "Odd": 1}
    assert names(state) == ["a"]


def test_scalars_are_read_as_kubernetes_reads_them() -> None:
    state = read(
        "kind: Pod\nmetadata: {name: p, creationTimestamp: 2026-01-01T00:00:00Z}\n"
        "spec: {hostNetwork: yes, containers: [{resources: {requests: {cpu: 1.5, memory: 1e9}}}]}\n"
    )
    pod = state.pods[0]
    assert pod.metadata.creation_timestamp == "2026-01-01T00:00:00Z"
    assert pod.spec.host_network
    assert pod.spec.containers[0].resources.requests["cpu"].milli_value() == 1500
    assert pod.spec.containers[0].resources.requests["memory"].value() == 10**9


def test_two_pods_of_one_name_in_different_namespaces_are_two_pods(tmp_path: Path) -> None:
    path = tmp_path / "state.yaml"
    path.write_text(
        "kind: PodList\nitems: [{metadata: {name: a}}, {metadata: {name: a, namespace: b}}]"
    )
    assert len(load_state([str(path)]).pods) == 2


@pytest.mark.parametrize(
    ("text", "option"),
    [
        (
            "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n",
            "--config",
        ),
        ("apiVersion: ksched/v1\nkind: Scenario\nchanges: []\n", "--scenario"),
    ],
)
def test_what_another_option_takes_is_no_state(text: str, option: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="does not belong in a cluster state") as caught:
        collect(text)
    assert caught.value.position is not None
    assert option in caught.value.hint
    (tmp_path / "other.yaml").write_text(text)
    assert sum(load_state([str(tmp_path)]).skipped.values()) == 1


def test_an_object_that_is_there_twice_is_read_once_and_said() -> None:
    pod = "kind: Pod\nmetadata: {name: p, uid: u%d}\n---\n"
    node = "kind: Node\nmetadata: {name: a, uid: x}\n---\n"
    state = collect(pod % 1 + pod % 1 + node + node)
    assert (len(state.pods), names(state)) == (1, ["a"])
    assert state.warnings[0] == (
        "2 objects are in the state more than once (same uid); only the first copy "
        "counts: Pod default/p, Node a"
    )
    assert collect(node + node).warnings[0].startswith("1 object is in the state more than once")
    nobody = "kind: Pod\nmetadata: {name: p}\n---\n"
    for text in (pod % 1 + pod % 2, pod % 2 + pod % 1, nobody * 2):
        with pytest.raises(InputError, match="another Pod has this name; remove one of them"):
            collect(text)


def pods_after_many(*last: str, kind: str = "List") -> ClusterState:
    """300 pods of one template, more than are checked one by one, and then others; a line each."""
    pod = '{{"kind":"Pod","apiVersion":"v1","metadata":{{"name":"p{}"}},"spec":{{"priority":0}}}}'
    lines = ",\n".join((*map(pod.format, range(300)), *last))
    return read(f'{{"kind":"{kind}","apiVersion":"v1","items":[\n{lines}\n]}}')


def test_what_is_wrong_is_told_of_the_last_of_many_pods_too() -> None:
    for line, problem in (
        ('{"kind":"Pod","metadata":{"name":"p"},"status":{"phase":7}}', "expected a string, got a"),
        ('{"kind":"Pod","metadata":{"name":"p"},"status":{"startTime":"now"}}', '"now" is not a'),
        ('{"kind":"Pod","metadata":{"name":7}}', "metadata.name: expected a string"),
        ('{"kind":"Pod","metadata":{"name":"p7"},"spec":{"priority":0}}', "another Pod has this"),
        ('{"kind":"Pod","metadata":{},"spec":{"priority":0}}', "expected a name"),
        ('{"kind":"Pod","metadata":{"name":"p"},"spec":{"priorityClassName":"x"}}', "no Priority"),
        ('{"metadata":{"name":"p"}}', "kind is missing"),
    ):
        with pytest.raises(InputError, match=problem) as info:
            pods_after_many(line)
        assert info.value.position is not None
        assert info.value.position.line == 302


def test_the_last_of_many_pods_is_read_as_the_first() -> None:
    created, deleted = "2026-01-01T01:00:00+01:00", "2026-01-02T00:00:00Z"
    times = f'"creationTimestamp":"{created}","deletionTimestamp":"{deleted}"'
    meta = f'"metadata":{{"name":"p","labels":{{"a":"b"}},{times}}}'
    status = '"status":{"phase":"Running","startTime":"2026-01-01T01:00:00.5+01:00"}'
    last = f'{{"kind":"Pod",{meta},"spec":{{"nodeName":"n"}},{status}}}'
    many, alone = pods_after_many(last).pods[-1], read(last).pods[0]
    assert (many.metadata, many.status, many.node_name) == (
        alone.metadata,
        alone.status,
        alone.node_name,
    )
    assert many.metadata.creation_timestamp == "2026-01-01T00:00:00Z"
    assert bytes(many.raw) == last.encode()


def test_objects_among_many_pods_are_of_their_own_kinds() -> None:
    other = '{"kind":"Pod","apiVersion":"example.com/v1","metadata":{"name":"x"}}'
    node = '{"kind":"Node","apiVersion":"v1","metadata":{"name":"n"}}'
    state = pods_after_many(other, node, '{"kind":"Pod","metadata":{"name":"p","namespace":"b"}}')
    assert names(state) == ["n"]
    assert state.skipped == {"Pod": 1}
    assert len(state.pods) == 301
    implied = pods_after_many('{"metadata":{"name":"p"},"spec":{"priority":0}}', kind="PodList")
    assert implied.pods[-1].key == "default/p"


def test_a_field_that_only_the_last_of_many_pods_has_is_looked_at() -> None:
    last = '{"kind":"Pod","metadata":{"name":"p"},"spec":{"priority":0,"hostNetwrk":true}}'
    (warning,) = (line for line in pods_after_many(last).warnings if "unknown field" in line)
    assert "standard input:302:" in warning
    assert "hostNetwrk; did you mean hostNetwork?" in warning


def test_a_generate_name_makes_names_that_differ() -> None:
    objects = [pod("task-bbbbb")]
    for kind in ("Pod", "Pod", "Node", "Node"):
        manifest = pod("") if kind == "Pod" else node("")
        manifest["metadata"] = {"generateName": "task-"}
        objects.append(manifest)
    state = cluster(*objects)
    assert [each.key for each in state.pods] == [
        "default/task-bbbbb",
        "default/task-bbbbc",
        "default/task-bbbbd",
    ]
    assert [each.name for each in state.nodes] == ["task-bbbbb", "task-bbbbc"]
    assert msgspec.json.decode(bytes(state.pods[1].raw))["metadata"]["name"] == "task-bbbbc"
