"""The pages about configurations, plugins and expectations."""

from __future__ import annotations

from collections.abc import Sequence

from ksched_cli.analysis.expectations import CaseResult, ExpectationsResult
from ksched_cli.config.answers import (
    ConfigurationChange,
    ConfigurationDiff,
    EffectiveConfiguration,
)
from ksched_cli.config.migration.migrate import ConfigurationMigration
from ksched_cli.config.migration.settle import RemarkKind
from ksched_cli.framework.plugin_list import ListedPlugin, PluginList
from ksched_cli.framework.registry import IN_TREE_ORIGIN
from ksched_cli.kube.extension_points import POINT_KEYS
from ksched_cli.report.configuration import (
    MEANING_OF_MARKS,
    args_rows,
    extender_rows,
    has_marks,
    marked_plugins,
    short_names,
    shown,
)
from ksched_cli.report.html.charts import bar
from ksched_cli.report.html.columns import Kind, column
from ksched_cli.report.html.sections import (
    Bars,
    Grid,
    Group,
    Groups,
    Page,
    Prose,
    Section,
    Table,
    Tile,
    present,
    tally,
)
from ksched_cli.report.table import counted, grouped

# -- config show -----------------------------------------------------------------------------------


def configuration_page(answer: EffectiveConfiguration) -> Page:
    """The page of an effective configuration: plugins by extension point, weights, args."""
    profiles = answer.profiles
    tiles = [
        Tile("parallelism", f"{answer.parallelism:,}"),
        Tile("initial backoff", f"{answer.pod_initial_backoff_seconds} s"),
        Tile("longest backoff", f"{answer.pod_max_backoff_seconds} s"),
        Tile("extenders", f"{len(answer.extenders):,}"),
    ]
    sections: list[Section] = []
    for name in profiles:
        percentage = answer.percentage_of_nodes_to_score[name] or "adaptive"
        note = f"percentageOfNodesToScore: {percentage}"
        rows = [
            (point, ", ".join(marked_plugins(answer, name, point).values()) or "-")
            for point in profiles[name]
        ]
        if has_marks(answer, name):
            note += f"; {MEANING_OF_MARKS}"
        sections.append(Table(f"Profile {name}", ("Point", "Plugins, in order"), rows, note))
        weights = [*answer.weights[name].items()]
        sections += present(
            tally(f"Weights in {name}", ("Plugin", "Weight"), weights, "weight"),
            Table(f"Args in {name}", ("Plugin", "Args"), args_rows(answer, name)),
        )
    sections += present(Table("Extenders", ("URL", "Settings"), extender_rows(answer)))
    title = f"{counted(len(profiles), 'profile')}: {', '.join(profiles)}"
    return Page(title, (), tiles, sections)


# -- config diff, config migrate -------------------------------------------------------------------


_KINDS = {
    RemarkKind.REFUSED: ("kube-scheduler refuses it", "bad"),
    RemarkKind.LOST: ("not carried over", "bad"),
    RemarkKind.DIFFERS: ("takes effect otherwise", "warn"),
    RemarkKind.CHANGED: ("written otherwise", ""),
}


def diff_page(answer: ConfigurationDiff) -> Page:
    changes = answer.changes
    names = short_names(answer.names)
    lede = f"{answer.names[0]} and {answer.names[1]}, once both take effect"
    if not changes:
        return Page("Nothing differs", (lede,), (Tile("differences", "0", "good"),))
    by_profile = grouped((change.profile, change) for change in changes)
    tiles = [Tile("differences", f"{len(changes):,}", "warn")]
    sections: list[Section] = []
    for profile, own in by_profile.items():
        heading = f"Profile {profile}" if profile else "All profiles"
        rows = [(each.path, shown(each.before), shown(each.after)) for each in own]
        sections.append(Table(heading, ("Path", *names), rows, '"-": nothing there.'))
        weights = [each for each in own if each.path.startswith("plugins.score.")]
        if any(_weight(each.before) or _weight(each.after) for each in weights):
            sections.append(_changed_weights(f"Weights that differ in {profile}", weights, names))
    return Page(counted(len(changes), "difference"), (lede,), tiles, sections)


