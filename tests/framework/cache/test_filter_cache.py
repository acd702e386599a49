"""Filter verdicts as codes: the first plugin that rejects a node decides."""

from typing import Any, cast

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ksched_cli.cluster.snapshot import Snapshot
from ksched_cli.framework.cache.answer_cache import PASSES, FilterCache
from ksched_cli.framework.interface import FilterPlugin
from ksched_cli.framework.nodes import Nodes
from ksched_cli.framework.results import Verdicts
from ksched_cli.framework.status import SUCCESS, Code, Status
from ksched_cli.testing import cluster, node

COUNT = 4
NO, NEVER = Status.unschedulable("no"), Status.unresolvable("never")


def snapshot() -> Snapshot:
    return Snapshot(cluster(*(node(f"n{i}") for i in range(COUNT))).nodes)


def verdicts_of(statuses: list[Status]) -> Verdicts:
    return Verdicts.of(list(statuses))


def statuses_of(verdicts: Verdicts) -> list[Status]:
    return [verdicts.statuses[i] for i in verdicts.ids]


ANSWERS = st.lists(st.sampled_from([SUCCESS, NO, NEVER]), min_size=COUNT, max_size=COUNT)


@given(st.lists(ANSWERS, max_size=3))
def test_the_first_plugin_that_rejects_decides(answers: list[list[Status]]) -> None:
    nodes = snapshot()
    cache = FilterCache.passing(nodes)
    for position, statuses in enumerate(answers):
        cache.add_static(position, verdicts_of(statuses))
    expected = [
        next((s for s in statuses if s is not SUCCESS), SUCCESS)
        for statuses in zip(*answers, strict=True)
    ] or [SUCCESS] * COUNT
    assert statuses_of(cache.verdicts(Nodes(nodes))) == expected
    assert cache.rejected == sum(status is not SUCCESS for status in expected)


@given(ANSWERS, ANSWERS, ANSWERS)
def test_stored_rows_replace_what_was_stored_before(
    static: list[Status], first: list[Status], second: list[Status]
) -> None:
    nodes = snapshot()
    cache = FilterCache.passing(nodes)
    cache.add_static(1, verdicts_of(static))
    for statuses in (first, second):
        codes = cache.encode(0, verdicts_of(statuses))
        cache.store(Nodes(nodes), np.minimum(cache.static_codes, codes))
    expected = [
        own if own is not SUCCESS else other for own, other in zip(second, static, strict=True)
    ]
    assert statuses_of(cache.verdicts(Nodes(nodes))) == expected
    assert cache.rejected == sum(status is not SUCCESS for status in expected)


def test_rows_stored_leave_the_static_codes_alone() -> None:
    nodes = snapshot()
    cache = FilterCache.passing(nodes)
    single = Nodes(nodes, np.array([2], dtype=np.intp))
    cache.store(single, cache.encode(0, Verdicts.rejecting(np.array([True]), NO)))
    assert cache.static_codes.tolist() == [PASSES] * COUNT
    assert statuses_of(cache.verdicts(Nodes(nodes))) == [SUCCESS, SUCCESS, NO, SUCCESS]


def test_verdicts_are_given_in_the_order_of_the_selection() -> None:
    nodes = snapshot()
    cache = FilterCache.passing(nodes)
    cache.add_static(0, verdicts_of([NO, SUCCESS, NEVER, SUCCESS]))
    selection = Nodes(nodes, np.array([3, 2, 0], dtype=np.intp))
    assert statuses_of(cache.verdicts(selection)) == [SUCCESS, NEVER, NO]


def test_the_statuses_given_are_a_copy_that_the_caller_may_extend() -> None:
    nodes = snapshot()
    cache = FilterCache.passing(nodes)
    cache.add_static(0, verdicts_of([NO, SUCCESS, SUCCESS, SUCCESS]))
    cache.verdicts(Nodes(nodes)).statuses.append(NEVER)
    assert cache.verdicts(Nodes(nodes)).statuses == [SUCCESS, NO]


def test_without_plugins_that_depend_on_pods_nothing_becomes_stale() -> None:
    nodes = snapshot()
    assert not FilterCache.passing(nodes).renew(Nodes(nodes))


def test_a_row_plugin_makes_rows_stale_until_they_are_renewed() -> None:
    nodes = snapshot()
    cache = FilterCache.passing(nodes)
    cache.add_row_plugin(0, cast(FilterPlugin, object()))  # it is not called
    assert len(cache.renew(Nodes(nodes))) == COUNT
    assert not cache.renew(Nodes(nodes))


REJECTIONS = st.lists(st.sampled_from([NO, NEVER]), min_size=COUNT, max_size=COUNT)


@given(REJECTIONS, st.lists(st.tuples(st.integers(0, COUNT - 1), st.sampled_from([NO, NEVER]))))
def test_the_column_of_all_follows_what_is_stored(statuses: Any, changes: Any) -> None:
    cache = FilterCache.passing(snapshot())
    cache.store(Nodes(cache.stale.snapshot), cache.encode(0, verdicts_of(statuses)))
    for row, status in changes:
        assert cache.rejects_all
        nodes = Nodes(cache.stale.snapshot, np.array([row]))
        cache.store(nodes, cache.encode(0, verdicts_of([status])))
        statuses[row] = status
        column = cache.column_of_all()
        assert [column.statuses[i] for i in column.ids] == statuses
        rows = [i for i in range(COUNT) if statuses[i] is NEVER]
        assert column.rows_with(Code.UNSCHEDULABLE_AND_UNRESOLVABLE).tolist() == rows


def test_a_passing_node_or_a_failed_plugin_leaves_it_open_whether_all_are_rejected() -> None:
    for status in (SUCCESS, Status.error("broken")):
        cache = FilterCache.passing(snapshot())
        statuses = [NO, NO, status, NO]
        cache.store(Nodes(cache.stale.snapshot), cache.encode(0, verdicts_of(statuses)))
        assert not cache.rejects_all
