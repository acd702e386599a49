"""The pods of a dump as a timeline: each comes when it was created, and runs as long as it did; and
how long the pods of an owner run, as far as dumps and timelines say.

Nodes and statuses are left out: where and when a pod starts is what the replay says.
"""

from __future__ import annotations

import random
import re
from bisect import bisect_right, insort
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import groupby

from ksched_cli.cluster.loading.load import plain_objects
from ksched_cli.cluster.objects import FINISHED_PHASES, MIRROR_ANNOTATION, Pod
from ksched_cli.cluster.state import ClusterState
from ksched_cli.cluster.trimming import trimmed
from ksched_cli.errors import InputError, ignore
from ksched_cli.kube.time import SECOND, parse_time
from ksched_cli.scenario.timeline import Arrival, read_timeline
from ksched_cli.scenario.timelines.event_lines import Plain, header, number

_METADATA = ("name", "namespace", "labels", "annotations", "ownerReferences")
_HINT = "kubectl get pods -A -o json gives a dump."


def timeline_of_dump(paths: Sequence[str]) -> tuple[Plain, list[Plain]]:
    """Return the header and the events. Where a pod is in several dumps, the last one counts.
    Raises InputError."""
    pods: dict[str, Plain] = {}
    for item in plain_objects(paths):
        # No scheduler sees the kubelet's own before it runs.
        if item["kind"] != "Pod" or MIRROR_ANNOTATION in _object(item, "metadata", "annotations"):
            continue
        pods[str(_object(item, "metadata").get("uid") or _key(item))] = item
    if not pods:
        raise InputError(", ".join(paths), "it has no pods", hint=_HINT)
    created = {uid: _created(pod) for uid, pod in pods.items()}
    start = min(created.values()).replace(microsecond=0)
    order = sorted(pods, key=lambda uid: (_key(pods[uid]), created[uid]))
    events = []
    for key, uids in groupby(order, key=lambda uid: _key(pods[uid])):
        namespace, _, name = key.partition("/")
        for index, uid in enumerate(uids):
            at = number((created[uid] - start).total_seconds())
            if index:  # the one before has gone by then, whenever the replay started it
                reference = {"kind": "Pod", "namespace": namespace, "name": name}
                events.append({"at": at, "delete": reference})
            read = trimmed(pods[uid])
            own = _object(read, "metadata")
            metadata = {key: own[key] for key in _METADATA if own.get(key)}
            spec = {key: each for key, each in _object(read, "spec").items() if key != "nodeName"}
            if "volumes" in spec:
                # Only the names are left of configuration and tokens, and these differ from pod to
                # pod.
                spec["volumes"] = [each for each in _objects(spec, "volumes") if _has_source(each)]
                if not spec["volumes"]:
                    del spec["volumes"]
            manifest = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
            event: Plain = {"at": at, "pod": manifest}
            length = run_time_of(pods[uid])
            if length is not None:
                event["runsFor"] = number(length)
            events.append(event)
    return header(start), events


def _key(pod: Plain) -> str:
    metadata = _object(pod, "metadata")
    return f"{metadata.get('namespace') or 'default'}/{metadata.get('name')}"


# -- parts, which nobody has checked ---------------------------------------------------------------


def _has_source(volume: Plain) -> bool:
    """Return whether a plugin may read something of the volume: of a projected one, certificates
    alone."""
    sources = {key: value for key, value in volume.items() if key != "name"}
    if sources.keys() == {"projected"}:
        return any(_objects(volume["projected"], "sources"))
    return bool(sources)


def _object(value: Plain, *path: str) -> Plain:
    """Return the object at a path; empty if there is none. Raises InputError for anything else."""
    pod = value
    for key in path:
        value = value.get(key) or {}
        if not isinstance(value, dict):
            problem = f"expected an object, got {value!r:.60}"
            raise InputError("", problem, subject=f"{_subject(pod)}: {key}", hint=_HINT)
    return value


def _objects(value: Plain, key: str) -> list[Plain]:
    """Return the objects of a list; none if there is no list. Raises InputError for anything
    else."""
    items = value.get(key) or []
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        problem = f"expected a list of objects, got {items!r:.60}"
        raise InputError("", problem, subject=key, hint=_HINT)
    return items


# -- times ----------------------------------------------------------------------------------------


