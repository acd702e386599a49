"""An answer of `explain`: the verdict, the nodes that fit, ranked, then those that do not."""

from __future__ import annotations

from typing import Any

from ksched_cli.analysis.explain import Explanation, NodeExplanation
from ksched_cli.engine.records import NodeScore
from ksched_cli.framework.status import Rejection
from ksched_cli.plugins import short_names
from ksched_cli.report.attempts import status
from ksched_cli.report.table import Limit, columns, cut_columns, listed

SHORT_NAMES = short_names()
LONGEST_NAME = 9


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
    """The verdict, the ranking, the winner's points per plugin, the rejected nodes, notes."""
    parts = [_headline(explanation)]
    fitting = sorted(
        (node for node in explanation.nodes if fits(node)),
        key=lambda node: (node.rank or 0, node.node),
    )
    if fitting:
        parts.append(_ranking(explanation, fitting, limit))
        parts.append(_breakdown(explanation, fitting[0], limit))
    parts += [
        text
        for text in (_rejected(explanation, limit), _sampling(explanation, len(fitting)))
        if text
    ]
    if not (explanation.node or explanation.error or explanation.gated):
        parts.append(
            f"ksched preempt {explanation.pod} says whether evicting other pods would help."
        )
    return "\n\n".join(parts)


def _headline(explanation: Explanation) -> str:
    lines = [f"{explanation.pod} (profile {explanation.profile})"]
    if explanation.gated:
        lines.append(
            f"is not in the queue yet: {explanation.gated.plugin}: {explanation.gated.message}"
        )
        lines.append("once it is:")
    if explanation.error:
        lines.append(f"cannot be scheduled: {explanation.error}")
    elif explanation.node:
        lines.append(f"goes to {explanation.node}" + _why_there(explanation))
    else:
        lines.append("fits on no node")
        lines.append(explanation.message)
    if explanation.running_on:
        lines.append(_running(explanation))
    return "\n".join(lines)


def _why_there(explanation: Explanation) -> str:
    fitting = [node for node in explanation.nodes if fits(node)]
    if len(fitting) == 1:
        return ", the only node it fits on"
    best = next(node for node in fitting if node.node == explanation.node)
    if explanation.ties:
        return f", one of {len(explanation.ties)} equally good nodes with {best.total} points"
    return f" with {best.total} points, {explanation.margin} ahead of the next"


def _running(explanation: Explanation) -> str:
    here = next((node for node in explanation.nodes if node.node == explanation.running_on), None)
    text = f"runs on {explanation.running_on}"
    if here is None or not fits(here):
        return f"{text}, where it would not be placed now"
    return f"{text}, rank {here.rank} with {here.total} points"


def _ranking(explanation: Explanation, fitting: list[NodeExplanation], limit: Limit) -> str:
    plugins = list(dict.fromkeys(plugin for node in fitting for plugin in node.scores))
    headers = ["RANK", "NODE", "TOTAL", *(_short(plugin) for plugin in plugins)]
    rows = [
        [node.rank, node.node, node.total, *(_points(node, plugin) for plugin in plugins)]
        for node in fitting
    ]
    return cut_columns(headers, rows, limit)


def _points(node: NodeExplanation, plugin: str) -> int | str:
    """An extender need not name every node."""
    return node.scores[plugin].weighted if plugin in node.scores else "-"


def _short(plugin: str) -> str:
    """Of an extender's URL the end of its path, or the host."""
    name = plugin.rstrip("/").rpartition("/")[2] if "://" in plugin else plugin
    return SHORT_NAMES.get(name, name[:LONGEST_NAME])


def _breakdown(explanation: Explanation, best: NodeExplanation, limit: Limit) -> str:
    """The winner's scores, a plugin per row."""
    rows = [
        [
            plugin,
            score.raw,
            score.normalized,
            score.weight,
            score.weighted,
            "; ".join(score.details),
        ]
        for plugin, score in best.scores.items()
    ]
    headers = [f"ON {best.node}", "RAW", "0-100", "WEIGHT", "POINTS", ""]
    return columns(headers, rows, limit)


def _rejected(explanation: Explanation, limit: Limit) -> str:
    """Nodes with the same rejections share a row."""
    groups: dict[tuple[Rejection, ...], list[str]] = {}
    for node in explanation.nodes:
        if node.rejections:
            groups.setdefault(node.rejections, []).append(node.node)
    if not groups:
        return ""
    rows = []
    for rejections, names in sorted(groups.items(), key=lambda item: (-len(item[1]), item[1])):
        where = listed(names, limit)
        for rejection in rejections:
            why = "; ".join((*rejection.status.reasons, *rejection.details))
            rows.append([where, rejection.status.plugin, why])
            where = ""
    return cut_columns(("NOT ON", "BECAUSE OF", "WHY"), rows, limit)


def _sampling(explanation: Explanation, fitting: int) -> str:
    if fitting <= explanation.sampled:
        return ""
    return (
        f"kube-scheduler stops at {explanation.sampled} fitting nodes of the {fitting} shown here, "
        "and may take the best of those."
    )
