"""Chooses which GPUs of a node a pod gets, the lowest numbers first, and notes them."""

from ksched_cli.api import SUCCESS, CycleState, Handle, NodeInfo, PodInfo, ReservePlugin, Status

GPU = "nvidia.com/gpu"
NONE_LEFT = Status.unschedulable("node(s) had no free GPU slots")


class GpuSlots(ReservePlugin):
    name = "GpuSlots"

    def reserve(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status:
        count = pod.resources.requests.get(GPU, 0)
        if not count:
            return SUCCESS
        held = self.handle.service(HeldSlots)
        taken = {slot for other in node.pods for slot in held.by_uid.get(other.uid, ())}
        free = [slot for slot in range(node.allocatable(GPU)) if slot not in taken]
        if len(free) < count:
            return NONE_LEFT
        held.by_uid[pod.uid] = free[:count]
        state.note("slots", free[:count])
        return SUCCESS

    def unreserve(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> None:
        self.handle.service(HeldSlots).by_uid.pop(pod.uid, None)


class HeldSlots:
    """The slots that pods hold, by UID; all profiles of a run share them."""

    def __init__(self, handle: Handle) -> None:
        self.by_uid: dict[str, list[int]] = {}

    def carry_over(self, previous: "HeldSlots") -> None:
        """Nodes or objects have changed, and ksched has created the plugins again."""
        self.by_uid = previous.by_uid
