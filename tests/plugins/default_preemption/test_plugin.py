"""DefaultPreemption: the cases of preemptions.yaml, and what holds in every cluster."""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from ksched_cli.framework.cycle_state import CycleState
from ksched_cli.framework.interface import FilterPlugin, PreFilterExtensions, PreFilterPlugin
from ksched_cli.framework.node_statuses import NodeStatuses
from ksched_cli.framework.nodes import Nodes
from ksched_cli.framework.preemption import STATE_KEY, Victims
from ksched_cli.framework.status import SUCCESS, Status
from ksched_cli.plugins.default_preemption.disruption_budgets import Disruptions, budgets_of
from ksched_cli.plugins.default_preemption.victims import DryRun
from ksched_cli.testing import cluster, find, node, pod, simulate, simulation

CASES = yaml.safe_load((Path(__file__).parent / "preemptions.yaml").read_text())


def start_time(second):
    return f"2026-01-01T00:00:{second:02d}Z"


def made_pod(name="p", prio=10, start=None, leaving="", nominated="", **given):
    status = {}
    if start is not None:
        status["startTime"] = start_time(start)
    if nominated:
        status["nominatedNodeName"] = nominated
    metadata = {}
    if leaving:
        metadata["deletionTimestamp"] = start_time(0)
        condition = {"type": "DisruptionTarget", "status": "True", "reason": leaving}
        status["conditions"] = [condition]
    return pod(name, priority=prio, status=status, metadata=metadata, **given)


def budget(number, allowed, labels=None, selector=None, namespace="default", disrupted=()):
    if labels is not None:
        selector = {"matchLabels": labels}
    return {
        "kind": "PodDisruptionBudget",
        "metadata": {"name": f"budget-{number}", "namespace": namespace},
        "spec": {"selector": selector} if selector is not None else {},
        "status": {
            "disruptionsAllowed": allowed,
            "disruptedPods": {name: start_time(0) for name in disrupted},
        },
    }


def config_of(args):
    if args is None:
        return None
    return {"profiles": [{"pluginConfig": [{"name": "DefaultPreemption", "args": args}]}]}


def found_in(case):
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
    plugin = framework.plugin("DefaultPreemption")
    _, status = plugin.post_filter(cycle, wanted, statuses)
    return cycle.data[STATE_KEY], status.message


def rejections(run, framework, cycle, wanted):
    statuses = NodeStatuses(run.snapshot)
    outcome = framework.pre_filter(cycle, wanted)
    assert outcome.status.is_success
    every = Nodes(run.snapshot)
    verdicts = framework.filtering.run_with_nominated_pods(cycle, wanted, every)
    statuses.add(every.indices(), verdicts.ids, verdicts.statuses)
    assert (verdicts.ids != 0).all(), "the pod of the case fits without evictions"
    return statuses


def names(pods):
    return [one.name for one in pods]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["shows"])
def test_case(case):
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


def test_of_pods_that_have_not_started_the_last_on_the_node_stay():
    """Upstream compares two readings of the clock, and so each goes before the other: up to twelve
    such pods come back in the reverse of the node's order."""
    state = cluster(
        node("a", cpu=3),
        *(made_pod(name, prio=1, node="a", cpu=1) for name in ("first", "second", "third")),
        made_pod(cpu=1),
    )
    assert [one.pod for one in simulate(state).evicted] == ["default/first"]


# -- in every cluster ------------------------------------------------------------------------------

CPU = st.sampled_from(["100m", "500m", "1", "1500m", "2"])
PRIORITY = st.sampled_from([-5, 0, 1, 5, 10])
APP = st.sampled_from(["a", "b", None])


