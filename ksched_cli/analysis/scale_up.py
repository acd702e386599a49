"""The reasons why an autoscaler would order nodes for a pod, or none, group by group."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from msgspec import field

from ksched_cli.analysis.attempts import PluginStatus
from ksched_cli.answers import Count, Part

if TYPE_CHECKING:
    from ksched_cli.engine.replay.autoscaler.scale_up import GroupReview
    from ksched_cli.run.open import Opener
    from ksched_cli.run.run import Run


class GroupVerdict(StrEnum):
    """The effect of a node group for a pod. At its maximum, a group that the pod would not fit on
    anyway rejects it."""

    SCALES_UP = "scales up"
    NOT_CHOSEN = "not chosen"
    REJECTS = "rejects"
    AT_MAX_SIZE = "at maxSize"
    AT_MAX_TOTAL = "at maxNodesTotal"
    FULL = "full"


class GroupScaleUp(Part, frozen=True, kw_only=True):
    """What a node group does for a pod.

    nodes: how many it has, with those that were asked for
    verdict: scales up: it gets more nodes; not chosen: it would help, and the expanders choose
             another; rejects: the pod does not fit on a new node; at maxSize, at maxNodesTotal: it
             may have no more nodes; full: as many nodes as it may get go to other pods
    adds: how many more nodes it gets, or would get
    pods: how many pending pods these are for
    rejections: by plugins, of the pod on a new node
    """

    group: str
    nodes: Count
    max_size: Count
    verdict: GroupVerdict
    adds: Count = 0
    pods: Count = 0
    rejections: tuple[PluginStatus, ...] = ()


class ScaleUp(Part, frozen=True, kw_only=True):
    """What an autoscaler's next scan does for a pod.

    autoscaler: the file
    would_scale_up: whether it asks for nodes on which the pod has room
    because: why it asks for none, whatever the groups are; else empty
    groups: in the order of the file
    """

    autoscaler: str
    would_scale_up: bool
    because: str = ""
    groups: tuple[GroupScaleUp, ...] = field(default_factory=tuple)


def scale_up_of(opener: Opener, run: Run, pod: str) -> ScaleUp:
    """run: with an autoscaler; over time it is asked at the end. pod: the key of one that has no
    node. Raises KschedError."""
    replay = opener.replay(run) if run.timeline else opener.until_scan(run)
    replay.run()
    assert replay.autoscaler is not None
    review = replay.autoscaler.review(pod)
    replay.cluster.engine.close()
    groups = tuple(_of_group(each, pod) for each in review.groups)
    return ScaleUp(
        autoscaler=run.autoscaler,
        would_scale_up=any(each.verdict is GroupVerdict.SCALES_UP for each in groups),
        because=review.because,
        groups=groups,
    )


def _of_group(review: GroupReview, pod: str) -> GroupScaleUp:
    group, option = review.group, review.option
    helps = option is not None and pod in option.pods
    if review.rejections:
        verdict = GroupVerdict.REJECTS
    elif helps:
        verdict = GroupVerdict.SCALES_UP if review.is_chosen else GroupVerdict.NOT_CHOSEN
    elif review.headroom > 0:
        verdict = GroupVerdict.FULL
    elif review.size >= group.max_size:
        verdict = GroupVerdict.AT_MAX_SIZE
    else:
        verdict = GroupVerdict.AT_MAX_TOTAL
    return GroupScaleUp(
        group=group.name,
        nodes=review.size,
        max_size=group.max_size,
        verdict=verdict,
        adds=option.count if option is not None and helps else 0,
        pods=len(option.pods) if option is not None and helps else 0,
        rejections=tuple(map(PluginStatus.of, review.rejections)),
    )
