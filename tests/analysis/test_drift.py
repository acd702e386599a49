"""Every running pod as if it came today."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from ksched_cli.analysis.drift import DriftResult, DriftSummary, PodDrift, Verdict, drift
from ksched_cli.analysis.explain import explain
from ksched_cli.api import SUCCESS, FilterPlugin, Status
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.state import ClusterState
from ksched_cli.engine.engine import Options
from ksched_cli.engine.scheduling_cycle import RandomChoice
from ksched_cli.engine.simulation import Simulation
from ksched_cli.framework.cycle_state import CycleState
from ksched_cli.framework.interface import Plugin
from ksched_cli.framework.nodes import NodeInfo
from ksched_cli.testing import check, cluster, node, pod, simulation
from tests.clusters import COMPANY, HOST, ZONE, modest_pods, roomy_nodes, states
from tests.devices import thing
from tests.draws import drawn
from tests.narrowing import present
from tests.plugins.dynamic_resources.test_shared_and_tainted_devices import claim, resource_slice


def drift_of(*objects: dict[str, Any], config: dict[str, Any] | None = None) -> dict[str, PodDrift]:
    """By pod name."""
    run = simulation(cluster(*objects), config)
    answer = drift(run)
    check(run)
    return {pod_drift.pod.removeprefix("default/"): pod_drift for pod_drift in answer.pods}


def test_a_pod_on_the_best_node_is_best() -> None:
    (drifted,) = drift_of(node("a"), node("b", cpu=1), pod("p", cpu="500m", node="a")).values()
    assert (drifted.verdict, drifted.rank, drifted.best_node) == (Verdict.BEST, 1, "a")


def test_a_pod_on_one_of_the_best_nodes_is_tied() -> None:
    (drifted,) = drift_of(node("a"), node("b"), pod("p", cpu=1, node="b")).values()
    assert (drifted.verdict, drifted.rank, drifted.best_node) == (Verdict.TIED, 1, "a")
    assert drifted.score == drifted.best_score


def test_where_a_pod_would_go_is_drawn_where_the_run_draws() -> None:
    nodes = [node(f"n{i}") for i in range(9)]
    state = cluster(*nodes, node("full", cpu=2), pod("p", cpu=1, node="full"), pod("q", node="n0"))
    answers = [drift(drawn(seed, state)).pods for seed in (0, 1, 2, 3, 0)]
    assert answers[0] == answers[-1]
    for which in (0, 1):
        assert len({pods[which].best_node for pods in answers}) > 1
    for p, _ in answers:
        assert (p.verdict, present(p.best_node)[0]) == (Verdict.WORSE, "n")


def test_a_pod_that_would_go_elsewhere_is_worse_by_so_many_points() -> None:
    by_name = drift_of(node("a"), node("b"), pod("big", cpu=3, node="a"), pod("p", cpu=1, node="a"))
    assert (by_name["p"].verdict, by_name["p"].rank, by_name["p"].best_node) == (
        Verdict.WORSE,
        2,
        "b",
    )
    assert by_name["p"].behind == present(by_name["p"].best_score) - present(by_name["p"].score) > 0


def test_a_node_that_rejects_the_pod_today_is_not_allowed() -> None:
    tainted = node("a", taints=["maintenance:NoSchedule"])
    (drifted,) = drift_of(tainted, node("b"), pod("p", node="a")).values()
    assert (drifted.verdict, drifted.rank, drifted.score) == (Verdict.NOT_ALLOWED, None, None)
    assert (drifted.rejected_by, drifted.best_node) == ("TaintToleration", "b")


def test_a_pod_that_fits_nowhere_has_no_best_node() -> None:
    (drifted,) = drift_of(node("a", cpu=1), pod("p", cpu=2, node="a")).values()
    assert (drifted.verdict, drifted.best_node, drifted.best_score) == (
        Verdict.NOT_ALLOWED,
        None,
        None,
    )


def test_the_one_node_that_fits_is_scored_too() -> None:
    (drifted,) = drift_of(node("a"), pod("p", cpu=1, node="a")).values()
    assert drifted.verdict is Verdict.BEST
    assert drifted.score == present(drifted.best_score) > 0


def test_pods_of_one_controller_have_one_owner() -> None:
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "controller": True}
    by_name = drift_of(
        node("a"), pod("p", node="a", metadata={"ownerReferences": [owner]}), pod("q", node="a")
    )
    assert by_name["p"].owner == "default/ReplicaSet/web"
    assert by_name["q"].owner == "default/Pod/q"


def test_a_node_that_pre_filter_left_out_names_the_plugin() -> None:
    names = {"key": "metadata.name", "operator": "In", "values": ["b"]}
    terms = {"nodeSelectorTerms": [{"matchFields": [names]}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    (drifted,) = drift_of(node("a"), node("b"), pod("p", node="a", affinity=affinity)).values()
    assert (drifted.rejected_by, drifted.best_node) == ("NodeAffinity", "b")


def test_who_is_not_the_schedulers_business_is_left_out() -> None:
    static = {"annotations": {"kubernetes.io/config.mirror": "x"}}
    state = cluster(
        node("a"),
        pod("static", node="a", metadata=static),
        pod("foreign", node="a", profile="other"),
        pod("lost", node="gone"),
        pod("done", node="a", status={"phase": "Succeeded"}),
        pod("waits"),
    )
    answer = drift(simulation(state))
    assert answer.pods == ()
    assert {ignored.pod.removeprefix("default/") for ignored in answer.ignored} == {
        "static",
        "foreign",
        "lost",
        "done",
    }


def test_pods_that_stay_keep_their_place_on_the_node() -> None:
    state = cluster(
        node("a"), node("b", cpu=1), *(pod(f"p{i}", cpu="900m", node="a") for i in range(3))
    )
    run = simulation(state)
    before = [list(pods) for pods in run.snapshot.pods]
    assert drift(run).summary.moved_in_turn == 0
    assert run.snapshot.pods == before


def test_pods_that_would_all_go_to_one_node_are_moved_in_turn() -> None:
    """Each of four pods would go to the empty node; once two are there, the others stay."""
    by_name = drift_of(
        node("full"),
        node("free"),
        *(pod(f"p{i}", cpu=1, memory="1Gi", node="full") for i in range(4)),
    )
    assert {drifted.best_node for drifted in by_name.values()} == {"free"}
    assert [drifted.in_turn for drifted in by_name.values()] == ["free", "free", "full", "full"]


def test_pods_that_are_not_allowed_move_first_and_have_no_node_where_none_fits() -> None:
    by_name = drift_of(
        node("tainted", taints=["maintenance:NoSchedule"]),
        node("crowded", cpu=4),
        node("free", cpu=2),
        pod("big", cpu=3, node="crowded"),
        pod("p", cpu=2, node="tainted"),
        pod("q", cpu=3, node="tainted"),
    )
    assert by_name["big"].verdict is Verdict.BEST
    assert (by_name["p"].in_turn, by_name["q"].in_turn) == ("free", None)
    in_turn = DriftSummary.of([*by_name.values()]).moved_in_turn
    assert in_turn == 1


def test_progress_counts_the_pods() -> None:
    calls = []
    state = cluster(node("a"), pod("p", node="a"), pod("q", node="a"))
    drift(simulation(state), lambda done, total: calls.append((done, total)))
    assert calls == [(1, 2), (2, 2)]


class Fragile(FilterPlugin):
    """Rejects one node, and fails on another."""

    name = "Fragile"

    def filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status:
        if node.name == "b":
            raise ValueError("broken")
        return Status.unschedulable("too old") if node.name == "a" else SUCCESS


@st.composite
def settled_states(draw: st.DrawFn, max_nodes: int = 6) -> ClusterState:
    """Nodes in zones, and running pods of a few looks that care about each other."""
    names = [f"n{i}" for i in range(draw(st.integers(1, max_nodes)))]
    manifests = []
    for name in names:
        manifest = draw(roomy_nodes())
        labels = {**manifest["metadata"]["labels"], HOST: name, ZONE: draw(st.sampled_from("ab"))}
        manifests.append({**manifest, "metadata": {"name": name, "labels": labels}})
    looks = draw(st.lists(st.tuples(modest_pods(), COMPANY), min_size=1, max_size=3))
    for number in range(draw(st.integers(1, 12))):
        look, company = looks[number % len(looks)]
        spec = {**look["spec"], **company, "nodeName": draw(st.sampled_from(names))}
        metadata = {"name": f"r{number}", "labels": {"app": "a"}}
        manifests.append({**look, "metadata": metadata, "spec": spec})
    return cluster(*manifests)


def agree_with_explain(state: ClusterState, plugins: Sequence[type[Plugin]] = ()) -> None:
    """One simulation asks about all pods, another about each."""
    answer = drift(simulation(state, plugins=plugins))
    run = simulation(state, plugins=plugins)
    pods = {info.key: info for info in map(run.catalog.info, state.pods)}
    for pod_drift in answer.pods:
        explained = explain(run, pods[pod_drift.pod])
        here = next(candidate for candidate in explained.nodes if candidate.node == pod_drift.node)
        assert (pod_drift.rank, pod_drift.score) == (here.rank, here.total)
        assert pod_drift.best_node == (explained.node or None)
        best = next(
            (candidate.total for candidate in explained.nodes if candidate.node == explained.node),
            None,
        )
        assert pod_drift.best_score == best
        plugin = here.rejections[0].plugin if here.rejections else ""
        assert pod_drift.rejected_by == (plugin or None)
        assert (pod_drift.verdict is Verdict.TIED) == (pod_drift.rank == 1 and bool(explained.ties))


@given(states(max_running=8))
def test_it_agrees_with_explain(state: ClusterState) -> None:
    agree_with_explain(state)


@given(settled_states())
def test_it_agrees_with_explain_about_neighbours(state: ClusterState) -> None:
    agree_with_explain(state)


def shared_and_alone(
    state: ClusterState, plugins: Sequence[type[Plugin]] = (), seed: int | None = None
) -> tuple[DriftResult, DriftResult]:
    """The answer, and that of a run in which every pod is asked about for itself."""
    first = simulation(state, plugins=plugins)
    runs = []
    for is_shared in (True, False):
        options = Options() if seed is None else Options(RandomChoice(seed))
        options = replace(options, cache_answers=is_shared)
        runs.append(Simulation(state, first.configuration, first.registry, options))
    shared, alone = map(drift, runs)
    for run in runs:
        check(run)
    return shared, alone


@given(settled_states(max_nodes=3), st.one_of(st.none(), st.integers(0, 9)))
def test_pods_alike_on_one_node_get_the_answer_that_each_gets_alone(
    state: ClusterState, seed: int | None
) -> None:
    shared, alone = shared_and_alone(state, seed=seed)
    assert shared == alone


class OddNamesElsewhere(FilterPlugin):
    """Lets pods with an odd number stay on no node but `b`."""

    name = "OddNamesElsewhere"

    def filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status:
        is_odd = int(pod.name[-1]) % 2
        return Status.unschedulable("odd") if is_odd and node.name != "b" else SUCCESS


def test_pods_alike_are_told_apart_by_a_plugin_that_reads_names() -> None:
    state = cluster(node("a"), node("b"), *(pod(f"p{i}", node="a") for i in range(4)))
    shared, alone = shared_and_alone(state, plugins=[OddNamesElsewhere])
    assert shared == alone
    rejected_by = [drifted.rejected_by for drifted in shared.pods]
    assert rejected_by == [None, "OddNamesElsewhere"] * 2


def test_a_pod_that_was_resized_is_asked_about_for_itself() -> None:
    """`p1` takes two more cpus than its spec says: without it, half of its node is free."""
    objects = [node("a"), node("b", cpu=3), *(pod(f"p{i}", cpu=1, node="a") for i in range(2))]
    resized = {"requests": {"cpu": "3"}}
    objects[-1]["status"] = {"containerStatuses": [{"name": "c", "resources": resized}]}
    shared, alone = shared_and_alone(cluster(*objects))
    assert shared == alone
    assert len({drifted.score for drifted in shared.pods}) == 2


def test_it_agrees_with_explain_about_a_plugin_that_fails() -> None:
    agree_with_explain(
        cluster(node("a"), node("b"), node("c"), *(pod(f"on-{n}", node=n) for n in "abc")),
        plugins=[Fragile],
    )


GPU = "example.com/gpu"


def with_gpu(name: str, device: str) -> list[dict[str, Any]]:
    """A pod that runs on `a`, and the claim that kube-scheduler made for its GPU."""
    running = pod(name, node="a")
    running["metadata"]["uid"] = name
    running["spec"]["containers"][0]["resources"] = {"requests": {GPU: "1"}}
    held = claim(f"{name}-extended-resources-x7k2p", {"requests": {"container-0-request-0": {}}})
    held["metadata"] |= {
        "namespace": "default",
        "annotations": {"resource.kubernetes.io/extended-resource-claim": "true"},
        "ownerReferences": [
            {"apiVersion": "v1", "kind": "Pod", "name": name, "uid": name, "controller": True}
        ],
    }
    result = {
        "request": "container-0-request-0", "driver": "d", "pool": "p", "device": device
    }  # fmt: skip
    held["status"] = {
        "allocation": {"devices": {"results": [result]}},
        "reservedFor": [{"resource": "pods", "name": name, "uid": name}],
    }
    return [running, held]


def test_the_devices_that_a_pod_got_for_its_extended_resources_are_its_own() -> None:
    objects = [
        node("a"),
        node("b"),
        thing("DeviceClass", "any", {"extendedResourceName": GPU}),
        resource_slice(0, {"nodeName": "a", "devices": [{"name": "x"}, {"name": "y"}]}),
        *with_gpu("p", "x"),
        *with_gpu("q", "y"),
    ]
    for drifted in drift_of(*objects).values():
        assert (drifted.verdict, drifted.best_node) == (Verdict.BEST, "a")
    run = simulation(cluster(*objects))
    explanation = explain(run, run.catalog.info(run.state.pods[0]))
    assert (explanation.node, explanation.running_on) == ("a", "a")
    check(run)


def test_devices_of_another_pod_are_not_free_for_a_running_one() -> None:
    """`q` asks for two of the devices by a change, and has one of the two itself."""
    running, held = with_gpu("q", "y")
    running["spec"]["containers"][0]["resources"]["requests"][GPU] = "2"
    drifted = drift_of(
        node("a"),
        thing("DeviceClass", "any", {"extendedResourceName": GPU}),
        resource_slice(0, {"nodeName": "a", "devices": [{"name": "x"}, {"name": "y"}]}),
        *with_gpu("p", "x"),
        running,
        held,
    )
    assert drifted["p"].verdict == Verdict.BEST
    assert (drifted["q"].verdict, drifted["q"].rejected_by) == (
        Verdict.NOT_ALLOWED,
        "DynamicResources",
    )
