"""Files that say what to run: expectations, sweeps, searches for the best values, timelines."""

from __future__ import annotations

import json
import random
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

from corpora import (
    EXAMPLES,
    any_case,
    autoscaler_corpus,
    expectations_corpus,
    sweep_corpus,
    timeline_corpus,
    tune_corpus,
    written,
)
from inputs import Input, Subject, put_beside
from mutations import mangled, mutated
from runs_here import runs_here
from subject import within

from ksched_cli.kube.versions import MINORS

SWEPT = EXAMPLES / "sweep" / "cluster.yaml"
REPLAYED = [EXAMPLES / "replay" / name for name in ("day.yaml", "autoscaler.yaml")]
WHAT_IF = EXAMPLES / "what-if"
MOST_TRIALS = 30


def expectations(rng: random.Random, folder: Path) -> Input:
    file, document = rng.choice(expectations_corpus())
    document = mutated(document, rng, [rng.choice(expectations_corpus())[1]])
    name, data = written([document], rng)
    # The state and the configuration are beside the file.
    put_beside(folder, *file.parent.glob("*.yaml"))
    form = rng.choice(("json", "json", "junit", "table"))
    return Input(name, data, ("test", str(folder / name), "-o", form))


def sweep(rng: random.Random, folder: Path) -> Input:
    document = mutated(rng.choice(sweep_corpus()), rng, [rng.choice(sweep_corpus())])
    name, data = written([document], rng)
    put_beside(folder, *WHAT_IF.glob("*.yaml"), *REPLAYED)
    link = folder / SWEPT.name
    link.unlink(missing_ok=True)  # what-if has a cluster.yaml of its own
    link.symlink_to(SWEPT)
    command = ("sweep", str(folder / name))
    dry, csv, rows = ("--dry-run",), ("-o", "csv"), ("--rows", str(folder / "rows.jsonl"))
    (folder / "rows.jsonl").unlink(missing_ok=True)
    options = rng.choice(((), dry, (*dry, "-o", "json"), ("-o", "json"), ("-o", "json"), csv, rows))
    return Input(name, data, (*command, *options))


def tune(rng: random.Random, folder: Path) -> Input:
    document = mutated(rng.choice(tune_corpus()), rng, [rng.choice(tune_corpus())])
    # Thousands of trials take longer than an input may, and rightly.
    if isinstance(document, dict) and document.get("trials") in range(MOST_TRIALS, 10**6):
        document["trials"] = MOST_TRIALS
    name, data = written([document], rng)
    link = folder / SWEPT.name
    link.unlink(missing_ok=True)
    link.symlink_to(SWEPT)
    best = ("--best", str(folder / "best.yaml")) if rng.random() < 0.3 else ()
    return Input(
        name, data, ("tune", str(folder / name), *best, "-o", rng.choice(("json", "html")))
    )


@cache
def rows_corpus() -> list[Any]:
    """The rows of examples/sweep/sweep.yaml."""
    with tempfile.TemporaryDirectory() as folder, runs_here():
        path = Path(folder) / "rows.jsonl"
        within(("sweep", str(EXAMPLES / "sweep" / "sweep.yaml"), "--rows", str(path)))
        return list(map(json.loads, path.read_text().splitlines()))


def rows(rng: random.Random, folder: Path) -> Input:
    """The rows of a sweep that was interrupted, which the same command resumes."""
    written_rows = rng.sample(rows_corpus(), rng.randint(1, len(rows_corpus())))
    changed = mutated(written_rows, rng, [rows_corpus()])
    lines = map(json.dumps, changed if isinstance(changed, list) else [changed])
    data = "".join(f"{line}\n" for line in lines).encode()
    data = mangled(data, rng) if rng.random() < 0.3 else data
    file = str(EXAMPLES / "sweep" / "sweep.yaml")
    arguments = ("sweep", file, "--rows", str(folder / "rows.jsonl"))
    return Input("rows.jsonl", data, (*arguments, "-o", rng.choice(("json", "csv"))))


def timeline(rng: random.Random, folder: Path) -> Input:
    if rng.random() < 0.4:
        document = mutated(rng.choice(timeline_corpus()), rng, [])
        name, data = written([document], rng)
        state_file = str(EXAMPLES / "replay" / "cluster.yaml")
    else:
        name, data, state_file = _random_timeline(rng, folder)
    forms = (
        (), ("-o", "json"), ("-o", "json", "--trace"), ("-o", "csv"), ("-o", "html"),
        ("--save-state", str(folder / "end.json")), ("-o", "json", "--evict-at-once"),
    )  # fmt: skip
    arguments = ("replay", str(folder / name), "--state", state_file, *rng.choice(forms))
    if rng.random() < 0.2:
        arguments += ("--kubernetes-version", rng.choice(MINORS))
    return Input(name, data, arguments)


def autoscaler(rng: random.Random, folder: Path) -> Input:
    document = mutated(rng.choice(autoscaler_corpus()), rng, [rng.choice(autoscaler_corpus())])
    name, data = written([document], rng)
    example = EXAMPLES / "replay"
    files = ("--state", str(example / "cluster.yaml"), "--autoscaler", str(folder / name))
    day = str(example / "day.yaml")
    commands = (
        ("replay", day), ("replay", day, "-o", "json"), ("replay", day, "-o", "csv", "--usage"),
        ("replay", day, "-o", "html"), ("compare", "--timeline", day, "-o", "json"),
    )  # fmt: skip
    return Input(name, data, (*rng.choice(commands), *files))


def _random_timeline(rng: random.Random, folder: Path) -> tuple[str, bytes, str]:
    """Name and bytes of JSON lines, and the path of the state at its start."""
    case = any_case(rng, "replay")
    state_file = folder / "start.json"
    state_file.write_text("\n".join(map(json.dumps, case.objects)))
    lines: list[Any] = list(map(json.loads, case.timeline.splitlines()))
    changed = mutated(lines, rng, [case.objects])
    data = "\n".join(map(json.dumps, changed if isinstance(changed, list) else [changed])).encode()
    data = mangled(data, rng) if rng.random() < 0.15 else data
    return "timeline.jsonl", data, str(state_file)


SUBJECTS = (
    Subject("expectations", expectations),
    Subject("sweep", sweep),
    Subject("rows", rows),
    Subject("tune", tune),
    Subject("timeline", timeline),
    Subject("autoscaler", autoscaler),
)
