"""Filter plugins together: the first one that rejects a node has the word."""

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.engine.records import Attempt
from ksched_cli.framework.cycle_state import CycleState
from ksched_cli.framework.interface import FilterPlugin
from ksched_cli.framework.nodes import NodeInfo, Nodes
from ksched_cli.framework.results import Verdicts
from ksched_cli.framework.status import SUCCESS, Code, PluginError, Status
from ksched_cli.testing import cluster, find, node, pod, run_cycle, simulation
from tests.framework.toys import Toy, filtering, profile, scoring

NAMES = [f"n{i}" for i in range(5)]
NO = Status.unschedulable("no")
NEVER = Status.unresolvable("never", "ever")
ANSWERS = st.dictionaries(st.sampled_from(NAMES), st.sampled_from([NO, NEVER]))


# Where nothing scores, the search ends at the first node that fits.
SCORING = scoring("Scoring", {})


def attempt(*plugins: type[Toy]) -> Attempt:
    plugins = (*plugins, SCORING)
    state = cluster(*(node(name) for name in NAMES), pod("p"))
    return run_cycle(state, profile(*plugins), plugins)


def error_of(plugin: type[Toy]) -> tuple[str, list[str]]:
    """What ends the attempt, of a plugin that may do anything."""
    state = cluster(*(node(name) for name in NAMES), pod("p"))
    run = simulation(state, profile(plugin, SCORING), [plugin, SCORING])
    outcome = run.cycle.attempt(run.frameworks["default-scheduler"], find(run)).attempt
    assert outcome.node == ""
    return outcome.error, [defect.problem for defect in run.caller.defects.values()]


@given(st.lists(ANSWERS, min_size=1, max_size=4))
def test_the_first_plugin_that_rejects_has_the_word_and_the_later_ones_are_not_asked(
    tables: list[dict[str, Status]],
) -> None:
    queried: list[list[str]] = [[] for _ in tables]
    plugins = [filtering(f"P{i}", table, queried[i]) for i, table in enumerate(tables)]
    outcome = attempt(*plugins)
    rejections: dict[str, Status] = {}
    left = list(NAMES)
    for i, table in enumerate(tables):
        assert queried[i] == left
        rejections |= {name: table[name].by(f"P{i}") for name in left if name in table}
        left = [name for name in left if name not in table]
    assert outcome.detail.filter == rejections
    assert outcome.detail.feasible == tuple(left)
    assert outcome.evaluated == len(NAMES)


@given(ANSWERS)
def test_the_plain_and_the_array_form_come_to_the_same(table: dict[str, Status]) -> None:
    class Array(Toy, FilterPlugin):
        name = "P"

        def filter_nodes(self, state: CycleState, pod: PodInfo, nodes: Nodes) -> Verdicts:
            verdicts = Verdicts.passing(len(nodes))
            for status in (NO, NEVER):
                verdicts.reject(
                    np.array([table.get(name) == status for name in nodes.names()]), status
                )
            return verdicts

    assert attempt(Array) == attempt(filtering("P", table))


def test_an_error_on_one_node_ends_the_attempt() -> None:
    error, defects = error_of(filtering("P", {"n2": Status.error("out of order")}))
    assert error == 'running "P" filter plugin: out of order'
    assert defects == []


def test_a_code_that_filter_may_not_give_is_an_error() -> None:
    error, _ = error_of(filtering("P", {"n0": Status(Code.WAIT, ("later",))}))
    assert error == 'running "P" filter plugin: later'


def test_a_refusal_to_answer_is_an_error_and_no_defect() -> None:
    class Refuses(Toy, FilterPlugin):
        name = "P"

        def filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status:
            raise PluginError("nothing prepared")

    assert error_of(Refuses) == ('running "P" filter plugin: nothing prepared', [])


def test_an_exception_is_a_defect_with_the_plugins_name() -> None:
    class Raises(Toy, FilterPlugin):
        name = "P"

        def filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status:
            raise KeyError("disk")

    error, defects = error_of(Raises)
    assert error == "running \"P\" filter plugin: plugin P failed in filter: KeyError: 'disk'"
    assert defects == ["KeyError: 'disk'"]


def test_verdicts_for_another_number_of_nodes_are_an_error() -> None:
    class Short(Toy, FilterPlugin):
        name = "P"

        def filter_nodes(self, state: CycleState, pod: PodInfo, nodes: Nodes) -> Verdicts:
            return Verdicts.passing(2)

    assert error_of(Short)[0].endswith("filter_nodes returned 2 verdicts for 5 nodes")


def test_anything_but_verdicts_is_an_error() -> None:
    class Mistaken(Toy, FilterPlugin):
        name = "P"

        def filter_nodes(self, state: CycleState, pod: PodInfo, nodes: Nodes) -> Any:
            return [SUCCESS for _ in nodes]

    assert error_of(Mistaken)[0].endswith("filter_nodes returned list, expected Verdicts")


def test_a_filter_without_either_form_says_so() -> None:
    class Empty(Toy, FilterPlugin):
        name = "P"

    assert "Empty has neither filter nor filter_nodes" in error_of(Empty)[0]


def test_a_node_with_nominated_pods_of_no_lesser_priority_must_have_room_for_them_too() -> None:
    state = cluster(
        node("a", cpu="2"),
        node("b", cpu="2"),
        node("c", cpu="500m"),
        pod("nominated", cpu="1500m", priority=5),
        pod("lesser", cpu="1"),
        pod("greater", cpu="1", priority=10),
    )
    run = simulation(state)
    run.nominator.nominate(find(run, "nominated"), "a")
    framework = run.frameworks["default-scheduler"]
    assert run.cycle.attempt(framework, find(run, "lesser")).attempt.detail.feasible == ("b",)
    # Higher priority takes no notice of the nomination; "b" is half full now.
    assert run.cycle.attempt(framework, find(run, "greater")).attempt.node == "a"
