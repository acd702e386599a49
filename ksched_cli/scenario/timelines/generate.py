"""Random timelines: pods of given templates come, run and end, or as in weeks that were recorded;
the same for a seed."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from heapq import merge
from itertools import accumulate
from math import ceil

import msgspec

from ksched_cli.cluster.objects import Pod
from ksched_cli.cluster.state import ClusterState
from ksched_cli.errors import InputError, UsageError, ignore
from ksched_cli.kube.documents import decode_text, load_documents, read_file
from ksched_cli.kube.int64 import parse_int64
from ksched_cli.kube.json_tree import value_at
from ksched_cli.kube.plain_json import plain_json
from ksched_cli.kube.stored_bytes import unpacked
from ksched_cli.kube.time import SECOND, unix_seconds
from ksched_cli.scenario.objects import load_objects
from ksched_cli.scenario.timeline import Arrival, Timeline, TimelineDocument, read_timeline
from ksched_cli.scenario.timelines.dump import LINE_SUFFIXES, history_owner, timeline_of_dump
from ksched_cli.scenario.timelines.event_lines import LONGEST, Plain, header, number

# -- distributions --------------------------------------------------------------------------------


DAY = 86_400.0
_BURST = 10  # pods, by default
_WIDEST = 20  # of a logarithm

# Takes how many pods come, and in how many seconds; seconds after the start, in order.
Arrivals = Callable[[random.Random, int, float], list[float]]
# Seconds.
RunTime = Callable[[random.Random], float]

ARRIVALS = "uniform, poisson, burst[:SIZE], diurnal or weekly"
RUN_TIMES = "fixed:S, uniform:MIN:MAX, exponential:MEAN or lognormal:MEDIAN:SIGMA"


def arrivals_of(text: str) -> Arrivals:
    """Parse a distribution as it is written. Raises UsageError for another text."""
    match text.split(":"):
        case ["uniform"]:
            return lambda draw, pods, length: [length * index / pods for index in range(pods)]
        case ["poisson"]:
            return _poisson
        case ["diurnal"]:
            return _diurnal
        case ["burst"]:
            return _bursts(_BURST)
        case ["burst", size] if (parse_int64(size) or 0) > 0:
            return _bursts(parse_int64(size) or 0)
    raise UsageError(f'--arrivals takes {ARRIVALS}; not "{text}"')


def _poisson(draw: random.Random, pods: int, length: float) -> list[float]:
    """Draw arrivals at random, as many at any time."""
    return sorted(draw.uniform(0, length) for _ in range(pods))


def _diurnal(draw: random.Random, pods: int, length: float) -> list[float]:
    """Draw arrivals at random, most at noon and none at midnight."""
    times: list[float] = []
    while len(times) < pods:
        at = draw.uniform(0, length)
        if draw.random() < (1 - math.cos(2 * math.pi * at / DAY)) / 2:
            times.append(at)
    return sorted(times)


def _bursts(size: int) -> Arrivals:
    """Return arrivals in bursts of this size, at random times."""

    def arrivals(draw: random.Random, pods: int, length: float) -> list[float]:
        times = _poisson(draw, -(-pods // size), length)
        return [at for at in times for _ in range(min(size, pods))][:pods]

    return arrivals


def run_time_of(text: str, source: str = "--runs-for") -> RunTime:
    """Return a distribution as it is written. source: what errors say it is from. Raises UsageError
    for another text."""
    name, *parameters = text.split(":")
    try:
        numbers = [float(number) for number in parameters]
    except ValueError:
        numbers = []
    match name, numbers if all(0 <= number <= LONGEST for number in numbers) else []:
        case "fixed", [length]:
            return lambda draw: length
        case "uniform", [least, most] if least <= most:
            return lambda draw: draw.uniform(least, most)
        case "exponential", [mean] if mean:
            return lambda draw: draw.expovariate(1 / mean)
        case "lognormal", [median, sigma] if median and sigma <= _WIDEST:
            return lambda draw: draw.lognormvariate(math.log(median), sigma)
    raise UsageError(f'{source} takes {RUN_TIMES}, in seconds; not "{text}"')


# -- templates ------------------------------------------------------------------------------------

START = datetime(2026, 1, 5, tzinfo=UTC)  # a Monday
WEIGHT, RUNS_FOR = "ksched/weight", "ksched/runs-for"
_MAX_WEIGHT = 1e9
WEIGHTS = "a number greater than 0, 1e9 at most"
_HINT = "Expected manifests of pods, or of objects with spec.template, as a Job or Deployment."


@dataclass(frozen=True, slots=True)
class DrawnTemplate:
    """A pod to make others of. weight: how often it comes, beside the others."""

    manifest: Plain
    weight: float
    run_time: RunTime | None = None


def read_templates(path: str, weight: float = 1.0) -> list[DrawnTemplate]:
    """Return the pods of a file, and those of its workloads, which share the weight.

    The annotations ksched/weight and ksched/runs-for say of one how often it comes and how long it
    runs. Raises InputError.
    """
    raw, name = read_file(path)
    templates = []
    for document in load_documents(decode_text(raw, name), name):
        items = document.get("items") if isinstance(document, dict) else None
        objects = items if isinstance(items, list) else [document]
        templates += [_template(item, name) for item in objects]
    total = sum(template.weight for template in templates)
    return [replace(each, weight=each.weight * weight / total) for each in templates]


def _template(document: object, source: str) -> DrawnTemplate:
    if not isinstance(document, dict):
        raise InputError(source, "an object is expected", hint=_HINT)
    pod, kind = document, document.get("kind")
    if kind == "CronJob":
        pod = value_at(document, ("spec", "jobTemplate", "spec", "template"))
    elif kind not in ("Pod", None):
        pod = value_at(document, ("spec", "template"))
    if not (isinstance(pod, dict) and isinstance(pod.get("spec"), dict)):
        raise InputError(source, f"{kind or 'an object'} has no pod in it", hint=_HINT)
    own, of_pod = _object(document, "metadata", source), _object(pod, "metadata", source)
    metadata = {"namespace": own.get("namespace"), **of_pod}
    annotations = {**_object(own, "annotations", source), **_object(of_pod, "annotations", source)}
    text = str(annotations.pop(WEIGHT, 1))
    weight = parse_weight(text)
    if weight is None:
        raise InputError(source, f'"{text}" is not a weight; expected {WEIGHTS}')
    runs_for = annotations.pop(RUNS_FOR, None)
    named = {**metadata, "annotations": annotations if pod is document else None}
    hidden = ("name", "uid", "creationTimestamp", "resourceVersion")
    metadata = {key: value for key, value in named.items() if value and key not in hidden}
    manifest = {"metadata": metadata, "spec": pod["spec"]}
    pod = {"apiVersion": "v1", "kind": "Pod", **manifest}
    load_objects(ClusterState(), [{**pod, "metadata": {**metadata, "name": "p"}}], source)
    run_time = None if runs_for is None else run_time_of(str(runs_for), f"{source}: {RUNS_FOR}")
    return DrawnTemplate(manifest, weight, run_time)


def _object(document: Plain, key: str, source: str) -> Plain:
    """Return the object at a key, which is empty if there is none. Raises InputError for anything
    that is not an object."""
    value = document.get(key)
    if value is not None and not isinstance(value, dict):
        raise InputError(source, f"{key}: expected an object, got {value!r:.60}", hint=_HINT)
    return value or {}


def parse_weight(text: str) -> float | None:
    """Parse a weight; None for another text. Sums and products of weights are numbers, too, and not
    0."""
    try:
        weight = float(text)
    except ValueError:
        return None
    return weight if 1 / _MAX_WEIGHT <= weight <= _MAX_WEIGHT else None


@dataclass(frozen=True, slots=True)
class Generator:
    """pods: how many come, in so many seconds. priorities: with their weights; none: those of the
    templates"""

    templates: Sequence[DrawnTemplate]
    arrivals: Arrivals
    run_time: RunTime
    pods: int
    length: float
    priorities: Sequence[tuple[int, float]] = ()
    start: datetime = START

    def __post_init__(self) -> None:
        if not self.templates:
            raise UsageError("there is no pod template")

    def header(self) -> Plain:
        manifests = {}
        for index, template in enumerate(self.templates):
            if not self.priorities:
                manifests[self._name(index, None)] = template.manifest
            for priority, _ in self.priorities:
                spec = {**template.manifest["spec"], "priority": priority}
                spec.pop("priorityClassName", None)
                manifests[self._name(index, priority)] = {**template.manifest, "spec": spec}
        return header(self.start, manifests)

    @staticmethod
    def _name(index: int, priority: int | None) -> str:
        return f"t{index}" if priority is None else f"t{index}-priority-{priority}"

    def events(self, seed: int) -> Iterator[Plain]:
        draw = random.Random(seed)  # nosec B311  # the same pods for the same seed
        weights = [template.weight for template in self.templates]
        levels, shares = [level for level, _ in self.priorities], [s for _, s in self.priorities]
        indices = range(len(self.templates))
        for count, at in enumerate(self.arrivals(draw, self.pods, self.length)):
            (index,) = draw.choices(indices, weights)
            priority = draw.choices(levels, shares)[0] if levels else None
            run_time = self.templates[index].run_time or self.run_time
            yield {
                "at": number(round(at, 3)),
                "pod": f"pod-{count}",
                "template": self._name(index, priority),
                "runsFor": number(round(min(run_time(draw), LONGEST), 3)),
            }


# -- weeks ----------------------------------------------------------------------------------------
# Arrivals of pods in a week: by weekday and hour, with holidays; and a week like another one.
#
# A shape has a weight for each hour of a week. It is given, or fitted to the pods of a timeline or
# a dump, owner by owner; of these the manifests and run times are drawn as well.


HOUR = 3600
_HOURS, _DAYS = 24, 7
_SUNDAY = 6
# An owner with fewer pods has the shape of all pods: of so few none can be told.
MIN_FITTED = 100
_MAX_TEMPLATES = 20  # of an owner, the most frequent ones
_METADATA = ("namespace", "labels", "annotations", "ownerReferences")


@dataclass(frozen=True, slots=True)
class WeeklyShape:
    """weights: of the 168 hours of a week, from Monday at 0 on. holidays: days that are as Sundays.
    start: of the timeline, at a full hour"""

    weights: Sequence[float]
    holidays: frozenset[date] = frozenset()
    start: datetime = START

    @classmethod
    def of(
        cls,
        weekdays: Sequence[float],
        hours: Sequence[float],
        holidays: frozenset[date] = frozenset(),
        start: datetime = START,
    ) -> WeeklyShape:
        """Return a week whose days have the same hours, and more or less of them."""
        return cls([day * hour for day in weekdays for hour in hours], holidays, start)

    def by_hour(self, length: float) -> list[tuple[float, float]]:
        """Return the seconds of each hour of the period, and its weight for these."""
        hours = []
        for hour in range(ceil(length / HOUR)):
            size, moment = min(HOUR, length - HOUR * hour), self.start + timedelta(hours=hour)
            weekday = _SUNDAY if moment.date() in self.holidays else moment.weekday()
            hours.append((size, size * self.weights[weekday * _HOURS + moment.hour]))
        return hours

    def arrivals(self, draw: random.Random, pods: int, length: float) -> list[float]:
        """Draw when pods arrive: seconds after the start, in order; within an hour at random."""
        hours = self.by_hour(length)
        weights = [weight for _, weight in hours]
        if not any(weights):
            raise UsageError("no pod can arrive: every hour in the period has the weight 0")
        drawn = draw.choices(range(len(hours)), cum_weights=[*accumulate(weights)], k=pods)
        return sorted(HOUR * hour + draw.random() * hours[hour][0] for hour in drawn)


def fitted_weights(times: Iterable[float], first: float, last: float) -> list[float]:
    """Return the pods an hour in each hour of a week. times: of pods, seconds since 1970. first,
    last: of all that was observed; days of which nothing was are as the others on average"""
    hours = range(int(first) // HOUR * HOUR, int(last) + 1, HOUR)
    counts, observed = Counter(map(_cell, times)), Counter(map(_cell, hours))
    weights = []
    for cell in range(_DAYS * _HOURS):
        cells = [cell] if observed[cell] else range(cell % _HOURS, _DAYS * _HOURS, _HOURS)
        total = sum(observed[each] for each in cells)
        weights.append(sum(counts[each] for each in cells) / total if total else 0.0)
    return weights


def _cell(seconds: float) -> int:
    """Return the hour of the week."""
    moment = datetime.fromtimestamp(seconds, UTC)
    return moment.weekday() * _HOURS + moment.hour


@dataclass(slots=True)
class _Owner:
    """Pods of one controller, or alike without one.

    times: when they came; run_times: None for those that stay; manifests: by what is alike, how
    often and one of them
    """

    times: list[float] = field(default_factory=list)
    run_times: list[float | None] = field(default_factory=list)
    counts: Counter[int] = field(default_factory=Counter)
    pods: dict[int, Pod] = field(default_factory=dict)

    def add(self, pod: Pod, at: float, run_time: float | None) -> None:
        self.times.append(at)
        self.run_times.append(run_time)
        self.counts[id(pod.spec)] += 1
        self.pods.setdefault(id(pod.spec), pod)


class WeekLike:
    """Pods as a timeline or a dump has them, for other weeks. It was observed from the start of the
    timeline to its `until`, or to its last pod."""

    def __init__(self, timeline: Timeline) -> None:
        self._owners: dict[str, _Owner] = {}
        self._run_time: RunTime | None = None
        begin = START.timestamp() if timeline.start is None else timeline.start
        for event in timeline.events():
            if isinstance(event.action, Arrival):
                pod, runs_for = event.action.pod, event.action.work.shortest
                owner = history_owner(pod) or f"{pod.namespace}/{id(pod.spec)}"
                run_time = None if runs_for is None else runs_for / SECOND
                self._owners.setdefault(owner, _Owner()).add(
                    pod, begin + event.at / SECOND, run_time
                )
        every = [time for owner in self._owners.values() for time in owner.times]
        if not every:
            raise InputError(timeline.name, "it has no pods")
        end = begin if timeline.until is None else begin + timeline.until / SECOND
        self._span = begin, max(*every, end)
        self._weights = fitted_weights(every, *self._span)
        self.pods = len(every)

    def pods_in(self, length: float) -> int:
        """Return how many pods arrive in this many seconds on average."""
        first, last = self._span
        return max(1, round(self.pods * length / max(last - first, HOUR)))

    def endless(self) -> str:
        """Return whose pods have no end, in words; "" where every owner has a pod with one."""
        owners = [name for name, owner in self._owners.items() if set(owner.run_times) == {None}]
        if not owners:
            return ""
        # Pods without a controller have no name for people.
        example = next((f", such as {name}," for name in owners if name.count("/") > 1), "")
        return f"{len(owners):,} of {len(self._owners):,} owners{example}"

    def set_run_time(self, run_time: RunTime) -> None:
        """Draw the run times of pods whose end is unknown from a distribution."""
        self._run_time = run_time

    def _templates(self) -> Iterator[tuple[str, _Owner, list[int]]]:
        for index, owner in enumerate(self._owners.values()):
            yield f"o{index}", owner, [key for key, _ in owner.counts.most_common(_MAX_TEMPLATES)]

    def header(self, start: datetime) -> Plain:
        templates = {}
        for name, owner, keys in self._templates():
            for index, key in enumerate(keys):
                manifest = plain_json(owner.pods[key].raw)
                metadata = manifest.get("metadata") or {}
                own = {field: metadata[field] for field in _METADATA if metadata.get(field)}
                templates[f"{name}-{index}"] = {"metadata": own, "spec": manifest["spec"]}
        return header(start, templates)

    def events(self, seed: int, pods: int, length: float, shape: WeeklyShape) -> Iterator[Plain]:
        """Yield the arrivals of so many pods, which are drawn with the seed. shape: its holidays
        and start; the weights are those of the pods' owners"""
        draw = random.Random(seed)  # nosec B311  # the same pods for the same seed
        owners, shapes, expected = list(self._templates()), list[WeeklyShape](), list[float]()
        for _, owner, _ in owners:
            # An owner comes as often as it did in such hours: one of Sundays not on a Monday.
            is_fitted = len(owner.times) >= MIN_FITTED
            weights = fitted_weights(owner.times, *self._span) if is_fitted else self._weights
            own = WeeklyShape(weights, shape.holidays, shape.start)
            share = 1 if is_fitted else len(owner.times) / self.pods
            shapes.append(own)
            expected.append(share * sum(weight for _, weight in own.by_hour(length)))
        if not any(expected):
            raise UsageError(
                "no pod can arrive: none came in these hours of a week; --days 7 has them all"
            )
        drawn = Counter(draw.choices(range(len(owners)), expected, k=pods))
        streams = []
        for index, count in sorted(drawn.items()):
            chance = random.Random(draw.random())  # nosec B311  # as above
            streams.append(self._events_of(*owners[index], count, length, shapes[index], chance))
        for count, (_, _, event) in enumerate(merge(*streams)):
            yield {"at": event["at"], "pod": f"pod-{count}", **event}

    def _events_of(
        self,
        name: str,
        owner: _Owner,
        keys: Sequence[int],
        pods: int,
        length: float,
        shape: WeeklyShape,
        draw: random.Random,
    ) -> list[tuple[float, str, Plain]]:
        counts = [owner.counts[key] for key in keys]
        events = []
        for index, at in enumerate(shape.arrivals(draw, pods, length)):
            (template,) = draw.choices(range(len(keys)), counts)
            event: Plain = {"at": number(round(at, 3)), "template": f"{name}-{template}"}
            run_time = draw.choice(owner.run_times)
            if run_time is None and self._run_time is not None:
                run_time = self._run_time(draw)
            if run_time is not None:
                event["runsFor"] = number(run_time)
            events.append((at, f"{name}-{index}", event))
        return events


