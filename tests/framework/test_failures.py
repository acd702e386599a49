"""Whatever a plugin does at any point, the run ends, and leaves no pod half placed."""

from __future__ import annotations

import itertools
import math
import signal
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from ksched_cli.analysis.explain import explain
from ksched_cli.api import (
    SUCCESS,
    BindPlugin,
    Code,
    CycleState,
    Explains,
    FilterPlugin,
    Nodes,
    NormalizeScore,
    PermitPlugin,
    Plugin,
    PodInfo,
    PostBindPlugin,
    PostFilterPlugin,
    PostFilterResult,
    PreBindPlugin,
    PreEnqueuePlugin,
    PreFilterExtensions,
    PreFilterPlugin,
    PreFilterResult,
    PreScorePlugin,
    QueueSortPlugin,
    ReservePlugin,
    Scope,
    ScorePlugin,
    Scores,
    SignPlugin,
    Status,
    Verdicts,
)
from ksched_cli.cluster.state import ClusterState
from ksched_cli.engine.records import RunRecord
from ksched_cli.engine.simulation import Simulation
from ksched_cli.framework.failures import CallTimeoutError, described
from ksched_cli.framework.status import MalformedError
from ksched_cli.testing import cluster, find, node, pod, simulation

# What a plugin that works answers, by method; overridden one at a time.
WORKING: dict[str, tuple[type[Plugin], Callable[..., Any]]] = {
    "pre_enqueue": (PreEnqueuePlugin, lambda pod: SUCCESS),
    "less": (QueueSortPlugin, lambda first, second: first.sequence < second.sequence),
    "pre_filter": (PreFilterPlugin, lambda state, pod, nodes: (None, SUCCESS)),
    "add_pod": (PreFilterExtensions, lambda state, pod, added, node: SUCCESS),
    "remove_pod": (PreFilterExtensions, lambda state, pod, removed, node: SUCCESS),
    "concerns": (PreFilterExtensions, lambda state, pod, other: True),
    "filter": (FilterPlugin, lambda state, pod, node: SUCCESS),
    "filter_nodes": (FilterPlugin, lambda state, pod, nodes: Verdicts.passing(len(nodes))),
    "post_filter": (
        PostFilterPlugin,
        lambda state, pod, filtered: (None, Status.unschedulable("no")),
    ),
    "pre_score": (PreScorePlugin, lambda state, pod, nodes: SUCCESS),
    "score": (ScorePlugin, lambda state, pod, node: 1),
    "score_nodes": (ScorePlugin, lambda state, pod, nodes: np.ones(len(nodes), dtype=np.int64)),
    "normalize_scores": (NormalizeScore, lambda state, pod, nodes, scores: scores),
    "reserve": (ReservePlugin, lambda state, pod, node: SUCCESS),
    "unreserve": (ReservePlugin, lambda state, pod, node: None),
    "permit": (PermitPlugin, lambda state, pod, node: (SUCCESS, 0)),
    "pre_bind": (PreBindPlugin, lambda state, pod, node: SUCCESS),
    "bind": (BindPlugin, lambda state, pod, node: Status(Code.SKIP)),
    "post_bind": (PostBindPlugin, lambda state, pod, node: None),
    "sign_pod": (SignPlugin, lambda pod: {"P": 1}),
    "scope_for": (FilterPlugin, lambda pod: Scope.NODE),
    "cache_key": (ScorePlugin, lambda pod: 1),
    "explain_filter": (Explains, lambda state, pod, node: ("line",)),
    "explain_score": (Explains, lambda state, pod, node: ("line",)),
}
SIBLINGS = {"filter_nodes": "filter", "score_nodes": "score"}  # the form that is not called

STATE = cluster(
    node("a", cpu="1"),
    node("b", cpu="1"),
    pod("low", cpu="1", node="a"),
    pod("p", cpu="1"),
    pod("q", cpu="1", priority=9),
    pod("r", cpu="1", priority=9),
)


def faulty(method: str, act: Callable[..., Any]) -> type[Plugin]:
    """A plugin at every extension point, of which one method does `act`."""

    def called(self: Plugin, *arguments: Any) -> Any:
        return act(*arguments)

    def working(answer: Callable[..., Any]) -> Callable[..., Any]:
        return lambda self, *arguments: answer(*arguments)

    bases = tuple(dict.fromkeys(base for base, _ in WORKING.values()))
    if method != "less":
        bases = tuple(base for base in bases if base is not QueueSortPlugin)
    body: dict[str, Any] = {
        name: working(answer)
        for name, (base, answer) in WORKING.items()
        if base in bases and name not in SIBLINGS and name != SIBLINGS.get(method)
    }
    if method not in ("scope_for", "cache_key"):
        del body["scope_for"], body["cache_key"]
    return type("P", bases, {**body, "name": "P", method: called})


