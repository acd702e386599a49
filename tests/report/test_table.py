"""Columns and lists for people."""

import pytest

from ksched_cli.report.table import EVERYTHING, TERMINAL, Limit, columns, cut_columns, listed
from report.schemas import squeezed


def test_columns_keep_text_as_it_is():
    assert squeezed(columns(("NAME", "SIZE"), [("007", "1e3"), ("b", None)])) == [
        "NAME SIZE",
        "007 1e3",
        "b",
    ]


def test_the_last_column_wraps_on_a_terminal_only():
    long = "word " * 40
    assert len(columns(("A", "B"), [("x", long)], EVERYTHING).splitlines()) == 2
    lines = columns(("A", "B"), [("x", long)], TERMINAL).splitlines()
    assert len(lines) > 2
    assert max(map(len, lines)) <= TERMINAL.width


def test_rows_that_are_left_out_are_counted():
    rows = [(i,) for i in range(5)]
    limit = Limit(rows=3)
    text = cut_columns(("N",), rows, limit)
    assert squeezed(text) == ["N", "0", "1", "2", "… and 2 more (--all shows every one)"]


@pytest.mark.parametrize(
    ("names", "text"),
    [
        (["a"], "a"),
        (["a", "b"], "a, b"),
        ([f"node-{i}" for i in range(9)], "node-0, node-1, node-2 +6"),
        (list("abcdefgh"), "a, b, c, d, e, f +2"),
        (["a-name-that-is-longer-than-the-cell", "b"], "a-name-that-is-longer-than-the-cell +1"),
    ],
)
def test_many_names_in_one_cell_are_cut_short(names, text):
    assert listed(names, TERMINAL) == text
    assert listed(names, EVERYTHING) == ", ".join(names)


def test_the_last_column_keeps_some_width():
    lines = columns(("A", "B"), [("x" * 120, "word " * 20)], TERMINAL).splitlines()
    assert len(lines) < 7


def test_a_whole_list_counts_nothing():
    assert squeezed(cut_columns(("N",), [(1,), (2,)], Limit(rows=2))) == ["N", "1", "2"]
