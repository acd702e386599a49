"""What `ksched preempt` knows: the candidates, why there, and why not on the other nodes."""

from typing import Any

from hypothesis import given

from ksched_cli.analysis.preempt import PreemptionResult, preempt
from ksched_cli.cluster.state import ClusterState
from ksched_cli.framework.preemption import Criterion
from ksched_cli.testing import check, cluster, find, node, simulate, simulation
from tests.draws import drawn
from tests.extenders.fixtures import Extended, Serve
from tests.narrowing import present
from tests.plugins.default_preemption.manifests import budget, crowded, preemption_pod


def answer_for(
    *objects: dict[str, Any],
    config: dict[str, Any] | None = None,
    everything: bool = False,
    alone: bool = False,
) -> PreemptionResult:
    """The answer about the pod p."""
    run = simulation(cluster(*objects), config, kubernetes_version="1.34")
    answer = preempt(run, find(run, "p"), everything=everything, alone=alone)
    check(run)
    return answer


def crowd() -> tuple[dict[str, Any], ...]:
    """A node with three pods, of which the middle one has to go."""
    return (
        node("a", cpu=3),
        preemption_pod("large", prio=5, node="a", cpu=1, start=1),
        preemption_pod("middle", prio=3, node="a", cpu=1, start=2),
        preemption_pod("small", prio=1, node="a", cpu="100m", start=3),
        preemption_pod(cpu="1500m"),
    )


def test_every_victim_has_the_reason_why_it_cannot_stay() -> None:
    (candidate,) = answer_for(*crowd()).candidates
    assert [victim.pod for victim in candidate.victims] == ["default/middle"]
    rejection = present(candidate.victims[0].cannot_stay)
    assert (rejection.plugin, rejection.reasons) == (
        "NodeResourcesFit",
        ("Insufficient cpu",),
    )
    assert rejection.details == ("cpu: wants 1.5, 1 free of 3",)


def test_those_that_may_stay_are_told_too() -> None:
    (candidate,) = answer_for(*crowd()).candidates
    assert candidate.reprieved == ("default/large", "default/small")


def test_the_only_candidate_needs_no_criterion() -> None:
    answer = answer_for(*crowd())
    assert (answer.node, answer.criteria, answer.is_yes) == ("a", (), True)


def test_where_the_pod_goes_is_what_schedule_draws_with_the_same_seed() -> None:
    nodes = set()
    for seed in range(6):
        placements = drawn(seed).run().placements
        for name in ("p0", "p3"):
            run = drawn(seed)
            answer = preempt(run, find(run, name))
            assert answer.goes_to == placements[f"default/{name}"]
            nodes.add(answer.goes_to)
    assert len(nodes) > 2


def test_the_candidate_taken_comes_first_though_an_extender_left_out_a_better_one(
    extended: Extended, serve: Serve
) -> None:
    """The extender agrees to the eviction of what has the highest priority."""

    def answer(request: dict[str, Any]) -> dict[str, Any]:
        return {"NodeNameToMetaVictims": {"d": request["NodeNameToMetaVictims"]["d"]}}

    server = serve({"/preempt": answer})
    objects = [
        manifest
        for i, name in enumerate("abcd")
        for manifest in (
            node(name, cpu=1),
            preemption_pod(f"on-{name}", prio=i + 1, node=name, cpu=1, start=1),
        )
    ]
    config = {"urlPrefix": server.url, "preemptVerb": "preempt", "nodeCacheCapable": True}
    run, _ = extended(cluster(*objects, preemption_pod(cpu=1)), config)
    result = preempt(run, find(run, "p"))
    assert result.node == "d"
    assert [candidate.node for candidate in result.candidates] == ["d", "a", "b", "c"]


