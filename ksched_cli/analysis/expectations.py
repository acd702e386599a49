"""Expectations about a Run, as a file has them: each passes, or fails with the actual result."""

from __future__ import annotations

import re
import shlex
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self, TypeAlias

from msgspec import UNSET, Meta, UnsetType, structs
from msgspec.structs import replace

from ksched_cli import program_name
from ksched_cli.analysis.capacity import CapacityResult, copies_of
from ksched_cli.analysis.idle_constraints import idle_constraint_lines
from ksched_cli.analysis.metrics import MeasuringPlugins
from ksched_cli.analysis.named_objects import Subject
from ksched_cli.analysis.question import Opened, Question
from ksched_cli.analysis.replay_figures import durations, wait_of
from ksched_cli.analysis.run_figures import Ended, Failed, figures_of_replay, figures_of_simulation
from ksched_cli.analysis.usage import Utilization, nodes_used, utilization
from ksched_cli.answers import HIDDEN, Answer, Part
from ksched_cli.cluster.state import ClusterState
from ksched_cli.engine.replay.records import PodOutcome
from ksched_cli.engine.replay.replay import Replay
from ksched_cli.engine.simulation import Simulation
from ksched_cli.errors import ExitCode, InputError, Position, UsageError, first_names
from ksched_cli.kube.documents import Locator, read_file
from ksched_cli.kube.file_parts import Amount, Count, FilePart, RuledPart, Text
from ksched_cli.kube.file_paths import expand_paths
from ksched_cli.kube.file_rules import KeyCount, Shape, Shapes
from ksched_cli.kube.near_names import near_hint
from ksched_cli.kube.time import SECOND
from ksched_cli.run.file_settings import settings_type
from ksched_cli.run.inputs import code_from
from ksched_cli.run.open import Opener, Watch
from ksched_cli.run.run import (
    SETTINGS,
    ChangeSource,
    Patch,
    Run,
    arguments_of,
    as_json,
    setting_of,
)
from ksched_cli.scenario.file import ChangeEntry
from ksched_cli.scenario.own_document import OwnDocument, read_own_document
from ksched_cli.scenario.prices import Labels

_LISTED = 3


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a Run.

    pods:        their keys
    nodes:       pod key → the node that it is on in the end; in a replay, that it was on last
    pending, gated, evicted: pod key → why, in words that follow its name
    node_labels: by node
    nodes_used:  how many nodes have pods
    usage:       by resource, how full the nodes are in the end
    capacity:    how many copies of a pod fit in the end, at most as many as asked for
    waits:       of a replay: pod key → microseconds that it waited for a node, or waits still
    node_hours:  of a replay: the sum over nodes of the time that each was there
    undecided:   a plugin's defect left a pod undecided
    figures:     the figures of the run by name, as a row of a sweep has them, or why there are none
    """

    pods: Sequence[str]
    nodes: Mapping[str, str]
    pending: Mapping[str, str]
    gated: Mapping[str, str]
    evicted: Mapping[str, str]
    node_labels: Mapping[str, Mapping[str, str]]
    nodes_used: int
    usage: Mapping[str, Utilization]
    capacity: Callable[[str, int], CapacityResult]
    waits: Mapping[str, int] | None = None
    node_hours: float | None = None
    undecided: bool = False
    figures: Callable[[], Mapping[str, float] | str] = dict

    def matching(self, pattern: str) -> list[str]:
        """Return the keys of the pods whose name matches, or namespace/name where the glob has a
        slash."""
        with_namespace = "/" in pattern
        return [
            key
            for key in self.pods
            if fnmatchcase(key if with_namespace else key.rpartition("/")[2], pattern)
        ]

    def place(self, key: str) -> str:
        """Return where a pod is, in words that follow its name."""
        if key in self.nodes:
            return f"is on {self.nodes[key]}"
        for reasons in (self.evicted, self.gated, self.pending):
            if key in reasons:
                return reasons[key]
        return "is left out"


@dataclass(frozen=True, slots=True)
class Failure:
    """message: what was expected and what came out; pod: the key of that to be explained, or ""."""

    message: str
    pod: str = ""


@dataclass(frozen=True, slots=True)
class Expectation(ABC):
    """name: as the file has it, else what is expected in words."""

    name: str

    @abstractmethod
    def check(self, outcome: Outcome) -> Failure | None:
        """Check the expectation. Return None where it holds."""


@dataclass(frozen=True, slots=True)
class PodsExpectation(Expectation):
    """What holds for each of some pods. pods: a glob of their names"""

    pods: str

    @property
    @abstractmethod
    def expected(self) -> str:
        """What is expected, in words that follow the glob."""

    @abstractmethod
    def holds(self, outcome: Outcome, key: str) -> bool:
        """Return whether it holds for a pod."""

    def details(self, outcome: Outcome, key: str) -> str:
        """What to add to the place of a pod for which it does not hold."""
        return ""

    def check(self, outcome: Outcome) -> Failure | None:
        keys = outcome.matching(self.pods)
        if not keys:
            return _no_pod(outcome, self.pods)
        wrong = [key for key in keys if not self.holds(outcome, key)]
        if not wrong:
            return None
        shown = [
            f"{key} {outcome.place(key)}{self.details(outcome, key)}" for key in wrong[:_LISTED]
        ]
        more = f"; and {len(wrong) - _LISTED} more" if len(wrong) > _LISTED else ""
        of_many = f" ({len(wrong)} of {len(keys)} are not)" if len(keys) > 1 else ""
        text = f"expected {self.pods} {self.expected}{of_many}; {'; '.join(shown)}{more}"
        return Failure(text, wrong[0])


@dataclass(frozen=True, slots=True)
class PodsOn(PodsExpectation):
    """node: a glob of node names, or ""; labels: of the node, with globs of their values."""

    node: str
    labels: Mapping[str, str]

    @property
    def expected(self) -> str:
        labels = ", ".join(f"{name}={value}" for name, value in self.labels.items())
        return f"on {self.node or f'a node with {labels}'}"

    def holds(self, outcome: Outcome, key: str) -> bool:
        node = outcome.nodes.get(key)
        if node is None or (self.node and not fnmatchcase(node, self.node)):
            return False
        labels = outcome.node_labels.get(node, {})
        return all(
            name in labels and fnmatchcase(labels[name], value)
            for name, value in self.labels.items()
        )

    def details(self, outcome: Outcome, key: str) -> str:
        """Return the labels in question, as the pod's node has them."""
        if key not in outcome.nodes or not self.labels:
            return ""
        labels = outcome.node_labels.get(outcome.nodes[key], {})
        return (
            f" ({', '.join(f'{n}={labels[n]}' if n in labels else f'no {n}' for n in self.labels)})"
        )


