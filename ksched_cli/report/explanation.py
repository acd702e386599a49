"""An answer of `explain`: the verdict and why, the nodes that fit, ranked, then those that do not,
grouped by reason.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from ksched_cli import program_name
from ksched_cli.analysis.explain import (
    Explanation,
    GroupScaleUp,
    GroupVerdict,
    NodeExplanation,
    ScaleUp,
    ranking,
)
from ksched_cli.plugins import short_names
from ksched_cli.report.reasons import APART_MAX, message_line, rejected_table, remedy_line, why_not
from ksched_cli.report.table import GREEN, RED, YELLOW, Limit, apart, counted, marked

SHORT_NAMES = short_names()
LONGEST_NAME = 9
BEST_NODES = 10
BEST_NODES_OF_RUNNING = 5


def names(explanation: Explanation) -> list[str]:
    """The nodes that fit: the one taken first, then the others, best first."""
    return [node.node for node in ranking(explanation)]


def table(explanation: Explanation, limit: Limit) -> str:
    """The verdict, the points per plugin of the node taken and of those asked about, the ranking,
    the rejected nodes by reason, what to try next."""
    fitting = ranking(explanation)
    parts = [
        headline(explanation, limit),
        scale_up_table(explanation.scale_up or None, limit),
        _own_node(explanation, limit),
    ]
    if fitting:
        detailed = {explanation.node or fitting[0].node, *explanation.requested}
        parts += [
            _breakdown(node, limit) for node in fitting if node.node in detailed and node.scores
        ]
        most = BEST_NODES if not explanation.running_on else BEST_NODES_OF_RUNNING
        parts.append(_ranking(explanation.node, fitting, most, limit))
    parts += [
        _rejected(explanation, limit),
        _sampling(explanation, limit),
        _next_step(explanation, limit),
    ]
    return apart(*parts)


def headline(explanation: Explanation, limit: Limit) -> str:
    """The pod, then the verdict and what is behind it."""
    lines = [limit.paragraph(f"{explanation.pod} (profile {explanation.profile})")]
    if explanation.ignored:
        text = f"the scheduler never looks at it: it is {explanation.ignored}"
        return "\n".join([*lines, limit.verdict(text, YELLOW)])
    if explanation.running_on:
        lines.append(limit.paragraph(_running(explanation)))
    if explanation.gated:
        gate = f"{explanation.gated.plugin}: {explanation.gated.message}"
        lines += [limit.verdict(f"is not in the queue yet: {gate}", YELLOW), "once it is:"]
    if explanation.undecided or explanation.error:
        cannot = "cannot be decided" if explanation.undecided else "cannot be scheduled"
        lines.append(limit.verdict(f"{cannot}: {explanation.error or explanation.message}", RED))
    elif explanation.node:
        lines += _placed(explanation, limit)
    else:
        lines += _unplaced(explanation, limit)
    return "\n".join(lines)


def _unplaced(explanation: Explanation, limit: Limit) -> list[str]:
    """The cause, what to do about it, and kube-scheduler's message."""
    text = "gets no node" if explanation.feasible else "fits on no node"
    diagnosis = explanation.diagnosis
    if diagnosis is None:
        return [limit.verdict(text, RED), message_line(explanation.message, limit)]
    return [
        limit.verdict(f"{text}: {diagnosis.cause}", RED),
        remedy_line(diagnosis, explanation.pod, limit),
        message_line(explanation.message, limit),
    ]


def _placed(explanation: Explanation, limit: Limit) -> list[str]:
    """The node, and who leaves it."""
    verb = "today it would go to" if explanation.running_on else "goes to"
    if explanation.running_on == explanation.node:
        verb = "today it would go there too, to"
    lines = [limit.verdict(f"{verb} {explanation.node}{_why_there(explanation, limit)}", GREEN)]
    if explanation.evicts:
        evicted = limit.listed(explanation.evicts)
        lines.append(limit.paragraph(f"once {evicted} is evicted"))
    if explanation.evicted_by:
        text = f"and is evicted from there later, for {explanation.evicted_by}"
        lines.append(limit.verdict(text, YELLOW))
    return lines


def _why_there(explanation: Explanation, limit: Limit) -> str:
    if explanation.feasible == 1:
        return ", the only node it fits on"
    if explanation.score is None:
        return ""
    points = f"{explanation.score} points"
    ties = explanation.ties
    if ties:
        others = [name for name in ties if name != explanation.node]
        equal = f"one of {len(ties):,} equally good nodes with {points}"
        return f", {equal}; the others: {limit.listed(others)}"
    if explanation.margin is None:
        return f" with {points}"
    return f" with {points}, {explanation.margin} ahead of the next"


def _running(explanation: Explanation) -> str:
    text = f"runs on {explanation.running_on}"
    if explanation.rank is None:
        return f"{text}, where it would not be placed now"
    return f"{text}, rank {explanation.rank:,} of {explanation.feasible:,}"


def _own_node(explanation: Explanation, limit: Limit) -> str:
    """Why a pod that runs would not be placed where it is."""
    own = [node for node in explanation.nodes if node.node == explanation.running_on]
    return (
        ""
        if len(explanation.nodes) <= APART_MAX
        else rejected_table([node for node in own if node.rejections], (), limit)
    )


