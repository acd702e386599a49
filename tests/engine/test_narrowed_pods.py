"""Pods that PreFilter leaves a handful of nodes: decided as others, without columns."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.state import ClusterState
from ksched_cli.engine import pipeline
from ksched_cli.engine.evaluation import Mode
from ksched_cli.engine.records import RunRecord
from ksched_cli.framework.cache.answer_cache import MANY_PODS_ALIKE
from ksched_cli.framework.cycle_state import CycleState
from ksched_cli.framework.interface import PreFilterPlugin, PreFilterResult, Scope
from ksched_cli.framework.nodes import Nodes
from ksched_cli.framework.runners import SCALAR_PATH_MAX, FilterRunner
from ksched_cli.framework.status import SUCCESS, Status
from ksched_cli.kube.versions import MINORS
from ksched_cli.testing import cluster, find, node, pod, simulate, simulation
from tests.clusters import nodes, pods
from tests.framework.toys import Toy, profile

NAMES = [f"n{i}" for i in range(2 * SCALAR_PATH_MAX)]


def for_nodes(names: list[str]) -> dict[str, Any]:
    """The affinity of a pod for these nodes alone, as a DaemonSet's has for one."""
    requirements = [{"key": "metadata.name", "operator": "In", "values": [name]} for name in names]
    terms = [{"matchFields": [requirement]} for requirement in requirements]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    return {"nodeAffinity": required}


@st.composite
def clusters_of_narrowed_pods(draw: st.DrawFn) -> ClusterState:
    """Pods of a few looks, each look for some nodes by name, until some of these are full."""
    subsets = st.lists(st.sampled_from([*NAMES, "no-such-node"]), min_size=1, max_size=8)
    pending = []
    for look in range(draw(st.integers(1, 3))):
        manifest = draw(pods("p"))
        spec = {**manifest["spec"], "affinity": for_nodes(draw(subsets))}
        pending += [pod(f"p{look}-{i}", spec=spec) for i in range(4)]
    return cluster(*(draw(nodes(name)) for name in NAMES), *pending)


def run_of(state: ClusterState, *, cache_answers: bool) -> RunRecord:
    """Without detail, as `schedule` runs it."""
    run = simulation(state)
    run.pipeline.detailed = False
    run.options = replace(run.options, cache_answers=cache_answers)
    return run.run()


@pytest.mark.parametrize("many", [1, MANY_PODS_ALIKE])
@given(state=clusters_of_narrowed_pods())
def test_every_attempt_is_the_same_without_cache_and_node_by_node(
    many: int, state: ClusterState
) -> None:
    """many: from how many pods alike on the cache is used for a handful of nodes"""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pipeline, "MANY_PODS_ALIKE", many)
        cached = run_of(state, cache_answers=True)
    assert cached == run_of(state, cache_answers=False)
    with pytest.MonkeyPatch.context() as patch:
        # As for many nodes: every plugin is called in its array form.
        patch.setattr(FilterRunner, "_scalar_status", lambda *arguments: None)
        assert cached == run_of(state, cache_answers=False)


def test_a_pod_for_one_node_makes_no_columns() -> None:
    twins = [pod(f"p{i}", cpu=1, affinity=for_nodes(["n3"])) for i in range(3)]
    run = simulation(cluster(*(node(name, cpu=2) for name in NAMES), *twins))
    framework = run.frameworks["default-scheduler"]
    framework.answer_cache.expect(run.pending())
    evaluations = [run.pipeline.evaluate(framework, find(run, f"p{i}"), Mode.SAMPLED) for i in "01"]
    assert [evaluation.feasible.names() for evaluation in evaluations] == [["n3"], ["n3"]]
    entry = framework.answer_cache.entry_for(find(run, "p0"))
    assert entry is not None
    assert entry.filters is None
    assert entry.scores is None
    assert not framework.answer_cache.node_verdicts


@pytest.mark.parametrize(("scope", "calls"), [(Scope.NODE, 1), (Scope.ROW, 3), (Scope.CLUSTER, 2)])
def test_prefilter_narrows_once_for_pods_that_look_the_same_where_no_pod_can_change_that(
    scope: Scope, calls: int
) -> None:
    pods_by_call = []

    class Narrowing(Toy, PreFilterPlugin):
        name = "Narrowing"

        def pre_filter(
            self, state: CycleState, pod: PodInfo, nodes: Nodes
        ) -> tuple[PreFilterResult | None, Status]:
            pods_by_call.append(pod.key)
            return PreFilterResult(frozenset({"n3"})), SUCCESS

    Narrowing.scope = scope
    state = cluster(*map(node, NAMES), pod("p0"), pod("p1"))
    run = simulation(state, profile(Narrowing), [Narrowing])
    run.pipeline.detailed = False
    assert run.run().placements == {"default/p0": "n3", "default/p1": "n3"}
    assert len(pods_by_call) == calls


@pytest.mark.parametrize("minor", MINORS)
def test_the_nodes_that_prefilter_left_out_name_who_rejected_the_nominated_node(minor: str) -> None:
    """Upstream adds the plugins that reject it to the set of PreFilter's before it makes the text;
    those of nodes that come later are too late for that."""
    names = NAMES[:3]
    nominated = {"nominatedNodeName": names[0]}
    state = cluster(
        *(node(name, cpu="1") for name in names),
        pod("p", cpu="2", spec={"affinity": for_nodes(names[:2])}, status=nominated),
        pod("q", cpu="2", spec={"affinity": for_nodes(names[:2])}),
    )
    record = simulate(state, kubernetes_version=minor)
    first, second = (attempt.message.partition(". ")[0] for attempt in record.attempts)
    text = "0/3 nodes are available: 1 node(s) didn't satisfy plugin(s) [{}], 2 Insufficient cpu"
    assert first == text.format("NodeAffinity NodeResourcesFit")
    assert second == text.format("NodeAffinity")


def test_a_nominated_node_that_prefilter_left_out_is_named_by_who_rejected_it() -> None:
    """Its own reason is that of the plugin, for upstream asks about it first."""
    names = NAMES[:3]
    state = cluster(
        node(names[0], cpu="9", labels={"a": "b"}),
        *(node(name, cpu="1") for name in names[1:]),
        pod("p", cpu="2", spec={"affinity": for_nodes(names[1:2])},
            status={"nominatedNodeName": names[0]}),
    )  # fmt: skip
    (attempt,) = simulate(state).attempts
    assert attempt.message.partition(". ")[0] == (
        "0/3 nodes are available: 1 Insufficient cpu, 1 node(s) didn't match Pod's node"
        " affinity/selector, 1 node(s) didn't satisfy plugin(s) [NodeAffinity]"
    )
