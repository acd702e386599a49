"""A view in a terminal and in Markdown: what all answers share."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ksched_cli.report.limit import EVERYTHING, MIN_WIDTH, Limit
from ksched_cli.report.markdown import as_markdown
from ksched_cli.report.short_names import shared_end, with_short_names
from ksched_cli.report.terminal import as_text, paragraph
from ksched_cli.report.view import Column, Command, Commands, Kind, Rows, Section, Table, Tone, View

END = ".eu-west-1.compute.internal"


def lines(section: Section, width: int = 80, rows: int | None = 40) -> list[str]:
    return as_text(View(title="t", sections=[section]), Limit(width, rows)).splitlines()[2:]


def table(*rows: tuple[object, ...], kinds: tuple[Kind, ...], **fields: object) -> Table:
    columns = [Column(f"c{at}", kind) for at, kind in enumerate(kinds)]
    return Table(columns=columns, rows=rows, **fields)  # type: ignore[arg-type]


def test_figures_are_aligned_to_the_right_in_one_unit() -> None:
    gib = 1 << 30
    section = table(
        ("a", 631_200, 3 * gib // 2), ("b", 16_530_000, 64 * gib),
        kinds=(Kind.NODE, Kind.CPU, Kind.BYTES),
    )  # fmt: skip
    assert lines(section) == [
        "C0        C1     C2",
        "a      631.2  1.5Gi",
        "b   16,530.0   64Gi",
    ]


def test_the_end_that_all_nodes_share_is_said_once() -> None:
    names = [f"ip-10-0-0-{i}{END}" for i in (1, 11)]
    section = table(*((name, f"{name}: full") for name in names), kinds=(Kind.NODE, Kind.TEXT))
    command = Commands(commands=[Command(f"kubectl cordon {names[0]}")])
    view = View(title=f"p goes to {names[0]}.", sections=[section, command])
    assert as_text(with_short_names(view), Limit(80)).splitlines() == [
        "p goes to ip-10-0-0-1.",
        f"node names end in {END}",
        "",
        "C0            C1",
        "ip-10-0-0-1   ip-10-0-0-1: full",
        "ip-10-0-0-11  ip-10-0-0-11: full",
        "",
        f"  kubectl cordon {names[0]}",
    ]


def test_names_that_end_as_nodes_do_are_whole() -> None:
    nodes = [f"ip-1{END}", f"ip-2{END}"]
    others = [f"kube-proxy-ip-1{END}", f"default/web-ip-1{END}", f"https://ip-1{END}/x"]
    texts = View(title=" ".join(others), lines=[nodes[0]], nodes=nodes)
    assert as_text(with_short_names(texts), Limit(None)).splitlines()[:2] == [
        " ".join(others),
        "ip-1",
    ]


@pytest.mark.parametrize(
    ("names", "end"),
    [
        ((f"a{END}", f"b{END}"), END),
        ((f"a{END}", "b"), ""),
        ((f"a{END}",), ""),
        (("a.b", "c.b"), ""),
        ((f"x1{END}", f"x1.x1{END}"), END),
        (("a-long-name-1", "b-long-name-1"), ""),
    ],
)
def test_only_a_long_end_after_a_dot_is_shared(names: tuple[str, ...], end: str) -> None:
    assert shared_end(names) == end


def test_a_narrow_terminal_drops_columns_and_says_which() -> None:
    columns = (Column("Node"), Column("Raw", Kind.NUMBER, drop=1), Column("Why"))
    section = Table(columns=columns, rows=[("n" * 20, 1, "because of " * 3)])
    assert lines(section, width=50)[0].split() == ["NODE", "WHY"]
    assert lines(section, width=50)[-1] == "not shown in 50 columns: Raw"
    assert lines(section)[0].split() == ["NODE", "RAW", "WHY"]


def test_rows_that_are_equal_on_all_sides_are_counted() -> None:
    rows = [("placed", 3, 4), ("pending", 1, 1), ("evicted", 0, 0)]
    kinds = (Kind.TEXT, Kind.NUMBER, Kind.NUMBER)
    equal = lines(table(*rows, kinds=kinds, shown=Rows.NOT_EQUAL))
    assert [line.split() for line in equal] == [
        ["C0", "C1", "C2"],
        ["placed", "3", "4"],
        ["…", "and", "2", "rows", "equal", "on", "all", "sides"],
    ]
    zero = lines(table(*rows, kinds=kinds, shown=Rows.NOT_ZERO))
    assert zero[-1] == "… and 1 row zero on all sides"


def test_colours_are_of_what_is_good_or_bad_and_lines_have_their_own() -> None:
    section = table(("a",), ("b",), kinds=(Kind.TEXT,), marks=("+", "-"), heading="h")
    view = View(title="fine", tone=Tone.GOOD, sections=[section])
    text = as_text(view, Limit(80, colour=True))
    assert "\x1b[1;32mfine\x1b[0m" in text
    assert "\x1b[1mh\x1b[0m" in text
    assert "\x1b[32m+  a\x1b[0m" in text
    assert "\x1b[31m-  b\x1b[0m" in text
    assert "\x1b" not in as_text(view, Limit(80))


def test_commands_are_never_broken_and_their_use_is_a_comment() -> None:
    section = Commands(commands=[Command("x " * 60, "does it"), Command("y", "does it")])
    assert lines(section) == ["  # does it", "  " + "x " * 60, "  y"]
    assert lines(Commands(commands=[Command("x", "does it")])) == ["  x  # does it"]


def test_no_command_ends_its_fence_in_markdown() -> None:
    view = View(title="t", sections=[Commands(commands=[Command("echo ```\nrm", "")])])
    assert as_markdown(view, EVERYTHING).endswith("````sh\necho ``` rm\n````")


ROWS = st.integers(1, 6).flatmap(
    lambda count: st.lists(
        st.lists(st.text("ab /-\n\x1b", max_size=60), min_size=count, max_size=count),
        min_size=1,
        max_size=4,
    )
)


@given(st.integers(MIN_WIDTH, 200), ROWS)
def test_no_line_is_wider_than_asked_and_no_letter_is_lost(
    width: int, rows: list[list[str]]
) -> None:
    section = table(*map(tuple, rows), kinds=(Kind.TEXT,) * len(rows[0]))
    shown = lines(section, width, rows=None)
    assert max(map(len, shown)) <= width
    count = sum(text.count("a") for row in rows for text in row)
    assert sum(line.count("a") for line in shown) == count


@given(st.text("ab /-\n", max_size=300), st.integers(MIN_WIDTH, 100))
def test_no_line_of_a_paragraph_is_wider_than_asked(text: str, width: int) -> None:
    assert all(len(line) <= width for line in paragraph(text, width).split("\n"))


def test_rows_that_are_left_out_are_counted() -> None:
    rows = [(number,) for number in range(5)]
    assert lines(table(*rows, kinds=(Kind.TEXT,), noun="nodes"), rows=3) == [
        *("C0", "0", "1", "2"),
        "… and 2 more nodes (--all shows every one)",
    ]


def test_control_characters_are_shown_escaped() -> None:
    assert lines(table(("red \x1b[31m",), kinds=(Kind.TEXT,))) == ["C0", r"red \x1b[31m"]
    assert paragraph("\x07bell", 40) == r"\x07bell"


def test_names_keep_whole_words_where_prose_can_wrap() -> None:
    name = "a-name-of-thirty-characters-00"
    assert name in lines(table((name, "word " * 20), kinds=(Kind.NODE, Kind.TEXT)), 60)[1]
