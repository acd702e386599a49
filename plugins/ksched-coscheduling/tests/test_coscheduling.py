"""Gangs land whole or not at all."""

from typing import Any

import pytest
from ksched_coscheduling import Coscheduling, ksched_plugins

from ksched_cli.api import Status
from ksched_cli.engine.records import RunRecord
from ksched_cli.errors import InputError, UsageError
from ksched_cli.framework.carry_over import packed_memory, restore_memory
from ksched_cli.testing import Manifest, cluster, node, pod, simulate, simulation

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


def test_a_pause_is_part_of_a_checkpoint() -> None:
    objects = [node("n", cpu="2"), group("g", 3), *gang("g", 3)]
    config = configured(podGroupBackoffSeconds=15)
    first, again = (simulation(cluster(*objects), config, [Coscheduling]) for _ in "ab")
    first.run()
    before, after = (
        each.frameworks["default-scheduler"].plugin("Coscheduling") for each in (first, again)
    )
    assert isinstance(before, Coscheduling)
    assert isinstance(after, Coscheduling)
    restore_memory(after, packed_memory(before, "Coscheduling"))
    attempts = again.run(only=again.pending()[0]).attempts
    assert [attempt.pre_filter.reasons for attempt in attempts if attempt.pre_filter] == [
        ("podGroup default/g failed recently",)
    ]
