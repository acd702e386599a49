"""What `snapshot` and `record` wrote, and how to ask about it."""

from __future__ import annotations

from ksched_cli import program_name
from ksched_cli.live.recorder import RecordResult
from ksched_cli.live.snapshot import SnapshotResult
from ksched_cli.report.table import Limit, apart, counted

# -- snapshot --------------------------------------------------------------------------------------


_KILO, _MEGA = 1_000, 1_000_000


def table(answer: SnapshotResult, limit: Limit) -> str:
    """A headline, and the kinds that there are objects of."""
    rows = [
        (entry.kind, f"{entry.objects:,}", entry.namespace or "all", entry.resource_version)
        for entry in answer.lists
        if entry.objects
    ]
    return apart(
        limit.paragraph(headline(answer)),
        limit.columns(("KIND", "OBJECTS", "NAMESPACES", "RESOURCE VERSION"), rows),
        limit.paragraph(moments(answer)),
    )


def headline(answer: SnapshotResult) -> str:
    count = sum(entry.objects for entry in answer.lists)
    version = f", Kubernetes {answer.server_version}" if answer.server_version else ""
    return (
        f"wrote {answer.file}: {counted(count, 'object')}, {_size(answer.bytes)}\n"
        f"from {answer.source}{version}"
    )


def _size(count: int) -> str:
    return f"{count / _MEGA:,.1f} MB" if count >= _MEGA else f"{count / _KILO:,.0f} kB"


def moments(answer: SnapshotResult) -> str:
    apart = answer.revisions_apart
    if not answer.taken:
        return ""
    if apart is None:
        return "The lists were read one after the other."
    if apart == 0:
        return "The lists are of one revision of the cluster."
    return (
        f"The lists were read one after the other; the last is {counted(apart, 'revision')} newer "
        "than the first."
    )


# -- record ----------------------------------------------------------------------------------------


def recording_table(answer: RecordResult, limit: Limit) -> str:
    """A headline, and a row per part."""
    rows = [
        (part.timeline, part.state, f"{part.events:,}", f"{part.gaps:,}", f"{part.seconds:,.0f} s")
        for part in answer.parts
    ]
    return apart(
        limit.paragraph(recording_headline(answer)),
        limit.columns(("TIMELINE", "STATE", "EVENTS", "GAPS", "LENGTH"), rows),
        recording_commands(answer),
    )


def recording_headline(answer: RecordResult) -> str:
    events = sum(part.events for part in answer.parts)
    gaps = sum(part.gaps for part in answer.parts)
    lost = f", the connection was lost {counted(gaps, 'time')}" if gaps else ""
    return f"recorded {counted(events, 'event')} of {answer.source}{lost}"


def recording_commands(answer: RecordResult) -> str:
    """What asks about the last part, a line each."""
    last, program = answer.parts[-1], program_name()
    return (
        f"{program} replay {last.timeline} --state {last.state}\n"
        f"{program} audit --timeline {last.timeline}"
    )
