"""How many more copies of a pod fit; how many more nodes the pending pods need."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ksched_cli.analysis import more_nodes
from ksched_cli.analysis.capacity import CapacityResult, capacity
from ksched_cli.analysis.more_nodes import LINEAR_MAX, Mix, NodesNeeded, nodes_needed
from ksched_cli.analysis.search import Search
from ksched_cli.api import Code, PermitPlugin, Status
from ksched_cli.cluster.objects import ZONE_LABEL
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.state import ClusterState
from ksched_cli.engine.engine import Options
from ksched_cli.engine.simulation import Simulation
from ksched_cli.framework.cycle_state import CycleState
from ksched_cli.framework.interface import Plugin
from ksched_cli.framework.nodes import NodeInfo
from ksched_cli.scenario.change import apply_changes
from ksched_cli.scenario.nodes import AddNodes
from ksched_cli.testing import check, cluster, find, node, pod, simulation
from tests.clusters import pods, states
from tests.draws import drawn
from tests.narrowing import present


def answer_for(
    *objects: dict[str, Any],
    maximum: int = 100,
    alone: bool = False,
    config: dict[str, Any] | None = None,
    plugins: Sequence[type[Plugin]] = (),
) -> CapacityResult:
    """The answer about the pod p."""
    run = simulation(cluster(*objects), config, plugins=plugins)
    answer = capacity(run, find(run, "p").pod, maximum=maximum, alone=alone)
    check(run)
    return answer


# -- beside cluster-capacity ----------------------------------------------------------------------

# Four nodes of 2 CPUs and 4 GB, a master, and pods of 150m and 100Mi: cluster-capacity's README.
DEMONSTRATION = (
    *(node(f"kube-node-{number}", cpu=2, memory="4G") for number in range(1, 5)),
    node("kube-master", cpu=2, memory="4G", taints=["node-role.kubernetes.io/master:NoSchedule"]),
)


def small_pod(name: str, **where: Any) -> dict[str, Any]:
    return pod(name, cpu="150m", memory="100Mi", labels={"app": "guestbook"}, **where)


def test_the_documented_example_of_cluster_capacity() -> None:
    answer = answer_for(*DEMONSTRATION, small_pod("p"))
    assert answer.count == 52
    assert answer.nodes == {f"kube-node-{number}": 13 for number in range(1, 5)}
    assert "4 Insufficient cpu" in answer.limited_by


def test_the_documented_example_with_six_replicas_running() -> None:
    running = [
        small_pod(f"rc-{number}", node=f"kube-node-{name}") for number, name in enumerate("112334")
    ]
    answer = answer_for(*DEMONSTRATION, *running, small_pod("p"))
    assert answer.count == 46
    assert answer.nodes == {
        "kube-node-1": 11,
        "kube-node-2": 12,
        "kube-node-3": 11,
        "kube-node-4": 12,
    }


# -- one after the other --------------------------------------------------------------------------

SPREAD = {
    "topologySpreadConstraints": [
        {
            "maxSkew": 1,
            "topologyKey": "zone",
            "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": {"matchLabels": {"app": "web"}},
        }
    ]
}
APART = {
    "podAntiAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": [
            {"topologyKey": "host", "labelSelector": {"matchLabels": {"app": "web"}}}
        ]
    }
}


def test_spread_is_counted_as_it_grows() -> None:
    answer = answer_for(
        node("large", cpu=8, labels={"zone": "a"}),
        node("small", cpu=1, labels={"zone": "b"}),
        pod("p", cpu=1, labels={"app": "web"}, spec=SPREAD),
    )
    assert answer.nodes == {"large": 2, "small": 1}
    assert "didn't match pod topology spread constraints" in answer.limited_by


def test_anti_affinity_is_counted_as_it_grows() -> None:
    nodes = [node(name, labels={"host": name}) for name in "abc"]
    answer = answer_for(*nodes, pod("p", labels={"app": "web"}, affinity=APART))
    assert answer.nodes == {"a": 1, "b": 1, "c": 1}


def test_the_search_stops_at_the_maximum() -> None:
    answer = answer_for(node("a", cpu=4), pod("p", cpu=1), maximum=3)
    assert (answer.count, answer.stopped_at, answer.limited_by) == (3, 3, "")


def test_nobody_is_evicted_for_a_copy() -> None:
    answer = answer_for(
        node("a", cpu=2), pod("low", cpu=1, node="a", priority=1), pod("p", cpu=1, priority=9)
    )
    assert (answer.count, answer.stopped_at) == (1, None)


def test_room_that_the_pod_itself_makes_by_evictions_is_not_counted() -> None:
    answer = answer_for(
        node("a", cpu=1), pod("low", cpu=1, node="a", priority=1), pod("p", cpu=1, priority=9)
    )
    assert answer.count == 0
    assert "Insufficient cpu" in answer.limited_by


# -- the pod's turn -------------------------------------------------------------------------------


def test_pods_that_come_before_it_have_their_nodes() -> None:
    objects = (node("a", cpu=4), pod("first", cpu=3, priority=5), pod("p", cpu=1))
    assert answer_for(*objects).count == 1
    assert answer_for(*objects, alone=True).count == 4


def test_pods_that_come_after_it_do_not_count() -> None:
    assert answer_for(node("a", cpu=4), pod("p", cpu=1, priority=5), pod("z", cpu=3)).count == 4


def test_copies_of_a_running_pod_come_after_those_that_wait() -> None:
    answer = answer_for(node("a", cpu=4), pod("p", cpu=1, node="a"), pod("waiting", cpu=1))
    assert (answer.pod, answer.count) == ("default/p", 2)


def test_a_pod_that_fits_once_others_are_placed_has_its_turn_then() -> None:
    beside = {
        "podAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {"topologyKey": "host", "labelSelector": {"matchLabels": {"app": "db"}}}
            ]
        }
    }
    answer = answer_for(
        node("a", cpu=4, labels={"host": "a"}),
        pod("p", cpu=1, affinity=beside, priority=5),
        pod("db", cpu=1, labels={"app": "db"}),
    )
    assert answer.count == 3


def test_of_a_gated_pod_it_says_so_and_counts_after_all_others() -> None:
    answer = answer_for(node("a", cpu=3), pod("p", cpu=1, gates=["later"]), pod("other", cpu=1))
    assert (answer.count, present(answer.gated).plugin) == (2, "SchedulingGates")


def test_a_pod_that_fits_nowhere_has_the_cause_and_kube_schedulers_message() -> None:
    answer = answer_for(node("a", cpu=1), pod("p", cpu=2))
    assert (answer.count, answer.nodes) == (0, {})
    assert answer.cause == "requests cpu 2; the only node it may use, a, has 1"
    assert answer.limited_by.startswith("0/1 nodes are available: 1 Insufficient cpu.")


class Patience(PermitPlugin):
    """Makes every pod wait, and allows none."""

    name = "Patience"

    def permit(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> tuple[Status, float]:
        return Status(Code.WAIT), 10.0


def test_copies_that_are_never_allowed_do_not_fit() -> None:
    answer = answer_for(node("a", cpu=2), pod("p", cpu=1), plugins=[Patience])
    assert (answer.count, answer.nodes) == (0, {})
    assert answer.limited_by.startswith("Patience: rejected due to timeout")


@given(states(max_pending=2), pods("new"))
def test_so_many_copies_are_placed_by_a_run_and_not_one_more(
    state: ClusterState, manifest: dict[str, Any]
) -> None:
    run = simulation(state)
    run.options = Options(preempt=False)
    answer = capacity(run, cluster(manifest).pods[0], maximum=12)

    def left_pending(count: int) -> int:
        """How many of so many copies `schedule` leaves pending."""
        names = [f"copy-{number}" for number in range(count)]
        copies = cluster(*(manifest | {"metadata": {"name": name}} for name in names)).pods
        other = simulation(replace(state, pods=state.pods + copies))
        other.options = Options(preempt=False)
        return len(set(other.run().pending) & {f"default/{name}" for name in names})

    assert left_pending(answer.count) == 0
    if answer.stopped_at is None:
        assert left_pending(answer.count + 1) == 1
        assert answer.limited_by


# -- nodes for all pending pods -------------------------------------------------------------------


def needed(
    *objects: dict[str, Any], likes: Sequence[str] = ("a",), prices: Sequence[float] = ()
) -> NodesNeeded:
    return needed_in(cluster(*objects), likes, prices)


def needed_in(
    state: ClusterState, likes: Sequence[str], prices: Sequence[float] = ()
) -> NodesNeeded:
    nodes = {node.name: node for node in state.nodes}

    def open_with(mix: Mix) -> Simulation:
        more = [AddNodes("--like", f"{a}-copy", a, n) for a, n in zip(likes, mix, strict=True)]
        return simulation(apply_changes(state, more)[0])

    return nodes_needed(simulation(state), [nodes[like] for like in likes], open_with, prices)


def test_a_copy_goes_where_schedule_sends_the_pod_with_the_same_seed() -> None:
    taken = set()
    for seed in range(6):
        run = drawn(seed)
        (copied,) = capacity(run, find(run, "p3").pod, maximum=1).nodes
        assert copied == drawn(seed).run().placements["default/p3"]
        taken.add(copied)
    assert len(taken) > 2


def test_no_more_nodes_are_needed_where_all_pods_fit() -> None:
    answer = needed(node("a", cpu=1), pod("p", cpu=1))
    assert (answer.nodes_needed, len(answer.runs)) == (0, 1)


@pytest.mark.parametrize("pending", [2, 7, 2 * LINEAR_MAX, 3 * LINEAR_MAX + 1])
def test_the_fewest_nodes_and_one_less_were_run(pending: int) -> None:
    waiting = [pod(f"p{number}", cpu=2) for number in range(pending)]
    answer = needed(node("a", cpu=5), pod("here", cpu=5, node="a"), *waiting)
    assert answer.nodes_needed == -(-pending // 2)
    runs = {trial.nodes: trial.pending for trial in answer.runs}
    assert runs[answer.nodes_needed] == 0
    assert runs[answer.nodes_needed - 1] > 0


@pytest.mark.parametrize("limit", [25, 50, 75])
def test_a_search_for_nodes_ends_within_a_run_at_its_time_limit(limit: int) -> None:
    """A clock whose second is an attempt: a run takes 20 of them and more."""
    waiting = [pod(f"p{number}", cpu=2) for number in range(20)]
    state = cluster(node("a", cpu=5), pod("here", cpu=5, node="a"), *waiting)
    attempts = 0

    def count(_done: int, _total: int) -> None:
        nonlocal attempts
        attempts += 1

    def open_with(mix: Mix) -> Simulation:
        run = simulation(apply_changes(state, [AddNodes("--like", "a-copy", "a", mix[0])])[0])
        run.options = replace(run.options, on_progress=count)
        return run

    search = Search(limit, clock=lambda: attempts)
    answer = nodes_needed(simulation(state), state.nodes, open_with, progress=search)
    assert answer.stopped == f"the time limit of {limit} s was reached"
    assert attempts <= limit
    best = min(answer.runs, key=lambda run: (run.pending, run.nodes))
    assert sum(answer.mix.values()) == best.nodes
    assert answer.nodes_needed == (None if best.pending else best.nodes)


def test_a_search_for_nodes_that_is_ended_has_its_first_run() -> None:
    state = cluster(node("a", cpu=1), pod("p", cpu=1), pod("q", cpu=1))
    search = Search()
    search.interrupt()
    answer = nodes_needed(
        simulation(state), state.nodes, lambda _: simulation(state), progress=search
    )
    assert (answer.nodes_needed, answer.stopped, len(answer.runs)) == (None, "interrupted", 1)


def test_what_each_pod_requests_proves_that_fewer_nodes_do_not_hold_them() -> None:
    """A node of 8 cores has room for two pods of 3, although 17 of these request 51 of 72 cores."""
    pytest.importorskip("ortools", reason="the extra optimum is not installed")
    answer = needed(node("a", cpu=8), *(pod(f"p{number}", cpu=3) for number in range(17)))
    assert (answer.nodes_needed, answer.at_least) == (8, 8)


def test_where_a_proof_would_be_too_large_the_sum_of_requests_says_how_many_nodes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Four pods of 3 cores are more than two nodes of 4 have, and each takes most of one. A node
    has one core left."""
    pytest.importorskip("ortools", reason="the extra optimum is not installed")
    running = pod("running", cpu=3, node="a", priority=10)
    waiting = [pod(f"p{number}", cpu=3, labels={"app": f"{number % 2}"}) for number in range(4)]
    # The model has looks of pods times nodes: the cluster's, and as many as were enough.
    for most, at_least in ((2 * (1 + 4), 4), (2 * (1 + 4) - 1, 3)):
        monkeypatch.setattr(more_nodes, "MAX_PAIRS", most)
        answer = needed(node("a", cpu=4), running, *waiting)
        assert (answer.nodes_needed, answer.at_least) == (4, at_least)


