"""The plugins of docs/writing-a-plugin.md, each against a case that was worked out by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from earliest_end import EarliestEnd
from fewest_restarts import FewestRestarts
from gang import Gang
from gpu_slots import GpuSlots
from least_attained import LeastAttained
from pod_quota import PodQuota
from qos_sort import QOSSort
from smallest_first import SmallestFirst

from ksched_cli.api import (
    PluginDefectError,
    QueuedPod,
    Run,
    UsageError,
)
from ksched_cli.testing import cluster, find, node, pod, simulation

EXAMPLES = Path(__file__).parents[1] / "plugins" / "examples"
FARM = EXAMPLES / "farm.py"
WITHOUT_DEFAULT = {
    "profiles": [
        {
            "plugins": {
                "postFilter": {
                    "enabled": [{"name": "FewestRestarts"}],
                    "disabled": [{"name": "DefaultPreemption"}],
                }
            }
        }
    ]
}
# On `many` three pods of the lowest priority have to go, on `one` a single pod of a higher one.
EVICTING = [
    node("many", cpu=3),
    node("one", cpu=3),
    *(pod(f"small-{number}", cpu=1, node="many", priority=1) for number in range(3)),
    pod("large", cpu=3, node="one", priority=5),
    pod("vip", cpu=3, priority=9),
]


def budget(allowed: int, **labels: str) -> dict[str, object]:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "budget", "namespace": "default"},
        "spec": {"selector": {"matchLabels": labels}, "minAvailable": 1},
        "status": {"disruptionsAllowed": allowed},
    }


def test_fewest_restarts_evicts_one_pod_where_the_default_evicts_three() -> None:
    default = Run(state=EVICTING)
    own = default.with_(config=WITHOUT_DEFAULT, plugins=[FewestRestarts])
    assert default.schedule().evicted == tuple(f"default/small-{number}" for number in range(3))
    assert own.schedule().evicted == ("default/large",)
    assert own.schedule().placements == {"default/vip": "one"}


def test_fewest_restarts_is_explained_by_preempt() -> None:
    run = Run(
        state=[*EVICTING[:-2], pod("large", cpu=3, node="one", priority=5, labels={"app": "db"}),
               EVICTING[-1], budget(0, app="db")],
        config=WITHOUT_DEFAULT,
        plugins=[FewestRestarts],
    )  # fmt: skip
    answer = run.preempt("vip")
    assert (answer.node, answer.victims) == ("one", ("default/large",))
    assert answer.candidates[0].victims[0].violates == ("default/budget",)


def test_fewest_restarts_respects_grace_periods_over_time() -> None:
    timeline = [{"at": 1, "pod": EVICTING[-1]}]
    run = Run(state=EVICTING[:-1], config=WITHOUT_DEFAULT, plugins=[FewestRestarts])
    pods = run.replay(timeline).to_frame().set_index("pod")
    assert pods.loc["default/vip", ["node", "placed", "attempts"]].tolist() == ["one", 31, 2]


def test_fewest_restarts_finds_the_two_that_free_two_resources_and_no_third() -> None:
    """Neither all of the cpu nor all of the memory is one pod's; the six small ones would do."""
    small = [pod(f"small-{i}", cpu=1, memory="1Gi", node="n", priority=1) for i in range(6)]
    large = [
        pod("cpu", cpu=5, memory="1Gi", node="n", priority=5),
        pod("memory", cpu=1, memory="5Gi", node="n", priority=5),
    ]
    vip = pod("vip", cpu=6, memory="6Gi", priority=9)
    run = Run(state=[node("n", cpu=12, memory="12Gi"), *small, *large, vip])
    own = run.with_(config=WITHOUT_DEFAULT, plugins=[FewestRestarts])
    assert own.schedule().evicted == ("default/cpu", "default/memory")
    assert len(run.schedule().evicted) == 6


# -- queue order ----------------------------------------------------------------------------------

REQUESTS = {"cpu": "100m", "memory": "100Mi"}
BURSTABLE = {"requests": REQUESTS, "limits": {"cpu": "200m", "memory": "200Mi"}}
GUARANTEED = {"requests": REQUESTS, "limits": REQUESTS}


@pytest.mark.parametrize(
    ("first", "second", "is_less"),
    [
        ((100, {}, 0), (50, {}, 0), True),
        ((50, {}, 0), (80, {}, 0), False),
        ((0, {}, 1), (0, {}, 0), False),
        ((0, {}, 0), (0, GUARANTEED, 0), False),
        ((0, BURSTABLE, 0), (0, GUARANTEED, 0), False),
        ((0, BURSTABLE, 1), (0, BURSTABLE, 0), False),
        ((0, GUARANTEED, 0), (0, BURSTABLE, 0), True),
        ((0, GUARANTEED, 0), (0, GUARANTEED, 1), True),
    ],
)
def test_qos_sort_orders_pods_as_upstream_does(first: Any, second: Any, is_less: bool) -> None:
    """The rows of TestSortLess (kubernetes-sigs/scheduler-plugins 903da7df, pkg/qos): priority,
    resources, and when the pod was queued."""
    handle = simulation(cluster()).frameworks["default-scheduler"].handle
    sort, queued = QOSSort(None, handle), list[QueuedPod]()
    for name, (priority, resources, at) in (("p1", first), ("p2", second)):
        containers = [{"name": "c", "image": "i", "resources": resources}]
        state = cluster(pod(name, priority=priority, spec={"containers": containers}))
        queued.append(QueuedPod(find(simulation(state)), at, 0))
    assert sort.less(*queued) is is_less


