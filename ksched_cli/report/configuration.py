"""Answers of `config` and `plugins`: what takes effect, what differs, what a migration changed, and
which plugins there are."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ksched_cli.analysis.configuration import (
    ConfigurationDiff,
    EffectiveConfiguration,
)
from ksched_cli.config.differences import ConfigurationChange
from ksched_cli.config.migration.migrate import ConfigurationMigration
from ksched_cli.config.migration.settle import Remark, RemarkKind
from ksched_cli.framework.plugin_list import ListedPlugin, PluginList
from ksched_cli.framework.registry import IN_TREE_ORIGIN
from ksched_cli.kube.extension_points import POINT_KEYS
from ksched_cli.report.view import (
    Bars,
    Block,
    Column,
    FileText,
    Groups,
    Kind,
    Line,
    Medium,
    Section,
    Table,
    Text,
    Tile,
    Tone,
    View,
    bars,
    table,
)
from ksched_cli.report.words import counted, enumerated, grouped, verb

# -- config show ----------------------------------------------------------------------------------

_MARKS = {"default": "", "multiPoint": "*"}
_MEANING_OF_MARKS = "* named under the file's multiPoint, + named at the point itself"


def view(answer: EffectiveConfiguration) -> View:
    """Return per profile its plugins by point, then their args; the extenders last."""
    profiles = [*answer.profiles]
    first, longest = answer.pod_initial_backoff_seconds, answer.pod_max_backoff_seconds
    sections: list[Section] = []
    for name in profiles:
        weights, origins = answer.weights[name], answer.origin[name]
        # Marks say where a plugin is named; at score, weights follow.
        rows = []
        for point, plugins in answer.profiles[name].items():
            texts = []
            for plugin in plugins:
                weight = weights.get(plugin) if point == "score" else None
                mark = _MARKS.get(origins[point][plugin], "+")
                texts.append(f"{plugin}{mark} ({weight})" if weight else f"{plugin}{mark}")
            rows.append((point, ", ".join(texts) or "-"))
        sampling = answer.percentage_of_nodes_to_score[name] or "adaptive"
        note = f"percentageOfNodesToScore: {sampling}"
        if any({*point.values()} - {"default"} for point in origins.values()):
            note += f"; {_MEANING_OF_MARKS}"
        sections += [
            Table(
                heading=f"Profile {name}",
                columns=(Column("Point"), Column("Plugins, in order (weight)")),
                rows=rows,
                note=note,
            ),
            bars(
                f"Weights in {name}",
                (Column("Plugin"), Column("Weight", Kind.NUMBER)),
                [*weights.items()],
                ("weight",),
            ),
            table(
                f"Args in {name}",
                answer.args[name].items(),
                (Column("Plugin"), lambda each: each[0]),
                (Column("Args"), lambda each: _settings(each[1])),
            ),
        ]
    return View(
        title=f"{counted(len(profiles), 'profile')}: {enumerated(profiles)}",
        tiles=[
            Tile("parallelism", f"{answer.parallelism:,}"),
            Tile("initial backoff", f"{first} s"),
            Tile("longest backoff", f"{longest} s"),
            Tile("extenders", f"{len(answer.extenders):,}"),
        ],
        sections=[
            Text(
                lines=[f"parallelism {answer.parallelism:,}, pod backoff {first} s to {longest} s"],
                on=Medium.TEXT,
            ),
            *sections,
            table(
                "Extenders",
                answer.extenders,
                (Column("URL"), lambda each: each.get("urlPrefix", "")),
                (Column("Settings"), lambda each: _settings(each, hidden=("urlPrefix",))),
            ),
        ],
    )


def _settings(settings: Any, hidden: tuple[str, ...] = ("apiVersion", "kind")) -> str:
    """Return plain data on one line, with spaces where it may wrap."""
    if not isinstance(settings, Mapping):
        return json.dumps(settings, ensure_ascii=False)
    return ", ".join(
        f"{key}: {json.dumps(value, ensure_ascii=False)}"
        for key, value in settings.items()
        if key not in hidden
    )


# -- config diff ----------------------------------------------------------------------------------


def diff_view(answer: ConfigurationDiff) -> View:
    """Return a table of differences for each profile; on a page, the weights that differ as
    bars."""
    changes = answer.changes
    # The names are paths, which are shown without the folders that both are in.
    try:
        folder = os.path.commonpath([os.path.dirname(name) for name in answer.names])
    except ValueError:  # a path from the root beside one that is not
        folder = ""
    names = tuple(os.path.relpath(name, folder) if folder else name for name in answer.names)
    before, after = (Column(name, named=True) for name in names)
    sections: list[Section] = []
    for profile, own in grouped((change.profile, change) for change in changes).items():
        differences = table(
            f"Profile {profile}" if profile else "All profiles",
            own,
            (Column("Path"), lambda each: each.path),
            (before, lambda each: _value(each.before)),
            (after, lambda each: _value(each.after)),
            marks=[*map(_mark, own)],
        )
        weights = [each for each in own if each.path.startswith("plugins.score.")]
        pairs = [(_weight(each.before), _weight(each.after)) for each in weights]
        # Each plugin has two bars, each as long as its weight.
        sides = [
            (each.path.removeprefix("plugins.score."), name, weight)
            for each, pair in zip(weights, pairs, strict=True)
            for name, weight in zip(names, pair, strict=True)
        ]
        bars_of_weights = Bars(
            heading=f"Weights that differ in {profile}",
            columns=[Column("Plugin"), Column("File"), Column("Weight", Kind.NUMBER)],
            rows=sides if any(map(any, pairs)) else (),
            values=[values for old, new in pairs for values in ((old, 0), (0, new))],
            legend=names,
        )
        sections += [differences, bars_of_weights]
    count = counted(len(changes), "difference") if changes else "Nothing differs"
    return View(
        title=f"{count} once both take effect",
        tone=Tone.WARN if changes else Tone.GOOD,
        lines=[Line(f"from {answer.names[0]} to {answer.names[1]}", Tone.SOFT)],
        tiles=[Tile("differences", f"{len(changes):,}", "warn" if changes else "good")],
        sections=sections,
    )


def _mark(change: ConfigurationChange) -> str:
    """Return whether something is added, removed or changed."""
    sides = change.before, change.after
    if change.path == "profile":
        return "-" if sides[0] == "present" else "+"
    return "+" if sides[0] is None else "-" if sides[1] is None else "~"


def _value(value: Any) -> str | None:
    """Return plain data on one line; None for a side that has nothing there."""
    if value is None or value is True:
        return value and "runs"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _weight(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


# -- config migrate -------------------------------------------------------------------------------

_REMARKS = {
    RemarkKind.REFUSED: ("kube-scheduler refuses it", Tone.BAD),
    RemarkKind.LOST: ("not carried over", Tone.BAD),
    RemarkKind.DIFFERS: ("takes effect otherwise", Tone.WARN),
    RemarkKind.CHANGED: ("written otherwise", Tone.NONE),
}


def migration_view(answer: ConfigurationMigration) -> View:
    """Return whether the new file takes effect as the old one did; what could not be carried over,
    then what is only written otherwise; the new file."""
    counts = Counter(remark.kind for remark in answer.remarks)
    takes_effect = "takes effect" if answer.complete else "does not take effect"
    blocks = [
        Block(
            heading=f"line {remark.line}: {remark.path}" if remark.line else remark.path,
            state=state,
            tone=tone,
            lines=(remark.message, remark.hint),
        )
        for kind, (state, tone) in _REMARKS.items()
        for remark in answer.remarks
        if remark.kind is kind
    ]
    return View(
        title=f"The new file {takes_effect} as the old one does",
        tone=Tone.GOOD if answer.complete else Tone.BAD,
        lines=[Line(f"from {answer.origin} to {answer.target}", Tone.SOFT)],
        tiles=[
            Tile(state, f"{counts[kind]:,}", tone)
            for kind, (state, tone) in _REMARKS.items()
            if counts[kind]
        ],
        sections=[
            Groups(heading="Remarks", blocks=blocks, opened=len(blocks)),
            FileText(heading="The new file", text=answer.text),
        ],
    )


def migrated_file(answer: ConfigurationMigration) -> str:
    """Return the new file, which is what the command prints."""
    return answer.text.removesuffix("\n")


def is_warning(remark: Remark) -> bool:
    """Return whether the new file does not take effect as the old one did."""
    return remark.kind is not RemarkKind.CHANGED


def remark_line(remark: Remark, source_name: str) -> str:
    """Return a remark as `FILE:LINE: MESSAGE; HINT`; what is about the new file has its path
    there."""
    if remark.kind is RemarkKind.REFUSED:
        place = f"the new file, line {remark.line}" if remark.line else "the new file"
        begin = f"kube-scheduler refuses {place}: {remark.path}"
    elif remark.kind is RemarkKind.DIFFERS:
        begin = f"the new file takes effect otherwise: {remark.path}"
    else:
        begin = f"{source_name}:{remark.line}" if remark.line else source_name
    hint = f"; {remark.hint}" if remark.hint else ""
    return f"{begin}: {remark.message}{hint}"


# -- plugins --------------------------------------------------------------------------------------

_RUNS = "\u25cf"


def plugins_view(answer: PluginList) -> View:
    """Return the sources that do not load, the plugins of the default profile, the others, and the
    kinds of workloads."""
    default = [plugin for plugin in answer.plugins if plugin.default]
    others = [plugin for plugin in answer.plugins if not plugin.default]
    broken = len(answer.broken)
    loads = verb(broken, "source does", "sources do")
    return View(
        title=f"{counted(len(answer.plugins), 'plugin')}, {len(default):,} of them run by default",
        lines=[Line(f"{broken:,} {loads} not load" if broken else "", Tone.BAD)],
        tiles=[
            Tile("in the default profile", f"{len(default):,}"),
            Tile("others", f"{len(others):,}"),
            Tile("that do not load", f"{broken:,}", "bad" if broken else "good"),
        ],
        sections=[
            table(
                "Sources that do not load",
                answer.broken,
                (Column("From"), lambda each: each.origin),
                (Column("Cause"), lambda each: each.cause),
            ),
            *_plugins("In the default profile", default),
            *_plugins("Others", others, "A configuration has to enable them."),
            table(
                "Workloads",
                answer.workloads,
                (Column("Kind"), lambda each: each.kind),
                (Column("From"), lambda each: each.origin),
                note="Plugins create pods from these kinds, beside those that ksched knows.",
            ),
        ],
        names=lambda: [plugin.name for plugin in answer.plugins],
    )


def _plugins(heading: str, plugins: Sequence[ListedPlugin], note: str = "") -> Iterator[Table]:
    """Yield a row per plugin: in a text its extension points, on a page a column for each of
    them."""
    name: Any = Column("Plugin"), lambda each: each.name
    is_in_tree = all(each.origin == IN_TREE_ORIGIN for each in plugins)
    origin: Any = () if is_in_tree else ((Column("From"), lambda each: each.origin),)
    listed = Column("Extension points"), lambda each: ", ".join(each.extension_points)
    yield table(heading, plugins, name, *origin, listed, note=note, on=Medium.TEXT)
    used = {point for each in plugins for point in each.extension_points}
    points: Any = [
        (Column(point), lambda each, point=point: _RUNS * (point in each.extension_points))
        for point in POINT_KEYS
        if point in used
    ]
    yield table(heading, plugins, name, *points, *origin, note=note, on=Medium.PAGE)
