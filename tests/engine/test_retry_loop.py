"""Pass after pass: which pods are tried again, and when time moves."""

from collections.abc import Callable, Sequence
from typing import Any

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.engine.binding_cycle import Outcome
from ksched_cli.engine.queue import Backlog, Queue
from ksched_cli.engine.records import Attempt
from ksched_cli.engine.retry_loop import RetryLoop
from ksched_cli.framework.interface import QueuedPod
from ksched_cli.framework.pod_groups import PodGroups
from ksched_cli.framework.status import Status
from ksched_cli.framework.waiting_pods import WaitingPods
from ksched_cli.testing import cluster, node, pod, simulation


class Scheduler:
    """Answers attempts from a script: pod name → outcomes, the last one again and again.

    An outcome is a node's name, "" for none, "wait" for a pod that Permit has wait, or "refused"
    for one that Reserve refuses.
    """

    def __init__(self, **script: Any) -> None:
        self.script = script
        self.changes = self.waiting_rejections = 0
        self.waiting = WaitingPods()
        self.pod_groups: PodGroups | None = None
        self.settled: list[Any] = []
        self.tried: list[Any] = []

    def outcomes(self, pod: PodInfo) -> list[Outcome]:
        self.tried.append(pod.name)
        answers = self.script[pod.name]
        answer = answers.pop(0) if len(answers) > 1 else answers[0]
        record = Attempt(pod.key, "default-scheduler")
        if answer == "wait":
            self.waiting.add(pod, "a", {"Permit": 10.0})
            return [Outcome(record, 0, waits=True)]
        if answer == "refused":
            return [Outcome(Attempt(pod.key, "", reserve=Status.unschedulable("no")))]
        if answer:
            self.changes += 1
        return [Outcome(Attempt(pod.key, "default-scheduler", answer))]

    def group_outcomes(self, pods: Sequence[PodInfo]) -> list[list[Outcome]]:
        raise AssertionError("no pod has a group")

    def settle(self) -> None:
        while (decided := self.waiting.decided()) is not None:
            self.waiting.remove(decided.pod.uid)
            rejected = Attempt(decided.pod.key, "", permit=Status.unschedulable("timeout"))
            self.settled.append((decided.pod, Outcome(rejected)))

    def take_settled(self) -> list[tuple[PodInfo, Outcome]]:
        settled, self.settled = self.settled, []
        return settled


def loop(
    on_progress: Callable[..., Any] | None = None, passes: int = 5, **script: Any
) -> tuple[Scheduler, RetryLoop]:
    run = simulation(cluster(node("a"), *(pod(name) for name in script)))
    queued = tuple(QueuedPod(info, 0.0, i) for i, info in enumerate(run.pending()))
    scheduler = Scheduler(**script)
    retries = RetryLoop(scheduler, Backlog.of(Queue(queued, {}), run.frameworks), on_progress)
    retries.run(passes)
    return scheduler, retries


def test_a_pod_that_failed_is_tried_again_after_another_was_bound() -> None:
    scheduler, retries = loop(first=["", "a"], second=["a"])
    assert scheduler.tried == ["first", "second", "first"]
    assert not retries.backlog.entries
    assert retries.last["default/first"].node == "a"


def test_it_ends_when_nothing_has_changed() -> None:
    scheduler, retries = loop(first=[""], second=[""])
    assert scheduler.tried == ["first", "second"]
    assert list(retries.backlog.entries) == ["default/first", "default/second"]


def test_passes_are_limited() -> None:
    scheduler, _ = loop(passes=3, first=["", "", "", "", "a"], second=["", "a"], third=["a"])
    # The third pass starts only because the second bound a pod.
    assert scheduler.tried == ["first", "second", "third", "first", "second", "first"]


def test_time_moves_only_where_no_pod_is_left_to_try() -> None:
    scheduler, retries = loop(waits=["wait", "a"], other=["a"])
    assert scheduler.tried[:2] == ["waits", "other"]
    assert scheduler.waiting.clock.now == 10.0
    assert [attempt.pod for attempt in retries.attempts][:2] == ["default/waits", "default/other"]
    # How the wait ended stands where the attempt began.
    assert retries.attempts[0].permit == Status.unschedulable("timeout")


def test_a_rejected_waiting_pod_makes_those_due_that_found_no_room() -> None:
    scheduler, _ = loop(waits=["wait", ""], roomless=["", "a"], refused=["refused"])
    assert scheduler.waiting_rejections == 1
    assert scheduler.tried[:3] == ["waits", "roomless", "refused"]
    # Binding `roomless` is a change, and so the others are tried once more.
    assert scheduler.tried[3:] == ["roomless", "refused", "waits"]


def test_progress_counts_the_pods_that_have_a_node() -> None:
    progress = []
    loop(lambda placed, total: progress.append((placed, total)), first=["a"], second=[""])
    assert progress[:2] == [(1, 2), (1, 2)]
