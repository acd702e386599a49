"""All that keeps pods from running, in one answer: pods that stay pending, gated ones, those that
no scheduler here looks at, those that would get a node, and those that controllers have not made;
with the calls of other tools that say more."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from ksched_cli.analysis.diagnosis import PendingReport, pending_report
from ksched_cli.analysis.gates import READS
from ksched_cli.analysis.named_objects import check_nodes, find_pod, pods_of
from ksched_cli.analysis.question import Opened, PodChoice, Question
from ksched_cli.analysis.readings import NodeReading, PodReading, node_reading, pod_reading
from ksched_cli.answers import Part
from ksched_cli.scenario.owned_pods import WORKLOADS

# As many groups have calls of their own.
MAX_CALLS = 3


class NextCall(Part, frozen=True):
    """A call of a tool that says more."""

    tool: str
    arguments: Mapping[str, Any]
    because: str


class Troubleshooting(PendingReport, frozen=True, kw_only=True):
    """What keeps pods from running.

    subject: the pod or the workload that was asked about, as it is now; null where none was
    node: that was asked about; null where none was
    next: calls that say more
    """

    COMMAND: ClassVar = "serve mcp"
    VIEW: ClassVar = "troubleshooting:view"

    kind: Literal["Troubleshooting"] = "Troubleshooting"  # type: ignore[assignment]  # another one
    subject: PodReading | None = None
    node: NodeReading | None = None
    next: tuple[NextCall, ...] = ()


class Diagnose(Question[Troubleshooting], frozen=True, kw_only=True):
    """Say what keeps pods from running.

    pod: a pod, a workload or a group; "" for all pods
    node: to show beside them
    shows: which pods, where none is named
    """

    READS: ClassVar = READS

    pod: str = ""
    node: str = ""
    shows: PodChoice = PodChoice()

    def answer(self, opened: Opened) -> Troubleshooting:
        simulation, run = opened.simulation(), opened.run
        subject = node = None
        if self.node:
            check_nodes(simulation, (self.node,))
            node = node_reading(simulation, self.node)
        keys = opened.chosen(simulation, self.shows)
        if self.pod:
            keys = pods_of(simulation, self.pod, run.namespace)
            name = min(keys) if len(keys) == 1 else self.pod
            subject = pod_reading(find_pod(simulation, name, run.namespace))
        report = pending_report(simulation, keys, workloads=run.workloads)
        fields = {name: getattr(report, name) for name in ("groups", "held", "placed", "absent")}
        # The next questions, the most important first.
        calls: list[NextCall] = []
        at_node = {"nodes": [node.node]} if node is not None else {}
        for group in report.groups[:MAX_CALLS]:
            kind, _, name = group.owner.partition("/")
            arguments = {"pod": group.pods[0]}
            if kind in WORKLOADS:
                arguments = {"pod": f"{kind.lower()}/{name}", "namespace": group.namespace}
            reason = "finds what gives it a node, each remedy tried in a run"
            calls.append(NextCall("fix", arguments, reason))
            reason = f"says why not {node.node}" if node is not None else "has every node's reasons"
            calls.append(NextCall("explain", {"pod": group.pods[0], **at_node}, reason))
        for held in report.held[:MAX_CALLS]:
            reason = "has its owner, priority, gates and scheduler"
            calls.append(NextCall("read", {"pod": held.pods[0]}, reason))
        for placed in report.placed[:MAX_CALLS]:
            reason = f"says why {placed.nodes[0]}, and what the cluster's scheduler said"
            calls.append(NextCall("explain", {"pod": placed.pods[0], **at_node}, reason))
        if subject is not None and subject.node:
            reason = f"ranks {subject.node} among all nodes"
            calls.append(NextCall("explain", {"pod": subject.pod}, reason))
        if node is not None:
            reason = "says whether it can be drained"
            calls.append(NextCall("drain", {"nodes": [node.node]}, reason))
        if not (report.groups or report.held or report.placed or subject or node):
            reason = "shows nodes, how full they are, and blocked drains"
            calls.append(NextCall("status", {}, reason))
        return Troubleshooting(
            **fields,
            summary=report.summary,
            subject=subject,
            node=node,
            next=tuple(calls),
        )
