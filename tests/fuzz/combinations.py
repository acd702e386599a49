"""Random Runs: any axis with any other, over the random clusters that the real scheduler is
compared on, in a folder of their own."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from corpora import EXAMPLES, any_case
from generate import SINCE
from msgspec.structs import replace

from ksched_cli.kube.versions import MINORS
from ksched_cli.run.run import ChangeSource, Patch, Run

Object = dict[str, Any]
Draw = random.Random

WEIGHT = "profiles[0].plugins.multiPoint.enabled[NodeResourcesFit].weight"
STRATEGY = "profiles[0].pluginConfig[NodeResourcesFit].args.scoringStrategy.type"
SHARE = "profiles[0].percentageOfNodesToScore"
PATCHES = (
    Patch(WEIGHT, 7),
    Patch(STRATEGY, "MostAllocated"),
    Patch(SHARE, 100),
    Patch("percentageOfNodesToScore", 40),
    Patch("profiles[0].plugins.multiPoint.disabled", [{"name": "ImageLocality"}]),
)
GATES = (
    "OpportunisticBatching=false",
    "SchedulerQueueingHints=true",
    "DRAPartitionableDevices=true",
)
LAST = """
from ksched_cli.api import ScorePlugin


class Last(ScorePlugin):
    name = "Last"

    def score(self, state, pod, node):
        return sum(map(ord, node.name)) % 101
"""
NOT_FIRST = """
from ksched_cli.api import SUCCESS, FilterPlugin, Status


class NotFirst(FilterPlugin):
    name = "NotFirst"

    def filter(self, state, pod, node):
        if node.name.endswith("0") and pod.name.endswith("1"):
            return Status.unschedulable("not the first")
        return SUCCESS
