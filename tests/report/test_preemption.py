"""An answer of `preempt` as JSON and as a table."""

from typing import Any

import pytest

from ksched_cli.analysis.preempt import PreemptionResult, preempt
from ksched_cli.report.limit import EVERYTHING
from ksched_cli.testing import cluster, find, node, pod, simulation
from tests.report.schemas import conforms, shown


def answer(*objects: dict[str, Any]) -> PreemptionResult:
    """To `preempt p`."""
    run = simulation(cluster(*objects))
    run.queue()
    return preempt(run, find(run, "default/p"))


HIGH = pod("p", cpu="1", priority=9)
FULL = (node("a", cpu="1"), pod("low", cpu="1", node="a", priority=1))
TOO_SMALL = (node("b", cpu="500m"),)


@pytest.mark.parametrize("objects", [FULL, TOO_SMALL, (*FULL, *TOO_SMALL), (node("c"),)])
def test_answers_are_as_their_schema_says(objects: tuple[dict[str, Any], ...]) -> None:
    conforms(answer(*objects, HIGH), "preemption_result")


def test_the_only_candidate_is_said_to_be_the_only_one() -> None:
    assert answer(*FULL, HIGH).criterion == "only candidate"
    text = shown(answer(*FULL, HIGH), EVERYTHING)
    assert text[:3] == ["default/p would evict default/low from a", "only candidate", "priority 9"]


def test_a_pod_that_fits_needs_no_preemption() -> None:
    text = shown(answer(node("c"), HIGH), EVERYTHING)
    assert text[0] == "default/p needs no preemption: it fits on c"


def test_a_node_where_no_eviction_helps_says_why() -> None:
    text = shown(answer(*TOO_SMALL, HIGH), EVERYTHING)
    assert text[0] == "default/p may preempt, but no eviction makes room for it"
    assert any(line.startswith("b all pods ") for line in text)
