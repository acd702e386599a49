"""What `record` wrote: the parts, and how to ask about them."""

from __future__ import annotations

from ksched_cli import program_name
from ksched_cli.live.recorder import RecordResult
from ksched_cli.report.table import Limit, columns, counted, paragraph


def table(answer: RecordResult, limit: Limit) -> str:
    """A headline, and a row per part."""
    events = sum(part.events for part in answer.parts)
    gaps = sum(part.gaps for part in answer.parts)
    lost = f", the connection was lost {counted(gaps, 'time')}" if gaps else ""
    rows = [
        (part.timeline, part.state, f"{part.events:,}", f"{part.gaps:,}", f"{part.seconds:,.0f} s")
        for part in answer.parts
    ]
    last = answer.parts[-1]
    program = program_name()
    parts = (
        paragraph(f"recorded {counted(events, 'event')} of {answer.source}{lost}", limit),
        columns(("TIMELINE", "STATE", "EVENTS", "GAPS", "LENGTH"), rows, limit),
        f"{program} replay {last.timeline} --state {last.state}\n"
        f"{program} audit --timeline {last.timeline}",
    )
    return "\n\n".join(parts)
