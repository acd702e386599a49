"""PreFilter: plugins narrow the nodes together, reject the pod, or skip themselves."""

from typing import Any

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.state import ClusterState
from ksched_cli.engine.records import Attempt
from ksched_cli.framework.cycle_state import CycleState
from ksched_cli.framework.interface import (
    FilterPlugin,
    PreFilterPlugin,
    PreFilterResult,
)
from ksched_cli.framework.nodes import NodeInfo, Nodes
from ksched_cli.framework.status import SKIP, SUCCESS, Code, Status
from ksched_cli.testing import cluster, node, pod, run_cycle
from tests.framework.toys import Toy, filtering, narrowing, profile, scoring
from tests.narrowing import present

NAMES = ["a", "b", "c"]


def state(*more: dict[str, Any]) -> ClusterState:
    return cluster(*(node(name) for name in NAMES), pod("p"), *more)


def attempt(*plugins: type[Toy]) -> Attempt:
    return run_cycle(state(), profile(*plugins), plugins)


def test_nodes_left_out_by_prefilter_are_not_looked_at() -> None:
    outcome = attempt(narrowing("P", ["a", "b"]), filtering("F", {"a": Status.unschedulable("no")}))
    assert outcome.node == "b"
    assert outcome.evaluated == 2
    assert outcome.detail.filter == {"a": Status.unschedulable("no").by("F")}


def test_nodes_left_out_count_in_the_message_when_nothing_fits() -> None:
    no = Status.unschedulable("no")
    outcome = attempt(narrowing("P", ["a", "b"]), filtering("F", {"a": no, "b": no}))
    assert outcome.message == (
        "0/3 nodes are available: 1 node(s) didn't satisfy plugin(s) [P], 2 no."
    )


def test_several_plugins_narrow_to_what_all_of_them_leave() -> None:
    outcome = attempt(narrowing("P", ["a", "b"]), narrowing("Q", ["b", "c"]))
    assert (outcome.node, outcome.evaluated) == ("b", 1)


def test_plugins_that_leave_nothing_together_are_named_in_order() -> None:
    outcome = attempt(narrowing("Q", ["a"]), narrowing("P", ["b"]))
    assert present(outcome.pre_filter).code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE
    reason = "node(s) didn't satisfy plugin(s) [P Q] simultaneously"
    assert outcome.message == f"0/3 nodes are available: {reason}."


def test_one_plugin_that_leaves_nothing_is_named_alone() -> None:
    outcome = attempt(narrowing("P", []))
    assert outcome.message == "0/3 nodes are available: node(s) didn't satisfy plugin P."


def test_names_that_are_no_nodes_are_passed_over() -> None:
    outcome = attempt(narrowing("P", ["c", "gone"]))
    assert (outcome.node, outcome.evaluated) == ("c", 1)


def test_a_rejection_in_prefilter_ends_the_attempt_with_its_author() -> None:
    outcome = attempt(narrowing("P", None, Status.unresolvable("never")))
    assert outcome.pre_filter == Status.unresolvable("never").by("P")
    assert outcome.message == "0/3 nodes are available: never."
    assert outcome.evaluated == 0


def test_an_error_in_prefilter_breaks_the_cycle() -> None:
    outcome = attempt(narrowing("P", None, Status.error("broken")))
    assert outcome.error == 'running PreFilter plugin "P": broken'


def test_a_skipped_filter_is_not_asked() -> None:
    class Both(Toy, PreFilterPlugin, FilterPlugin):
        name = "P"

        def pre_filter(
            self, state: CycleState, pod: PodInfo, nodes: Nodes
        ) -> tuple[PreFilterResult | None, Status]:
            return None, SKIP

        def filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status:
            return Status.unschedulable("no") if node.name == "a" else SUCCESS

    assert attempt(Both, scoring("S", {})).detail.feasible == ("a", "b", "c")
