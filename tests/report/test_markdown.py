"""Results as Markdown: tables that hold what others wrote."""

import pytest

from ksched_cli.report.markdown import as_markdown, code, markdown_table
from ksched_cli.report.table import BREAK, CELL, HEADER, ROW, STRONG, YELLOW, Limit


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


MARKDOWN = Limit(markdown=True)


def test_tables_are_tables_verdicts_are_bold_and_all_else_is_code() -> None:
    nodes = MARKDOWN.columns(("NODE", "USED"), [("a|b", "94%"), ("c", "one\n<b>")])
    text = f"""\
{MARKDOWN.verdict("2 of @team differ", YELLOW)}
what helps: #12

{nodes}
{MARKDOWN.columns(("POD",), [("web",)])}
… and 3 more"""
    assert (
        as_markdown(text)
        == """\
**`2 of @team differ`**\\
`what helps: #12`

| NODE | USED |
| --- | --- |
| `a\\|b` | 94% |
| c | one<br>`<b>` |

| POD |
| --- |
| web |

`… and 3 more`"""
    )


@pytest.mark.parametrize("mark", [HEADER, ROW, CELL, BREAK, STRONG])
def test_what_others_wrote_makes_no_table_and_no_verdict(mark: str) -> None:
    cells = MARKDOWN.columns(("POD",), [(f"a{mark}b",)])
    text = f"{MARKDOWN.paragraph(f'{mark}a{mark}b')}\n{cells}"
    shown = mark.encode("unicode_escape").decode()
    assert as_markdown(text) == f"`{shown}a{shown}b`\n\n| POD |\n| --- |\n| `a{shown}b` |"
