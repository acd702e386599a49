"""What an evaluation tells: messages, details, scores by node."""

from typing import Any

import pytest

from ksched_cli.engine.evaluation import Evaluation, Mode
from ksched_cli.framework.status import Code, Status
from ksched_cli.testing import cluster, find, node, pod, simulation
from tests.framework.toys import Toy, filtering, narrowing, profile, scoring
from tests.narrowing import present

PROFILE = "default-scheduler"


def evaluate(mode: Mode, *objects: dict[str, Any]) -> Evaluation:
    run = simulation(cluster(*objects, pod("p", cpu="500m")))
    return run.pipeline.evaluate(run.frameworks[PROFILE], find(run, "p"), mode)


def test_details_are_the_plugins_own_and_none_where_it_does_not_explain_itself() -> None:
    full = pod("there", node="a", cpu="600m")
    evaluation = evaluate(Mode.ALL_NODES, node("a", cpu="1"), full)
    lines = evaluation.details("NodeResourcesFit", "filter", 0)
    assert lines == ("cpu: wants 0.5, 0.4 free of 1",)
    assert evaluation.details("no such plugin", "filter", 0) == ()
    assert evaluation.details("DefaultBinder", "filter", 0) == ()


def test_scores_by_node_add_up_to_the_totals() -> None:
    evaluation = evaluate(Mode.SAMPLED, node("a"), node("b", cpu="8"))
    scores = evaluation.scores_by_node()
    assert list(scores) == ["a", "b"]
    sums = [sum(score.weighted for score in by_plugin.values()) for by_plugin in scores.values()]
    assert sums == present(evaluation.totals).tolist()


def test_scores_have_details_only_in_exhaustive_mode() -> None:
    nodes = (node("a"), node("b", cpu="8"))
    for mode, explained in ((Mode.SAMPLED, False), (Mode.EXHAUSTIVE, True)):
        score = evaluate(mode, *nodes).scores_by_node()["a"]["NodeResourcesFit"]
        assert bool(score.details) == explained


@pytest.mark.parametrize("is_detailed", [True, False], ids=["detailed", "with cached answers"])
def test_totals_are_weighted_sums_whatever_decides_among_equal_ones(is_detailed: bool) -> None:
    plugin = scoring("S", {"a": 3, "b": 100})
    config = profile(plugin)
    run = simulation(cluster(node("a"), node("b"), pod("p"), pod("q")), config, [plugin])
    run.pipeline.detailed = is_detailed
    run.frameworks[PROFILE].answer_cache.expect([find(run, "p")] * 9)
    for name in ("p", "q"):
        evaluation = run.pipeline.evaluate(run.frameworks[PROFILE], find(run, name), Mode.SAMPLED)
        assert present(evaluation.totals).tolist() == [3, 100]
        assert (evaluation.keys is None) == is_detailed


BROKEN = Status.error("broken")
SCORED = ("preFilter", "filter", "preScore", "score")


@pytest.mark.parametrize(
    ("plugins", "nodes", "points"),
    [
        ([narrowing("F", None, Status.unresolvable("no"))], "ab", SCORED[:1]),
        ([narrowing("F", None, BROKEN)], "ab", SCORED[:1]),
        ([filtering("F", dict.fromkeys("ab", Status.unschedulable("no")))], "ab", SCORED[:2]),
        ([scoring("S", {})], "a", SCORED[:2]),
        ([scoring("S", {})], "ab", SCORED),
    ],
    ids=["rejected by PreFilter", "PreFilter fails", "fits nowhere", "one node fits", "scored"],
)
def test_an_attempt_reaches_a_point_where_those_before_leave_it_nodes(
    plugins: list[type[Toy]], nodes: str, points: tuple[str, ...]
) -> None:
    run = simulation(cluster(*map(node, nodes), pod("p")), profile(*plugins), plugins)
    evaluation = run.pipeline.evaluate(run.frameworks[PROFILE], find(run, "p"), Mode.SAMPLED)
    assert evaluation.points_reached() == points


def test_plugins_that_reject_are_listed_and_of_them_those_that_wait_for_something() -> None:
    no, pending = Status.unschedulable("no"), Status(Code.PENDING, ("not yet",))
    plugins = [filtering("No", {"a": no}), filtering("Later", {"b": pending})]
    run = simulation(cluster(node("a"), node("b"), pod("p")), profile(*plugins), plugins)
    evaluation = run.pipeline.evaluate(run.frameworks[PROFILE], find(run, "p"), Mode.SAMPLED)
    rejecting, waiting = evaluation.rejecting_plugins()
    assert (sorted(rejecting), list(waiting)) == (["Later", "No"], ["Later"])


def test_the_message_counts_reasons_and_ends_with_what_postfilter_says() -> None:
    evaluation = evaluate(Mode.ALL_NODES, node("a", cpu="0"), node("b", cpu="0"))
    assert evaluation.fit_error("no.") == "0/2 nodes are available: 2 Insufficient cpu. no."
