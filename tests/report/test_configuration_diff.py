"""Differences between configurations as JSON, as text and as a page."""

import pytest

from ksched_cli.analysis.configuration import ConfigurationDiff
from ksched_cli.config.differences import ConfigurationChange
from ksched_cli.report.forms import Form, render
from ksched_cli.report.html.page import page_of
from ksched_cli.report.html.sections import BarsSection, TableSection
from tests.report.schemas import conforms, shown

CHANGES = (
    ConfigurationChange("", "parallelism", 16, 8),
    ConfigurationChange("night", "plugins.filter.NodePorts", True, None),
    ConfigurationChange("night", "plugins.score.NodeAffinity", 2, 5),
    ConfigurationChange("night", "args.X.list", ["a"], None),
)


def diff(
    names: tuple[str, str], changes: tuple[ConfigurationChange, ...] = CHANGES
) -> ConfigurationDiff:
    return ConfigurationDiff(changes=changes, names=names)


def test_differences_are_as_their_schema_says() -> None:
    read_back = conforms(diff(("a.yaml", "b.yaml")), "configuration_diff")
    assert read_back["changes"][0] == {"profile": "", "path": "parallelism", "from": 16, "to": 8}


def test_a_row_has_both_sides_and_whether_something_is_added_removed_or_changed() -> None:
    assert shown(diff(("a.yaml", "b.yaml"))) == [
        "4 differences once both take effect",
        "from a.yaml to b.yaml",
        "",
        "All profiles",
        "PATH a.yaml b.yaml",
        "~ parallelism 16 8",
        "",
        "Profile night",
        "PATH a.yaml b.yaml",
        "- plugins.filter.NodePorts runs",
        "~ plugins.score.NodeAffinity 2 5",
        '- args.X.list ["a"]',
    ]


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
    assert f"PATH {headers}" in shown(diff(names))


def test_no_difference_is_said() -> None:
    assert shown(diff(("a", "b"), ())) == ["Nothing differs once both take effect", "from a to b"]


def test_a_profile_that_one_side_lacks_is_added_or_removed() -> None:
    added = ConfigurationChange("night", "profile", "absent", "present")
    assert "+ profile absent present" in shown(diff(("a", "b"), (added,)))


def test_what_others_wrote_is_code_in_markdown() -> None:
    text = render(diff(("HEAD:a/c.yaml", "a/c.yaml"), CHANGES[:1]), Form.MARKDOWN)
    assert (
        text
        == """\
**`1 difference once both take effect`**\\
`from HEAD:a/c.yaml to a/c.yaml`

#### All profiles

|  | Path | `HEAD:a/c.yaml` | `a/c.yaml` |
| --- | --- | --- | --- |
| `~` | parallelism | 16 | 8 |"""
    )


def test_the_page_has_weights_as_bars() -> None:
    _, profile, weights = page_of(diff(("old/a.yaml", "old/b.yaml"))).sections
    assert isinstance(profile, TableSection)
    assert (profile.heading, profile.headers) == ("Profile night", ["", "Path", "a.yaml", "b.yaml"])
    assert isinstance(weights, BarsSection)
    assert [bar.cells for bar in weights.bars] == [
        ["NodeAffinity", "a.yaml", "2"],
        ["NodeAffinity", "b.yaml", "5"],
    ]
    assert [bar.parts[-1].width for bar in weights.bars] == [400, 1000]
    assert weights.legend == ("a.yaml", "b.yaml")
