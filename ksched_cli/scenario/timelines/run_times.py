"""How long pods run, as far as it is known: of their owner's pods that have ended, in dumps and
timelines."""

from __future__ import annotations

import random
import re
from bisect import bisect_right, insort
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from ksched_cli.cluster.loading.plain_objects import plain_objects
from ksched_cli.cluster.objects import Pod
from ksched_cli.cluster.state import ClusterState
from ksched_cli.errors import ignore
from ksched_cli.kube.time import SECOND
from ksched_cli.scenario.timeline import Arrival, read_timeline
from ksched_cli.scenario.timelines.dump import run_time_of
from ksched_cli.scenario.timelines.event_lines import Plain

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
        """The finished pods of dumps. Raises InputError."""
        for item in plain_objects(paths):
            if item["kind"] == "Pod" and (seconds := run_time_of(item)) is not None:
                self._add(_owner_in(item), seconds)

    def add_timeline(self, path: str) -> None:
        """The pods of a timeline that end. Raises InputError."""
        for event in read_timeline(path, ClusterState(), warn=self.warn).events():
            action = event.action
            if isinstance(action, Arrival) and action.runs_for is not None:
                self._add(history_owner(action.pod), action.runs_for / SECOND)

    def add(self, path: str) -> None:
        """A timeline of JSON lines, or a dump. Raises InputError."""
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
        """Draw for how many seconds more a pod of this age runs; None where no pod ran for
        longer."""
        times = self.longer_than(owner, age)
        return draw.choice(times) - age if times else None


def history_owner(pod: Pod) -> str:
    """Return the owner as in `RunTimes.by_owner`; "" for a pod without a controller."""
    owner = pod.metadata.controller
    return "" if owner is None else _owner(pod.namespace, owner.kind, owner.name)


def _owner_in(pod: Plain) -> str:
    metadata = pod.get("metadata") or {}
    for owner in metadata.get("ownerReferences") or ():
        if owner.get("controller"):
            namespace = metadata.get("namespace") or "default"
            return _owner(namespace, str(owner.get("kind")), str(owner.get("name")))
    return ""


def _owner(namespace: str, kind: str, name: str) -> str:
    return f"{namespace}/{kind}/{_RUN_OF_CRON_JOB.sub('', name) if kind == 'Job' else name}"
