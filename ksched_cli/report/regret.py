"""How far a run is from the best placement of the same pods."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import UnsetType

from ksched_cli.analysis.best_placement import Regret, RegretMoment
from ksched_cli.analysis.replay_result import Curve
from ksched_cli.cluster.resources import PODS
from ksched_cli.kube.quantity import exact_text
from ksched_cli.kube.time import SECOND
from ksched_cli.report.times import MomentTexts, time_text
from ksched_cli.report.view import Column, Kind, Table, table

_SHOWN_MOMENTS = 20


def regret_rows(
    regrets: Sequence[Regret | UnsetType],
    over_time: Sequence[Sequence[RegretMoment] | UnsetType] = (),
) -> Iterator[tuple[str, ...]]:
    """Yield the regrets of sides, where any has one, at each moment and at the end."""
    quantities = dict.fromkeys(regret.quantity for regret in regrets if regret)
    if quantities:
        name = f"regret in {' and '.join(quantities)}"
        by_side = [
            moments_of(regret, rows) for regret, rows in zip(regrets, over_time, strict=False)
        ]
        for at in dict.fromkeys(sorted(at for moments in by_side for at in moments)):
            texts = (_text(own[at]) if at in own else "" for own in by_side)
            yield f"{name} at {time_text(at)}", *texts
        yield name, *(_text(regret) if regret else "" for regret in regrets)


def moments_of(
    regret: Regret | UnsetType, rows: Sequence[RegretMoment] | UnsetType
) -> dict[float, Regret]:
    """Return the regrets of a replay by time. regret: at the end"""
    levels: dict[float, list[RegretMoment]] = {}
    for row in rows or ():
        levels.setdefault(row.at, []).append(row)
    return {at: Regret.of(regret.quantity, own) for at, own in levels.items() if regret}


def _text(regret: Regret) -> str:
    """Return the regret, and what it may be at most where that is more: `3 (at most 5)`."""
    text = _amount(regret, regret.regret)
    return text if regret.is_best else f"{text} (at most {_amount(regret, regret.at_most)})"


def regret_table(regret: Regret) -> Table:
    """Return a row per priority."""
    return table(
        "Best placement",
        regret.levels,
        (Column("Priority", Kind.NUMBER), lambda each: each.priority),
        (Column("All", Kind.NUMBER), lambda each: _amount(regret, each.total)),
        (Column("Reached", Kind.NUMBER), lambda each: _amount(regret, each.reached)),
        (Column("Best", Kind.NUMBER), lambda each: _amount(regret, each.best)),
        (Column("At most", Kind.NUMBER), lambda each: _amount(regret, each.at_most)),
    )


def moments_table(regret: Regret, rows: Sequence[RegretMoment], moments: MomentTexts) -> Table:
    """Return a row per moment and priority."""
    several = len({row.priority for row in rows}) > 1
    priority = [(Column("Priority", Kind.NUMBER), lambda row: row.priority)] if several else []
    return table(
        "Best placement over time",
        rows,
        (Column(moments.header), lambda row: moments.text(round(row.at * SECOND))),
        *priority,
        (Column("All", Kind.NUMBER), lambda row: _amount(regret, row.total)),
        (Column("Reached", Kind.NUMBER), lambda row: _amount(regret, row.reached)),
        (Column("Best", Kind.NUMBER), lambda row: _amount(regret, row.best)),
        (Column("At most", Kind.NUMBER), lambda row: _amount(regret, row.at_most)),
        brief=_SHOWN_MOMENTS,
        noun="rows",
    )


def regret_curves(regret: Regret, rows: Sequence[RegretMoment]) -> dict[str, Curve]:
    """Return what is reached, and what could be, of each priority over time."""
    unit = 1000 if regret.quantity == "cpu" else 1
    priorities = dict.fromkeys(row.priority for row in rows)
    curves = {}
    for priority in priorities:
        own = [row for row in rows if row.priority == priority]
        suffix = f", priority {priority}" if len(priorities) > 1 else ""
        times = [row.at for row in own]
        for name, values in (
            ("reached", [row.reached for row in own]),
            ("best placement", [row.best for row in own]),
            ("at most", [row.at_most for row in own]),
        ):
            curves[f"{name}{suffix}"] = Curve(times, [value / unit for value in values])
    return curves


def _amount(regret: Regret, amount: float) -> str:
    if isinstance(amount, float):  # of a metric
        return f"{amount:,.6g}"
    return f"{amount:,}" if regret.quantity == PODS else exact_text(regret.quantity, amount)
