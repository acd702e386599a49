"""Victims selected with array operations are those that are selected pod by pod."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ksched_cli.cluster.state import ClusterState
from ksched_cli.engine.records import RunRecord
from ksched_cli.framework.runners import FilterRunner
from ksched_cli.plugins.default_preemption.victims import ColumnDryRun, DryRun
from ksched_cli.testing import cluster, node, simulation
from tests.plugins.default_preemption.manifests import budget, crowded, preemption_pod

AMOUNTS = st.sampled_from([None, "0", "1", "2", "3"])
GPU = "example.com/gpu"
NAMES = ["n0", "n1", "n2", "n3", "n4"]


@st.composite
def pods(draw: st.DrawFn, name: str, on: str = "") -> dict[str, Any]:
    """on: a node; a pending pod without."""
    gpus = draw(AMOUNTS)
    return preemption_pod(
        name,
        prio=draw(st.sampled_from([-5, 0, 1, 5, 10])),
        start=draw(st.one_of(st.none(), st.integers(0, 3))) if on else None,
        cpu=draw(AMOUNTS),
        memory=draw(AMOUNTS),
        requests={} if gpus is None else {GPU: gpus},
        labels=draw(st.sampled_from([{"app": "a"}, {"app": "b"}, {}])),
        tolerations=draw(st.sampled_from([[], ["dedicated:NoSchedule"]])),
        node=on,
        nominated="" if on else draw(st.sampled_from(["", "", *NAMES])),
    )


@st.composite
def full_clusters(draw: st.DrawFn) -> ClusterState:
    """Nodes with little of several resources, taints and budgets; more pods than they have room
    for, some of them alike."""
    nodes = [
        node(
            name,
            cpu=draw(st.integers(0, 5)),
            memory=draw(st.integers(0, 5)),
            pods=draw(st.integers(0, 6)),
            resources={GPU: draw(st.integers(0, 3))},
            taints=draw(st.sampled_from([[], ["dedicated:NoSchedule"]])),
        )
        for name in NAMES
    ]
    count = draw(st.integers(0, 16))
    running = [draw(pods(f"r{i}", draw(st.sampled_from(NAMES)))) for i in range(count)]
    looks = [draw(pods("p")) for _ in range(draw(st.integers(1, 3)))]
    pending = [
        look | {"metadata": look["metadata"] | {"name": f"p{i}-{copy}"}}
        for i, look in enumerate(looks)
        for copy in range(3)
    ]
    budgets = [
        budget(
            i,
            draw(st.integers(0, 2)),
            {"app": draw(st.sampled_from("ab"))},
            disrupted=draw(st.sampled_from([(), ("r0", "r1")])),
        )
        for i in range(draw(st.integers(0, 3)))
    ]
    return cluster(*nodes, *running, *pending, *budgets)


def run_of(state: ClusterState, *, in_columns: bool, cache_answers: bool = True) -> RunRecord:
    """With all candidates and their victims recorded."""
    run = simulation(state)
    run.options = replace(run.options, cache_answers=cache_answers)
    with pytest.MonkeyPatch.context() as patch:
        if not in_columns:
            patch.setattr(FilterRunner, "compared_requests", lambda *arguments: None)
        return run.run()


@given(full_clusters())
def test_where_resources_decide_every_record_is_that_of_pods_taken_off_one_by_one(
    state: ClusterState,
) -> None:
    in_columns = run_of(state, in_columns=True)
    assert in_columns == run_of(state, in_columns=False)
    assert in_columns == run_of(state, in_columns=True, cache_answers=False)


@given(crowded(choosy=True))
def test_where_other_pods_matter_every_record_is_that_of_pods_taken_off_one_by_one(
    state: ClusterState,
) -> None:
    assert run_of(state, in_columns=True) == run_of(state, in_columns=False)


@pytest.mark.parametrize(
    ("fields", "is_taken"),
    [
        ({}, {"columns"}),
        ({"ports": [80]}, {"one by one"}),
        ({"nominated": "a"}, {"columns", "one by one"}),
    ],
    ids=["resources alone", "a host port", "a nominated pod"],
)
def test_columns_are_for_pods_that_resources_alone_keep_away(
    fields: dict[str, Any], is_taken: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    taken = set()
    for cls, name, path in (
        (ColumnDryRun, "select", "columns"),
        (DryRun, "victims_on", "one by one"),
    ):
        method = getattr(cls, name)

        def noted(self: Any, rows: Any, *more: Any, method: Any = method, path: str = path) -> Any:
            if len(rows):
                taken.add(path)
            return method(self, rows, *more)

        monkeypatch.setattr(cls, name, noted)
    state = cluster(
        node("a", cpu=1),
        node("b", cpu=1),
        preemption_pod("low-a", prio=1, node="a", cpu=1),
        preemption_pod("low-b", prio=1, node="b", cpu=1),
        preemption_pod("p", cpu=1, **fields),
    )
    run = simulation(state)
    assert len(run.run().evicted) == 1
    assert taken == is_taken


def test_a_pod_that_fits_nowhere_after_all_lower_pods_left_is_told_why_once_per_node() -> None:
    state = cluster(
        node("a", cpu=1),
        node("b", cpu=2),
        preemption_pod("low-a", prio=1, node="a", cpu="500m"),
        preemption_pod("low-b", prio=1, node="b", cpu="500m"),
        preemption_pod("high-b", prio=20, node="b", cpu="500m"),
        preemption_pod("p", cpu=2),
    )
    attempt = simulation(state).run().last["default/p"]
    assert attempt.post_filter is not None
    assert attempt.post_filter.status.message == (
        "preemption: 0/2 nodes are available: 1 Insufficient cpu, "
        "1 Preemption is not helpful for scheduling."
    )


def test_a_pod_leaves_for_the_extended_resource_that_it_has() -> None:
    name = "vendor.example/gpu"
    low = preemption_pod("low", prio=1, node="a", requests={name: 1})
    preemptor = preemption_pod("p", requests={name: 1})
    record = simulation(cluster(node("a", resources={name: 1}), low, preemptor)).run()
    assert [each.pod for each in record.evicted] == ["default/low"]
