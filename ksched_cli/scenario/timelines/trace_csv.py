"""A trace, a row per pod or per job of several, as a timeline: Alibaba's, Azure's, one in Standard
Workload Format, one's own; and its nodes.

The options say which column has what; nothing is guessed.
"""

from __future__ import annotations

import csv
import itertools
import math
import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from fractions import Fraction
from io import StringIO
from typing import TypeAlias, TypeVar

from ksched_cli.cluster.objects.node import HOSTNAME_LABEL, KUBELET_PODS
from ksched_cli.errors import InputError, Position
from ksched_cli.kube.documents import decode_text, read_file
from ksched_cli.kube.quantity import Quantity, QuantityError
from ksched_cli.kube.stored_bytes import unpacked
from ksched_cli.kube.time import unix_seconds
from ksched_cli.scenario.timelines.event_lines import LONGEST, Plain, header, number

# -- cells ----------------------------------------------------------------------------------------


T = TypeVar("T")
Row: TypeAlias = Mapping[str, str]
NumberedRow: TypeAlias = tuple[int, int, Row]
"""Number, line, cells."""
WHITESPACE = "whitespace"
SHARE_OF = "x"
# After so many rows that are wrong the others are not read.
_MAX_ERRORS = 100
# Resources that are divided as finely as Kubernetes counts them; others are whole.
NATIVE = ("cpu", "memory", "ephemeral-storage")
_NANO, _MILLI = 10**9, 10**6


class RowError(Exception):
    """An error in a row."""


@dataclass(slots=True)
class CsvFile:
    """A file of rows, gzipped or not.

    has_header: the first row names the columns; else they are 1, 2, …
    skips_bad: rows that are wrong are left out
    delimiter: between the cells of a row, a character, or WHITESPACE: as many blanks as there are
    comment: what lines begin with that are no rows; "" for none
    source: its name; columns: their names; errors: of the rows that are wrong
    """

    path: str
    has_header: bool = True
    skips_bad: bool = False
    delimiter: str = ","
    comment: str = ""
    source: str = ""
    columns: tuple[str, ...] = ()
    errors: list[InputError] = field(default_factory=list)
    _text: str = ""

    def open(self, names: Iterable[str]) -> None:
        """Reads it, and the names of its columns. Raises InputError for one that is not there."""
        raw, self.source = read_file(self.path)
        self._text = decode_text(unpacked(raw, self.source), self.source)
        first = next(iter(self._lines()), (0, []))[1]
        numbers = map(str, range(1, len(first) + 1))
        self.columns = tuple(first if self.has_header else numbers)
        if not self.columns:
            raise InputError(self.source, "the file has no rows")
        for column in names:
            if column not in self.columns:
                listed = ", ".join(self.columns)
                hint = f'unknown column "{column}"; expected one of {listed}'
                raise InputError(self.source, hint)

    def rows(self) -> Iterator[NumberedRow]:
        """Yield the rows with their number and the line that each ends in; those that lack a cell
        are errors."""
        count, number = len(self.columns), itertools.count()
        for index, (line, cells) in enumerate(self._lines()):
            if index == 0 and self.has_header:
                continue
            if len(cells) != count:
                self.add_error(line, RowError(f"expected {count} values, got {len(cells)}"))
                continue
            yield next(number), line, dict(zip(self.columns, cells, strict=True))

    def read(self, rows: Iterable[NumberedRow], read: Callable[[int, Row], T]) -> list[T]:
        """Return what is read of each row. Raises InputError for those of which `read` raises
        RowError, unless they are left out."""
        results = []
        for index, line, row in rows:
            try:
                results.append(read(index, row))
            except RowError as error:
                self.add_error(line, error)
        self._raise_errors()
        return results

    def _lines(self) -> Iterator[tuple[int, list[str]]]:
        """Yield the lines that have cells, with their numbers."""
        lines: Iterable[str] = StringIO(self._text, newline="")
        if self.comment:
            lines = ("\n" if line.startswith(self.comment) else line for line in lines)
        if self.delimiter == WHITESPACE:
            split = ((number, line.split()) for number, line in enumerate(lines, start=1))
            yield from (each for each in split if each[1])
            return
        reader = csv.reader(lines, delimiter=self.delimiter)
        try:
            for cells in reader:
                if cells:
                    yield reader.line_num, cells
        except csv.Error as error:
            position = Position(reader.line_num, 1)
            raise InputError(self.source, str(error), position=position) from None

    def add_error(self, line: int, error: RowError) -> None:
        """Raises InputError where there are too many."""
        position = Position(line, 1)
        self.errors.append(InputError(self.source, str(error), position=position))
        if len(self.errors) >= _MAX_ERRORS:
            self._raise_errors()

    def _raise_errors(self) -> None:
        """Raises InputError with all of them, unless such rows are left out."""
        if self.errors and not self.skips_bad:
            raise self.errors[0].with_others(self.errors[1:])


