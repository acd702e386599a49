"""Reads a file of kind Sweep, and the parts that a file of kind Tune has too."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import not_
from typing import Any

from ksched_cli.run.differences import changes_label, configuration_label
from ksched_cli.run.inputs import code_from
from ksched_cli.run.patches import parse_path
from ksched_cli.run.run import ChangeSource, Patch, Run
from ksched_cli.scenario.file import read_change
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
    Axis,
    Place,
    Plan,
    Value,
)

# Fields that have a value for all runs, or a list of values: the field of the Run, and what makes
# its value of the file's.
SETTINGS: Mapping[str, tuple[str, Callable[[Any], Any]]] = {
    "featureGates": ("feature_gates", str),
    "minCompatibilityVersion": ("min_compatibility_version", str),
    "namespace": ("namespace", str),
    "until": ("until", str),
    "evictAtOnce": ("evict_at_once", bool),
    "noPreemption": ("preemption", not_),
    "noRetries": ("retries", not_),
    "allowEmptyState": ("allow_empty_state", bool),
    "noWorkloads": ("workloads", not_),
    "noExtenders": ("extenders", not_),
    "replayExtenders": ("replay_extenders", str),
    "noCache": ("cache", not_),
    "pluginTimeout": ("plugin_timeout", float),
}
_OF_REPLAYS = (AUTOSCALERS, PRICES, "until", "evictAtOnce")
_NONE = "none"


@dataclass(frozen=True, slots=True)
class SweepFile:
    """metrics: by name, minimize or maximize; none where the file names none"""

    document: OwnDocument
    plan: Plan
    metrics: Mapping[str, str]


def read_document(path: str, kind: str) -> OwnDocument:
    """kind: Sweep or Tune. Raises InputError with line and column."""
    hint = f"Expected apiVersion: ksched/v1, kind: {kind}, and `states`; docs/sweeps.md has more."
    return read_own_document(path, kind, hint)


def read_sweep(path: str, base: Run) -> SweepFile:
    """base: what holds of all runs where the file says nothing else. Raises InputError with line
    and column, UsageError for axes that do not fit together."""
    document = read_document(path, "Sweep")
    plan = plan_of(document, base)
    plan.check()
    return SweepFile(document, plan, document.data.get("metrics", {}))


def plan_of(document: OwnDocument, base: Run) -> Plan:
    """The runs of a file, of either kind. Raises InputError with line and column."""
    data = document.data
    for key in _OF_REPLAYS:
        if data.get(key) and TIMELINES not in data:
            raise document.error("requires `timelines`", key)
    settings = tuple(key for key in SETTINGS if key in data)
    axes = [
        Axis(STATES, unique(document, state_values(document, data[STATES], STATES))),
        *_path_axis(document, TIMELINES, "timeline"),
        _axis(CHANGES, unique(document, _change_values(document)), changes_label(base)),
        _axis(PLUGINS, _plugin_values(document), ", ".join(base.plugins) or _NONE),
        _axis(VERSIONS, _version_values(document), base.kubernetes_version or None),
        *(_setting_axis(document, key) for key in settings),
        *_path_axis(document, CONFIGURATIONS, "configuration"),
        *([] if CONFIGURATIONS in data else [_configuration(document, base)]),
        *_path_axis(document, AUTOSCALERS, "autoscaler"),
        *_price_axis(document),
        *_patch_axes(document),
        Axis(SEEDS, tuple(seed_values(data.get(SEEDS), SEEDS))),
    ]
    return Plan(base, tuple(axes), data.get("combine") == "zip", settings)


def _axis(key: str, values: Iterable[Value], default: Any) -> Axis:
    """default: the label where the file has no values, and the base's counts"""
    return Axis(key, tuple(values) or (Value(default),))


def state_values(
    document: OwnDocument, entries: str | Sequence[Any], *place: str
) -> Iterator[Value]:
    """entries: a path, or a list of paths and of {name, files}"""
    for index, entry in enumerate([entries] if isinstance(entries, str) else entries):
        name, files = (entry, entry) if isinstance(entry, str) else (entry["name"], entry["files"])
        states = tuple(map(document.from_here, [files] if isinstance(files, str) else files))
        yield Value(name, {"states": states}, {"states": (name,)}, (*place, index))


def path_values(
    document: OwnDocument, entries: Sequence[Any], attribute: str, *place: str
) -> Iterator[Value]:
    """entries: paths, {name, file}, or {name} for none. attribute: of the Run"""
    for index, entry in enumerate(entries):
        name = shown = entry if isinstance(entry, str) else entry["name"]
        file = entry if isinstance(entry, str) else entry.get("file", "")
        if entry == _NONE and attribute == "autoscaler":
            shown = file = ""
        path = document.from_here(file)
        yield Value(name, {attribute: path}, {attribute: shown}, (*place, index))


def _path_axis(document: OwnDocument, key: str, attribute: str) -> list[Axis]:
    entries = document.data.get(key)
    if not entries:
        return []
    return [Axis(key, unique(document, path_values(document, entries, attribute, key)))]


