"""The pages about live clusters: what was read of one."""

from __future__ import annotations

from ksched_cli.live.recorder import RecordResult
from ksched_cli.live.snapshot import SnapshotResult
from ksched_cli.report import snapshot
from ksched_cli.report.html.charts import bar
from ksched_cli.report.html.sections import (
    Bars,
    Page,
    Prose,
    Section,
    Table,
    Tile,
    present,
)

# -- snapshot, record ------------------------------------------------------------------------------


def snapshot_page(answer: SnapshotResult) -> Page:
    title, *lede = snapshot.headline(answer).split("\n")
    lists = [entry for entry in answer.lists if entry.objects]
    most = max((entry.objects for entry in lists), default=0)
    bars = [
        bar(
            (entry.kind, entry.objects, entry.namespace or "all", entry.resource_version),
            (entry.objects,),
            ("objects",),
            most,
        )
        for entry in sorted(lists, key=lambda entry: -entry.objects)
    ]
    headers = ("Kind", "Objects", "Namespaces", "Resource version", "")
    moments = snapshot.moments(answer)
    read = (f"From {answer.taken} on. {moments}",) if moments else ()
    sections = present(Bars("Objects by kind", headers, bars), Prose("When they were read", read))
    tiles = [
        Tile("objects", f"{sum(entry.objects for entry in lists):,}"),
        Tile("kinds", f"{len(lists):,}"),
    ]
    return Page(title, lede, tiles, sections)


def record_page(answer: RecordResult) -> Page:
    gaps = sum(part.gaps for part in answer.parts)
    tiles = [
        Tile("events", f"{sum(part.events for part in answer.parts):,}"),
        Tile("times the connection was lost", f"{gaps:,}", "warn" if gaps else "good"),
    ]
    rows = [
        (part.timeline, part.state, part.events, part.gaps, f"{part.seconds:,.0f} s")
        for part in answer.parts
    ]
    headers = ("Timeline", "State at its start", "Events", "Gaps", "Length")
    sections: list[Section] = [
        Table("Parts", headers, rows),
        Prose("Ask about it", (snapshot.recording_commands(answer),), "code"),
    ]
    return Page(snapshot.recording_headline(answer), (), tiles, sections)
