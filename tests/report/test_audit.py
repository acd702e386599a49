"""An answer of `audit` as JSON and as a table."""

import pytest
from msgspec.structs import replace

from ksched_cli.analysis.audit.audit import AuditResult, AuditSummary, Difference, DifferenceGroup
from ksched_cli.analysis.audit.decisions import OrderSource, Unexplained
from ksched_cli.analysis.audit.replayed_cluster import Refinement
from ksched_cli.report import audit
from ksched_cli.report.table import EVERYTHING, Limit
from tests.report.schemas import conforms, squeezed

ANSWER = AuditResult(
    decisions=1207,
    agree=1205,
    order=OrderSource.EVENTS,
    refinement=Refinement.PRIORITY,
    summary=AuditSummary(best=4, tied=1200, preempts=1),
    shifted=2,
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
    order=OrderSource.QUEUE,
    refinement=Refinement.NONE,
    summary=AuditSummary(best=1),
    shifted=0,
    differ=(),
    unexplained=(),
)
NOTHING = replace(AGREE, decisions=0, agree=0, summary=AuditSummary())


@pytest.mark.parametrize("answer", [ANSWER, AGREE, NOTHING])
def test_answers_are_as_their_schema_says(answer: AuditResult) -> None:
    document = conforms(answer, "audit_result")
    assert document["agree"] == sum(document["summary"].values())
    assert document["decisions"] == document["agree"] + len(document["differ"])


def test_the_table_shows_what_agrees_what_differs_and_what_is_not_judged() -> None:
    assert squeezed(audit.table(ANSWER, EVERYTHING)) == [
        "2 of 1,207 decisions differ; 2 pods cannot be judged",
        "",
        "AGREE",
        "4 on the one best node",
        "1,200 on one of several equally good nodes",
        "1 evict the same pods",
        "",
        "followed in the order of the scheduler's events, and of those near each other by "
        "priority; 2 come a little before or after their place in it",
        "",
        "DIFFERS ON EXPECTED BECAUSE",
        "shop/web-1 b a, c a has 90 points, b 80: ImageLocality 10 against 0",
        "shop/left none a a fits, but it was left pending: 0/3 nodes",
        "",
        "NOT JUDGED PODS BECAUSE",
        "shop/x, shop/y 2 nodes joined in between: d",
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
    grouped = [
        "DIFFER ALIKE PODS EXPECTED LIKELY BECAUSE",
        "shop/p0, shop/p1, shop/p2 3 d it was down",
        "",
        "DIFFERS ON EXPECTED BECAUSE",
    ]
    short = squeezed(audit.table(ALIKE, Limit(100, 40)))
    begin = short.index(grouped[0])
    assert short[begin : begin + 4] == grouped
    assert short[begin + 4].startswith("shop/web-1 b a, c")
    assert "shop/p1 b d d has 1 points" in squeezed(audit.table(ALIKE, EVERYTHING))


def test_the_headline_alone_says_that_all_is_well() -> None:
    assert squeezed(audit.table(AGREE, EVERYTHING))[0] == "1 decision, no difference"
    assert audit.table(NOTHING, EVERYTHING) == "no decisions in between"


def test_no_line_is_wider_than_the_terminal() -> None:
    text = audit.table(ANSWER, Limit(60, 40))
    assert max(map(len, text.splitlines())) <= 60


def test_the_names_are_those_that_differ() -> None:
    assert audit.names(ANSWER) == ["shop/web-1", "shop/left"]
