"""How few nodes would do, were every pod placed afresh."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ksched_cli.analysis import more_nodes
from ksched_cli.analysis import repack as repack_module
from ksched_cli.analysis.drained_cluster import DrainedCluster
from ksched_cli.analysis.more_nodes import likes_of
from ksched_cli.analysis.placement_model import has_solver
from ksched_cli.analysis.repack import NewNodes, Repack, repack, repack_onto
from ksched_cli.analysis.search import Search
from ksched_cli.analysis.shrink import ShrinkLimits, shrink
from ksched_cli.cluster.objects import ZONE_LABEL
from ksched_cli.cluster.objects.node import HOSTNAME_LABEL
from ksched_cli.cluster.state import ClusterState
from ksched_cli.scenario.drain import PodRules
from ksched_cli.scenario.prices import read_prices
from ksched_cli.testing import Manifest, cluster, node, pod, simulate, simulation
from tests.clusters import states
from tests.scenario.build import owned

RULES = PodRules(0.0)


def in_zone(zone: str) -> dict[str, str]:
    return {ZONE_LABEL: zone}


def test_repacking_says_how_few_nodes_would_do() -> None:
    objects = [
        *(node(name, cpu=4) for name in "abcd"),
        *(owned(f"p{name}", cpu=2, node=name) for name in "abcd"),
        node("controller", cpu=8, labels={"node-role.kubernetes.io/control-plane": ""}),
    ]
    run = simulation(cluster(*objects))
    base = DrainedCluster.after_run(run, RULES)
    assert repack(base, list("abcd")) == Repack(1, 1, 0)
    assert repack(base, list("ab")) == Repack(3, 3, 0)
    assert shrink(base, ShrinkLimits(), repacks=True).repack == Repack(1, 1, 0)


@given(states(max_running=10))
def test_no_more_nodes_are_proven_to_be_needed_than_pods_placed_afresh_take(
    state: ClusterState,
) -> None:
    base = DrainedCluster.after_run(simulation(state), RULES)
    answer = repack(base, [node.name for node in state.nodes])
    assert answer.at_least <= answer.nodes


def test_pods_that_fit_nowhere_afresh_do_not_count_in_repacking() -> None:
    run = simulation(
        cluster(
            node("a", cpu=4),
            node("b", cpu=4, unschedulable=True),
            owned("p", cpu=3, node="a"),
            owned("q", cpu=3, node="b"),
        )
    )
    base = DrainedCluster.after_run(run, RULES)
    assert repack(base, ["b", "a"]) == Repack(1, 1, 1)


# A pod of a node that takes none any more, and of that alone.
STRANDED = [
    node("closed", cpu=4, labels={"only": "here"}, unschedulable=True),
    owned("stranded", cpu=0, node="closed", spec={"nodeSelector": {"only": "here"}}),
]


@pytest.mark.parametrize(
    ("requests", "nodes", "at_least"),
    [
        # Two pods of 3 are more than a node of 4 has, three more than two have.
        ((3, 2), 2, 2),
        ((3, 3, 3), 3, 3),
        # Alone, each takes most of a node; what they request together would be on fewer.
        ((3, 3, 3, 3), 4, 3),
        ((1, 1, 1, 1), 1, 1),
    ],
)
def test_what_pods_request_together_takes_so_many_nodes(
    requests: tuple[int, ...], nodes: int, at_least: int
) -> None:
    # A pod that has no node afresh leaves it at that: no solver proves more.
    cpu_of = dict(zip("abcd", requests, strict=False))
    objects = [
        *(node(name, cpu=4) for name in "abcd"),
        *(owned(f"p{name}", cpu=cpu, node=name) for name, cpu in cpu_of.items()),
        *STRANDED,
    ]
    base = DrainedCluster.after_run(simulation(cluster(*objects)), RULES)
    assert repack(base, ["closed", *"dcba"]) == Repack(nodes, at_least, 1)


def test_the_largest_nodes_are_those_that_are_needed_at_least() -> None:
    sizes = {"a": 8, "b": 8, "c": 1}
    objects = [node(name, cpu=cpu) for name, cpu in sizes.items()]
    objects += [owned(f"p{name}", cpu=5, node=name) for name in "ab"]
    base = DrainedCluster.after_run(simulation(cluster(*objects)), RULES)
    assert repack(base, list("cba")) == Repack(2, 2, 0)


def test_nodes_that_must_stay_are_needed_at_least() -> None:
    objects = [*(node(name, cpu=4) for name in "abc"), owned("p", cpu=1, node="a")]
    objects += STRANDED
    base = DrainedCluster.after_run(simulation(cluster(*objects)), RULES)
    assert repack(base, ["closed"]) == Repack(3, 3, 1)
    assert repack(base, ["closed", "c"]) == Repack(2, 2, 1)


@pytest.mark.skipif(not has_solver(), reason="the extra `optimum` is not installed")
def test_a_solver_proves_that_pods_which_take_most_of_a_node_need_one_each() -> None:
    objects = [node(name, cpu=4) for name in "abcde"]
    objects += [owned(f"p{name}", cpu=3, node=name) for name in "abcd"]
    base = DrainedCluster.after_run(simulation(cluster(*objects)), RULES)
    assert repack(base, list("edcba")) == Repack(4, 4, 0)
    assert repack(base, list("dcba")) == Repack(4, 4, 0)


@pytest.mark.skipif(not has_solver(), reason="the extra `optimum` is not installed")
@pytest.mark.parametrize(("most", "at_least"), [(5, 4), (4, 3)])
def test_where_a_model_would_be_too_large_no_solver_proves_more(
    most: int, at_least: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Four pods that look the same, and five nodes.
    monkeypatch.setattr(repack_module, "MAX_PAIRS", most)
    objects = [node(name, cpu=4) for name in "abcde"]
    objects += [owned(f"p{name}", cpu=3, node=name) for name in "abcd"]
    base = DrainedCluster.after_run(simulation(cluster(*objects)), RULES)
    assert repack(base, list("edcba")) == Repack(4, at_least, 0)


def test_a_node_may_go_whose_absence_places_more_pods() -> None:
    """The leader prefers the small node, where its follower has no room."""
    prefers = [{"weight": 100, "preference": {"matchExpressions": [
        {"key": "size", "operator": "In", "values": ["small"]}]}}]  # fmt: skip
    near = [{"labelSelector": {"matchLabels": {"app": "leader"}}, "topologyKey": HOSTNAME_LABEL}]
    leads = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": prefers}}
    follows = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": near}}
    names = {"a": "large", "b": "large", "c": "small"}
    objects = [
        *(
            node(name, cpu=1 if size == "small" else 4, labels={
                HOSTNAME_LABEL: name, "size": size})
            for name, size in names.items()
        ),
        owned("leader", cpu=1, node="a", priority=10, labels={"app": "leader"},
              spec={"affinity": leads}),
        owned("follower", cpu=3, node="a", spec={"affinity": follows}),
    ]  # fmt: skip
    base = DrainedCluster.after_run(simulation(cluster(*objects)), RULES)
    assert base.unplaced_without(()) == 1
    assert repack(base, list("cba")) == Repack(1, 1, 1)


def test_what_goes_with_a_node_takes_its_room() -> None:
    owner = [{"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "agent", "uid": "agent",
              "controller": True}]  # fmt: skip
    objects = [
        *(node(name, cpu=4) for name in "abc"),
        *(
            pod(f"agent-{name}", cpu=3, node=name) | {"metadata": {
                "name": f"agent-{name}", "namespace": "default", "ownerReferences": owner}}
            for name in "abc"
        ),
        *(owned(f"p{name}", cpu=1, node=name) for name in "ab"),
    ]  # fmt: skip
    base = DrainedCluster.after_run(simulation(cluster(*objects)), RULES)
    assert repack(base, list("cba")) == Repack(2, 2, 0)


# -- new nodes ------------------------------------------------------------------------------------

ZONES = "abc"
SHAPES = {"small": (4, 1.0), "large": (16, 3.0)}


def new_nodes(state: ClusterState, *like: str, prices: str = "", keep: str = "") -> NewNodes:
    """The new nodes that could take the place of all but those to keep."""
    run = simulation(state)
    base = DrainedCluster.after_run(run, RULES)
    free = [node for node in state.nodes if node.metadata.labels.get("pool") != keep]
    listed = read_prices(prices.split())
    return repack_onto(base, free, likes_of(like, run), listed, simulation, Search())


def zoned(*pods: Manifest) -> ClusterState:
    """A small and a large node in each of three zones, and pods that run there."""
    return cluster(
        *(
            node(f"{pool}-{zone}", cpu=cpu, labels={**in_zone(zone), "pool": pool})
            for pool, (cpu, _) in SHAPES.items()
            for zone in ZONES
        ),
        *pods,
    )


def test_new_nodes_have_one_in_each_zone_at_least() -> None:
    state = zoned(owned("p", cpu=1, node="small-a"))
    answer = new_nodes(state, "pool=large")
    assert answer.mix == {"large-a": 1, "large-b": 1, "large-c": 1}
    assert (answer.replaced, answer.at_least, answer.not_helped) == (6, 3, ())
    assert answer.zones == {"a": 1, "b": 1, "c": 1}
    assert new_nodes(state, "large-b").mix == {"large-b": 1}


def test_new_nodes_are_the_cheapest_mix_of_the_shapes() -> None:
    pods = [owned(f"p{at}", cpu=3, node=f"large-{ZONES[at % 3]}") for at in range(15)]
    answer = new_nodes(zoned(*pods), "pool=small", "pool=large", prices="pool=small=1 pool=large=3")
    # Of 15 small nodes one a pod; of large ones each holds five.
    assert answer.mix == {f"small-{z}": 0 for z in ZONES} | {f"large-{z}": 1 for z in ZONES}
    assert (answer.per_hour, answer.replaced_per_hour) == (9, 12)


def test_without_a_proof_the_sum_of_requests_says_how_many_new_nodes_are_needed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(more_nodes, "MAX_PAIRS", 0)
    pods = [owned(f"p{at}", cpu=3, node=f"large-{ZONES[at % 3]}") for at in range(15)]
    answer = new_nodes(zoned(*pods), "large-b")
    assert (answer.mix, answer.at_least) == ({"large-b": 3}, 3)


def test_nodes_that_stay_are_beside_the_new_ones() -> None:
    state = zoned(owned("p", cpu=3, node="small-a"), owned("q", cpu=3, node="small-b"))
    answer = new_nodes(state, "small-a", keep="large")
    assert (answer.mix, answer.replaced) == ({"small-a": 1}, 3)


def test_pods_that_no_new_node_holds_are_named() -> None:
    state = zoned(owned("p", cpu=3, node="large-a"), owned("q", cpu=9, node="large-b"))
    answer = new_nodes(state, "pool=small")
    assert [group.pods for group in answer.not_helped] == [("default/q",)]


def test_a_pod_that_is_bound_to_a_zone_gets_its_node_there() -> None:
    # The second large node is in zone b; what stays pending must be in zone a.
    spec = {"nodeSelector": in_zone("a")}
    state = zoned(
        owned("p", cpu=1, node="large-a"),
        *(owned(f"q{cpu}", cpu=cpu, node="large-a", spec=spec) for cpu in (7, 9)),
    )
    answer = new_nodes(state, "pool=small", "pool=large", prices="pool=small=1 pool=large=3")
    assert not answer.not_helped
    assert answer.mix["large-a"] > 0


@given(st.lists(st.tuples(st.integers(1, 9), st.sampled_from(ZONES), st.booleans()), max_size=14))
def test_new_nodes_hold_every_pod_in_a_run_of_their_own(
    requests: list[tuple[int, str, bool]],
) -> None:
    def running(at: int, cpu: int, zone: str, is_bound: bool) -> Manifest:
        spec = {"nodeSelector": in_zone(zone)} if is_bound else {}
        return owned(f"p{at}", cpu=cpu, node=f"large-{zone}", spec=spec)

    state = zoned(*(running(at, *each) for at, each in enumerate(requests)))
    answer = new_nodes(state, "pool=small", "pool=large", prices="pool=small=1 pool=large=3")
    assert not answer.not_helped
    assert answer.at_least <= sum(answer.mix.values())
    new, fewest = [], 0.0
    for like, count in answer.mix.items():
        pool, zone = like.split("-")
        cpu, price = SHAPES[pool]
        fewest += count * price
        labels = {**in_zone(zone), "pool": pool}
        new += [node(f"{like}-{number}", cpu=cpu, labels=labels) for number in range(count)]
    assert answer.per_hour == fewest
    assert {each["metadata"]["labels"][ZONE_LABEL] for each in new} == {*ZONES}
    waiting = [
        pod(f"p{at}", cpu=cpu, spec={"nodeSelector": in_zone(zone)} if is_bound else {})
        for at, (cpu, zone, is_bound) in enumerate(requests)
    ]
    assert not simulate(cluster(*new, *waiting)).pending


def test_a_node_that_is_named_is_a_shape_for_every_zone() -> None:
    """Copies of the named node come to each zone that the nodes which go are in, at its price."""
    pods = owned("p", cpu=1, node="small-a"), owned("q", cpu=9, node="large-b")
    state = zoned(*pods, node("huge", cpu=32, labels={"pool": "huge"}))
    run = simulation(state)
    base = DrainedCluster.after_run(run, RULES)

    def onto(*like: str, prices: str = "") -> NewNodes:
        listed = read_prices(prices.split())
        arguments = (list(state.nodes), likes_of(like, run), listed, simulation, Search(), like)
        return repack_onto(base, *arguments)

    answer = onto("huge")
    assert (answer.mix, answer.zones) == ({"huge": 3}, {"a": 1, "b": 1, "c": 1})
    # Only one of the zones needs a large node.
    answer = onto("large-b", "small-a", prices="large-b=3 small-a=1 *=2")
    assert answer.mix == {"large-b": 1, "small-a": 2}
    assert (answer.zones, answer.per_hour) == ({"a": 1, "b": 1, "c": 1}, 5)
    # Nodes of one shape that are in the zones are not doubled.
    assert onto("small-a", "small-b", "large-c").zones == {"a": 1, "b": 1, "c": 1}


def test_zones_that_one_shape_covers_need_no_other() -> None:
    """Pods that are bound to zone b fill a large node there, and small ones cover the others. Where
    zones are alike, the large node is in any."""
    bound = {"nodeSelector": in_zone("b")}
    pods = [owned(f"p{cpu}", cpu=cpu, node="large-b", spec=bound) for cpu in (7, 9)]
    prices = "pool=small=1 pool=large=3"
    mix = new_nodes(
        zoned(*pods, owned("q", cpu=3, node="small-a")), "pool=small", "pool=large", prices=prices
    ).mix
    assert mix == {
        "small-a": 1,
        "small-b": 0,
        "small-c": 1,
        "large-a": 0,
        "large-b": 1,
        "large-c": 0,
    }
    pods = [owned("p", cpu=9, node="large-a"), owned("q", cpu=1, node="large-a")]
    answer = new_nodes(zoned(*pods), "pool=small", "pool=large", prices=prices)
    assert (answer.per_hour, set(answer.zones.values())) == (5, {1})
