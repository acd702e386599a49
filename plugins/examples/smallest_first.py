"""A queue order: pods that request little cpu before those that request much."""

from ksched_cli.api import QueuedPod, QueueSortPlugin


class SmallestFirst(QueueSortPlugin):
    name = "SmallestFirst"

    def less(self, first: QueuedPod, second: QueuedPod) -> bool:
        return self._key(first) < self._key(second)

    def _key(self, queued: QueuedPod) -> tuple[int, int, float]:
        """Higher priorities come first; equal pods are sorted by age."""
        cpu = queued.pod.resources.requests.get("cpu", 0)
        return -queued.pod.priority, cpu, queued.timestamp
