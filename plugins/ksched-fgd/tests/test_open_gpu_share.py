"""Which nodes a pod with GPUs fits on, and which GPUs it gets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from gpu_objects import gpu_node, gpu_pod
from ksched_fgd.gpu_choice import best, choose, register_choice, worst
from ksched_fgd.gpu_requests import GpuRequest
from ksched_fgd.open_gpu_share import OpenGpuShare

from ksched_cli.api import Run
from ksched_cli.errors import InputError, UsageError
from ksched_cli.testing import (
    Manifest,
    cluster,
    explanation,
    node,
    pod,
    run_cycle,
    simulate,
    simulation,
    verdicts,
)


def reason(verdict: Any) -> str:
    return "".join(verdict.reasons)


def gpus_of(run: Any) -> dict[str, object]:
    """Pod → its GPUs, of those that got some."""
    return {
        key.partition("/")[2]: attempt.notes["GPU"]
        for key, attempt in run.last.items()
        if attempt.notes
    }


def share(*objects: Manifest, **args: Any) -> Any:
    config = {"profiles": [{"pluginConfig": [{"name": "Open-Gpu-Share", "args": args}]}]}
    multi_point = {"multiPoint": {"enabled": [{"name": "Open-Gpu-Share"}]}}
    config["profiles"][0]["plugins"] = multi_point  # type: ignore[assignment]
    return simulate(cluster(*objects), config, plugins=[OpenGpuShare])


def test_a_pod_fits_where_enough_gpus_have_enough_left() -> None:
    state = cluster(
        gpu_node("full"),
        gpu_pod("a", 600, on="full/0"),
        gpu_pod("b", 600, on="full/1"),
        gpu_node("half"),
        gpu_pod("c", 500, on="half/1"),
        gpu_node("free"),
        node("none"),
        gpu_pod("p", 500),
    )
    answers = verdicts(OpenGpuShare, state, pod="p")
    assert {name: reason(answer) for name, answer in answers.items()} == {
        "full": "node(s) had too little left of each GPU",
        "half": "",
        "free": "",
        "none": "node(s) had no GPU",
    }


def test_whole_gpus_have_to_be_free() -> None:
    state = cluster(gpu_node("n"), gpu_pod("a", 10, on="n/0"), gpu_pod("p", 1000, 2))
    assert not verdicts(OpenGpuShare, state, pod="p")["n"].is_success
    state = cluster(gpu_node("n"), gpu_pod("a", 10, on="n/0"), gpu_pod("p", 1000, 1))
    assert verdicts(OpenGpuShare, state, pod="p")["n"].is_success


def test_a_model_that_is_named_is_required() -> None:
    state = cluster(
        gpu_node("t4"),
        gpu_node("p100", model="P100"),
        gpu_node("x", model=""),
        gpu_pod("p", models="V100|P100"),
    )
    fitting = [name for name, v in verdicts(OpenGpuShare, state, pod="p").items() if v.is_success]
    assert fitting == ["p100"]


def test_a_pod_without_gpus_is_not_looked_at() -> None:
    attempt = run_cycle(cluster(node("n"), pod("p")), plugins=[OpenGpuShare])
    assert attempt.node == "n"
    assert attempt.notes is None


@pytest.mark.parametrize(("milli", "count"), [(500, 2), (1500, 1), (300, 0)])
def test_a_request_that_makes_no_sense_fits_nowhere(milli: int, count: int) -> None:
    plain = gpu_pod("p", milli, 1)
    plain["metadata"]["annotations"]["alibabacloud.com/gpu-count"] = str(count)
    attempt = run_cycle(cluster(gpu_node("n"), plain), plugins=[OpenGpuShare])
    assert "is neither a part of one GPU nor whole GPUs" in attempt.why_not


def test_reserve_takes_the_gpu_with_the_least_left() -> None:
    objects = [gpu_node("n", 3), gpu_pod("a", 300, on="n/0"), gpu_pod("b", 500, on="n/2")]
    assert gpus_of(share(*objects, gpu_pod("p", 400))) == {"p": [2]}
    assert gpus_of(share(*objects, gpu_pod("p", 400), gpuSelMethod="worst")) == {"p": [1]}
    assert gpus_of(share(*objects, gpu_pod("p", 600))) == {"p": [0]}


def test_reserve_takes_the_lowest_free_gpus_for_whole_ones() -> None:
    objects = [gpu_node("n", 4), gpu_pod("a", 300, on="n/1"), gpu_pod("p", 1000, 2)]
    assert gpus_of(share(*objects)) == {"p": [0, 2]}


def test_pods_of_a_run_fill_the_gpus() -> None:
    pods = [gpu_pod(f"p{i}", 400) for i in range(5)]
    run = share(gpu_node("n"), *pods)
    assert gpus_of(run) == {"p0": [0], "p1": [0], "p2": [1], "p3": [1]}
    assert run.pending == ("default/p4",)


def test_the_first_of_equal_gpus_is_taken() -> None:
    assert best([500, 300, 300], 200) == 1
    assert worst([300, 500, 500], 200) == 1
    assert choose([1000, 0, 1000, 1000], GpuRequest(2, 1000), best) == (0, 2)


def test_random_draws_the_same_gpus_for_the_same_seed() -> None:
    pods = [gpu_pod(f"p{i}", 100) for i in range(9)]
    first, again = (
        gpus_of(share(gpu_node("n", 8), *pods, gpuSelMethod="random", seed=3)) for _ in range(2)
    )
    assert first == again
    assert len({tuple(gpus) for gpus in first.values()}) > 1  # type: ignore[arg-type]


def test_a_preemptor_gets_the_gpus_of_its_victims() -> None:
    """The more important pod stays, so the other's GPU is the one that is made free."""
    run = share(
        gpu_node("n"),
        gpu_pod("small", 500, on="n/0", priority=1),
        gpu_pod("large", 900, on="n/1", priority=0),
        gpu_pod("urgent", 800, priority=10),
    )
    assert [eviction.pod for eviction in run.evicted] == ["default/large"]
    assert gpus_of(run) == {"urgent": [1]}


