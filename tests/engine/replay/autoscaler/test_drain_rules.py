"""Which pods keep their node."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ksched_cli.engine.replay.autoscaler.autoscaler import DrainRules
from ksched_cli.scenario.drain import SAFE_TO_EVICT, SAFE_VOLUMES
from tests.replays import Plain, autoscaler_of, node, pod, state_of

CONTROLLER = {"apiVersion": "v1", "kind": "Job", "name": "w", "uid": "u", "controller": True}
EMPTY_DIR = {"volumes": [{"name": "v", "emptyDir": {}}]}


def budget(namespace: str, allowed: int) -> Plain:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "b", "namespace": namespace},
        "spec": {"selector": {}, "minAvailable": 1},
        "status": {"disruptionsAllowed": allowed, "currentHealthy": 1, "desiredHealthy": 1},
    }


def reason(folder: Path, plain: Plain, *others: Plain, count: int = 1, **settings: Any) -> str:
    """Why so many pods like this keep their node."""
    copies = [
        {**plain, "metadata": {**plain["metadata"], "name": f"p{index}"}} for index in range(count)
    ]
    state = state_of(folder, node("n"), *others, *copies)
    group = {"name": "g", "like": "n", "maxSize": 1}
    chosen = autoscaler_of(folder, state, {"nodeGroups": [group], **settings})
    return DrainRules(chosen, state).blocks(state.pods)


def a_pod(owner: Plain | None = CONTROLLER, **metadata: Any) -> Plain:
    plain = pod("p", nodeName="n")
    plain["metadata"] |= {"ownerReferences": [owner] if owner else [], **metadata}
    return plain


def with_volumes(plain: Plain, volumes: Plain) -> Plain:
    return {**plain, "spec": {**plain["spec"], **volumes}}


def annotated(key: str, value: str) -> Plain:
    return {"annotations": {key: value}}


@pytest.mark.parametrize(
    ("plain", "settings", "text"),
    [
        (a_pod(), {}, ""),
        (a_pod(None), {}, "no controller"),
        (a_pod({**CONTROLLER, "kind": "Node"}), {}, ""),
        (a_pod({**CONTROLLER, "kind": "DaemonSet"}, namespace="kube-system"), {}, ""),
        (a_pod(None, **annotated(SAFE_TO_EVICT, "true")), {}, ""),
        (a_pod(**annotated(SAFE_TO_EVICT, "false")), {}, "annotated as not safe to evict"),
        (a_pod(namespace="kube-system"), {}, "is in kube-system"),
        (a_pod(namespace="kube-system"), {"skipNodesWithSystemPods": False}, ""),
        (with_volumes(a_pod(), EMPTY_DIR), {}, "has local storage"),
        (with_volumes(a_pod(), EMPTY_DIR), {"skipNodesWithLocalStorage": False}, ""),
        (with_volumes(a_pod(**annotated(SAFE_VOLUMES, "u,v")), EMPTY_DIR), {}, ""),
        (with_volumes(a_pod(**annotated(SAFE_VOLUMES, "u")), EMPTY_DIR), {}, "has local storage"),
        (
            with_volumes(a_pod(), {"volumes": [{"name": "v", "emptyDir": {"medium": "Memory"}}]}),
            {},
            "",
        ),
        (
            with_volumes(a_pod(), {"volumes": [{"name": "v", "hostPath": {"path": "/"}}]}),
            {},
            "has local storage",
        ),
        (with_volumes(a_pod(None), {"priority": -11}), {}, ""),
        (with_volumes(a_pod(None), {"priority": -10}), {}, "no controller"),
        (a_pod(deletionTimestamp="2026-01-01T00:00:00Z"), {}, "is being deleted"),
    ],
)
def test_what_keeps_a_node(tmp_path: Path, plain: Plain, settings: Plain, text: str) -> None:
    why = reason(tmp_path, plain, **settings)
    assert (text in why) if text else why == ""


def test_a_budget_lets_as_many_pods_go_as_it_allows(tmp_path: Path) -> None:
    assert reason(tmp_path, a_pod(), budget("default", 2), count=2) == ""
    assert "disruption budget default/b" in reason(tmp_path, a_pod(), budget("default", 1), count=2)


def test_a_budget_lets_pods_of_kube_system_go(tmp_path: Path) -> None:
    plain = a_pod(namespace="kube-system")
    assert reason(tmp_path, plain, budget("kube-system", 1)) == ""
    assert "is in kube-system" in reason(tmp_path, plain, budget("default", 1))
