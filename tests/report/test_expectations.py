"""Results of expectations as JSON, as text, for CI and as a page."""

from ksched_cli.analysis.expectations import CaseResult, ExpectationsResult
from ksched_cli.report.forms import Form, render
from ksched_cli.report.html.page import page_of
from ksched_cli.report.html.sections import BarsSection, Grid, GroupsSection
from tests.report.html.pages import titled
from tests.report.schemas import conforms, shown

CASES = (
    CaseResult("a.yaml", "holds", True, "", "", "v1.34.1"),
    CaseResult("a.yaml", "web, on a", False, "expected a; got b", "ksched explain p", "v1", 6, 3),
    CaseResult("b.yaml", "holds too", True, "", "", "v1.34.1"),
)
ANSWER = ExpectationsResult.of(CASES)


def test_results_are_as_their_schema_says() -> None:
    read_back = conforms(ANSWER, "test_result")
    assert [case["passed"] for case in read_back["cases"]] == [True, False, True]
    assert read_back["summary"] == {"passed": 2, "failed": 1}


def test_a_failed_case_comes_first_with_what_came_out_and_a_command() -> None:
    assert shown(ANSWER) == [
        "1 of 3 expectations fails",
        "",
        "Expectations that fail",
        "failed: a.yaml:6: web, on a",
        "expected a; got b",
        "ksched explain p",
        "",
        "Expectations that hold",
        "EXPECTATION FILE",
        "holds a.yaml",
        "holds too b.yaml",
    ]


def test_what_holds_says_so() -> None:
    assert shown(ExpectationsResult.of(CASES[::2]))[0] == "All of 2 expectations hold"
    assert shown(ExpectationsResult.of(CASES[:1]))[0] == "The expectation holds"
    assert shown(ExpectationsResult.of([])) == ["No file has an expectation"]


def test_a_file_is_a_suite() -> None:
    text = render(ANSWER, Form.JUNIT)
    assert text.count("<testsuite ") == 2
    assert "expected a; got b" in text


def test_a_failed_case_is_annotated_at_its_expectation() -> None:
    assert render(ANSWER, Form.GITHUB) == (
        "::error file=a.yaml,line=6,col=3,title=ksched test%3A web%2C on a"
        "::expected a; got b%0Aksched explain p"
    )
    assert render(ExpectationsResult.of(CASES[:1]), Form.GITHUB) == ""


def test_the_page_has_the_failed_cases_the_files_and_all_cases() -> None:
    failed, files, every = page_of(ANSWER).sections
    assert isinstance(failed, GroupsSection)
    assert [group.heading for group in failed.groups] == ["a.yaml:6: web, on a"]
    assert isinstance(files, BarsSection)
    assert [bar.cells for bar in files.bars] == [["a.yaml", "1", "1"], ["b.yaml", "1", "0"]]
    assert isinstance(every, Grid)
    assert titled(every.columns)["Result"] == ["passed", "failed", "passed"]
