"""Errors that end a command. They carry data; their text and exit codes are defined here.

Scripts rely on the exit codes.
"""

from __future__ import annotations

import os
import traceback
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path

from ksched_cli.masking import masked

_MAX_TEXT = 1_000
_MAX_LINE = 2_800
_MAX_NAMES = 3
_MAX_OTHERS = 9  # further problems of a file that an error lists

# The rooms that decide. They do not walk over an input's nested data: where a function of theirs
# calls itself without end, the input is not at fault.
_DECIDING = tuple(
    str(Path(__file__).parent / room) + os.sep
    for room in ("engine", "framework", "plugins", "analysis")
)
# More than a traceback has of one file without a recursion, and far fewer than Python allows.
_USUAL_FRAMES = 100


def ignore(line: str) -> None:
    """Take a warning, and drops it."""


class ExitCode(IntEnum):
    """How a command ends that could do its work; other failures carry theirs."""

    YES = 0
    NO = 1
    DEFECT = 3

    @classmethod
    def of(cls, is_yes: bool, is_undecided: bool = False) -> ExitCode:
        """is_undecided: because of a plugin's failure"""
        return cls.DEFECT if is_undecided else cls.YES if is_yes else cls.NO


class KschedError(Exception):
    """A failure that ends the command with a message and no traceback."""

    exit_code = 2


class UsageError(KschedError):
    """An option or an argument of the command is wrong."""


class PluginDefectError(KschedError):
    """A plugin failed where the command cannot continue without it. detail: the traceback."""

    exit_code = 3

    def __init__(self, problem: str, detail: str) -> None:
        self.detail = detail
        super().__init__(problem)


class OutputError(KschedError):
    """Standard output cannot be written."""

    def __init__(self, cause: OSError | None = None) -> None:
        reason = cause.strerror if cause is not None else "it is closed"
        super().__init__(f"standard output cannot be written: {reason}")


class ReaderGoneError(KschedError):
    """The reader closed the pipe, as `head` does. It has no message."""

    exit_code = 128 + 13  # by shell convention, as after SIGPIPE


class MissingExtraError(KschedError):
    """What only some users need is not installed. extra: its name in pyproject.toml"""

    def __init__(self, purpose: str, extra: str) -> None:
        super().__init__(
            f"{purpose} needs the extra {extra}: in the folder of ksched's source, "
            f"pip install '.[{extra}]'"
        )


@dataclass(frozen=True, slots=True)
class Position:
    """A position in a text; line and column count from 1."""

    line: int
    column: int


def shortened(text: str) -> str:
    """Return the text, without its middle where it is longer than a person reads."""
    if len(text) <= _MAX_TEXT:
        return text
    half = _MAX_TEXT // 2
    return f"{text[:half]} … {text[-half:]} ({len(text)} characters)"


def first_names(names: Sequence[str]) -> str:
    """Return the names with commas, of many only the first."""
    return ", ".join(names[:_MAX_NAMES]) + (", …" if len(names) > _MAX_NAMES else "")


def shortened_lines(text: str) -> str:
    """Return the text as a message: without passwords in URLs, and without the middle of each line
    that is far longer than a person reads."""
    text = masked(text)
    if len(text) <= _MAX_LINE:
        return text
    return "\n".join(
        shortened(line) if len(line) > _MAX_LINE else line for line in text.split("\n")
    )


class NoStateError(UsageError):
    """There is no cluster state to ask about."""


class InputError(KschedError):
    """A file, or an object in it, is not what it should be.

    source:   the file's path as the user gave it, or "standard input"
    problem:  what is wrong, and what was expected
    subject:  the object and field, as "Pod default/web: spec.containers[0].name"
    position: line and column, where the text has them
    hint:     what to do about it
    others:   further problems in the same file
    """

    others: Sequence[InputError] = ()

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

    def with_others(self, others: Sequence[InputError]) -> InputError:
        """Return the same error, with further problems in the same file."""
        self.others = others
        self.args = (self.text(),)
        return self

    def text(self) -> str:
        """Return a line with the problem, and an indented one with the hint if there is one; then
        those of the other problems."""
        listed = [error.text() for error in self.others[:_MAX_OTHERS]]
        if len(self.others) > _MAX_OTHERS:
            listed.append(f"and {len(self.others) - _MAX_OTHERS} more problems in {self.source}")
        return "\n".join([self._own_text(), *listed])

    def _own_text(self) -> str:
        location = shortened(self.source)
        if self.position is not None:
            location += f":{self.position.line}:{self.position.column}"
        parts = (location, *map(shortened, (self.subject, self.problem)))
        line = ": ".join(part for part in parts if part)
        return f"{line}\n  {self.hint}" if self.hint else line


def is_of_decisions(error: BaseException) -> bool:
    """Return whether this is a RecursionError of a function that decides, rather than of one that
    reads or copies an input."""
    if not isinstance(error, RecursionError):
        return False
    frames = traceback.walk_tb(error.__traceback__)
    files = Counter(frame.f_code.co_filename for frame, _ in frames)
    [(file, times)] = files.most_common(1)
    return times > _USUAL_FRAMES and file.startswith(_DECIDING)
