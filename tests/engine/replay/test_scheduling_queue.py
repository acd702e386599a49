"""The scheduling queue, against facts of upstream's scheduling_queue_test.go."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from msgspec import structs

from ksched_cli.cluster.pod_info import PodCatalog, PodInfo
from ksched_cli.engine.replay.queued_pod import Backoff, QueuedPodInfo, QueuePlace
from ksched_cli.engine.replay.records import ReplayClock
from ksched_cli.engine.replay.scheduling_queue import SchedulingQueue
from ksched_cli.framework.cluster_events import (
    ASSIGNED_POD_DELETE,
    EVERYTHING,
)
from tests.replays import cluster_of, node, pod, state_of

SECOND = 1_000_000
FIT = frozenset({"NodeResourcesFit"})
NO_PLUGIN: frozenset[str] = frozenset()


class Bench:
    """A queue with the pods of a state."""

    def __init__(self, folder: Path, *pods: dict[str, Any], by_window: bool = True) -> None:
        cluster = cluster_of(state_of(folder, node("n", "8"), *pods))
        self.clock = ReplayClock()
        self.frameworks = cluster.engine.frameworks
        backoff = Backoff(SECOND, 10 * SECOND, by_window)
        self.queue = SchedulingQueue(self.frameworks, backoff, self.clock)
        self.pods = {info.name: info for info in cluster.engine.pending()}
        for info in self.pods.values():
            self.queue.add(info)

    def pop(self) -> QueuedPodInfo:
        queued = self.queue.pop()
        assert queued is not None
        return queued

    def fail(self, plugins: frozenset[str] = FIT) -> QueuedPodInfo:
        queued = self.pop()
        self.queue.put_back(queued, plugins, NO_PLUGIN)
        return queued

    def names(self) -> list[str]:
        return [queued.pod.name for queued in iter(self.queue.pop, None)]


def changed(info: PodInfo, **spec: Any) -> PodInfo:
    new = structs.replace(info.pod, spec=structs.replace(info.pod.spec, **spec))
    return PodCatalog().info(new)


def test_pods_are_popped_by_priority_then_in_the_order_in_which_they_came(tmp_path: Path) -> None:
    bench = Bench(tmp_path, pod("a"), pod("b"), pod("c", priority=5))
    assert bench.names() == ["c", "a", "b"]


def test_a_pod_comes_with_the_message_of_its_last_attempt(tmp_path: Path) -> None:
    types = ("Initialized", "PodScheduled", "Ready")
    conditions = [{"type": each, "status": "False", "message": f"not {each}"} for each in types]
    of_pods = {"a": conditions, "b": conditions[2:]}
    pods = [{**pod(name), "status": {"conditions": each}} for name, each in of_pods.items()]
    bench = Bench(tmp_path, *pods)
    assert [bench.pop().message for _ in pods] == ["not PodScheduled", ""]


def test_a_pod_that_fits_nowhere_waits_for_an_event(tmp_path: Path) -> None:
    bench = Bench(tmp_path, pod("a"))
    queued = bench.fail()
    assert bench.queue.in_place(QueuePlace.UNSCHEDULABLE) == [queued]
    assert bench.queue.pop() is None
    bench.queue.move(EVERYTHING)
    assert bench.queue.in_place(QueuePlace.BACKOFF) == [queued]
    assert bench.pop() is queued  # nothing else is to be tried, so that it need not wait
    assert queued.attempts == 2


def test_without_popping_from_backoff_a_pod_waits_for_its_end(tmp_path: Path) -> None:
    bench = Bench(tmp_path, pod("a"), by_window=False)
    queued = bench.fail()
    bench.queue.move(EVERYTHING)
    assert bench.queue.pop() is None
    assert bench.queue.next_flush() == 2 * SECOND
    bench.clock.now = SECOND
    bench.queue.flush()
    assert bench.queue.pop() is None
    bench.clock.now = 2 * SECOND
    bench.queue.flush()
    assert bench.pop() is queued


def test_a_broken_attempt_is_tried_again_after_backoff_only(tmp_path: Path) -> None:
    bench = Bench(tmp_path, pod("a"))
    queued = bench.fail(NO_PLUGIN)
    assert queued.place is QueuePlace.ERROR_BACKOFF
    assert bench.queue.pop() is None
    assert bench.queue.may_retry(0)
    assert not bench.queue.may_retry(-1)
    bench.clock.now = 2 * SECOND
    bench.queue.flush()
    assert bench.pop() is queued


def test_an_event_during_the_attempt_counts(tmp_path: Path) -> None:
    bench = Bench(tmp_path, pod("a"), pod("b"))
    first = bench.pop()
    bench.queue.move(EVERYTHING)
    second = bench.pop()
    bench.queue.put_back(first, FIT, NO_PLUGIN)
    bench.queue.put_back(second, FIT, NO_PLUGIN)
    assert (first.place, second.place) == (QueuePlace.BACKOFF, QueuePlace.UNSCHEDULABLE)


def test_a_pod_that_an_extender_rejected_is_tried_again_once_its_condition_is_written(
    tmp_path: Path,
) -> None:
    """Upstream: isPodWorthRequeuing, of the pod's own update."""
    bench = Bench(tmp_path, pod("a"), pod("b"))
    extended, rejected = bench.fail(frozenset({"Extender"})), bench.fail()
    for key in ("default/a", "default/b", "default/gone"):
        bench.queue.update_status(key)
    assert (extended.place, rejected.place) == (QueuePlace.BACKOFF, QueuePlace.UNSCHEDULABLE)
    bench.queue.update_status("default/a")
    assert extended.place is QueuePlace.BACKOFF


