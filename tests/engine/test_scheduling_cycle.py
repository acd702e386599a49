"""One attempt: the choice of the node, and what is recorded."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from ksched_cli.engine.records import NO_DETAIL
from ksched_cli.engine.scheduling_cycle import NO_NODES, AttemptOutcome, first_by_name
from ksched_cli.engine.simulation import Simulation
from ksched_cli.framework import score_runner
from ksched_cli.framework.status import Status
from ksched_cli.testing import cluster, find, node, pod, simulation
from tests.framework.toys import Toy, filtering, preparing, profile, scoring
from tests.narrowing import present

NO = Status.unschedulable("no")
BROKEN = Status.error("broken")


def attempt(
    *plugins: type[Toy],
    nodes: str = "abc",
    detailed: bool = True,
    tie_break: Callable[..., Any] = first_by_name,
) -> tuple[Simulation, AttemptOutcome]:
    """The outcome of one attempt to place the pod p, with these plugins alone."""
    run = simulation(
        cluster(*(node(name) for name in nodes), pod("p")),
        profile(*plugins),
        plugins,
        kubernetes_version="1.34",
    )
    run.pipeline.detailed = detailed
    run.cycle.tie_break = tie_break
    return run, run.cycle.attempt(run.frameworks["default-scheduler"], find(run))


def test_the_node_with_the_highest_total_is_taken_and_the_pod_is_on_it() -> None:
    run, outcome = attempt(scoring("S", {"a": 1, "b": 5, "c": 3}))
    record = outcome.attempt
    assert (record.node, record.score, record.ties) == ("b", 5, ())
    assert (outcome.row, run.snapshot.pod_count.tolist()) == (1, [0, 1, 0])
    assert record.detail.totals == {"a": 1, "b": 5, "c": 3}


@pytest.mark.parametrize(
    ("tie_break", "name"), [(first_by_name, "a"), (lambda ties: ties[-1], "c")]
)
def test_among_the_best_nodes_the_tie_break_takes_one(
    tie_break: Callable[..., Any], name: str
) -> None:
    _, outcome = attempt(scoring("S", {"a": 5, "c": 5}), tie_break=tie_break)
    assert (outcome.attempt.node, outcome.attempt.ties) == (name, ("a", "c"))


def test_the_first_by_name_is_taken_in_whatever_order_the_best_nodes_come() -> None:
    assert first_by_name(np.array([4, 2, 9])) == 2


@pytest.mark.parametrize("max_weights", [0, score_runner.MAX_WEIGHTS])
def test_with_or_without_keys_the_same_nodes_are_taken_for_the_same_totals(
    max_weights: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(score_runner, "MAX_WEIGHTS", max_weights)
    pods = [pod(f"p{i}", cpu=1) for i in range(5)]
    run = simulation(
        cluster(node("a", cpu=4), node("b", cpu=8), node("c", cpu=8), *pods),
        kubernetes_version="1.34",
    )
    run.pipeline.detailed = False
    framework = run.frameworks["default-scheduler"]
    framework.answer_cache.expect(run.pending())
    records = [run.cycle.attempt(framework, info).attempt for info in run.pending()]
    assert bool(framework.scoring.shift) is bool(max_weights)
    assert [(record.node, record.score) for record in records] == [
        *(("b", 485), ("c", 485)),
        *(("a", 473), ("b", 473), ("c", 473)),
    ]


def test_the_only_feasible_node_is_taken_without_a_score() -> None:
    _, outcome = attempt(filtering("F", {"a": NO, "b": NO}), scoring("S", {}))
    assert (outcome.attempt.node, outcome.attempt.score) == ("c", None)
    assert outcome.attempt.evaluated == 3
    assert outcome.attempt.detail.filter == {"a": NO.by("F"), "b": NO.by("F")}


def test_without_detail_the_decision_is_the_same_and_nothing_else_is_recorded() -> None:
    _, outcome = attempt(scoring("S", {"a": 5, "c": 5}), detailed=False)
    assert (outcome.attempt.node, outcome.attempt.score) == ("a", 5)
    assert (outcome.attempt.detail, outcome.attempt.ties) == (NO_DETAIL, ())


def test_a_pod_that_fits_nowhere_gets_kube_schedulers_message() -> None:
    _, outcome = attempt(filtering("F", dict.fromkeys("abc", NO)))
    assert outcome.attempt.message == "0/3 nodes are available: 3 no."
    assert (outcome.attempt.evaluated, outcome.row, outcome.nomination) == (3, None, None)


def test_a_failure_ends_the_attempt_and_takes_back_the_nomination() -> None:
    _, outcome = attempt(filtering("F", {"b": BROKEN}), scoring("S", {}))
    assert outcome.attempt.error == 'running "F" filter plugin: broken'
    assert (outcome.attempt.evaluated, outcome.nomination) == (0, "")


def test_nodes_count_as_evaluated_where_score_fails() -> None:
    _, outcome = attempt(filtering("F", {"a": NO}), preparing("S", BROKEN))
    assert outcome.attempt.error == 'running PreScore plugin "S": broken'
    assert (outcome.attempt.evaluated, outcome.attempt.node) == (3, "")


def test_without_nodes_no_plugin_is_asked() -> None:
    _, outcome = attempt(preparing("S", BROKEN), nodes="")
    assert outcome.attempt.error == NO_NODES


def test_the_next_search_starts_where_this_one_ended() -> None:
    run, outcome = attempt(filtering("F", {"a": NO}))
    assert (outcome.attempt.node, outcome.attempt.evaluated) == ("b", 2)
    assert run.pipeline.search.next_start == 2


def test_victims_are_recorded_with_all_candidates_where_detail_is_kept() -> None:
    low = [pod(f"low-{name}", cpu="1", node=name) for name in "ab"]
    state = cluster(node("a", cpu="1"), node("b", cpu="1"), *low, pod("p", cpu="1", priority=9))
    for detailed in (True, False):
        run = simulation(state)
        run.pipeline.detailed = detailed
        outcome = run.cycle.attempt(run.frameworks["default-scheduler"], find(run, "p"))
        record = present(outcome.attempt.post_filter)
        assert (record.node, record.victims) == ("a", ("default/low-a",))
        assert list(record.candidates) == (["a", "b"] if detailed else [])
        assert (outcome.nomination, present(outcome.preemption).node) == ("a", "a")