def cell(row: Row, column: str) -> str:
    """The text in a column; "" where there is none."""
    return row[column].strip() if column else ""


def name_in(row: Row, column: str, default: str) -> str:
    """default: where there is no column. Raises RowError for an empty cell."""
    name = cell(row, column) if column else default
    if not name:
        raise RowError(f'column "{column}": expected a name')
    return name


def number_in(text: str, column: str) -> float:
    """Raises RowError."""
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not abs(value) < 1e20:
        raise RowError(f'column "{column}": expected a number, got "{text}"')
    return value


def count_in(text: str, column: str, most: int) -> int:
    """A whole number from 1 on. Raises RowError."""
    value = number_in(text, column)
    if value != int(value) or not 1 <= value <= most:
        problem = f"expected a whole number from 1 to {most:,}"
        raise RowError(f'column "{column}": {problem}; not "{text}"')
    return int(value)


def quantity_in(text: str, unit: str, column: str, resource: str) -> str:
    """An amount as Kubernetes writes it; "" for none. Raises RowError.

    unit: what follows the number, as m or Mi; or what the number is a share of, as x64 or x256Gi,
          rounded up to what Kubernetes counts of the resource
    """
    if unit.startswith(SHARE_OF):
        share = number_in(text or "0", column)
        if share < 0:
            raise RowError(f'column "{column}": "{text}" is negative')
        amount_of = Fraction(text or 0) * Quantity.parse(unit[1:]).nano_value()
        least, suffix = (_MILLI, "m") if resource == "cpu" else (_NANO, "")
        return f"{math.ceil(amount_of / least)}{suffix}" if share else ""
    try:
        amount = Quantity.parse(f"{text or 0}{unit}")
    except QuantityError:
        problem = f'"{text}{unit}" is not a Kubernetes quantity'
        raise RowError(f'column "{column}": {problem}') from None
    if amount.sign() < 0:
        raise RowError(f'column "{column}": "{text}" is negative')
    return f"{text}{unit}" if amount.sign() else ""


