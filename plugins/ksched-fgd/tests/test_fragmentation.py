"""How much of a node's idle GPUs typical pods cannot use, against a plain form of the rule."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from gpu_objects import gpu_node, gpu_pod, typical
from ksched_fgd.fgd_score import FgdScore
from ksched_fgd.fragmentation import Fragmentation
from ksched_fgd.gpu_requests import GpuRequest
from ksched_fgd.typical_pods import Demand, TypicalPod, typical_pods

from ksched_cli.errors import UsageError
from ksched_cli.testing import cluster, scores

MODELS = ["T4", "P100", ""]
PODS = typical_pods(
    [Demand(4000, GpuRequest(1, 500))] * 37
    + [Demand(8000, GpuRequest(1, 1000))] * 29
    + [Demand(64000, GpuRequest(8, 1000))] * 11
    + [Demand(6000, GpuRequest(1, 220, "P100|V100"))] * 13
    + [Demand(12500, GpuRequest())] * 17,
    100,
)


def plain_fragments(pods: Sequence[TypicalPod], cpu: int, left: Sequence[int], model: str) -> float:
    """As the definition says it, node by node; sums by category, and then over the categories."""
    sums = dict.fromkeys(("both", "gpu", "cpu", "none", "none lacks cpu", "model"), 0.0)
    for demand, frequency in pods:
        request, has_cpu = demand.gpus, cpu >= demand.cpu
        fits = sum(amount >= request.milli for amount in left) >= request.count
        amount = sum(left)
        if not request.count:
            category = "none" if has_cpu else "none lacks cpu"
        elif not request.allows(model):
            category = "model"
        elif has_cpu:
            category = "gpu"
            amount = sum(gpu for gpu in left if gpu < request.milli) if fits else amount
        else:
            category = "cpu" if fits else "both"
        sums[category] += frequency * amount
    total = 0.0
    for part in sums.values():
        total += part
    return total


def test_the_fragments_are_those_of_the_definition_to_the_last_bit() -> None:
    numbers = np.random.default_rng(7)
    cpu = numbers.integers(0, 90_000, 300)
    left = numbers.integers(0, 1001, (300, 8))
    left[numbers.random((300, 8)) < 0.3] = 1000
    left[numbers.random((300, 8)) < 0.3] = 0
    model_ids = numbers.integers(0, 3, 300)
    fragmentation = Fragmentation(PODS, MODELS)
    amounts = fragmentation.amounts(cpu, left, model_ids).tolist()
    expected = [
        plain_fragments(PODS, int(cpu[i]), left[i].tolist(), MODELS[model_ids[i]])
        for i in range(300)
    ]
    assert amounts == expected
    # Once more, one by one: by what is remembered of the states.
    singly = [
        fragmentation.amounts(cpu[i : i + 1], left[i : i + 1], model_ids[i : i + 1])[0]
        for i in range(300)
    ]
    assert singly == expected


def test_a_single_state_is_summed_in_the_same_order() -> None:
    cpu, left, model = np.array([9000]), np.array([[1000, 340, 0, 710]]), np.array([0])
    amount = Fragmentation(PODS, MODELS).amounts(cpu, left, model)[0]
    assert amount == plain_fragments(PODS, 9000, [1000, 340, 0, 710], "T4")


def test_typical_pods_are_those_of_the_state_where_it_has_none() -> None:
    """A third of the pods want half a GPU: a node with half a GPU left suits them alone."""
    whole = [gpu_pod(f"w{i}", 1000) for i in range(2)]
    objects = [gpu_node("half", 1), gpu_pod("a", 500, on="half/0"), gpu_node("free", 1)]
    answers = scores(FgdScore, cluster(*objects, *whole, gpu_pod("p", 500)), pod="p")
    assert answers["half"] > 50 > answers["free"]


def test_several_lists_of_typical_pods_are_refused() -> None:
    state = cluster(gpu_node("n"), typical(*PODS), typical(*PODS), gpu_pod("p"))
    with pytest.raises(UsageError, match="the state has 2 TypicalPods, and one is the most"):
        scores(FgdScore, state, pod="p")
