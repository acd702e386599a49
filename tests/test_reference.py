"""What is written from the code is what the code gives: reference, manual pages, picture."""

import subprocess
import sys
from pathlib import Path

import pytest

from ksched_cli.commands.main import COMMANDS, GROUPS

ROOT = Path(__file__).parent.parent


@pytest.mark.parametrize("script", ["write_reference.py", "draw_terminal.py"])
def test_docs_are_what_the_script_writes(script: str) -> None:
    command = [sys.executable, f"docs/{script}", "--check"]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr


def test_every_command_has_a_manual_page(tmp_path: Path) -> None:
    command = [sys.executable, "docs/write_reference.py", "--man", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, check=True)
    names = {path.stem for path in tmp_path.iterdir()}
    assert names >= {"ksched", *(f"ksched-{name}" for name in COMMANDS)}
    assert all(any(name.startswith(f"ksched-{group}-") for name in names) for group in GROUPS)
    page = (tmp_path / "ksched-explain.1").read_text(encoding="utf-8")
    assert "\n.B \\-\\-node NODE\n" in page
    assert ".SH EXIT STATUS\n" in page


def test_the_map_names_every_page() -> None:
    text = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    pages = {page.name for page in (ROOT / "docs").glob("*.md")} - {"index.md"}
    assert [page for page in sorted(pages) if f"({page}" not in text] == []
