"""An answer of `test`: which expectations hold, and what came out where they do not."""

from __future__ import annotations

from ksched_cli.analysis.expectations import CaseResult, ExpectationsResult
from ksched_cli.errors import Position
from ksched_cli.report import ci_forms
from ksched_cli.report.ci_forms import Case, Suite, annotation
from ksched_cli.report.view import (
    Block,
    Column,
    Command,
    Commands,
    Groups,
    Kind,
    Medium,
    Tile,
    Tone,
    View,
    bars,
    table,
)
from ksched_cli.report.words import counted, grouped, verb


def view(answer: ExpectationsResult) -> View:
    """Return the verdict, a block per failed expectation with a command that explains it, and those
    that hold."""
    passed, failed = answer.summary.passed, answer.summary.failed
    tone = Tone.BAD if failed or answer.undecided else Tone.GOOD if passed else Tone.NONE
    total = counted(len(answer.cases), "expectation")
    if not answer.cases:
        title = "No file has an expectation"
    elif failed:
        title = f"{failed:,} of {total} {verb(failed, 'fails', 'fail')}"
    else:
        title = f"All of {total} hold" if len(answer.cases) > 1 else "The expectation holds"
    blocks = [
        Block(
            heading=f"{case.file}{f':{case.line}' if case.line else ''}: {case.name}",
            state="failed",
            tone=Tone.BAD,
            lines=[case.message],
            sections=[Commands(commands=[Command(case.command)] if case.command else [])],
        )
        for case in answer.cases
        if not case.passed
    ]
    by_file = grouped((case.file, case.passed) for case in answer.cases)
    rows = [(file, sum(held), held.count(False)) for file, held in by_file.items()]
    columns = Column("File"), Column("Passed", Kind.NUMBER), Column("Failed", Kind.NUMBER)
    name = Column("Expectation"), lambda case: case.name
    in_file = Column("File"), lambda case: case.file
    holding = [case for case in answer.cases if case.passed]
    return View(
        title=title,
        tone=tone,
        tiles=[
            Tile("passed", f"{passed:,}", "good" if passed else ""),
            Tile("failed", f"{failed:,}", "bad" if failed else ""),
        ],
        sections=[
            Groups(heading="Expectations that fail", blocks=blocks, opened=len(blocks)),
            bars("By file", columns, rows if len(rows) > 1 else (), ("passed", "failed")),
            table("Expectations that hold", holding, name, in_file, on=Medium.TEXT),
            table(
                "Table of expectations",
                answer.cases,
                name,
                (Column("Result"), lambda case: "passed" if case.passed else "failed"),
                in_file,
                (Column("Line", Kind.NUMBER), lambda case: case.line),
                (Column("Kubernetes"), lambda case: case.kubernetes_version),
                grid="cases",
                on=Medium.PAGE,
            ),
        ],
    )


# -- for CI ---------------------------------------------------------------------------------------


def github(answer: ExpectationsResult) -> str:
    """Return an annotation per failed case, at its expectation; "" where all hold."""
    return "\n".join(
        annotation(
            "error",
            case.file,
            Position(case.line, case.column or 1) if case.line else None,
            f"ksched test: {case.name}",
            _failure(case),
        )
        for case in answer.cases
        if not case.passed
    )


def junit(answer: ExpectationsResult) -> str:
    """Return a suite per file."""
    by_file = grouped((case.file, Case(case.name, _failure(case) or None)) for case in answer.cases)
    return ci_forms.junit([Suite(file, cases) for file, cases in by_file.items()])


def _failure(case: CaseResult) -> str:
    """Return what came out, and how to look into it."""
    return "\n".join(filter(None, (case.message, case.command)))
