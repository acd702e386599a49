"""An explanation: the verdict first, then the nodes that fit, ranked, then those that do not."""

from __future__ import annotations

from typing import Any

from ksched_cli.analysis.explain import Explanation, NodeExplanation
from ksched_cli.engine.records import NodeScore
from ksched_cli.framework.status import Rejection
from ksched_cli.report.attempts import status
from ksched_cli.report.table import Limit, columns, cut, listed

SHORT_NAMES = {
    "ImageLocality": "Image",
    "InterPodAffinity": "PodAff",
    "NodeAffinity": "NodeAff",
    "NodeResourcesBalancedAllocation": "Balance",
    "NodeResourcesFit": "Fit",
    "PodTopologySpread": "Spread",
    "TaintToleration": "Taint",
    "VolumeBinding": "Volume",
}
LONGEST_NAME = 9


def document(found: Explanation) -> dict[str, Any]:
    """kind Explanation."""
    return {
        "apiVersion": "ksched/v1",
        "kind": "Explanation",
        "pod": found.pod,
        "profile": found.profile,
        "node": found.node,
        "runningOn": found.running_on,
        "ties": list(found.ties),
        "margin": found.margin,
        "message": found.message,
        "error": found.error,
        "gated": found.gated and status(found.gated),
        "preFilter": found.pre_filter and status(found.pre_filter),
        "nodesToFind": found.sampled,
        "nodes": [_node(one) for one in found.nodes],
        "notes": [],
    }


def _node(one: NodeExplanation) -> dict[str, Any]:
    return {
        "node": one.node,
        "fits": fits(one),
        "rejections": [
            status(rejection.status) | {"details": list(rejection.details)}
            for rejection in one.rejections
        ],
        "scores": {plugin: _score(score) for plugin, score in one.scores.items()},
        "total": one.total,
        "rank": one.rank,
    }


def _score(score: NodeScore) -> dict[str, Any]:
    return {
        "raw": score.raw,
        "normalized": score.normalized,
        "weight": score.weight,
        "weighted": score.weighted,
        "details": list(score.details),
    }


def fits(one: NodeExplanation) -> bool:
    return one.total is not None


def table(found: Explanation, limit: Limit) -> str:
    parts = [_headline(found)]
    fitting = sorted(
        (one for one in found.nodes if fits(one)), key=lambda one: (one.rank or 0, one.node)
    )
    if fitting:
        parts.append(_ranking(found, fitting, limit))
        parts.append(_breakdown(found, fitting[0], limit))
    parts += [text for text in (_rejected(found, limit), _sampling(found, len(fitting))) if text]
    if not (found.node or found.error or found.gated):
        parts.append(f"ksched preempt {found.pod} says whether evicting other pods would help.")
    return "\n\n".join(parts)


def _headline(found: Explanation) -> str:
    lines = [f"{found.pod} (profile {found.profile})"]
    if found.gated:
        lines.append(f"is not in the queue yet: {found.gated.plugin}: {found.gated.message}")
        lines.append("once it is:")
    if found.error:
        lines.append(f"cannot be scheduled: {found.error}")
    elif found.node:
        lines.append(f"goes to {found.node}" + _why_there(found))
    else:
        lines.append("fits on no node")
        lines.append(found.message)
    if found.running_on:
        lines.append(_running(found))
    return "\n".join(lines)


def _why_there(found: Explanation) -> str:
    fitting = [one for one in found.nodes if fits(one)]
    if len(fitting) == 1:
        return ", the only node it fits on"
    best = next(one for one in fitting if one.node == found.node)
    if found.ties:
        return f", one of {len(found.ties)} equally good nodes with {best.total} points"
    return f" with {best.total} points, {found.margin} ahead of the next"


def _running(found: Explanation) -> str:
    here = next((one for one in found.nodes if one.node == found.running_on), None)
    text = f"runs on {found.running_on}"
    if here is None or not fits(here):
        return f"{text}, where it would not be placed now"
    return f"{text}, rank {here.rank} with {here.total} points"


def _ranking(found: Explanation, fitting: list[NodeExplanation], limit: Limit) -> str:
    plugins = list(dict.fromkeys(plugin for one in fitting for plugin in one.scores))
    headers = ["RANK", "NODE", "TOTAL", *(_short(plugin) for plugin in plugins)]
    rows = [
        [one.rank, one.node, one.total, *(_points(one, plugin) for plugin in plugins)]
        for one in fitting
    ]
    return cut(columns(headers, rows, limit), len(rows), limit)


def _points(one: NodeExplanation, plugin: str) -> int | str:
    """An extender need not name every node."""
    return one.scores[plugin].weighted if plugin in one.scores else "-"


def _short(plugin: str) -> str:
    """Of an extender's URL the end of its path, or the host."""
    name = plugin.rstrip("/").rpartition("/")[2] if "://" in plugin else plugin
    return SHORT_NAMES.get(name, name[:LONGEST_NAME])


def _breakdown(found: Explanation, best: NodeExplanation, limit: Limit) -> str:
    """Where the winner's points come from."""
    rows = [
        [plugin, one.raw, one.normalized, one.weight, one.weighted, "; ".join(one.details)]
        for plugin, one in best.scores.items()
    ]
    headers = [f"ON {best.node}", "RAW", "0-100", "WEIGHT", "POINTS", ""]
    return columns(headers, rows, limit)


def _rejected(found: Explanation, limit: Limit) -> str:
    """Nodes with the same rejections share a row."""
    groups: dict[tuple[Rejection, ...], list[str]] = {}
    for one in found.nodes:
        if one.rejections:
            groups.setdefault(one.rejections, []).append(one.node)
    if not groups:
        return ""
    rows = []
    for rejections, names in sorted(groups.items(), key=lambda item: (-len(item[1]), item[1])):
        where = listed(names, limit)
        for rejection in rejections:
            why = "; ".join((*rejection.status.reasons, *rejection.details))
            rows.append([where, rejection.status.plugin, why])
            where = ""
    return cut(columns(("NOT ON", "BECAUSE OF", "WHY"), rows, limit), len(rows), limit)


def _sampling(found: Explanation, fitting: int) -> str:
    if fitting <= found.sampled:
        return ""
    return (
        f"kube-scheduler stops at {found.sampled} fitting nodes of the {fitting} shown here, "
        "and may take the best of those."
    )
