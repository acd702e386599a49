"""Runs the cases of a data file about one plugin.

plugin: TaintToleration
cases:
  - shows: what the case shows, as a sentence
    nodes: arguments of ksched_cli.testing.node, one node each
    pods:  arguments of ksched_cli.testing.pod, of the pods that run
    pod:   arguments of the pending pod; its name is p by default
    objects: other manifests, as they stand in a file
    args:  the plugin's, as in a configuration
    filter: per node, Success or {code: [reasons]}
    score, raw: per node, after and before normalising; {} where PreScore skips
    error: the message that Score fails with
"""

from pathlib import Path
from typing import Any

import pytest
import yaml

from ksched_cli.framework.status import PluginError, Status
from ksched_cli.testing import cluster, node, pod, scores, verdicts

KEYS = {"shows", "nodes", "pods", "pod", "objects", "args", "filter", "score", "raw", "error"}


def cases(file: str) -> list[Any]:
    """Of the data file that has the name of a test module, without "test_"."""
    path = Path(file)
    data = yaml.safe_load(path.with_name(path.stem.removeprefix("test_") + ".yaml").read_text())
    return [pytest.param(data["plugin"], case, id=case["shows"]) for case in data["cases"]]


def check(plugin: str, case: dict[str, Any]) -> None:
    assert set(case) <= KEYS
    pending = {"name": "p", **case.get("pod", {})}
    running = [pod(**arguments) for arguments in case.get("pods", ())]
    nodes = [node(**arguments) for arguments in case["nodes"]]
    state = cluster(*nodes, *case.get("objects", ()), *running, pod(**pending))
    question = {"pod": pending["name"], "args": case.get("args")}
    if "filter" in case:
        statuses = verdicts(plugin, state, **question)
        assert {name: plain(status) for name, status in statuses.items()} == case["filter"]
    if "raw" in case:
        assert scores(plugin, state, **question, normalized=False) == case["raw"]
    if "score" in case:
        assert scores(plugin, state, **question) == case["score"]
    if "error" in case:
        with pytest.raises(PluginError) as failure:
            scores(plugin, state, **question)
        assert case["error"] in str(failure.value)


def plain(status: Status) -> dict[str, list[str]] | str:
    return "Success" if status.is_success else {status.code.text: list(status.reasons)}
