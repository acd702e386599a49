"""What is shown of replays side by side."""

from __future__ import annotations

from pathlib import Path

from ksched_cli.analysis.compare import compare_replays
from ksched_cli.report.limit import EVERYTHING
from tests.analysis.test_compare_replays import side
from tests.replays import node
from tests.report.schemas import conforms, shown


def test_totals_and_the_pods_that_differ_are_shown(tmp_path: Path) -> None:
    first = side(tmp_path, "two nodes", node("m"), node("n"))
    last = side(tmp_path, "one node", node("m"), left_out=1)
    answer = compare_replays([first, last])
    lines = shown(answer, EVERYTHING)
    assert lines[0] == (
        "a trade-off: pending at the end 0 instead of 1, node-hours 0.0056 instead of 0.0061, "
        "but mean wait 4.5s instead of 3s"
    )
    assert "2 of 3 pods differ: 0 waited less long, 1 longer" in lines
    assert "pending 1 0" in lines
    assert "default/b n after 0s m after 9s" in lines
    assert "default/c still waits after 9s not there" in lines
    document = conforms(answer, "comparison")
    assert document["pods"][0]["waited"] == [0, 9]
    assert document["sides"][1]["summary"]["placed"] == 2


def test_figures_that_are_equal_on_all_sides_are_counted(tmp_path: Path) -> None:
    first = side(tmp_path, "two nodes", node("m"), node("n"))
    last = side(tmp_path, "one node", node("m"), left_out=1)
    lines = shown(compare_replays([first, last]), EVERYTHING)
    assert not any(line.startswith(("placed ", "evicted ", "most pending")) for line in lines)
    # All but pending, attempts, the mean wait, the time that it took, nodes and node-hours.
    assert "… and 9 rows equal on all sides" in lines


def test_no_difference_is_said_above_all_figures(tmp_path: Path) -> None:
    answer = compare_replays([side(tmp_path, name, node("m")) for name in "ab"])
    lines = shown(answer)
    assert lines[0] == "no difference: 3 pods placed alike on every side"
    assert "placed 2 2" in lines
