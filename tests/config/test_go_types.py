"""The Go type behind a field: its name in messages, and how a value prints."""

import pytest

from ksched_cli.config.go_types import (
    INT32,
    ListOf,
    Scalar,
    StringMap,
    StructOf,
    go_name,
    to_wire,
)
from ksched_cli.config.types import Extender, ExtenderTLSConfig, PluginConfig, PluginSetEntry


@pytest.mark.parametrize(
    ("wire", "name"),
    [
        (INT32, "int32"),
        (ListOf(INT32), "[]int32"),
        (StringMap(), "map[string]string"),
        (ListOf(StructOf(PluginSetEntry)), "[]v1.Plugin"),
    ],
)
def test_a_type_is_named_as_go_names_it(wire: ListOf | Scalar | StringMap, name: str) -> None:
    assert go_name(wire) == name


def test_what_is_empty_is_left_out_where_go_omits_it() -> None:
    assert to_wire(PluginSetEntry("a")) == {"name": "a"}
    assert to_wire(PluginSetEntry("", 0)) == {"name": "", "weight": 0}
    assert to_wire(PluginConfig("a", {"b": (1, 2)})) == {"name": "a", "args": {"b": (1, 2)}}


def test_durations_and_bytes_print_as_text() -> None:
    extender = Extender(http_timeout=90 * 10**9, tls_config=ExtenderTLSConfig(ca_data=b"ab"))
    assert to_wire(extender) == {
        "urlPrefix": "",
        "httpTimeout": "1m30s",
        "tlsConfig": {"caData": "YWI="},
    }


def test_fields_are_found_by_their_json_key() -> None:
    weight = PluginSetEntry.FIELDS["weight"]
    assert (weight.attribute, weight.wire, weight.pointer) == ("weight", INT32, True)
