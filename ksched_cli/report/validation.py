"""Answers of `validate`: the findings with their lines, and what kube-scheduler itself would say;
their texts for CI; the settings of files, and the rules."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from textwrap import indent

import yaml

from ksched_cli.analysis.configuration import ReviewedFile, ValidationResult, ValidationResults
from ksched_cli.analysis.reviewer import FileSettings
from ksched_cli.config.checks.findings import Finding, Severity
from ksched_cli.config.checks.rules import REFUSALS, Rule, rules
from ksched_cli.report import ci_forms
from ksched_cli.report.ci_forms import Case, Suite
from ksched_cli.report.view import (
    Block,
    Column,
    Excerpt,
    FileText,
    Groups,
    Kind,
    Line,
    Medium,
    Section,
    Table,
    Text,
    Tile,
    Tone,
    View,
    table,
)
from ksched_cli.report.words import counted, printable, verb

_TONES = {Severity.ERROR: Tone.BAD, Severity.WARNING: Tone.WARN, Severity.INFO: Tone.NONE}
_OPENED = 5  # of the findings of several files


def view(answer: ValidationResult | ValidationResults) -> View:
    """Return the verdict, and a block per finding; of several configurations also a row each."""
    files = files_of(answer)
    is_single = isinstance(answer, ValidationResult)
    if isinstance(answer, ValidationResult):
        title = Line(_headline(answer.file), _tone(answer.file))
    else:
        title = _title(answer)
    counts = Counter(finding.severity for file in files for finding in file.findings)
    valid = sum(file.valid for file in files)
    tiles = [Tile("valid", f"{valid:,}", "good" if valid else "")]
    if valid < len(files) or not is_single:
        bad = "bad" if valid < len(files) else ""
        tiles.append(Tile("not valid", f"{len(files) - valid:,}", bad))
    tiles += [
        Tile(_plural(severity), f"{counts[severity]:,}", tone if counts[severity] else "")
        for severity, tone in _TONES.items()
    ]
    ordered = sorted(files, key=lambda file: file.valid)
    blocks = [_block(file, finding) for file in ordered for finding in file.findings]
    sections: list[Section] = [] if is_single else [_files(ordered)]
    sections.append(
        Groups(heading="Findings", blocks=blocks, opened=len(blocks) if is_single else _OPENED)
    )
    # kube-scheduler's own messages follow.
    refused = [
        (file, (file.kube_scheduler.error or "").rstrip("\n").split("\n"))
        for file in ordered
        if not file.kube_scheduler.accepts
    ]
    if is_single:
        sections += [Text(heading=_outcome(file), lines=lines) for file, lines in refused]
    else:
        blocks = [
            Block(heading=f"{file.name}: {_outcome(file)}", lines=lines) for file, lines in refused
        ]
        sections.append(Groups(heading="What kube-scheduler says", blocks=blocks, opened=_OPENED))
    lines = []
    if not isinstance(answer, ValidationResult):
        without = Text(
            heading="Files without a configuration", lines=answer.passed_over, on=Medium.PAGE
        )
        sections.append(without)
        # Templates are warned of.
        count = len(answer.passed_over) - answer.templates
        lines = [f"{counted(count, 'file')} without a configuration" if count else ""]
    return View(title=title.text, tone=title.tone, lines=lines, tiles=tiles, sections=sections)


def files_of(answer: ValidationResult | ValidationResults) -> Sequence[ReviewedFile]:
    """Return the configurations, one or several."""
    return (answer.file,) if isinstance(answer, ValidationResult) else answer.files


def _title(answer: ValidationResults) -> Line:
    files = answer.files
    bad = sum(not file.valid for file in files)
    if not files:
        return Line("No configuration was found")
    if bad:
        total = counted(len(files), "configuration")
        return Line(f"{bad:,} of {total} {verb(bad, 'is', 'are')} not valid", Tone.BAD)
    tone = Tone.WARN if any(file.fails for file in files) else Tone.GOOD
    if len(files) == 1:
        return Line("The configuration is valid", tone)
    return Line(f"All of {counted(len(files), 'configuration')} are valid", tone)


def _files(files: Sequence[ReviewedFile]) -> Table:
    """Return a row per configuration, those that are not valid first."""

    def count(severity: Severity) -> Callable[[ReviewedFile], int]:
        return lambda file: sum(each.severity is severity for each in file.findings)

    return table(
        "Files",
        files,
        (Column("File"), lambda file: file.name),
        (Column("Verdict"), _short_verdict),
        (
            Column("kube-scheduler", drop=1),
            lambda file: "accepts" if file.kube_scheduler.accepts else "refuses",
        ),
        (Column("Errors", Kind.NUMBER), count(Severity.ERROR)),
        (Column("Warnings", Kind.NUMBER), count(Severity.WARNING)),
        (Column("Info", Kind.NUMBER, drop=2), count(Severity.INFO)),
        (Column("Ignored", Kind.NUMBER, drop=3), lambda file: len(file.ignored)),
        noun="configurations",
        grid="files",
    )


def _short_verdict(file: ReviewedFile) -> str:
    if file.valid:
        return "valid; warnings fail" if file.fails else "valid"
    return "not valid"


def _block(file: ReviewedFile, finding: Finding) -> Block:
    """Return the place, the message, the line and the hint."""
    sections: list[Section] = []
    if finding.line and finding.column:
        excerpt = Excerpt(number=finding.line, text=finding.source, column=finding.column)
        sections.append(excerpt)
    sections.append(Text(lines=[f"→ {finding.hint}" if finding.hint else ""]))
    return Block(
        heading=_heading(file, finding),
        tone=_TONES[finding.severity],
        lines=finding.message.rstrip("\n").split("\n"),
        sections=sections,
    )


def _heading(file: ReviewedFile, finding: Finding) -> str:
    """Return the place, severity and rule of a finding, as editors and compilers write them."""
    place = f"{file.path}:{finding.line}:{finding.column}" if finding.line else file.path
    return f"{place}: {finding.severity}: {finding.path or 'the file'} ({finding.rule})"


def _outcome(file: ReviewedFile) -> str:
    """Say what kube-scheduler does that does not accept the file."""
    verdict = file.kube_scheduler
    outcome = "crashes" if verdict.stage == "panic" else f"refuses it at {verdict.stage}"
    return f"kube-scheduler {verdict.version} {outcome}"


def _headline(file: ReviewedFile) -> str:
    """Return the verdict, with counts."""
    counts = Counter(finding.severity for finding in file.findings)
    parts = [
        f"{counts[severity]} {severity if counts[severity] == 1 else _plural(severity)}"
        for severity in Severity
        if counts[severity]
    ]
    if file.ignored:
        parts.append(f"{len(file.ignored)} ignored")
    verdict = "valid" if file.valid else "not valid"
    if file.kube_scheduler.accepts and not file.valid:
        verdict += ", though kube-scheduler accepts it"
    verdict += f": {', '.join(parts)}" if parts else ", no findings"
    failing = "; warnings fail (--fail-on warning)" if file.fails and file.valid else ""
    return f"{file.name}: {verdict}{failing}"


def _tone(file: ReviewedFile) -> Tone:
    if not file.valid:
        return Tone.BAD
    return Tone.WARN if file.fails else Tone.GOOD


def _plural(severity: Severity) -> str:
    return severity.value if severity is Severity.INFO else f"{severity}s"


# -- for CI ---------------------------------------------------------------------------------------


def sarif(answer: ValidationResult | ValidationResults) -> str:
    """Return the findings for code scanning."""
    return ci_forms.sarif(files_of(answer))


def github(answer: ValidationResult | ValidationResults) -> str:
    """Return an annotation per finding."""
    return ci_forms.github_annotations(files_of(answer))


def junit(answer: ValidationResult | ValidationResults) -> str:
    """Return a suite per file, a case per configuration in it."""
    cases: dict[str, list[Case]] = {}
    for file in files_of(answer):
        # Each finding comes first, then kube-scheduler's message, and the verdict last.
        parts = []
        for finding in file.findings:
            parts.append(_heading(file, finding))
            parts.append(_indented(finding.message, "    "))
            if finding.hint:
                parts.append(_indented(f"→ {finding.hint}", "    "))
        if not file.kube_scheduler.accepts:
            parts.append(f"{_outcome(file)}:\n{_indented(file.kube_scheduler.error or '', '  ')}")
        parts.append(_headline(file))
        shown = printable("\n".join(parts))
        name = file.object or "configuration"
        if file.fails:
            first = file.findings[0]
            case = Case(name, f"{first.path or 'the file'}: {first.message}\n{shown}")
        else:
            case = Case(name, None, shown if file.findings else "")
        cases.setdefault(file.path, []).append(case)
    return ci_forms.junit([Suite(path, own) for path, own in cases.items()])


def _indented(text: str, begin: str) -> str:
    return "\n".join(begin + line for line in text.rstrip("\n").split("\n"))


# -- settings -------------------------------------------------------------------------------------


def settings_text(path: str, settings: FileSettings) -> str:
    """Return the settings as YAML: comments say where they come from, and which rules are off or
    are ignored in the file."""
    stated = settings.project.settings
    selectable = [rule for rule in rules().values() if rule.family != REFUSALS]
    document = {
        "kubernetesVersion": settings.release.number,
        "featureGates": settings.feature_gates,
        "minCompatibilityVersion": settings.min_compatibility_version,
        "allowPlugins": [
            "=".join(filter(None, (plugin.name, "+".join(sorted(plugin.points or ())))))
            for plugin in settings.allowed
        ],
        "noPlugins": stated.no_plugins,
        "select": [rule.id for rule in selectable if rule.id in settings.chosen],
        "failOn": str(settings.fail_on),
    }
    off = [rule.id for rule in selectable if rule.id not in settings.chosen]
    ignored = ["@".join(filter(None, (item.selector, item.path))) for item in settings.ignores]
    text: str = yaml.safe_dump(document, sort_keys=False, default_flow_style=None, width=96)
    head = f"# {path}: settings of {settings.project.path or 'no project file'} and the options"
    comments = [*_comment("off", off), *_comment("ignored in this file", ignored)]
    return printable("\n".join([head, text.rstrip(), *comments]))


def _comment(title: str, names: Iterable[str]) -> list[str]:
    listed = ", ".join(names) or "none"
    return textwrap.wrap(f"# {title}: {listed}", 96, subsequent_indent="#   ")


# -- rules of `ksched validate` --------------------------------------------------------------------


def rule_view(rule: Rule) -> View:
    """Show a rule: what it finds, why that matters, and an example."""
    allowing = f" (with --allow-plugins {rule.allow})" if rule.allow else ""
    return View(
        title=f"{rule.id} ({severity_text(rule)}, {rule.family}): {rule.title}",
        sections=[
            Text(lines=rule.text.split("\n")),
            FileText(heading=f"An example{allowing}:", text=indent(rule.example.rstrip(), "    ")),
        ],
    )


def rules_view(listed: Sequence[Rule]) -> View:
    """Show rules, a line each."""
    return View(
        title=counted(len(listed), "rule"),
        sections=[
            table(
                "",
                listed,
                (Column("Rule"), lambda rule: rule.id),
                (Column("Family"), lambda rule: rule.family),
                (Column("Severity"), severity_text),
                (Column("What it finds"), lambda rule: rule.title),
            )
        ],
    )


def severity_text(rule: Rule) -> str:
    """Return the severity of the rule, and whether it is off by default."""
    return rule.severity if rule.is_default else f"{rule.severity}, off by default"
