"""Objects of kinds that a plugin alone knows."""

from __future__ import annotations

import msgspec
import pytest

from ksched_cli.cluster.custom_objects import Others, kind_with_group
from ksched_cli.errors import InputError


@pytest.mark.parametrize(
    ("api_version", "kind"), [("v1", "A"), ("example.com/v1", "A.example.com"), ("", "A")]
)
def test_a_kind_is_named_with_its_group(api_version: str, kind: str) -> None:
    assert kind_with_group(api_version, "A") == kind


def test_objects_are_decoded_when_they_are_read_and_only_once() -> None:
    others = Others({"A": [msgspec.Raw(b'{"a": 1}'), msgspec.Raw(b"{}")], "B": [msgspec.Raw(b"{")]})
    assert (list(others), len(others)) == (["A", "B"], 2)
    assert others["A"] == ({"a": 1}, {})
    assert others["A"] is others["A"]
    with pytest.raises(InputError):
        others["B"]


def test_a_kind_that_the_files_lack_is_absent() -> None:
    others = Others({})
    assert "A" not in others
    assert others.get("A", ()) == ()
