"""An answer of `capacity` as JSON and as a table."""

import pytest

from ksched_cli.analysis.attempts import PluginStatus
from ksched_cli.analysis.capacity import CapacityResult, NodesNeeded, Trial
from ksched_cli.report import capacity
from ksched_cli.report.table import EVERYTHING
from tests.report.schemas import conforms, squeezed

GATED = PluginStatus(
    plugin="SchedulingGates",
    code="UnschedulableAndUnresolvable",
    reasons=("waiting for a gate",),
)
SOME = CapacityResult(
    pod="default/p",
    profile="x",
    count=7,
    nodes={"a": 3, "b": 1, "c": 3},
    limited_by="0/3 nodes are available: full.",
)
NONE = CapacityResult(
    pod="default/p", profile="x", limited_by="0/3 nodes are available: full.", gated=GATED
)
STOPPED = CapacityResult(pod="default/p", profile="x", count=1, nodes={"a": 1}, stopped_at=1)
NEEDED = NodesNeeded(
    like=("a",),
    nodes_needed=1,
    mix={"a": 1},
    runs=(Trial(0, {"a": 0}, 2, 0), Trial(2, {"a": 2}, 0, 0), Trial(1, {"a": 1}, 0, 0)),
)
HOPELESS = NodesNeeded(
    like=("a",),
    nodes_needed=None,
    limited_by="default/p: it never fits",
    runs=(Trial(0, {"a": 0}, 1, 0), Trial(1, {"a": 1}, 1, 0)),
)


@pytest.mark.parametrize("answer", [SOME, NONE, STOPPED, NEEDED, HOPELESS])
def test_answers_are_as_their_schema_says(answer: CapacityResult | NodesNeeded) -> None:
    conforms(answer, "capacity_result")


def test_nodes_that_take_as_many_share_a_row() -> None:
    assert squeezed(capacity.table(SOME, EVERYTHING)) == [
        "7 copies fit of default/p, on 3 nodes",
        "",
        "COPIES EACH NODES NAMES",
        "3 2 a, c",
        "1 1 b",
        "",
        "The next one does not fit:",
        "0/3 nodes are available: full.",
    ]


def test_a_pod_that_fits_nowhere_says_why() -> None:
    assert capacity.table(NONE, EVERYTHING).splitlines() == [
        "default/p is not in the queue yet: SchedulingGates: waiting for a gate",
        "no copy of default/p fits",
        "0/3 nodes are available: full.",
    ]


def test_a_search_that_stopped_says_how_to_go_on() -> None:
    lines = squeezed(capacity.table(STOPPED, EVERYTHING))
    assert lines[0] == "at least 1 copy fits of default/p, on 1 node"
    assert lines[-1] == "The search stopped at 1; --max N goes on to N."


def test_the_runs_are_shown_by_number_of_nodes() -> None:
    assert squeezed(capacity.table(NEEDED, EVERYTHING)) == [
        "1 more node like a is needed",
        "",
        "MORE NODES PENDING EVICTED",
        "0 2 0",
        "1 0 0",
        "2 0 0",
    ]


def test_where_no_number_helps_the_reason_stands_first() -> None:
    lines = squeezed(capacity.table(HOPELESS, EVERYTHING))
    assert lines[:2] == ["no number of nodes like a helps:", "default/p: it never fits"]
