"""Curves over time as data that the page's script draws, and as a table of their figures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ksched_cli.analysis.replay_result import Curve, EventKind, ReplayCurves
from ksched_cli.cluster.resources import PODS
from ksched_cli.kube.time import SECOND
from ksched_cli.report.times import MomentTexts
from ksched_cli.report.view import Shown
from ksched_cli.report.words import printable

HEADERS = ("", "Mean", "Highest", "First at", "At the end")
STRANDED = "Stranded: free on nodes without room for a pod of mean requests."
_COLOURS = 10
_SMALL = 0.5  # at most so much of the nodes' pods is not worth a curve
_BAND = (
    "Lines: mean of {0:,} seeds, each of which breaks ties between equally good nodes in another "
    "way. Bands: from the lowest to the highest."
)
_EVENTS = (
    "Marks above the charts: \u25b2 nodes join or a scale-up, \u25bc nodes leave, a scale-down or "
    "evictions, \u25c6 changes of the timeline"
)
_SIDES = "; coloured where only one side has it"
_NIGHT = "Shaded: 18:00 to 06:00 UTC."
_HOW = "Drag to zoom, double-click for the whole time; arrow keys move the line, + and - zoom."


class ChartCurve(NamedTuple):
    """A curve in a chart. colour: its number"""

    name: str
    curve: Curve
    colour: int


class Chart(NamedTuple):
    title: str
    lines: Sequence[ChartCurve]
    is_share: bool = False


class Curves(Shown, frozen=True):
    """Charts along one time axis.

    start: seconds since 1970; None: times are counted from the start
    end: seconds after the start
    events: by the side that they are of: times, kinds and texts
    """

    charts: Sequence[Chart]
    start: int | None
    end: float
    events: Sequence[tuple[str, ReplayCurves]]
    note: str

    def data(self) -> dict[str, Any]:
        """Return what the page's script draws. Times that charts share are there once."""
        times: dict[tuple[float, ...], int] = {}

        def line(each: ChartCurve) -> dict[str, Any]:
            curve, extent = each.curve, each.curve.extent
            return {
                "name": printable(each.name),
                "colour": each.colour % _COLOURS,
                "times": times.setdefault(tuple(curve.times), len(times)),
                "values": [round(value, 4) for value in curve.values],
                "max": extent and [extent.max_at, extent.max],
                **({"low": curve.low, "high": curve.high} if curve.low else {}),
            }

        charts = [
            {
                "title": printable(chart.title),
                "isShare": chart.is_share,
                "lines": [*map(line, chart.lines)],
            }
            for chart in self.charts
        ]
        # An event is a time, kind, text and side; it has no side if all sides have it.
        first, *others = (curves.events for _, curves in self.events)
        common = set(first).intersection(*others)
        events: list[tuple[float, str, str, int | None]] = [
            (event.at, event.kind, printable(event.text), None)
            for event in first
            if event in common
        ]
        events += [
            (event.at, event.kind, printable(f"{name}: {event.text}"), side)
            for side, (name, curves) in enumerate(self.events)
            for event in curves.events
            if event not in common
        ]
        return {
            "start": self.start,
            "end": self.end,
            "charts": charts,
            "times": [*times],
            "events": events,
            "kinds": [*EventKind],
        }

    @property
    def rows(self) -> list[tuple[str, ...]]:
        """Return the figures of each line, see HEADERS."""
        moment = MomentTexts(self.start, round(self.end * SECOND))

        def row(chart: Chart, line: ChartCurve) -> tuple[str, ...]:
            extent = line.curve.extent
            figures = (
                ("", "", "")
                if extent is None
                else (
                    figure_text(extent.mean, chart.is_share),
                    figure_text(extent.max, chart.is_share),
                    moment.text(round(extent.max_at * SECOND)),
                )
            )
            last = figure_text(line.curve.values[-1], chart.is_share)
            return (f"{chart.title}: {line.name}", *figures, last)

        return [row(chart, line) for chart in self.charts for line in chart.lines]


def curves_of_run(
    curves: ReplayCurves, more: Mapping[str, Mapping[str, Curve]] | None = None
) -> Curves:
    """Return a chart per kind of quantity, of one replay or of several draws of it. more: other
    charts"""
    charts = [
        _chart("Pods", curves.pods),
        _chart("Nodes", curves.nodes),
        _chart("Utilisation", _utilization(curves), is_share=True),
        _chart("Stranded", curves.stranded, is_share=True),
        *(_chart(title, own) for title, own in (more or {}).items()),
    ]
    return Curves(
        [chart for chart in charts if chart.lines],
        curves.start,
        curves.end,
        (("", curves),),
        _note(curves, has_stranded=bool(curves.stranded)),
    )


def curves_of_sides(sides: Sequence[tuple[str, ReplayCurves]]) -> Curves:
    """Return a chart per quantity, with a line for each side. sides: name and curves"""
    first = sides[0][1]
    charts = [
        *_by_quantity([(name, each.pods) for name, each in sides], "{} pods"),
        *_by_quantity([(name, each.nodes) for name, each in sides], "{}"),
        *_by_quantity(
            [(name, _utilization(each)) for name, each in sides],
            "utilisation of {}",
            is_share=True,
        ),
    ]
    end = max(curves.end for _, curves in sides)
    return Curves(charts, first.start, end, sides, _note(first, has_stranded=False, has_sides=True))


def _by_quantity(
    sides: Sequence[tuple[str, Mapping[str, Curve]]], title: str, *, is_share: bool = False
) -> Iterator[Chart]:
    for quantity in dict.fromkeys(name for _, curves in sides for name in curves):
        lines = [
            ChartCurve(name, curves[quantity], colour)
            for colour, (name, curves) in enumerate(sides)
            if quantity in curves
        ]
        text = title.format(quantity)
        yield Chart(text[:1].upper() + text[1:], lines, is_share)


def _utilization(curves: ReplayCurves) -> dict[str, Curve]:
    """Return the curves of utilization; that of the nodes' room for pods only where it is much: the
    number of pods has a chart."""
    return {
        name: curve
        for name, curve in curves.utilization.items()
        if name != PODS or max((*curve.values, *curve.high)) > _SMALL
    }


def _chart(title: str, curves: Mapping[str, Curve], *, is_share: bool = False) -> Chart:
    lines = [ChartCurve(name, curve, colour) for colour, (name, curve) in enumerate(curves.items())]
    return Chart(title, lines, is_share)


def _note(curves: ReplayCurves, *, has_stranded: bool, has_sides: bool = False) -> str:
    parts = [
        _BAND.format(curves.draws) if curves.draws > 1 else "",
        _NIGHT if curves.start is not None else "",
        STRANDED if has_stranded else "",
        f"{_EVENTS}{_SIDES if has_sides else ''}." if curves.events or has_sides else "",
        _HOW,
    ]
    return " ".join(filter(None, parts))


def figure_text(value: float, is_share: bool) -> str:
    if is_share:
        return f"{value:.0%}"
    return f"{value:,.1f}".removesuffix(".0")
