"""What is mutated: objects, configurations, scenarios, expectations, sweeps, timelines."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from generate import FAMILIES, WITH_EXTENDERS, Case
from generate import case as random_case
from mutations import mangled

HERE = Path(__file__).parent
CASES = HERE.parent / "conformance" / "cases"
CONFIGS = HERE.parent / "conformance" / "configs"
MIGRATIONS = HERE.parent / "config" / "migration" / "cases.yaml"
EXAMPLES = HERE.parent.parent / "examples"
SIZE_MAX = 60_000  # bytes of a corpus file: larger ones are slow and show nothing more
# Random cases that have a state; extenders need a server.
RANDOM_FAMILIES = tuple(
    name for name in FAMILIES if name not in ("configs", "gates", *WITH_EXTENDERS)
)


def any_case(rng: random.Random, *families: str) -> Case:
    """A random case of one of the families."""
    return random_case(rng.choice(families or RANDOM_FAMILIES), rng.randrange(10**6))


def documents_of(file: Path) -> list[Any]:
    """The objects of a file, those of lists too."""
    objects: list[Any] = []
    for document in yaml.load_all(file.read_text(), Loader=yaml.CSafeLoader):
        is_list = isinstance(document, dict) and "items" in document
        objects += document["items"] if is_list else [document]
    return [item for item in objects if item is not None]


class Files(Sequence[list[Any]]):
    """The objects of files, which are read when they are asked for."""

    def __init__(self, files: Sequence[Path]) -> None:
        self._files = files
        self._read: dict[Path, list[Any]] = {}

    def __len__(self) -> int:
        return len(self._files)

    def __getitem__(self, index: Any) -> Any:
        file = self._files[index]
        if file not in self._read:
            self._read[file] = documents_of(file)
        return self._read[file]


@cache
def state_corpus() -> Files:
    files = sorted(CASES.glob("*/*/state.yaml")) + sorted(EXAMPLES.glob("*/cluster.yaml"))
    small = [file for file in files if file.stat().st_size < SIZE_MAX]
    return Files([file for file in small if "127.0.0.1" not in file.read_text()])


@cache
def config_corpus() -> list[Any]:
    files = [*sorted(CONFIGS.glob("*/config.yaml")), *sorted(CASES.glob("*/*/config.yaml"))]
    configurations = []
    for file in files:
        try:
            configurations += documents_of(file)[:1]
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


def written(documents: Sequence[Any], rng: random.Random) -> tuple[str, bytes]:
    """The name and bytes of a file: YAML, JSON, or either after changes of bytes."""
    if rng.random() < 0.5:
        text = "\n".join(json.dumps(document) for document in documents)
        suffix = "json"
    else:
        text = _yaml(documents)
        suffix = "yaml"
    data = text.encode("utf-8", "surrogatepass")
    return f"input.{suffix}", mangled(data, rng) if rng.random() < 0.15 else data


def _yaml(documents: Sequence[Any]) -> str:
    try:
        return str(yaml.dump_all(documents, Dumper=yaml.CSafeDumper))
    except (
        UnicodeEncodeError
    ):  # libyaml cannot write lone surrogates; the slower emitter escapes them
        return str(yaml.dump_all(documents, Dumper=yaml.SafeDumper))


@cache
def expectations_corpus() -> list[tuple[Path, Any]]:
    files = sorted(EXAMPLES.glob("*/expectations.yaml"))
    return [(file, document) for file in files for document in documents_of(file)]


@cache
def old_configurations() -> list[Any]:
    """Texts of kube-schedulers that are not supported any more."""
    cases = yaml.load(MIGRATIONS.read_text(), Loader=yaml.CSafeLoader)
    return [yaml.load(case["old"], Loader=yaml.CSafeLoader) for case in cases.values()]


PATCHES = (
    {"name": "strategy", "values": ["LeastAllocated", "MostAllocated"],
     "path": "profiles[0].pluginConfig[NodeResourcesFit].args.scoringStrategy.type"},
    {"path": "profiles[0].plugins.multiPoint.enabled[NodeResourcesFit].weight", "values": [1, 9]},
    {"path": "percentageOfNodesToScore", "values": [5, 100]},
)  # fmt: skip


@cache
def sweep_corpus() -> list[Any]:
    """Beside examples/sweep/cluster.yaml, and what lies in examples/what-if and replay."""
    kind = {"apiVersion": "ksched/v1", "kind": "Sweep"}
    changes = [
        "drain node-1",
        {"name": "as it is"},
        {"name": "both", "changes": ["cordon node-2", "scale deployment/web -n shop --replicas=9"]},
        {"name": "night", "scenario": "night.yaml"},
    ]
    states = ["cluster.yaml", {"name": "again", "files": ["cluster.yaml"]}]
    configurations = [{"name": "none"}, "packing.yaml", {"name": "p", "file": "default.yaml"}]
    sweeps: list[Any] = [
        {"states": ["cluster.yaml"], "patches": list(PATCHES), "seeds": 2},
        {"states": states, "configurations": configurations, "kubernetesVersions": ["1.34"]},
        {"states": "cluster.yaml", "changes": changes[:3], "seeds": [3, 5], "noRetries": True},
        {"states": ["cluster.yaml"], "changes": changes, "plugins": [[], []],
         "kubernetesVersions": ["1.34", "1.36"], "combine": "product"},
        {"states": states, "kubernetesVersions": ["1.35", "1.36"], "combine": "zip", "seeds": 2,
         "metrics": {"nodesUsed": "minimize", "utilization.cpu.stddev": "maximize"}},
        {"states": "cluster.yaml", "timelines": ["day.yaml"], "seeds": 2, "until": ["6h", 90],
         "autoscalers": ["none", {"name": "g", "file": "autoscaler.yaml"}], "evictAtOnce": True,
         "metrics": {"wait.mean": "minimize", "nodeHours": "minimize"}},
        {"states": "cluster.yaml", "noPreemption": [False, True], "noWorkloads": True,
         "noExtenders": True, "noCache": [True], "pluginTimeout": [0, 2.5], "namespace": "shop",
         "featureGates": ["", "DynamicResourceAllocation=true"]},
    ]  # fmt: skip
    return [{**kind, **sweep} for sweep in sweeps]


@cache
def tune_corpus() -> list[Any]:
    (document,) = documents_of(EXAMPLES / "sweep" / "tune.yaml")
    held_out = {"states": ["cluster.yaml"], "seeds": 1}
    space = [{"path": "percentageOfNodesToScore", "between": [5, 100]}, *document["space"]]
    objectives = [{"metric": "nodesUsed", "goal": "minimize"},
                  {"metric": "utilization.cpu.stddev", "goal": "maximize"}]  # fmt: skip
    more = {"heldOut": held_out, "space": space, "objectives": objectives}
    return [{**document, "trials": 3}, {**document, **more, "trials": 2}]


@cache
def autoscaler_corpus() -> list[Any]:
    return documents_of(EXAMPLES / "replay" / "autoscaler.yaml")


@cache
def timeline_corpus() -> list[Any]:
    return documents_of(EXAMPLES / "replay" / "day.yaml")
