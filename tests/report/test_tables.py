"""What people read."""

import pytest

from ksched_cli.report import explanation as explanations
from ksched_cli.report import schedule
from ksched_cli.report.table import EVERYTHING, TERMINAL, Limit, columns, cut, listed
from ksched_cli.testing import cluster, explanation, node, pod, simulate


def words(text):
    """The lines, with their spaces made one."""
    return [" ".join(line.split()) for line in text.splitlines()]


def test_columns_keep_text_as_it_is():
    assert words(columns(("NAME", "SIZE"), [("007", "1e3"), ("b", None)])) == [
        "NAME SIZE",
        "007 1e3",
        "b",
    ]


def test_the_last_column_wraps_on_a_terminal_only():
    long = "word " * 40
    assert len(columns(("A", "B"), [("x", long)], EVERYTHING).splitlines()) == 2
    lines = columns(("A", "B"), [("x", long)], TERMINAL).splitlines()
    assert len(lines) > 2
    assert max(map(len, lines)) <= TERMINAL.width


def test_rows_that_are_left_out_are_counted():
    rows = [(i,) for i in range(5)]
    limit = Limit(rows=3)
    text = cut(columns(("N",), rows, limit), len(rows), limit)
    assert words(text) == ["N", "0", "1", "2", "… and 2 more (--all shows every one)"]


@pytest.mark.parametrize(
    ("names", "text"),
    [
        (["a"], "a"),
        (["a", "b"], "a, b"),
        ([f"node-{i}" for i in range(9)], "node-0, node-1, node-2 +6"),
        (list("abcdefgh"), "a, b, c, d, e, f +2"),
        (["a-name-that-is-longer-than-the-cell", "b"], "a-name-that-is-longer-than-the-cell +1"),
    ],
)
def test_many_names_in_one_cell_are_cut_short(names, text):
    assert listed(names, TERMINAL) == text
    assert listed(names, EVERYTHING) == ", ".join(names)


def test_a_run_says_who_went_where_and_why_not():
    state = cluster(
        node("a", cpu="2"),
        pod("only", cpu="1"),
        pod("big", cpu="3"),
        pod("held", gates=["example.com/wait"]),
    )
    text = words(schedule.table(simulate(state), EVERYTHING))
    assert "default/only a only one fits" in text
    assert any(line.startswith("pending default/big 0/1 nodes are available") for line in text)
    assert "gated default/held waiting for scheduling gates: [example.com/wait]" in text
    assert text[-1] == "1 placed, 1 pending, 1 gated"


def test_a_run_names_victims_and_for_whom_they_left():
    state = cluster(
        node("a", cpu="1"), pod("low", cpu="1", node="a"), pod("high", cpu="1", priority=1)
    )
    text = words(schedule.table(simulate(state), EVERYTHING))
    assert "default/low a default/high" in text
    assert text[-1] == "1 placed, 0 pending, 0 gated, 1 evicted"


def explained(*objects, pod=""):
    return words(explanations.table(explanation(cluster(*objects), pod=pod), EVERYTHING))


def test_an_explanation_begins_with_the_verdict():
    text = explained(node("a"), node("b", cpu="8"), pod("p", cpu="2"))
    assert text[0] == "default/p (profile default-scheduler)"
    assert text[1].startswith("goes to b with ")
    assert any(line.startswith("ON b RAW 0-100 WEIGHT POINTS") for line in text)


def test_an_explanation_of_a_pod_that_fits_nowhere_gives_every_reason():
    text = explained(
        node("a", cpu="1", taints=["k=v:NoSchedule"]), node("b", cpu="1"), pod("p", cpu="2")
    )
    assert text[1] == "fits on no node"
    assert any("untolerated taint {k: v}" in line and "k=v:NoSchedule" in line for line in text)
    assert sum("Insufficient cpu; cpu: wants 2, 1 free of 1" in line for line in text) == 2


def test_nodes_rejected_alike_share_a_line():
    text = explained(*(node(name, cpu="1") for name in "abc"), pod("p", cpu="2"))
    assert "a, b, c NodeResourcesFit Insufficient cpu; cpu: wants 2, 1 free of 1" in text


def test_ties_and_the_only_node_are_said():
    assert "one of 2 equally good nodes" in explained(node("a"), node("b"), pod("p"))[1]
    assert explained(node("a"), pod("p"))[1] == "goes to a, the only node it fits on"


def test_a_running_pod_is_told_how_its_node_ranks():
    text = explained(node("a", cpu="2"), node("b", cpu="8"), pod("p", cpu="1", node="a"), pod="p")
    assert any(line.startswith("runs on a, rank 2 with ") for line in text)


def test_a_gated_pod_is_said_to_be_gated():
    text = explained(node("a"), pod("p", gates=["example.com/wait"]), pod="p")
    assert text[1].startswith("is not in the queue yet: SchedulingGates: waiting for")