@dataclass(frozen=True, slots=True)
class PodsPending(PodsExpectation):
    """because: a part of the message of each, or ""."""

    because: str

    @property
    def expected(self) -> str:
        return f'pending because of "{self.because}"' if self.because else "pending"

    def holds(self, outcome: Outcome, key: str) -> bool:
        is_waiting = key in outcome.pending or key in outcome.gated
        return is_waiting and self.because in outcome.place(key)


@dataclass(frozen=True, slots=True)
class PodsEvicted(PodsExpectation):
    evicted: bool

    @property
    def expected(self) -> str:
        return "evicted" if self.evicted else "not evicted"

    def holds(self, outcome: Outcome, key: str) -> bool:
        return (key in outcome.evicted) == self.evicted


@dataclass(frozen=True, slots=True)
class PodCount(Expectation):
    """what: "pending", without gated pods, or "evicted"."""

    count: int
    what: Literal["pending", "evicted"]

    def check(self, outcome: Outcome) -> Failure | None:
        keys = list(getattr(outcome, self.what))
        if len(keys) == self.count:
            return None
        listed = f": {first_names(keys)}" if keys else ""
        message = f"expected {self.count} pods {self.what}, got {len(keys)}{listed}"
        return Failure(message, keys[0] if keys else "")


@dataclass(frozen=True, slots=True)
class Limits:
    """The least and the most that a figure may be; None for no limit."""

    at_least: float | None = None
    at_most: float | None = None

    def hold(self, figure: float) -> bool:
        return (self.at_least is None or figure >= self.at_least) and (
            self.at_most is None or figure <= self.at_most
        )

    def check(
        self, figure: float, what: str, shown: Callable[[float], str] = "{:g}".format
    ) -> Failure | None:
        """Check a figure. what: it is of, in words that follow a number"""
        if self.hold(figure):
            return None
        return Failure(f"expected {self.text(shown)} {what}, got {shown(figure)}")

    def text(self, shown: Callable[[float], str] = "{:g}".format) -> str:
        """Return the bounds as text, such as `at least 1 and at most 5`."""
        limits = (("at least", self.at_least), ("at most", self.at_most))
        return " and ".join(f"{what} {shown(limit)}" for what, limit in limits if limit is not None)


@dataclass(frozen=True, slots=True)
class NodesUsed(Expectation):
    limits: Limits

    def check(self, outcome: Outcome) -> Failure | None:
        return self.limits.check(outcome.nodes_used, "nodes with pods")