def test_a_proof_leaves_pods_of_positive_priority_where_they_run() -> None:
    pytest.importorskip("ortools", reason="the extra optimum is not installed")
    running = pod("running", cpu=4, node="a", priority=10)
    waiting = [pod(f"p{number}", cpu=3) for number in range(4)]
    assert needed(node("a", cpu=4), running, *waiting).at_least == 4
    running = pod("running", cpu=4, node="a", priority=-10)
    assert needed(node("a", cpu=4), running, *waiting).at_least == 3


@given(states(max_running=8, max_pending=6))
def test_no_more_nodes_are_proven_to_be_needed_than_are_enough(state: ClusterState) -> None:
    likes = [node.name for node in state.nodes][:2]
    answer = needed_in(state, likes)
    assert answer.at_least <= sum(answer.mix.values())


def test_a_mix_of_fewer_nodes_is_found_where_each_kind_would_do_alone() -> None:
    shapes = {"cores": (6, 2), "memory": (2, 6)}
    nodes = [node(name, cpu=cpu, memory=memory) for name, (cpu, memory) in shapes.items()]
    full = [pod(f"on-{name}", cpu=c, memory=m, node=name) for name, (c, m) in shapes.items()]
    waiting = [pod(f"cores-{i}", cpu=2) for i in range(3)]
    waiting += [pod(f"memory-{i}", memory=2) for i in range(3)]
    for name in shapes:
        assert needed(*nodes, *full, *waiting, likes=(name,)).nodes_needed == 3
    answer = needed(*nodes, *full, *waiting, likes=tuple(shapes))
    assert (answer.nodes_needed, answer.mix) == (2, {"cores": 1, "memory": 1})


