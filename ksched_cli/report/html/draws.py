"""The pages of `replay --seeds` and `compare --seeds`: curves with bands, and every figure with its
95 % interval."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ksched_cli.analysis.compare import DrawnComparison, Interval, ReplayDraws
from ksched_cli.kube.time import SECOND
from ksched_cli.report.draws import difference_text, headline, interval_text, label
from ksched_cli.report.html.charts import number
from ksched_cli.report.html.curves import curves_of_run, curves_of_sides
from ksched_cli.report.html.sections import Page, Ranges, Section, Table, Tile, TimeCharts
from ksched_cli.report.html.spreads import Range, ranges
from ksched_cli.report.replay import duration
from ksched_cli.report.table import PAGE, counted

SEEDS = "Each seed breaks ties between equally good nodes in another way."
_NOTE = f"Means over the seeds, with 95 % intervals (Student's t). {SEEDS}"


def replay_page(answer: ReplayDraws) -> Page:
    count = len(answer.seeds)
    wait, pending = answer.figures.get("wait.mean"), answer.figures["pending"]
    tiles = [Tile("seeds", f"{count:,}")]
    if wait is not None:
        tiles.append(Tile("waited, mean", _time(wait.mean)))
    tiles.append(Tile("pending at the end", interval_text(pending), "bad" * bool(pending.mean)))
    sections: list[Section] = []
    if answer.curves is not None:
        sections.append(TimeCharts("Over time", "replay", curves_of_run(answer.curves)))
    rows = [
        (label(name), number(each.mean), number(each.low), number(each.high))
        for name, each in answer.figures.items()
        if each.low or each.high
    ]
    headers = ("Figure", "Mean", "95 % from", "to")
    sections.append(Table("Figures", headers, rows, f"Intervals are Student's t. {SEEDS}"))
    return Page(_title(answer), (f"timeline {answer.timeline}",), tiles, sections)


def _title(answer: ReplayDraws) -> str:
    """What the seeds agree about, and what they do not."""
    seeds = counted(len(answer.seeds), "seed")
    varying = [name for name, each in answer.figures.items() if each.low != each.high]
    if not varying:
        return f"The figures are the same with all of {seeds}"
    wait = answer.figures.get("wait.mean")
    if wait is None or wait.low == wait.high:
        verb = "varies" if len(varying) == 1 else "vary"
        return f"{len(varying):,} of {len(answer.figures):,} figures {verb} over {seeds}"
    return (
        f"Pods wait {_time(wait.mean)} on average over {seeds}, "
        f"between {_time(max(wait.low, 0))} and {_time(wait.high)} with 95 % confidence"
    )


def _time(seconds: float) -> str:
    return duration(round(seconds * SECOND))


def compare_page(answer: DrawnComparison) -> Page:
    title, *lede = headline(answer, PAGE).split("\n")
    names = [side.name for side in answer.sides]
    sections: list[Section] = []
    if answer.curves:
        sides = list(zip(names, answer.curves, strict=True))
        sections.append(TimeCharts("Over time", "sides", curves_of_sides(sides)))
    figures = [side.figures for side in answer.sides]
    shown = [
        name
        for name in dict.fromkeys(name for own in figures for name in own)
        if len({(each.low, each.high) if (each := own.get(name)) else None for own in figures}) > 1
    ]
    if shown:
        sections.append(_intervals(shown, names, figures))
    sections += [
        Table(
            f"{side.name}: differences to {names[0]}",
            ("Figure", "Difference"),
            [(label(name), difference_text(each)) for name, each in side.differences.items()
             if not each.within_noise],
            note="All other figures are within the noise.",
        )
        for side in answer.sides[1:]
        if any(not each.within_noise for each in side.differences.values())
    ]  # fmt: skip
    return Page(title, lede, (Tile("seeds", f"{len(answer.seeds):,}"),), sections)


def _intervals(
    names: Sequence[str], sides: Sequence[str], figures: Sequence[Mapping[str, Interval]]
) -> Ranges:
    """A row per figure, with the interval of each side on one scale."""
    rows = []
    for name in names:
        own = [side.get(name) for side in figures]
        marks = [
            None if each is None else Range(each.low, each.low, each.mean, each.high, each.high)
            for each in own
        ]
        scale = [end for each in own if each is not None for end in (each.low, each.high)]
        ends = f"{number(min(scale))} to {number(max(scale))}"
        cells = (label(name), *("" if each is None else interval_text(each) for each in own), ends)
        rows.append(ranges([(cells, marks)])[0])
    headers = ("Figure", *sides, "Scale of this row", "")
    return Ranges("Figures that differ", headers, rows, sides, _NOTE)