def test_criteria_are_told_as_far_as_they_were_asked() -> None:
    answer = answer_for(
        node("a", cpu=1),
        node("b", cpu=1),
        preemption_pod("on-a", prio=5, node="a", cpu=1, start=1),
        preemption_pod("on-b", prio=3, node="b", cpu=1, start=1),
        preemption_pod(cpu=1),
    )
    assert [(step.criterion, step.best, step.nodes_left) for step in answer.criteria] == [
        (Criterion.FEWEST_VIOLATIONS.value, "0", 2),
        (Criterion.LOWEST_VICTIM.value, "3", 1),
    ]
    assert [candidate.node for candidate in answer.candidates] == ["b", "a"]


def test_budgets_stand_beside_the_victims_that_violate_them() -> None:
    answer = answer_for(
        node("a", cpu=2),
        preemption_pod("guarded", prio=1, node="a", cpu=1, start=1, labels={"app": "db"}),
        preemption_pod("free", prio=1, node="a", cpu=1, start=1, labels={"app": "web"}),
        budget(0, 0, {"app": "db"}),
        preemption_pod(cpu=2),
    )
    (candidate,) = answer.candidates
    assert {victim.pod: victim.violates for victim in candidate.victims} == {
        "default/guarded": ("default/budget-0",),
        "default/free": (),
    }
    assert candidate.pdb_violations == 1


def test_of_every_other_node_it_is_told_why_evictions_there_do_not_help() -> None:
    answer = answer_for(
        node("hard", taints=["k=v:NoSchedule"]),
        node("empty", cpu=1),
        node("mighty", cpu=4),
        preemption_pod("strong", prio=99, node="mighty", cpu=3, start=1),
        preemption_pod("weak", prio=1, node="mighty", cpu=1, start=1),
        preemption_pod(cpu=2),
    )
    reasons = {
        entry.node: (entry.pods_removed, entry.reasons[0]) for entry in answer.not_candidates
    }
    assert reasons == {
        "hard": (None, "node(s) had untolerated taint {k: v}"),
        "empty": (None, "Insufficient cpu"),
        "mighty": (1, "Insufficient cpu"),
    }
    details = {entry.node: entry.details for entry in answer.not_candidates}
    assert details["hard"] == ("not tolerated: k=v:NoSchedule",)
    assert details["mighty"] == ("cpu: wants 2, 1 free of 4",)
    assert not answer.is_yes


def test_a_pod_that_fits_is_told_so_and_nothing_else_is_asked() -> None:
    answer = answer_for(node("a"), node("b"), node("c", cpu=1), preemption_pod(cpu=2))
    assert answer.fits == ("a", "b")
    assert (answer.may_preempt, answer.reason, answer.is_yes) == (
        False,
        "it fits without evictions",
        True,
    )
    assert (answer.candidates, answer.not_candidates) == ((), ())


def test_a_pod_that_may_not_preempt_is_told_why() -> None:
    answer = answer_for(
        *crowd()[:-1], preemption_pod(cpu="1500m", spec={"preemptionPolicy": "Never"})
    )
    assert (answer.may_preempt, answer.is_yes) == (False, False)
    assert answer.reason == "not eligible due to preemptionPolicy=Never."


def test_without_a_plugin_that_preempts_nobody_is_evicted() -> None:
    off = {"postFilter": {"disabled": [{"name": "*"}]}}
    answer = answer_for(*crowd(), config={"profiles": [{"plugins": off}]})
    assert (answer.may_preempt, answer.reason) == (False, "no plugin of default-scheduler preempts")


def many() -> tuple[dict[str, Any], ...]:
    return (
        *(node(name, cpu=1) for name in "abc"),
        *(preemption_pod(f"on-{name}", prio=1, node=name, cpu=1, start=1) for name in "abc"),
        preemption_pod(cpu=1),
    )


SINGLE_IS_ENOUGH = {
    "profiles": [
        {
            "pluginConfig": [
                {
                    "name": "DefaultPreemption",
                    "args": {"minCandidateNodesPercentage": 0, "minCandidateNodesAbsolute": 1},
                }
            ]
        }
    ]
}