def test_nodes_of_one_kind_are_not_asked_to_do_what_only_another_can() -> None:
    zones = [node(name, cpu=2, labels={"zone": name}) for name in ("a", "b")]
    full = [pod(f"{name}-full", cpu=2, node=name) for name in ("a", "b")]
    waiting = [pod(f"p{i}", cpu=1, node_selector={"zone": zone}) for i, zone in enumerate("aaab")]
    answer = needed(*zones, *full, *waiting, likes=("a", "b"))
    assert (answer.nodes_needed, answer.mix) == (3, {"a": 2, "b": 1})
    runs = {tuple(trial.mix.values()): trial.pending for trial in answer.runs}
    assert all(runs[mix] for mix in ((0, 2), (1, 1), (2, 0)))


@pytest.mark.parametrize(
    ("priority", "nodes", "evicted"), [(-1, 0, ("default/low",)), (0, 1, ()), (1, 1, ())]
)
def test_a_pod_of_negative_priority_may_be_evicted_instead_of_another_node(
    priority: int, nodes: int, evicted: tuple[str, ...]
) -> None:
    # As the cluster-autoscaler takes it: such pods are expendable.
    low = pod("low", cpu=2, node="a", priority=priority)
    answer = needed(node("a", cpu=2), low, pod("p", cpu=2, priority=9))
    assert (answer.nodes_needed, answer.evicted) == (nodes, evicted)


