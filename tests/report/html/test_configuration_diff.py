"""The pages of `config diff` and `config migrate`."""

from ksched_cli.config.answers import ConfigurationChange, ConfigurationDiff
from ksched_cli.config.migration.migrate import ConfigurationMigration
from ksched_cli.config.migration.settle import Remark, RemarkKind
from ksched_cli.report.html.configurations import diff_page, migration_page
from ksched_cli.report.html.sections import Bars, Groups, Prose, Table

NAMES = ("old/a.yaml", "old/b.yaml")


def test_equal_configurations_say_that_nothing_differs() -> None:
    result = diff_page(ConfigurationDiff(changes=(), names=NAMES))
    assert result.title == "Nothing differs"
    assert list(result.lede) == ["old/a.yaml and old/b.yaml, once both take effect"]


def test_differences_are_tables_by_profile_and_weights_are_bars() -> None:
    changes = (
        ConfigurationChange("", "parallelism", 16, 8),
        ConfigurationChange("p", "plugins.score.NodeAffinity", 2, 5),
        ConfigurationChange("p", "plugins.filter.NodePorts", True, None),
    )
    result = diff_page(ConfigurationDiff(changes=changes, names=NAMES))
    assert result.title == "3 differences"
    shared, profile, weights = result.sections
    assert isinstance(shared, Table)
    assert (shared.heading, shared.headers) == ("All profiles", ("Path", "a.yaml", "b.yaml"))
    assert list(shared.rows) == [("parallelism", "16", "8")]
    assert isinstance(profile, Table)
    assert profile.rows[1] == ("plugins.filter.NodePorts", "runs", "-")
    assert isinstance(weights, Bars)
    assert [bar.cells for bar in weights.bars] == [
        ("NodeAffinity", "a.yaml", 2),
        ("NodeAffinity", "b.yaml", 5),
    ]
    assert [bar.parts[-1].width for bar in weights.bars] == [400, 1000]


def test_a_migration_shows_what_is_lost_before_what_is_only_written_otherwise() -> None:
    answer = ConfigurationMigration(
        origin="v1beta3",
        target="v1",
        complete=False,
        text="apiVersion: v1\n",
        remarks=(
            Remark(RemarkKind.CHANGED, "a", 3, "has a new name"),
            Remark(RemarkKind.LOST, "b", 4, "has no place in v1", "leave it out"),
        ),
    )
    result = migration_page(answer)
    assert result.title == "The new file does not take effect as the old one does"
    remarks, text = result.sections
    assert isinstance(remarks, Groups)
    assert [group.heading for group in remarks.groups] == ["line 4: b", "line 3: a"]
    assert remarks.groups[0].message == "has no place in v1\nleave it out"
    assert isinstance(text, Prose)
    assert text.paragraphs == ("apiVersion: v1\n",)
