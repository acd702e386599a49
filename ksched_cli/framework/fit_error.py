"""kube-scheduler's text for a pod that fits nowhere.

Upstream: pkg/scheduler/framework/types.go (FitError.Error).
"""

from __future__ import annotations

from collections import Counter

from ksched_cli.framework.node_statuses import NodeStatuses


def fit_error(statuses: NodeStatuses, pre_filter: str = "", post_filter: str = "") -> str:
    """pre_filter: PreFilter's message, printed in place of the nodes' reasons;
    post_filter: PostFilter's message, appended."""
    total = len(statuses)
    text = f"0/{total} nodes are available:"
    if pre_filter:
        text += f" {pre_filter}."
    else:
        reasons: Counter[str] = Counter()
        own_count = 0
        for status, count in statuses.count().items():
            own_count += count
            for reason in status.reasons:
                reasons[reason] += count
        if own_count < total:
            for reason in statuses.absent.reasons:
                reasons[reason] += total - own_count
        if reasons:
            # Sorted as text: "10 …" goes before "2 …".
            text += f" {', '.join(sorted(f'{n} {reason}' for reason, n in reasons.items()))}."
    return f"{text} {post_filter}" if post_filter else text
