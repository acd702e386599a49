"""The one way from PreFilter to the totals, in each of its modes."""

from typing import Any

from hypothesis import given

from ksched_cli.cluster.state import ClusterState
from ksched_cli.engine.evaluation import Evaluation, Mode
from ksched_cli.engine.simulation import Simulation
from ksched_cli.framework.status import Status
from ksched_cli.testing import cluster, find, node, pod, run_cycle, simulation
from tests.clusters import states
from tests.framework.toys import Toy, filtering, narrowing, preparing, profile, scoring
from tests.narrowing import present

PROFILE = "default-scheduler"
NO = Status.unschedulable("no")
BROKEN = Status.error("broken")


def toys(*plugins: type[Toy], nodes: str = "abc", **fields: Any) -> Simulation:
    """A simulation of these plugins alone, with empty nodes and the pod p."""
    state = cluster(*(node(name) for name in nodes), pod("p", **fields))
    return simulation(state, profile(*plugins), plugins)


def evaluate(run: Simulation, mode: Mode = Mode.SAMPLED, name: str = "p") -> Evaluation:
    return run.pipeline.evaluate(run.frameworks[PROFILE], find(run, name), mode)


def test_sampled_and_all_nodes_ask_a_plugin_only_about_nodes_that_passed_the_one_before() -> None:
    for mode in (Mode.SAMPLED, Mode.ALL_NODES):
        queried: list[Any] = []
        run = toys(filtering("A", {"a": NO}), filtering("B", {}, queried), scoring("S", {}))
        evaluation = evaluate(run, mode)
        assert queried == ["b", "c"]
        assert evaluation.feasible.names() == ["b", "c"]
        assert evaluation.statuses.own() == {"a": NO.by("A")}
        assert evaluation.rejections == ()


def test_exhaustive_asks_every_plugin_about_every_node_and_records_every_rejection() -> None:
    queried: list[Any] = []
    run = toys(filtering("A", {"a": NO}), filtering("B", {"a": NO, "b": NO}, queried))
    evaluation = evaluate(run, Mode.EXHAUSTIVE)
    assert queried == ["a", "b", "c"]
    assert evaluation.feasible.names() == ["c"]
    assert evaluation.statuses.own() == {"a": NO.by("A"), "b": NO.by("B")}
    plugins = [[rejection.status.plugin for rejection in row] for row in evaluation.rejections]
    assert plugins == [["A", "B"], ["B"], []]


def test_only_the_sampled_search_stops_at_enough_feasible_nodes() -> None:
    feasible = {mode: len(evaluate(toys(filtering("A", {})), mode).feasible) for mode in Mode}
    # Without Score plugins one feasible node is enough.
    assert feasible.pop(Mode.SAMPLED) == 1
    assert set(feasible.values()) == {3}


def test_a_single_feasible_node_is_scored_only_exhaustively() -> None:
    for mode, totals in ((Mode.SAMPLED, None), (Mode.EXHAUSTIVE, [7])):
        run = toys(filtering("F", {"a": NO, "b": NO}), scoring("S", {"c": 7}))
        evaluation = evaluate(run, mode)
        assert evaluation.feasible.names() == ["c"]
        assert (evaluation.totals is None) == (totals is None)
        if totals is not None:
            assert present(evaluation.totals).tolist() == totals


def test_scores_by_plugin_are_kept_only_where_detail_is_asked_for() -> None:
    run = toys(scoring("S", {"a": 1, "b": 2}))
    run.pipeline.detailed = False
    evaluation = evaluate(run)
    assert (present(evaluation.totals).tolist(), evaluation.scores) == ([1, 2, 0], ())
    run.pipeline.detailed = True
    assert [scores.raw.tolist() for scores in evaluate(run).scores] == [[1, 2, 0]]


def test_nodes_that_prefilter_leaves_out_have_one_message_in_every_mode() -> None:
    for mode in Mode:
        run = toys(narrowing("N", ["b", "gone"]), filtering("F", {"b": NO}))
        evaluation = evaluate(run, mode)
        message = "0/3 nodes are available: 1 no, 2 node(s) didn't satisfy plugin(s) [N]."
        assert evaluation.fit_error() == message
        assert len(evaluation.feasible) == 0


def test_a_rejection_by_prefilter_is_the_whole_evaluation() -> None:
    for mode in Mode:
        evaluation = evaluate(toys(narrowing("N", None, NO), filtering("F", {"a": NO})), mode)
        assert evaluation.pre_filter == NO.by("N")
        assert evaluation.statuses.own() == {}
        assert evaluation.fit_error("later") == "0/3 nodes are available: no. later"


