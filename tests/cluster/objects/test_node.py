"""Nodes: an absent allocatable is not an empty one."""

from __future__ import annotations

from ksched_cli.cluster.objects import NodeStatus
from ksched_cli.cluster.objects.node import ABSENT
from tests.cluster.build import record


def test_an_absent_allocatable_is_told_from_an_empty_one() -> None:
    assert record(NodeStatus).allocatable is ABSENT
    assert record(NodeStatus, allocatable={}).allocatable is not ABSENT
