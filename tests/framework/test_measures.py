"""Plugins that add figures to the rows of a sweep."""

from pathlib import Path

from ksched_cli.framework.discovery import discover
from ksched_cli.framework.interface import Measures, points_of
from ksched_cli.plugins import IN_TREE


def test_measuring_is_no_extension_point() -> None:
    assert points_of(Measures) == frozenset()


def test_a_plugin_that_says_it_measures_and_does_not_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "silent.py"
    path.write_text(
        "from ksched_cli.api import SUCCESS, FilterPlugin, Measures\n"
        "class Silent(FilterPlugin, Measures):\n"
        "    name = 'Silent'\n"
        "    def filter(self, state, pod, node):\n"
        "        return SUCCESS\n"
    )
    (broken,) = discover(IN_TREE, [str(path)]).broken
    assert broken.cause == "Silent has no metrics"
