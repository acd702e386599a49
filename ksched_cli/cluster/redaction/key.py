"""The key of a redaction: which code stands for what. It stays with whoever made it.

A later snapshot that is redacted with the same key has the same codes.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

import msgspec
from msgspec import Struct

from ksched_cli.cluster.redaction.codebook import Codebook, is_codebook
from ksched_cli.errors import InputError

_KIND, _API_VERSION = "RedactionKey", "ksched/v1"


class _Key(Struct, rename="camel"):
    """parts: part of a name → its code. names: kind → redacted name → name."""

    kind: str
    api_version: str = _API_VERSION
    parts: dict[str, str] = {}
    names: dict[str, dict[str, str]] = {}


def read_key(path: str) -> Codebook:
    """An empty codebook where there is no path, no such file yet, or a device or pipe, which a key
    can only be written to. Raises InputError for what is no key."""
    file = Path(path)
    if not path or not os.path.exists(file) or not (file.is_file() or file.is_dir()):
        return Codebook()
    try:
        key = msgspec.json.decode(file.read_bytes(), type=_Key)
    except OSError as error:
        raise InputError(path, f"the key cannot be read: {error.strerror}") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(path, f"not the key of a redaction: {error}") from None
    if key.kind != _KIND:
        raise InputError(path, f'not the key of a redaction: its kind is "{key.kind}"')
    if not is_codebook(key.parts):
        raise InputError(path, "not the key of a redaction: its codes were changed")
    return Codebook(key.parts)


def key_text(codebook: Codebook, names: Iterable[tuple[str, str, str]]) -> bytes:
    """names: kind, redacted name and name of each object."""
    by_kind: dict[str, dict[str, str]] = {}
    for kind, after, before in names:
        by_kind.setdefault(kind, {})[after] = before
    key = _Key(_KIND, parts=codebook.as_mapping(), names=by_kind)
    return msgspec.json.format(msgspec.json.encode(key), indent=1) + b"\n"
