"""The pods that stay pending: a block for each group of them, with its reasons."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from ksched_cli.analysis.diagnosis import POD, PendingGroup, PendingReport
from ksched_cli.report.reasons import brief_reasons_table, message_line, remedy_line
from ksched_cli.report.table import ALL_HINT, GREEN, RED, YELLOW, Limit, counted
from ksched_cli.scenario.arguments import WORKLOADS

# -- owners of pods, as tables name them -----------------------------------------------------------


NO_CONTROLLER = "no controller"


def shared_owner(owner: str) -> str:
    """The owner; pods without a controller share a name by namespace.

    owner: namespace/Kind/name
    """
    namespace, kind, _ = owner.split("/", 2)
    return f"{NO_CONTROLLER} in {namespace}" if kind == POD else owner


def group_name(owner: str, pods: Sequence[str]) -> str:
    """The shared owner of the pods; a single pod without a controller goes by its own name."""
    return pods[0] if len(pods) == 1 and owner.startswith(NO_CONTROLLER) else owner


SHOWN_GROUPS = 6
SHOWN_BRIEF_GROUPS = 10
# Reasons shown for all groups together, and for one.
SHOWN_REASONS = 8
SHOWN_REASONS_OF_GROUP = 4


def names(report: PendingReport) -> list[str]:
    """The pods, in groups."""
    return [pod for group in report.groups for pod in group.pods]


def table(report: PendingReport, limit: Limit) -> str:
    """A block per group, those of the most pods first, and a line of counts."""
    summary = report.summary
    counts = f"{summary.pending:,} pending, {summary.gated:,} gated, {summary.ignored:,} left out"
    line = limit.verdict(counts, YELLOW if report.groups else GREEN)
    return "\n\n".join((*blocks(report.groups, limit, reasons=True), line))


def blocks(groups: Sequence[PendingGroup], limit: Limit, *, reasons: bool) -> list[str]:
    """The text of each group. reasons: with a table of them, where the nearest nodes are"""
    groups = merged(groups)
    shown = groups[: limit.rows and (SHOWN_GROUPS if reasons else SHOWN_BRIEF_GROUPS)]
    most = min(SHOWN_REASONS // max(len(shown), 1), SHOWN_REASONS_OF_GROUP)
    parts = [_block(group, most if reasons else 0, limit) for group in shown]
    rest = groups[len(shown) :]
    if rest:
        pods = counted(sum(len(group.pods) for group in rest), "pod")
        parts.append(f"… and {counted(len(rest), 'more group')} of {pods} ({ALL_HINT})")
    return parts


def merged(groups: Sequence[PendingGroup]) -> list[PendingGroup]:
    """Pods of one namespace without a controller that stay pending for one cause are a group, with
    the reasons of the first; those of the most pods first."""
    merged: dict[object, PendingGroup] = {}
    for group in groups:
        owner = shared_owner(f"{group.namespace}/{group.owner}")
        family = group.diagnosis.family if group.diagnosis else group.message
        key = (owner, family, group.undecided)
        if key in merged:
            merged[key] = _joined(merged[key], group)
        else:
            merged[key] = group
    return sorted(merged.values(), key=lambda group: -len(group.pods))


def fix_subject(group: PendingGroup) -> str:
    """The group as `fix` takes it: its workload, or its first pod."""
    kind, _, name = group.owner.partition("/")
    if kind not in WORKLOADS:
        return group.pods[0]
    return f"{kind.lower()}/{name} -n {group.namespace}"


def _joined(first: PendingGroup, other: PendingGroup) -> PendingGroup:
    """Where the two causes differ in amounts, the first says of which pod it is."""
    mine, theirs = first.diagnosis, other.diagnosis
    if mine and theirs and mine.remedy != theirs.remedy:
        mine = replace(mine, remedy="")
    if mine and theirs and mine.cause != theirs.cause and mine.cause.startswith("it "):
        mine = replace(mine, cause=f"{first.pods[0]}: {mine.cause}")
    return replace(first, pods=(*first.pods, *other.pods), diagnosis=mine)


def _block(group: PendingGroup, most: int, limit: Limit) -> str:
    """The owner and its pods, the cause and what to do about it, then the reasons.
    kube-scheduler's message where no cause is known, or nothing is left out.

    most: reasons to show where rows are limited; 0 for no table
    """
    state = "cannot be decided" if group.undecided else "pending"
    name = group_name(shared_owner(f"{group.namespace}/{group.owner}"), group.pods)
    text = f"{state}: {name}"
    if name not in group.pods:
        pods = counted(len(group.pods), "pod")
        text = f"{state}: {pods} of {name}: {limit.listed(group.pods)}"
    heading = limit.paragraph(text, "  ")
    lines = [limit.verdict(heading, RED if group.undecided else YELLOW)]
    if group.diagnosis:
        lines.append(limit.paragraph(group.diagnosis.cause))
        lines.append(remedy_line(group.diagnosis, fix_subject(group), limit))
    if not group.diagnosis or limit.rows is None:
        lines.append(message_line(group.message, limit))
    if most and group.reasons:
        lines.append(brief_reasons_table(group.reasons, most, limit))
    return "\n".join(lines)
