"""The distinct amounts among all rows follow the pods."""

import numpy as np
import pytest

from ksched_cli.cluster import row_kinds
from ksched_cli.cluster.row_kinds import QUESTIONS_MIN, KindAmounts, kind_amounts
from ksched_cli.engine.simulation import Simulation
from ksched_cli.testing import cluster, find, node, pod, simulation
from tests.narrowing import present

COUNT = 24


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Simulation:
    monkeypatch.setattr(row_kinds, "ROWS_MIN", COUNT)
    nodes = [node(f"n{i:02}", cpu=4 if i % 2 else 8) for i in range(COUNT)]
    pending = [pod(f"p{i}", cpu=i + 1) for i in range(4)]
    return simulation(cluster(*nodes, pod("r", cpu=1, node="n03"), *pending))


def amounts(run: Simulation) -> KindAmounts:
    """After so many questions that it pays."""
    for _ in range(QUESTIONS_MIN - 1):
        assert kind_amounts(run.snapshot) is None or run.snapshot.log
    return present(kind_amounts(run.snapshot))


def test_every_row_has_the_amounts_of_its_kind(run: Simulation) -> None:
    snapshot = run.snapshot
    for row in (5, 5, 7):
        kinds = amounts(run)
        assert np.array_equal(kinds.usage[:, kinds.ids], snapshot.usage)
        assert np.array_equal(kinds.capacity[:, kinds.ids], snapshot.capacity)
        assert kinds.usage.shape[1] <= 5
        snapshot.add(find(run, "p0"), row)


def test_with_too_many_kinds_there_are_none(run: Simulation) -> None:
    amounts(run)
    for row in range(4):
        run.snapshot.add(find(run, f"p{row}"), row)
        kind_amounts(run.snapshot)
    assert kind_amounts(run.snapshot) is None


def test_a_fork_and_a_small_cluster_have_none(run: Simulation) -> None:
    amounts(run)
    assert kind_amounts(run.snapshot.fork([0])) is None
    small = simulation(cluster(node("n1"), pod("p"))).snapshot
    assert not any(kind_amounts(small) for _ in range(QUESTIONS_MIN + 1))
