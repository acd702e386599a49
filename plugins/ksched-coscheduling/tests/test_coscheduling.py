"""Gangs land whole or not at all."""

from typing import Any

import pytest
from ksched_coscheduling import Coscheduling, ksched_plugins

from ksched_cli.analysis.replay_result import PodResult, ReplayResult
from ksched_cli.api import Run, Status
from ksched_cli.engine.records import RunRecord
from ksched_cli.errors import InputError, UsageError
from ksched_cli.testing import Manifest, cluster, node, pod, simulate

LABEL = "scheduling.x-k8s.io/pod-group"


def group(
    name: str, members: int | str, created: str = "2026-01-01T00:00:00Z", **spec: Any
) -> Manifest:
    return {
        "apiVersion": "scheduling.x-k8s.io/v1alpha1",
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": "default", "creationTimestamp": created},
        "spec": {"minMember": members, **spec},
    }


def gang(name: str, count: int, cpu: str = "1", **more: Any) -> list[Manifest]:
    return [pod(f"{name}-{i}", cpu=cpu, labels={LABEL: name}, **more) for i in range(count)]


def configured(**args: Any) -> Manifest:
    return {
        "profiles": [
            {
                "plugins": {
                    "multiPoint": {"enabled": [{"name": "Coscheduling"}]},
                    "queueSort": {
                        "enabled": [{"name": "Coscheduling"}],
                        "disabled": [{"name": "*"}],
                    },
                },
                "pluginConfig": [{"name": "Coscheduling", "args": args}],
            }
        ]
    }


def run(*objects: Manifest, **args: Any) -> RunRecord:
    return simulate(cluster(*objects), configured(**args), [Coscheduling])


def reasons(status: Status | None) -> tuple[str, ...]:
    assert status is not None
    return status.reasons


def waited(record: RunRecord, name: str) -> list[Any]:
    return [attempt.waited for attempt in record.attempts if attempt.pod == f"default/{name}"]


def test_a_gang_with_room_lands_whole() -> None:
    record = run(node("n", cpu="3"), group("g", 3), *gang("g", 3))
    assert sorted(record.placements) == ["default/g-0", "default/g-1", "default/g-2"]


def test_a_cluster_with_room_for_half_a_gang_places_none_of_it() -> None:
    record = run(node("n", cpu="2"), group("g", 3), *gang("g", 3))
    assert record.placements == {}
    assert sorted(record.pending) == ["default/g-0", "default/g-1", "default/g-2"]


def test_more_pods_than_the_least_number_land_as_room_allows() -> None:
    record = run(node("n", cpu="3"), group("g", 2), *gang("g", 4))
    assert len(record.placements) == 3


def test_a_group_with_too_few_pods_is_not_tried() -> None:
    record = run(node("n"), group("g", 3), *gang("g", 2))
    (first, _) = record.attempts
    assert reasons(first.pre_filter) == (
        "pre-filter pod g-0 cannot find enough sibling pods, "
        "current pods number: 2, minMember of group: 3",
    )


def test_gated_pods_do_not_make_a_group_whole() -> None:
    record = run(
        node("n"),
        group("g", 2),
        *gang("g", 1),
        *gang("gated", 0),
        pod("g-gated", labels={LABEL: "g"}, gates=["later"]),
    )
    message = "pre-filter pod g-0 cannot proceed due to gated pods in the same PodGroup"
    assert reasons(record.last["default/g-0"].pre_filter) == (message,)


def test_a_pod_of_a_group_that_is_not_there_is_refused() -> None:
    record = run(node("n"), *gang("g", 1))
    assert reasons(record.last["default/g-0"].permit) == ("PodGroup not found",)


def test_pods_without_a_group_go_their_way() -> None:
    record = run(node("n", cpu="2"), group("g", 3), *gang("g", 3), pod("single", cpu="1"))
    assert record.placements == {"default/single": "n"}


def test_pods_that_run_already_count() -> None:
    record = run(
        node("n", cpu="3"), group("g", 3), *gang("g", 2), pod("g-9", node="n", labels={LABEL: "g"})
    )
    assert sorted(record.placements) == ["default/g-0", "default/g-1"]


def test_the_older_of_two_groups_goes_first_and_the_other_waits_for_nothing() -> None:
    record = run(
        node("n", cpu="4"),
        group("young", 3, created="2026-01-02T00:00:00Z"),
        group("old", 3),
        *gang("young", 3),
        *gang("old", 3),
    )
    assert sorted(record.placements) == ["default/old-0", "default/old-1", "default/old-2"]


def test_a_group_that_is_almost_whole_waits_for_its_timeout_and_frees_all() -> None:
    members = gang("g", 20)
    record = run(
        node("n", cpu="19"),
        group("g", 20, scheduleTimeoutSeconds=600),
        *members,
        podGroupRejectPercentage=10,
    )
    assert record.placements == {}
    assert 600.0 in waited(record, "g-0")
    permit_reasons = {attempt.permit.reasons for attempt in record.attempts if attempt.permit}
    assert ("rejected due to timeout after waiting 10m0s at plugin Coscheduling",) in permit_reasons


def test_the_wait_is_what_the_args_say_where_the_group_says_nothing() -> None:
    record = run(node("n", cpu="19"), group("g", 20), *gang("g", 20), permitWaitingTimeSeconds=30)
    assert 30.0 in waited(record, "g-0")


