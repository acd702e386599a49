"""Expectations that hold, and what those that do not say."""

import pytest

from ksched_cli.analysis.expectations import (
    EvictedCount,
    Expectation,
    NodesUsed,
    Outcome,
    PendingCount,
    PodsEvicted,
    PodsOn,
    PodsPending,
    Spread,
)
from ksched_cli.cluster.objects.pod import Pod
from ksched_cli.engine.records import Attempt, Eviction, RunRecord
from ksched_cli.framework.status import Status

ZONES = {"a": {"zone": "1", "disk": "ssd"}, "b": {"zone": "2"}, "c": {}}
KEYS = ("x/web-1", "x/web-2", "x/db", "y/big", "y/low", "y/held")
SHORT = "0/3 nodes are available: 3 Insufficient cpu."
OUTCOME = Outcome(
    run=RunRecord(
        attempts=(),
        placements={"x/web-1": "a", "x/web-2": "a", "x/db": "b"},
        pending=("y/big",),
        gated={"y/held": Status.unschedulable("waiting for gates")},
        evicted=(Eviction("y/low", "b", "x/db"),),
        last={"y/big": Attempt("y/big", "p", message=SHORT)},
    ),
    nodes={"x/web-1": "a", "x/web-2": "a", "x/db": "b"},
    pods={key: Pod() for key in KEYS},
    node_labels=ZONES,
    nodes_used=2,
)  # fmt: skip


@pytest.mark.parametrize(
    "expectation",
    [
        PodsOn("", "web-*", "a", {}),
        PodsOn("", "x/*", "[ab]", {}),
        PodsOn("", "web-?", "", {"zone": "1", "disk": "s*"}),
        PodsPending("", "big", ""),
        PodsPending("", "y/big", "Insufficient cpu"),
        PodsPending("", "held", ""),
        PodsEvicted("", "low", True),
        PodsEvicted("", "web-*", False),
        PendingCount("", 1),
        EvictedCount("", 1),
        NodesUsed("", 2, 2),
        NodesUsed("", None, 3),
        Spread("", "x/*", "zone", 1),
    ],
)
def test_an_expectation_holds(expectation: Expectation) -> None:
    assert expectation.check(OUTCOME) is None


@pytest.mark.parametrize(
    ("expectation", "message", "pod"),
    [
        (PodsOn("", "db", "a", {}), "expected db on a; x/db is on b", "x/db"),
        (
            PodsOn("", "x/*", "", {"disk": "ssd"}),
            "expected x/* on a node with disk=ssd (1 of 3 are not); x/db is on b (no disk)",
            "x/db",
        ),
        (
            PodsOn("", "big", "*", {}),
            "expected big on *; y/big is pending: 0/3 nodes are available: 3 Insufficient cpu.",
            "y/big",
        ),
        (PodsPending("", "db", ""), "expected db pending; x/db is on b", "x/db"),
        (
            PodsPending("", "big", "memory"),
            'expected big pending because of "memory"; y/big is pending: '
            "0/3 nodes are available: 3 Insufficient cpu.",
            "y/big",
        ),
        (
            PodsEvicted("", "low", False),
            "expected low not evicted; y/low is evicted from b for x/db",
            "y/low",
        ),
        (PodsEvicted("", "held", True), "is gated: waiting for gates", "y/held"),
        (PendingCount("", 0), "expected 0 pods pending, and 1 are: y/big", "y/big"),
        (EvictedCount("", 2), "expected 2 pods evicted, and 1 are: y/low", "y/low"),
        (NodesUsed("", 3, None), "expected at least 3 nodes with pods, and 2 have some", ""),
        (
            Spread("", "web-*", "zone", 1),
            "expected a skew of at most 1 over zone, and it is 2 (1: 2, 2: 0)",
            "x/web-1",
        ),
        (Spread("", "web-*", "rack", 1), "no node has the label rack", ""),
        (PodsOn("", "web1", "a", {}), 'no pod matches "web1" (6 pods); did you mean web-', ""),
    ],
)
def test_one_that_fails_says_what_came_out(
    expectation: Expectation, message: str, pod: str
) -> None:
    failure = expectation.check(OUTCOME)
    assert failure is not None
    assert message in failure.message
    assert failure.pod == pod
