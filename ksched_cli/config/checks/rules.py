"""The rules of `ksched validate`: what each finds, why it matters, and an example of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from textwrap import indent
from typing import Any

from ksched_cli.config.checks.findings import Severity
from ksched_cli.config.tables import read_table
from ksched_cli.config.types import API_VERSION, KIND

# The family of what kube-scheduler refuses, which is always said.
REFUSALS = "kube-scheduler"
_HEAD = f"apiVersion: {API_VERSION}\nkind: {KIND}\n"
_PROFILE = "profiles:\n- schedulerName: default-scheduler\n"


@dataclass(frozen=True, slots=True)
class Rule:
    """severity: that of its findings; family: rules that are selected together; is_default: on
    where nobody selects; title: a line; text: a paragraph; example: a file that has a finding of
    the rule, or ""; allow: the plugins of other builds in the example."""

    id: str
    severity: Severity
    family: str
    is_default: bool
    title: str
    text: str
    example: str
    allow: str


@cache
def rules() -> Mapping[str, Rule]:
    """All rules by id, the errors first."""
    entries = read_table(__file__, dict[str, dict[str, Any]])
    return {
        name: Rule(
            name,
            Severity(entry["severity"]),
            entry["family"],
            entry.get("default", True) is True,
            entry["title"],
            entry["text"].strip(),
            _example(entry),
            entry.get("allow", ""),
        )
        for name, entry in entries.items()
    }


@cache
def families() -> Mapping[str, tuple[str, ...]]:
    """The rules of each family, in the order of the list."""
    names: dict[str, list[str]] = {}
    for rule in rules().values():
        names.setdefault(rule.family, []).append(rule.id)
    return {family: tuple(members) for family, members in names.items()}


def _example(entry: Mapping[str, Any]) -> str:
    if "file" in entry:
        return str(entry["file"])
    if "plugins" in entry:
        return f"{_HEAD}{_PROFILE}  plugins:\n{indent(entry['plugins'], '    ')}"
    if "args" in entry:
        return f"{_HEAD}{_PROFILE}  pluginConfig:\n{indent(entry['args'], '  ')}"
    return _HEAD + entry["example"] if "example" in entry else ""
