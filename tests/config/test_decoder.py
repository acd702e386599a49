"""The published JSON Schema and the types that decode name the same fields."""

import json
from importlib.resources import files

import pytest
from jsonschema import Draft202012Validator

from ksched_cli.config import types
from ksched_cli.config.go_types import fields_of

SCHEMA = json.loads(files("ksched_cli.schemas").joinpath("configuration.json").read_text())
TYPES = {
    name: cls
    for name, cls in vars(types).items()
    if isinstance(cls, type) and hasattr(cls, "GO") and name not in ("TypeMeta",)
}


def test_the_schema_is_a_schema():
    Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("name", sorted(TYPES))
def test_every_field_of_a_type_is_in_the_schema(name):
    node = SCHEMA if name == "SchedulerConfiguration" else SCHEMA["$defs"][name]
    assert set(node["properties"]) == set(fields_of(TYPES[name]))


def test_the_args_of_a_plugin_are_checked_by_its_name():
    document = {
        "profiles": [{"pluginConfig": [{"name": "NodeResourcesFit", "args": {"shape": []}}]}]
    }
    paths = [list(error.path) for error in Draft202012Validator(SCHEMA).iter_errors(document)]
    assert ["profiles", 0, "pluginConfig", 0, "args"] in paths
