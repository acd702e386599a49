"""Runs the cases of every data file in this folder and below that is about a volume plugin.

    about: VolumeBinding
    cases:
      - shows:   what the case shows, as a sentence
        nodes:   arguments of ksched_cli.testing.node, one node each
        storage: {function of volumes.py: [its arguments]}, one object each
        pods:    arguments of ksched_cli.testing.pod, of the pods that are there already
        claims:  names of the asking pod's claims
        volumes: the asking pod's other volumes, as in a manifest
        verdict: what PreFilter ends the attempt with, or what Filter says on every node
        filter:  per node, Success or {code: [reasons]}
        words:   {node: a piece of what explain says about it}

`pods` may have `claims` and `volumes` as well.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from ksched_cli.analysis.explain import NodeExplanation
from ksched_cli.framework.status import Status
from ksched_cli.testing import cluster, explanation, node, pod, verdicts
from tests import volumes

KNOWN = {"shows", "nodes", "storage", "pods", "claims", "volumes", "verdict", "filter", "words"}


def collected() -> Iterator[Any]:
    for file in sorted(Path(__file__).parent.rglob("*.yaml")):
        data = yaml.safe_load(file.read_text())
        if isinstance(data, dict) and "about" in data:
            for case in data["cases"]:
                yield pytest.param(data["about"], case, id=f"{file.stem}: {case['shows']}")


def made(storage: dict[str, Any]) -> Iterator[Any]:
    for function, calls in storage.items():
        for given in calls:
            found = getattr(volumes, function)(**given)
            yield from found if isinstance(found, list) else [found]


def with_volumes(given: dict[str, Any]) -> dict[str, Any]:
    found = volumes.uses(*given.pop("claims", ())) + given.pop("volumes", [])
    return pod(**given, spec={"volumes": found})


@pytest.mark.parametrize(("plugin", "case"), list(collected()))
def test_case(plugin: str, case: dict[str, Any]) -> None:
    assert set(case) <= KNOWN
    asked = {"name": "p", "claims": case.get("claims", ()), "volumes": case.get("volumes", [])}
    names = [one["name"] for one in case["nodes"]]
    state = cluster(
        *(node(**one) for one in case["nodes"]),
        *made(case.get("storage", {})),
        *(with_volumes(one) for one in case.get("pods", ())),
        with_volumes(asked),
    )
    wanted = case["filter"] if "filter" in case else dict.fromkeys(names, case["verdict"])
    found = verdicts(plugin, state, pod="p")
    assert {name: plain(status) for name, status in found.items()} == wanted
    if "words" in case:
        said = {one.node: words(one) for one in explanation(state, alone(plugin), pod="p").nodes}
        for name, piece in case["words"].items():
            assert piece in said[name]


def alone(plugin: str) -> dict[str, list[dict[str, dict[str, Any]]]]:
    """A profile with no other plugin that could have a say."""
    enabled = [{"name": name} for name in ("PrioritySort", plugin, "DefaultBinder")]
    return {
        "profiles": [{"plugins": {"multiPoint": {"disabled": [{"name": "*"}], "enabled": enabled}}}]
    }


def words(explained: NodeExplanation) -> str:
    return "\n".join(line for one in explained.rejections for line in one.details)


def plain(status: Status) -> dict[str, list[str]] | str:
    return "Success" if status.is_success else {status.code.text: list(status.reasons)}
