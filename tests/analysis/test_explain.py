"""Explanations: every plugin's word on every node, and how they compare to the decision."""

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from ksched_cli.analysis.explain import explain, ranking, select
from ksched_cli.cluster.state import ClusterState
from ksched_cli.testing import cluster, explanation, find, node, pod, simulate, simulation
from tests.clusters import crowded_states, crowds, states
from tests.draws import ALIKE, broken_by, drawn
from tests.narrowing import present


def test_every_plugin_that_rejects_a_node_is_heard_not_only_the_first() -> None:
    state = cluster(
        node("a", cpu="1", taints=["k=v:NoSchedule"], unschedulable=True), pod("p", cpu="2")
    )
    (explained,) = explanation(state).nodes
    assert [rejection.plugin for rejection in explained.rejections] == [
        "NodeUnschedulable",
        "TaintToleration",
        "NodeResourcesFit",
    ]
    assert explained.total is None


def test_numbers_stand_behind_the_reasons() -> None:
    state = cluster(node("a", cpu="1"), pod("there", node="a", cpu="600m"), pod("p", cpu="500m"))
    (rejection,) = explanation(state).nodes[0].rejections
    assert rejection.reasons == ("Insufficient cpu",)
    assert rejection.details == ("cpu: wants 0.5, 0.4 free of 1",)


def test_scores_add_up_and_nodes_are_ranked() -> None:
    state = cluster(node("a"), node("b", cpu="8"), node("c", cpu="1"), pod("p", cpu="2"))
    answer = explanation(state)
    assert answer.node == "b"
    by_name = {explained.node: explained for explained in answer.nodes}
    for name in ("a", "b"):
        explained = by_name[name]
        assert explained.total == sum(score.weighted for score in explained.scores.values())
        for score in explained.scores.values():
            assert score.weighted == score.normalized * score.weight
    assert [by_name[name].rank for name in "abc"] == [2, 1, None]
    assert answer.margin == present(by_name["b"].total) - present(by_name["a"].total)


def test_equal_nodes_share_a_rank_and_the_first_by_name_is_taken() -> None:
    answer = explanation(cluster(node("b"), node("a"), node("c", cpu="2"), pod("p", cpu="1")))
    assert (answer.node, answer.ties) == ("a", ("a", "b"))
    assert [explained.rank for explained in answer.nodes] == [1, 1, 3]


def test_the_node_taken_comes_first_and_is_in_every_selection() -> None:
    run = broken_by(lambda ties: int(ties.max()))
    answer = explain(run, find(run, "p0"))
    assert answer.node == "n11"
    assert present(answer.best_of_all).node == "n11"
    assert present(answer.best_of_all).score == answer.score
    assert [node.node for node in ranking(answer)[:3]] == ["n11", "n00", "n01"]
    for names, top, selected in (
        ((), 3, ["n00", "n01", "n11"]),
        ((), 1, ["n11"]),
        (("n05",), 0, ["n05", "n11"]),
        (("n05", "n11"), 2, ["n00", "n05", "n11"]),
    ):
        selection = select(answer, names, top)
        assert [node.node for node in selection.nodes] == selected
        assert ranking(selection)[0].node == "n11"


def test_a_node_taken_of_those_looked_at_comes_first_whatever_its_rank() -> None:
    small = [node(f"n{i:03}", cpu="4") for i in range(200)]
    answer = explanation(cluster(*small, node("y", cpu="32"), node("z", cpu="64"), pod("p", cpu=1)))
    assert (answer.node, answer.rank) == ("n000", 3)
    selection = select(answer, (), 2)
    assert [node.node for node in ranking(selection)] == ["n000", "z", "y"]
    assert present(answer.best_of_all).node == "z"


@given(st.one_of(crowded_states(), crowds(pods_each=2)), st.integers(0, 5))
def test_a_draw_is_that_of_schedule_with_the_same_seed(state: ClusterState, seed: int) -> None:
    record = drawn(seed, state).run()
    for key, attempt in list(record.last.items())[-3:]:
        run = drawn(seed, state)
        answer = explain(run, find(run, key))
        assert (answer.node, answer.score, answer.message) == (
            attempt.node,
            attempt.score,
            attempt.why_not,
        )
        if answer.node:
            (taken,) = (entry for entry in answer.nodes if entry.node == answer.node)
            assert taken == ranking(answer)[0]
            assert answer.score in (None, taken.total)


def test_draws_differ_from_seed_to_seed() -> None:
    for state in (ALIKE, cluster(*(node(f"n{i}") for i in range(9)), pod("p0", node="n8"))):
        taken = set()
        for seed in range(6):
            run = drawn(seed, state)
            taken.add(explain(run, find(run, "p0")).node)
        assert len(taken) > 2


def test_a_running_pod_is_asked_about_as_if_it_were_not_there() -> None:
    state = cluster(node("a", cpu="2"), node("b", cpu="8"), pod("p", cpu="2", node="a"))
    run = simulation(state)
    before = run.snapshot.requested("cpu").tolist()
    answer = explain(run, find(run, "p"))
    assert (answer.running_on, answer.node) == ("a", "b")
    assert all(explained.total is not None for explained in answer.nodes)
    assert run.snapshot.requested("cpu").tolist() == before


def test_a_gated_pod_says_so_and_is_explained_all_the_same() -> None:
    state = cluster(node("a"), pod("p", gates=["example.com/wait"]))
    answer = explanation(state, pod="p")
    assert present(answer.gated).plugin == "SchedulingGates"
    assert answer.node == "a"


