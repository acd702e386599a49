"""Command lines with sides, the questions that search, files that hold configurations of others,
project files, and recordings of clusters."""

from __future__ import annotations

import json
import random
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from combinations import combination, over_time
from corpora import EXAMPLES, any_case, config_corpus, state_corpus, written
from inputs import Input, Subject, put_beside
from mutations import STRINGS, mangled, mutated

from ksched_cli.kube.versions import MINORS
from ksched_cli.live.recorder import ChangeTracker
from ksched_cli.run.run import arguments_of

FIRST_CLUSTER = str(EXAMPLES / "first-cluster" / "cluster.yaml")
REPLAY = EXAMPLES / "replay"
PACKING = str(EXAMPLES / "what-if" / "packing.yaml")
FLAGS = ("--no-preemption", "--no-retries", "--no-cache", "--no-workloads", "--evict-at-once")
# Options of sides, with values that they take.
OPTIONS = {
    "--config": (PACKING,),
    "--change": ("cordon apple", "reschedule --all", "cordon n00", "delete pod/none"),
    "--patch": ("profiles[0].percentageOfNodesToScore=50", "parallelism=3"),
    "--state": (FIRST_CLUSTER,),
    "--timeline": (str(REPLAY / "day.yaml"),),
    "--autoscaler": (str(REPLAY / "autoscaler.yaml"),),
    "--kubernetes-version": MINORS,
    "--feature-gates": ("SchedulerQueueingHints=true", "SchedulerAsyncPreemption=false"),
    "--tie-break": ("random", "name"),
    "--seed": ("3", "0"),
    "--until": ("1h", "90"),
    "--price": ("*=2",),
    "--namespace": ("default",),
    "--min-compatibility-version": MINORS[1:],
    "--plugin-timeout": ("9",),
}
VALUES = tuple(value for values in OPTIONS.values() for value in values)


def sides(rng: random.Random, folder: Path) -> Input:
    """The input has the arguments of `compare`: those of two Runs, and others put among them."""
    drawn = combination(rng.randrange(10**6), folder)
    drawn = over_time(drawn, rng.randrange(10**6), folder) if rng.random() < 0.3 else drawn
    arguments = arguments_of(drawn.run)
    for _ in range(rng.choice((1, 1, 2, 3))):
        more = ["--vs"]
        for _ in range(rng.choice((0, 1, 1, 2))):
            if rng.random() < 0.4:
                more.append(rng.choice(FLAGS[:4] if rng.random() < 0.9 else FLAGS))
                continue
            name = rng.choice(tuple(OPTIONS))
            odd = rng.choice(VALUES if rng.random() < 0.5 else STRINGS)
            more += [name, odd if rng.random() < 0.1 else rng.choice(OPTIONS[name])]
        arguments += more
    if rng.random() < 0.2:
        arguments.pop(rng.randrange(len(arguments)))
    # A process is given no null bytes.
    arguments = [part.replace("\0", "") for part in arguments]
    form = rng.choice(("json", "json", "html", "markdown", "table"))
    return Input(
        "arguments.json", json.dumps(arguments).encode(), ("compare", *arguments, "-o", form)
    )


def searches(rng: random.Random, folder: Path) -> Input:
    """States that `fix` and `shrink` search."""
    original = any_case(rng).objects if rng.random() < 0.6 else rng.choice(state_corpus())
    changed = mutated(original, rng, [any_case(rng).objects])
    name, data = written(changed if isinstance(changed, list) else [changed], rng)
    pods = [
        str(item["metadata"]["name"])
        for item in original
        if item.get("kind") == "Pod" and not item["spec"].get("nodeName")
    ]
    limits = ("--max-runs", "6", "--max-seconds", "5")
    commands = (
        ("fix", rng.choice(pods or ["p"]), *limits), ("fix", "--pending", *limits),
        ("fix", rng.choice(pods or ["p"]), "--never", "evict,node", *limits),
        ("shrink",), ("shrink", "--force", "--repack"), ("shrink", "--max", "2", "--price", "*=1"),
        ("shrink", "--upgrade", "--surge", "2", "--force"),
    )  # fmt: skip
    form = rng.choice(("json", "json", "html", "markdown", "table"))
    return Input(name, data, (*rng.choice(commands), "--state", str(folder / name), "-o", form))


def embedded(rng: random.Random, folder: Path) -> Input:
    """A configuration in a ConfigMap, in values of a chart, or in a list with others."""
    holders = [
        _holder(rng, yaml.safe_dump(rng.choice(config_corpus()))) for _ in range(rng.choice((1, 2)))
    ]
    changed = mutated(holders, rng, [rng.choice(config_corpus())])
    name, data = written(changed if isinstance(changed, list) else [changed], rng)
    file = str(folder / name)
    named = f"{file}#{rng.choice(('scheduler', 'config.yaml', 'kube-system/s', '', 'x/y/z'))}"
    commands = (
        ("validate", file), ("validate", file, "-o", "json"), ("config", "show", file),
        ("config", "show", named, "-o", "json"), ("config", "diff", file, named, "-o", "json"),
        ("config", "migrate", file, "-o", "json"),
        ("schedule", "--state", FIRST_CLUSTER, "--config", named, "-o", "json"),
        ("compare", "--state", FIRST_CLUSTER, "--vs", "--config", file, "-o", "json"),
    )  # fmt: skip
    return Input(name, data, rng.choice(commands))


