"""The kinds of input that are mutated: where their corpus is, and which commands read them."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from mutations import mangled, mutated

HERE = Path(__file__).parent
CASES = HERE.parent / "conformance" / "cases"
CONFIGS = HERE.parent / "conformance" / "configs"
EXAMPLES = HERE.parent.parent / "examples"
SIZE_MAX = 60_000  # bytes of a corpus file: larger ones are slow and show nothing more


@dataclass(frozen=True, slots=True)
class Input:
    """One mutated file and the command line that reads it."""

    name: str
    data: bytes
    arguments: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Subject:
    """make: from randomness and the folder that the file will be written to, an input."""

    name: str
    make: Callable[[random.Random, Path], Input]


def _documents(file: Path) -> list[Any]:
    """The objects of a file, those of lists too."""
    objects: list[Any] = []
    for document in yaml.load_all(file.read_text(), Loader=yaml.CSafeLoader):
        is_list = isinstance(document, dict) and "items" in document
        objects += document["items"] if is_list else [document]
    return [item for item in objects if item is not None]


@cache
def state_corpus() -> list[list[Any]]:
    files = sorted(CASES.glob("*/*/state.yaml")) + sorted(EXAMPLES.glob("*/cluster.yaml"))
    small = [file for file in files if file.stat().st_size < SIZE_MAX]
    return [_documents(file) for file in small if "127.0.0.1" not in file.read_text()]


@cache
def config_corpus() -> list[Any]:
    files = [*sorted(CONFIGS.glob("*/config.yaml")), *sorted(CASES.glob("*/*/config.yaml"))]
    configurations = []
    for file in files:
        try:
            configurations += _documents(file)[:1]
        except yaml.YAMLError:
            continue  # some cases are no YAML, on purpose
    # No configuration that names an extender: nothing here talks to anybody.
    return [item for item in configurations if "extenders" not in str(item)]


CHANGES = (
    "drain node-a", "cordon n0", "uncordon n0", "taint nodes n0 a=b:NoSchedule",
    "taint nodes n0 a-", "label nodes n0 a=b", "scale deployment/web --replicas=3",
    "set resources deployment/web --requests=cpu=200m", "delete pod/p00",
    "rollout restart deployment/web", "patch pod/p00 -p '{\"spec\": {\"priority\": 3}}'",
    "add-nodes new --like n0 --count 2",
    "reschedule --all", "reschedule -l app=web",
)  # fmt: skip


@cache
def scenario_corpus() -> list[Any]:
    deployment = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{"name": "c", "image": "i"}]},
            },
        },
    }
    changes = [*CHANGES, {"apply": deployment}]
    return [
        {"apiVersion": "ksched/v1", "kind": "Scenario", "changes": [{"apply": deployment}, change]}
        for change in changes
    ]


def _written(documents: Sequence[Any], rng: random.Random) -> tuple[str, bytes]:
    """The name and bytes of a file: YAML, JSON, or either after changes of bytes."""
    if rng.random() < 0.5:
        text = "\n".join(json.dumps(document) for document in documents)
        suffix = "json"
    else:
        # libyaml cannot write lone surrogates; the slower emitter escapes them.
        text = yaml.dump_all(list(documents), Dumper=yaml.SafeDumper)
        suffix = "yaml"
    data = text.encode("utf-8", "surrogatepass")
    return f"input.{suffix}", mangled(data, rng) if rng.random() < 0.15 else data


def _pod_name(documents: list[Any], rng: random.Random) -> str:
    pods = [
        document["metadata"]["name"]
        for document in documents
        if isinstance(document, dict) and document.get("kind") == "Pod"
    ]
    return str(rng.choice(pods)) if pods else "pod"


def _state_command(rng: random.Random, pod: str, file: str) -> tuple[str, ...]:
    commands = (
        ("schedule",), ("schedule", "--trace"), ("explain", pod), ("explain", "--pending"),
        ("explain", pod, "--alone"), ("preempt", pod), ("capacity", pod, "--max", "20"), ("drift",),
    )  # fmt: skip
    command = (*rng.choice(commands), "--state", file)
    if "--trace" in command or rng.random() < 0.5:
        command += ("-o", "json")
    if rng.random() < 0.1:
        command += ("--change", rng.choice(CHANGES))
    return command


def state(rng: random.Random, folder: Path) -> Input:
    corpus = state_corpus()
    original = rng.choice(corpus)
    documents = mutated(original, rng, [rng.choice(corpus)])
    name, data = _written(documents if isinstance(documents, list) else [documents], rng)
    return Input(name, data, _state_command(rng, _pod_name(original, rng), str(folder / name)))


def configuration(rng: random.Random, folder: Path) -> Input:
    corpus = config_corpus()
    document = mutated(rng.choice(corpus), rng, [rng.choice(corpus)])
    name, data = _written([document], rng)
    file, state_file = str(folder / name), str(EXAMPLES / "first-cluster" / "cluster.yaml")
    commands = (
        ("validate", file), ("validate", file, "-o", "json"), ("config", "show", file),
        ("config", "show", file, "-o", "json"),
        ("schedule", "--state", state_file, "--config", file, "-o", "json"),
    )  # fmt: skip
    return Input(name, data, rng.choice(commands))


def scenario(rng: random.Random, folder: Path) -> Input:
    corpus = scenario_corpus()
    document = mutated(rng.choice(corpus), rng, [rng.choice(corpus)])
    name, data = _written([document], rng)
    state_file = str(rng.choice(sorted(EXAMPLES.glob("*/cluster.yaml"))))
    arguments = ("schedule", "--state", state_file, "--scenario", str(folder / name), "-o", "json")
    return Input(name, data, arguments)


SUBJECTS = (
    Subject("state", state), Subject("configuration", configuration), Subject("scenario", scenario),
)  # fmt: skip
