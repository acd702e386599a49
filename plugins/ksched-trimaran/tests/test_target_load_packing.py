"""Nodes are filled up to the target, and emptied above it."""

from typing import Any

import pytest
from ksched_trimaran import TargetLoadPacking, ksched_plugins

from ksched_cli.errors import InputError
from ksched_cli.testing import (
    Manifest,
    cluster,
    explanation,
    node,
    pod,
    scores,
    simulate,
)


def busy(name: str, cpu: str) -> Manifest:
    return {
        "apiVersion": "metrics.k8s.io/v1beta1",
        "kind": "NodeMetrics",
        "metadata": {"name": name},
        "usage": {"cpu": cpu, "memory": "1Gi"},
    }


def scored(*objects: Manifest, **args: Any) -> dict[str, int]:
    return scores(TargetLoadPacking, cluster(*objects), pod="p", args=args)


def limited(cpu: str) -> Manifest:
    """A pod with this cpu limit, which is its predicted usage."""
    container = {"name": "c", "image": "i", "resources": {"limits": {"cpu": cpu}}}
    return pod("p", spec={"containers": [container]})


@pytest.mark.parametrize(
    ("used", "score"),
    [("0", 55), ("1500m", 78), ("3", 100), ("3500m", 37), ("9", 0), ("8999m", 0), ("9001m", 0)],
)
def test_a_node_scores_best_when_it_would_be_as_busy_as_the_target(used: str, score: int) -> None:
    """The pod needs one core of ten; with 3 cores in use it reaches the target of 40 percent."""
    assert scored(node("n", cpu="10"), busy("n", used), limited("1")) == {"n": score}


def test_a_node_without_metrics_is_avoided() -> None:
    assert scored(node("a"), node("b"), busy("b", "1"), limited("100m")) == {"a": 0, "b": 81}


@pytest.mark.parametrize(
    ("resources", "predicted"),
    [
        ({"limits": {"cpu": "2"}, "requests": {"cpu": "1"}}, 2000),
        ({"requests": {"cpu": "1"}}, 1500),
        ({"requests": {"cpu": "333m"}}, 500),
        ({}, 1000),
    ],
)
def test_limits_are_predicted_then_requests_and_a_half_then_a_core(
    resources: Manifest, predicted: int
) -> None:
    container = {"name": "c", "image": "i", "resources": resources}
    pending = pod("p", spec={"containers": [container], "overhead": {"cpu": "100m"}})
    state = cluster(node("n", cpu="100"), busy("n", "0"), pending)
    record = explanation(state, plugins=[TargetLoadPacking], pod="p")
    (line,) = record.nodes[0].scores["TargetLoadPacking"].details
    assert f"+ {predicted + 100}m for this pod, of 100000m" in line


def test_pods_placed_in_the_run_count_on_top_of_what_was_measured() -> None:
    """Two cores fit under the target on each node; a run that forgot would fill one node."""
    pods = [pod(f"p{i}", cpu="2") for i in range(4)]
    state = cluster(node("a", cpu="10"), node("b", cpu="10"), busy("a", "1"), busy("b", "1"), *pods)
    config = {
        "profiles": [
            {"plugins": {"multiPoint": {"enabled": [{"name": "TargetLoadPacking", "weight": 100}]}}}
        ]
    }
    placed = simulate(state, config, [TargetLoadPacking]).placements
    assert sorted(placed.values()) == ["a", "a", "b", "b"]


def test_the_target_is_the_args() -> None:
    objects = (node("n", cpu="10"), busy("n", "3"), limited("1"))
    assert scored(*objects, targetUtilization=80) == {"n": 90}


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ({"targetUtilization": 0}, "between 1 and 99"),
        ({"targetUtilization": "40"}, "Expected int"),
        ({"defaultRequestsMultiplier": "much"}, "could not convert string to float"),
        ({"target": 40}, "target is not allowed here"),
    ],
)
def test_wrong_args_are_refused(args: Manifest, message: str) -> None:
    with pytest.raises(InputError, match=message):
        scored(node("n"), limited("1"), **args)


def test_a_real_configuration_runs_as_it_stands() -> None:
    args = {"watcherAddress": "http://watcher:2020", "metricProvider": {"type": "Prometheus"}}
    assert scored(node("n", cpu="10"), busy("n", "3"), limited("1"), **args) == {"n": 100}


def test_the_distribution_brings_it() -> None:
    assert ksched_plugins() == {"TargetLoadPacking": TargetLoadPacking}
