"""A run as JSON and as a table."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given

from ksched_cli.analysis.hints import Hints
from ksched_cli.analysis.schedule import ScheduleResult, result_of
from ksched_cli.answers import document_of
from ksched_cli.cluster.state import ClusterState
from ksched_cli.engine.records import Eviction
from ksched_cli.engine.simulation import Simulation
from ksched_cli.report.forms import Form
from ksched_cli.report.limit import EVERYTHING
from ksched_cli.testing import cluster, node, pod, simulation
from tests.clusters import states
from tests.report.schemas import conforms, shown


def answer(simulated: Simulation, *, trace: bool = False) -> ScheduleResult:
    return result_of(simulated, simulated.run(), trace=trace)


def read(simulated: Simulation, *, lists_nodes: bool = False) -> ScheduleResult:
    """As commands make it for people."""
    return result_of(
        simulated,
        simulated.run(),
        hints=Hints(simulated, simulated.record()),
        lists_nodes=lists_nodes,
    )


@given(states(max_nodes=4, max_pending=3))
def test_runs_are_as_their_schema_says(state: ClusterState) -> None:
    simulated = simulation(state)
    run = simulated.run()
    traced = conforms(result_of(simulated, run, trace=True), "schedule_result")
    plain = conforms(result_of(simulated, run), "schedule_result")
    assert {key: traced[key] for key in plain} == plain
    assert len(traced["attempts"]) == len(run.attempts)
    assert sum(plain["summary"][key] for key in ("placed", "pending", "gated")) == len(
        {*plain["placements"], *plain["pending"], *plain["gated"]}
    )
    assert set(plain["messages"]) == {*plain["pending"], *plain["gated"]}


def gated() -> Simulation:
    return simulation(cluster(node("a"), pod("held", gates=["example.com/wait"])))


def preempting() -> Simulation:
    low, high = pod("low", cpu="1", node="a"), pod("high", cpu="1", priority=1)
    return simulation(cluster(node("a", cpu="1"), low, high))


def broken() -> Simulation:
    term = {"weight": 1, "preference": {"matchExpressions": [{"key": "k", "operator": "Gt"}]}}
    rules = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [term]}}
    return simulation(cluster(node("a"), node("b"), pod("p", affinity=rules)))


def conflicting() -> Simulation:
    fields = [{"key": "metadata.name", "operator": "In", "values": [name]} for name in "ab"]
    required = {"nodeSelectorTerms": [{"matchFields": fields}]}
    rules = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
    return simulation(cluster(node("a"), node("b"), pod("p", affinity=rules)))


@pytest.mark.parametrize("run", [gated, preempting, broken, conflicting])
def test_what_seldom_happens_has_its_place_in_the_schema_too(run: Callable[[], Simulation]) -> None:
    conforms(answer(run(), trace=True), "schedule_result")


def test_gated_pods_and_evictions_are_listed() -> None:
    result = answer(gated())
    assert result.gated == ("default/held",)
    assert result.messages == {"default/held": "waiting for scheduling gates: [example.com/wait]"}
    result = answer(preempting())
    assert result.evicted == ("default/low",)
    assert result.evictions == (Eviction("default/low", "a", "default/high"),)


def test_a_broken_cycle_says_what_broke_it() -> None:
    result = answer(broken(), trace=True)
    assert "values" in result.messages["default/p"]
    assert result.attempts
    assert result.attempts[0].error == result.messages["default/p"]


def test_a_run_says_who_went_where_and_why_not() -> None:
    state = cluster(
        node("a", cpu="2"),
        pod("only", cpu="1"),
        pod("big", cpu="3"),
        pod("held", gates=["example.com/wait"]),
    )
    text = shown(read(simulation(state)), EVERYTHING)
    assert text[:2] == ["1 of 2 pods stays pending", "1 placed, 1 pending, 1 gated"]
    assert "default/only a only one fits" in text
    at = text.index("pending: default/big")
    assert text[at + 1].startswith("requests cpu 3; the only node it may use, a, has 2")
    assert text[at + 2].startswith("what helps: request cpu 1 instead of 3, which a has free")
    assert text[at + 3].startswith("kube-scheduler says: 0/1 nodes are available")
    at = text.index("gated: default/held")
    assert text[at + 1] == "waiting for scheduling gates: [example.com/wait]"


def test_a_run_names_victims_and_for_whom_they_left() -> None:
    text = shown(read(preempting()), EVERYTHING)
    assert "default/low a default/high" in text
    assert text[1] == "1 placed, 0 pending, 0 gated, 1 evicted"


def uneven() -> Simulation:
    nodes = [node("full", cpu="2", memory="4Gi"), node("half", cpu="4"), node("void", cpu="8")]
    return simulation(
        cluster(*nodes, pod("a", cpu="2", node="full"), pod("b", cpu="1", node="half"))
    )


def test_a_run_ends_with_how_full_the_nodes_are() -> None:
    text = shown(read(uneven()))
    assert text[0] == "No pod waits for a node"
    at = text.index("2 of 3 nodes used")
    assert text[at + 1 : at + 3] == [
        "RESOURCE REQUESTED USED FULLEST EMPTIEST",
        "cpu 3 of 14 21% 100% full 0% void",
    ]


def test_every_node_is_listed_where_that_is_asked_for() -> None:
    text = shown(read(uneven(), lists_nodes=True))
    assert "NODE CPU % MEMORY % PODS %" in text
    assert "half 1 of 4 25% 0 of 16Gi 0% 1 of 110 1%" in text
    assert "Every node" not in shown(read(uneven()))


def test_the_nodes_after_the_run_are_in_the_document() -> None:
    result = conforms(answer(uneven()), "schedule_result")
    assert result["nodes"][1] == {
        "name": "half",
        "allocatable": {"cpu": "4", "memory": "17179869184", "pods": "110"},
        "requested": {"cpu": "1", "memory": "0"},
        "pods": 1,
    }


def test_many_pods_are_grouped_by_owner_and_reason() -> None:
    def of_job(job: str, name: str, **fields: Any) -> dict[str, Any]:
        reference = {"kind": "Job", "name": job, "controller": True}
        return pod(name, metadata={"ownerReferences": [reference]}, **fields)

    small = [of_job("web", f"web-{i:02}") for i in range(30)]
    large = [of_job("big", f"big-{i}", cpu="9") for i in range(7)]
    result = read(simulation(cluster(node("a"), *small, *large)))
    lines = shown(result)
    assert "default/Job/web 30 a (30)" in lines
    assert "pending: 7 pods of default/Job/big: default/big-0, default/big-1 and 5 more" in lines
    assert not any("web-00" in line for line in lines)
    assert "default/web-00 a only one fits 1" in shown(result, form=Form.WIDE)
    apart = " ".join(shown(result, EVERYTHING))
    assert all(f"default/big-{i}" in apart for i in range(7))


def test_the_names_are_the_pods_that_stay_pending() -> None:
    state = cluster(node("a", cpu="2"), pod("big", cpu="3"), pod("small", cpu="1"))
    assert shown(answer(simulation(state)), form=Form.NAME) == ["default/big"]


def test_a_document_does_not_have_what_only_people_read() -> None:
    assert document_of(read(gated())) == document_of(answer(gated()))
