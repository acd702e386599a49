"""What cases alone do not show of InterPodAffinity: trials, what it looks at, what it explains."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ksched_cli.framework.cycle_state import CycleState
from ksched_cli.framework.nodes import NodeInfo
from ksched_cli.testing import cluster, pod, scores
from plugin_cases import cases, check
from tests.plugins.inter_pod_affinity.manifests import (
    FAR_FROM_WEB,
    LOOK,
    NAMES,
    NEAR_WEB,
    NODES,
    PREFERRED,
    REQUIRED,
    affinity,
)
from trials import Forbidden, PluginRun, moved


@given(
    running=st.lists(LOOK, max_size=5),
    mover=LOOK,
    asking=LOOK,
    place=st.sampled_from(NAMES),
    leaves=st.booleans(),
)
def test_following_a_pod_gives_what_asking_anew_gives(running, mover, asking, place, leaves):
    pods = [pod(f"b{i}", node=NAMES[i % 4], **look) for i, look in enumerate(running)]
    # The lone pod's term keeps the plugin from leaving itself out of either question.
    lone = affinity(unwanted=[{"topologyKey": "zone", "labelSelector": {}, "namespaces": ["blue"]}])
    asking = asking if any(map(_required, asking["affinity"].values())) else {"affinity": lone}
    manifests = [*NODES, *pods, pod("mover", node=place, **mover), pod("p", **asking)]
    there = PluginRun("InterPodAffinity", manifests).pre_filter()
    gone = PluginRun("InterPodAffinity", moved(manifests, "mover", "")).pre_filter()
    before, after = (there, gone) if leaves else (gone, there)
    untouched = before.verdicts()
    trial = before.state.clone()
    before.follow(trial, "mover", place, added=not leaves)
    assert before.verdicts(trial) == after.verdicts()
    assert before.verdicts() == untouched
    before.follow(trial, "mover", place, added=leaves)
    assert before.verdicts(trial) == untouched
    assert before.verdicts(rows=[3, 1]) == [untouched[3], untouched[1]]


def _required(rules):
    return rules[REQUIRED]


def test_the_first_of_a_group_is_no_longer_first_once_another_is_promised_a_place():
    manifests = [*NODES, pod("p", labels={"app": "web"}, affinity=NEAR_WEB), pod("other")]
    manifests += [pod("web", labels={"app": "web"})]
    asked = PluginRun("InterPodAffinity", manifests).pre_filter()
    assert asked.verdicts()[:3] == ["Success"] * 3
    trial = asked.state.clone()
    asked.follow(trial, "web", "n2", added=True)
    assert asked.verdicts(trial)[:3] == ["UnschedulableAndUnresolvable"] * 2 + ["Success"]


def test_a_cycle_looks_at_no_pods():
    liked = {"weight": 3, "podAffinityTerm": NEAR_WEB["podAffinity"][REQUIRED][0]}
    asking = {
        "podAffinity": {PREFERRED: [liked]},
        "podAntiAffinity": FAR_FROM_WEB["podAntiAffinity"],
    }
    manifests = [
        *NODES,
        pod("web", node="n0", labels={"app": "web"}, affinity=FAR_FROM_WEB),
        pod("p", affinity=asking),
    ]
    asked = PluginRun("InterPodAffinity", manifests)
    asked.run.snapshot.pods = Forbidden()
    assert asked.pre_filter().verdicts() == ["Unschedulable"] * 2 + ["Success"] * 2
    assert asked.made.pre_score(asked.state, asked.pod, asked.nodes).is_success
    raw = asked.made.score_nodes(asked.state, asked.pod, asked.nodes)
    assert raw.tolist() == [3, 3, 0, 0]
    assert asked.made.normalize_scores(asked.state, asked.pod, asked.nodes, raw)[0] == 100


def test_without_prefilter_the_plugin_says_what_is_missing():
    asked = PluginRun("InterPodAffinity", [*NODES, pod("p")])
    status = asked.made.add_pod(asked.state, asked.pod, asked.pod, NodeInfo(asked.run.snapshot, 0))
    said = 'error reading "PreFilterInterPodAffinity" from cycleState: not found'
    assert status.message == said
    assert asked.state.data == CycleState().data


def test_profiles_weigh_the_same_counters_each_in_its_own_way():
    running = pod("b", node="n0", affinity=NEAR_WEB)
    state = cluster(*NODES, running, pod("p", labels={"app": "web"}))
    for weight in (2, 50):
        args = {"hardPodAffinityWeight": weight}
        found = scores("InterPodAffinity", state, args=args, normalized=False)
        assert found == {"n0": weight, "n1": weight, "n2": 0, "n3": 0}


@pytest.mark.parametrize(("plugin", "case"), cases(__file__))
def test_case(plugin, case):
    check(plugin, case)
