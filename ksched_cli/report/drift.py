"""An answer of `drift`: how many pods are where they would go today, and where the others are."""

from __future__ import annotations

from ksched_cli.analysis.drift import ELSEWHERE, DriftResult, PodDrift, Verdict
from ksched_cli.report.pending import group_name, shared_owner
from ksched_cli.report.table import Limit, apart, counted, grouped


def names(answer: DriftResult) -> list[str]:
    """The pods that may not be where they are, or would go elsewhere."""
    return [pod.pod for pod in answer.pods if pod.verdict in ELSEWHERE]


def table(answer: DriftResult, limit: Limit) -> str:
    """The counts; the pods that may not be where they are, by owner and plugin; those that would go
    elsewhere, by owner, the furthest behind first. Where the limit is wide, a row for each of these
    pods."""
    tables = (
        [_apart(answer, limit)]
        if limit.wide
        else [_not_allowed(answer, limit), _worse(answer, limit)]
    )
    return apart(limit.paragraph(headline(answer)), *tables)


def headline(answer: DriftResult) -> str:
    """How many pods would not be placed where they run, and why; where the others are."""
    summary = answer.summary
    running = counted(summary.running, "running pod")
    placed = f"be placed where {'it runs' if summary.running == 1 else 'they run'}"
    leaving = summary.worse + summary.not_allowed
    staying = [
        text
        for count, text in (
            (summary.best, f"{summary.best:,} on the best node"),
            (summary.tied, f"{summary.tied:,} on one as good as the best"),
        )
        if count
    ]
    if leaving:
        lines = [f"{leaving:,} of {running} would not {placed}: {_why(answer)}"]
        lines += [f"the others: {', '.join(staying)}"] if staying else []
        lines += [in_turn(answer)]
    elif summary.running:
        lines = [f"{running} would {placed}: {', '.join(staying)}"]
    else:
        lines = ["no running pod to ask about"]
    if answer.ignored:
        lines.append(f"{len(answer.ignored):,} left out")
    return "\n".join(filter(None, lines))


def _why(answer: DriftResult) -> str:
    """Why pods would not be placed where they run."""
    worse, refused = answer.summary.worse, answer.summary.not_allowed
    nowhere = sum(pod.best_node is None for pod in answer.pods)
    texts = []
    if worse:
        texts.append(f"{worse:,} {'scores' if worse == 1 else 'score'} higher on another node")
    if refused:
        texts.append(f"{refused:,} {'is' if refused == 1 else 'are'} no longer allowed there")
    if nowhere:
        is_all = nowhere == refused
        texts[-1] += ", nor on any other node" if is_all else f" ({nowhere:,} of them nowhere)"
    return ", ".join(texts)


def in_turn(answer: DriftResult) -> str:
    """The result of moving them one after the other; "" if fewer than two would move."""
    count = answer.summary.worse + answer.summary.not_allowed
    if count < 2:
        return ""
    moved = answer.summary.moved_in_turn
    verb = "ends" if moved == 1 else "end"
    return f"moved one after the other, {moved:,} of these {count:,} pods {verb} on another node"


def _apart(answer: DriftResult, limit: Limit) -> str:
    """A row per pod: those that are not allowed, then the others, the furthest behind first."""
    pods = [pod for pod in answer.pods if pod.verdict in ELSEWHERE]
    pods.sort(key=lambda pod: (pod.verdict is Verdict.WORSE, -pod.behind, pod.pod))
    rows = [
        (
            pod.pod,
            pod.node,
            pod.rejected_by or f"{_points(pod)} points behind",
            pod.best_node or "nowhere",
        )
        for pod in pods
    ]
    headers = ("POD", "ON", "BECAUSE OF", "WOULD GO TO")
    return limit.whole.columns(headers, rows) if rows else ""


def _groups(answer: DriftResult, verdict: Verdict) -> dict[tuple[str, str], list[PodDrift]]:
    """By owner and rejecting plugin."""
    return grouped(
        ((shared_owner(pod.owner), pod.rejected_by or ""), pod)
        for pod in answer.pods
        if pod.verdict is verdict
    )


def _not_allowed(answer: DriftResult, limit: Limit) -> str:
    groups = _groups(answer, Verdict.NOT_ALLOWED)
    rows = [
        (_name(owner, pods), f"{len(pods):,}", plugin, _nodes(pods, limit), _targets(pods, limit))
        for (owner, plugin), pods in sorted(groups.items(), key=lambda group: -len(group[1]))
    ]
    headers = ("NOT ALLOWED", "PODS", "BECAUSE OF", "ON", "WOULD GO TO")
    return limit.cut_columns(headers, rows) if rows else ""


def _worse(answer: DriftResult, limit: Limit) -> str:
    groups = _groups(answer, Verdict.WORSE)
    furthest = {key: max(pods, key=lambda pod: pod.behind) for key, pods in groups.items()}
    rows = [
        (
            _name(owner, pods),
            f"{len(pods):,}",
            _points(furthest[owner, plugin]),
            _nodes(pods, limit),
            _targets(pods, limit),
        )
        for (owner, plugin), pods in sorted(
            groups.items(), key=lambda group: -furthest[group[0]].behind
        )
    ]
    headers = ("WORSE", "PODS", "POINTS BEHIND", "ON", "WOULD GO TO")
    return limit.cut_columns(headers, rows) if rows else ""


def _points(pod: PodDrift) -> str:
    """How far its node is behind the best, and of how many points."""
    return f"{pod.behind:,} of {pod.best_score:,}"


def _name(owner: str, pods: list[PodDrift]) -> str:
    return group_name(owner, [pod.pod for pod in pods])


def _nodes(pods: list[PodDrift], limit: Limit) -> str:
    return limit.listed(tuple(dict.fromkeys(pod.node for pod in pods)))


def _targets(pods: list[PodDrift], limit: Limit) -> str:
    names = tuple(dict.fromkeys(pod.best_node for pod in pods if pod.best_node))
    return limit.listed(names) if names else "nowhere"
