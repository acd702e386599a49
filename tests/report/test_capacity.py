"""An answer of `capacity` as JSON and as a table."""

import pytest
from msgspec.structs import replace

from ksched_cli.analysis.attempts import PluginStatus
from ksched_cli.analysis.capacity import CapacityResult
from ksched_cli.analysis.more_nodes import NodesNeeded, NodeTrial
from ksched_cli.report.forms import Form
from ksched_cli.report.limit import EVERYTHING
from tests.report.schemas import conforms, shown

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
    runs=(NodeTrial(0, {"a": 0}, 2, 0), NodeTrial(2, {"a": 2}, 0, 0), NodeTrial(1, {"a": 1}, 0, 0)),
)
HOPELESS = NodesNeeded(
    like=("a",),
    nodes_needed=None,
    limited_by="default/p: it never fits",
    runs=(NodeTrial(0, {"a": 0}, 1, 0), NodeTrial(1, {"a": 1}, 1, 0)),
)


@pytest.mark.parametrize("answer", [SOME, NONE, STOPPED, NEEDED, HOPELESS])
def test_answers_are_as_their_schema_says(answer: CapacityResult | NodesNeeded) -> None:
    conforms(answer, "capacity_result")


def test_nodes_that_take_as_many_share_a_row() -> None:
    assert shown(SOME) == [
        "7 copies of default/p fit, on 3 nodes",
        "",
        "COPIES EACH NODES NAMES",
        "3 2 a, c",
        "1 1 b",
        "",
        "Why the next one does not fit",
        "kube-scheduler says: 0/3 nodes are available: full.",
    ]


def test_the_wide_form_has_a_row_for_each_node_and_the_names_are_those() -> None:
    lines = shown(SOME, form=Form.WIDE)
    assert lines[-4:] == ["NODE COPIES", "a 3", "c 3", "b 1"]
    assert shown(SOME, form=Form.NAME) == ["a", "b", "c"]


def test_a_pod_that_fits_nowhere_says_why() -> None:
    assert shown(NONE) == [
        "No copy of default/p fits",
        "kube-scheduler says: 0/3 nodes are available: full.",
        "default/p is not in the queue yet: SchedulingGates: waiting for a gate",
    ]


def test_a_pod_that_only_evictions_give_a_node_says_how_to_see_them() -> None:
    lines = shown(replace(NONE, by_preemption=True))
    assert lines[0] == ("No copy of default/p fits without evictions; with preemption one does")
    assert lines[-1] == "ksched preempt default/p # shows which pods would be evicted"


def test_a_search_that_stopped_says_how_to_go_on() -> None:
    lines = shown(STOPPED)
    assert lines[0] == "At least 1 copy of default/p fits, on 1 node"
    assert lines[1] == "the search stopped at 1; --max N raises that limit"


def test_the_runs_are_shown_by_number_of_nodes() -> None:
    assert shown(NEEDED, EVERYTHING) == [
        "1 more node like a is needed",
        "",
        "Runs with more nodes",
        "MORE NODES PENDING EVICTED",
        "0 2 0",
        "1 0 0",
        "2 0 0",
    ]


def test_of_many_runs_those_nearest_to_the_answer_are_shown() -> None:
    runs = tuple(NodeTrial(n, {"a": n}, max(0, 20 - n), 0) for n in range(40))
    lines = shown(replace(NEEDED, nodes_needed=20, mix={"a": 20}, runs=runs))
    rows = [line for line in lines if line[:1].isdigit()][1:]
    assert [line.split()[0] for line in rows] == [str(n) for n in range(14, 26)]
    assert "… and 28 more runs (--all shows every one)" in lines


def test_where_no_number_helps_the_reason_stands_first() -> None:
    lines = shown(HOPELESS)
    assert lines[:2] == ["No number of nodes like a helps", "default/p: it never fits"]


def test_a_search_that_was_ended_does_not_say_that_no_number_helps() -> None:
    lines = shown(replace(HOPELESS, stopped="the time limit of 9 s was reached"))
    assert lines[0] == "No run so far helps all pods that wait"
    assert not any("number" in line for line in lines)
