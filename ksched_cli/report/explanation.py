"""An answer of `explain`: the verdict and why, the nodes that fit, ranked, then those that do not,
grouped by reason.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ksched_cli.analysis.explain import Explanation, NodeExplanation
from ksched_cli.engine.records import NodeScore
from ksched_cli.plugins import short_names
from ksched_cli.report.attempts import status
from ksched_cli.report.node_groups import RejectedNode, rejected_table
from ksched_cli.report.table import (
    GREEN,
    RED,
    YELLOW,
    Limit,
    columns,
    counted,
    cut_columns,
    fits_width,
    listed,
    paragraph,
    verdict,
)

SHORT_NAMES = short_names()
LONGEST_NAME = 9
BEST_NODES = 10


def document(explanation: Explanation) -> dict[str, Any]:
    """kind Explanation."""
    return {
        "apiVersion": "ksched/v1",
        "kind": "Explanation",
        "pod": explanation.pod,
        "profile": explanation.profile,
        "node": explanation.node,
        "runningOn": explanation.running_on,
        "ties": list(explanation.ties),
        "margin": explanation.margin,
        "message": explanation.message,
        "error": explanation.error,
        "gated": explanation.gated and status(explanation.gated),
        "preFilter": explanation.pre_filter and status(explanation.pre_filter),
        "nodesToFind": explanation.sampled,
        "nodes": [_node(node) for node in explanation.nodes],
        "notes": [],
    }


def _node(node: NodeExplanation) -> dict[str, Any]:
    return {
        "node": node.node,
        "fits": fits(node),
        "rejections": [
            status(rejection.status) | {"details": list(rejection.details)}
            for rejection in node.rejections
        ],
        "scores": {plugin: _score(score) for plugin, score in node.scores.items()},
        "total": node.total,
        "rank": node.rank,
    }


def _score(score: NodeScore) -> dict[str, Any]:
    return {
        "raw": score.raw,
        "normalized": score.normalized,
        "weight": score.weight,
        "weighted": score.weighted,
        "details": list(score.details),
    }


def fits(node: NodeExplanation) -> bool:
    return node.total is not None


def table(explanation: Explanation, limit: Limit) -> str:
    """The verdict, the points of the node per plugin, the ranking, the rejected nodes by reason,
    what to try next."""
    fitting = sorted(
        (node for node in explanation.nodes if fits(node)),
        key=lambda node: (node.rank or 0, node.node),
    )
    parts = [_headline(explanation, limit)]
    if fitting:
        taken = next((node for node in fitting if node.node == explanation.node), fitting[0])
        if taken.scores:
            parts.append(_breakdown(taken, limit))
        parts.append(_ranking(fitting, limit))
    parts += [
        _rejected(explanation, limit),
        _sampling(explanation, len(fitting), limit),
        _next_step(explanation, limit),
    ]
    return "\n\n".join(part for part in parts if part)


def _headline(explanation: Explanation, limit: Limit) -> str:
    lines = [f"{explanation.pod} (profile {explanation.profile})"]
    if explanation.gated:
        gate = f"{explanation.gated.plugin}: {explanation.gated.message}"
        text = paragraph(f"is not in the queue yet: {gate}", limit)
        lines += [verdict(text, YELLOW, limit), "once it is:"]
    if explanation.error:
        text = paragraph(f"cannot be scheduled: {explanation.error}", limit)
        lines.append(verdict(text, RED, limit))
    elif explanation.node:
        text = paragraph(f"goes to {explanation.node}{_why_there(explanation, limit)}", limit)
        lines.append(verdict(text, GREEN, limit))
    else:
        lines.append(verdict("fits on no node", RED, limit))
        lines.append(paragraph(explanation.message, limit))
    if explanation.running_on:
        lines.append(paragraph(_running(explanation), limit))
    return "\n".join(lines)


def _why_there(explanation: Explanation, limit: Limit) -> str:
    fitting = [node for node in explanation.nodes if fits(node)]
    if len(fitting) == 1:
        return ", the only node it fits on"
    best = next(node for node in fitting if node.node == explanation.node)
    ties = explanation.ties
    if ties:
        names = listed(ties, limit)
        return f", one of {len(ties):,} equally good nodes with {best.total} points: {names}"
    return f" with {best.total} points, {explanation.margin} ahead of the next"


def _running(explanation: Explanation) -> str:
    here = next((node for node in explanation.nodes if node.node == explanation.running_on), None)
    text = f"runs on {explanation.running_on}"
    if here is None or not fits(here):
        return f"{text}, where it would not be placed now"
    return f"{text}, rank {here.rank} with {here.total} points"


def _ranking(fitting: Sequence[NodeExplanation], limit: Limit) -> str:
    """The best nodes. Where that is too wide, without the plugins that score all of them alike."""
    plugins = list(dict.fromkeys(plugin for node in fitting for plugin in node.scores))
    shown = fitting if limit.rows is None else fitting[:BEST_NODES]
    scores = {plugin: [_points(node, plugin) for node in shown] for plugin in plugins}
    note = ""
    if not fits_width(*_ranking_cells(shown, scores), limit):
        alike = {plugin: points[0] for plugin, points in scores.items() if len(set(points)) == 1}
        scores = {plugin: points for plugin, points in scores.items() if plugin not in alike}
        equal = ", ".join(f"{_short(plugin)} {points}" for plugin, points in alike.items())
        note = paragraph(f"the same on each of them: {equal}", limit) if equal else ""
    headers, rows = _ranking_cells(fitting, {p: [_points(n, p) for n in fitting] for p in scores})
    text = cut_columns(headers, rows, limit.first(BEST_NODES), "that fit")
    return f"{text}\n{note}" if note else text


def _ranking_cells(
    nodes: Sequence[NodeExplanation], scores: dict[str, list[int | str]]
) -> tuple[list[str], list[list[object]]]:
    headers = ["RANK", "NODE", "TOTAL", *(_short(plugin) for plugin in scores)]
    rows: list[list[object]] = [
        [node.rank, node.node, node.total, *(points[i] for points in scores.values())]
        for i, node in enumerate(nodes)
    ]
    return headers, rows


def _points(node: NodeExplanation, plugin: str) -> int | str:
    """An extender need not name every node."""
    return node.scores[plugin].weighted if plugin in node.scores else "-"


def _short(plugin: str) -> str:
    """Of an extender's URL the end of its path, or the host."""
    name = plugin.rstrip("/").rpartition("/")[2] if "://" in plugin else plugin
    return SHORT_NAMES.get(name, name[:LONGEST_NAME])