KEEPS_AWAY = st.fixed_dictionaries(
    {
        "podAntiAffinity": st.fixed_dictionaries(
            {
                "requiredDuringSchedulingIgnoredDuringExecution": st.fixed_dictionaries(
                    {
                        "topologyKey": st.just("zone"),
                        "labelSelector": st.fixed_dictionaries(
                            {"matchLabels": st.fixed_dictionaries({"app": st.sampled_from("ab")})}
                        ),
                    }
                ).map(lambda term: [term])
            }
        )
    }
)
SPREADS = {
    "topologySpreadConstraints": [
        {
            "maxSkew": 1,
            "topologyKey": "zone",
            "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": {"matchLabels": {"app": "a"}},
        }
    ]
}


@st.composite
def pods(draw, name, on=None, choosy=False):
    app = draw(APP)
    return made_pod(
        name,
        prio=draw(PRIORITY),
        start=draw(st.one_of(st.none(), st.integers(0, 3))) if on else None,
        cpu=draw(CPU),
        labels={"app": app} if app else None,
        node=draw(st.sampled_from(on)) if on else "",
        affinity=draw(st.one_of(st.none(), KEEPS_AWAY)) if choosy else None,
        spec=SPREADS if choosy and not on and draw(st.booleans()) else None,
    )


@st.composite
def crowded(draw, choosy=False):
    """A few small nodes with many pods on them, budgets, and pods that wait, some of them alike.
    choosy: pods keep away from each other, or spread."""
    on = [f"n{i}" for i in range(draw(st.integers(1, 4)))]
    count = draw(st.integers(0, 12))
    running = [draw(pods(f"r{i}", on, choosy=choosy)) for i in range(count)]
    waiting = [draw(pods(f"p{i}", choosy=choosy)) for i in range(draw(st.integers(1, 4)))]
    twins = [
        {**one, "metadata": {**one["metadata"], "name": one["metadata"]["name"] + "-twin"}}
        for one in waiting
        if draw(st.booleans())
    ]
    budgets = [
        budget(i, draw(st.integers(0, 2)), {"app": draw(st.sampled_from("ab"))})
        for i in range(draw(st.integers(0, 2)))
    ]
    nodes = [
        node(name, cpu=draw(st.sampled_from("123")), labels={"zone": draw(st.sampled_from("xy"))})
        for name in on
    ]
    return cluster(*nodes, *running, *waiting, *twins, *budgets)


def priorities(state):
    return {one.key: one.spec.priority for one in state.pods}


@given(crowded(choosy=True))
def test_no_victims_priority_reaches_the_preemptors(state):
    priority = priorities(state)
    run = simulate(state)
    for attempt in run.attempts:
        found = attempt.post_filter
        for candidate in found.candidates.values() if found else ():
            assert all(priority[one] < priority[attempt.pod] for one in candidate.victims)
    assert all(priority[one.pod] < priority[one.preemptor] for one in run.evicted)


@given(crowded())
def test_a_victim_that_is_put_back_leaves_the_preemptor_no_place(state):
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
def test_a_pod_preempts_only_where_no_node_fits(state):
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
def test_of_the_pending_pods_one_of_highest_priority_always_goes_first(state):
    priority = priorities(state)
    tried = list(dict.fromkeys(attempt.pod for attempt in simulate(state).attempts))
    assert sorted(tried) == sorted(one.key for one in state.pods if not one.node_name)
    ranks = [priority[one] for one in tried]
    assert ranks == sorted(ranks, reverse=True)


@given(crowded(choosy=True))
def test_all_nodes_at_once_give_what_each_gives_alone(state):
    run = simulation(state)
    framework = run.frameworks["default-scheduler"]
    disruptions = Disruptions(budgets_of(state.pod_disruption_budgets.values()))
    for wanted in run.queue().active:
        cycle = CycleState()
        framework.pre_filter(cycle, wanted)
        dry_run = DryRun(framework.filtering, run.snapshot, cycle, wanted, disruptions)
        together = dry_run.victims_on(run.snapshot.order)
        alone = [dry_run.victims_on(np.array([row]))[0] for row in run.snapshot.order]
        assert together == alone


