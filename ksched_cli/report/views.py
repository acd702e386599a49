"""The view of an answer, by the function that its class names, with what all answers have."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from msgspec.structs import replace

from ksched_cli.answers import Answer, StateAnswer
from ksched_cli.report.short_names import with_short_names
from ksched_cli.report.view import (
    Block,
    Column,
    Groups,
    Kind,
    Line,
    Medium,
    Section,
    Table,
    Text,
    Tone,
    View,
    shown_sections,
)
from ksched_cli.report.words import grouped

_EFFECTS = 8  # of a change, shown first


def view_of(answer: Answer, medium: Medium) -> View:
    """Return the view with the sections that a medium shows; what changes did comes first, warnings
    last."""
    view: View = function_at(answer.VIEW)(answer)
    # Each change has a row per action, with its objects; a page ends with every line.
    changes = answer.changes if isinstance(answer, StateAnswer) else ()
    rows: list[tuple[str, int, str, tuple[str, ...]]] = []
    for change in changes:
        effects = grouped(
            ((each.action, "" if each.detail.startswith("was ") else each.detail), each.subject)
            for each in change.effects
        )
        text = change.text
        if change.did and not effects:
            rows.append((text, len(change.did), "", change.did))
            continue
        for (action, detail), subjects in effects.items():
            what = f"{action} ({detail})" if detail else action
            rows.append((text, len(subjects), what, tuple(subjects)))
            text = ""
        if not effects:
            rows.append((text, 0, "nothing to do", ()))
    columns = (Column("Change"), Column("#", Kind.NUMBER), Column("Did"), Column("Objects"))
    first = Table(heading="Changes to the state", columns=columns, rows=rows)
    every = [(line, change.text) for change in changes for line in change.did]
    last = Table(
        heading="Everything that the changes did",
        columns=(Column("What it did"), Column("Change")),
        rows=every if any(len(change.did) > _EFFECTS for change in changes) else (),
        grid="changes",
        on=Medium.PAGE,
    )
    sections: list[Section] = [first, *view.sections, last]
    if answer.warnings:
        sections.append(Text(
            heading="Warnings",
            lines=[Line(text, Tone.WARN) for text in answer.warnings],
            on=Medium.PAGE,
        ))  # fmt: skip
    shown = [_of_medium(section, medium) for section in shown_sections(sections, medium)]
    return with_short_names(replace(view, sections=shown))


def function_at(path: str) -> Callable[[Any], Any]:
    """Return a function of report/, by its module and name."""
    module, name = path.split(":")
    function: Callable[[Any], Any] = getattr(import_module(f"ksched_cli.report.{module}"), name)
    return function


def _of_medium(section: Section, medium: Medium) -> Section:
    """Return the section without the columns and parts that are shown elsewhere."""
    if isinstance(section, Groups):
        blocks: list[Block] = [
            replace(
                block,
                sections=[
                    _of_medium(each, medium) for each in shown_sections(block.sections, medium)
                ],
            )
            for block in section.blocks
        ]
        return replace(section, blocks=blocks)
    if isinstance(section, Table) and not all(each.on & medium for each in section.columns):
        from ksched_cli.report.cells import without_columns

        hidden = [at for at, each in enumerate(section.columns) if not each.on & medium]
        return without_columns(section, hidden)
    return section


# -- what changes did -----------------------------------------------------------------------------
