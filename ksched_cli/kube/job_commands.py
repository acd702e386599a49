"""Commands in the log of a CI job: lines that its runner obeys, whoever wrote them. Names, labels
and messages come from others.

GitHub's runner obeys `::NAME …::…` at the start of a line, after any white space, and `##[NAME …]…`
anywhere in one (actions/runner, ActionCommand.cs and ActionCommandManager.cs). Azure's agent obeys
`##vso[…]…` anywhere, and shows `##[…]` as groups and headings. GitLab looks for
`section_start:TIME:NAME` and `section_end:TIME:NAME`, each with a carriage return and an escape
sequence behind it.
"""

from __future__ import annotations

import io
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import NamedTuple, TextIO

VARIABLES = ("GITHUB_ACTIONS", "TF_BUILD", "GITLAB_CI")

_ANYWHERE = re.compile(r"#(?=#(?:vso)?\[)", re.I)
_SECTION = re.compile(r"(?<=section_start):(?=\d)|(?<=section_end):(?=\d)")


class Escapes(NamedTuple):
    """How a colon and a number sign are written so that they mean the same."""

    colon: str
    number_sign: str


TEXT = Escapes(r"\x3a", r"\x23")  # for people, as control characters are shown
JSON = Escapes(r"\u003a", r"\u0023")  # in double quotes, of YAML too
XML = Escapes("&#58;", "&#35;")


def is_job() -> bool:
    """Return whether a runner reads what is printed."""
    return any(map(os.environ.get, VARIABLES))


def disarmed(text: str, escapes: Escapes = TEXT, *, own_lines: bool = False) -> str:
    """Return the text with no line that a runner obeys; all of it as it is if there is none.

    own_lines: the commands that lines begin with are ours, and stay
    """
    if "##" in text:
        text = _ANYWHERE.sub(lambda _: escapes.number_sign, text)
    # Other forms have no carriage return that is not escaped.
    if escapes is TEXT and "section_" in text:
        text = _SECTION.sub(lambda _: escapes.colon, text)
    if "::" in text and not own_lines:
        lines = text.splitlines(keepends=True)
        for index, line in enumerate(lines):
            head, colons, rest = line.partition("::")
            # A command begins its line, but for what is not shown.
            if colons and not any(char.isprintable() and char != " " for char in head):
                lines[index] = f"{head}{escapes.colon}:{rest}"
        text = "".join(lines)
    return text


@contextmanager
def disarmed_errors() -> Iterator[None]:
    """Inside, in a job, no line of standard error is a command, whoever prints it."""
    stream = sys.stderr
    if not is_job() or not hasattr(stream, "buffer"):
        yield
        return
    lines = GuardedStream(stream)
    sys.stderr = lines.as_text()
    try:
        yield
    finally:
        sys.stderr = stream
        with suppress(OSError):  # where nobody can be told
            lines.finish()


class GuardedStream(io.BufferedIOBase):
    """Writes to a stream without commands. What begins a line waits for its end, which may make
    it a command."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._begun = bytearray()

    def as_text(self) -> TextIO:
        """Return the stream that text is printed to."""
        stream = self._stream
        return io.TextIOWrapper(
            self, stream.encoding, stream.errors, line_buffering=True, write_through=True
        )

    def write(self, data: bytes) -> int:  # type: ignore[override]
        end = max(data.rfind(b"\n"), data.rfind(b"\r")) + 1
        self._begun += data[:end]
        if end:
            self.finish()
        self._begun += data[end:]
        return len(data)

    def finish(self) -> None:
        """Write a line that has no end. Raises OSError."""
        encoding = self._stream.encoding
        text = disarmed(self._begun.decode(encoding, "surrogateescape"))
        self._begun.clear()
        self._stream.buffer.write(text.encode(encoding, "surrogateescape"))
        self._stream.buffer.flush()

    @property
    def name(self) -> str:
        return self._stream.name

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._stream.fileno()

    def isatty(self) -> bool:
        return self._stream.isatty()
