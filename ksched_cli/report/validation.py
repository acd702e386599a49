"""Reviews of configurations (config.review) as table text and JUnit's cases; pages of the rules."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from textwrap import indent

import yaml

from ksched_cli.config.checks.findings import Finding
from ksched_cli.config.checks.rules import REFUSALS, Rule, rules
from ksched_cli.config.review import Review
from ksched_cli.config.reviewer import FileSettings, ReviewedText
from ksched_cli.config.sources import Sources
from ksched_cli.report.ci_forms import Case, Suite
from ksched_cli.report.table import EVERYTHING, Limit, counted, grouped, printable


def suites(texts: Sequence[ReviewedText]) -> list[Suite]:
    """For JUnit: a suite per file, a case per configuration in it."""
    cases = grouped((text.source.path, _case(text)) for text in texts)
    return [Suite(path, own) for path, own in cases.items()]


def _case(text: ReviewedText) -> Case:
    name = text.source.object or "configuration"
    shown = table(text, EVERYTHING)
    if not text.fails:
        return Case(name, None, shown if text.review.findings else "")
    first = text.review.findings[0]
    return Case(name, f"{first.path or 'the file'}: {first.message}\n{shown}")


def tables(texts: Sequence[ReviewedText], sources: Sources, limit: Limit) -> str:
    """The table of each configuration, and how many there are of each verdict."""
    parts = [table(text, limit) for text in texts]
    valid = sum(text.review.valid for text in texts)
    counts = [f"{counted(len(texts), 'configuration')}: {valid} valid, {len(texts) - valid} not"]
    if sources.passed_over:
        counts.append(f"{counted(len(sources.passed_over), 'file')} without one")
    if len(texts) != 1 or sources.passed_over:
        parts.append("; ".join(counts))
    return "\n".join(parts)


def table(text: ReviewedText, limit: Limit) -> str:
    """A block per finding, then kube-scheduler's message where it refuses, then the verdict
    with counts."""
    review, verdict = text.review, text.review.verdict
    parts = [_block(finding, text.source.path, limit) for finding in review.findings]
    if not verdict.accepts:
        outcome = "crashes" if verdict.stage == "panic" else f"refuses it at {verdict.stage}"
        message = _wrapped(verdict.error or "", limit, "  ")
        parts.append(f"kube-scheduler {review.verdict.version} {outcome}:\n{message}")
    parts.append(headline(text))
    return printable("\n".join(parts))


def _block(finding: Finding, source_name: str, limit: Limit) -> str:
    position = f"{source_name}:{finding.line}:{finding.column}" if finding.line else source_name
    lines = [f"{position}: {finding.severity}: {finding.path or 'the file'} ({finding.rule})"]
    lines.append(_wrapped(finding.message, limit, "    "))
    if finding.hint:
        lines.append(_wrapped(f"→ {finding.hint}", limit, "    "))
    return "\n".join(lines)


def _wrapped(text: str, limit: Limit, indent: str) -> str:
    width = limit.width or 0
    lines = text.rstrip("\n").split("\n")
    if not width:
        return "\n".join(indent + line for line in lines)
    wrapped = (
        textwrap.fill(
            line,
            width,
            initial_indent=indent,
            subsequent_indent=indent,
            break_on_hyphens=False,
            replace_whitespace=False,
        )
        for line in lines
    )
    return "\n".join(wrapped)


def headline(text: ReviewedText) -> str:
    """The verdict, with counts."""
    failing = "; warnings fail (--fail-on warning)" if text.fails and text.review.valid else ""
    return f"{text.source.name}: {_verdict(text.review)}{failing}"


def _verdict(review: Review) -> str:
    counts = Counter(str(finding.severity) for finding in review.findings)
    parts = [
        f"{counts[name]} {name}{'s' if counts[name] != 1 and name != 'info' else ''}"
        for name in ("error", "warning", "info")
        if counts[name]
    ]
    if review.silenced:
        parts.append(f"{len(review.silenced)} ignored")
    verdict = "valid" if review.valid else "not valid"
    if review.verdict.accepts and not review.valid:
        verdict += ", though kube-scheduler accepts it"
    return f"{verdict}: {', '.join(parts)}" if parts else f"{verdict}, no findings"


def settings_text(path: str, settings: FileSettings) -> str:
    """YAML: comments say where the settings come from, and which rules are off or are ignored in
    the file."""
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


def rule_page(rule: Rule, limit: Limit) -> str:
    """A rule, for a terminal."""
    parts = [
        f"{rule.id} ({severity_text(rule)}, {rule.family}): {rule.title}",
        limit.paragraph(rule.text),
    ]
    if rule.example:
        allowing = f" (with --allow-plugins {rule.allow})" if rule.allow else ""
        parts.append(f"An example{allowing}:\n\n{indent(rule.example.rstrip(), '    ')}")
    return "\n\n".join(parts)


def rules_listing(rules: Mapping[str, Rule], limit: Limit) -> str:
    """All rules, a line each."""
    rows = [(rule.id, rule.family, severity_text(rule), rule.title) for rule in rules.values()]
    return limit.columns(("RULE", "FAMILY", "SEVERITY", "WHAT IT FINDS"), rows)


def severity_text(rule: Rule) -> str:
    """The severity of the rule, and whether it is off by default."""
    return rule.severity if rule.is_default else f"{rule.severity}, off by default"
