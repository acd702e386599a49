"""The key's file."""

from pathlib import Path

import pytest

from ksched_cli.cluster.redaction.codebook import Codebook, key_text, read_key
from ksched_cli.errors import InputError


def test_a_key_that_is_read_again_has_the_same_codes(tmp_path: Path) -> None:
    codebook = Codebook({"web": "t"})
    path = tmp_path / "key.json"
    path.write_bytes(key_text(codebook, [("Pod", "t-x", "web-1")]))
    assert read_key(str(path)).as_mapping() == {"web": "t"}
    assert '"t-x": "web-1"' in path.read_text()


def test_without_a_file_there_are_no_codes_yet(tmp_path: Path) -> None:
    assert read_key(str(tmp_path / "key.json")).as_mapping() == {}
    assert read_key("").as_mapping() == {}


@pytest.mark.parametrize(
    "text", ["", "[]", '{"kind": "Pod"}', '{"kind": "RedactionKey", "parts": 1}']
)
def test_another_file_is_no_key(text: str, tmp_path: Path) -> None:
    path = tmp_path / "key.json"
    path.write_text(text)
    with pytest.raises(InputError, match="this is not a redaction key"):
        read_key(str(path))
