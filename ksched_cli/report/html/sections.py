"""What a page is made of. Each section has a template of its own, in templates/sections."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from ksched_cli.report.html.charts import Bar, Histogram
from ksched_cli.report.html.curves import Curves
from ksched_cli.report.html.spreads import Box, Plane


@dataclass(frozen=True, slots=True)
class Tile:
    """A number at the top of a page. tone: good, warn, bad, or "" for neither."""

    label: str
    value: str
    tone: str = ""


@dataclass(frozen=True, slots=True)
class Prose:
    """Paragraphs. Messages of kube-scheduler's among them keep their words."""

    template: ClassVar[str] = "prose"
    heading: str
    paragraphs: Sequence[str]
    tone: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """A table of few rows, which is there without JavaScript too. Cells that are numbers are
    aligned as such."""

    template: ClassVar[str] = "table"
    heading: str
    headers: Sequence[str]
    rows: Sequence[Sequence[Any]]
    note: str = ""


@dataclass(frozen=True, slots=True)
class Grid:
    """A table of any number of rows, sorted and filtered in the page.

    name:    of the grid in the page's data
    columns: as columns.column makes them
    """

    template: ClassVar[str] = "grid"
    heading: str
    name: str
    columns: Sequence[Mapping[str, Any]]
    note: str = ""

    @property
    def length(self) -> int:
        first = self.columns[0]
        return len(first["index"] if "index" in first else first["values"])


@dataclass(frozen=True, slots=True)
class Group:
    """A block that opens: what it is, a message, a table of reasons, and the names in it.

    lede: lines before the message
    count: how many there are, of which names may be the first
    """

    heading: str
    message: str
    state: str
    tone: str
    headers: Sequence[str] = ()
    rows: Sequence[Sequence[Any]] = ()
    names: Sequence[str] = ()
    count: int = 0
    lede: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Groups:
    """opened: how many of the first are shown whole"""

    template: ClassVar[str] = "groups"

    heading: str
    groups: Sequence[Group]
    note: str = ""
    opened: int = 3


@dataclass(frozen=True, slots=True)
class Bars:
    """Bars beneath each other, each of one part or several; legend: the parts' names."""

    template: ClassVar[str] = "bars"
    heading: str
    headers: Sequence[str]
    bars: Sequence[Bar]
    legend: Sequence[str] = ()
    note: str = ""


@dataclass(frozen=True, slots=True)
class Histograms:
    """Distributions of the same things beside each other; series: their names."""

    template: ClassVar[str] = "histograms"
    heading: str
    histograms: Sequence[Histogram]
    series: Sequence[str]
    note: str = ""


@dataclass(frozen=True, slots=True)
class NodeMap:
    """One cell a node. data: as cluster_map.figures makes it."""

    template: ClassVar[str] = "map"
    heading: str
    data: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Pair:
    """Any two nodes side by side. data: as explanation.pair_data makes it."""

    template: ClassVar[str] = "pair"
    heading: str
    data: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Boxes:
    """A metric's spread, a line for each variant."""

    template: ClassVar[str] = "boxes"
    heading: str
    headers: Sequence[str]
    boxes: Sequence[Box]
    note: str = ""


@dataclass(frozen=True, slots=True)
class Scatter:
    """Variants as points in the plane of two metrics."""

    template: ClassVar[str] = "scatter"
    heading: str
    plane: Plane
    note: str = ""


@dataclass(frozen=True, slots=True)
class CurveCharts:
    """Charts of quantities over time, beneath each other."""

    template: ClassVar[str] = "curves"
    heading: str
    charts: Sequence[Curves]
    note: str = ""


Section = (
    Prose
    | Table
    | Grid
    | Groups
    | Bars
    | Histograms
    | NodeMap
    | Pair
    | Boxes
    | Scatter
    | CurveCharts
)


@dataclass(frozen=True, slots=True)
class Page:
    """title: the first line; lede: those that follow it."""

    title: str
    lede: Sequence[str] = ()
    tiles: Sequence[Tile] = ()
    sections: Sequence[Section] = field(default_factory=tuple)

    def data(self) -> dict[str, Any]:
        """What the page's JavaScript reads."""
        data: dict[str, Any] = {"grids": {}}
        for section in self.sections:
            if isinstance(section, Grid):
                data["grids"][section.name] = section.columns
            elif isinstance(section, NodeMap):
                data["map"] = section.data
            elif isinstance(section, Pair):
                data["pair"] = section.data
        return data