@dataclass(frozen=True, slots=True)
class Utilized(Expectation):
    """figure: mean, max or stddev over nodes, or total, as shares of allocatable: 0.5 is half."""

    resource: str
    figure: str
    limits: Limits

    def check(self, outcome: Outcome) -> Failure | None:
        usage = outcome.usage.get(self.resource)
        if usage is None:
            return Failure(f"no node has any {self.resource}")
        what = f"{self.figure} utilization of {self.resource}"
        return self.limits.check(getattr(usage, self.figure), what, "{:.1%}".format)


@dataclass(frozen=True, slots=True)
class CopiesFit(Expectation):
    """How many more copies of a pod, or of KIND/NAME, fit in the end."""

    pod: str
    limits: Limits

    def check(self, outcome: Outcome) -> Failure | None:
        bound = max(filter(None, (self.limits.at_least, self.limits.at_most)), default=0)
        answer = outcome.capacity(self.pod, int(bound) + 1)
        if self.limits.hold(answer.count):
            return None
        some = "at least " if answer.stopped_at else ""
        why = f": {answer.limited_by}" if answer.limited_by else ""
        return Failure(
            f"expected {self.limits.text()} more copies of {self.pod} to fit, and "
            f"{some}{answer.count} do{why}"
        )


@dataclass(frozen=True, slots=True)
class Waited(Expectation):
    """figures: mean, max, p50, p90 and p99 → limits in seconds. Pods that wait still count."""

    pods: str
    figures: Mapping[str, Limits]

    def check(self, outcome: Outcome) -> Failure | None:
        if outcome.waits is None:
            return Failure("waiting times require a timeline")
        keys = outcome.matching(self.pods)
        waits = {key: outcome.waits[key] for key in keys if key in outcome.waits}
        if not waits:
            return _no_pod(outcome, self.pods)
        figures = durations(list(waits.values()))
        wrong = [
            f"{name} {limits.text(_time)}, got {_time(value)}"
            for name, limits in self.figures.items()
            if not limits.hold(value := getattr(figures, name))
        ]
        if not wrong:
            return None
        longest = max(sorted(waits), key=lambda key: waits[key])
        of_pods = f"{self.pods} ({len(waits)} pods, {longest} the longest)"
        return Failure(f"expected {of_pods} to wait {'; '.join(wrong)}", longest)


@dataclass(frozen=True, slots=True)
class NodeHours(Expectation):
    limits: Limits

    def check(self, outcome: Outcome) -> Failure | None:
        if outcome.node_hours is None:
            return Failure("node-hours require a timeline")
        return self.limits.check(outcome.node_hours, "node-hours")


@dataclass(frozen=True, slots=True)
class MetricWithin(Expectation):
    """metric: a glob of names of figures; of each of them the limits hold."""

    metric: str
    limits: Limits

    def check(self, outcome: Outcome) -> Failure | None:
        figures = outcome.figures()
        if isinstance(figures, str):
            return Failure(f"the run has no figures: {figures}")
        names = [name for name in figures if fnmatchcase(name, self.metric)]
        if not names:
            hint = near_hint(self.metric, list(figures))
            return Failure(f'the run has no figure "{self.metric}"{hint}')
        wrong = [
            f"{name} is {_exact(figures[name])}"
            for name in names
            if not self.limits.hold(figures[name])
        ]
        if not wrong:
            return None
        more = f"; and {len(wrong) - _LISTED} more" if len(wrong) > _LISTED else ""
        listed = "; ".join(wrong[:_LISTED])
        return Failure(f"expected {self.metric} {self.limits.text(_exact)}; {listed}{more}")


_exact = "{:.12g}".format


def _time(seconds: float) -> str:
    """Return the time as 1h30m0s, 90s or 0.5s."""
    whole, rest = divmod(seconds, 60)
    hours, minutes = divmod(int(whole), 60)
    parts = f"{hours}h" * (hours > 0) + f"{minutes}m" * (hours + minutes > 0)
    return f"{parts}{rest:g}s"


@dataclass(frozen=True, slots=True)
class Spread(Expectation):
    """over: the node label whose values are compared."""

    pods: str
    over: str
    at_most: int

    def check(self, outcome: Outcome) -> Failure | None:
        keys = outcome.matching(self.pods)
        if not keys:
            return _no_pod(outcome, self.pods)
        counts = Counter(
            {labels[self.over]: 0 for labels in outcome.node_labels.values() if self.over in labels}
        )
        if not counts:
            return Failure(f"no node has the label {self.over}")
        values = {
            key: outcome.node_labels.get(outcome.nodes.get(key, ""), {}).get(self.over)
            for key in keys
        }
        counts.update(value for value in values.values() if value is not None)
        skew = max(counts.values()) - min(counts.values())
        if skew <= self.at_most:
            return None
        listed = ", ".join(f"{value}: {count}" for value, count in sorted(counts.items()))
        fullest = max(sorted(counts), key=lambda value: counts[value])
        pod = next(key for key, value in values.items() if value == fullest)
        message = f"expected a skew of at most {self.at_most} over {self.over}, got {skew}"
        return Failure(f"{message} ({listed})", pod)


