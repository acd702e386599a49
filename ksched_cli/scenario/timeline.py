"""Reads a timeline: changes to a cluster, each with its time, as `ksched replay` takes them.

A timeline is a document of YAML or JSON, or JSON lines, which are read one by one as they are
needed, so that their number does not matter.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Annotated, Any, ClassVar, Literal, TypeAlias

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType, structs

from ksched_cli.cluster.custom_objects import kind_with_group
from ksched_cli.cluster.loading.kinds import ObjectKind, find_kind
from ksched_cli.cluster.objects import ObjectMeta, Pod, PodSpec
from ksched_cli.cluster.state import ClusterState
from ksched_cli.errors import InputError, Position, UsageError, ignore
from ksched_cli.kube.document_schemas import problems_of
from ksched_cli.kube.documents import (
    Locator,
    decode_text,
    locate,
    missing_file,
    path_text,
)
from ksched_cli.kube.file_parts import Amount, FilePart, RuledPart, Text, decode_file
from ksched_cli.kube.file_rules import Requires, SingleKey
from ksched_cli.kube.formatting import DurationError, parse_duration
from ksched_cli.kube.stored_bytes import unpacked_by_name, whole_lines
from ksched_cli.kube.time import SECOND, parse_time
from ksched_cli.scenario.change import Change, ChangeError
from ksched_cli.scenario.file import AppliedObjects, read_change
from ksched_cli.scenario.objects import kind_of, load_objects
from ksched_cli.scenario.own_document import read_own_document
from ksched_cli.scenario.pod_work import STAYS, PodWork

_MAX_SPECS = 20_000
_LINES = (".jsonl", ".ndjson")
_GZIP = ".gz"
_HINT = "Expected apiVersion: ksched/v1, kind: Timeline (docs/replay.md)."
_EARLIEST, _LATEST = -30_610_224_000, 32_503_680_000  # seconds since 1970
_TIME = "expected a number of seconds after the start, or a time such as 2026-01-31T12:00:00Z"


class Arrival(Struct, frozen=True):
    """A pod is created, which does this work."""

    pod: Pod
    work: PodWork = STAYS


class Replacement(Struct, frozen=True):
    """An object is created, or replaced as a whole. kind: a text for one that a plugin reads, as
    "PodGroup.scheduling.x-k8s.io". decided: it is what a decision of the recorded scheduler led to,
    as a claim's devices."""

    kind: ObjectKind | str
    manifest: dict[str, Any]
    decided: bool = False


class Removal(Struct, frozen=True):
    """An object is deleted. kind: as of a Replacement; without its group where several are read.
    namespace: "" where the kind has none.
    grace: for how many microseconds a pod stays on its node. preempted: the recorded scheduler
    evicted it."""

    kind: ObjectKind | str
    namespace: str
    name: str
    grace: int = 0
    preempted: bool = False


class Completion(Struct, frozen=True):
    """A pod ends. ran_for: microseconds since it was placed; None where that is not recorded."""

    pod: str
    ran_for: int | None = None


class RecordedDecision(FilePart, frozen=True):
    """The recorded scheduler's decision about a pod.

    node: The node that it was bound to, or evicted from.
    message: Why it has no node.
    evicted_for: The UID of the pod that it was evicted for.
    """

    namespace: str
    name: str
    uid: str = ""
    node: str = ""
    nominated_node: str = ""
    message: str = ""
    evicted_for: str = ""

    @property
    def pod(self) -> str:
        """Its key."""
        return f"{self.namespace}/{self.name}"


class Gap(FilePart, frozen=True):
    """The recorder had no connection for so many seconds.

    kind: The kind whose changes it watched.
    relisted: What came and went in the gap is missing; else the times alone are late.
    """

    seconds: Annotated[float, Meta(ge=0)]
    kind: str
    relisted: bool = False


Action: TypeAlias = Arrival | Replacement | Removal | Completion | RecordedDecision | Gap | Change


class TimelineEvent(Struct, frozen=True):
    """at: microseconds since the start. index: of the event in the file, from 0."""

    at: int
    action: Action
    index: int


class DeletedObject(FilePart, frozen=True, kw_only=True):
    """The object that an event deletes."""

    kind: str
    namespace: str = ""
    name: str


