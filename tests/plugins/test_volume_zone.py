"""VolumeZone: the topologies that volumes' labels name. Its cases are in volume_zone.yaml."""

import pytest

from ksched_cli.plugins.volume_zone import VolumeTopology
from ksched_cli.testing import cluster, explanation, node, pod, simulation
from tests.volumes import bound, uses

ZONE, BETA_ZONE = "topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone"


@pytest.mark.parametrize(
    ("key", "matching"), [(ZONE, [True, False, False]), (BETA_ZONE, [True, True, False])]
)
def test_a_node_without_the_beta_label_may_have_its_successor(
    key: str, matching: list[bool]
) -> None:
    labels = [{ZONE: "x"}, {BETA_ZONE: "x"}, {BETA_ZONE: "y", ZONE: "x"}]
    if key == ZONE:
        labels[2] = {ZONE: "y"}
    state = cluster(*(node(f"n{i}", labels=each) for i, each in enumerate(labels)))
    snapshot = simulation(state).snapshot
    topology = VolumeTopology("default/c", "v", key, ("x",))
    assert topology.matching(snapshot).tolist() == matching


def test_explain_names_the_claim_the_volume_and_both_zones() -> None:
    state = cluster(
        node("a", labels={ZONE: "y"}),
        *bound("v", metadata={"name": "v", "labels": {ZONE: "x__z"}}),
        pod("p", spec={"volumes": uses("v")}),
    )
    (explained,) = explanation(state, pod="p").nodes
    details = [line for rejection in explained.rejections for line in rejection.details]
    assert f"claim default/v: volume v is in {ZONE}=x or z, the node has {ZONE}=y" in details