def _holder(rng: random.Random, text: str) -> Any:
    key = rng.choice(("config.yaml", "scheduler-config.yaml", "a.b"))
    metadata = {"name": rng.choice(("scheduler", "s")), "namespace": "kube-system"}
    values: tuple[Any, ...] = (
        {"scheduler": {"config": text}},
        {"schedulerConfig": yaml.safe_load(text)},
        {"a": {"b": [{"c": text}]}},
    )
    config_map = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": metadata,
        "data": {key: text},
    }
    listed = {"apiVersion": "v1", "kind": "List", "items": [config_map, *values]}
    return rng.choice((config_map, config_map, *values, listed))


PROJECTS = (
    {"kubernetesVersion": "1.36", "ignore": ["weights"], "failOn": "warning"},
    {"select": ["all"], "perFileIgnores": {"*.yaml": ["weight-zero@profiles[0]"]}},
    {"allowPlugins": ["A=filter+score", "B"], "noPlugins": True, "featureGates": "A=true"},
    {"extendSelect": ["all"], "minCompatibilityVersion": "1.35", "kind": "Project"},
)


def project(rng: random.Random, folder: Path) -> Input:
    _, data = written([mutated(rng.choice(PROJECTS), rng, list(PROJECTS))], rng)
    put_beside(folder, EXAMPLES / "what-if" / "packing.yaml")
    file = str(folder / "packing.yaml")
    commands = (
        ("validate", file, "-o", "json"), ("validate", file), ("config", "show", file),
        ("config", "diff", file, file, "-o", "json"), ("config", "migrate", file, "-o", "json"),
    )  # fmt: skip
    return Input(".ksched.yaml", data, rng.choice(commands))


@cache
def _recorded() -> tuple[bytes, bytes]:
    """A recording and its state: a case's pods come one after the other, are placed and leave."""
    objects = any_case(random.Random(3), "resources").objects
    start = [item for item in objects if item["kind"] != "Pod"]
    tracker = ChangeTracker()
    for item in start:
        tracker.begin(item)
    lines: list[Any] = [
        {"apiVersion": "ksched/v1", "kind": "Timeline", "start": "2026-01-02T00:00:00Z"}
    ]
    for number, item in enumerate(item for item in objects if item["kind"] == "Pod"):
        metadata = {"namespace": "default", **item["metadata"], "uid": f"u{number}"}
        waiting = {**item, "metadata": metadata, "spec": {**item["spec"], "nodeName": ""}}
        placed = {**waiting, "spec": {**item["spec"], "nodeName": "n00"}}
        for at, changes in (
            (number, tracker.change(waiting, number)),
            (number + 0.25, tracker.change(placed, number + 0.25)),
            (number + 0.5, tracker.remove(placed) if number % 2 else ()),
        ):
            lines += [{"at": at, **change} for change in changes]
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines), json.dumps(start).encode()


def record(rng: random.Random, folder: Path) -> Input:
    """A recording that ends anywhere, as a recorder's that was killed."""
    data, state = _recorded()
    data = data[: rng.randrange(len(data))]
    if rng.random() < 0.5:  # between two lines
        data = data[: data.rfind(b"\n") + 1]
    data = mangled(data, rng) if rng.random() < 0.3 else data
    (folder / "day.state.json").write_bytes(state)
    file, start = str(folder / "day.jsonl"), str(folder / "day.state.json")
    commands = (
        ("replay", file, "--state", start, "-o", "json"), ("replay", file, "--state", start),
        ("audit", "--timeline", file, "-o", "json"), ("audit", "--timeline", file),
        ("schedule", "--timeline", file, "--state", start, "-o", "json"),
    )  # fmt: skip
    return Input("day.jsonl", data if rng.random() < 0.95 else b"", rng.choice(commands))


def swept_timeline(rng: random.Random, folder: Path) -> Input:
    """A timeline of a sweep, and of a file of expectations."""
    case = any_case(rng, "replay")
    (folder / "start.json").write_text("\n".join(map(json.dumps, case.objects)))
    lines = list(map(json.loads, case.timeline.splitlines()))
    changed = mutated(lines, rng, [case.objects])
    data = "\n".join(map(json.dumps, changed if isinstance(changed, list) else [changed])).encode()
    data = mangled(data, rng) if rng.random() < 0.15 else data
    version = {"apiVersion": "ksched/v1"}
    sweep = {"kind": "Sweep", "states": "start.json", "timelines": ["timeline.jsonl"]}
    expect = [{"pendingAtEnd": 0}, {"waited": {"pods": "*", "mean": {"atMost": "1m"}}}]
    expected = {"kind": "Expectations", "state": "start.json", "timeline": "timeline.jsonl"}
    (folder / "sweep.json").write_text(json.dumps({**version, **sweep, "seeds": 1}))
    (folder / "expected.json").write_text(json.dumps({**version, **expected, "expect": expect}))
    (folder / "rows.jsonl").unlink(missing_ok=True)
    commands = (
        ("sweep", str(folder / "sweep.json"), "-o", "json"),
        ("sweep", str(folder / "sweep.json"), "--rows", str(folder / "rows.jsonl"), "-o", "csv"),
        ("test", str(folder / "expected.json"), "-o", "json"),
    )
    return Input("timeline.jsonl", data, rng.choice(commands))


SUBJECTS = (
    Subject("sides", sides),
    Subject("searches", searches),
    Subject("embedded", embedded),
    Subject("project", project),
    Subject("record", record),
    Subject("swept-timeline", swept_timeline),
)