# A moment in the file: seconds after the start, or a time.
Moment: TypeAlias = Annotated[
    Amount | str,
    Meta(
        title="time",
        description="seconds after the start, to the microsecond, or an RFC 3339 time",
    ),
]


class RunTimesByNode(FilePart, frozen=True, kw_only=True):
    """How long a pod runs, by a label of its node.

    label: The label of the node, as nvidia.com/gpu.product.
    seconds: By value of the label, for how many seconds the pod runs on such nodes.
    otherwise: For how many seconds it runs on all other nodes. Without it, it does not end there.
    """

    EXPECTED: ClassVar = "a number of seconds, or label, seconds and otherwise"

    label: Text
    seconds: Annotated[dict[str, Amount], Meta(min_length=1)]
    otherwise: Amount | UnsetType = UNSET


class EventEntry(FilePart, frozen=True, kw_only=True):
    """An event as it is written. A line of JSON lines may break the rules, and have null for a key
    that it leaves out; a document's events may not.

    pod: A pod is created: its manifest, or with `template`, its name or NAMESPACE/NAME.
    template: The name of one of `templates`, of which the pod is made.
    runs_for: For how many seconds the pod runs once it is placed, on any node or by a label of its
            node; then it ends, and its node has room again. Without it, it does not end by itself.
    restart_overhead: For how many seconds longer the pod runs each time that it starts again after
            an eviction or a failure of its node; default 0.
    put: An object is created, or replaced as a whole.
    delete: An object is deleted.
    grace_period: For how many seconds a pod that is deleted stays on its node; default 0.
    end: A pod ends, name or NAMESPACE/NAME; one that is placed later than in the recording runs as
            long.
    ran_for: For how many seconds a pod that ends ran in the recorded cluster.
    decided: What is put was written because of a decision of the recorded scheduler, as a claim's
            devices; a replay passes over it.
    preempted: The recorded scheduler evicted the pod; a replay deletes it only where it evicts it
            too.
    decision: What the recorded scheduler did about a pod, for `ksched audit --timeline`; a replay
            decides itself.
    gap: The recorder had no connection.
    change: A change as in a scenario: kubectl's words, as `drain node-3`, or {apply: OBJECT}.
    """

    RULES: ClassVar = (
        SingleKey(("pod", "put", "delete", "change", "end", "decision", "gap")),
        Requires(
            template="pod",
            runsFor="pod",
            restartOverhead="runsFor",
            gracePeriod="delete",
            preempted="delete",
            decided="put",
            ranFor="end",
        ),
    )

    at: Moment
    pod: dict[str, Any] | str | UnsetType = UNSET
    template: str | UnsetType = UNSET
    runs_for: Amount | RunTimesByNode | UnsetType = UNSET
    restart_overhead: Amount | UnsetType = UNSET
    put: dict[str, Any] | UnsetType = UNSET
    delete: DeletedObject | UnsetType = UNSET
    grace_period: Amount | UnsetType = UNSET
    end: str | UnsetType = UNSET
    ran_for: Amount | UnsetType = UNSET
    decided: bool | UnsetType = UNSET
    preempted: bool | UnsetType = UNSET
    decision: RecordedDecision | UnsetType = UNSET
    gap: Gap | UnsetType = UNSET
    change: str | dict[str, Any] | UnsetType = UNSET


class TimelineDocument(RuledPart, frozen=True, kw_only=True):
    """A timeline, or what the first line of JSON lines has.

    start: What `at: 0` is: an RFC 3339 time in whole seconds. Without it, the creation of the
            youngest pod of the state that has no node, else 1970-01-01T00:00:00Z.
    until: When the replay ends: seconds after the start, or an RFC 3339 time. Without it, when
            nothing can happen any more.
    evicted: What becomes of pods that preemption evicts: they are gone; restarts: they come again,
            and run as long as they did from the beginning; resumes: they come again, and run for
            the rest. Without it: gone.
    templates: Manifests of pods, by name, for events to refer to.
    events: Of one time, they happen in their order.
    """

    api_version: Literal["ksched/v1"]
    kind: Literal["Timeline"]
    start: Text | UnsetType = UNSET
    until: Moment | UnsetType = UNSET
    evicted: Literal["gone", "restarts", "resumes"] = "gone"
    templates: dict[str, dict[str, Any]] = msgspec.field(default_factory=dict)
    events: tuple[EventEntry, ...] = ()

    def __post_init__(self) -> None:
        for event in self.events:
            event.check_rules()


