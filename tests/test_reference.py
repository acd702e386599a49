"""What is written from the code is what the code gives: reference, manual pages, picture."""

import subprocess
import sys
from pathlib import Path

import pytest

from ksched_cli.commands.main import COMMANDS, GROUPS

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parent.parent


@pytest.mark.parametrize("script", ["write_reference.py", "write_gates.py", "draw_terminal.py"])
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


@pytest.mark.parametrize(
    ("file", "reference"), [("docs/index.md", "({}"), ("zensical.toml", '"{}"')]
)
def test_the_map_and_the_site_have_every_page(file: str, reference: str) -> None:
    text = (ROOT / file).read_text(encoding="utf-8")
    pages = sorted(page.name for page in (ROOT / "docs").glob("*.md"))
    pages.remove("index.md")
    assert [page for page in pages if reference.format(page) not in text] == []
