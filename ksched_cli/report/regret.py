"""How far a run is from the best placement of the same pods."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import UnsetType

from ksched_cli.analysis.best_placement import Regret
from ksched_cli.cluster.resources import PODS
from ksched_cli.kube.quantity import exact_text
from ksched_cli.report.view import Column, Kind, Table, table


def regret_rows(regrets: Sequence[Regret | UnsetType]) -> Iterator[tuple[str, ...]]:
    """Yield the regrets of sides, where any has one."""
    quantities = dict.fromkeys(regret.quantity for regret in regrets if regret)
    if quantities:
        own = (_text(regret) if regret else "" for regret in regrets)
        yield f"regret in {' and '.join(quantities)}", *own


def _text(regret: Regret) -> str:
    """Return the regret, and what it may be at most where that is more: `3 (at most 5)`."""
    text = _amount(regret, regret.regret)
    return text if regret.is_best else f"{text} (at most {_amount(regret, regret.at_most)})"


def regret_table(regret: Regret) -> Table:
    """A row per priority."""
    return table(
        "Best placement",
        regret.levels,
        (Column("Priority", Kind.NUMBER), lambda each: each.priority),
        (Column("All", Kind.NUMBER), lambda each: _amount(regret, each.total)),
        (Column("Reached", Kind.NUMBER), lambda each: _amount(regret, each.reached)),
        (Column("Best", Kind.NUMBER), lambda each: _amount(regret, each.best)),
        (Column("At most", Kind.NUMBER), lambda each: _amount(regret, each.at_most)),
    )


def _amount(regret: Regret, amount: int) -> str:
    return f"{amount:,}" if regret.quantity == PODS else exact_text(regret.quantity, amount)
