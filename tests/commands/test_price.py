"""What a cluster costs now: --price outside a timeline."""

import json
from typing import Any

import pytest

from ksched_cli.api import Run, UsageError
from ksched_cli.testing import node, pod
from tests.commands.runners import Ksched, WriteState, answering
from tests.scenario.build import owned

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
    cost = answer["cost"]
    assert (cost["perHour"], cost["idle"], cost["unpriced"]) == (3, 1.5, 1)
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
    cost = answer["cost"]
    assert (cost["perHour"], cost["idle"], cost["unpriced"]) == (3, 0.25 + 0.75, 0)
    assert "cost" not in schedule(objects=objects)[1]


def test_sides_of_a_comparison_have_their_costs(
    ksched: Ksched, write_state: WriteState, objects: list[dict[str, Any]]
) -> None:
    state = write_state(*objects)
    more = ("--vs", "--change", "add-nodes d --like a")
    _, out, _ = ksched("compare", "--state", state, *PRICES, *more)
    (row,) = [line.split() for line in out.splitlines() if line.startswith("cost an hour")]
    assert row[-2:] == ["3", "5"]


def shares(cost: dict[str, Any]) -> dict[str, float]:
    """What each namespace and each owner costs; they add up to what is not idle."""
    for by in ("byNamespace", "byOwner"):
        total = sum(each["perHour"] for each in cost[by])
        assert total == pytest.approx(cost["perHour"] - cost["idle"])
    return {each["name"]: each["perHour"] for by in ("byNamespace", "byOwner") for each in cost[by]}


def test_schedule_says_what_the_requests_cost_after_the_run(
    ksched: Ksched, write_state: WriteState, objects: list[dict[str, Any]]
) -> None:
    schedule = answering("schedule", "schedule_result", ksched, write_state)
    objects = [*objects, pod("new", "batch", cpu=4)]
    _, answer = schedule("--price", "*=1", objects=objects)
    costs = {"default": 1, "batch": 1, "default/Pod/p": 0.75, "default/Pod/q": 0.25}
    assert shares(answer["cost"]) == {**costs, "batch/Pod/new": 1}
    line = ("schedule", "--price", "*=1", "--state", write_state(*objects))
    out = ksched(*line)[1].partition("Cost of requests by namespace\n")[2]
    rows = [" ".join(row.split()) for row in out.splitlines()]
    assert rows[:3] == ["NAMESPACE PODS COST AN HOUR", "batch 1 1", "default 2 1"]
    assert "Cost of requests by owner" in ksched(*line, "--all")[1]


def test_the_shares_are_a_frame(objects: list[dict[str, Any]]) -> None:
    answer = Run(state=objects, prices=["*=1"]).status()
    frame = answer.to_frame("cost.by_owner")
    assert frame[["name", "perHour"]].to_numpy().tolist() == [
        ["default/Pod/p", 0.75],
        ["default/Pod/q", 0.25],
    ]
    with pytest.raises(UsageError, match=r'"cost.idle" has no rows; .*cost.by_namespace'):
        answer.to_frame("cost.idle")


def test_shrink_says_it_before_and_after(ksched: Ksched, write_state: WriteState) -> None:
    """The pod of the dear node moves to the cheap one, which had no part of the other's cost."""
    nodes = [node("dear", cpu=4, labels={"pool": "a"}), node("cheap", cpu=4, labels={"pool": "b"})]
    pods = [owned("p", cpu=1, node="dear"), owned("q", cpu=1, node="cheap")]
    prices = ("--price", "dear=8", "--price", "cheap=4")
    shrink = answering("shrink", "shrink_result", ksched, write_state)
    _, answer = shrink(*prices, objects=[*nodes, *pods])
    assert (answer["cost"]["perHour"], answer["costAfter"]["perHour"]) == (12, 4)
    assert shares(answer["cost"])["default"] == 8 / 4 + 4 / 4
    assert shares(answer["costAfter"])["default"] == 4 * 2 / 4
    line = ("shrink", "--state", write_state(*nodes, *pods), *prices)
    assert "NAMESPACE COST AN HOUR COST AFTER default 3 2" in " ".join(ksched(*line)[1].split())
    # Only the nodes that are looked at count.
    _, answer = shrink(*prices, "-l", "pool=b", objects=[*nodes, *pods])
    assert shares(answer["cost"])["default"] == 1
    # Where none can go, there is one column.
    out = ksched(*line, "--keep", "pool")[1]
    assert "NAMESPACE PODS COST AN HOUR default 2 3" in " ".join(out.split())
    assert "cost" not in shrink(objects=[*nodes, *pods])[1]


def test_new_nodes_have_a_part_in_the_cost_after(ksched: Ksched, write_state: WriteState) -> None:
    nodes = [node("big", cpu=16, labels={"size": "big"}), node("small", cpu=4)]
    pods = [owned("p", cpu=3, node="big"), owned("q", cpu=4, node="small")]
    prices = ("--price", "big=10", "--price", "small=1")
    shrink = answering("shrink", "shrink_result", ksched, write_state)
    _, answer = shrink(*prices, "--replace-with", "small", "-l", "size", objects=[*nodes, *pods])
    assert answer["added"]
    assert answer["costAfter"]["perHour"] == 1
    assert shares(answer["costAfter"])["default"] == 0.75


def test_compare_says_it_per_side(
    ksched: Ksched, write_state: WriteState, objects: list[dict[str, Any]]
) -> None:
    """The second side has other prices, the third none of the pods of a namespace."""
    objects = [*objects, pod("r", "batch", node="a", cpu=1)]
    line = ("compare", "--state", write_state(*objects), "--price", "*=4", "--vs", "--price", "*=8")
    more = ("--vs", "--change", "delete pod/r -n batch")
    document = json.loads(ksched(*line, *more, "-o", "json")[1])
    costs = [shares(side["summary"]["cost"]) for side in document["sides"]]
    assert [(each["default"], each.get("batch")) for each in costs] == [(4, 1), (8, 2), (4, None)]
    table = ksched(*line, *more)[1].partition("Cost of requests by namespace\n")[2].splitlines()
    assert [row.split() for row in table[1:3]] == [
        ["default", "4", "8", "4"],
        ["batch", "1", "2", "0"],
    ]
    # Namespaces that cost the same are folded away, and so is a table of nothing else.
    out = ksched("compare", *line[1:5], *more)[1].partition("Cost of requests by namespace\n")[2]
    rows = [" ".join(row.split()) for row in out.splitlines()]
    assert rows[1:3] == ["batch 1 0", "… and 1 row equal on all sides"]
    same = ("--vs", "--change", "label nodes b x=y")
    assert "Cost of requests" not in ksched("compare", *line[1:5], *same)[1]
    assert "Cost of requests" in ksched("compare", *line[1:5], *same, "--all")[1]


@pytest.mark.parametrize("command", [["drain", "a"], ["drift"], ["preempt", "p"]])
def test_other_questions_have_no_use_for_prices(
    ksched: Ksched, write_state: WriteState, objects: list[dict[str, Any]], command: list[str]
) -> None:
    code, _, err = ksched(*command, "--price", "*=1", "--state", write_state(*objects))
    assert (code, "--price requires a timeline" in err) == (2, True)
