"""What is remembered of pods that look the same is what would be found out anew."""

from collections.abc import Iterable
from typing import Any
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.snapshot import Snapshot
from ksched_cli.cluster.state import ClusterState
from ksched_cli.config.load import load_configuration
from ksched_cli.engine.engine import Options
from ksched_cli.engine.records import RunRecord
from ksched_cli.engine.simulation import Simulation
from ksched_cli.framework.cache.answer_cache import MANY_NODES, AnswerCache, SharedRows, shareable
from ksched_cli.framework.cycle_state import CycleState
from ksched_cli.framework.discovery import discover
from ksched_cli.framework.interface import FilterPlugin, Scope
from ksched_cli.framework.nodes import NodeInfo
from ksched_cli.framework.status import SUCCESS, Status
from ksched_cli.plugins import IN_TREE
from ksched_cli.testing import cluster, node, pod, simulate, simulation
from tests.clusters import crowds, states
from tests.framework.toys import Toy, profile, scoring
from tests.volumes import CSI, claim, csi_node, storage_class, volume

ZONE = "topology.kubernetes.io/zone"


@given(states(max_nodes=5, max_pending=3))
def test_a_run_comes_out_the_same_without_memory(state: ClusterState) -> None:
    remembered = simulate(state)
    with mock.patch.object(AnswerCache, "entry_for", return_value=None):
        anew = simulate(state)
    assert remembered == anew


