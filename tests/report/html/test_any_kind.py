"""The page of a document that has none of its own."""

from ksched_cli.report.html.any_kind import page, text_of, title_of
from ksched_cli.report.html.sections import Grid, Table
from tests.report.anything import Anything
from tests.report.html.pages import cells


def test_numbers_are_tiles_lists_are_grids_and_maps_are_tables() -> None:
    answer = Anything(
        count=1200,
        items=({"pod": "a", "points": 3}, {"pod": "b", "points": 4, "expected": ["x", "y"]}),
        names=("a", "b"),
        fields={"x": None, "y": True},
    )
    result = page(answer, "12 differ\nthe rest agrees")
    assert (result.title, list(result.lede)) == ("12 differ", ["the rest agrees"])
    assert [(tile.label, tile.value) for tile in result.tiles] == [("note", ""), ("count", "1,200")]
    names, differ, summary = result.sections
    assert isinstance(differ, Grid)
    assert [column["title"] for column in differ.columns] == ["Pod", "Points", "Expected"]
    assert [column["kind"] for column in differ.columns] == ["text", "number", "text"]
    assert cells(differ.columns[2]) == ["", "x, y"]
    assert isinstance(names, Grid)
    assert cells(names.columns[0]) == ["a", "b"]
    assert isinstance(summary, Table)
    assert list(summary.rows) == [("x", ""), ("y", "yes")]


def test_a_document_without_a_headline_is_titled_by_its_kind() -> None:
    assert page(Anything(), "").title == "Anything"


def test_names_of_fields_become_words() -> None:
    assert title_of("percentageOfNodesToScore") == "Percentage of nodes to score"
    assert text_of({"a": [1]}) == '{"a": [1]}'
