"""Findings and cases as CI systems read them.

GitHub's annotations are a workflow command per finding, shown beside its line; the commands and
their escapes are those of GitHub's toolkit (command.ts). JUnit XML has a suite per file and a case
per check, in the format of the Jenkins xUnit plugin's junit-10.xsd, which the tests validate it
against; it is written with the standard library: an element for each of a handful of tags. SARIF
2.1.0 is what code scanning and editors read; its format is the OASIS standard, and the tests
validate what is made here against its JSON Schema.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote
from xml.etree import ElementTree  # nosec B405  # writes XML, reads none

from ksched_cli import __version__
from ksched_cli.analysis.configuration import ReviewedFile
from ksched_cli.config.checks.findings import Finding, Severity
from ksched_cli.config.checks.rules import rules
from ksched_cli.errors import Position
from ksched_cli.report.words import printable

# -- GitHub ----------------------------------------------------------------------------------------


_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}


def github_annotations(files: Sequence[ReviewedFile]) -> str:
    """Return a line per finding; empty if there is none."""
    lines = []
    for file in files:
        for finding in file.findings:
            position = Position(finding.line, finding.column or 1) if finding.line else None
            message = f"{finding.path}: {finding.message}" if finding.path else finding.message
            if finding.hint:
                message += f"\n{finding.hint}"
            level, title = _COMMANDS[finding.severity], f"ksched: {finding.rule}"
            lines.append(annotation(level, file.path, position, title, message))
    return "\n".join(lines)


def annotation(level: str, path: str, position: Position | None, title: str, message: str) -> str:
    """Return a workflow command. level: error, warning or notice"""
    properties = {"file": path}
    if position:
        properties |= {"line": str(position.line), "col": str(position.column)}
    properties["title"] = title
    escaped = (
        (key, _data(value).replace(":", "%3A").replace(",", "%2C"))
        for key, value in properties.items()
    )
    listed = ",".join(f"{key}={value}" for key, value in escaped)
    return f"::{level} {listed}::{_data(message)}"


def _data(text: str) -> str:
    escaped = printable(text).replace("%", "%25").replace("\r", "%0D")
    return escaped.replace("\n", "%0A")


# -- JUnit -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Case:
    """failure: why it failed, None where it passed: its first line is the summary; output: what
    else there is to read."""

    name: str
    failure: str | None = None
    output: str = ""


@dataclass(frozen=True, slots=True)
class Suite:
    """name: of the file that is tested."""

    name: str
    cases: Sequence[Case]


def junit(suites: Sequence[Suite]) -> str:
    """Return the whole document."""
    root = ElementTree.Element("testsuites", {"name": "ksched", **_counts(suites)})
    for suite in suites:
        attributes = {"name": printable(suite.name), **_counts([suite])}
        element = ElementTree.SubElement(root, "testsuite", attributes)
        for case in suite.cases:
            named = {"name": printable(case.name), "classname": printable(suite.name)}
            entry = ElementTree.SubElement(element, "testcase", named)
            if case.failure is not None:
                summary = printable(case.failure.partition("\n")[0])
                failure = ElementTree.SubElement(entry, "failure", message=summary, type="failure")
                failure.text = printable(case.failure)
            if case.output:
                ElementTree.SubElement(entry, "system-out").text = printable(case.output)
    ElementTree.indent(root)
    text: str = ElementTree.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}'


def _counts(suites: Sequence[Suite]) -> dict[str, str]:
    cases = [case for suite in suites for case in suite.cases]
    failures = sum(case.failure is not None for case in cases)
    return {"tests": str(len(cases)), "failures": str(failures), "errors": "0"}


# -- SARIF -----------------------------------------------------------------------------------------


_SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}


def sarif(files: Sequence[ReviewedFile]) -> str:
    """Return one run with all rules and findings; those that comments and project files silence are
    suppressed."""
    results = []
    for file in files:
        by_comments = len(file.ignored) - file.ignored_by_project
        results += [_result(file, finding, "") for finding in file.findings]
        results += [
            _result(file, finding, "inSource" if number < by_comments else "external")
            for number, finding in enumerate(file.ignored)
        ]
    descriptors = []
    for rule in rules().values():
        example = f"\n\nAn example:\n\n```yaml\n{rule.example}```\n" if rule.example else ""
        descriptor = {
            "id": rule.id,
            "shortDescription": {"text": rule.title},
            "fullDescription": {"text": rule.text},
            "help": {"text": rule.text, "markdown": f"{rule.text}{example}"},
            "defaultConfiguration": {"level": _LEVELS[rule.severity]},
        }
        descriptors.append(descriptor)
    driver = {"name": "ksched", "version": __version__, "rules": descriptors}
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "invocations": [{"executionSuccessful": True}],
        "results": results,
    }
    document = {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}
    return json.dumps(document, indent=2)


def _result(file: ReviewedFile, finding: Finding, suppression: str) -> dict[str, Any]:
    message = f"{finding.path}: {finding.message}" if finding.path else finding.message
    # A relative path stays relative.
    path = Path(file.path)
    uri = path.as_uri() if path.is_absolute() else quote(path.as_posix())
    physical: dict[str, Any] = {"artifactLocation": {"uri": uri}}
    if finding.line:
        physical["region"] = {"startLine": finding.line, "startColumn": finding.column or 1}
    location: dict[str, Any] = {"physicalLocation": physical}
    name = ": ".join(filter(None, (file.object, finding.path)))
    if name:
        location["logicalLocations"] = [{"fullyQualifiedName": name}]
    result: dict[str, Any] = {
        "ruleId": finding.rule,
        "ruleIndex": list(rules()).index(finding.rule),
        "level": _LEVELS[finding.severity],
        "message": {"text": f"{message}\n{finding.hint}" if finding.hint else message},
        "locations": [location],
    }
    if suppression:
        result["suppressions"] = [{"kind": suppression}]
    return result
