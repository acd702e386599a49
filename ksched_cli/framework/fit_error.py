"""kube-scheduler's text for a pod that fits nowhere.

Upstream: pkg/scheduler/framework/types.go (FitError.Error).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from functools import lru_cache

from ksched_cli.framework.node_statuses import NodeStatuses
from ksched_cli.framework.status import Status


def fit_error(statuses: NodeStatuses, pre_filter: str = "", post_filter: str = "") -> str:
    """pre_filter: PreFilter's message, printed in place of the nodes' reasons;
    post_filter: PostFilter's message, appended."""
    if pre_filter:
        text = f"0/{statuses.node_count} nodes are available: {pre_filter}."
    else:
        text = counts_message(statuses.node_count, statuses.count(), statuses.absent)
    return f"{text} {post_filter}" if post_filter else text


def counts_message(total: int, counts: Mapping[Status, int], absent: Status) -> str:
    """The message by how many nodes have each status. absent: the status of the others."""
    return _counts_message(total, tuple(counts.items()), absent)


@lru_cache(maxsize=1024)
def _counts_message(total: int, counts: tuple[tuple[Status, int], ...], absent: Status) -> str:
    """Cached: the pods of one template, tried one after the other, mostly get the same message."""
    count_by_reason: Counter[str] = Counter()
    own_count = 0
    for status, count in counts:
        own_count += count
        for reason in status.reasons:
            count_by_reason[reason] += count
    if own_count < total:
        for reason in absent.reasons:
            count_by_reason[reason] += total - own_count
    text = f"0/{total} nodes are available:"
    if not count_by_reason:
        return text
    # Sorted as text: "10 …" goes before "2 …".
    return f"{text} {', '.join(sorted(f'{n} {reason}' for reason, n in count_by_reason.items()))}."


def no_common_node(plugins: Collection[str]) -> Status:
    """Return PreFilter's message where each of the plugins leaves nodes but no node is left by all.

    Upstream: pkg/scheduler/framework/runtime/framework.go (RunPreFilterPlugins).
    """
    names = sorted(plugins)
    if len(names) == 1:
        return Status.unresolvable(f"node(s) didn't satisfy plugin {names[0]}")
    listed = "[" + " ".join(names) + "]"
    return Status.unresolvable(f"node(s) didn't satisfy plugin(s) {listed} simultaneously")
