"""Which pods a selection is about, and how it reads."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ksched_cli.cluster.topology.pod_index import (
    Clause,
    Namespaces,
    PodSelection,
    combined,
    selector_text,
)
from ksched_cli.kube.selectors import EVERYTHING, NOTHING, Requirement, Selector, selector_of_map

KEYS, VALUES = st.sampled_from(("app", "tier")), st.sampled_from("xyz")
LABELS = st.dictionaries(KEYS, VALUES)
REQUIREMENTS = st.one_of(
    st.builds(
        Requirement,
        KEYS,
        st.sampled_from(("In", "NotIn")),
        st.lists(VALUES, min_size=1, max_size=2).map(tuple),
    ),
    st.builds(Requirement, KEYS, st.sampled_from(("Exists", "DoesNotExist"))),
)
SELECTORS = st.lists(REQUIREMENTS, max_size=3).map(
    lambda requirements: Selector(tuple(requirements))
)
ANYWHERE = Namespaces(frozenset(), others=True)


@given(SELECTORS, SELECTORS, LABELS)
def test_combined_selectors_match_what_both_do(
    first: Selector, second: Selector, labels: dict[str, str]
) -> None:
    both = combined(first, second)
    assert both.matches(labels) == (first.matches(labels) and second.matches(labels))


@given(st.lists(st.one_of(SELECTORS, st.just(NOTHING)), min_size=1, max_size=3), LABELS)
def test_a_pod_that_is_selected_has_an_anchor(
    selectors: list[Selector], labels: dict[str, str]
) -> None:
    selection = PodSelection(tuple(Clause(ANYWHERE, selector) for selector in selectors))
    if selection.matches("default", labels) and selection.anchors is not None:
        assert any(labels.get(key) == value for key, value in selection.anchors)


def test_the_anchors_are_those_of_the_requirement_with_the_fewest_values() -> None:
    wide, narrow = Requirement("a", "In", ("1", "2", "3")), Requirement("b", "In", ("4", "4", "5"))
    selection = PodSelection((Clause(ANYWHERE, Selector((wide,))),))
    assert selection.anchors == (("a", "1"), ("a", "2"), ("a", "3"))
    selection = PodSelection((Clause(ANYWHERE, Selector((narrow,))),))
    assert selection.anchors == (("b", "4"), ("b", "5"))
    assert PodSelection((Clause(ANYWHERE, NOTHING),)).anchors == ()
    assert PodSelection((Clause(ANYWHERE, EVERYTHING),)).anchors is None


def test_every_clause_must_match() -> None:
    web = Clause(Namespaces(frozenset({"web"})), EVERYTHING)
    labelled = Clause(ANYWHERE, selector_of_map({"a": "1"}))
    selection = PodSelection((web, labelled))
    assert selection.matches("web", {"a": "1"})
    assert not selection.matches("web", {})
    assert not selection.matches("other", {"a": "1"})
    assert str(selection) == "any labels in namespace web and a=1 in any namespace"


@pytest.mark.parametrize(
    ("selector", "text"),
    [
        (EVERYTHING, "any labels"),
        (NOTHING, "nothing"),
        (selector_of_map({"b": "2", "a": "1"}), "a=1,b=2"),
        (combined(selector_of_map({"z": "1"}), selector_of_map({"a": "1"})), "a=1,z=1"),
        (Selector((Requirement("a", "In", ("1", "2")),)), "a in (1,2)"),
        (Selector((Requirement("a", "NotIn", ("1",)),)), "a notin (1)"),
        (Selector((Requirement("a", "Exists"), Requirement("b", "DoesNotExist"))), "a,!b"),
    ],
)
def test_selectors_read_as_kubectl_writes_them(selector: Selector, text: str) -> None:
    assert selector_text(selector) == text


@pytest.mark.parametrize(
    ("namespaces", "text"),
    [
        (Namespaces(frozenset({"blue"})), "namespace blue"),
        (Namespaces(frozenset({"b", "a"})), "namespaces a, b"),
        (Namespaces(frozenset()), "no namespace"),
        (Namespaces(frozenset(), others=True), "any namespace"),
        (Namespaces(frozenset({"blue"}), others=True), "any namespace but blue"),
    ],
)
def test_namespaces_read_as_people_say_them(namespaces: Namespaces, text: str) -> None:
    assert str(namespaces) == text
