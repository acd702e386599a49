"""A configuration's text judged: what kube-scheduler says to it, and everything there is to say."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from ksched_cli.config.checks.findings import Finding, Findings, Severity, at_position
from ksched_cli.config.checks.lint import PROFILE_RULES, RULES, Subject
from ksched_cli.config.checks.refusals import (
    check_args_kind,
    check_kind,
    check_names,
    field_error,
    start_fault,
)
from ksched_cli.config.defaults import with_defaults
from ksched_cli.config.effective import Configuration, KnownPlugins
from ksched_cli.config.merge import FrameworkError
from ksched_cli.config.parsing import Decoded, decode, is_json_buffer
from ksched_cli.config.startup import StartupError, build, build_profile, start_faults
from ksched_cli.config.types import SchedulerConfiguration
from ksched_cli.config.validation import text as validation_text
from ksched_cli.config.validation import validate
from ksched_cli.errors import InputError, Position
from ksched_cli.kube.documents import decode_text


class Stage(StrEnum):
    """Where kube-scheduler stops."""

    DECODE = "decode"
    VALIDATE = "validate"
    FRAMEWORK = "framework"
    PANIC = "panic"


@dataclass(frozen=True, slots=True)
class Verdict:
    """kube-scheduler's own: stage and error are None where it accepts."""

    stage: Stage | None = None
    error: str | None = None

    @property
    def accepts(self) -> bool:
        return self.stage is None


@dataclass(frozen=True, slots=True)
class Review:
    """readable: whether the text is YAML or JSON at all."""

    verdict: Verdict
    findings: tuple[Finding, ...]
    readable: bool = True

    @property
    def valid(self) -> bool:
        """Nothing of severity error was found."""
        return not any(finding.severity is Severity.ERROR for finding in self.findings)


@dataclass(frozen=True, slots=True)
class _Outcome:
    verdict: Verdict
    decoded: Decoded
    defaulted: SchedulerConfiguration
    faults: tuple[StartupError, ...]


def judge(text: str, known: KnownPlugins) -> tuple[Verdict, Configuration | None]:
    """kube-scheduler's verdict, and the effective configuration where it accepts."""
    outcome = _judge(text, known)
    if not outcome.verdict.accepts:
        return outcome.verdict, None
    return outcome.verdict, build(outcome.decoded.configuration, outcome.defaulted, known)


def _judge(text: str, known: KnownPlugins) -> _Outcome:
    decoded = decode(text, known)
    defaulted = with_defaults(decoded.configuration, known)
    errors = validate(defaulted, known)
    faults = tuple(start_faults(decoded.configuration, defaulted, known))
    if decoded.error is not None:
        verdict = Verdict(Stage.DECODE, decoded.error)
    elif errors:
        verdict = Verdict(Stage.VALIDATE, validation_text(errors))
    elif faults:
        stage = Stage.PANIC if faults[0].panics else Stage.FRAMEWORK
        verdict = Verdict(stage, faults[0].message)
    else:
        verdict = Verdict()
    return _Outcome(verdict, decoded, defaulted, faults)


def review_bytes(raw: bytes, source_name: str, known: KnownPlugins) -> Review:
    """The review of a file as it was read; one that is not UTF-8 has a finding that says so."""
    try:
        return review(decode_text(raw, source_name), known)
    except InputError as error:
        finding = at_position("not-text", (), error.position, error.problem, error.hint)
        verdict = Verdict(Stage.DECODE, "yaml: invalid leading UTF-8 octet")
        return Review(verdict, (finding,), readable=False)


def review(text: str, known: KnownPlugins) -> Review:
    """Every finding, those of later stages too where an earlier one refuses."""
    outcome = _judge(text, known)
    decoded, findings = outcome.decoded, Findings(text)
    if decoded.fault is not None:
        _unreadable(text, decoded, findings)
        return Review(outcome.verdict, findings.sorted(), readable=False)
    if check_kind(decoded.data, findings):
        _check(outcome, known, findings)
    if not outcome.verdict.accepts and not findings.has_errors():
        said = outcome.verdict.error or ""
        findings.error("refused", (), said, "these are kube-scheduler's own words")
    return Review(outcome.verdict, findings.sorted())


def _unreadable(text: str, decoded: Decoded, findings: Findings) -> None:
    fault = decoded.fault
    if fault is None:
        return
    problem = fault.problem
    if fault.position and problem.startswith("line "):
        problem = problem.partition(": ")[2]
    form = "JSON" if is_json_buffer(text) else "YAML"
    hint = "a text that begins with { is read as JSON, never as YAML" if form == "JSON" else ""
    findings.put(at_position("syntax", (), fault.position, f"not {form}: {problem}", hint))


def _check(outcome: _Outcome, known: KnownPlugins, findings: Findings) -> None:
    decoded = outcome.decoded
    for item in decoded.duplicates:
        message = f'the key "{item.key}" is written twice; the last one counts'
        place = Position(item.line, item.column)
        findings.put(at_position("duplicate-key", (str(item.key),), place, message))
    _check_structure(decoded, known, findings)
    check_args_kind(decoded.configuration, decoded.data, known, findings)
    for error in validate(outcome.defaulted, known):
        field_error(error, (), findings)
    check_names(decoded.configuration, known, findings)
    for fault in outcome.faults:
        start_fault(fault, decoded.configuration, findings)
    _lint(outcome, known, findings)


def _check_structure(decoded: Decoded, known: KnownPlugins, findings: Findings) -> None:
    """The schema finds every wrong key and type; one that the decoder found nothing in has none.

    jsonschema takes longer to import than all the rest, so it is asked only then.
    """
    if decoded.error is None:
        return
    from ksched_cli.config.checks.json_schema import check_structure

    check_structure(decoded.data, known, findings)


def _lint(outcome: _Outcome, known: KnownPlugins, findings: Findings) -> None:
    given, defaulted = outcome.decoded.configuration, outcome.defaulted
    if outcome.decoded.documents > 1:
        message = "the file has several documents; kube-scheduler reads only the first"
        findings.warn("several-documents", (), message)
    for rule in RULES:
        rule(given, defaulted, findings)
    for index, profile in enumerate(given.profiles or ()):
        try:
            effective = build_profile(given, defaulted, index, known)
        except FrameworkError:
            effective = None
        subject = Subject(("profiles", index), profile, effective, known, findings)
        for profile_rule in PROFILE_RULES:
            profile_rule(subject)
