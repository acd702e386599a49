"""What is stored of plugins' answers is read back as it was given, for any selection of nodes."""

from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.snapshot import Snapshot
from ksched_cli.framework.cache.memo import EXTREMES_MAX, Memo, ScoreMemo, StaleRows, VerdictMemo
from ksched_cli.framework.cycle_state import CycleState
from ksched_cli.framework.interface import NormalizeScore, ScorePlugin
from ksched_cli.framework.nodes import NodeInfo, Nodes
from ksched_cli.framework.results import Scores, Verdicts
from ksched_cli.framework.status import SUCCESS, PluginError, Status
from ksched_cli.testing import cluster, node
from tests.framework.toys import NO_HANDLE, Toy
from tests.narrowing import present

COUNT = 5
NO, NEVER = Status.unschedulable("no"), Status.unresolvable("never")
STATUSES = st.sampled_from([SUCCESS, NO, NEVER])


def snapshot() -> Snapshot:
    zones = [node(f"n{i}", labels={"topology.kubernetes.io/zone": "ab"[i // 3]}) for i in range(5)]
    nodes = Snapshot(cluster(*zones).nodes)
    assert nodes.order.tolist() == [0, 3, 1, 4, 2]
    return nodes


def selection(nodes: Snapshot, *rows: int) -> Nodes:
    return Nodes(nodes, np.array(rows, dtype=np.intp))


CHANGES = st.lists(st.dictionaries(st.integers(0, COUNT - 1), st.integers(0, 99), min_size=1))


@given(CHANGES, st.integers(0, COUNT - 1), st.integers(1, COUNT), st.booleans())
def test_values_are_those_stored_last_in_any_selection(
    changes: list[dict[int, int]], first: int, length: int, is_single: bool
) -> None:
    nodes = snapshot()
    memo, expected = Memo.empty(nodes), [0] * COUNT
    rows = nodes.order[first : first + length]
    for change in changes:
        assert memo.gather(Nodes(nodes, rows, first)).tolist() == [expected[row] for row in rows]
        if is_single:
            memo.store_each([*change], change.values())
        else:
            memo.store(selection(nodes, *change), np.array([*change.values()]))
        for row, value in change.items():
            expected[row] = value
        assert memo.gather(Nodes(nodes)).tolist() == expected
        assert memo.gather(Nodes(nodes, rows)).tolist() == [expected[row] for row in rows]


def test_rows_are_stale_until_they_are_renewed_and_again_once_forgotten() -> None:
    nodes = snapshot()
    memo = Memo.empty(nodes)
    assert len(memo.renew(selection(nodes, 1, 2))) == 2
    assert memo.renew(Nodes(nodes)) == [0, 3, 4]
    assert not memo.renew(Nodes(nodes))
    memo.forget()
    assert len(memo.renew(Nodes(nodes))) == COUNT
    assert not Memo(nodes, np.zeros(COUNT, dtype=np.int64)).renew(Nodes(nodes))


@given(st.lists(st.lists(STATUSES, min_size=COUNT, max_size=COUNT)))
@example([[NO] * COUNT, [SUCCESS] * COUNT])
def test_verdicts_are_those_stored_last(answers: list[list[Status]]) -> None:
    nodes = snapshot()
    memo = VerdictMemo(nodes, StaleRows(nodes), is_scalar=False)
    stored = [SUCCESS] * COUNT
    for statuses in answers:
        changes = memo.changes
        memo.store_verdicts(Nodes(nodes), Verdicts.of(list(statuses)))
        assert (memo.changes > changes) == (statuses != stored)
        stored = statuses
        verdicts = memo.verdicts(selection(nodes, 3, 2, 0))
        assert [verdicts.statuses[i] for i in verdicts.ids] == [stored[row] for row in (3, 2, 0)]
        assert memo.rejected == sum(status is not SUCCESS for status in stored)
        assert memo.passes([1, 4]) == (stored[1] is SUCCESS and stored[4] is SUCCESS)


def test_verdicts_are_a_copy_that_the_caller_may_change() -> None:
    nodes = snapshot()
    memo = VerdictMemo(nodes, None, is_scalar=False)
    memo.store_verdicts(Nodes(nodes), Verdicts.rejecting(np.arange(COUNT) == 0, NO))
    given_away = memo.verdicts(Nodes(nodes))
    given_away.statuses.append(NEVER)
    given_away.ids[:] = 1
    assert memo.verdicts(Nodes(nodes)).statuses == [SUCCESS, NO]
    assert memo.rejected == memo.verdicts(Nodes(nodes)).ids.sum() == 1


@pytest.mark.parametrize("status", [NO, Status.error("broken")])
def test_a_failure_is_told_from_a_rejection(status: Status) -> None:
    nodes = snapshot()
    memo = VerdictMemo(nodes, None, is_scalar=False)
    memo.store_verdicts(Nodes(nodes), Verdicts.rejecting(np.arange(COUNT) == 0, status))
    assert memo.has_error == (status is not NO)


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


def memo_of(plugin: type[Any], raw: list[int] | range) -> ScoreMemo:
    return ScoreMemo(snapshot(), plugin(None, NO_HANDLE), np.array(raw, dtype=np.int64))


def test_only_extremes_may_decide_about_a_stored_normalization() -> None:
    has_parts = {
        p.__name__: memo_of(p, [0] * 5).has_parts for p in (Plain, Normalizing, ByExtremes)
    }
    assert has_parts == {"Plain": True, "Normalizing": False, "ByExtremes": True}


@given(
    st.lists(st.integers(-(2**62), 2**62), min_size=COUNT, max_size=COUNT),
    st.sets(st.integers(0, COUNT - 1), min_size=1),
)
@example([0, 1, 2, 3, 9], {0, 1, 2, 3})
def test_a_normalization_is_by_the_extremes_of_the_nodes_in_view(
    raw: list[int], rows: set[int]
) -> None:
    view = [raw[row] for row in rows]

    def normalize(nodes: Nodes, scores: Scores) -> Scores:
        assert nodes.rows is None
        assert (scores.min(), scores.max()) == (min(view), max(view))
        return scores

    memo = memo_of(ByExtremes, raw)
    nodes = selection(memo.snapshot, *rows)
    part = present(memo.part(memo.extremes(nodes), normalize))
    assert part.gather(nodes).tolist() == view
    assert memo.part(memo.extremes(nodes), normalize) is part


def test_scores_that_nothing_normalizes_are_weighted_once_whichever_nodes_are_in_view() -> None:
    memo, calls = memo_of(Plain, range(COUNT)), []

    def weigh(nodes: Nodes, scores: Scores) -> Scores:
        calls.append(nodes)
        return scores * 3

    for rows in ([1, 2], [4]):
        nodes = selection(memo.snapshot, *rows)
        part = present(memo.part(memo.extremes(nodes), weigh))
        assert part.gather(nodes).tolist() == [3 * row for row in rows]
    assert len(calls) == 1


def test_a_plugin_that_fails_with_all_nodes_has_no_part() -> None:
    def fail(nodes: Nodes, scores: Scores) -> Scores:
        raise PluginError("a node that is not in view")

    memo = memo_of(ByExtremes, range(COUNT))
    assert memo.part((1, 2), fail) is None


def test_only_so_many_normalizations_are_stored() -> None:
    raw = [*range(EXTREMES_MAX + 2)]
    nodes = Snapshot(cluster(*(node(f"n{i:02}") for i in raw)).nodes)
    memo, calls = ScoreMemo(nodes, ByExtremes(None, NO_HANDLE), np.array(raw)), []

    def normalize(nodes: Nodes, scores: Scores) -> Scores:
        calls.append(int(scores.max()))
        return scores

    for highest in [*raw[1:], 1]:
        memo.part((0, highest), normalize)
    assert calls == [*raw[1:], 1]
