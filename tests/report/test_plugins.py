"""A discovery of plugins as JSON, as text and as a page."""

from pathlib import Path

from ksched_cli.framework.discovery import Discovery, discover
from ksched_cli.framework.plugin_list import BrokenSource, ListedPlugin, PluginList, plugin_list
from ksched_cli.plugins import IN_TREE
from ksched_cli.report.forms import Form
from ksched_cli.report.html.page import page_of
from ksched_cli.report.html.sections import TableSection
from ksched_cli.report.limit import EVERYTHING
from tests.report.schemas import shown


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
    text = shown(answer, EVERYTHING)
    begin = text.index("Workloads")
    assert text[begin + 1 : begin + 3] == ["KIND FROM", f"Farm.example.com {farm}"]


def test_what_does_not_load_is_listed_with_its_cause(tmp_path: Path) -> None:
    answer = plugin_list(discovery(tmp_path), set())
    (broken,) = answer.broken
    assert broken.origin.endswith("broken.py")
    text = shown(answer, EVERYTHING)
    assert text[1:5] == ["1 source does not load", "", "Sources that do not load", "FROM CAUSE"]
    assert "ModuleNotFoundError: No module named 'nothing_like_this'" in text[5]


SOME = PluginList(
    plugins=(
        ListedPlugin("Fit", "in-tree", ("filter", "score"), True),
        ListedPlugin("Mine", "mine 1.0", ("score",), False),
    ),
    broken=(BrokenSource("theirs 2.0", "no module"),),
)


def test_plugins_of_the_default_profile_are_apart_from_those_that_have_to_be_enabled() -> None:
    assert shown(SOME, EVERYTHING)[7:] == [
        "In the default profile",
        "PLUGIN EXTENSION POINTS",
        "Fit filter, score",
        "",
        "Others",
        "PLUGIN FROM EXTENSION POINTS",
        "Mine mine 1.0 score",
        "A configuration has to enable them.",
    ]
    assert shown(SOME, form=Form.NAME) == ["Fit", "Mine"]


def test_plugins_have_a_mark_at_each_extension_point_on_the_page() -> None:
    page = page_of(SOME)
    assert page.title == "2 plugins, 1 of them run by default"
    tables = [section for section in page.sections if isinstance(section, TableSection)]
    assert [(table.headers, [*table.rows]) for table in tables] == [
        (["From", "Cause"], [["theirs 2.0", "no module"]]),
        (["Plugin", "filter", "score"], [["Fit", "\u25cf", "\u25cf"]]),
        (["Plugin", "score", "From"], [["Mine", "\u25cf", "mine 1.0"]]),
    ]
