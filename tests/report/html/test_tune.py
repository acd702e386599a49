"""The page of `tune`."""

from ksched_cli.report.html.page import page_of
from ksched_cli.report.html.sections import Multiples, Prose, TableSection
from ksched_cli.sweep.answers import TuneResult
from tests.report.test_tune import result


def test_the_judgement_comes_first_then_the_trials_and_the_configuration() -> None:
    drawn = page_of(TuneResult.of(result(3), "best.yaml"))
    assert drawn.title.startswith("nodesUsed -1 against the baseline")
    held_out, trials, configuration = drawn.sections
    assert isinstance(held_out, Multiples)
    assert [row.name for row in held_out.rows] == ["baseline", "tuned"]
    cells = [row.cells[0] for row in held_out.rows]
    assert [cell and (cell.text, cell.note, cell.is_best) for cell in cells] == [
        ("4", "", False),
        ("3", "better in 2 of 2", True),
    ]
    assert isinstance(trials, TableSection)
    assert list(trials.rows) == [["3 (chosen)", "2", "7"]]
    assert isinstance(configuration, Prose)
    assert "weight: 7" in str(configuration.paragraphs[0])
