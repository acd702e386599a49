"""A queue order: by priority, then by QoS class, then by age. QOSSort of scheduler-plugins."""

from ksched_cli.api import QueuedPod, QueueSortPlugin

CLASSES = ("Guaranteed", "Burstable", "BestEffort")


class QOSSort(QueueSortPlugin):
    name = "QOSSort"

    def less(self, first: QueuedPod, second: QueuedPod) -> bool:
        return self._key(first) < self._key(second)

    def _key(self, queued: QueuedPod) -> tuple[int, int, float]:
        pod = queued.pod
        return -pod.priority, CLASSES.index(pod.qos_class), queued.timestamp
