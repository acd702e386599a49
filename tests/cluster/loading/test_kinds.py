"""A kind is found by its name within its API group."""

from __future__ import annotations

import pytest

from ksched_cli.cluster.loading.kinds import KINDS, find_kind
from ksched_cli.cluster.state import ClusterState
from tests.cluster.build import state


@pytest.mark.parametrize(
    ("api_version", "name", "expected"),
    [
        ("v1", "Pod", True),
        ("", "Pod", True),
        ("apps/v1", "ReplicaSet", True),
        ("apps/v1beta2", "ReplicaSet", True),
        ("v1", "ReplicaSet", False),
        ("example.com/v1", "Pod", False),
        ("v1", "ConfigMap", False),
    ],
)
def test_a_kind_has_its_group_in_any_version(api_version: str, name: str, expected: bool) -> None:
    assert find_kind(api_version, name) is (KINDS[name] if expected else None)


def test_every_kind_has_a_field_of_the_state_of_its_own() -> None:
    attributes = [kind.attribute for kind in KINDS.values()]
    assert len(set(attributes)) == len(attributes)
    assert set(attributes) <= set(ClusterState.__dataclass_fields__)


def test_a_kind_of_the_same_name_in_another_group_is_not_ours() -> None:
    service = {"kind": "Service", "metadata": {"name": "s"}}
    loaded = state(
        {**service, "apiVersion": "serving.knative.dev/v1", "spec": {"template": {}}},
        {**service, "apiVersion": "v1"},
    )
    assert list(loaded.services) == [("default", "s")]
    assert loaded.skipped == {"Service": 1}
