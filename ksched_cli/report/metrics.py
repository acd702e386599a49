"""The metrics of plugins and of --metric."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from msgspec import UnsetType

from ksched_cli.report.view import Column, Kind, Table, table
from ksched_cli.report.words import printable

Metrics = Mapping[str, float] | UnsetType


def metrics_table(metrics: Metrics) -> Table:
    """Return a row per metric."""
    return table(
        "Metrics",
        [*(metrics or {}).items()],
        (Column("Metric"), lambda each: printable(each[0])),
        (Column("Value", Kind.NUMBER), lambda each: _text(each[1])),
    )


def metric_rows(metrics: Sequence[Metrics]) -> Iterator[tuple[str, ...]]:
    """Yield a row per metric that any side has."""
    own = [each or {} for each in metrics]
    for name in dict.fromkeys(name for each in own for name in each):
        yield printable(name), *(_text(each[name]) if name in each else "none" for each in own)


def _text(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:,.6g}"
