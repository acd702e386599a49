"""A group of pods in the scheduling queue, in minors where groups are entities of it.

Upstream: pkg/scheduler/framework/types.go (QueuedPodGroupInfo).
"""

from __future__ import annotations

from bisect import insort
from dataclasses import dataclass, field

from ksched_cli.engine.replay.queued_pod import Place, QueuedPodInfo
from ksched_cli.framework.pod_groups import GroupKey


@dataclass(slots=True, eq=False)
class QueuedPodGroupInfo(QueuedPodInfo):
    """pod: the first one. members: in the order in which they are tried; their places are the
    group's whenever it is in one"""

    key: GroupKey = ("", "")
    members: list[QueuedPodInfo] = field(default_factory=list)

    @classmethod
    def of(cls, key: GroupKey, first: QueuedPodInfo) -> QueuedPodGroupInfo:
        """A new group with its first pod, as old as that."""
        group = cls(
            first.pod,
            first.timestamp,
            first.sequence,
            first_active=first.first_active,
            key=key,
        )
        group.add(first)
        return group

    @property
    def size(self) -> int:
        return len(self.members)

    def add(self, member: QueuedPodInfo) -> None:
        """Upstream: PodGroupMemberPodsOrderingFunc."""
        insort(self.members, member, key=_member_order)
        member.group = self
        self.pod = self.members[0].pod

    def remove(self, member: QueuedPodInfo) -> None:
        self.members.remove(member)
        member.group = None
        if self.members:
            self.pod = self.members[0].pod

    def stand_in(self, place: Place) -> None:
        """The members are where the group is."""
        for member in self.members:
            member.place = place


def _member_order(member: QueuedPodInfo) -> tuple[int, int, int, int]:
    return -member.pod.priority, -member.attempts, member.timestamp, member.sequence
