"""A state that lacks what its pods need is warned about, and only then."""

from __future__ import annotations

from typing import Any

import pytest

from ksched_cli.cluster.loading.state_warnings import skipped_warnings
from tests.cluster.build import manifest, state

NODE = {"kind": "Node", "metadata": {"name": "n"}, "status": {"capacity": {"cpu": "1"}}}
CLAIM_USE: dict[str, Any] = {
    "volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]
}


def affinity(selector: dict[str, Any]) -> dict[str, Any]:
    term = {"topologyKey": "zone", "namespaceSelector": selector}
    return {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def owned(kind: str) -> dict[str, Any]:
    pod = manifest()
    pod["metadata"]["ownerReferences"] = [{"kind": kind, "name": "o", "controller": True}]
    return pod


def claim(**spec: Any) -> dict[str, Any]:
    return {"kind": "PersistentVolumeClaim", "metadata": {"name": "c"}, "spec": spec}


def volume(**spec: Any) -> dict[str, Any]:
    return {"kind": "PersistentVolume", "metadata": {"name": "v"}, "spec": spec}


def asking(name: str = "p", node: str = "", **fields: Any) -> dict[str, Any]:
    requests = {"resources": {"requests": fields.pop("requests", {})}}
    where: dict[str, Any] = {"nodeName": node} if node else {}
    return manifest(name, containers=[{"name": "c", **requests}], **fields, **where)


def required(*terms: list[dict[str, Any]]) -> dict[str, Any]:
    selector = {"nodeSelectorTerms": [{"matchExpressions": term} for term in terms]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": selector}}


def has(key: str, operator: str = "Exists") -> list[dict[str, Any]]:
    return [{"key": key, "operator": operator, **({"values": ["1"]} if operator == "In" else {})}]


OFFERING = {
    "kind": "Node",
    "metadata": {"name": "n", "labels": {"gpu-card-model": "a"}},
    "status": {"capacity": {"cpu": "1", "nvidia.com/gpu": "8"}},
}


@pytest.mark.parametrize(
    ("objects", "warnings"),
    [
        (
            [asking(requests={"nvidia.com/gpus": "1"}), asking("b", requests={"a.com/b": "2"})],
            [
                "no node has the resource a.com/b, and 1 pending pod requests it",
                "no node has the resource nvidia.com/gpus, and 1 pending pod requests it;"
                ' did you mean "nvidia.com/gpu"?',
            ],
        ),
        (
            [asking(name, affinity=required(has("gpu-model", "In"))) for name in "ab"],
            [
                "no node has the label gpu-model, and 2 pending pods require it;"
                ' did you mean "gpu-card-model"?'
            ],
        ),
        (
            [asking(nodeSelector={"disk": "ssd"})],
            ["no node has the label disk, and 1 pending pod requires it"],
        ),
        ([asking(requests={"nvidia.com/gpu": "1", "cpu": "2", "memory": "1Gi"})], []),
        ([asking(requests={"a.com/b": "0"})], []),
        ([asking(node="n", requests={"a.com/b": "1"})], []),
        ([asking(nodeSelector={"gpu-card-model": "z"})], []),
        ([asking(affinity=required(has("x", "DoesNotExist")))], []),
        ([asking(affinity=required(has("x"), has("gpu-card-model")))], []),
        (
            [
                {"kind": "DeviceClass", "metadata": {"name": "gpus"},
                 "spec": {"extendedResourceName": "a.com/gpu"}},
                asking("a", requests={"a.com/gpu": "1"}),
                asking("b", requests={"deviceclass.resource.kubernetes.io/gpus": "1"}),
            ],
            [],
        ),
    ],
)  # fmt: skip
def test_what_pods_ask_for_and_no_node_has(
    objects: list[dict[str, Any]], warnings: list[str]
) -> None:
    loaded = state(OFFERING, *objects)
    assert [line for line in loaded.warnings if line.startswith("no node has the")] == warnings


@pytest.mark.parametrize(
    ("objects", "begins", "names"),
    [
        (
            [manifest("a", nodeName="x"), manifest("b", nodeName="x"), manifest("c", nodeName="n")],
            "2 pods bound to 1 node not in the state (x)",
            "left out",
        ),
        (
            [manifest(), *({"kind": "Node", "metadata": {"name": name}} for name in "abcd")],
            "4 nodes without status.allocatable and status.capacity (a, b, c, …)",
            "no pod fits there",
        ),
        (
            [
                {"kind": "Namespace", "metadata": {"name": "other"}},
                manifest(affinity=affinity({"matchLabels": {"a": "b"}})),
            ],
            "1 namespace of pods not in the state (default)",
            "InterPodAffinity",
        ),
        ([manifest(**CLAIM_USE)], "no PersistentVolumeClaims", "volume plugins"),
        (
            [manifest(**CLAIM_USE), claim(volumeName="v")],
            "no PersistentVolumes",
            "volume plugins",
        ),
        (
            [manifest(**CLAIM_USE), claim(storageClassName="s")],
            "no StorageClasses",
            "VolumeBinding",
        ),
        (
            [manifest(**CLAIM_USE), claim(volumeName="v"), volume(csi={"driver": "d"})],
            "no CSINodes",
            "NodeVolumeLimits",
        ),
        (
            [manifest(affinity=affinity({"matchLabels": {"a": "b"}}))],
            "no Namespaces",
            "InterPodAffinity",
        ),
        ([manifest(priorityClassName="gold", priority=5)], "no PriorityClasses", "preempt"),
        ([owned("ReplicaSet")], "no ReplicaSets", "PodTopologySpread"),
    ],
    ids=lambda value: value if isinstance(value, str) and value.startswith("no ") else "",
)
def test_one_line_says_what_is_missing_and_what_it_weakens(
    objects: list[dict[str, Any]], begins: str, names: str
) -> None:
    (warning,) = state(NODE, *objects).warnings
    assert warning.startswith(begins)
    assert names in warning
    assert "\n" not in warning


def test_each_kind_that_devices_need_gets_its_line() -> None:
    claims = [{"name": "gpu", "resourceClaimName": "c"}]
    warnings = state(NODE, manifest(resourceClaims=claims)).warnings
    assert [line.split()[1] for line in warnings] == [
        "ResourceClaims",
        "ResourceSlices",
        "DeviceClasses",
    ]


@pytest.mark.parametrize(
    "objects",
    [
        [manifest()],
        [manifest(affinity=affinity({}))],
        [
            {"kind": "Namespace", "metadata": {"name": "default"}},
            manifest(affinity=affinity({"matchLabels": {"a": "b"}})),
        ],
        [manifest(status={"phase": "Succeeded"}, nodeName="gone", **CLAIM_USE)],
        [manifest(priorityClassName="system-node-critical")],
        [owned("DaemonSet")],
        [
            manifest(**CLAIM_USE),
            claim(volumeName="v", storageClassName="s"),
            volume(local={"path": "/x"}),
        ],
    ],
    ids=[
        "plain",
        "all namespaces",
        "its namespace",
        "finished",
        "system class",
        "daemon",
        "complete",
    ],
)
def test_a_state_that_has_what_its_pods_need_is_not_warned_about(
    objects: list[dict[str, Any]],
) -> None:
    assert state(NODE, *objects).warnings == ()


@pytest.mark.parametrize(
    ("objects", "begins"),
    [
        ([], "no Nodes and no Pods in the state"),
        ([NODE], "no Pods in the state"),
        ([manifest()], "no Nodes in the state"),
    ],
)
def test_a_state_without_nodes_or_pods_says_so(objects: list[dict[str, Any]], begins: str) -> None:
    (warning,) = state(*objects).warnings
    assert warning.startswith(begins)


def test_the_kinds_that_are_skipped_are_not_longer_than_a_person_reads() -> None:
    (line,) = skipped_warnings({"9" * 5000: 1})
    assert line.startswith("skipped kinds that no plugin reads: 1 999")
    assert len(line) < 3000


@pytest.mark.parametrize(
    ("name", "value", "problem"),
    [
        ("high", 2_000_000_000, "its value 2000000000 is above 1000000000"),
        ("system-mine", 5, "names that begin with system- are reserved"),
        ("system-node-critical", 5, "names that begin with system- are reserved"),
        ("high", 1_000_000_000, ""),
        ("system-node-critical", 2_000_001_000, ""),
    ],
)
def test_priority_classes_that_no_api_server_accepts_are_warned_of(
    name: str, value: int, problem: str
) -> None:
    priority_class = {"kind": "PriorityClass", "metadata": {"name": name}, "value": value}
    warnings = state(NODE, manifest(), priority_class).warnings
    line = f"PriorityClass {name}: an API server refuses it: {problem}"
    assert warnings == ((line,) if problem else ())
