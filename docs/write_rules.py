"""Writes docs/rules.md, the page of the rules of `ksched validate`; --check says whether it is new.

python docs/write_rules.py [--check]
"""

from __future__ import annotations

import sys
from pathlib import Path

from ksched_cli.config.checks.rules import rules
from ksched_cli.report.validation import rules_markdown

PAGE = Path(__file__).with_name("rules.md")


def main() -> int:
    text = rules_markdown(rules())
    if "--check" not in sys.argv[1:]:
        PAGE.write_text(text, encoding="utf-8")
        return 0
    if PAGE.exists() and PAGE.read_text(encoding="utf-8") == text:
        return 0
    print(f"{PAGE} is out of date: python docs/write_rules.py", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
