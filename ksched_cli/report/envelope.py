"""The fields that every document has, whatever its kind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def with_envelope(
    document: Mapping[str, Any], kubernetes_version: str, warnings: Sequence[str]
) -> dict[str, Any]:
    """The document with the release whose rules were applied, and all warnings printed."""
    return {
        "apiVersion": document["apiVersion"],
        "kind": document["kind"],
        "kubernetesVersion": kubernetes_version,
        **document,
        "warnings": list(warnings),
    }
