"""What `ksched preempt` knows: the candidates, why there, and why not on the other nodes."""

from hypothesis import given

from ksched_cli.analysis.preempt import preempt
from ksched_cli.framework.preemption import Criterion
from ksched_cli.testing import check, cluster, find, node, simulate, simulation
from tests.plugins.default_preemption.test_plugin import budget, crowded, made_pod


def asked(*objects, config=None, everything=False):
    """The answer about the pod p."""
    run = simulation(cluster(*objects), config)
    run.queue()
    found = preempt(run, find(run, "p"), everything=everything)
    check(run)
    return found


def crowd():
    """A node with three pods, of which the middle one has to go."""
    return (
        node("a", cpu=3),
        made_pod("large", prio=5, node="a", cpu=1, start=1),
        made_pod("middle", prio=3, node="a", cpu=1, start=2),
        made_pod("small", prio=1, node="a", cpu="100m", start=3),
        made_pod(cpu="1500m"),
    )


def test_every_victim_has_the_reason_why_it_cannot_stay():
    (one,) = asked(*crowd()).candidates
    assert [victim.pod for victim in one.victims] == ["default/middle"]
    rejection = one.victims[0].rejection
    assert (rejection.status.plugin, rejection.status.reasons) == (
        "NodeResourcesFit",
        ("Insufficient cpu",),
    )
    assert rejection.details == ("cpu: wants 1500m, 1 free of 3",)


def test_those_that_may_stay_are_told_too():
    (one,) = asked(*crowd()).candidates
    assert one.reprieved == ("default/large", "default/small")


def test_the_only_candidate_needs_no_criterion():
    found = asked(*crowd())
    assert (found.node, found.steps, found.is_yes) == ("a", (), True)


def test_criteria_are_told_as_far_as_they_were_asked():
    found = asked(
        node("a", cpu=1),
        node("b", cpu=1),
        made_pod("on-a", prio=5, node="a", cpu=1, start=1),
        made_pod("on-b", prio=3, node="b", cpu=1, start=1),
        made_pod(cpu=1),
    )
    assert [(step.criterion, step.best, step.left) for step in found.steps] == [
        (Criterion.FEWEST_VIOLATIONS, "0", 2),
        (Criterion.LOWEST_VICTIM, "3", 1),
    ]
    assert [one.node for one in found.candidates] == ["b", "a"]


def test_budgets_stand_beside_the_victims_that_violate_them():
    found = asked(
        node("a", cpu=2),
        made_pod("guarded", prio=1, node="a", cpu=1, start=1, labels={"app": "db"}),
        made_pod("free", prio=1, node="a", cpu=1, start=1, labels={"app": "web"}),
        budget(0, 0, {"app": "db"}),
        made_pod(cpu=2),
    )
    (one,) = found.candidates
    assert {victim.pod: victim.pdb_violated_by for victim in one.victims} == {
        "default/guarded": ("default/budget-0",),
        "default/free": (),
    }
    assert one.pdb_violations == 1


def test_of_every_other_node_it_is_told_why_evictions_there_do_not_help():
    found = asked(
        node("hard", taints=["k=v:NoSchedule"]),
        node("empty", cpu=1),
        node("mighty", cpu=4),
        made_pod("strong", prio=99, node="mighty", cpu=3, start=1),
        made_pod("weak", prio=1, node="mighty", cpu=1, start=1),
        made_pod(cpu=2),
    )
    told = {one.node: (one.removed, one.rejection.status.reasons[0]) for one in found.hopeless}
    assert told == {
        "hard": (None, "node(s) had untolerated taint {k: v}"),
        "empty": (None, "Insufficient cpu"),
        "mighty": (1, "Insufficient cpu"),
    }
    details = {one.node: one.rejection.details for one in found.hopeless}
    assert details["hard"] == ("not tolerated: k=v:NoSchedule",)
    assert details["mighty"] == ("cpu: wants 2, 1 free of 4",)
    assert not found.is_yes


def test_a_pod_that_fits_is_told_so_and_nothing_else_is_asked():
    found = asked(node("a"), node("b"), node("c", cpu=1), made_pod(cpu=2))
    assert found.fits == ("a", "b")
    assert (found.may, found.why_not, found.is_yes) == (False, "it fits without evictions", True)
    assert found.candidates == found.hopeless == ()


