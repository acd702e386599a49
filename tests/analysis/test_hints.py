"""What a diagnosis says would help is the outcome of a run with exactly that change, and says for
whom; what no run has shown might help; who owns an obstacle removes it."""

from collections.abc import Sequence
from typing import Any

import pytest

from ksched_cli.analysis.diagnosis import Diagnosis, pending_report, with_hints
from ksched_cli.analysis.drain import DrainNodes
from ksched_cli.analysis.explain import explain
from ksched_cli.analysis.fits import Fits
from ksched_cli.analysis.hints import BUDGET, Hints
from ksched_cli.analysis.question import Question, ask
from ksched_cli.cluster.state import ClusterState
from ksched_cli.library.run import Run, inputs_of
from ksched_cli.scenario.change import apply_changes
from ksched_cli.scenario.file import parse_change
from ksched_cli.testing import cluster, find, node, pod, simulate, simulation
from tests.narrowing import present

Manifest = dict[str, Any]
ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"


def replica(name: str, **fields: Any) -> Manifest:
    """A pod of the ReplicaSet w, which the state does not have."""
    manifest = pod(name, labels={"app": "w"}, **fields)
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "w", "uid": "w"}
    manifest["metadata"]["ownerReferences"] = [{**owner, "controller": True}]
    return manifest


def changed(state: ClusterState, lines: Sequence[str]) -> ClusterState:
    return apply_changes(state, [*map(parse_change, lines)])[0]


def explained(state: ClusterState, name: str = "p") -> Diagnosis:
    run = simulation(state)
    return present(explain(run, find(run, name)).diagnosis)


def check_promises(state: ClusterState, diagnosis: Diagnosis) -> None:
    """Each hint, applied, places the pods that it says and no others of those that it is about."""
    before = simulate(state).placements
    for hint in diagnosis.hints:
        after = simulate(changed(state, hint.changes)).placements
        assert set(hint.places) <= after.keys() - before.keys()


RESTING = (
    node("full", cpu=2),
    node("resting", cpu=4, unschedulable=True),
    pod("old", cpu=2, node="full"),
    *(replica(f"w-{number}", cpu=3) for number in (1, 2, 3)),
)


def test_a_hint_says_how_many_of_a_group_it_helps() -> None:
    state = cluster(*RESTING)
    (group,) = pending_report(simulation(state)).groups
    diagnosis = present(group.diagnosis)
    assert diagnosis.remedy == "uncordon resting (helps 1 of 3 pods)"
    assert diagnosis.hints[0].places == ("default/w-1",)
    check_promises(state, diagnosis)


@pytest.mark.parametrize(
    ("name", "remedy"),
    [("w-1", "uncordon resting (helps 1 of 3 pods of ReplicaSet/w)"), ("w-2", ""), ("w-3", "")],
)
def test_a_hint_helps_the_pod_that_was_asked_about(name: str, remedy: str) -> None:
    assert explained(cluster(*RESTING), name).remedy == remedy


def test_a_taint_whose_removal_helps_another_pod_alone_stays() -> None:
    tainted = node("a", cpu=2, taints=["x:NoSchedule"])
    state = cluster(tainted, pod("first", cpu=2, priority=9), pod("p", cpu=2))
    assert explained(state, "p").remedy == "tolerate x:NoSchedule"
    assert "remove the taint x:NoSchedule" in explained(state, "first").remedy


def test_a_hint_that_undoes_a_change_of_the_question_is_none() -> None:
    state = cluster(node("a"), pod("p"))
    drained = changed(state, ["cordon a"])
    assert (explained(drained).remedy, explained(drained).advice) == ("", "")
    tainted = changed(state, ["taint nodes a x=y:NoSchedule"])
    assert explained(tainted).remedy == "tolerate x=y:NoSchedule"
    elsewhere = changed(
        cluster(node("a", taints=["x:NoSchedule"]), pod("p")), ["label nodes a b=c"]
    )
    assert "remove the taint x:NoSchedule" in explained(elsewhere).remedy


def test_what_costs_more_runs_than_the_budget_has_might_help() -> None:
    run = simulation(cluster(node("a", unschedulable=True), pod("p")))
    diagnosis = Diagnosis("", proposals=present(_proposed(run)).proposals)
    hints = Hints(run, run.record(), _budget=BUDGET / BUDGET)
    answer = with_hints(diagnosis, hints, find(run, "p"), ("default/p",))
    assert (answer.remedy, answer.advice) == ("", "might help: uncordon a")


def _proposed(run: Any) -> Diagnosis | None:
    from ksched_cli.analysis.diagnosis import diagnose
    from ksched_cli.engine.evaluation import Mode

    return diagnose(run.evaluate(find(run, "p"), Mode.REASONS), run.state)


