"""Runs `ksched`, or one of its functions, in this process, and judges what came of it by the rules
that hold for any input."""

from __future__ import annotations

import gc
import io
import json
import re
import resource
import signal
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any
from unittest import mock

import jsonschema
import typer.main
from runs_here import runs_here

from ksched_cli.commands import main as entry

# typer makes its commands anew in every run, which takes longer than most runs.
COMMANDS = typer.main.get_command(entry.application())

# Processor time: a machine that is busy with other things makes no hang. Sleeping has a limit too.
SECONDS, WALL_SECONDS = 10, 300
MESSAGE_MAX = 3000
MEMORY_FACTOR, MEMORY_MIB = 10, 200
SCHEMAS = Path(__file__).parents[2] / "schemas"
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


class HangError(BaseException):
    """The run took longer than allowed. Not an Exception: nothing in between may swallow it."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """rule: the rule that was broken, or ""; detail: what was seen; code: the exit code;
    errors: standard error."""

    rule: str
    detail: str
    code: int
    errors: str = ""


def judged(arguments: Sequence[str], path: Path) -> Verdict:
    """What came of `ksched ARGUMENTS`, whose odd input is the file `path`."""
    left_open: list[str] = []
    memory, size = _peak_mib(), path.stat().st_size
    with _unraisable(left_open), warnings.catch_warnings(), _limit():
        warnings.simplefilter("error", RuntimeWarning)
        warnings.simplefilter("always", ResourceWarning)
        try:
            code, output, errors = ran(arguments)
        except HangError:
            return Verdict(
                "hang", f"longer than {SECONDS} s of processor time, or {WALL_SECONDS} s", -1
            )
    if left_open:
        return Verdict("left open", left_open[0], code)
    allowed = MEMORY_FACTOR * size / 2**20 + MEMORY_MIB
    if _peak_mib() - memory > allowed:
        return Verdict("memory", f"{_peak_mib() - memory:.0f} MiB more", code)
    for rule in (_judge_code, _judge_errors, _judge_output):
        broken, detail = rule(code, output, errors, "json" in arguments)
        if broken:
            return Verdict(broken, detail, code, errors)
    return Verdict("", "", code, errors)


def judged_call(
    read: Callable[[Any], object], value: Any, refusals: tuple[type[Exception], ...]
) -> Verdict:
    """What came of reading a value; code 2 where it is refused."""
    memory = _peak_mib()
    with warnings.catch_warnings(), _limit():
        warnings.simplefilter("error", RuntimeWarning)
        try:
            read(value)
            code = 0
        except refusals:
            code = 2
        except HangError:
            return Verdict("hang", f"longer than {SECONDS} s: {value!r}"[:500], -1)
        except Exception as error:
            frames = traceback.format_exception(error)[-2:]
            return Verdict("exception", f"{value!r}"[:500] + "\n" + "".join(frames)[:1000], -1)
    if _peak_mib() - memory > MEMORY_MIB:
        return Verdict("memory", f"{_peak_mib() - memory:.0f} MiB more: {value!r}"[:500], code)
    return Verdict("", "", code)


def ran(arguments: Sequence[str]) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of the console entry."""
    streams = [io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2)]
    before = sys.argv, sys.stdout, sys.stderr
    sys.argv, sys.stdout, sys.stderr = ["ksched", *arguments], *streams
    try:
        with mock.patch.object(entry, "application", return_value=COMMANDS), runs_here():
            entry.main()
    except SystemExit as exit_:
        code = exit_.code if isinstance(exit_.code, int) else int(exit_.code is not None)
    finally:
        sys.argv, sys.stdout, sys.stderr = before
    for stream in streams:
        stream.flush()
    output, errors = (stream.buffer.getvalue().decode() for stream in streams)
    return code, output, errors


def _judge_code(code: int, output: str, errors: str, is_json: bool) -> tuple[str, str]:
    if code == 3:
        match = re.search(r"the traceback is in (\S+);", errors)
        frames = Path(match[1]).read_text().splitlines()[-4:] if match else [errors[:500]]
        return "defect", "\n".join(frames)
    return ("", "") if code in (0, 1, 2) else ("exit code", str(code))


def _judge_errors(code: int, output: str, errors: str, is_json: bool) -> tuple[str, str]:
    if code == 2 and output:
        return "partial output", output[:300]
    if code == 2 and "error:" not in errors.lower():
        return "no message", errors[:300]
    for line in errors.split("\n"):
        if len(line) > MESSAGE_MAX:
            return "long message", line[:300]
    return _judge_text(errors)


def _judge_output(code: int, output: str, errors: str, is_json: bool) -> tuple[str, str]:
    return _judge_json(code, output) if is_json else _judge_text(output)


def _judge_text(text: str) -> tuple[str, str]:
    match = CONTROL.search(text)
    if match is None:
        return "", ""
    return "control character", repr(text[max(0, match.start() - 100) : match.end() + 20])


def _judge_json(code: int, output: str) -> tuple[str, str]:
    if not output:
        return ("", "") if code == 2 else ("no JSON", "")
    try:
        document = json.loads(output, parse_constant=_not_json)
    except ValueError as error:
        return "invalid JSON", str(error)
    validator = _validators().get(str(document.get("kind")))
    if validator is None:
        return "no schema", str(document.get("kind"))
    problem = next(validator.iter_errors(document), None)
    if problem is not None:
        return "schema", f"{problem.json_path}: {problem.message[:200]}"
    return "", ""


def _not_json(text: str) -> Any:
    raise ValueError(f"{text} is no JSON")


def _validators(cache: dict[str, Any] = {}) -> dict[str, Any]:  # noqa: B006 - a cache
    """By `kind`, of every result that has a schema."""
    if not cache:
        for file in SCHEMAS.glob("*.json"):
            schema = json.loads(file.read_text())
            kind = schema.get("properties", {}).get("kind", {}).get("const")
            if kind:
                cache[kind] = jsonschema.Draft202012Validator(schema)
    return cache


def _peak_mib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


@contextmanager
def _limit() -> Iterator[None]:
    def stop(signum: int, frame: FrameType | None) -> None:
        raise HangError

    timers = ((signal.SIGPROF, signal.ITIMER_PROF, SECONDS),
              (signal.SIGALRM, signal.ITIMER_REAL, WALL_SECONDS))  # fmt: skip
    before = [signal.signal(number, stop) for number, _, _ in timers]
    for _, timer, seconds in timers:
        signal.setitimer(timer, seconds)
    try:
        yield
    finally:
        for (number, timer, _), handler in zip(timers, before, strict=True):
            signal.setitimer(timer, 0)
            signal.signal(number, handler)


@contextmanager
def _unraisable(messages: list[str]) -> Iterator[None]:
    """Collects ResourceWarnings (files left open) and errors of finalizers."""
    hook, show = sys.unraisablehook, warnings.showwarning

    def keep(problem: Any) -> None:
        messages.append(repr(problem.exc_value))

    def note(message: Any, category: type[Warning], *details: Any, **more: Any) -> None:
        if issubclass(category, ResourceWarning):
            messages.append(str(message))

    sys.unraisablehook, warnings.showwarning = keep, note
    try:
        yield
        gc.collect(0)
    finally:
        sys.unraisablehook, warnings.showwarning = hook, show
