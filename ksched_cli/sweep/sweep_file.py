"""Reads a file of kind Sweep, and the parts that a file of kind Tune has too."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

from msgspec import UNSET, Meta, UnsetType

from ksched_cli.kube.file_parts import FilePart, Text, Texts
from ksched_cli.run.axes import changes_label, configuration_label
from ksched_cli.run.file_settings import settings_type
from ksched_cli.run.inputs import code_from
from ksched_cli.run.patches import parse_path
from ksched_cli.run.run import SETTINGS, ChangeSource, Patch, Run, setting_of
from ksched_cli.scenario.file import AppliedObjects, ChangeEntry, read_change
from ksched_cli.scenario.own_document import OwnDocument, read_own_document
from ksched_cli.scenario.prices import is_price_file
from ksched_cli.sweep.plan import (
    AUTOSCALERS,
    CHANGES,
    CONFIGURATIONS,
    PATCHES,
    PLUGINS,
    PRICES,
    SEEDS,
    STATES,
    TIMELINES,
    VERSIONS,
    Place,
    StudyPlan,
    SweepAxis,
    Value,
)

_OF_REPLAYS = (AUTOSCALERS, PRICES, "until", "evictAtOnce")
_NONE = "none"


def _value_or_list(value: Any) -> Any:
    """The type of a setting: a value for all runs, or a list of values, which is an axis."""
    return value | Annotated[tuple[value, ...], Meta(min_length=1)]


if TYPE_CHECKING:
    SettingAxes = FilePart
else:
    SettingAxes = settings_type("SettingAxes", type_of=_value_or_list)


class NamedStates(FilePart, frozen=True, kw_only=True):
    """A state that is read from several files.

    files: a path, or several, relative to this file
    """

    name: Text
    files: Text | Texts


class NamedFile(FilePart, frozen=True, kw_only=True):
    """A file and its name in results."""

    name: Text
    file: Text


class NamedConfiguration(FilePart, frozen=True, kw_only=True):
    """A configuration and its name in results."""

    name: Text
    file: Text | UnsetType = UNSET


class NamedChanges(FilePart, frozen=True, kw_only=True):
    """Changes that are made together."""

    name: Text
    changes: tuple[ChangeEntry, ...] | UnsetType = UNSET
    scenario: Text | UnsetType = UNSET


class NamedPrices(FilePart, frozen=True, kw_only=True):
    """Prices that apply together."""

    name: Text
    prices: Texts


class PatchValues(FilePart, frozen=True, kw_only=True):
    """A path in the configurations, and the values that it takes.

    path: Keys with dots between them, items of lists in brackets by index or name, as
            profiles[0].plugins.multiPoint.enabled[NodeResourcesFit].weight.
    """

    path: Text
    name: Text | UnsetType = UNSET
    values: Annotated[tuple[Any, ...], Meta(min_length=1)]


States: TypeAlias = Text | Annotated[tuple[Text | NamedStates, ...], Meta(min_length=1)]
Files: TypeAlias = Annotated[tuple[Text | NamedFile, ...], Meta(min_length=1, title="files")]
# msgspec sorts the values.
Goal: TypeAlias = Annotated[
    Literal["minimize", "maximize"], Meta(extra_json_schema={"enum": ["minimize", "maximize"]})
]
PluginSet: TypeAlias = Text | tuple[Text, ...]
Seeds: TypeAlias = Annotated[
    Annotated[int, Meta(ge=1, le=1_000_000)] | Annotated[tuple[int, ...], Meta(min_length=1)],
    Meta(
        title="seeds",
        description="How many draws among equally good nodes, or the seeds of each; without it the"
        " first by name.",
    ),
]


class StudyDocument(SettingAxes, frozen=True, kw_only=True):
    """What sweeps and searches have in common.

    states: a path, or a list of paths and of {name, files}; relative to this file
    changes: a list of changes in kubectl's words, {name, changes} and {name, scenario: FILE}, each
            done to the state on its own; none, or a name alone, changes nothing
    timelines: Paths, or {name, file}; each run replays one, as `ksched replay` does.
    prices: What nodes cost in replays, in the form of --price: NODE=N, LABEL=VALUE=N or a file;
            {name, prices} for several together.
    autoscalers: Paths, or {name, file}, or none: what adds nodes in replays.
    """

    api_version: Literal["ksched/v1"]
    states: States
    changes: Annotated[tuple[Text | NamedChanges, ...], Meta(min_length=1)] | UnsetType = UNSET
    seeds: Seeds | UnsetType = UNSET
    timelines: Files | UnsetType = UNSET
    prices: Annotated[tuple[Text | NamedPrices, ...], Meta(min_length=1)] | UnsetType = UNSET
    autoscalers: Files | UnsetType = UNSET


class SweepDocument(StudyDocument, frozen=True, kw_only=True):
    """Many runs, as axes.

    configurations: a list of paths (FILE, or FILE#NAME where a file holds several) and of {name,
            file}; without file it is the default configuration
    patches: Each a path in the configurations, and the values that it takes.
    kubernetes_versions: Whose rules, as "1.34"; else as every command finds out.
    plugins: Each a set of plugins as --plugin takes them, MODULE:NAME or FILE.py relative to this
            file; an empty list for none.
    combine: product: every combination. zip: the first of every axis together, then the second;
            axes of a single value go with all, and every row with every seed.
    metrics: What the result compares, and which way is better: pending, evicted, nodesUsed,
            utilization.cpu.stddev, …, of replays wait.mean, wait.p99, jobs.completionTime.mean,
            nodeHours, pendingHours, …, or a metric of a plugin or of --metric.
    """

    kind: Literal["Sweep"]
    configurations: (
        Annotated[tuple[Text | NamedConfiguration, ...], Meta(min_length=1)] | UnsetType
    ) = UNSET
    patches: tuple[PatchValues, ...] = ()
    kubernetes_versions: Texts | UnsetType = UNSET
    plugins: Annotated[tuple[PluginSet, ...], Meta(min_length=1)] | UnsetType = UNSET
    combine: Literal["product", "zip"] = "product"
    metrics: Annotated[dict[str, Goal], Meta(min_length=1)] | UnsetType = UNSET


@dataclass(frozen=True, slots=True)
class SweepFile:
    """metrics: by name, minimize or maximize; none where the file names none"""

    document: OwnDocument
    plan: StudyPlan
    metrics: Mapping[str, str]


def hint_of(kind: str) -> str:
    """What a document of a kind begins with."""
    return f"Expected apiVersion: ksched/v1, kind: {kind}, and `states`; docs/sweeps.md has more."


def read_sweep(path: str, base: Run) -> SweepFile:
    """base: what holds of all runs where the file says nothing else. Raises InputError with line
    and column, UsageError for axes that do not fit together."""
    document, data = read_own_document(path, SweepDocument, hint_of("Sweep"))
    plan = plan_of(document, data, base)
    plan.check()
    return SweepFile(document, plan, data.metrics or {})


def plan_of(document: OwnDocument, data: StudyDocument, base: Run) -> StudyPlan:
    """The runs of a file, of either kind. Raises InputError with line and column."""
    for key in _OF_REPLAYS:
        if data.given(key) and data.timelines is UNSET:
            raise document.error("requires `timelines`", key)
    settings = tuple(key for key in SETTINGS if data.given(key) is not None)
    axes = [
        SweepAxis(STATES, unique(document, state_values(document, data.states, STATES))),
        *_path_axis(document, data, TIMELINES, "timeline"),
        _axis(CHANGES, unique(document, _change_values(document, data)), changes_label(base)),
    ]
    values: list[Value] = []
    for index, entry in enumerate(data.given(PLUGINS) or ()):
        texts = [entry] if isinstance(entry, str) else entry
        plugins = tuple(code_from(text, document.from_here) for text in texts)
        fields, shown = {PLUGINS: plugins}, {PLUGINS: tuple(texts)}
        values.append(Value(", ".join(texts) or _NONE, fields, shown, (PLUGINS, index)))
    axes.append(_axis(PLUGINS, values, ", ".join(base.plugins) or _NONE))
    versions = (
        Value(minor, {"kubernetes_version": minor}, place=place)
        for key in (VERSIONS, "kubernetesVersion")
        for minor, place in _listed(data, key)
    )
    axes.append(_axis(VERSIONS, versions, base.kubernetes_version or None))
    for key in settings:
        field, values = SETTINGS[key], []
        for value, place in _listed(data, key):
            own = setting_of(field, value, document.from_here)
            label = own if key == "until" else value
            values.append(Value(label, {field.name: own}, place=place))
        axes.append(SweepAxis(key, tuple(values)))
    axes += _path_axis(document, data, CONFIGURATIONS, "configuration")
    if not data.given(CONFIGURATIONS):
        # There is one configuration: that which is tuned, or the default one.
        entries = filter(None, [data.given("configuration")])
        paths = path_values(document, entries, "configuration", "configuration")
        axes.append(_axis(CONFIGURATIONS, paths, configuration_label(base)))
    axes += _path_axis(document, data, AUTOSCALERS, "autoscaler")
    # Each value of the axis of prices is one text of --price, or several.
    values = []
    for index, entry in enumerate(data.prices or ()):
        name, prices = (entry, (entry,)) if isinstance(entry, str) else (entry.name, entry.prices)
        own = (document.from_here(text) if is_price_file(text) else text for text in prices)
        fields, shown = {PRICES: tuple(own)}, {PRICES: (name,)}
        values.append(Value(name, fields, shown, (PRICES, index)))
    axes += [SweepAxis(PRICES, unique(document, values))] if values else []
    axes += _patch_axes(document, data)
    seeds = seed_values(None if data.seeds is UNSET else data.seeds, SEEDS)
    axes.append(SweepAxis(SEEDS, tuple(seeds)))
    return StudyPlan(base, tuple(axes), data.given("combine") == "zip", settings)


def _axis(key: str, values: Iterable[Value], default: Any) -> SweepAxis:
    """default: the label where the file has no values, and the base's counts"""
    return SweepAxis(key, tuple(values) or (Value(default),))


