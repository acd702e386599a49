"""Which nodes could go."""

from collections.abc import Collection, Iterable
from itertools import combinations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ksched_cli.analysis.drained_cluster import DrainedCluster, DrainOutcome
from ksched_cli.analysis.named_objects import label_selector_of
from ksched_cli.analysis.search import Search
from ksched_cli.analysis.shrink import (
    NOT_AT_ONCE,
    NOT_LOOKED_AT,
    NodeToDrain,
    ShrinkLimits,
    ShrinkResult,
    rules_of,
    shrink,
)
from ksched_cli.cluster.state import ClusterState
from ksched_cli.scenario.drain import DO_NOT_DISRUPT, SCALE_DOWN_DISABLED, PodRules
from ksched_cli.scenario.prices import read_prices
from ksched_cli.testing import Manifest, cluster, node, pod, simulate, simulation
from tests.clusters import nodes, pods
from tests.scenario.build import budget, changed, owned, ready
from tests.volumes import bound, claim, storage_class, volume

RULES = PodRules(0.0)


def in_zone(zone: str) -> dict[str, str]:
    return {"topology.kubernetes.io/zone": zone}


def shrunk(*objects: Manifest, rules: PodRules = RULES, **limits: Any) -> ShrinkResult:
    run = simulation(cluster(*objects))
    return shrink(DrainedCluster.after_run(run, rules), ShrinkLimits(**limits))


def going(answer: ShrinkResult) -> list[str]:
    return [each.node for each in answer.nodes if each.removable]


def of(answer: ShrinkResult, name: str) -> NodeToDrain:
    (only,) = (each for each in answer.nodes if each.node == name)
    return only


def held(answer: ShrinkResult, name: str) -> list[tuple[str | None, str]]:
    return [(hold.pod, hold.because) for hold in of(answer, name).held_by]


def test_what_goes_is_drained_all_at_once_too() -> None:
    """After the drain of b, its small pod has left the large nodes to the pods of a. At once it
    comes between them."""
    sizes = {"c": 3, "d": 1, "e": 4}
    answer = shrunk(
        node("a", cpu=6),
        node("b", cpu=1),
        *(node(name, cpu=cpu, labels={"stays": "yes"}) for name, cpu in sizes.items()),
        owned("first", cpu=3, node="a", priority=5),
        owned("last", cpu=3, node="a", priority=1),
        owned("small", cpu=1, node="b", priority=4),
        keep=label_selector_of("stays"),
    )
    assert going(answer) == ["b"]
    assert held(answer, "a") == [(None, NOT_AT_ONCE)]


def replaced(*objects: Manifest, price: float) -> ShrinkResult:
    """Large nodes cost 10 an hour; `small`, which is full, may be copied."""
    small = node("small", cpu=4, labels={"stays": "yes"})
    state = cluster(*objects, small, owned("q", cpu=4, node="small"))
    (model,) = (each for each in state.nodes if each.name == "small")
    prices, keep = read_prices([f"stays=yes={price}", "*=10"]), label_selector_of("stays")
    limits = ShrinkLimits(keep=keep, prices=prices, replacement=model)
    return shrink(DrainedCluster.after_run(simulation(state), RULES), limits)


LARGE = [
    *(node(name, cpu=16) for name in "abc"),
    *(owned(f"{name}{n}", cpu=2, node=name) for name in "abc" for n in range(3)),
]


def test_dear_nodes_are_replaced_by_as_many_cheaper_ones_as_their_pods_need() -> None:
    """One small node beside a large one saves 19; five instead of all large ones 25."""
    answer = replaced(*LARGE, price=1)
    assert going(answer) == ["a", "b", "c"]
    assert (answer.per_hour, answer.added_per_hour) == (30, 5)
    assert answer.added == ("small-new", *(f"small-new-{n}" for n in range(2, 6)))
    targets = {to for each in answer.nodes for to in each.moves_to.values()}
    assert targets == set(answer.added)


def test_no_node_is_added_that_costs_more_than_it_saves() -> None:
    """With one more, two large nodes could go, instead of one."""
    answer = replaced(*LARGE, price=11)
    assert (answer.removable, answer.added, answer.added_per_hour) == (1, (), 0)
    cheaper = replaced(*LARGE, price=9)
    assert (cheaper.removable, cheaper.added, cheaper.added_per_hour) == (2, ("small-new",), 9)


def test_what_could_go_without_a_replacement_needs_none() -> None:
    answer = replaced(node("a", cpu=16), node("b", cpu=16), owned("p", cpu=1, node="a"), price=11)
    assert (answer.removable, answer.added) == (1, ())


