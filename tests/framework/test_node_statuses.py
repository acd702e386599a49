"""Every node's status in one attempt."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ksched_cli.cluster.snapshot import Snapshot
from ksched_cli.framework.node_statuses import NodeStatuses, StatusColumn
from ksched_cli.framework.status import SUCCESS, Code, Status
from ksched_cli.testing import cluster, node

BUSY = Status.unschedulable("busy")
SMALL = Status.unresolvable("small", "slow")


@pytest.fixture
def statuses() -> NodeStatuses:
    node_statuses = NodeStatuses(Snapshot(cluster(*(node(name) for name in "abcde")).nodes))
    rows = np.array([4, 0, 2], dtype=np.intp)
    node_statuses.add(rows, np.array([1, 0, 1], dtype=np.int32), [SUCCESS, BUSY])
    node_statuses.add(np.array([1], dtype=np.intp), np.array([1], dtype=np.int32), [SUCCESS, SMALL])
    return node_statuses


def test_a_node_is_found_by_name(statuses: NodeStatuses) -> None:
    assert [statuses[name] for name in "ce"] == [BUSY, BUSY]
    assert statuses["b"] == SMALL


def test_nodes_that_nobody_spoke_about_have_the_absent_status(statuses: NodeStatuses) -> None:
    assert statuses["a"] == statuses["d"] == statuses.absent
    assert statuses["not a node"] == statuses.absent
    assert statuses.absent.code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE


def test_statuses_are_counted_and_listed_without_the_absent_ones(statuses: NodeStatuses) -> None:
    assert statuses.count() == {BUSY: 2, SMALL: 1}
    assert statuses.own() == {"b": SMALL, "c": BUSY, "e": BUSY}
    assert statuses.has_status.tolist() == [False, True, True, False, True]


def test_codes_per_row_include_the_absent_ones(statuses: NodeStatuses) -> None:
    assert statuses.codes().tolist() == [3, 3, 2, 3, 2]


def test_rows_with_a_code_are_given_in_the_order_of_visits(statuses: Any) -> None:
    zones = dict(zip("abcde", "xxxyy", strict=True))
    label = "topology.kubernetes.io/zone"
    nodes = [node(name, labels={label: zone}) for name, zone in zones.items()]
    statuses.snapshot = Snapshot(cluster(*nodes).nodes)
    assert statuses.snapshot.order.tolist() == [0, 3, 1, 4, 2]
    assert statuses.rows_with(Code.UNSCHEDULABLE).tolist() == [4, 2]
    assert statuses.rows_with(Code.UNSCHEDULABLE_AND_UNRESOLVABLE).tolist() == [0, 3, 1]


@given(st.lists(st.integers(0, 2), min_size=5, max_size=5), st.booleans())
def test_counting_before_and_after_the_column_is_made_is_the_same(
    ids: Any, in_two_parts: Any
) -> None:
    statuses = NodeStatuses(Snapshot(cluster(*(node(name) for name in "abcde")).nodes))
    parts = ([0, 1], [2, 3, 4]) if in_two_parts else ([0, 1, 2, 3, 4],)
    for rows in parts:
        part = np.array([ids[row] for row in rows], dtype=np.int32)
        statuses.add(np.array(rows, dtype=np.intp), part, [SUCCESS, BUSY, SMALL])
    counts = {status: ids.count(i) for i, status in ((1, BUSY), (2, SMALL)) if i in ids}
    assert statuses.count() == counts
    assert len(statuses.ids) == 5
    assert statuses.count() == counts


def test_a_later_status_takes_the_place_of_an_earlier_one(statuses: NodeStatuses) -> None:
    statuses.set(2, SMALL)
    assert statuses["c"] == SMALL
    assert statuses.count() == {BUSY: 1, SMALL: 2}


def test_a_shared_column_stays_as_it_is_when_a_status_is_set() -> None:
    snapshot = Snapshot(cluster(*(node(name) for name in "abc")).nodes)
    column = StatusColumn(snapshot, np.array([1, 2, 1], dtype=np.int32), [SUCCESS, BUSY, SMALL])
    first, second = NodeStatuses(snapshot), NodeStatuses(snapshot)
    first.share(column)
    second.share(column)
    assert (first.own_count, first.count()) == (3, {BUSY: 2, SMALL: 1})
    assert first.rows_with(Code.UNSCHEDULABLE).tolist() == [0, 2]
    first.set(0, SMALL)
    assert first.own() == {"a": SMALL, "b": SMALL, "c": BUSY}
    assert first.rows_with(Code.UNSCHEDULABLE).tolist() == [2]
    assert second.own() == {"a": BUSY, "b": SMALL, "c": BUSY}
