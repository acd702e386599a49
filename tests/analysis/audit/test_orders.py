"""In which order decisions may have been made."""

from typing import Any

from ksched_cli.analysis.audit.decisions import Decision, Placement, PreemptionDecision
from ksched_cli.analysis.audit.replayed_cluster import (
    MAX_SHIFT,
    Refinement,
    refined,
    refined_orders,
)
from ksched_cli.testing import cluster, pod


def placement(name: str, time: float = 0, *, created: str = "", **fields: Any) -> Placement:
    metadata = {"creationTimestamp": created} if created else None
    return Placement(cluster(pod(name, metadata=metadata, **fields)).pods[0], "a", time)


def names(decisions: tuple[Decision, ...]) -> list[str]:
    return [decision.pod.name for decision in decisions]


def test_higher_priorities_go_first_else_the_order_observed() -> None:
    decisions = [placement("c"), placement("b", priority=5), placement("a")]
    assert names(refined(decisions, Refinement.PRIORITY)) == ["b", "c", "a"]


def test_names_decide_among_equal_priorities() -> None:
    decisions = [placement("c"), placement("b", priority=5), placement("a")]
    assert names(refined(decisions, Refinement.NAME)) == ["b", "a", "c"]


def test_older_pods_go_first() -> None:
    decisions = [
        placement("a", created="2026-01-01T00:00:09Z"),
        placement("b", created="2026-01-01T00:00:01Z"),
    ]
    assert names(refined(decisions, Refinement.CREATION)) == ["b", "a"]


def test_decisions_far_from_each_other_stay_in_the_order_observed() -> None:
    many = [placement(f"p{number:03}", priority=number) for number in range(MAX_SHIFT + 1)]
    assert names(refined(many, Refinement.PRIORITY))[0] == "p047"
    apart = [placement("late", 0), placement("early", 60, priority=9)]
    assert names(refined(apart, Refinement.PRIORITY)) == ["late", "early"]


def test_nothing_waits_longer_than_side_by_side_allows() -> None:
    low = placement("low")
    decisions = [low, *(placement(f"p{n:03}", priority=5) for n in range(2 * MAX_SHIFT))]
    assert names(refined(decisions, Refinement.PRIORITY)).index("low") == MAX_SHIFT - 1


def test_room_is_made_before_the_pod_is_placed() -> None:
    placed = placement("p", priority=5)
    room = PreemptionDecision(placed.pod, "a", (), 0)
    assert refined([placed, room], Refinement.NAME) == (room, placed)


def test_the_order_observed_is_tried_first_and_none_twice() -> None:
    decisions = [placement("a", priority=5), placement("b")]
    assert [by for by, _ in refined_orders(decisions)] == [Refinement.NONE]
    swapped = [placement("b"), placement("a", priority=5)]
    assert [by for by, _ in refined_orders(swapped)] == [Refinement.NONE, Refinement.NAME]
