"""Selectors and tolerations match, and fail to parse, as upstream's."""

from __future__ import annotations

import pytest

from ksched_cli.cluster.objects import (
    LabelSelector,
    NodeSelector,
    PreferredSchedulingTerm,
    Taint,
    Toleration,
)
from ksched_cli.cluster.selectors import (
    EVERYTHING,
    NOTHING,
    Requirement,
    SelectorError,
    label_selector,
    node_terms,
    preferred_terms,
    required_node_affinity,
    tolerates,
)
from tests.cluster.build import pod, record

LABELS = {"zone": "a", "cores": "16", "size": "big"}


def expression(key: str, operator: str, *values: str) -> dict[str, object]:
    return {"key": key, "operator": operator, "values": list(values)}


@pytest.mark.parametrize(
    ("operator", "value", "values", "matches"),
    [
        ("In", "a", ["a", "b"], True),
        ("In", "c", ["a", "b"], False),
        ("In", None, ["a"], False),
        ("NotIn", "a", ["a"], False),
        ("NotIn", "b", ["a"], True),
        ("NotIn", None, ["a"], True),
        ("Exists", "", [], True),
        ("Exists", None, [], False),
        ("DoesNotExist", None, [], True),
        ("DoesNotExist", "a", [], False),
        ("Gt", "16", ["8"], True),
        ("Gt", "8", ["8"], False),
        ("Gt", "+9", ["8"], True),
        ("Gt", "ten", ["8"], False),
        ("Gt", "1_0", ["8"], False),
        ("Gt", "9223372036854775808", ["8"], False),
        ("Gt", None, ["8"], False),
        ("Lt", "-3", ["0"], True),
        ("Lt", "0", ["0"], False),
    ],
)
def test_an_operator_decides_on_the_value_under_its_key(
    operator: str, value: str | None, values: list[str], matches: bool
) -> None:
    labels = {} if value is None else {"key": value}
    assert Requirement("key", operator, tuple(values)).matches(labels) is matches


def test_an_absent_selector_matches_nothing_and_an_empty_one_everything() -> None:
    assert label_selector(None) == NOTHING
    assert not NOTHING.matches({})
    assert label_selector(LabelSelector()) == EVERYTHING
    assert EVERYTHING.matches({})


def test_labels_and_expressions_must_all_match() -> None:
    selector = label_selector(
        record(
            LabelSelector,
            matchLabels={"zone": "a"},
            matchExpressions=[expression("size", "In", "big", "huge")],
        )
    )
    assert selector.matches(LABELS)
    assert not selector.matches({**LABELS, "zone": "b"})
    assert not selector.matches({"zone": "a"})


def test_selectors_that_say_the_same_are_equal_and_hash_alike() -> None:
    one = label_selector(record(LabelSelector, matchLabels={"a": "1", "b": "2"}))
    other = label_selector(record(LabelSelector, matchLabels={"b": "2", "a": "1"}))
    assert one == other
    assert hash(one) == hash(other)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (expression("a", "Gt", "1"), '"Gt" is not a valid label selector operator'),
        (
            expression("a", "In"),
            "values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty",
        ),
        (
            expression("a", "Exists", "x"),
            'values: Invalid value: ["x"]: values set must be empty for exists and does not exist',
        ),
    ],
)
def test_a_label_selector_that_cannot_be_parsed_says_why_as_upstream(
    wrong: dict[str, object], says: str
) -> None:
    with pytest.raises(SelectorError) as caught:
        label_selector(record(LabelSelector, matchExpressions=[wrong]))
    assert str(caught.value) == says


def terms(*found: dict[str, object]) -> NodeSelector:
    return record(NodeSelector, nodeSelectorTerms=list(found))


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
    wanted = terms({"matchExpressions": [expression("size", "Exists")]})
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
    assert required.affinity == node_terms(wanted)
    assert required.matches("n", LABELS)
    assert not required.matches("n", {"zone": "a"})
    assert not required.matches("n", {"size": "big"})


def test_a_pod_without_demands_takes_every_node() -> None:
    assert required_node_affinity(pod().spec).matches("n", {})


def test_preferences_without_weight_or_conditions_are_left_out() -> None:
    found = preferred_terms(
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
    assert [preferred.weight for preferred in found] == [7]


def test_a_preference_that_cannot_be_parsed_is_an_error_with_its_place() -> None:
    wrong = record(
        PreferredSchedulingTerm,
        weight=1,
        preference={"matchExpressions": [expression("zone", "In")]},
    )
    with pytest.raises(SelectorError, match=r"^\[0\]\.matchExpressions\[0\]\.values: Invalid"):
        preferred_terms([wrong])


@pytest.mark.parametrize(
    ("toleration", "tolerated"),
    [
        ({"key": "k", "value": "v", "effect": "NoSchedule"}, True),
        ({"key": "k", "operator": "Equal", "value": "v"}, True),
        ({"key": "k", "operator": "Equal", "value": "w"}, False),
        ({"key": "k", "operator": "Exists"}, True),
        ({"operator": "Exists"}, True),
        ({"key": "l", "operator": "Exists"}, False),
        ({"key": "k", "operator": "Exists", "effect": "NoExecute"}, False),
        ({"key": "k", "operator": "Near", "value": "v"}, False),
        ({}, False),
    ],
)
def test_a_toleration_tolerates(toleration: dict[str, str], tolerated: bool) -> None:
    taint = record(Taint, key="k", value="v", effect="NoSchedule")
    assert tolerates(record(Toleration, **toleration), taint) is tolerated
