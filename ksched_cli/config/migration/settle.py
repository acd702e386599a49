"""Makes a v1 document take effect as expected: adds to its plugin lists what differs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ksched_cli.config.effective import KnownPlugins, Profile
from ksched_cli.config.merge import ALL, MULTI_POINT
from ksched_cli.config.migration.expected import Expected
from ksched_cli.config.review import Judgement, judge
from ksched_cli.kube.document_edits import EditableDocument
from ksched_cli.kube.documents import Path

# Where the order of plugins has an effect: the first that answers, or all, one after another.
_ORDERED = ("queueSort", "postFilter", "reserve", "permit", "preBind", "bind", "postBind")


@dataclass(frozen=True, slots=True)
class Difference:
    """Between what a profile is expected to do and what it does. path: as plugins.score.NodeName;
    expected, actual: a weight, whether the plugin runs, or names in their order"""

    profile: int
    point: str
    name: str
    expected: Any
    actual: Any


def settle(
    document: EditableDocument, expected: Sequence[Expected], registry: KnownPlugins
) -> tuple[Judgement, list[Difference], dict[int, dict[str, int]]]:
    """Edits the document. The judgement of the result, what still differs, and the weights that
    were written out, per profile."""
    before = judge(document.text, registry, ())
    weights: dict[int, dict[str, int]] = {}
    for index, profile in enumerate(expected):
        actual = _profile(before, index)
        if actual is None:
            continue
        for difference in list(_differences(index, profile, actual)):
            if difference.name:
                _mend(document, difference, profile)
            if difference.point == "score" and difference.actual and difference.expected:
                weights.setdefault(index, {})[difference.name] = difference.expected
    after = judge(document.text, registry, ())
    remaining = [
        difference
        for index, profile in enumerate(expected)
        for actual in [_profile(after, index)]
        if actual is not None
        for difference in _differences(index, profile, actual)
    ]
    return after, remaining, weights


def _profile(judgement: Judgement, index: int) -> Profile | None:
    profiles = judgement.startup.profiles
    return profiles[index] if index < len(profiles) else None


def _differences(index: int, expected: Expected, actual: Profile) -> Iterator[Difference]:
    for point, names in expected.running.items():
        present = tuple(ref.name for ref in actual.plugins.get(point, ()))
        for name in names:
            weight = expected.weights[name] if point == "score" else True
            own: Any = actual.weights.get(name, False) if point == "score" else name in present
            if own != weight:
                yield Difference(index, point, name, weight, own)
        for name in present:
            if name in expected.absent.get(point, ()):
                own = actual.weights[name] if point == "score" else True
                yield Difference(index, point, name, False, own)
        order = tuple(name for name in present if name in names)
        if point in _ORDERED and sorted(order) == sorted(names) and order != names:
            yield Difference(index, point, "", list(names), list(order))


def _mend(document: EditableDocument, difference: Difference, expected: Expected) -> None:
    name, plugins = difference.name, ("profiles", difference.profile, "plugins")
    if difference.expected is False:
        point = MULTI_POINT if expected.is_off(name) else difference.point
        entries: Path = (*plugins, point, "disabled")
        if not any(_index(document, entries, item) is not None for item in (name, ALL)):
            _append(document, entries, {"name": name})
        return
    entry: dict[str, Any] = {"name": name}
    if difference.point == "score":
        entry["weight"] = difference.expected
    entries = (*plugins, difference.point, "enabled")
    index = _index(document, entries, name)
    if index is None:
        _append(document, entries, entry)
    elif "weight" in entry:
        document.put((*entries, index, "weight"), entry["weight"])


def _append(document: EditableDocument, entries: Path, entry: Mapping[str, Any]) -> None:
    document.put((*entries, len(list_at(document, entries))), dict(entry))


def _index(document: EditableDocument, entries: Path, name: str) -> int | None:
    for index, entry in enumerate(list_at(document, entries)):
        if isinstance(entry, Mapping) and entry.get("name") == name:
            return index
    return None


def list_at(document: EditableDocument, path: Path) -> list[Any]:
    """The list at a path; an empty one if there is none."""
    value = document.get(path)
    return value if isinstance(value, list) else []
