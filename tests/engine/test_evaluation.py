"""What an evaluation tells: messages, details, scores by node."""

from typing import Any

from ksched_cli.engine.evaluation import Evaluation, Mode
from ksched_cli.testing import cluster, find, node, pod, simulation
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


def test_the_message_counts_reasons_and_ends_with_what_postfilter_says() -> None:
    evaluation = evaluate(Mode.ALL_NODES, node("a", cpu="0"), node("b", cpu="0"))
    assert evaluation.fit_error("no.") == "0/2 nodes are available: 2 Insufficient cpu. no."
