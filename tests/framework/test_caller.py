"""A plugin that does wrong ends that pod's attempt, by name and point; the run goes on."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.engine.records import RunRecord
from ksched_cli.engine.simulation import Simulation
from ksched_cli.framework.cycle_state import CycleState
from ksched_cli.framework.interface import (
    Explains,
    FilterPlugin,
    NormalizeScore,
    PermitPlugin,
    PreBindPlugin,
    PreEnqueuePlugin,
    PreFilterPlugin,
    PreScorePlugin,
    QueuedPod,
    QueueSortPlugin,
    ReservePlugin,
    Scope,
    ScorePlugin,
)
from ksched_cli.framework.nodes import NodeInfo, Nodes
from ksched_cli.framework.results import Scores, Verdicts
from ksched_cli.framework.status import SUCCESS, Status
from ksched_cli.testing import DefectError, cluster, explanation, node, pod, simulate, simulation
from tests.framework.toys import Toy, profile

BASES = {
    "pre_enqueue": PreEnqueuePlugin,
    "pre_filter": PreFilterPlugin,
    "filter": FilterPlugin,
    "filter_nodes": FilterPlugin,
    "pre_score": PreScorePlugin,
    "score": ScorePlugin,
    "score_nodes": ScorePlugin,
    "reserve": ReservePlugin,
    "permit": PermitPlugin,
    "pre_bind": PreBindPlugin,
}


def doing(method: str, act: Callable[..., Any]) -> type[Any]:
    """A plugin whose one method does `act` with what it is given."""

    def unreserve(self: Any, *given: CycleState | NodeInfo | PodInfo) -> None:
        pass

    def called(self: Any, *given: Any) -> Any:
        return act(*given)

    called.__name__ = method
    base = BASES[method]
    body = {"name": "P", method: called}
    if base is ReservePlugin:
        body["unreserve"] = unreserve
    return type("Doing", (Toy, base), body)


def run(plugin: type[Any], *more: Any) -> tuple[Simulation, RunRecord]:
    simulated = simulation(
        cluster(node("n", labels={"l": "v"}), node("m"), pod("p", cpu=1, labels={"app": "a"})),
        plugins=[plugin, *more],
    )
    return simulated, simulated.run()


def messages_of(record: RunRecord) -> str:
    last = record.last.get("default/p")
    if last is None:
        return record.gated["default/p"].message
    messages = (last.error, *(s.message for s in (last.reserve, last.permit, last.bind) if s))
    return " ".join(messages)


@pytest.mark.parametrize("method", BASES)
def test_an_exception_is_told_with_plugin_point_and_cause(method: str) -> None:
    def act(*given: Any) -> None:
        raise KeyError("odd")

    simulated, record = run(doing(method, act))
    assert "plugin P failed in" in messages_of(record)
    assert "KeyError: 'odd'" in messages_of(record)
    (defect,) = simulated.caller.defects.values()
    assert "in act" in defect.detail
    assert record.placements == {}


@pytest.mark.parametrize("method", BASES)
def test_nothing_is_no_answer(method: str) -> None:
    _, record = run(doing(method, lambda *given: None))
    assert "returned NoneType" in messages_of(record)


@pytest.mark.parametrize(
    ("method", "answer", "message"),
    [
        ("filter", True, "filter returned bool for node m, expected Status"),
        ("filter_nodes", [SUCCESS, SUCCESS], "filter_nodes returned list, expected Verdicts"),
        ("filter_nodes", Verdicts.passing(1), "filter_nodes returned 1 verdicts for 2 nodes"),
        ("score", 0.5, "score returned float for node m, expected int"),
        ("score_nodes", np.zeros(3, dtype=np.int64), "score_nodes returned 3 scores for 2 nodes"),
        ("pre_filter", SUCCESS, "pre_filter returned Status, expected tuple"),
        ("pre_filter", ("n", SUCCESS), "pre_filter's result returned str, expected"),
        ("permit", (SUCCESS, "soon"), "could not convert string to float"),
    ],
)
def test_answers_of_the_wrong_type_or_length_are_told(
    method: str, answer: Any, message: str
) -> None:
    simulated, record = run(doing(method, lambda *given: answer))
    assert message in messages_of(record)
    assert len(simulated.caller.defects) == 1


def mutations() -> Iterator[Any]:
    def label(pod: Any) -> None:
        pod.pod.metadata.labels["app"] = "b"

    def priority(pod: PodInfo) -> None:
        pod.priority = 7

    def selector(pod: PodInfo) -> None:
        pod.spec.node_selector["a"] = "b"

    yield from (label, priority, selector)


@pytest.mark.parametrize("act", list(mutations()))
def test_a_pod_may_not_be_changed(act: Callable[..., Any]) -> None:
    _, record = run(doing("filter", lambda state, pod, node: act(pod) or SUCCESS))
    assert "plugin P failed in filter: it changed the pod default/p" in messages_of(record)


def columns() -> Iterator[Any]:
    yield lambda nodes: nodes.snapshot.allocatable("cpu").__setitem__(0, 0)
    yield lambda nodes: nodes.snapshot.pod_count.__setitem__(0, 9)
    yield lambda nodes: nodes.indices().__setitem__(0, 1) if nodes.rows is not None else 1 / 0


@pytest.mark.parametrize("act", list(columns()))
def test_columns_may_not_be_written_to(act: Callable[..., Any]) -> None:
    def score(state: CycleState, pod: PodInfo, nodes: Nodes) -> Scores:
        act(nodes)
        return np.zeros(len(nodes), dtype=np.int64)

    simulated, record = run(doing("score_nodes", score))
    assert "plugin P failed in score" in messages_of(record)
    assert simulated.snapshot.allocatable("cpu").tolist() == [4000, 4000]
    assert simulated.snapshot.pod_count.tolist() == [0, 0]


def test_pods_may_not_be_moved() -> None:
    def act(state: CycleState, pod: PodInfo, node: NodeInfo) -> Status:
        node.snapshot.add(pod, node.row)
        return SUCCESS

    simulated, record = run(doing("filter", act))
    assert "plugins may not put pods on nodes" in messages_of(record)
    assert simulated.snapshot.pod_count.tolist() == [0, 0]


def test_a_nodes_labels_may_not_be_changed() -> None:
    def act(state: CycleState, pod: PodInfo, node: Any) -> Status:
        node.labels["l"] = "w"
        return SUCCESS

    _, record = run(doing("filter", act))
    assert "plugin P failed in filter: TypeError" in messages_of(record)


def test_raw_scores_may_not_be_changed_while_they_are_normalised() -> None:
    class Scaling(Toy, ScorePlugin, NormalizeScore):
        name = "P"

        def score(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> int:
            return 1

        def normalize_scores(
            self, state: CycleState, pod: PodInfo, nodes: Nodes, scores: Scores
        ) -> Scores:
            scores *= 2
            return scores

    _, record = run(Scaling)
    assert "plugin P failed in normalizeScore: ValueError" in messages_of(record)


def test_a_score_out_of_range_names_plugin_and_node() -> None:
    _, record = run(doing("score", lambda state, pod, node: 101))
    message = 'plugin "P" returns an invalid score 101 for node "m"'
    assert message in messages_of(record)


def test_other_plugins_and_other_pods_go_on() -> None:
    def act(state: CycleState, pod: PodInfo, node: NodeInfo) -> Status:
        if pod.name == "p":
            raise ValueError("odd")
        return SUCCESS

    simulated = simulation(
        cluster(node("n"), pod("p", cpu=1), pod("q")), plugins=[doing("filter", act)]
    )
    record = simulated.run()
    assert record.placements == {"default/q": "n"}
    assert record.failed == ("default/p",)


def test_a_failure_that_passes_is_no_failure_in_the_end() -> None:
    tries = []

    def act(state: CycleState, pod: PodInfo, node: NodeInfo) -> Status:
        tries.append(pod.name)
        if tries == ["p"]:
            raise ValueError("odd")
        return SUCCESS

    simulated = simulation(
        cluster(node("n"), pod("p", cpu=1), pod("q")), plugins=[doing("filter", act)]
    )
    record = simulated.run()
    assert set(record.placements) == {"default/p", "default/q"}
    assert record.failed == ()


def test_a_queue_sort_that_fails_leaves_the_order_of_the_state() -> None:
    class Confused(Toy, QueueSortPlugin):
        name = "Confused"

        def less(self, first: QueuedPod, second: QueuedPod) -> bool:
            raise ValueError("odd")

    simulated = simulation(cluster(node("n"), pod("b", cpu=1), pod("a")), plugins=[Confused])
    record = simulated.run()
    assert list(record.placements) == ["default/b", "default/a"]
    assert [defect.point for defect in simulated.caller.defects.values()] == ["queueSort"]


def test_a_scope_that_cannot_be_told_means_that_nothing_is_kept() -> None:
    class Unsure(Toy, FilterPlugin):
        name = "P"
        scope = Scope.NODE

        def scope_for(self, pod: PodInfo) -> Scope:
            raise ValueError("odd")

        def filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status:
            return SUCCESS

    state = cluster(node("n"), pod("a"), pod("b"))
    simulated = simulation(state, profile(Unsure), [Unsure])
    assert len(simulated.run().placements) == 2
    assert [defect.point for defect in simulated.caller.defects.values()] == ["scope_for"]


@pytest.mark.parametrize("look", [lambda pod: 1 / 0, lambda pod: []], ids=["raises", "no key"])
def test_a_plugin_that_cannot_say_what_it_looks_at_shares_nothing(look: Callable[..., Any]) -> None:
    class Vague(Toy, FilterPlugin):
        name = "P"
        scope = Scope.NODE

        def cache_key(self, pod: PodInfo) -> Any:
            return look(pod)

        def filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status:
            return SUCCESS

    state = cluster(node("n"), pod("a"), pod("b"))
    simulated = simulation(state, profile(Vague), [Vague])
    assert len(simulated.run().placements) == 2
    assert [defect.point for defect in simulated.caller.defects.values()] == ["cache_key"]


def test_explaining_goes_on_where_a_plugin_cannot_explain_itself() -> None:
    class Silent(Toy, FilterPlugin, Explains):
        name = "P"

        def filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status:
            return Status.unschedulable("no")

        def explain_filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> list[str]:
            raise ValueError("odd")

    with pytest.raises(DefectError, match="odd"):
        explanation(cluster(node("n"), pod("p")), plugins=[Silent])


def test_a_test_fails_with_the_traceback() -> None:
    with pytest.raises(DefectError, match=r"test_caller.py.*\n.*act\(\*given\)"):
        simulate(cluster(node("n"), pod("p")), plugins=[doing("filter", lambda *given: 1 / 0)])
