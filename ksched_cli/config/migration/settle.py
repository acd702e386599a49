"""Makes a v1 document take effect as expected: adds to its plugin lists what differs; and the
remarks of a migration: what it changed, and what could not be carried over."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from ksched_cli.answers import Part, Rank
from ksched_cli.config.effective import KnownPlugins
from ksched_cli.config.migration.old_versions import Expected
from ksched_cli.config.review import Judgement, judge
from ksched_cli.config.types import ALL, MULTI_POINT
from ksched_cli.kube.document_edits import EditableDocument
from ksched_cli.kube.documents import Locator, Path, path_text

# -- remarks --------------------------------------------------------------------------------------


class RemarkKind(StrEnum):
    """changed: written otherwise, with the same effect; lost: v1 has no way to say it; differs: the
    result takes effect otherwise; refused: kube-scheduler refuses the result."""

    CHANGED = "changed"
    LOST = "lost"
    DIFFERS = "differs"
    REFUSED = "refused"


class Remark(Part, frozen=True):
    """Something that a migration has to say.

    kind: changed: written otherwise, with the same effect; lost: v1 has no way to say it; differs:
          the new file takes effect otherwise; refused: kube-scheduler refuses the new file
    path: in the old file, as profiles[0].plugins.score; in the new one for differs and refused
    line: there; null if there is no place
    """

    kind: RemarkKind
    path: str
    line: Rank | None
    message: str
    hint: str = ""


class Remarks:
    """Collects; knows where in the old text a path stands."""

    def __init__(self, text: str) -> None:
        self._locator = Locator(text)
        self._remarks: dict[Remark, None] = {}

    def changed(self, path: Path, message: str, hint: str = "") -> None:
        self.add(RemarkKind.CHANGED, path, message, hint)

    def lost(self, path: Path, message: str, hint: str = "") -> None:
        self.add(RemarkKind.LOST, path, message, hint)

    def add(self, kind: RemarkKind, path: Path, message: str, hint: str = "") -> None:
        """Add what is at a path of the old document."""
        position = self._locator.locate(path)
        line = position.line if position else None
        self.put(Remark(kind, path_text(path), line, message, hint))

    def put(self, remark: Remark) -> None:
        """Add a remark, unless it is there."""
        self._remarks.setdefault(remark)

    def in_order(self) -> tuple[Remark, ...]:
        """Return the remarks by line; those about the result last."""
        late = (RemarkKind.DIFFERS, RemarkKind.REFUSED)
        return tuple(sorted(self._remarks, key=lambda item: (item.kind in late, item.line or 0)))


# Where the order of plugins has an effect: the first that answers, or all, one after another.
_ORDERED = ("queueSort", "postFilter", "reserve", "permit", "preBind", "bind", "postBind")


@dataclass(frozen=True, slots=True)
class EffectDifference:
    """Between what a profile is expected to do and what it does. path: as plugins.score.NodeName;
    expected, actual: a weight, whether the plugin runs, or names in their order"""

    profile: int
    point: str
    name: str
    expected: Any
    actual: Any


def settle(
    document: EditableDocument, expected: Sequence[Expected], registry: KnownPlugins
) -> tuple[Judgement, list[EffectDifference], dict[int, dict[str, int]]]:
    """Edit the document. Return the judgement of the result, what still differs, and the weights
    that were written out, per profile."""
    before = judge(document.text, registry, ())
    weights: dict[int, dict[str, int]] = {}
    for difference in _differences(before, expected):
        index = difference.profile
        if difference.name:
            _mend(document, difference, expected[index])
        if difference.point == "score" and difference.actual and difference.expected:
            weights.setdefault(index, {})[difference.name] = difference.expected
    after = judge(document.text, registry, ())
    return after, _differences(after, expected), weights


def _differences(judgement: Judgement, expected: Sequence[Expected]) -> list[EffectDifference]:
    differing: list[EffectDifference] = []
    profiles = zip(expected, judgement.startup.profiles, strict=False)
    for index, (profile, actual) in enumerate(profiles):
        if actual is None:
            continue
        for point, names in profile.running.items():
            present = tuple(ref.name for ref in actual.plugins.get(point, ()))
            for name in names:
                weight = profile.weights[name] if point == "score" else True
                own: Any = actual.weights.get(name, False) if point == "score" else name in present
                if own != weight:
                    differing.append(EffectDifference(index, point, name, weight, own))
            for name in present:
                if name in profile.absent.get(point, ()):
                    own = actual.weights[name] if point == "score" else True
                    differing.append(EffectDifference(index, point, name, False, own))
            order = tuple(name for name in present if name in names)
            if point in _ORDERED and sorted(order) == sorted(names) and order != names:
                differing.append(EffectDifference(index, point, "", list(names), list(order)))
    return differing


def _mend(document: EditableDocument, difference: EffectDifference, expected: Expected) -> None:
    name, plugins = difference.name, ("profiles", difference.profile, "plugins")
    if difference.expected is False:
        # What the file itself enables under multiPoint cannot be disabled there.
        named = index_named(document, (*plugins, MULTI_POINT, "enabled"), name)
        point = MULTI_POINT if expected.is_off(name) and named is None else difference.point
        entries: Path = (*plugins, point, "disabled")
        if not any(index_named(document, entries, item) is not None for item in (name, ALL)):
            _append(document, entries, {"name": name})
        return
    entry: dict[str, Any] = {"name": name}
    if difference.point == "score":
        entry["weight"] = difference.expected
    entries = (*plugins, difference.point, "enabled")
    index = index_named(document, entries, name)
    if index is None:
        _append(document, entries, entry)
    elif "weight" in entry:
        document.put((*entries, index, "weight"), entry["weight"])


def _append(document: EditableDocument, entries: Path, entry: Mapping[str, Any]) -> None:
    document.put((*entries, len(list_at(document, entries))), dict(entry))


def index_named(document: EditableDocument, entries: Path, name: str) -> int | None:
    """Return the place in a list of the first entry with this name."""
    for index, entry in enumerate(list_at(document, entries)):
        if isinstance(entry, Mapping) and entry.get("name") == name:
            return index
    return None


def list_at(document: EditableDocument, path: Path) -> list[Any]:
    """Return the list at a path; an empty one if there is none."""
    value = document.get(path)
    return value if isinstance(value, list) else []
