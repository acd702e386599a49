"""A configuration's text judged: kube-scheduler's verdict, and every finding with its position.

`judge` runs kube-scheduler's stages once; the findings and the effective configuration are both
made of its Judgement.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from ksched_cli.answers import Part
from ksched_cli.config.allowed_plugins import AllowedPlugin, allowed_in, with_allowed
from ksched_cli.config.checks.findings import Finding, Findings, Severity, at_position, in_order
from ksched_cli.config.checks.lint import PROFILE_RULES, RULES, LintedProfile, extender_files
from ksched_cli.config.checks.refusals import (
    add_field_error,
    add_startup_error,
    check_args_kind,
    check_kind,
    check_names,
)
from ksched_cli.config.checks.rules import without_ignored
from ksched_cli.config.defaults import with_defaults
from ksched_cli.config.effective import KnownPlugins
from ksched_cli.config.parsing import ParsedText, is_json_buffer, parse
from ksched_cli.config.startup import Startup, start
from ksched_cli.config.types import SchedulerConfiguration
from ksched_cli.config.validation import text as validation_text
from ksched_cli.config.validation import validate
from ksched_cli.errors import InputError, Position
from ksched_cli.kube.documents import decode_text
from ksched_cli.kube.field_errors import FieldError
from ksched_cli.kube.json_tree import walk

_CURLY = ("\u201c", "\u201d", "\u2018", "\u2019")  # “ ” and the single ones
_TAB = re.compile(r"^ *\t", re.MULTILINE)


class Stage(StrEnum):
    """The stage at which kube-scheduler stops."""

    DECODE = "decode"
    VALIDATE = "validate"
    FRAMEWORK = "framework"
    PANIC = "panic"


class KubeSchedulerVerdict(Part, frozen=True):
    """What kube-scheduler itself would say.

    stage: where it stops; panic is where it crashes
    error: its own text; at the validate stage a line per error, sorted
    """

    version: str
    accepts: bool
    stage: Stage | None
    error: str | None


@dataclass(frozen=True, slots=True)
class Review:
    """kube-scheduler's verdict, and the findings: errors first, then by position.

    ignored: the findings that comments silence; ignored_by_project: those that the project file
    silences
    """

    verdict: KubeSchedulerVerdict
    findings: tuple[Finding, ...]
    ignored: tuple[Finding, ...] = ()
    ignored_by_project: tuple[Finding, ...] = ()

    @property
    def silenced(self) -> tuple[Finding, ...]:
        return (*self.ignored, *self.ignored_by_project)

    @property
    def valid(self) -> bool:
        """No finding has severity error."""
        return not self.fails()

    def fails(self, least: Severity = Severity.ERROR) -> bool:
        """Return whether a finding is as severe, or more."""
        order = list(Severity)
        return any(order.index(item.severity) <= order.index(least) for item in self.findings)


@dataclass(frozen=True, slots=True)
class Judgement:
    """What every stage makes of a text; later stages go on after an error of an earlier one.

    defaulted: the parsed configuration with defaults; registry: with the plugins that are allowed
    """

    verdict: KubeSchedulerVerdict
    parsed: ParsedText
    defaulted: SchedulerConfiguration
    field_errors: tuple[FieldError, ...]
    startup: Startup
    registry: KnownPlugins


def judge(
    text: str,
    registry: KnownPlugins,
    allowed: Sequence[AllowedPlugin] | None = None,
    *,
    reads_files: bool = True,
) -> Judgement:
    """Run decoding, defaulting, validation and startup, each once.

    allowed: plugins of other builds that are taken as there, beside those that the text's comments
    allow; None if a plugin must be there with its code. Raises UsageError for a comment that
    allows no plugin.
    reads_files: whether files of the extenders' TLS that cannot be read here are an error
    """
    parsed = parse(text, registry)
    if allowed is not None:
        every = (*allowed, *allowed_in(text))
        registry = with_allowed(registry, every, parsed.configuration)
    defaulted = with_defaults(parsed.configuration, registry)
    field_errors = tuple(validate(defaulted, registry))
    startup = start(parsed.configuration, defaulted, registry, reads_files=reads_files)
    stage, error = (None if parsed.error is None else Stage.DECODE), parsed.error
    if stage is None and field_errors:
        stage, error = Stage.VALIDATE, validation_text(field_errors)
    elif stage is None and startup.errors:
        stage = Stage.PANIC if startup.errors[0].panics else Stage.FRAMEWORK
        error = startup.errors[0].message
    verdict = KubeSchedulerVerdict(registry.release.version, stage is None, stage, error)
    return Judgement(verdict, parsed, defaulted, field_errors, startup, registry)


def review_bytes(
    raw: bytes,
    source_name: str,
    registry: KnownPlugins,
    allowed: Sequence[AllowedPlugin] = (),
    *,
    looks_at_files: bool = True,
) -> Review:
    """Return the review of a file as it was read; one that is not UTF-8 has a finding that says
    so."""
    try:
        text = decode_text(raw, source_name)
        return review(text, registry, allowed, looks_at_files=looks_at_files)
    except InputError as error:
        finding = at_position("not-text", (), error.position, error.problem, error.hint)
        version, reason = registry.release.version, "yaml: invalid leading UTF-8 octet"
        return Review(KubeSchedulerVerdict(version, False, Stage.DECODE, reason), (finding,))


def review(
    text: str,
    registry: KnownPlugins,
    allowed: Sequence[AllowedPlugin] = (),
    *,
    looks_at_files: bool = True,
) -> Review:
    """Return every finding, those of later stages too where an earlier one refuses.

    allowed: plugins of other builds that are taken as there
    looks_at_files: whether a finding may say which files are on this machine
    Raises UsageError for a comment that allows no plugin.
    """
    judgement = judge(text, registry, allowed, reads_files=False)
    findings = findings_of(text, judgement, looks_at_files=looks_at_files)
    remaining, ignored = without_ignored(findings, text)
    return Review(judgement.verdict, in_order(remaining), ignored)


def findings_of(
    text: str, judgement: Judgement, *, looks_at_files: bool = False
) -> tuple[Finding, ...]:
    """Return the findings about a judged text. looks_at_files: see review"""
    parsed, registry, findings = judgement.parsed, judgement.registry, Findings(text)
    if parsed.syntax_error is not None:
        # Say why the text may not be YAML.
        hint = ""
        if is_json_buffer(text):
            hint = "kube-scheduler reads text that begins with { as JSON, never as YAML"
        elif _TAB.search(text):
            hint = "indent with spaces: YAML takes no tabs there"
        if "{{" in text:
            hint = "render a template first: `helm template CHART`"
        error = parsed.syntax_error
        findings.put(at_position("syntax", (), error.position, error.problem, hint))
        return findings.sorted()
    if check_kind(parsed.data, registry.release.version, findings):
        _check(judgement, registry, findings)
        if looks_at_files:
            extender_files(parsed.configuration, findings)
        if "\r\n" in text:
            message = (
                "the file has Windows line endings (CRLF); kube-scheduler accepts them, "
                "but tools that compare files may not"
            )
            findings.inform("windows-line-ends", (), message, "in git: `* text=auto eol=lf`")
    if not judgement.verdict.accepts and not findings.has_refusals():
        message = judgement.verdict.error or ""
        findings.error("refused", (), message, "this message is kube-scheduler's own")
    return findings.sorted()


def _check(judgement: Judgement, registry: KnownPlugins, findings: Findings) -> None:
    parsed = judgement.parsed
    for item in parsed.duplicates:
        message = f'the key "{item.key}" appears twice; the last one counts'
        hint = "keep one of them"
        position = Position(item.line, item.column)
        findings.put(at_position("duplicate-key", (str(item.key),), position, message, hint))
    if parsed.error is not None:
        # A text that decodes has no such error, and need not wait for the wordings.
        from ksched_cli.config.checks.structure import check_structure

        check_structure(parsed.data, registry, findings)
    check_args_kind(parsed.configuration, parsed.data, registry, findings)
    for field_error in judgement.field_errors:
        add_field_error(field_error, (), findings)
    for path, value in walk(parsed.data):
        if isinstance(value, str) and value.startswith(_CURLY) and value.endswith(_CURLY):
            plain = value.strip("".join(_CURLY))
            message = f"{value} has curly quotes, and they become part of the value"
            findings.warn("curly-quotes", path, message, f'write "{plain}"')
    check_names(parsed.configuration, registry, findings)
    for error in judgement.startup.errors:
        add_startup_error(error, parsed.configuration, findings)
    _lint(judgement, registry, findings)


def _lint(judgement: Judgement, registry: KnownPlugins, findings: Findings) -> None:
    given, defaulted = judgement.parsed.configuration, judgement.defaulted
    if judgement.parsed.documents > 1:
        message = "the file has several documents; kube-scheduler reads only the first"
        findings.warn("several-documents", (), message, "remove the others")
    for rule in RULES:
        rule(given, defaulted, findings)
    for index, profile in enumerate(given.profiles or ()):
        effective = judgement.startup.profiles[index]
        subject = LintedProfile(("profiles", index), profile, effective, registry, findings)
        for profile_rule in PROFILE_RULES:
            profile_rule(subject)