NO_EVENTS = TimelineDocument(api_version="ksched/v1", kind="Timeline")


# What stands for name and namespace in a template's JSON, name first.
_NAME, _NAMESPACE = "name-of-the-pod", "namespace-of-the-pod"
_encode = msgspec.json.Encoder().encode
# What decoding a line raises that is no JSON, or not of the expected shape.
_UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
_decode_line = msgspec.json.Decoder(EventEntry).decode


class _Template(Struct, frozen=True):
    """A pod to make others of.

    namespace: of those that name none. parts: of its JSON, around name and namespace
    """

    pod: Pod
    namespace: str
    parts: tuple[bytes, bytes, bytes]

    def named(self, name: str) -> Pod:
        """Return a pod like it. name: the name, or NAMESPACE/NAME."""
        namespace, _, own = name.rpartition("/")
        namespace = namespace or self.namespace
        meta = self.pod.metadata
        metadata = ObjectMeta(
            own,
            namespace,
            f"{namespace}/{own}",
            meta.labels,
            meta.annotations,
            meta.owner_references,
            meta.finalizers,
        )
        before, between, after = self.parts
        raw = b"".join((before, _encode(own), between, _encode(namespace), after))
        return Pod(metadata, self.pod.spec, self.pod.status, self.pod.node_name, msgspec.Raw(raw))


class EventError(Exception):
    """An event that is not valid. The text says what is wrong."""


