"""Backoff, against facts of upstream's backoff_queue_test.go."""

from __future__ import annotations

import pytest

from ksched_cli.cluster.objects import Pod
from ksched_cli.cluster.pod_info import PodCatalog
from ksched_cli.engine.replay.queued_pod import (
    NO_BACKOFF,
    Backoff,
    QueuedPodGroupInfo,
    QueuedPodInfo,
)

SECOND = 1_000_000


def queued(count: int, errors: int = 0, timestamp: int = 0) -> QueuedPodInfo:
    pod = PodCatalog().info(Pod())
    return QueuedPodInfo(
        timestamp, 1, pod=pod, unschedulable_count=count, consecutive_errors=errors
    )


@pytest.mark.parametrize(("count", "seconds"), [(1, 1), (2, 2), (4, 8), (5, 10), (80, 10)])
def test_it_doubles_up_to_its_maximum(count: int, seconds: int) -> None:
    backoff = Backoff(SECOND, 10 * SECOND, by_window=True)
    assert backoff.expiration(queued(count)) == seconds * SECOND


@pytest.mark.parametrize(("size", "seconds"), [(1, 10), (4, 20), (9, 30)])
def test_the_maximum_of_a_group_grows_with_the_root_of_its_size(size: int, seconds: int) -> None:
    group = QueuedPodGroupInfo.of(("default", "red"), queued(0))
    for _ in range(size - 1):
        group.add(queued(0))
    group.unschedulable_count = 80
    backoff = Backoff(SECOND, 10 * SECOND, by_window=True)
    assert backoff.expiration(group) == seconds * SECOND


def test_errors_count_before_rejections() -> None:
    backoff = Backoff(SECOND, 10 * SECOND, by_window=True)
    assert backoff.expiration(queued(4, errors=1)) == SECOND


def test_with_the_gate_on_it_is_cut_to_whole_seconds() -> None:
    pod, other = queued(1, timestamp=SECOND // 2), queued(1, timestamp=SECOND // 2)
    assert Backoff(SECOND, SECOND, by_window=True).expiration(pod) == SECOND
    assert Backoff(SECOND, SECOND, by_window=False).expiration(other) == SECOND * 3 // 2


def test_a_pod_backs_off_in_the_second_in_which_it_ends() -> None:
    backoff = Backoff(SECOND, SECOND, by_window=True)
    assert backoff.is_backing_off(queued(1), SECOND + 1)
    assert not backoff.is_backing_off(queued(1), 2 * SECOND)


def test_nobody_backs_off_before_an_attempt_or_without_a_maximum() -> None:
    assert Backoff(SECOND, SECOND, by_window=True).expiration(queued(0)) == NO_BACKOFF
    assert not Backoff(SECOND, 0, by_window=True).is_backing_off(queued(3), 0)


def test_after_some_rejections_the_backoff_does_not_grow() -> None:
    assert Backoff(SECOND, 10 * SECOND, by_window=True).longest_after() == 5
    assert Backoff(2 * SECOND, 8 * SECOND, by_window=True).longest_after() == 3
    assert Backoff(SECOND, SECOND, by_window=True).longest_after() == 1
    assert Backoff(SECOND, 0, by_window=True).longest_after() == 1
    assert Backoff(0, SECOND, by_window=True).longest_after() == 63  # it never gets there