def run_of(
    plugin: type[Plugin], state: ClusterState = STATE, seconds: float = 0
) -> tuple[Simulation, RunRecord]:
    simulated = simulation(state, plugins=[plugin])
    if seconds:
        simulated.caller.limit_calls(seconds)
    return simulated, simulated.run()


def check(simulated: Simulation, record: RunRecord) -> None:
    """Every pod is placed, pending or evicted, and the nodes have those that are placed."""
    waiting = {pod.key for pod in simulated.state.pods} - {"default/low"}
    gone = {eviction.pod for eviction in record.evicted}
    assert {*record.placements, *record.pending, *record.gated, *gone} - {"default/low"} == waiting
    on_nodes = {info.key for infos in simulated.snapshot.pods for info in infos}
    assert on_nodes - {"default/low"} == set(record.placements)


def raises(error: BaseException) -> Callable[..., Any]:
    def act(*arguments: Any) -> None:
        raise error

    return act


def recurses(*arguments: Any) -> Any:
    return recurses(*arguments)


def allocates(*arguments: Any) -> Any:
    return np.zeros(1 << 60, dtype=np.int64)


class Odd:
    """What no answer is: fails whatever is done with it."""

    def __bool__(self) -> bool:
        raise ValueError("odd")

    __len__ = __iter__ = __hash__ = __bool__

    def __eq__(self, other: object) -> bool:
        raise ValueError("odd")


FAILURES: dict[str, Callable[..., Any]] = {
    "raises": raises(KeyError("odd")),
    "exits": raises(SystemExit(0)),
    "ends": raises(GeneratorExit()),
    "recurses": recurses,
    "takes memory": allocates,
}
ANSWERS: tuple[Any, ...] = (
    None, True, -1, 10**30, math.nan, math.inf, "text", b"bytes", (), [], {}, Odd(), object(),
    (None, None), (SUCCESS, math.nan), (SUCCESS, "soon"), (SUCCESS,), (None, SUCCESS, 1),
    (Odd(), SUCCESS), (None, Status("x")), Status(Odd()), Status(99),  # type: ignore[arg-type]
    Status(Code.WAIT), Status(Code.SKIP), Status(Code.PENDING), Status(Code.ERROR, ("why",)),
    Status(Code.UNSCHEDULABLE, "text"), Status(Code.UNSCHEDULABLE, (5,)),  # type: ignore[arg-type]
    Status(Code.UNSCHEDULABLE, ["a"]),  # type: ignore[arg-type]
    (PreFilterResult(frozenset()), SUCCESS), (PreFilterResult(frozenset({"x"})), SUCCESS),
    (PreFilterResult(["a"]), SUCCESS), (PreFilterResult(frozenset({5})), SUCCESS),  # type: ignore[arg-type]
    (PostFilterResult("nowhere"), SUCCESS), (PostFilterResult(""), SUCCESS),
    (PostFilterResult("a"), Status(Code.UNSCHEDULABLE)), (PostFilterResult(Odd()), SUCCESS),  # type: ignore[arg-type]
    (Status(Code.WAIT), math.nan), (Status(Code.WAIT), -5), (Status(Code.WAIT), math.inf),
    (Status(Code.WAIT), 30), np.array([1.0, math.nan]), np.array([200, 1]), np.array([-1, 1]),
    np.array([1, 1], dtype=np.uint8), np.array([[1, 1]]), np.array(["a", "b"]), np.array([]),
    np.ma.masked_array([1, 1], [True, False]), np.array([1, 1], dtype=">i8"),
    np.array([2**63, 1], dtype=np.uint64), np.array([None, None]),
    Verdicts(np.array([5, 0])), Verdicts(np.array([-1, 0])), Verdicts(np.array([0.5, 1])),
    Verdicts(np.array([1, 0]), [SUCCESS, None]),  # type: ignore[list-item]
    Verdicts(np.array([0, 0]), []), Verdicts(np.array([0, 0]), 5),  # type: ignore[arg-type]
    Verdicts(np.array([0, 1]), [Status(Code.UNSCHEDULABLE), SUCCESS]),
    Verdicts(np.array([1, 1]), [SUCCESS, Status(Code.SKIP)]),
)  # fmt: skip


