"""What cases alone do not show of PodTopologySpread: trials, what it looks at, what it explains."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ksched_cli.framework.nodes import NodeInfo
from ksched_cli.testing import cluster, node, pod, simulate
from plugin_cases import cases, check
from tests.plugins.pod_topology_spread.manifests import (
    CONSTRAINTS,
    NAMES,
    NODES,
    constraint,
    spread,
)
from trials import Forbidden, PluginRun, moved


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
    running, mover, constraints, asking, selector, place, leaves
):
    pods = [pod(f"b{i}", node=NAMES[i % 4], labels={"app": app}) for i, app in enumerate(running)]
    p = pod("p", labels={"app": asking}, node_selector=selector, spec=spread(*constraints))
    manifests = [*NODES, *pods, pod("mover", node=place, labels={"app": mover}), p]
    there = PluginRun("PodTopologySpread", manifests).pre_filter()
    gone = PluginRun("PodTopologySpread", moved(manifests, "mover", "")).pre_filter()
    before, after = (there, gone) if leaves else (gone, there)
    untouched = before.verdicts()
    trial = before.state.clone()
    before.follow(trial, "mover", place, added=not leaves)
    assert before.verdicts(trial) == after.verdicts()
    assert before.verdicts() == untouched
    before.follow(trial, "mover", place, added=leaves)
    assert before.verdicts(trial) == untouched
    assert before.verdicts(rows=[3, 1]) == [untouched[3], untouched[1]]


def test_a_trial_counts_pods_that_are_being_deleted():
    gone = {"deletionTimestamp": "2026-01-01T00:00:00Z"}
    manifests = [
        *NODES,
        pod("web", node="n2", labels={"app": "web"}),
        pod("going", labels={"app": "web"}, metadata=gone),
        pod("p", labels={"app": "web"}, spec=spread(constraint(skew=2))),
    ]
    asked = PluginRun("PodTopologySpread", manifests).pre_filter()
    assert asked.verdicts()[2] == "Success"
    trial = asked.state.clone()
    asked.follow(trial, "going", "n2", added=True)
    assert asked.verdicts(trial)[2] == "Unschedulable"


def test_a_trial_does_not_count_pods_of_other_namespaces():
    manifests = [
        *NODES,
        pod("web", "blue", labels={"app": "web"}),
        pod("p", labels={"app": "web"}, spec=spread(constraint())),
    ]
    asked = PluginRun("PodTopologySpread", manifests).pre_filter()
    trial = asked.state.clone()
    asked.follow(trial, "web", "n2", added=True)
    asked.follow(trial, "web", "n2", added=True)
    assert asked.verdicts(trial) == ["Success"] * 4


def test_a_cycle_looks_at_no_pods():
    constraints = constraint(), constraint(when="ScheduleAnyway")
    p = pod("p", labels={"app": "web"}, spec=spread(*constraints))
    asked = PluginRun(
        "PodTopologySpread", [*NODES, pod("web", node="n2", labels={"app": "web"}), p]
    )
    asked.run.snapshot.pods = Forbidden()
    assert asked.pre_filter().verdicts() == ["Success", "Success", "Unschedulable", "Success"]
    assert asked.made.pre_score(asked.state, asked.pod, asked.nodes).is_success
    raw = asked.made.score_nodes(asked.state, asked.pod, asked.nodes)
    assert raw.tolist() == [0, 0, 2, 0]
    found = asked.made.normalize_scores(asked.state, asked.pod, asked.nodes, raw)
    assert found.tolist() == [100, 100, 0, 100]


def test_without_prefilter_the_plugin_says_what_is_missing():
    asked = PluginRun("PodTopologySpread", [*NODES, pod("p")])
    status = asked.made.remove_pod(
        asked.state, asked.pod, asked.pod, NodeInfo(asked.run.snapshot, 0)
    )
    assert status.message == 'reading "PreFilterPodTopologySpread" from cycleState: not found'


@given(
    count=st.integers(1, 12),
    skew=st.integers(1, 3),
    zones=st.lists(st.sampled_from("abc"), min_size=1, max_size=5),
)
def test_zones_never_differ_by_more_than_max_skew(count, skew, zones):
    nodes = [node(f"n{i}", labels={"zone": zone}) for i, zone in enumerate(zones)]
    looks = {"labels": {"app": "web"}, "spec": spread(constraint(skew=skew))}
    run = simulate(cluster(*nodes, *(pod(f"p{i:02}", **looks) for i in range(count))))
    placed = dict.fromkeys(zones, 0)
    for name in run.placements.values():
        placed[zones[int(name[1:])]] += 1
    assert not run.pending
    assert max(placed.values()) - min(placed.values()) <= skew


@pytest.mark.parametrize(("plugin", "case"), cases(__file__))
def test_case(plugin, case):
    check(plugin, case)