def test_nodes_that_were_not_looked_at_are_named() -> None:
    answer = answer_for(*many(), config=SINGLE_IS_ENOUGH)
    assert [candidate.node for candidate in answer.candidates] == ["a"]
    assert (answer.not_searched, answer.num_candidates) == (("b", "c"), 1)


def test_the_limit_can_be_lifted() -> None:
    answer = answer_for(*many(), config=SINGLE_IS_ENOUGH, everything=True)
    assert [candidate.node for candidate in answer.candidates] == ["a", "b", "c"]
    assert answer.not_searched == ()


def test_nominations_of_lesser_pods_on_the_node_would_lapse() -> None:
    answer = answer_for(*crowd(), preemption_pod("lesser", prio=4, cpu="100m", nominated="a"))
    assert answer.lapsing_nominations == ("default/lesser",)


def test_nominated_pods_are_named_where_the_pod_would_fit_but_for_them() -> None:
    answer = answer_for(
        node("a", cpu=1),
        preemption_pod("low", prio=1, node="a", cpu=1, start=1),
        preemption_pod("rival", prio=10, cpu=1, nominated="a"),
        preemption_pod(cpu=1),
        alone=True,
    )
    (non_candidate,) = answer.not_candidates
    assert non_candidate.details == ("with the nominated pods counted: default/rival",)


def test_a_running_pod_is_taken_off_its_node_for_the_question_and_put_back() -> None:
    run = simulation(cluster(*crowd()))
    before = list(run.snapshot.pods[0])
    answer = preempt(run, find(run, "middle"))
    assert (answer.running_on, answer.fits) == ("a", ("a",))
    assert run.snapshot.pods[0] == before


def test_a_gated_pod_is_told_what_would_be_once_it_is_not() -> None:
    answer = answer_for(*crowd()[:-1], preemption_pod(cpu="1500m", gates=["example.com/wait"]))
    assert present(answer.gated).plugin == "SchedulingGates"
    assert answer.node == "a"


def test_where_prefilter_rejects_the_pod_no_eviction_helps() -> None:
    terms = [
        {
            "matchFields": [
                {"key": "metadata.name", "operator": "In", "values": ["a"]},
                {"key": "metadata.name", "operator": "In", "values": ["b"]},
            ]
        }
    ]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    answer = answer_for(node("a"), node("b"), preemption_pod(affinity={"nodeAffinity": required}))
    assert [entry.node for entry in answer.not_candidates] == ["a", "b"]
    assert not answer.is_yes
    # DynamicResources misses what its PreFilter had no turn to write.
    assert answer.reason == "DynamicResources fails before any plugin that preempts"


@given(crowded())
def test_the_answer_is_what_a_run_does(state: ClusterState) -> None:
    run = simulation(state)
    first = run.queue().active[0]
    answer = preempt(simulation(state), first)
    record = simulate(state)
    assert (answer.goes_to, answer.pod) == (record.last[first.key].node, first.key)
    attempts = [attempt for attempt in record.attempts if attempt.pod == first.key]
    preempting = [
        attempt for attempt in attempts if attempt.post_filter and attempt.post_filter.node
    ]
    attempt = preempting[-1] if preempting else attempts[-1]
    assert answer.evaluated == attempt.evaluated
    if answer.fits:
        assert attempt.node in answer.fits
        return
    done = present(attempt.post_filter)
    assert (done.node, done.victims) == (
        answer.node,
        next(
            (
                tuple(v.pod for v in candidate.victims)
                for candidate in answer.candidates
                if candidate.node == answer.node
            ),
            (),
        ),
    )
    assert set(done.candidates) == {candidate.node for candidate in answer.candidates}
    assert attempt.message == answer.message
    entries: list[Any] = [*answer.candidates, *answer.not_candidates]
    seen = {entry.node for entry in entries} | set(answer.not_searched)
    assert not answer.may_preempt or seen == {node.name for node in state.nodes}
