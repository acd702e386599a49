"""Changes, and files that say what to run, or what happens over time."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from corpora import CHANGES, EXAMPLES, scenario_corpus
from format import JSON, Arguments, Format, Variants, encoded, singly
from own_state import own_state
from state_formats import beside_states
from substitutes import token_variants


def _scenario_commands(file: str, folder: Path) -> Sequence[Arguments]:
    scenario = ("--scenario", file, *JSON)
    what_if = str(EXAMPLES / "what-if" / "cluster.yaml")
    own = str(folder / "own.json")
    return (
        ("schedule", "--state", own, *scenario),
        ("compare", "--state", what_if, *scenario), ("drift", "--state", own, *scenario),
        ("schedule", "--state", own, *scenario, "--no-workloads"),
    )  # fmt: skip


def _scenarios() -> Iterator[Any]:
    yield from scenario_corpus()
    kind = {"apiVersion": "ksched/v1", "kind": "Scenario"}
    for manifest in own_state():
        yield {**kind, "changes": [{"apply": [manifest]}]}


CHANGE_LINES = (
    *CHANGES, "taint nodes n0 n1 a=b:NoExecute c:NoSchedule-",
    "scale sts/db --replicas=2 -n default",
    "set resources deployment/web --limits=cpu=1,memory=1Gi --requests=cpu=1 -c c",
    "label pods web-1 a=b app- -n default", "label nodes n0 a=b",
    "drain n0 --force --disable-eviction",
    "patch pod/web-1 --type=json -p '[{\"op\":\"add\",\"path\":\"/metadata/x\",\"value\":\"y\"}]'",
    "patch node/n0 --type=merge -p '{\"metadata\":{\"labels\":null}}'",
    "patch pc/high --type=json -p '[{\"op\":\"remove\",\"path\":\"/metadata\"}]'",
    "delete deployment/web pod/web-1 pdb/b node/n1", "rollout restart deployment/web ds/agent",
    "reschedule web-1 db-1 -n default", "add-nodes new --like n0", "apply -f own.json",
)  # fmt: skip


def _change_variants() -> Variants:
    return encoded(token_variants(CHANGE_LINES))


def _change_commands(file: str, folder: Path) -> Sequence[Arguments]:
    """The line is an option: a file of it is read for it."""
    line = (
        Path(file)
        .read_bytes()
        .decode("utf-8", "surrogatepass")
        .replace("own.json", str(folder / "own.json"))
    )
    return (("schedule", "--state", str(folder / "own.json"), "--change", line, *JSON),)


PATCH_STEPS = ("", "/", "/-", "/0", "/x", "/-1", "/metadata", "/spec/containers/0",
    "/spec/containers/-",
               f"/spec/containers/{'9' * 30}", f"/spec/containers/{'9' * 5000}", "/kind",
                   "/apiVersion",
               "/metadata/name", "/metadata/labels", "/spec", "/status",
               "/spec/containers/x/y")  # fmt: skip


PATCH_VALUES: tuple[Any, ...] = (None, {}, [], "x", 3)


def _patch_variants() -> Variants:
    for operation in ("add", "remove", "replace", "test", "move", "", None):
        for path in PATCH_STEPS:
            for value in PATCH_VALUES:
                patch = [{"op": operation, "path": path, "value": value}]
                text = json.dumps(patch)
                yield f"{operation} {path[:30]} {value}", partial(str.encode, text)
    objects: list[Any] = [
        {"metadata": None},
        {"metadata": []},
        {"kind": "x"},
        {"kind": None},
        {"spec": None},
    ]
    objects += [{"metadata": {"name": None}}, {"metadata": {"name": []}}, {"spec": {"$patch": []}}]
    objects += [{"$patch": "replace"}, {"spec": {"containers": [None]}}, {"apiVersion": 3}]
    objects += [{"kind": "PriorityClass"}, {"kind": "Pod"}, {"kind": "Node", "metadata": None}]
    objects += [{"spec": {"containers": [{"name": []}, {"$patch": "delete"}]}}]
    for changed in objects:
        text = json.dumps(changed)
        yield text, partial(str.encode, text)


def _patch_commands(file: str, folder: Path) -> Sequence[Arguments]:
    text = Path(file).read_text()
    kinds = ("json",) if text.startswith("[") else ("merge", "strategic")
    targets = ("pod/web-1", "pc/high", "node/n0", "deployment/web", "job/job", "pdb/b", "ds/agent")
    state = ("--state", str(folder / "own.json"))
    return [
        ("schedule", *state, *JSON, "--change", f"patch {target} --type={kind} -p '{text}'")
        for target in targets
        for kind in kinds
    ]


FORMATS = (
    Format("scenario", "input.json", singly(_scenarios), _scenario_commands, beside_states),
    Format("change", "line", _change_variants, _change_commands, beside_states),
    Format("patch", "patch", _patch_variants, _patch_commands, beside_states),
)  # fmt: skip
