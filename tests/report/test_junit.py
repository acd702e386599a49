"""JUnit XML."""

import io
from xml.etree import ElementTree

import pytest

from ksched_cli.report.ci_forms import Case, Suite, junit
from tests.report.published import published_schema

SUITES = [
    Suite("a.yaml", [Case("right"), Case("wrong", "it is <wrong> & \x1b[31m\nmore", "out")]),
    Suite("b.yaml", []),
]


def test_it_is_as_the_schema_of_jenkins_has_it() -> None:
    xmlschema = pytest.importorskip("xmlschema", reason="comes with the tests of this version")

    schema = xmlschema.XMLSchema(io.StringIO(published_schema("junit.xsd")))
    schema.validate(junit(SUITES))
    schema.validate(junit([]))


def test_suites_count_their_cases() -> None:
    root = ElementTree.fromstring(junit(SUITES).encode())
    counts = [(item.get("name"), item.get("tests"), item.get("failures")) for item in root]
    assert counts == [("a.yaml", "2", "1"), ("b.yaml", "0", "0")]
    assert (root.get("tests"), root.get("failures")) == ("2", "1")


def test_a_failure_has_its_first_line_as_message() -> None:
    failure = ElementTree.fromstring(junit(SUITES).encode()).find(".//failure")
    assert failure is not None
    assert failure.get("message") == "it is <wrong> & \\x1b[31m"
    assert failure.text == "it is <wrong> & \\x1b[31m\nmore"
