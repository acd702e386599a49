"""The search ends where upstream's loop over nodes ends, however many nodes are tried at a time."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ksched_cli.cluster.snapshot import Rows
from ksched_cli.framework.preemption import Victims
from ksched_cli.framework.status import Rejection, Status
from ksched_cli.plugins.default_preemption.plugin import CandidateSearch
from ksched_cli.plugins.default_preemption.victims import DryRunColumns
from ksched_cli.testing import cluster, node, simulation

REJECTED = None
NO = Rejection(Status.unschedulable("no"))

# Per node: rejected, or how many budgets are violated there.
RESULTS = st.lists(st.sampled_from([REJECTED, 0, 0, 1, 2]), min_size=1, max_size=60)


def search_of(results: list[int | None], num_candidates: int) -> tuple[CandidateSearch, list[int]]:
    """The search, and the rows that a dry run was made for."""
    state = cluster(*(node(f"n{i:02}") for i in range(len(results))))
    search = CandidateSearch(DryRunColumns(simulation(state).snapshot, 5), num_candidates)
    tried: list[int] = []

    def dry_run(rows: Rows) -> None:
        tried.extend(rows.tolist())
        for row in rows.tolist():
            violations = results[row]
            if violations is None:
                search.columns.reject_node(row, NO)
            else:
                measures = np.array([[-violations, 0, 0, 0, 0]]).T
                victims = Victims((), violations)
                search.columns.add_candidates(np.array([row]), measures, [victims])

    search.run(np.arange(len(results)), dry_run)
    return search, tried


def tried_each_alone(results: list[int | None], num_candidates: int) -> int:
    """How many nodes are tried, as DryRunPreemption and candidateList have it."""
    non_violating = violating = 0
    for count, violations in enumerate(results, start=1):
        if violations is not None:
            non_violating = min(non_violating + (violations == 0), num_candidates)
            violating = min(violating + (violations > 0), num_candidates)
        if non_violating and non_violating + violating >= num_candidates:
            return count
    return len(results)


@given(RESULTS, st.integers(1, 30))
def test_the_search_ends_with_the_node_that_upstream_tries_last(
    results: list[int | None], num_candidates: int
) -> None:
    search, tried = search_of(results, num_candidates)
    end = tried_each_alone(results, num_candidates)
    assert search.rows.tolist() == list(range(end))
    assert len(tried) == len(set(tried))
    candidates = [row for row in range(end) if results[row] is not None]
    assert list(search.candidates) == [f"n{row:02}" for row in candidates]
    assert list(search.rejected) == [f"n{row:02}" for row in range(end) if results[row] is None]
    assert search.rejection_counts()[NO.status] == len(search.rejected)


@given(RESULTS, st.integers(1, 30))
def test_so_many_without_and_so_many_with_violations_are_compared(
    results: list[int | None], num_candidates: int
) -> None:
    search, _ = search_of(results, num_candidates)
    rows = search.candidate_rows.tolist()
    without = [row for row in rows if results[row] == 0][:num_candidates]
    violating = [row for row in rows if results[row] != 0][:num_candidates]
    assert search.selected().tolist() == without + violating


def test_no_node_is_tried_beyond_those_that_could_be_enough() -> None:
    _, tried = search_of([0] * 60, 20)
    assert tried == list(range(20))


def test_errors_are_listed_once_each_in_the_order_of_the_nodes() -> None:
    search, _ = search_of([REJECTED] * 4, 1)
    for row, message in enumerate(("b", "a", "b")):
        search.columns.reject_node(row, Rejection(Status.error(message)))
    assert search.error == "[b, a]"
