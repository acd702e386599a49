"""Runs the cases of a data file about one plugin.

plugin: TaintToleration
minor:  whose rules the cases are about, as "1.34"; by default the newest. A case may have its own
cases:
  - shows: what the case shows, as a sentence
    nodes: arguments of ksched_cli.testing.node, one node each
    pods:  arguments of ksched_cli.testing.pod, of the pods that run
    pod:   arguments of the pending pod; its name is p by default
    claims, volumes: names of the pending pod's claims; its other volumes, as in a manifest
    objects: other manifests, as they stand in a file
    storage: {function of volumes.py: [its arguments]}, one object or several each
    args:  the plugin's, as in a configuration
    filter: per node, Success or {code: [reasons]}
    verdict: the same where it is that of every node
    details: {node: a piece of what explain tells about it where no other plugin rejects it}
    score, raw: per node, after and before normalising; {} where PreScore skips
    error: the message that Score fails with

Each of `pods` may have `claims` and `volumes` as well.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from ksched_cli.cluster.state import ClusterState
from ksched_cli.framework.status import PluginError, Status
from ksched_cli.kube.versions import NEWEST
from ksched_cli.testing import cluster, explanation, node, pod, scores, verdicts
from tests import volumes
from tests.volumes import uses

CLUSTER_KEYS = {"nodes", "pods", "pod", "claims", "volumes", "objects", "storage"}
ANSWER_KEYS = {"filter", "verdict", "details", "score", "raw", "error"}
KEYS = {"shows", "args", "minor"} | CLUSTER_KEYS | ANSWER_KEYS

Case = dict[str, Any]


def cases(file: str) -> list[Any]:
    """The cases of the data file that has the name of a test module, without "test_"."""
    path = Path(file)
    data = yaml.load(
        path.with_name(path.stem.removeprefix("test_") + ".yaml").read_text(), yaml.CSafeLoader
    )
    minor = {"minor": data.get("minor", NEWEST)}
    return [pytest.param(data["plugin"], minor | case, id=case["shows"]) for case in data["cases"]]


def check(plugin: str, case: Case) -> None:
    assert set(case) <= KEYS
    assert set(case) & ANSWER_KEYS
    pending = {"name": "p", **case.get("pod", {})}
    pending |= {key: case[key] for key in ("claims", "volumes") if key in case}
    state = _state(case, pending)
    minor = case["minor"]
    question = {"pod": pending["name"], "args": case.get("args"), "kubernetes_version": minor}
    if "filter" in case or "verdict" in case:
        statuses = verdicts(plugin, state, **question)
        same = dict.fromkeys((each.name for each in state.nodes), case.get("verdict"))
        expected = case.get("filter", same)
        assert {name: plain(status) for name, status in statuses.items()} == expected
    for name, piece in case.get("details", {}).items():
        assert piece in _details(plugin, state, pending["name"], minor)[name]
    if "raw" in case:
        assert scores(plugin, state, **question, normalized=False) == case["raw"]
    if "score" in case:
        assert scores(plugin, state, **question) == case["score"]
    if "error" in case:
        with pytest.raises(PluginError) as failure:
            scores(plugin, state, **question)
        assert case["error"] in str(failure.value)


def _state(case: Case, pending: Case) -> ClusterState:
    return cluster(
        *(node(**arguments) for arguments in case["nodes"]),
        *case.get("objects", ()),
        *_storage(case.get("storage", {})),
        *(_pod(**arguments) for arguments in case.get("pods", ())),
        _pod(**pending),
    )


def _storage(functions: dict[str, list[Case]]) -> Iterator[Case]:
    for name, calls in functions.items():
        for arguments in calls:
            manifests = getattr(volumes, name)(**arguments)
            yield from manifests if isinstance(manifests, list) else [manifests]


def _pod(claims: tuple[str, ...] = (), volumes: tuple[Case, ...] = (), **arguments: Any) -> Case:
    if not claims and not volumes:
        return pod(**arguments)
    return pod(**arguments, spec={"volumes": [*uses(*claims), *volumes]})


def _details(plugin: str, state: ClusterState, pending: str, minor: str) -> dict[str, str]:
    """Per node, in a profile with no other plugin that could reject it."""
    enabled = [{"name": name} for name in ("PrioritySort", plugin, "DefaultBinder")]
    multi_point = {"disabled": [{"name": "*"}], "enabled": enabled}
    config = {"profiles": [{"plugins": {"multiPoint": multi_point}}]}
    answer = explanation(state, config, pod=pending, kubernetes_version=minor)
    return {
        explained.node: "\n".join(
            line for rejection in explained.rejections for line in rejection.details
        )
        for explained in answer.nodes
    }


def plain(status: Status) -> dict[str, list[str]] | str:
    return "Success" if status.is_success else {status.code.text: list(status.reasons)}
