"""Columns of a page's data, and the JSON that carries them."""

import json

from ksched_cli.report.html.columns import CellKind, coded, column, embedded, resource_kind


def test_values_that_repeat_are_coded() -> None:
    assert coded(["a", "b", "a", "a"]) == {"terms": ["a", "b"], "index": [0, 1, 0, 0]}
    assert coded(["a", "b", "c"]) == {"values": ["a", "b", "c"]}


def test_a_column_says_how_its_values_are_shown() -> None:
    assert column("cpu", [500, 1500], CellKind.CPU) == {
        "title": "cpu",
        "kind": "cpu",
        "values": [500, 1500],
    }
    assert column("Why", [None, "x\u202ey", "z"])["values"] == ["", "x\\u202ey", "z"]


def test_embedded_json_cannot_end_its_element() -> None:
    text = "</script><!-- & \u2028 😀 ü"
    data = embedded({"x": text})
    assert not set("<>&") & set(data)
    assert data.isascii()
    assert json.loads(data) == {"x": text}


def test_resources_are_shown_in_units_of_their_own() -> None:
    kinds = [resource_kind(name) for name in ("cpu", "memory", "hugepages-2Mi", "nvidia.com/gpu")]
    assert kinds == [CellKind.CPU, CellKind.BYTES, CellKind.BYTES, CellKind.NUMBER]
