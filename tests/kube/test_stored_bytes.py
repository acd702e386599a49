"""What is too large is refused before it fills memory or disk."""

from __future__ import annotations

import gzip
from io import BytesIO
from pathlib import Path

import pytest

from ksched_cli.errors import InputError
from ksched_cli.kube import stored_bytes
from ksched_cli.kube.stored_bytes import read_or_store
from ksched_cli.kube.streams import LIMIT

MOST = 5000
LARGE = f"^s: larger than {MOST}"


@pytest.fixture(autouse=True, params=[100, 1 << 20], ids=["stored", "in memory"])
def large(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored_bytes, "LARGE", request.param)
    monkeypatch.setattr(LIMIT, "size", MOST)


class Endless(BytesIO):
    """A stream that never ends."""

    def read(self, size: int | None = -1) -> bytes:
        assert size is not None
        assert size > 0, "it would fill the memory"
        return super().read(size).ljust(size)


@pytest.mark.parametrize("first", [b"{", b"kind: List"])
def test_an_endless_stream_is_refused(first: bytes) -> None:
    with pytest.raises(InputError, match=LARGE):
        read_or_store(Endless(first), "s")


@pytest.mark.parametrize("first", [b"{", b"kind: List"])
def test_a_small_file_that_unpacks_to_a_large_one_is_refused(first: bytes) -> None:
    packed = gzip.compress(first + b" " * 1_000_000)
    assert len(packed) < MOST
    with pytest.raises(InputError, match=LARGE):
        read_or_store(BytesIO(packed), "s")


def test_a_large_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "s"
    path.write_bytes(b"{" + b" " * MOST)
    with path.open("rb") as file, pytest.raises(InputError, match=LARGE):
        read_or_store(file, "s")


@pytest.mark.parametrize("first", [b"{", b"kind: List"])
def test_what_is_as_large_as_it_may_be_is_read(first: bytes) -> None:
    text = first.ljust(MOST)
    for content in (text, gzip.compress(text)):
        read = read_or_store(BytesIO(content), "s")
        assert (read if isinstance(read, bytes) else read.read(0, read.size)) == text
