"""In which order pods go when a workload is scaled down; cases/scale.yaml has each criterion."""

from __future__ import annotations

from itertools import permutations

import pytest

from ksched_cli.scenario.arguments import Target, find_workload
from ksched_cli.scenario.nodes import Cordon, NodeChoice
from ksched_cli.scenario.scale import removal_order
from ksched_cli.testing import Manifest, cluster, node
from tests.scenario.build import owned, ready


def order(*pods: Manifest, kind: str = "ReplicaSet") -> list[str]:
    state = cluster(node("n1"), node("n2"), *pods)
    workload = find_workload(Cordon("the line", NodeChoice(())), state, Target(kind, "web", ""))
    return [pod.name for pod in removal_order(state, workload)]


def test_the_order_does_not_depend_on_the_states() -> None:
    pods = [
        owned("unassigned"),
        owned("waits", node="n1", status={"phase": "Pending"}),
        owned("unknown", node="n1", status={"phase": "Unknown"}),
        owned("runs", node="n1", status={"phase": "Running"}),
        owned("doubled", node="n1", status=ready()),
        owned("alone", node="n2", status=ready()),
    ]
    expected = ["unassigned", "waits", "unknown", "runs", "doubled", "alone"]
    assert {tuple(order(*shuffled)) for shuffled in permutations(pods)} == {tuple(expected)}


def test_a_sidecars_restarts_count_after_those_of_containers() -> None:
    def restarted(name: str, day: int, containers: int, init: int, policy: str) -> Manifest:
        statuses = {
            "containerStatuses": [{"name": "c", "restartCount": containers}],
            "initContainerStatuses": [{"name": "i", "restartCount": init}],
        }
        sidecar = {"name": "i", **({"restartPolicy": policy} if policy else {})}
        return owned(
            name,
            node="n1",
            created=f"2026-01-0{day}T00:00:00Z",
            status={**ready(), **statuses},
            spec={"initContainers": [sidecar]},
        )

    pods = [
        restarted("init", 3, 1, 9, ""),
        restarted("sidecar", 2, 1, 3, "Always"),
        restarted("container", 1, 2, 0, ""),
    ]
    orders = {tuple(order(*shuffled)) for shuffled in permutations(pods)}
    assert orders == {("container", "sidecar", "init")}


@pytest.mark.parametrize("cost", ["cheap", "", "+5", "007", "1_0", " 5", "3000000000"])
def test_a_deletion_cost_that_is_no_number_of_32_bits_is_zero(cost: str) -> None:
    """Upstream: GetDeletionCostFromPodAnnotations."""
    annotations = {"controller.kubernetes.io/pod-deletion-cost": cost}
    costs = {"a": {"controller.kubernetes.io/pod-deletion-cost": "1"}, "b": annotations}
    pods = [owned(name, annotations=each) for name, each in costs.items()]
    assert order(*pods) == order(*reversed(pods)) == ["b", "a"]


def test_a_pod_whose_age_is_not_known_goes_first() -> None:
    pods = [owned("old", created="2026-01-01T00:00:00Z"), owned("ageless")]
    assert order(*pods) == ["ageless", "old"]
    assert order(*reversed(pods)) == ["ageless", "old"]


def test_a_name_that_ends_in_digits_without_end_has_no_ordinal() -> None:
    pods = [owned(f"web-{end}", "StatefulSet") for end in ("1", "9" * 5000, "2")]
    assert order(*pods, kind="StatefulSet")[:2] == ["web-2", "web-1"]
