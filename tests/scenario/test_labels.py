"""label nodes|pods."""

from typing import Any

import msgspec
import pytest

from ksched_cli.cluster.objects import Node, Pod
from ksched_cli.scenario.change import ChangeError
from ksched_cli.testing import Manifest, cluster, node, pod
from tests.scenario.build import changed


def in_namespace(name: str, namespace: str, **fields: Any) -> Manifest:
    manifest = pod(name, **fields)
    manifest["metadata"]["namespace"] = namespace
    return manifest


STATE = cluster(
    node("n1", labels={"zone": "a"}),
    node("n2", labels={"zone": "b"}),
    in_namespace("p", "x", labels={"app": "p"}),
    in_namespace("p", "y", labels={"app": "p"}),
    pod("q", labels={"app": "q"}),
)


@pytest.mark.parametrize(
    ("line", "labelled", "did"),
    [
        ("label nodes n1 k=v", ["n1"], ["n1: labelled k=v"]),
        ("label node/n2 k=v", ["n2"], ["n2: labelled k=v"]),
        ("label no -l zone=b k=v --overwrite", ["n2"], ["n2: labelled k=v"]),
        ("label nodes --all k=v", ["n1", "n2"], ["n1: labelled k=v", "n2: labelled k=v"]),
        ("label pod q k=v", ["default/q"], ["default/q: labelled k=v"]),
        ("label pods p k=v -n y", ["y/p"], ["y/p: labelled k=v"]),
        ("label pods x/p k=v", ["x/p"], ["x/p: labelled k=v"]),
        ("label pods -l app in (p),!b k=v", None, None),
        ("label pods -l 'app in (p),!b' k=v -nx", ["x/p"], ["x/p: labelled k=v"]),
        (
            "label pods q app=z k=v --overwrite",
            ["default/q"],
            ["default/q: labelled app=z (was q)"],
        ),
        ("label pods q app- k=v", ["default/q"], ["default/q: labelled k=v"]),
    ],
)
def test_labels_are_set_on_what_is_named_or_selected(
    line: str, labelled: list[str] | None, did: list[str]
) -> None:
    if labelled is None:
        with pytest.raises(ChangeError):
            changed(STATE, line)
        return
    state, effects = changed(STATE, line)
    objects: tuple[Node | Pod, ...] = (*state.nodes, *state.pods)
    assert [o.key for o in objects if o.metadata.labels.get("k") == "v"] == labelled
    assert effects[: len(did)] == did
    for obj in objects:
        assert (
            msgspec.json.decode(bytes(obj.raw))["metadata"].get("labels", {}) == obj.metadata.labels
        )


def test_a_label_is_removed_and_one_that_is_not_there_is_said() -> None:
    state, did = changed(STATE, "label nodes n1 zone- other-")
    assert did == ["n1: label zone removed (was a)", "n1: has no label other"]
    assert state.nodes[0].metadata.labels == {}
    assert state.nodes[1] is STATE.nodes[1]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("label pods p k=v", 'several pods are named "p": x/p, y/p; add -n NAMESPACE'),
        ("label pods r k=v", 'no pod "r" in the state (2 pods)'),
        ("label pods q", "expected a label"),
        ("label pods k=v", "expected the name of a pod, -l SELECTOR or --all"),
        ("label services x k=v", 'expected "label nodes NAME... KEY=VALUE", or pods'),
        ("label pods -l 'a b' k=v", '"a b" is not a selector'),
    ],
)
def test_what_cannot_be_labelled_is_an_error(line: str, message: str) -> None:
    with pytest.raises(ChangeError) as error:
        changed(STATE, line)
    assert message in str(error.value)
