"""VolumeBinding in a run: what Reserve takes, who sees it, and that all of it can be given back."""

from typing import Any

import pytest

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.state import ClusterState
from ksched_cli.engine.simulation import Simulation
from ksched_cli.framework.cycle_state import CycleState
from ksched_cli.framework.interface import PermitPlugin, Plugin, ReservePlugin
from ksched_cli.framework.nodes import NodeInfo, Nodes
from ksched_cli.framework.status import SUCCESS, Status
from ksched_cli.plugins.node_volume_limits import AttachedVolumes
from ksched_cli.plugins.volume_binding.binder import VolumeBinder
from ksched_cli.plugins.volume_binding.plugin import VolumeBinding
from ksched_cli.plugins.volume_restrictions import DiskUse
from ksched_cli.testing import cluster, find, node, pod, simulate, simulation
from tests.framework.toys import Toy
from tests.narrowing import plugin_of, present
from tests.plugin_cases import cases, check
from tests.volumes import CSI, bound, claim, csi_node, storage_class, uses, volume

DEFAULT = "default-scheduler"
ON_B = {"kubernetes.io/hostname": "b"}


def host(name: str, **more: Any) -> dict[str, Any]:
    return node(name, labels={"kubernetes.io/hostname": name}, **more)


def wants(name: str, *claims: str, **more: Any) -> dict[str, Any]:
    return pod(name, cpu="1", spec={"volumes": uses(*claims)}, **more)


def local_disks(*pods: dict[str, Any]) -> ClusterState:
    """Two nodes with a local volume each; the one on b is smaller."""
    return cluster(
        host("a"),
        host("b"),
        storage_class("local"),
        volume("on-a", "20Gi", on=["a"]),
        volume("on-b", "10Gi", on=["b"]),
        *(claim(f"c{i}") for i in range(4)),
        *pods,
    )


# -- what one pod takes, the next does not get -----------------------------------------------------


def test_a_volume_that_one_pod_took_is_not_there_for_the_next() -> None:
    run = simulate(local_disks(wants("p0", "c0"), wants("p1", "c1"), wants("p2", "c2")))
    assert run.placements == {"default/p0": "a", "default/p1": "b"}
    assert run.pending == ("default/p2",)


def test_the_smallest_volume_of_a_node_is_taken() -> None:
    state = cluster(
        host("a"),
        storage_class("local"),
        *(volume(f"v{size}", f"{size}Gi") for size in (5, 3, 9, 1)),
        claim("c", "2Gi"),
        wants("p", "c"),
    )
    run = simulation(state)
    run.run()
    assert set(binder(run).assumed.claim_refs) == {"v3"}


def test_pods_that_share_a_claim_go_where_its_volume_was_found() -> None:
    run = simulate(local_disks(wants("p0", "c0", node_selector=ON_B), wants("p1", "c0")))
    assert run.placements == {"default/p0": "b", "default/p1": "b"}


def test_pods_that_share_a_claim_go_where_its_volume_is_to_be_made() -> None:
    state = cluster(
        host("a"),
        host("b"),
        storage_class("wait", CSI),
        claim("c", storage_class="wait"),
        wants("p0", "c", node_selector=ON_B),
        wants("p1", "c"),
    )
    run = simulation(state)
    assert run.run().placements == {"default/p0": "b", "default/p1": "b"}
    assert binder(run).assumed.selected_nodes == {("default", "c"): "b"}


def test_a_pod_whose_claims_are_bound_takes_nothing() -> None:
    run = simulation(cluster(host("a"), *bound("v"), wants("p", "v")))
    assert run.run().placements == {"default/p": "a"}
    assumed = binder(run).assumed
    assert (assumed.claim_refs, assumed.selected_nodes) == ({}, {})


def test_one_profile_does_not_see_what_another_has_assumed() -> None:
    profiles = {"profiles": [{"schedulerName": DEFAULT}, {"schedulerName": "other"}]}
    state = cluster(
        host("a"),
        storage_class("local"),
        volume("v"),
        claim("c0"),
        claim("c1"),
        wants("p0", "c0"),
        wants("p1", "c1", profile="other"),
    )
    assert simulate(state, profiles).placements == {"default/p0": "a", "default/p1": "a"}


# -- what was taken is given back ------------------------------------------------------------------


