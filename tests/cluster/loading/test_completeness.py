"""A state says what it lacks of the cluster that it was read from, unless somebody wrote it by
hand."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from ksched_cli.cluster.loading.load import load_state
from ksched_cli.cluster.loading.state_warnings import budget_warnings, part_warnings
from tests import messy
from tests.cluster.build import state

ROOT = Path(__file__).parents[3]
Manifests = Sequence[dict[str, Any]]
NO_BUDGETS = {"kind": "PodDisruptionBudgetList", "apiVersion": "policy/v1", "items": []}


def signs(objects: Manifests) -> str:
    return " ".join(part_warnings(state(*objects)))


def test_a_whole_dump_is_no_part_of_a_cluster(tmp_path: Path) -> None:
    assert not signs(messy.objects())
    assert not signs(messy.of_kinds("Node", "Pod"))
    assert not list(part_warnings(load_state([str(messy.write_dump(tmp_path))])))


@pytest.mark.parametrize(
    "path",
    [
        *sorted((ROOT / "examples").rglob("cluster.yaml")),
        *sorted((ROOT / "tests" / "conformance" / "cases").rglob("state.yaml"))[::20],
    ],
    ids=lambda path: str(path.relative_to(ROOT)),
)
def test_what_somebody_wrote_by_hand_is_not_judged(path: Path) -> None:
    written = load_state([str(path)])
    assert not list(part_warnings(written))
    assert not list(budget_warnings(written))


def test_without_all_namespaces_the_system_s_pods_are_missing() -> None:
    text = signs(messy.in_namespaces("shop"))
    assert "no pods of namespace kube-system, all pods are in shop" in text
    assert "no node has a pod of a DaemonSet" in text
    assert "cluster-info dump --all-namespaces" in text


def test_cluster_info_dump_writes_one_namespace_and_the_system_s(tmp_path: Path) -> None:
    loaded = load_state([str(messy.write_dump(tmp_path, ["shop", "kube-system"]))])
    (line,) = [line for line in loaded.warnings if "part of a cluster" in line]
    assert (
        "only pods of kube-system and shop, and 9 of 14 images on the nodes belong to other "
        "pods" in line
    )


def test_a_fresh_cluster_has_no_other_namespaces() -> None:
    """All images on its nodes are those of its own pods."""
    objects = messy.in_namespaces("kube-system")
    images = [{"names": ["registry.example.com/kube-system/kube-proxy@sha256:77"]}]
    for manifest in objects:
        if manifest["kind"] == "Node":
            manifest["status"]["images"] = images
    assert not signs(objects)


def test_nodes_of_which_the_daemons_are_missing_are_named() -> None:
    objects = [m for m in messy.objects() if m.get("spec", {}).get("nodeName") != "general-03"]
    assert "1 of 39 nodes has no pod of a DaemonSet (general-03)" in signs(objects)


def test_unreachable_nodes_and_those_of_fargate_need_no_daemons() -> None:
    objects = [
        m
        for m in messy.objects()
        if m.get("spec", {}).get("nodeName") not in (messy.UNREACHABLE, "spot-0")
    ]
    for manifest in objects:
        if manifest["metadata"]["name"] == "spot-0":
            manifest["metadata"]["labels"]["eks.amazonaws.com/compute-type"] = "fargate"
    assert not signs(objects)


def test_nodes_alone_are_part_of_a_cluster() -> None:
    assert "it has no pods; no node has a pod" in signs(messy.of_kinds("Node"))


def test_a_snapshot_is_whole(tmp_path: Path) -> None:
    """It tells which kinds were listed; one of a namespace has a warning of its own."""
    objects = messy.in_namespaces("shop")
    lists = [
        {"kind": kind, "namespace": "", "resourceVersion": "7"}
        for kind in ("Node", "PodDisruptionBudget")
    ]
    path = messy.write(tmp_path / "snapshot.json", objects)
    written = json.loads(path.read_text()) | {"snapshot": {"lists": lists}}
    path.write_text(json.dumps(written))
    loaded = load_state([str(path)])
    assert loaded.whole_kinds == {"Node", "PodDisruptionBudget"}
    assert not list(part_warnings(loaded))
    assert not list(budget_warnings(loaded))


def test_budgets_are_missed_where_nobody_wrote_that_there_are_none() -> None:
    kinds = messy.of_kinds("Node", "Pod")
    (line,) = budget_warnings(state(*kinds))
    assert "kubectl get poddisruptionbudgets -A" in line
    assert not list(budget_warnings(state(*kinds, NO_BUDGETS)))
    assert not list(budget_warnings(state(*messy.objects())))


def of_kwok(objects: Manifests) -> list[dict[str, Any]]:
    """The same cluster with nodes that nobody runs: they have no images."""
    copies: list[dict[str, Any]] = json.loads(json.dumps(objects, default=str))
    for manifest in copies:
        manifest.get("status", {}).pop("images", None)
        manifest["metadata"] |= {"uid": manifest["metadata"]["name"], "resourceVersion": "1"}
    return copies


def test_nodes_without_images_are_judged_too() -> None:
    whole = of_kwok(messy.objects())
    assert not signs(whole)
    assert "all pods are in shop" in signs(of_kwok(messy.in_namespaces("shop")))
    without = [m for m in whole if m.get("spec", {}).get("nodeName") != "general-03"]
    assert "1 of 39 nodes has no pod of a DaemonSet (general-03)" in signs(without)
    (line,) = budget_warnings(state(*of_kwok(messy.of_kinds("Node", "Pod"))))
    assert "kubectl get poddisruptionbudgets -A" in line


def test_a_cluster_of_kwok_nodes_may_have_no_daemon_set() -> None:
    pods = [m for m in of_kwok(messy.objects()) if not _is_of_daemon_set(m)]
    assert not signs(pods)


def _is_of_daemon_set(manifest: dict[str, Any]) -> bool:
    owners = manifest["metadata"].get("ownerReferences", ())
    return any(owner["kind"] == "DaemonSet" for owner in owners)


@pytest.mark.parametrize("field", ["creationTimestamp", "resourceVersion"])
def test_what_only_an_api_server_writes_tells_a_dump(field: str) -> None:
    """A file that somebody cleaned may have one of them; a uid alone may be written by hand."""
    metadata = {"name": "n", "uid": "u"}
    assert not list(budget_warnings(state({"kind": "Node", "metadata": metadata})))
    metadata[field] = "2026-01-01T00:00:00Z"
    assert list(budget_warnings(state({"kind": "Node", "metadata": metadata})))
