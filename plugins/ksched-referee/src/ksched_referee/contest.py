"""Runs policies on cases, and says what came of each: a policy only scores, ksched does the rest.

A Python file with a function `score` is asked in a process of its own, through ksched's
Environment, about the nodes that pass Filter and about no other. A ksched plugin and a
configuration decide inside the engine, which then runs in a process of its own as a whole.
"""

from __future__ import annotations

import ast
import json
import os
import resource
import signal
import subprocess  # nosec B404  # policies run in processes of their own
import sys
from collections.abc import Callable, Mapping
from contextlib import closing, suppress
from importlib.resources import as_file, files
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any, Literal

import msgspec
import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from ksched_cli.api import Environment, Run, UsageError
from ksched_referee.policy_process import PolicyError, PolicyLimits, PolicyProcess
from ksched_referee.wire import Ask, NodeTable

Row = dict[str, Any]
_PODS = "pods"
# Seconds that ksched has to end a run by itself.
_KILL_AFTER = 10.0


class Limits(Struct, frozen=True):
    """policy: of a function `score`. seconds: that a run on a case may take. memory: bytes of the
    process that runs a plugin or a configuration"""

    policy: PolicyLimits = PolicyLimits()
    seconds: float = 1800.0
    memory: int = 8 << 30


class Case(Struct, frozen=True):
    """A cluster with pods to place, at one instant or over a timeline. max_nodes: that there may be
    at a time; 0 for as many as the state has"""

    name: str
    state: Path
    timeline: Path | None = None
    max_nodes: int = 0

    @classmethod
    def of(cls, text: str, max_nodes: int = 0) -> Case:
        """STATE, or STATE,TIMELINE. Raises UsageError where a file is missing."""
        state, _, timeline = text.partition(",")
        paths = [Path(part) for part in (state, timeline) if part]
        for path in paths:
            if not path.exists():
                raise UsageError(f"--case {text}: there is no file {path}")
        name = "+".join(path.name.split(".")[0] for path in paths)
        return cls(name, paths[0], paths[1] if timeline else None, max_nodes)


class Contestant(Struct, frozen=True):
    """A policy. kind: how it decides; path: of its file, None for the default configuration"""

    name: str
    kind: Literal["score", "plugin", "configuration"]
    path: Path | None = None

    @classmethod
    def of(cls, text: str) -> Contestant:
        """A file, NAME=FILE, or the name of a profile. Raises UsageError."""
        name, _, file = text.rpartition("=")
        if not name and text in PROFILES:
            return cls(text, "configuration", PROFILES[text])
        path = Path(file)
        if not path.is_file():
            profiles = ", ".join(PROFILES)
            raise UsageError(f"{text}: expected a file, NAME=FILE, or one of {profiles}")
        return cls(name or path.name, _kind_of(path), path.resolve())


def _profiles() -> dict[str, Path | None]:
    """Return the configurations that come with the referee, by name."""
    with as_file(files("ksched_referee") / "profiles") as folder:
        return {"default": None, **{path.stem: path for path in sorted(folder.glob("*.yaml"))}}


PROFILES = _profiles()


def _kind_of(path: Path) -> Literal["score", "plugin", "configuration"]:
    """Say how a file decides, without running it. Raises UsageError where it is no Python."""
    if path.suffix != ".py":
        return "configuration"
    try:
        tree = ast.parse(path.read_bytes(), str(path))
    except (SyntaxError, ValueError) as error:
        raise UsageError(f"{path}: {error}") from None
    functions = (node for node in tree.body if isinstance(node, ast.FunctionDef | ast.Assign))
    return "score" if any("score" in _names_of(each) for each in functions) else "plugin"


def _names_of(statement: ast.FunctionDef | ast.Assign) -> list[str]:
    if isinstance(statement, ast.FunctionDef):
        return [statement.name]
    return [target.id for target in statement.targets if isinstance(target, ast.Name)]


class Result(Struct, frozen=True, rename="camel"):
    """What came of a contestant on a case.

    status:    judged; or failed, and `reason` says why
    decisions: how often the policy chose among two nodes or more; None where it decides inside the
               engine
    placed, unplaced, evicted: pods
    regret:    how much more the best placement has, and `at_most` what none exceeds; None where
               that is not asked for
    wait:      mean seconds from creation to placement; None at one instant
    seconds:   of the whole run; policy_seconds: of these, in the policy, or None
    """

    case: str
    contestant: str
    status: Literal["judged", "failed"]
    reason: str = ""
    decisions: int | None = None
    placed: int | None = None
    unplaced: int | None = None
    evicted: int | None = None
    regret: float | None = None
    at_most: float | None = None
    wait: float | None = None
    seconds: float = 0.0
    policy_seconds: float | None = None


def judge(
    contestant: Contestant, case: Case, limits: Limits, *, regret: str = "", all_nodes: bool = False
) -> Result:
    """Run a contestant on a case.

    regret:    "pods", or a resource, of which the regret is; "" for none
    all_nodes: look at every node, whatever kube-scheduler samples
    Raises KschedError where the case cannot be run at all
    """
    began = perf_counter()
    play = _play if contestant.kind == "score" else _run
    result = play(contestant, case, limits, regret, all_nodes)
    return msgspec.structs.replace(result, seconds=round(perf_counter() - began, 3))


def _patches(all_nodes: bool) -> Mapping[str, Any]:
    return {"percentageOfNodesToScore": 100} if all_nodes else {}


# -- a function `score` ---------------------------------------------------------------------------


