"""The type of a file and the schema that is made from it allow the same documents."""

from __future__ import annotations

import copy
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from ksched_cli.errors import InputError
from ksched_cli.kube.document_schemas import check_document
from ksched_cli.kube.file_parts import FilePart, kind_of
from ksched_cli.schemas.generate import FILES, FOLDER, texts

DRAWS = 80
APPLY = {"apply": {"kind": "Pod", "metadata": {"name": "a"}}}
AXES: dict[str, Any] = {
    "states": ["a.yaml", {"name": "x", "files": ["b", "c"]}],
    "changes": ["cordon b", {"name": "m", "scenario": "s"}, {"name": "c", "changes": [APPLY]}],
    "timelines": ["t", {"name": "u", "file": "v"}],
    "prices": ["b=1", {"name": "p", "prices": ["a=2"]}],
    "autoscalers": ["none", {"name": "g", "file": "h"}],
    "featureGates": ["", "A=true"],
    "namespace": "default",
    "until": ["6h", 5, 7.5],
    "evictAtOnce": [True, False],
    "replayExtenders": ["r"],
    "pluginTimeout": [5, 2.5],
    "seeds": 3,
}
DOCUMENTS: dict[str, dict[str, Any]] = {
    "autoscaler": {
        "scanInterval": "10s",
        "expanders": ["price", "least-waste"],
        "maxNodesTotal": 4,
        "scaleDown": {"enabled": False, "unneededTime": 5, "utilizationThreshold": 0.5},
        "nodeGroups": [
            {"name": "a", "like": "b", "maxSize": 3, "price": 2, "nodeSelector": {"a": "b"}},
            {"name": "b", "template": {}, "maxSize": 5, "price": {"perHour": 1, "spotShare": 0.5}},
        ],
    },
    "expectations": {
        "state": ["a.yaml", "b.yaml"],
        "changes": ["cordon b", APPLY],
        "patches": [{"path": "a", "value": None}],
        "plugins": "a:b",
        "until": 6,
        "evictAtOnce": True,
        "seeds": [1, 2],
        "expect": [
            {"name": "x", "pod": "a*", "on": "b"},
            {"pod": "a", "on": {"zone": "a*"}},
            {"pod": "a", "pending": True, "because": "x"},
            {"pod": "b", "evicted": False},
            {"pending": 2},
            {"evicted": 0},
            {"nodesUsed": {"atMost": 3}},
            {"spread": {"pods": "a*", "over": "zone", "atMost": 1}},
            {"pendingAtEnd": 0},
            {"waited": {"pods": "a*", "mean": {"atMost": "1m"}, "p99": {"atLeast": 3}}},
            {"nodeHours": {"atMost": 3.5}},
            {"metric": {"name": "jobs.waiting.p99", "atMost": "1h30m", "atLeast": 0}},
            {"utilization": {"resource": "cpu", "mean": {"atLeast": 0.5}}},
            {"capacity": "a", "atLeast": 3, "atMost": 5},
        ],
    },
    "prices": {
        "prices": [
            {"node": "a*", "price": 1},
            {"nodeSelector": {"a": "b"}, "price": {"perHour": 2, "minimumBilling": "1m"}},
        ]
    },
    "project": {
        "kubernetesVersion": "1.36",
        "allowPlugins": ["A=Filter"],
        "noPlugins": True,
        "select": None,
        "ignore": ["weights"],
        "failOn": "warning",
        "perFileIgnores": {"*.yaml": ["weights"]},
    },
    "scenario": {"changes": ["cordon b", APPLY, {"apply": [{}, {}]}]},
    "sweep": AXES
    | {
        "configurations": ["a", {"name": "d"}, {"name": "e", "file": "f"}],
        "patches": [{"path": "a.b", "name": "q", "values": [1, None]}],
        "kubernetesVersions": ["1.36"],
        "plugins": ["a:b", ["c.py"], []],
        "combine": "zip",
        "metrics": {"pending": "minimize"},
    },
    "timeline": {
        "start": "2026-01-01T00:00:00Z",
        "until": 5,
        "evicted": "restarts",
        "templates": {"t": {}},
        "events": [
            {"at": 1, "pod": "a", "template": "t", "runsFor": 5},
            {"at": "2026-01-01T00:00:03Z", "put": {"kind": "Node"}, "decided": True},
            {"at": 4, "delete": {"kind": "Pod", "name": "a"}, "gracePeriod": 3, "preempted": True},
            {"at": 5, "end": "a", "ranFor": 3},
            {"at": 6, "decision": {"namespace": "d", "name": "a", "node": "b"}},
            {"at": 7, "gap": {"seconds": 3, "kind": "Pod", "relisted": True}},
            {"at": 8, "change": APPLY},
        ],
    },
    "tune": AXES
    | {
        "configuration": "c",
        "space": [
            {"path": "a.b", "values": [1, "x"]},
            {"path": "c.d", "name": "e", "between": [1, 10.5], "log": True},
        ],
        "objectives": [{"metric": "pending", "goal": "minimize"}],
        "constraints": [{"metric": "evicted", "atMost": 3}],
        "heldOut": {"states": ["z"], "timelines": ["t"], "seeds": 2},
        "trials": 20,
        "samplerSeed": 4,
    },
}
# Values that are right somewhere and wrong elsewhere.
VALUES: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2.0, -0.5, 3.7, 10**7, 10**13, "", "a", "none", [], [1], ["a"],
    ["a", "a"], {}, {"a": "b"}, {"name": "x"}, {"name": "x", "file": "y"}, {"atMost": 1}, [[]],
    [{}], [None], APPLY,
)  # fmt: skip