def state_values(document: OwnDocument, entries: States, *place: str) -> Iterator[Value]:
    for index, entry in enumerate([entries] if isinstance(entries, str) else entries):
        name, files = (entry, entry) if isinstance(entry, str) else (entry.name, entry.files)
        states = tuple(map(document.from_here, [files] if isinstance(files, str) else files))
        yield Value(name, {"states": states}, {"states": (name,)}, (*place, index))


def path_values(
    document: OwnDocument,
    entries: Iterable[str | NamedFile | NamedConfiguration],
    attribute: str,
    *place: str,
) -> Iterator[Value]:
    """attribute: of the Run"""
    for index, entry in enumerate(entries):
        name = shown = entry if isinstance(entry, str) else entry.name
        file = entry if isinstance(entry, str) else entry.file or ""
        if entry == _NONE and attribute == "autoscaler":
            shown = file = ""
        path = document.from_here(file)
        yield Value(name, {attribute: path}, {attribute: shown}, (*place, index))


def _path_axis(
    document: OwnDocument, data: StudyDocument, key: str, attribute: str
) -> list[SweepAxis]:
    entries = data.given(key)
    if not entries:
        return []
    return [SweepAxis(key, unique(document, path_values(document, entries, attribute, key)))]


def _change_values(document: OwnDocument, data: StudyDocument) -> Iterator[Value]:
    """Yield the values of the axis of changes. Raises InputError with line and column."""
    for index, entry in enumerate(data.changes or ()):
        place: Place = (CHANGES, index)
        name = entry if isinstance(entry, str) else entry.name
        if entry == _NONE:
            sources = []
        elif isinstance(entry, str):
            sources = [_change(document, entry, place)]
        elif entry.scenario and entry.changes is not UNSET:
            raise document.error("has both changes and a scenario; keep one of them", *place)
        elif entry.scenario:
            sources = [ChangeSource(scenario=document.from_here(entry.scenario))]
        else:
            lines = enumerate(entry.changes or ())
            sources = [_change(document, line, (*place, CHANGES, n)) for n, line in lines]
        fields, shown = {CHANGES: tuple(sources)}, {CHANGES: (ChangeSource(line=name),)}
        yield Value(name, fields, shown, place)


