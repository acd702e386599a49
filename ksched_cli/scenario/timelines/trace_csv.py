"""A trace, a row per pod or per job of several, as a timeline: Alibaba's, Azure's, one in Standard
Workload Format, one's own; and its nodes.

The options say which column has what; nothing is guessed.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from fractions import Fraction
from functools import partial

from ksched_cli.cluster.objects.node import HOSTNAME_LABEL, KUBELET_PODS
from ksched_cli.errors import InputError
from ksched_cli.kube.quantity import Quantity
from ksched_cli.kube.time import unix_seconds
from ksched_cli.scenario.timelines.csv_file import (
    NATIVE,
    CsvFile,
    NumberedRow,
    Row,
    RowError,
    amount_in,
    cell,
    columns_in,
    count_in,
    divided,
    name_in,
    number_in,
    quantity_in,
    text_in,
)
from ksched_cli.scenario.timelines.event_lines import LONGEST, Plain, header, number
from ksched_cli.scenario.timelines.trace_events import (
    ENDED,
    STARTED,
    SUBMITTED,
    EventColumns,
    pods_of,
)
from ksched_cli.scenario.timelines.trace_run_times import NodeRunTimes

# -- traces ---------------------------------------------------------------------------------------

# How many seconds one is.
TIME_UNITS = {
    "d": Fraction(86_400),
    "h": Fraction(3_600),
    "m": Fraction(60),
    "s": Fraction(1),
    "ms": Fraction(1, 10**3),
    "us": Fraction(1, 10**6),
    "ns": Fraction(1, 10**9),
}
FOREVER = "forever"
# The annotation of pods with their run times by node, as JSON.
RUN_TIMES = "ksched/run-times"
_MAX_TEMPLATES = 1_000
_MAX_REPLICAS = 100_000
_ALTERNATIVES = "|"
_GROUP_VERSION = "scheduling.k8s.io/v1alpha2"


@dataclass(frozen=True, slots=True)
class TraceColumns:
    """The columns of a trace, by what they are of; "": there is none.

    requests:  resource → column and the unit that its numbers lack, as m or Mi
    selectors: node label → column; values with | between them are alternatives
    labels:    the pod's label → column
    name:      a column, or a text with {COLUMN} in it
    duration:  how long it ran, instead of `scheduled` and `ended`
    replicas:  how many pods a row is
    """

    created: str
    requests: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    name: str = ""
    namespace: str = ""
    priority: str = ""
    scheduled: str = ""
    ended: str = ""
    duration: str = ""
    selectors: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    replicas: str = ""

    def named(self) -> Iterator[str]:
        single = (self.namespace, self.created, self.scheduled, self.ended)
        more = (self.duration, self.priority, self.replicas)
        yield from (name for name in (*single, *more) if name)
        yield from columns_in(self.name)
        yield from (column for column, _ in self.requests.values())
        yield from (*self.selectors.values(), *self.labels.values())


@dataclass(frozen=True, slots=True)
class TraceRules:
    """What is made of the rows.

    unit:    of times and durations that are numbers, one of TIME_UNITS
    start:   what the time 0 is
    created_default, duration_default: for cells that are empty; "": those are errors. A duration
             may be FOREVER
    divided: the resources whose column is the sum over the pods of a row
    gang:    the pods of a row are placed together
    where:   columns with the values that they may have
    sample:  how many rows are drawn, by the seed; 0: all are taken
    scale:   what times and durations are multiplied by
    events:  the columns of a trace with a row per event, whose time is `created`
    node_times: run times by node; those of columns apply to other nodes
    overhead: how many seconds longer each run takes after the first
    annotates: the pods' annotation RUN_TIMES has their run times by node
    """

    unit: str = "s"
    start: datetime = datetime(1970, 1, 1, tzinfo=UTC)
    created_default: str = ""
    duration_default: str = ""
    divided: frozenset[str] = frozenset()
    gang: bool = False
    where: Mapping[str, Sequence[str]] = field(default_factory=dict)
    sample: int = 0
    seed: int = 1
    scale: float = 1.0
    events: EventColumns | None = None
    node_times: NodeRunTimes | None = None
    overhead: float = 0.0
    annotates: bool = False


@dataclass(slots=True)
class Trace:
    """The contents of a trace.

    groups:   PodGroups of gangs
    rows:     how many there were
    left_out: by reason, how many of them
    first_bad: what is wrong with the first that is wrong
    span:     from the first to the last event, in seconds
    requests: of all pods
    """

    header: Plain
    events: list[Plain]
    groups: list[Plain]
    rows: int
    left_out: Counter[str]
    first_bad: str
    span: float
    pods: int
    requests: Mapping[str, Quantity]


@dataclass(slots=True)
class TraceReader:
    """Makes a timeline of a trace."""

    columns: TraceColumns
    rules: TraceRules = field(default_factory=TraceRules)
    _templates: dict[str, Plain] = field(default_factory=dict)
    _names: dict[tuple[str, ...], str] = field(default_factory=dict)
    _manifests: dict[tuple[str, ...], Plain] = field(default_factory=dict)
    # By namespace and name, the number that the next of that name gets: the second is NAME-2.
    _numbers: dict[tuple[str, str], int] = field(default_factory=dict)
    _groups: list[Plain] = field(default_factory=list)
    _requests: dict[str, Quantity] = field(default_factory=dict)

    def read(self, file: CsvFile) -> Trace:
        """Read the rows of a file. Raises InputError with the lines of rows that are wrong."""
        rules, left_out = self.rules, Counter[str]()
        named = [*self.columns.named(), *rules.where]
        named += [rules.events.type] if rules.events is not None else []
        named += rules.node_times.named() if rules.node_times is not None else []
        file.open(named)
        chosen = self._chosen(file, left_out)
        rows = file.read(chosen, lambda *each: list(self._events(*each)))
        events = [event for own in rows for event in own]
        if file.errors:
            left_out["by --skip-bad"] = len(file.errors)
        if not events:
            many = f"all {left_out.total():,} rows are left out" if left_out else ""
            unmatched = "no row submits or starts a pod" if file.count else ""
            raise InputError(
                file.source, many or unmatched or "the file has no rows below the header"
            )
        # Times are counted from the first.
        first, scale = min(at for at, _ in events) // 1, rules.scale
        span = 0.0
        for at, event in events:
            event["at"] = number((at - first) * scale)
            lengths = [event.get("runsFor", 0)]
            if isinstance(lengths[0], dict):
                by_node = lengths[0]
                lengths = [*by_node["seconds"].values(), by_node.get("otherwise", 0)]
            if max(event["at"], *lengths) > LONGEST:
                raise InputError(
                    file.source, "it takes more than 3,000 years; is --time-unit right?"
                )
            span = max(span, event["at"])
        try:
            start = datetime.fromtimestamp(first, UTC)
        except (ValueError, OverflowError, OSError):
            problem = "the first time is not between the years 1 and 9999; is --time-unit right?"
            raise InputError(file.source, problem) from None
        return Trace(
            header(start, self._templates),
            [event for _, event in events],
            self._groups,
            file.count,
            left_out,
            file.errors[0].text() if file.errors else "",
            span,
            sum("pod" in event for _, event in events),
            self._requests,
        )

    def _chosen(self, file: CsvFile, left_out: Counter[str]) -> Iterable[NumberedRow]:
        """Yield those of the sample, or all that --where leaves."""
        rules = self.rules

        def where() -> Iterator[NumberedRow]:
            for each in file.rows():
                if all(each[-1][name].strip() in values for name, values in rules.where.items()):
                    yield each
                else:
                    left_out["by --where"] += 1

        chosen = where() if rules.events is None else self._pods(file, where(), rules.events)
        if not rules.sample:
            return chosen
        rows = list(chosen)
        if len(rows) > rules.sample:
            left_out["by --sample"] = len(rows) - rules.sample
            draw = random.Random(rules.seed)  # nosec B311  # the same rows for the same seed
            rows = sorted(draw.sample(rows, rules.sample), key=lambda each: each[0])
        return rows

    def _pods(
        self, file: CsvFile, rows: Iterable[NumberedRow], events: EventColumns
    ) -> Iterable[NumberedRow]:
        """Return the rows of pods, whose events the rows of the file are."""
        columns, timed = self.columns, list[tuple[float, NumberedRow]]()
        for each in rows:
            _, line, row = each
            try:
                text_in(row, columns.name)
                at = self._time(row, columns.created)
            except RowError as error:
                file.add_error(line, error)
                continue
            if at is not None:
                timed.append((at, each))
        self.columns = replace(columns, created=SUBMITTED, scheduled=STARTED, ended=ENDED)
        name = partial(text_in, text=columns.name)
        return pods_of(events, timed, name, columns.created)

    # -- rows -------------------------------------------------------------------------------------

    def _events(self, index: int, row: Row) -> Iterator[tuple[float, Plain]]:
        """Yield events with their times since 1970. Raises RowError."""
        columns = self.columns
        created = self._time(row, columns.created, self.rules.created_default)
        if created is None:
            expected = "a time is expected (--created-default TIME for empty cells)"
            raise RowError(f'column "{columns.created}": {expected}')
        name = text_in(row, columns.name) if columns.name else f"pod-{index}"
        namespace = cell(row, columns.namespace) or "default"
        run_time, ended = self._end(row, created)
        column = columns.replicas
        count = count_in(cell(row, column), column, _MAX_REPLICAS) if column else 1
        runs = self._runs(row, run_time)
        key = self._key(row, count, runs)
        manifest = self._manifests.get(key) or self._manifest(row, count, runs)
        if len(self._manifests) < _MAX_TEMPLATES:
            self._manifests[key] = manifest
        name = self._unique(namespace, name)
        if self.rules.gang:
            group = {"schedulingGroup": {"podGroupName": name}}
            manifest = {**manifest, "spec": {**manifest["spec"], **group}}
            self._groups.append(
                {
                    "apiVersion": _GROUP_VERSION,
                    "kind": "PodGroup",
                    "metadata": {"name": name, "namespace": namespace},
                    "spec": {"schedulingPolicy": {"gang": {"minCount": count}}},
                }
            )
            key = (*key, namespace, name)
        elif count > 1:
            # They are one job, as those of a Job.
            job = {"apiVersion": "batch/v1", "kind": "Job", "name": name, "uid": f"job-{name}"}
            metadata = manifest.get("metadata", {})
            metadata = {**metadata, "ownerReferences": [{**job, "controller": True}]}
            manifest = {**manifest, "metadata": metadata}
            key = (*key, namespace, name)
        names = [self._unique(namespace, f"{name}-{n}") for n in range(count)] if column else [name]
        self._count(manifest, count)
        for each in names:
            event: Plain = {"at": 0.0, **self._pod(manifest, key, namespace, each), **runs}
            yield created, event
            if ended is not None:
                reference = {"kind": "Pod", "namespace": namespace, "name": each}
                yield max(created, ended), {"at": 0.0, "delete": reference}

    def _unique(self, namespace: str, name: str) -> str:
        """Return the name, or NAME-2 where a pod of the namespace has it, or NAME-3, …"""
        unique = name
        while (namespace, unique) in self._numbers:
            self._numbers[namespace, name] += 1
            unique = f"{name}-{self._numbers[namespace, name]}"
        self._numbers[namespace, unique] = 1
        return unique

    def _end(self, row: Row, created: float) -> tuple[float | None, float | None]:
        """Return for how many seconds the pod runs, None for ever; and when it is deleted, if it
        never had a node. Raises RowError."""
        columns = self.columns
        if columns.duration:
            text = cell(row, columns.duration)
            if not text:
                return self._default_duration(columns.duration), None
            return self._seconds(amount_in(text, columns.duration)), None
        if not columns.ended:
            return None, None
        ended = self._time(row, columns.ended)
        if ended is None:
            return self._default_duration(columns.ended), None
        scheduled = self._time(row, columns.scheduled) if columns.scheduled else created
        began, column = scheduled, columns.scheduled or columns.created
        if began is None:
            began, column = created, columns.created
        if ended < began:
            before = f'"{cell(row, columns.ended)}" is before "{cell(row, column)}"'
            raise RowError(f'column "{columns.ended}": {before} of column "{column}"')
        return (None, ended) if scheduled is None else (ended - began, None)

    def _runs(self, row: Row, run_time: float | None) -> Plain:
        """Return the fields of an event that say how long the pod runs. run_time: where nothing
        depends on the node. Raises RowError."""
        times, overhead, scale = self.rules.node_times, self.rules.overhead, self.rules.scale
        fields: Plain = {}
        if run_time is not None:
            fields["runsFor"] = number(run_time * scale)
        if times is not None:
            by_node = times.of(row, self._seconds)
            seconds = {value: number(time * scale) for value, time in by_node.items()}
            otherwise = {"otherwise": fields["runsFor"]} if fields else {}
            fields["runsFor"] = {"label": times.label, "seconds": seconds, **otherwise}
        if overhead and fields:
            fields["restartOverhead"] = number(overhead * scale)
        return fields

    def _default_duration(self, column: str) -> float | None:
        """Return for how many seconds a pod with an empty cell runs, None for ever. Raises RowError
        if nothing says it."""
        default = self.rules.duration_default
        if default == FOREVER:
            return None
        if not default:
            hint = "--duration-default forever, or a duration, for empty cells"
            raise RowError(f'column "{column}": the cell is empty ({hint})')
        return self._seconds(float(default))

    def _seconds(self, value: float) -> float:
        """Return a number of the trace's unit in seconds."""
        unit = TIME_UNITS[self.rules.unit]
        return value * unit.numerator / unit.denominator

    def _time(self, row: Row, column: str, default: str = "") -> float | None:
        """Return the time in a row's column in seconds since 1970; None if there is none. Raises
        RowError."""
        text = cell(row, column) or default
        if not text:
            return None
        try:
            return self.rules.start.timestamp() + self._seconds(number_in(text, column))
        except RowError:
            pass
        try:
            return unix_seconds(text)
        except ValueError:
            expected = "expected a number, or a time such as 2026-01-31T12:00:00Z"
            raise RowError(f'column "{column}": {expected}; not "{text}"') from None

    # -- pods -------------------------------------------------------------------------------------

    def _key(self, row: Row, count: int, runs: Plain) -> tuple[str, ...]:
        """Return the cells that pods alike have in common."""
        columns = self.columns
        own = (*(column for column, _ in columns.requests.values()), columns.priority)
        own = (*own, *columns.selectors.values(), *columns.labels.values())
        shares = (str(count),) if self.rules.divided else ()
        if self.rules.node_times is not None:
            times = runs["runsFor"]["seconds"]
            shares = (*shares, json.dumps(times if self.rules.annotates else [*times]))
        return (*(cell(row, column) for column in own if column), *shares)

    def _pod(self, manifest: Plain, key: tuple[str, ...], namespace: str, name: str) -> Plain:
        """Return the fields of an event: the pod's name and template, or its manifest."""
        template = self._names.get(key)
        if template is None:
            if len(self._names) >= _MAX_TEMPLATES:
                metadata = {"name": name, "namespace": namespace, **manifest.get("metadata", {})}
                return {"pod": {**manifest, "metadata": metadata}}
            template = self._names[key] = f"t{len(self._names)}"
            self._templates[template] = manifest
        return {"pod": f"{namespace}/{name}", "template": template}

    def _count(self, manifest: Plain, count: int) -> None:
        requests = manifest["spec"]["containers"][0]["resources"]["requests"]
        for resource, amount in requests.items():
            each = Quantity.parse(amount)
            total = Quantity(each.unscaled * count, each.scale, each.form, wide=True)
            self._requests[resource] = self._requests.get(resource, Quantity(0)) + total

    def _manifest(self, row: Row, count: int, runs: Plain) -> Plain:
        columns = self.columns
        amounts = {}
        for resource, (column, unit) in columns.requests.items():
            amount = quantity_in(cell(row, column), unit, column, resource)
            if amount and resource in self.rules.divided:
                amount = divided(amount, resource, count, column)
            if amount:
                amounts[resource] = amount
        resources: Plain = {"requests": amounts}
        # Resources that need no limit; of others it is the request.
        limits = {name: amount for name, amount in amounts.items() if name not in NATIVE}
        if limits:
            resources["limits"] = limits
        spec: Plain = {"containers": [{"name": "main", "image": "main", "resources": resources}]}
        if text := cell(row, columns.priority):
            priority = number_in(text, columns.priority)
            if not -(2**31) <= priority < 2**31:
                raise RowError(f'column "{columns.priority}": {priority:g} is not a priority')
            spec["priority"] = int(priority)
        terms = [
            {"key": label, "operator": "In", "values": text.split(_ALTERNATIVES)}
            for label, column in columns.selectors.items()
            if (text := cell(row, column))
        ]
        by_node = runs.get("runsFor")
        if isinstance(by_node, dict) and "otherwise" not in by_node:
            # It ends on no other node.
            values = [*by_node["seconds"]]
            terms.append({"key": by_node["label"], "operator": "In", "values": values})
        if terms:
            required = {"nodeSelectorTerms": [{"matchExpressions": terms}]}
            affinity = {"requiredDuringSchedulingIgnoredDuringExecution": required}
            spec["affinity"] = {"nodeAffinity": affinity}
        labels = {key: cell(row, column) for key, column in columns.labels.items()}
        metadata: Plain = {"labels": labels} if labels else {}
        if self.rules.annotates:
            metadata["annotations"] = {RUN_TIMES: json.dumps(runs["runsFor"]["seconds"])}
        return {"metadata": metadata, "spec": spec} if metadata else {"spec": spec}


