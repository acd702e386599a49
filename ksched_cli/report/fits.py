"""An answer of `capacity -f`: whether the pods of manifests fit, how many more, and what limits
them."""

from __future__ import annotations

import shlex

from ksched_cli import program_name
from ksched_cli.analysis.fits import FitResult, FittedWorkload
from ksched_cli.report.pending import nodes_of, pending_groups
from ksched_cli.report.reasons import message_line, reasons_table, why_not
from ksched_cli.report.view import (
    Column,
    Command,
    Commands,
    Kind,
    Line,
    Medium,
    Section,
    Text,
    Tile,
    Tone,
    View,
    table,
)
from ksched_cli.report.words import counted, listed, verb, with_counts

SHOWN_NAMES, SHOWN_REASONS = 3, 4
SHOWN_ROWS = 10
LIMITS = "What limits the next"


def view(answer: FitResult) -> View:
    """Return the verdict, each workload with how many more of it fit, and what stops the next."""
    fits = answer.fit == answer.pods
    lines = []
    if answer.gated:
        pods = counted(len(answer.gated), "pod")
        are = verb(len(answer.gated), "is", "are")
        names = listed(answer.gated, SHOWN_NAMES)
        lines.append(Line(f"{pods} {are} gated and not counted: {names}"))
    if answer.displaced:
        pods = counted(len(answer.displaced), "pending pod")
        names = listed(answer.displaced, SHOWN_NAMES)
        text = f"{pods} would get a node only without these: {names}"
        lines.append(Line(text, Tone.WARN))
    is_counted = any(workload.more is not None for workload in answer.workloads)
    more = (Column("More", Kind.NUMBER), lambda each: each.more)
    sections: list[Section] = [
        table(
            "",
            answer.workloads,
            (Column("Workload", Kind.OWNER), lambda each: each.owner),
            (Column("Wanted", Kind.NUMBER), lambda each: each.pods),
            (Column("Fit", Kind.NUMBER), lambda each: each.fit),
            *([more] if is_counted else ()),
            # Those that take the most come first.
            (
                Column("On nodes", drop=1),
                lambda each: with_counts(
                    dict(sorted(each.nodes.items(), key=lambda item: (-item[1], item[0])))
                ),
            ),
            brief=SHOWN_ROWS,
            noun="workloads",
        ),
        pending_groups("Why the others do not fit", answer.pending, with_reasons=True),
    ]
    # One workload shows what stops its next copy by reason, several the first reason of each.
    heading = "Why the others need evictions" if answer.fit < answer.pods else LIMITS
    limited = [each for each in answer.workloads if each.limited_by and each.stopped_at is None]
    if not answer.pending and len(answer.workloads) > 1:
        of_each = table(
            heading,
            limited,
            (Column("Workload", Kind.OWNER), lambda each: each.owner),
            (Column("Because"), _first_reason),
            brief=SHOWN_ROWS,
            noun="workloads",
        )
        sections.append(of_each)
    elif not answer.pending:
        for workload in limited:
            cause, reasons = workload.cause, workload.reasons
            is_explained = bool(reasons or cause)
            sections += [
                Text(heading=heading, lines=[Line(cause)] if cause else []),
                reasons_table(reasons, "" if cause else heading, brief=SHOWN_REASONS),
                Text(
                    heading="" if is_explained else heading,
                    lines=[message_line(workload.limited_by)],
                    on=Medium.ALL & ~Medium.BRIEF if is_explained else Medium.ALL,
                ),
            ]
    change = f"--change {shlex.quote(f'apply -f {shlex.quote(answer.file)}')}"
    command = f"{program_name()} capacity --pending --like NODE {change}"
    next_command = Command(command, "says how many more nodes they need")
    sections += [
        table(
            "Evicted for them",
            answer.evictions,
            (Column("Pod", Kind.POD), lambda each: each.pod),
            (Column("From", Kind.NODE), lambda each: each.node),
            (Column("For", Kind.POD), lambda each: each.preemptor),
            brief=SHOWN_ROWS,
            noun="evictions",
        ),
        table(
            "Where they go",
            [(each.owner, *item) for each in answer.workloads for item in each.nodes.items()],
            (Column("Workload", Kind.OWNER), lambda each: each[0]),
            (Column("Node", Kind.NODE), lambda each: each[1]),
            (Column("Pods", Kind.NUMBER), lambda each: each[2]),
            grid="nodes",
            on=Medium.WIDE | Medium.PAGE,
        ),
        Commands(
            heading="What to try next",
            commands=[next_command] if answer.pending and answer.file else [],
        ),
    ]
    return View(
        title=_title(answer),
        tone=Tone.GOOD if fits else Tone.WARN if answer.fit_after_evictions else Tone.BAD,
        lines=lines,
        tiles=[
            Tile("wanted", f"{answer.pods:,}"),
            Tile("fit", f"{answer.fit:,}", "good" if fits else "bad"),
            *([] if fits else [Tile("after evictions", f"{answer.fit_after_evictions:,}")]),
        ],
        sections=sections,
        names=lambda: [pod for group in answer.pending for pod in group.pods],
        nodes=[
            *(node for workload in answer.workloads for node in workload.nodes),
            *(
                reason.nearest.node
                for workload in answer.workloads
                for reason in workload.reasons
                if reason.nearest
            ),
            *nodes_of(answer.pending),
        ],
    )


def _title(answer: FitResult) -> str:
    """Return the answer in a sentence."""
    count, fit, later = answer.pods, answer.fit, answer.fit_after_evictions
    if not count:
        return f"nothing new to place{_more(answer)}"
    if fit == count:
        return f"{'it fits' if count == 1 else f'all {count:,} fit'}{_more(answer)}"
    share = f"{fit or 'none'} of the {count:,} wanted" if count > 1 else "it"
    fits = "does not fit" if count == 1 else verb(fit or 1, "fits", "fit")
    if later <= fit:
        return f"{share} {fits}, with evictions neither" if answer.evictions else f"{share} {fits}"
    victims = listed([each.pod for each in answer.evictions], SHOWN_NAMES)
    then = f"all {count:,}" if later == count else f"{later:,}"
    then = "it does" if count == 1 else then
    after = f"; {then} after evicting {victims}" if victims else ""
    return f"{share} {fits} without evictions{after}"


def _more(answer: FitResult) -> str:
    """Say how many more of the only workload fit; of several, the table has that."""
    if len(answer.workloads) != 1:
        return ""
    (workload,) = answer.workloads
    if workload.more is None:
        return ""
    at_least = "at least " if workload.stopped_at is not None else ""
    more = f"{at_least}{workload.more:,} more" if workload.more else "no more"
    return f", and {more} would"


def _first_reason(workload: FittedWorkload) -> str:
    if not workload.reasons:
        return workload.cause or workload.limited_by
    reason = workload.reasons[0]
    return f"{why_not(reason.plugin, (reason.reason,))}, on {counted(reason.nodes, 'node')}"