def outcome_of(opener: Opener, run: Run, simulation: Simulation) -> Outcome:
    """Run the simulation, which the opener opened for the Run."""
    record = simulation.run()
    simulation.close()
    pods = simulation.state.pods

    def capacity(name: str, maximum: int) -> CapacityResult:
        return copies_of(Subject.open(opener, run, name), maximum).answer(maximum)

    return Outcome(
        list(dict.fromkeys(pod.key for pod in pods)),
        record.nodes(pods),
        {key: f"is pending: {record.last[key].why_not}" for key in record.pending},
        {key: f"is gated: {gate.message}" for key, gate in record.gated.items()},
        {
            eviction.pod: f"is evicted from {eviction.node} for {eviction.preemptor}"
            for eviction in record.evicted
        },
        _labels(simulation.state),
        nodes_used(simulation.snapshot),
        utilization(simulation.snapshot),
        capacity,
        undecided=bool(record.failed),
        figures=cache(lambda: _figures_of(figures_of_simulation(run, simulation, record, ()))),
    )


def outcome_of_replay(
    opener: Opener, run: Run, replay: Replay, measuring: MeasuringPlugins
) -> Outcome:
    """Run the replay, which the opener opened for the Run, and which keeps its records. measuring:
    looks at each of its instants"""
    replay.run()
    measuring.measure(replay)
    replay.cluster.engine.close()
    records = {record.pod: record for record in replay.log.records}
    state, now = replay.state(), replay.clock.now
    at_end = structs.replace(
        run,
        timeline="",
        until="",
        autoscaler="",
        evict_at_once=False,
        job_label="",
        user_label="",
    )

    def capacity(name: str, maximum: int) -> CapacityResult:
        simulation = opener.simulation(at_end, state=state)
        subject = Subject(opener, at_end, simulation, name, at_end.namespace)
        return copies_of(subject, maximum).answer(maximum)

    def those(outcome: PodOutcome, text: str) -> dict[str, str]:
        return {
            key: text.format(record=record)
            for key, record in records.items()
            if record.outcome is outcome
        }

    snapshot = replay.cluster.snapshot
    return Outcome(
        list(records),
        {
            key: record.node
            for key, record in records.items()
            if record.node and record.outcome in (PodOutcome.RUNNING, PodOutcome.ENDED)
        },
        those(PodOutcome.PENDING, "is pending: {record.message}"),
        those(PodOutcome.GATED, "is gated: {record.message}"),
        those(PodOutcome.EVICTED, "is evicted from {record.node}"),
        _labels(state),
        nodes_used(snapshot),
        utilization(snapshot),
        capacity,
        {
            key: wait
            for key, record in records.items()
            if (wait := wait_of(record, now)) is not None
        },
        replay.nodes.node_time_until(now) / SECOND / 3600,
        undecided=bool(replay.scheduler.failed),
        figures=cache(lambda: _figures_of(figures_of_replay(opener, run, replay, ()))),
    )


def _figures_of(ended: Ended | Failed) -> Mapping[str, float] | str:
    """Return the figures by name, or why there are none."""
    if isinstance(ended, Failed):
        return ended.error
    return {name: value for name, value in ended.figures().items() if name != "seconds"}


def _labels(state: ClusterState) -> dict[str, Mapping[str, str]]:
    return {node.metadata.name: node.metadata.labels or {} for node in state.nodes}


def _no_pod(outcome: Outcome, pattern: str) -> Failure:
    names = {key.rpartition("/")[2]: key for key in outcome.pods}
    hint = near_hint(pattern.strip("*"), [*outcome.pods, *names])
    return Failure(f'no pod matches "{pattern}" ({len(outcome.pods)} pods){hint}')


class CaseResult(Part, frozen=True):
    """An expectation that was checked.

    message: what was expected and what came out; empty where it passed
    command: one that shows why; empty where the case passed
    kubernetes_version: of the kube-scheduler whose rules the case was run under
    line: of the expectation in the file, from 1
    column: of the expectation in the file, from 1
    """

    file: str
    name: str
    passed: bool
    message: str
    command: str
    kubernetes_version: str
    line: int | None = None
    column: int | None = None


class ExpectationCounts(Part, frozen=True):
    """Counts of cases."""

    passed: Count
    failed: Count