@pytest.mark.parametrize(("share", "number"), [(0.0, 2), (0.5, 1), (0.51, 0)])
def test_a_share_of_each_resource_can_stay_free(share: float, number: int) -> None:
    """4 of 12 cpu are requested; 4 of 8 once a node is gone."""
    answer = shrunk(
        *(node(name, cpu=4) for name in "abc"),
        *(owned(f"p{name}", cpu=2, node=name) for name in "ab"),
        keep_free=share,
    )
    assert answer.removable == number
    if number == 1:
        lacking = {hold.because for each in answer.nodes for hold in each.held_by}
        assert lacking == {"0% of cpu would be free, less than --keep-free asks for"}


def test_room_is_kept_of_what_a_node_has_itself() -> None:
    """The gpus are all requested: that keeps the node that has them, and no other."""
    answer = shrunk(
        *(node(name, cpu=4, resources={"example.com/gpu": 1}) for name in "ab"),
        *(node(name, cpu=4) for name in "cd"),
        *(owned(f"p{name}", cpu=1, requests={"example.com/gpu": 1}, node=name) for name in "ab"),
        keep_free=0.3,
    )
    assert going(answer) == ["c", "d"]
    assert {name for name in "ab" for _, why in held(answer, name) if "gpu" in why} == {"a", "b"}


def test_what_daemon_sets_request_goes_with_their_node() -> None:
    answer = shrunk(
        *(node(name, cpu=4) for name in "ab"),
        *(owned(f"d{name}", kind="DaemonSet", cpu=2, node=name) for name in "ab"),
        owned("p", cpu=1, node="a"),
        keep_free=0.25,
    )
    assert answer.removable == 1


def test_nodes_go_in_order_and_their_pods_move_once() -> None:
    answer = shrunk(
        *(node(name, cpu=4) for name in "abcd"),
        *(owned(f"p{name}", cpu=2, node=name) for name in "abcd"),
    )
    assert answer.removable == 2
    first, second, *rest = answer.nodes
    assert (first.order, second.order) == (1, 2)
    assert not any(each.removable or each.moves_to for each in rest)
    moves = {**first.moves_to, **second.moves_to}
    assert set(moves) == {f"default/p{first.node}", f"default/p{second.node}"}
    assert not {first.node, second.node} & set(moves.values())
    assert answer.freed["cpu"] == "8"


def test_what_holds_a_node_that_fits_nowhere_is_what_explain_says() -> None:
    answer = shrunk(
        node("a", cpu=4), node("b", cpu=2), owned("p", cpu=3, node="a"), owned("q", cpu=2, node="b")
    )
    assert not answer.removable
    (hold,) = of(answer, "a").held_by
    assert hold.pod == "default/p"
    assert hold.because.startswith("requests cpu 3")
    assert hold.message.startswith("0/1 nodes are available: 1 Insufficient cpu")
    assert [(reason.plugin, reason.reason) for reason in hold.reasons] == [
        ("NodeResourcesFit", "Insufficient cpu")
    ]


def test_pods_that_wait_get_their_node_first() -> None:
    answer = shrunk(
        node("a", cpu=4), node("b", cpu=4), pod("p", cpu=3), owned("q", cpu=3, node="a")
    )
    assert not answer.removable
    without = shrunk(node("a", cpu=4), node("b", cpu=4), owned("q", cpu=3, node="a"))
    assert going(without) == ["b"]


def test_pods_that_stay_pending_are_left_aside() -> None:
    answer = shrunk(node("a", cpu=4), node("b", cpu=4), pod("big", cpu=9), owned("q", node="a"))
    (group,) = answer.pending
    assert (answer.removable, group.pods) == (1, ("default/big",))
    assert group.diagnosis is not None
    assert group.diagnosis.cause.startswith("requests cpu 9")


def test_daemon_sets_go_with_their_nodes_and_are_counted() -> None:
    answer = shrunk(
        *(node(name) for name in "ab"),
        *(owned(f"ds-{name}", "DaemonSet", cpu=1, node=name) for name in "ab"),
    )
    assert (answer.removable, answer.overhead) == (2, {"cpu": "2"})


def test_the_last_node_stays_while_pods_need_it() -> None:
    answer = shrunk(node("a"), node("b"), owned("p", node="a"), owned("q", node="b"))
    assert answer.removable == 1


@pytest.mark.parametrize(
    ("manifest", "because"),
    [
        (pod("p", cpu=1, node="a"), "no controller would create it again"),
        (
            owned("p", node="a", profile="other"),
            'it is for the scheduler "other", which the configuration does not have',
        ),
    ],
)
def test_pods_hold_their_node(manifest: Manifest, because: str) -> None:
    answer = shrunk(node("a", cpu=1), node("b"), owned("q", cpu=2, node="b"), manifest)
    assert held(answer, "a") == [("default/p", because)]


