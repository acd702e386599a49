"""What can go wrong, as data. Wording is made here once; scripts rely on the exit codes."""

from __future__ import annotations

from dataclasses import dataclass


class KschedError(Exception):
    """A failure that ends the command with a message and no traceback."""

    exit_code = 2


class UsageError(KschedError):
    """The question could not be asked: an option or an argument is wrong."""


class PluginDefectError(KschedError):
    """A plugin broke in a place where nothing can go on without it. detail: the traceback."""

    exit_code = 3

    def __init__(self, problem: str, detail: str) -> None:
        self.detail = detail
        super().__init__(problem)


@dataclass(frozen=True, slots=True)
class Position:
    """Where in a text; both count from 1."""

    line: int
    column: int


class InputError(KschedError):
    """A file, or an object in it, is not what it should be.

    source:   the file's path as the user gave it, or "standard input"
    problem:  what is wrong, and what was expected
    subject:  the object and field, as "Pod default/web: spec.containers[0].name"
    position: line and column, where the text has them
    hint:     what to do about it
    """

    def __init__(
        self,
        source: str,
        problem: str,
        *,
        subject: str = "",
        position: Position | None = None,
        hint: str = "",
    ) -> None:
        self.source = source
        self.problem = problem
        self.subject = subject
        self.position = position
        self.hint = hint
        super().__init__(self.text())

    def text(self) -> str:
        """One line of problem, one of hint."""
        where = self.source
        if self.position is not None:
            where += f":{self.position.line}:{self.position.column}"
        said = ": ".join(part for part in (where, self.subject, self.problem) if part)
        return f"{said}\n  {self.hint}" if self.hint else said
