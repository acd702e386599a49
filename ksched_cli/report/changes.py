"""What changes did to the state: a list in every result, a table before it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from msgspec import structs

from ksched_cli.answers import Answer, AppliedChange
from ksched_cli.cluster.change_record import ChangeRecord
from ksched_cli.report.forms import Report
from ksched_cli.report.table import Limit, apart, grouped


def table(records: Sequence[ChangeRecord], limit: Limit) -> str:
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


def with_changes(report: Report, records: Sequence[ChangeRecord], limit: Limit) -> Report:
    """The report with what changes did: the field `changes`, and a table before its own."""

    def with_applied() -> Answer:
        applied = tuple(AppliedChange(record.text, record.did) for record in records)
        return structs.replace(report.answer(), changes=applied)

    def whole_table() -> str:
        return apart(table(records, limit), report.table())

    return replace(report, answer=with_applied, table=whole_table)
