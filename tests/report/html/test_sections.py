"""What a page hands to its script."""

from ksched_cli.report.html.columns import column
from ksched_cli.report.html.sections import Grid, HtmlPage, NodeMap, Prose


def test_a_grid_is_as_long_as_its_columns() -> None:
    assert Grid("Pods", "pods", [column("Pod", ["a", "b", "c"])]).length == 3
    assert Grid("Pods", "pods", [column("Node", ["a"] * 8)]).length == 8


def test_the_data_of_a_page_is_that_of_its_sections() -> None:
    columns = [column("Pod", ["a"])]
    sections = (
        Prose("Note", ["x"]),
        Grid("Pods", "pods", columns),
        NodeMap("Nodes", {"names": []}),
    )
    assert HtmlPage("t", sections=sections).data() == {
        "grids": {"pods": columns},
        "curves": {},
        "map": {"names": []},
    }
