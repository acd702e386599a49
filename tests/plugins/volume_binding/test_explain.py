"""What explain says about a node that VolumeBinding rejects. More of it: volume_binding.yaml."""

from typing import Any

from ksched_cli.testing import cluster, explanation, node, pod
from tests.volumes import CSI, capacity, claim, csi_driver, storage_class, uses, volume


def details(*objects: dict[str, Any], claims: tuple[str] = ("c",)) -> list[str]:
    state = cluster(
        node("a", labels={"kubernetes.io/hostname": "a"}),
        *objects,
        pod("p", spec={"volumes": uses(*claims)}),
    )
    (explained,) = explanation(state, pod="p").nodes
    return [line for rejection in explained.rejections for line in rejection.details]


def test_the_volumes_of_the_class_are_counted_by_what_does_not_match() -> None:
    assert details(
        storage_class("local"),
        volume("small", "1Gi"),
        volume("tiny", "1Mi"),
        volume("far", "9Gi", on=["b"]),
        volume("taken", "9Gi", claim="other"),
        claim("c", "5Gi"),
    ) == [
        "claim default/c wants 5Gi of class local: of 4 volumes 2 too small, 1 taken by other "
        "claims, 1 out of the node's reach, and the class provisions none"
    ]


def test_the_capacity_that_the_node_can_get_is_named() -> None:
    assert details(
        storage_class("fast", CSI),
        csi_driver(storageCapacity=True),
        capacity("all", "fast", "1Gi"),
        claim("c", "2Gi", "fast"),
    ) == ["claim default/c wants 2Gi of class fast: the node can get at most 1Gi"]
