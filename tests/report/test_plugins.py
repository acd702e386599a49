"""A discovery of plugins as JSON and as a table."""

from pathlib import Path

from ksched_cli.framework.discovery import Discovery, discover
from ksched_cli.framework.plugin_list import plugin_list
from ksched_cli.plugins import IN_TREE
from ksched_cli.report import configuration
from ksched_cli.report.table import EVERYTHING
from tests.report.schemas import squeezed


def discovery(tmp_path: Path) -> Discovery:
    """The in-tree plugins, and a file that does not load."""
    (tmp_path / "broken.py").write_text("import nothing_like_this\n")
    return discover(IN_TREE, (str(tmp_path / "broken.py"),))


def test_extension_points_are_in_the_order_they_run(tmp_path: Path) -> None:
    answer = plugin_list(discovery(tmp_path), {"NodeName"})
    entries = {entry.name: entry for entry in answer.plugins}
    assert entries["NodeName"].default
    assert not entries["NodePorts"].default
    assert entries["NodePorts"].extension_points == ("preFilter", "filter")


def test_kinds_that_a_plugin_makes_pods_of_are_listed() -> None:
    farm = "plugins/examples/farm.py"
    answer = plugin_list(discover(IN_TREE, (farm,)), set())
    assert [(each.kind, each.origin) for each in answer.workloads] == [("Farm.example.com", farm)]
    text = squeezed(configuration.plugins_table(answer, EVERYTHING))
    assert text[-2:] == ["WORKLOAD FROM", f"Farm.example.com {farm}"]


def test_what_does_not_load_is_listed_with_its_cause(tmp_path: Path) -> None:
    answer = plugin_list(discovery(tmp_path), set())
    (broken,) = answer.broken
    assert broken.origin.endswith("broken.py")
    text = squeezed(configuration.plugins_table(answer, EVERYTHING))
    assert text[-2] == "BROKEN CAUSE"
    assert "ModuleNotFoundError: No module named 'nothing_like_this'" in text[-1]
