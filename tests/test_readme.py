"""What README shows is what the commands print."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from ksched_cli.commands.main import application

ROOT = Path(__file__).parent.parent
FENCE = re.compile(r"^```\n\$ ksched (?P<command>[^\n]*)\n(?P<output>.+?)\n```$", re.M | re.S)
TRANSCRIPTS = [
    (path, match["command"], match["output"])
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    for match in FENCE.finditer(path.read_text(encoding="utf-8"))
    if "$ ksched" not in match["output"]
]


def test_there_are_transcripts() -> None:
    assert TRANSCRIPTS


@pytest.mark.parametrize(
    ("path", "command", "output"), TRANSCRIPTS, ids=[f"{p.stem}: {c}" for p, c, _ in TRANSCRIPTS]
)
def test_a_transcript_is_what_the_command_prints(
    path: Path, command: str, output: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.delenv("KSCHED_KUBERNETES_VERSION")  # what a reader sees
    arguments = shlex.split(command)
    shown = CliRunner().invoke(application(arguments[:1]), arguments).stdout
    assert [line.rstrip() for line in shown.rstrip().splitlines()] == output.splitlines()