def test_a_template_s_hint_counts_the_workload_s_running_pods_that_lose_their_node() -> None:
    """A larger maxSkew restarts all of them, and six of the seven have a node then."""
    spread = [
        {
            "maxSkew": 1,
            "topologyKey": HOST,
            "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": {"matchLabels": {"app": "w"}},
        }
    ]
    template = {"metadata": {"labels": {"app": "w"}}, "spec": pod("x")["spec"]}
    template["spec"]["topologySpreadConstraints"] = spread
    workload = {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {"name": "w", "namespace": "default", "uid": "w"},
        "spec": {
            "replicas": 7,
            "selector": {"matchLabels": {"app": "w"}},
            "template": template,
        },
    }
    fields = {"spec": {"topologySpreadConstraints": spread}}
    nodes = [node(name, labels={HOST: name}) for name in ("w1", "w2", "w3")]
    control = node(
        "cp", labels={HOST: "cp"}, taints=["node-role.kubernetes.io/control-plane:NoSchedule"]
    )
    pods = [replica(f"w-{i}", node=f"w{i}" if i <= 3 else "", **fields) for i in range(1, 8)]
    (group,) = pending_report(simulation(cluster(control, *nodes, workload, *pods))).groups
    diagnosis = present(group.diagnosis)
    gains = {hint.text.partition(" ")[0]: (hint.gain, hint.waiting) for hint in diagnosis.hints}
    assert gains == {"set": (4, 4), "raise": (3, 4), "let": (4, 4)}
    assert "nodeTaintsPolicy: Honor" in diagnosis.remedy


# -- around pods that other questions leave pending -----------------------------------------------


def answer_of(question: Question[Any], *objects: Manifest) -> Any:
    inputs, described = inputs_of([Run(state=list(objects))])
    return ask(question, *described, inputs=inputs)


def test_what_helps_pods_that_a_file_leaves_pending_has_been_run() -> None:
    objects = (node("a", cpu=4, taints=["x:NoSchedule"]), node("b", cpu=1))
    answer = answer_of(Fits(manifests=pod("new", cpu=2)), *objects)
    (group,) = answer.pending
    assert {hint.text for hint in group.diagnosis.hints} >= {"tolerate x:NoSchedule"}
    assert (group.diagnosis.hints[0].places, group.diagnosis.advice) == (("default/new",), "")


def test_what_helps_pods_that_a_drain_leaves_pending_has_been_run_without_the_nodes() -> None:
    """To uncordon the node that goes is no remedy; nor is the request that it alone has free."""
    objects = (node("a", cpu=4), node("b", cpu=2), replica("p", cpu=3, node="a"))
    answer = answer_of(DrainNodes(nodes=("a",)), *objects)
    (group,) = answer.pending
    assert [hint.text for hint in group.diagnosis.hints] == [
        "request cpu 2 instead of 3, which b has free"
    ]
    assert answer.blocked_by[0].waits_for == "request cpu 2 instead of 3, which b has free"


# -- who owns the obstacle ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("taint", "who"),
    [
        ("node.cloudprovider.kubernetes.io/uninitialized=true:NoSchedule", "cloud controller"),
        ("node.kubernetes.io/disk-pressure:NoSchedule", "node lifecycle controller"),
        ("ebs.csi.aws.com/agent-not-ready:NoExecute", "agent of ebs.csi.aws.com"),
        ("node.cilium.io/agent-not-ready:NoExecute", "Cilium"),
        ("karpenter.sh/unregistered:NoExecute", "Karpenter"),
    ],
)
def test_a_controller_s_taint_is_its_to_remove(taint: str, who: str) -> None:
    remedy = explained(cluster(node("a", taints=[taint]), pod("p"))).remedy
    assert remedy.startswith("get a ready: ")
    assert who in remedy
    assert "see" in remedy
    assert "tolerate" not in remedy
    assert "remove" not in remedy


@pytest.mark.parametrize("key", ["ToBeDeletedByClusterAutoscaler", "karpenter.sh/disrupted"])
def test_a_node_that_is_going_away_is_no_remedy(key: str) -> None:
    diagnosis = explained(cluster(node("a", taints=[f"{key}:NoSchedule"]), pod("p")))
    assert diagnosis.remedy == ""
    assert "a is going away" in diagnosis.advice


def test_kueue_s_workload_says_why_a_gated_pod_waits() -> None:
    gated = pod("p", labels={"kueue.x-k8s.io/queue-name": "q"}, gates=["kueue.x-k8s.io/admission"])
    message = "insufficient quota for cpu in flavor f"
    workload = {
        "apiVersion": "kueue.x-k8s.io/v1beta1",
        "kind": "Workload",
        "metadata": {"name": "job-p", "namespace": "default"},
        "spec": {"queueName": "q"},
        "status": {
            "conditions": [{"type": "QuotaReserved", "status": "False", "message": message}]
        },
    }
    run = simulation(cluster(node("a"), gated, workload))
    answer = explain(run, find(run, "p"))
    assert "Kueue holds it back until it has admitted the pod's Workload" in answer.held_by
    assert answer.held_by.endswith(f"Workload default/job-p waits in queue q: {message}")
    # The report of all pods says the same.
    (held,) = pending_report(simulation(cluster(node("a"), gated, workload))).held
    assert held.notes == (answer.held_by,)


def test_who_holds_the_room() -> None:
    running = [pod(f"c{i}", cpu=2, node="a", priority=1000) for i in range(2)]
    diagnosis = explained(cluster(node("a", cpu=5), *running, pod("p", cpu=2)))
    (holder,) = diagnosis.holders
    assert (holder.pods, holder.amount, holder.total, holder.priority) == (2, "4", "5", 1000)