def _price_axis(document: OwnDocument) -> list[Axis]:
    """Each value is one text of --price, or several."""
    values = []
    for index, entry in enumerate(document.data.get(PRICES, ())):
        name = entry if isinstance(entry, str) else entry["name"]
        texts = [entry] if isinstance(entry, str) else entry[PRICES]
        own = (document.from_here(text) if is_price_file(text) else text for text in texts)
        fields, shown = {PRICES: tuple(own)}, {PRICES: (name,)}
        values.append(Value(name, fields, shown, (PRICES, index)))
    return [Axis(PRICES, unique(document, values))] if values else []


def _configuration(document: OwnDocument, base: Run) -> Axis:
    """The one that is tuned, else the default one."""
    entries = [document.data["configuration"]] if "configuration" in document.data else []
    values = path_values(document, entries, "configuration", "configuration")
    return _axis(CONFIGURATIONS, values, configuration_label(base))


def _change_values(document: OwnDocument) -> Iterator[Value]:
    """Raises InputError with line and column."""
    for index, entry in enumerate(document.data.get(CHANGES, ())):
        place: Place = (CHANGES, index)
        name = entry if isinstance(entry, str) else entry["name"]
        if isinstance(entry, str):
            sources = [_change(document, entry, place)]
        elif "scenario" in entry and CHANGES in entry:
            raise document.error("has both changes and a scenario; keep one of them", *place)
        elif "scenario" in entry:
            sources = [ChangeSource(scenario=document.from_here(entry["scenario"]))]
        else:
            lines = enumerate(entry.get(CHANGES, ()))
            sources = [_change(document, line, (*place, CHANGES, n)) for n, line in lines]
        fields, shown = {CHANGES: tuple(sources)}, {CHANGES: (ChangeSource(line=name),)}
        yield Value(name, fields, shown, place)


def _change(document: OwnDocument, entry: Any, place: Place) -> ChangeSource:
    """Raises InputError for anything that is not a change, with line and column."""
    with document.at(*place):
        read_change(entry, "", document.folder, document.name)
    if isinstance(entry, str):
        return ChangeSource(line=entry, folder=str(document.folder))
    return ChangeSource(apply=entry["apply"])


def _plugin_values(document: OwnDocument) -> Iterator[Value]:
    for index, entry in enumerate(document.data.get(PLUGINS, ())):
        texts = [entry] if isinstance(entry, str) else entry
        plugins = tuple(code_from(text, document.from_here) for text in texts)
        shown = {PLUGINS: tuple(texts)}
        yield Value(", ".join(texts) or _NONE, {PLUGINS: plugins}, shown, (PLUGINS, index))


def _listed(document: OwnDocument, key: str) -> Iterator[tuple[Any, Place]]:
    """The value of a field, or those of its list, with their places."""
    value = document.data.get(key, [])
    if isinstance(value, list):
        yield from ((item, (key, index)) for index, item in enumerate(value))
    else:
        yield value, (key,)


def _version_values(document: OwnDocument) -> Iterator[Value]:
    for key in (VERSIONS, "kubernetesVersion"):
        for minor, place in _listed(document, key):
            yield Value(minor, {"kubernetes_version": minor}, place=place)


def _setting_axis(document: OwnDocument, key: str) -> Axis:
    attribute, convert = SETTINGS[key]
    values = []
    for value, place in _listed(document, key):
        own = document.from_here(value) if key == "replayExtenders" else convert(value)
        label = own if key == "until" else value
        values.append(Value(label, {attribute: own}, place=place))
    return Axis(key, tuple(values))


def path_of(document: OwnDocument, text: str, *place: str | int) -> str:
    """A path in a configuration. Raises InputError."""
    with document.at(*place):
        return parse_path(text).text


def _patch_axes(document: OwnDocument) -> Iterator[Axis]:
    """Raises InputError for a path that is none, and for a name that two of them have."""
    names: set[str] = set()
    for index, entry in enumerate(document.data.get(PATCHES, ())):
        place = (PATCHES, index)
        path = path_of(document, entry["path"], *place, "path")
        name = entry.get("name", path)
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
            for position, value in enumerate(entry["values"])
        ]
        yield Axis(f"{PATCHES}.{name}", tuple(values))


def seed_values(seeds: int | Sequence[int] | None, *place: str) -> Iterator[Value]:
    """As many seeds from 0 on as a number says, or those of a list; without them the first node by
    name."""
    if seeds is None:
        yield Value(None)
    else:
        for seed in range(seeds) if isinstance(seeds, int) else seeds:
            yield Value(seed, {"tie_break": "random", "seed": seed}, place=place)


def unique(document: OwnDocument, values: Iterable[Value]) -> tuple[Value, ...]:
    """The values. Raises InputError for a name that two of them have."""
    listed: dict[Any, Value] = {}
    for value in values:
        if value.label in listed:
            problem = f'"{value.label}" appears twice; give each a `name`'
            raise document.error(problem, *value.place)
        listed[value.label] = value
    return tuple(listed.values())
