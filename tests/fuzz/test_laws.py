"""Laws that hold for any state: what may be changed in it without changing what is decided, and
what no run may do. The states are the random ones that the real scheduler is compared on.

    LAW_SEEDS=50 python -m pytest tests/fuzz/test_laws.py     many more states than the suite takes
"""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from pkgutil import resolve_name
from tempfile import TemporaryDirectory
from typing import Any
from unittest import mock

import pytest
from _pytest.mark import ParameterSet
from generate import FAMILIES, WITH_EXTENDERS, Case
from generate import case as random_case
from subject import call

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.redaction.codebook import Codes
from ksched_cli.cluster.redaction.redact import redacted
from ksched_cli.framework.cycle_state import CycleState
from ksched_cli.framework.interface import FilterPlugin
from ksched_cli.framework.nodes import Nodes
from ksched_cli.framework.results import Verdicts
from ksched_cli.kube.versions import NEWEST
from ksched_cli.plugins import IN_TREE
from tests.thorough import is_thorough

pytestmark = pytest.mark.slow

SEEDS = range(int(os.environ.get("LAW_SEEDS", "1")))
# Configurations are no states; extenders need a server.
NAMES = [name for name in FAMILIES if name not in ("configs", *WITH_EXTENDERS)]
DECIDED = ("placements", "pending", "gated", "evicted", "attempts")

Object = dict[str, Any]


def cases(law: int, *without: str) -> list[ParameterSet]:
    """Random states of every family but those. The plain suite takes each third family, beginning
    with another for the next law."""
    step = 1 if is_thorough() or len(SEEDS) > 1 else 3
    names = [name for name in NAMES[law % step :: step] if name not in without]
    return [pytest.param(name, seed, id=f"{name}-{seed}") for name in names for seed in SEEDS]


