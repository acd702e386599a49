"""An answer of `drift`: how many pods are where they would go today, and where the others are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise

from ksched_cli.analysis.drift import ELSEWHERE, DriftResult, PodDrift, Verdict
from ksched_cli.report.pending import group_name, shared_owner
from ksched_cli.report.view import (
    Bars,
    Column,
    Kind,
    Later,
    Line,
    Medium,
    Section,
    Table,
    Tile,
    Tone,
    View,
    bars,
    table,
)
from ksched_cli.report.words import counted, grouped, verb

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
SHOWN_MOVES = 25


def view(answer: DriftResult) -> View:
    """The counts; the pods that may not be where they are, by owner and plugin; those that would go
    elsewhere, by owner, the furthest behind first. In the wide form, a row for each of these
    pods."""
    title, *lines = _verdict(answer)
    summary = answer.summary
    counts = {
        Verdict.BEST: summary.best,
        Verdict.TIED: summary.tied,
        Verdict.WORSE: summary.worse,
        Verdict.NOT_ALLOWED: summary.not_allowed,
    }
    return View(
        title=title.text,
        tone=title.tone,
        lines=lines,
        tiles=[
            Tile("running", f"{summary.running:,}"),
            *(
                Tile(VERDICTS[each][0], f"{count:,}", VERDICTS[each][1] * bool(count))
                for each, count in counts.items()
            ),
        ],
        sections=[
            _owners("No longer allowed where they run", answer, Verdict.NOT_ALLOWED),
            _owners("Better elsewhere", answer, Verdict.WORSE),
            table(
                "Not on a best node",
                sorted(
                    _elsewhere(answer),
                    key=lambda pod: (pod.verdict is Verdict.WORSE, -pod.behind, pod.pod),
                ),
                (Column("Pod", Kind.POD), lambda pod: pod.pod),
                (Column("On", Kind.NODE), lambda pod: pod.node),
                (
                    Column("Because of"),
                    lambda pod: (
                        pod.rejected_by or f"{pod.behind:,} of {pod.best_score:,} points behind"
                    ),
                ),
                (Column("Would go to"), lambda pod: pod.best_node or "nowhere"),
                on=Medium.WIDE,
            ),
            Later(make=lambda: _page_sections(answer)),
        ],
        names=lambda: [pod.pod for pod in _elsewhere(answer)],
        nodes=[name for pod in answer.pods for name in (pod.node, pod.best_node) if name],
    )


def _elsewhere(answer: DriftResult) -> list[PodDrift]:
    return [pod for pod in answer.pods if pod.verdict in ELSEWHERE]


# -- the verdict ----------------------------------------------------------------------------------


def _verdict(answer: DriftResult) -> Iterator[Line]:
    """How many pods would not be placed where they run, and why; where the others are."""
    summary = answer.summary
    running = counted(summary.running, "running pod")
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
        worse, refused, why = summary.worse, summary.not_allowed, list[str]()
        nowhere = sum(pod.best_node is None for pod in answer.pods)
        if worse:
            why.append(f"{worse:,} {verb(worse, 'scores', 'score')} higher on another node")
        if refused:
            why.append(f"{refused:,} {verb(refused, 'is', 'are')} no longer allowed there")
        if nowhere:
            is_all = nowhere == refused
            why[-1] += ", nor on any other node" if is_all else f" ({nowhere:,} of them nowhere)"
        placed = f"be placed where {verb(leaving, 'it runs', 'they run')}"
        tone = Tone.BAD if answer.undecided else Tone.WARN
        yield Line(f"{leaving:,} of {running} would not {placed}: {', '.join(why)}", tone)
        if staying:
            yield Line(f"the others: {', '.join(staying)}", Tone.SOFT)
        # Several are also moved one after the other.
        if leaving > 1:
            yield Line(
                f"moved one after the other, {summary.moved_in_turn:,} of these {leaving:,} pods "
                f"{verb(summary.moved_in_turn, 'ends', 'end')} on another node"
            )
    elif summary.running:
        placed = f"be placed where {verb(summary.running, 'it runs', 'they run')}"
        yield Line(f"{running} would {placed}: {', '.join(staying)}", Tone.GOOD)
    else:
        yield Line("No running pod to ask about")
    if answer.ignored:
        yield Line(f"{len(answer.ignored):,} left out", Tone.SOFT)


# -- tables ---------------------------------------------------------------------------------------


def _owners(heading: str, answer: DriftResult, verdict: Verdict) -> Table:
    """Return a row per owner and rejecting plugin: of the most pods first, of those that are
    allowed the furthest behind."""
    groups = grouped(
        ((shared_owner(pod.owner), pod.rejected_by or ""), pod)
        for pod in answer.pods
        if pod.verdict is verdict
    )
    is_worse = verdict is Verdict.WORSE
    order: Callable[[list[PodDrift]], int] = (
        (lambda pods: -_furthest(pods).behind) if is_worse else (lambda pods: -len(pods))
    )
    why = (
        (
            Column("Points behind", Kind.NUMBER),
            lambda each: (_furthest(each[1]).behind, _furthest(each[1]).best_score),
        )
        if is_worse
        else (Column("Because of"), lambda each: each[0][1])
    )
    return table(
        heading,
        sorted(groups.items(), key=lambda group: order(group[1])),
        (
            Column("Owner", Kind.OWNER),
            lambda each: group_name(each[0][0], [pod.pod for pod in each[1]]),
        ),
        (Column("Pods", Kind.NUMBER), lambda each: len(each[1])),
        why,
        (Column("On", Kind.NODE), lambda each: _distinct(pod.node for pod in each[1])),
        (
            Column("Would go to"),
            lambda each: _distinct(pod.best_node for pod in each[1]) or "nowhere",
        ),
        noun="owners",
        on=Medium.BRIEF | Medium.WHOLE,
    )


def _furthest(pods: Sequence[PodDrift]) -> PodDrift:
    return max(pods, key=lambda pod: pod.behind)


def _distinct(names: Iterable[str | None]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(filter(None, names)))


# -- sections of the page -------------------------------------------------------------------------


def _page_sections(answer: DriftResult) -> Iterator[Section]:
    worse = [pod for pod in answer.pods if pod.verdict is Verdict.WORSE]
    elsewhere = _elsewhere(answer)
    if worse:
        # Bars begin at the first step with pods and end at the last.
        counts = [0] * len(STEPS)
        for pod in worse:
            counts[sum(pod.behind >= step for step in STEPS) - 1] += 1
        names = [f"{low:,} to {high - 1:,}" for low, high in pairwise(STEPS)]
        names.append(f"{STEPS[-1]:,} and more")
        taken = [step for step, count in enumerate(counts) if count]
        rows = [(names[step], counts[step]) for step in range(taken[0], taken[-1] + 1)]
        best = [pod.best_score for pod in worse if pod.best_score is not None]
        ends = " to ".join(f"{end:,}" for end in dict.fromkeys((min(best), max(best))))
        yield bars(
            "How far behind the best node",
            (Column("Points behind"), Column("Pods", Kind.NUMBER)),
            rows,
            ("pods",),
            f"Points are weighted scores of all plugins; the best node has {ends} for these pods.",
        )
    rejected = Counter(pod.rejected_by for pod in answer.pods if pod.rejected_by).most_common()
    columns = Column("Plugin"), Column("Pods", Kind.NUMBER)
    yield bars("Not allowed today because of", columns, rejected, ("pods",))
    alone = ((pod.node, pod.best_node or "nowhere") for pod in elsewhere)
    yield moves("Would move, each on its own", alone)
    several = elsewhere if len(elsewhere) > 1 else ()
    moved = [pod for pod in several if pod.in_turn not in (None, pod.node)]
    yield moves("Would move in turn", ((pod.node, pod.in_turn or "") for pod in moved), IN_TURN)
    yield table(
        "Table of pods",
        answer.pods,
        (Column("Pod", Kind.POD), lambda pod: pod.pod),
        (Column("Owner", Kind.OWNER), lambda pod: pod.owner),
        (Column("Verdict"), lambda pod: VERDICTS[pod.verdict][0]),
        (Column("On", Kind.NODE), lambda pod: pod.node),
        # kube-scheduler draws one of equally good nodes.
        (
            Column("Would go to"),
            lambda pod: (
                f"{pod.node}, or one as good"
                if pod.verdict is Verdict.TIED
                else pod.best_node or "nowhere"
            ),
        ),
        (Column("Moved in turn"), lambda pod: pod.in_turn or "nowhere"),
        (Column("Rank", Kind.NUMBER), lambda pod: pod.rank),
        (Column("Score", Kind.NUMBER), lambda pod: pod.score),
        (
            Column("Points behind", Kind.NUMBER),
            lambda pod: None if None in (pod.score, pod.best_score) else pod.behind,
        ),
        (Column("Rejected by"), lambda pod: pod.rejected_by),
        grid="pods",
    )


def moves(heading: str, pairs: Iterable[tuple[str, str]], note: str = "") -> Bars:
    """Show how many pods go from where to where. pairs: of each pod. Too many pairs are put
    together by where the pods go."""
    counts = Counter(pairs)
    if len(counts) > SHOWN_MOVES:
        # Where the pods of a target come from several places, these are counted.
        sources = grouped((target, source) for source, target in counts)
        pods: Counter[str] = Counter()
        for (_, target), count in counts.items():
            pods[target] += count
        counts = Counter()
        for target, names in sources.items():
            source = names[0] if len(names) == 1 else f"{len(names):,} places"
            counts[source, target] = pods[target]
    rows = [(*pair, count) for pair, count in counts.most_common(SHOWN_MOVES)]
    rest = len(counts) - len(rows)
    note += f" {rest:,} more; the table of pods has all." if rest else ""
    columns = Column("From"), Column("To"), Column("Pods", Kind.NUMBER)
    return bars(heading, columns, rows, ("pods",), note.strip())
