"""Pods share GPUs: a pod fits where enough GPUs have enough left, and Reserve chooses them.

Upstream: hkust-adsl/kubernetes-scheduler-simulator, pkg/simulator/plugin/open_gpu_share.go.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from ksched_cli.api import (
    SKIP,
    SUCCESS,
    CountsUsage,
    CycleState,
    Explains,
    FilterPlugin,
    Handle,
    NodeInfo,
    Nodes,
    PodInfo,
    PreFilterExtensions,
    PreFilterPlugin,
    PreFilterResult,
    ReservePlugin,
    Scope,
    Status,
    Verdicts,
)
from ksched_fgd.fgd_score import FgdChoice, FgdScore
from ksched_fgd.fragmentation import READS
from ksched_fgd.go_random import GoRandom
from ksched_fgd.gpu_choice import CHOICES, Choice, best, choose, drawn, fits
from ksched_fgd.gpu_columns import Amounts, GpuColumns, cpu_left
from ksched_fgd.gpu_requests import GPU_COUNT, GPU_MILLI, MILLI, gpu_request
from ksched_fgd.random_numbers import RandomNumbers

NO_GPU = Status.unresolvable("node(s) had no GPU")
OTHER_MODEL = Status.unresolvable("node(s) had GPUs of another model")
NOT_ENOUGH = Status.unschedulable("node(s) had too little left of each GPU")

KEY = "Open-Gpu-Share"


class OpenGpuShareArgs(msgspec.Struct, rename="camel", frozen=True, forbid_unknown_fields=True):
    """gpu_sel_method: how a part of a GPU is chosen: random, FGDScore, or a registered name. seed:
    of random."""

    gpu_sel_method: str = "best"
    seed: int = 42

    def __post_init__(self) -> None:
        names = (*CHOICES, "random", FgdScore.name)
        if self.gpu_sel_method not in names:
            listed = ", ".join(names)
            raise ValueError(f'gpuSelMethod "{self.gpu_sel_method}" is none of {listed}')


class DryRunGpus:
    """What is left of the GPUs of those rows where a dry run added pods or took some away."""

    def __init__(self, left: dict[int, Amounts] | None = None) -> None:
        self.left = left or {}

    def clone(self) -> DryRunGpus:
        return DryRunGpus(dict(self.left))


class OpenGpuShare(
    PreFilterPlugin, PreFilterExtensions, FilterPlugin, ReservePlugin, Explains, CountsUsage
):
    name = "Open-Gpu-Share"
    scope = Scope.ROW
    args = OpenGpuShareArgs
    reads = (READS,)
    gpus = (GPU_COUNT,)

    def __init__(self, args: OpenGpuShareArgs, handle: Handle) -> None:
        self._columns = handle.service(GpuColumns)
        self._choice: Choice = CHOICES.get(args.gpu_sel_method, best)
        self._numbers: GoRandom | None = None
        if args.gpu_sel_method == "random":
            self._numbers = handle.service(RandomNumbers).of(args.seed)
            self._choice = drawn(self._numbers)
        self._fgd = FgdChoice(handle) if args.gpu_sel_method == FgdScore.name else None

    # -- which nodes ----------------------------------------------------------------------------

    def pre_filter(
        self, state: CycleState, pod: PodInfo, nodes: Nodes
    ) -> tuple[PreFilterResult | None, Status]:
        try:
            request = gpu_request(pod.pod.metadata.annotations)
        except ValueError as error:
            return None, Status.unresolvable(str(error))
        if not request.count:
            return None, SKIP
        state.write(KEY, DryRunGpus())
        return None, SUCCESS

    def filter_nodes(self, state: CycleState, pod: PodInfo, nodes: Nodes) -> Verdicts:
        request = self._columns.demand(pod).gpus
        verdicts = Verdicts.rejecting(nodes.gather(self._columns.counts) == 0, NO_GPU)
        if request.models:
            verdicts.reject(~nodes.gather(self._columns.allowed(request)), OTHER_MODEL)
        fitting = (self._left(state, nodes) >= request.milli).sum(axis=1)
        verdicts.reject(fitting < request.count, NOT_ENOUGH)
        return verdicts

    def _left(self, state: CycleState, nodes: Nodes) -> Amounts:
        left = nodes.gather(self._columns.left)
        changed: DryRunGpus = state.read(KEY)
        if changed.left:
            left = left.copy()
            for i, row in enumerate(nodes.indices().tolist()):
                if row in changed.left:
                    left[i] = changed.left[row]
        return left

    # -- dry runs -------------------------------------------------------------------------------

    def concerns(self, state: CycleState, pod: PodInfo, other: PodInfo) -> bool:
        return bool(self._columns.demand(other).gpus.count)

    def add_pod(self, state: CycleState, pod: PodInfo, added: PodInfo, node: NodeInfo) -> Status:
        """A pod that is only nominated to the node is given the GPUs that fit best."""
        request = self._columns.demand(added).gpus
        left = self._left(state, Nodes.of(node))[0]
        devices = self._columns.devices(added, node.row)
        if not devices and fits(left.tolist(), request):
            devices = choose(left.tolist(), request, best)
        self._change(state, node.row, devices, -request.milli)
        return SUCCESS

    def remove_pod(
        self, state: CycleState, pod: PodInfo, removed: PodInfo, node: NodeInfo
    ) -> Status:
        devices = self._columns.devices(removed, node.row)
        self._change(state, node.row, devices, self._columns.demand(removed).gpus.milli)
        return SUCCESS

    def _change(self, state: CycleState, row: int, devices: Sequence[int], milli: int) -> None:
        changed: DryRunGpus = state.read(KEY)
        left = changed.left.get(row, self._columns.left[row]).copy()
        left[list(devices)] += milli
        changed.left[row] = left

    # -- which GPUs -----------------------------------------------------------------------------

    def reserve(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status:
        """The pod counts on its node already, but has no GPU yet."""
        columns, demand = self._columns, self._columns.demand(pod)
        if not demand.gpus.count:
            return SUCCESS
        columns.release(pod, node.row)
        left = columns.left[node.row].tolist()[: columns.counts[node.row]]
        if not fits(left, demand.gpus):
            return Status.error(f"node {node.name} has too little left of its GPUs")
        if self._fgd is not None and demand.gpus.is_shared:
            devices: tuple[int, ...] = (self._fgd.device(demand, node.row, cpu_left(node, pod)),)
        else:
            devices = choose(left, demand.gpus, self._choice)
            milli = demand.gpus.milli
            if not all(0 <= index < len(left) and left[index] >= milli for index in devices):
                return Status.error(f"gpuSelMethod chose a GPU without room: {devices}")
        columns.assign(pod, node.row, devices)
        state.note("GPU", list(devices))
        return SUCCESS

    def unreserve(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> None:
        if self._columns.demand(pod).gpus.count:
            self._columns.release(pod, node.row)

    # -- figures ----------------------------------------------------------------------------------

    def usage(self, pod: PodInfo) -> Mapping[str, float]:
        """Return the part of the node's GPUs that the annotations request, in GPUs and in
        thousandths, as nodes offer them."""
        total = self._columns.demand(pod).gpus.total
        return {GPU_COUNT: total / MILLI, GPU_MILLI: total} if total else {}

    # -- why ------------------------------------------------------------------------------------

    def explain_filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Sequence[str]:
        request = self._columns.demand(pod).gpus
        count = int(self._columns.counts[node.row])
        if not count:
            return ()
        model = self._columns.models[self._columns.model_ids[node.row]]
        if not request.allows(model):
            return (f"it has {model or 'no model that it tells of'}, wanted {request.models}",)
        left = self._left(state, Nodes.of(node))[0, :count]
        amounts = ", ".join(f"{index}: {amount}" for index, amount in enumerate(left.tolist()))
        return (f"wanted {request.milli} of {request.count} GPUs; left of each: {amounts}",)
