"""Label selectors match, and fail to parse, as upstream's."""

from __future__ import annotations

import pytest

from ksched_cli.cluster.objects import LabelSelector
from ksched_cli.kube.selectors import (
    EVERYTHING,
    NOTHING,
    Requirement,
    SelectorError,
    label_selector,
)
from tests.cluster.build import record

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
        ("Gt", "9" * 5000, ["8"], False),
        ("Gt", "0" * 5000 + "9", ["8"], True),
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
    first = label_selector(record(LabelSelector, matchLabels={"a": "1", "b": "2"}))
    second = label_selector(record(LabelSelector, matchLabels={"b": "2", "a": "1"}))
    assert first == second
    assert hash(first) == hash(second)


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
