"""What plugins answered for pods that look the same, kept as long as it holds.

A plugin's scope says how long that is: NODE answers never change in a run; ROW answers are redone
for the rows touched since, when somebody asks about them; CLUSTER answers are not kept. Plugins
have no caches of their own. Filter's part is here, Score's in score_memory.py.

Nodes' verdicts are kept as one code each: the place of the plugin that rejects the node first, and
a number for its status, so that the earliest rejection is the smallest code.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.snapshot import Rows, Snapshot
from ksched_cli.framework.cycle_state import CycleState
from ksched_cli.framework.interface import (
    FilterPlugin,
    Plugin,
    PreFilterPlugin,
    PreScorePlugin,
    Scope,
)
from ksched_cli.framework.nodes import Nodes
from ksched_cli.framework.results import Verdicts
from ksched_cli.framework.status import SUCCESS, Status

if TYPE_CHECKING:
    from ksched_cli.framework.cache.score_cache import ScoreCache

T = TypeVar("T")
Codes: TypeAlias = NDArray[np.int32]

PASSES = np.int32(np.iinfo(np.int32).max)
STATUS_BITS = 20
STATUS_MASK = (1 << STATUS_BITS) - 1

# As much of a log is read more quickly than a column.
LOG_SCAN_MAX = 100

# Of fewer nodes than this, the plain form of a plugin that has both is quicker.
SCALAR_PATH_MAX = 6


class FilterAsker(Protocol):
    """Asks plugins and takes care of their failures: FilterRunner."""

    def ask(
        self, plugin: FilterPlugin, state: CycleState, pod: PodInfo, nodes: Nodes
    ) -> Verdicts: ...

    def have_plain_form(self, plugins: Iterable[FilterPlugin]) -> bool:
        """Whether the plain form of all may be asked, too."""
        ...

    def all_pass(
        self, plugins: Sequence[FilterPlugin], state: CycleState, pod: PodInfo, nodes: Nodes
    ) -> bool:
        """Whether the nodes, asked about one by one, pass all the plugins; False leaves it open."""
        ...


def keeps(plugin: Plugin, pod: PodInfo) -> bool:
    """Whether the plugin's answers about the pod may be kept at all."""
    return plugin.scope_for(pod) is not Scope.CLUSTER


class RowVersions:
    """How much of the snapshot's log the kept answers take account of, by the rows' rank: nodes
    that are visited one after the other lie side by side."""

    __slots__ = ("_at", "_of_all", "snapshot")

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        self._at = np.full(len(snapshot), -1, dtype=np.int32)
        # The least of `_at`, once all rows were asked about.
        self._of_all: int | None = None

    def renew(self, nodes: Nodes) -> Nodes | None:
        """Those of the nodes whose answers are out of date, or were never given; None where there
        are none. From now on they are up to date: the caller sees to it."""
        places = self._stale_places(nodes)
        if not len(places):
            return None
        self._at[places] = len(self.snapshot.log)
        if len(places) == len(nodes):
            return nodes
        return Nodes(nodes.snapshot, self.snapshot.order[places])

    def _stale_places(self, nodes: Nodes) -> Rows:
        rows, first, log = nodes.rows, nodes.first, self.snapshot.log
        touched, at = self.snapshot.touched, self._at
        if rows is None:
            since, self._of_all = self._of_all, len(log)
            if since is not None and since >= len(log) - LOG_SCAN_MAX:
                return self.snapshot.rank[list(set(log[since:]))]
            return (touched > at).nonzero()[0]
        if first is not None:
            end = first + len(rows)
            return (touched[first:end] > at[first:end]).nonzero()[0] + first
        places = self.snapshot.rank[rows]
        return places[(touched[places] > at[places]).nonzero()[0]]


