"""kube-scheduler's text for a pod that fits nowhere."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ksched_cli.cluster.snapshot import Snapshot
from ksched_cli.framework.node_statuses import (
    NodeStatuses,
    counts_message,
    fit_error,
    no_common_node,
)
from ksched_cli.framework.status import SUCCESS, Status
from ksched_cli.testing import cluster, node

BUSY = Status.unschedulable("busy")
SMALL = Status.unresolvable("small", "slow")


@pytest.fixture
def statuses() -> NodeStatuses:
    """Five nodes: a small and slow, c and e busy."""
    node_statuses = NodeStatuses(Snapshot(cluster(*(node(name) for name in "abcde")).nodes))
    ids = np.array([2, 1, 1], dtype=np.int32)
    node_statuses.add(np.array([0, 2, 4], dtype=np.intp), ids, [SUCCESS, BUSY, SMALL])
    return node_statuses


def test_the_message_counts_reasons_sorted_as_text(statuses: NodeStatuses) -> None:
    assert fit_error(statuses) == "0/5 nodes are available: 1 slow, 1 small, 2 busy."


def test_absent_nodes_count_with_their_reasons(statuses: NodeStatuses) -> None:
    statuses.absent = Status.unresolvable("left out")
    assert fit_error(statuses) == "0/5 nodes are available: 1 slow, 1 small, 2 busy, 2 left out."


def test_ten_sorts_before_two() -> None:
    node_statuses = NodeStatuses(Snapshot(cluster(*(node(f"n{i:02}") for i in range(12))).nodes))
    ids = np.array([1] * 10 + [2] * 2, dtype=np.int32)
    node_statuses.add(np.arange(12), ids, [SUCCESS, Status.unschedulable("many"), BUSY])
    assert fit_error(node_statuses) == "0/12 nodes are available: 10 many, 2 busy."


def test_prefilter_and_postfilter_have_their_place_in_the_message(statuses: NodeStatuses) -> None:
    text = fit_error(statuses, "nowhere", "preemption: no.")
    assert text == "0/5 nodes are available: nowhere. preemption: no."


def test_without_any_reason_the_list_is_left_out() -> None:
    node_statuses = NodeStatuses(Snapshot(cluster(node("a")).nodes))
    assert fit_error(node_statuses) == "0/1 nodes are available:"


@given(st.dictionaries(st.sampled_from("abc"), st.integers(1, 20)), st.integers(0, 9))
def test_every_node_is_counted_once_also_where_it_has_no_status_of_its_own(
    counts: dict[str, int], absent: int
) -> None:
    own = {Status.unschedulable(reason): count for reason, count in counts.items()}
    total = sum(counts.values()) + absent
    text = counts_message(total, own, Status.unresolvable("left out"))
    reasons = text.removesuffix(".").partition(": ")[2].split(", ") if total else []
    by_reason = {reason.partition(" ")[2]: int(reason.split()[0]) for reason in reasons}
    assert by_reason == counts | ({"left out": absent} if absent else {})


def test_the_plugins_that_leave_no_node_together_are_named_in_order() -> None:
    assert no_common_node(["b"]).message == "node(s) didn't satisfy plugin b"
    message = "node(s) didn't satisfy plugin(s) [a b] simultaneously"
    assert no_common_node(["b", "a"]) == Status.unresolvable(message)
