"""The results of many runs: how the variants of a sweep differ, and what a sweep would run."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ksched_cli.report.times import time_text
from ksched_cli.report.variants import COMPARED, compared_cells, interval, number, signed, span
from ksched_cli.report.view import (
    Column,
    Kind,
    Later,
    Line,
    Medium,
    Section,
    Table,
    Text,
    Tile,
    Tone,
    View,
    table,
)
from ksched_cli.report.words import counted
from ksched_cli.sweep.answers import (
    STATUSES,
    SweepPlan,
    SweepResult,
)
from ksched_cli.sweep.plan import VERSIONS

_FIXED = ("id", "state", "timeline", "configuration", "changes", "plugins", "kubernetesVersion",
          "autoscaler", "prices", "seed", "status", "error", "placed", "pending", "gated",
          "evicted", "nodesUsed", "placements", "seconds", "worker")  # fmt: skip
_TONES = {"ok": Tone.GOOD, "error": Tone.BAD, "timeout": Tone.BAD, "lost": Tone.WARN}


# -- sweep ----------------------------------------------------------------------------------------


def view(answer: SweepResult) -> View:
    """Show which variant is best, how the runs ended, and the variants metric by metric."""
    runs, variants = answer.runs, answer.variants
    # The counts say how the runs ended, and how long it took.
    ended = ", ".join(
        f"{getattr(runs, status):,} {status}" for status in STATUSES if getattr(runs, status)
    )
    counts = f"{counted(runs.planned, 'run')}: {ended or 'none'}"
    if runs.resumed:
        counts += f"; {runs.resumed:,} had rows before"
    if runs.planned > runs.resumed:
        counts += f"; {answer.seconds:,.1f} s"
        if answer.workers > 1:
            counts += f" on {answer.workers} workers"
    sections: list[Section] = [
        table(
            "Runs that failed",
            answer.failures,
            (Column("Ended"), lambda each: each.status),
            (Column("Runs", Kind.NUMBER), lambda each: each.runs),
            (Column("Why"), lambda each: each.error),
            (Column("For example"), lambda each: _example(each.example)),
        )
    ]
    if len(variants) > 1:
        front = answer.pareto_front
        on_front = Column("Pareto front"), lambda each: "yes" * (each.name in front.variants)
        own = table(
            "",
            (each for each in variants if not each.same_as),
            (Column("Variant"), lambda each: _names(answer, each.name)),
            (Column("Runs", Kind.NUMBER), lambda each: each.runs),
            (Column("Outcomes", Kind.NUMBER), lambda each: each.outcomes),
            *([on_front] if front.metrics else ()),
            noun="variants",
            note=f"Pareto front of {' and '.join(front.metrics)}" if front.metrics else "",
            on=Medium.TEXT,
        )
        sections.append(own)
    sections += _metrics(answer)
    # Each value of an axis has its effect on the metrics that it changes, in per cent.
    effects = table(
        "Effect of each axis",
        (each for each in answer.effects if each.low or each.high),
        (Column("Axis"), lambda each: each.axis),
        (Column("Value"), lambda each: _label(each.axis, each.value)),
        (Column("Instead of"), lambda each: _label(each.axis, each.first)),
        (Column("Metric"), lambda each: each.metric),
        (Column("Mean effect", Kind.NUMBER), lambda each: f"{signed(each.percent)}%"),
        (
            Column("95% interval", Kind.NUMBER),
            lambda each: f"{number(each.low)} … {number(each.high)}%" * (each.low != each.high),
        ),
        noun="effects",
        note="Means over runs that differ in nothing else; intervals over the seeds.",
    )
    sections += [effects, Later(make=lambda: _charts(answer))]
    is_well = runs.ok == runs.planned
    best = _best(answer) if len(variants) > 1 else ""
    bad = Tone.BAD if runs.error else Tone.WARN
    return View(
        title=best or counts,
        tone=Tone.NONE if is_well else bad,
        lines=[Line(counts, Tone.NONE if is_well else bad)] if best else (),
        tiles=[
            Tile("runs", f"{runs.planned:,}"),
            Tile("variants", f"{len(variants):,}"),
            *(
                Tile(status, f"{getattr(runs, status):,}", tone)
                for status, tone in _TONES.items()
                if getattr(runs, status) or status == "ok"
            ),
        ],
        sections=sections,
    )


def _best(answer: SweepResult) -> str:
    """Say which variant is best in the first metric by which they differ."""
    for metric in answer.metrics:
        medians = {
            item.name: item.metrics[metric.name].median
            for item in answer.variants
            if metric.name in item.metrics
        }
        if metric.better is None or len({*medians.values()}) < 2:
            continue
        choose = min if metric.better == "less" else max
        best = choose(medians.values())
        on_front = answer.pareto_front.variants
        first, *others = sorted(
            (name for name, median in medians.items() if median == best),
            key=lambda name: name not in on_front,
        )
        names = f"{first} and {len(others):,} more" if others else first
        which = "least" if metric.better == "less" else "greatest"
        text = f"{metric.name} is {which} with {names}: {number(best)}"
        before = medians.get(answer.baseline or "")
        if before is None or before == best:
            return text
        return f"{text}, against {number(before)} with the baseline {answer.baseline}"
    return f"no metric differs between {counted(len(answer.variants), 'variant')}"


def _names(answer: SweepResult, name: str) -> tuple[str, ...]:
    """Return the variant, and those that came to the same."""
    return (name, *(each.name for each in answer.variants if each.same_as == name))


def _metrics(answer: SweepResult) -> Iterator[Section]:
    """Yield a table per metric, the best variant first; metrics that are the same in every run on a
    line."""
    same = []
    for metric in answer.metrics:
        rows = [
            (_names(answer, item.name), item.metrics[metric.name])
            for item in answer.variants
            if metric.name in item.metrics and not item.same_as
        ]
        if metric.better:
            sign = 1 if metric.better == "less" else -1
            rows.sort(key=lambda row: (sign * row[1].median, sign * row[1].mean))
        least = min(each.min for _, each in rows)
        if least == max(each.max for _, each in rows):
            same.append(f"{metric.name} {number(least)}")
            continue
        has_means = any(each.low != each.high for _, each in rows)
        mean = [Column("Mean", Kind.NUMBER), Column("95% of the mean", Kind.NUMBER, drop=2)]
        has_pairs = any(each.pairs for _, each in rows)
        goal = f", {metric.better} is better" if metric.better else ""
        yield Table(
            heading=f"{metric.name}{goal}",
            columns=[
                Column("Variant"),
                Column("Median", Kind.NUMBER),
                Column("5-95%", Kind.NUMBER, drop=2),
                *(mean if has_means else ()),
                *(COMPARED if has_pairs else ()),
            ],
            rows=[
                (
                    variant,
                    number(each.median),
                    span(each),
                    *((number(each.mean), interval(each)) if has_means else ()),
                    *(compared_cells(each) if has_pairs else ()),
                )
                for variant, each in rows
            ],
            noun="variants",
            on=Medium.TEXT,
        )
    if same:
        yield Text(lines=[f"the same in every run: {', '.join(same)}"], on=Medium.TEXT)


def _example(parameters: Mapping[str, Any]) -> str:
    named = ("state", "timeline", "configuration", "autoscaler", "prices")
    parts = [str(parameters[name]) for name in named if parameters.get(name) is not None]
    parts += [f"{name}={value}" for name, value in parameters["patches"].items()]
    if parameters.get("seed") is not None:
        parts.append(f"seed {parameters['seed']}")
    return ", ".join(parts)


def _charts(answer: SweepResult) -> Iterator[Section]:
    """Yield the front in the plane of its metrics, the metrics side by side, and every figure."""
    from ksched_cli.report.html.variants import multiples, variant_front

    front, variants = answer.pareto_front, answer.variants
    if front.metrics:
        yield variant_front(answer)
    if not variants:
        return
    tags = dict.fromkeys(front.variants, "front") | {answer.baseline or "": "baseline"}
    yield multiples("Variants by metric", answer.metrics, variants, tags)
    columns = [Column("Variant"), Column("Runs", Kind.NUMBER), Column("Outcomes", Kind.NUMBER)]
    rows = [[item.name, item.runs, item.outcomes] for item in variants]
    for metric in answer.metrics:
        results = [item.metrics.get(metric.name) for item in variants]
        columns.append(Column(metric.name, Kind.NUMBER))
        for row, each in zip(rows, results, strict=True):
            row.append(each and each.median)
        differences = [each and each.difference for each in results]
        if any(differences):
            columns.append(Column(f"{metric.name}: difference", Kind.NUMBER))
            for row, difference in zip(rows, differences, strict=True):
                row.append(difference and difference.median)
    yield Table(heading="Table of variants", columns=columns, rows=rows, grid="variants")


# -- rows -----------------------------------------------------------------------------------------


def rows(answer: SweepResult) -> tuple[Sequence[Mapping[str, Any]], Sequence[str]]:
    """Return a row per run, with a column per parameter and figure, and the names of the columns
    that are always there: figures of a group as `wait.mean`; values of patches are JSON."""
    lines = []
    for row in answer.rows_of_runs:
        cells: dict[str, Any] = {}
        for name, value in row.items():
            if name == "plugins":
                cells[name] = " ".join(value)
                continue
            if not isinstance(value, Mapping):
                cells[name] = value
                continue
            for key, item in value.items():
                if name == "patches" and not isinstance(item, str):
                    item = json.dumps(item)
                nested = item if isinstance(item, Mapping) else {"": item}
                cells |= {".".join(filter(None, (name, key, k))): v for k, v in nested.items()}
        lines.append(cells)
    return lines, _FIXED


# -- sweep --dry-run -------------------------------------------------------------------------------


def plan_view(answer: SweepPlan) -> View:
    """Return how many runs there are and how long they take, and each axis with its values."""
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
    return View(
        title=text,
        tone=Tone.NONE if answer.sample_error is None else Tone.BAD,
        tiles=[
            Tile("runs", f"{answer.runs:,}"),
            Tile("have rows", f"{answer.resumed:,}"),
            Tile("variants", f"{len(answer.variants):,}"),
            Tile("workers", f"{answer.workers:,}"),
        ],
        sections=[
            table(
                "Axes",
                answer.axes.items(),
                (Column("Axis"), lambda each: each[0]),
                (Column("#", Kind.NUMBER), lambda each: len(each[1])),
                (Column("Values"), lambda each: tuple(_label(each[0], value) for value in each[1])),
            ),
            table(
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