class Redone:
    """The nodes that Filter's answers were redone for, until Score has followed.

    followed: whether somebody does; who comes later has missed some
    """

    __slots__ = ("_waiting", "followed")

    def __init__(self) -> None:
        self.followed = False
        self._waiting: list[Nodes] = []

    def add(self, nodes: Nodes) -> None:
        self._waiting.append(nodes)
        if len(self._waiting) == LOG_SCAN_MAX:
            together = self._together()
            self._waiting = [Nodes(nodes.snapshot, np.unique(together.indices()))]

    def take(self) -> Nodes | None:
        """Those since the last time; None where there are none."""
        if not self._waiting:
            return None
        taken = self._waiting[0] if len(self._waiting) == 1 else self._together()
        self._waiting.clear()
        return taken

    def _together(self) -> Nodes:
        """A node may be there twice: that does no harm."""
        rows = np.concatenate([nodes.indices() for nodes in self._waiting])
        return Nodes(self._waiting[0].snapshot, rows)


@dataclass(slots=True)
class FilterCache:
    """The plugins of a profile up to the first whose answers are not kept.

    count:    how many plugins these are
    rows:     of those that take part, the ROW plugins; places: of theirs among all
    stamps:   how up to date the answers of `rows` are
    redone:   of which nodes they were redone
    plain:    whether the plain form of `rows` may be asked, too
    static_codes: codes of the NODE plugins; codes: of all of them; rejected: how many do not pass
    statuses: by number; those of codes
    """

    count: int
    stamps: RowVersions
    static_codes: Codes
    codes: Codes
    rows: tuple[FilterPlugin, ...] = ()
    places: tuple[int, ...] = ()
    plain: bool = False
    rejected: int = 0
    statuses: list[Status] = field(default_factory=lambda: [SUCCESS])
    numbers: dict[Status, int] = field(default_factory=dict)
    redone: Redone = field(default_factory=Redone)

    def verdicts(self, nodes: Nodes) -> Verdicts:
        """The kept verdicts of a selection, which is up to date."""
        if not self.rejected:
            return Verdicts.passing(len(nodes))
        codes = nodes.gather(self.codes)
        ids = np.where(codes == PASSES, 0, codes & STATUS_MASK).astype(np.int32)
        return Verdicts(ids, list(self.statuses))

    def renew(
        self, static_state: CycleState, pod: PodInfo, asker: FilterAsker, nodes: Nodes
    ) -> None:
        """Brings the verdicts of a selection up to date."""
        stale = self.stamps.renew(nodes) if self.rows else None
        if stale is None:
            return
        self.redone.add(stale)
        may_ask_plain = self.plain and not self.rejected and len(stale) < SCALAR_PATH_MAX
        if may_ask_plain and asker.all_pass(self.rows, static_state, pod, stale):
            return
        codes = static_codes = stale.gather(self.static_codes)
        for place, plugin in zip(self.places, self.rows, strict=True):
            verdicts = asker.ask(plugin, static_state, pod, stale)
            if len(verdicts.statuses) > 1:
                codes = np.minimum(codes, self.encode(place, verdicts))
        if codes is not static_codes or self.rejected:
            self._put(stale, codes)

    def _put(self, nodes: Nodes, codes: Codes) -> None:
        rows = nodes.indices()
        if self.codes is self.static_codes:
            self.codes = self.static_codes.copy()
        before = np.count_nonzero(self.codes[rows] != PASSES)
        self.rejected += int(np.count_nonzero(codes != PASSES) - before)
        self.codes[rows] = codes

    def encode(self, place: int, verdicts: Verdicts) -> Codes:
        """Verdicts as codes."""
        table = np.full(len(verdicts.statuses), PASSES, dtype=np.int32)
        for i, status in enumerate(verdicts.statuses[1:], start=1):
            number = self.numbers.get(status)
            if number is None:
                number = self.numbers[status] = len(self.statuses)
                self.statuses.append(status)
            table[i] = place << STATUS_BITS | number
        return table[verdicts.ids]


