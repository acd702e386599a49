"""What cases alone do not show of PodTopologySpread: trials, what it looks at, what it explains."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ksched_cli.framework.nodes import NodeInfo
from ksched_cli.plugins.pod_topology_spread import PodTopologySpread
from ksched_cli.testing import cluster, node, pod, simulate
from tests.plugin_cases import cases, check
from tests.plugins.pod_topology_spread.manifests import (
    CONSTRAINTS,
    NAMES,
    NODES,
    constraint,
    spread,
)
from tests.trials import PluginRun, check_following


@given(
    running=st.lists(st.sampled_from("xyz"), max_size=6),
    mover=st.sampled_from("xyz"),
    constraints=st.lists(CONSTRAINTS, min_size=1, max_size=2),
    asking=st.sampled_from("xyz"),
    selector=st.sampled_from(({}, {"disk": "ssd"})),
    place=st.sampled_from(NAMES),
    leaves=st.booleans(),
)
def test_following_a_pod_gives_what_asking_anew_gives(
    running: list[str],
    mover: str,
    constraints: list[dict[str, Any]],
    asking: str,
    selector: dict[str, str],
    place: str,
    leaves: bool,
) -> None:
    pods = [pod(f"b{i}", node=NAMES[i % 4], labels={"app": app}) for i, app in enumerate(running)]
    p = pod("p", labels={"app": asking}, node_selector=selector, spec=spread(*constraints))
    manifests = [*NODES, *pods, pod("mover", node=place, labels={"app": mover}), p]
    check_following(PodTopologySpread, manifests, place, leaves=leaves)


def test_a_trial_counts_pods_that_are_being_deleted() -> None:
    gone = {"deletionTimestamp": "2026-01-01T00:00:00Z"}
    manifests = [
        *NODES,
        pod("web", node="n2", labels={"app": "web"}),
        pod("going", labels={"app": "web"}, metadata=gone),
        pod("p", labels={"app": "web"}, spec=spread(constraint(skew=2))),
    ]
    plugin_run = PluginRun(PodTopologySpread, manifests).pre_filter()
    assert plugin_run.verdicts()[2] == "Success"
    trial = plugin_run.state.clone()
    plugin_run.follow(trial, "going", "n2", added=True)
    assert plugin_run.verdicts(trial)[2] == "Unschedulable"


@pytest.mark.parametrize("namespace", ["blue", "red"])
def test_a_trial_does_not_count_pods_of_other_namespaces(namespace: str) -> None:
    manifests = [
        *NODES,
        pod("web", namespace, labels={"app": "web"}),
        pod("p", labels={"app": "web"}, spec=spread(constraint())),
    ]
    plugin_run = PluginRun(PodTopologySpread, manifests).pre_filter()
    trial = plugin_run.state.clone()
    plugin_run.follow(trial, "web", "n2", added=True)
    plugin_run.follow(trial, "web", "n2", added=True)
    assert plugin_run.verdicts(trial) == ["Success"] * 4


def test_a_cycle_looks_at_no_pods() -> None:
    constraints = constraint(), constraint(when="ScheduleAnyway")
    p = pod("p", labels={"app": "web"}, spec=spread(*constraints))
    plugin_run = PluginRun(
        PodTopologySpread, [*NODES, pod("web", node="n2", labels={"app": "web"}), p]
    )
    plugin_run.forbid_pods()
    assert plugin_run.pre_filter().verdicts() == ["Success", "Success", "Unschedulable", "Success"]
    assert plugin_run.plugin.pre_score(
        plugin_run.state, plugin_run.pod, plugin_run.nodes
    ).is_success
    raw = plugin_run.plugin.score_nodes(plugin_run.state, plugin_run.pod, plugin_run.nodes)
    assert raw.tolist() == [0, 0, 2, 0]
    normalized = plugin_run.plugin.normalize_scores(
        plugin_run.state, plugin_run.pod, plugin_run.nodes, raw
    )
    assert normalized.tolist() == [100, 100, 0, 100]


def test_without_prefilter_the_plugin_says_what_is_missing() -> None:
    plugin_run = PluginRun(PodTopologySpread, [*NODES, pod("p")])
    status = plugin_run.plugin.remove_pod(
        plugin_run.state, plugin_run.pod, plugin_run.pod, NodeInfo(plugin_run.run.snapshot, 0)
    )
    assert status.message == 'reading "PreFilterPodTopologySpread" from cycleState: not found'


@given(
    count=st.integers(1, 12),
    skew=st.integers(1, 3),
    zones=st.lists(st.sampled_from("abc"), min_size=1, max_size=5),
)
def test_zones_never_differ_by_more_than_max_skew(count: int, skew: int, zones: list[str]) -> None:
    nodes = [node(f"n{i}", labels={"zone": zone}) for i, zone in enumerate(zones)]
    rules = spread(constraint(skew=skew))
    pods = [pod(f"p{i:02}", labels={"app": "web"}, spec=rules) for i in range(count)]
    run = simulate(cluster(*nodes, *pods))
    placed = dict.fromkeys(zones, 0)
    for name in run.placements.values():
        placed[zones[int(name[1:])]] += 1
    assert not run.pending
    assert max(placed.values()) - min(placed.values()) <= skew


@pytest.mark.parametrize(("plugin", "case"), cases(__file__))
def test_case(plugin: str, case: dict[str, Any]) -> None:
    check(plugin, case)