def divided(amount: str, resource: str, count: int, column: str) -> str:
    """The part of an amount for each of so many pods, rounded up to what Kubernetes counts. Raises
    RowError where a resource is not divisible."""
    total = Quantity.parse(amount).nano_value()
    if resource == "cpu":
        return f"{-(-total // (count * _MILLI))}m"
    share = -(-total // (count * _NANO))
    if resource not in NATIVE and share * count * _NANO != total:
        problem = f"{amount} of {resource} cannot be divided by {count}"
        raise RowError(f'column "{column}": {problem}')
    return str(share)


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
        single = (self.name, self.namespace, self.created, self.scheduled, self.ended)
        more = (self.duration, self.priority, self.replicas)
        yield from (name for name in (*single, *more) if name)
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
        """Raises InputError with the lines of rows that are wrong."""
        file.open((*self.columns.named(), *self.rules.where))
        left_out: Counter[str] = Counter()
        rows = file.read(self._chosen(file, left_out), lambda *each: list(self._events(*each)))
        events = [event for own in rows for event in own]
        if file.errors:
            left_out["by --skip-bad"] = len(file.errors)
        if not events:
            many = f"all {left_out.total():,} rows are left out" if left_out else ""
            raise InputError(file.source, many or "the file has no rows below the header")
        start, span = self._shift(events, file.source)
        return Trace(
            header(start, self._templates),
            [event for _, event in events],
            self._groups,
            len(rows) + left_out.total(),
            left_out,
            file.errors[0].text() if file.errors else "",
            span,
            sum("pod" in event for _, event in events),
            self._requests,
        )

    def _chosen(self, file: CsvFile, left_out: Counter[str]) -> Iterable[NumberedRow]:
        """Yield those of the sample, or all that --where leaves."""
        rules = self.rules

        def chosen() -> Iterator[NumberedRow]:
            for each in file.rows():
                if all(each[-1][name].strip() in values for name, values in rules.where.items()):
                    yield each
                else:
                    left_out["by --where"] += 1

        if not rules.sample:
            return chosen()
        rows = list(chosen())
        if len(rows) > rules.sample:
            left_out["by --sample"] = len(rows) - rules.sample
            draw = random.Random(rules.seed)  # nosec B311  # the same rows for the same seed
            rows = sorted(draw.sample(rows, rules.sample), key=lambda each: each[0])
        return rows

    def _shift(self, events: list[tuple[float, Plain]], source: str) -> tuple[datetime, float]:
        """Counts times from the first; returns what that is, and the time until the last."""
        first, scale = min(at for at, _ in events) // 1, self.rules.scale
        span = 0.0
        for at, event in events:
            event["at"] = number((at - first) * scale)
            if max(event["at"], event.get("runsFor", 0)) > LONGEST:
                raise InputError(source, "it takes more than 3,000 years; is --time-unit right?")
            span = max(span, event["at"])
        try:
            return datetime.fromtimestamp(first, UTC), span
        except (ValueError, OverflowError, OSError):
            problem = "the first time is not between the years 1 and 9999; is --time-unit right?"
            raise InputError(source, problem) from None

    # -- rows -------------------------------------------------------------------------------------

    def _events(self, index: int, row: Row) -> Iterator[tuple[float, Plain]]:
        """Yield events with their times since 1970. Raises RowError."""
        columns = self.columns
        created = self._time(row, columns.created, self.rules.created_default)
        if created is None:
            expected = "a time is expected (--created-default TIME for empty cells)"
            raise RowError(f'column "{columns.created}": {expected}')
        name = name_in(row, columns.name, f"pod-{index}")
        namespace = cell(row, columns.namespace) or "default"
        run_time, ended = self._end(row, created)
        column = columns.replicas
        count = count_in(cell(row, column), column, _MAX_REPLICAS) if column else 1
        key = self._key(row, count)
        manifest = self._manifests.get(key) or self._manifest(row, count)
        if len(self._manifests) < _MAX_TEMPLATES:
            self._manifests[key] = manifest
        name = self._unique(namespace, name)
        if self.rules.gang:
            group = {"schedulingGroup": {"podGroupName": name}}
            manifest = {**manifest, "spec": {**manifest["spec"], **group}}
            self._groups.append(_pod_group(namespace, name, count))
            key = (*key, namespace, name)
        names = [self._unique(namespace, f"{name}-{n}") for n in range(count)] if column else [name]
        self._count(manifest, count)
        for each in names:
            event: Plain = {"at": 0.0, **self._pod(manifest, key, namespace, each)}
            if run_time is not None:
                event["runsFor"] = number(run_time * self.rules.scale)
            yield created, event
            if ended is not None:
                reference = {"kind": "Pod", "namespace": namespace, "name": each}
                yield max(created, ended), {"at": 0.0, "delete": reference}

    def _unique(self, namespace: str, name: str) -> str:
        """The name, or NAME-2 where a pod of the namespace has it, or NAME-3, …"""
        unique = name
        while (namespace, unique) in self._numbers:
            self._numbers[namespace, name] += 1
            unique = f"{name}-{self._numbers[namespace, name]}"
        self._numbers[namespace, unique] = 1
        return unique

    def _end(self, row: Row, created: float) -> tuple[float | None, float | None]:
        """For how many seconds it runs, None for ever; and when it is deleted, where it never had a
        node. Raises RowError."""
        columns = self.columns
        if columns.duration:
            text = cell(row, columns.duration)
            if not text:
                return self._default_duration(columns.duration), None
            duration = self._seconds(number_in(text, columns.duration))
            if duration < 0:
                raise RowError(f'column "{columns.duration}": "{text}" is negative')
            return duration, None
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

    def _default_duration(self, column: str) -> float | None:
        """Raises RowError where nothing says how long such pods run."""
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
        """Seconds since 1970; None if there is none."""
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

    def _key(self, row: Row, count: int) -> tuple[str, ...]:
        """The cells that pods alike have in common."""
        columns = self.columns
        own = (*(column for column, _ in columns.requests.values()), columns.priority)
        own = (*own, *columns.selectors.values(), *columns.labels.values())
        shares = (str(count),) if self.rules.divided else ()
        return (*(cell(row, column) for column in own if column), *shares)

    def _pod(self, manifest: Plain, key: tuple[str, ...], namespace: str, name: str) -> Plain:
        """The fields of an event: the pod's name and template, or its manifest."""
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

    def _manifest(self, row: Row, count: int) -> Plain:
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
        if terms:
            required = {"nodeSelectorTerms": [{"matchExpressions": terms}]}
            affinity = {"requiredDuringSchedulingIgnoredDuringExecution": required}
            spec["affinity"] = {"nodeAffinity": affinity}
        labels = {key: cell(row, column) for key, column in columns.labels.items()}
        return {"metadata": {"labels": labels}, "spec": spec} if labels else {"spec": spec}


def _pod_group(namespace: str, name: str, count: int) -> Plain:
    return {
        "apiVersion": _GROUP_VERSION,
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"schedulingPolicy": {"gang": {"minCount": count}}},
    }


# -- nodes ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class NodeColumns:
    """The columns of a file of nodes. capacity, labels: as those of TraceColumns"""

    capacity: Mapping[str, tuple[str, str]]
    name: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)

    def named(self) -> Iterator[str]:
        yield from (self.name,) if self.name else ()
        yield from (column for column, _ in self.capacity.values())
        yield from self.labels.values()


def read_nodes(file: CsvFile, columns: NodeColumns) -> list[Plain]:
    """The nodes, a row each. Raises InputError with the lines of rows that are wrong."""
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
    """A node with these resources and labels; empty ones are left out."""
    capacity = {"pods": KUBELET_PODS, **{key: each for key, each in amounts.items() if each}}
    own = {HOSTNAME_LABEL: name, **{label: value for label, value in labels.items() if value}}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": own},
        "status": {"capacity": capacity, "allocatable": capacity},
    }
