"""Who manages pods, as tables name it."""

import pytest

from ksched_cli.report.pending import group_name, shared_owner


@pytest.mark.parametrize(
    ("owner", "name"),
    [
        ("default/Deployment/web", "default/Deployment/web"),
        ("default/Pod/web-1", "no controller in default"),
        ("blue/Job/a/b", "blue/Job/a/b"),
    ],
)
def test_pods_without_a_controller_share_a_name_in_their_namespace(owner: str, name: str) -> None:
    assert shared_owner(owner) == name


@pytest.mark.parametrize(
    ("owner", "pods", "name"),
    [
        ("default/Deployment/web", ["default/web-1"], "default/Deployment/web"),
        ("no controller in default", ["default/p"], "default/p"),
        ("no controller in default", ["default/p", "default/q"], "no controller in default"),
    ],
)
def test_a_single_pod_without_a_controller_goes_by_its_own_name(
    owner: str, pods: list[str], name: str
) -> None:
    assert group_name(owner, pods) == name