SORTING = {
    "profiles": [
        {
            "plugins": {
                "queueSort": {"enabled": [{"name": "SmallestFirst"}], "disabled": [{"name": "*"}]}
            }
        }
    ]
}


def test_smallest_first_places_three_small_pods_where_the_default_places_a_large_one() -> None:
    small = [pod(f"small-{number}", cpu=1) for number in range(3)]
    run = Run(state=[node("n", cpu=3), pod("large", cpu=3), *small])
    own = run.with_(config=SORTING, plugins=[SmallestFirst])
    assert [*run.schedule().placements] == ["default/large"]
    assert own.schedule().pending == ("default/large",)
    urgent = own.with_(changes=[{"apply": pod("urgent", cpu=3, priority=1)}])
    assert [*urgent.schedule().placements] == ["default/urgent"]


# -- gangs ----------------------------------------------------------------------------------------


def member(name: str, gang: str, size: int) -> dict[str, object]:
    return pod(name, cpu=1, labels={"example.com/gang": gang, "example.com/gang-size": str(size)})


def test_a_gang_is_bound_whole_or_not_at_all() -> None:
    pods = [
        *(member(f"pair-{number}", "pair", 2) for number in range(2)),
        *(member(f"trio-{number}", "trio", 3) for number in range(3)),
        pod("single", cpu=1),
    ]
    result = Run(state=[node("n", cpu=4), *pods], plugins=[Gang]).schedule()
    # The pair takes 2 of 4, two of the trio wait on the others, and give them back.
    assert [*result.placements] == ["default/pair-0", "default/pair-1", "default/single"]
    assert result.pending == tuple(f"default/trio-{number}" for number in range(3))


def test_a_gang_that_fits_waits_for_its_last_member() -> None:
    events = [{"at": at, "pod": member(f"trio-{at}", "trio", 3)} for at in (0, 10, 20)]
    rows = Run(state=[node("n", cpu=4)], plugins=[Gang]).replay(events).to_frame()
    assert rows["placed"].tolist() == [20, 20, 20]


# -- notes ----------------------------------------------------------------------------------------


def gpu_pod(name: str, count: int) -> dict[str, object]:
    return pod(name, requests={"nvidia.com/gpu": count})


def test_slots_are_noted_and_free_again_when_their_pod_leaves() -> None:
    gpus = node("gpus", resources={"nvidia.com/gpu": 4})
    run = Run(state=[gpus, gpu_pod("a", 1), gpu_pod("b", 2)], plugins=[GpuSlots])
    assert run.schedule().notes == {"default/a": {"slots": [0]}, "default/b": {"slots": [1, 2]}}
    opened = run.open()
    assert len(list(opened)) == 2
    opened.change("delete pod/a")
    opened.put(gpu_pod("c", 2))
    assert [attempt.notes for attempt in opened] == [{"slots": [0, 3]}]


# -- an own kind ----------------------------------------------------------------------------------


def quota(pods: int) -> dict[str, object]:
    return {
        "apiVersion": "example.com/v1",
        "kind": "PodQuota",
        "metadata": {"name": "quota", "namespace": "default"},
        "spec": {"pods": pods},
    }


def test_a_pod_waits_for_the_quota_and_is_tried_when_it_grows() -> None:
    run = Run(state=[node("n"), pod("a"), pod("b"), quota(1)], plugins=[PodQuota])
    assert "the namespace has 1 pods already" in run.schedule().messages["default/b"]
    events = [{"at": 50, "put": node("other")}, {"at": 100, "put": quota(2)}]
    rows = run.replay(events).to_frame().set_index("pod")
    assert rows.loc["default/b", ["placed", "attempts"]].tolist() == [100, 2]


# -- a workload -----------------------------------------------------------------------------------


def farm(workers: int) -> dict[str, object]:
    return {
        "apiVersion": "example.com/v1",
        "kind": "Farm",
        "metadata": {"name": "farm", "namespace": "default"},
        "spec": {"workers": workers, "template": pod("any", cpu=1)["spec"]},
    }


def test_pods_of_a_farm_are_made_but_for_those_that_are_there() -> None:
    running = pod("farm-0", cpu=1, node="n")
    run = Run(state=[node("n"), farm(3), running], plugins=[FARM])
    result = run.schedule()
    assert result.placements == {"default/farm-1": "n", "default/farm-2": "n"}
    assert "2 for Farm default/farm" in result.warnings[-1]
    assert run.with_(workloads=False).schedule().placements == {}