def _play(
    contestant: Contestant, case: Case, limits: Limits, regret: str, all_nodes: bool
) -> Result:
    """An episode of the environment, in which the policy's process is the agent."""
    assert contestant.path is not None
    run = Run(state=case.state, timeline=case.timeline, regret=regret, patches=_patches(all_nodes))
    environment = Environment(run, max_nodes=case.max_nodes)
    try:
        with closing(PolicyProcess(contestant.path, limits.policy)) as policy:
            _decide(environment, policy, limits.seconds)
    except PolicyError as error:
        environment.close()
        return Result(case.name, contestant.name, "failed", str(error))
    result = _result(case, contestant, environment.figures)
    environment.close()
    return msgspec.structs.replace(
        result, decisions=policy.calls, policy_seconds=round(policy.seconds, 3)
    )


def _decide(environment: Environment, policy: PolicyProcess, seconds: float) -> None:
    """Let the policy decide until the run ends. Raises PolicyError."""
    deadline = perf_counter() + seconds
    _, info = environment.reset()
    shown: object = None
    is_over = False
    while not is_over:
        pod, snapshot, row = environment.pod, environment.snapshot, 0
        if shown is not snapshot.node_columns:
            shown = snapshot.node_columns
            policy.show(_table(environment))
        if pod is not None:
            rows = np.flatnonzero(info["action_mask"])
            amounts = {**pod.resources.requests, _PODS: 1}
            question = Ask(
                pod.name,
                pod.namespace,
                dict(pod.pod.metadata.labels),
                pod.priority,
                tuple(int(amounts.get(name, 0)) for name in environment.resources),
                rows.astype(np.int32).tobytes(),
                _matrix(environment, snapshot.requested)[rows].tobytes(),
            )
            # The first by name among equal nodes, as in other runs of ksched.
            row = rows[policy.score(question, len(rows)).argmax()]
        _, _, is_over, _, info = environment.step(row)
        if perf_counter() > deadline:
            raise PolicyError(f"the run took longer than {seconds:g} s")


def _table(environment: Environment) -> NodeTable:
    snapshot = environment.snapshot
    return NodeTable(
        environment.resources,
        tuple(environment.units.tolist()),
        snapshot.names,
        tuple(dict(node.metadata.labels) for node in snapshot.nodes),
        _matrix(environment, snapshot.allocatable).tobytes(),
    )


def _matrix(
    environment: Environment, column: Callable[[str], NDArray[np.int64]]
) -> NDArray[np.int64]:
    """A row per node and a column per resource."""
    counted = column is not environment.snapshot.allocatable
    pods = environment.snapshot.pod_count
    columns = [
        pods if name == _PODS and counted else column(name) for name in environment.resources
    ]
    return np.ascontiguousarray(np.stack(columns, axis=1), dtype=np.int64)


# -- a plugin or a configuration ------------------------------------------------------------------


def _run(
    contestant: Contestant, case: Case, limits: Limits, regret: str, all_nodes: bool
) -> Result:
    """A sweep of one run, in processes of its own."""
    document: Row = {
        "apiVersion": "ksched/v1",
        "kind": "Sweep",
        "states": [str(case.state.resolve())],
        "pluginTimeout": limits.policy.call,
    }
    if case.timeline is not None:
        document["timelines"] = [str(case.timeline.resolve())]
    if contestant.kind == "plugin":
        document["plugins"] = [[str(contestant.path)]]
    elif contestant.path is not None:
        document["configurations"] = [str(contestant.path)]
    if patches := _patches(all_nodes):
        document["patches"] = [{"path": path, "values": [value]} for path, value in patches.items()]
    if regret:
        document["regret"] = regret
    with TemporaryDirectory(prefix="ksched-referee-") as folder:
        rows = Path(folder) / "rows.jsonl"
        (Path(folder) / "sweep.yaml").write_text(json.dumps(document))
        command = [sys.executable, "-m", "ksched_cli", "sweep", "sweep.yaml", "--rows", str(rows)]
        command += ["--run-timeout", f"{limits.seconds:g}", "--retries", "0"]
        problem = _complete(command, folder, limits)
        lines = rows.read_text().splitlines() if rows.exists() else []
    row = json.loads(lines[-1]) if lines else {"status": "error", "error": problem}
    if row["status"] != "ok":
        reason = row.get("error") or problem
        return Result(case.name, contestant.name, "failed", reason)
    return _result(case, contestant, _flat(row))


def _complete(command: list[str], folder: str, limits: Limits) -> str:
    """Run a command under the limits, and end all that it has started. Return what it said."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (limits.memory, limits.memory))

    process = subprocess.Popen(  # nosec B603  # ksched itself, without a shell
        command,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
        preexec_fn=limit,
        text=True,
    )
    try:
        _, errors = process.communicate(timeout=limits.seconds + _KILL_AFTER)
    except subprocess.TimeoutExpired:
        return f"the run took longer than {limits.seconds:g} s"
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    return errors.strip()


def _flat(row: Row) -> dict[str, float]:
    """Return the numbers of a row, `wait.mean` among them."""
    flat: dict[str, float] = {}
    for name, value in row.items():
        if isinstance(value, dict):
            flat |= {f"{name}.{key}": number for key, number in _flat(value).items()}
        elif isinstance(value, int | float):
            flat[name] = value
    return flat


def _result(case: Case, contestant: Contestant, figures: Mapping[str, float]) -> Result:
    def count(name: str) -> int:
        return int(figures[name])

    return Result(
        case.name,
        contestant.name,
        "judged",
        placed=count("placed"),
        unplaced=count("pending"),
        evicted=count("evicted"),
        regret=figures.get("best.regret"),
        at_most=figures.get("best.atMost"),
        wait=figures.get("wait.mean"),
    )
