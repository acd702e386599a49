"""A Run pod by pod, with changes between two attempts."""

from __future__ import annotations

import pytest

from ksched_cli.api import KschedError, Run
from ksched_cli.testing import node, pod
from tests.scenario.build import workload

STATE = [node("a", cpu=4), node("b", cpu=4), *(pod(f"p{number}", cpu=2) for number in range(4))]


def test_each_attempt_is_seen_before_the_next_is_made() -> None:
    run = Run(state=STATE).open()
    placed = []
    for attempt in run:
        placed.append(len(run.placements))
        assert run.placements[attempt.pod] == attempt.node
    assert placed == [1, 2, 3, 4]
    assert run.result().placements == Run(state=STATE).schedule().placements


def test_all_attempts_are_the_commands() -> None:
    state = [*STATE, pod("vip", cpu=3, priority=9), pod("late", cpu=3)]
    opened, whole = Run(state=state).open(), Run(state=state).schedule(trace=True)
    assert tuple(opened) == whole.attempts
    assert opened.result().summary == whole.summary
    assert sorted(opened.pending) == list(whole.pending)


def test_a_node_goes_while_pods_still_wait() -> None:
    run = Run(state=STATE).open()
    first = next(run)
    assert first.node == "a"
    (change,) = run.change("delete node/a")
    assert change.did == ("Node a: deleted", "default/p0: deleted (was on a)")
    assert [(attempt.pod, attempt.node) for attempt in run] == [
        ("default/p1", "b"),
        ("default/p2", "b"),
        ("default/p3", ""),
    ]
    result = run.result()
    assert (result.placements, result.pending) == (
        {"default/p1": "b", "default/p2": "b"},
        ("default/p3",),
    )
    assert [change.text for change in result.changes] == ["delete node/a"]


def test_a_run_that_ended_goes_on_after_a_pod_comes() -> None:
    run = Run(state=STATE).open()
    assert len(list(run)) == 4
    run.put(pod("late", cpu=1))
    run.change("add-nodes c --like a --count 1")
    assert [(attempt.pod, attempt.node) for attempt in run] == [("default/late", "c-1")]
    assert len(run.placements) == 5


def test_a_wrong_change_leaves_the_run_as_it_is() -> None:
    run = Run(state=STATE).open()
    next(run)
    with pytest.raises(KschedError):
        run.change("drain nobody")
    assert len(list(run)) == 3


def test_a_pod_that_is_evicted_later_is_placed_no_more() -> None:
    run = Run(state=[node("a", cpu=2), pod("low", cpu=2)]).open()
    assert [attempt.node for attempt in run] == ["a"]
    run.put(pod("vip", cpu=2, priority=5))
    list(run)
    result = run.result()
    assert (result.placements, result.evicted) == ({"default/vip": "a"}, ("default/low",))


def test_a_changed_template_is_rolled_out_step_by_step() -> None:
    """A surge without room leaves the old pod; at once, the new one would take its node."""
    surge = {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}
    owner = [{"kind": "ReplicaSet", "name": "web-abc", "controller": True}]
    old = pod("web-abc-1", cpu=2, node="a", labels={"app": "web", "pod-template-hash": "abc"})
    old["metadata"]["ownerReferences"] = owner
    state = [node("a", cpu=2), workload("Deployment", replicas=1, strategy=surge), old]
    run = Run(state=state).open()
    list(run)
    (change,) = run.change("rollout restart deployment/web")
    assert change.did[0] == (
        "Deployment default/web: rollout is stuck (0 of 1 pods updated; the next ones find no node)"
    )
    assert [attempt.node for attempt in run] == [""]
    run.change("add-nodes b --like a --count 1", "rollout restart deployment/web")
    assert not run.pending
