"""The fields of a configuration are Go's: what is not given is nil or zero, and prints as in Go."""

from __future__ import annotations

import inspect
from dataclasses import fields, is_dataclass
from typing import Any

import pytest

from ksched_cli.config import types
from ksched_cli.config.go_types import go_type, to_wire
from ksched_cli.config.parsing import Decoder
from ksched_cli.config.types import (
    API_VERSION,
    KIND,
    Extender,
    PluginConfig,
    SchedulerConfiguration,
    SchedulerProfile,
)

TYPES = [
    value
    for value in vars(types).values()
    if inspect.isclass(value) and is_dataclass(value) and value.__module__ == types.__name__
]


@pytest.mark.parametrize("cls", TYPES, ids=lambda cls: cls.__name__)
def test_an_empty_object_has_the_zero_value_of_every_field(cls: type[Any]) -> None:
    decoder = Decoder()
    empty = decoder.decode({}, cls)
    assert empty == cls()
    assert (decoder.fatal, decoder.strict) == (None, [])
    assert go_type(cls).startswith(("v1.", "v1alpha1."))


@pytest.mark.parametrize("cls", TYPES, ids=lambda cls: cls.__name__)
def test_every_field_has_the_name_that_it_has_in_a_file(cls: Any) -> None:
    by_key = cls.FIELDS
    assert {item.attribute for item in by_key.values()} == {item.name for item in fields(cls)}
    for key, item in by_key.items():
        assert key.lower() == item.attribute.replace("_", "")


def test_what_is_decoded_prints_as_it_was_written() -> None:
    data = {
        "kind": KIND,
        "apiVersion": API_VERSION,
        "parallelism": 3,
        "profiles": [
            {
                "schedulerName": "batch",
                "plugins": {"score": {"disabled": [{"name": "*"}]}},
                "pluginConfig": [{"name": "Mine", "args": {"a": [1]}}],
            }
        ],
        "extenders": [{"urlPrefix": "http://x", "filterVerb": "f", "httpTimeout": "5s"}],
    }
    wire = to_wire(Decoder().decode(data, SchedulerConfiguration))
    assert (wire["kind"], wire["apiVersion"], wire["parallelism"]) == (KIND, API_VERSION, 3)
    assert wire["extenders"] == data["extenders"]
    (profile,) = wire["profiles"]
    assert profile["plugins"]["score"] == {"disabled": [{"name": "*"}]}
    assert profile["pluginConfig"] == [{"name": "Mine", "args": {"a": [1]}}]


def test_what_go_holds_by_pointer_is_none_where_it_is_not_given() -> None:
    configuration = SchedulerConfiguration()
    assert (configuration.parallelism, configuration.profiles) == (None, None)
    assert SchedulerProfile().scheduler_name is None
    assert (Extender().tls_config, Extender().weight) == (None, 0)
    assert PluginConfig().args is None
