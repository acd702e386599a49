"""Why a plugin was called about a pod, or was not."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from ksched_cli.api import (
    SUCCESS,
    CycleState,
    FilterPlugin,
    NodeInfo,
    Nodes,
    Plugin,
    PodInfo,
    ScorePlugin,
    Scores,
    Status,
)
from ksched_cli.engine.engine import Options
from ksched_cli.engine.simulation import Simulation
from ksched_cli.framework import call_trace
from ksched_cli.framework.call_trace import CallTrace
from ksched_cli.framework.registry import PluginEntry
from ksched_cli.testing import cluster, node, pod, simulation
from tests.framework.toys import Toy, filtering, profile, scoring
from tests.narrowing import present

ENABLED = {
    "preFilter": ["NodeResourcesFit", "NodePorts"],
    "filter": ["NodeResourcesFit", "NodePorts"],
    "postFilter": ["DefaultPreemption"],
    "reserve": ["VolumeBinding"],
    "bind": ["DefaultBinder"],
}


def traced(*pods: dict[str, Any], plugins: Sequence[type[Plugin]] = ()) -> Simulation:
    plain = simulation(cluster(node("a", cpu=4), node("b", cpu=4), *pods), None, plugins)
    options = Options(trace_calls=True)
    return Simulation(plain.state, plain.configuration, plain.registry, options)


def lines_of(*pods: dict[str, Any]) -> list[str]:
    run = traced(*pods)
    run.run()
    assert run.caller.trace is not None
    return list(run.caller.trace.lines("default-scheduler", (), ENABLED, {}))


def test_plugins_are_called_or_skipped() -> None:
    assert lines_of(pod("p", cpu=1)) == [
        "default/p:",
        "  preFilter  called: NodeResourcesFit, NodePorts",
        "  filter     called: NodeResourcesFit",
        "  filter     skipped by PreFilter: NodePorts",
        "  postFilter not reached: DefaultPreemption",
        "  reserve    skipped by PreFilter: VolumeBinding",
        "  bind       called: DefaultBinder",
    ]


def test_pods_that_look_the_same_share_answers_and_are_listed_once() -> None:
    lines = lines_of(*(pod(f"p{i}", cpu=1) for i in range(4)))
    assert lines[7:12] == [
        "default/p1 and 2 more:",
        "  preFilter  cached from a pod that looks the same: NodeResourcesFit, NodePorts",
        # The node to which the first pod went has changed.
        "  filter     called: NodeResourcesFit",
        "  filter     skipped by PreFilter: NodePorts",
        "  postFilter not reached: DefaultPreemption",
    ]


def test_a_pod_that_fits_nowhere_is_not_bound() -> None:
    lines = lines_of(pod("p", cpu=9))
    assert lines[4:] == [
        "  postFilter called: DefaultPreemption",
        "  reserve    not reached: VolumeBinding",
        "  bind       not reached: DefaultBinder",
    ]


def test_the_rejection_of_a_pod_alike_is_repeated_without_calls() -> None:
    lines = lines_of(*(pod(f"p{i}", cpu=9) for i in range(4)))
    assert "  no plugin was called: rejected as a pod that looks the same just was" in lines


def test_no_plugin_of_the_default_profile_is_disabled_at_a_point() -> None:
    """Points of pod groups, whose gates are off, are none of theirs."""
    run = traced()
    framework = run.frameworks["default-scheduler"]
    refs = framework.profile.plugins.items()
    enabled = {point: [ref.name for ref in at_point] for point, at_point in refs}
    lines = list(CallTrace().lines("", framework.plugins, enabled, run.registry))
    assert [line.partition(":")[0] for line in lines] == ["not enabled"]


def test_a_profile_says_what_it_never_calls() -> None:
    plugins = [filtering("Filters", {}), scoring("Scores", {})]
    run = simulation(cluster(), profile(*plugins), plugins)
    toys = [p for p in run.frameworks["default-scheduler"].plugins if isinstance(p, Toy)]
    enabled = {"filter": ["Filters", "Scores"]}
    unused = filtering("Unused", {})
    registry = {each.name: PluginEntry.of(each, "the test") for each in (*plugins, unused)}
    assert list(CallTrace().lines("", toys, enabled, registry)) == [
        "Scores: disabled at score",
        "Scores: enabled at filter, which it does not extend",
        "not enabled: Unused",
    ]


@pytest.mark.parametrize(("limit", "count"), [(0.0, 2), (60.0, 0)])
def test_a_plugin_is_named_that_takes_long_node_by_node(
    limit: float, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The toy that answers in the array form is not."""

    class Plain(FilterPlugin, ScorePlugin):
        name = "Plain"

        def filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status:
            return SUCCESS

        def score(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> int:
            return 1

    class AtOnce(ScorePlugin):
        name = "AtOnce"

        def score_nodes(self, state: CycleState, pod: PodInfo, nodes: Nodes) -> Scores:
            return np.ones(len(nodes), dtype=np.int64)

    monkeypatch.setattr(call_trace, "SLOW_SECONDS", limit)
    run = traced(pod("p"), plugins=[Plain, AtOnce])
    run.run()
    trace = present(run.caller.trace)
    lines = list(trace.slow_lines())
    assert len(lines) == count
    if lines:
        assert lines[0].startswith("Plain: filter took 0.0 s, node by node; filter_nodes can")
        assert ("filter", "Plain") in dict(trace.pods["default/p"].every())


def test_without_a_trace_nothing_is_noted() -> None:
    assert simulation(cluster()).caller.trace is None
