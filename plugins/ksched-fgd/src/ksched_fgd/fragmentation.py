"""How much of a node's idle GPUs the typical pods of a workload cannot use.

For one typical pod, the fragments of a node are all its idle GPUs where the pod wants no GPU, may
not use the model or does not fit, and else those with less left than it wants. The fragments of a
node are the mean over the typical pods, weighted by frequency.

Sums are made in upstream's order, so that they are its floating-point numbers to the last bit: by
category, over the typical pods, then over the categories.

Upstream: pkg/utils/frag.go (NodeGpuShareFragAmount, GetNodePodFrag, FragAmountSumExceptQ3).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ksched_cli.api import Handle, PluginError
from ksched_fgd.gpu_columns import Amounts, GpuColumns, demand_of
from ksched_fgd.typical_pods import API_VERSION, KIND, TypicalPod, of_manifest, typical_pods

Fragments: TypeAlias = NDArray[np.float64]

# As a plugin names the kinds that it reads.
READS = f"{KIND}.{API_VERSION.partition('/')[0]}"

# In upstream's order, without those that the pod can use.
LACKS_BOTH, LACKS_GPU, LACKS_CPU, WANTS_NONE, WANTS_NONE_LACKS_CPU, OTHER_MODEL = range(6)
CATEGORIES = 6

# States whose fragments are remembered; a run of the paper's meets some hundred thousand.
MEMO_MAX = 1_000_000


class Fragmentation:
    """The fragments that typical pods make of nodes. pods: typical; models: of the nodes, by their
    ids."""

    def __init__(self, pods: Sequence[TypicalPod], models: Sequence[str]) -> None:
        self.pods = pods
        self._frequency = np.array([pod.frequency for pod in pods])[:, None]
        self._cpu = np.array([pod.demand.cpu for pod in pods])[:, None]
        gpus = [pod.demand.gpus for pod in pods]
        self._cpu_steps = np.unique(self._cpu)
        self._memo: dict[bytes, float] = {}
        self._counts = np.array([request.count for request in gpus])[:, None]
        self._wants_none = np.array([request.milli == 0 for request in gpus])
        self._milli, self._milli_ids = np.unique(
            [request.milli for request in gpus], return_inverse=True
        )
        # Per typical pod and model.
        self._allows = np.array([[request.allows(model) for model in models] for request in gpus])

    @classmethod
    def of(cls, handle: Handle) -> Fragmentation:
        """With the typical pods that the state has, else those of its pods."""
        columns = handle.service(GpuColumns)
        plain = handle.cluster.others.get(READS, ())
        if len(plain) > 1:
            raise PluginError(f"the state has {len(plain)} {KIND}, and one is the most")
        try:
            pods = of_manifest(plain[0]) if plain else _pods_of(handle)
        except ValueError as error:
            raise PluginError(str(error)) from None
        if not pods:
            raise PluginError("there are no typical pods: the state has no pods")
        return cls(pods, columns.models)

    def amounts(self, cpu: Amounts, left: Amounts, model_ids: Amounts) -> Fragments:
        """Return thousandths of GPUs, per state of a node.

        cpu:  left of each, in thousandths
        left: of each one's GPUs, shape (states, GPUs)
        """
        # Nothing else matters of a state: which typical pods its cpu suffices for, how much is left
        # of its GPUs in any order, and their model.
        enough = np.searchsorted(self._cpu_steps, cpu, side="right")
        alike = np.column_stack((np.sort(left, axis=1), enough, model_ids)).astype(np.int16)
        keys: list[Any] = alike.view(np.dtype((np.void, alike.strides[0]))).ravel().tolist()
        memo = self._memo
        amounts = [memo.get(key) for key in keys]
        missing = [index for index, amount in enumerate(amounts) if amount is None]
        if missing:
            if len(memo) > MEMO_MAX:
                memo.clear()
            computed = self._compute(cpu[missing], left[missing], model_ids[missing]).tolist()
            for index, amount in zip(missing, computed, strict=True):
                amounts[index] = memo[keys[index]] = amount
        return np.array(amounts, dtype=np.float64)

    def _compute(self, cpu: Amounts, left: Amounts, model_ids: Amounts) -> Fragments:
        states = len(cpu)
        category, amount = self._per_typical_pod(cpu, left, model_ids)
        # bincount adds in the order of its elements: per state and category, pod after pod.
        bins = category * states + np.arange(states)
        sums = np.bincount(
            bins.ravel(), (self._frequency * amount).ravel(), minlength=CATEGORIES * states
        ).reshape(CATEGORIES, states)
        total: Fragments = sums[0]
        for part in sums[1:]:
            total = total + part
        return total

    def _per_typical_pod(
        self, cpu: Amounts, left: Amounts, model_ids: Amounts
    ) -> tuple[Amounts, Amounts]:
        """Category and amount, per typical pod and state."""
        unusable = np.zeros((len(self._milli), len(cpu)), dtype=np.int64)
        too_small = np.zeros_like(unusable)
        # GPU by GPU: to sum over a short last axis takes NumPy several times as long.
        for gpu in left.T:
            is_small = gpu < self._milli[:, None]
            too_small += is_small
            unusable += is_small * gpu
        has_cpu = cpu >= self._cpu
        has_gpus = left.shape[1] - too_small[self._milli_ids] >= self._counts
        idle = left.sum(axis=1)
        amount = np.where(has_cpu & has_gpus, unusable[self._milli_ids], idle)
        lacks_cpu = np.where(has_gpus, LACKS_CPU, LACKS_BOTH)
        category = np.where(has_cpu, LACKS_GPU, lacks_cpu)
        if not self._allows.all():
            is_other = ~self._allows[:, model_ids]
            category[is_other] = OTHER_MODEL
            amount = np.where(is_other, idle, amount)
        none = self._wants_none
        category[none] = np.where(has_cpu[none], WANTS_NONE, WANTS_NONE_LACKS_CPU)
        amount[none] = idle
        return category, amount


def _pods_of(handle: Handle) -> list[TypicalPod]:
    demands = [demand_of(pod) for pod in handle.cluster.pods if not pod.finished]
    return typical_pods(demands) if demands else []
