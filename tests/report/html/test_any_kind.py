"""The page of a document that has none of its own."""

from ksched_cli.report.html.any_kind import page, text_of, title_of
from ksched_cli.report.html.sections import Grid, Table
from tests.report.html.pages import cells


def test_numbers_are_tiles_lists_are_grids_and_maps_are_tables() -> None:
    document = {
        "apiVersion": "ksched/v1",
        "kind": "AuditResult",
        "warnings": [],
        "agree": 1200,
        "differ": [{"pod": "a", "points": 3}, {"pod": "b", "points": 4, "expected": ["x", "y"]}],
        "names": ["a", "b"],
        "summary": {"x": None, "y": True},
        "nothing": [],
    }
    result = page(document, "12 differ\nthe rest agrees", {})
    assert (result.title, list(result.lede)) == ("12 differ", ["the rest agrees"])
    assert [(tile.label, tile.value) for tile in result.tiles] == [("agree", "1,200")]
    differ, names, summary = result.sections
    assert isinstance(differ, Grid)
    assert [column["title"] for column in differ.columns] == ["Pod", "Points", "Expected"]
    assert [column["kind"] for column in differ.columns] == ["text", "number", "text"]
    assert cells(differ.columns[2]) == ["", "x, y"]
    assert isinstance(names, Grid)
    assert cells(names.columns[0]) == ["a", "b"]
    assert isinstance(summary, Table)
    assert list(summary.rows) == [("x", ""), ("y", "yes")]


def test_a_document_without_a_headline_is_titled_by_its_kind() -> None:
    assert page({"kind": "PluginList"}, "", {}).title == "Plugin list"


def test_names_of_fields_become_words() -> None:
    assert title_of("percentageOfNodesToScore") == "Percentage of nodes to score"
    assert text_of({"a": [1]}) == '{"a": [1]}'
