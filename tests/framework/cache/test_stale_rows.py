"""Which rows a cache has to compute anew: those that changed since it last did."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ksched_cli.cluster.pod_info import PodCatalog
from ksched_cli.cluster.snapshot import Snapshot
from ksched_cli.framework.cache.memo import LOG_SCAN_MAX, SINGLE_ROWS_MAX, StaleRows
from ksched_cli.framework.nodes import Nodes
from ksched_cli.testing import cluster, node, pod

# Enough for both forms of what is stale.
COUNT = 2 * SINGLE_ROWS_MAX
ZONES = "topology.kubernetes.io/zone"


def snapshot() -> Snapshot:
    """Zones make the order of visits another one than that of the names."""
    zones = "aaabbc" * (COUNT // 6)
    nodes = [node(f"n{i:02}", labels={ZONES: zone}) for i, zone in enumerate(zones)]
    return Snapshot(cluster(*nodes).nodes)


def touch(nodes: Snapshot, row: int) -> None:
    (info,) = map(PodCatalog().info, cluster(pod(f"p{len(nodes.log)}")).pods)
    nodes.add(info, row)


def rows(stale: list[int] | Nodes) -> set[int]:
    return set(stale.indices().tolist() if isinstance(stale, Nodes) else stale)


def test_rows_that_were_never_renewed_are_stale() -> None:
    nodes = snapshot()
    assert rows(StaleRows(nodes).renew(Nodes(nodes))) == set(range(COUNT))


def test_rows_count_as_up_to_date_once_they_are_renewed() -> None:
    nodes = snapshot()
    marks = StaleRows(nodes)
    marks.renew(Nodes(nodes))
    assert not marks.renew(Nodes(nodes))


def test_a_selection_that_is_stale_as_a_whole_is_given_as_it_is() -> None:
    nodes = snapshot()
    selection = Nodes(nodes, np.arange(COUNT - 1, 0, -2))
    assert StaleRows(nodes).renew(selection) is selection


def test_few_rows_come_as_a_list_and_many_as_nodes() -> None:
    nodes = snapshot()
    marks = StaleRows(nodes)
    assert marks.renew(Nodes(nodes, np.array([4, 1]))) == [4, 1]
    assert isinstance(marks.renew(Nodes(nodes)), Nodes)


def test_rows_outside_the_selection_stay_stale() -> None:
    nodes = snapshot()
    marks = StaleRows(nodes)
    marks.renew(Nodes(nodes, np.array([1, 2])))
    assert rows(marks.renew(Nodes(nodes))) == {0, *range(3, COUNT)}


@pytest.mark.parametrize("count", [1, LOG_SCAN_MAX, LOG_SCAN_MAX + 1])
def test_of_all_rows_those_touched_since_are_stale_however_long_the_log_grew(count: int) -> None:
    nodes = snapshot()
    marks = StaleRows(nodes)
    marks.renew(Nodes(nodes))
    for _ in range(count):
        touch(nodes, 4)
    assert rows(marks.renew(Nodes(nodes))) == {4}


def test_two_caches_do_not_take_changes_away_from_each_other() -> None:
    nodes = snapshot()
    first, second = StaleRows(nodes), StaleRows(nodes)
    for marks in (first, second):
        marks.renew(Nodes(nodes))
    touch(nodes, 2)
    assert rows(first.renew(Nodes(nodes))) == {2}
    assert rows(second.renew(Nodes(nodes))) == {2}


SELECTIONS = st.one_of(
    st.none(),
    st.tuples(st.integers(0, COUNT - 1), st.integers(1, COUNT)),
    st.lists(st.integers(0, COUNT - 1), unique=True, min_size=1),
)


def selection_of(nodes: Snapshot, choice: list[int] | tuple[int, int] | None) -> Nodes:
    """None for all rows, a slice of the order of visits, or any rows."""
    if choice is None:
        return Nodes(nodes)
    if isinstance(choice, tuple):
        first, length = choice
        return Nodes(nodes, nodes.order[first : first + length], first)
    return Nodes(nodes, np.array(choice, dtype=np.intp))


@given(st.lists(st.tuples(st.lists(st.integers(0, COUNT - 1), max_size=3), SELECTIONS)))
def test_no_row_touched_since_it_was_last_renewed_is_left_out(
    steps: list[tuple[list[int], list[int] | tuple[int, int] | None]],
) -> None:
    nodes = snapshot()
    marks = StaleRows(nodes)
    expected = set(range(COUNT))
    for touched, choice in steps:
        for row in touched:
            touch(nodes, row)
        expected |= set(touched)
        selection = selection_of(nodes, choice)
        selected = set(selection.indices().tolist())
        stale = rows(marks.renew(selection))
        assert expected & selected <= stale <= selected
        expected -= selected
