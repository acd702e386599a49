"""A group that was refused is not tried again while nothing has changed, and hears the same."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.engine.evaluation import Evaluation, Mode
from ksched_cli.engine.pipeline import Pipeline
from ksched_cli.engine.pod_group_cycle import GroupAttempt
from ksched_cli.engine.simulation import Simulation
from ksched_cli.framework.runtime import Framework
from ksched_cli.testing import cluster, find, node, pod, simulation
from tests.framework.toys import filtering, profile

# The minors whose groups differ, with the gates that each needs and the API that each reads.
MINORS = {
    "1.36": ("GenericWorkload=true,GangScheduling=true", "v1alpha2"),
    "1.37": ("GenericWorkload=true", "v1beta1"),
    "1.38": ("GenericWorkload=true", "v1beta1"),
}


def gang(least: int, minor: str, name: str = "red") -> dict[str, Any]:
    return {
        "apiVersion": f"scheduling.k8s.io/{MINORS[minor][1]}",
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"schedulingPolicy": {"gang": {"minCount": least}}},
    }


def member(name: str, group: str = "red", **fields: Any) -> dict[str, Any]:
    return pod(name, spec={"schedulingGroup": {"podGroupName": group}}, **fields)


def opened(
    minor: str, *objects: dict[str, Any], plugins: Any = (), config: Any = None
) -> Simulation:
    """Without detail, as `schedule` runs it."""
    config = profile(*plugins) if plugins else config
    gates = MINORS[minor][0]
    run = simulation(
        cluster(*objects), config, plugins, kubernetes_version=minor, feature_gates=gates
    )
    run.pipeline.detailed = False
    return run


def three_on_two(minor: str, **more: Any) -> Simulation:
    """A gang of three pods, of which two fit beside a pod that runs."""
    nodes = (node("a", cpu="3"), node("b", cpu="2"))
    pods = (member(name, cpu="2") for name in "pqr")
    there = pod("there", cpu="1", node="a")
    return opened(minor, *nodes, gang(3, minor), there, *pods, **more)


def tried(run: Simulation, *names: str) -> GroupAttempt:
    assert run.group_cycle is not None
    pods = [find(run, name) for name in names]
    return run.group_cycle.attempt(pods, repeats=True)


def contents(run: Simulation) -> tuple[object, ...]:
    snapshot = run.snapshot
    pods = [[info.key for info in on_node] for on_node in snapshot.pods]
    return snapshot.version, run.nominator.version, snapshot.usage.tolist(), pods


@pytest.fixture
def evaluations(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the pods that plugins were asked about."""
    names = []
    evaluate = Pipeline.evaluate

    def recorded(self: Pipeline, framework: Framework, pod: PodInfo, mode: Mode) -> Evaluation:
        names.append(pod.name)
        return evaluate(self, framework, pod, mode)

    monkeypatch.setattr(Pipeline, "evaluate", recorded)
    return names


@pytest.mark.parametrize("minor", MINORS)
def test_a_trial_that_is_taken_back_leaves_the_versions_as_they_were(
    minor: str, evaluations: list[str]
) -> None:
    run = three_on_two(minor)
    before, length = contents(run), len(run.snapshot.log)
    tried(run, "p", "q", "r")
    assert evaluations[:3] == ["p", "q", "r"]
    assert contents(run) == before
    assert len(run.snapshot.log) > length, "caches hear of the rows all the same"
    run.snapshot.add(find(run, "p"), 0)
    assert run.snapshot.version > length, "no version names two contents"


@pytest.mark.parametrize("minor", MINORS)
def test_the_same_group_is_refused_without_asking_a_plugin(
    minor: str, evaluations: list[str]
) -> None:
    run, reference = three_on_two(minor), three_on_two(minor)
    first = tried(run, "p", "q", "r")
    del evaluations[:]
    second = tried(run, "p", "q", "r")
    assert evaluations == []
    for _ in range(2):
        assert reference.group_cycle is not None
        pods = [find(reference, name) for name in "pqr"]
        again = reference.group_cycle.attempt(pods)
    assert evaluations.count("p") >= 2, "unless it is told to, it does not repeat"
    expected = [(info.key, outcome) for info, outcome in again.outcomes]
    for result in (first, second):
        assert [(info.key, outcome) for info, outcome in result.outcomes] == expected
    assert (second.status, second.parts) == (again.status, again.parts)
    assert run.pipeline.search.next_start == reference.pipeline.search.next_start


