"""Score plugins together: prepared, scored, normalised, weighted."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.state import ClusterState
from ksched_cli.engine.records import Attempt
from ksched_cli.engine.simulation import Simulation
from ksched_cli.framework.cache.memo import SINGLE_ROWS_MAX, Memo
from ksched_cli.framework.cycle_state import CycleState
from ksched_cli.framework.interface import PreScorePlugin, ScorePlugin
from ksched_cli.framework.nodes import Nodes
from ksched_cli.framework.results import Scores
from ksched_cli.framework.status import SKIP, PluginError, Status
from ksched_cli.plugins.helper import default_normalize_score
from ksched_cli.plugins.node_resources.fit import NodeResourcesFit
from ksched_cli.testing import cluster, find, node, pod, run_cycle, simulation
from tests.framework.toys import Toy, normalizing, preparing, profile, scoring
from tests.narrowing import present

NAMES = ["a", "b", "c"]
SCORES = st.fixed_dictionaries({name: st.integers(0, 100) for name in NAMES})


def state() -> ClusterState:
    return cluster(*(node(name) for name in NAMES), pod("p"))


def attempt(*plugins: type[Toy], weights: list[int] | tuple[Any, ...] = ()) -> Attempt:
    config = profile(*plugins)
    enabled = [
        {"name": plugin.name, "weight": weight}
        for plugin, weight in zip(plugins, weights, strict=False)
    ]
    config["profiles"][0]["plugins"]["score"] = {"enabled": enabled}
    return run_cycle(state(), config, plugins)


def error_of(plugin: type[Toy]) -> str:
    run = simulation(state(), profile(plugin), [plugin])
    outcome = run.cycle.attempt(run.frameworks["default-scheduler"], find(run)).attempt
    assert outcome.node == ""
    return outcome.error


@given(st.lists(st.tuples(SCORES, st.integers(1, 9)), min_size=1, max_size=3))
def test_the_total_is_the_weighted_sum_and_the_best_is_taken_first_by_name(
    tables: list[tuple[dict[str, int], int]],
) -> None:
    plugins = [scoring(f"P{i}", table) for i, (table, _) in enumerate(tables)]
    outcome = attempt(*plugins, weights=[weight for _, weight in tables])
    totals = {name: sum(table[name] * weight for table, weight in tables) for name in NAMES}
    best = [name for name in NAMES if totals[name] == max(totals.values())]
    assert outcome.detail.totals == totals
    assert outcome.node == best[0]
    assert outcome.score == totals[best[0]]
    assert outcome.ties == (tuple(best) if len(best) > 1 else ())
    assert list(outcome.detail.scores) == NAMES
    for name, by_plugin in outcome.detail.scores.items():
        for score, (table, weight) in zip(by_plugin.values(), tables, strict=True):
            assert score.raw == score.normalized == table[name]
            assert score.weighted == table[name] * weight


def test_normalised_scores_count_and_raw_ones_are_kept() -> None:
    plugin = normalizing("P", {"a": 10, "b": 20, "c": 40}, lambda scores: scores * 2)
    scores = {name: by_plugin["P"] for name, by_plugin in attempt(plugin).detail.scores.items()}
    assert {name: score.raw for name, score in scores.items()} == {"a": 10, "b": 20, "c": 40}
    assert {name: score.normalized for name, score in scores.items()} == {"a": 20, "b": 40, "c": 80}


@pytest.mark.parametrize("score", [-1, 101])
def test_a_score_outside_0_to_100_ends_the_attempt(score: int) -> None:
    assert error_of(scoring("P", {"b": score})) == (
        "applying score defaultWeights on Score plugins: "
        f'plugin "P" returns an invalid score {score} for node "b", it should in the range of '
        "[0, 100] after normalizing"
    )


def test_a_plugin_that_prescore_skips_does_not_score() -> None:
    outcome = attempt(preparing("Skips", SKIP), scoring("Scores", {"b": 1}))
    assert [list(by_plugin) for by_plugin in outcome.detail.scores.values()] == [["Scores"]] * 3
    assert outcome.node == "b"


@pytest.mark.parametrize("status", [Status.error("broken"), Status.unschedulable("broken")])
def test_anything_else_in_prescore_ends_the_attempt(status: Status) -> None:
    assert error_of(preparing("P", status)) == 'running PreScore plugin "P": broken'


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        ([1, 2, 3], "score_nodes returned list, expected ndarray"),
        (
            np.array([0.5, 1, 2]),
            "score_nodes returned an array of float64, expected integers",
        ),
        (np.array([1, 2]), "score_nodes returned 2 scores for 3 nodes"),
    ],
)
def test_scores_of_the_wrong_shape_are_an_error(answer: Any, problem: str) -> None:
    class Mistaken(Toy, ScorePlugin):
        name = "P"

        def score_nodes(self, state: CycleState, pod: PodInfo, nodes: Nodes) -> Scores:
            return answer

    cause = f'plugin "P" failed with: plugin P failed in score: {problem}'
    assert error_of(Mistaken) == f"running Score plugins: {cause}"


@pytest.mark.parametrize(
    ("scores", "problem"),
    [
        ([1, 0.5, 2], "score returned float for node b, expected int"),
        ([1, None, 2], "score returned NoneType for node b, expected int"),
        ([0.5, 1, 2], "score returned float for node a, expected int"),
        ([True, False, True], "score_nodes returned an array of bool, expected integers"),
        ([1, 2**70, 2], "score_nodes returned an array of object, expected integers"),
    ],
)
def test_scores_of_the_plain_form_are_integers(scores: list[Any], problem: str) -> None:
    cause = f'plugin "P" failed with: plugin P failed in score: {problem}'
    table = dict(zip(NAMES, scores, strict=True))
    assert error_of(scoring("P", table)) == f"running Score plugins: {cause}"


@pytest.mark.parametrize("scores", [[0, 255, 100], [0, 256, -1], [2**62, 0, 1]])
def test_raw_scores_may_have_any_size(scores: list[int]) -> None:
    table = dict(zip(NAMES, scores, strict=True))
    detail = attempt(normalizing("P", table, lambda scores: scores * 0)).detail
    raw = {name: by_plugin["P"].raw for name, by_plugin in detail.scores.items()}
    assert raw == table


def test_an_exception_in_prescore_is_a_defect() -> None:
    class Raises(Toy, PreScorePlugin):
        name = "P"

        def pre_score(self, state: CycleState, pod: PodInfo, nodes: Nodes) -> Status:
            raise ValueError("odd")

    run = simulation(state(), profile(Raises, scoring("S", {})), [Raises, scoring("S", {})])
    outcome = run.cycle.attempt(run.frameworks["default-scheduler"], find(run)).attempt
    assert "plugin P failed in preScore: ValueError: odd" in outcome.error
    assert [defect.plugin for defect in run.caller.defects.values()] == ["P"]


def test_a_single_feasible_node_is_not_scored() -> None:
    outcome = run_cycle(cluster(node("a"), pod("p")))
    assert (outcome.node, outcome.score, outcome.detail.scores) == ("a", None, {})


@given(st.lists(st.integers(0, 10_000), min_size=1), st.booleans())
def test_default_normalize_score_keeps_the_order_and_ends_at_100(
    raw: list[int], reverse: bool
) -> None:
    scores = np.array(raw, dtype=np.int64)
    normalized = default_normalize_score(scores, reverse=reverse)
    assert ((normalized >= 0) & (normalized <= 100)).all()
    ranked = normalized[np.argsort(scores, kind="stable")]
    steps = np.diff(ranked)
    assert (steps <= 0).all() if reverse else (steps >= 0).all()
    if scores.max() > 0:
        assert (normalized.min() if reverse else normalized.max()) == (0 if reverse else 100)


def sums_by_app(run: Simulation) -> dict[str, Memo]:
    """The pods' labels `app`, after the run."""
    cache = run.frameworks["default-scheduler"].answer_cache
    entries = {info.labels["app"]: cache.entry_for(info) for info in run.pending()}
    return {
        app: present(present(present(entry).scores).row_sums).memo for app, entry in entries.items()
    }


