"""Pass after pass: which pods are tried again, and when time moves."""

from typing import Any

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.engine.engine import Options, Progress
from ksched_cli.engine.queue import Queue
from ksched_cli.engine.records import Attempt
from ksched_cli.engine.scheduling_cycle import AttemptOutcome
from ksched_cli.engine.simulation import PassScheduler
from ksched_cli.framework.handle import WaitingPod, WaitingPods
from ksched_cli.framework.runtime import Framework
from ksched_cli.framework.status import Status
from ksched_cli.testing import cluster, node, pod, simulation


class Script:
    """Answers attempts from a script: pod name → outcomes, the last one again and again.

    An outcome is a node's name, "" for none, "wait" for a pod that Permit has wait, or "refused"
    for one that Reserve refuses.
    """

    def __init__(self, waiting: WaitingPods, **script: list[str]) -> None:
        self.script = script
        self.waiting = waiting
        self.binding = self
        self.tried: list[str] = []

    def attempt(self, framework: Framework, pod: PodInfo) -> AttemptOutcome:
        self.tried.append(pod.name)
        answers = self.script[pod.name]
        answer = answers.pop(0) if len(answers) > 1 else answers[0]
        if answer == "wait":
            self.waiting.add(pod, "a", {"Permit": 10.0})
            return AttemptOutcome(Attempt(pod.key, "default-scheduler"), 0, waits=True)
        if answer == "refused":
            return AttemptOutcome(Attempt(pod.key, "", reserve=Status.unschedulable("no")))
        return AttemptOutcome(Attempt(pod.key, "default-scheduler", answer), 0 if answer else None)

    def settle(self, decided: WaitingPod, now: float) -> AttemptOutcome:
        self.waiting.remove(decided.pod.uid)
        return AttemptOutcome(Attempt(decided.pod.key, "", permit=Status.unschedulable("timeout")))


def loop(
    on_progress: Progress | None = None, passes: int = 5, **script: Any
) -> tuple[Script, PassScheduler]:
    run = simulation(cluster(node("a"), *(pod(name) for name in script)))
    run.options = Options(on_progress=on_progress)
    answers: Any = Script(run.waiting, **script)
    run.cycle = answers
    run.scheduler.queue = Queue.of(run.pending(), run.frameworks)
    run.scheduler.run(passes)
    return answers, run.scheduler


def test_a_pod_that_failed_is_tried_again_after_another_was_bound() -> None:
    script, scheduler = loop(first=["", "a"], second=["a"])
    assert script.tried == ["first", "second", "first"]
    assert not scheduler.queue.entries
    assert scheduler.last["default/first"].node == "a"


def test_it_ends_when_nothing_has_changed() -> None:
    script, scheduler = loop(first=[""], second=[""])
    assert script.tried == ["first", "second"]
    assert list(scheduler.queue.entries) == ["default/first", "default/second"]


def test_passes_are_limited() -> None:
    script, _ = loop(passes=3, first=["", "", "", "", "a"], second=["", "a"], third=["a"])
    # The third pass starts only because the second bound a pod.
    assert script.tried == ["first", "second", "third", "first", "second", "first"]


def test_time_moves_only_where_no_pod_is_left_to_try() -> None:
    script, scheduler = loop(waits=["wait", "a"], other=["a"])
    assert script.tried[:2] == ["waits", "other"]
    assert script.waiting.clock.now == 10.0
    assert [attempt.pod for attempt in scheduler.attempts][:2] == ["default/waits", "default/other"]
    # The record of the attempt says how the wait ended.
    assert scheduler.attempts[0].permit == Status.unschedulable("timeout")


def test_a_rejected_waiting_pod_makes_those_due_that_found_no_room() -> None:
    script, scheduler = loop(waits=["wait", ""], roomless=["", "a"], refused=["refused"])
    assert scheduler.waiting_rejections == 1
    assert script.tried[:3] == ["waits", "roomless", "refused"]
    # Binding `roomless` is a change, and so the others are tried once more.
    assert script.tried[3:] == ["roomless", "refused", "waits"]


def test_progress_counts_the_pods_that_have_a_node() -> None:
    progress = []
    loop(lambda placed, total: progress.append((placed, total)), first=["a"], second=[""])
    assert progress[:2] == [(1, 2), (1, 2)]
