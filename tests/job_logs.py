"""What the runners of CI jobs obey in a log, and text to try it with."""

from __future__ import annotations

import re

import pytest
from hypothesis import strategies as st

from ksched_cli.kube.job_commands import VARIABLES

SECTION = re.compile(r"section_(start|end):\d+:[a-zA-Z0-9_.-]+(\[.*\])?\r\x1b\[0K")
PARTS = st.lists(
    st.sampled_from(
        (*"::##[]\n\r \t\x1b\xa0\u3000\ufeff\u2028aé", "##", "::", "error", "::stop-commands::x",
         "##[", "##vso[", "##VSO[", "section_start:1:a\r\x1b[0K", "section_end:2", "\r\n"),
    ),
    max_size=12,
)  # fmt: skip


def obeyed(text: str) -> list[str]:
    """The lines that GitHub's runner or Azure's agent obeys, and the sections of GitLab.

    GitHub's: ActionCommand.cs (TryParseV2, TryParse), on lines as .NET reads them. Whatever is
    named counts as a command, with or without the colons that end its name; .NET drops a byte
    order mark.
    """
    lines = [
        line
        for line in re.split(r"\r\n|\r|\n", text)
        if re.search(r"^[\s\ufeff]*::|##(vso)?\[", line, re.I)
    ]
    return [*lines, *(match[0] for match in SECTION.finditer(text))]


def leave_job(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tests may be those of a job."""
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