def refusing(point: type[Plugin], status: Status) -> type[Plugin]:
    """Answers `status` at Reserve or Permit about every pod but the first one."""

    def reserve(self: Plugin, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status:
        return SUCCESS if pod.name == "first" else status

    def unreserve(self: Plugin, state: CycleState, pod: PodInfo, node: NodeInfo) -> None:
        pass

    def permit(
        self: Plugin, state: CycleState, pod: PodInfo, node: NodeInfo
    ) -> tuple[Status, float]:
        return reserve(self, state, pod, node), 0.0

    methods: dict[str, Any] = {"reserve": reserve, "unreserve": unreserve}
    if point is PermitPlugin:
        methods = {"permit": permit}
    return type("Refusing", (Toy, point), {"name": "Refusing", **methods})


class Defective(Toy, ReservePlugin):
    name = "Defective"

    def reserve(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status:
        if pod.name != "first":
            raise RuntimeError("in Reserve")
        return SUCCESS

    def unreserve(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> None:
        raise RuntimeError("in Unreserve")


def binder(run: Simulation) -> VolumeBinder:
    return plugin_of(run, VolumeBinding).binder


def picture(run: Simulation) -> dict[str, Any]:
    """Everything that a placed pod changes."""
    snapshot, assumed = run.snapshot, binder(run).assumed
    use = snapshot.index(DiskUse.following)
    attached = run.frameworks[DEFAULT].handle.service(AttachedVolumes.following)
    return {
        "pods": [[other.key for other in pods] for pods in snapshot.pods],
        "requested": [snapshot.requested(name).tolist() for name in ("cpu", "memory")],
        "nonzero": (snapshot.nonzero_cpu.tolist(), snapshot.nonzero_memory.tolist()),
        "pod_count": snapshot.pod_count.tolist(),
        "ports": {row: set(ports) for row, ports in snapshot.ports.items()},
        "claim_refs": dict(assumed.claim_refs),
        "selected_nodes": dict(assumed.selected_nodes),
        "taken": assumed.taken("local").tolist(),
        "claims": {key: set(pods) for key, pods in use.claims.items() if pods},
        "disks": {key: dict(rows) for key, rows in use.disks.items() if rows},
        "users": {key: dict(rows) for key, rows in attached.users.items() if rows},
        "attached": attached.count(CSI, Nodes(snapshot)).tolist(),
    }


def greedy(name: str) -> list[dict[str, Any]]:
    """Takes a volume that is there, one to be made, bound ones, a disk, a port. With its claims."""
    disk = {"name": "disk", "gcePersistentDisk": {"pdName": name}}
    tmp = {"name": "tmp", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}}
    claims = ["single"] if name == "first" else []
    volumes = [*uses(f"{name}-local", "shared", *claims), disk, tmp]
    return [
        claim(f"{name}-local"),
        claim(f"{name}-tmp", storage_class="wait", owner=name),
        pod(name, cpu="1", memory="1Gi", ports=[80], spec={"volumes": volumes}),
    ]


def crowded() -> ClusterState:
    """`first` can take what it wants, and `second` too: there is one of everything on each node."""
    return cluster(
        host("a"),
        host("b"),
        csi_node("a", csi_example_com=5),
        csi_node("b", csi_example_com=5),
        storage_class("local"),
        storage_class("wait", CSI),
        volume("on-a", "20Gi", on=["a"]),
        volume("on-b", "10Gi", on=["b"]),
        *bound("shared", modes=("ReadWriteMany",)),
        *bound("single", modes=("ReadWriteOncePod",)),
        *greedy("first"),
        *greedy("second"),
    )


def refusals() -> list[Any]:
    plugins = [pytest.param(Defective, id="ReservePlugin: a defect")]
    for point in (ReservePlugin, PermitPlugin):
        for status in (Status.unschedulable("no"), Status.error("broken")):
            case = f"{point.__name__}: {status.code.text}"
            plugins.append(pytest.param(refusing(point, status), id=case))
    return plugins


@pytest.mark.parametrize("plugin", refusals())
def test_a_plugin_that_refuses_after_the_choice_leaves_no_trace(plugin: type[Any]) -> None:
    run = simulation(crowded(), plugins=[plugin])
    first, second = run.pending()
    assert run.try_pod(first)[-1].node == "a"
    before = picture(run)
    assert set(before["claim_refs"]) == {"on-a"}
    assert before["selected_nodes"] == {("default", "first-tmp"): "a"}
    attempt = run.try_pod(second)[-1]
    assert not attempt.node
    assert attempt.reserve or attempt.permit
    assert picture(run) == before


def test_without_the_plugin_that_refuses_the_same_pod_changes_all_of_it() -> None:
    run = simulation(crowded())
    first, second = run.pending()
    run.try_pod(first)
    before = picture(run)
    assert run.try_pod(second)[-1].node == "b"
    assert [name for name, was in before.items() if picture(run)[name] == was] == []


def test_what_a_refused_pod_gave_back_is_there_for_the_next() -> None:
    class Picky(Toy, ReservePlugin):
        name = "Picky"

        def reserve(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status:
            return Status.unschedulable("no") if pod.name == "p0" else SUCCESS

        def unreserve(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> None:
            pass

    state = cluster(
        host("a"),
        storage_class("local"),
        volume("v"),
        claim("c0"),
        claim("c1"),
        wants("p0", "c0"),
        wants("p1", "c1"),
    )
    assert simulate(state, plugins=[Picky]).placements == {"default/p1": "a"}


def test_unreserve_where_nothing_was_reserved_is_no_harm() -> None:
    run = simulation(local_disks(wants("p", "c0")))
    framework, info = run.frameworks[DEFAULT], find(run)
    place = NodeInfo(run.snapshot, 0)
    framework.unreserve(CycleState(), info, place)
    state = CycleState()
    framework.pre_filtering.run(state, info)
    framework.unreserve(state, info, place)
    assert not run.caller.defects


def test_giving_back_a_shared_claim_takes_it_from_the_pod_that_has_it_too() -> None:
    """Upstream's way: what is restored is what the API server knows."""
    refused = refusing(ReservePlugin, Status.unschedulable("no"))
    run = simulation(local_disks(wants("first", "c0"), wants("second", "c0")), plugins=[refused])
    first, second = run.pending()
    assert run.try_pod(first)[-1].node == "a"
    assert present(run.try_pod(second)[-1].reserve).message == "no"
    assert binder(run).assumed.claim_refs == {}


def test_reserve_fails_where_prefilter_is_switched_off() -> None:
    disabled = {"disabled": [{"name": "VolumeBinding"}]}
    config = {"profiles": [{"plugins": {"preFilter": disabled, "filter": disabled}}]}
    run = simulate(cluster(host("a"), pod("p")), config)
    refusal = run.last["default/p"].reserve
    assert present(refusal).message == 'running Reserve plugin "VolumeBinding": not found'


@pytest.mark.parametrize(("plugin", "case"), cases(__file__))
def test_case(plugin: str, case: dict[str, Any]) -> None:
    check(plugin, case)