@dataclass(slots=True)
class CacheEntry:
    """All that is kept for one signature.

    static_state:     what the kept plugins wrote in PreFilter and PreScore, and who of them skips
    pre_filters: the PreFilter plugins that must still be asked; None: not known yet
    preparers:   the same of PreScore
    rate:        the share of the nodes looked at last that passed
    trials:      by row, see AnswerCache.trials; tried: how much of the log they take account of
    """

    static_state: CycleState = field(default_factory=CycleState)
    pre_filters: tuple[PreFilterPlugin, ...] | None = None
    preparers: tuple[PreScorePlugin, ...] | None = None
    filter: FilterCache | None = None
    score: ScoreCache | None = None
    rate: float = 1.0
    trials: dict[int, Any] = field(default_factory=dict)
    tried: int = 0


class NodeAnswers:
    """NODE answers that pods share which agree in what a plugin looks at."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str, Hashable], Any] = {}

    def once(self, kind: str, plugin: Plugin, pod: PodInfo, make: Callable[[], T]) -> T:
        """What `make` gave for the first of the pods. kind: tells one answer from another."""
        look = plugin.cache_key(pod)
        if look is None:
            return make()
        key = (kind, plugin.name, look)
        if key not in self._known:
            self._known[key] = make()
        found: T = self._known[key]
        return found


class AnswerCache:
    """Per signature, what is worth keeping: pods that only come once are not."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        self.node_answers = NodeAnswers()
        self._expected: Counter[int] = Counter()
        self._known: dict[int, CacheEntry] = {}

    def expect(self, pods: Iterable[PodInfo]) -> None:
        """The pods that will come."""
        self._expected.update(pod.signature for pod in pods)

    def about(self, pod: PodInfo) -> CacheEntry | None:
        """None where the pod is the only one of its kind."""
        known = self._known.get(pod.signature)
        if known is None and self._expected[pod.signature] > 1:
            known = self._known[pod.signature] = CacheEntry()
        return known

    def trials(self, pod: PodInfo) -> dict[int, Any] | None:
        """By row, what came of trials on nodes that have not changed since, for whoever tries to
        read and fill in. None where the pod is the only one of its kind."""
        known = self.about(pod)
        if known is None:
            return None
        for row in self.snapshot.log[known.tried :]:
            known.trials.pop(row, None)
        known.tried = len(self.snapshot.log)
        return known.trials

    def filtered(
        self,
        known: CacheEntry,
        plugins: Sequence[FilterPlugin],
        pod: PodInfo,
        nodes: Nodes,
        asker: FilterAsker,
    ) -> FilterCache:
        """What is kept of Filter, up to date for a selection."""
        kept = known.filter or self._first_filter(known, plugins, pod, asker)
        kept.renew(known.static_state, pod, asker, nodes)
        return kept

    def _first_filter(
        self, known: CacheEntry, plugins: Sequence[FilterPlugin], pod: PodInfo, asker: FilterAsker
    ) -> FilterCache:
        """Asks the NODE plugins about every node, once."""
        everything = Nodes(self.snapshot)
        passing = np.full(len(self.snapshot), PASSES, dtype=np.int32)
        count = next((i for i, p in enumerate(plugins) if not keeps(p, pod)), len(plugins))
        kept = FilterCache(count, RowVersions(self.snapshot), passing, passing)
        for place, plugin in enumerate(plugins[:count]):
            if plugin.name in known.static_state.skip_filter:
                continue
            if plugin.scope_for(pod) is Scope.ROW:
                kept.rows += (plugin,)
                kept.places += (place,)
                continue
            ask = partial(asker.ask, plugin, known.static_state, pod, everything)
            verdicts = self.node_answers.once("filter", plugin, pod, ask)
            if len(verdicts.statuses) > 1:
                kept.static_codes = np.minimum(kept.static_codes, kept.encode(place, verdicts))
        kept.plain = asker.have_plain_form(kept.rows)
        kept.codes = kept.static_codes
        kept.rejected = int(np.count_nonzero(kept.static_codes != PASSES))
        known.filter = kept
        return kept