def test_what_is_kept_is_kept() -> None:
    annotated = node("c")
    annotated["metadata"]["annotations"] = {SCALE_DOWN_DISABLED: "true"}
    control = node("d", labels={"node-role.kubernetes.io/control-plane": ""})
    answer = shrunk(node("a"), node("b"), annotated, control, maximum=1)
    assert (going(answer), answer.stopped_at) == (["a"], 1)
    assert held(answer, "b") == [(None, "--max 1 was reached")]
    assert held(answer, "c") == [(None, f"it is annotated {SCALE_DOWN_DISABLED}=true")]
    assert held(answer, "d") == [(None, "the control plane runs there")]


def test_many_small_nodes_go_rather_than_a_large_one() -> None:
    answer = shrunk(
        node("large", cpu=4),
        *(node(name, cpu=2) for name in ("x", "y")),
        owned("p", cpu=2, node="large"),
        owned("q", cpu=1, node="x"),
        owned("r", cpu=1, node="y"),
    )
    assert going(answer) == ["x", "y"]


def test_with_prices_the_dearest_nodes_go() -> None:
    objects = [
        node("dear", cpu=4),
        *(node(name, cpu=2) for name in ("x", "y")),
        owned("p", cpu=2, node="dear"),
        owned("q", cpu=1, node="x"),
    ]
    assert going(shrunk(*objects)) == ["y", "x"]
    answer = shrunk(*objects, prices=read_prices(["dear=9", "*=1"]))
    assert answer.cost
    assert (going(answer), answer.per_hour, answer.cost.per_hour) == (["dear"], 9, 11)


def test_where_only_so_many_may_go_the_dearest_do() -> None:
    objects = [node("dear", cpu=16), *(node(name, cpu=1) for name in "xy"), node("z", cpu=64)]
    answer = shrunk(*objects, maximum=1, prices=read_prices(["dear=6.2", "z=1", "*=0.86"]))
    assert (going(answer), answer.per_hour) == (["dear"], 6.2)


@pytest.mark.parametrize("key", ["kubernetes.io/hostname", "topology.kubernetes.io/zone"])
def test_a_node_that_goes_is_no_empty_domain_of_a_spread_constraint(key: str) -> None:
    labels = {"app": "web"}
    spread = {
        "maxSkew": 1,
        "topologyKey": key,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": labels},
    }
    spec = {"topologySpreadConstraints": [spread]}
    answer = shrunk(
        *(node(name, cpu=4, labels={key: name}) for name in "abcd"),
        *(owned(f"p{name}", node=name, labels=labels, spec=spec) for name in "abcd"),
    )
    assert answer.removable == 3


def test_a_search_that_is_ended_has_what_it_found() -> None:
    run = simulation(cluster(node("a"), node("b"), owned("p", node="a")))
    search = Search()
    search.interrupt()
    answer = shrink(DrainedCluster.after_run(run, RULES), ShrinkLimits(), search)
    assert (answer.removable, answer.stopped) == (0, "interrupted")
    assert {each.held_by[0].because for each in answer.nodes} == {NOT_LOOKED_AT}


class TimedCluster(DrainedCluster):
    """A cluster in which the drain of a pod takes a second."""

    seconds = 0

    def drain(self, nodes: Collection[str], **options: bool) -> DrainOutcome:
        self.seconds += len(self.pods_leaving(nodes))
        return super().drain(nodes, **options)


@pytest.mark.parametrize("limit", [20, 50, 100, 200])
def test_the_verification_of_a_plan_is_part_of_the_time_limit(limit: int) -> None:
    names = [f"n{number}" for number in range(150)]
    objects = [node(name, cpu=8) for name in names]
    objects += [owned(f"web-{name}", cpu=1, node=name) for name in names]
    base = TimedCluster.after_run(simulation(cluster(*objects)), RULES)
    answer = shrink(base, ShrinkLimits(), Search(limit, clock=lambda: base.seconds))
    assert limit // 6 <= answer.removable
    assert base.seconds <= limit
    assert answer.stopped == f"the time limit of {limit} s was reached"


# -- volumes and devices --------------------------------------------------------------------------


def with_claim(name: str, claim: str, **fields: Any) -> Manifest:
    volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": claim}}]
    return owned(name, "StatefulSet", spec={"volumes": volumes}, **fields)


def test_pods_go_where_their_volumes_are() -> None:
    zones = [
        node(name, labels=in_zone(zone), cpu=2) for name, zone in zip("abc", "112", strict=True)
    ]
    answer = shrunk(
        *zones,
        *bound("data", "wait", zones=["1"]),
        *bound("other", "wait", zones=["2"]),
        with_claim("p", "data", node="a", cpu=1),
        with_claim("q", "other", node="c", cpu=1),
    )
    assert going(answer) == ["b"]
    assert [pod for pod, _ in held(answer, "a")] == ["default/p"]
    assert "volume" in held(answer, "c")[0][1]


