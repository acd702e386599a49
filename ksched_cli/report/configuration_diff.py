"""What `config diff` finds, and what `config migrate` remarks on: as text."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import Any

from ksched_cli.config.answers import ConfigurationChange
from ksched_cli.config.migration.settle import Remark, RemarkKind
from ksched_cli.report.markdown import code, markdown_table
from ksched_cli.report.table import Limit, counted


def table(changes: Sequence[ConfigurationChange], names: tuple[str, str], limit: Limit) -> str:
    """A row per difference. names: of the two files"""
    if not changes:
        return "nothing differs once both take effect"
    rows = [
        (change.profile or "(all)", change.path, shown(change.before), shown(change.after))
        for change in changes
    ]
    headers = ("PROFILE", "PATH", *short_names(names))
    return f"{limit.columns(headers, rows)}\n\n{counted(len(changes), 'difference')}"


def markdown(changes: Sequence[ConfigurationChange], names: tuple[str, str]) -> str:
    """A table with a row per difference. names: of the two files"""
    sides = f"between {code(names[0])} and {code(names[1])} once both take effect"
    if not changes:
        return f"Nothing differs {sides}."
    rows = [
        (
            code(change.profile) or "all",
            code(change.path),
            code(shown(change.before)),
            code(shown(change.after)),
        )
        for change in changes
    ]
    table = markdown_table(("profile", "path", *map(code, short_names(names))), rows)
    return f"**{counted(len(changes), 'difference')}** {sides}:\n\n{table}"


def short_names(names: tuple[str, str]) -> tuple[str, ...]:
    """Without the folders that both are in."""
    try:
        folder = os.path.commonpath([os.path.dirname(name) for name in names])
    except ValueError:  # a path from the root beside one that is not
        return names
    return tuple(os.path.relpath(name, folder) if folder else name for name in names)


def shown(value: Any) -> str:
    """On one line; "-" where a side has nothing there."""
    if value is None:
        return "-"
    if value is True:
        return "runs"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def is_warning(remark: Remark) -> bool:
    """Whether the new file does not take effect as the old one did."""
    return remark.kind is not RemarkKind.CHANGED


def remark_line(remark: Remark, source_name: str) -> str:
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