@pytest.mark.parametrize("method", WORKING)
def test_a_plugin_that_works_fails_nowhere(method: str) -> None:
    simulated, record = run_of(faulty(method, WORKING[method][1]))
    check(simulated, record)
    assert simulated.caller.defects == {}


@pytest.mark.parametrize(
    ("method", "failure"),
    [*((method, "exits") for method in WORKING), *(("permit", failure) for failure in FAILURES)],
)
def test_the_run_goes_on_whatever_is_raised(method: str, failure: str) -> None:
    simulated, record = run_of(faulty(method, FAILURES[failure]))
    check(simulated, record)
    for defect in simulated.caller.defects.values():
        assert defect.plugin == "P"
        assert defect.pods


@pytest.mark.parametrize("method", WORKING)
def test_the_run_goes_on_whatever_is_returned(method: str) -> None:
    answers = itertools.cycle(ANSWERS)
    pods = [pod(f"p{i}", cpu="1", priority=i % 3) for i in range(len(ANSWERS))]
    low = pod("low", cpu="1", node="a")
    state = cluster(node("a", cpu="20"), node("b", cpu="20"), low, *pods)
    simulated, record = run_of(faulty(method, lambda *arguments: next(answers)), state)
    check(simulated, record)


@pytest.mark.parametrize("method", ["explain_filter", "explain_score", "filter", "score"])
def test_an_explanation_is_made_whatever_is_returned(method: str) -> None:
    answers = itertools.cycle(ANSWERS)
    plugin = faulty(method, lambda *arguments: next(answers))
    nodes = [node(f"n{i}", cpu=str(i % 2)) for i in range(len(ANSWERS))]
    run = simulation(cluster(*nodes, pod("p", cpu="1")), plugins=[plugin])
    answer = explain(run, find(run, "p"))
    assert answer.pod == "default/p"


def test_a_failure_says_plugin_point_problem_and_pods() -> None:
    simulated, record = run_of(faulty("filter", raises(SystemExit("bye"))))
    (defect,) = simulated.caller.defects.values()
    assert (defect.plugin, defect.point, defect.problem) == ("P", "filter", "SystemExit: bye")
    assert "Traceback" in defect.detail
    assert list(defect.pods) == ["default/q", "default/r", "default/p"]
    assert set(record.failed) == set(defect.pods)


def test_scores_of_few_bits_do_not_overflow_when_they_are_weighted() -> None:
    class Small(ScorePlugin):
        name = "Small"

        def score_nodes(self, state: CycleState, pod: PodInfo, nodes: Nodes) -> Scores:
            return np.array([100, 0], dtype=np.int8)

    config = {"plugins": {"multiPoint": {"enabled": [{"name": "Small", "weight": 7}]}}}
    state = cluster(node("a", cpu="1"), node("b", cpu="1"), pod("p"))
    run = simulation(state, {"profiles": [config]}, [Small]).run()
    scores = run.last["default/p"].detail.scores
    assert [scores[name]["Small"].weighted for name in ("a", "b")] == [700, 0]


def test_a_keyboard_interrupt_is_the_users_unless_the_command_ends_otherwise(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plugin = faulty("filter", raises(KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt):
        run_of(plugin)
    monkeypatch.setattr(signal, "getsignal", lambda number: print)
    simulated, _ = run_of(plugin)
    assert [defect.problem for defect in simulated.caller.defects.values()] == ["KeyboardInterrupt"]


def test_a_call_that_takes_too_long_is_a_failure_with_the_line() -> None:
    def loop(*arguments: Any) -> None:
        while True:
            pass

    simulated, record = run_of(faulty("filter", loop), seconds=0.05)
    check(simulated, record)
    (defect,) = simulated.caller.defects.values()
    assert defect.problem == "it took longer than 0.05 s"
    assert "in loop" in defect.detail
    assert record.failed


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (KeyError("a"), "KeyError: 'a'"),
        (SystemExit(), "SystemExit"),
        (MalformedError("returned int"), "returned int"),
        (CallTimeoutError("it took long"), "it took long"),
    ],
)
def test_an_error_is_one_line(error: BaseException, text: str) -> None:
    assert described(error) == text
