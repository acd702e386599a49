"""Configurations, and files that say what to run."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from corpora import (
    EXAMPLES,
    config_corpus,
    expectations_corpus,
    old_configurations,
    sweep_corpus,
    tune_corpus,
)
from extended import extender
from format import (
    FIRST_CLUSTER,
    JSON,
    PREEMPTION,
    Arguments,
    Format,
    Variants,
    encoded,
    of_bytes,
    of_documents,
    singly,
)
from inputs import put_beside
from run_subjects import rows_corpus
from runs_here import runs_here
from subject import within
from substitutes import byte_variants, json_variants


def _configurations() -> Iterator[Any]:
    kind = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    tls = {"insecure": True, "serverName": "s", "certFile": "c", "keyFile": "k", "caFile": "a",
           "certData": "YQ==", "keyData": "YQ==", "caData": "YQ=="}  # fmt: skip
    more = {"enableHTTPS": True, "tlsConfig": tls, "ignorable": True,
            "managedResources": [{"name": "a/b", "ignoredByScheduler": True}]}  # fmt: skip
    calling = {**extender("https://127.0.0.1:1", capable=True), "httpTimeout": "1ms"}
    yield {**kind, "extenders": [calling]}
    yield {**kind, "extenders": [{**calling, **more}]}
    yield from config_corpus()


def _configuration_commands(file: str, folder: Path) -> Sequence[Arguments]:
    other = str(EXAMPLES / "what-if" / "packing.yaml")
    state = ("--state", FIRST_CLUSTER, *JSON)
    return (
        ("validate", file, *JSON), ("validate", file, "-o", "sarif"), ("validate", file),
        ("config", "show", file, *JSON), ("config", "show", file), ("config", "diff", file, other),
        ("config", "diff", other, file, *JSON), ("config", "migrate", file, *JSON),
        ("schedule", *state, "--config", file), ("compare", file, *state),
        ("schedule", "--state", PREEMPTION, "--config", file, "--trace", *JSON),
        ("sweep", str(folder / "sweep.json"), *JSON),
    )  # fmt: skip


def _beside_configurations(folder: Path) -> None:
    patch = {"path": "profiles[0].plugins.multiPoint.enabled[NodeAffinity].weight", "values": [3]}
    more = {"path": "profiles[0].pluginConfig[NodeResourcesFit].args.scoringStrategy.type",
            "values": ["MostAllocated"]}  # fmt: skip
    sweep = {"apiVersion": "ksched/v1", "kind": "Sweep", "states": [FIRST_CLUSTER],
             "configurations": ["input.json"], "patches": [patch, more]}  # fmt: skip
    (folder / "sweep.json").write_text(json.dumps(sweep))


def _old_commands(file: str, folder: Path) -> Sequence[Arguments]:
    return (("config", "migrate", file), ("config", "migrate", file, *JSON),
            ("validate", file, *JSON))  # fmt: skip


def _expectations() -> Iterator[Any]:
    yield from (document for _, document in expectations_corpus())
    more = [{"pod": "*", "on": {"a": "*"}}, {"pod": "*", "pending": True, "because": "x"},
            {"pod": "*", "evicted": True}, {"evicted": 0}, {"pending": 1},
            {"nodesUsed": {"atLeast": 0, "atMost": 9}},
            {"spread": {"pods": "*", "over": "kubernetes.io/hostname", "atMost": 1}}]  # fmt: skip
    yield {"apiVersion": "ksched/v1", "kind": "Expectations", "state": ["cluster.yaml"],
           "kubernetesVersion": "1.35", "expect": more}  # fmt: skip


def _expectations_commands(file: str, folder: Path) -> Sequence[Arguments]:
    return tuple(("test", file, "-o", form) for form in ("json", "table", "junit"))


def _beside_what_if(folder: Path) -> None:
    put_beside(folder, *(EXAMPLES / "what-if").glob("*.yaml"))


def _beside_sweeps(folder: Path) -> None:
    _beside_what_if(folder)
    put_beside(folder, *(EXAMPLES / "replay" / name for name in ("day.yaml", "autoscaler.yaml")))
    link = folder / "cluster.yaml"
    link.unlink()
    link.symlink_to(EXAMPLES / "sweep" / "cluster.yaml")


def _sweep_commands(file: str, folder: Path) -> Sequence[Arguments]:
    return (
        ("sweep", file, *JSON),
        ("sweep", file, "--dry-run", *JSON),
        ("sweep", file, "-o", "csv"),
    )


def _sweeps() -> Iterator[Any]:
    yield from sweep_corpus()
    yield {**sweep_corpus()[0], "plugins": ["x.py", ["a.b:C"]]}


def _tune_commands(file: str, folder: Path) -> Sequence[Arguments]:
    return (("tune", file, *JSON), ("tune", file, "-o", "html"))


def _tunes() -> Iterator[Any]:
    for document in tune_corpus():
        yield {**document, "trials": 2, "samplerSeed": 1, "kubernetesVersion": "1.34"}
    space = [{"path": "percentageOfNodesToScore", "between": [1, 50.5], "log": True, "name": "n"}]
    yield {**tune_corpus()[0], "trials": 2, "space": space}


def _row_commands(file: str, folder: Path) -> Sequence[Arguments]:
    sweep = ("sweep", str(EXAMPLES / "sweep" / "sweep.yaml"), "--rows", file)
    return ((*sweep, *JSON), (*sweep, "-o", "csv"), (*sweep, "-o", "table"), (*sweep, "-o", "html"))


def _rows() -> list[Any]:
    return [{**row, "metrics": {"m": 1.5}} for row in rows_corpus()]


def study_command(file: str, folder: Path) -> Arguments:
    (folder / "tune.json").write_text(json.dumps({**tune_corpus()[0], "trials": 2}))
    return ("tune", str(folder / "tune.json"), "--study", file, *JSON)


@cache
def study() -> bytes:
    """A search that is done."""
    with tempfile.TemporaryDirectory() as folder, runs_here():
        _beside_sweeps(Path(folder))
        path = Path(folder) / "study"
        within(study_command(str(path), Path(folder)))
        return path.read_bytes()


def _study_variants() -> Variants:
    logs = list(map(json.loads, study().splitlines()))
    yield from encoded(json_variants(logs, set()))
    yield from of_bytes(byte_variants(study(), 100))


FORMATS = (
    Format("configuration", "input.json", singly(_configurations), _configuration_commands,
           _beside_configurations),
    Format("old configuration", "input.json", singly(old_configurations), _old_commands),
    Format("expectations", "input.json", singly(_expectations), _expectations_commands,
           _beside_what_if),
    Format("sweep", "input.json", singly(_sweeps), _sweep_commands, _beside_sweeps),
    Format("tune", "input.json", singly(_tunes), _tune_commands, _beside_sweeps),
    Format("study", "study", _study_variants,
           lambda file, folder: (study_command(file, folder),), _beside_sweeps),
    Format("rows", "rows.jsonl", of_documents(lambda: [_rows()]), _row_commands),
)  # fmt: skip
