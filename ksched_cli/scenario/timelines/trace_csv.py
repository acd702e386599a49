"""A trace in CSV, a row per pod, as a timeline: Alibaba's, Google's, Azure's, one's own.

Which column has what says who knows the trace; nothing is guessed.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from io import StringIO

from ksched_cli.errors import InputError, Position
from ksched_cli.kube.documents import decode_text, read_file
from ksched_cli.kube.gzipped import unpacked
from ksched_cli.kube.quantity import Quantity, QuantityError
from ksched_cli.kube.time import unix_seconds
from ksched_cli.scenario.timelines.distributions import LONGEST
from ksched_cli.scenario.timelines.event_lines import Plain, header, number

# How many of it make a second.
TIME_UNITS = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}
_MAX_TEMPLATES = 1_000
_ALTERNATIVES = "|"
# Resources that need no limit; of others it is the request.
_NATIVE = ("cpu", "memory", "ephemeral-storage")


@dataclass(frozen=True, slots=True)
class TraceColumns:
    """The columns of a trace, by what they are of; "": there is none.

    requests:  resource → column and the unit that its numbers lack, as m or Mi
    selectors: node label → column; values with | between them are alternatives
    labels:    the pod's label → column
    duration:  how long it ran, instead of `scheduled` and `ended`
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

    def named(self) -> Iterator[str]:
        single = (self.name, self.namespace, self.created, self.scheduled, self.ended)
        yield from (name for name in (*single, self.duration, self.priority) if name)
        yield from (column for column, _ in self.requests.values())
        yield from (*self.selectors.values(), *self.labels.values())


class _RowError(Exception):
    """What is wrong with a row."""


