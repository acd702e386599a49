"""Pods in the queue."""

from __future__ import annotations

from ksched_cli.cluster.objects import Pod
from ksched_cli.cluster.pod_info import PodCatalog
from ksched_cli.engine.replay.queued_pod import QueuedPodInfo


def test_plugins_that_wait_for_something_are_rejectors_too() -> None:
    queued = QueuedPodInfo(0, 1, pod=PodCatalog().info(Pod()))
    queued.unschedulable_plugins = frozenset("a")
    assert queued.rejectors == {"a"}
    queued.pending_plugins = frozenset("b")
    assert queued.rejectors == {"a", "b"}


def test_a_new_attempt_forgets_the_last_rejection_but_not_how_many_there_were() -> None:
    queued = QueuedPodInfo(0, 1, pod=PodCatalog().info(Pod()), unschedulable_count=3)
    queued.unschedulable_plugins = frozenset("a")
    queued.gating_plugin = "a"
    queued.forget_rejection()
    assert not queued.gated
    assert not queued.rejectors
    assert (queued.attempts, queued.unschedulable_count) == (1, 3)
