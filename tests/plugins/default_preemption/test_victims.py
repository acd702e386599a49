"""Which pods are removed from a node, which are reprieved, and in which order."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import given

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.state import ClusterState
from ksched_cli.framework.cycle_state import CycleState
from ksched_cli.framework.handle import Handle
from ksched_cli.framework.interface import (
    FilterPlugin,
    PreFilterExtensions,
    PreFilterPlugin,
    PreFilterResult,
)
from ksched_cli.framework.nodes import NodeInfo, Nodes
from ksched_cli.framework.preemption import Victims
from ksched_cli.framework.preemption_trial import budgets_of
from ksched_cli.framework.status import SUCCESS, Status
from ksched_cli.plugins.default_preemption.victims import Disruptions, DryRun
from ksched_cli.testing import cluster, find, node, simulate, simulation
from tests.narrowing import plugin_of, present
from tests.plugins.default_preemption.manifests import crowded, preemption_pod


def test_of_pods_that_have_not_started_the_last_on_the_node_stay() -> None:
    """Up to 1.36 upstream compares two readings of the clock, and so each goes before the other: up
    to twelve such pods come back in the reverse of the node's order."""
    state = cluster(
        node("a", cpu=3),
        *(preemption_pod(name, prio=1, node="a", cpu=1) for name in ("first", "second", "third")),
        preemption_pod(cpu=1),
    )
    assert [eviction.pod for eviction in simulate(state, kubernetes_version="1.36").evicted] == [
        "default/first"
    ]


@given(crowded(choosy=True))
def test_all_nodes_at_once_give_what_each_gives_alone(state: ClusterState) -> None:
    run = simulation(state)
    framework = run.frameworks["default-scheduler"]
    disruptions = Disruptions(budgets_of(state.pod_disruption_budgets.values()))
    for preemptor in run.queue().active:
        cycle = CycleState()
        framework.pre_filtering.run(cycle, preemptor)
        dry_run = DryRun(framework.filtering, run.snapshot, cycle, preemptor, disruptions)
        together = dry_run.victims_on(run.snapshot.order)
        alone = [dry_run.victims_on(np.array([row]))[0] for row in run.snapshot.order]
        assert together == alone


@given(crowded(choosy=True))
def test_dry_runs_leave_the_nodes_as_they_were(state: ClusterState) -> None:
    run = simulation(state)
    snapshot, framework = run.snapshot, run.frameworks["default-scheduler"]
    for preemptor in run.queue().active:
        before = [list(pods) for pods in snapshot.pods]
        counts = (snapshot.requested("cpu").tolist(), snapshot.pod_count.tolist())
        cycle = CycleState()
        framework.pre_filtering.run(cycle, preemptor)
        end = len(snapshot.log)
        DryRun(framework.filtering, snapshot, cycle, preemptor, Disruptions(())).victims_on(
            snapshot.order
        )
        assert snapshot.pods == before
        assert (snapshot.requested("cpu").tolist(), snapshot.pod_count.tolist()) == counts
        assert len(snapshot.log) == end


@given(crowded(choosy=True))
def test_reprieved_pods_and_victims_are_all_the_pods_of_lower_priority(state: ClusterState) -> None:
    run = simulation(state)
    framework = run.frameworks["default-scheduler"]
    for preemptor in run.queue().active:
        cycle = CycleState()
        framework.pre_filtering.run(cycle, preemptor)
        dry_run = DryRun(
            framework.filtering,
            run.snapshot,
            cycle,
            preemptor,
            Disruptions(()),
            explain=lambda plugin, state, node: (),
        )
        for row, result in zip(
            run.snapshot.order, dry_run.victims_on(run.snapshot.order), strict=True
        ):
            if isinstance(result, Victims):
                lower = {
                    info.uid
                    for info in run.snapshot.pods[row]
                    if info.priority < preemptor.priority
                }
                victims = [info.uid for info in result.pods]
                stay = [info.uid for info in result.reprieved]
                assert sorted(victims + stay) == sorted(lower)
                assert set(result.rejections) == set(victims)


GUARD = {"guard": "yes"}


class Watchful(PreFilterPlugin, PreFilterExtensions, FilterPlugin):
    """Lets pods pass once it has seen all guards leave; is told of nobody else."""

    name = "Watchful"

    def __init__(self, args: Any, handle: Handle) -> None:
        self.calls: list[Any] = []

    def pre_filter(
        self, state: CycleState, pod: PodInfo, nodes: Nodes
    ) -> tuple[PreFilterResult | None, Status]:
        state.write(self.name, Guards())
        return None, SUCCESS

    def concerns(self, state: CycleState, pod: PodInfo, other: PodInfo) -> bool:
        return "guard" in other.labels

    def add_pod(self, state: CycleState, pod: PodInfo, added: PodInfo, node: NodeInfo) -> Status:
        self.calls.append(added.name)
        state.read(self.name).gone -= 1
        return SUCCESS

    def remove_pod(
        self, state: CycleState, pod: PodInfo, removed: PodInfo, node: NodeInfo
    ) -> Status:
        self.calls.append(removed.name)
        state.read(self.name).gone += 1
        return SUCCESS

    def filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status:
        gone = state.read(self.name).gone
        return SUCCESS if gone > 1 else Status.unschedulable("guarded")


@dataclass
class Guards:
    gone: int = 0

    def clone(self) -> "Guards":
        return Guards(self.gone)


def test_a_plugin_is_told_of_the_pods_that_concern_it_and_each_node_has_a_state_of_its_own() -> (
    None
):
    state = cluster(
        node("a"),
        node("b"),
        preemption_pod("guard-1", labels=GUARD, prio=1, node="a", start=1),
        preemption_pod("guard-2", labels=GUARD, prio=1, node="a", start=2),
        preemption_pod("other", prio=1, node="a", start=3),
        preemption_pod("guard-3", labels=GUARD, prio=1, node="b", start=1),
        preemption_pod(),
    )
    run = simulation(state, plugins=[Watchful])
    attempt = run.cycle.attempt(run.frameworks["default-scheduler"], find(run, "p")).attempt
    assert present(attempt.post_filter).victims == ("default/guard-1", "default/guard-2")
    assert set(present(attempt.post_filter).candidates) == {"a"}
    calls = plugin_of(run, Watchful).calls
    assert set(calls) == {"guard-1", "guard-2", "guard-3"}