def test_a_pod_that_failed_goes_behind_its_equals(tmp_path: Path) -> None:
    bench = Bench(tmp_path, pod("a"), pod("b"))
    bench.fail()
    bench.queue.activate(["default/a", "default/unknown"])
    assert bench.names() == ["b", "a"]


def test_a_pod_is_not_tried_for_ever_at_one_instant(tmp_path: Path) -> None:
    """Its backoff counts after ten attempts. Time does not advance during attempts."""
    bench = Bench(tmp_path, pod("a"))
    for instant in (0, 20 * SECOND):
        bench.clock.now = instant
        bench.queue.activate(["default/a"])
        for _ in range(10):
            bench.queue.activate(["default/a"])
            queued = bench.fail()
        bench.queue.activate(["default/a"])
        assert bench.queue.in_place(QueuePlace.UNSCHEDULABLE) == [queued]
        bench.queue.move(EVERYTHING)
        assert bench.queue.in_place(QueuePlace.BACKOFF) == [queued]
        assert bench.queue.pop() is None


def test_gated_pods_stay_until_their_gates_are_gone(tmp_path: Path) -> None:
    bench = Bench(tmp_path, pod("a", schedulingGates=[{"name": "g"}]))
    queued = bench.queue.pods.get("default/a")
    assert queued is not None
    assert (queued.gated, queued.place) == (True, QueuePlace.UNSCHEDULABLE)
    assert queued.gating_plugin == "SchedulingGates"
    bench.clock.now = 330 * SECOND
    bench.queue.flush()
    assert bench.queue.pop() is None
    old = bench.pods["a"]
    bench.queue.update(old, changed(old, scheduling_gates=()))
    assert bench.names() == ["a"]


def test_a_pod_in_the_queue_is_replaced_where_it_is(tmp_path: Path) -> None:
    bench = Bench(tmp_path, pod("a"), pod("b"))
    old = bench.pods["b"]
    new = changed(old, priority=9)
    bench.queue.update(old, new)
    assert bench.pop().pod is new
    bench.queue.delete("default/a")
    assert bench.queue.pop() is None
    assert len(bench.queue) == 0


def test_an_event_for_pods_of_less_priority_moves_no_others(tmp_path: Path) -> None:
    bench = Bench(tmp_path, pod("a", priority=5), pod("b", priority=1))
    first, second = bench.fail(), bench.fail()
    bench.queue.move(EVERYTHING, most_important=1)
    assert (first.place, second.place) == (QueuePlace.UNSCHEDULABLE, QueuePlace.BACKOFF)
    bench.queue.move(ASSIGNED_POD_DELETE, first.pod, None, skips_subject=True)
    assert first.place is QueuePlace.UNSCHEDULABLE


def test_what_was_unschedulable_for_five_minutes_is_tried_again(tmp_path: Path) -> None:
    bench = Bench(tmp_path, pod("a"))
    queued = bench.fail()
    assert bench.queue.next_flush() == 330 * SECOND
    bench.clock.now = 330 * SECOND
    bench.queue.flush()
    assert queued.place is QueuePlace.ACTIVE


def test_other_plugins_of_the_same_profiles_take_over(tmp_path: Path) -> None:
    bench = Bench(tmp_path, pod("a"), pod("b"))
    queued = bench.fail()
    bench.queue.renew(bench.frameworks, lambda manifest: bench.pods[manifest.name], None)
    assert queued.place is QueuePlace.UNSCHEDULABLE
    assert [entry.pod.name for entry in bench.queue.in_place(QueuePlace.ACTIVE)] == ["b"]


def test_a_queue_sort_from_outside_is_asked(tmp_path: Path) -> None:
    bench = Bench(tmp_path, pod("b"), pod("a"), pod("a2"))
    framework = bench.frameworks["default-scheduler"]
    framework.sort_key = None
    framework.less = lambda first, second: first.pod.name[0] < second.pod.name[0]  # type: ignore[method-assign]
    queue = SchedulingQueue(bench.frameworks, bench.queue.backoff, bench.clock)
    for info in bench.pods.values():
        queue.add(info)
    assert [queued.pod.name for queued in iter(queue.pop, None)] == ["a", "a2", "b"]