def test_a_farm_that_grows_gets_more_pods() -> None:
    run = Run(state=[node("n"), farm(1)], plugins=[FARM])
    grown = run.with_(changes=[{"apply": farm(4)}])
    assert len(grown.schedule().placements) == 4


def test_a_farm_that_its_plugin_cannot_read_is_an_error_of_the_plugin() -> None:
    broken = {**farm(1), "spec": {}}
    run = Run(state=[node("n"), broken], plugins=[FARM])
    with pytest.raises(PluginDefectError, match="makes pods of Farm default/farm failed: KeyError"):
        run.schedule()


def test_two_sources_may_not_make_pods_of_one_kind(tmp_path: Path) -> None:
    copy = tmp_path / "copy_of_farm.py"
    copy.write_text((EXAMPLES / "farm.py").read_text())
    with pytest.raises(UsageError, match=r"makes pods of Farm\.example\.com, as .*/farm\.py does"):
        Run(state=[node("n")], plugins=[str(EXAMPLES / "farm.py"), str(copy)]).schedule()


def test_each_is_under_sixty_lines() -> None:
    files = sorted(EXAMPLES.glob("*.py"))
    assert len(files) == 10
    assert all(len(file.read_text().splitlines()) < 60 for file in files)


# -- least attained service -----------------------------------------------------------------------


def test_a_short_job_waits_until_the_long_one_has_had_its_share(tmp_path: Path) -> None:
    """`long` has had 600 GPU-seconds of 8 GPUs at 75. `short` takes its place then, for 50 s, and
    `long` runs for its other 925 s. In order of arrival `short` waits until 1000."""
    gpus = {"nvidia.com/gpu": "8"}
    container = {"name": "c", "resources": {"requests": gpus, "limits": gpus}}
    events = [
        {
            "at": at,
            "runsFor": seconds,
            "pod": {"metadata": {"name": name}, "spec": {"containers": [container]}},
        }
        for name, at, seconds in (("long", 0, 1000), ("short", 10, 50))
    ]
    head = {"apiVersion": "ksched/v1", "kind": "Timeline", "evicted": "resumes"}
    timeline = tmp_path / "jobs.json"
    timeline.write_text(json.dumps({**head, "events": events}))
    state = [node("n", resources=gpus)]

    def placed(**run: Any) -> list[list[Any]]:
        answer = Run(state=state, evict_at_once=True, **run).replay(str(timeline))
        return list(answer.to_frame()[["pod", "placed", "ended"]].to_numpy().tolist())

    assert placed() == [["default/long", 0, 1000], ["default/short", 1000, 1050]]
    config = EXAMPLES / "least_attained.yaml"
    assert placed(config=str(config), plugins=[LeastAttained]) == [
        ["default/long", 0, 75],
        ["default/short", 75, 125],
        ["default/long", 125, 1050],
    ]


@pytest.mark.parametrize(
    ("aware", "expected"),
    [
        # `even` loses least on the k80; `small` waits for the v100, where it ends at 40 + 30.
        (True, {"large": ("v100", 40), "even": ("k80", 36), "small": ("v100", 70)}),
        # By their average times, `large` has the most work, and then `small`.
        (False, {"large": ("v100", 40), "even": ("k80", 336), "small": ("k80", 300)}),
    ],
)
def test_a_job_goes_to_the_type_of_gpu_on_which_it_ends_first(
    tmp_path: Path, aware: bool, expected: dict[str, tuple[str, int]]
) -> None:
    gpu, events = {"nvidia.com/gpu": 1}, []
    for name, v100, k80 in (("small", 30, 300), ("even", 35, 36), ("large", 40, 400)):
        seconds = {"v100": v100, "k80": k80}
        job = pod(name, requests=gpu, annotations={"ksched/run-times": json.dumps(seconds)})
        events.append({"at": 0, "pod": job, "runsFor": {"label": "gpu", "seconds": seconds}})
    timeline = tmp_path / "jobs.json"
    head = {"apiVersion": "ksched/v1", "kind": "Timeline"}
    timeline.write_text(json.dumps({**head, "events": events}))
    state = [node(name, labels={"gpu": name}, resources=gpu) for name in ("k80", "v100")]
    run = Run(
        state=state,
        config=str(EXAMPLES / "earliest_end.yaml"),
        plugins=[EarliestEnd],
        patches={"profiles[0].pluginConfig[EarliestEnd].args.aware": aware},
    )
    rows = run.replay(str(timeline)).to_frame()[["pod", "node", "ended"]].to_numpy().tolist()
    assert {name.partition("/")[2]: (place, end) for name, place, end in rows} == expected


def test_a_job_without_run_times_goes_anywhere() -> None:
    nodes = [node(name, labels={"gpu": name}) for name in ("k80", "v100")]
    enabled = {"enabled": [{"name": "EarliestEnd"}], "disabled": [{"name": "*"}]}
    profile = {"plugins": {"queueSort": enabled, "filter": {"enabled": enabled["enabled"]}}}
    simulated = simulation(cluster(*nodes, pod("p")), {"profiles": [profile]}, [EarliestEnd])
    assert [*simulated.run().placements] == ["default/p"]
