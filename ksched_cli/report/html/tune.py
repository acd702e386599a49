"""The page of `tune`: whether the tuned configuration is better where no trial has looked, which
trials none beats, and the configuration."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ksched_cli.kube.shown_yaml import block_yaml
from ksched_cli.report.html.charts import number
from ksched_cli.report.html.sections import Page, Prose, Scatter, Section, Table, Tile
from ksched_cli.report.html.spreads import plane
from ksched_cli.report.html.sweep import multiples
from ksched_cli.sweep.answers import ComparedMetric, TuneObjective, TuneResult, TuneTrial, better


def page(answer: TuneResult) -> Page:
    title, *lede = answer.headline.split("\n")
    trials, held_out = answer.trials, answer.held_out
    tiles = [
        Tile("better", "yes" if held_out.better else "no", "good" if held_out.better else "warn"),
        Tile("trials", f"{trials.complete:,}"),
        Tile("failed", f"{trials.failed:,}", "bad" if trials.failed else ""),
        Tile("held-out runs", f"{held_out.runs:,}"),
    ]
    metrics = [ComparedMetric(each.metric, better(each.goal)) for each in answer.objectives]
    constrained = [each.metric for each in answer.constraints]
    metrics += [ComparedMetric(name, None) for name in dict.fromkeys(constrained)]
    heading = "Baseline and tuned on the held-out runs"
    listed = [
        each for each in metrics if any(each.name in own.metrics for own in held_out.variants)
    ]
    sections: list[Section] = [multiples(heading, listed, held_out.variants, {})]
    if answer.constraints:
        sections.append(_constraints(answer))
    if len(answer.objectives) > 1:
        sections.append(_front(answer))
    sections.append(_trials(answer, constrained))
    where = f" ({answer.file})" if answer.file else ""
    text = block_yaml(answer.configuration)
    sections.append(Prose(f"The tuned configuration{where}", (text,), "code"))
    return Page(title, lede, tiles, sections)


def _constraints(answer: TuneResult) -> Table:
    rows = [
        (
            each.metric,
            "" if each.at_least is None else number(each.at_least),
            "" if each.at_most is None else number(each.at_most),
            number(each.baseline),
            number(each.tuned),
            "yes" if each.holds else "no",
        )
        for each in answer.constraints
    ]
    headers = ("Metric", "At least", "At most", "Baseline", "Tuned", "Tuned keeps it")
    return Table("Constraints", headers, rows, "Means on the held-out runs.")


def _front(answer: TuneResult) -> Scatter:
    first, second = answer.objectives[:2]
    points = [
        (_name(trial, answer), trial.values[0], trial.values[1], True) for trial in answer.front
    ]
    note = "Trials that no other trial beats in every objective."
    names = (first.metric, second.metric)
    return Scatter(f"{first.metric} and {second.metric}", plane(names, points), note)


def _name(trial: TuneTrial, answer: TuneResult) -> str:
    chosen = ", chosen" if trial.trial == answer.best.trial else ""
    return f"trial {trial.trial}{chosen}"


def _trials(answer: TuneResult, constrained: Sequence[str]) -> Table:
    rows = [
        (
            _name(trial, answer),
            *map(number, (*trial.values, *trial.constrained)),
            *(_text(trial.parameters[name]) for name in answer.best.parameters),
        )
        for trial in answer.front
    ]
    headers = ("Trial", *map(_goal, answer.objectives), *constrained, *answer.best.parameters)
    return Table("Best trials", headers, rows)


def _goal(objective: TuneObjective) -> str:
    return f"{objective.metric} ({better(objective.goal)} is better)"


def _text(value: Any) -> str:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return number(value) if is_number else str(value)
