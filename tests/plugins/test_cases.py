"""Runs the cases of every data file here that names a plugin.

plugin: TaintToleration
cases:
  - shows: what the case shows, as a sentence
    nodes: arguments of ksched_cli.testing.node, one node each
    pods:  arguments of ksched_cli.testing.pod, of the pods that are there already
    pod:   arguments of the pod that is asked about; its name is p unless told
    objects: other manifests, as they stand in a file
    args:  the plugin's, as in a configuration
    filter: per node, Success or {code: [reasons]}
    score, raw: per node, after and before normalising; {} where PreScore leaves the plugin out
    error: what Score fails with
"""

from pathlib import Path

import pytest
import yaml

from ksched_cli.framework.status import PluginError
from ksched_cli.testing import cluster, node, pod, scores, verdicts

KNOWN = {"shows", "nodes", "pods", "pod", "objects", "args", "filter", "score", "raw", "error"}


def collected():
    for file in sorted(Path(__file__).parent.glob("*.yaml")):
        data = yaml.safe_load(file.read_text())
        if isinstance(data, dict) and "plugin" in data:
            for case in data["cases"]:
                yield pytest.param(data["plugin"], case, id=f"{file.stem}: {case['shows']}")


@pytest.mark.parametrize(("plugin", "case"), list(collected()))
def test_case(plugin, case):
    assert set(case) <= KNOWN
    asked = {"name": "p", **case.get("pod", {})}
    running = [pod(**one) for one in case.get("pods", ())]
    others = case.get("objects", ())
    state = cluster(*(node(**one) for one in case["nodes"]), *others, *running, pod(**asked))
    question = {"pod": asked["name"], "args": case.get("args")}
    if "filter" in case:
        found = verdicts(plugin, state, **question)
        assert {name: plain(status) for name, status in found.items()} == case["filter"]
    if "raw" in case:
        assert scores(plugin, state, **question, normalized=False) == case["raw"]
    if "score" in case:
        assert scores(plugin, state, **question) == case["score"]
    if "error" in case:
        with pytest.raises(PluginError) as failure:
            scores(plugin, state, **question)
        assert case["error"] in str(failure.value)


def plain(status):
    return "Success" if status.is_success else {status.code.text: list(status.reasons)}
