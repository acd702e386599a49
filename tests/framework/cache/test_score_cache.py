"""Score totals: what is in the sums, what is normalized anew, and by which extremes."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.snapshot import Snapshot
from ksched_cli.framework.cache.answer_cache import (
    EXTREMES_MAX,
    MAX_WEIGHTS,
    TIE_BITS,
    TIE_MASK,
    NodeScores,
    RowSums,
    ScoreCache,
    shift_of,
)
from ksched_cli.framework.cycle_state import CycleState
from ksched_cli.framework.interface import NormalizeScore, ScorePlugin
from ksched_cli.framework.nodes import NodeInfo, Nodes
from ksched_cli.framework.results import Scores
from ksched_cli.testing import cluster, node
from tests.framework.toys import NO_HANDLE, Toy
from tests.narrowing import present

COUNT = 5


class Plain(Toy, ScorePlugin):
    name = "Plain"

    def score(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> int:
        return 0


class Normalizing(Plain, NormalizeScore):
    name = "Normalizing"

    def normalize_scores(
        self, state: CycleState, pod: PodInfo, nodes: Nodes, scores: Scores
    ) -> Scores:
        return scores


class ByExtremes(Normalizing):
    name = "ByExtremes"
    normalizes_by_min_max = True


def snapshot() -> Snapshot:
    return Snapshot(cluster(*(node(f"n{i}") for i in range(COUNT))).nodes)


def scores_of(plugin: type[Any], raw: list[int] | range) -> NodeScores:
    return NodeScores(plugin(None, NO_HANDLE), np.array(raw, dtype=np.int64), np.arange(len(raw)))


@given(
    st.lists(st.integers(-(2**62), 2**62), min_size=COUNT, max_size=COUNT),
    st.integers(0, COUNT - 1),
    st.integers(1, COUNT),
)
def test_extremes_are_those_of_the_selection(raw: list[int], first: int, length: int) -> None:
    nodes, scores = snapshot(), scores_of(Plain, raw)
    rows = np.arange(COUNT)[first : first + length]
    expected = (min(raw[first : first + length]), max(raw[first : first + length]))
    assert scores.extremes(Nodes(nodes, rows)) == expected
    assert scores.extremes(Nodes(nodes, rows, first)) == expected
    assert scores.extremes(Nodes(nodes)) == (min(raw), max(raw))


@given(st.lists(st.integers(0, 1), min_size=COUNT, max_size=COUNT), st.sets(st.integers(0, 4)))
def test_extremes_of_most_nodes_are_those_in_view(raw: list[int], rows: set[int]) -> None:
    view = [raw[row] for row in rows] or raw
    selection = Nodes(snapshot(), np.array(sorted(rows) or range(COUNT), dtype=np.intp))
    assert scores_of(Plain, raw).extremes(selection) == (min(view), max(view))


def test_only_so_many_normalizations_are_stored() -> None:
    scores = scores_of(Plain, range(COUNT))
    for highest in range(EXTREMES_MAX):
        scores.store_part((0, highest), scores.raw)
    assert scores.has_part((0, 0))
    scores.store_part((1, 1), None)
    assert not scores.has_part((0, 0))
    assert scores.part((1, 1)) is None


def test_scores_that_nothing_normalizes_are_in_the_sums_by_their_weight() -> None:
    cache = ScoreCache.zeros(snapshot(), 0)
    plugin = Plain(None, NO_HANDLE)
    cache.add_node_plugin(plugin, 3, scores_of(Plain, [0, 1, 2, 3, 4]))
    assert cache.keys(Nodes(cache.snapshot)).tolist() == [0, 3, 6, 9, 12]
    cache.add_row_plugin(Plain(None, NO_HANDLE), 1)
    present(cache.row_sums).store([1], [50])
    assert cache.keys(Nodes(cache.snapshot)).tolist() == [0, 53, 6, 9, 12]
    assert cache.static_sums[1] == 3


def test_a_window_in_the_order_of_visits_has_the_sums_of_its_rows() -> None:
    zones = [node(f"n{i}", labels={"topology.kubernetes.io/zone": "ab"[i // 3]}) for i in range(5)]
    nodes = Snapshot(cluster(*zones).nodes)
    assert nodes.order.tolist() == [0, 3, 1, 4, 2]
    cache = ScoreCache.zeros(nodes, 0)
    cache.add_node_plugin(ByExtremes(None, NO_HANDLE), 1, scores_of(ByExtremes, range(COUNT)))
    cache.add_row_plugin(Plain(None, NO_HANDLE), 1)
    (part,), sums = cache.normalized_parts, present(cache.row_sums)

    def totals(first: int, end: int) -> list[int]:
        rows = nodes.order[first:end]
        in_order = cache.keys(Nodes(nodes, rows, first)).tolist()
        assert in_order == cache.keys(Nodes(nodes, rows)).tolist()
        return [int(total) for total in in_order]

    assert totals(0, 5) == [0, 0, 0, 0, 0]
    sums.store([4], [50])
    sums.store_all(Nodes(nodes, np.array([2, 0])), np.array([7, 5]))
    assert totals(1, 5) == [0, 0, 50, 7]
    cache.replace_part(part, (0, 4), np.array([0, 25, 50, 75, 100]))
    assert totals(0, 3) == [5, 75, 25]
    sums.store_all(Nodes(nodes), np.array([1, 1, 1, 1, 1]))
    assert totals(0, 3) == [1, 76, 26]


def test_the_greatest_key_is_of_the_first_by_name_of_those_with_the_best_total() -> None:
    nodes = snapshot()
    cache = ScoreCache.zeros(nodes, TIE_BITS)
    cache.add_node_plugin(Plain(None, NO_HANDLE), 3, scores_of(Plain, [0, 4, 2, 4, 1]))
    keys = cache.keys(Nodes(nodes))
    assert (keys >> TIE_BITS).tolist() == [0, 12, 6, 12, 3]
    assert TIE_MASK - (int(keys.max()) & TIE_MASK) == 1
    cache.add_row_plugin(Plain(None, NO_HANDLE), 1)
    present(cache.row_sums).store([3], [1 << TIE_BITS])
    keys = cache.keys(Nodes(nodes, np.array([3, 1])))
    assert (keys >> TIE_BITS).tolist() == [13, 12]


def test_weights_whose_totals_leave_no_room_make_keys_of_the_totals_alone() -> None:
    assert shift_of(snapshot(), [1, 2, 3]) == TIE_BITS
    assert shift_of(snapshot(), [1, MAX_WEIGHTS]) == 0


def test_scores_normalized_with_all_nodes_in_view_are_stored_raw() -> None:
    cache = ScoreCache.zeros(snapshot(), 0)
    cache.add_node_plugin(Normalizing(None, NO_HANDLE), 2, scores_of(Normalizing, [9, 8, 7, 6, 5]))
    assert [plugin.name for plugin in cache.normalized_plugins] == ["Normalizing"]
    assert cache.raw["Normalizing"].tolist() == [9, 8, 7, 6, 5]
    assert not cache.static_sums.any()


def test_a_normalization_replaces_the_one_before() -> None:
    cache = ScoreCache.zeros(snapshot(), 0)
    cache.add_node_plugin(ByExtremes(None, NO_HANDLE), 1, scores_of(ByExtremes, range(COUNT)))
    (part,) = cache.normalized_parts
    cache.replace_part(part, (0, 4), np.array([0, 25, 50, 75, 100]))
    cache.replace_part(part, (1, 4), np.array([1, 2, 3, 4, 5]))
    assert cache.static_sums.tolist() == [1, 2, 3, 4, 5]
    assert part.extremes == (1, 4)


def test_a_plugin_that_cannot_normalize_by_extremes_leaves_the_sums() -> None:
    cache = ScoreCache.zeros(snapshot(), 0)
    scores = scores_of(ByExtremes, range(COUNT))
    cache.add_node_plugin(scores.plugin, 1, scores)
    (part,) = cache.normalized_parts
    cache.replace_part(part, (0, 4), np.array([0, 25, 50, 75, 100]))
    cache.replace_part(part, (0, 3), None)
    assert not cache.static_sums.any()
    assert cache.normalized_parts == []
    assert cache.normalized_plugins == [scores.plugin]
    assert cache.raw["ByExtremes"] is scores.raw


@pytest.mark.parametrize("plugin", [Plain, Normalizing])
def test_a_row_plugin_makes_rows_stale_until_they_are_renewed(plugin: type[Any]) -> None:
    nodes = snapshot()
    cache = ScoreCache.zeros(nodes, 0)
    assert cache.row_sums is None
    cache.add_row_plugin(plugin(None, NO_HANDLE), 1)
    row_sums: RowSums = present(cache.row_sums)
    assert len(row_sums.stale.renew(Nodes(nodes))) == COUNT
    assert not row_sums.stale.renew(Nodes(nodes))
    row_sums.forget()
    assert len(row_sums.stale.renew(Nodes(nodes))) == COUNT


def test_a_row_plugin_is_in_the_sums_unless_it_is_normalized() -> None:
    cache = ScoreCache.zeros(snapshot(), 0)
    cache.add_row_plugin(Plain(None, NO_HANDLE), 1)
    cache.add_row_plugin(Normalizing(None, NO_HANDLE), 1)
    assert [plugin.name for plugin in cache.row_plugins] == ["Plain"]
    assert [plugin.name for plugin in cache.raw_row_plugins] == ["Normalizing"]
    assert cache.raw["Normalizing"].tolist() == [0] * COUNT


@given(
    st.lists(st.integers(-1000, 1000), min_size=COUNT, max_size=COUNT),
    st.integers(0, COUNT - 1),
    st.integers(1, COUNT),
    st.booleans(),
)
def test_keys_are_the_same_asked_once_again_and_of_all_nodes(
    sums: list[int], first: int, length: int, shifted: bool
) -> None:
    nodes = snapshot()
    cache = ScoreCache(nodes, np.array(sums), TIE_BITS if shifted else 0)
    rows = nodes.order[first : first + length]
    expected = [(sums[row] << TIE_BITS) + TIE_MASK - row if shifted else sums[row] for row in rows]
    for _ in range(3):
        assert cache.keys(Nodes(nodes, rows, first)).tolist() == expected
        assert cache.keys(Nodes(nodes, rows)).tolist() == expected
    assert cache.keys(Nodes(nodes))[rows].tolist() == expected
