"""The extenders of a Policy file: the same fields, written otherwise.

Upstream: LegacyExtender of k8s.io/kube-scheduler/config/v1 (v0.22), whose keys are read in any case
of letters, and whose httpTimeout is a number of nanoseconds.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ksched_cli.config.go_types import fields_of
from ksched_cli.config.migration.remarks import Remarks
from ksched_cli.config.migration.settle import list_at
from ksched_cli.config.types import Extender, ExtenderTLSConfig
from ksched_cli.kube.document_edits import EditableDocument
from ksched_cli.kube.documents import Path
from ksched_cli.kube.formatting import duration_text

_KEYS = {key.casefold(): key for key in fields_of(Extender)}
_TLS_KEYS = {key.casefold(): key for key in fields_of(ExtenderTLSConfig)}


def edit_extenders(document: EditableDocument, remarks: Remarks) -> None:
    """Writes keys as v1 has them, and timeouts with their unit."""
    for index, extender in enumerate(list_at(document, ("extenders",))):
        if isinstance(extender, Mapping):
            _edit(document, ("extenders", index), extender, remarks)


def _edit(
    document: EditableDocument, path: Path, extender: Mapping[str, Any], remarks: Remarks
) -> None:
    for key in list(extender):
        name = _KEYS.get(key.casefold(), key)
        value = extender[key]
        if name == "httpTimeout" and isinstance(value, int):
            value = duration_text(value)
            message = f"httpTimeout {extender[key]} (nanoseconds) is {value} now"
            remarks.changed((*path, key), message)
        if name == "tlsConfig" and isinstance(value, Mapping):
            value = {_TLS_KEYS.get(inner.casefold(), inner): value[inner] for inner in value}
        if name != key:
            document.delete((*path, key))
        if (name, value) != (key, extender.get(key)):
            document.put((*path, name), value)