def test_a_group_gets_the_room_that_another_one_held_until_its_timeout() -> None:
    """The first holds all the room but for one pod; then the second lands after all."""
    record = run(
        node("n", cpu="19"),
        group("big", 20),
        *gang("big", 20),
        group("late", 2, created="2026-01-03T00:00:00Z"),
        *gang("late", 2),
    )
    assert {"default/late-0", "default/late-1"} <= set(record.placements)


def test_a_group_pauses_after_a_failure() -> None:
    record = run(node("n", cpu="2"), group("g", 3), *gang("g", 4), podGroupBackoffSeconds=20)
    pre_filter_reasons = [
        attempt.pre_filter.reasons for attempt in record.attempts if attempt.pre_filter
    ]
    assert ("podGroup default/g failed recently",) in pre_filter_reasons


@pytest.mark.parametrize(("cpu", "lands"), [("4", True), ("5", False)])
def test_least_resources_are_asked_of_the_whole_cluster(cpu: str, lands: bool) -> None:
    record = run(
        node("a", cpu="2"),
        node("b", cpu="2"),
        group("g", 2, minResources={"cpu": cpu}),
        *gang("g", 2),
    )
    assert bool(record.placements) is lands
    if not lands:
        assert reasons(record.attempts[0].pre_filter) == ("resource gap: cpu: 1000",)


def test_a_run_comes_out_the_same_every_time() -> None:
    objects = [node("n", cpu="19"), group("g", 20), *gang("g", 20), group("h", 2), *gang("h", 2)]
    assert run(*objects) == run(*objects)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ({"permitWaitingTimeSeconds": -1}, "permitWaitingTimeSeconds must be greater than 0"),
        ({"podGroupRejectPercentage": 101}, "podGroupRejectPercentage must be between 0 and 100"),
        ({"permitWaitingTimeSeconds": "1m"}, "Expected int"),
        ({"waitingSeconds": 1}, "waitingSeconds is not allowed here"),
    ],
)
def test_wrong_args_are_refused(args: Manifest, message: str) -> None:
    with pytest.raises(InputError, match=message):
        run(node("n"), **args)


def test_a_group_that_cannot_be_read_is_named() -> None:
    with pytest.raises(UsageError, match="PodGroup default/g: invalid literal"):
        run(node("n"), group("g", "many"))


def test_the_distribution_brings_it() -> None:
    assert ksched_plugins() == {"Coscheduling": Coscheduling}


# -- over time -------------------------------------------------------------------------------------


def over_time(*events: tuple[float, Manifest, float | None], **args: Any) -> dict[str, Any]:
    """The result of a replay on two nodes for one pod each: by pod its outcome, and when it was
    placed. An event is when a pod comes, and for how long it runs."""
    listed = [
        {"at": at, "pod": each} | ({} if runs_for is None else {"runsFor": runs_for})
        for at, each, runs_for in events
    ]
    state = [node("a", cpu=1), node("b", cpu=1), group("g", 2), group("h", 2), group("big", 3)]
    pods = pods_of(Run(state=state, config=configured(**args)).replay(listed))
    return {each.pod.removeprefix("default/"): (each.outcome.value, each.placed) for each in pods}


def pods_of(answer: ReplayResult) -> tuple[PodResult, ...]:
    assert isinstance(answer.pods, tuple)
    return answer.pods


def coming(at: float, pods: list[Manifest], runs_for: float | None) -> list[Any]:
    return [(at, each, runs_for) for each in pods]


def test_a_gang_that_comes_over_time_starts_when_its_last_pod_is_there() -> None:
    first, second = gang("g", 2)
    assert over_time((0, first, 100), (7, second, 100)) == {
        "g-0": ("ended", 7),
        "g-1": ("ended", 7),
    }


def test_a_gang_waits_until_another_one_has_ended() -> None:
    """g has both nodes from 0 to 100, h comes at 10."""
    replayed = over_time(*coming(0, gang("g", 2), 100), *coming(10, gang("h", 2), 50))
    assert replayed == {
        "g-0": ("ended", 0),
        "g-1": ("ended", 0),
        "h-0": ("ended", 100),
        "h-1": ("ended", 100),
    }


def test_a_pod_that_is_deleted_does_not_make_a_group_whole() -> None:
    first, *rest = gang("g", 3)
    removal: Manifest = {"at": 20, "delete": {"kind": "Pod", "namespace": "default", "name": "g-0"}}
    events = [{"at": 10, "pod": first}, removal, {"at": 30, "pod": rest[0]}]
    state = [node("a"), group("g", 2)]
    run = Run(state=state, config=configured())
    assert [each.placed for each in pods_of(run.replay(events))] == [None, None]
    events.append({"at": 40, "pod": rest[1]})
    assert [each.placed for each in pods_of(run.replay(events))] == [None, 40, 40]


@pytest.mark.parametrize("args", [{}, {"podGroupBackoffSeconds": 30}])
def test_a_replay_with_a_gang_that_is_never_whole_ends(args: dict[str, Any]) -> None:
    """Its pods call each other back at each attempt, and three do not fit on two nodes."""
    replayed = over_time(*coming(0, gang("big", 3), None), **args)
    assert {outcome for outcome, _ in replayed.values()} == {"pending"}
