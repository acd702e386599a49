"""The remarks of a migration: what it changed, and what could not be carried over."""

from __future__ import annotations

from enum import StrEnum

from ksched_cli.answers import Part, Rank
from ksched_cli.kube.documents import Locator, Path, path_text


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
        """Adds what is at a path of the old document."""
        position = self._locator.locate(path)
        line = position.line if position else None
        self.put(Remark(kind, path_text(path), line, message, hint))

    def put(self, remark: Remark) -> None:
        """Adds a remark, unless it is there."""
        self._remarks.setdefault(remark)

    def in_order(self) -> tuple[Remark, ...]:
        """Return the remarks by line; those about the result last."""
        late = (RemarkKind.DIFFERS, RemarkKind.REFUSED)
        return tuple(sorted(self._remarks, key=lambda item: (item.kind in late, item.line or 0)))