# -- nodes ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class NodeFileColumns:
    """The columns of a file of nodes. capacity, labels: as those of TraceColumns"""

    capacity: Mapping[str, tuple[str, str]]
    name: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)

    def named(self) -> Iterator[str]:
        yield from (self.name,) if self.name else ()
        yield from (column for column, _ in self.capacity.values())
        yield from self.labels.values()


def read_nodes(file: CsvFile, columns: NodeFileColumns) -> list[Plain]:
    """Return the nodes, a row each. Raises InputError with the lines of rows that are wrong."""
    names: set[str] = set()

    def node(index: int, row: Row) -> Plain:
        name = name_in(row, columns.name, f"node-{index}")
        amounts = {
            resource: quantity_in(cell(row, column), unit, column, resource)
            for resource, (column, unit) in columns.capacity.items()
        }
        if name in names:
            raise RowError(f'another row has the node "{name}"')
        names.add(name)
        labels = {label: cell(row, column) for label, column in columns.labels.items()}
        return node_manifest(name, amounts, labels)

    file.open(columns.named())
    return file.read(file.rows(), node)


def node_manifest(name: str, amounts: Mapping[str, str], labels: Mapping[str, str]) -> Plain:
    """Return a node with these resources and labels; empty ones are left out."""
    capacity = {"pods": KUBELET_PODS, **{key: each for key, each in amounts.items() if each}}
    own = {HOSTNAME_LABEL: name, **{label: value for label, value in labels.items() if value}}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": own},
        "status": {"capacity": capacity, "allocatable": capacity},
    }
