"""The report of pending pods, in both its shapes."""

from hypothesis import given, settings

from clusters import states
from ksched_cli.analysis.pending import pending_report
from ksched_cli.report.pending import document, table
from ksched_cli.report.table import EVERYTHING
from ksched_cli.testing import cluster, node, pod, simulation
from report.schemas import conforms, squeezed


def test_a_group_has_its_message_and_its_reasons_with_the_nearest_node():
    state = cluster(node("a"), node("b", cpu=8), pod("p", cpu=12), pod("q", gates=["x.io/g"]))
    lines = squeezed(table(pending_report(simulation(state)), EVERYTHING))
    assert lines[0] == "Pod/p in default: a pod pending: default/p"
    assert lines[1].startswith("0/2 nodes are available: 2 Insufficient cpu.")
    assert lines[3] == "2 NodeResourcesFit Insufficient cpu b cpu: wants 12, 8 free of 8"
    assert lines[-1] == "1 pending, 1 gated, 0 left out"


@settings(max_examples=20)
@given(states())
def test_reports_are_as_their_schema_says(state):
    conforms(document(pending_report(simulation(state))), "pending_report")
