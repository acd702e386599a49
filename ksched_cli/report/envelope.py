"""The fields that every document has, whatever its kind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import UNSET
from msgspec.structs import replace

from ksched_cli.answers import Answer
from ksched_cli.kube.versions import Release


def with_envelope(
    document: Answer | Mapping[str, Any], release: Release, warnings: Sequence[str]
) -> Answer | dict[str, Any]:
    """The document with the release whose rules were applied (and what it was inferred from,
    where nobody chose it), and all warnings printed."""
    if isinstance(document, Answer):
        return replace(
            document,
            kubernetes_version=release.version,
            kubernetes_version_from=release.inferred or UNSET,
            warnings=tuple(warnings),
        )
    inferred = {"kubernetesVersionFrom": release.inferred} if release.inferred else {}
    return {
        "apiVersion": document["apiVersion"],
        "kind": document["kind"],
        "kubernetesVersion": release.version,
        **inferred,
        **document,
        "warnings": list(warnings),
    }