@dataclass(slots=True)
class Timeline:
    """name: of the file, for messages; "" for a timeline without events. start: seconds since 1970,
    None where the file has none. until: microseconds after the start, None for no end. reads: kinds
    that plugins read, besides those of kube-scheduler. _warn: see read_timeline."""

    name: str
    document: TimelineDocument
    state: ClusterState
    namespace: str = ""
    start: int | None = None
    until: int | None = None
    reads: frozenset[str] = frozenset()
    _warn: Callable[[str], None] = ignore
    _path: str = "-"
    _text: str = ""
    _share: float = 0.0
    # The file as it is, gzipped or not, while its lines are read.
    _file: IO[bytes] | None = None
    _templates: dict[str, _Template] = field(default_factory=dict)
    # Pods of equal specs share one: plugins' answers are cached by it.
    _specs: dict[bytes, PodSpec] = field(default_factory=dict)

    def __post_init__(self) -> None:
        document = self.document
        try:
            if document.start is not UNSET:
                try:
                    moment = _moment(document.start)
                except ValueError:
                    moment = _LATEST * SECOND
                if moment % SECOND:
                    raise EventError("start: expected a time in whole seconds")
                # What happens after it has to be in the calendar, too, which ends with the year
                # 9999.
                if not _EARLIEST <= moment // SECOND < _LATEST:
                    raise EventError(
                        "start: expected a time in the years 1000 to 2999, such as"
                        f' 2026-01-31T12:00:00Z, not "{document.start}"'
                    )
                self.start = moment // SECOND
            if document.until is not UNSET:
                self.until = self.time(document.until)
            for name, manifest in document.templates.items():
                self._templates[name] = self._template(manifest)
        except EventError as error:
            raise InputError(self.name, str(error)) from None

    def template_pods(self) -> list[Pod]:
        """Return a pod of each template; where the timeline is one document, its events' manifests
        too."""
        pods = [template.pod for template in self._templates.values()]
        if self._text:
            actions = (event.action for event in self.events())
            pods += [action.pod for action in actions if isinstance(action, Arrival)]
        return list({id(pod.spec): pod for pod in pods}.values())

    def events(self) -> Iterator[TimelineEvent]:
        """Yield the events in order of time. Raises InputError, with line and index, for what is
        not valid."""
        if not self.name:
            self._share = 1.0
        elif self._text:
            events = []
            for index, entry in enumerate(self.document.events):
                try:
                    events.append(self._event(entry, index))
                except (EventError, InputError) as error:
                    position = locate(self._text, 0, ("events", index))
                    raise self._error(error, index, position) from None
            # Stable: events of one time stay in their order.
            for count, event in enumerate(sorted(events, key=lambda event: event.at), start=1):
                self._share = count / len(events)
                yield event
        else:
            yield from self._events_of_lines()

    def share_read(self) -> float:
        """Return how much of the events has been read, from 0 to 1."""
        if self._file is None:
            return self._share
        return self._file.tell() / max(os.fstat(self._file.fileno()).st_size, 1)

    def _events_of_lines(self) -> Iterator[TimelineEvent]:
        last = 0
        with open(self._path, "rb") as self._file, unpacked_by_name(self._file, self._path) as file:
            for number, text in enumerate(whole_lines(file, self.name, self._warn), start=1):
                if number == 1 or not text.strip():
                    continue
                try:
                    try:
                        entry = _decode_line(text)
                    except msgspec.ValidationError:
                        entry = _entry_with_nulls(text)
                    event = self._event(entry, number - 2)
                    if event.at < last:
                        raise EventError("it is earlier than the previous event; sort the lines")
                except msgspec.ValidationError as error:
                    raise self._misshapen(error, text, number) from None
                except (EventError, *_UNREADABLE, InputError) as error:
                    raise self._error(error, number - 2, Position(number, 1)) from None
                last = event.at
                yield event
        self._file, self._share = None, 1.0

    def _error(self, error: Exception, index: int, position: Position | None) -> InputError:
        problem, subject = str(error), f"event {index}"
        if isinstance(error, InputError):
            problem = error.problem
            subject = f"{subject}: {error.subject}" if error.subject else subject
        return InputError(self.name, problem, subject=subject, position=position)

    def _misshapen(self, error: Exception, line: bytes, number: int) -> InputError:
        """Return what is wrong with a line whose keys or types are not an event's, as in a
        document."""
        try:
            problems = problems_of(msgspec.json.decode(line), "timeline", EventEntry.__name__)
        except msgspec.DecodeError:  # a number that no float is large enough for; more behind it
            problems = ()
        if not problems:
            return self._error(error, number - 2, Position(number, 1))
        locator = Locator(decode_text(line, self.name))
        errors = []
        for problem in problems:
            place = locator.locate(problem.path)
            subject = ": ".join(filter(None, (f"event {number - 2}", path_text(problem.path))))
            position = Position(number, place.column if place else 1)
            text, hint = problem.message, problem.hint
            errors.append(
                InputError(self.name, text, subject=subject, position=position, hint=hint)
            )
        return errors[0].with_others(errors[1:])

    def _event(self, entry: EventEntry, index: int) -> TimelineEvent:
        actions = [
            entry.pod, entry.put, entry.delete, entry.change, entry.end, entry.decision, entry.gap
        ]  # fmt: skip
        if len(actions) - actions.count(UNSET) != 1:
            raise EventError(
                "expected exactly one of pod, put, delete, change, end, decision and gap"
            )
        at = self.time(entry.at)
        action: Action
        if entry.pod is not UNSET:
            action = Arrival(self._arriving(entry.pod, entry.template), _work(entry))
        elif (entry.template, entry.runs_for, entry.restart_overhead) != (UNSET, UNSET, UNSET):
            raise EventError("template, runsFor and restartOverhead require pod")
        elif entry.put is not UNSET:
            action = self._replacement(entry.put, decided=bool(entry.decided))
        elif entry.delete is not UNSET:
            action = self._removal(entry.delete, entry.grace_period or 0, bool(entry.preempted))
        elif entry.end is not UNSET:
            ran_for = None if entry.ran_for is UNSET else _microseconds(entry.ran_for, "ranFor")
            action = Completion(entry.end if "/" in entry.end else f"default/{entry.end}", ran_for)
        elif entry.change is not UNSET:
            folder = Path() if self._path == "-" else Path(self._path).parent
            given = entry.change
            try:
                change = given if isinstance(given, str) else AppliedObjects.of(given)
                action = read_change(change, self.namespace, folder, self.name)
            except ChangeError as error:
                raise EventError(str(error)) from None
        elif entry.decision is not UNSET:
            action = entry.decision
        else:
            assert entry.gap is not UNSET  # the only one that is left
            action = entry.gap
        return TimelineEvent(at, action, index)

    # -- pods -----------------------------------------------------------------------------------

    def _arriving(self, pod: dict[str, Any] | str, template: str | UnsetType) -> Pod:
        if isinstance(pod, str):
            if template is UNSET:
                raise EventError("a pod given by name requires a template; or write its manifest")
            model = self._templates.get(template)
            if model is None:
                names = ", ".join(sorted(self._templates)) or "none"
                raise EventError(f'unknown template "{template}"; expected one of {names}')
            return model.named(pod)
        if template is not UNSET:
            raise EventError("with a template, pod is the name of the pod")
        return self._pod(pod)

    def _template(self, manifest: dict[str, Any]) -> _Template:
        given = manifest.get("metadata") or {}
        if not isinstance(given, dict):
            raise EventError("metadata: expected an object")
        own_names = {"name": _NAME, "namespace": _NAMESPACE}
        metadata = own_names | given | own_names  # these first, then the rest
        own = {"apiVersion": "v1", "kind": "Pod", **manifest, "metadata": metadata}
        text = _encode(own)
        before, _, rest = text.partition(msgspec.json.encode(_NAME))
        between, _, after = rest.partition(msgspec.json.encode(_NAMESPACE))
        namespace = str(given.get("namespace") or "default")
        return _Template(self._pod(own), namespace, (before, between, after))

    def _pod(self, manifest: dict[str, Any]) -> Pod:
        manifest = {"apiVersion": "v1", **manifest, "kind": "Pod"}
        if manifest["apiVersion"] != "v1":
            raise EventError(f'a pod has apiVersion "v1", not "{manifest["apiVersion"]}"')
        pod = load_objects(self.state, [manifest], self.name).pods[0]
        key = _encode(manifest.get("spec"))
        spec = self._specs.get(key)
        if spec is not None:
            return structs.replace(pod, spec=spec)
        if len(self._specs) < _MAX_SPECS:
            self._specs[key] = pod.spec
        return pod

    # -- objects --------------------------------------------------------------------------------

    def _replacement(self, manifest: dict[str, Any], *, decided: bool) -> Replacement:
        name, version = str(manifest.get("kind") or ""), str(manifest.get("apiVersion") or "")
        kind = find_kind(version, name)
        if kind is not None:
            load_objects(self.state, [manifest], self.name)  # what is not valid is an error at once
            return Replacement(kind, manifest, decided)
        custom = kind_with_group(version, name)
        if custom not in self.reads:
            raise self._unread(custom)
        metadata = manifest.get("metadata")
        if not isinstance(metadata, dict) or not isinstance(metadata.get("name"), str):
            raise EventError("metadata.name: expected the name of the object")
        return Replacement(custom, manifest, decided)

    def _removal(self, target: DeletedObject, grace: float, preempted: bool) -> Removal:
        word = target.kind
        kind: ObjectKind | str | None = word if word in self.reads else kind_of(word)
        if kind is None:
            groups = [each for each in self.reads if word == each.partition(".")[0]]
            if not groups:
                raise self._unread(word)
            # Several groups: the one that has the object when it is deleted counts.
            kind = groups[0] if len(groups) == 1 else word
        if not target.name:
            raise EventError("delete requires a name")
        namespace = target.namespace or "default"
        if isinstance(kind, ObjectKind) and not kind.namespaced:
            namespace = ""
        period = _microseconds(grace, "gracePeriod")
        return Removal(kind, namespace, target.name, period, preempted)

    def _unread(self, kind: str) -> EventError:
        """Say which kinds the plugins read."""
        listed = f"; the plugins read {', '.join(sorted(self.reads))}" if self.reads else ""
        hint = listed or ", and no plugin declares it in `reads`"
        return EventError(f'kube-scheduler does not read objects of kind "{kind}"{hint}')

    # -- times ----------------------------------------------------------------------------------

    def time(self, at: float | str) -> int:
        """Return a time in microseconds after the start. Raises EventError."""
        if not isinstance(at, str):
            return _microseconds(at, "at")
        try:
            moment = _moment(at)
        except ValueError:
            raise EventError(f'"{at}" is not a time: {_TIME}') from None
        if self.start is None:
            raise EventError(f'at: "{at}" requires `start` in the timeline')
        moment -= self.start * SECOND
        if moment < 0:
            raise EventError(f'"{at}" is before the start')
        return moment

    def moments(self, text: str) -> Iterator[int]:
        """Return the moments that --regret-at names, in order: `1h,2h`, or `every 1h` without end.
        Raises UsageError."""
        if (step := text.removeprefix("every ")) == text:
            times = [self.moment(each.strip(), "--regret-at") for each in text.split(",")]
            return iter(sorted({*times}))
        interval = self.moment(step.strip(), "--regret-at every")
        if not interval:
            raise UsageError(f"--regret-at {text}: expected a duration of more than 0, such as 1h")
        return itertools.count(interval, interval)

    def moment(self, text: str, option: str = "--until") -> int:
        """Return the moment that an option names, as `6h`, seconds or a time, in microseconds after
        the start. Raises UsageError."""
        at: float | str = text
        try:
            at = parse_duration(text) / 1e9
        except DurationError:
            if text.replace(".", "", 1).isdecimal():
                at = float(text)
        try:
            return self.time(at)
        except EventError as error:
            problem = "expected 6h, a number of seconds, or a time such as 2026-01-31T12:00:00Z"
            reason = str(error).removesuffix(f": {_TIME}")
            raise UsageError(f"{option} {text}: {reason}; {problem}") from None


