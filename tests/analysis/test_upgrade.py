"""In which waves a pool can be drained and replaced."""

from typing import Any

from ksched_cli.analysis.drained_cluster import DrainedCluster
from ksched_cli.analysis.shrink import ShrinkLimits, UpgradePlan, upgrade
from ksched_cli.kube.selectors import Selector
from ksched_cli.scenario.arguments import read_selector
from ksched_cli.scenario.drain import PodRules
from ksched_cli.testing import Manifest, cluster, node, pod, simulation
from tests.scenario.build import budget, owned, ready, workload

POOL = {"pool": "x"}


def old(name: str, cpu: int = 4) -> Manifest:
    return node(name, cpu=cpu, labels={**POOL, "kubernetes.io/hostname": name})


def planned(*objects: Manifest, surge: int = 1) -> UpgradePlan:
    run = simulation(cluster(*objects))
    among: Selector = read_selector("", "pool=x")
    return upgrade(DrainedCluster.after_run(run, PodRules(0.0)), ShrinkLimits(among), surge)


def drained(plan: UpgradePlan) -> list[list[str]]:
    return [[each.node for each in wave.drained] for wave in plan.waves]


def test_full_nodes_are_replaced_in_waves_of_the_surge() -> None:
    full = [owned(f"p{name}", cpu=4, node=name) for name in "abc"]
    plan = planned(*map(old, "abc"), *full, surge=2)
    assert (plan.nodes, plan.replaced, plan.blocked) == (3, 3, ())
    assert drained(plan) == [["a", "b"], ["c"]]
    assert [wave.added for wave in plan.waves] == [("a-new", "b-new"), ("c-new",)]


def test_pods_move_once_and_to_no_old_node() -> None:
    pods = [owned(f"p{i}", cpu=1, node="abc"[i % 3]) for i in range(6)]
    plan = planned(*map(old, "abc"), *pods)
    targets = [to for wave in plan.waves for each in wave.drained for to in each.moves_to.values()]
    assert len(targets) == len(pods)
    assert not {"a", "b", "c"} & set(targets)


def test_nodes_of_other_pools_take_pods_too_and_stay() -> None:
    plan = planned(old("a", cpu=1), node("other", cpu=64), owned("p", cpu=1, node="a"))
    ((first,),) = [wave.drained for wave in plan.waves]
    assert (plan.nodes, first.node) == (1, "a")
    assert first.moves_to == {"default/p": "other"}


def test_what_blocks_for_ever_is_said_and_the_rest_goes_on() -> None:
    status = {"expectedPods": 1, "currentHealthy": 1, "desiredHealthy": 1, "disruptionsAllowed": 0}
    plan = planned(
        *map(old, "abc"),
        pod("bare", node="a"),
        owned("p", node="b", labels={"app": "web"}, status=ready()),
        budget("all", {"app": "web"}, **status),
        surge=3,
    )
    assert drained(plan) == [["c"]]
    assert [(each.node, each.held_by[0].pod) for each in plan.blocked] == [
        ("a", "default/bare"),
        ("b", "default/p"),
    ]
    assert not plan.succeeds


def apart(name: str, other: str, **fields: Any) -> Manifest:
    """A pod that shares no zone with others."""
    term = {
        "labelSelector": {"matchLabels": {"app": other}},
        "topologyKey": "topology.kubernetes.io/zone",
    }
    affinity = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    return owned(name, affinity=affinity, **fields)


def test_what_must_move_first_is_said() -> None:
    # The first pod fits the new node of its zone once the second has left that zone.
    first = node("a", labels={**POOL, "topology.kubernetes.io/zone": "1", "disk": "a"})
    second = node("b", labels={**POOL, "topology.kubernetes.io/zone": "1"})
    free = node("free", labels={"topology.kubernetes.io/zone": "2"})
    plan = planned(
        first,
        second,
        free,
        apart("p", "q", node="a", node_selector={"disk": "a"}),
        owned("q", node="b", labels={"app": "q"}, affinity=near("r")),
        owned("r", node="free", labels={"app": "r"}),
    )
    assert drained(plan) == [["b"], ["a"]]
    (delay,) = plan.waves[1].delayed
    assert (delay.node, delay.held_by[0].pod) == ("a", "default/p")
    assert "anti-affinity" in delay.held_by[0].because


def near(app: str) -> dict[str, Any]:
    term = {
        "labelSelector": {"matchLabels": {"app": app}},
        "topologyKey": "topology.kubernetes.io/zone",
    }
    return {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def test_new_nodes_run_the_pods_of_daemon_sets() -> None:
    agent = workload("DaemonSet", "agent")
    running = owned("agent-a", "DaemonSet", "agent", cpu=1, node="a")
    pods = [owned("p", cpu=3, node="a")]
    assert planned(old("a"), agent, running, *pods).replaced == 1
    larger = [owned("p", cpu="3500m", node="a")]
    assert planned(old("a"), agent, running, *larger).replaced == 0


def test_a_node_that_is_to_go_is_not_what_a_pod_lacks() -> None:
    """The copy of its node is there, and another pod of its own is on it."""
    apart = {
        "requiredDuringSchedulingIgnoredDuringExecution": [
            {
                "topologyKey": "kubernetes.io/hostname",
                "labelSelector": {"matchLabels": {"app": "web"}},
            }
        ]
    }
    fields: dict[str, Any] = {
        "labels": {"app": "web"},
        "spec": {"affinity": {"podAntiAffinity": apart}},
    }
    keeper = owned("keeper", node="a", status=ready(), labels={"app": "kept"})
    rule = budget("b", {"app": "kept"}, expectedPods=1, currentHealthy=1, desiredHealthy=1)
    plan = planned(
        *map(old, "ab"),
        keeper,
        rule,
        owned("w", node="a", **fields),
        owned("x", node="b", **fields),
    )
    because = [hold.because for each in plan.blocked for hold in each.held_by]
    late = [hold.because for wave in plan.waves for each in wave.delayed for hold in each.held_by]
    assert any("anti-affinity" in each for each in (*because, *late))
    assert not any("cordon" in each for each in (*because, *late))
