"""Comments that silence findings: `# ksched: ignore[RULE, RULE]`.

At the end of a line a comment is about that line; alone on a line, about the next one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ksched_cli.config.checks.findings import Finding, Severity
from ksched_cli.config.checks.rules import rules
from ksched_cli.kube.near_names import did_you_mean

_COMMENT = re.compile(r"(?:^|(?<=\s))#\s*ksched:\s*ignore\b(?:\[(?P<rules>[^\]\n]*)\])?", re.M)
# Of the findings under the rules of later minors, which are made after the others.
LATER_RULE = "refused-later"
_HINT = "as # ksched: ignore[weight-zero]; `ksched validate --explain all` lists the rules"


@dataclass(frozen=True, slots=True)
class Ignore:
    """A rule that a comment names. line: that the comment is about; comment_line, column: where it
    stands; rule: "" where the comment names none."""

    rule: str
    line: int
    comment_line: int
    column: int


def ignores(text: str) -> Iterator[Ignore]:
    """Every rule of every comment."""
    if "ksched:" not in text:
        return
    for match in _COMMENT.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        begin = text.rfind("\n", 0, match.start()) + 1
        is_alone = not text[begin : match.start()].strip()
        for rule in (match["rules"] or "").split(","):
            column = match.start() - begin + 1
            yield Ignore(rule.strip(), line + is_alone, line, column)


def without_ignored(
    findings: Sequence[Finding], text: str
) -> tuple[list[Finding], tuple[Finding, ...]]:
    """The findings that remain, with those about the comments themselves; and the silenced ones.
    What kube-scheduler refuses is not silenced."""
    remaining = list(findings)
    silenced: list[Finding] = []
    for ignore in ignores(text):
        if ignore.rule == LATER_RULE:
            continue
        matching = [
            finding
            for finding in remaining
            if (finding.rule, finding.line) == (ignore.rule, ignore.line)
        ]
        if matching and not matching[0].refused:
            silenced += matching
            remaining = [finding for finding in remaining if finding not in matching]
        elif not any((item.rule, item.line) == (ignore.rule, ignore.line) for item in silenced):
            remaining.append(_idle(ignore, is_refused=bool(matching)))
    return remaining, tuple(silenced)


def _idle(ignore: Ignore, is_refused: bool) -> Finding:
    """About a comment that silences nothing."""
    if ignore.rule not in rules():
        problem = f'"{ignore.rule}" is no rule' if ignore.rule else "the comment names no rule"
        hint = did_you_mean(ignore.rule, rules()) or _HINT
        return _about(ignore, "ignore-unknown", problem, hint)
    if is_refused:
        problem = f"kube-scheduler refuses the file for {ignore.rule}, which no comment silences"
        return _about(ignore, "ignore-unused", problem, "correct the line, and remove the comment")
    problem = f"line {ignore.line} has no finding of {ignore.rule} to ignore"
    return _about(ignore, "ignore-unused", problem, "remove the comment")


def _about(ignore: Ignore, rule: str, message: str, hint: str) -> Finding:
    position = ignore.comment_line, ignore.column
    return Finding(Severity.WARNING, "", *position, message, hint, rule)