def _ranking(taken: str, fitting: Sequence[NodeExplanation], most: int, limit: Limit) -> str:
    """The first of them. Where that is too wide, without the plugins that score all of them
    alike."""
    plugins = list(dict.fromkeys(chain.from_iterable(node.scores for node in fitting)))
    shown_limit = limit.first(most)
    shown = fitting[: shown_limit.rows]
    scores = {plugin: [_points(node, plugin) for node in shown] for plugin in plugins}
    note = ""
    if not limit.fits_width(*_ranking_cells(taken, shown, scores)):
        alike = {plugin: points[0] for plugin, points in scores.items() if len(set(points)) == 1}
        scores = {plugin: points for plugin, points in scores.items() if plugin not in alike}
        equal = ", ".join(f"{short_name(plugin)} {points}" for plugin, points in alike.items())
        note = limit.paragraph(f"the same on each of them: {equal}") if equal else ""
    headers, rows = _ranking_cells(taken, shown, scores)
    text = shown_limit.cut_columns(headers, rows, "that fit", len(fitting))
    return f"{text}\n{note}" if note else text


def _ranking_cells(
    taken: str, nodes: Sequence[NodeExplanation], scores: dict[str, list[int | str]]
) -> tuple[list[str], list[list[object]]]:
    headers = ["RANK", "NODE", "TOTAL", *(short_name(plugin) for plugin in scores)]
    rows: list[list[object]] = [
        [
            node.rank,
            marked(node.node, taken),
            node.total,
            *(points[i] for points in scores.values()),
        ]
        for i, node in enumerate(nodes)
    ]
    return headers, rows


def _points(node: NodeExplanation, plugin: str) -> int | str:
    """An extender need not name every node."""
    return node.scores[plugin].weighted if plugin in node.scores else "-"


def short_name(plugin: str) -> str:
    """The plugin's short name; for an extender's URL, the end of its path, or the host."""
    name = plugin.rstrip("/").rpartition("/")[2] if "://" in plugin else plugin
    return SHORT_NAMES.get(name, name[:LONGEST_NAME])


def _breakdown(node: NodeExplanation, limit: Limit) -> str:
    """A node's scores, a plugin per row; by their short names where that is too wide."""
    headers = ["PLUGIN", "RAW", "0-100", "WEIGHT", "POINTS", ""]
    rows: list[list[object]] = [
        [
            plugin,
            score.raw,
            score.normalized,
            score.weight,
            score.weighted,
            "; ".join(score.details),
        ]
        for plugin, score in node.scores.items()
    ]
    if not limit.fits_width(headers, rows):
        rows = [[short_name(str(row[0])), *row[1:]] for row in rows]
    return limit.paragraph(f"its points on {node.node}:") + "\n" + limit.columns(headers, rows)


def _rejected(explanation: Explanation, limit: Limit) -> str:
    nodes = [node for node in explanation.nodes if node.rejections]
    is_whole = len(explanation.nodes) == explanation.node_count
    return rejected_table(nodes, explanation.reasons if is_whole else (), limit)


def _sampling(explanation: Explanation, limit: Limit) -> str:
    """Only where the pod gets a node, and not all nodes were looked at for it."""
    best = explanation.best_of_all
    is_sampled = explanation.evaluated < explanation.node_count
    if best is None or not explanation.node or not is_sampled:
        return ""
    looked_at = (
        f"{explanation.evaluated:,} of {counted(explanation.node_count, 'node')} were looked at; "
        f"of all {explanation.feasible:,} that fit, "
    )
    if explanation.rank == 1:
        return limit.paragraph(f"{looked_at}{explanation.node} is the best too.")
    better = f"{best.node} would be the best, with {best.score} points."
    return limit.paragraph(f"{looked_at}{better}")


def _next_step(explanation: Explanation, limit: Limit) -> str:
    if explanation.node or explanation.ignored or explanation.undecided or explanation.error:
        return ""
    name, pod, lines = program_name(), explanation.pod, list[str]()
    if explanation.diagnosis is None or explanation.diagnosis.remedy:
        lines.append(f"{name} fix {pod} finds the changes that would help, each verified by a run.")
    if explanation.may_preempt:
        lines.append(f"{name} preempt {pod} says whether evicting other pods would help.")
    return "\n".join(limit.paragraph(line) for line in lines)


# -- what an autoscaler would do -------------------------------------------------------------------


GROUP_HEADERS = ("NODE GROUP", "NODES", "VERDICT", "WHY")


def scale_up_table(answer: ScaleUp | None, limit: Limit) -> str:
    """Nothing where nobody asked."""
    if answer is None:
        return ""
    lines = [limit.verdict(scale_up_line(answer), GREEN if answer.would_scale_up else YELLOW)]
    if answer.groups:
        lines.append(limit.cut_columns(GROUP_HEADERS, [group_row(each) for each in answer.groups]))
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
    return (
        group.group,
        f"{group.nodes:,} of {group.max_size:,}",
        group.verdict.value,
        _why(group),
    )


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
