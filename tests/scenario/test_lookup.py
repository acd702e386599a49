"""Pods by name or by selector."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ksched_cli.scenario.arguments import choose_pods, find_pods, read_selector
from ksched_cli.scenario.change import Change, ChangeError
from ksched_cli.scenario.nodes import Cordon, NodeChoice
from ksched_cli.testing import cluster, pod

CHANGE: Change = Cordon("the line", NodeChoice(()))
STATE = cluster(pod("a"), pod("b"), pod("b", "far", labels={"app": "b"}))
LABELS = st.dictionaries(st.sampled_from(["a", "b"]), st.sampled_from(["", "x", "y"]))


@pytest.mark.parametrize(
    ("name", "namespace", "key"),
    [
        ("a", "", "default/a"),
        ("pod/a", "", "default/a"),
        ("po/a", "", "default/a"),
        ("far/b", "", "far/b"),
        ("b", "default", "default/b"),
        ("far/b", "default", "far/b"),
    ],
)
def test_a_pod_is_named_with_its_kind_and_namespace_or_without(
    name: str, namespace: str, key: str
) -> None:
    (each,) = find_pods(CHANGE, STATE, [name], namespace)
    assert each.key == key


@pytest.mark.parametrize(
    ("name", "namespace", "message"),
    [
        ("c", "", 'no pod "c" in the state (2 pods)'),
        ("a", "far", 'no pod "a" in namespace far; there is default/a'),
        ("b", "other", 'no pod "b" in namespace other; there are default/b, far/b'),
        ("b", "", 'several pods are named "b": default/b, far/b; add -n NAMESPACE'),
    ],
)
def test_a_name_that_is_not_there_or_not_clear_is_an_error(
    name: str, namespace: str, message: str
) -> None:
    with pytest.raises(ChangeError) as error:
        find_pods(CHANGE, STATE, [name], namespace)
    assert message in str(error.value)


def test_a_selector_matches_in_one_namespace_or_in_all() -> None:
    assert len(choose_pods(CHANGE, STATE, (), "", "")) == 3
    assert [p.key for p in choose_pods(CHANGE, STATE, (), "", "far")] == ["far/b"]
    assert [p.key for p in choose_pods(CHANGE, STATE, (), "app=b", "")] == ["far/b"]


@given(LABELS)
def test_selectors_mean_what_they_mean_to_kubectl(labels: dict[str, str]) -> None:
    a, b = labels.get("a"), labels.get("b")
    expected = {
        "a=x": a == "x",
        "a==x": a == "x",
        "a!=x": a != "x",
        "a in (x, y)": a in ("x", "y"),
        "a notin (x,y),b": a not in ("x", "y") and b is not None,
        "a": a is not None,
        "!a , b = y": a is None and b == "y",
        "a=": a == "",
    }
    for text, matches in expected.items():
        assert read_selector("", text).matches(labels) == matches, text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a near b", '"a near b" is not a selector; expected KEY=VALUE'),
        ("a in b", '"a in b" is not a selector'),
    ],
)
def test_what_is_no_selector_is_an_error(text: str, message: str) -> None:
    with pytest.raises(ChangeError) as error:
        read_selector("the line", text)
    assert message in str(error.value)
