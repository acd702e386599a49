"""Shared GPUs in the figures of ksched: utilization, idle parts, GPU-hours, shares of users."""

from __future__ import annotations

from gpu_objects import gpu_node, gpu_pod
from ksched_fgd import PLUGINS
from ksched_fgd.experiment import POLICIES, configuration
from ksched_fgd.gpu_requests import GPU_COUNT, GPU_MILLI

from ksched_cli.api import Run
from ksched_cli.testing import Manifest

STATE = [
    gpu_node("a"),
    gpu_node("b", 4),
    gpu_pod("r", 300, on="a/0"),
    gpu_pod("w", 1000, 2, on="b/0-1"),
]


def run(*objects: Manifest) -> Run:
    """A Run under the paper's scheduler."""
    config = configuration(POLICIES["FGD"], 1)
    return Run(state=[*STATE, *objects], config=config, plugins=[*PLUGINS])


def test_status_and_schedule_count_the_parts_of_gpus_that_pods_request() -> None:
    status = run().status()
    assert status.total.requested[GPU_COUNT] == "2300m"
    assert (
        round(status.total.used[GPU_MILLI], 9)
        == round(status.total.used[GPU_COUNT], 9)
        == round(2.3 / 6, 9)
    )
    nodes = {node.name: node for node in run(gpu_pod("p", 500)).schedule().nodes}
    assert {name: node.requested[GPU_COUNT] for name, node in nodes.items()} == {
        "a": "800m",
        "b": "2",
    }
    assert nodes["a"].requested[GPU_MILLI] == "800"


def test_a_pod_whose_annotations_make_no_sense_uses_no_gpu() -> None:
    wrong = gpu_pod("p")
    wrong["metadata"]["annotations"][GPU_MILLI] = "many"
    assert run(wrong).schedule().nodes[0].requested[GPU_COUNT] == "300m"


def test_a_replay_has_gpu_hours_of_parts_and_shares_of_them() -> None:
    events = [
        {"at": 0, "pod": gpu_pod("p", 300), "runsFor": 3600},
        {"at": 0, "pod": gpu_pod("q", 700, namespace="team-b"), "runsFor": 7200},
        {"at": 0, "pod": gpu_pod("x", 1000, 2), "runsFor": 1800},
    ]
    answer = run().replay(events)
    assert answer.jobs is not None
    assert answer.jobs.gpu_hours == 0.3 + 1.4 + 1.0
    # Six GPUs for two hours.
    shares = {user.name: (user.gpu_hours, user.dominant_share) for user in answer.users}
    assert shares == {"default": (1.3, round(1.3 / 12, 6)), "team-b": (1.4, round(1.4 / 12, 6))}
    over_time = answer.over_time.utilization[GPU_COUNT]
    assert (over_time.max, over_time.max_at) == (round(5.3 / 6, 6), 0)
