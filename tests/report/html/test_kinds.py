"""Every kind of document has a page."""

from ksched_cli.analysis.drift import DriftResult, DriftSummary, PodDrift, Verdict
from ksched_cli.answers import AppliedChange
from ksched_cli.report.html.page import page_of
from ksched_cli.report.html.sections import Grid, Prose, TableSection
from ksched_cli.report.view import Line, Tone
from ksched_cli.report.views import function_at
from ksched_cli.schemas.generate import answers
from tests.report.html.pages import cells


def test_changes_come_first_and_warnings_last() -> None:
    answer = DriftResult(
        pods=(PodDrift("a/p", "a/Pod/p", "n", Verdict.BEST),),
        summary=DriftSummary.of(()),
        changes=(AppliedChange("drain a", ("cordoned a", "b pending")),),
        warnings=("careful",),
    )
    sections = page_of(answer).sections
    first, last = sections[0], sections[-1]
    assert isinstance(first, TableSection)
    assert list(first.rows) == [["drain a", "2", "", "cordoned a, b pending"]]
    assert isinstance(last, Prose)
    assert last.paragraphs == [Line("careful", Tone.WARN)]
    assert len(sections) == 3


def test_a_change_that_did_much_is_counted_and_listed_below() -> None:
    did = tuple(f"cordoned n{i}" for i in range(20))
    sections = page_of(
        DriftResult(
            pods=(),
            summary=DriftSummary.of(()),
            changes=(AppliedChange("cordon -l x", did),),
        )
    ).sections
    first, last = sections[0], sections[-1]
    assert isinstance(first, TableSection)
    assert first.rows[0][:2] == ["cordon -l x", "20"]
    assert isinstance(last, Grid)
    assert cells(last.columns[0]) == list(did)


def test_every_answer_has_a_view() -> None:
    assert all(callable(function_at(cls.VIEW)) for types in answers().values() for cls in types)
