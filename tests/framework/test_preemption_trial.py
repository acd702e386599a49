"""Searches for victims that plugins make by PreemptionTrial."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any, ClassVar

import pytest

from ksched_cli.api import (
    SUCCESS,
    CycleState,
    FilterPlugin,
    NodeInfo,
    Nodes,
    NodeStatuses,
    PodInfo,
    PostFilterPlugin,
    PostFilterResult,
    PreemptionTrial,
    PreFilterExtensions,
    PreFilterPlugin,
    PreFilterResult,
    Run,
    Status,
)
from ksched_cli.testing import node, pod
from tests.thorough import first

Answer = tuple[PostFilterResult | None, Status]
ZONE = "topology.kubernetes.io/zone"


def config(*post_filters: str) -> dict[str, Any]:
    enabled = [{"name": name} for name in post_filters]
    points = {"postFilter": {"enabled": enabled, "disabled": [{"name": "DefaultPreemption"}]}}
    return {"profiles": [{"plugins": points}]}


class Reprieve(PostFilterPlugin):
    """Kube-scheduler's own search, written with the trial."""

    name = "Reprieve"

    def post_filter(self, state: CycleState, pod: PodInfo, filtered: NodeStatuses) -> Answer:
        trial = PreemptionTrial(self.handle, state, pod, filtered)
        if trial.ineligible:
            return None, Status.unschedulable(trial.ineligible)
        candidates: dict[str, Sequence[PodInfo]] = {}
        for name in trial.nodes:
            with trial.branch():
                if victims := self.victims(trial, name):
                    candidates[name] = victims
        if not candidates:
            return PostFilterResult(""), Status.unschedulable("no evictions help")
        best = trial.best(candidates)
        return PostFilterResult(best, tuple(candidates[best])), SUCCESS

    def victims(self, trial: PreemptionTrial, name: str) -> list[PodInfo]:
        lower = trial.lower(name)
        for other in lower:
            trial.remove(other)
        if not trial.status(name).is_success:
            return []
        violating = trial.violated_budgets(lower)
        victims = []
        for other in sorted(lower, key=lambda other: other.uid not in violating):
            trial.add(other)
            if not trial.status(name).is_success:
                trial.remove(other)
                victims.append(other)
        return sorted(victims, key=lower.index)


