"""What moves from where to where: the pods of each pair of places, those of the most pods first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from ksched_cli.report.html.charts import bar
from ksched_cli.report.html.sections import Bars

SHOWN = 25


def moves(
    heading: str, headers: tuple[str, str], pairs: Iterable[tuple[str, str]], note: str = ""
) -> Bars:
    """headers: of where from and where to; pairs: of each pod. Too many pairs are put together by
    where the pods go."""
    counts = Counter(pairs)
    if len(counts) > SHOWN:
        counts = _by_target(counts)
    rows = counts.most_common()
    most = rows[0][1] if rows else 0
    bars = [bar((*pair, count), (count,), ("pods",), most) for pair, count in rows[:SHOWN]]
    rest = len(rows) - len(bars)
    note += f" {rest:,} more; the table of pods has all." if rest else ""
    return Bars(heading, (*headers, "Pods", ""), bars, note=note.strip())


def _by_target(counts: Counter[tuple[str, str]]) -> Counter[tuple[str, str]]:
    """Where the pods of a target come from several places, how many these are."""
    sources: dict[str, list[str]] = {}
    pods: Counter[str] = Counter()
    for (source, target), count in counts.items():
        sources.setdefault(target, []).append(source)
        pods[target] += count
    return Counter(
        {
            (names[0] if len(names) == 1 else f"{len(names):,} places", target): pods[target]
            for target, names in sources.items()
        }
    )
