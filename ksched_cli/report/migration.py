"""What `config migrate` says: a line per remark, and plain data."""

from __future__ import annotations

from typing import Any

from ksched_cli.config.migration.migrate import Migration
from ksched_cli.config.migration.remarks import Remark, RemarkKind
from ksched_cli.config.types import API_VERSION


def document(migration: Migration) -> dict[str, Any]:
    """kind ConfigurationMigration."""
    return {
        "apiVersion": "ksched/v1",
        "kind": "ConfigurationMigration",
        "from": migration.origin,
        "to": API_VERSION,
        "complete": migration.complete,
        "text": migration.text,
        "remarks": [
            {
                "kind": str(remark.kind),
                "path": remark.path,
                "line": remark.line,
                "message": remark.message,
                "hint": remark.hint,
            }
            for remark in migration.remarks
        ],
    }


def is_warning(remark: Remark) -> bool:
    """Whether the new file does not take effect as the old one did."""
    return remark.kind is not RemarkKind.CHANGED


def line(remark: Remark, source_name: str) -> str:
    """As `FILE:LINE: MESSAGE; HINT`; what is about the new file has its path there."""
    if remark.kind is RemarkKind.REFUSED:
        place = f"the new file, line {remark.line}" if remark.line else "the new file"
        begin = f"kube-scheduler refuses {place}: {remark.path}"
    elif remark.kind is RemarkKind.DIFFERS:
        begin = f"the new file takes effect otherwise: {remark.path}"
    else:
        begin = f"{source_name}:{remark.line}" if remark.line else source_name
    hint = f"; {remark.hint}" if remark.hint else ""
    return f"{begin}: {remark.message}{hint}"
