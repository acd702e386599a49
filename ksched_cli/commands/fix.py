"""`ksched fix POD`: what gives it a node; `--pending`: all that wait."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import Annotated

from ksched_cli.commands.command_line import option, positive_number, time_limit, whole_number
from ksched_cli.commands.options import Manifest, PodName, StateOptions
from ksched_cli.commands.output import show
from ksched_cli.commands.runs import answered, pod_or_manifest, run_of
from ksched_cli.errors import ExitCode, UsageError


@dataclass(frozen=True, slots=True)
class FixOptions(StateOptions):
    """The options of `fix`.

    pending: Fix all pods that stay pending.
    prefer KIND,...: Prefer these kinds of changes (a tenth of their cost).
    never KIND,...: Leave out these kinds, or evict no pods of KIND/NAME or SELECTOR; repeatable.
    top N: Stop after N remedies.
    max_runs N: Stop after N runs; with --pending, for each owner.
    max_seconds SECONDS: Start no more runs after this time.
    max_moves N: Move at most N running pods.
    time_limit DURATION: End the search for moves after so long, such as 30s.
    """

    manifest: Manifest = None
    pending: bool = False
    prefer: str = ""
    never: list[str] | None = None
    top: Annotated[int, option(parser=whole_number("--top", 1))] = 5
    max_runs: Annotated[int, option(parser=whole_number("--max-runs", 1))] = 60
    max_seconds: Annotated[float, option(parser=positive_number("--max-seconds"))] = 60
    max_moves: Annotated[int | None, option(parser=whole_number("--max-moves", 1))] = None
    time_limit: Annotated[float, option(metavar="DURATION", parser=time_limit)] = 30


def fix(
    options: FixOptions,
    pod: PodName = "",
) -> ExitCode:
    """What gives this pod a node, cheapest first, each remedy verified.

    A remedy is one change or a few, as lines for --change and as commands of kubectl, with what
    else it does. POD may be a workload or a PodGroup. Kinds:
    gate, uncordon, object, condition, class, scheduler, rollout, restart, toleration, port,
    selector, spread, claim, request, gang, affinity, priority, untaint, label, relabel, node,
    move, evict, scale. move needs the extra optimum.
    -o name prints the changes of the first remedy, -o patch its patches of manifests.
    Exit code 0 when there is a remedy or none is needed, 1 when there is none, 3 when a plugin's
    failure leaves it undecided.

    Examples:
        ksched fix web-2
        ksched fix deployment/web -o json
        ksched fix --pending --never "-l tier in (db,cache)"
    """
    from ksched_cli.analysis.fix import Fix, listed_never

    if [bool(pod), options.manifest is not None, options.pending].count(True) != 1:
        raise UsageError("fix takes one of POD, -f FILE, and --pending for all pending pods")
    run = run_of(options)
    question = Fix(
        pod=None if options.pending else pod_or_manifest(pod, options.manifest, run),
        prefer=tuple(filter(None, options.prefer.split(","))),
        never=tuple(chain.from_iterable(map(listed_never, options.never or ()))),
        top=options.top,
        max_runs=options.max_runs,
        max_seconds=options.max_seconds,
        max_moves=options.max_moves,
        time_limit=options.time_limit,
    )
    return show(answered(question, run), options)
