"""What cases alone do not show of InterPodAffinity: trials, what it looks at, what it explains."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ksched_cli.framework.cycle_state import CycleState
from ksched_cli.framework.nodes import NodeInfo
from ksched_cli.plugins.inter_pod_affinity import InterPodAffinity
from ksched_cli.testing import cluster, pod, scores
from tests.plugin_cases import cases, check
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
from tests.trials import PluginRun, check_following


@given(
    running=st.lists(LOOK, max_size=5),
    mover=LOOK,
    asking=LOOK,
    place=st.sampled_from(NAMES),
    leaves=st.booleans(),
)
def test_following_a_pod_gives_what_asking_anew_gives(
    running: list[dict[str, Any]],
    mover: dict[str, Any],
    asking: dict[str, Any],
    place: str,
    leaves: bool,
) -> None:
    pods = [pod(f"b{i}", node=NAMES[i % 4], **look) for i, look in enumerate(running)]
    # The lone pod's term keeps the plugin from leaving itself out of either question.
    lone = affinity(
        anti_affine=[{"topologyKey": "zone", "labelSelector": {}, "namespaces": ["blue"]}]
    )
    asking = asking if any(map(_required, asking["affinity"].values())) else {"affinity": lone}
    manifests = [*NODES, *pods, pod("mover", node=place, **mover), pod("p", **asking)]
    check_following(InterPodAffinity, manifests, place, leaves=leaves)


def _required(rules: dict[str, Any]) -> list[dict[str, Any]]:
    return rules[REQUIRED]


def test_the_first_of_a_group_is_no_longer_first_once_another_is_nominated() -> None:
    manifests = [*NODES, pod("p", labels={"app": "web"}, affinity=NEAR_WEB), pod("other")]
    manifests += [pod("web", labels={"app": "web"})]
    plugin_run = PluginRun(InterPodAffinity, manifests).pre_filter()
    assert plugin_run.verdicts()[:3] == ["Success"] * 3
    trial = plugin_run.state.clone()
    plugin_run.follow(trial, "web", "n2", added=True)
    assert plugin_run.verdicts(trial)[:3] == ["UnschedulableAndUnresolvable"] * 2 + ["Success"]


def test_a_cycle_looks_at_no_pods() -> None:
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
    plugin_run = PluginRun(InterPodAffinity, manifests)
    plugin_run.forbid_pods()
    assert plugin_run.pre_filter().verdicts() == ["Unschedulable"] * 2 + ["Success"] * 2
    assert plugin_run.plugin.pre_score(
        plugin_run.state, plugin_run.pod, plugin_run.nodes
    ).is_success
    raw = plugin_run.plugin.score_nodes(plugin_run.state, plugin_run.pod, plugin_run.nodes)
    assert raw.tolist() == [3, 3, 0, 0]
    assert (
        plugin_run.plugin.normalize_scores(plugin_run.state, plugin_run.pod, plugin_run.nodes, raw)[
            0
        ]
        == 100
    )


def test_without_prefilter_the_plugin_says_what_is_missing() -> None:
    plugin_run = PluginRun(InterPodAffinity, [*NODES, pod("p")])
    status = plugin_run.plugin.add_pod(
        plugin_run.state, plugin_run.pod, plugin_run.pod, NodeInfo(plugin_run.run.snapshot, 0)
    )
    message = 'error reading "PreFilterInterPodAffinity" from cycleState: not found'
    assert status.message == message
    assert plugin_run.state.data == CycleState().data


def test_profiles_weigh_the_same_counters_each_in_its_own_way() -> None:
    running = pod("b", node="n0", affinity=NEAR_WEB)
    state = cluster(*NODES, running, pod("p", labels={"app": "web"}))
    for weight in (2, 50):
        args = {"hardPodAffinityWeight": weight}
        raw = scores("InterPodAffinity", state, args=args, normalized=False)
        assert raw == {"n0": weight, "n1": weight, "n2": 0, "n3": 0}


@pytest.mark.parametrize(("plugin", "case"), cases(__file__))
def test_case(plugin: str, case: dict[str, Any]) -> None:
    check(plugin, case)
