"""An answer of `compare` as JSON and as a table."""

from __future__ import annotations

import pytest

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
from ksched_cli.report import compare
from ksched_cli.report.table import TERMINAL, Limit
from ksched_cli.run.run import Run
from tests.report.schemas import conforms, squeezed

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


def test_the_table_groups_by_owner_and_kind_of_difference() -> None:
    assert squeezed(compare.table(ANSWER, Limit(200, 40))) == [
        "5 of 9 pods differ because of the configuration: 3 move, 1 become pending, 1 are not "
        "there",
        "",
        "default configuration packing.yaml",
        "placed 3 1,200",
        "pending 1 0",
        "gated 0 1",
        "evicted 0 1",
        "nodes used 2 3",
        "cpu used 20% (per node 12% ± 25%, max 100%) 20% (per node 12% ± 25%, max 100%)",
        "gpu used none 50% (per node 50% ± 0%, max 50%)",
        "",
        "POD OR OWNER PODS default configuration packing.yaml BECAUSE OF",
        "shop/Deployment/web 3 a (2), b b (2), a NodeResourcesFit: up to 40 points",
        "default/one 1 a pending NodeResourcesFit: Insufficient cpu (b, packing.yaml)",
        "shop/gone 1 b not there there is no such pod (x)",
    ]


def test_pods_without_a_controller_are_one_group() -> None:
    pods = tuple(PodDifference.of(f"d/p{i}", f"d/Pod/p{i}", (A, B), FIT) for i in range(3))
    lines = squeezed(compare.table(Comparison(sides=SIDES, pods=pods, pod_count=3), TERMINAL))
    assert "d, no controller 3 a (3) b (3) NodeResourcesFit: up to 12 points" in lines


def test_other_causes_in_a_group_are_counted() -> None:
    pods = tuple(
        PodDifference.of(f"d/p{i}", "d/Job/j", (A, B), cause)
        for i, cause in enumerate((FULL, FULL, FIT))
    )
    assert "Insufficient cpu; 1 for other reasons" in compare.table(
        Comparison(sides=SIDES, pods=pods, pod_count=3), Limit(200, 40)
    )


def test_all_shows_every_pod() -> None:
    lines = squeezed(compare.table(ANSWER, Limit(200)))
    assert "shop/web-2 1 b a NodeResourcesFit: a gains 40 points on b" in lines
    assert "shop/web-3 1 a b not looked for: too many pods differ" in lines


def test_no_difference_is_a_line() -> None:
    lines = squeezed(compare.table(Comparison(sides=SIDES, pods=(), pod_count=1), TERMINAL))
    assert lines[0] == "no difference: 1 pod in the same place on every side"
    assert not any(line.startswith("POD OR OWNER") for line in lines)