def test_a_volume_that_a_pending_pod_got_is_not_given_twice() -> None:
    objects = [
        node("a", cpu=1),
        node("b", cpu=2),
        storage_class("local"),
        volume("only"),
        claim("first"),
        claim("second"),
        with_claim("p", "first", cpu=1),
        owned("q", cpu=1, node="b"),
        with_claim("r", "second", cpu=1),
    ]
    answer = shrunk(*objects)
    assert [group.pods for group in answer.pending] == [("default/r",)]
    assert answer.removable == 1
    assert set(of(answer, going(answer)[0]).moves_to.values()) <= {"b"}


# -- budgets --------------------------------------------------------------------------------------


def web(count: int, allowed: int, **more: Any) -> list[Manifest]:
    """Pods on node a under a budget."""
    labels = {"app": "web"}
    pods = [owned(f"p{i}", node="a", labels=labels, status=ready(), **more) for i in range(count)]
    status = {
        "expectedPods": count,
        "currentHealthy": count,
        "desiredHealthy": count - allowed,
        "disruptionsAllowed": allowed,
    }
    return [node("a"), *pods, budget("b", labels, **status)]


def test_a_drain_that_waits_for_a_budget_finishes_as_its_pods_run_elsewhere() -> None:
    answer = shrunk(*web(3, 1), node("b"), maximum=2)
    drain = of(answer, "a")
    assert (drain.removable, drain.waits) == (True, 2)


def test_a_budget_that_never_allows_an_eviction_holds_the_node() -> None:
    answer = shrunk(*web(2, 0), node("b"))
    assert going(answer) == ["b"]
    assert [pod for pod, _ in held(answer, "a")] == ["default/p0", "default/p1"]
    assert "allows no more disruptions" in of(answer, "a").held_by[0].because


# -- against all sets of nodes --------------------------------------------------------------------


def drains_all(state: ClusterState, names: Iterable[str]) -> bool:
    """Whether a drain of these nodes leaves no pod without a node, by the change alone."""
    after, _ = changed(state, f"drain {' '.join(names)} --disable-eviction")
    run = simulate(after)
    return not run.pending


def most(state: ClusterState) -> int:
    """The most nodes that can be drained, of all sets of nodes."""
    names = [each.name for each in state.nodes]
    return max(
        len(chosen)
        for size in range(len(names) + 1)
        for chosen in combinations(names, size)
        if not size or drains_all(state, chosen)
    )


@st.composite
def running(draw: st.DrawFn) -> list[Manifest]:
    """Nodes, and pods that the scheduler has put there."""
    count = draw(st.integers(2, 5))
    objects = [draw(nodes(f"n{i}")) for i in range(count)]
    objects += [draw(pods(f"p{i}")) for i in range(draw(st.integers(0, 8)))]
    placements = simulate(cluster(*objects)).placements
    placed = []
    for each in objects[count:]:
        key = f"{each['metadata']['namespace']}/{each['metadata']['name']}"
        if key in placements:
            each["spec"]["nodeName"] = placements[key]
            each["metadata"]["ownerReferences"] = owned("o")["metadata"]["ownerReferences"]
            placed.append(each)
    return [*objects[:count], *placed]


@given(running())
def test_as_many_nodes_go_as_of_the_best_of_all_sets(objects: list[Manifest]) -> None:
    answer, state = shrunk(*objects), cluster(*objects)
    assert answer.removable >= most(state)
    assert not answer.removable or drains_all(state, going(answer))


@given(running())
def test_every_drain_can_be_repeated_with_changes(objects: list[Manifest]) -> None:
    answer = shrunk(*objects)
    cordons = [f"cordon {name}" for name in going(answer)]
    for each in answer.nodes:
        if not each.removable:
            assert each.held_by
            continue
        after, _ = changed(cluster(*objects), *cordons, f"drain {each.node}")
        placements = simulate(after).placements
        assert placements == each.moves_to
        for manifest in objects:
            key = f"{manifest['metadata'].get('namespace')}/{manifest['metadata']['name']}"
            if key in placements:
                manifest["spec"]["nodeName"] = placements[key]


def test_an_annotation_that_holds_for_a_time_is_measured_by_the_latest_heartbeat() -> None:
    apple = node("a")
    apple["status"]["conditions"] = [
        {"type": "Ready", "status": "True", "lastHeartbeatTime": "2026-01-01T12:00:00Z"}
    ]
    old = owned("p", node="a", annotations={DO_NOT_DISRUPT: "1h"})
    old["metadata"]["creationTimestamp"] = old["status"]["startTime"] = "2026-01-01T10:00:00Z"
    state = cluster(apple, old)
    assert rules_of(state, force=False, loses_local_storage=False).pod_stays(state.pods[0]) == ""
