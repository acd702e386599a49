"""What becomes of evicted pods when their controllers create them again."""

from dataclasses import replace
from typing import Any

from ksched_cli.analysis.recreation import RecreatedPod, recreated_pods
from ksched_cli.engine.extender_runner import ExtenderOptions
from ksched_cli.testing import Manifest, cluster, node, pod, simulation
from tests import devices
from tests.scenario.build import owned


def after_a_run(*objects: Manifest, binds: bool = False) -> tuple[RecreatedPod, ...]:
    run = simulation(cluster(*objects))
    if binds:
        run.options = replace(run.options, extenders=ExtenderOptions(bind=True))
    run.run()
    return recreated_pods(run)


def important(name: str, **fields: Any) -> Manifest:
    return pod(name, spec={"priority": 1000, "nodeSelector": {"disk": "ssd"}}, **fields)


SSD = {"disk": "ssd"}


def test_a_victim_goes_where_there_is_room() -> None:
    nodes = [node("a", cpu=2, labels=SSD), node("b", cpu=2)]
    victim = owned("low", node="a", cpu=2)
    (recreated,) = after_a_run(*nodes, victim, important("hi", cpu=2))
    assert recreated == RecreatedPod("default/low", recreated=True, node="b")


def test_a_victim_for_which_there_is_no_room_waits() -> None:
    victim = owned("low", node="a", cpu=2)
    (recreated,) = after_a_run(node("a", cpu=2, labels=SSD), victim, important("hi", cpu=2))
    assert (recreated.recreated, recreated.node) == (True, "")
    assert "1 Insufficient cpu" in recreated.message


def test_a_daemon_pod_can_run_on_its_own_node_alone() -> None:
    field = {"key": "metadata.name", "operator": "In", "values": ["a"]}
    required = {"nodeSelectorTerms": [{"matchFields": [field]}]}
    node_affinity = {"requiredDuringSchedulingIgnoredDuringExecution": required}
    daemon = owned(
        "ds-x", "DaemonSet", node="a", cpu=2, spec={"affinity": {"nodeAffinity": node_affinity}}
    )
    nodes = [node("a", cpu=2, labels=SSD), node("b", cpu=2)]
    (recreated,) = after_a_run(*nodes, daemon, important("hi", cpu=2))
    assert (recreated.node, recreated.only_node) == ("", "a")


def test_a_pod_without_a_controller_is_gone() -> None:
    victim = pod("low", node="a", cpu=2)
    nodes = [node("a", cpu=2, labels=SSD), node("b", cpu=2)]
    (recreated,) = after_a_run(*nodes, victim, important("hi", cpu=2))
    assert recreated == RecreatedPod("default/low", recreated=False)


def test_a_victim_may_evict_others_in_turn() -> None:
    nodes = [node("a", cpu=2, labels=SSD), node("b", cpu=2)]
    middle = owned("middle", node="a", cpu=2, spec={"priority": 5})
    lowest = owned("lowest", node="b", cpu=2)
    (recreated,) = after_a_run(*nodes, middle, lowest, important("hi", cpu=2))
    assert (recreated.node, recreated.evicted) == ("b", ("default/lowest",))


def test_the_devices_of_a_victim_are_free_for_it_again() -> None:
    held = {"r": "gpu", "allocated": ["p/g0"], "where": "a", "reserved": ["default/low"]}
    claimed = {"resourceClaims": [{"name": "c0", "resourceClaimName": "c"}]}
    objects = cluster(
        node("a", cpu=2, labels=SSD),
        node("b", cpu=2),
        owned("low", node="a", cpu=2, spec=claimed),
        important("hi", cpu=2),
        devices.device_class("gpu", [f'device.driver == "{devices.GPU}"']),
        devices.resource_slice(0, {"reach": "all", "pool": "p", "devices": {"g0": {}}}),
        devices.claim("c", held),
    )
    run = simulation(objects)
    run.run()
    (recreated,) = recreated_pods(run)
    assert recreated.node == "b"


def test_extenders_that_bind_are_not_called_again() -> None:
    victim = owned("low", node="a", cpu=2)
    objects = [node("a", cpu=2, labels=SSD), victim, important("hi", cpu=2)]
    assert after_a_run(*objects, binds=True) == ()


def test_nobody_is_evicted() -> None:
    assert after_a_run(node("a", cpu=2), pod("p", cpu=1)) == ()