def _created(pod: Plain) -> datetime:
    text = _object(pod, "metadata").get("creationTimestamp")
    if text is None:
        raise InputError("", "it has no creationTimestamp", subject=_subject(pod), hint=_HINT)
    return _moment(text, "metadata.creationTimestamp", pod)


def run_time_of(pod: Plain) -> float | None:
    """Return the seconds from when the pod had a node to the end of its last container; None if it
    has not ended."""
    status = _object(pod, "status")
    if status.get("phase") not in FINISHED_PHASES:
        return None
    ends = [
        _moment(text, "status.containerStatuses", pod)
        for container in _objects(status, "containerStatuses")
        if (text := _object(container, "state", "terminated").get("finishedAt"))
    ]
    if not ends:
        return None
    conditions = {str(each.get("type")): each for each in _objects(status, "conditions")}
    scheduled = conditions.get("PodScheduled", {})
    placed = scheduled.get("lastTransitionTime") if scheduled.get("status") == "True" else None
    begin = placed or status.get("startTime")
    began = _moment(begin, "status.startTime", pod) if begin else _created(pod)
    return max(0.0, (max(ends) - began).total_seconds())


def _moment(text: object, path: str, pod: Plain) -> datetime:
    try:
        return parse_time(str(text))
    except ValueError:
        problem = f'"{text}" is not a time such as 2026-01-31T12:00:00Z'
        raise InputError("", problem, subject=f"{_subject(pod)}: {path}") from None


def _subject(pod: Plain) -> str:
    metadata = pod.get("metadata")
    return f"Pod {_key(pod)}" if isinstance(metadata, dict) else "Pod"


# -- how long pods run ----------------------------------------------------------------------------


LINE_SUFFIXES = (".jsonl", ".ndjson", ".jsonl.gz", ".ndjson.gz")
# What a CronJob adds to its name for the Job of a time.
_RUN_OF_CRON_JOB = re.compile(r"-\d{8,}$")


@dataclass(slots=True)
class RunTimes:
    """warn: see read_timeline. by_owner: namespace/Kind/name → seconds, ascending. A CronJob's Jobs
    are one owner."""

    warn: Callable[[str], None] = ignore
    by_owner: dict[str, list[float]] = field(default_factory=dict)

    def add_dump(self, paths: Sequence[str]) -> None:
        """Add the finished pods of dumps. Raises InputError."""
        for item in plain_objects(paths):
            if item["kind"] == "Pod" and (seconds := run_time_of(item)) is not None:
                metadata = item.get("metadata") or {}
                owners = metadata.get("ownerReferences") or ()
                owner = next((each for each in owners if each.get("controller")), None)
                if owner is not None:
                    namespace, kind = metadata.get("namespace") or "default", owner.get("kind")
                    self._add(_owner(namespace, str(kind), str(owner.get("name"))), seconds)

    def add_timeline(self, path: str) -> None:
        """Add the pods of a timeline that end. Raises InputError."""
        for event in read_timeline(path, ClusterState(), warn=self.warn).events():
            action = event.action
            if isinstance(action, Arrival) and (time := action.work.shortest) is not None:
                self._add(history_owner(action.pod), time / SECOND)

    def add(self, path: str) -> None:
        """Add a timeline of JSON lines, or a dump. Raises InputError."""
        if path.endswith(LINE_SUFFIXES):
            self.add_timeline(path)
        else:
            self.add_dump([path])

    def _add(self, owner: str, seconds: float) -> None:
        if owner:
            insort(self.by_owner.setdefault(owner, []), seconds)

    def longer_than(self, owner: str, age: float) -> Sequence[float]:
        """Return the run times longer than that age."""
        times = self.by_owner.get(owner, [])
        return times[bisect_right(times, age) :]

    def draw(self, owner: str, age: float, draw: random.Random) -> float | None:
        """Draw for how many seconds more a pod of this age runs; None if no pod ran for
        longer."""
        times = self.longer_than(owner, age)
        return draw.choice(times) - age if times else None


def history_owner(pod: Pod) -> str:
    """Return the owner as in `RunTimes.by_owner`; "" for a pod without a controller."""
    kind, name = pod.owner
    return _owner(pod.namespace, kind, name) if kind else ""


def _owner(namespace: str, kind: str, name: str) -> str:
    return f"{namespace}/{kind}/{_RUN_OF_CRON_JOB.sub('', name) if kind == 'Job' else name}"
