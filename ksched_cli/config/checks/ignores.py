"""Comments that silence findings: `# ksched: ignore[RULE, RULE]`.

At the end of a line a comment is about that line; alone on a line, about the next one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ksched_cli import program_name
from ksched_cli.config.checks.findings import Finding, Severity
from ksched_cli.config.checks.rules import rules
from ksched_cli.kube.near_names import did_you_mean

_COMMENT = re.compile(
    r"(?:^|(?<=\s))#[ \t]*ksched:[ \t]*ignore\b(?:\[(?P<rules>[^\]\n]*)\])?", re.M
)
# The rule of findings about later minors, which are made after the others.
LATER_RULE = "refused-later"
_HINT = (
    f"as # ksched: ignore[weight-zero]; `{program_name()} validate --explain all` lists the rules"
)


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
    line, begin, end = 1, 0, 0  # the line and where it begins; where the comment before ends
    for match in _COMMENT.finditer(text):
        start = match.start()
        line += text.count("\n", end, start)
        begin = text.rfind("\n", end, start) + 1 or begin
        is_alone = end <= begin and not text[begin:start].strip()
        end = match.end()
        for rule in (match["rules"] or "").split(","):
            yield Ignore(rule.strip(), line + is_alone, line, start - begin + 1)


def without_ignored(
    findings: Sequence[Finding], text: str
) -> tuple[list[Finding], tuple[Finding, ...]]:
    """The findings that remain, with those about the comments themselves; and the silenced ones.
    What kube-scheduler refuses is not silenced."""
    every = list(findings)
    by_place: dict[tuple[str, int | None], list[Finding]] = {}
    for finding in every:
        by_place.setdefault((finding.rule, finding.line), []).append(finding)
    silenced: dict[tuple[str, int | None], list[Finding]] = {}
    for ignore in ignores(text):
        if ignore.rule == LATER_RULE:
            continue
        place = ignore.rule, ignore.line
        matching = by_place.get(place, [])
        if matching and not matching[0].refused:
            silenced.setdefault(place, []).extend(by_place.pop(place))
        elif place not in silenced:
            idle = _idle(ignore, is_refused=bool(matching))
            every.append(idle)
            by_place.setdefault((idle.rule, idle.line), []).append(idle)
    removed = {id(finding) for findings in silenced.values() for finding in findings}
    remaining = [finding for finding in every if id(finding) not in removed]
    return remaining, tuple(finding for findings in silenced.values() for finding in findings)


def _idle(ignore: Ignore, is_refused: bool) -> Finding:
    """About a comment that silences nothing."""
    if ignore.rule not in rules():
        problem = f'unknown rule "{ignore.rule}"' if ignore.rule else "the comment names no rule"
        hint = did_you_mean(ignore.rule, rules()) or _HINT
        return _about(ignore, "ignore-unknown", problem, hint)
    if is_refused:
        problem = (
            f"kube-scheduler refuses the file because of {ignore.rule}; a comment cannot "
            "silence that"
        )
        return _about(ignore, "ignore-unused", problem, "correct the line, and remove the comment")
    problem = f"line {ignore.line} has no finding of {ignore.rule} to ignore"
    return _about(ignore, "ignore-unused", problem, "remove the comment")


def _about(ignore: Ignore, rule: str, message: str, hint: str) -> Finding:
    position = ignore.comment_line, ignore.column
    return Finding(Severity.WARNING, "", *position, message, hint, rule)
