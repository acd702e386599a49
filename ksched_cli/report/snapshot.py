"""Answers of `snapshot` and `record`: what was written, and how to ask about it."""

from __future__ import annotations

from ksched_cli import program_name
from ksched_cli.live.recorder import RecordResult
from ksched_cli.live.snapshot import SnapshotResult
from ksched_cli.report.view import (
    Bars,
    Column,
    Command,
    Commands,
    Kind,
    Line,
    Medium,
    Table,
    Tile,
    Tone,
    View,
    table,
)
from ksched_cli.report.words import counted

_KILO, _MEGA = 1_000, 1_000_000

# -- snapshot -------------------------------------------------------------------------------------


def view(answer: SnapshotResult) -> View:
    """Return what the file has, where it is from, and the kinds with objects, the most frequent
    first."""
    lists = sorted((each for each in answer.lists if each.objects), key=lambda each: -each.objects)
    count = sum(each.objects for each in lists)
    version = f", Kubernetes {answer.server_version}" if answer.server_version else ""
    columns = (
        Column("Kind"),
        Column("Objects", Kind.NUMBER),
        Column("Namespaces"),
        Column("Resource version"),
    )
    rows = [
        (each.kind, each.objects, each.namespace or "all", each.resource_version) for each in lists
    ]
    heading = "Objects by kind"
    mega, kilo = f"{answer.bytes / _MEGA:,.1f} MB", f"{answer.bytes / _KILO:,.0f} kB"
    size = mega if answer.bytes >= _MEGA else kilo
    # Lists from a cluster were read at one revision, or one after the other.
    read, revisions = f"read from {answer.taken} on", answer.revisions_apart
    if not answer.taken:
        read = ""
    elif revisions == 0:
        read += ", all lists at one revision of the cluster"
    else:
        read += ", one list after the other"
        if revisions is not None:
            newer = counted(revisions, "revision")
            read += f"; the last is {newer} newer than the first"
    return View(
        title=f"wrote {answer.file}: {counted(count, 'object')}, {size}",
        lines=[f"from {answer.source}{version}", Line(read, Tone.SOFT)],
        tiles=[Tile("objects", f"{count:,}"), Tile("kinds", f"{len(lists):,}")],
        sections=[
            Table(heading=heading, columns=columns, rows=rows, on=Medium.TEXT),
            Bars(
                heading=heading,
                columns=columns,
                rows=rows,
                values=[(each.objects,) for each in lists],
                legend=("objects",),
            ),
        ],
    )


# -- record ---------------------------------------------------------------------------------------


def recording(answer: RecordResult) -> View:
    """Return how much was recorded, a row per part, and the commands that ask about the last
    part."""
    events = sum(part.events for part in answer.parts)
    gaps = sum(part.gaps for part in answer.parts)
    lost = f", the connection was lost {counted(gaps, 'time')}" if gaps else ""
    last, program = answer.parts[-1], program_name()
    return View(
        title=f"recorded {counted(events, 'event')} of {answer.source}{lost}",
        tone=Tone.WARN if gaps else Tone.NONE,
        tiles=[
            Tile("events", f"{events:,}"),
            Tile("times the connection was lost", f"{gaps:,}", "warn" if gaps else "good"),
        ],
        sections=[
            table(
                "Parts",
                answer.parts,
                (Column("Timeline"), lambda part: part.timeline),
                (Column("State at its start"), lambda part: part.state),
                (Column("Events", Kind.NUMBER), lambda part: part.events),
                (Column("Gaps", Kind.NUMBER), lambda part: part.gaps),
                (Column("Length", Kind.DURATION), lambda part: part.seconds),
            ),
            Commands(
                heading="Ask about it",
                commands=[
                    Command(f"{program} replay {last.timeline} --state {last.state}"),
                    Command(f"{program} audit --timeline {last.timeline}"),
                ],
            ),
        ],
    )
