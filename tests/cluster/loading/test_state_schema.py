"""The JSON Schema of cluster states, for editors: what ksched reads passes, what it cannot read
does not."""

from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from ksched_cli.kube.documents import load_documents
from ksched_cli.schemas.state import state_schema

ROOT = Path(__file__).parents[3]
SCHEMA = state_schema()
VALIDATOR = Draft202012Validator(SCHEMA)
EXAMPLES = sorted((ROOT / "examples").glob("*/cluster.yaml"))
CASES = sorted((ROOT / "tests/conformance/cases").iterdir())


def wrong(document: Any) -> set[str]:
    """Where a document is not as the schema has it."""
    paths: set[str] = set()
    for error in VALIDATOR.iter_errors(document):
        inner = [leaf for item in error.context or () for leaf in item.context or [item]]
        paths |= {item.json_path for item in inner or [error]} - {"$"}
    return paths


def node(**fields: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a"}, **fields}


def test_it_is_a_schema() -> None:
    Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.parent.name)
def test_the_states_of_examples_pass(path: Path) -> None:
    for document in load_documents(path.read_text(), str(path)):
        assert list(VALIDATOR.iter_errors(document)) == []


@pytest.mark.parametrize("family", CASES, ids=lambda path: path.name)
def test_states_that_a_real_scheduler_has_read_pass(family: Path) -> None:
    path = next(iter(sorted(family.glob("*/state.yaml"))), None)
    if path is None:
        pytest.skip("a family without states")
    for document in load_documents(path.read_text(), str(path)):
        assert list(VALIDATOR.iter_errors(document)) == []


@pytest.mark.parametrize(
    "document",
    [
        node(status=None, spec={"taints": None}, more={"a": 1}),
        node(status={"allocatable": {"cpu": 4, "memory": "8Gi", "pods": None}}),
        {"apiVersion": "v1", "kind": "List", "items": [node()]},
        {"apiVersion": "v1", "kind": "PodList", "items": [{"metadata": {"name": "p"}}]},
        [node(), {"apiVersion": "example.com/v1", "kind": "Widget", "spec": [1]}],
        {"apiVersion": "serving.knative.dev/v1", "kind": "Service", "spec": 1},
    ],
)
def test_it_allows_what_the_api_allows(document: Any) -> None:
    assert list(VALIDATOR.iter_errors(document)) == []


@pytest.mark.parametrize(
    ("document", "path"),
    [
        (node(spec={"taints": {"key": "a"}}), "$.spec.taints"),
        (node(spec={"unschedulable": "yes"}), "$.spec.unschedulable"),
        (node(status={"allocatable": {"cpu": ["4"]}}), "$.status.allocatable.cpu"),
        (
            {"apiVersion": "v1", "kind": "List", "items": [node(spec={"taints": 1})]},
            "$.items[0].spec.taints",
        ),
    ],
)
def test_what_cannot_be_read_does_not_pass(document: Any, path: str) -> None:
    assert path in wrong(document)


def test_an_object_without_kind_or_metadata_does_not_pass() -> None:
    for document in ({"apiVersion": "v1"}, {"apiVersion": "v1", "kind": "Node"}):
        assert list(VALIDATOR.iter_errors(document))
