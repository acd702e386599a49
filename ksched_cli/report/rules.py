"""The rules of `ksched validate`: a page each, for a terminal and for docs/rules.md."""

from __future__ import annotations

from collections.abc import Mapping
from textwrap import indent

from ksched_cli.config.checks.rules import Rule
from ksched_cli.report.table import Limit

_INTRODUCTION = """\
# Rules of `ksched validate`

<!-- made of ksched_cli/config/checks/rules.yaml by docs/write_rules.py -->

An **error** is what kube-scheduler refuses or crashes at, or accepts although pods will not run; a
**warning** is accepted and probably not meant; an **info** is good to know.
`ksched validate --explain RULE` shows the same text. A comment `# ksched: ignore[RULE]` at the end
of a line, or alone on the line above it, silences the rule there.

`--select`, `--extend-select` and `--ignore` take rules and families, and so does a
[project file](pipelines.md#which-rules). Rules of the family kube-scheduler are what kube-scheduler
refuses: they are always on, and nothing silences them."""


def page(rule: Rule, limit: Limit) -> str:
    """A rule, for a terminal."""
    parts = [
        f"{rule.id} ({_severity(rule)}, {rule.family}): {rule.title}",
        limit.paragraph(rule.text),
    ]
    if rule.example:
        parts.append(f"An example{_allowing(rule)}:\n\n{indent(rule.example.rstrip(), '    ')}")
    return "\n\n".join(parts)


def listing(rules: Mapping[str, Rule], limit: Limit) -> str:
    """All rules, a line each."""
    rows = [(rule.id, rule.family, _severity(rule), rule.title) for rule in rules.values()]
    return limit.columns(("RULE", "FAMILY", "SEVERITY", "WHAT IT FINDS"), rows)


def markdown(rules: Mapping[str, Rule]) -> str:
    """docs/rules.md."""
    table = [
        f"| [{rule.id}](#{rule.id}) | {rule.family} | {_severity(rule)} | {rule.title} |"
        for rule in rules.values()
    ]
    head = ["| rule | family | severity | what it finds |", "| --- | --- | --- | --- |"]
    sections = [_section(rule) for rule in rules.values()]
    return "\n\n".join([_INTRODUCTION, "\n".join(head + table), *sections]) + "\n"


def _severity(rule: Rule) -> str:
    return rule.severity if rule.is_default else f"{rule.severity}, off by default"


def _section(rule: Rule) -> str:
    parts = [f"## {rule.id}", f"*{_severity(rule)}.* **{rule.title}.** {rule.text}"]
    if rule.example:
        example = rule.example.replace("\r", "")
        parts.append(f"```yaml\n{example}```")
    return "\n\n".join(parts)


def _allowing(rule: Rule) -> str:
    return f" (with --allow-plugins {rule.allow})" if rule.allow else ""
