"""What a page is made of. Each section has a template of its own, in templates/sections."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

from ksched_cli.report import view
from ksched_cli.report.html.charts import Bar, Flow, Histogram, Plane, RangeRow
from ksched_cli.report.html.curves import HEADERS, Curves
from ksched_cli.report.view import Command, Medium
from ksched_cli.report.view import Tile as Tile


class _OnPage(view.Section, frozen=True, kw_only=True):
    on: Medium = Medium.PAGE


class PageSection(_OnPage, frozen=True):
    """A part of a page alone, with a heading."""

    heading: str


class Prose(PageSection, frozen=True):
    """Paragraphs. Messages of kube-scheduler's among them keep their words."""

    paragraphs: Sequence[str | view.Line]
    tone: str = ""


class TableSection(PageSection, frozen=True):
    """A table of few rows, which is there without JavaScript too. Cells that are numbers are
    aligned as such."""

    headers: Sequence[str]
    rows: Sequence[Sequence[Any]]
    note: str = ""


class Figure(str):
    """A cell that is aligned as a number."""

    __slots__ = ()


class CommandList(PageSection, frozen=True):
    """Commands with a button that copies them."""

    commands: Sequence[Command]
    note: str = ""


class Grid(PageSection, frozen=True):
    """A table of any number of rows, sorted and filtered in the page.

    name:    of the grid in the page's data
    columns: as columns.column makes them
    """

    name: str
    columns: Sequence[Mapping[str, Any]]
    note: str = ""

    @property
    def length(self) -> int:
        first = next(iter(self.columns), {"values": ()})
        return len(first["index"] if "index" in first else first["values"])


class Group(view.Shown, frozen=True):
    """A block that opens: what it is, a message, a table of reasons, and the names in it.

    lede: lines before the message
    count: how many there are, of which names may be the first
    sections: after the message, without headings of their own in the page's contents
    """

    heading: str
    message: str
    state: str
    tone: str
    headers: Sequence[str] = ()
    rows: Sequence[Sequence[Any]] = ()
    names: Sequence[str] = ()
    count: int = 0
    lede: Sequence[str | view.Line] = ()
    sections: Sequence[PageSection] = ()


class GroupsSection(PageSection, frozen=True):
    """opened: how many of the first are shown whole"""

    groups: Sequence[Group]
    note: str = ""
    opened: int = 3


class BarsSection(PageSection, frozen=True):
    """Bars beneath each other, each of one part or several; legend: the parts' names."""

    headers: Sequence[str]
    bars: Sequence[Bar]
    legend: Sequence[str] = ()
    note: str = ""


class Histograms(PageSection, frozen=True):
    """Distributions of the same things beside each other; series: their names."""

    histograms: Sequence[Histogram]
    series: Sequence[str]
    note: str = ""


class NamedFlow(NamedTuple):
    heading: str
    flow: Flow


class Flows(PageSection, frozen=True):
    """Which pods go from where to where, drawn as bands between places."""

    flows: Sequence[NamedFlow]
    note: str = ""


class NodeMap(PageSection, frozen=True):
    """One cell a node. data: as cluster_map.figures makes it."""

    data: Mapping[str, Any]


class Pair(PageSection, frozen=True):
    """Any two nodes side by side, found by their names. data: as explanation.pair_data makes it."""

    keeps_names: ClassVar[bool] = True

    data: Mapping[str, Any]


class Ranges(PageSection, frozen=True):
    """Intervals beneath each other; legend: the names of their series, where there are several."""

    headers: Sequence[str]
    rows: Sequence[RangeRow]
    legend: Sequence[str] = ()
    note: str = ""


class MetricColumn(NamedTuple):
    """A column of small multiples. goal: which way is better; least, most: the ends of its scale"""

    name: str
    goal: str
    least: str
    most: str


class Multiple(NamedTuple):
    """A metric of a variant. is_best: no variant is better by its median"""

    text: str
    note: str
    range: RangeRow
    is_best: bool


class MultiplesRow(NamedTuple):
    """A variant. tag: a word beside its name; cells: by metric, None where it has none"""

    name: str
    tag: str
    cells: Sequence[Multiple | None]


class Multiples(PageSection, frozen=True):
    """Variants by metrics: a small chart in each cell, those of a metric on one scale."""

    metrics: Sequence[MetricColumn]
    rows: Sequence[MultiplesRow]
    note: str = ""


class Scatter(PageSection, frozen=True):
    """Variants as points in the plane of two metrics."""

    plane: Plane
    note: str = ""


class TimeCharts(PageSection, frozen=True):
    """Quantities over time: charts beneath each other along one time axis, and their figures."""

    headers: ClassVar[Sequence[str]] = HEADERS
    name: str
    curves: Curves


class Gantt(PageSection, frozen=True):
    """Bars of pods by node over time, which the page's script draws from its table of pods.

    data: start: seconds since 1970, None where times are counted from the start; end: in seconds
    """

    data: Mapping[str, Any]
    note: str = ""


class HtmlPage(view.Shown, frozen=True):
    """title: the first line; lede: those that follow it; tone: of the title"""

    title: str
    lede: Sequence[str | view.Line] = ()
    tiles: Sequence[Tile] = ()
    sections: Sequence[PageSection] = ()
    tone: str = ""

    def data(self) -> dict[str, Any]:
        """Return what the page's JavaScript reads."""
        data: dict[str, Any] = {"grids": {}, "curves": {}}
        for section in self.sections:
            if isinstance(section, Grid):
                data["grids"][section.name] = section.columns
            elif isinstance(section, TimeCharts):
                data["curves"][section.name] = section.curves.data()
            elif isinstance(section, NodeMap):
                data["map"] = section.data
            elif isinstance(section, Pair):
                data["pair"] = section.data
            elif isinstance(section, Gantt):
                data["gantt"] = section.data
        return data