def test_why_fewer_nodes_would_not_do_is_what_the_run_with_one_less_leaves_pending() -> None:
    full = pod("full", cpu=2, node="a")
    answer = needed(node("a", cpu=2), full, *(pod(f"p{i}", cpu=2) for i in range(3)))
    assert (answer.nodes_needed, answer.at_least) == (3, 3)
    message = "0/3 nodes are available: 3 Insufficient cpu."
    assert answer.why_not_fewer.startswith(f"with 2, 1 pod has no node: default/p2: {message}")
    (group,) = needed(node("a", cpu=2), full, pod("p", cpu=2)).helped
    assert (group.pods, group.nodes) == (("default/p",), 1)


def test_pods_that_request_different_resources_share_nodes() -> None:
    gpu = "example.com/gpu"
    nodes = [node("a", cpu=2, resources={gpu: 1}), pod("full", cpu=2, node="a")]
    waiting = [pod("cpu", cpu=1), pod("gpu", cpu=1, requests={gpu: 1}), pod("more", cpu=1)]
    assert needed(*nodes, *waiting).nodes_needed == 2
    runs = [trial.nodes for trial in needed(*nodes, *waiting).runs]
    assert runs[:2] == [0, 2], "the first estimate is enough"


@given(st.lists(st.sampled_from(["a", "b", "c", ""]), min_size=1, max_size=20))
def test_pods_that_are_bound_to_a_zone_get_their_nodes_there(zones: list[str]) -> None:
    # Each takes a node for itself.
    nodes = [node(name, cpu=2, labels={ZONE_LABEL: name}) for name in "abc"]
    full = [pod(f"on-{name}", cpu=2, node=name) for name in "abc"]
    waiting = [
        pod(f"p{i}", cpu=2, node_selector={ZONE_LABEL: zone} if zone else {})
        for i, zone in enumerate(zones)
    ]
    answer = needed(*nodes, *full, *waiting, likes=("a", "b", "c"))
    assert answer.nodes_needed == len(zones)
    assert all(count >= zones.count(name) for name, count in answer.mix.items())


