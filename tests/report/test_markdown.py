"""Results as Markdown: tables that hold what others wrote."""

import pytest

from ksched_cli.report.limit import EVERYTHING
from ksched_cli.report.markdown import as_markdown, code, markdown_table
from ksched_cli.report.view import Column, Table, View


@pytest.mark.parametrize(
    ("text", "span"),
    [
        ("", ""),
        ("a", "`a`"),
        ("a|b", "`a|b`"),
        ("a`b", "`` a`b ``"),
        ("a``b`", "``` a``b` ```"),
        ("a\nb", "`a b`"),
        ("<b>@team</b>", "`<b>@team</b>`"),
        ("a\x1bb", "`a\\x1bb`"),
    ],
)
def test_a_text_of_others_is_shown_as_it_is(text: str, span: str) -> None:
    assert code(text) == span


def test_a_table_has_a_line_per_row() -> None:
    assert markdown_table(("a", "b"), [("1", "2")]) == "| a | b |\n| --- | --- |\n| 1 | 2 |"
    assert markdown_table(("a|b",), [("`|`",)]) == "| a\\|b |\n| --- |\n| `\\|` |"


TABLE = Table(columns=(Column("Node"), Column("Used")), rows=[("a|b", "94%"), ("c", "one\n<b>")])


def test_tables_are_tables_the_title_is_bold_and_all_else_is_code() -> None:
    view = View(title="2 of @team differ", lines=["what helps: #12"], sections=[TABLE])
    assert (
        as_markdown(view, EVERYTHING)
        == """\
**`2 of @team differ`**\\
`what helps: #12`

| Node | Used |
| --- | --- |
| `a\\|b` | 94% |
| c | one<br>`<b>` |"""
    )


@pytest.mark.parametrize("mark", ["\x1c", "\x1d", "\x1e", "\x1f", "\x02", "|", "`", "*"])
def test_what_others_wrote_makes_no_table_and_no_markup(mark: str) -> None:
    name = f"a{mark}b"
    table = Table(columns=[Column("Pod")], rows=[(name,)])
    text = as_markdown(View(title=name, sections=[table]), EVERYTHING)
    cell = code(name).replace("|", "\\|")
    assert text == f"**{code(name)}**\n\n| Pod |\n| --- |\n| {cell} |"
