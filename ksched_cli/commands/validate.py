"""`ksched validate CONFIG`: is this KubeSchedulerConfiguration right?"""

from __future__ import annotations

from typing import Annotated

import typer

from ksched_cli.commands.options import Output, Plugin
from ksched_cli.report.forms import Form


def validate(
    config: Annotated[
        str, typer.Argument(metavar="CONFIG", help="A file, or - for standard input.")
    ],
    plugin: Plugin = None,
    output: Output = Form.TABLE,
) -> None:
    """Is this KubeSchedulerConfiguration right?

    Says what kube-scheduler v1.34.1 would say, and every problem with its line. Exit code 0 when it
    is valid, 1 when it is not, 2 when the file cannot be read.
    """
    from ksched_cli.commands.output import limit, show
    from ksched_cli.commands.session_plugins import registry
    from ksched_cli.config.review import review_bytes
    from ksched_cli.kube.documents import read_file
    from ksched_cli.report import validation
    from ksched_cli.report.forms import Report

    raw, name = read_file(config)
    review = review_bytes(raw, name, registry(plugin))
    show(
        Report(
            document=lambda: validation.document(review),
            table=lambda: validation.table(review, name, limit()),
        ),
        output,
    )
    raise typer.Exit(0 if review.valid else 1)
