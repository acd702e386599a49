"""Differences between configurations as JSON and as a table."""

import pytest

from ksched_cli.config.answers import ConfigurationChange, ConfigurationDiff
from ksched_cli.report.configuration import diff_table
from ksched_cli.report.table import Limit
from tests.report.schemas import conforms, squeezed

CHANGES = (
    ConfigurationChange("", "parallelism", 16, 8),
    ConfigurationChange("night", "plugins.filter.NodePorts", True, None),
    ConfigurationChange("night", "args.X.list", ["a"], None),
)


def diff(
    names: tuple[str, str], changes: tuple[ConfigurationChange, ...] = CHANGES
) -> ConfigurationDiff:
    return ConfigurationDiff(changes=changes, names=names)


def test_differences_are_as_their_schema_says() -> None:
    read_back = conforms(diff(("a.yaml", "b.yaml")), "configuration_diff")
    assert read_back["changes"][0] == {"profile": "", "path": "parallelism", "from": 16, "to": 8}


def test_a_row_has_both_sides() -> None:
    lines = squeezed(diff_table(diff(("a.yaml", "b.yaml")), Limit()))
    assert lines[0] == "PROFILE PATH a.yaml b.yaml"
    assert "(all) parallelism 16 8" in lines
    assert "night plugins.filter.NodePorts runs -" in lines
    assert 'night args.X.list ["a"] -' in lines
    assert lines[-1] == "3 differences"


@pytest.mark.parametrize(
    ("names", "headers"),
    [
        (("/a/b/old.yaml", "/a/b/new.yaml"), "old.yaml new.yaml"),
        (("a/old.yaml", "a/b/new.yaml"), "old.yaml b/new.yaml"),
        (("a/x.yaml", "b/x.yaml"), "a/x.yaml b/x.yaml"),
        (("/a/x.yaml", "x.yaml"), "/a/x.yaml x.yaml"),
    ],
)
def test_sides_are_named_without_the_folders_that_both_are_in(
    names: tuple[str, str], headers: str
) -> None:
    assert squeezed(diff_table(diff(names), Limit()))[0] == f"PROFILE PATH {headers}"


def test_no_difference_is_said() -> None:
    assert diff_table(diff(("a", "b"), ()), Limit()) == "nothing differs once both take effect"