def _entry_with_nulls(line: bytes) -> EventEntry:
    """Decode a line in which null stands for a key that is left out, as tables are exported.
    Raises ValidationError."""
    data = msgspec.json.decode(line)
    if isinstance(data, dict):
        keys = EventEntry.__struct_encode_fields__
        data = {key: data[key] for key in data if data[key] is not None or key not in keys}
    return msgspec.convert(data, EventEntry)


def _microseconds(seconds: float, name: str) -> int:
    if not 0 <= seconds < 1e11:
        raise EventError(f"{name}: expected a number of seconds that is not negative")
    return round(seconds * SECOND)


def _work(entry: EventEntry) -> PodWork:
    """Return for how long the pod runs, by the label of its node if the entry says so. Raises
    EventError."""
    run_time, overhead = entry.runs_for, 0
    if entry.restart_overhead is not UNSET:
        if run_time is UNSET:
            raise EventError("restartOverhead requires runsFor")
        overhead = _microseconds(entry.restart_overhead, "restartOverhead")
    if run_time is UNSET:
        return STAYS
    if not isinstance(run_time, RunTimesByNode):
        return PodWork(_microseconds(run_time, "runsFor"), restart_overhead=overhead)
    by_value = {
        value: _microseconds(seconds, f"runsFor.seconds.{value}")
        for value, seconds in run_time.seconds.items()
    }
    rest = run_time.otherwise
    otherwise = None if rest is UNSET else _microseconds(rest, "runsFor.otherwise")
    return PodWork(otherwise, run_time.label, by_value, overhead)


