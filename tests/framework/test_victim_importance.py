"""Which victim goes first."""

from hypothesis import given
from hypothesis import strategies as st

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.framework.victim_order import NOT_STARTED_TEXT, sort_by_importance, start_time
from ksched_cli.testing import cluster, find, node, simulation
from tests.plugins.default_preemption.manifests import preemption_pod

# Priority, and the second of the start; None where the pod has not started.
LOOKS = st.lists(st.tuples(st.integers(0, 2), st.none() | st.integers(0, 3)), max_size=8)


def infos(looks: list[tuple[int, int | None]]) -> list[PodInfo]:
    manifests = [
        preemption_pod(f"p{i}", priority, second, node="a")
        for i, (priority, second) in enumerate(looks)
    ]
    run = simulation(cluster(node("a"), *manifests))
    return [find(run, f"p{i}") for i in range(len(looks))]


@given(LOOKS)
def test_highest_priority_first_then_the_longest_running(
    looks: list[tuple[int, int | None]],
) -> None:
    pods = infos(looks)
    ordered = list(pods)
    sort_by_importance(ordered)
    assert sorted(pod.name for pod in ordered) == sorted(pod.name for pod in pods)
    ranks = [(-pod.priority, start_time(pod)) for pod in ordered]
    assert ranks == sorted(ranks)


def test_a_pod_that_has_not_started_counts_as_starting_now() -> None:
    waiting, started = infos([(0, None), (0, 59)])
    assert start_time(waiting) == NOT_STARTED_TEXT > start_time(started)


def test_of_two_that_have_not_started_upstreams_sort_decides() -> None:
    """Each is more important than the other: the insertion sort of few elements turns them."""
    pods = infos([(0, None), (0, None), (0, None)])
    sort_by_importance(pods)
    assert [pod.name for pod in pods] == ["p2", "p1", "p0"]
