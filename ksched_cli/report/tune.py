"""The result of a search: the best trial, and how it does where no trial has looked."""

from __future__ import annotations

from typing import Any

from ksched_cli.kube.shown_yaml import block_yaml
from ksched_cli.report.sweep import number, signed, span
from ksched_cli.report.table import EVERYTHING, GREEN, YELLOW, Limit
from ksched_cli.sweep.tune import BASELINE, TUNED, Tuning


def table(result: Tuning, file: str, limit: Limit) -> str:
    parts = [headline(result, limit), _front(result, limit), _held_out(result, limit)]
    if file:
        parts.append(f"the configuration is in {file}")
    else:
        parts.append(block_yaml(result.configuration).rstrip("\n"))
    return "\n\n".join(parts)


def headline(result: Tuning, limit: Limit = EVERYTHING) -> str:
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


def _front(result: Tuning, limit: Limit) -> str:
    file = result.problem.file
    names = [dimension.name for dimension in file.dimensions]
    headers = ("TRIAL", *file.metrics, *names)
    rows = [
        (
            f"{trial.number}{' (chosen)' if trial == result.best else ''}",
            *map(number, (*trial.values, *trial.constrained)),
            *(_shown(trial.parameters[name]) for name in names),
        )
        for trial in result.front
    ]
    return limit.cut_columns(headers, rows, "trials")


def _shown(value: Any) -> str:
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
