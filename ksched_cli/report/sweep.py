"""The result of a sweep: how the variants differ, metric by metric, and the runs that failed."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ksched_cli.report.table import EVERYTHING, GREEN, RED, YELLOW, Limit, counted, printable
from ksched_cli.sweep.answers import STATUSES, SweepReport, better
from ksched_cli.sweep.summary import (
    Failure,
    MetricSummary,
    Spread,
    Summary,
)

_FIXED = ("id", "state", "timeline", "configuration", "changes", "plugins", "kubernetesVersion",
          "autoscaler", "prices", "seed", "status", "error", "placed", "pending", "gated",
          "evicted", "nodesUsed", "placements", "seconds", "worker")  # fmt: skip


# -- for people -----------------------------------------------------------------------------------


def table(report: SweepReport, limit: Limit) -> str:
    summary = report.summary
    parts = [headline(report, limit)]
    if len(summary.variants) > 1:
        parts.append(_variants(summary, limit))
    parts += _metrics(summary, limit)
    if summary.failures:
        parts.append(_failures(summary.failures, limit))
    return "\n\n".join(part for part in parts if part)


def headline(report: SweepReport, limit: Limit = EVERYTHING) -> str:
    """The number of runs, how they ended, how long it took."""
    statuses = report.summary.statuses
    ended = ", ".join(f"{statuses[key]:,} {key}" for key in STATUSES if statuses.get(key))
    text = f"{counted(report.planned, 'run')}: {ended or 'none'}"
    if report.resumed:
        text += f"; {report.resumed:,} had rows before"
    new = report.planned - report.resumed
    if new:
        text += f"; {report.seconds:,.1f} s"
        if report.workers > 1:
            text += f" on {report.workers} workers"
    colour = GREEN if set(statuses) <= {"ok"} else RED if statuses.get("error") else YELLOW
    return limit.verdict(text, colour)


def _variants(summary: Summary, limit: Limit) -> str:
    headers = ["VARIANT", "RUNS", "OUTCOMES"]
    rows = [[item.name, f"{item.runs:,}", f"{item.outcomes:,}"] for item in summary.variants]
    if summary.front:
        headers.append("PARETO FRONT")
        for row, item in zip(rows, summary.variants, strict=True):
            row.append("yes" if item.on_front else "")
    text = limit.cut_columns(headers, rows, "variants")
    if summary.front:
        text += f"\nPareto front of {' and '.join(summary.front)}"
    return text


def _metrics(summary: Summary, limit: Limit) -> list[str]:
    """A table per metric; those that are the same in every run on a line."""
    same, parts = [], []
    for name, direction in summary.metrics.items():
        rows = [(item.name, item.metrics[name]) for item in summary.variants
                if name in item.metrics]  # fmt: skip
        least = min(metric.spread.least for _, metric in rows)
        most = max(metric.spread.most for _, metric in rows)
        if least == most:
            same.append(f"{name} {number(least)}")
        else:
            parts.append(_metric(name, direction, rows, limit))
    if same:
        parts.append(limit.paragraph(f"the same in every run: {', '.join(same)}"))
    return parts


def _metric(
    name: str, direction: str | None, rows: Sequence[tuple[str, MetricSummary]], limit: Limit
) -> str:
    heading = name if direction is None else f"{name}, {better(direction)} is better"
    headers = [heading, "MEDIAN", "5-95%"]
    has_pairs = any(metric.pairs for _, metric in rows)
    if has_pairs:
        headers += ["DIFFERENCE", "5-95%", "BETTER", "WORSE"]
    cells = []
    for variant, metric in rows:
        cell = [variant, number(metric.spread.median), span(metric.spread)]
        if has_pairs:
            cell += _difference(metric)
        cells.append(cell)
    return limit.cut_columns(headers, cells, "variants")


def _difference(metric: MetricSummary) -> list[str]:
    if metric.difference is None:
        return ["", "", "", ""]
    shares = [
        "" if count is None else f"{count / metric.pairs:.0%}"
        for count in (metric.wins, metric.losses)
    ]
    return [signed(metric.difference.median), span(metric.difference), *shares]


def number(value: float) -> str:
    """With as many digits as tell values apart."""
    if value == int(value):
        return f"{int(value):,}"
    return f"{value:.4g}" if abs(value) < 1000 else f"{value:,.0f}"


def signed(value: float) -> str:
    return f"+{number(value)}" if value > 0 else number(value)


def span(spread: Spread) -> str:
    return f"{number(spread.low)} … {number(spread.high)}"


def _failures(failures: Sequence[Failure], limit: Limit) -> str:
    rows = [
        (item.status, f"{item.runs:,}", item.error, _example(item.example)) for item in failures
    ]
    return limit.columns(("ENDED", "RUNS", "WHY", "AS"), rows)


def _example(parameters: Mapping[str, Any]) -> str:
    named = ("state", "timeline", "configuration", "autoscaler", "prices")
    parts = [str(parameters[name]) for name in named if parameters.get(name) is not None]
    parts += [f"{name}={value}" for name, value in parameters["patches"].items()]
    if parameters.get("seed") is not None:
        parts.append(f"seed {parameters['seed']}")
    return ", ".join(parts)


# -- csv ------------------------------------------------------------------------------------------


def rows_as_csv(rows: Iterable[Mapping[str, Any]]) -> str:
    """A line per run, a column per parameter and figure."""
    flat = [{printable(name): _shown(value) for name, value in _flat(row)} for row in rows]
    names = dict.fromkeys((*_FIXED, *(name for row in flat for name in row)))
    text = io.StringIO()
    writer = csv.DictWriter(text, list(names), restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(flat)
    return text.getvalue().rstrip("\n")


def _flat(row: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """The figures of a group are columns, as `wait.mean`; values of patches are JSON."""
    for name, value in row.items():
        if name == "plugins":
            yield name, " ".join(value)
        elif not isinstance(value, Mapping):
            yield name, value
        else:
            for key, item in value.items():
                if name == "patches" and not isinstance(item, str):
                    item = json.dumps(item)
                nested = item if isinstance(item, Mapping) else {"": item}
                yield from ((".".join(filter(None, (name, key, k))), v) for k, v in nested.items())


def _shown(value: Any) -> Any:
    return printable(value) if isinstance(value, str) else value
