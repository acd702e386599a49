"""Counts of pods per domain, as lists of pods would give them."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ksched_cli.cluster.snapshot import MISSING
from ksched_cli.cluster.topology.pod_index import MAX_INT32, Codes, DomainCounter, Domains, Tally

VALUES = ("a", "b", "c")
CODES = st.lists(st.integers(MISSING, len(VALUES) - 1), min_size=1, max_size=6)


def domains(codes: list[int]) -> Domains:
    array: Codes = np.array(codes, dtype=np.int32)
    return Domains("zone", VALUES, array)


@st.composite
def changes(draw: st.DrawFn) -> tuple[list[int], list[tuple[int, int]]]:
    """Codes per row, and (row, pods more) in order."""
    codes = draw(CODES)
    change = st.tuples(st.integers(0, len(codes) - 1), st.integers(-2, 3))
    return codes, draw(st.lists(change, max_size=8))


def counted(codes: list[int], numbers: list[tuple[int, int]]) -> list[int]:
    """Per domain, and 0 for none."""
    return [
        *(sum(n for row, n in numbers if codes[row] == code) for code in range(len(VALUES))),
        0,
    ]


@given(changes())
def test_a_counter_has_the_sum_of_what_was_added(
    drawn: tuple[list[int], list[tuple[int, int]]],
) -> None:
    codes, numbers = drawn
    counter = DomainCounter(domains(codes))
    for row, number in numbers:
        counter.add(row, number)
    assert counter.counts.tolist() == counted(codes, numbers)
    assert counter.total == sum(counter.counts.tolist())
    at_once = DomainCounter(domains(codes))
    rows = {row: sum(n for r, n in numbers if r == row) for row, _ in numbers}
    at_once.add_rows(rows)
    assert (at_once.counts.tolist(), at_once.total) == (counter.counts.tolist(), counter.total)


@given(changes(), st.data())
def test_a_tally_has_the_counts_of_its_beginning_and_its_own_changes(
    drawn: tuple[list[int], list[tuple[int, int]]], data: st.DataObject
) -> None:
    codes, numbers = drawn
    counters = [DomainCounter(domains(codes)) for _ in range(2)]
    split = data.draw(st.integers(0, len(numbers)))
    for index, (row, number) in enumerate(numbers[:split]):
        counters[index % 2].add(row, number)
    tally = Tally.of(counters, counters[0].domains)
    counters[0].add(0, 5)
    other = tally.clone()
    for row, number in numbers[split:]:
        tally.add(row, number)
    table = counted(codes, numbers)
    assert tally.current().tolist() == table
    assert tally.total == sum(table)
    assert tally.at(counters[0].domains, None).tolist() == [table[code] for code in codes]
    some = np.arange(0, len(codes), 2)
    assert tally.at(counters[0].domains, some).tolist() == [table[code] for code in codes[::2]]
    assert other.current().tolist() == counted(codes, numbers[:split])


def test_the_sum_of_no_counters_is_zero() -> None:
    tally = Tally.of([], domains([0, 1]))
    assert (tally.current().tolist(), tally.total) == ([0, 0, 0, 0], 0)


@given(CODES, st.lists(st.integers(0, 9), min_size=4, max_size=4))
def test_the_least_is_that_of_domains_with_a_counted_node(
    codes: list[int], counts: list[int]
) -> None:
    present = {code for code in codes if code != MISSING}
    array = np.array(counts, dtype=np.int32)
    assert domains(codes).least(array) == min((counts[code] for code in present), default=MAX_INT32)
    assert domains(codes).present.tolist() == sorted(present)
    assert domains(codes).complete is (MISSING not in codes)


def test_fewer_nodes_leave_the_domains_of_the_others() -> None:
    fewer = domains([0, 1, 2]).where(np.array([True, False, True]))
    assert fewer.codes.tolist() == [0, MISSING, 2]
    assert fewer.present.tolist() == [0, 2]


def test_hosts_are_domains_by_row() -> None:
    hosts, others = domains([0, 1, 2]), domains([1, 0, 2])
    assert (hosts.by_row, others.by_row) == (True, False)
    table = np.array([10, 11, 12, 0])
    assert hosts.look_up(table, None).tolist() == [10, 11, 12]
    assert hosts.look_up(table, np.array([2, 0])).tolist() == [12, 10]
    assert others.look_up(table, None).tolist() == [11, 10, 12]
    assert others.look_up(table, np.array([2, 0])).tolist() == [12, 11]


def test_a_domain_is_named_as_a_label() -> None:
    assert domains([0]).name(1) == "zone=b"


def test_a_tally_and_the_counter_that_it_was_made_of_change_apart() -> None:
    counter = DomainCounter(domains([0, 1]))
    counter.add(0, 2)
    tally = Tally.of([counter], counter.domains)
    tally.add(1, 3)
    counter.add(0, 5)
    assert tally.current().tolist() == [2, 3, 0, 0]
    assert counter.counts.tolist() == [7, 0, 0, 0]