@pytest.fixture(autouse=True)
def release(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Configurations of `workloads` have an extension point that older minors refuse."""
    callspec = getattr(request.node, "callspec", None)
    if callspec is not None and callspec.params.get("family") == "workloads":
        monkeypatch.setenv("KSCHED_KUBERNETES_VERSION", NEWEST)


def written(case: Case, folder: Path, files: Iterable[list[Object]]) -> list[str]:
    """Writes objects in several files, and the configuration. The options that name them."""
    options = []
    for index, objects in enumerate(files):
        path = folder / f"{index}.json"
        path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
        options += ["--state", str(path)]
    if case.config is not None:
        (folder / "config.yaml").write_text(case.config)
        options += ["--config", str(folder / "config.yaml")]
    return options


def decided(case: Case, folder: Path, files: Iterable[list[Object]], *options: str) -> Any:
    """What `schedule --trace` decides of objects in several files, without counts of the input."""
    line = ("schedule", "--trace", "--allow-empty-state", "-o", "json")
    result = call(*line, *options, *written(case, folder, files))
    assert "error" not in result, result
    return {key: result.get(key) for key in DECIDED}


@cache
def case_of(family: str, seed: int) -> Case:
    return random_case(family, seed)


@cache
def whole_of(family: str, seed: int) -> Any:
    """What is decided of a case as it is, which most laws compare something with."""
    case = case_of(family, seed)
    with TemporaryDirectory() as folder:
        return decided(case, Path(folder), [case.objects])


def is_pod(item: Object) -> bool:
    return bool(item["kind"] == "Pod")


@pytest.mark.parametrize(("family", "seed"), cases(0))
def test_the_state_may_be_split_over_files_and_objects_but_pods_shuffled(
    family: str, seed: int, tmp_path: Path
) -> None:
    case = case_of(family, seed)
    whole = whole_of(family, seed)
    pods = [item for item in case.objects if is_pod(item)]
    others = [item for item in case.objects if not is_pod(item)]
    random.Random(seed).shuffle(others)
    half = len(others) // 2
    assert decided(case, tmp_path, [others[:half], pods, others[half:]]) == whole


def with_distinct_times(objects: Iterable[Object]) -> list[Object]:
    """Every pod a second after the one before, so that nothing is left to their order."""
    start = datetime(2026, 1, 1, tzinfo=UTC)
    return [
        {**item, "metadata": {**item["metadata"], "creationTimestamp": moment.isoformat()}}
        for index, item in enumerate(objects)
        for moment in (start + timedelta(seconds=index),)
    ]


# Nominations that there are already count in the order in which the API server lists them.
@pytest.mark.parametrize(("family", "seed"), cases(1, "nominated"))
def test_the_order_of_objects_changes_nothing_where_no_two_are_of_one_time(
    family: str, seed: int, tmp_path: Path
) -> None:
    case = case_of(family, seed)
    objects = with_distinct_times(case.objects)
    whole = decided(case, tmp_path, [objects])
    random.Random(seed).shuffle(objects)
    assert decided(case, tmp_path, [objects]) == whole


def plugins_of_both_forms() -> Iterator[type]:
    """Those that answer for one node and for many."""
    for plugin in (resolve_name(str(entry.target)) for entry in IN_TREE):
        if {"filter", "filter_nodes"} <= vars(plugin).keys():
            yield plugin


def node_by_node(plugin: Any) -> Callable[..., Verdicts]:
    """The array form that asks the plain form about each node, which may ask the plugin's own array
    form about one."""
    own = plugin.filter_nodes

    def filter_nodes(self: FilterPlugin, state: CycleState, pod: PodInfo, nodes: Nodes) -> Verdicts:
        form = own if len(nodes) == 1 else FilterPlugin.filter_nodes
        answer: Verdicts = form(self, state, pod, nodes)
        return answer

    return filter_nodes


def test_some_plugins_have_both_forms() -> None:
    names = {plugin.__name__ for plugin in plugins_of_both_forms()}
    assert names >= {"NodeResourcesFit", "NodeAffinity", "TaintToleration"}


@pytest.mark.parametrize(("family", "seed"), cases(2))
def test_one_node_after_the_other_is_answered_as_all_at_once(
    family: str, seed: int, tmp_path: Path
) -> None:
    case = case_of(family, seed)
    whole = whole_of(family, seed)
    with ExitStack() as patches:
        for plugin in plugins_of_both_forms():
            patch = mock.patch.object(plugin, "filter_nodes", node_by_node(plugin))
            patches.enter_context(patch)
        assert decided(case, tmp_path, [case.objects], "--no-cache") == whole


@pytest.mark.parametrize(("family", "seed"), cases(3))
def test_a_finished_pod_and_an_unrelated_object_change_nothing(
    family: str, seed: int, tmp_path: Path
) -> None:
    case = case_of(family, seed)
    spec = {"nodeName": "n00", "containers": [{"name": "c", "image": "i"}]}
    ended = {"metadata": {"name": "ended"}, "spec": spec, "status": {"phase": "Succeeded"}}
    others: list[Object] = [
        {"apiVersion": "v1", "kind": "Pod", **ended},
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "other"}},
    ]
    whole = whole_of(family, seed)
    assert decided(case, tmp_path, [[*others, *case.objects]]) == whole


@pytest.mark.parametrize(("family", "seed"), cases(4))
def test_nodes_renamed_in_the_same_order_are_chosen_by_their_new_names(
    family: str, seed: int, tmp_path: Path
) -> None:
    case = case_of(family, seed)
    whole = json.dumps(whole_of(family, seed))
    renamed = json.loads(renamed_nodes(json.dumps(case.objects)))
    config = case.config and renamed_nodes(case.config)
    after = decided(Case(family, renamed, config), tmp_path, [renamed])
    assert after == json.loads(renamed_nodes(whole))


def renamed_nodes(text: str) -> str:
    return re.sub(r"(?<![\w-])n(\d+)(?![\w-])", r"host-\1", text)


@pytest.mark.parametrize(("family", "seed"), cases(5))
def test_answers_that_are_not_kept_are_the_same(family: str, seed: int, tmp_path: Path) -> None:
    case = case_of(family, seed)
    whole = whole_of(family, seed)
    assert decided(case, tmp_path, [case.objects], "--no-cache") == whole


@pytest.mark.parametrize(("family", "seed"), cases(6))
def test_only_pods_of_lower_priority_are_evicted_and_no_fitting_pod_preempts(
    family: str, seed: int, tmp_path: Path
) -> None:
    case = case_of(family, seed)
    result = whole_of(family, seed)
    classes = {
        i["metadata"]["name"]: i["value"] for i in case.objects if i["kind"] == "PriorityClass"
    }
    priorities = {key(item): priority(item, classes) for item in case.objects if is_pod(item)}
    for attempt in result["attempts"]:
        victims = (attempt.get("postFilter") or {}).get("victims") or []
        if attempt.get("node"):
            assert not victims, attempt
        for victim in victims:
            assert priorities[victim] < priorities[attempt["pod"]], attempt
    preempted = {
        victim
        for attempt in result["attempts"]
        for victim in (attempt.get("postFilter") or {}).get("victims") or []
    }
    assert set(result["evicted"] or ()) == preempted


def key(pod: Object) -> str:
    metadata = pod["metadata"]
    return f"{metadata.get('namespace') or 'default'}/{metadata['name']}"


def priority(pod: Object, classes: dict[str, int]) -> int:
    spec = pod["spec"]
    given = spec.get("priority")
    return int(classes.get(spec.get("priorityClassName"), 0) if given is None else given)


@pytest.mark.parametrize("family", ["everything", "claims"])
def test_the_same_input_gives_the_same_bytes_whatever_the_environment(
    family: str, tmp_path: Path
) -> None:
    case = random_case(family, 0)
    state = tmp_path / "state.yaml"
    state.write_text(case.state)
    command = [sys.executable, "-m", "ksched_cli", "schedule", "--trace", "-o", "json"]
    command += ["--state", str(state)]
    if case.config is not None:
        (tmp_path / "config.yaml").write_text(case.config)
        command += ["--config", str(tmp_path / "config.yaml")]
    environments = (
        {"PYTHONHASHSEED": "1", "TZ": "UTC", "LANG": "C"},
        {"PYTHONHASHSEED": "2", "TZ": "Pacific/Kiritimati", "LANG": "tr_TR.UTF-8"},
    )
    outputs = [
        subprocess.run(command, env={**os.environ, **more}, capture_output=True, check=False).stdout
        for more in environments
    ]
    assert outputs[0] == outputs[1]
    assert outputs[0]


# The more nodes, the less a node's image counts; and a cluster is sampled by how many nodes it has.
COUNTING = ("sampling", "ports_images", "everything")


@pytest.mark.parametrize(("family", "seed"), cases(7, *COUNTING))
def test_a_node_that_nobody_can_use_changes_nothing_but_counts(
    family: str, seed: int, tmp_path: Path
) -> None:
    case = case_of(family, seed)
    whole = whole_of(family, seed)
    full: Object = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "zz"},
        "spec": {"unschedulable": True},
        "status": {"allocatable": {"cpu": "0", "memory": "0", "pods": "0"}},
    }
    beside = decided(case, tmp_path, [[*case.objects, full]])
    for key_ in ("placements", "pending", "gated", "evicted"):
        assert beside[key_] == whole[key_]


@pytest.mark.parametrize(("family", "seed"), cases(8))
def test_pods_are_first_tried_in_order_of_priority(family: str, seed: int, tmp_path: Path) -> None:
    case = case_of(family, seed)
    result = whole_of(family, seed)
    classes = {
        i["metadata"]["name"]: i["value"] for i in case.objects if i["kind"] == "PriorityClass"
    }
    priorities = {key(item): priority(item, classes) for item in case.objects if is_pod(item)}
    first = list(dict.fromkeys(attempt["pod"] for attempt in result["attempts"]))
    assert [priorities[pod] for pod in first] == sorted(
        (priorities[pod] for pod in first), reverse=True
    )


@pytest.mark.parametrize(("family", "seed"), cases(9))
def test_compare_decides_as_schedule_does(family: str, seed: int, tmp_path: Path) -> None:
    case = case_of(family, seed)
    newest = ("--kubernetes-version", NEWEST)
    whole = decided(case, tmp_path, [case.objects], *newest)
    arguments = [*written(case, tmp_path, [case.objects]), "--allow-empty-state", "-o", "json"]
    arguments += newest
    # Another minor beside it, where it takes the configuration.
    other = ("--no-preemption",) if family == "workloads" else ("--kubernetes-version", "1.35")
    side = call("compare", *arguments, "--vs", *other)["sides"][0]["summary"]
    fields = {"placed": "placements", "pending": "pending", "gated": "gated", "evicted": "evicted"}
    assert {name: side[name] for name in fields} == {
        name: len(whole[field] or ()) for name, field in fields.items()
    }


@pytest.mark.parametrize(("family", "seed"), cases(10))
def test_explain_decides_as_schedule_does(family: str, seed: int, tmp_path: Path) -> None:
    case = case_of(family, seed)
    whole = whole_of(family, seed)
    arguments = [*written(case, tmp_path, [case.objects]), "-o", "json"]
    last = {attempt["pod"]: attempt.get("node") or "" for attempt in whole["attempts"]}
    for pod in sorted(last)[:1]:
        assert call("explain", pod, *arguments)["node"] == last[pod]


# The names in a configuration are not changed with the state's.
CONFIGURED = frozenset(name for name in NAMES if case_of(name, 0).config is not None)


@pytest.mark.parametrize(("family", "seed"), cases(11, *CONFIGURED))
def test_with_everything_renamed_in_the_same_order_the_outcome_is_renamed(
    family: str, seed: int, tmp_path: Path
) -> None:
    case = case_of(family, seed)
    whole = whole_of(family, seed)
    changed, renamer = redacted([json.dumps(item).encode() for item in case.objects], Codes.empty())
    after = decided(Case(family, [], case.config), tmp_path, [list(map(json.loads, changed))])

    def renamed(pod: str) -> str:
        namespace, _, name = pod.partition("/")
        return f"{renamer.namespace(namespace)}/{renamer.name(name)}"

    placements = {renamed(p): renamer.sorted_name(node) for p, node in whole["placements"].items()}
    assert after["placements"] == placements
    for group in ("pending", "gated", "evicted"):
        assert set(after[group] or ()) == set(map(renamed, whole[group] or ()))


def settled(objects: list[Object], result: Any) -> list[Object]:
    """The objects after a run: pods bound to their nodes, those that were evicted gone."""
    evicted = set(result["evicted"] or ())
    after = [item for item in objects if not (is_pod(item) and key(item) in evicted)]
    return [bound(item, result["placements"]) if is_pod(item) else item for item in after]


def bound(pod: Object, placements: dict[str, str]) -> Object:
    node = placements.get(key(pod))
    return {**pod, "spec": {**pod["spec"], "nodeName": node}} if node else pod


def log_of(result: Any) -> Iterator[str]:
    """What kube-scheduler's log would have of the attempts."""
    for attempt in result["attempts"]:
        pod, outcome = attempt["pod"], attempt.get("postFilter") or {}
        yield LINE.format("Attempting to schedule pod", "pod", pod, "")
        victims = outcome.get("victims") or ()
        if victims:
            about = f' node="{outcome["node"]}"'
            event = "the target node for the preemption is determined"
            yield LINE.format(event, "pod", pod, about)
            event = "Start the preemption asynchronously"
            yield LINE.format(event, "preemptor", pod, f"{about} numVictims={len(victims)}")
        for victim in victims:
            event = "Preemptor Pod preempted victim Pod"
            yield LINE.format(event, "victim", victim, f'{about} preemptor="{pod}"')
            yield LINE.format("Delete event for scheduled pod", "pod", victim, "")
        if not attempt.get("node"):
            why = f" err={json.dumps(attempt.get('message', ''))}"
            yield LINE.format("Unable to schedule pod; no fit; waiting", "pod", pod, why)


LINE = 'I0101 00:00:00.0 1 x.go:1] "{}" {}="{}"{}'


# What a run writes to volumes and claims is not in its result; and nodes are looked at in turn.
WRITING = (
    *("volumes", "claims", "devices", "device_pools", "extended_resources", "everything"),
    *("node_allocatable", "allocatable_claims", "replay_allocatable"),
)


@pytest.mark.parametrize(("family", "seed"), cases(12, *WRITING, "sampling"))
def test_where_nothing_helps_everything_stays_as_it_is(
    family: str, seed: int, tmp_path: Path
) -> None:
    case = case_of(family, seed)
    first = whole_of(family, seed)
    if first["evicted"]:
        return
    again = decided(case, tmp_path, [settled(case.objects, first)])
    assert not again["placements"]
    assert not again["evicted"]
    assert again["pending"] == first["pending"]


@pytest.mark.parametrize(("family", "seed"), cases(13))
def test_a_pod_that_schedule_places_at_once_is_a_pod_that_capacity_counts(
    family: str, seed: int, tmp_path: Path
) -> None:
    case = case_of(family, seed)
    whole = whole_of(family, seed)
    arguments = [*written(case, tmp_path, [case.objects]), "-o", "json", "--max", "2"]
    for attempt in whole["attempts"][:1]:
        count = call("capacity", attempt["pod"], *arguments)["count"]
        assert bool(count) == bool(attempt.get("node")), attempt


@pytest.mark.parametrize(("family", "seed"), cases(14, *WRITING))
def test_an_audit_of_what_schedule_decided_agrees(family: str, seed: int, tmp_path: Path) -> None:
    case, result = case_of(family, seed), whole_of(family, seed)
    after = tmp_path / "after.json"
    items = json.loads(json.dumps(settled(case.objects, result)))
    for item in items:  # an attempt that fails takes the pod's nomination back
        item.get("status", {}).pop("nominatedNodeName", None)
    after.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    _, before, *config = written(case, tmp_path, [case.objects])
    log = tmp_path / "scheduler.log"
    log.write_text("\n".join(log_of(result)))
    files = ["--before", before, "--after", str(after), "--scheduler-log", str(log)]
    assert call("audit", *files, "-o", "json", *config, "--allow-empty-state")["differ"] == []