def _weight(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def _changed_weights(
    heading: str, changes: Sequence[ConfigurationChange], names: Sequence[str]
) -> Bars:
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
    groups = [
        Group(f"{f'line {remark.line}: ' if remark.line else ''}{remark.path}",
              "\n".join(filter(None, (remark.message, remark.hint))), text, tone)
        for kind, (text, tone) in _KINDS.items()
        for remark in answer.remarks
        if remark.kind is kind
    ]  # fmt: skip
    tiles = [
        Tile(text, f"{count:,}", tone)
        for kind, (text, tone) in _KINDS.items()
        if (count := sum(remark.kind is kind for remark in answer.remarks))
    ]
    sections = present(
        Groups("Remarks", groups, opened=len(groups)),
        Prose("The new file", (answer.text,), "code"),
    )
    return Page(title, (f"from {answer.origin} to {answer.target}",), tiles, sections)


# -- plugins ---------------------------------------------------------------------------------------


_RUNS = "\u25cf"


def plugins_page(answer: PluginList) -> Page:
    """The page of `plugins`: which plugins there are, and at which extension points they run."""
    default = [plugin for plugin in answer.plugins if plugin.default]
    others = [plugin for plugin in answer.plugins if not plugin.default]
    tiles = [
        Tile("in the default profile", f"{len(default):,}"),
        Tile("others", f"{len(others):,}"),
        Tile("that do not load", f"{len(answer.broken):,}", "bad" if answer.broken else "good"),
    ]
    broken = [Group(each.origin, each.cause, "broken", "bad") for each in answer.broken]
    kinds = [(each.kind, each.origin) for each in answer.workloads]
    about = "Kinds from which plugins create pods, in addition to those that ksched knows."
    sections = present(
        Groups("Sources that do not load", broken, opened=len(broken)),
        _points("In the default profile", default),
        _points("Others", others, "A configuration has to enable them."),
        Table("Workloads", ("Kind", "From"), kinds, about),
    )
    title = f"{counted(len(answer.plugins), 'plugin')}, {len(default):,} of them run by default"
    return Page(title, (), tiles, sections)


def _points(heading: str, plugins: Sequence[ListedPlugin], note: str = "") -> Table:
    """A row per plugin, a column per extension point that one of them extends."""
    points = [
        point for point in POINT_KEYS if any(point in each.extension_points for each in plugins)
    ]
    rows = [
        (each.name, *(_RUNS if point in each.extension_points else "" for point in points))
        for each in plugins
    ]
    headers: tuple[str, ...] = ("Plugin", *points)
    if any(each.origin != IN_TREE_ORIGIN for each in plugins):
        headers = (*headers, "From")
        rows = [(*row, each.origin) for row, each in zip(rows, plugins, strict=True)]
    return Table(heading, headers, rows, note)


# -- test ------------------------------------------------------------------------------------------


def expectations_page(answer: ExpectationsResult) -> Page:
    """The page of `test`: which expectations hold, and why the others do not."""
    summary = answer.summary
    tiles = [
        Tile("passed", f"{summary.passed:,}", "good" if summary.passed else ""),
        Tile("failed", f"{summary.failed:,}", "bad" if summary.failed else ""),
    ]
    failed = [_failed_case(case) for case in answer.cases if not case.passed]
    columns = [
        column("Expectation", [case.name for case in answer.cases]),
        column("Result", ["passed" if case.passed else "failed" for case in answer.cases]),
        column("File", [case.file for case in answer.cases]),
        column("Line", [case.line for case in answer.cases], Kind.NUMBER),
        column("Kubernetes", [case.kubernetes_version for case in answer.cases]),
    ]
    sections = present(
        Groups("Expectations that fail", failed, opened=len(failed)),
        _files_of_cases(answer),
        Grid("Table of expectations", "cases", columns),
    )
    return Page(_expectations_title(answer), (), tiles, sections)


def _expectations_title(answer: ExpectationsResult) -> str:
    count, failed = len(answer.cases), answer.summary.failed
    if not count:
        return "No file has an expectation"
    total = counted(count, "expectation")
    if failed:
        return f"{failed:,} of {total} {'fails' if failed == 1 else 'fail'}"
    return f"All of {total} hold" if count > 1 else "The expectation holds"


def _failed_case(case: CaseResult) -> Group:
    place = f"{case.file}:{case.line}" if case.line else case.file
    command = (f"Look into it: {case.command}",) if case.command else ()
    return Group(case.name, case.message, "failed", "bad", names=command, lede=(place,))


def _files_of_cases(answer: ExpectationsResult) -> Bars:
    """A bar for each file, where there are several."""
    counts: dict[str, list[int]] = {}
    for case in answer.cases:
        counts.setdefault(case.file, [0, 0])[not case.passed] += 1
    most = max(map(sum, counts.values()), default=0)
    names = ("passed", "failed")
    several = counts.items() if len(counts) > 1 else ()
    bars = [bar((file, *own), own, names, most) for file, own in several]
    return Bars("By file", ("File", "Passed", "Failed", ""), bars, names)