class ExpectationsResult(Answer, frozen=True, kw_only=True):
    """Which expectations hold.

    cases: every expectation, in the order of the files
    undecided: a plugin's failure left a pod undecided
    """

    COMMAND: ClassVar = "test"
    VIEW: ClassVar = "expectations:view"
    ROWS: ClassVar = "cases"

    kind: Literal["TestResult"] = "TestResult"
    cases: tuple[CaseResult, ...]
    summary: ExpectationCounts
    undecided: Annotated[bool, HIDDEN] = False

    @property
    def exit_code(self) -> ExitCode:
        return ExitCode.of(not self.summary.failed, self.undecided)

    @classmethod
    def of(cls, cases: Sequence[CaseResult], *, undecided: bool = False) -> Self:
        passed = sum(case.passed for case in cases)
        counts = ExpectationCounts(passed, len(cases) - passed)
        return cls(cases=tuple(cases), summary=counts, undecided=undecided)


# -- the file -------------------------------------------------------------------------------------

KIND = "Expectations"
_MENTION = re.compile(rf"""^[ \t]*["']?kind["']?\s*:\s*["']?{KIND}\b""".encode(), re.M)
_HINT = "Expected apiVersion: ksched/v1, kind: Expectations, `state`, and a list `expect`."


class CountLimits(RuledPart, frozen=True, kw_only=True):
    """Bounds of a count."""

    RULES: ClassVar = (KeyCount(1),)

    at_most: Count | UnsetType = UNSET
    at_least: Count | UnsetType = UNSET


class AmountLimits(RuledPart, frozen=True, kw_only=True):
    """Bounds of an amount."""

    RULES: ClassVar = (KeyCount(1),)

    at_most: Amount | UnsetType = UNSET
    at_least: Amount | UnsetType = UNSET


class TimeLimits(RuledPart, frozen=True, kw_only=True):
    """Bounds of a time.

    at_most, at_least: A number of seconds, or a duration as 1h30m.
    """

    RULES: ClassVar = (KeyCount(1),)

    at_most: Amount | Text | UnsetType = UNSET
    at_least: Amount | Text | UnsetType = UNSET


class SpreadEntry(FilePart, frozen=True, kw_only=True):
    """The spread of pods over the values of a node label.

    pods: A glob, as pod's.
    over: The node label.
    """

    pods: Text
    over: Text
    at_most: Count


class WaitedEntry(RuledPart, frozen=True, kw_only=True):
    """The times that pods wait.

    pods: A glob, as pod's.
    """

    RULES: ClassVar = (KeyCount(2),)

    pods: Text
    mean: TimeLimits | UnsetType = UNSET
    p50: TimeLimits | UnsetType = UNSET
    p90: TimeLimits | UnsetType = UNSET
    p99: TimeLimits | UnsetType = UNSET
    max: TimeLimits | UnsetType = UNSET


class MetricEntry(RuledPart, frozen=True, kw_only=True):
    """Bounds of a figure of the run.

    name: As in a row of a sweep: pending, utilization.cpu.stddev, with a timeline wait.p99,
          jobs.completionTime.mean, jobs.fairness, with `userLabel` users.NAME.dominantShare, or
          PLUGIN.NAME. A glob is for all that match, at least one.
    at_most, at_least: A number, or of seconds a duration as 1h30m.
    """

    RULES: ClassVar = (KeyCount(2),)

    name: Text
    at_most: int | float | Text | UnsetType = UNSET
    at_least: int | float | Text | UnsetType = UNSET


class UtilizationEntry(RuledPart, frozen=True, kw_only=True):
    """The utilization of a resource.

    mean, max, stddev, total: 0.5 is half.
    """

    RULES: ClassVar = (KeyCount(2, 2),)

    resource: Text
    mean: AmountLimits | UnsetType = UNSET
    max: AmountLimits | UnsetType = UNSET
    stddev: AmountLimits | UnsetType = UNSET
    total: AmountLimits | UnsetType = UNSET


def _shape(*required: str, optional: tuple[str, ...] = (), **values: Any) -> Shape:
    return Shape(required, ("name", *optional), values)