def test_nodes_left_out_by_prefilter_say_by_whom() -> None:
    field = {"key": "metadata.name", "operator": "In", "values": ["b"]}
    required = {"nodeSelectorTerms": [{"matchFields": [field]}]}
    rules = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
    answer = explanation(cluster(node("a"), node("b"), pod("p", affinity=rules)))
    assert answer.node == "b"
    assert answer.nodes[0].rejections[0].plugin == "NodeAffinity"


def test_a_rejection_in_prefilter_is_the_whole_answer() -> None:
    fields = [{"key": "metadata.name", "operator": "In", "values": [name]} for name in "ab"]
    required = {"nodeSelectorTerms": [{"matchFields": fields}]}
    rules = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
    answer = explanation(cluster(node("a"), node("b"), pod("p", affinity=rules)))
    assert present(answer.pre_filter).reasons == ("pod affinity terms conflict",)
    assert answer.message.startswith("0/2 nodes are available: pod affinity terms conflict.")
    assert answer.node == ""


def test_a_running_pod_that_is_asked_about_stays_where_it_is() -> None:
    run = simulation(cluster(node("a"), pod("p", cpu="1", node="a")))
    first, second = (explain(run, find(run, "p")) for _ in range(2))
    assert first == second
    assert [[info.key for info in pods] for pods in run.snapshot.pods] == [["default/p"]]


def test_a_node_that_does_not_exist_any_more_has_no_rank() -> None:
    answer = explanation(cluster(node("a"), pod("p", node="gone")), pod="p")
    assert (answer.running_on, answer.rank, answer.node) == ("gone", None, "a")


@given(crowded_states())
def test_the_answer_about_every_pod_is_what_schedule_decides(state: ClusterState) -> None:
    record = simulate(state)
    for key, attempt in record.last.items():
        answer = explanation(state, pod=key)
        assert (answer.node, answer.evaluated) == (attempt.node, attempt.evaluated)
        assert answer.message == attempt.why_not
        assert (answer.score, answer.ties) == (attempt.score, attempt.ties)
        preemptors = [eviction.preemptor for eviction in record.evicted if eviction.pod == key]
        assert answer.evicted_by == "".join(preemptors)
        if key in record.placements:
            assert answer.node == record.placements[key]
        if answer.best_of_all is not None and answer.node:
            ranks = {node.node: node.rank for node in answer.nodes}
            assert ranks[answer.best_of_all.node] == 1
            assert ranks[answer.node] == answer.rank


@given(states(max_pending=1))
def test_what_is_explained_is_what_is_decided(state: ClusterState) -> None:
    for info in simulation(state).pending()[:1]:
        run = simulation(state)
        answer = explain(run, info, alone=True)
        attempt = simulation(state).run(only=info).last[info.key]
        assert answer.node == attempt.node
        assert answer.error == attempt.error
        assert answer.message == attempt.message
        fitting = {node.node for node in answer.nodes if node.total is not None}
        assert fitting == (set(attempt.detail.feasible) if not attempt.error else set())
        for name, status in attempt.detail.filter.items():
            explained = next(n for n in answer.nodes if n.node == name)
            assert explained.rejections[0].reasons == status.reasons
        for name, total in attempt.detail.totals.items():
            assert next(n for n in answer.nodes if n.node == name).total == total


PROFILES = {
    "profiles": [
        {"schedulerName": "default-scheduler", "percentageOfNodesToScore": 40},
        {
            "schedulerName": "packing",
            "plugins": {"score": {"disabled": [{"name": "NodeResourcesBalancedAllocation"}]}},
            "pluginConfig": [
                {
                    "name": "NodeResourcesFit",
                    "args": {
                        "scoringStrategy": {
                            "type": "MostAllocated",
                            "resources": [{"name": "cpu", "weight": 1}],
                        }
                    },
                }
            ],
        },
    ]
}


@given(crowded_states(profiles=("default-scheduler", "packing")))
def test_the_answer_is_that_of_schedule_with_several_profiles(state: ClusterState) -> None:
    record = simulate(state, PROFILES)
    for key, attempt in record.last.items():
        answer = explanation(state, PROFILES, pod=key)
        assert (answer.profile, answer.node) == (attempt.profile, attempt.node)
        assert answer.message == attempt.why_not
        assert (answer.score, answer.ties) == (attempt.score, attempt.ties)


@given(crowded_states())
def test_without_all_details_the_node_taken_and_the_best_have_theirs(state: ClusterState) -> None:
    for key in simulate(state).last:
        whole = explanation(state, pod=key)
        run = simulation(state)
        brief = explain(run, find(run, key), all_details=False)
        best = (node for node in whole.nodes if node.rank == 1)
        shown = {whole.node, next((node.node for node in best), "")}
        for expected, answered in zip(whole.nodes, brief.nodes, strict=True):
            if expected.node in shown:
                assert answered == expected
        assert replace(brief, nodes=()) == replace(whole, nodes=())


def test_without_all_details_most_nodes_have_none_for_their_scores() -> None:
    state = cluster(*(node(name) for name in "abc"), pod("p", cpu="1"))
    run = simulation(state)
    brief = explain(run, find(run, "p"), all_details=False)
    fit = [explained.scores["NodeResourcesFit"] for explained in brief.nodes]
    assert [bool(score.details) for score in fit] == [True, False, False]
