"""What moves from where to where: the pods of each pair of places, those of the most pods first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from ksched_cli.report.html.charts import bar
from ksched_cli.report.html.sections import Bars

SHOWN = 25


def moves(heading: str, headers: tuple[str, str], pairs: Iterable[tuple[str, str]]) -> Bars:
    """headers: of where from and where to; pairs: of each pod"""
    counts = Counter(pairs).most_common()
    most = counts[0][1] if counts else 0
    bars = [bar((*pair, count), (count,), ("pods",), most) for pair, count in counts[:SHOWN]]
    rest = len(counts) - len(bars)
    note = f"{rest:,} more pairs; the table of pods has all." if rest else ""
    return Bars(heading, (*headers, "Pods", ""), bars, note=note)
