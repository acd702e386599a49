"""An answer of `audit`: how many real decisions are ksched's, which are not, and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ksched_cli.analysis.audit.audit import AuditResult, Difference
from ksched_cli.analysis.audit.decisions import Grade, OrderSource
from ksched_cli.report.view import (
    Block,
    Column,
    Groups,
    Kind,
    Line,
    Medium,
    Table,
    Tile,
    Tone,
    View,
    bars,
    table,
)
from ksched_cli.report.words import counted, grouped, verb

# The first ones count most: later ones may follow from them.
SHOWN_DIFFERENCES = 5
SHOWN_ON_PAGE = 10

_GRADES = {
    Grade.BEST: "on the one best node",
    Grade.TIED: "on one of several equally good nodes",
    Grade.SAMPLED: "on the best of the nodes that kube-scheduler may have evaluated",
    Grade.BATCHED: "on the next node in the ranking of an identical pod before it",
    Grade.REORDERED: "a moment before their place in the recording",
    Grade.NOMINATED: "on the nominated node",
    Grade.PREEMPTS: "evict the same pods",
    Grade.REFUSED: "fit on no node, and got none",
}
_ORDERS = {
    OrderSource.LOG: "in the order of the scheduler's log",
    OrderSource.RECORDING: "in the order of the recording",
}


def view(answer: AuditResult) -> View:
    """Return how many decisions differ; which ones, those of one likely cause together; what cannot
    be judged, by reason; how the others agree."""
    differ, unexplained = len(answer.differ), len(answer.unexplained)
    total = counted(answer.decisions, "decision")
    if not answer.decisions:
        title, tone = "No decisions in between", Tone.WARN
    elif differ:
        title, tone = f"{differ:,} of {total} {verb(differ, 'differs', 'differ')}", Tone.BAD
    else:
        title, tone = f"{total}, no difference", Tone.GOOD
    lines = []
    if unexplained:
        lines.append(Line(f"{counted(unexplained, 'pod')} cannot be judged", Tone.WARN))
    if answer.decisions:
        lines.append(Line(f"followed {_ORDERS[answer.order]}", Tone.SOFT))
    alike = {group.node for group in answer.groups}
    alone = [
        each for each in answer.differ if len(each.expected) != 1 or each.expected[0] not in alike
    ]
    # The first decisions have the scores of both nodes if both fit: what differs most comes first.
    first = []
    for difference in answer.differ[:SHOWN_ON_PAGE]:
        real, expected = difference.node or "no node", difference.expected
        target = expected[0] if expected else "no node"
        others = f" or one of {len(expected) - 1:,} as good" if len(expected) > 1 else ""
        scores, rows = difference.scores, []
        if real in scores and target in scores:
            rows = [
                (plugin, points, other, other - points)
                for plugin, points in scores[real].items()
                for other in (scores[target].get(plugin, 0),)
            ]
            rows.sort(key=lambda row: -abs(row[-1]))
        of_scores = [
            Column("Plugin"),
            Column("Really", Kind.NUMBER),
            Column("Expected", Kind.NUMBER),
            Column("Difference", Kind.NUMBER),
        ]
        block = Block(
            heading=difference.pod,
            state="differs",
            tone=Tone.BAD,
            lines=[f"really on {real}, expected on {target}{others}: {difference.because}"],
            sections=[Table(columns=of_scores, rows=rows)],
        )
        first.append(block)
    causes = Counter(each.because.partition(":")[0] for each in answer.differ)
    grades = [
        (text, count)
        for grade, text in _GRADES.items()
        if (count := getattr(answer.summary, grade.value))
    ]
    grade_columns = Column("How"), Column("Decisions", Kind.NUMBER)
    return View(
        title=title,
        tone=tone,
        lines=lines,
        tiles=[
            Tile("decisions", f"{answer.decisions:,}"),
            Tile("agree", f"{answer.agree:,}", "good" if answer.agree else ""),
            Tile("differ", f"{differ:,}", "bad" if differ else "good"),
            Tile("not to be judged", f"{unexplained:,}", "warn" if unexplained else ""),
        ],
        sections=[
            table(
                "Differ alike",
                answer.groups,
                (Column("Pods", Kind.NUMBER), lambda each: len(each.pods)),
                (Column("Expected on", Kind.NODE), lambda each: each.node),
                (Column("Likely because"), lambda each: each.because),
                (Column("Names", Kind.POD), lambda each: each.pods),
                noun="groups",
            ),
            _differences("Differ alone" if alike else "Differ", alone, Medium.BRIEF),
            Groups(
                heading="Differences",
                blocks=first,
                note="The first ones count most: later ones may follow from them.",
                on=Medium.PAGE,
            ),
            bars(
                "Because of",
                (Column("Cause"), Column("Pods", Kind.NUMBER)),
                causes.most_common(SHOWN_ON_PAGE),
                ("pods",),
            ),
            _differences("All that differ", answer.differ, Medium.ALL & ~Medium.BRIEF),
            table(
                "Not judged",
                grouped((each.reason, each.pod) for each in answer.unexplained).items(),
                (Column("Pods", Kind.NUMBER), lambda each: len(each[1])),
                (Column("Because"), lambda each: each[0]),
                (Column("Names", Kind.POD), lambda each: tuple(each[1])),
                noun="reasons",
                on=Medium.TEXT,
            ),
            Table(heading="Agree", columns=grade_columns, rows=grades, on=Medium.TEXT),
            bars("How decisions agree", grade_columns, grades, ("decisions",)),
            table(
                "What cannot be judged",
                answer.unexplained,
                (Column("Pod", Kind.POD), lambda each: each.pod),
                (Column("Reason"), lambda each: each.reason),
                grid="unexplained",
                on=Medium.PAGE,
            ),
        ],
        names=lambda: [*dict.fromkeys(difference.pod for difference in answer.differ)],
        nodes=[
            name for each in answer.differ for name in (each.node or "", *each.expected) if name
        ],
    )


def _differences(heading: str, differ: Sequence[Difference], on: Medium) -> Table:
    return table(
        heading,
        differ,
        (Column("Pod", Kind.POD), lambda each: each.pod),
        (Column("Really on"), lambda each: each.node or "no node"),
        (Column("Expected on"), lambda each: each.expected or "no node"),
        (Column("Because"), lambda each: each.because),
        brief=SHOWN_DIFFERENCES,
        noun="decisions that differ",
        grid="differ",
        on=on,
    )
