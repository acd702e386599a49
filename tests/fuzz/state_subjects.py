"""States, configurations and scenarios, and the commands that read them."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from corpora import (
    CHANGES,
    EXAMPLES,
    any_case,
    config_corpus,
    old_configurations,
    scenario_corpus,
    state_corpus,
    written,
)
from inputs import Input, Subject
from mutations import mutated

from ksched_cli.kube.versions import MINORS

FIRST_CLUSTER = EXAMPLES / "first-cluster" / "cluster.yaml"
GATES = ("GangScheduling=true", "DRAPartitionableDevices=true", "OpportunisticBatching=false")


def _names(documents: list[Any], kind: str) -> list[str]:
    names = [
        document["metadata"]["name"]
        for document in documents
        if isinstance(document, dict) and document.get("kind") == kind
    ]
    return list(map(str, names)) or ["none"]


def _state_command(rng: random.Random, documents: list[Any], folder: Path) -> tuple[str, ...]:
    """documents: before they were changed"""
    pod = rng.choice(_names(documents, "Pod"))
    node = rng.choice(_names(documents, "Node"))
    commands = (
        ("schedule",), ("schedule", "--trace"), ("schedule", "--no-retries"),
        ("explain", pod), ("explain", "--pending"), ("explain", pod, "--alone"),
        ("explain", pod, "--node", node, "--top", "2"), ("preempt", pod),
        ("preempt", pod, "--all-candidates"), ("capacity", pod, "--max", "20"),
        ("capacity", "--pending", "--like", node), ("drift",),
        ("compare", "--vs", "--change", f"cordon {node}"),
        ("compare", "--kubernetes-version", "1.34", "--vs", "--kubernetes-version", "1.36"),
        ("snapshot", str(folder / "out.json")), ("snapshot", str(folder / "out.json"), "--redact"),
    )  # fmt: skip
    return rng.choice(commands)


def _with_options(rng: random.Random, command: tuple[str, ...], file: str) -> tuple[str, ...]:
    command = (*command, "--state", file)
    form = "json" if "--trace" in command or rng.random() < 0.5 else rng.choice(("table", "html"))
    command += ("-o", form) if form != "table" else ()
    if "snapshot" in command:
        return command
    if rng.random() < 0.1:
        command += ("--change", rng.choice(CHANGES))
    if rng.random() < 0.2 and "--kubernetes-version" not in command:
        command += ("--kubernetes-version", rng.choice(MINORS))
        command += ("--feature-gates", rng.choice(GATES)) if rng.random() < 0.5 else ()
    return command


def state(rng: random.Random, folder: Path) -> Input:
    if rng.random() < 0.5:
        original, donor = any_case(rng).objects, any_case(rng).objects
    else:
        original, donor = rng.choice(state_corpus()), rng.choice(state_corpus())
    documents = mutated(original, rng, [donor])
    name, data = written(documents if isinstance(documents, list) else [documents], rng)
    command = _state_command(rng, original, folder)
    return Input(name, data, _with_options(rng, command, str(folder / name)))


def configuration(rng: random.Random, folder: Path) -> Input:
    corpus = config_corpus()
    document = mutated(rng.choice(corpus), rng, [rng.choice(corpus)])
    name, data = written([document], rng)
    file, other = str(folder / name), str(EXAMPLES / "what-if" / "packing.yaml")
    commands = (
        ("validate", file), ("validate", file, "-o", rng.choice(("json", "sarif", "github"))),
        ("config", "show", file), ("config", "show", file, "-o", "json"),
        ("config", "diff", file, other), ("config", "diff", other, file, "-o", "json"),
        ("config", "migrate", file, "-o", "json"),
        ("schedule", "--state", str(FIRST_CLUSTER), "--config", file, "-o", "json"),
        ("compare", file, "--state", str(FIRST_CLUSTER), "-o", "json"),
    )  # fmt: skip
    return Input(name, data, rng.choice(commands))


def old_configuration(rng: random.Random, folder: Path) -> Input:
    corpus = old_configurations()
    document = mutated(rng.choice(corpus), rng, [rng.choice(corpus)])
    name, data = written([document], rng)
    file = str(folder / name)
    commands = (("config", "migrate", file), ("config", "migrate", file, "-o", "json"),
                ("validate", file, "-o", "json"))  # fmt: skip
    return Input(name, data, rng.choice(commands))


def scenario(rng: random.Random, folder: Path) -> Input:
    corpus = scenario_corpus()
    document = mutated(rng.choice(corpus), rng, [rng.choice(corpus)])
    name, data = written([document], rng)
    state_file = str(rng.choice(sorted(EXAMPLES.glob("*/cluster.yaml"))))
    command = rng.choice(("schedule", "schedule", "compare", "drift"))
    arguments = (command, "--state", state_file, "--scenario", str(folder / name), "-o", "json")
    return Input(name, data, arguments)


SUBJECTS = (
    Subject("state", state),
    Subject("configuration", configuration),
    Subject("old-configuration", old_configuration),
    Subject("scenario", scenario),
)
