"""An answer of `compare` as JSON and as a table."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from ksched_cli.analysis.causes import Cause
from ksched_cli.analysis.compare import (
    Comparison,
    Place,
    PodDifference,
    SideResult,
    SideSummary,
    Standing,
)
from ksched_cli.analysis.usage import Utilization
from ksched_cli.answers import document_of
from ksched_cli.report.limit import TERMINAL, Limit
from ksched_cli.run.run import Run
from tests.report.schemas import conforms, shown

SHARES = {"cpu": Utilization(0.123456, 1.0, 0.25, 0.2)}
SIDES = (
    SideResult(
        "default configuration", Run(), "v1.36.3", (), 0, SideSummary(3, 1, 0, 0, 2, SHARES)
    ),
    SideResult(
        "packing.yaml",
        Run(configuration="packing.yaml"),
        "v1.36.3",
        ("configuration",),
        5,
        SideSummary(1200, 0, 1, 1, 3, {**SHARES, "gpu": Utilization(0.5, 0.5, 0, 0.5)}),
    ),
)
A, B = Place("a", Standing.PLACED), Place("b", Standing.RUNNING)
WAITS, GONE = Place(None, Standing.PENDING), Place(None, Standing.ABSENT)
FIT = Cause("NodeResourcesFit", "b gains 12 points on a", points=12)
MORE = Cause("NodeResourcesFit", "a gains 40 points on b", points=40)
FULL = Cause("NodeResourcesFit", "Insufficient cpu", "b, packing.yaml")
ABSENT = Cause("", "there is no such pod", "x")
PODS = (
    PodDifference.of("default/one", "default/Pod/one", (A, WAITS), FULL),
    PodDifference.of("shop/gone", "shop/Pod/gone", (B, GONE), ABSENT),
    PodDifference.of("shop/web-1", "shop/Deployment/web", (A, B), FIT),
    PodDifference.of("shop/web-2", "shop/Deployment/web", (B, A), MORE),
    PodDifference.of("shop/web-3", "shop/Deployment/web", (A, B)),
)
ANSWER = Comparison(sides=SIDES, pods=PODS, pod_count=9)


@pytest.mark.parametrize("answer", [ANSWER, Comparison(sides=SIDES, pods=(), pod_count=0)])
def test_answers_are_as_their_schema_says(answer: Comparison) -> None:
    conforms(answer, "comparison")


def test_a_pod_that_is_on_no_node_is_null_there_and_says_what_it_is() -> None:
    first = document_of(ANSWER)["pods"][0]
    assert first == {
        "pod": "default/one",
        "owner": "default/Pod/one",
        "nodes": ("a", None),
        "states": ("placed", "pending"),
        "because": "NodeResourcesFit: Insufficient cpu (b, packing.yaml)",
        "plugin": "NodeResourcesFit",
    }


def test_shares_are_rounded() -> None:
    assert SHARES["cpu"].rounded(4) == Utilization(0.1235, 1.0, 0.25, 0.2)


def test_the_verdict_comes_first_then_the_pods_by_owner_then_the_totals_that_differ() -> None:
    assert shown(ANSWER, Limit(200, 40)) == [
        "5 of 9 pods differ because of the configuration: 3 move, 1 becomes pending, 1 is not "
        "there",
        "",
        "Pods that differ",
        "POD OR OWNER PODS default configuration packing.yaml BECAUSE OF",
        "~ shop/Deployment/web 3 a (2), b b (2), a NodeResourcesFit: up to 40 points",
        "- default/one 1 a pending NodeResourcesFit: Insufficient cpu (b, packing.yaml)",
        "- shop/gone 1 b not there there is no such pod (x)",
        "",
        "Totals",
        "default configuration packing.yaml",
        "pods placed 3 1,200",
        "pods pending 1 0",
        "pods gated 0 1",
        "pods evicted 0 1",
        "nodes used 2 3",
        "gpu used none 50%",
        "gpu used per node none 50% ± 0%, max 50%",
        "… and 2 rows equal on all sides",
    ]


def test_a_pod_that_gets_a_node_is_marked_as_added() -> None:
    pods = (PodDifference.of("d/p", "d/Job/j", (WAITS, A), FULL),)
    lines = shown(Comparison(sides=SIDES, pods=pods, pod_count=1), Limit(200, 40))
    assert lines[0] == "1 of 1 pod gets a node because of the configuration"
    assert any(line.startswith("+ d/p 1 pending a ") for line in lines)


def test_of_several_sides_each_has_a_line() -> None:
    third = replace(SIDES[1], name="spreading.yaml")
    pods = (
        PodDifference.of("d/p", "d/Job/j", (A, B, A), FIT),
        PodDifference.of("d/q", "d/Job/j", (A, WAITS, A), FULL),
    )
    lines = shown(Comparison(sides=(*SIDES, third), pods=pods, pod_count=4), TERMINAL)
    assert lines[:3] == [
        "2 of 4 pods differ between the sides",
        "packing.yaml: 2 of 4 pods differ because of the configuration: 1 moves, 1 becomes pending",
        "spreading.yaml: no difference: 4 pods in the same place",
    ]


def test_names_of_nodes_are_short_beside_what_pods_are_instead() -> None:
    end = ".eu-central-1.compute.internal"
    long, other = (Place(f"ip-{i}{end}", Standing.PLACED) for i in (1, 2))
    pods = (
        PodDifference.of("d/p", "d/Job/j", (long, WAITS), FULL),
        PodDifference.of("d/q", "d/Job/j", (other, long), FIT),
    )
    lines = shown(Comparison(sides=SIDES, pods=pods, pod_count=2), TERMINAL)
    assert lines[1] == f"node names end in {end}"
    assert not any(end in line for line in lines[2:])


def test_pods_without_a_controller_are_one_group() -> None:
    pods = tuple(PodDifference.of(f"d/p{i}", f"d/Pod/p{i}", (A, B), FIT) for i in range(3))
    lines = shown(Comparison(sides=SIDES, pods=pods, pod_count=3), TERMINAL)
    assert "~ d, no controller 3 a (3) b (3) NodeResourcesFit: up to 12 points" in lines


def test_other_causes_in_a_group_are_counted() -> None:
    pods = tuple(
        PodDifference.of(f"d/p{i}", "d/Job/j", (A, B), cause)
        for i, cause in enumerate((FULL, FULL, FIT))
    )
    lines = shown(Comparison(sides=SIDES, pods=pods, pod_count=3), Limit(200, 40))
    assert any("Insufficient cpu; 1 for other reasons" in line for line in lines)


def test_all_shows_every_pod_and_every_figure() -> None:
    lines = shown(ANSWER, Limit(200))
    assert "~ shop/web-2 b a NodeResourcesFit: a gains 40 points on b" in lines
    assert "~ shop/web-3 a b not looked for: too many pods differ" in lines
    assert "cpu used 20% 20%" in lines


def test_no_difference_is_a_line() -> None:
    lines = shown(Comparison(sides=SIDES, pods=(), pod_count=1), TERMINAL)
    assert lines[0] == "No difference: 1 pod in the same place on every side"
    assert "Pods that differ" not in lines
