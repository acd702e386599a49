"""The report of pending pods, in both its shapes."""

from typing import Any

from hypothesis import given, settings

from ksched_cli.analysis.pending import pending_report
from ksched_cli.report.pending import document, table
from ksched_cli.report.table import EVERYTHING, TERMINAL
from ksched_cli.testing import cluster, node, pod, simulation
from tests.clusters import states
from tests.report.schemas import conforms, squeezed


def test_a_group_has_its_message_and_its_reasons_with_the_nearest_node() -> None:
    state = cluster(node("a"), node("b", cpu=8), pod("p", cpu=12), pod("q", gates=["x.io/g"]))
    lines = squeezed(table(pending_report(simulation(state)), EVERYTHING))
    assert lines[0] == "Pod/p in default: a pod pending: default/p"
    assert lines[1].startswith("0/2 nodes are available: 2 Insufficient cpu.")
    assert lines[2:5] == [
        "NOT ON WHY",
        "2 nodes NodeResourcesFit: Insufficient cpu",
        "nearest b: cpu: wants 12, 8 free of 8",
    ]
    assert lines[-1] == "1 pending, 1 gated, 0 left out"


def test_many_groups_and_pods_are_cut_with_a_count() -> None:
    pods = [pod(f"p{i}", cpu=5 + i) for i in range(11)]
    text = table(pending_report(simulation(cluster(node("a"), *pods))), TERMINAL)
    assert "… and 5 more groups of 5 pods (--all shows every one)" in text
    assert text.count("pending: default/p") == 6
    assert "0/1 nodes are available" not in text


@settings(max_examples=20)
@given(states())
def test_reports_are_as_their_schema_says(state: Any) -> None:
    conforms(document(pending_report(simulation(state))), "pending_report")