def _change(document: OwnDocument, entry: str | AppliedObjects, place: Place) -> ChangeSource:
    """Read a change. Raises InputError for anything that is not a change, with line and column."""
    with document.at(*place):
        read_change(entry, "", document.folder, document.name)
    if isinstance(entry, str):
        return ChangeSource(line=entry, folder=str(document.folder))
    return ChangeSource(apply=entry.apply)


def _listed(data: StudyDocument, key: str) -> Iterator[tuple[Any, Place]]:
    """Yield the value of a key, or those of its list, with their places."""
    value = data.given(key)
    if isinstance(value, tuple):
        yield from ((item, (key, index)) for index, item in enumerate(value))
    elif value is not None:
        yield value, (key,)


def path_of(document: OwnDocument, text: str, *place: str | int) -> str:
    """Return a path in a configuration. Raises InputError."""
    with document.at(*place):
        return parse_path(text).text


def _patch_axes(document: OwnDocument, data: StudyDocument) -> Iterator[SweepAxis]:
    """Yield the axes that patch a configuration. Raises InputError for a path that is none, and for
    a name that two of them have."""
    names: set[str] = set()
    entries: Sequence[PatchValues] = data.given(PATCHES) or ()
    for index, entry in enumerate(entries):
        place = (PATCHES, index)
        path = path_of(document, entry.path, *place, "path")
        name = entry.name or path
        if name in names:
            raise document.error(f'"{name}" appears twice; give each a `name`', *place)
        names.add(name)
        values = [
            Value(
                str(value),
                {PATCHES: (Patch(path, value),)},
                {PATCHES: (Patch(name, value),)},
                (*place, "values", position),
            )
            for position, value in enumerate(entry.values)
        ]
        yield SweepAxis(f"{PATCHES}.{name}", tuple(values))


def seed_values(seeds: int | Sequence[int] | None, *place: str) -> Iterator[Value]:
    """As many seeds from 0 on as a number says, or those of a list; without them the first node by
    name."""
    if seeds is None:
        yield Value(None)
    else:
        for seed in range(seeds) if isinstance(seeds, int) else seeds:
            yield Value(seed, {"tie_break": "random", "seed": seed}, place=place)


def unique(document: OwnDocument, values: Iterable[Value]) -> tuple[Value, ...]:
    """Return the values. Raises InputError for a name that two of them have."""
    listed: dict[Any, Value] = {}
    for value in values:
        if value.label in listed:
            problem = f'"{value.label}" appears twice; give each a `name`'
            raise document.error(problem, *value.place)
        listed[value.label] = value
    return tuple(listed.values())
