"""Results of dry runs as columns."""

import numpy as np
import pytest

from ksched_cli.framework.preemption import Victims
from ksched_cli.framework.status import Rejection, Status
from ksched_cli.plugins.default_preemption.victims import UNKNOWN, DryRunColumns, LazyMapping
from ksched_cli.testing import cluster, node, simulation

FULL, OLD = Status.unschedulable("full"), Status.unresolvable("old")
NO_VICTIMS, SINGLE_VIOLATION = Victims((), 0), Victims((), 1)


@pytest.fixture
def columns() -> DryRunColumns:
    """Columns of the nodes a to e, before anything is computed."""
    return DryRunColumns(simulation(cluster(*map(node, "abcde"))).snapshot, criteria=2)


def rows(*numbers: int) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
    return np.array(numbers, dtype=np.intp)


def test_rows_without_a_result_are_missing_until_it_is_stored(columns: DryRunColumns) -> None:
    assert columns.missing(rows(4, 0, 2)).tolist() == [4, 0, 2]
    columns.reject_node(0, Rejection(FULL))
    columns.add_candidates(rows(4), np.zeros((2, 1), dtype=np.int64), [NO_VICTIMS])
    assert columns.missing(rows(4, 0, 2)).tolist() == [2]
    columns.forget([4, 0])
    assert columns.missing(rows(4, 0, 2)).tolist() == [4, 0, 2]
    assert set(columns.ids.tolist()) == {UNKNOWN}


def test_equal_rejections_share_an_id(columns: DryRunColumns) -> None:
    columns.reject(rows(0, 1, 2), np.array([1, 2, 1], dtype=np.int32), [FULL, FULL, OLD])
    columns.reject_node(3, Rejection(FULL))
    columns.reject_node(4, Rejection(FULL, ("with a detail",)))
    assert columns.ids[0] == columns.ids[2] == columns.ids[3]
    assert len(set(columns.ids.tolist())) == 3
    rejected = columns.rejected(rows(1, 4))
    assert rejected == {"b": Rejection(OLD), "e": Rejection(FULL, ("with a detail",))}


def test_candidates_have_their_measures_and_victims(columns: DryRunColumns) -> None:
    measures = np.array([[1, 2], [3, 4]], dtype=np.int64)
    columns.add_candidates(rows(3, 1), measures, [NO_VICTIMS, SINGLE_VIOLATION])
    assert columns.measures[:, [3, 1]].tolist() == measures.tolist()
    assert columns.victims(1) is SINGLE_VIOLATION
    assert columns.candidates(rows(1, 3)) == {"b": SINGLE_VIOLATION, "d": NO_VICTIMS}


def test_later_results_do_not_show_in_a_mapping_given_out(columns: DryRunColumns) -> None:
    measures = np.zeros((2, 1), dtype=np.int64)
    columns.add_candidates(rows(0), measures, [NO_VICTIMS])
    columns.reject_node(1, Rejection(FULL))
    candidates, rejected = columns.candidates(rows(0)), columns.rejected(rows(1))
    columns.add_candidates(rows(0), measures, [SINGLE_VIOLATION])
    columns.reject_node(1, Rejection(OLD))
    assert (candidates["a"], rejected["b"]) == (NO_VICTIMS, Rejection(FULL))


def test_a_lazy_mapping_is_made_once_and_only_when_it_is_read() -> None:
    calls: list[str] = []

    def factory() -> dict[str, int]:
        calls.append("made")
        return {"a": 1}

    mapping = LazyMapping(factory)
    assert calls == []
    assert (mapping["a"], len(mapping), list(mapping)) == (1, 1, ["a"])
    assert len(calls) == 1
