"""What follows from an attempt."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ksched_cli.engine.records import Attempt
from ksched_cli.engine.replay.records import ReplayClock
from ksched_cli.engine.replay.replay_scheduler import rejectors
from ksched_cli.engine.scheduling_cycle import AttemptOutcome
from ksched_cli.framework.status import Code, Status
from tests.engine.replay.claims import DEVICE_CLASS, claiming, device_claim, devices
from tests.extenders.fixtures import Serve
from tests.replays import node, pod, replay, tries

FIT = frozenset({"NodeResourcesFit"})
NO_PLUGIN: frozenset[str] = frozenset()


@pytest.mark.parametrize(
    ("outcome", "plugins"),
    [
        (AttemptOutcome(Attempt("a", "p", "n"), 0), (NO_PLUGIN, NO_PLUGIN)),
        (AttemptOutcome(Attempt("a", "p"), unschedulable_plugins=FIT), (FIT, NO_PLUGIN)),
        (AttemptOutcome(Attempt("a", "p", error="broken")), (NO_PLUGIN, NO_PLUGIN)),
        (
            AttemptOutcome(Attempt("a", "p", reserve=Status(Code.PENDING, (), "X"))),
            (frozenset("X"), frozenset("X")),
        ),
        (
            AttemptOutcome(Attempt("a", "p", permit=Status(Code.UNSCHEDULABLE, (), "X"))),
            (frozenset("X"), NO_PLUGIN),
        ),
        (
            AttemptOutcome(Attempt("a", "p", permit=Status(Code.ERROR, (), "X"))),
            (NO_PLUGIN, NO_PLUGIN),
        ),
        (
            AttemptOutcome(Attempt("a", "p", bind=Status(Code.UNSCHEDULABLE, (), "X"))),
            (NO_PLUGIN, NO_PLUGIN),
        ),
    ],
)
def test_who_rejected_a_pod(
    outcome: AttemptOutcome, plugins: tuple[frozenset[str], frozenset[str]]
) -> None:
    assert rejectors(outcome) == plugins


def test_the_clock_tells_times_in_whole_seconds() -> None:
    clock = ReplayClock(1_700_000_000, 1_500_000)
    assert clock.text == "2023-11-14T22:13:21Z"
    assert clock.seconds == 1_700_000_001.5


def test_a_victim_stays_for_its_grace_period_and_the_preemptor_waits_for_it(
    tmp_path: Path,
) -> None:
    run = replay(
        tmp_path,
        [node("n")],
        [
            {"at": 0, "pod": pod("low", terminationGracePeriodSeconds=20)},
            {"at": 5, "pod": pod("high", priority=10)},
        ],
        until=60,
    )
    high = [entry for entry in tries(run) if entry[1] == "high"]
    assert high[0] == (5.0, "high", "unschedulable")
    assert high[-1] == (25.0, "high", "n")
    assert run.log.counts.evicted == 1
    preemption = next(attempt for attempt in run.log.attempts if attempt.victims)
    assert (preemption.nominated_node, preemption.victims) == ("n", ("default/low",))


def test_a_victim_without_a_grace_period_is_gone_at_once(tmp_path: Path) -> None:
    run = replay(
        tmp_path,
        [node("n"), pod("low", nodeName="n", terminationGracePeriodSeconds=0)],
        [{"at": 5, "pod": pod("high", priority=10)}],
    )
    assert tries(run) == [(5.0, "high", "unschedulable"), (5.0, "high", "n")]


@pytest.mark.parametrize(("priority", "is_cleared"), [(10, True), (5, False), (3, False)])
def test_a_preemptor_clears_nominations_of_less_important_pods_to_its_node(
    priority: int, is_cleared: bool, tmp_path: Path
) -> None:
    """A pod without its nomination is tried again."""
    victims = [pod(name, nodeName="n", terminationGracePeriodSeconds=60) for name in "uv"]
    events = [
        {"at": 1, "pod": pod("first", priority=5)},
        {"at": 2, "pod": pod("second", priority=priority)},
    ]
    run = replay(tmp_path, [node("n", "2"), *victims], events, until=20)
    names = ["first", "second", *(["first"] if is_cleared else [])]
    assert [name for _, name, _ in tries(run)] == names


def test_a_pod_that_an_extender_rejected_hears_of_its_own_condition(
    tmp_path: Path, serve: Serve
) -> None:
    """It is tried again when its message was written, which is the same the next time."""
    server = serve({"/filter": {"NodeNames": [], "FailedNodes": {"n": "no licence"}}})
    extenders = [{"urlPrefix": server.url, "filterVerb": "filter", "nodeCacheCapable": True}]
    events = [{"at": 5, "put": node("n", labels={"a": "b"})}]

    def times(pending: dict[str, Any]) -> list[tuple[float, str, str]]:
        run = replay(tmp_path, [node("n"), pending], events, extenders=extenders, until=60)
        messages.update(attempt.message for attempt in run.log.attempts)
        return tries(run)

    messages: set[str] = set()
    first, again, later = times(pod("a"))
    assert (first, again, later) == (
        (0.0, "a", "unschedulable"),
        (0.0, "a", "unschedulable"),
        (5.0, "a", "unschedulable"),
    )
    (message,) = messages
    condition = {"type": "PodScheduled", "status": "False", "message": message}
    assert times({**pod("a"), "status": {"conditions": [condition]}}) == [first, later]


def test_without_nodes_pods_wait_for_one(tmp_path: Path) -> None:
    run = replay(tmp_path, [pod("a")], [{"at": 7, "put": node("n")}])
    assert tries(run)[0] == (0.0, "a", "unschedulable")
    assert tries(run)[-1][2] == "n"
    assert run.log.attempts[0].message == "no nodes available to schedule pods"


def test_a_pod_hears_of_a_claim_that_another_pod_gave_back(tmp_path: Path) -> None:
    """PostFilter deallocates a claim whose devices its pod cannot reach. Upstream: the informer
    tells of it."""
    far, own = device_claim("far"), device_claim("own")
    result = {"request": "r", "driver": "d", "pool": "a", "device": "gpu-0"}
    field = {"key": "metadata.name", "operator": "In", "values": ["a"]}
    selector = {"nodeSelectorTerms": [{"matchFields": [field]}]}
    far["status"] = {"allocation": {"devices": {"results": [result]}, "nodeSelector": selector}}
    pinned = claiming("pinned", "far")
    pinned["spec"]["nodeSelector"] = {"x": "y"}
    events = [{"at": 0, "pod": claiming("waits", "own")}, {"at": 1, "pod": pinned}]
    nodes = [node("a"), node("b", labels={"x": "y"})]
    run = replay(tmp_path, [*nodes, DEVICE_CLASS, devices("a"), far, own], events)
    assert (1.0, "waits", "a") in tries(run)
    claims = run.state().resource_claims
    assert claims["default", "far"].status.allocation is None
    assert [user.name for user in claims["default", "own"].status.reserved_for] == ["waits"]


def test_devices_of_a_claim_that_is_taken_back_are_free(tmp_path: Path) -> None:
    claims = [device_claim("c1"), device_claim("c2")]
    events = [
        {"at": 0, "pod": claiming("first", "c1"), "runsFor": 5},
        {"at": 1, "pod": claiming("second", "c2")},
        # The controller deallocates the claim: it is again as it was written.
        {"at": 20, "put": claims[0]},
    ]
    run = replay(tmp_path, [node("a"), DEVICE_CLASS, devices("a"), *claims], events)
    assert tries(run) == [
        (0.0, "first", "a"),
        (1.0, "second", "unschedulable"),
        (20.0, "second", "a"),
    ]
