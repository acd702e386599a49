"""Which rules of `ksched validate` are on, chosen as ruff chooses its own.

A selector is a rule, a family of rules, or `all`. Where two selectors contradict each
other, the one of fewer rules decides; between two alike, the one that ignores. `select` on the
command line starts anew; `extend-select` and `ignore` there change what the project file chooses.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

from ksched_cli import program_name
from ksched_cli.config.checks.findings import Finding
from ksched_cli.config.checks.rules import REFUSALS, families, rules
from ksched_cli.errors import UsageError
from ksched_cli.kube.near_names import did_you_mean

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
    """The rules that a selector names. Raises UsageError where it names none."""
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
    """Raises UsageError for a selector of nothing, and of what kube-scheduler refuses."""
    if rules_of(selector) <= frozenset(families()[REFUSALS]):
        raise UsageError(f'"{selector}" cannot be ignored: kube-scheduler refuses such files')


def selected_rules(selections: Iterable[Selection]) -> frozenset[str]:
    """The rules that are on after each selection in turn. What kube-scheduler refuses is always
    said. Raises UsageError for a selector that names nothing."""
    chosen = {rule.id for rule in rules().values() if rule.is_default}
    for selection in selections:
        switched: dict[str, bool] = {}
        selectors = [
            *(
                (selector, True)
                for selector in (*(selection.select or ()), *selection.extend_select)
            ),
            *((selector, False) for selector in selection.ignore),
        ]
        # Stable: of selectors alike, those that ignore come last.
        for selector, is_on in sorted(selectors, key=lambda item: _specificity(item[0])):
            switched |= dict.fromkeys(rules_of(selector), is_on)
        if selection.select is not None:
            chosen = set()
        chosen = (chosen | {name for name, is_on in switched.items() if is_on}) - {
            name for name, is_on in switched.items() if not is_on
        }
    return frozenset(chosen) | frozenset(families()[REFUSALS])


def _specificity(selector: str) -> int:
    return 0 if selector == ALL else 1 if selector in families() else 2


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