@pytest.mark.parametrize(
    ("prices", "mix", "per_hour"),
    [
        # Five pods of 2 cores; small has 2, large 8.
        ((0.1, 0.6), {"small": 5, "large": 0}, 0.5),  # with one large node at least 0.7
        ((0.1, 0.35), {"small": 1, "large": 1}, 0.45),  # 5 small 0.5, 2 large 0.7
        ((0.4, 0.7), {"small": 1, "large": 1}, 1.1),  # 5 small 2, 2 large 1.4
        ((1, 0.4), {"small": 0, "large": 2}, 0.8),  # 1 small and 1 large 1.4
        ((0, 0), {"small": 0, "large": 2}, 0),  # of equal ones the fewest nodes
    ],
)
def test_the_cheapest_mix_is_found(
    prices: tuple[float, float], mix: dict[str, int], per_hour: float
) -> None:
    sizes = {"small": 2, "large": 8}
    nodes = [node(name, cpu=cpu) for name, cpu in sizes.items()]
    full = [pod(f"on-{name}", cpu=cpu, node=name) for name, cpu in sizes.items()]
    waiting = [pod(f"p{i}", cpu=2) for i in range(5)]
    # small and large take one and four pods: 5, 0; 1, 1; 0, 2 are enough.
    answer = needed(*nodes, *full, *waiting, likes=tuple(sizes), prices=prices)
    assert answer.mix == mix
    assert answer.per_hour == per_hour


def test_more_nodes_are_added_than_are_needed_and_taken_away_again() -> None:
    """Fourteen pods use one host port, fourteen another: each node holds one of both, although
    there is room for all 28 on one. What is tried doubles, and is too much in the end."""
    waiting = [
        pod(f"{name}-{number}", cpu="100m", ports=[{"hostPort": port}])
        for name, port in (("web", 80), ("dns", 53))
        for number in range(14)
    ]
    answer = needed(node("a", cpu=4), *waiting)
    assert (answer.nodes_needed, answer.mix) == (13, {"a": 13})
    assert max(trial.nodes for trial in answer.runs) > 13


def test_large_and_small_pods_get_nodes_of_the_price_that_suits_them() -> None:
    shapes = {"small": 4, "large": 16}
    nodes = [node(name, cpu=cpu) for name, cpu in shapes.items()]
    full = [pod(f"on-{name}", cpu=cpu, node=name) for name, cpu in shapes.items()]
    waiting = [
        pod(f"{name}-{at}", cpu=cpu, priority=cpu)  # the large ones choose first
        for name, cpu in shapes.items()
        for at in range(10)
    ]
    # Four small pods share a large node, which costs as much as five small ones.
    answer = needed(*nodes, *full, *waiting, likes=tuple(shapes), prices=(0.1, 0.5))
    assert (answer.mix, answer.per_hour) == ({"small": 10, "large": 10}, 6)


