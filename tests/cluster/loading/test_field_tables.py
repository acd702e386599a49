"""The tables of fields cover what ksched reads, and what is in none of them is noticed."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from ksched_cli.cluster.loading.kinds import KINDS
from ksched_cli.cluster.loading.unknown_fields import field_tables, unknown_fields
from ksched_cli.schemas import generate_object_fields


def test_every_kind_that_is_read_has_its_fields() -> None:
    tables = field_tables()
    for kind in KINDS.values():
        version = f"{kind.group}/v1" if kind.group else "v1"
        assert {"apiVersion", "kind", "metadata"} <= set(
            tables.types[tables.kinds[f"{version}/{kind.name}"]]
        )


def test_what_decoders_read_is_in_the_tables() -> None:
    tables = field_tables()
    ours = {field.encode_name for field in msgspec.structs.fields(KINDS["Pod"].type)}
    assert ours - {"raw", "nodeName"} <= set(tables.types["core.v1.Pod"])


@pytest.mark.parametrize(
    ("pod", "expected"),
    [
        ({"spec": {"containers": [{"resources": {"limits": {"any": 1}}}, None]}}, True),
        ({"spec": {"containers": [{"resources": {"limit": {}}}]}}, False),
        ({"spec": {"containers": [{"name": "c"}, {"nam": "c"}]}}, False),
        ({"metadata": {"labels": {"any": "value"}, "ownerReferences": None}}, True),
        ({"status": {"conditions": [{"typ": "Ready"}]}}, False),
        ({"specs": {}}, False),
        ({"spec": "of another type"}, True),
        ({"spec": {"containers": "of another type"}}, True),
    ],
)
def test_unknown_fields_are_noticed_at_any_depth(pod: dict[str, Any], expected: bool) -> None:
    assert (not list(unknown_fields(pod, "core.v1.Pod"))) is expected


def test_maps_of_objects_have_valid_fields_in_their_values() -> None:
    claim = {
        "spec": {"devices": {"requests": [{"name": "r", "exactly": {"allocationMode": "All"}}]}}
    }
    assert not list(unknown_fields(claim, "resource.v1.ResourceClaim"))
    devices = [{"name": "d", "attributes": {"a": {"string": "x"}, "b": {"text": "y"}}}]
    assert list(unknown_fields({"spec": {"devices": devices}}, "resource.v1.ResourceSlice"))


def test_the_generator_unites_minors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(generate_object_fields, "KINDS", ("core.v1.Node",))

    def swagger(**taint_fields: object) -> dict[str, object]:
        taint = {"$ref": "#/definitions/io.k8s.api.core.v1.Taint"}
        node = {
            "spec": taint,
            "taints": {"type": "array", "items": taint},
            "by": {"type": "object", "additionalProperties": taint},
            "labels": {"type": "object", "additionalProperties": {"type": "string"}},
        }
        versions = [{"group": "", "version": "v1", "kind": "Node"}]
        return {
            "io.k8s.api.core.v1.Node": {
                "properties": node,
                "x-kubernetes-group-version-kind": versions,
            },
            "io.k8s.api.core.v1.Taint": {"properties": taint_fields},
        }

    definitions = swagger(key={}, old={}), swagger(key={}, new={})
    assert json.loads(generate_object_fields.text(definitions)) == {
        "kinds": {"v1/Node": "core.v1.Node"},
        "types": {
            "core.v1.Node": {
                "spec": "core.v1.Taint",
                "taints": "[]core.v1.Taint",
                "by": "{}core.v1.Taint",
                "labels": "",
            },
            "core.v1.Taint": {"key": "", "old": "", "new": ""},
        },
    }