def test_a_pod_that_may_not_preempt_is_told_why():
    found = asked(*crowd()[:-1], made_pod(cpu="1500m", spec={"preemptionPolicy": "Never"}))
    assert (found.may, found.is_yes) == (False, False)
    assert found.why_not == "not eligible due to preemptionPolicy=Never."


def test_without_a_plugin_that_preempts_nobody_is_evicted():
    off = {"postFilter": {"disabled": [{"name": "*"}]}}
    found = asked(*crowd(), config={"profiles": [{"plugins": off}]})
    assert (found.may, found.why_not) == (False, "no plugin of default-scheduler preempts")


def many():
    return (
        *(node(name, cpu=1) for name in "abc"),
        *(made_pod(f"on-{name}", prio=1, node=name, cpu=1, start=1) for name in "abc"),
        made_pod(cpu=1),
    )


ONE_IS_ENOUGH = {
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


def test_nodes_that_were_not_looked_at_are_named():
    found = asked(*many(), config=ONE_IS_ENOUGH)
    assert [one.node for one in found.candidates] == ["a"]
    assert (found.unsearched, found.num_candidates) == (("b", "c"), 1)


def test_the_limit_can_be_lifted():
    found = asked(*many(), config=ONE_IS_ENOUGH, everything=True)
    assert [one.node for one in found.candidates] == ["a", "b", "c"]
    assert found.unsearched == ()


def test_nominations_of_lesser_pods_on_the_node_would_lapse():
    found = asked(*crowd(), made_pod("lesser", prio=4, cpu="100m", nominated="a"))
    assert found.lapsing == ("default/lesser",)


def test_promised_pods_are_named_where_the_pod_would_fit_but_for_them():
    found = asked(
        node("a", cpu=1),
        made_pod("low", prio=1, node="a", cpu=1, start=1),
        made_pod("rival", prio=10, cpu=1, nominated="a"),
        made_pod(cpu=1),
    )
    (one,) = found.hopeless
    assert one.rejection.details == ("with the nominated pods counted: default/rival",)


def test_a_running_pod_is_taken_off_its_node_for_the_question_and_put_back():
    run = simulation(cluster(*crowd()))
    before = list(run.snapshot.pods[0])
    found = preempt(run, find(run, "middle"))
    assert (found.running_on, found.fits) == ("a", ("a",))
    assert run.snapshot.pods[0] == before


def test_a_gated_pod_is_told_what_would_be_once_it_is_not():
    found = asked(*crowd()[:-1], made_pod(cpu="1500m", gates=["example.com/wait"]))
    assert found.gated.plugin == "SchedulingGates"
    assert found.node == "a"


def test_where_prefilter_rejects_the_pod_no_eviction_helps():
    terms = [
        {
            "matchFields": [
                {"key": "metadata.name", "operator": "In", "values": ["a"]},
                {"key": "metadata.name", "operator": "In", "values": ["b"]},
            ]
        }
    ]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    found = asked(node("a"), node("b"), made_pod(affinity={"nodeAffinity": required}))
    assert [one.node for one in found.hopeless] == ["a", "b"]
    assert not found.is_yes
    # DynamicResources misses what its PreFilter had no turn to write.
    assert found.why_not == "DynamicResources fails before any plugin that preempts"


@given(crowded())
def test_the_answer_is_what_a_run_does_and_asking_changes_nothing(state):
    run = simulation(state)
    first = run.queue().active[0]
    pods = [list(pods) for pods in run.snapshot.pods]
    found = preempt(run, first)
    assert preempt(run, first) == found
    assert [list(pods) for pods in run.snapshot.pods] == pods
    attempt = simulate(state).attempts[0]
    assert attempt.pod == found.pod
    if found.fits:
        assert attempt.node in found.fits
        return
    done = attempt.post_filter
    assert (done.node, done.victims) == (
        found.node,
        next(
            (
                tuple(v.pod for v in one.victims)
                for one in found.candidates
                if one.node == found.node
            ),
            (),
        ),
    )
    assert set(done.candidates) == {one.node for one in found.candidates}
    assert attempt.message == found.message
    seen = {one.node for one in (*found.candidates, *found.hopeless)} | set(found.unsearched)
    assert not found.may or seen == {node.name for node in state.nodes}
