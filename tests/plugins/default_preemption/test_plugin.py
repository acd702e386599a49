"""DefaultPreemption: the cases of preemptions.yaml, and what holds in every cluster."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.state import ClusterState
from ksched_cli.engine.simulation import Simulation
from ksched_cli.framework.cycle_state import CycleState
from ksched_cli.framework.node_statuses import NodeStatuses
from ksched_cli.framework.nodes import Nodes
from ksched_cli.framework.preemption import STATE_KEY, Preemption
from ksched_cli.framework.runners import FilterRunner
from ksched_cli.framework.runtime import Framework
from ksched_cli.plugins.default_preemption.plugin import DefaultPreemption
from ksched_cli.testing import cluster, find, node, simulate, simulation
from tests.narrowing import plugin_of
from tests.plugins.default_preemption.manifests import budget, crowded, preemption_pod

CASES = yaml.load((Path(__file__).parent / "preemptions.yaml").read_text(), yaml.CSafeLoader)


def config_of(args: dict[str, int] | None) -> dict[str, list[dict[str, list[Any]]]] | None:
    if args is None:
        return None
    return {"profiles": [{"pluginConfig": [{"name": "DefaultPreemption", "args": args}]}]}


def preemption_in(case: dict[str, Any]) -> tuple[Preemption, str]:
    """The Preemption and PostFilter's message of one attempt, under the rules of 1.36."""
    state = cluster(
        *(node(**arguments) for arguments in case["nodes"]),
        *(preemption_pod(**arguments) for arguments in case.get("pods", ())),
        *(preemption_pod(**arguments) for arguments in case.get("pending", ())),
        *(budget(i, **arguments) for i, arguments in enumerate(case.get("budgets", ()))),
        preemption_pod(**case["pod"]),
    )
    run = simulation(state, config_of(case.get("args")), kubernetes_version="1.36")
    run.queue()
    framework, cycle, preemptor = run.frameworks["default-scheduler"], CycleState(), find(run, "p")
    statuses = rejections(run, framework, cycle, preemptor)
    plugin = plugin_of(run, DefaultPreemption)
    _, status = plugin.post_filter(cycle, preemptor, statuses)
    return cycle.data[STATE_KEY], status.message


def rejections(
    run: Simulation, framework: Framework, cycle: CycleState, preemptor: PodInfo
) -> NodeStatuses:
    statuses = NodeStatuses(run.snapshot)
    outcome = framework.pre_filtering.run(cycle, preemptor)
    assert outcome.status.is_success
    every = Nodes(run.snapshot)
    verdicts = framework.filtering.run_with_nominated_pods(cycle, preemptor, every)
    statuses.add(every.indices(), verdicts.ids, verdicts.statuses)
    assert (verdicts.ids != 0).all(), "the pod of the case fits without evictions"
    return statuses


def names(pods: tuple[PodInfo, ...]) -> list[str]:
    return [info.name for info in pods]


@pytest.mark.parametrize("in_columns", [True, False], ids=["columns", "one by one"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case["shows"])
def test_case(case: dict[str, Any], in_columns: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not in_columns:
        monkeypatch.setattr(FilterRunner, "compared_requests", lambda *arguments: None)
    preemption, message = preemption_in(case)
    assert preemption.node == case.get("node", preemption.node if "candidates" in case else "")
    assert message == case.get("message", "")
    if "victims" in case:
        assert names(preemption.victims) == case["victims"]
    if "candidates" in case:
        assert {
            name: f"{' '.join(names(candidate.pods))}/{candidate.pdb_violations}"
            for name, candidate in preemption.candidates.items()
        } == case["candidates"]
    if "node" in case:
        assert list(preemption.ties) == case.get("ties", [])
    if "decided" in case:
        assert preemption.steps[-1].criterion == case["decided"]
        assert preemption.steps[-1].left == 1
    if "best" in case:
        assert preemption.steps[-1].best == case["best"]


def priorities(state: ClusterState) -> dict[str, int]:
    return {pod.key: pod.spec.priority or 0 for pod in state.pods}


@given(crowded(choosy=True))
def test_no_victims_priority_reaches_the_preemptors(state: ClusterState) -> None:
    priority = priorities(state)
    run = simulate(state)
    for attempt in run.attempts:
        post_filter = attempt.post_filter
        for candidate in post_filter.candidates.values() if post_filter else ():
            assert all(priority[victim] < priority[attempt.pod] for victim in candidate.victims)
    assert all(priority[victim.pod] < priority[victim.preemptor] for victim in run.evicted)


@given(crowded())
def test_a_victim_that_is_put_back_leaves_the_preemptor_no_place(state: ClusterState) -> None:
    run = simulation(state)
    preemptor = run.queue().active[0]
    framework = run.frameworks["default-scheduler"]
    outcome = run.cycle.attempt(framework, preemptor)
    if outcome.preemption is None:
        return
    row = run.snapshot.row[outcome.preemption.node]
    for victim in outcome.preemption.victims:
        run.snapshot.remove(victim, row)
    cycle = CycleState()
    framework.pre_filtering.run(cycle, preemptor)
    assert framework.filtering.run_on_node_with_nominated_pods(cycle, preemptor, row).is_success
    for victim in outcome.preemption.victims:
        run.snapshot.add(victim, row)
        assert not framework.filtering.run_on_node_with_nominated_pods(
            cycle, preemptor, row
        ).is_success
        run.snapshot.remove(victim, row)


@given(crowded(choosy=True))
def test_a_pod_preempts_only_where_no_node_fits(state: ClusterState) -> None:
    run = simulate(state)
    for attempt in run.attempts:
        if attempt.post_filter is not None:
            assert attempt.detail.feasible == ()
            assert len(attempt.detail.filter) == len(state.nodes)
    first = run.attempts[0]
    fits = simulation(state)
    framework, cycle = fits.frameworks["default-scheduler"], CycleState()
    preemptor = find(fits, first.pod)
    framework.pre_filtering.run(cycle, preemptor)
    verdicts = framework.filtering.run_with_nominated_pods(cycle, preemptor, Nodes(fits.snapshot))
    assert (first.post_filter is not None) == bool((verdicts.ids != 0).all())


@given(crowded())
def test_of_the_pending_pods_one_of_highest_priority_always_goes_first(state: ClusterState) -> None:
    priority = priorities(state)
    tried = list(dict.fromkeys(attempt.pod for attempt in simulate(state).attempts))
    assert sorted(tried) == sorted(pod.key for pod in state.pods if not pod.node_name)
    ranks = [priority[pod] for pod in tried]
    assert ranks == sorted(ranks, reverse=True)


@given(crowded(choosy=True))
def test_what_is_remembered_of_trials_changes_nothing(state: ClusterState) -> None:
    fresh = simulation(state)
    fresh.options = replace(fresh.options, cache_answers=False)
    assert simulation(state).run() == fresh.run()
