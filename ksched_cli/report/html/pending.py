"""The page of all pods that stay pending: a block for each group, with its reasons."""

from __future__ import annotations

from collections.abc import Sequence

from ksched_cli.analysis.diagnosis import PendingGroup, PendingReport
from ksched_cli.report.html.columns import column
from ksched_cli.report.html.explanation import REASON_HEADERS, reason_row
from ksched_cli.report.html.sections import Grid, Group, Groups, Page, Section, Tile
from ksched_cli.report.owners import group_name, shared_owner
from ksched_cli.report.pending import fix_subject, merged
from ksched_cli.report.reasons import message_line, remedy_line
from ksched_cli.report.table import PAGE, counted

NAMED_PODS = 20


def page(answer: PendingReport) -> Page:
    summary, groups = answer.summary, answer.groups
    tiles = [
        Tile("pending", f"{summary.pending:,}", "bad" if summary.pending else "good"),
        Tile("gated", f"{summary.gated:,}", "warn" if summary.gated else ""),
        Tile("left out", f"{summary.ignored:,}"),
        Tile("nodes", f"{summary.nodes:,}"),
    ]
    sections: list[Section] = []
    if groups:
        sections.append(Groups("Why they wait", pending_blocks(groups)))
        sections.append(_pods(answer))
    title = "No pod stays pending"
    if groups:
        verb = "stays" if summary.pending == 1 else "stay"
        title = f"{counted(summary.pending, 'pod')} {verb} pending"
    return Page(title, (), tiles, sections)


def _owner(group: PendingGroup) -> str:
    return shared_owner(f"{group.namespace}/{group.owner}")


def pending_blocks(groups: Sequence[PendingGroup]) -> list[Group]:
    """The groups of the table, with all of their reasons."""
    return [_group(group) for group in merged(groups)]


def _group(group: PendingGroup) -> Group:
    pods = group.pods
    heading = group_name(_owner(group), pods)
    if heading not in pods:
        heading = f"{counted(len(pods), 'pod')} of {heading}"
    return Group(
        heading,
        message_line(group.message, PAGE),
        "cannot be decided" if group.undecided else "pending",
        "bad",
        REASON_HEADERS if group.reasons else (),
        [reason_row(reason) for reason in group.reasons],
        pods[:NAMED_PODS],
        len(pods),
        [group.diagnosis.cause, remedy_line(group.diagnosis, fix_subject(group), PAGE)]
        if group.diagnosis
        else (),
    )


def _pods(answer: PendingReport) -> Grid:
    rows = [(pod, group) for group in answer.groups for pod in group.pods]
    columns = [
        column("Pod", [pod for pod, _ in rows]),
        column("Owner", [_owner(group) for _, group in rows]),
        column("kube-scheduler's message", [group.message for _, group in rows]),
    ]
    return Grid("Table of pods", "pods", columns)
