"""Remedies that kubectl makes do what they promise.

With KSCHED_LIVE=1, as test_scenarios.py; `python -m tests.live.control_plane.remedies` shows a line
per remedy.
"""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from tests.live.control_plane.build import NoGoError, binaries
from tests.live.control_plane.remedies import (
    OBSTACLES,
    Trials,
    cluster,
    make_all,
    waiting_workload,
)
from tests.live.control_plane.test_scenarios import is_live


@is_live
def test_most_remedies_give_all_pods_a_node(tmp_path: Path) -> None:
    minor = os.environ["KSCHED_KUBERNETES_VERSION"]
    try:
        binaries(minor)
    except NoGoError as error:
        pytest.skip(str(error))
    trials, _ = make_all(minor, tmp_path, 10, 1)
    assert sum(trial.is_fulfilled for trial in trials) >= 9


def test_the_clusters_and_workloads_are_the_same_every_time() -> None:
    first, second = (random.Random(7), random.Random(7))
    assert cluster(first) == cluster(second)
    assert waiting_workload(first, "w") == waiting_workload(second, "w")


@pytest.mark.parametrize("name", sorted(OBSTACLES))
def test_every_obstacle_changes_the_pod_or_its_replicas(name: str) -> None:
    spec = {"containers": [{"name": "main", "resources": {"requests": {}, "limits": {}}}]}
    before = repr(spec)
    replicas = OBSTACLES[name](random.Random(1), "w", spec)
    assert repr(spec) != before or replicas


@pytest.mark.parametrize(
    ("pod", "owner"),
    [
        ("default/run-0-844fdd476b-bmgmx", "run-0"),
        ("default/run-0-0", "run-0"),
        ("default/w-12", "w-12"),
        ("default/agent-x2x2x", "agent"),
    ],
)
def test_a_pod_is_counted_for_its_workload(pod: str, owner: str) -> None:
    assert Trials.owner_of(pod) == owner