@given(crowded(choosy=True))
def test_trials_leave_the_nodes_as_they_were(state):
    run = simulation(state)
    snapshot, framework = run.snapshot, run.frameworks["default-scheduler"]
    for wanted in run.queue().active:
        before = [list(pods) for pods in snapshot.pods]
        counts = (snapshot.requested("cpu").tolist(), snapshot.pod_count.tolist())
        cycle = CycleState()
        framework.pre_filter(cycle, wanted)
        end = len(snapshot.log)
        DryRun(framework.filtering, snapshot, cycle, wanted, Disruptions(())).victims_on(
            snapshot.order
        )
        assert snapshot.pods == before
        assert (snapshot.requested("cpu").tolist(), snapshot.pod_count.tolist()) == counts
        assert len(snapshot.log) == end


@given(crowded(choosy=True))
def test_reprieved_pods_and_victims_are_all_the_pods_of_lower_priority(state):
    run = simulation(state)
    framework = run.frameworks["default-scheduler"]
    for wanted in run.queue().active:
        cycle = CycleState()
        framework.pre_filter(cycle, wanted)
        dry_run = DryRun(
            framework.filtering,
            run.snapshot,
            cycle,
            wanted,
            Disruptions(()),
            lambda plugin, state, node: (),
        )
        for row, found in zip(
            run.snapshot.order, dry_run.victims_on(run.snapshot.order), strict=True
        ):
            if isinstance(found, Victims):
                lower = {
                    one.uid for one in run.snapshot.pods[row] if one.priority < wanted.priority
                }
                victims = [one.uid for one in found.pods]
                stay = [one.uid for one in found.reprieved]
                assert sorted(victims + stay) == sorted(lower)
                assert set(found.rejections) == set(victims)


@given(crowded(choosy=True))
def test_what_is_remembered_of_trials_changes_nothing(state):
    fresh = simulation(state)
    fresh.options = replace(fresh.options, remember=False)
    assert simulation(state).run() == fresh.run()


GUARD = {"guard": "yes"}


class Watchful(PreFilterPlugin, PreFilterExtensions, FilterPlugin):
    """Lets pods pass once it has seen all guards leave; is told of nobody else."""

    name = "Watchful"

    def __init__(self, args, handle):
        self.told = []

    def pre_filter(self, state, pod, nodes):
        state.write(self.name, Guards())
        return None, SUCCESS

    def concerns(self, state, pod, other):
        return "guard" in other.labels

    def add_pod(self, state, pod, added, node):
        self.told.append(added.name)
        state.read(self.name).gone -= 1
        return SUCCESS

    def remove_pod(self, state, pod, removed, node):
        self.told.append(removed.name)
        state.read(self.name).gone += 1
        return SUCCESS

    def filter(self, state, pod, node):
        gone = state.read(self.name).gone
        return SUCCESS if gone > 1 else Status.unschedulable("guarded")


@dataclass
class Guards:
    gone: int = 0

    def clone(self):
        return Guards(self.gone)


def test_a_plugin_is_told_of_the_pods_that_concern_it_and_each_node_has_a_state_of_its_own():
    state = cluster(
        node("a"),
        node("b"),
        made_pod("guard-1", labels=GUARD, prio=1, node="a", start=1),
        made_pod("guard-2", labels=GUARD, prio=1, node="a", start=2),
        made_pod("other", prio=1, node="a", start=3),
        made_pod("guard-3", labels=GUARD, prio=1, node="b", start=1),
        made_pod(),
    )
    run = simulation(state, plugins=[Watchful])
    attempt = run.cycle.attempt(run.frameworks["default-scheduler"], find(run, "p")).attempt
    assert attempt.post_filter.victims == ("default/guard-1", "default/guard-2")
    assert set(attempt.post_filter.candidates) == {"a"}
    told = run.frameworks["default-scheduler"].plugin("Watchful").told
    assert set(told) == {"guard-1", "guard-2", "guard-3"}
