"""Results of expectations as JSON, a table and JUnit's cases."""

from ksched_cli.analysis.expectations import CaseResult, ExpectationsResult
from ksched_cli.report.expectations import suites, table
from ksched_cli.report.table import Limit
from tests.report.schemas import conforms

CASES = (
    CaseResult("a.yaml", "holds", True, "", "", "v1.34.1"),
    CaseResult("a.yaml", "fails", False, "expected x; it is y", "ksched explain p", "v1.34.1"),
    CaseResult("b.yaml", "holds too", True, "", "", "v1.34.1"),
)


def test_results_are_as_their_schema_says() -> None:
    read_back = conforms(ExpectationsResult.of(CASES), "test_result")
    assert [case["passed"] for case in read_back["cases"]] == [True, False, True]
    assert read_back["summary"] == {"passed": 2, "failed": 1}


def test_a_failed_case_has_what_came_out_and_a_command() -> None:
    assert table(CASES, Limit(80)).splitlines() == [
        "a.yaml",
        "  ok    holds",
        "  FAIL  fails",
        "        expected x; it is y",
        "        ksched explain p",
        "b.yaml",
        "  ok    holds too",
        "",
        "3 cases: 2 passed, 1 failed",
    ]


def test_a_file_is_a_suite() -> None:
    first, second = suites(CASES)
    assert (first.name, second.name) == ("a.yaml", "b.yaml")
    assert [case.failure for case in first.cases] == [None, "expected x; it is y\nksched explain p"]
