"""The pages of rules."""

import subprocess
import sys
from pathlib import Path

from ksched_cli.config.checks.rules import rules
from ksched_cli.report.limit import Limit
from ksched_cli.report.terminal import as_text
from ksched_cli.report.validation import rule_view, rules_view

ROOT = Path(__file__).parents[2]


def test_docs_are_written_from_the_rules() -> None:
    command = [sys.executable, "docs/write_rules.py", "--check"]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr


def test_every_rule_has_a_section_of_its_name() -> None:
    text = (ROOT / "docs" / "rules.md").read_text(encoding="utf-8")
    assert all(f"\n## {name}\n" in text for name in rules())


def test_a_page_has_title_text_and_example_within_the_width() -> None:
    shown = as_text(rule_view(rules()["weight-zero"]), Limit(60))
    assert shown.startswith("weight-zero (warning, weights): A weight of 0 counts as 1")
    assert "weight: 0" in shown
    assert all(len(line) <= 60 for line in shown.splitlines())


def test_the_list_has_a_line_per_rule() -> None:
    text = as_text(rules_view([*rules().values()]), Limit())
    assert len(text.splitlines()) == len(rules()) + 3
