"""The page of `plugins`."""

from ksched_cli.framework.plugin_list import BrokenSource, ListedPlugin, PluginList
from ksched_cli.report.html.configurations import plugins_page
from ksched_cli.report.html.sections import Groups, Table


def test_plugins_have_a_mark_at_each_extension_point_and_broken_sources_come_first() -> None:
    answer = PluginList(
        plugins=(
            ListedPlugin("Fit", "in-tree", ("filter", "score"), True),
            ListedPlugin("Mine", "mine 1.0", ("score",), False),
        ),
        broken=(BrokenSource("theirs 2.0", "no module"),),
    )
    result = plugins_page(answer)
    assert result.title == "2 plugins, 1 of them run by default"
    broken, default, others = result.sections
    assert isinstance(broken, Groups)
    assert (broken.groups[0].heading, broken.groups[0].message) == ("theirs 2.0", "no module")
    assert isinstance(default, Table)
    assert (default.headers, default.rows) == (
        ("Plugin", "filter", "score"),
        [("Fit", "\u25cf", "\u25cf")],
    )
    assert isinstance(others, Table)
    assert (others.headers, others.rows) == (
        ("Plugin", "score", "From"),
        [("Mine", "\u25cf", "mine 1.0")],
    )
