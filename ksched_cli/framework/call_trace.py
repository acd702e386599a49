"""The calls of plugins about each pod, how long they took, and why other plugins were not called:
what `--timings` and `--debug` show.

Each plugin that PluginCaller makes is followed: its methods note that they are called. Where a run
is not traced, this costs nothing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import wraps
from itertools import chain
from time import perf_counter_ns
from typing import Any

from msgspec import Struct, field

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.framework.cycle_state import CycleState
from ksched_cli.framework.interface import (
    CONTRACTS,
    FilterPlugin,
    Plugin,
    ScorePlugin,
)
from ksched_cli.framework.registry import PluginEntry

# In the order of an attempt. Those of queueSort are called about two pods at a time.
_METHODS: Mapping[str, tuple[str, ...]] = {
    "preEnqueue": ("pre_enqueue",),
    "preFilter": ("pre_filter",),
    "filter": ("filter", "filter_nodes"),
    "postFilter": ("post_filter",),
    "preScore": ("pre_score",),
    "score": ("score", "score_nodes", "row_scorer"),
    "reserve": ("reserve",),
    "permit": ("permit",),
    "preBind": ("pre_bind",),
    "bind": ("bind",),
    "postBind": ("post_bind",),
}
# By point: the one at which the skipped plugins are noted, and why they are.
_SKIPS: Mapping[str, tuple[str, str]] = {
    "filter": ("filter", "skipped by PreFilter"),
    "score": ("score", "skipped by PreScore"),
    "reserve": ("filter", "skipped by PreFilter"),
    "preBind": ("filter", "skipped by PreFilter"),
}
# From how much time in a run on the array form is worth writing.
SLOW_SECONDS = 0.2
_CACHED = "cached from a pod that looks the same"
_REPEATED = "no plugin was called: rejected as a pod that looks the same just was"


class Calls(Struct):
    """Calls of a plugin at an extension point: how many, and in nanoseconds of the process's clock
    how long they took, when the first began and when the last ended."""

    number: int = 0
    duration: int = 0
    begin: int = 0
    end: int = 0


# By extension point and plugin.
CallsByPlugin = dict[tuple[str, str], Calls]


class AttemptCalls(Struct):
    """The calls in one attempt, and when it began and ended, as in Calls."""

    begin: int
    end: int = 0
    calls: CallsByPlugin = field(default_factory=dict)


class PodCalls(Struct):
    """The calls about a pod.

    profile:  the scheduler name of its profile
    attempts: in turn
    between:  the calls outside attempts
    skipped:  per extension point, the plugins; of this dict, only the keys count
    cached:   the points where the other plugins' answers came from a cache
    repeated: an attempt was the repetition of another pod's rejection
    """

    profile: str
    attempts: list[AttemptCalls] = field(default_factory=list)
    between: CallsByPlugin = field(default_factory=dict)
    skipped: dict[str, dict[str, None]] = field(default_factory=dict)
    cached: set[str] = field(default_factory=set)
    repeated: bool = False

    def every(self) -> Iterator[tuple[tuple[str, str], Calls]]:
        """Yield all calls, of an extension point and plugin once per attempt."""
        for calls in (self.between, *(attempt.calls for attempt in self.attempts)):
            yield from calls.items()


class CallTrace:
    """pods: by key, in the order in which plugins were first called about them"""

    def __init__(self) -> None:
        self.pods: dict[str, PodCalls] = {}
        # Where plugins from outside answer node by node: by point and plugin, the array form.
        self._plain: dict[tuple[str, str], str] = {}
        self._attempt: tuple[str, AttemptCalls] | None = None
        # Those that run: a form may call another one.
        self._running: set[tuple[str, str]] = set()

    def _of(self, pod: PodInfo) -> PodCalls:
        return self.pods.setdefault(pod.key, PodCalls(pod.spec.scheduler_name))

    @contextmanager
    def attempt(self, pod: PodInfo) -> Iterator[None]:
        """Note that the calls about the pod meanwhile are of one attempt."""
        attempt = AttemptCalls(perf_counter_ns())
        self._of(pod).attempts.append(attempt)
        before, self._attempt = self._attempt, (pod.key, attempt)
        try:
            yield
        finally:
            attempt.end = perf_counter_ns()
            self._attempt = before

    def follow(self, plugin: Plugin, *, is_foreign: bool = False) -> None:
        """Note the plugin's calls from now on. is_foreign: it is always called in the array form"""
        plain = _plain_forms(plugin) if is_foreign else {}
        for point, names in _METHODS.items():
            for name in names:
                method = getattr(plugin, name, None)
                if method is None or name in plain.values():
                    continue
                if name in plain:
                    self._plain[point, plugin.name] = name
                setattr(plugin, name, self._noting((point, plugin.name), method))

    def _noting(self, place: tuple[str, str], method: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(method)
        def noting(*arguments: Any) -> Any:
            pod = next((each for each in arguments if isinstance(each, PodInfo)), None)
            if pod is None or place in self._running:
                return method(*arguments)
            self._running.add(place)
            begin = perf_counter_ns()
            try:
                return method(*arguments)
            finally:
                end = perf_counter_ns()
                self._running.discard(place)
                calls = self._calls(pod).setdefault(place, Calls(begin=begin))
                calls.number += 1
                calls.duration += end - begin
                calls.end = end

        return noting

    def _calls(self, pod: PodInfo) -> CallsByPlugin:
        if self._attempt is not None and self._attempt[0] == pod.key:
            return self._attempt[1].calls
        return self._of(pod).between

    def evaluated(
        self, pod: PodInfo, state: CycleState, reached: Iterable[str], is_cached: bool
    ) -> None:
        """Note which points were skipped or cached, after PreFilter to Score.

        reached: the points among them that were reached
        is_cached: whether answers for other pods were used
        """
        calls = self._of(pod)
        calls.skipped.setdefault("filter", {}).update(dict.fromkeys(state.skip_filter))
        calls.skipped.setdefault("score", {}).update(dict.fromkeys(state.skip_score))
        if is_cached:
            calls.cached.update(reached)

    def repeated(self, pod: PodInfo) -> None:
        """Note that the pod was rejected without any call."""
        self._of(pod).repeated = True

    def totals(self) -> CallsByPlugin:
        """Return the calls about all pods, in the order of an attempt."""
        totals: CallsByPlugin = defaultdict(Calls)
        for place, calls in chain.from_iterable(pod.every() for pod in self.pods.values()):
            totals[place].number += calls.number
            totals[place].duration += calls.duration
        points = list(_METHODS)
        return {place: totals[place] for place in sorted(totals, key=lambda p: points.index(p[0]))}

    def slow_lines(self) -> Iterator[str]:
        """Yield the plugins that would better answer for all nodes at once."""
        for place, calls in self.totals().items():
            name, seconds = self._plain.get(place, ""), calls.duration / 1e9
            if name and seconds >= SLOW_SECONDS:
                plugin, plain = place[1], name.removesuffix("_nodes")
                yield (
                    f"{plugin}: {plain} took {seconds:.1f} s, node by node; {name} can answer for"
                    " all nodes at once"
                )

    def lines(
        self,
        profile: str,
        plugins: Iterable[Plugin],
        enabled: Mapping[str, Collection[str]],
        registry: Mapping[str, PluginEntry],
    ) -> Iterator[str]:
        """Yield why plugins were called or not: those that the profile never calls, or not at every
        point that they extend; then what happened to its pods, those alike together.

        profile: its scheduler name
        plugins: that it has
        enabled: their names, by point
        registry: all plugins, by name
        """
        names = set()
        for plugin in plugins:
            names.add(plugin.name)
            extended = registry[plugin.name].points
            disabled = [p for p in sorted(extended) if plugin.name not in enabled.get(p, ())]
            if disabled:
                yield f"{plugin.name}: disabled at {', '.join(disabled)}"
            absent = [
                point
                for point, enabled_names in enabled.items()
                if point in CONTRACTS and plugin.name in enabled_names and point not in extended
            ]
            if absent:
                yield f"{plugin.name}: enabled at {', '.join(absent)}, which it does not extend"
        unused = sorted(set(registry) - names)
        if unused:
            yield f"not enabled: {', '.join(unused)}"
        alike: dict[tuple[str, ...], list[str]] = {}
        for key, calls in self.pods.items():
            if calls.profile == profile:
                alike.setdefault(tuple(_pod_lines(calls, enabled)), []).append(key)
        for lines, keys in alike.items():
            more = f" and {len(keys) - 1:,} more" if len(keys) > 1 else ""
            yield f"{keys[0]}{more}:"
            yield from (f"  {line}" for line in lines)


def _plain_forms(plugin: Plugin) -> dict[str, str]:
    """Return the array forms that call the plain form for each node, with these."""
    kind, forms = type(plugin), {}
    if getattr(kind, "filter_nodes", None) is FilterPlugin.filter_nodes:
        forms["filter_nodes"] = "filter"
    if getattr(kind, "score_nodes", None) is ScorePlugin.score_nodes:
        forms["score_nodes"] = "score"
    return forms


def _pod_lines(calls: PodCalls, enabled: Mapping[str, Collection[str]]) -> Iterator[str]:
    if calls.repeated:
        yield _REPEATED
    called = {place for place, _ in calls.every()}
    is_placed = any(point == "bind" for point, _ in called)
    for point in _METHODS:
        reason = _CACHED if point in calls.cached else "not reached"
        skip = _SKIPS.get(point, (point, ""))
        by_reason: dict[str, list[str]] = {"called": []}
        for name in dict.fromkeys(enabled.get(point, ())):
            if (point, name) in called:
                by_reason["called"].append(name)
            elif name in calls.skipped.get(skip[0], ()) and (skip[0] == point or is_placed):
                by_reason.setdefault(skip[1], []).append(name)
            else:
                by_reason.setdefault(reason, []).append(name)
        for text, names in by_reason.items():
            if names:
                yield f"{point:<10} {text}: {', '.join(names)}"
