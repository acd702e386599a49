"""Node selectors and preferences match, and fail to parse, as upstream's."""

from __future__ import annotations

import pytest

from ksched_cli.cluster.node_affinity import node_terms, preferred_terms, required_node_affinity
from ksched_cli.cluster.objects import NodeSelector, PreferredSchedulingTerm
from ksched_cli.kube.selectors import SelectorError
from tests.cluster.build import pod, record

LABELS = {"zone": "a", "cores": "16", "size": "big"}


def expression(key: str, operator: str, *values: str) -> dict[str, object]:
    return {"key": key, "operator": operator, "values": list(values)}


def terms(*given: dict[str, object]) -> NodeSelector:
    return record(NodeSelector, nodeSelectorTerms=list(given))


def test_one_matching_term_is_enough() -> None:
    selector = node_terms(
        terms(
            {"matchExpressions": [expression("zone", "In", "b")]},
            {"matchExpressions": [expression("cores", "Gt", "8")]},
        )
    )
    assert selector.matches("n1", LABELS)
    assert not selector.matches("n1", {"zone": "a"})


def test_no_terms_and_empty_terms_match_no_node() -> None:
    assert not node_terms(terms()).matches("n1", LABELS)
    assert not node_terms(terms({})).matches("n1", LABELS)


def test_fields_select_by_name_together_with_labels() -> None:
    selector = node_terms(
        terms(
            {
                "matchFields": [expression("metadata.name", "In", "n1")],
                "matchExpressions": [expression("zone", "Exists")],
            }
        )
    )
    assert selector.matches("n1", LABELS)
    assert not selector.matches("n2", LABELS)
    assert not selector.matches("n1", {})


def test_a_field_must_not_have_the_excluded_value() -> None:
    selector = node_terms(terms({"matchFields": [expression("metadata.name", "NotIn", "n1")]}))
    assert not selector.matches("n1", {})
    assert selector.matches("n2", {})


def test_a_term_that_cannot_be_parsed_only_matters_where_no_other_matches() -> None:
    selector = node_terms(
        terms(
            {"matchExpressions": [expression("cores", "Gt", "many")]},
            {"matchExpressions": [expression("zone", "In", "a")]},
        )
    )
    assert selector.matches("n1", {"zone": "a"})
    with pytest.raises(SelectorError) as caught:
        selector.matches("n1", {"zone": "b"})
    assert str(caught.value) == (
        'nodeSelectorTerms[0].matchExpressions[0].values[0]: Invalid value: "many": '
        "for 'Gt', 'Lt' operators, the value must be an integer"
    )


def test_all_parse_errors_are_listed() -> None:
    selector = node_terms(
        terms(
            {"matchExpressions": [expression("a", "Near", "b")]},
            {"matchFields": [expression("metadata.name", "In", "a", "b")]},
        )
    )
    assert selector.error == (
        '[nodeSelectorTerms[0].matchExpressions[0].operator: Unsupported value: "Near": supported '
        'values: "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", '
        'nodeSelectorTerms[1].matchFields[0].values: Invalid value: ["a","b"]: '
        "must have one element]"
    )


def test_a_pod_requires_its_node_selector_and_its_affinity() -> None:
    affinity = terms({"matchExpressions": [expression("size", "Exists")]})
    spec = pod(
        nodeSelector={"zone": "a"},
        affinity={
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {
                    "nodeSelectorTerms": [{"matchExpressions": [expression("size", "Exists")]}]
                }
            }
        },
    ).spec
    required = required_node_affinity(spec)
    assert required.affinity == node_terms(affinity)
    assert required.matches("n", LABELS)
    assert not required.matches("n", {"zone": "a"})
    assert not required.matches("n", {"size": "big"})


def test_a_pod_without_demands_takes_every_node() -> None:
    assert required_node_affinity(pod().spec).matches("n", {})


def test_preferences_without_weight_or_conditions_are_left_out() -> None:
    effective = preferred_terms(
        [
            record(PreferredSchedulingTerm, weight=0, preference={"matchExpressions": [{}]}),
            record(PreferredSchedulingTerm, weight=5),
            record(
                PreferredSchedulingTerm,
                weight=7,
                preference={"matchExpressions": [expression("zone", "In", "a")]},
            ),
        ]
    )
    assert [preferred.weight for preferred in effective] == [7]


def test_a_preference_that_cannot_be_parsed_is_an_error_with_its_place() -> None:
    wrong = record(
        PreferredSchedulingTerm,
        weight=1,
        preference={"matchExpressions": [expression("zone", "In")]},
    )
    with pytest.raises(SelectorError, match=r"^\[0\]\.matchExpressions\[0\]\.values: Invalid"):
        preferred_terms([wrong])
