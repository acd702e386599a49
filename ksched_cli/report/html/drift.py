"""The page of a drift: how many pods are where they would go today, and where the others would."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

from ksched_cli.analysis.drift import ELSEWHERE, DriftResult, PodDrift, Verdict
from ksched_cli.report.drift import headline
from ksched_cli.report.html.charts import bar
from ksched_cli.report.html.columns import Kind, column, filled
from ksched_cli.report.html.sections import Bars, Grid, Page, Section, Tile

VERDICTS = {
    Verdict.BEST: ("on the best node", "good"),
    Verdict.TIED: ("on one as good as the best", "good"),
    Verdict.WORSE: ("on a worse one", "warn"),
    Verdict.NOT_ALLOWED: ("not allowed there", "bad"),
}
IN_TURN = (
    "Each decided with those before it moved: pods that are not allowed first, then the furthest "
    "behind. Pods that would stay then, and those with devices, are left out."
)
STEPS = (1, 5, 10, 20, 50, 100, 200)  # points behind the best node


def page(answer: DriftResult) -> Page:
    title, *lede = headline(answer).split("\n")
    pods, summary = answer.pods, answer.summary
    tiles = [Tile("running", f"{summary.running:,}")]
    tiles += [
        Tile(name, f"{count:,}", tone if count else "")
        for count, (name, tone) in (
            (getattr(summary, verdict.name.lower()), shown) for verdict, shown in VERDICTS.items()
        )
    ]
    sections: list[Section] = []
    elsewhere = [pod for pod in pods if pod.verdict in ELSEWHERE]
    if any(pod.verdict is Verdict.WORSE for pod in pods):
        sections.append(_behind([pod for pod in pods if pod.verdict is Verdict.WORSE]))
    if any(pod.rejected_by for pod in pods):
        sections.append(_rejected(pods))
    if elsewhere:
        pairs = ((pod.node, pod.best_node or "nowhere") for pod in elsewhere)
        sections.append(moves("Would move, each on its own", ("From", "To"), pairs))
        in_turn = [pod for pod in elsewhere if pod.in_turn not in (None, pod.node)]
        if in_turn and len(elsewhere) > 1:
            pairs = ((pod.node, pod.in_turn or "") for pod in in_turn)
            sections.append(moves("Would move in turn", ("From", "To"), pairs, IN_TURN))
    if pods:
        sections.append(Grid("Table of pods", "pods", _columns(pods)))
    return Page(title, lede, tiles, sections)


def _behind(pods: Sequence[PodDrift]) -> Bars:
    """How far the pods' nodes are behind the best, from the first step with pods to the last."""
    counts = [0] * len(STEPS)
    for pod in pods:
        counts[sum(pod.behind >= step for step in STEPS) - 1] += 1
    names = [f"{low:,} to {high - 1:,}" for low, high in pairwise(STEPS)]
    names = [*names, f"{STEPS[-1]:,} and more"]
    filled = [step for step, count in enumerate(counts) if count]
    bars = [
        bar((names[step], counts[step]), (counts[step],), ("pods",), max(counts))
        for step in range(filled[0], filled[-1] + 1)
    ]
    best = [pod.best_score for pod in pods if pod.best_score is not None]
    ends = " to ".join(f"{end:,}" for end in dict.fromkeys((min(best), max(best))))
    note = f"Points are weighted scores of all plugins; the best node has {ends} for these pods."
    return Bars("How far behind the best node", ("Points behind", "Pods", ""), bars, note=note)


def _rejected(pods: Sequence[PodDrift]) -> Bars:
    counts = Counter(pod.rejected_by for pod in pods if pod.rejected_by).most_common()
    bars = [bar((plugin, count), (count,), ("pods",), counts[0][1]) for plugin, count in counts]
    return Bars("Not allowed today because of", ("Plugin", "Pods", ""), bars)


def _columns(pods: Sequence[PodDrift]) -> list[dict[str, Any]]:
    behind = [None if pod.score is None or pod.best_score is None else pod.behind for pod in pods]
    return filled([
        column("Pod", [pod.pod for pod in pods]),
        column("Owner", [pod.owner for pod in pods]),
        column("Verdict", [VERDICTS[pod.verdict][0] for pod in pods]),
        column("On", [pod.node for pod in pods]),
        column("Would go to", [_target(pod) for pod in pods]),
        column("Moved in turn", [pod.in_turn or "nowhere" for pod in pods]),
        column("Rank", [pod.rank for pod in pods], Kind.NUMBER),
        column("Score", [pod.score for pod in pods], Kind.NUMBER),
        column("Points behind", behind, Kind.NUMBER),
        column("Rejected by", [pod.rejected_by for pod in pods]),
    ])  # fmt: skip


def _target(pod: PodDrift) -> str:
    """Where it would go; kube-scheduler draws one of equally good nodes."""
    if pod.verdict is Verdict.TIED:
        return f"{pod.node}, or one as good"
    return pod.best_node or "nowhere"


SHOWN_MOVES = 25


def moves(
    heading: str, headers: tuple[str, str], pairs: Iterable[tuple[str, str]], note: str = ""
) -> Bars:
    """headers: of where from and where to; pairs: of each pod. Too many pairs are put together by
    where the pods go."""
    counts = Counter(pairs)
    if len(counts) > SHOWN_MOVES:
        counts = _by_target(counts)
    rows = counts.most_common()
    most = rows[0][1] if rows else 0
    bars = [bar((*pair, count), (count,), ("pods",), most) for pair, count in rows[:SHOWN_MOVES]]
    rest = len(rows) - len(bars)
    note += f" {rest:,} more; the table of pods has all." if rest else ""
    return Bars(heading, (*headers, "Pods", ""), bars, note=note.strip())


def _by_target(counts: Counter[tuple[str, str]]) -> Counter[tuple[str, str]]:
    """Where the pods of a target come from several places, how many these are."""
    sources: dict[str, list[str]] = {}
    pods: Counter[str] = Counter()
    for (source, target), count in counts.items():
        sources.setdefault(target, []).append(source)
        pods[target] += count
    return Counter(
        {
            (names[0] if len(names) == 1 else f"{len(names):,} places", target): pods[target]
            for target, names in sources.items()
        }
    )
