"""What holds for every in-tree plugin."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.state import ClusterState
from ksched_cli.engine.simulation import Simulation
from ksched_cli.framework.cycle_state import CycleState
from ksched_cli.framework.interface import (
    FilterPlugin,
    NormalizeScore,
    Plugin,
    ScorePlugin,
    points_of,
)
from ksched_cli.framework.nodes import Nodes
from ksched_cli.framework.registry import PluginEntry
from ksched_cli.kube.extension_points import POD_GROUP_POINTS, POINT_KEYS
from ksched_cli.kube.versions import release_of
from ksched_cli.plugins import IN_TREE
from ksched_cli.testing import simulation
from tests.clusters import states

ARGS = ("NodeResourcesFit", "NodeResourcesBalancedAllocation", "NodeAffinity")
FILTERS = (
    "NodeUnschedulable",
    "NodeName",
    "TaintToleration",
    "NodeAffinity",
    "NodePorts",
    "NodeResourcesFit",
)
SCORES = (
    "TaintToleration",
    "NodeAffinity",
    "NodeResourcesFit",
    "NodeResourcesBalancedAllocation",
    "ImageLocality",
)


@pytest.mark.parametrize("entry", IN_TREE, ids=lambda entry: entry.name)
def test_the_list_says_what_the_class_implements(entry: PluginEntry) -> None:
    entry = entry.in_release(release_of())
    plugin = entry.load()
    assert isinstance(plugin, type)
    assert issubclass(plugin, Plugin)
    # A feature gate or the minor decides whether the points of pod groups are among them.
    assert points_of(plugin) - set(POD_GROUP_POINTS) == entry.points.difference(POD_GROUP_POINTS)
    assert entry.points <= points_of(plugin)
    assert entry.points <= set(POINT_KEYS)
    assert (plugin.name, entry.origin) == (entry.name, "in-tree")


def test_every_name_stands_in_the_list_once() -> None:
    names = [entry.name for entry in IN_TREE]
    assert len(names) == len(set(names))


@dataclass
class Question:
    """One pending pod of a random cluster, after PreFilter."""

    run: Simulation
    pod: PodInfo

    def __post_init__(self) -> None:
        self.framework = self.run.frameworks["default-scheduler"]
        self.state = CycleState()
        self.framework.pre_filtering.run(self.state, self.pod)

    def plugin(self, name: str) -> Any:
        return self.framework.plugin(name)


def questions(state: ClusterState) -> list[Question]:
    run = simulation(state)
    return [Question(run, pod) for pod in run.pending()]


def selections(count: int) -> st.SearchStrategy[NDArray[np.intp]]:
    """Some rows, in any order."""
    return st.lists(st.integers(0, count - 1), unique=True).map(
        lambda rows: np.array(rows, dtype=np.intp)
    )


@given(states(), st.data())
def test_filters_say_of_a_selection_what_they_say_of_all_nodes(
    state: ClusterState, data: st.DataObject
) -> None:
    for question in questions(state):
        snapshot = question.run.snapshot
        rows = data.draw(selections(len(snapshot)))
        for name in FILTERS:
            plugin: FilterPlugin = question.plugin(name)
            if name in question.state.skip_filter:
                continue
            every = plugin.filter_nodes(question.state, question.pod, Nodes(snapshot))
            some = plugin.filter_nodes(question.state, question.pod, Nodes(snapshot, rows))
            statuses = [every.statuses[i] for i in every.ids]
            assert [some.statuses[i] for i in some.ids] == [statuses[row] for row in rows]


@given(states(), st.data())
def test_raw_scores_of_a_node_do_not_depend_on_which_others_are_asked_about(
    state: ClusterState, data: st.DataObject
) -> None:
    for question in questions(state):
        snapshot = question.run.snapshot
        rows = data.draw(selections(len(snapshot)))
        for name in SCORES:
            plugin: ScorePlugin = question.plugin(name)
            cycle = question.state.clone()
            every = Nodes(snapshot)
            if (
                hasattr(plugin, "pre_score")
                and plugin.pre_score(cycle, question.pod, every).is_skip
            ):
                continue
            scores = plugin.score_nodes(cycle, question.pod, every)
            some = plugin.score_nodes(cycle, question.pod, Nodes(snapshot, rows))
            assert some.tolist() == scores[rows].tolist()


@given(states())
def test_scores_are_between_0_and_100_and_normalising_leaves_raw_scores_alone(
    state: ClusterState,
) -> None:
    for question in questions(state):
        nodes = Nodes(question.run.snapshot)
        for name in SCORES:
            plugin: ScorePlugin = question.plugin(name)
            cycle = question.state.clone()
            if (
                hasattr(plugin, "pre_score")
                and plugin.pre_score(cycle, question.pod, nodes).is_skip
            ):
                continue
            raw = plugin.score_nodes(cycle, question.pod, nodes)
            before = raw.copy()
            final = raw
            if isinstance(plugin, NormalizeScore):
                final = plugin.normalize_scores(cycle, question.pod, nodes, raw)
            assert raw.tolist() == before.tolist()
            assert len(final) == len(nodes)
            assert ((final >= 0) & (final <= 100)).all()


@given(states())
def test_asking_twice_gives_the_same_answer_and_leaves_the_nodes_as_they_were(
    state: ClusterState,
) -> None:
    for question in questions(state):
        snapshot = question.run.snapshot
        end = len(snapshot.log)
        for name in FILTERS:
            if name in question.state.skip_filter:
                continue
            plugin: FilterPlugin = question.plugin(name)
            first = plugin.filter_nodes(question.state, question.pod, Nodes(snapshot))
            again = plugin.filter_nodes(question.state, question.pod, Nodes(snapshot))
            assert first.ids.tolist() == again.ids.tolist()
            assert first.statuses == again.statuses
        assert len(snapshot.log) == end