@pytest.mark.parametrize("minor", MINORS)
def test_after_a_pod_left_the_group_is_tried(minor: str, evaluations: list[str]) -> None:
    run = three_on_two(minor)
    tried(run, "p", "q", "r")
    run.snapshot.remove(run.snapshot.pods[0][0], 0)
    del evaluations[:]
    tried(run, "p", "q", "r")
    assert evaluations[:3] == ["p", "q", "r"]


@pytest.mark.parametrize("minor", MINORS)
def test_another_nomination_or_member_makes_it_be_tried(minor: str, evaluations: list[str]) -> None:
    run = three_on_two(minor)
    tried(run, "p", "q", "r")
    run.nominator.nominate(find(run, "there"), "b")
    del evaluations[:]
    tried(run, "p", "q", "r")
    assert evaluations
    assert run.pod_groups is not None
    run.pod_groups.join(cluster(member("s")).pods[0])
    del evaluations[:]
    tried(run, "p", "q", "r")
    assert evaluations


@pytest.mark.parametrize("minor", MINORS)
def test_with_a_plugin_from_outside_each_attempt_is_made(
    minor: str, evaluations: list[str]
) -> None:
    run = three_on_two(minor, plugins=(filtering("F", {}),))
    tried(run, "p", "q", "r")
    del evaluations[:]
    tried(run, "p", "q", "r")
    assert evaluations


@pytest.mark.parametrize("minor", MINORS)
@pytest.mark.parametrize("why", ["detail", "claim", "nomination"])
def test_an_attempt_that_more_than_the_cluster_decides_is_made(
    minor: str, why: str, evaluations: list[str]
) -> None:
    volume = {"name": "v", "persistentVolumeClaim": {"claimName": "gone"}}
    first, second = member("p", cpu="2"), member("q", cpu="2")
    if why == "claim":
        first["spec"]["volumes"] = [volume]
    run = opened(minor, node("a", cpu="2"), gang(2, minor), first, second)
    run.pipeline.detailed = why == "detail"
    if why == "nomination":
        run.nominator.nominate(find(run, "q"), "a")
    tried(run, "p", "q")
    del evaluations[:]
    tried(run, "p", "q")
    assert evaluations


@pytest.mark.parametrize("minor", MINORS)
def test_where_some_nodes_are_asked_an_attempt_from_another_start_is_made(
    minor: str, evaluations: list[str]
) -> None:
    nodes = (node(f"n{i:03}", cpu="1") for i in range(120))
    pods = (member("p", cpu="1"), member("q", cpu="2"))
    config = {"percentageOfNodesToScore": 1}
    run = opened(minor, *nodes, gang(2, minor), *pods, config=config)
    tried(run, "p", "q")
    assert run.pipeline.search.next_start == 100
    del evaluations[:]
    tried(run, "p", "q")
    assert evaluations


KINDS = st.tuples(
    st.sampled_from(["red", "blue", ""]), st.sampled_from(["1", "2", "5"]), st.booleans()
)


@given(
    st.sampled_from([*MINORS]),
    st.lists(KINDS, min_size=2, max_size=9),
    st.lists(st.integers(0, 2), max_size=5),
    st.integers(1, 4),
)
def test_a_run_is_the_same_as_one_that_makes_every_attempt(
    minor: str, pending: list[tuple[str, str, bool]], running: list[int], least: int
) -> None:
    """Groups and single pods; some are important."""
    objects = [
        *(node(name, cpu="3") for name in "abc"),
        *(gang(least, minor, name) for name in ("red", "blue")),
        *(pod(f"r{i}", cpu="1", node="abc"[row]) for i, row in enumerate(running)),
        *(
            member(f"p{i}", group, cpu=cpu)
            if group
            else pod(f"p{i}", cpu=cpu, priority=5 * is_important)
            for i, (group, cpu, is_important) in enumerate(pending)
        ),
    ]
    records = []
    for cache_answers in (True, False):
        run = opened(minor, *objects)
        run.options = replace(run.options, cache_answers=cache_answers)
        records.append(run.run())
    assert records[0] == records[1]
