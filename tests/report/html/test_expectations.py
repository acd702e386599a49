"""The page of `test` says which expectations fail, and what came out."""

from ksched_cli.analysis.expectations import CaseResult, ExpectationsResult
from ksched_cli.report.html.configurations import expectations_page
from ksched_cli.report.html.sections import Bars, Grid, Groups
from tests.report.html.pages import titled


def case(name: str, message: str = "", file: str = "a.yaml") -> CaseResult:
    command = "ksched explain p" if message else ""
    return CaseResult(file, name, not message, message, command, "v1.34.1", 7)


def test_failed_expectations_come_first_with_what_came_out() -> None:
    cases = [case("holds"), case("fails", "expected n, it is pending"), case("b", file="b.yaml")]
    result = expectations_page(ExpectationsResult.of(cases))
    assert result.title == "1 of 3 expectations fails"
    failed, files, table = result.sections
    assert isinstance(failed, Groups)
    (group,) = failed.groups
    assert (group.heading, group.message) == ("fails", "expected n, it is pending")
    assert (group.lede, group.names) == (("a.yaml:7",), ("Look into it: ksched explain p",))
    assert isinstance(files, Bars)
    assert [bar.cells for bar in files.bars] == [("a.yaml", 1, 1), ("b.yaml", 1, 0)]
    assert isinstance(table, Grid)
    assert titled(table.columns)["Result"] == ["passed", "failed", "passed"]


def test_what_holds_says_so() -> None:
    assert (
        expectations_page(ExpectationsResult.of([case("a"), case("b")])).title
        == "All of 2 expectations hold"
    )
    assert expectations_page(ExpectationsResult.of([])).title == "No file has an expectation"
