"""The picture of imports in docs/architecture.md is the one that the code gives."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


def test_the_picture_of_imports_is_drawn_from_the_code():
    pytest.importorskip("grimp", reason="comes with the linters")
    command = [sys.executable, "docs/draw_imports.py", "--check"]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
