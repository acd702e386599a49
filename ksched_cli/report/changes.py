"""What changes did to the state, for answers that have no view."""

from __future__ import annotations

from collections.abc import Sequence

from ksched_cli.answers import AppliedChange
from ksched_cli.report.table import Limit, grouped


def table(records: Sequence[AppliedChange], limit: Limit) -> str:
    """A row per change and action, with the objects of that action; "" without changes."""
    rows: list[tuple[str, str, str]] = []
    for record in records:
        subjects = grouped(
            ((each.action, "" if each.detail.startswith("was ") else each.detail), each.subject)
            for each in record.effects
        )
        text = record.text
        for (action, detail), names in subjects.items():
            what = f"{action} ({detail})" if detail else action
            rows.append((text, f"{len(names):,}", f"{what}: {limit.listed(names)}"))
            text = ""
        if not subjects:
            rows.append((text, "0", "nothing to do"))
    return limit.cut_columns(("CHANGE", "#", "DID"), rows) if rows else ""
