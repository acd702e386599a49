"""Disks and claims in use, and which uses of a disk conflict."""

from typing import Any

import pytest

from ksched_cli.plugins.volume_restrictions import DiskUse, disks_of
from ksched_cli.testing import cluster, find, node, pod, simulation
from tests.volumes import bound, uses

SINGLE = bound("single", modes=("ReadWriteOncePod",))
DISK = {"name": "disk", "gcePersistentDisk": {"pdName": "d"}}


def wants(name: str, *claims: str, disk: bool = False, **more: Any) -> dict[str, Any]:
    return pod(name, spec={"volumes": uses(*claims) + ([DISK] if disk else [])}, **more)


def test_use_is_counted_per_node_and_forgotten_with_the_last_pod() -> None:
    pods = [wants(f"x{i}", "single", disk=True, node="a") for i in range(2)]
    run = simulation(cluster(node("a"), *SINGLE, *pods))
    use = run.snapshot.index(DiskUse.following)
    assert use is run.snapshot.index(DiskUse.following)
    for left in (1, 0):
        run.snapshot.remove(run.snapshot.pods[0][0], 0)
        assert len(use.claims[("default", "single")]) == left
        assert list(use.disks.values()) == [{0: (left, left)} if left else {}]


def rbd(*monitors: str, read_only: bool = False) -> dict[str, Any]:
    return {"rbd": {"monitors": monitors, "image": "i", "pool": "p", "readOnly": read_only}}


def gce(*, read_only: bool = False) -> dict[str, dict[str, Any]]:
    return {"gcePersistentDisk": {"pdName": "d", "readOnly": read_only}}


@pytest.mark.parametrize(
    ("present", "requested", "conflict"),
    [
        (gce(), gce(), True),
        (gce(read_only=True), gce(read_only=True), False),
        (gce(read_only=True), gce(), True),
        (gce(), gce(read_only=True), True),
        (rbd("m1", "m2"), rbd("m2", "m3"), True),
        (rbd("m1"), rbd("m2"), False),
        (
            {"awsElasticBlockStore": {"volumeID": "v", "readOnly": True}},
            {"awsElasticBlockStore": {"volumeID": "v", "readOnly": True}},
            True,
        ),
        (gce(), rbd("m1"), False),
    ],
)
def test_a_disk_is_shared_by_readers_only(
    present: dict[str, Any], requested: dict[str, Any], conflict: bool
) -> None:
    pods = [
        pod(name, spec={"volumes": [{"name": "v", **disk}]}, node=host)
        for name, disk, host in (("x", present, "a"), ("p", requested, ""))
    ]
    run = simulation(cluster(node("a"), node("b"), *pods))
    disks = disks_of(find(run).spec)
    assert run.snapshot.index(DiskUse.following).conflicting(disks, 2).tolist() == [conflict, False]
