"""What `config diff` finds: as table text and as plain data."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from ksched_cli.config.diff import ConfigurationChange
from ksched_cli.report.table import Limit, columns, counted


def document(changes: Sequence[ConfigurationChange]) -> dict[str, Any]:
    """kind ConfigurationDiff."""
    return {
        "apiVersion": "ksched/v1",
        "kind": "ConfigurationDiff",
        "changes": [
            {
                "profile": change.profile,
                "path": change.path,
                "from": change.before,
                "to": change.after,
            }
            for change in changes
        ],
    }


def table(changes: Sequence[ConfigurationChange], names: tuple[str, str], limit: Limit) -> str:
    """A row per difference. names: of the two files"""
    if not changes:
        return "nothing differs once both take effect"
    rows = [
        (change.profile or "(all)", change.path, _shown(change.before), _shown(change.after))
        for change in changes
    ]
    headers = ("PROFILE", "PATH", *names)
    return f"{columns(headers, rows, limit)}\n\n{counted(len(changes), 'difference')}"


def _shown(value: Any) -> str:
    """On one line; "-" where a side has nothing there."""
    if value is None:
        return "-"
    if value is True:
        return "runs"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
