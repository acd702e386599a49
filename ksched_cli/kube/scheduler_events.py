"""The events that kube-scheduler writes about pods, of both groups that have events.

Those of victims that it only rejects in its memory, which are on no node, say so and do not match;
nor do those of victims of pod groups.
Upstream: pkg/scheduler/schedule_one.go (finishBinding) and
pkg/scheduler/framework/preemption/executor.go (NewExecutor).
"""

import re
from collections.abc import Mapping
from typing import Any

PREEMPTED = "Preempted"
# What the messages say, by the events' reasons.
MESSAGES = {
    "Scheduled": re.compile(r"^Successfully assigned \S+ to (?P<node>\S+)$"),
    PREEMPTED: re.compile(r"^Preempted by pod (?P<preemptor>\S+) on node (?P<node>\S+)$"),
}


def message_of(event: Mapping[str, Any]) -> str:
    """Return an event's message, which is its note in events.k8s.io."""
    return str(event.get("note") or event.get("message") or "")
