"""An answer of `audit` as JSON and as text."""

import pytest
from msgspec.structs import replace

from ksched_cli.analysis.audit.audit import AuditResult, AuditSummary, Difference, DifferenceGroup
from ksched_cli.analysis.audit.decisions import OrderSource, Unexplained
from ksched_cli.report.forms import Form
from ksched_cli.report.limit import EVERYTHING, Limit
from tests.report.schemas import conforms, shown

ANSWER = AuditResult(
    decisions=1207,
    agree=1205,
    order=OrderSource.RECORDING,
    summary=AuditSummary(best=4, tied=1200, preempts=1),
    differ=(
        Difference(
            "shop/web-1",
            "b",
            ("a", "c"),
            "a has 90 points, b 80: ImageLocality 10 against 0",
            {"a": {"ImageLocality": 10}, "b": {"ImageLocality": 0}},
        ),
        Difference("shop/left", None, ("a",), "a fits, but it was left pending: 0/3 nodes"),
    ),
    unexplained=(
        Unexplained("shop/x", "nodes joined in between: d"),
        Unexplained("shop/y", "nodes joined in between: d"),
    ),
)
AGREE = AuditResult(
    decisions=1,
    agree=1,
    order=OrderSource.LOG,
    summary=AuditSummary(best=1),
    differ=(),
    unexplained=(),
)
NOTHING = replace(AGREE, decisions=0, agree=0, summary=AuditSummary())


@pytest.mark.parametrize("answer", [ANSWER, AGREE, NOTHING])
def test_answers_are_as_their_schema_says(answer: AuditResult) -> None:
    document = conforms(answer, "audit_result")
    assert document["agree"] == sum(document["summary"].values())
    assert document["decisions"] == document["agree"] + len(document["differ"])


def test_the_text_shows_what_differs_what_is_not_judged_and_what_agrees() -> None:
    assert shown(ANSWER, EVERYTHING) == [
        "2 of 1,207 decisions differ",
        "2 pods cannot be judged",
        "followed in the order of the recording",
        "",
        "All that differ",
        "POD REALLY ON EXPECTED ON BECAUSE",
        "shop/web-1 b a, c a has 90 points, b 80: ImageLocality 10 against 0",
        "shop/left no node a a fits, but it was left pending: 0/3 nodes",
        "",
        "Not judged",
        "PODS BECAUSE NAMES",
        "2 nodes joined in between: d shop/x, shop/y",
        "",
        "Agree",
        "HOW DECISIONS",
        "on the one best node 4",
        "on one of several equally good nodes 1,200",
        "evict the same pods 1",
    ]


ALIKE = replace(
    ANSWER,
    differ=(
        *(Difference(f"shop/p{n}", "b", ("d",), f"d has {n} points") for n in range(3)),
        *ANSWER.differ,
    ),
    groups=(DifferenceGroup("d", ("shop/p0", "shop/p1", "shop/p2"), "it was down"),),
    decisions=1210,
)


def test_differences_of_one_likely_cause_are_a_line_and_all_of_them_on_request() -> None:
    conforms(ALIKE, "audit_result")
    short = shown(ALIKE, Limit(100, 40))
    begin = short.index("Differ alike")
    assert short[begin + 1 : begin + 6] == [
        "PODS EXPECTED ON LIKELY BECAUSE NAMES",
        "3 d it was down shop/p0, shop/p1, shop/p2",
        "",
        "Differ alone",
        "POD REALLY ON EXPECTED ON BECAUSE",
    ]
    assert short[begin + 6].startswith("shop/web-1 b a, c")
    assert "shop/p1 b d d has 1 points" in shown(ALIKE, EVERYTHING)


def test_the_title_says_that_all_is_well() -> None:
    assert shown(AGREE, EVERYTHING)[0] == "1 decision, no difference"
    assert shown(NOTHING, EVERYTHING) == ["No decisions in between"]


def test_no_line_is_wider_than_the_terminal() -> None:
    assert max(map(len, shown(ANSWER, Limit(60, 40)))) <= 60


def test_the_names_are_those_that_differ() -> None:
    assert shown(ANSWER, form=Form.NAME) == ["shop/web-1", "shop/left"]