def _breakdown(node: NodeExplanation, limit: Limit) -> str:
    """A node's scores, a plugin per row; by their short names where that is too wide."""
    headers = ["PLUGIN", "RAW", "0-100", "WEIGHT", "POINTS", ""]
    rows = _score_rows(node)
    if not fits_width(headers, rows, limit):
        rows = [[_short(str(row[0])), *row[1:]] for row in rows]
    return paragraph(f"its points on {node.node}:", limit) + "\n" + columns(headers, rows, limit)


def _score_rows(node: NodeExplanation) -> list[list[object]]:
    return [
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


def _rejected(explanation: Explanation, limit: Limit) -> str:
    nodes = [
        RejectedNode(node.node, node.rejections, node.shortfall)
        for node in explanation.nodes
        if node.rejections
    ]
    return rejected_table(nodes, limit)


def _sampling(explanation: Explanation, fitting: int, limit: Limit) -> str:
    if fitting <= explanation.sampled:
        return ""
    text = (
        f"kube-scheduler stops at {counted(explanation.sampled, 'fitting node')} of the "
        f"{fitting:,} shown here, and may take the best of those."
    )
    return paragraph(text, limit)


def _next_step(explanation: Explanation, limit: Limit) -> str:
    if explanation.node or explanation.error or explanation.gated:
        return ""
    text = f"ksched preempt {explanation.pod} says whether evicting other pods would help."
    return paragraph(text, limit)
