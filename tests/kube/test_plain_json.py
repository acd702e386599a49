"""JSON of objects that is read again."""

import msgspec
import pytest

from ksched_cli.errors import InputError
from ksched_cli.kube.plain_json import plain_json, typed_json


class _Named(msgspec.Struct):
    name: str = ""


def test_an_object_is_plain_data_or_of_a_type() -> None:
    assert plain_json(b'{"name": "a", "x": [1]}') == {"name": "a", "x": [1]}
    assert typed_json(msgspec.Raw(b'{"name": "a", "x": [1]}'), _Named) == _Named("a")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (b'{"x": 1e400}', "number out of range"),
        (b'{"x": "\xff"}', "invalid start byte|invalid UTF-8"),  # msgspec 0.22, 0.23
        (b'{"x": 1', "truncated"),
        (b"[" * 100_000, "nested too deeply"),
    ],
)
def test_what_cannot_be_read_is_an_error_of_its_source(text: bytes, problem: str) -> None:
    with pytest.raises(InputError, match=problem) as error:
        plain_json(text, "a.json")
    assert error.value.source == "a.json"


def test_a_field_of_another_type_is_an_error() -> None:
    with pytest.raises(InputError, match="expected `str`, got `int`"):
        typed_json(b'{"name": 3}', _Named)