def paths(data: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if path:
        yield path
    keys = data if isinstance(data, dict) else range(len(data)) if isinstance(data, list) else ()
    for key in keys:
        yield from paths(data[key], (*path, key))


def mutated(document: dict[str, Any], draw: random.Random, keys: list[str]) -> dict[str, Any]:
    """The document with a value or a key that is gone, replaced, repeated or new."""
    document = copy.deepcopy(document)
    *before, key = draw.choice(list(paths(document)))
    holder: Any = document
    for step in before:
        holder = holder[step]
    value = copy.deepcopy(draw.choice(VALUES))
    match draw.randrange(4):
        case 0:
            del holder[key]
        case 1:
            holder[key] = value
        case 2 if isinstance(holder, list):
            holder.append(copy.deepcopy(holder[key]))
        case _:
            target = holder[key] if isinstance(holder[key], dict) else holder
            if isinstance(target, dict):
                target[draw.choice(keys)] = value
    return document


def is_allowed_by_type(document: Any, cls: type[FilePart]) -> bool:
    try:
        msgspec.convert(document, cls)
    except msgspec.ValidationError:
        return False
    return True


def is_allowed_by_schema(document: Any, name: str) -> bool:
    try:
        check_document(document, name, "", "f.yaml", "")
    except InputError:
        return False
    return True


BROKEN_RULES: tuple[tuple[str, str, Any], ...] = (
    ("autoscaler", "expanders", ["price", "price"]),
    ("autoscaler", "nodeGroups", [{"name": "a", "maxSize": 1}]),
    ("autoscaler", "nodeGroups", [{"name": "a", "maxSize": 1, "like": "b", "template": {}}]),
    ("expectations", "expect", [{"pod": "a", "pending": 2}]),
    ("expectations", "expect", [{"pod": "a", "evicted": 1}]),
    ("expectations", "expect", [{"pending": True}]),
    ("expectations", "expect", [{"evicted": False}]),
    ("expectations", "expect", [{"capacity": "a"}]),
    ("expectations", "expect", [{"nodesUsed": {}}]),
    ("expectations", "expect", [{"waited": {"pods": "a"}}]),
    ("expectations", "expect", [{"metric": {"name": "a"}}]),
    ("expectations", "expect", [{"metric": {"atMost": 1, "atLeast": 0}}]),
    ("expectations", "expect", [{"utilization": {"resource": "cpu", "max": {"atMost": 1},
                                                 "mean": {"atMost": 1}}}]),
    ("timeline", "events", [{"at": 1, "pod": "a", "end": "a"}]),
    ("timeline", "events", [{"at": 1, "end": "a", "decided": True}]),
    ("tune", "constraints", [{"metric": "m"}]),
    ("tune", "space", [{"path": "a", "values": [1], "between": [1, 2]}]),
)  # fmt: skip


@pytest.mark.parametrize(("name", "key", "value"), BROKEN_RULES)
def test_a_type_and_its_schema_have_the_same_rules(name: str, key: str, value: Any) -> None:
    _, cls = FILES[name]
    document = {"apiVersion": "ksched/v1", "kind": kind_of(cls), **DOCUMENTS[name], key: value}
    assert not is_allowed_by_type(document, cls)
    assert not is_allowed_by_schema(document, name)


def test_every_kind_of_file_is_tried() -> None:
    assert set(DOCUMENTS) == set(FILES)


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_type_and_its_schema_allow_the_same(name: str) -> None:
    _, cls = FILES[name]
    whole = {"apiVersion": "ksched/v1", "kind": kind_of(cls), **DOCUMENTS[name]}
    assert is_allowed_by_type(whole, cls)
    assert is_allowed_by_schema(whole, name)
    draw = random.Random(name)
    keys = sorted({str(path[-1]) for path in paths(whole)})
    counts = {True: 0, False: 0}
    for _ in range(DRAWS):
        document = mutated(whole, draw, keys)
        allowed = is_allowed_by_type(document, cls)
        assert allowed == is_allowed_by_schema(document, name), document
        counts[allowed] += 1
    assert min(counts.values()) > DRAWS / 20, counts


def test_a_valid_file_is_read_without_the_validator_of_schemas(tmp_path: Path) -> None:
    """It takes longer to load than most files take to read."""
    path = tmp_path / "scenario.yaml"
    path.write_text("apiVersion: ksched/v1\nkind: Scenario\nchanges: [cordon a]\n")
    program = (
        "import sys; from ksched_cli.scenario.file import read_scenario\n"
        "read_scenario(sys.argv[1]); sys.exit('jsonschema' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program, path]).returncode == 0


def test_no_schema_is_written_by_hand() -> None:
    assert {path.stem for path in FOLDER.glob("*.json")} == set(texts())
