"""States, changes to them, and timelines."""

from __future__ import annotations

import gzip
import json
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from corpora import (
    state_corpus,
)
from extended import write_extended
from format import (
    FIRST_CLUSTER,
    JSON,
    Arguments,
    Format,
    Variants,
    of_bytes,
    of_documents,
)
from own_state import listed_state, own_state
from runs_here import runs_here
from subject import within
from substitutes import byte_variants

from ksched_cli.kube.versions import NEWEST


def _states() -> Iterator[Sequence[Any]]:
    yield own_state()
    yield listed_state()
    yield from state_corpus()


def _state_commands(file: str, folder: Path) -> Sequence[Arguments]:
    changes = (
        "drain n0 --force", "taint nodes --all a=b:NoExecute", "label nodes --all a=c", "cordon n1",
        "scale deployment/web --replicas=1", "scale sts/db --replicas=4",
        "scale rc/rc --replicas=0",
        "scale rs/web-1 --replicas=0",
        "set resources deployment/web --requests=cpu=200m", "rollout restart ds/agent",
        "delete deployment/web job/job", "delete node/n0", "delete ns/default",
        "patch deployment/web -p '{\"spec\": {\"replicas\": 3, \"template\": {\"spec\": "
        "{\"nodeName\": \"x\"}}}}'",
        "patch pc/high --type=merge -p '{\"metadata\": null}'",
        "add-nodes new --like n0 --count 2", "reschedule --all", f"apply -f {file}",
    )  # fmt: skip
    state = ("--state", file)
    applied = ("schedule", "--state", str(folder / "own.json"), "--change", f"apply -f {file}")
    extended = ("--config", str(folder / "extended.json"))
    out, own, log = (str(folder / name) for name in ("out.json", "own.json", "scheduler.log"))
    return (
        ("schedule", "--trace", *JSON, *state),
        ("schedule", *JSON, *state, "--no-workloads", "--kubernetes-version", NEWEST),
        ("explain", "--pending", *JSON, *state), ("explain", "web-1", *JSON, *state),
        ("preempt", "web-1", *JSON, *state), ("drift", *JSON, *state),
        ("capacity", "deployment/web", *JSON, *state, "--max", "5"),
        ("capacity", "-f", file, "--state", FIRST_CLUSTER, "--max", "5", *JSON),
        ("capacity", "--pending", "--like", "n0", *JSON, *state),
        ("compare", "--change", "drain n0", *JSON, *state),
        ("schedule", "--trace", *JSON, *state, *extended), ("schedule", *JSON, *state, *extended),
        ("snapshot", out, *state), ("snapshot", out, *JSON, *state, "--full"),
        ("snapshot", out, *state, "--redact", "--redact-key", str(folder / "key.json")),
        ("audit", "--before", file, "--after", file, "--scheduler-log", log, *JSON),
        ("audit", "--before", own, "--after", file, "--scheduler-log", log, *JSON),
        ("replay", str(folder / "t.jsonl"), *state, *JSON, "--save-state", out),
        ("timeline", "from-dump", file), ("timeline", "generate", file, "--pods", "5"),
        (*applied, *JSON), (*applied, "--kubernetes-version", "1.36", *JSON),
        *(("schedule", *JSON, *state, "--change", change) for change in changes),
    )  # fmt: skip


def beside_states(folder: Path) -> None:
    (folder / "own.json").write_text("\n".join(map(json.dumps, own_state())))
    (folder / "scheduler.log").touch()
    events = [
        {"apiVersion": "ksched/v1", "kind": "Timeline"},
        {"at": 1, "change": "drain n0"},
        {"at": 2, "put": {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n9"}}},
        {"at": 3, "delete": {"kind": "Deployment", "name": "web"}},
    ]
    (folder / "t.jsonl").write_text("\n".join(map(json.dumps, events)))
    write_extended(folder, capable=True)


def _saved_states() -> Iterator[Sequence[Any]]:
    """What `replay --save-state` and `snapshot` write."""
    with tempfile.TemporaryDirectory() as name, runs_here():
        folder = Path(name)
        beside_states(folder)
        end, out = folder / "end.json", folder / "out.json"
        state = ("--state", str(folder / "own.json"))
        within(("replay", str(folder / "t.jsonl"), *state, "--save-state", str(end)))
        within(("snapshot", str(out), *state))
        for path in (end, out):
            yield [json.loads(path.read_text())]


def _packed() -> Variants:
    state = gzip.compress("\n".join(map(json.dumps, own_state())).encode(), mtime=0)
    return of_bytes(byte_variants(state, 150))


FORMATS = (
    Format("state", "input.json", of_documents(_states), _state_commands, beside_states),
    Format("state saved", "input.json", of_documents(_saved_states), _state_commands,
        beside_states),
    Format("state packed", "input.json.gz", _packed,
           lambda file, folder: (("schedule", "--state", file, *JSON),)),
)  # fmt: skip
