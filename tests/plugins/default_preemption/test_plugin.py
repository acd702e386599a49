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
from ksched_cli.framework.runtime import Framework
from ksched_cli.plugins.default_preemption.plugin import DefaultPreemption
from ksched_cli.testing import cluster, find, node, simulate, simulation
from tests.narrowing import plugin_of
from tests.plugins.default_preemption.manifests import budget, crowded, made_pod

CASES = yaml.safe_load((Path(__file__).parent / "preemptions.yaml").read_text())


def config_of(args: dict[str, int] | None) -> dict[str, list[dict[str, list[Any]]]] | None:
    if args is None:
        return None
    return {"profiles": [{"pluginConfig": [{"name": "DefaultPreemption", "args": args}]}]}


def found_in(case: dict[str, Any]) -> tuple[Preemption, str]:
    """The Preemption and PostFilter's message of one attempt."""
    state = cluster(
        *(node(**one) for one in case["nodes"]),
        *(made_pod(**one) for one in case.get("pods", ())),
        *(made_pod(**one) for one in case.get("pending", ())),
        *(budget(i, **one) for i, one in enumerate(case.get("budgets", ()))),
        made_pod(**case["pod"]),
    )
    run = simulation(state, config_of(case.get("args")))
    run.queue()
    framework, cycle, wanted = run.frameworks["default-scheduler"], CycleState(), find(run, "p")
    statuses = rejections(run, framework, cycle, wanted)
    plugin = plugin_of(run, DefaultPreemption)
    _, status = plugin.post_filter(cycle, wanted, statuses)
    return cycle.data[STATE_KEY], status.message


def rejections(
    run: Simulation, framework: Framework, cycle: CycleState, wanted: PodInfo
) -> NodeStatuses:
    statuses = NodeStatuses(run.snapshot)
    outcome = framework.pre_filter(cycle, wanted)
    assert outcome.status.is_success
    every = Nodes(run.snapshot)
    verdicts = framework.filtering.run_with_nominated_pods(cycle, wanted, every)
    statuses.add(every.indices(), verdicts.ids, verdicts.statuses)
    assert (verdicts.ids != 0).all(), "the pod of the case fits without evictions"
    return statuses


def names(pods: tuple[PodInfo, ...]) -> list[str]:
    return [one.name for one in pods]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["shows"])
def test_case(case: dict[str, Any]) -> None:
    found, message = found_in(case)
    assert found.node == case.get("node", found.node if "candidates" in case else "")
    assert message == case.get("message", "")
    if "victims" in case:
        assert names(found.victims) == case["victims"]
    if "candidates" in case:
        assert {
            name: f"{' '.join(names(one.pods))}/{one.pdb_violations}"
            for name, one in found.candidates.items()
        } == case["candidates"]
    if "node" in case:
        assert list(found.ties) == case.get("ties", [])
    if "decided" in case:
        assert found.steps[-1].criterion == case["decided"]


def priorities(state: ClusterState) -> dict[str, int]:
    return {one.key: one.spec.priority or 0 for one in state.pods}


@given(crowded(choosy=True))
def test_no_victims_priority_reaches_the_preemptors(state: ClusterState) -> None:
    priority = priorities(state)
    run = simulate(state)
    for attempt in run.attempts:
        found = attempt.post_filter
        for candidate in found.candidates.values() if found else ():
            assert all(priority[one] < priority[attempt.pod] for one in candidate.victims)
    assert all(priority[one.pod] < priority[one.preemptor] for one in run.evicted)


@given(crowded())
def test_a_victim_that_is_put_back_leaves_the_preemptor_no_place(state: ClusterState) -> None:
    run = simulation(state)
    wanted = run.queue().active[0]
    framework = run.frameworks["default-scheduler"]
    outcome = run.cycle.attempt(framework, wanted)
    if outcome.preemption is None:
        return
    row = run.snapshot.row[outcome.preemption.node]
    for victim in outcome.preemption.victims:
        run.snapshot.remove(victim, row)
    cycle = CycleState()
    framework.pre_filter(cycle, wanted)
    assert framework.filtering.run_on_node_with_nominated_pods(cycle, wanted, row).is_success
    for victim in outcome.preemption.victims:
        run.snapshot.add(victim, row)
        assert not framework.filtering.run_on_node_with_nominated_pods(
            cycle, wanted, row
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
    wanted = find(fits, first.pod)
    framework.pre_filter(cycle, wanted)
    verdicts = framework.filtering.run_with_nominated_pods(cycle, wanted, Nodes(fits.snapshot))
    assert (first.post_filter is not None) == bool((verdicts.ids != 0).all())


@given(crowded())
def test_of_the_pending_pods_one_of_highest_priority_always_goes_first(state: ClusterState) -> None:
    priority = priorities(state)
    tried = list(dict.fromkeys(attempt.pod for attempt in simulate(state).attempts))
    assert sorted(tried) == sorted(one.key for one in state.pods if not one.node_name)
    ranks = [priority[one] for one in tried]
    assert ranks == sorted(ranks, reverse=True)


@given(crowded(choosy=True))
def test_what_is_remembered_of_trials_changes_nothing(state: ClusterState) -> None:
    fresh = simulation(state)
    fresh.options = replace(fresh.options, cache_answers=False)
    assert simulation(state).run() == fresh.run()
