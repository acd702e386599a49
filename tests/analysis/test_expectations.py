"""Expectations that hold, and what those that do not say."""

import pytest

from ksched_cli.analysis.capacity import CapacityResult
from ksched_cli.analysis.expectations import (
    CopiesFit,
    Expectation,
    Limits,
    MetricWithin,
    NodeHours,
    NodesUsed,
    Outcome,
    PodCount,
    PodsEvicted,
    PodsOn,
    PodsPending,
    Spread,
    Utilized,
    Waited,
)
from ksched_cli.analysis.usage import Utilization

ZONES = {"a": {"zone": "1", "disk": "ssd"}, "b": {"zone": "2"}, "c": {}}
KEYS = ("x/web-1", "x/web-2", "x/db", "y/big", "y/low", "y/held")
SHORT = "0/3 nodes are available: 3 Insufficient cpu."
OUTCOME = Outcome(
    pods=KEYS,
    nodes={"x/web-1": "a", "x/web-2": "a", "x/db": "b"},
    pending={"y/big": f"is pending: {SHORT}"},
    gated={"y/held": "is gated: waiting for gates"},
    evicted={"y/low": "is evicted from b for x/db"},
    node_labels=ZONES,
    nodes_used=2,
    usage={"cpu": Utilization(0.5, 0.75, 0.25, 0.4)},
    capacity=lambda name, maximum: CapacityResult(
        pod=name, profile="p", count=min(3, maximum), limited_by=SHORT
    ),
    waits={"x/web-1": 0, "x/web-2": 90_000_000, "y/big": 3_600_000_000},
    node_hours=12.5,
    figures=lambda: {
        "jobs.makespan": 60.0,
        "users.a.dominantShare": 0.5,
        "users.b.dominantShare": 0.25,
        "Mine.loss": -2,
    },
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
        PodCount("", 1, "pending"),
        PodCount("", 1, "evicted"),
        NodesUsed("", Limits(2, 2)),
        NodesUsed("", Limits(None, 3)),
        Spread("", "x/*", "zone", 1),
        Utilized("", "cpu", "total", Limits(0.4, 0.4)),
        CopiesFit("", "web", Limits(3, 3)),
        CopiesFit("", "web", Limits(at_least=1)),
        Waited("", "x/*", {"mean": Limits(at_most=45), "p50": Limits(0, 0)}),
        Waited("", "*", {"p99": Limits(3600, 3600), "max": Limits(at_least=3600)}),
        NodeHours("", Limits(12, 13)),
        MetricWithin("", "jobs.makespan", Limits(at_most=60)),
        MetricWithin("", "users.*.dominantShare", Limits(at_most=0.5)),
        MetricWithin("", "Mine.loss", Limits(at_most=-1)),
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
        (PodCount("", 0, "pending"), "expected 0 pods pending, got 1: y/big", "y/big"),
        (PodCount("", 2, "evicted"), "expected 2 pods evicted, got 1: y/low", "y/low"),
        (
            NodesUsed("", Limits(3, None)),
            "expected at least 3 nodes with pods, got 2",
            "",
        ),
        (
            Spread("", "web-*", "zone", 1),
            "expected a skew of at most 1 over zone, got 2 (1: 2, 2: 0)",
            "x/web-1",
        ),
        (Spread("", "web-*", "rack", 1), "no node has the label rack", ""),
        (
            Utilized("", "cpu", "max", Limits(None, 0.7)),
            "expected at most 70.0% max utilization of cpu, got 75.0%",
            "",
        ),
        (Utilized("", "gpu", "max", Limits(None, 0.7)), "no node has any gpu", ""),
        (
            CopiesFit("", "web", Limits(4)),
            f"expected at least 4 more copies of web to fit, and 3 do: {SHORT}",
            "",
        ),
        (
            Waited("", "x/web-*", {"p90": Limits(at_most=60), "max": Limits(at_most=90)}),
            "expected x/web-* (2 pods, x/web-2 the longest) to wait p90 at most 1m0s, got 1m30s",
            "x/web-2",
        ),
        (Waited("", "db", {"max": Limits(at_most=1)}), 'no pod matches "db"', ""),
        (NodeHours("", Limits(None, 10)), "expected at most 10 node-hours, got 12.5", ""),
        (PodsOn("", "web1", "a", {}), 'no pod matches "web1" (6 pods); did you mean web-', ""),
        (
            MetricWithin("", "users.*.dominantShare", Limits(at_most=0.3)),
            "expected users.*.dominantShare at most 0.3; users.a.dominantShare is 0.5",
            "",
        ),
        (
            MetricWithin("", "jobs.makespam", Limits(at_most=1)),
            'the run has no figure "jobs.makespam"; did you mean jobs.makespan?',
            "",
        ),
    ],
)
def test_one_that_fails_says_what_came_out(
    expectation: Expectation, message: str, pod: str
) -> None:
    failure = expectation.check(OUTCOME)
    assert failure is not None
    assert message in failure.message
    assert failure.pod == pod
