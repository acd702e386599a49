"""Columns and lists for people."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ksched_cli.report.table import EVERYTHING, GREEN, MIN_WIDTH, TERMINAL, Limit, counted
from tests.narrowing import present
from tests.report.schemas import squeezed


def test_columns_keep_text_as_it_is() -> None:
    assert squeezed(EVERYTHING.columns(("NAME", "SIZE"), [("007", "1e3"), ("b", None)])) == [
        "NAME SIZE",
        "007 1e3",
        "b",
    ]


def test_cells_wrap_where_the_width_is_limited_only() -> None:
    long = "word " * 40
    assert len(EVERYTHING.columns(("A", "B"), [("x", long)]).splitlines()) == 2
    lines = TERMINAL.columns(("A", "B"), [("x", long)]).splitlines()
    assert len(lines) > 2
    assert max(map(len, lines)) <= present(TERMINAL.width)


def test_rows_that_are_left_out_are_counted() -> None:
    rows = [(i,) for i in range(5)]
    limit = Limit(rows=3)
    text = limit.cut_columns(("N",), rows)
    assert squeezed(text) == ["N", "0", "1", "2", "… and 2 more (--all shows every one)"]


@pytest.mark.parametrize(
    ("names", "text"),
    [
        (["a"], "a"),
        (["a", "b"], "a, b"),
        (list("abcd"), "a, b, c, d"),
        ([f"node-{i}" for i in range(9)], "node-0, node-1, node-2 and 6 more"),
        ([f"n{i}" for i in range(4454)], "n0, n1, n2 and 4,451 more"),
        (["a-name-that-is-longer-than-half-of-the-terminal-width", "b"], None),
    ],
)
def test_many_names_in_one_cell_are_cut_with_a_count(names: list[str], text: str | None) -> None:
    assert TERMINAL.listed(names) == (text or f"{names[0]} and 1 more")
    assert EVERYTHING.listed(names) == ", ".join(names)


@given(
    st.integers(MIN_WIDTH, 200),
    st.integers(1, 6).flatmap(
        lambda count: st.lists(
            st.lists(st.text("ab /-\n\x1b", max_size=60), min_size=count, max_size=count),
            min_size=1,
            max_size=4,
        )
    ),
)
def test_no_line_is_wider_than_asked(width: int, rows: list[list[str]]) -> None:
    headers = [f"COLUMN {i}" for i in range(len(rows[0]))]
    text = Limit(width).columns(headers, rows)
    assert max(map(len, text.splitlines())) <= width
    letters = [char for char in text if char == "a"]
    assert len(letters) == sum(cell.count("a") for row in rows for cell in row)
    whole = EVERYTHING.columns(headers, rows)
    if max(map(len, whole.splitlines())) <= width:
        assert [line.split() for line in text.splitlines()] == [
            line.split() for line in whole.splitlines()
        ]


@given(st.text("ab /-\n", max_size=300), st.integers(MIN_WIDTH, 100))
def test_no_line_of_a_paragraph_is_wider_than_asked(text: str, width: int) -> None:
    assert all(len(line) <= width for line in Limit(width).paragraph(text).split("\n"))


def test_control_characters_are_shown_escaped() -> None:
    assert squeezed(EVERYTHING.columns(("A",), [("red \x1b[31m",)])) == ["A", r"red \x1b[31m"]
    assert TERMINAL.paragraph("\x07bell") == r"\x07bell"


def test_verdicts_are_coloured_where_colours_are_shown_only() -> None:
    assert Limit().verdict("goes to a", GREEN) == "goes to a"
    assert Limit(colour=True).verdict("goes\nthere", GREEN) == (
        "\x1b[32mgoes\x1b[0m\n\x1b[32mthere\x1b[0m"
    )


def test_names_keep_whole_words_where_prose_can_wrap() -> None:
    name = "a-name-of-thirty-characters-00"
    text = Limit(60).columns(("NODE", "WHY"), [(name, "word " * 20)])
    assert name in text.splitlines()[1]


def test_counts_have_a_plural_and_separators() -> None:
    assert counted(1, "node") == "1 node"
    assert counted(4454, "node") == "4,454 nodes"


def test_a_whole_list_counts_nothing() -> None:
    assert squeezed(Limit(rows=2).cut_columns(("N",), [(1,), (2,)])) == ["N", "1", "2"]
    cut = squeezed(Limit(rows=2).cut_columns(("N",), [(1,), (2,)], "nodes", 5))
    assert cut == ["N", "1", "2", "… and 3 more nodes (--all shows every one)"]


def test_where_names_do_not_fit_beside_each_other_the_first_stands_above() -> None:
    rows = [("a" * 30, "b" * 30, 7), ("c" * 30, None, 8)]
    text = Limit(60).columns(("POD", "NODE", "SCORE"), rows)
    assert text.splitlines() == [
        "POD",
        f"  NODE{' ' * 28}SCORE",
        "a" * 30,
        f"  {'b' * 30}  7",
        "c" * 30,
        f"  {' ' * 32}8",
    ]


def test_where_the_others_do_not_fit_either_they_are_prose() -> None:
    rows = [("a" * 30, "b" * 30, "c" * 30, 7)]
    text = Limit(60).columns(("POD", "NODE", "FOR", "SCORE"), rows)
    assert text.splitlines() == [
        "POD",
        "a" * 30,
        f"  node {'b' * 30}; for",
        f"  {'c' * 30}; score 7",
    ]