def test_what_a_nomination_takes_is_left_to_nobody_else() -> None:
    """A pod of equal priority is nominated to the node: its GPU counts as taken."""
    nominated = gpu_pod("first", 1000, priority=10)
    nominated["status"]["nominatedNodeName"] = "n"
    run = simulation(
        cluster(gpu_node("n", 1), nominated, gpu_pod("other", 1000, priority=10)),
        plugins=[OpenGpuShare],
    )
    queue = run.queue()
    framework = next(iter(run.frameworks.values()))
    other = next(queued.pod for queued in queue if queued.pod.name == "other")
    assert run.cycle.attempt(framework, other).attempt.node == ""


def test_a_pod_that_is_taken_off_and_put_back_has_its_gpus_again() -> None:
    state = cluster(gpu_node("n"), gpu_pod("p", 400, on="n/1"))
    run = simulation(state, plugins=[OpenGpuShare])
    columns = next(iter(run.frameworks.values())).handle.services
    left = next(service for service in columns.values() if hasattr(service, "left")).left
    assert left.tolist() == [[1000, 600]]
    (bound,) = run.snapshot.pods[0]
    with run.without_pod(bound):
        assert left.tolist() == [[1000, 1000]]
    assert left.tolist() == [[1000, 600]]


def test_a_bound_pod_on_a_gpu_that_is_not_there_is_named() -> None:
    with pytest.raises(UsageError, match=r"pod default/p: .*gpu-index: 7: its node has 2 GPUs"):
        simulation(cluster(gpu_node("n"), gpu_pod("p", on="n/7")), plugins=[OpenGpuShare])


def test_explain_tells_what_is_left_of_each_gpu() -> None:
    state = cluster(gpu_node("n"), gpu_pod("a", 600, on="n/0"), gpu_pod("p", 1000, 2))
    text = str(explanation(state, pod="p", plugins=[OpenGpuShare]))
    assert "wanted 1000 of 2 GPUs; left of each: 0: 400, 1: 1000" in text


@register_choice("last")
def last(left: Sequence[int], milli: int) -> int:
    return max(index for index, amount in enumerate(left) if amount >= milli)


@register_choice("first")
def first(left: Sequence[int], milli: int) -> int:
    """Chooses a GPU without room, too."""
    return 0


def test_a_function_chooses_by_its_registered_name() -> None:
    objects = [gpu_node("n", 3), gpu_pod("a", 900, on="n/0"), gpu_pod("p", 400)]
    assert gpus_of(share(*objects, gpuSelMethod="last")) == {"p": [2]}
    run = share(*objects, gpuSelMethod="first")
    assert "gpuSelMethod chose a GPU without room: (0,)" in run.last["default/p"].why_not


def test_an_unknown_way_to_choose_is_refused() -> None:
    with pytest.raises(InputError, match="gpuSelMethod"):
        share(gpu_node("n"), gpuSelMethod="middle")


@pytest.mark.parametrize("change", ["label node n zone=a", "add-nodes a --like n"])
def test_pods_that_a_replay_has_placed_have_their_gpus_when_nodes_change(change: str) -> None:
    multi_point = {"multiPoint": {"enabled": [{"name": "Open-Gpu-Share"}]}}
    profile = {"schedulerName": "default-scheduler", "plugins": multi_point}
    config = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [profile],
    }
    state = [gpu_node("n", gpus=1), gpu_pod("there", 300, on="n/0")]
    state[0]["metadata"]["labels"]["kubernetes.io/hostname"] = "n"
    # They do not choose the node that `add-nodes` brings.
    here = {"nodeSelector": {"kubernetes.io/hostname": "n"}}
    pods = {name: gpu_pod(name, 600, spec=here) for name in ("before", "after")}
    events = [
        {"at": 0, "pod": pods["before"]},
        {"at": 5, "change": change},
        {"at": 10, "pod": pods["after"]},
    ]
    run = Run(state=state, config=config, plugins=[OpenGpuShare])
    pods_over_time = run.replay(events).pods
    assert isinstance(pods_over_time, tuple)
    placed = {each.pod.removeprefix("default/"): each.placed for each in pods_over_time}
    assert placed == {"before": 0, "after": None}
