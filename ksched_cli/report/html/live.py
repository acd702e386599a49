"""The page about how the scheduler of a live cluster decided."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from msgspec import structs

from ksched_cli.analysis.audit.audit import AuditResult, AuditSummary, Difference
from ksched_cli.report import audit
from ksched_cli.report.html.charts import bar
from ksched_cli.report.html.columns import column
from ksched_cli.report.html.sections import (
    Bars,
    Grid,
    Group,
    Groups,
    Page,
    Tile,
    present,
    tally,
)
from ksched_cli.report.table import PAGE

# -- audit -----------------------------------------------------------------------------------------


SHOWN = 10
SCORE_HEADERS = ("Plugin", "Really", "Expected", "Difference")


def audit_page(answer: AuditResult) -> Page:
    """The page of an audit: how many real decisions agree, and those that do not, score by
    score."""
    title, *lede = audit.headline(answer, PAGE).split("\n")
    differ, unexplained = answer.differ, answer.unexplained
    tiles = [
        Tile("decisions", f"{answer.decisions:,}"),
        Tile("agree", f"{answer.agree:,}", "good" if answer.agree else ""),
        Tile("differ", f"{len(differ):,}", "bad" if differ else "good"),
        Tile("not to be judged", f"{len(unexplained):,}", "warn" if unexplained else ""),
    ]
    note = "The first ones count most: later ones may follow from them."
    causes = Counter(item.because.partition(":")[0] for item in differ).most_common(SHOWN)
    differences = [
        column("Pod", [item.pod for item in differ]),
        column("Really on", [item.node or "no node" for item in differ]),
        column("Expected on", [", ".join(item.expected) or "no node" for item in differ]),
        column("Because", [item.because for item in differ]),
    ]
    reasons = [
        column("Pod", [item.pod for item in unexplained]),
        column("Reason", [item.reason for item in unexplained]),
    ]
    sections = present(
        Groups("Differences", [_group(item) for item in differ[:SHOWN]], note),
        tally("Because of", ("", "Pods"), causes, "pods"),
        Grid("Table of differences", "differ", differences),
        _grades(answer.summary, answer.agree),
        Grid("What cannot be judged", "unexplained", reasons),
    )
    return Page(title, lede, tiles, sections)


def _group(difference: Difference) -> Group:
    expected = difference.expected
    target = expected[0] if expected else "no node"
    others = f" or one of {len(expected) - 1:,} as good" if len(expected) > 1 else ""
    real = difference.node or "no node"
    return Group(
        difference.pod,
        f"really on {real}, expected on {target}{others}: {difference.because}",
        "differs",
        "bad",
        SCORE_HEADERS if difference.scores else (),
        _scores(difference.scores, real, target),
    )


def _scores(
    scores: Mapping[str, Mapping[str, int]], real: str, expected: str
) -> list[tuple[Any, ...]]:
    """A row per plugin, those that differ most first; where both nodes fit."""
    if real not in scores or expected not in scores:
        return []
    rows = [
        (plugin, points, scores[expected].get(plugin, 0)) for plugin, points in scores[real].items()
    ]
    rows.sort(key=lambda row: -abs(row[2] - row[1]))
    return [(plugin, here, there, there - here) for plugin, here, there in rows]


def _grades(summary: AuditSummary, agree: int) -> Bars:
    bars = [
        bar((grade.replace("_", " ").capitalize(), count), (count,), ("decisions",), agree)
        for grade, count in structs.asdict(summary).items()
        if count
    ]
    return Bars("How decisions agree", ("", "Decisions", ""), bars)
