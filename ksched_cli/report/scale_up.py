"""What an autoscaler would do for a pod: a line that says it, a row per node group."""

from __future__ import annotations

from ksched_cli.analysis.explain import GroupScaleUp, GroupVerdict, ScaleUp
from ksched_cli.report.reasons import why_not
from ksched_cli.report.table import GREEN, YELLOW, Limit, counted

HEADERS = ("NODE GROUP", "NODES", "VERDICT", "WHY")


def scale_up_table(answer: ScaleUp | None, limit: Limit) -> str:
    """Nothing where nobody asked."""
    if answer is None:
        return ""
    text = limit.paragraph(scale_up_line(answer))
    lines = [limit.verdict(text, GREEN if answer.would_scale_up else YELLOW)]
    if answer.groups:
        lines.append(limit.cut_columns(HEADERS, [group_row(each) for each in answer.groups]))
    return "\n\n".join(lines)


def scale_up_line(answer: ScaleUp) -> str:
    """Which group gets how many nodes, or that none does."""
    chosen = [each for each in answer.groups if each.verdict is GroupVerdict.SCALES_UP]
    if chosen:
        (group,) = chosen
        return f"the autoscaler would add {counted(group.adds, 'node')} to {group.group}"
    reason = f": {answer.because}" if answer.because else ""
    return f"the autoscaler would add no node for it{reason}"


def group_row(group: GroupScaleUp) -> tuple[str, ...]:
    return group.group, f"{group.nodes:,} of {group.max_size:,}", group.verdict.value, _why(group)


def _why(group: GroupScaleUp) -> str:
    match group.verdict:
        case GroupVerdict.REJECTS:
            return "; ".join(why_not(each.plugin, (each.message,)) for each in group.rejections)
        case GroupVerdict.SCALES_UP | GroupVerdict.NOT_CHOSEN:
            would = "" if group.verdict is GroupVerdict.SCALES_UP else "would add "
            return f"{would}{counted(group.adds, 'node')} for {counted(group.pods, 'pending pod')}"
        case GroupVerdict.FULL:
            return "the nodes that it may still add go to other pending pods"
    return ""
