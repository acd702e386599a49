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


@pytest.mark.parametrize(
    ("value", "operator", "limit", "tolerated"),
    [
        ("5", "Lt", "6", True),
        ("6", "Lt", "6", False),
        ("7", "Gt", "6", True),
        ("-7", "Lt", "-6", True),
        ("0", "Gt", "-1", True),
        ("05", "Lt", "6", False),
        ("5", "Lt", "+6", False),
        ("-0", "Lt", "6", False),
        ("", "Lt", "6", False),
        ("9223372036854775807", "Gt", "9223372036854775806", True),
        ("9223372036854775808", "Gt", "1", False),
        ("5", "Near", "6", False),
    ],
)
def test_lt_and_gt_compare_canonical_integers(
    value: str, operator: str, limit: str, tolerated: bool
) -> None:
    taint = record(Taint, key="k", value=value, effect="NoSchedule")
    toleration = record(Toleration, key="k", operator=operator, value=limit)
    assert tolerates(toleration, taint, compares=True) is tolerated
    assert not tolerates(toleration, taint)