CONFIGURATION = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
percentageOfNodesToScore: {percentage}
"""


def run_of(state: ClusterState, percentage: int, remember: bool) -> RunRecord:
    """Without the details: those are found out anew in any case."""
    registry = discover(IN_TREE).registry
    text = CONFIGURATION.format(percentage=percentage)
    configuration = load_configuration(text, "the test", registry)
    return Simulation(state, configuration, registry, Options(cache_answers=remember)).run()


@given(crowds(), st.sampled_from([0, 40, 100]))
def test_in_a_crowd_every_attempt_is_the_same_without_memory(
    state: ClusterState, percentage: int
) -> None:
    assert run_of(state, percentage, remember=True) == run_of(state, percentage, remember=False)


@st.composite
def clusters_of_claiming_pods(draw: st.DrawFn) -> ClusterState:
    """Pods that are alike but for their claims, each bound to a volume of some zone."""
    nodes = [node(f"n{i}", cpu=4, labels={ZONE: draw(st.sampled_from("ab"))}) for i in range(4)]
    objects: list[dict[str, Any]] = [csi_node(f"n{i}", csi_example_com=2) for i in range(4)]
    for i in range(draw(st.integers(2, 6))):
        zone = draw(st.sampled_from("abc"))
        objects += [
            claim(f"c{i}", volume=f"v{i}"),
            volume(
                f"v{i}",
                zones=draw(st.sampled_from([[zone], None])),
                claim=f"c{i}",
                labels=draw(st.sampled_from([{ZONE: zone}, {}])),
                csi={"driver": CSI, "volumeHandle": f"v{i}"},
            ),
        ]
        source = {"claimName": draw(st.sampled_from([f"c{i}", "c0", "none"]))}
        volumes = [{"name": "data", "persistentVolumeClaim": source}]
        objects.append(pod(f"p{i}", cpu=1, spec={"volumes": volumes}))
    return cluster(*nodes, storage_class("local"), *objects)


@given(clusters_of_claiming_pods(), st.sampled_from([0, 100]))
def test_pods_that_differ_by_claims_are_decided_as_without_memory(
    state: ClusterState, percentage: int
) -> None:
    assert run_of(state, percentage, remember=True) == run_of(state, percentage, remember=False)


def test_pods_of_one_shape_share_an_entry_where_all_plugins_are_in_tree() -> None:
    specs = [
        {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": name}}]}
        for name in ("a", "b", "b")
    ]
    first, second, like_it = simulation(
        cluster(*(pod(f"p{i}", spec=spec) for i, spec in enumerate(specs)))
    ).pending()
    cache = AnswerCache(Snapshot(()))
    cache.expect((first, second, like_it))
    assert cache.entry_for(first) is cache.entry_for(second) is not None
    cache.by_shape = False
    assert cache.entry_for(first) is None
    assert cache.entry_for(second) is cache.entry_for(like_it) is not None


def test_a_profile_with_a_foreign_plugin_shares_nothing_between_pods_of_other_claims() -> None:
    toys: list[type[Toy]] = [scoring("S", {})]
    frameworks = [simulation(cluster(), plugins=plugins).frameworks for plugins in ([], toys)]
    assert [each["default-scheduler"].answer_cache.by_shape for each in frameworks] == [True, False]


def test_results_of_dry_runs_are_of_one_signature_and_end_with_changes_of_nodes() -> None:
    class Results:
        def __init__(self) -> None:
            self.forgotten: list[int] = []

        def forget(self, rows: Iterable[int]) -> None:
            self.forgotten += rows

    first, second, other = simulation(
        cluster(pod("a", cpu=1), pod("b", cpu=1), pod("c", cpu=2))
    ).pending()
    snapshot = simulation(cluster(node("n"))).snapshot
    cache = AnswerCache(snapshot)
    cache.expect((first, second, other))
    assert cache.dry_runs(other, Results) is None
    results = cache.dry_runs(first, Results)
    assert results is not None
    snapshot.add(other, 0)
    assert cache.dry_runs(second, Results) is results
    assert results.forgotten == [0]
    cache.forget(first)
    assert cache.dry_runs(second, Results) is None


@pytest.mark.parametrize(
    ("scope", "calls"),
    [
        # Three nodes, once for all pods; again the one that the first pod went to; again all.
        (Scope.NODE, 3),
        (Scope.ROW, 3 + 1),
        (Scope.CLUSTER, 3 + 3),
    ],
)
def test_a_plugin_is_asked_again_about_what_its_scope_says(scope: Scope, calls: int) -> None:
    names = []

    class Counting(Toy, FilterPlugin):
        name = "Counting"

        def filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status:
            names.append(node.name)
            return SUCCESS

    Counting.scope = scope
    plugins: list[type[Toy]] = [Counting, scoring("S", {"b": 1})]
    twins = [pod(f"p{i}") for i in range(2)]
    simulate(cluster(node("a"), node("b"), node("c"), *twins), profile(*plugins), plugins)
    assert len(names) == calls
    assert names[3:4] in ([], ["a"], ["b"])


@pytest.mark.parametrize(("look", "calls"), [("same", 3), (None, 3 + 3)])
def test_pods_that_agree_in_what_a_plugin_looks_at_share_its_answers(
    look: str | None, calls: int
) -> None:
    names = []

    class Counting(Toy, FilterPlugin):
        name = "Counting"
        scope = Scope.NODE

        def cache_key(self, pod: PodInfo) -> str | None:
            return look

        def filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status:
            names.append(node.name)
            return SUCCESS

    pods = [pod(f"p{cpu}{i}", cpu=cpu) for cpu in ("1m", "2m") for i in range(2)]
    simulate(cluster(*map(node, "abc"), *pods), profile(Counting), [Counting])
    assert len(names) == calls


def test_what_a_row_plugin_says_follows_the_pods_on_the_node() -> None:
    class SinglePod(Toy, FilterPlugin):
        name = "SinglePod"
        scope = Scope.ROW

        def filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status:
            return Status.unschedulable("taken") if node.pods else SUCCESS

    twins = [pod(f"p{i}") for i in range(4)]
    plugins: list[type[Toy]] = [SinglePod, scoring("S", {"b": 1})]
    run = simulate(cluster(node("a"), node("b"), node("c"), *twins), profile(*plugins), plugins)
    assert run.placements == {"default/p0": "b", "default/p1": "a", "default/p2": "c"}
    assert run.last["default/p3"].message == "0/3 nodes are available: 3 taken."


def test_of_many_nodes_answers_are_kept_for_three_pods_and_not_for_two() -> None:
    snapshot = Snapshot(cluster(*(node(f"n{i}") for i in range(MANY_NODES))).nodes)
    pods = simulation(cluster(*(pod(f"p{i}") for i in range(3)))).pending()
    pair, trio = AnswerCache(snapshot), AnswerCache(snapshot)
    pair.expect(pods[:2])
    trio.expect(pods)
    assert pair.entry_for(pods[0]) is None
    assert trio.entry_for(pods[0]) is not None


def test_what_pods_of_several_shapes_may_share_is_kept_once_a_key_comes_again() -> None:
    run = simulation(
        cluster(pod("p"), pod("q", cpu=1), pod("r", spec={"nodeSelector": {"a": "b"}}))
    )
    framework, pods = run.frameworks["default-scheduler"], run.pending()
    plugin = framework.plugin("NodeAffinity")
    assert plugin is not None
    cache = AnswerCache(Snapshot(()))

    def keys() -> list[bool]:
        return [
            cache.shared_key(plugin, pod, run.caller, is_score=False) is not None for pod in pods
        ]

    assert keys() == keys() == [False, False, False]
    cache.expect(pods)
    assert keys() == [False, True, False]
    assert keys() == [True, True, True]


def test_plugins_with_node_or_row_answers_and_a_key_are_shareable_where_they_are_in_tree() -> None:
    framework = simulation(cluster(), kubernetes_version="1.34").frameworks["default-scheduler"]
    plugins = framework.filtering.plugins
    names = {"NodeUnschedulable", "NodeName", "TaintToleration", "NodeAffinity", "NodeResourcesFit"}
    assert {p.name for p in plugins if shareable(p, foreign=())} == names
    assert {p.name for p in plugins if shareable(p, foreign={"NodeName"})} == names - {"NodeName"}


@st.composite
def clusters_of_single_pods(draw: st.DrawFn) -> ClusterState:
    """Pods of which no two have the same labels, and several request the same, which fill nodes."""
    taints = [{"key": "k", "value": "v", "effect": e} for e in ("NoSchedule", "PreferNoSchedule")]
    nodes = [
        node(
            f"n{i}",
            cpu=4,
            labels={ZONE: draw(st.sampled_from("ab"))},
            taints=draw(st.sampled_from([[], taints[:1], taints[1:]])),
        )
        for i in range(12)
    ]
    selectors = st.sampled_from([{}, {"nodeSelector": {ZONE: "a"}}])
    tolerations = st.sampled_from([{}, {"tolerations": [{"key": "k", "operator": "Exists"}]}])
    pods = [
        pod(
            f"p{i}",
            cpu=draw(st.sampled_from(["100m", "900m", "1700m", "3"])),
            labels={"own": str(i)},
            spec={**draw(selectors), **draw(tolerations)},
        )
        for i in range(24)
    ]
    return cluster(*nodes, *pods)


@given(clusters_of_single_pods(), st.sampled_from([0, 50, 100]))
def test_pods_that_nobody_looks_like_share_answers_as_without_memory(
    state: ClusterState, percentage: int
) -> None:
    assert run_of(state, percentage, remember=True) == run_of(state, percentage, remember=False)


def test_pods_of_several_shapes_that_request_the_same_share_answers_about_rows() -> None:
    pods = [pod(f"p{i}", cpu=1 + i % 2, labels={"app": f"a{i}"}) for i in range(12)]
    run = simulation(cluster(*(node(f"n{i}") for i in range(20)), *pods))
    run.pipeline.detailed = False
    run.run()
    cache = run.frameworks["default-scheduler"].answer_cache
    assert {name for name, _ in cache.row_verdicts} == {"NodeResourcesFit"}
    assert len(cache.row_verdicts) == len(cache.row_sums) == 2


def test_of_too_many_row_answers_the_oldest_go() -> None:
    shared = SharedRows[str, int](Snapshot(cluster(node("n"), node("m")).nodes), most=4)
    shared["a"] = shared["b"] = shared["c"] = 1
    assert list(shared) == ["b", "c"]