class ExpectationEntry(RuledPart, frozen=True, kw_only=True):
    """An expectation.

    name: What the case is called; else it is described.
    pod: A glob of names, or of namespace/name; every pod that matches, at least one.
    on: The node of the pod: a glob of its name, or labels with globs of their values.
    pending: With pod: true. Alone: how many stay pending.
    because: A part of kube-scheduler's message about the pending pod.
    evicted: With pod: whether it is. Alone: how many pods are.
    nodes_used: How many nodes have pods in the end.
    spread: The largest difference in number of such pods between two values of a node label.
    pending_at_end: How many stay pending when a replay ends.
    waited: With a timeline: how long pods wait for a node; pods that wait still count with their
            time so far.
    node_hours: With a timeline: the sum over nodes of the hours that each is there.
    utilization: How full the nodes are in the end, as shares of allocatable; one of mean, max,
            stddev (over nodes) and total.
    capacity: POD or KIND/NAME: how many more of it fit in the end.
    metric: A figure of the run, also of a plugin.
    at_least, at_most: With capacity.
    """

    EXPECTED: ClassVar = (
        "`pod` with `on`, `pending: true` or `evicted: true|false`; or one of `pending: N`, "
        "`evicted: N`, `nodesUsed`, `spread`, `utilization`, `metric`, `capacity` with `atLeast` "
        "or `atMost`; with a timeline `pendingAtEnd: N`, `waited`, `nodeHours`"
    )
    RULES: ClassVar = (
        Shapes(
            (
                _shape("pod", "on"),
                _shape("pod", "pending", optional=("because",), pending=True),
                _shape("pod", "evicted", evicted=bool),
                _shape("pending", pending=int),
                _shape("evicted", evicted=int),
                _shape("nodesUsed"),
                _shape("spread"),
                _shape("pendingAtEnd"),
                _shape("waited"),
                _shape("nodeHours"),
                _shape("utilization"),
                _shape("metric"),
                _shape("capacity", "atLeast", optional=("atMost",)),
                _shape("capacity", "atMost", optional=("atLeast",)),
            )
        ),
    )

    name: Text | UnsetType = UNSET
    pod: Text | UnsetType = UNSET
    on: Text | Labels | UnsetType = UNSET
    pending: bool | Count | UnsetType = UNSET
    because: Text | UnsetType = UNSET
    evicted: bool | Count | UnsetType = UNSET
    nodes_used: CountLimits | UnsetType = UNSET
    spread: SpreadEntry | UnsetType = UNSET
    pending_at_end: Count | UnsetType = UNSET
    waited: WaitedEntry | UnsetType = UNSET
    node_hours: AmountLimits | UnsetType = UNSET
    utilization: UtilizationEntry | UnsetType = UNSET
    capacity: Text | UnsetType = UNSET
    metric: MetricEntry | UnsetType = UNSET
    at_least: Count | UnsetType = UNSET
    at_most: Count | UnsetType = UNSET


class PatchEntry(FilePart, frozen=True, kw_only=True):
    """A value in the configuration.

    path: As `profiles[0].percentageOfNodesToScore`.
    """

    path: Text
    value: Any


_Some: TypeAlias = Text | Annotated[tuple[Text, ...], Meta(min_length=1)]


if TYPE_CHECKING:
    RunSettings = FilePart
else:
    RunSettings = settings_type("RunSettings")


class ExpectationsDocument(RunSettings, frozen=True, kw_only=True):
    """Expectations about a Run.

    kubernetes_version: Whose rules, as "1.34"; --kubernetes-version overrides it.
    state: Cluster state: a path, or several, relative to this file.
    config: KubeSchedulerConfiguration, relative to this file: FILE, or FILE#NAME where a file holds
            several; without it the default one.
    changes: Done to the state first, as in a scenario.
    patches: Values to set in the configuration, in order.
    plugins: MODULE:NAME, FILE.py or FILE.py:NAME, relative to this file; one or several.
    timeline: Replayed, relative to this file; the expectations are about the replay and its end.
    autoscaler: Node groups of the replay, relative to this file.
    seeds: Draws among equally good nodes: so many, or these. Each expectation must hold in each of
            them.
    """

    api_version: Literal["ksched/v1"]
    kind: Literal["Expectations"]
    kubernetes_version: Text | UnsetType = UNSET
    state: _Some
    config: Text | UnsetType = UNSET
    changes: tuple[ChangeEntry, ...] = ()
    patches: tuple[PatchEntry, ...] = ()
    plugins: Text | tuple[Text, ...] = ()
    timeline: Text | UnsetType = UNSET
    autoscaler: Text | UnsetType = UNSET
    seeds: (
        Annotated[int, Meta(ge=1, le=1000)]
        | Annotated[tuple[int, ...], Meta(min_length=1)]
        | UnsetType
    ) = UNSET
    expect: Annotated[tuple[ExpectationEntry, ...], Meta(min_length=1)]


@dataclass(frozen=True, slots=True)
class ExpectationsFile:
    """path: of the file; runs: that the expectations are about, one per seed, with paths from
    here; positions: of the expectations in the file."""

    path: str
    runs: tuple[Run, ...]
    expectations: tuple[Expectation, ...]
    positions: tuple[Position | None, ...]