"""
AUTOSCALER: Object = {"apiVersion": "ksched/v1", "kind": "Autoscaler"}


@dataclass(frozen=True, slots=True)
class Combination:
    """A Run and what it is about. objects: of its state; pods, nodes: keys and names"""

    run: Run
    objects: list[Object]
    pods: Sequence[str]
    nodes: Sequence[str]


def key_of(pod: Object) -> str:
    metadata = pod["metadata"]
    return f"{metadata.get('namespace') or 'default'}/{metadata['name']}"


def named(objects: Sequence[Object], kind: str) -> list[str]:
    return [item["metadata"]["name"] for item in objects if item["kind"] == kind]


def write_state(path: Path, objects: Sequence[Object]) -> str:
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)}))
    return str(path)


def _written(path: Path, text: str) -> str:
    path.write_text(text)
    return str(path)


def combination(seed: int, folder: Path, *families: str) -> Combination:
    """The Run of a seed. Its files are written to the folder."""
    draw = Draw(f"combination {seed}")
    case = any_case(draw, *families)
    objects = case.objects
    pods = [key_of(item) for item in objects if item["kind"] == "Pod"]
    nodes = named(objects, "Node")
    minor = draw.choice([each for each in MINORS if each >= SINCE.get(case.family, "")])
    run = Run(
        states=_states(draw, folder, objects),
        workloads=draw.random() < 0.8,
        changes=_changes(draw, folder, pods, nodes),
        configuration=_configuration(draw, folder, case.config),
        patches=tuple(draw.sample(PATCHES, draw.choice((0, 0, 0, 1, 2)))),
        plugins=_plugins(draw, folder),
        kubernetes_version=minor,
        feature_gates=case.gates or draw.choice(("", "", "", *GATES)),
        min_compatibility_version=minor if minor != "1.34" and draw.random() < 0.1 else "",
        preemption=draw.random() < 0.8,
        retries=draw.random() < 0.8,
        cache=draw.random() < 0.8,
        plugin_timeout=draw.choice((0, 0, 0, 60.0)),
    )
    if draw.random() < 0.4:
        run = replace(run, tie_break="random", seed=draw.randrange(100))
    # An example's extender is nowhere: it is left out, or its answers are recorded ones.
    run = replace(run, extenders=False) if "extender" in run.configuration else run
    return Combination(run, objects, pods, nodes)


def _states(draw: Draw, folder: Path, objects: list[Object]) -> tuple[str, ...]:
    """One file or several. Pods stay in one, whose order counts."""
    pods = [item for item in objects if item["kind"] == "Pod"]
    others = [item for item in objects if item["kind"] != "Pod"]
    if draw.random() < 0.5:
        return (write_state(folder / "state.json", objects),)
    cut = draw.randint(0, len(others))
    parts = (others[:cut], pods, others[cut:])
    return tuple(write_state(folder / f"{i}.json", part) for i, part in enumerate(parts))


def _changes(
    draw: Draw, folder: Path, pods: Sequence[str], nodes: Sequence[str]
) -> tuple[ChangeSource, ...]:
    lines = random_lines(draw, pods, nodes)
    if draw.random() < 0.7:
        return tuple(ChangeSource(line=line) for line in lines)
    document = {"apiVersion": "ksched/v1", "kind": "Scenario", "changes": lines}
    path = _written(folder / "scenario.yaml", json.dumps(document))
    return (ChangeSource(scenario=path),) if lines else ()


def random_lines(draw: Draw, pods: Sequence[str], nodes: Sequence[str]) -> list[str]:
    makers: list[Callable[[], str]] = [lambda: "reschedule --all"]
    if nodes:
        makers += [
            lambda: f"cordon {draw.choice(nodes)}",
            lambda: f"drain {draw.choice(nodes)}",
            lambda: f"taint nodes {draw.choice(nodes)} law=yes:NoSchedule",
            lambda: f"label nodes {draw.choice(nodes)} law=yes --overwrite",
            lambda: f"add-nodes law --like {draw.choice(nodes)} --count 2",
            lambda: f"fail nodes {draw.choice(nodes)}",
        ]
    if pods:
        makers.append(lambda: deleting(draw.choice(pods)))
    chosen = draw.sample(makers, draw.choice((0, 0, 1, 2)))
    return [make() for make in chosen]


def deleting(pod: str) -> str:
    """A change. pod: its key"""
    namespace, _, name = pod.partition("/")
    return f"delete pod/{name} -n {namespace}"


def _configuration(draw: Draw, folder: Path, own: str | None) -> str:
    """The case's own, an example's, or none."""
    if own is not None and draw.random() < 0.8:
        return _written(folder / "config.yaml", own)
    examples = ("what-if/packing.yaml", "extender/scheduler.yaml")
    return draw.choice(("", "", *(str(EXAMPLES / example) for example in examples)))


def _plugins(draw: Draw, folder: Path) -> tuple[str, ...]:
    paths = [
        _written(folder / f"{name}.py", text)
        for name, text in (("last", LAST), ("not_first", NOT_FIRST))
    ]
    return tuple(draw.sample(paths, draw.choice((0, 0, 0, 1, 2))))


def over_time(given: Combination, seed: int, folder: Path) -> Combination:
    """The same with a timeline, and whatever only a replay has."""
    draw = Draw(f"over time {seed}")
    story = any_case(draw, "replay")
    timeline = _written(folder / "timeline.jsonl", story.timeline)
    run = replace(
        given.run,
        timeline=timeline,
        states=(write_state(folder / "start.json", story.objects),),
        changes=(),
        until=draw.choice(("", "", "1h", "30s")),
        evict_at_once=draw.random() < 0.3,
        prices=draw.choice(((), (), ("*=2",))),
        autoscaler=_autoscaler(draw, folder, named(story.objects, "Node")),
    )
    pods = [key_of(item) for item in story.objects if item["kind"] == "Pod"]
    return Combination(run, story.objects, pods, named(story.objects, "Node"))


def _autoscaler(draw: Draw, folder: Path, nodes: Sequence[str]) -> str:
    if not nodes or draw.random() < 0.5:
        return ""
    group = {"name": "g", "like": draw.choice(nodes), "maxSize": 3, "provisioningDelay": 5}
    return _written(folder / "groups.json", json.dumps({**AUTOSCALER, "nodeGroups": [group]}))
