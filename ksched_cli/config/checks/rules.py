"""The rules of `ksched validate`: what each finds, why it matters, and an example of it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import cache
from pathlib import Path
from textwrap import indent

from msgspec import Struct, field, structs

from ksched_cli import program_name
from ksched_cli.config.checks.findings import Finding, Severity
from ksched_cli.config.checks.known_names import read_table
from ksched_cli.config.types import API_VERSION, KIND
from ksched_cli.errors import UsageError
from ksched_cli.kube.near_names import did_you_mean

# The family of what kube-scheduler refuses, which is always said.
REFUSALS = "kube-scheduler"
_HEAD = f"apiVersion: {API_VERSION}\nkind: {KIND}\n"
_PROFILE = "profiles:\n- schedulerName: default-scheduler\n"


class Rule(Struct, frozen=True):
    """An entry of rules.yaml. severity: that of its findings; family: rules that are selected
    together; is_default: on where nobody selects; title: a line; text: a paragraph; allow: the
    plugins of other builds in the example; the others are parts of the example."""

    severity: Severity
    family: str
    title: str
    text: str
    id: str = ""
    is_default: bool = field(name="default", default=True)
    allow: str = ""
    file: str = ""
    plugins: str = ""
    args: str = ""
    body: str = field(name="example", default="")

    @property
    def example(self) -> str:
        """Return a file that has a finding of the rule, or ""."""
        if self.plugins:
            return f"{_HEAD}{_PROFILE}  plugins:\n{indent(self.plugins, '    ')}"
        if self.args:
            return f"{_HEAD}{_PROFILE}  pluginConfig:\n{indent(self.args, '  ')}"
        return self.file or (self.body and _HEAD + self.body)


@cache
def rules() -> Mapping[str, Rule]:
    """Return all rules by id, the errors first."""
    entries = read_table(__file__, dict[str, Rule])
    return {name: structs.replace(entry, id=name) for name, entry in entries.items()}


@cache
def families() -> Mapping[str, tuple[str, ...]]:
    """Return the rules of each family, in the order of the list."""
    names: dict[str, list[str]] = {}
    for rule in rules().values():
        names.setdefault(rule.family, []).append(rule.id)
    return {family: tuple(members) for family, members in names.items()}


# -- selection ------------------------------------------------------------------------------------
# Which rules of `ksched validate` are on, chosen as ruff chooses its own.
#
# A selector is a rule, a family of rules, or `all`. Where two selectors contradict each other, the
# one of fewer rules decides; between two alike, the one that ignores. `select` on the command line
# starts anew; `extend-select` and `ignore` there change what the project file chooses.


ALL = "all"


@dataclass(frozen=True, slots=True)
class Selection:
    """What one place says: the project file, or the command line. select: None where it leaves the
    choice open"""

    select: Sequence[str] | None = None
    extend_select: Sequence[str] = ()
    ignore: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class FileIgnore:
    """Rules that are ignored in files. pattern: a glob of paths from the project file's folder, or
    of names; selector: of rules; path: of a finding, "" for any"""

    pattern: str
    selector: str
    path: str = ""

    def silences(self, finding: Finding) -> bool:
        inside = finding.path == self.path or finding.path.startswith(
            (f"{self.path}.", f"{self.path}[")
        )
        return finding.rule in rules_of(self.selector) and (inside or not self.path)


def rules_of(selector: str) -> frozenset[str]:
    """Return the rules that a selector names. Raises UsageError where it names none."""
    if selector == ALL:
        return frozenset(rules())
    if selector in families():
        return frozenset(families()[selector])
    if selector in rules():
        return frozenset((selector,))
    names = (*families(), *rules())
    hint = did_you_mean(selector, names) or f"`{program_name()} validate --explain all` lists them"
    raise UsageError(f'"{selector}" is neither a rule nor a family of rules; {hint}')


def check_ignored(selector: str) -> None:
    """Check that a selector of rules may be ignored. Raises UsageError for a selector of nothing,
    and of what kube-scheduler refuses."""
    if rules_of(selector) <= frozenset(families()[REFUSALS]):
        raise UsageError(f'"{selector}" cannot be ignored: kube-scheduler refuses such files')


def selected_rules(selections: Iterable[Selection]) -> frozenset[str]:
    """Return the rules that are on after each selection in turn. What kube-scheduler refuses is
    always said. Raises UsageError for a selector that names nothing."""
    chosen = {rule.id for rule in rules().values() if rule.is_default}
    for selection in selections:
        on = (*(selection.select or ()), *selection.extend_select)
        selectors = [(selector, True) for selector in on]
        selectors += [(selector, False) for selector in selection.ignore]
        if selection.select is not None:
            chosen = set()
        # All rules first, then families, then single rules: what is more specific decides. The sort
        # is stable: of selectors alike, those that ignore come last.
        for selector, is_on in sorted(
            selectors, key=lambda item: 0 if item[0] == ALL else 1 if item[0] in families() else 2
        ):
            chosen = chosen | rules_of(selector) if is_on else chosen - rules_of(selector)
    return frozenset(chosen) | frozenset(families()[REFUSALS])


def file_ignores(patterns: Mapping[str, Sequence[str]]) -> tuple[FileIgnore, ...]:
    """Return selectors from globs, each with `@PATH` where it is for a part of the file."""
    return tuple(
        FileIgnore(pattern, selector, path)
        for pattern, selectors in patterns.items()
        for selector, _, path in (text.partition("@") for text in selectors)
    )


def matching(ignores: Iterable[FileIgnore], path: str, folder: Path) -> tuple[FileIgnore, ...]:
    """Return those for a file. folder: of the project file"""
    file = Path(path).absolute()
    return tuple(
        ignore
        for ignore in ignores
        if fnmatch(file.name, ignore.pattern) or fnmatch(str(file), str(folder / ignore.pattern))
    )


# -- comments -------------------------------------------------------------------------------------
# Comments that silence findings: `# ksched: ignore[RULE, RULE]`.
#
# At the end of a line a comment is about that line; alone on a line, about the next one.


_COMMENT = re.compile(
    r"(?:^|(?<=\s))#[ \t]*ksched:[ \t]*ignore\b(?:\[(?P<rules>[^\]\n]*)\])?", re.M
)
# The rules of findings about later minors, which are made after the others.
LATER_RULE, CHANGES_RULE = LATER_RULES = ("refused-later", "changes-later")
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
    """Yield every rule of every comment."""
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
    """Return the findings that remain, with those about the comments themselves; and the silenced
    ones. What kube-scheduler refuses is not silenced."""
    every = list(findings)
    by_place: dict[tuple[str, int | None], list[Finding]] = {}
    for finding in every:
        by_place.setdefault((finding.rule, finding.line), []).append(finding)
    silenced: dict[tuple[str, int | None], list[Finding]] = {}
    for ignore in ignores(text):
        if ignore.rule in LATER_RULES:
            continue
        place = ignore.rule, ignore.line
        matching = by_place.get(place, [])
        if matching and not matching[0].refused:
            silenced.setdefault(place, []).extend(by_place.pop(place))
        elif place not in silenced:
            # The comment silences nothing.
            rule, hint = "ignore-unused", "remove the comment"
            if ignore.rule not in rules():
                problem = (
                    f'unknown rule "{ignore.rule}"' if ignore.rule else "the comment names no rule"
                )
                rule, hint = "ignore-unknown", did_you_mean(ignore.rule, rules()) or _HINT
            elif matching:
                problem = (
                    f"kube-scheduler refuses the file because of {ignore.rule}; a comment cannot "
                    "silence that"
                )
                hint = "correct the line, and remove the comment"
            else:
                problem = f"line {ignore.line} has no finding of {ignore.rule} to ignore"
            position = ignore.comment_line, ignore.column
            idle = Finding(Severity.WARNING, "", *position, problem, hint, rule)
            every.append(idle)
            by_place.setdefault((idle.rule, idle.line), []).append(idle)
    removed = {id(finding) for findings in silenced.values() for finding in findings}
    remaining = [finding for finding in every if id(finding) not in removed]
    return remaining, tuple(finding for findings in silenced.values() for finding in findings)
