"""The queue: order, gates, and which pods are due again."""

from collections.abc import Iterable
from typing import Any

import pytest

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.engine.queue import (
    NEVER,
    ClusterVersion,
    Entry,
    Queue,
    in_order,
    seconds,
    why_ignored,
)
from ksched_cli.engine.simulation import Simulation
from ksched_cli.framework.interface import PreEnqueuePlugin, QueuedPod
from ksched_cli.framework.status import Status
from ksched_cli.plugins.priority_sort import PrioritySort
from ksched_cli.testing import cluster, node, pod, simulation


def simulated(*pods: dict[str, Any]) -> Simulation:
    return simulation(cluster(node("a"), *pods))


def names(queued: Iterable[QueuedPod | Entry]) -> list[str]:
    return [queued_pod.pod.name for queued_pod in queued]


def entry(**fields: Any) -> Entry:
    info = simulated(pod("p")).pending()[0]
    return Entry(info, QueuedPod(info, 0.0, 0), **fields)


def test_pods_are_queued_by_priority_and_then_in_the_order_of_the_state() -> None:
    run = simulated(pod("low"), pod("high", priority=9), pod("low-too"))
    queue = Queue.of(run.pending(), run.frameworks)
    assert names(queue) == ["high", "low", "low-too"]
    assert [info.name for info in queue.active] == ["high", "low", "low-too"]


def test_gated_pods_are_held_back_with_their_status() -> None:
    run = simulated(pod("gated", gates=["example.com/wait"]), pod("free"))
    queue = Queue.of(run.pending(), run.frameworks)
    assert names(queue) == ["free"]
    assert names(queue.held.values()) == ["gated"]
    assert queue.gated["default/gated"].plugin == "SchedulingGates"


def test_any_status_of_success_lets_a_pod_in() -> None:
    class Content(PreEnqueuePlugin):
        name = "Content"

        def pre_enqueue(self, pod: PodInfo) -> Status:
            return Status()

    run = simulation(cluster(node("a"), pod("p")), plugins=[Content])
    queue = Queue.of(run.pending(), run.frameworks)
    assert (names(queue), queue.gated) == (["p"], {})


def test_a_queue_of_one_pod_has_none_of_the_others() -> None:
    run = simulated(pod("a"), pod("b"), pod("c"), pod("gated", gates=["example.com/wait"]))
    queue = Queue.of(run.pending(), run.frameworks)
    only = queue.only(queue.active[1])
    assert names(only) == ["b"]
    assert only.gated == queue.gated
    assert names(only.held.values()) == ["gated"]


def test_pods_that_the_plugin_finds_equal_keep_their_order() -> None:
    queued = [QueuedPod(info, 0.0, 0) for info in simulated(pod("b"), pod("a")).pending()]
    assert names(in_order(queued, lambda first, second: False)) == ["b", "a"]
    assert names(in_order(queued, lambda first, second: first.pod.name < second.pod.name)) == [
        "a",
        "b",
    ]


def test_a_foreign_queue_sort_is_asked_even_where_it_is_made_of_one_with_keys() -> None:
    class Youngest(PrioritySort):
        name = "Youngest"

        def less(self, first: QueuedPod, second: QueuedPod) -> bool:
            return first.pod.name > second.pod.name

    run = simulation(cluster(node("a"), pod("a"), pod("b")), plugins=[Youngest])
    assert names(Queue.of(run.pending(), run.frameworks)) == ["b", "a"]


def test_times_are_in_seconds_and_0_where_there_is_none() -> None:
    assert seconds("1970-01-01T00:01:40Z") == 100.0
    assert seconds("") == 0.0


def test_a_pod_is_due_once_a_pod_was_bound_or_evicted_since() -> None:
    tried = entry(seen=ClusterVersion(3, 0))
    assert not tried.is_due(ClusterVersion(3, 0))
    assert tried.is_due(ClusterVersion(4, 0))
    late, now = (ClusterVersion(int(count), int(count)) for count in ("3000", "3000"))
    assert not entry(seen=late).is_due(now)


def test_rejected_waiting_pods_make_only_those_due_that_found_no_room() -> None:
    assert entry(seen=ClusterVersion(3, 0)).is_due(ClusterVersion(3, 1))
    assert not entry(seen=ClusterVersion(3, 0), refused=True).is_due(ClusterVersion(3, 1))


