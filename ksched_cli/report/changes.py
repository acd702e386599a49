"""What changes did to the state, and what else completes an answer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

from msgspec import UNSET, structs

from ksched_cli.answers import Answer, StateAnswer
from ksched_cli.cluster.change_record import ChangeRecord
from ksched_cli.kube.versions import Release
from ksched_cli.report.table import Limit, grouped

A = TypeVar("A", bound=Answer)


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


def completed(
    answer: A, release: Release, records: Iterable[ChangeRecord], warnings: Iterable[str]
) -> A:
    """The answer with the release whose rules were applied, what changes did to the state that it
    is about, and the warnings."""
    if isinstance(answer, StateAnswer):
        applied = tuple(record.applied for record in dict.fromkeys(records))
        answer = structs.replace(answer, changes=applied)
    return structs.replace(
        answer,
        kubernetes_version=release.version,
        kubernetes_version_from=release.inferred or UNSET,
        warnings=tuple(warnings),
    )
