"""Findings as annotations of GitHub."""

from ksched_cli.analysis.configuration import ReviewedFile
from ksched_cli.analysis.reviewer import ReviewedText
from ksched_cli.config.checks.findings import Finding, Severity
from ksched_cli.config.review import KubeSchedulerVerdict, Review
from ksched_cli.config.sources import ConfigurationText
from ksched_cli.report.ci_forms import github_annotations


def line(path: str, finding: Finding) -> str:
    review = Review(KubeSchedulerVerdict("v1.34.1", True, None, None), (finding,))
    return annotations(path, review)


def annotations(path: str, review: Review) -> str:
    text = ReviewedText(ConfigurationText(path, b""), review)
    return github_annotations([ReviewedFile.of(text)])


def test_an_annotation_has_file_line_rule_and_message() -> None:
    finding = Finding(Severity.WARNING, "a.b", 3, 7, "odd", "do so", "weight-zero")
    assert line("c.yaml", finding) == (
        "::warning file=c.yaml,line=3,col=7,title=ksched%3A weight-zero::a.b: odd%0Ado so"
    )


def test_what_ends_a_property_or_a_line_is_escaped() -> None:
    finding = Finding(Severity.INFO, "", None, None, "50 %\r\nmore", "", "syntax")
    shown = line("a,b:c%.yaml", finding)
    assert shown.startswith("::notice file=a%2Cb%3Ac%25.yaml,title=ksched%3A syntax::50 %25")
    assert "\n" not in shown
    assert "\r" not in shown


def test_nothing_to_remark_is_no_line() -> None:
    review = Review(KubeSchedulerVerdict("v1.34.1", True, None, None), ())
    assert annotations("c", review) == ""
