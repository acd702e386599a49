"""An answer of `drift` as JSON and as a table."""

import pytest

from ksched_cli.analysis.drift import DriftResult, DriftSummary, PodDrift, Verdict
from ksched_cli.answers import plain
from ksched_cli.engine.records import IgnoredPod
from ksched_cli.report.forms import Form
from ksched_cli.report.limit import Limit
from tests.report.schemas import conforms, shown

WEB = "default/ReplicaSet/web"
PODS = (
    PodDrift("default/best", "default/Pod/best", "a", Verdict.BEST, 1, True, 90, "a", 90),
    PodDrift("default/tied", "default/Pod/tied", "b", Verdict.TIED, 1, True, 90, "a", 90),
    PodDrift("default/web-1", WEB, "b", Verdict.WORSE, 2, True, 80, "a", 90),
    PodDrift("default/web-2", WEB, "c", Verdict.WORSE, 3, True, 60, "a", 90),
    PodDrift(
        "default/out",
        "default/Pod/out",
        "c",
        Verdict.NOT_ALLOWED,
        best_node="a",
        best_score=90,
        rejected_by="NodeAffinity",
        in_turn="a",
    ),
    PodDrift("default/none", "default/Pod/none", "c", Verdict.NOT_ALLOWED, rejected_by="NodePorts"),
)
ANSWER = DriftResult(
    pods=PODS,
    ignored=(IgnoredPod("default/static", "a static pod"),),
    summary=DriftSummary.of(PODS),
)


@pytest.mark.parametrize("answer", [ANSWER, DriftResult(pods=(), summary=DriftSummary.of(()))])
def test_answers_are_as_their_schema_says(answer: DriftResult) -> None:
    conforms(answer, "drift_result")


def test_the_summary_counts_every_pod_once() -> None:
    assert plain(ANSWER.summary) == {
        "running": 6,
        "best": 1,
        "tied": 1,
        "worse": 2,
        "notAllowed": 2,
        "movedInTurn": 1,
    }


def test_names_of_nodes_are_short_also_where_a_pod_fits_nowhere() -> None:
    end = ".eu-west-1.compute.internal"
    pods = [
        PodDrift("default/out", "default/Pod/out", f"c{end}", Verdict.NOT_ALLOWED,
                 best_node=f"a{end}", best_score=90, rejected_by="NodeAffinity", in_turn=f"a{end}"),
        PodDrift("default/none", "default/Pod/none", f"c{end}", Verdict.NOT_ALLOWED,
                 rejected_by="NodePorts"),
    ]  # fmt: skip
    lines = shown(DriftResult(pods=tuple(pods), summary=DriftSummary.of(pods)), Limit())
    assert f"node names end in {end}" in lines
    assert "default/none 1 NodePorts c nowhere" in lines


def test_the_table_has_a_line_for_each_group_that_is_not_where_it_would_go() -> None:
    assert shown(ANSWER, Limit()) == [
        "4 of 6 running pods would not be placed where they run: 2 score higher on another node, "
        "2 are no longer allowed there (1 of them nowhere)",
        "the others: 1 on the best node, 1 on one as good as the best",
        "moved one after the other, 1 of these 4 pods ends on another node",
        "1 left out",
        "",
        "No longer allowed where they run",
        "OWNER PODS BECAUSE OF ON WOULD GO TO",
        "default/out 1 NodeAffinity c a",
        "default/none 1 NodePorts c nowhere",
        "",
        "Better elsewhere",
        "OWNER PODS POINTS BEHIND ON WOULD GO TO",
        "default/ReplicaSet/web 2 30 of 90 b, c a",
    ]


@pytest.mark.parametrize(
    ("pods", "line"),
    [
        (PODS[:2], "2 running pods would be placed where they run: 1 on the best node, "
         "1 on one as good as the best"),
        (PODS[5:], "1 of 1 running pod would not be placed where it runs: "
         "1 is no longer allowed there, nor on any other node"),
        ((), "No running pod to ask about"),
    ],
)  # fmt: skip
def test_the_headline_is_a_verdict(pods: tuple[PodDrift, ...], line: str) -> None:
    assert shown(DriftResult(pods=pods, summary=DriftSummary.of(pods)), Limit())[0] == line


def test_the_wide_form_has_a_row_for_each_pod_and_the_names_are_those() -> None:
    lines = shown(ANSWER, form=Form.WIDE)
    assert lines[lines.index("Not on a best node") + 1 :] == [
        "POD ON BECAUSE OF WOULD GO TO",
        "default/none c NodePorts nowhere",
        "default/out c NodeAffinity a",
        "default/web-2 c 30 of 90 points behind a",
        "default/web-1 b 10 of 90 points behind a",
    ]
    names = ["default/web-1", "default/web-2", "default/out", "default/none"]
    assert shown(ANSWER, form=Form.NAME) == names