def read_week(path: str, warn: Callable[[str], None] = ignore) -> WeekLike:
    """Read the week of a timeline or of a dump. warn: see read_timeline. Raises InputError."""
    if path.endswith(LINE_SUFFIXES):
        return WeekLike(read_timeline(path, ClusterState(), warn=warn))
    raw, name = read_file(path)
    documents = list(load_documents(decode_text(unpacked(raw, name), name), name))
    first = documents[0] if documents else None
    if isinstance(first, dict) and first.get("kind") == "Timeline":
        return WeekLike(read_timeline(path, ClusterState()))
    head, events = timeline_of_dump([path])
    document = msgspec.convert({**head, "events": events}, TimelineDocument)
    return WeekLike(Timeline(name, document, ClusterState(), _text=" "))


def read_day(text: str) -> date:
    """Return the day that a text names. Raises UsageError."""
    try:
        return datetime.fromtimestamp(unix_seconds(text), UTC).date()
    except ValueError:
        raise UsageError(f'--holiday takes a day such as 2026-12-25; not "{text}"') from None


def read_weights(text: str, count: int, option: str) -> list[float]:
    """Return so many numbers with commas between, not all 0. Raises UsageError for anything
    else."""
    try:
        weights = [float(part) for part in text.split(",")]
    except ValueError:
        weights = []
    if len(weights) != count or not all(0 <= each < 1e9 for each in weights) or not any(weights):
        raise UsageError(f'{option} takes {count} numbers with commas, not all 0; not "{text}"')
    return weights
