"""What `config diff` finds: as table text and as plain data."""

from __future__ import annotations

import json
import os
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
    headers = ("PROFILE", "PATH", *_short(names))
    return f"{columns(headers, rows, limit)}\n\n{counted(len(changes), 'difference')}"


def _short(names: tuple[str, str]) -> tuple[str, ...]:
    """Without the folders that both are in."""
    try:
        folder = os.path.commonpath([os.path.dirname(name) for name in names])
    except ValueError:  # a path from the root beside one that is not
        return names
    return tuple(os.path.relpath(name, folder) if folder else name for name in names)


def _shown(value: Any) -> str:
    """On one line; "-" where a side has nothing there."""
    if value is None:
        return "-"
    if value is True:
        return "runs"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
