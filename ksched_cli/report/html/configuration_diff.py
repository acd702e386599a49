"""The pages of `config diff` and `config migrate`: what differs once both take effect, and what a
migration wrote otherwise or could not carry over."""

from __future__ import annotations

from collections.abc import Sequence

from ksched_cli.config.answers import ConfigurationChange, ConfigurationDiff, ConfigurationMigration
from ksched_cli.config.migration.settle import RemarkKind
from ksched_cli.report.configuration_diff import short_names, shown
from ksched_cli.report.html.charts import bar
from ksched_cli.report.html.sections import Bars, Group, Groups, Page, Prose, Section, Table, Tile
from ksched_cli.report.table import counted

_KINDS = {
    RemarkKind.REFUSED: ("kube-scheduler refuses it", "bad"),
    RemarkKind.LOST: ("not carried over", "bad"),
    RemarkKind.DIFFERS: ("takes effect otherwise", "warn"),
    RemarkKind.CHANGED: ("written otherwise", ""),
}


def page(answer: ConfigurationDiff) -> Page:
    changes = answer.changes
    names = short_names(answer.names)
    lede = f"{answer.names[0]} and {answer.names[1]}, once both take effect"
    if not changes:
        return Page("Nothing differs", (lede,), (Tile("differences", "0", "good"),))
    by_profile: dict[str, list[ConfigurationChange]] = {}
    for change in changes:
        by_profile.setdefault(change.profile, []).append(change)
    tiles = [Tile("differences", f"{len(changes):,}", "warn")]
    sections: list[Section] = []
    for profile, own in by_profile.items():
        heading = f"Profile {profile}" if profile else "All profiles"
        rows = [(each.path, shown(each.before), shown(each.after)) for each in own]
        sections.append(Table(heading, ("Path", *names), rows, '"-": nothing there.'))
        weights = [each for each in own if each.path.startswith("plugins.score.")]
        if any(_weight(each.before) or _weight(each.after) for each in weights):
            sections.append(_weights(f"Weights that differ in {profile}", weights, names))
    return Page(counted(len(changes), "difference"), (lede,), tiles, sections)


def _weight(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def _weights(heading: str, changes: Sequence[ConfigurationChange], names: Sequence[str]) -> Bars:
    """Two bars for each plugin: before and after."""
    pairs = [
        (each.path.removeprefix("plugins.score."), _weight(each.before), _weight(each.after))
        for each in changes
    ]
    most = max(max(before, after) for _, before, after in pairs)
    bars = [
        bar((plugin, name, weight), [0] * side + [weight], names[: side + 1], most)
        for plugin, *weights in pairs
        for side, (name, weight) in enumerate(zip(names, weights, strict=True))
    ]
    return Bars(heading, ("Plugin", "File", "Weight", ""), bars)


def migration_page(answer: ConfigurationMigration) -> Page:
    title = (
        "The new file takes effect as the old one does"
        if answer.complete
        else "The new file does not take effect as the old one does"
    )
    sections: list[Section] = []
    groups = [
        Group(f"{f'line {remark.line}: ' if remark.line else ''}{remark.path}",
              "\n".join(filter(None, (remark.message, remark.hint))), text, tone)
        for kind, (text, tone) in _KINDS.items()
        for remark in answer.remarks
        if remark.kind is kind
    ]  # fmt: skip
    if groups:
        sections.append(Groups("Remarks", groups, opened=len(groups)))
    sections.append(Prose("The new file", (answer.text,), "code"))
    tiles = [
        Tile(text, f"{count:,}", tone)
        for kind, (text, tone) in _KINDS.items()
        if (count := sum(remark.kind is kind for remark in answer.remarks))
    ]
    return Page(title, (f"from {answer.origin} to {answer.target}",), tiles, sections)