def test_a_failure_in_prefilter_is_an_error() -> None:
    for mode in Mode:
        evaluation = evaluate(toys(narrowing("N", None, BROKEN)), mode)
        assert evaluation.error == 'running PreFilter plugin "N": broken'


def test_a_failing_filter_is_an_error_except_exhaustively_where_it_is_a_rejection() -> None:
    message = 'running "F" filter plugin: broken'
    for mode in (Mode.SAMPLED, Mode.ALL_NODES):
        assert evaluate(toys(filtering("F", {"a": BROKEN})), mode).error == message
    evaluation = evaluate(toys(filtering("F", {"a": BROKEN})), Mode.EXHAUSTIVE)
    assert evaluation.error == ""
    assert [rejection.status.message for rejection in evaluation.rejections[0]] == [message]
    assert evaluation.feasible.names() == ["b", "c"]


def test_a_failing_score_is_an_error_and_leaves_no_totals() -> None:
    for mode in (Mode.SAMPLED, Mode.EXHAUSTIVE):
        evaluation = evaluate(toys(preparing("S", BROKEN)), mode)
        assert evaluation.error == 'running PreScore plugin "S": broken'
        assert evaluation.totals is None
        assert len(evaluation.feasible) == 3


def test_only_sampled_asks_about_the_nominated_node_first() -> None:
    status = {"nominatedNodeName": "b"}
    for mode, names in ((Mode.SAMPLED, ["b"]), (Mode.EXHAUSTIVE, ["a", "b", "c"])):
        run = toys(scoring("S", {}), status=status)
        run.queue()
        evaluation = evaluate(run, mode)
        assert evaluation.feasible.names() == names


def test_a_nominated_node_that_rejects_the_pod_is_one_of_many() -> None:
    run = toys(filtering("F", {"b": NO}), scoring("S", {}), status={"nominatedNodeName": "b"})
    run.queue()
    assert evaluate(run).feasible.names() == ["a", "c"]


def test_the_profiles_percentage_goes_before_the_configurations() -> None:
    config = {
        "percentageOfNodesToScore": 90,
        "profiles": [
            {"schedulerName": PROFILE},
            {"schedulerName": "other", "percentageOfNodesToScore": 50},
        ],
    }
    run = simulation(cluster(node("a")), config)
    profiles = [run.frameworks[name].profile for name in (PROFILE, "other")]
    assert [profile.percentage_of_nodes_to_score for profile in profiles] == [90, 50]


def test_postfilter_gives_the_search_for_victims_where_a_plugin_made_one() -> None:
    low = pod("low", cpu="1", node="a")
    state = cluster(node("a", cpu="1"), low, pod("p", cpu="1", priority=9))
    run = simulation(state)
    evaluation = evaluate(run, Mode.ALL_NODES)
    result, status, preemption = run.pipeline.post_filter(evaluation)
    assert (present(result).nominated_node, status.is_success) == ("a", True)
    assert [victim.key for victim in present(preemption).victims] == ["default/low"]
    run = toys(filtering("F", dict.fromkeys("abc", NO)))
    evaluation = evaluate(run, Mode.ALL_NODES)
    assert run.pipeline.post_filter(evaluation)[2] is None


def test_evaluating_does_not_move_the_start_of_the_search() -> None:
    run = toys(filtering("F", {}))
    assert [evaluate(run).feasible.names() for _ in range(2)] == [["a"], ["a"]]
    assert run.pipeline.search.next_start == 0
    assert evaluate(run).visited == 1


@given(states(max_pending=1))
def test_the_modes_agree_where_every_node_is_visited(state: ClusterState) -> None:
    run = simulation(state)
    info = run.pending()[0]
    framework = run.frameworks[PROFILE]
    pods = [list(pods) for pods in run.snapshot.pods]
    evaluations = {mode: run.pipeline.evaluate(framework, info, mode) for mode in Mode}
    assert [list(pods) for pods in run.snapshot.pods] == pods
    sampled = evaluations[Mode.SAMPLED]
    for mode, evaluation in evaluations.items():
        assert sorted(evaluation.feasible.names()) == sorted(sampled.feasible.names())
        assert evaluation.fit_error() == sampled.fit_error()
        if mode is Mode.EXHAUSTIVE and sampled.totals is not None:
            totals = dict(zip(evaluation.feasible.names(), present(evaluation.totals), strict=True))
            assert totals == dict(zip(sampled.feasible.names(), sampled.totals, strict=True))
    attempt = run_cycle(state, pod=info.key)
    assert attempt.node or attempt.message.startswith(sampled.fit_error())
    assert set(attempt.detail.feasible) == set(sampled.feasible.names())
