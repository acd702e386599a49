"""`ksched-referee`: what a policy is worth, under limits, beside others."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer
from tabulate import tabulate

from ksched_cli.api import KschedError
from ksched_referee.contest import PROFILES, Case, Contestant, Limits, Result, judge
from ksched_referee.packing import packed, read_nodes, sample_nodes, with_gpus
from ksched_referee.policy_process import PolicyLimits

JUDGED, BEATEN, INVALID, FAILED = 0, 1, 2, 3
_GIB = 1 << 30

app = typer.Typer(
    name="ksched-referee",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


@app.callback()
def commands() -> None:
    """Judge placement policies: a policy scores nodes, kube-scheduler's rules decide the rest."""


@app.command("judge")
def judge_policy(  # noqa: PLR0913  # an argument per option
    policy: Annotated[
        str,
        typer.Argument(
            metavar="POLICY",
            help="A Python file with a function score(pod, nodes) or a ksched plugin, or a "
            "configuration.",
        ),
    ],
    cases: Annotated[
        list[str],
        typer.Option(
            "--case", metavar="STATE[,TIMELINE]", help="The pods to place. Repeat for several."
        ),
    ],
    others: Annotated[
        list[str],
        typer.Option(
            "--vs",
            metavar="NAME",
            help=f"Judge another beside it: {', '.join(PROFILES)}, a file, or NAME=FILE.",
        ),
    ] = [],  # noqa: B006  # typer copies it
    regret: Annotated[
        str,
        typer.Option(
            metavar="RESOURCE", help="Compare with the best placement of a resource, or of pods."
        ),
    ] = "",
    all_nodes: Annotated[
        bool, typer.Option("--all-nodes", help="Score every feasible node, without sampling.")
    ] = False,
    call_seconds: Annotated[
        float, typer.Option("--call-timeout", min=0.001, help="Seconds for a call of the policy.")
    ] = 1.0,
    policy_seconds: Annotated[
        float, typer.Option("--policy-timeout", min=0.001, help="Seconds for all calls of a case.")
    ] = 300.0,
    seconds: Annotated[
        float, typer.Option("--time-limit", min=1, help="Seconds for a case.")
    ] = 1800.0,
    memory: Annotated[
        float, typer.Option(min=0.25, help="GiB of memory for the process of the policy.")
    ] = 2.0,
    max_nodes: Annotated[
        int, typer.Option(min=0, help="Nodes at a time, where a timeline adds some.")
    ] = 0,
    output: Annotated[
        str, typer.Option("-o", "--output", metavar="table|json", help="The form of the result.")
    ] = "table",
    beat: Annotated[
        bool,
        typer.Option("--beat", help="Exit with 1 unless the policy is better than every --vs."),
    ] = False,
) -> None:
    """Run a policy on cases, and show what came of it.

    Better is less regret over all cases; where that is equal, fewer unplaced pods; then less
    waiting. Exit code 0 when the policy was judged, 1 when --beat is given and it is not the best,
    2 for wrong input, 3 when the policy failed or broke a limit.
    """
    if output not in ("table", "json"):
        raise typer.BadParameter(f"-o {output}: expected table or json")
    limits = Limits(PolicyLimits(call_seconds, policy_seconds, int(memory * _GIB)), seconds)
    contestants = [Contestant.of(text) for text in (policy, *others)]
    subject = contestants[0].name
    results: list[Result] = []
    for case in [Case.of(text, max_nodes) for text in cases]:
        for contestant in contestants:
            _note(f"{case.name}: {contestant.name}")
            result = judge(contestant, case, limits, regret=regret, all_nodes=all_nodes)
            results.append(result)
    _note("")
    document = {
        "apiVersion": "ksched-referee/v1",
        "kind": "Verdict",
        "policy": subject,
        "regret": regret or None,
        "results": [msgspec.to_builtins(each) for each in results],
    }
    if output == "json":
        print(json.dumps(document, indent=2))
    else:
        print(verdict(subject, results, regret))
        print()
        print(table(results, regret))
    own = [each for each in results if each.contestant == subject]
    if any(each.status == "failed" for each in own):
        raise typer.Exit(FAILED)
    if beat and not is_best(subject, results):
        raise typer.Exit(BEATEN)