def test_pods_that_stay_apart_need_a_node_each() -> None:
    by_host = {**APART["podAntiAffinity"]}
    (term,) = by_host["requiredDuringSchedulingIgnoredDuringExecution"]
    term = term | {"topologyKey": "kubernetes.io/hostname"}
    apart = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    waiting = [pod(f"p{n}", labels={"app": "web"}, affinity=apart) for n in range(4)]
    answer = needed(node("a", labels={"kubernetes.io/hostname": "a"}), *waiting)
    assert answer.nodes_needed == 3


def test_where_no_number_helps_a_pending_pod_says_why() -> None:
    answer = needed(node("a", cpu=1), pod("p", cpu=2))
    assert answer.nodes_needed is None
    assert answer.limited_by.startswith("default/p: 0/2 nodes are available: 2 Insufficient cpu.")


def test_where_it_is_not_requests_that_keep_a_pod_a_node_is_tried_in_vain() -> None:
    term = {"labelSelector": {"matchLabels": {"app": "nobody"}}, "topologyKey": "zone"}
    near = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    answer = needed(node("a", cpu=4, labels={"zone": "z"}), pod("p", cpu=1, affinity=near))
    assert answer.nodes_needed is None
    assert [(trial.nodes, trial.pending) for trial in answer.runs] == [(0, 1), (1, 1)]


def test_a_hopeless_pod_does_not_hide_those_that_nodes_help() -> None:
    answer = needed(node("a", cpu=2), *(pod(f"p{i}", cpu=2) for i in range(4)), pod("huge", cpu=9))
    assert answer.nodes_needed is None
    assert {(group.owner, group.pods, group.nodes) for group in answer.helped} == {
        ("Pod/p1", ("default/p1",), 1),
        ("Pod/p2", ("default/p2",), 2),
        ("Pod/p3", ("default/p3",), 3),
    }
    (group,) = answer.not_helped
    assert group.pods == ("default/huge",)
    assert "9 Insufficient cpu" not in group.message
    assert present(group.diagnosis).cause.startswith("requests cpu 9")
    assert {run.nodes for run in answer.runs} >= {2, 3}


def test_a_pod_that_gets_in_by_evictions_is_not_one_that_fits_nowhere() -> None:
    objects = (node("a", cpu=1), pod("low", cpu=1, node="a"))
    assert answer_for(*objects, pod("p", cpu=1, priority=9)).by_preemption
    assert not answer_for(*objects, pod("p", cpu=1)).by_preemption
    assert not answer_for(*objects, pod("p", cpu=2, priority=9)).by_preemption


def test_evicting_somebody_is_not_enough() -> None:
    answer = needed(
        node("a", cpu=1), pod("low", cpu=1, node="a", priority=1), pod("p", cpu=1, priority=9)
    )
    assert answer.nodes_needed == 1
    assert answer.runs[0].evicted == 1


def of_member(min_count: int, *names: str, cpu: int = 5, **fields: Any) -> CapacityResult:
    """Copies of the first of the pods, which are a gang on a node of five CPUs."""
    gang = {
        "apiVersion": "scheduling.k8s.io/v1alpha2",
        "kind": "PodGroup",
        "metadata": {"name": "red", "namespace": "default"},
        "spec": {"schedulingPolicy": {"gang": {"minCount": min_count}}},
    }
    spec = {"schedulingGroup": {"podGroupName": "red"}}
    pods = [pod(name, cpu=1, spec=spec, **fields) for name in names]
    state = cluster(node("a", cpu=cpu), gang, *pods)
    gates = "GenericWorkload=true,GangScheduling=true"
    run = simulation(state, kubernetes_version="1.36", feature_gates=gates)
    return capacity(run, state.pods[0], maximum=9)


def test_copies_of_a_pod_of_a_gang_take_the_room_that_its_other_pods_leave() -> None:
    assert of_member(2, "p", "q", "r").count == 3


def test_copies_join_a_gang_that_runs() -> None:
    assert of_member(2, "p", "q", node="a").count == 3


def test_copies_complete_a_gang_that_is_short_of_pods() -> None:
    answer = of_member(4, "p", "q")
    assert (answer.count, answer.stopped_at) == (4, None)
    assert present(answer.gated).message.startswith("waiting for minCount pods")


def test_of_a_gang_for_which_there_is_too_little_room_no_copy_fits() -> None:
    answer = of_member(6, *"pqrstu")
    assert answer.count == 0
    assert "Insufficient cpu" in answer.limited_by
