"""`ksched compare`: two or more runs side by side."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import typer

from ksched_cli import program_name
from ksched_cli.commands.options import Seeds, StateOptions
from ksched_cli.commands.output import show
from ksched_cli.commands.runs import answered, run_of
from ksched_cli.errors import ExitCode, UsageError
from ksched_cli.kube.file_paths import check_standard_input

if TYPE_CHECKING:
    from ksched_cli.run.run import Run

# Options of one side that are added to those that all sides share; others replace them.
_ADDED = ("change", "scenario", "filename", "plugin", "patch")


@dataclass(frozen=True, slots=True)
class CompareOptions(StateOptions):
    """Options of `compare`: a field per option.

    metric FILE.py:FUNCTION: Show this function of the snapshot and the record; repeatable.
    vs OPTIONS...: Add a side: the options before the first --vs, plus these; repeatable.
    """

    HELP: ClassVar = {
        "timeline": "Replay this timeline on each side, as `replay` does: who waits how long."
    }

    seeds: Seeds = None
    metric: list[str] | None = None
    vs: list[str] | None = None


def compare(
    options: CompareOptions,
    configs: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[CONFIG]...",
            help="KubeSchedulerConfigurations, one side each; a single one is compared with "
            "that of --config or the default.",
        ),
    ] = None,
) -> ExitCode:
    """Two or more runs side by side: who moves and why, how full it is.

    The options before the first --vs are the first side, and all sides share them. What follows a
    --vs is added for one more side: `compare --vs --config new.yaml`, `compare --vs --change 'drain
    node-3'`, `compare --timeline day.yaml --autoscaler a.yaml --vs --config new.yaml`. Sides are
    named by what differs between them. Exit code 0 when every pod ends up in the same place, 1 when
    some pod differs, 3 when a plugin's failure leaves some pod undecided.

    Examples:
        ksched compare new.yaml
        ksched compare --vs --change 'drain node-3'
        ksched compare --vs --kubernetes-version 1.36
        ksched compare --timeline day.yaml --seeds 20 --vs --config new.yaml
    """
    from ksched_cli.analysis.compare import Compare

    described = _runs(options, configs or ())
    metrics = tuple(options.metric or ())
    if options.seeds:
        from ksched_cli.sweep.draws import CompareDraws

        drawn = answered(CompareDraws(seeds=options.seeds, metrics=metrics), *described)
        return show(drawn, options)
    return show(answered(Compare(metrics=metrics), *described), options)


# -- options → Runs -------------------------------------------------------------------------------


def _runs(options: CompareOptions, paths: Sequence[str]) -> list[Run]:
    """Return a Run per side. Raises UsageError."""
    if options.seeds:
        seed = options.given["seed"] or 0
        options = _given(options, tie_break="random", seed=seed)
    if options.given["record_extenders"]:
        raise UsageError(
            "compare does not support --record-extenders, because it makes several runs"
        )
    check_standard_input({f"CONFIG {index}": [path] for index, path in enumerate(paths, 1)})
    if options.vs is None:
        sides = _sides_of_paths(options, paths)
    else:
        if paths:
            raise UsageError(f"with --vs, name configurations by --config: --config {paths[0]}")
        parts: Sequence[Any] = options.vs
        sides = [options, *(_with(options, part) for part in parts)]
    # Sides that draw share their draws, unless their seeds differ.
    try:
        first = run_of(sides[0])
    except UsageError as error:
        if any("state" in part for part in options.vs or ()):
            hint = (
                "--state after --vs applies to that side only, and the first side has no "
                "--state: give it one before --vs"
            )
            raise UsageError(f"{error}\n  {hint}") from None
        raise
    draws: dict[str, Any] = {"seed": first.seed}
    described = [first]
    for side in sides[1:]:
        is_drawn = side.given["seed"] is None and side.given["tie_break"] == "random"
        described.append(run_of(side, **(draws if is_drawn else {})))
    for run in described:
        run.check(("prices",))
    return described


def _given(options: CompareOptions, **values: Any) -> CompareOptions:
    """Return the options with other values of some."""
    return replace(options, given={**options.given, **values})


def _sides_of_paths(options: CompareOptions, paths: Sequence[str]) -> list[CompareOptions]:
    """Read paths: `compare A B` is `compare --config A --vs --config B`, `compare A` is `compare
    --vs --config A`. Raises UsageError."""
    if not paths:
        raise UsageError(
            "nothing to compare: name two configurations, one to compare with the "
            f"default, or add --vs and its options: `{program_name()} compare --vs "
            "--change 'drain node-3'`"
        )
    if len(paths) == 1:
        return [options, _given(options, config=paths[0])]
    config = options.given["config"]
    if config and config != os.environ.get("KSCHED_CONFIG"):
        raise UsageError(
            "--config has no effect here: name all configurations as arguments: "
            f"`{program_name()} compare {config} {' '.join(paths)}`"
        )
    return [_given(options, config=path) for path in paths]


def _with(options: CompareOptions, side: Mapping[str, Any]) -> CompareOptions:
    """Return the shared options with those of one side. side: by the name of the option. Raises
    UsageError."""
    if "configs" in side:
        raise UsageError(
            f"after --vs, name a configuration by --config: --config {side['configs'][0]}"
        )
    own = [name for name in side if name not in options.given]
    if own:
        option = f"--{own[0].replace('_', '-')}"
        raise UsageError(f"{option} is of all sides: give it before the first --vs")
    values = dict(side)
    for name in _ADDED:
        if name in values:
            values[name] = [*(options.given[name] or ()), *values[name]]
    if "feature_gates" in values and options.given["feature_gates"]:
        values["feature_gates"] = f"{options.given['feature_gates']},{values['feature_gates']}"
    if "state" in values:
        values = {"live": False, "context": "", "kubeconfig": "", **values}
    if "live" in values:
        values = {"state": None, **values}
    if values.get("tie_break") == "name":
        values = {"seed": None, **values}
    return _given(options, **values)
