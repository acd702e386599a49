"""TaintToleration against a plain loop, and its explanations."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given

from ksched_cli.cluster.objects.node import Taint
from ksched_cli.cluster.objects.pod import Toleration
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.state import ClusterState
from ksched_cli.framework.cluster_events import NODE, POD, Action, ClusterEvent
from ksched_cli.framework.cycle_state import CycleState
from ksched_cli.framework.nodes import Nodes
from ksched_cli.framework.status import PluginError
from ksched_cli.plugins.taint_toleration import TaintToleration, first_untolerated
from ksched_cli.testing import cluster, explanation, node, pod, scores, simulation, verdicts
from tests.clusters import states
from tests.narrowing import plugin_of
from tests.plugin_cases import cases, check
from tests.plugins.event_objects import decoded_node, pod_info


def tolerates(toleration: Toleration, taint: Taint) -> bool:
    if toleration.effect not in ("", taint.effect) or toleration.key not in ("", taint.key):
        return False
    return toleration.operator == "Exists" or toleration.value == taint.value


def missing(pod: PodInfo, taints: list[Taint]) -> list[Taint]:
    return [
        t
        for t in taints
        if not any(tolerates(toleration, t) for toleration in pod.spec.tolerations)
    ]


@given(states(max_pending=2))
def test_verdicts_and_scores_are_those_of_a_plain_loop(state: ClusterState) -> None:
    for info in simulation(state, kubernetes_version="1.34").pending():
        statuses = verdicts("TaintToleration", state, pod=info.key, kubernetes_version="1.34")
        raw = scores(
            "TaintToleration", state, pod=info.key, normalized=False, kubernetes_version="1.34"
        )
        for node_object in state.nodes:
            hard = [t for t in node_object.spec.taints if t.effect in ("NoSchedule", "NoExecute")]
            soft = [t for t in node_object.spec.taints if t.effect == "PreferNoSchedule"]
            expected = [
                f"node(s) had untolerated taint {{{t.key}: {t.value}}}"
                for t in missing(info, hard)[:1]
            ]
            assert list(statuses[node_object.name].reasons) == expected
            assert raw[node_object.name] == len(missing(info, soft))


def test_numbers_are_compared_where_the_gate_is_on() -> None:
    tolerations = [{"key": "risk", "operator": "Lt", "value": "5"}]
    pending = pod("p", spec={"tolerations": tolerations})
    state = cluster(node("a", taints=["risk=4:NoSchedule"]), pending)
    gate = "TaintTolerationComparisonOperators=true"
    for gates, is_placed in (("", False), (gate, True)):
        run = simulation(state, kubernetes_version="1.36", feature_gates=gates)
        assert (run.run().attempts[0].node == "a") is is_placed


def test_an_explanation_lists_every_taint_that_is_not_tolerated() -> None:
    taints = ["a=1:NoSchedule", "b:NoExecute", "c=3:NoSchedule"]
    answer = explanation(cluster(node("n", taints=taints), pod("p", tolerations=["c"])))
    (rejection,) = answer.nodes[0].rejections
    assert rejection.details == ("not tolerated: a=1:NoSchedule, b:NoExecute",)


def test_an_explanation_lists_the_soft_taints_behind_a_score() -> None:
    state = cluster(node("a", taints=["k=v:PreferNoSchedule"]), node("b"), pod("p"))
    by_name = {
        explained.node: explained.scores["TaintToleration"]
        for explained in explanation(state).nodes
    }
    assert by_name["a"].details == ("not tolerated: k=v:PreferNoSchedule",)
    assert by_name["b"].details == ()


@pytest.mark.parametrize(("plugin", "case"), cases(__file__))
def test_case(plugin: str, case: dict[str, Any]) -> None:
    check(plugin, case)


def test_a_node_whose_taints_a_pod_tolerates_now_may_let_it_fit() -> None:
    plugin = plugin_of(simulation(cluster(node("n"))), TaintToleration)
    registered = tuple(plugin.events_to_register())
    assert [event for event, _ in registered] == [
        ClusterEvent(NODE, Action.ADD | Action.UPDATE_NODE_TAINT),
        ClusterEvent(POD, Action.UPDATE_POD_TOLERATION),
    ]
    (_, after_node_change), (_, after_toleration_change) = registered
    assert after_node_change is not None
    assert after_toleration_change is not None
    tainted, free = decoded_node(taints=["k:NoSchedule"]), decoded_node()
    assert after_node_change(pod_info(), tainted, free)
    assert after_node_change(pod_info(), None, free)
    assert not after_node_change(pod_info(), free, free)
    assert not after_node_change(pod_info(), None, tainted)
    assert after_toleration_change(pod_info(), pod_info(), pod_info())
    for other in (pod_info("other"), pod_info("q")):
        assert not after_toleration_change(pod_info(), other, other)


def test_numbers_are_not_compared_unless_asked_for() -> None:
    taint = Taint("risk", "4", "NoSchedule")
    toleration = Toleration("risk", "Lt", "5")
    assert first_untolerated((taint,), (toleration,)) is taint
    assert first_untolerated((taint,), (toleration,), True) is None


def test_a_score_without_pre_score_is_an_error_that_names_the_state() -> None:
    run = simulation(cluster(node("n"), pod("p")))
    plugin = plugin_of(run, TaintToleration)
    (info,) = run.pending()
    with pytest.raises(PluginError, match=r'^failed to read "PreScoreTaintToleration"'):
        plugin.score_nodes(CycleState(), info, Nodes(run.snapshot, np.arange(1)))
