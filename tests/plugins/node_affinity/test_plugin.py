"""NodeAffinity against a plain loop, and its explanations."""

from typing import Any

import pytest
from hypothesis import given

from ksched_cli.cluster.objects.base import NodeSelectorRequirement, NodeSelectorTerm
from ksched_cli.cluster.objects.node import Node
from ksched_cli.cluster.state import ClusterState
from ksched_cli.plugins.node_affinity import NodeAffinity
from ksched_cli.testing import cluster, explanation, node, pod, scores, simulation, verdicts
from tests.clusters import states
from tests.narrowing import plugin_of
from tests.plugin_cases import cases, check
from tests.plugins.event_objects import decoded_node, pod_info

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def meets(labels: dict[str, str], requirement: NodeSelectorRequirement) -> bool:
    value = labels.get(requirement.key)
    if requirement.operator in ("Gt", "Lt"):
        if value is None or not value.isdigit():
            return False
        have, bound = int(value), int(requirement.values[0])
        return have > bound if requirement.operator == "Gt" else have < bound
    return {
        "In": value is not None and value in requirement.values,
        "NotIn": value not in requirement.values,
        "Exists": value is not None,
        "DoesNotExist": value is None,
    }[requirement.operator]


def matches(node_object: Node, term: NodeSelectorTerm) -> bool:
    return all(
        meets(node_object.metadata.labels, requirement) for requirement in term.match_expressions
    )


@given(states(max_pending=2))
def test_verdicts_and_scores_are_those_of_a_plain_loop(state: ClusterState) -> None:
    for info in simulation(state).pending():
        affinity = info.spec.affinity and info.spec.affinity.node_affinity
        if not affinity:
            continue
        required = affinity.required_during_scheduling_ignored_during_execution
        preferred = affinity.preferred_during_scheduling_ignored_during_execution
        statuses = verdicts("NodeAffinity", state, pod=info.key)
        raw = scores("NodeAffinity", state, pod=info.key, normalized=False)
        for node_object in state.nodes:
            terms = required.node_selector_terms if required else ()
            assert statuses[node_object.name].is_success == (
                required is None or any(matches(node_object, term) for term in terms)
            )
            if preferred:
                expected = sum(p.weight for p in preferred if matches(node_object, p.preference))
                assert raw[node_object.name] == expected


def test_an_explanation_says_what_is_wanted_and_what_is_there() -> None:
    expression = {"key": "disk", "operator": "In", "values": ["ssd", "nvme"]}
    terms = [{"matchExpressions": [expression]}, {"matchExpressions": [expression | {"key": "x"}]}]
    rules = {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": terms}}}
    state = cluster(
        node("n", labels={"disk": "hdd"}), pod("p", affinity=rules, node_selector={"zone": "a"})
    )
    (rejection,) = explanation(state).nodes[0].rejections
    assert rejection.details == (
        "it requires zone=a, the node has no zone",
        "it requires disk In ssd,nvme or x In ssd,nvme, the node has disk=hdd, no x",
    )


def test_an_explanation_does_not_dwell_on_what_matches() -> None:
    state = cluster(
        node("n", labels={"zone": "a"}), pod("p", node_selector={"zone": "a", "disk": "ssd"})
    )
    (rejection,) = explanation(state).nodes[0].rejections
    assert rejection.details == ("it requires disk=ssd, the node has no disk",)


@pytest.mark.parametrize(("plugin", "case"), cases(__file__))
def test_case(plugin: str, case: dict[str, Any]) -> None:
    check(plugin, case)


def test_a_node_that_matches_now_may_let_a_pod_fit() -> None:
    plugin = plugin_of(simulation(cluster(node("n"))), NodeAffinity)
    ((_, hint),) = plugin.events_to_register()
    assert hint is not None
    picky = pod_info(node_selector={"disk": "ssd"})
    fast, slow = decoded_node(labels={"disk": "ssd"}), decoded_node()
    assert hint(picky, None, fast)
    assert hint(picky, slow, fast)
    assert not hint(picky, fast, fast)
    assert not hint(picky, None, slow)
