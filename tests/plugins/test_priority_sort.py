"""PrioritySort: higher priority first, then the older pod, then the order of the state."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from ksched_cli.testing import cluster, node, pod, simulate


def order(*pods: dict[str, Any]) -> list[str]:
    """The names of pods, in the order they are tried."""
    return [
        attempt.pod.removeprefix("default/")
        for attempt in simulate(cluster(node("a"), *pods)).attempts
    ]


def created(name: str, second: int, priority: int = 0) -> dict[str, Any]:
    moment = f"2026-01-01T00:00:{second:02d}Z"
    return pod(name, priority=priority, metadata={"creationTimestamp": moment})


def test_higher_priority_goes_first_whenever_it_came() -> None:
    assert order(created("old", 1), created("young", 9, priority=5)) == ["young", "old"]


def test_of_equal_priority_the_older_goes_first() -> None:
    assert order(created("young", 9), created("old", 1)) == ["old", "young"]


def test_of_equal_age_the_order_of_the_state_counts() -> None:
    assert order(created("b", 1), created("a", 1)) == ["b", "a"]


def test_a_negative_priority_goes_last() -> None:
    assert order(created("low", 1, priority=-1), created("high", 9)) == ["high", "low"]


def test_times_are_compared_as_times_not_as_text() -> None:
    east = pod("east", metadata={"creationTimestamp": "2026-01-01T02:00:00+02:00"})
    west = pod("west", metadata={"creationTimestamp": "2026-01-01T00:00:01Z"})
    assert order(west, east) == ["east", "west"]


@given(st.lists(st.tuples(st.integers(-2, 2), st.integers(0, 3)), max_size=8))
def test_the_order_is_that_of_a_stable_sort(pods: list[tuple[int, int]]) -> None:
    manifests = [created(f"p{i}", second, priority) for i, (priority, second) in enumerate(pods)]
    expected = sorted(range(len(pods)), key=lambda i: (-pods[i][0], pods[i][1]))
    assert order(*manifests) == [f"p{i}" for i in expected]
