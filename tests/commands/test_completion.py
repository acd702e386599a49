"""Completion of pods and nodes from the state; nothing where it cannot be read."""

from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
import typer

from ksched_cli.commands.completion import complete_node, complete_pod
from ksched_cli.testing import node, pod
from tests.commands.runners import WriteState


def context(path: Path) -> typer.Context:
    """The part of it that completion reads."""
    return cast(typer.Context, SimpleNamespace(params={"state": [str(path)]}))


def test_names_of_pods_and_nodes_are_completed(write_state: WriteState) -> None:
    path = write_state(node("apple"), node("birch"), pod("web-1"), pod("web-2"), pod("db"))
    assert complete_pod(context(path), "we") == ["web-1", "web-2"]
    assert complete_pod(context(path), "default/d") == ["default/db"]
    assert complete_node(context(path), "b") == ["birch"]


def test_a_yaml_state_is_read_too(tmp_path: Path) -> None:
    path = tmp_path / "state.yaml"
    path.write_text("kind: Node\nmetadata: {name: apple}\n---\nkind: Pod\nmetadata: {name: p}\n")
    assert complete_node(context(path), "") == ["apple"]
    assert complete_pod(context(path), "") == ["p"]


@pytest.mark.parametrize("text", [None, "{", '{"items": 3}', "[]"])
def test_a_state_that_cannot_be_read_completes_nothing(text: str | None, tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    if text is not None:
        path.write_text(text)
    assert complete_pod(context(path), "") == []


def test_a_pod_is_completed_as_it_was_begun_and_in_the_namespace_of_the_line(
    write_state: WriteState,
) -> None:
    path = write_state(pod("web-1"), pod("web-2", "shop"))
    assert complete_pod(context(path), "pod/w") == ["pod/web-1", "pod/web-2"]
    in_shop = context(path)
    in_shop.params["namespace"] = "shop"
    assert complete_pod(in_shop, "w") == ["web-2"]
