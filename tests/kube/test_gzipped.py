"""Gzip is known by its first bytes, and what is not whole is an error that names the file."""

from __future__ import annotations

import gzip

import pytest

from ksched_cli.errors import InputError
from ksched_cli.kube.stored_bytes import unpacked

TEXT = b"kind: Timeline\n" * 20


def test_packed_and_plain_data_are_the_same() -> None:
    assert unpacked(gzip.compress(TEXT), "t.yaml.gz") == unpacked(TEXT, "t.yaml") == TEXT


@pytest.mark.parametrize("damage", [slice(0, 5), slice(0, 20), slice(0, -4)])
def test_what_is_not_whole_names_the_file(damage: slice) -> None:
    with pytest.raises(InputError, match=r"t\.yaml\.gz: not gzip: .*is the file complete\?"):
        unpacked(gzip.compress(TEXT)[damage], "t.yaml.gz")


def test_what_has_no_gzip_inside_names_the_file() -> None:
    with pytest.raises(InputError, match="not gzip"):
        unpacked(gzip.compress(TEXT)[:12] + b"\xff" * 40, "t.yaml.gz")
