"""Cached plugins and others, in any order: the first that rejects a node decides."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.engine.evaluation import Mode
from ksched_cli.engine.records import RunRecord
from ksched_cli.framework.cycle_state import CycleState
from ksched_cli.framework.interface import FilterPlugin, Plugin, Scope
from ksched_cli.framework.nodes import NodeInfo
from ksched_cli.framework.status import SUCCESS, PluginError, Status
from ksched_cli.testing import cluster, find, node, pod, simulation
from tests.framework.toys import Toy, profile, scoring

NAMES = ["n0", "n1", "n2", "n3"]
SCORING = scoring("Scoring", {"n2": 50})


@dataclass(frozen=True)
class Rule:
    """A plugin that rejects a node with too many pods, of those that its scope lets it see."""

    scope: Scope
    limits: tuple[int, ...]

    def plugin(self, position: int, calls: list[str]) -> type[FilterPlugin]:
        """calls: collects the names of the nodes that it is asked about"""
        rule = self

        class Limiting(Toy, FilterPlugin):
            name = f"P{position}"
            scope = rule.scope

            def filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status:
                calls.append(node.name)
                limit = rule.limits[node.row]
                count = {
                    Scope.NODE: 2,
                    Scope.ROW: len(node.pods),
                    Scope.CLUSTER: sum(map(len, node.snapshot.pods)),
                }[rule.scope]
                if count < limit:
                    return SUCCESS
                return Status.unschedulable(f"{self.name} allows {limit}")

        return Limiting


LIMITS = st.lists(st.integers(0, 6), min_size=4, max_size=4).map(tuple)
RULES = st.lists(st.builds(Rule, st.sampled_from(list(Scope)), LIMITS), min_size=1, max_size=5)


def run_of(rules: list[Rule], *, cache_answers: bool, passes: int) -> tuple[RunRecord, list[str]]:
    calls: list[str] = []
    plugins = [*(rule.plugin(i, calls) for i, rule in enumerate(rules)), SCORING]
    state = cluster(*map(node, NAMES), *(pod(f"p{i}") for i in range(passes)))
    run = simulation(state, profile(*plugins), plugins)
    run.pipeline.detailed = False
    run.options = replace(run.options, cache_answers=cache_answers)
    return run.run(), calls


@given(RULES)
def test_every_attempt_is_the_same_without_cache(rules: list[Rule]) -> None:
    cached, _ = run_of(rules, cache_answers=True, passes=8)
    anew, _ = run_of(rules, cache_answers=False, passes=8)
    assert cached == anew


@given(RULES)
def test_the_first_plugin_that_rejects_decides_in_any_mode(rules: list[Rule]) -> None:
    plugins = [*(rule.plugin(i, []) for i, rule in enumerate(rules)), SCORING]
    state = cluster(*map(node, NAMES), pod("p0"), pod("p1"), pod("there", node="n1"))
    run = simulation(state, profile(*plugins), plugins)
    framework = run.frameworks["default-scheduler"]
    framework.answer_cache.expect(run.pending())
    all_nodes = run.pipeline.evaluate(framework, find(run, "p0"), Mode.ALL_NODES)
    for _ in range(2):
        ranked = run.pipeline.evaluate(framework, find(run, "p0"), Mode.RANKED)
        assert ranked.statuses.own() == all_nodes.statuses.own()
        sampled = run.pipeline.evaluate(framework, find(run, "p1"), Mode.SAMPLED)
        assert sampled.statuses.own() == all_nodes.statuses.own()


@pytest.mark.parametrize(
    ("scope", "calls"),
    [
        (Scope.NODE, len(NAMES)),
        # Again only the nodes that a pod has come to.
        (Scope.ROW, len(NAMES) + 2),
        (Scope.CLUSTER, 3 * len(NAMES)),
    ],
)
def test_a_plugin_after_one_that_is_asked_every_time_is_asked_as_its_scope_says(
    scope: Scope, calls: int
) -> None:
    names: list[str] = []
    everywhere = (9,) * len(NAMES)
    plugins = [
        Rule(Scope.CLUSTER, everywhere).plugin(0, []),
        Rule(scope, everywhere).plugin(1, names),
        SCORING,
    ]
    state = cluster(*map(node, NAMES), *(pod(f"p{i}") for i in range(3)))
    run = simulation(state, profile(*plugins), plugins)
    run.pipeline.detailed = False
    run.run()
    assert len(names) == calls


def test_a_failure_on_a_node_that_an_earlier_plugin_rejects_ends_no_attempt() -> None:
    class Failing(Toy, FilterPlugin):
        name = "Failing"
        scope = Scope.NODE

        def filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status:
            if node.name == "n0":
                raise PluginError("cannot tell")
            return SUCCESS

    first = Rule(Scope.CLUSTER, (0, 9, 9, 9)).plugin(0, [])
    plugins: list[type[Plugin]] = [first, Failing, SCORING]
    state = cluster(*map(node, NAMES), pod("p0"), pod("p1"))
    run = simulation(state, profile(*plugins), plugins)
    framework = run.frameworks["default-scheduler"]
    framework.answer_cache.expect(run.pending())
    for mode in (Mode.SAMPLED, Mode.RANKED):
        evaluation = run.pipeline.evaluate(framework, find(run, "p0"), mode)
        assert evaluation.error == ""
        assert sorted(evaluation.feasible.names()) == ["n1", "n2", "n3"]
