"""Why nodes are rejected, as tables and as data."""

import pytest

from ksched_cli.analysis.attempts import NodeRejection
from ksched_cli.analysis.explain import Explanation, NodeExplanation
from ksched_cli.analysis.reasons import Distance, NearestNode, Reason
from ksched_cli.answers import plain
from ksched_cli.report.limit import EVERYTHING, TERMINAL, Limit
from ksched_cli.report.reasons import APART_MAX, SHOWN_REASONS, nearest_text
from tests.report.schemas import shown

CPU = Reason("Fit", "Insufficient cpu", 4000, 3000, NearestNode("a", "1 free of 2", 1, ("b",)))


def rejected(name: str, obstacles: int = 1, detail: str = "1 free") -> NodeExplanation:
    rejection = NodeRejection(
        plugin="Fit", code="Unschedulable", reasons=("Insufficient cpu",), details=(detail,)
    )
    return NodeExplanation(name, False, (rejection,), distance=Distance(obstacles))


def rows(
    nodes: list[NodeExplanation], reasons: tuple[Reason, ...], limit: Limit = TERMINAL
) -> list[str]:
    """The lines below the heading of the rejected nodes."""
    answer = Explanation(
        pod="p", profile="", nodes=tuple(nodes), reasons=reasons, node_count=len(nodes)
    )
    text = shown(answer, limit)
    start = text.index("Why nodes do not fit") + 1
    return text[start : text.index("", start)]


def many(count: int = APART_MAX + 1) -> list[NodeExplanation]:
    return [rejected(f"n{i:02}", detail=str(i)) for i in range(count)]


def test_a_reason_is_counted_with_the_nearest_node_and_how_many_are_as_near() -> None:
    assert rows(many(), (CPU,)) == [
        "NODES ONLY REASON WHY NOT NEAREST",
        "4,000 3,000 Fit: Insufficient cpu a: 1 free of 2 (and 1 more as near)",
    ]


def test_where_every_reason_is_the_only_one_no_column_says_so() -> None:
    alone = Reason("Fit", "Insufficient cpu", 11, 11, NearestNode("a", "1 free of 2"))
    assert rows(many(), (alone,)) == [
        "NODES WHY NOT NEAREST",
        "11 Fit: Insufficient cpu a: 1 free of 2",
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
    ("detail", "ties", "text"),
    [
        ("", 0, "a"),
        ("", 1, "a (and 1 more as near)"),
        ("d", 0, "a: d"),
        ("d", 2, "a: d (and 2 more as near)"),
    ],
)
def test_the_detail_is_that_of_the_first_node(detail: str, ties: int, text: str) -> None:
    assert nearest_text("a", detail, ties) == text


def test_reasons_left_out_are_counted() -> None:
    reasons = tuple(Reason("P", f"r{i}", 1, alone=1) for i in range(SHOWN_REASONS + 2))
    assert rows(many(), reasons)[-1].startswith("… and 2 more reasons")


@pytest.mark.parametrize(("count", "lines"), [(APART_MAX, APART_MAX), (APART_MAX + 1, 1)])
def test_few_nodes_have_a_row_each_and_many_a_row_per_reason(count: int, lines: int) -> None:
    text = rows(many(count), (CPU,))
    assert sum(" Fit: " in line for line in text) == lines
    assert any("n00" in line for line in text) == (count == APART_MAX)


def test_the_nearest_nodes_come_first_and_equal_ones_share_a_row() -> None:
    nodes = [rejected("far", 2), rejected("b"), rejected("a"), rejected("c", detail="2 free")]
    assert rows(nodes, ())[1:] == [
        "a, b, far Fit: Insufficient cpu; 1 free",
        "c Fit: Insufficient cpu; 2 free",
    ]
    assert [row.split()[0] for row in rows(nodes, (), EVERYTHING)[1:]] == ["a", "b", "c", "far"]


def test_no_node_is_no_table() -> None:
    assert "Why nodes do not fit" not in shown(Explanation(pod="p", profile=""))
