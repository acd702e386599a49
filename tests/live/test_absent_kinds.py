"""What comes out less exact without a kind."""

import pytest

from ksched_cli.cluster.loading.kinds import KINDS
from ksched_cli.live.snapshot import (
    forbidden_warning,
    namespace_warning,
    unserved_warnings,
)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_has_a_consequence(kind: str) -> None:
    assert forbidden_warning([kind]).startswith(f"no right to list {kind}: ")


def test_kinds_that_may_not_be_listed_are_one_short_line() -> None:
    assert forbidden_warning(["PodDisruptionBudget", "CSINode", "CSIDriver", "Service"]) == (
        "no right to list PodDisruptionBudget, CSINode, CSIDriver, Service: victims are chosen as "
        "if nothing protected them; NodeVolumeLimits applies no limit; storage capacity "
        "is ignored; …"
    )


def test_kinds_of_a_group_that_the_server_does_not_have_are_one_line() -> None:
    lines = unserved_warnings(["ResourceClaim", "ResourceSlice", "CSINode"])
    assert lines == [
        "the API server has no ResourceClaim, ResourceSlice (resource.k8s.io): "
        "DynamicResources finds no claim; DynamicResources finds no device",
        "the API server has no CSINode (storage.k8s.io): NodeVolumeLimits applies no limit",
    ]


def test_pods_of_one_namespace_leave_nodes_emptier() -> None:
    assert "nodes look emptier" in namespace_warning(["Pod", "Service"], "web")
    assert namespace_warning(["Service"], "web") == "listed only in namespace web: Service"
