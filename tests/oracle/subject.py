"""ksched as the fuzzer asks it. This is the one place that knows how.

The commands are run within this process, for starting Python anew takes longer than deciding a
small case. With $KSCHED set, that command is started instead.
"""

import contextlib
import io
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any
from unittest import mock

from cases import OLDEST


def decide(state: str, config: str | None, minor: str = OLDEST, gates: str = "") -> dict[str, Any]:
    """What ksched decides: as expected.json, or {"error": text} where it prints no decision."""
    with files(state=state, config=config) as paths:
        args = ["--kubernetes-version", minor, "--state", paths["state"], "-o", "json", "--trace"]
        args.append("--allow-empty-state")  # kube-scheduler runs without nodes, too
        if "bindVerb" in (config or ""):
            args.append("--extender-bind")  # the oracle has them bind, too
        if gates:
            args += ["--feature-gates", gates]
        if config is not None:
            args += ["--config", paths["config"]]
        return call("schedule", *args)


def replay(
    timeline: str, state: str, config: str | None, minor: str = OLDEST, gates: str = ""
) -> dict[str, Any]:
    """The attempts of `ksched replay` and where pods wait at the end, or {"error": text}."""
    with files(state=state, config=config) as paths:
        path = Path(paths["state"]).with_name("timeline.jsonl")
        path.write_text(timeline)
        args = [str(path), "--kubernetes-version", minor, "--state", paths["state"]]
        args += ["-o", "json", "--trace", "--allow-empty-state"]
        args.append("--no-workloads")  # the oracle has no controllers, which would make claims
        if gates:
            args += ["--feature-gates", gates]
        if config is not None:
            args += ["--config", paths["config"]]
        return call("replay", *args)


def describe(config: str, minor: str = OLDEST) -> dict[str, Any]:
    """What ksched says that kube-scheduler makes of a configuration."""
    with files(config=config) as paths:
        args = ("--kubernetes-version", minor, paths["config"], "--output", "json")
        printed = call("validate", *args)
        verdict = printed.get("kubeScheduler")
        if verdict is None:
            return {"stage": "none", **printed}
        if not verdict.get("accepts"):
            return {"stage": verdict.get("stage") or "unknown", "error": verdict.get("error")}
        return call("config", "show", *args)


def refused_gates(text: str, minor: str) -> dict[str, Any]:
    """{"error": why ksched refuses a value of --feature-gates, or ""}."""
    from ksched_cli.errors import UsageError
    from ksched_cli.kube.versions import release_of

    try:
        release_of(minor, text)
    except UsageError as error:
        return {
            "error": str(error).removeprefix("--feature-gates: ").partition("; did you mean")[0]
        }
    return {"error": ""}


def followed_gates(text: str, minor: str) -> str:
    """Those of some settings that ksched takes for a minor, each with those that it needs."""
    settings = list(filter(None, text.split(",")))
    while settings and (error := refused_gates(",".join(settings), minor)["error"]):
        named = set(re.findall(r"\w+", error))
        refused = [part for part in settings if part.partition("=")[0] in named]
        settings = [part for part in settings if part not in (refused or settings)]
    return ",".join(settings)


@contextlib.contextmanager
def files(**texts: str | None) -> Iterator[dict[str, str]]:
    with tempfile.TemporaryDirectory() as folder:
        paths = {name: Path(folder) / f"{name}.yaml" for name in texts}
        for name, text in texts.items():
            if text is not None:
                paths[name].write_text(text)
        yield {name: str(path) for name, path in paths.items()}


def call(*args: str) -> dict[str, Any]:
    code, out, err = started(args) if "KSCHED" in os.environ else within(args)
    try:
        printed: dict[str, Any] = json.loads(out)
    except ValueError:
        return {"error": f"exit {code}: {err.strip()[-600:]}"}
    return printed


@cache
def built(application: Callable[..., Any], names: tuple[str, ...]) -> Any:
    """The command line with these commands, which takes longer to build than most of them run."""
    import typer.main

    return typer.main.get_command(application(names))


def within(args: tuple[str, ...]) -> tuple[int, str, str]:
    from ksched_cli.commands import main as entry

    out, err, code = io.StringIO(), io.StringIO(), 0
    build = partial(built, entry.application)
    with (
        mock.patch.object(sys, "argv", ["ksched", *args]),
        mock.patch.object(entry, "application", lambda names: build(tuple(names))),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        try:
            entry.main()
        except SystemExit as exit:
            code = exit.code if isinstance(exit.code, int) else 1
    return code, out.getvalue(), err.getvalue()


def started(args: tuple[str, ...]) -> tuple[int, str, str]:
    command = [*shlex.split(os.environ["KSCHED"]), *args]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr
