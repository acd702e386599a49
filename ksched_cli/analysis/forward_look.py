"""`replay --from-now`: when the pending pods of a state start, over draws of what is unknown.

A draw is a replay of the state. Running pods end as their owner's finished pods did, at their
deadline at the latest; where neither is known they stay.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, inf
from typing import Annotated, ClassVar, Literal

import msgspec
from msgspec import Meta, Struct, structs

from ksched_cli.analysis.replay_result import Seconds, seconds
from ksched_cli.answers import Count, Part, StateAnswer
from ksched_cli.cluster.objects import Pod
from ksched_cli.cluster.state import ClusterState
from ksched_cli.engine.replay.records import PodOutcome, PodRecord
from ksched_cli.engine.replay.replay import Replay
from ksched_cli.kube.plain_json import typed_json
from ksched_cli.kube.time import SECOND, unix_seconds
from ksched_cli.run.open import Opener, Watch
from ksched_cli.run.run import Run
from ksched_cli.scenario.scale import time_of
from ksched_cli.scenario.timelines.dump import RunTimes, history_owner

Share = Annotated[float, Meta(ge=0, le=1)]
Basis = Literal["history", "deadline", "none"]


class PodForecast(Part, frozen=True):
    """When a pending pod starts.

    p50: seconds from now by which it has a node in half of the draws; null where it has none in
         more than half
    p90: the same of nine draws in ten
    started: the share of the draws in which it gets a node
    message: of the last attempt in the first draw in which it gets none
    """

    pod: str
    owner: str
    priority: int
    p50: Seconds | None
    p90: Seconds | None
    started: Share
    gated: bool
    message: str


class Assumption(Part, frozen=True):
    """What was assumed of pods of an owner.

    owner: as namespace/Kind/name, a CronJob's Jobs as one; "" for pods without a controller
    pods: how many
    running: whether these run, or are pending
    basis: history: they end as the owner's finished pods did; deadline: at activeDeadlineSeconds;
           none: nothing is known, they stay
    samples: how many finished pods of the owner are known
    """

    owner: str
    pods: Count
    running: bool
    basis: Basis
    samples: Count


class ForwardLook(StateAnswer, frozen=True, kw_only=True):
    """When the pending pods start.

    now: of the state: the latest heartbeat of a node or creation of a pod, RFC 3339; "" where it
         has none, and ages are unknown
    draws: how many replays
    pods: in the order in which they start
    assumptions: of what is not in the state
    """

    COMMAND: ClassVar = "replay"

    kind: Literal["ForwardLook"] = "ForwardLook"
    now: str
    draws: Count
    pods: tuple[PodForecast, ...]
    assumptions: tuple[Assumption, ...]

    @property
    def is_certain(self) -> bool:
        """Whether every pod that is not gated starts in nine draws of ten."""
        return all(pod.p90 is not None for pod in self.pods if not pod.gated)


class _Spec(Struct, rename="camel"):
    active_deadline_seconds: int | None = None


class _WithDeadline(Struct):
    spec: _Spec = msgspec.field(default_factory=_Spec)


@dataclass(frozen=True, slots=True)
class _PodTimes:
    """The known times of a pod. age: seconds; deadline: seconds after its start"""

    key: str
    owner: str
    runs: bool
    age: float
    deadline: float

    def basis(self, history: RunTimes) -> Basis:
        if history.longer_than(self.owner, self.age):
            return "history"
        return "none" if self.deadline == inf else "deadline"

    def draw(self, history: RunTimes, draw: random.Random) -> int | None:
        """Microseconds until it ends: from now on, or from its placement."""
        left = history.draw(self.owner, self.age, draw)
        rest = min(inf if left is None else left, max(0.0, self.deadline - self.age))
        return None if rest == inf else round(rest * SECOND)


def forward_look(
    run: Run,
    opener: Opener,
    history: RunTimes,
    seeds: Sequence[int],
    *,
    until: str = "",
    on_progress: Callable[[int, int], None] | None = None,
) -> ForwardLook:
    """A replay for each seed, of the ties and of the times of pods. until: where it stops. Raises
    KschedError."""
    state = opener.state(run)
    now = time_of(state)
    pod_times = [
        _pod_times(pod, state, now) for pod in state.pods if not pod.finished and not pod.deleting
    ]
    pod_times.sort(key=lambda each: each.key)
    starts: dict[str, list[PodRecord]] = {}
    for count, seed in enumerate(seeds, start=1):
        for key, record in _draw(run, opener, pod_times, history, seed, now, until).items():
            starts.setdefault(key, []).append(record)
        if on_progress is not None:
            on_progress(count, len(seeds))
    pods = [_forecast(records) for records in starts.values()]
    pods.sort(key=lambda pod: (*(inf if p is None else p for p in (pod.p50, pod.p90)), pod.pod))
    return ForwardLook(
        now=now,
        draws=len(seeds),
        pods=tuple(pods),
        assumptions=tuple(_assumptions(pod_times, history)),
    )


def _draw(
    run: Run,
    opener: Opener,
    pods: Sequence[_PodTimes],
    history: RunTimes,
    seed: int,
    now: str,
    until: str,
) -> Mapping[str, PodRecord]:
    """The record of each pod that is pending now: of its first wait."""
    draw = random.Random(seed)  # nosec B311  # the same times for the same seed
    times = {each.key: time for each in pods if (time := each.draw(history, draw)) is not None}
    pending = {each.key for each in pods if not each.runs}
    first: dict[str, PodRecord] = {}

    def keep(record: PodRecord) -> None:
        if record.pod in pending:
            first.setdefault(record.pod, record)

    start = int(unix_seconds(now)) if now else 0
    watch = Watch(on_record=keep, start=start, run_times=times, until=until)
    replay: Replay = opener.replay(structs.replace(run, tie_break="random", seed=seed), watch)
    replay.run()
    replay.cluster.engine.close()
    for record in replay.log.live.values():
        keep(record)
    return first


def _pod_times(pod: Pod, state: ClusterState, now: str) -> _PodTimes:
    runs = bool(pod.node_name)
    age = 0.0
    if runs and now and pod.status.start_time:
        age = max(0.0, unix_seconds(now) - unix_seconds(pod.status.start_time))
    own = typed_json(pod.raw, _WithDeadline).spec if bytes(pod.raw) else _Spec()
    deadline = inf if own.active_deadline_seconds is None else float(own.active_deadline_seconds)
    owner = pod.metadata.controller
    job = None if owner is None else state.jobs.get((pod.namespace, owner.name))
    if owner is not None and owner.kind == "Job" and job is not None:
        of_job = job.spec.active_deadline_seconds
        since = job.status.start_time
        if of_job is not None:
            # A Job's time runs from its own start.
            earlier = unix_seconds(now) - unix_seconds(since) - age if runs and now and since else 0
            deadline = min(deadline, of_job - max(0.0, earlier))
    return _PodTimes(pod.key, history_owner(pod), runs, age, deadline)


def _forecast(records: Sequence[PodRecord]) -> PodForecast:
    """The forecast of a pod from its draws, at least one."""
    placed = sorted(inf if record.placed is None else record.placed for record in records)
    waiting = next((record for record in records if record.placed is None), None)

    def quantile(share: float) -> float | None:
        time = placed[ceil(share * len(placed)) - 1]
        return None if time == inf else seconds(int(time))

    record = records[0]
    return PodForecast(
        pod=record.pod,
        owner=record.owner,
        priority=record.priority,
        p50=quantile(0.5),
        p90=quantile(0.9),
        started=round(sum(time < inf for time in placed) / len(placed), 6),
        gated=record.outcome is PodOutcome.GATED,
        message="" if waiting is None else waiting.message,
    )


def _assumptions(pods: Sequence[_PodTimes], history: RunTimes) -> list[Assumption]:
    counts = Counter((each.owner, each.runs, each.basis(history)) for each in pods)
    return [
        Assumption(owner, count, runs, basis, len(history.by_owner.get(owner, ())))
        for (owner, runs, basis), count in sorted(counts.items())
    ]
