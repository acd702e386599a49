"""Constraints that do nothing are findings of `explain`."""

from typing import Any

import pytest

from ksched_cli.testing import cluster, explanation, node, pod

ZONE = "topology.kubernetes.io/zone"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def findings(*objects: dict[str, Any], minor: str = "1.37") -> tuple[str, ...]:
    state = cluster(node("a", labels={ZONE: "z"}), *objects)
    return explanation(state, pod="p", kubernetes_version=minor).notes


def spreading(**constraint: Any) -> dict[str, Any]:
    fields = {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule"}
    constraints = [fields | constraint]
    return pod("p", labels={"app": "w"}, spec={"topologySpreadConstraints": constraints})


OVER = f"topologySpreadConstraints[0] over {ZONE} spreads nothing: "


@pytest.mark.parametrize(
    ("constraint", "why"),
    [
        ({}, "it has no labelSelector"),
        (
            {"labelSelector": {}},
            "its labelSelector is empty, and Kubernetes 1.37 then counts no pod",
        ),
        (
            {"labelSelector": {"matchLabels": {"app": "x"}}},
            "its labelSelector app=x matches no pod of namespace default, not even this one",
        ),
    ],
)
def test_spread_constraints_that_count_no_pod(constraint: dict[str, Any], why: str) -> None:
    assert findings(spreading(**constraint)) == (OVER + why,)


def test_spread_constraints_that_count_pods_are_no_finding() -> None:
    assert findings(spreading(labelSelector={"matchLabels": {"app": "w"}})) == ()
    other = pod("other", labels={"app": "x"})
    assert findings(spreading(labelSelector={"matchLabels": {"app": "x"}}), other) == ()
    # Since 1.38, an empty selector counts every pod.
    assert findings(spreading(labelSelector={}), minor="1.38") == ()


@pytest.mark.parametrize(
    ("term", "why"),
    [
        ({"topologyKey": ZONE}, "it has no labelSelector"),
        (
            {"topologyKey": "rack", "labelSelector": {}},
            "no node has the label rack, its topologyKey",
        ),
        (
            {
                "topologyKey": ZONE,
                "labelSelector": {
                    "matchLabels": {"app": "w"},
                    "matchExpressions": [{"key": "app", "operator": "DoesNotExist"}],
                },
            },
            "no value of app meets all of its requirements",
        ),
        ({"topologyKey": ZONE, "labelSelector": {"matchLabels": {"app": "w"}}}, ""),
    ],
)
def test_terms_of_affinity_that_nothing_can_match(term: dict[str, Any], why: str) -> None:
    answer = findings(pod("p", affinity={"podAntiAffinity": {REQUIRED: [term]}}))
    finding = f"podAntiAffinity, required term 0, can never match: {why}"
    assert answer == ((finding,) if why else ())


def test_a_term_of_node_affinity_that_no_node_can_match() -> None:
    expressions = [
        {"key": "pool", "operator": "In", "values": ["a"]},
        {"key": "pool", "operator": "NotIn", "values": ["a"]},
    ]
    terms = {"nodeSelectorTerms": [{"matchExpressions": expressions}]}
    answer = findings(pod("p", affinity={"nodeAffinity": {REQUIRED: terms}}))
    assert answer == (
        "nodeAffinity, required term 0, can never match: no value of pool meets all of its "
        "requirements",
    )