def files_of_expectations(paths: Sequence[str]) -> Iterator[str]:
    """Return the files that are named, and those of the kind in folders. Raises UsageError where
    there are none."""
    count = 0
    for path, is_named in expand_paths(paths):
        if is_named or _MENTION.search(read_file(path)[0]):
            count += 1
            yield path
    if not count:
        raise UsageError(f"no file of kind {KIND} in {' '.join(paths)}")


def read_expectations(path: str) -> ExpectationsFile:
    """Read a file of expectations. Raises InputError with line and column."""
    document, file = read_own_document(path, ExpectationsDocument, _HINT, adapted=_with_on)
    reader = _Reader(document)
    run = reader.run(path, file)
    try:
        run.check()
    except UsageError as error:
        raise InputError(document.name, str(error)) from None
    locator = Locator(document.text)
    seeds = () if file.seeds is UNSET else file.seeds
    numbers = range(seeds) if isinstance(seeds, int) else seeds
    drawn = [replace(run, tie_break="random", seed=seed) for seed in numbers]
    return ExpectationsFile(
        path,
        tuple(drawn) or (run,),
        tuple(reader.expectation(entry, index) for index, entry in enumerate(file.expect)),
        tuple(map(locator.locate, (("expect", index) for index in range(len(file.expect))))),
    )


def _with_on(document: Any) -> Any:
    """Return the document with the key `on`, which YAML 1.1 reads as true, as it was written."""
    if not isinstance(document, dict) or not isinstance(document.get("expect"), list):
        return document
    entries = [
        {"on" if key == "true" else key: value for key, value in entry.items()}
        if isinstance(entry, dict)
        else entry
        for entry in document["expect"]
    ]
    return {**document, "expect": entries}


@dataclass(frozen=True, slots=True)
class _Reader:
    file: OwnDocument

    def run(self, path: str, data: ExpectationsDocument) -> Run:
        """Return the Run that the file describes. path: of the file"""
        here = self.file.from_here
        return Run(
            states=tuple(map(here, _listed(data.state))),
            changes=(ChangeSource(scenario=path),) if data.changes else (),
            configuration=here(data.config or ""),
            patches=tuple(Patch(each.path, each.value) for each in data.patches),
            plugins=tuple(code_from(text, here) for text in _listed(data.plugins)),
            kubernetes_version=data.kubernetes_version or "",
            timeline=here(data.timeline or ""),
            autoscaler=here(data.autoscaler or ""),
            **{
                field.name: setting_of(field, data.given(key), here)
                for key, field in SETTINGS.items()
                if data.given(key) is not None
            },
        )

    def expectation(self, entry: ExpectationEntry, index: int) -> Expectation:
        """Return the expectation of an entry. index: in the file"""
        name = entry.name or _described(self.file.data["expect"][index])
        pods = entry.pod
        match entry:
            case ExpectationEntry(on=str(node)) if pods:
                return PodsOn(name, pods, node, {})
            case ExpectationEntry(on=dict(labels)) if pods:
                return PodsOn(name, pods, "", labels)
            case ExpectationEntry(pending=True) if pods:
                return PodsPending(name, pods, entry.because or "")
            case ExpectationEntry(evicted=bool(evicted)) if pods:
                return PodsEvicted(name, pods, evicted)
            case ExpectationEntry(pending=int(count)) | ExpectationEntry(pending_at_end=int(count)):
                return PodCount(name, count, "pending")
            case ExpectationEntry(evicted=int(count)):
                return PodCount(name, count, "evicted")
            case ExpectationEntry(spread=SpreadEntry(pods=pods, over=over, at_most=at_most)):
                return Spread(name, pods, over, at_most)
        return self._limited(name, entry, ("expect", index))

    def _limited(
        self, name: str, entry: ExpectationEntry, place: tuple[str | int, ...]
    ) -> Expectation:
        """Return an expectation about a figure."""
        if entry.metric:
            limits = self._times(entry.metric, *place, "metric")
            return MetricWithin(name, entry.metric.name, limits)
        if entry.nodes_used:
            return NodesUsed(name, _limits(entry.nodes_used))
        if entry.node_hours:
            return NodeHours(name, _limits(entry.node_hours))
        if entry.capacity:
            return CopiesFit(name, entry.capacity, _limits(entry))
        if entry.utilization:
            usage = entry.utilization
            ((figure, limits),) = _figures(usage, "resource")
            return Utilized(name, usage.resource, figure, _limits(limits))
        assert entry.waited
        figures = {
            figure: self._times(limits, *place, "waited", figure)
            for figure, limits in _figures(entry.waited, "pods")
        }
        return Waited(name, entry.waited.pods, figures)

    def _times(self, limits: TimeLimits | MetricEntry, *place: str | int) -> Limits:
        """Return the limits, with durations as seconds. Raises InputError."""
        return Limits(
            self._seconds(limits.at_least, *place, "atLeast"),
            self._seconds(limits.at_most, *place, "atMost"),
        )

    def _seconds(self, value: float | str | UnsetType, *place: str | int) -> float | None:
        """Return a number of seconds, or a duration as Go writes it. Raises InputError."""
        if isinstance(value, str):
            return self.file.nanoseconds(value, *place) / 1e9
        return None if value is UNSET else value