@dataclass(slots=True)
class TraceReader:
    """Makes a timeline of a trace.

    unit:  of times and durations that are numbers, one of TIME_UNITS
    start: what the time 0 is
    """

    columns: TraceColumns
    unit: str = "s"
    start: datetime = datetime(1970, 1, 1, tzinfo=UTC)
    _templates: dict[str, Plain] = field(default_factory=dict)
    _names: dict[tuple[str, ...], str] = field(default_factory=dict)
    # By namespace and name, how many rows have it: the second is NAME-2.
    _rows: dict[tuple[str, str], int] = field(default_factory=dict)

    def read(self, path: str) -> tuple[Plain, list[Plain]]:
        """The header and the events. Raises InputError with the line of a row that is wrong."""
        raw, source = read_file(path)
        reader = csv.DictReader(StringIO(decode_text(unpacked(raw, source), source), newline=""))
        events: list[tuple[float, Plain]] = []
        try:
            self._check_columns(reader.fieldnames or (), source)
            for index, row in enumerate(reader):
                if None in row or None in row.values():
                    raise _RowError(f"expected {len(reader.fieldnames or ())} values")
                events += self._events(row, index)
        except (_RowError, csv.Error) as error:
            raise InputError(source, str(error), position=Position(reader.line_num, 1)) from None
        if not events:
            raise InputError(source, "there are no rows under the columns")
        first = min(at for at, _ in events) // 1
        for at, event in events:
            if max(at - first, event.get("runsFor", 0)) > LONGEST:
                raise InputError(source, "it takes more than 3,000 years; is --time-unit right?")
            event["at"] = number(at - first)
        try:
            start = datetime.fromtimestamp(first, UTC)
        except (ValueError, OverflowError, OSError):
            problem = "the first time is in no year from 1 to 9999; is --time-unit right?"
            raise InputError(source, problem) from None
        return header(start, self._templates), [event for _, event in events]

    def _check_columns(self, present: Sequence[str], source: str) -> None:
        for column in self.columns.named():
            if column not in present:
                listed = ", ".join(present) or "none"
                raise InputError(source, f'there is no column "{column}"; there are: {listed}')

    # -- rows -------------------------------------------------------------------------------------

    def _events(self, row: Mapping[str, str], index: int) -> Iterator[tuple[float, Plain]]:
        """With their times since 1970. Raises _RowError."""
        columns = self.columns
        created = self._time(row, columns.created)
        if created is None:
            raise _RowError(f'column "{columns.created}": a time is expected')
        name = row[columns.name].strip() if columns.name else f"pod-{index}"
        if not name:
            raise _RowError(f'column "{columns.name}": a name is expected')
        namespace = (row[columns.namespace].strip() if columns.namespace else "") or "default"
        rows = self._rows[namespace, name] = self._rows.get((namespace, name), 0) + 1
        name = name if rows == 1 else f"{name}-{rows}"
        event: Plain = {"at": 0.0, **self._pod(row, namespace, name)}
        ended = self._time(row, columns.ended)
        run_time = self._run_time(row, ended)
        if run_time is not None:
            event["runsFor"] = number(run_time)
        yield created, event
        if run_time is None and ended is not None:
            # It never had a node.
            reference = {"kind": "Pod", "namespace": namespace, "name": name}
            yield max(created, ended), {"at": 0.0, "delete": reference}

    def _run_time(self, row: Mapping[str, str], ended: float | None) -> float | None:
        """Seconds; None where the row does not say."""
        column = self.columns.duration
        if column:
            text = row[column].strip()
            return max(0.0, self._number(text, column) / TIME_UNITS[self.unit]) if text else None
        scheduled = self._time(row, self.columns.scheduled)
        if not self.columns.scheduled:
            scheduled = self._time(row, self.columns.created)
        return max(0.0, ended - scheduled) if ended is not None and scheduled is not None else None

    def _time(self, row: Mapping[str, str], column: str) -> float | None:
        """Seconds since 1970; None where there is none."""
        text = row[column].strip() if column else ""
        if not text:
            return None
        try:
            return self.start.timestamp() + self._number(text, column) / TIME_UNITS[self.unit]
        except _RowError:
            pass
        try:
            return unix_seconds(text)
        except ValueError:
            expected = "a number, or a time as 2026-01-31T12:00:00Z, is expected"
            raise _RowError(f'column "{column}": {expected}; not "{text}"') from None

    @staticmethod
    def _number(text: str, column: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = float("nan")
        if not abs(value) < 1e20:
            raise _RowError(f'column "{column}": a number is expected; not "{text}"')
        return value

    # -- pods -------------------------------------------------------------------------------------

    def _pod(self, row: Mapping[str, str], namespace: str, name: str) -> Plain:
        """Of an event: the pod's name and template, or its manifest."""
        columns = self.columns
        own = (*(column for column, _ in columns.requests.values()), columns.priority)
        own = (*own, *columns.selectors.values(), *columns.labels.values())
        key = tuple(row[column].strip() for column in own if column)
        template = self._names.get(key)
        if template is None:
            manifest = self._manifest(row)
            if len(self._names) >= _MAX_TEMPLATES:
                metadata = {"name": name, "namespace": namespace, **manifest.get("metadata", {})}
                return {"pod": {**manifest, "metadata": metadata}}
            template = self._names[key] = f"t{len(self._names)}"
            self._templates[template] = manifest
        return {"pod": f"{namespace}/{name}", "template": template}

    def _manifest(self, row: Mapping[str, str]) -> Plain:
        columns = self.columns
        amounts = {}
        for resource, (column, unit) in columns.requests.items():
            amount = self._quantity(row[column].strip(), unit, column)
            if amount:
                amounts[resource] = amount
        resources: Plain = {"requests": amounts}
        limits = {name: amount for name, amount in amounts.items() if name not in _NATIVE}
        if limits:
            resources["limits"] = limits
        spec: Plain = {"containers": [{"name": "main", "image": "main", "resources": resources}]}
        if columns.priority and row[columns.priority].strip():
            priority = self._number(row[columns.priority].strip(), columns.priority)
            if not -(2**31) <= priority < 2**31:
                raise _RowError(f'column "{columns.priority}": {priority:g} is no priority')
            spec["priority"] = int(priority)
        terms = [
            {"key": label, "operator": "In", "values": row[column].strip().split(_ALTERNATIVES)}
            for label, column in columns.selectors.items()
            if row[column].strip()
        ]
        if terms:
            required = {"nodeSelectorTerms": [{"matchExpressions": terms}]}
            affinity = {"requiredDuringSchedulingIgnoredDuringExecution": required}
            spec["affinity"] = {"nodeAffinity": affinity}
        labels = {key: row[column].strip() for key, column in columns.labels.items()}
        return {"metadata": {"labels": labels}, "spec": spec} if labels else {"spec": spec}

    @staticmethod
    def _quantity(text: str, unit: str, column: str) -> str:
        """As Kubernetes writes amounts; "" for none."""
        try:
            amount = Quantity.parse(f"{text or 0}{unit}")
        except QuantityError:
            problem = f'"{text}{unit}" is no amount as Kubernetes writes them'
            raise _RowError(f'column "{column}": {problem}') from None
        if amount.sign() < 0:
            raise _RowError(f'column "{column}": "{text}" is negative')
        return f"{text}{unit}" if amount.sign() else ""