@app.command()
def pack(
    timeline: Annotated[Path, typer.Argument(metavar="TIMELINE", help="Pods, in JSON lines.")],
    state: Annotated[Path, typer.Option(metavar="FILE", help="The nodes, in JSON.")],
    resource: Annotated[str, typer.Option(metavar="NAME", help="What the load is of.")],
    load: Annotated[
        float, typer.Option(min=1, help="Per cent of the resource that pods request.")
    ] = 100,
    seed: Annotated[int, typer.Option(help="Draws the order of the pods, and the nodes.")] = 0,
    nodes: Annotated[int, typer.Option(min=0, help="Take so many of the nodes; 0 for all.")] = 0,
    to: Annotated[Path | None, typer.Option("--to", metavar="FILE", help="Default stdout.")] = None,
) -> None:
    """Make a state to pack: the pods of a timeline in a random order, all pending at once.

    Pods and nodes with nvidia.com/gpu get the annotations that ksched-fgd reads, too.
    """
    machines = read_nodes(state)
    if nodes:
        machines = sample_nodes(machines, nodes, seed)
    items = packed(timeline, [with_gpus(node) for node in machines], resource, load, seed)
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": items}) + "\n"
    if to is None:
        sys.stdout.write(text)
    else:
        to.write_text(text)
        print(f"{to}: {len(machines)} nodes, {len(items) - len(machines)} pods")


def totals(contestant: str, results: Iterable[Result]) -> tuple[float, int, float] | None:
    """Return a contestant's regret, unplaced pods and mean waits, each added up over all cases;
    None where one failed."""
    own = [each for each in results if each.contestant == contestant]
    if any(each.status == "failed" for each in own):
        return None
    return (
        sum(each.regret or 0 for each in own),
        sum(each.unplaced or 0 for each in own),
        sum(each.wait or 0 for each in own),
    )


def is_best(subject: str, results: Sequence[Result]) -> bool:
    """Whether no other contestant is as good: by regret, then by unplaced pods, then by waiting."""
    own = totals(subject, results)
    names = dict.fromkeys(each.contestant for each in results if each.contestant != subject)
    others = [totals(name, results) for name in names]
    return own is not None and all(other is None or own < other for other in others)


def verdict(subject: str, results: Sequence[Result], regret: str) -> str:
    """Return the line above the table."""
    own = [each for each in results if each.contestant == subject]
    failures = [each for each in own if each.status == "failed"]
    if failures:
        return f"{subject} failed on {failures[0].case}: {failures[0].reason}"
    total = totals(subject, results)
    assert total is not None
    unplaced = f"{sum(each.placed or 0 for each in own):,} pods placed, {total[1]:,} not"
    missed = f"; the best placements have {total[0]:,.0f} {regret} more" if regret else ""
    others = len({each.contestant for each in results}) - 1
    best = "" if not others else "; best of all" if is_best(subject, results) else "; not the best"
    return f"{subject}: {unplaced}{missed}{best}"


def table(results: Sequence[Result], regret: str) -> str:
    """Return a row per case and contestant; columns that nothing is in are left out."""
    columns: dict[str, list[Any]] = {
        "CASE": [each.case for each in results],
        "POLICY": [each.contestant for each in results],
        "PLACED": [each.placed for each in results],
        "UNPLACED": [each.unplaced for each in results],
        "EVICTED": [each.evicted or None for each in results],
        "REGRET": [_regret(each) for each in results],
        "MEAN WAIT": [None if each.wait is None else f"{each.wait:,.0f}s" for each in results],
        "SECONDS": [f"{each.seconds:.1f}" for each in results],
        "IN POLICY": [each.policy_seconds for each in results],
        "FAILURE": [each.reason or None for each in results],
    }
    shown = {name: values for name, values in columns.items() if any(v is not None for v in values)}
    numbers = ("PLACED", "UNPLACED", "EVICTED", "REGRET", "MEAN WAIT", "SECONDS", "IN POLICY")
    return tabulate(
        shown,
        headers="keys",
        tablefmt="plain",
        colalign=["right" if name in numbers else "left" for name in shown],
        missingval="",
        disable_numparse=True,
    )


def _regret(result: Result) -> str | None:
    if result.regret is None:
        return None
    text = f"{result.regret:,.0f}"
    if result.at_most == result.regret:
        return text
    return f"{text} (at most {result.at_most:,.0f})"


def _note(line: str) -> None:
    """Show what is being done, to a person."""
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\033[K{line[:79]}")
        sys.stderr.flush()


def main() -> None:
    try:
        app()
    except KschedError as error:
        print(f"Error: {error}", file=sys.stderr)
        sys.exit(INVALID)


if __name__ == "__main__":
    main()
