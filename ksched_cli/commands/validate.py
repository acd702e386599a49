"""`ksched validate CONFIG`: is this KubeSchedulerConfiguration right?"""

from __future__ import annotations

from typing import Annotated

import typer

from ksched_cli.commands.command import ExitCode
from ksched_cli.commands.options import CommonOptions


def validate(
    config: Annotated[
        str, typer.Argument(metavar="CONFIG", help="A file, or - for standard input.")
    ],
    options: CommonOptions,
) -> ExitCode:
    """Is this KubeSchedulerConfiguration right?

    Says what kube-scheduler itself would say, and every problem with its line; warns of what later
    Kubernetes minors refuse. Exit code 0 when it
    is valid, 1 when it is not, 2 when the file cannot be read.
    """
    from ksched_cli.commands.output import limit, show
    from ksched_cli.commands.session import later_registries, registry_in_release, usable_plugins
    from ksched_cli.config.later_minors import with_later_refusals
    from ksched_cli.config.review import review_bytes
    from ksched_cli.kube.documents import read_file
    from ksched_cli.report import validation as renderer
    from ksched_cli.report.forms import Report

    raw, name = read_file(config)
    registry = registry_in_release(options, usable_plugins(options.plugin))
    later = later_registries(registry)
    review = with_later_refusals(review_bytes(raw, name, registry), raw, name, later)
    show(
        Report(
            document=lambda: renderer.document(review),
            table=lambda: renderer.table(review, name, limit()),
            headline=lambda: renderer.headline(review, name),
        ),
        options.output,
    )
    return ExitCode.YES if review.valid else ExitCode.NO
