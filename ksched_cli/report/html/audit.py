"""The page of an audit: how many real decisions agree, and those that do not, score by score."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from ksched_cli.report.html.any_kind import title_of
from ksched_cli.report.html.charts import bar
from ksched_cli.report.html.columns import column
from ksched_cli.report.html.sections import Bars, Grid, Group, Groups, Page, Section, Tile

SHOWN = 10
SCORE_HEADERS = ("Plugin", "Really", "Expected", "Difference")


def page(document: Mapping[str, Any], headline: str, figures: Mapping[str, Any]) -> Page:
    """headline: the verdict"""
    title, *lede = headline.split("\n")
    differ, unexplained = document["differ"], document["unexplained"]
    tiles = [
        Tile("decisions", f"{document['decisions']:,}"),
        Tile("agree", f"{document['agree']:,}", "good" if document["agree"] else ""),
        Tile("differ", f"{len(differ):,}", "bad" if differ else "good"),
        Tile("not to be judged", f"{len(unexplained):,}", "warn" if unexplained else ""),
    ]
    sections: list[Section] = []
    if differ:
        note = "The first ones count most: later ones may follow from them."
        sections.append(Groups("Differences", [_group(item) for item in differ[:SHOWN]], note))
        sections.append(_causes(differ))
        sections.append(Grid("Table of differences", "differ", _columns(differ)))
    if document["agree"]:
        sections.append(_grades(document["summary"], document["agree"]))
    if unexplained:
        columns = [
            column("Pod", [item["pod"] for item in unexplained]),
            column("Reason", [item["reason"] for item in unexplained]),
        ]
        sections.append(Grid("What cannot be judged", "unexplained", columns))
    return Page(title, lede, tiles, sections)


def _group(difference: Mapping[str, Any]) -> Group:
    expected = difference["expected"]
    target = expected[0] if expected else "no node"
    others = f" or one of {len(expected) - 1:,} as good" if len(expected) > 1 else ""
    real = difference["node"] or "no node"
    return Group(
        difference["pod"],
        f"really on {real}, expected on {target}{others}: {difference['because']}",
        "differs",
        "bad",
        SCORE_HEADERS if difference["scores"] else (),
        _scores(difference["scores"], real, target),
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


def _causes(differ: Sequence[Mapping[str, Any]]) -> Bars:
    counts = Counter(item["because"].partition(":")[0] for item in differ).most_common(SHOWN)
    bars = [bar((cause, count), (count,), ("pods",), counts[0][1]) for cause, count in counts]
    return Bars("Because of", ("", "Pods", ""), bars)


def _grades(summary: Mapping[str, int], agree: int) -> Bars:
    bars = [
        bar((title_of(grade), count), (count,), ("decisions",), agree)
        for grade, count in summary.items()
        if count
    ]
    return Bars("How decisions agree", ("", "Decisions", ""), bars)


def _columns(differ: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    return [
        column("Pod", [item["pod"] for item in differ]),
        column("Really on", [item["node"] or "no node" for item in differ]),
        column("Expected on", [", ".join(item["expected"]) or "no node" for item in differ]),
        column("Because", [item["because"] for item in differ]),
    ]