def crowded(random: Random) -> list[dict[str, Any]]:
    """Full nodes in two zones, budgets, and pods that repel each other."""

    def some_pod(name: str, **fields: Any) -> dict[str, Any]:
        app = random.choice("ab")
        term = {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": ZONE}
        rule = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
        affinity = {"podAntiAffinity": rule} if random.random() < 0.2 else None
        cpu = random.choice((1, 2))
        labels = {"app": random.choice("ab")}
        return pod(name, cpu=cpu, labels=labels, affinity=affinity, **fields)

    nodes = [node(f"n{i}", cpu=4, labels={ZONE: f"z{i % 2}"}) for i in range(4)]
    running = [
        some_pod(
            f"r{i}",
            node=f"n{i % 4}",
            priority=random.randrange(4),
            status={"startTime": f"2024-01-01T00:00:{random.randrange(5):02}Z"},
        )
        for i in range(12)
    ]
    budgets = [
        {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": {"name": app, "namespace": "default"},
            "spec": {"selector": {"matchLabels": {"app": app}}},
            "status": {"disruptionsAllowed": random.randrange(3)},
        }
        for app in "ab"
    ]
    vips = [some_pod(f"vip-{i}", priority=random.choice((2, 9))) for i in range(3)]
    return [*nodes, *running, *budgets, *vips]


@pytest.mark.parametrize("seed", first(12, range(40)))
def test_a_search_written_with_the_trial_chooses_as_default_preemption_does(seed: int) -> None:
    run = Run(state=crowded(Random(seed)))
    own = run.with_(config=config("Reprieve"), plugins=[Reprieve])
    default, result = run.schedule(), own.schedule()
    assert result.evicted == default.evicted
    assert result.placements == default.placements


class Counting(FilterPlugin):
    """Counts its calls."""

    name = "Counting"
    calls: ClassVar[list[str]] = []

    def filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status:
        self.calls.append(node.name)
        return SUCCESS


def test_a_search_that_puts_pods_back_asks_filter_once_for_each() -> None:
    """Linear in the pods: a trial that began anew each time would move the square of them."""
    pods = [pod(f"r{i}", cpu=1, node="n", priority=1) for i in range(20)]
    state = [node("n", cpu=20), *pods, pod("vip", cpu=2, priority=9)]
    both = config("Reprieve")
    both["profiles"][0]["plugins"]["filter"] = {"enabled": [{"name": "Counting"}]}
    Counting.calls.clear()
    run = Run(state=state, config=both, plugins=[Reprieve, Counting])
    assert len(run.schedule().evicted) == 2
    # Without any pod; with each of 18 that stay (the two others NodeResourcesFit rejects before);
    # at last the pod is placed.
    assert len(Counting.calls) == 1 + 18 + 1


class Elsewhere(PostFilterPlugin):
    """Evicts what repels the pod, wherever it runs."""

    name = "Elsewhere"

    def post_filter(self, state: CycleState, pod: PodInfo, filtered: NodeStatuses) -> Answer:
        trial = PreemptionTrial(self.handle, state, pod, filtered)
        for name in trial.nodes:
            for other in (p for pods in self.handle.snapshot.pods for p in pods):
                if trial.status(name, without=[other]).is_success:
                    return PostFilterResult(name, (other,)), SUCCESS
        return None, Status.unschedulable("nothing helps")


def repelled() -> list[dict[str, Any]]:
    """The pod fits on `small` alone, in whose zone a pod on `other` repels it."""
    term = {"labelSelector": {"matchLabels": {"app": "loud"}}, "topologyKey": ZONE}
    affinity = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    return [
        node("small", cpu=2, labels={ZONE: "z"}),
        node("other", cpu=1, labels={ZONE: "z"}),
        pod("calm", cpu=1, node="small", priority=1),
        pod("dear", cpu="500m", node="other", priority=99),
        pod("loud", cpu="500m", node="other", priority=1, labels={"app": "loud"}),
        pod("vip", cpu=1, priority=9, affinity=affinity),
    ]


def test_victims_may_be_on_any_node() -> None:
    run = Run(state=repelled(), config=config("Elsewhere"), plugins=[Elsewhere])
    result = run.schedule()
    assert (result.placements, result.evicted) == ({"default/vip": "small"}, ("default/loud",))
    answer = run.preempt("vip")
    assert (answer.node, answer.victims) == ("small", ("default/loud",))
    assert Run(state=repelled()).schedule().pending == ("default/vip",)


def test_victims_on_another_node_leave_after_their_grace_periods() -> None:
    vip = repelled()[-1]
    run = Run(state=repelled()[:-1], config=config("Elsewhere"), plugins=[Elsewhere])
    pods = run.replay([{"at": 1, "pod": vip}]).to_frame().set_index("pod")
    assert pods.loc["default/vip", ["node", "placed"]].tolist() == ["small", 31]
    assert pods.loc["default/loud", "outcome"] == "evicted"


class Quota(PreFilterPlugin, PreFilterExtensions, FilterPlugin):
    """At most three pods of the namespace anywhere, which it counts in PreFilter."""

    name = "Quota"

    def pre_filter(
        self, state: CycleState, pod: PodInfo, nodes: Nodes
    ) -> tuple[PreFilterResult | None, Status]:
        state.write("count", [sum(map(len, nodes.snapshot.pods))])
        return None, SUCCESS

    def add_pod(self, state: CycleState, pod: PodInfo, added: PodInfo, node: NodeInfo) -> Status:
        state.read("count")[0] += 1
        return SUCCESS

    def remove_pod(
        self, state: CycleState, pod: PodInfo, removed: PodInfo, node: NodeInfo
    ) -> Status:
        if "stuck" in removed.labels:
            return Status.error("it cannot leave")
        state.read("count")[0] -= 1
        return SUCCESS

    def filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status:
        count = state.read("count")[0]
        return Status.unschedulable(f"{count} pods") if count >= 3 else SUCCESS


class Scripted(PostFilterPlugin):
    """Notes what a trial says in steps."""

    name = "Scripted"
    answers: ClassVar[dict[str, Any]] = {}

    def post_filter(self, state: CycleState, pod: PodInfo, filtered: NodeStatuses) -> Answer:
        trial = PreemptionTrial(self.handle, state, pod, filtered)
        first, second = (trial.lower(name)[0] for name in ("a", "b"))

        def ask() -> list[str]:
            return [trial.status(name).message for name in ("a", "b")]

        answers = self.answers
        answers["before"] = ask()
        with trial.branch():
            trial.remove(first)
            answers["without one"] = ask()
            with trial.branch():
                trial.remove(second)
                answers["without two"] = ask()
            answers["one is back"] = ask()
            trial.add(first)
            answers["both are back"] = ask()
            trial.remove(first)
        answers["after"] = ask()
        answers["lower"] = [other.name for other in trial.lower("a")]
        named = {"a": [first], "b": [second]}
        answers["best"] = trial.best(named), trial.best(named, key=lambda node, pods: -ord(node))
        return None, Status.unschedulable("done")


def scripted(plugin: type[PostFilterPlugin], **labels: str) -> Any:
    pods = [
        pod("a0", cpu=1, node="a", priority=1, labels=labels),
        pod("a1", cpu=1, node="a", priority=2),
        pod("b0", cpu=1, node="b", priority=1),
        pod("b1", cpu=1, node="b", priority=1),
    ]
    points = config(plugin.name)
    for point in ("preFilter", "filter"):
        points["profiles"][0]["plugins"][point] = {"enabled": [{"name": "Quota"}]}
    state = [node("a"), node("b"), *pods, pod("vip", cpu=1, priority=9)]
    return Run(state=state, config=points, plugins=[plugin, Quota]).schedule()


def test_what_a_branch_removes_is_back_after_it_for_every_plugin() -> None:
    """The plugin counts pods of all nodes: what leaves one node counts on the other, too."""
    scripted(Scripted)
    answers = Scripted.answers
    assert answers["before"] == answers["both are back"] == answers["after"] == ["4 pods", "4 pods"]
    assert answers["without one"] == answers["one is back"] == ["3 pods", "3 pods"]
    assert answers["without two"] == ["", ""]
    assert answers["lower"] == ["a1", "a0"]


def test_the_best_candidate_is_the_schedulers_or_that_of_a_key() -> None:
    """b0 has a lower priority than a1."""
    scripted(Scripted)
    assert Scripted.answers["best"] == ("b", "b")


class Twice(PostFilterPlugin):
    name = "Twice"

    def post_filter(self, state: CycleState, pod: PodInfo, filtered: NodeStatuses) -> Answer:
        trial = PreemptionTrial(self.handle, state, pod, filtered)
        other = trial.lower("a")[-1]
        trial.remove(other)
        self.step(trial, other)
        return None, Status.unschedulable("done")

    def step(self, trial: PreemptionTrial, other: PodInfo) -> None:
        trial.remove(other)


class NeverLeft(Twice):
    name = "NeverLeft"

    def step(self, trial: PreemptionTrial, other: PodInfo) -> None:
        trial.add(other)
        trial.add(other)


@pytest.mark.parametrize(
    ("plugin", "problem"),
    [
        (Twice, "ValueError: the pod default/a0 is on no node in this trial"),
        (NeverLeft, "ValueError: the pod default/a0 was not removed in this trial"),
    ],
)
def test_a_pod_that_cannot_leave_or_return_is_a_failure_of_the_plugin(
    plugin: type[PostFilterPlugin], problem: str
) -> None:
    (defect,) = scripted(plugin).defects
    assert (defect.plugin, defect.problem) == (plugin.name, problem)


class Asks(Twice):
    name = "Asks"
    answers: ClassVar[list[Status]] = []

    def step(self, trial: PreemptionTrial, other: PodInfo) -> None:
        self.answers.append(trial.status("b"))


def test_a_plugin_that_fails_in_remove_pod_is_an_error_of_the_trial() -> None:
    Asks.answers.clear()
    scripted(Asks, stuck="1")
    (answer,) = Asks.answers
    assert answer.message == 'running RemovePod on PreFilter plugin "Quota": it cannot leave'


class OnNoNode(PostFilterPlugin):
    """Names victims, but no node."""

    name = "OnNoNode"

    def post_filter(self, state: CycleState, pod: PodInfo, filtered: NodeStatuses) -> Answer:
        return PostFilterResult(None, (self.handle.snapshot.pods[0][0],)), SUCCESS


class NotThere(OnNoNode):
    name = "NotThere"

    def post_filter(self, state: CycleState, pod: PodInfo, filtered: NodeStatuses) -> Answer:
        return PostFilterResult("a", (pod,)), SUCCESS


@pytest.mark.parametrize(
    ("plugin", "problem"),
    [
        (OnNoNode, "post_filter returned victims, but no nominated_node"),
        (NotThere, "post_filter's victim default/vip is not a pod on a node"),
    ],
)
def test_victims_that_cannot_be_evicted_are_a_failure_of_the_plugin(
    plugin: type[PostFilterPlugin], problem: str
) -> None:
    (defect,) = scripted(plugin).defects
    assert (defect.plugin, defect.problem) == (plugin.name, problem)
