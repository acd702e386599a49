"""What commands say about a messy cluster of 40 nodes, as somebody reads it in a hurry."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests import messy
from tests.commands.runners import Ksched


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return messy.write(tmp_path_factory.mktemp("messy") / "cluster.json")


@pytest.fixture(scope="module")
def nodes_and_pods(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """As `kubectl get nodes,pods -A -o json` writes them."""
    path = tmp_path_factory.mktemp("messy") / "cluster.json"
    return messy.write(path, messy.of_kinds("Node", "Pod"))


def warnings_of(out: str) -> list[str]:
    document: dict[str, Any] = json.loads(out)
    return [line for line in document["warnings"] if "PodDisruptionBudgets" in line]


@pytest.mark.parametrize(
    "arguments",
    [
        ("preempt", "shop/surge"),
        ("schedule",),
        ("explain", "shop/surge"),
        ("compare", "--vs", "--change", "cordon spot-0"),
        ("schedule", "--no-preemption", "--change", "drain memory-3"),
    ],
    ids=" ".join,
)
def test_evictions_without_budgets_are_warned_of_once(
    arguments: tuple[str, ...], nodes_and_pods: Path, whole: Path, ksched: Ksched
) -> None:
    command, *options = arguments
    _, out, err = ksched(command, "--state", nodes_and_pods, "-o", "json", *options)
    (line,) = warnings_of(out)
    assert err.count(line) == 1
    _, out, err = ksched(command, "--state", whole, "-o", "json", *options)
    assert warnings_of(out) == []


def test_where_nobody_is_evicted_budgets_are_not_missed(
    nodes_and_pods: Path, ksched: Ksched
) -> None:
    _, out, _ = ksched("schedule", "--no-preemption", "--state", nodes_and_pods, "-o", "json")
    assert warnings_of(out) == []
