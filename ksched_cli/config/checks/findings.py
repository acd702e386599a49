"""Findings about a configuration: problems and remarks, each with its position in the file."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Annotated, Any

from msgspec import Meta

from ksched_cli.answers import HIDDEN, Part, Rank
from ksched_cli.errors import Position
from ksched_cli.kube.documents import Locator, Path, path_text


class Severity(StrEnum):
    """error: kube-scheduler refuses or crashes, or pods will not run; warning: likely not meant;
    info: good to know."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


class Edit(Part, frozen=True):
    """The one right edit of a configuration for a finding.

    path: of a key, or of a value
    value: the value to write there, or the key's new name; None deletes what is there
    is_key: the key is renamed
    """

    path: tuple[str | int, ...]
    value: Any = None
    is_key: bool = False


class Finding(Part, frozen=True):
    """A problem or a remark.

    path: as profiles[0].plugins.score; empty for the whole file
    rule: `ksched validate --explain RULE` says what it finds
    refused: kube-scheduler refuses the file for it, or crashes
    source: the line of the file, without secrets; empty where it is unknown or too long to be shown
    edit: that mends it; null where there is none, or more than one
    """

    severity: Severity
    path: str
    line: Rank | None
    column: Rank | None
    message: Annotated[str, Meta(min_length=1)]
    hint: str
    rule: str
    refused: Annotated[bool, HIDDEN] = False
    source: Annotated[str, HIDDEN] = ""
    edit: Annotated[Edit | None, HIDDEN] = None


class Findings:
    """Collects; knows where in the text a path stands. One finding per rule, path and message."""

    def __init__(self, text: str) -> None:
        self._locator = Locator(text)
        self._findings: dict[tuple[str, str, str], Finding] = {}
        self._error_paths: set[str] = set()

    def error(
        self, rule: str, path: Path, message: str, hint: str = "", edit: Edit | None = None
    ) -> None:
        """Add what kube-scheduler refuses."""
        self.add(Severity.ERROR, rule, path, message, hint, refused=True, edit=edit)

    def alarm(self, rule: str, path: Path, message: str, hint: str = "") -> None:
        """Add an error that kube-scheduler accepts."""
        self.add(Severity.ERROR, rule, path, message, hint)

    def warn(self, rule: str, path: Path, message: str, hint: str = "") -> None:
        self.add(Severity.WARNING, rule, path, message, hint)

    def inform(self, rule: str, path: Path, message: str, hint: str = "") -> None:
        self.add(Severity.INFO, rule, path, message, hint)

    def add(
        self,
        severity: Severity,
        rule: str,
        path: Path,
        message: str,
        hint: str = "",
        *,
        refused: bool = False,
        edit: Edit | None = None,
    ) -> None:
        """Add what is at a path of the document."""
        location = self._locator.locate(path)
        line, column = (location.line, location.column) if location else (None, None)
        shown = path_text(path)
        self.put(Finding(severity, shown, line, column, message, hint, rule, refused, edit=edit))

    def put(self, finding: Finding) -> None:
        """Add a finding whose position is known."""
        self._findings.setdefault((finding.rule, finding.path, finding.message), finding)
        if finding.severity is Severity.ERROR:
            self._error_paths.add(finding.path)

    def has_refusals(self) -> bool:
        return any(item.refused for item in self._findings.values())

    def has_error_at(self, path: Path) -> bool:
        """Return whether an error names a path already."""
        return path_text(path) in self._error_paths

    def sorted(self) -> tuple[Finding, ...]:
        """Return the findings, errors first, then by place."""
        return in_order(self._findings.values())


def in_order(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return the findings, errors first, then by place."""
    order = list(Severity)
    return tuple(
        sorted(
            findings,
            key=lambda item: (order.index(item.severity), item.line or 0, item.column or 0),
        )
    )


def at_position(
    rule: str, path: Path, position: Position | None, message: str, hint: str = ""
) -> Finding:
    """Return a refusal whose position is known."""
    line, column = (position.line, position.column) if position else (None, None)
    return Finding(Severity.ERROR, path_text(path), line, column, message, hint, rule, True)