def alike_but_for_labels() -> Simulation:
    """Pods of apps a and b request the same, those of c more; without detail, so that answers are
    cached. The nodes are too many to be scored one by one."""
    nodes = [node(f"n{i}", cpu="64") for i in range(SINGLE_ROWS_MAX)]
    cpus = {"a": "1", "b": "1", "c": "2"}
    pods = [
        pod(f"{app}{i}", labels={"app": app}, cpu=cpu)
        for i in range(6)
        for app, cpu in cpus.items()
    ]
    run = simulation(cluster(*nodes, *pods))
    run.pipeline.detailed = False
    return run


def test_pods_that_request_the_same_share_the_sums_of_row_plugins() -> None:
    run = alike_but_for_labels()
    placements = run.run().placements
    sums = sums_by_app(run)
    assert sums["a"] is sums["b"]
    assert sums["a"] is not sums["c"]
    uncached = alike_but_for_labels()
    uncached.options = replace(uncached.options, cache_answers=False)
    assert uncached.run().placements == placements


def test_nothing_of_a_failed_refresh_counts_as_up_to_date() -> None:
    run = alike_but_for_labels()
    before = alike_but_for_labels().run().placements
    fit = run.frameworks["default-scheduler"].plugin("NodeResourcesFit")
    assert isinstance(fit, NodeResourcesFit)
    failures = iter(range(2))

    def fails_at_first(*arguments: Any) -> Scores:
        if next(failures, None) is not None:
            raise PluginError("not now")
        return NodeResourcesFit.score_nodes(fit, *arguments)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fit, "score_nodes", fails_at_first, raising=False)
        record = run.run()
    assert "not now" in record.attempts[0].error
    assert record.placements.keys() == before.keys()
    assert sums_by_app(run)["a"].gather(Nodes(run.snapshot)).all()
