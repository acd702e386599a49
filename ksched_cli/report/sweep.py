"""The results of many runs: how the variants of a sweep differ, and what a search has found."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ksched_cli.kube.shown_yaml import block_yaml
from ksched_cli.report.table import EVERYTHING, GREEN, RED, YELLOW, Limit, apart, counted, printable
from ksched_cli.report.times import time_text
from ksched_cli.report.view import Column, Kind, Medium, Tile, Tone, View
from ksched_cli.report.view import table as view_table
from ksched_cli.sweep.answers import STATUSES, SweepPlan, SweepReport, better
from ksched_cli.sweep.plan import VERSIONS
from ksched_cli.sweep.summary import Failure, MetricSummary, Spread, Summary
from ksched_cli.sweep.tuning import BASELINE, TUNED, Tuning

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
    return apart(*parts)


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


# -- sweep --dry-run -------------------------------------------------------------------------------


def plan_view(answer: SweepPlan) -> View:
    """How many runs there are and how long they take, and each axis with its values."""
    return View(
        title=_plan_title(answer),
        tone=Tone.NONE if answer.sample_error is None else Tone.BAD,
        tiles=[
            Tile("runs", f"{answer.runs:,}"),
            Tile("have rows", f"{answer.resumed:,}"),
            Tile("variants", f"{len(answer.variants):,}"),
            Tile("workers", f"{answer.workers:,}"),
        ],
        sections=[
            view_table(
                "Axes",
                answer.axes.items(),
                (Column("Axis"), lambda each: each[0]),
                (Column("#", Kind.NUMBER), lambda each: len(each[1])),
                (Column("Values"), lambda each: tuple(_label(each[0], value) for value in each[1])),
            ),
            view_table(
                "Variants",
                answer.variants,
                (Column("Variant"), str),
                grid="variants",
                on=Medium.PAGE,
            ),
        ],
    )


def _label(axis: str, value: Any) -> str:
    if value is None:
        return "the state's" if axis == VERSIONS else "none"
    return str(value)


def _plan_title(answer: SweepPlan) -> str:
    text = counted(answer.runs, "run")
    if answer.resumed:
        text += f", of which {answer.resumed:,} have rows"
    if answer.estimated_seconds is None:
        text += "; their duration is unknown: --dry-run imports only plugins that --plugin names"
    if answer.sample_error is not None:
        text += f"; the first one ends in {answer.sample_status}: {answer.sample_error}"
    elif answer.sample_seconds is not None:
        estimate = time_text(round(answer.estimated_seconds or 0, 1))
        text += f"; a run takes {answer.sample_seconds:.3g}s: {estimate}"
        text += f" on {counted(answer.workers, 'worker')}" if answer.workers > 1 else ""
    return text


# -- tune ------------------------------------------------------------------------------------------


def tuned_table(result: Tuning, file: str, limit: Limit) -> str:
    parts = [tuned_headline(result, limit), _best_trials(result, limit), _held_out(result, limit)]
    if file:
        parts.append(f"the configuration is in {file}")
    else:
        parts.append(block_yaml(result.configuration).rstrip("\n"))
    return "\n\n".join(parts)


def tuned_headline(result: Tuning, limit: Limit = EVERYTHING) -> str:
    """Whether tuning was worth it."""
    objective = result.problem.file.objectives[0]
    metric = result.held_out.variants[-1].metrics.get(objective.metric)
    text = "the tuned configuration is no better than the baseline on the held-out runs"
    if result.is_better and metric is not None and metric.difference is not None:
        text = (
            f"{objective.metric} {signed(metric.difference.median)} against the baseline "
            f"on the held-out runs, better in {(metric.wins or 0) / metric.pairs:.0%} of"
            f" {metric.pairs:,} runs"
        )
    if broken := result.broken(TUNED):
        text = f"on the held-out runs, the tuned configuration does not keep {broken[0].text}"
    elif broken := result.broken(BASELINE):
        text += f"; the baseline does not keep {broken[0].text} there"
    text += f"; {result.complete:,} trials"
    text += f", {result.failed:,} failed" if result.failed else ""
    return limit.verdict(text, GREEN if result.is_better else YELLOW)


def _best_trials(result: Tuning, limit: Limit) -> str:
    file = result.problem.file
    names = [dimension.name for dimension in file.dimensions]
    headers = ("TRIAL", *file.metrics, *names)
    rows = [
        (
            f"{trial.number}{' (chosen)' if trial == result.best else ''}",
            *map(number, (*trial.values, *trial.constrained)),
            *(_value_text(trial.parameters[name]) for name in names),
        )
        for trial in result.front
    ]
    return limit.cut_columns(headers, rows, "trials")


def _value_text(value: Any) -> str:
    return (
        number(value)
        if isinstance(value, int | float) and not isinstance(value, bool)
        else str(value)
    )


def _held_out(result: Tuning, limit: Limit) -> str:
    headers = ("HELD OUT", "", "MEDIAN", "5-95%", "DIFFERENCE", "BETTER", "WORSE")
    rows: list[tuple[str, ...]] = []
    for name in dict.fromkeys(result.problem.file.metrics):
        for variant in result.held_out.variants:
            metric = variant.metrics.get(name)
            if metric is None:
                rows.append((name, variant.name, "no run", "", "", "", ""))
                continue
            cells = (number(metric.spread.median), span(metric.spread))
            compared = ("", "", "")
            if metric.difference is not None and metric.wins is not None:
                compared = (
                    signed(metric.difference.median),
                    f"{metric.wins / metric.pairs:.0%}",
                    f"{(metric.losses or 0) / metric.pairs:.0%}",
                )
            rows.append((name, variant.name, *cells, *compared))
    return limit.cut_columns(headers, rows)
