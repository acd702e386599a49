"""Why nodes are rejected, as tables and as data."""

import pytest

from ksched_cli.analysis.attempts import NodeRejection
from ksched_cli.analysis.explain import NodeExplanation
from ksched_cli.analysis.reasons import Distance, NearestNode, Reason
from ksched_cli.answers import plain
from ksched_cli.report.reasons import (
    APART_MAX,
    SHOWN_REASONS,
    brief_reasons_table,
    nearest_text,
    reasons_table,
    rejected_table,
)
from ksched_cli.report.table import EVERYTHING, TERMINAL
from tests.report.schemas import squeezed

CPU = Reason("Fit", "Insufficient cpu", 4000, 3000, NearestNode("a", "1 free of 2", 1, ("b",)))


def rejected(name: str, obstacles: int = 1, detail: str = "1 free") -> NodeExplanation:
    rejection = NodeRejection(
        plugin="Fit", code="Unschedulable", reasons=("Insufficient cpu",), details=(detail,)
    )
    return NodeExplanation(name, False, (rejection,), distance=Distance(obstacles))


def test_a_reason_is_counted_with_the_nearest_node_and_those_as_near() -> None:
    assert squeezed(reasons_table([CPU], TERMINAL)) == [
        "NOT ON WHY",
        "4,000 nodes Fit: Insufficient cpu (3,000 for no other reason)",
        "nearest a: 1 free of 2 (as near: b)",
    ]
    assert squeezed(brief_reasons_table([CPU], 1, TERMINAL))[1:] == [
        "4,000 nodes Fit: Insufficient cpu",
        "nearest a: 1 free of 2",
    ]


def test_a_reason_in_data_counts_those_as_near() -> None:
    assert plain(CPU) == {
        "plugin": "Fit",
        "reason": "Insufficient cpu",
        "nodes": 4000,
        "alone": 3000,
        "nearest": {"node": "a", "detail": "1 free of 2", "ties": 1},
    }
    assert plain(Reason("", "none", 1))["nearest"] is None


@pytest.mark.parametrize(
    ("names", "detail", "text"),
    [
        (["a"], "", "nearest a"),
        (["a", "b"], "", "nearest a, b"),
        (["a"], "d", "nearest a: d"),
        (["a", "b", "c"], "d", "nearest a: d (as near: b, c)"),
    ],
)
def test_the_detail_is_that_of_the_first_node(names: list[str], detail: str, text: str) -> None:
    assert nearest_text(names, detail, TERMINAL) == text


def test_reasons_left_out_are_counted() -> None:
    reasons = [Reason("P", f"r{i}", 1, alone=1) for i in range(SHOWN_REASONS + 2)]
    assert squeezed(reasons_table(reasons, TERMINAL))[-1].startswith("… and 2 more reasons")
    assert len(squeezed(reasons_table(reasons, EVERYTHING))) == SHOWN_REASONS + 3


@pytest.mark.parametrize(("count", "rows"), [(APART_MAX, APART_MAX), (APART_MAX + 1, 1)])
def test_few_nodes_have_a_row_each_and_many_a_row_per_reason(count: int, rows: int) -> None:
    nodes = [rejected(f"n{i}", detail=str(i)) for i in range(count)]
    text = rejected_table(nodes, [CPU], TERMINAL)
    assert sum(" Fit: " in line for line in text.splitlines()) == rows
    assert ("n0" in text) == (count == APART_MAX)


def test_the_nearest_nodes_come_first_and_equal_ones_share_a_row() -> None:
    nodes = [rejected("far", 2), rejected("b"), rejected("a"), rejected("c", detail="2 free")]
    assert squeezed(rejected_table(nodes, (), TERMINAL))[1:] == [
        "a, b, far Fit: Insufficient cpu; 1 free",
        "c Fit: Insufficient cpu; 2 free",
    ]
    rows = squeezed(rejected_table(nodes, (), EVERYTHING))[1:]
    assert [row.split()[0] for row in rows] == ["a", "b", "c", "far"]


def test_no_node_is_no_table() -> None:
    assert rejected_table((), (), TERMINAL) == ""
