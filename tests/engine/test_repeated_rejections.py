"""Attempts without a node are looked up while nothing has changed, and computed anew afterwards."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.state import ClusterState
from ksched_cli.engine.evaluation import Evaluation, Mode
from ksched_cli.engine.pipeline import Pipeline
from ksched_cli.engine.records import NO_DETAIL
from ksched_cli.engine.scheduling_cycle import AttemptOutcome
from ksched_cli.engine.simulation import Simulation
from ksched_cli.framework.interface import Plugin
from ksched_cli.framework.runtime import Framework
from ksched_cli.framework.status import Status
from ksched_cli.testing import cluster, find, node, pod
from ksched_cli.testing import simulation as detailed_simulation
from tests.framework.toys import filtering, profile

NO = Status.unschedulable("no")


def simulation(
    state: ClusterState,
    config: dict[str, Any] | None = None,
    plugins: Sequence[type[Plugin]] = (),
) -> Simulation:
    """Without detail, as `schedule` runs it."""
    run = detailed_simulation(state, config, plugins)
    run.pipeline.detailed = False
    return run


def twins(count: int = 2, **fields: Any) -> list[dict[str, Any]]:
    """Pending pods that look the same."""
    return [pod(f"p{i}", **fields) for i in range(count)]


def attempts(run: Simulation, names: list[str]) -> list[AttemptOutcome]:
    """One attempt for each of the pods, of which the cache expects more."""
    framework = run.frameworks["default-scheduler"]
    framework.answer_cache.expect(run.pending())
    return [run.cycle.attempt(framework, find(run, name)) for name in names]


@pytest.fixture
def evaluations(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The keys of the pods that went through the pipeline."""
    keys = []
    evaluate = Pipeline.evaluate

    def recorded(self: Pipeline, framework: Framework, pod: PodInfo, mode: Mode) -> Evaluation:
        keys.append(pod.key)
        return evaluate(self, framework, pod, mode)

    monkeypatch.setattr(Pipeline, "evaluate", recorded)
    return keys


def test_the_second_of_two_pods_that_look_the_same_is_looked_up(evaluations: list[str]) -> None:
    run = simulation(cluster(node("a", cpu="1"), *twins(cpu="2")))
    first, second = attempts(run, ["p0", "p1"])
    assert evaluations == ["default/p0"]
    assert second.attempt.pod == "default/p1"
    assert second.attempt.message == first.attempt.message
    assert second.attempt.evaluated == 1


def test_after_a_pod_came_or_went_the_attempt_is_computed_anew(evaluations: list[str]) -> None:
    state = cluster(node("a", cpu="2"), pod("there", cpu="1", node="a"), *twins(3, cpu="2"))
    run = simulation(state)
    attempts(run, ["p0", "p1"])
    run.snapshot.remove(run.snapshot.pods[0][0], 0)
    (third,) = attempts(run, ["p2"])
    assert evaluations == ["default/p0", "default/p2"]
    assert third.attempt.node == "a"


def test_a_nomination_makes_the_attempt_be_computed_anew(evaluations: list[str]) -> None:
    run = simulation(cluster(node("a", cpu="1"), *twins(3, cpu="2"), pod("other")))
    attempts(run, ["p0"])
    run.nominator.nominate(find(run, "other"), "a")
    attempts(run, ["p1", "p2"])
    assert evaluations == ["default/p0", "default/p1"]


def test_pods_with_claims_of_volumes_are_computed_each(evaluations: list[str]) -> None:
    volumes = {"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "none"}}]}
    run = simulation(cluster(node("a"), *twins(spec=volumes)))
    attempts(run, ["p0", "p1"])
    assert evaluations == ["default/p0", "default/p1"]


def test_pods_with_volumes_of_their_own_are_looked_up(evaluations: list[str]) -> None:
    volumes = {"volumes": [{"name": "v", "emptyDir": {}}]}
    run = simulation(cluster(node("a", cpu="1"), *twins(cpu="2", spec=volumes)))
    first, second = attempts(run, ["p0", "p1"])
    assert evaluations == ["default/p0"]
    assert first.attempt.message == second.attempt.message


def test_with_a_plugin_from_outside_each_attempt_is_computed(evaluations: list[str]) -> None:
    plugins = (filtering("F", {"a": NO}),)
    run = simulation(cluster(node("a"), *twins()), profile(*plugins), plugins)
    attempts(run, ["p0", "p1"])
    assert evaluations == ["default/p0", "default/p1"]


PODS = st.tuples(st.sampled_from(["1", "2", "3", "9"]), st.sampled_from([0, 5]), st.booleans())


@given(st.lists(PODS, max_size=10), st.lists(st.integers(0, 2), max_size=5))
def test_a_run_is_the_same_as_one_that_computes_every_attempt(
    pending: list[tuple[str, int, bool]], running: list[int]
) -> None:
    """Pods of few kinds, so that many look the same; some may preempt."""
    selector = {"disk": "ssd"}
    state = cluster(
        *(node(name, cpu="3", labels={"disk": "ssd"} if name == "a" else {}) for name in "abc"),
        *(pod(f"r{i}", cpu="1", node="abc"[row], priority=i % 2) for i, row in enumerate(running)),
        *(
            pod(f"p{i}", cpu=cpu, priority=priority, node_selector=selector if on_ssd else None)
            for i, (cpu, priority, on_ssd) in enumerate(pending)
        ),
    )
    records = []
    for cache_answers in (True, False):
        run = simulation(state)
        run.options = replace(run.options, cache_answers=cache_answers)
        records.append(run.run())
    assert records[0] == records[1]


def test_with_detail_each_attempt_is_computed(evaluations: list[str]) -> None:
    run = detailed_simulation(cluster(node("a", cpu="1"), *twins(cpu="2")))
    first, second = attempts(run, ["p0", "p1"])
    assert evaluations == ["default/p0", "default/p1"]
    assert second.attempt.detail == first.attempt.detail != NO_DETAIL


def test_a_rejection_is_repeated_as_often_as_attempts_would(evaluations: list[str]) -> None:
    run, reference = (simulation(cluster(node("a", cpu="1"), *twins(5, cpu="2"))) for _ in range(2))
    first, *_ = attempts(run, ["p0"])
    others = attempts(reference, ["p0", "p1", "p2", "p3", "p4"])
    pod = find(run, "p1")
    assert run.cycle.repeats_rejection(pod)
    outcome = run.cycle.repeat_rejection(pod, 4)
    assert outcome.attempt.message == first.attempt.message == others[-1].attempt.message
    assert run.pipeline.search.next_start == reference.pipeline.search.next_start
    run.nominator.nominate(pod, "a")
    assert not run.cycle.repeats_rejection(pod)
    assert evaluations == ["default/p0", "default/p0"]
