"""What is shown of replays side by side."""

from __future__ import annotations

from pathlib import Path

from ksched_cli.analysis.compare import compare_replays
from ksched_cli.report import replay as renderer
from ksched_cli.report.table import Limit
from tests.analysis.test_compare_replays import side
from tests.replays import node
from tests.report.schemas import conforms, squeezed


def test_totals_and_the_pods_that_differ_are_shown(tmp_path: Path) -> None:
    first = side(tmp_path, "two nodes", node("m"), node("n"))
    last = side(tmp_path, "one node", node("m"), left_out=1)
    answer = compare_replays([first, last])
    lines = squeezed(renderer.comparison_table(answer, Limit(width=100, rows=40)))
    assert lines[0].startswith("a trade-off: pending at the end 0 instead of 1, node-hours")
    assert lines[0].endswith(", but mean wait")
    assert "2 of 3 pods differ: 0 waited less long, 1 longer" in lines
    assert "placed 2 2" in lines
    assert "waited, longest 9s 9s" in lines  # c came at 2 and waits until the end, at 11
    assert "most pending at once 1 1" in lines
    assert "default/b n after 0s m after 9s" in lines
    assert "default/c still waits after 9s not there" in lines
    document = conforms(answer, "comparison")
    assert document["pods"][0]["waited"] == [0, 9]
    assert document["sides"][1]["summary"]["placed"] == 2


def test_no_difference_is_said(tmp_path: Path) -> None:
    answer = compare_replays([side(tmp_path, name, node("m")) for name in "ab"])
    assert "no difference: 3 pods" in renderer.comparison_headline(answer, Limit())