def _moment(text: str) -> int:
    """Return an RFC 3339 time in microseconds since 1970. Raises ValueError."""
    since = parse_time(text) - datetime(1970, 1, 1, tzinfo=UTC)
    return (since.days * 86_400 + since.seconds) * SECOND + since.microseconds


# -- files ----------------------------------------------------------------------------------------


def read_timeline(
    path: str,
    state: ClusterState,
    namespace: str = "",
    name: str = "",
    reads: frozenset[str] = frozenset(),
    warn: Callable[[str], None] = ignore,
) -> Timeline:
    """Return the timeline in a file; "-" is standard input, a document.

    state: whose priority classes the pods may name
    namespace: of names in changes
    name: of the file in messages; its path by default
    reads: kinds that plugins read, besides those of kube-scheduler
    warn: takes a line when the end of the events is missing
    Raises InputError, with line and column where the text has them.
    """
    if path.removesuffix(_GZIP).endswith(_LINES):
        name, text = name or path, ""
        # The first line of a file of JSON lines is what a document has beside its events.
        try:
            with open(path, "rb") as raw, unpacked_by_name(raw, path) as file:
                first = next(whole_lines(file, name, ignore), b"")
        except FileNotFoundError:
            raise missing_file(name) from None
        except OSError as error:
            raise InputError(name, f"cannot be read: {error.strerror}") from None
        try:
            header = msgspec.json.decode(first)
        except _UNREADABLE as error:
            problem = f"the first line is not JSON: {error}"
            raise InputError(name, problem, position=Position(1, 1), hint=_HINT) from None
        content = decode_file(header, TimelineDocument, decode_text(first, name), name, _HINT)
    else:
        document, content = read_own_document(path, TimelineDocument, _HINT, name)
        name, text = document.name, document.text
    return Timeline(
        name, content, state, namespace, reads=reads, _warn=warn, _path=path, _text=text
    )