def _listed(texts: str | tuple[str, ...]) -> tuple[str, ...]:
    return (texts,) if isinstance(texts, str) else texts


def _figures(entry: FilePart, other: str) -> Iterator[tuple[str, Any]]:
    """Yield the figures that are given, with their limits. other: the key that is none"""
    for figure in entry.__struct_fields__:
        limits = getattr(entry, figure)
        if figure != other and limits is not UNSET:
            yield figure, limits


def _limits(data: CountLimits | AmountLimits | ExpectationEntry) -> Limits:
    least, most = data.at_least, data.at_most
    return Limits(None if least is UNSET else least, None if most is UNSET else most)


def _described(entry: Mapping[str, Any]) -> str:
    """Return the entry on one line, as `pod: web-*, on: node-1`."""
    return ", ".join(f"{key}: {_plain(value)}" for key, value in entry.items())


def _plain(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return f"{{{_described(value)}}}"
    return str(value)


# -- the question ---------------------------------------------------------------------------------


class Expect(Question[ExpectationsResult], frozen=True, kw_only=True):
    """Check the expectations of files about their Runs. Cases about the same Run share one, and
    Runs share their states."""

    files: tuple[ExpectationsFile, ...]

    def answer(self, opened: Opened) -> ExpectationsResult:
        outcomes: dict[bytes, tuple[Outcome, str]] = {}

        def outcome(run: Run) -> tuple[Outcome, str]:
            """Return the outcome of a Run, and the release whose rules were applied."""
            key = as_json(run)
            if key not in outcomes and run.timeline:
                measuring = MeasuringPlugins()
                watch = Watch(keeps_records=True, on_instant=measuring.measure)
                replay = opened.opener.replay(run, watch)
                opened.introduce(replay, are_run=False)
                measured = outcome_of_replay(opened.opener, run, replay, measuring)
                opened.conclude(replay)
                release = replay.cluster.engine.configuration.release
                outcomes[key] = measured, release.version
            elif key not in outcomes:
                simulation = opened.opener.simulation(run)
                opened.introduce(simulation, are_run=False)
                release = simulation.configuration.release
                opened.warn(*idle_constraint_lines(simulation.state, release))
                measured = outcome_of(opened.opener, run, simulation)
                opened.conclude(simulation)
                outcomes[key] = measured, release.version
            return outcomes[key]

        cases = [
            structs.replace(
                _case(file, expectation, outcome),
                line=position.line if position else None,
                column=position.column if position else None,
            )
            for file in self.files
            for expectation, position in zip(file.expectations, file.positions, strict=True)
        ]
        undecided = any(each.undecided for each, _ in outcomes.values())
        return ExpectationsResult.of(cases, undecided=undecided)


def _case(
    file: ExpectationsFile,
    expectation: Expectation,
    outcome: Callable[[Run], tuple[Outcome, str]],
) -> CaseResult:
    """The first failure in any of the file's Runs counts."""
    version = ""
    for run in file.runs:
        result, version = outcome(run)
        failure = expectation.check(result)
        if failure is not None:
            drawn = f"with seed {run.seed}: " if len(file.runs) > 1 else ""
            # The command that shows why, as it is typed.
            minor = ".".join(version.lstrip("v").split(".")[:2])
            options = arguments_of(replace(run, kubernetes_version=minor))
            pod = failure.pod
            if run.timeline:
                timeline = options.index("--timeline")
                options[timeline : timeline + 2] = []
                command = _command("replay", run.timeline, *options)
            elif pod:
                named = [*options, "--", pod] if pod.startswith("-") else [pod, *options]
                command = _command("explain", *named)
            else:
                command = _command("schedule", *options)
            message = f"{drawn}{failure.message}"
            return CaseResult(file.path, expectation.name, False, message, command, version)
    return CaseResult(file.path, expectation.name, True, "", "", version)


def _command(*arguments: str) -> str:
    return f"{program_name()} {shlex.join(arguments)}"
