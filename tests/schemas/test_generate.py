"""The published schemas are those that the types make."""

import json
from typing import Annotated

import pytest
from jsonschema import Draft202012Validator
from msgspec import structs

from ksched_cli.answers import HIDDEN, Count, Part
from ksched_cli.schemas.generate import FOLDER, answers, texts
from ksched_cli.schemas.of_types import schema_of


@pytest.fixture(scope="module")
def schemas() -> dict[str, str]:
    """The text of each schema, by its name."""
    return texts()


def test_generating_the_schemas_again_changes_nothing(schemas: dict[str, str]) -> None:
    written = {name: (FOLDER / f"{name}.json").read_text("utf-8") for name in schemas}
    changed = [name for name in schemas if written[name] != schemas[name]]
    assert not changed, "run python -m ksched_cli.schemas.generate"


class Item(Part, frozen=True, omit_defaults=True):
    """An item.

    node_count: how many nodes
                it has
    """

    name: str
    node_count: Count = 0


class Items(Part, frozen=True):
    """Items.

    first, rest: in order
    """

    first: Item | None
    rest: tuple[Item, ...] = ()
    score: float | None = None
    order: Annotated[int, HIDDEN] = 0


def test_a_schema_has_the_fields_of_the_type_with_what_its_docstring_says() -> None:
    schema = schema_of("Items", [Items])
    Draft202012Validator.check_schema(schema)
    assert schema["properties"] == {
        "first": {
            "description": "in order",
            "anyOf": [{"$ref": "#/$defs/Item"}, {"type": "null"}],
        },
        "rest": {
            "description": "in order",
            "type": "array",
            "items": {"$ref": "#/$defs/Item"},
        },
        "score": {"type": ["number", "null"]},
    }
    assert schema["required"] == ["first", "rest", "score"]
    item = schema["$defs"]["Item"]
    assert item["properties"]["nodeCount"] == {
        "description": "how many nodes it has",
        "type": "integer",
        "minimum": 0,
    }
    assert item["required"] == ["name"]
    assert item["additionalProperties"] is False


def test_every_schema_of_an_answer_has_its_kind_at_the_top(schemas: dict[str, str]) -> None:
    for name, types in answers().items():
        kind = json.loads(schemas[name])["properties"]["kind"]["const"]
        assert {structs.fields(cls)[1].default for cls in types} == {kind}


def test_a_document_of_several_types_has_the_shape_of_one_of_them() -> None:
    validator = Draft202012Validator(schema_of("Either", [Item, Items]))
    assert validator.is_valid({"name": "a"})
    assert validator.is_valid({"first": None, "rest": [], "score": 1})
    assert not validator.is_valid({"name": "a", "rest": []})
