"""The key's file."""

from pathlib import Path

import pytest

from ksched_cli.cluster.redaction.codebook import (
    Codebook,
    Codes,
    SortedCodebook,
    key_text,
    read_key,
)
from ksched_cli.errors import InputError


def test_a_key_that_is_read_again_has_the_same_codes(tmp_path: Path) -> None:
    codes = Codes(Codebook({"web": "tb"}), SortedCodebook({"node": "t"}))
    path = tmp_path / "key.json"
    path.write_bytes(key_text(codes, [("Pod", "t-x", "web-1")]))
    again = read_key(str(path))
    assert again.drawn.as_mapping() == {"web": "tb"}
    assert again.in_order.as_mapping() == {"node": "t"}
    assert '"t-x": "web-1"' in path.read_text()


def test_without_a_file_there_are_no_codes_yet(tmp_path: Path) -> None:
    for path in (str(tmp_path / "key.json"), ""):
        assert [codebook.as_mapping() for codebook in read_key(path)] == [{}, {}]


@pytest.mark.parametrize(
    "text", ["", "[]", '{"kind": "Pod"}', '{"kind": "RedactionKey", "parts": 1}']
)
def test_another_file_is_no_key(text: str, tmp_path: Path) -> None:
    path = tmp_path / "key.json"
    path.write_text(text)
    with pytest.raises(InputError, match="this is not a redaction key"):
        read_key(str(path))


@pytest.mark.parametrize(
    "parts",
    [
        '"parts": {"web": "t"}',
        '"parts": {"web": "tb", "db": "tb"}',
        '"parts": {"a/b": "tb"}',
        '"sortedParts": {"web": "tb"}',
        '"sortedParts": {"a": "t", "b": "c"}',
    ],
)
def test_codes_that_somebody_changed_are_refused(parts: str, tmp_path: Path) -> None:
    path = tmp_path / "key.json"
    path.write_text(f'{{"kind": "RedactionKey", {parts}}}')
    with pytest.raises(InputError, match="its codes were changed"):
        read_key(str(path))
