"""Writes docs/rules.md, the page of the rules of `ksched validate`; --check says whether it is new.

python docs/write_rules.py [--check]
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

from ksched_cli.config.checks.rules import Rule, rules
from ksched_cli.report.validation import severity_text

PAGE = Path(__file__).with_name("rules.md")
INTRODUCTION = """\
# Rules of `ksched validate`

<!-- made of ksched_cli/config/checks/rules.yaml by docs/write_rules.py -->

An **error** is what kube-scheduler refuses or crashes at, or accepts although pods will not run; a
**warning** is accepted and probably not meant; an **info** is good to know.
`ksched validate --explain RULE` shows the same text. A comment `# ksched: ignore[RULE]` at the end
of a line, or alone on the line above it, silences the rule there.

`--select`, `--extend-select` and `--ignore` take rules and families, and so does a
[project file](pipelines.md#choose-rules). Rules of the family kube-scheduler are what
kube-scheduler refuses: they are always on, and nothing silences them."""


def main() -> int:
    text = rules_markdown(rules())
    if "--check" not in sys.argv[1:]:
        PAGE.write_text(text, encoding="utf-8")
        return 0
    if PAGE.exists() and PAGE.read_text(encoding="utf-8") == text:
        return 0
    print(f"{PAGE} is out of date: python docs/write_rules.py", file=sys.stderr)
    return 1


def rules_markdown(rules: Mapping[str, Rule]) -> str:
    """docs/rules.md."""
    table = [
        f"| [{rule.id}](#{rule.id}) | {rule.family} | {severity_text(rule)} | {rule.title} |"
        for rule in rules.values()
    ]
    head = ["| rule | family | severity | what it finds |", "| --- | --- | --- | --- |"]
    sections = [_section(rule) for rule in rules.values()]
    return "\n\n".join([INTRODUCTION, "\n".join(head + table), *sections]) + "\n"


def _section(rule: Rule) -> str:
    parts = [f"## {rule.id}", f"*{severity_text(rule)}.* **{rule.title}.** {rule.text}"]
    if rule.example:
        example = rule.example.replace("\r", "")
        parts.append(f"```yaml\n{example}```")
    return "\n\n".join(parts)


if __name__ == "__main__":
    sys.exit(main())
