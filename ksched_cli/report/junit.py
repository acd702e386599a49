"""JUnit XML, as CI systems read it: a suite per file, a case per check.

The format is the one of the Jenkins xUnit plugin's junit-10.xsd, which the tests validate it
against. Written with the standard library: an element for each of a handful of tags.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from xml.etree import ElementTree  # nosec B405  # writes XML, reads none

from ksched_cli.report.table import printable


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
    """The whole document."""
    root = ElementTree.Element("testsuites", {"name": "ksched", **_counts(suites)})
    for suite in suites:
        attributes = {"name": printable(suite.name), **_counts([suite])}
        element = ElementTree.SubElement(root, "testsuite", attributes)
        for case in suite.cases:
            _add_case(element, suite, case)
    ElementTree.indent(root)
    text: str = ElementTree.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}'


def _counts(suites: Sequence[Suite]) -> dict[str, str]:
    cases = [case for suite in suites for case in suite.cases]
    failures = sum(case.failure is not None for case in cases)
    return {"tests": str(len(cases)), "failures": str(failures), "errors": "0"}


def _add_case(parent: ElementTree.Element, suite: Suite, case: Case) -> None:
    attributes = {"name": printable(case.name), "classname": printable(suite.name)}
    element = ElementTree.SubElement(parent, "testcase", attributes)
    if case.failure is not None:
        summary = printable(case.failure.partition("\n")[0])
        failure = ElementTree.SubElement(element, "failure", message=summary, type="failure")
        failure.text = printable(case.failure)
    if case.output:
        ElementTree.SubElement(element, "system-out").text = printable(case.output)
