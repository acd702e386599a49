"""The result of a search: whether it was worth it, its best trials, and the configuration."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ksched_cli.kube.shown_yaml import block_yaml
from ksched_cli.report.variants import COMPARED, compared_cells, number, signed, span
from ksched_cli.report.view import (
    Column,
    FileText,
    Kind,
    Later,
    Medium,
    Section,
    Table,
    Tile,
    Tone,
    View,
    table,
)
from ksched_cli.sweep.answers import ComparedMetric, TuneResult, TuneTrial, better


def view(answer: TuneResult) -> View:
    """Show whether the tuned configuration is better where no trial has looked, the trials that
    none beats, and the configuration."""
    trials, held_out = answer.trials, answer.held_out
    tone = Tone.GOOD if held_out.better else Tone.WARN
    file = answer.file
    where = f" ({file})" if file else ""
    # The title says whether tuning was worth it.
    objective = answer.objectives[0].metric
    gain = held_out.variants[-1].metrics.get(objective)
    title = "the tuned configuration is no better than the baseline on the held-out runs"
    if held_out.better and gain is not None and gain.difference is not None:
        title = (
            f"{objective} {signed(gain.difference.median)} against the baseline "
            f"on the held-out runs, better in {(gain.wins or 0) / gain.pairs:.0%} of"
            f" {gain.pairs:,} runs"
        )
    if broken := [each.text for each in answer.constraints if not each.holds]:
        title = f"on the held-out runs, the tuned configuration does not keep {broken[0]}"
    elif broken := [each.text for each in answer.constraints if not each.baseline_holds]:
        title += f"; the baseline does not keep {broken[0]} there"
    title += f"; {trials.complete:,} trials"
    title += f", {trials.failed:,} failed" if trials.failed else ""
    # Baseline and tuned are compared metric by metric.
    rows: list[tuple[str, ...]] = []
    for compared in _metrics(answer):
        for variant in held_out.variants:
            metric = variant.metrics.get(compared.name)
            if metric is None:
                cells = ["no run", *[""] * (len(COMPARED) + 1)]
            else:
                cells = [number(metric.median), span(metric), *compared_cells(metric)]
            rows.append((compared.name, variant.name, *cells))
    metrics = [
        *(f"{each.metric} ({better(each.goal)} is better)" for each in answer.objectives),
        *(each.metric for each in answer.constraints),
    ]
    parameters = [*answer.best.parameters]
    return View(
        title=title,
        tone=tone,
        lines=[f"the configuration is in {file}"] if file else (),
        tiles=[
            Tile("better", "yes" if held_out.better else "no", tone),
            Tile("trials", f"{trials.complete:,}"),
            Tile("failed", f"{trials.failed:,}", "bad" if trials.failed else ""),
            Tile("held-out runs", f"{held_out.runs:,}"),
        ],
        sections=[
            Later(make=lambda: [_multiples(answer)]),
            Table(
                heading="On the held-out runs",
                columns=[
                    Column("Metric"),
                    Column("Configuration"),
                    Column("Median", Kind.NUMBER),
                    Column("5-95%", Kind.NUMBER, drop=2),
                    *COMPARED,
                ],
                rows=rows,
                on=Medium.TEXT,
            ),
            table(
                "Constraints",
                answer.constraints,
                (Column("Metric", named=True), lambda each: each.metric),
                (Column("At least", Kind.NUMBER), lambda each: _bound(each.at_least)),
                (Column("At most", Kind.NUMBER), lambda each: _bound(each.at_most)),
                (Column("Baseline", Kind.NUMBER), lambda each: number(each.baseline)),
                (Column("Tuned", Kind.NUMBER), lambda each: number(each.tuned)),
                (Column("Tuned keeps it"), lambda each: "yes" if each.holds else "no"),
                note="Means on the held-out runs.",
            ),
            Later(make=lambda: _front(answer)),
            Table(
                heading="Best trials",
                columns=[
                    Column("Trial"),
                    *(Column(name, Kind.NUMBER, named=True) for name in metrics),
                    *(Column(name, named=True) for name in parameters),
                ],
                rows=[
                    (
                        _name(trial, answer),
                        *map(number, (*trial.values, *trial.constrained)),
                        *(_value(trial.parameters[name]) for name in parameters),
                    )
                    for trial in answer.front
                ],
                noun="trials",
            ),
            FileText(
                heading=f"The tuned configuration{where}",
                text=block_yaml(answer.configuration),
                on=Medium.PAGE if file else Medium.ALL,
            ),
        ],
    )


def _metrics(answer: TuneResult) -> list[ComparedMetric]:
    """Return the metrics of the objectives, then those of the constraints, each once."""
    metrics = {each.metric: ComparedMetric(each.metric, better(each.goal))
               for each in answer.objectives}  # fmt: skip
    for each in answer.constraints:
        metrics.setdefault(each.metric, ComparedMetric(each.metric, None))
    return [*metrics.values()]


def _bound(value: float | None) -> str:
    return "" if value is None else number(value)


def _name(trial: TuneTrial, answer: TuneResult) -> str:
    return f"{trial.trial}{' (chosen)' if trial.trial == answer.best.trial else ''}"


def _value(value: Any) -> str:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return number(value) if is_number else str(value)


def _multiples(answer: TuneResult) -> Section:
    from ksched_cli.report.html.variants import multiples

    variants = answer.held_out.variants
    shown = [each for each in _metrics(answer) if any(each.name in own.metrics for own in variants)]
    return multiples("Baseline and tuned on the held-out runs", shown, variants, {})


def _front(answer: TuneResult) -> Iterator[Section]:
    """Yield the best trials in the plane of the first two objectives."""
    if len(answer.objectives) < 2:
        return
    from ksched_cli.report.html.charts import plane
    from ksched_cli.report.html.sections import Scatter

    first, second = answer.objectives[:2]
    points = [
        (f"trial {_name(trial, answer)}", trial.values[0], trial.values[1], True)
        for trial in answer.front
    ]
    yield Scatter(
        f"{first.metric} and {second.metric}",
        plane((first.metric, second.metric), points),
        "Trials that no other trial beats in every objective.",
    )
