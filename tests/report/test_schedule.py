"""A run as JSON and as a table."""

import pytest
from hypothesis import given

from clusters import states
from ksched_cli.report import schedule
from ksched_cli.report.table import EVERYTHING
from ksched_cli.testing import cluster, node, pod, simulate
from report.schemas import conforms, squeezed


@given(states(max_nodes=4, max_pending=3))
def test_runs_are_as_their_schema_says(state):
    run = simulate(state)
    traced = conforms(schedule.document(run, trace=True), "schedule_result")
    plain = conforms(schedule.document(run, trace=False), "schedule_result")
    assert {key: traced[key] for key in plain} == plain
    assert len(traced["attempts"]) == len(run.attempts)
    assert sum(plain["summary"][key] for key in ("placed", "pending", "gated")) == len(
        {*plain["placements"], *plain["pending"], *plain["gated"]}
    )
    assert set(plain["messages"]) == {*plain["pending"], *plain["gated"]}


def gated():
    return simulate(cluster(node("a"), pod("held", gates=["example.com/wait"])))


def preempting():
    low, high = pod("low", cpu="1", node="a"), pod("high", cpu="1", priority=1)
    return simulate(cluster(node("a", cpu="1"), low, high))


def broken():
    term = {"weight": 1, "preference": {"matchExpressions": [{"key": "k", "operator": "Gt"}]}}
    rules = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [term]}}
    return simulate(cluster(node("a"), node("b"), pod("p", affinity=rules)))


def conflicting():
    fields = [{"key": "metadata.name", "operator": "In", "values": [name]} for name in "ab"]
    required = {"nodeSelectorTerms": [{"matchFields": fields}]}
    rules = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
    return simulate(cluster(node("a"), node("b"), pod("p", affinity=rules)))


@pytest.mark.parametrize("run", [gated, preempting, broken, conflicting])
def test_what_seldom_happens_has_its_place_in_the_schema_too(run):
    conforms(schedule.document(run(), trace=True), "schedule_result")


def test_gated_pods_and_evictions_are_listed():
    result = schedule.document(gated(), trace=False)
    assert result["gated"] == ["default/held"]
    assert result["messages"] == {
        "default/held": "waiting for scheduling gates: [example.com/wait]"
    }
    result = schedule.document(preempting(), trace=False)
    assert result["evicted"] == ["default/low"]
    assert result["evictions"] == [{"pod": "default/low", "node": "a", "preemptor": "default/high"}]


def test_a_broken_cycle_says_what_broke_it():
    result = schedule.document(broken(), trace=True)
    assert "values" in result["messages"]["default/p"]
    assert result["attempts"][0]["error"] == result["messages"]["default/p"]


def test_a_run_says_who_went_where_and_why_not():
    state = cluster(
        node("a", cpu="2"),
        pod("only", cpu="1"),
        pod("big", cpu="3"),
        pod("held", gates=["example.com/wait"]),
    )
    text = squeezed(schedule.table(simulate(state), EVERYTHING))
    assert "default/only a only one fits" in text
    assert any(line.startswith("pending default/big 0/1 nodes are available") for line in text)
    assert "gated default/held waiting for scheduling gates: [example.com/wait]" in text
    assert text[-1] == "1 placed, 1 pending, 1 gated"


def test_a_run_names_victims_and_for_whom_they_left():
    state = cluster(
        node("a", cpu="1"), pod("low", cpu="1", node="a"), pod("high", cpu="1", priority=1)
    )
    text = squeezed(schedule.table(simulate(state), EVERYTHING))
    assert "default/low a default/high" in text
    assert text[-1] == "1 placed, 0 pending, 0 gated, 1 evicted"
