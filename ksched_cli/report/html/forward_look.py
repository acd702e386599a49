"""The page of `replay --from-now`."""

from __future__ import annotations

from ksched_cli.analysis.forward_look import ForwardLook
from ksched_cli.report.forward_look import assumption_lines, headline, start_text, time_text
from ksched_cli.report.html.sections import Page, Prose, Section, Table, Tile


def page(answer: ForwardLook) -> Page:
    sure = sum(pod.p90 is not None for pod in answer.pods)
    never = sum(not pod.started and not pod.gated for pod in answer.pods)
    tiles = [
        Tile("start in nine of ten draws", f"{sure:,}", "good" if sure else ""),
        Tile("never start", f"{never:,}", "bad" if never else ""),
        Tile("draws", f"{answer.draws:,}"),
    ]
    rows = [
        (
            pod.pod,
            pod.owner,
            pod.priority,
            time_text(pod.p50),
            time_text(pod.p90),
            start_text(pod),
            pod.message,
        )
        for pod in answer.pods
    ]
    headers = ("Pod", "Owner", "Priority", "Starts in, p50", "p90", "In draws", "Message")
    sections: list[Section] = [Table("Pending pods", headers, rows)] if rows else []
    if lines := assumption_lines(answer.assumptions):
        sections.append(Prose("Assumed", lines))
    return Page(headline(answer), (), tiles, sections)