def test_an_activated_pod_is_due_and_a_waiting_one_never() -> None:
    assert entry(seen=ClusterVersion(3, 0), activated=True).is_due(ClusterVersion(3, 0))
    assert not entry(waits=True, activated=True).is_due(ClusterVersion(3, 0))
    assert entry(seen=NEVER).is_due(ClusterVersion(0, 0))


def queue_of(run: Simulation) -> Queue:
    return Queue.of(run.pending(), run.frameworks)


def test_the_other_pods_can_be_left_out() -> None:
    run = simulated(pod("a"), pod("b"), pod("c", gates=["example.com/g"]))
    queue = run.queue().only(run.pending()[1])
    assert [info.key for info in queue.active] == ["default/b"]
    assert list(queue.gated) == ["default/c"]
    (alike,) = simulated(pod("b")).pending()
    assert [info.key for info in run.queue().only(alike).active] == ["default/b"]


DELETED = {"deletionTimestamp": "2026-01-01T00:00:00Z"}
STATIC = {"kubernetes.io/config.mirror": "x"}


@pytest.mark.parametrize(
    ("manifest", "reason"),
    [
        (pod(), ""),
        (pod(node="n"), ""),
        (pod(status={"phase": "Succeeded"}), "finished (Succeeded)"),
        (pod(node="n", status={"phase": "Failed"}), "finished (Failed)"),
        (pod(metadata=DELETED), "being deleted"),
        (pod(node="n", annotations=STATIC), "a static pod, which its kubelet runs"),
        (pod(annotations=STATIC), ""),
        (pod(profile="other"), 'for the scheduler "other", which the configuration does not have'),
    ],
)
def test_a_pod_that_the_scheduler_never_looks_at_has_a_reason(
    manifest: dict[str, Any], reason: str
) -> None:
    (info,) = cluster(manifest).pods
    assert why_ignored(info, {"default-scheduler"}).startswith(reason)
    assert bool(why_ignored(info, {"default-scheduler"})) == bool(reason)


def test_gated_pods_are_listed_by_creation_then_by_place_in_the_state() -> None:
    gates = ["example.com/g"]
    late = {"creationTimestamp": "2026-01-02T00:00:00Z"}
    early = {"creationTimestamp": "2026-01-01T00:00:00Z"}
    run = simulated(
        pod("a", gates=gates, metadata=late, priority=9),
        pod("z", gates=gates, metadata=early),
        pod("b", gates=gates, metadata=early),
    )
    assert list(run.run().gated) == ["default/z", "default/b", "default/a"]


def test_activating_a_pod_that_is_gone_does_nothing() -> None:
    waiting = queue_of(simulated(pod("a"), pod("b")))
    waiting.activate(["default/b", "default/gone"])
    assert [entry.activated for entry in waiting] == [False, True]


def test_renewing_gates_a_pod_that_preenqueue_holds_back_by_now_and_lets_it_go_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = simulated(pod("a"), pod("b", gates=["example.com/wait"]))
    waiting = queue_of(run)
    framework = run.frameworks["default-scheduler"]
    gate = framework.pre_enqueue(waiting.held["default/b"].pod)
    answers = {"a": gate, "b": type(gate)()}
    monkeypatch.setattr(framework, "pre_enqueue", lambda info: answers[info.name])
    waiting.renew(ClusterVersion(0, 0))
    assert (list(waiting.entries), list(waiting.gated)) == (["default/b"], ["default/a"])
    answers["a"] = type(gate)()
    waiting.renew(ClusterVersion(0, 0))
    assert (list(waiting.entries), waiting.gated) == (["default/b", "default/a"], {})


def test_a_pod_that_is_not_due_is_not_gated_again(monkeypatch: pytest.MonkeyPatch) -> None:
    run = simulated(pod("a"))
    waiting = queue_of(run)
    waiting.entries["default/a"].seen = ClusterVersion(0, 0)
    monkeypatch.setattr(run.frameworks["default-scheduler"], "pre_enqueue", None)
    waiting.renew(ClusterVersion(0, 0))
    assert list(waiting.entries) == ["default/a"]
