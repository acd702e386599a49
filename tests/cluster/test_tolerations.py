"""A toleration tolerates the taints that upstream's does."""

from __future__ import annotations

import pytest

from ksched_cli.cluster.objects import Taint, Toleration
from ksched_cli.cluster.tolerations import tolerates
from tests.cluster.build import record


@pytest.mark.parametrize(
    ("toleration", "tolerated"),
    [
        ({"key": "k", "value": "v", "effect": "NoSchedule"}, True),
        ({"key": "k", "operator": "Equal", "value": "v"}, True),
        ({"key": "k", "operator": "Equal", "value": "w"}, False),
        ({"key": "k", "operator": "Exists"}, True),
        ({"operator": "Exists"}, True),
        ({"key": "l", "operator": "Exists"}, False),
        ({"key": "k", "operator": "Exists", "effect": "NoExecute"}, False),
        ({"key": "k", "operator": "Near", "value": "v"}, False),
        ({}, False),
    ],
)
def test_a_toleration_tolerates(toleration: dict[str, str], tolerated: bool) -> None:
    taint = record(Taint, key="k", value="v", effect="NoSchedule")
    assert tolerates(record(Toleration, **toleration), taint) is tolerated
