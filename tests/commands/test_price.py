"""What a cluster costs now: --price outside a timeline."""

from typing import Any

import pytest

from ksched_cli.testing import node, pod
from tests.commands.runners import Ksched, WriteState, answering

PRICES = ("--price", "pool=a=2", "--price", "b=1")


@pytest.fixture
def objects() -> list[dict[str, Any]]:
    """Three nodes of four cpu: one has three requested, one none, one no price."""
    pool = {"pool": "a"}
    nodes = [node("a", cpu=4, labels=pool), node("b", cpu=4), node("c", cpu=4)]
    return [*nodes, pod("p", node="a", cpu=3), pod("q", node="c", cpu=1)]


def test_status_says_what_the_nodes_and_their_idle_part_cost(
    ksched: Ksched, write_state: WriteState, objects: list[dict[str, Any]]
) -> None:
    status = answering("status", "status", ksched, write_state)
    _, answer = status("--by", "pool", *PRICES, objects=objects)
    assert answer["cost"] == {"perHour": 3, "idle": 1.5, "unpriced": 1}
    costs = {pool["value"]: pool["cost"]["perHour"] for pool in answer["pools"]["pools"]}
    assert costs == {"a": 2, None: 1}
    _, out, _ = ksched("status", *PRICES, "--state", write_state(*objects))
    assert "costs 3 an hour, of which 1.5 (50%) is idle, without 1 node that has no price" in out


def test_capacity_alone_and_schedule_have_it_too(
    ksched: Ksched, write_state: WriteState, objects: list[dict[str, Any]]
) -> None:
    capacity = answering("capacity", "capacity_result", ksched, write_state)
    assert capacity("--price", "*=1", objects=objects)[1]["cost"]["idle"] == 0.25 + 1 + 0.75
    schedule = answering("schedule", "schedule_result", ksched, write_state)
    # As the run leaves the nodes: the pod fills b.
    _, answer = schedule("--price", "*=1", objects=[*objects, pod("new", cpu=4)])
    assert answer["cost"] == {"perHour": 3, "idle": 0.25 + 0.75, "unpriced": 0}
    assert "cost" not in schedule(objects=objects)[1]


def test_sides_of_a_comparison_have_their_costs(
    ksched: Ksched, write_state: WriteState, objects: list[dict[str, Any]]
) -> None:
    state = write_state(*objects)
    more = ("--vs", "--change", "add-nodes d --like a")
    _, out, _ = ksched("compare", "--state", state, *PRICES, *more)
    (row,) = [line.split() for line in out.splitlines() if line.startswith("cost an hour")]
    assert row[-2:] == ["3", "5"]


@pytest.mark.parametrize("command", [["drain", "a"], ["drift"], ["preempt", "p"]])
def test_other_questions_have_no_use_for_prices(
    ksched: Ksched, write_state: WriteState, objects: list[dict[str, Any]], command: list[str]
) -> None:
    code, _, err = ksched(*command, "--price", "*=1", "--state", write_state(*objects))
    assert (code, "--price requires a timeline" in err) == (2, True)
