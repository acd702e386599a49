"""The data of views, whatever shows them."""

import pytest

from ksched_cli.report.view import Block, Column, Medium, bars


def test_the_last_cells_of_a_row_are_the_parts_of_its_bar() -> None:
    columns = [Column("node"), Column("zone"), Column("pods"), Column("used"), Column("free")]
    shown = bars("Nodes", columns, [("a", "zone-a", 3, 1, 2)], ("used", "free"))
    assert (shown.values, shown.is_empty) == ([(1, 2)], False)
    assert bars("Nodes", columns, [], ("used", "free")).is_empty


@pytest.mark.parametrize(
    ("heading", "names"), [("Pod a", ()), ("2 pods", ("a", "b")), ("with b", ("a", "b"))]
)
def test_names_are_listed_unless_the_heading_has_the_first_one(
    heading: str, names: tuple[str, ...]
) -> None:
    assert Block(heading=heading, names=("a", "b")).more_names == names


def test_text_is_every_medium_but_the_page() -> None:
    assert {*Medium.TEXT} == {*Medium} - {Medium.PAGE}
    assert {*Medium.ALL} == {*Medium}
