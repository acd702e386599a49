"""What keeps pods from running, and readings of a pod and a node, as agents read them."""

from __future__ import annotations

import json
from collections.abc import Iterator

from ksched_cli.analysis.held_pods import GATED, LEFT_OUT
from ksched_cli.analysis.readings import NodeReading, PodReading, Reading
from ksched_cli.analysis.troubleshooting import Troubleshooting
from ksched_cli.report.pending import nodes_of, not_in_queue, opened_groups, shared_owner
from ksched_cli.report.view import Column, Kind, Line, Section, Text, Tone, View, table
from ksched_cli.report.words import counted, verb

SHOWN_PODS = 12


def view(answer: Troubleshooting) -> View:
    """Return what was asked about, gated pods first, then those that stay pending and the others;
    and the calls that say more."""
    sections: list[Section] = [*not_in_queue(answer)]
    if answer.groups:
        sections[:0] = opened_groups("Why they wait", answer.groups)
    if answer.node is not None:
        sections += _node_sections(answer.node)
    sections.append(
        Text(
            heading="Call next",
            lines=[
                f"{each.tool} {json.dumps(dict(each.arguments), ensure_ascii=False)} {each.because}"
                for each in answer.next
            ],
        )
    )
    lines = [] if answer.subject is None else [*_pod_lines(answer.subject)]
    if answer.node is not None:
        lines.append(Line(_node_title(answer.node)))
    return View(
        title="; ".join(_clauses(answer)),
        tone=Tone.WARN if answer.groups or answer.held else Tone.GOOD,
        lines=lines,
        sections=sections,
        names=lambda: [pod for group in answer.groups for pod in group.pods],
        nodes=nodes_of(answer.groups),
    )


def _clauses(answer: Troubleshooting) -> Iterator[str]:
    """Yield what keeps pods from running; gated pods first, as nothing else matters to them."""
    for state in (GATED, LEFT_OUT):
        held = [each for each in answer.held if each.state == state]
        pods = [pod for each in held for pod in each.pods]
        if pods:
            because = f": {'; '.join((held[0].reason, *held[0].notes))}" if len(held) == 1 else ""
            who = pods[0] if len(pods) == 1 else counted(len(pods), "pod")
            yield f"{who} {verb(len(pods), 'is', 'are')} {state}{because}"
    pending = [pod for group in answer.groups for pod in group.pods]
    if pending:
        who = pending[0] if len(pending) == 1 else counted(len(pending), "pod")
        yield f"{who} {verb(len(pending), 'stays', 'stay')} pending"
    absent = sum(each.count for each in answer.absent)
    if absent:
        yield f"controllers have not made {counted(absent, 'pod')}"
    placed = [pod for group in answer.placed for pod in group.pods]
    if placed:
        who = placed[0] if len(placed) == 1 else counted(len(placed), "pending pod")
        on = f" ({answer.placed[0].nodes[0]})" if len(placed) == 1 else ""
        yield f"{who} would get a node now{on}"
    if answer.subject is not None and answer.subject.node:
        yield f"{answer.subject.pod} is on {answer.subject.node}"
    elif not (answer.held or pending or placed or absent):
        yield "no pod waits for a node"


def reading_view(answer: Reading) -> View:
    """Return a pod, or a node with its pods."""
    if answer.pod is not None:
        pod = answer.pod
        where = f"is on {pod.node}" if pod.node else "has no node"
        selector = pod.node_selector.items()
        details = {
            "phase": pod.phase + ", being deleted" * pod.deleting,
            "scheduler": pod.scheduler,
            "nominated node": pod.nominated_node,
            "pod group": pod.group,
            "created": pod.created,
            "labels": ", ".join(f"{key}={value}" for key, value in pod.labels.items()),
            "node selector": ", ".join(f"{key}={value}" for key, value in selector),
        }
        shown = (Line(f"{name}: {text}") for name, text in details.items() if text)
        return View(
            title=f"{pod.pod} {where}",
            lines=[*_pod_lines(pod), *shown],
            names=lambda: [pod.pod],
            nodes=[pod.node] if pod.node else [],
        )
    assert answer.node is not None
    node = answer.node
    return View(
        title=_node_title(node),
        tone=Tone.WARN if node.apart else Tone.NONE,
        sections=[*_node_sections(node)],
        names=lambda: [node.node],
        nodes=[node.node],
    )


def _pod_lines(pod: PodReading) -> Iterator[Line]:
    """Yield the pod's priority, owner and what it requests."""
    name = f" ({pod.priority_class})" if pod.priority_class else ""
    requests = ", ".join(f"{key} {amount}" for key, amount in pod.requests.items()) or "nothing"
    owner = "no controller" if pod.owner.split("/")[1] == "Pod" else f"owner {pod.owner}"
    yield Line(f"{pod.pod}: priority {pod.priority:,}{name}, {owner}, requests {requests}")
    if pod.gates:
        yield Line(f"scheduling gates: {', '.join(pod.gates)}", Tone.WARN)


def _node_title(node: NodeReading) -> str:
    takes = f"takes no pods ({node.apart})" if node.apart else "takes pods"
    return f"{node.node} {takes}, has {counted(len(node.pods), 'pod')}"


def _node_sections(node: NodeReading) -> Iterator[Section]:
    lines = [f"taints: {', '.join(node.taints)}"] if node.taints else []
    lines.append(f"labels: {', '.join(f'{key}={value}' for key, value in node.labels.items())}")
    yield Text(lines=lines)
    yield table(
        "",
        [*node.allocatable],
        (Column("Resource"), lambda name: name),
        (Column("Free"), lambda name: node.free[name]),
        (Column("Requested"), lambda name: node.requested[name]),
        (Column("Allocatable"), lambda name: node.allocatable[name]),
    )
    yield table(
        "Its pods",
        node.pods,
        (Column("Pod", Kind.POD), lambda pod: pod.pod),
        (Column("Priority", Kind.NUMBER), lambda pod: pod.priority),
        (Column("Owner", Kind.OWNER), lambda pod: shared_owner(pod.owner)),
        (
            Column("Requests"),
            lambda pod: ", ".join(f"{key} {amount}" for key, amount in pod.requests.items()),
        ),
        brief=SHOWN_PODS,
        noun="pods",
    )
