"""What `record` wrote: the parts, and how to ask about them."""

from __future__ import annotations

from ksched_cli import program_name
from ksched_cli.live.recorder import RecordResult
from ksched_cli.report.table import Limit, counted


def table(answer: RecordResult, limit: Limit) -> str:
    """A headline, and a row per part."""
    rows = [
        (part.timeline, part.state, f"{part.events:,}", f"{part.gaps:,}", f"{part.seconds:,.0f} s")
        for part in answer.parts
    ]
    parts = (
        limit.paragraph(headline(answer)),
        limit.columns(("TIMELINE", "STATE", "EVENTS", "GAPS", "LENGTH"), rows),
        commands(answer),
    )
    return "\n\n".join(parts)


def headline(answer: RecordResult) -> str:
    events = sum(part.events for part in answer.parts)
    gaps = sum(part.gaps for part in answer.parts)
    lost = f", the connection was lost {counted(gaps, 'time')}" if gaps else ""
    return f"recorded {counted(events, 'event')} of {answer.source}{lost}"


def commands(answer: RecordResult) -> str:
    """What asks about the last part, a line each."""
    last, program = answer.parts[-1], program_name()
    return (
        f"{program} replay {last.timeline} --state {last.state}\n"
        f"{program} audit --timeline {last.timeline}"
    )
