"""What others answer: recordings of extender calls, scheduler logs, answers of extenders and of API
servers."""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from corpora import EXAMPLES, HERE, any_case, state_corpus
from inputs import Input, Subject
from mutations import mangled, mutated

from tests.extenders.servers import Answer, Code, Server, everything
from tests.live.fake_api_server import ApiServer, write_kubeconfig

RECORDING = HERE / "corpus" / "extenders" / "calls.jsonl"


def recording(rng: random.Random, folder: Path) -> Input:
    calls = [json.loads(line) for line in RECORDING.read_text().splitlines()]
    changed = mutated([{**call, "request": 0} for call in calls], rng, calls)
    if isinstance(changed, list):
        for call, original in zip(changed, calls, strict=False):
            if isinstance(call, dict) and call.get("request") == 0:
                call["request"] = original["request"]
    lines = changed if isinstance(changed, list) else [changed]
    data = "\n".join(json.dumps(line, separators=(",", ":")) for line in lines).encode()
    data = mangled(data, rng) if rng.random() < 0.2 else data
    name = "calls.jsonl"
    if rng.random() < 0.2:
        name, data = "calls.jsonl.gz", gzip.compress(data, 1)
        data = mangled(data, rng) if rng.random() < 0.7 else data
    return Input(
        name, data, ("schedule", *_extender_example(), "--replay-extenders", str(folder / name))
    )


def _extender_example() -> tuple[str, ...]:
    example = EXAMPLES / "extender"
    return (
        "--state",
        str(example / "cluster.yaml"),
        "--config",
        str(example / "scheduler.yaml"),
        "-o",
        "json",
    )


LOG = (
    'I0101 00:00:00.000000 1 schedule_one.go:76] "Attempting to schedule pod" pod="default/p0"',
    'I0101 00:00:00.0 1 preemption.go:1] "the target node for the preemption is determined" '
    'node="n0" preemptor="default/p0"',
    'I0101 00:00:00.0 1 eventhandlers.go:1] "Delete event for scheduled pod" pod="default/p1"',
    'I0101 00:00:00.0 1 preemption.go:1] "Start the preemption asynchronously" '
    'preemptor="default/p0" node="n0" numVictims=1',
    '{"ts":1,"msg":"Attempting to schedule pod","v":3,"pod":{"name":"p0","namespace":"default"}}',
)


def scheduler_log(rng: random.Random, folder: Path) -> Input:
    """A log beside states of which the second has nodes for the pods of the first."""
    before = rng.choice(state_corpus())
    nodes = [item["metadata"]["name"] for item in before if item.get("kind") == "Node"] or ["n"]
    after = [
        {**item, "spec": {"nodeName": rng.choice(nodes), **(item.get("spec") or {})}}
        if item.get("kind") == "Pod"
        else item
        for item in before
    ]
    (folder / "before.json").write_text("\n".join(map(json.dumps, before)))
    changed = mutated(after, rng, [before])
    after = changed if isinstance(changed, list) else [changed]
    (folder / "after.json").write_text("\n".join(map(json.dumps, after)))
    pods = [item["metadata"]["name"] for item in before if item.get("kind") == "Pod"] or ["p"]
    lines = [line.replace("p0", pod) for pod in pods for line in (LOG[0], *rng.choices(LOG, k=1))]
    lines = [line.replace("n0", rng.choice(nodes)) for line in lines]
    data = "\n".join(lines).encode()
    data = mangled(data, rng) if rng.random() < 0.7 else data
    files = ("--before", str(folder / "before.json"), "--after", str(folder / "after.json"))
    log = str(folder / "scheduler.log")
    return Input("scheduler.log", data, ("audit", *files, "--scheduler-log", log, "-o", "json"))


VERBS = ("filter", "prioritize", "preempt", "bind")


@cache
def _answering() -> Server:
    return Server({f"/{verb}": b"" for verb in VERBS})


def proper_answer(verb: str, data: dict[str, Any]) -> Any:
    """What an extender may answer to a request."""
    if verb == "filter":
        return everything(data)
    if verb == "prioritize":
        names = data["NodeNames"] or [node["metadata"]["name"] for node in data["Nodes"]["items"]]
        return [{"Host": name, "Score": score % 11} for score, name in enumerate(names)]
    if verb == "preempt":
        victims = data["NodeNameToMetaVictims"] or {}
        for node, chosen in (data["NodeNameToVictims"] or {}).items():
            pods = [{"UID": pod["metadata"].get("uid", "")} for pod in chosen["Pods"] or ()]
            victims[node] = {"Pods": pods, "NumPDBViolations": chosen.get("NumPDBViolations", 0)}
        return {"NodeNameToMetaVictims": victims}
    return {"Error": ""}


def answers(rng: random.Random, folder: Path) -> Input:
    """What an extender answers, over HTTP: what is proper, changed. The input has its seed."""
    seed = rng.randrange(10**9)

    def answer_of(verb: str) -> Callable[[dict[str, Any]], Answer]:
        own = random.Random(f"{seed} {verb}")

        def answer(data: dict[str, Any]) -> Answer:
            content = proper_answer(verb, data)
            if own.random() < 0.3:
                content = mutated(content, own, list(ANSWERS))
            body = json.dumps(content).encode()
            return mangled(body, own) if own.random() < 0.1 else body

        return answer

    server = _answering()
    for verb in VERBS:
        status = rng.choice((200,) * 20 + (204, 500, 307))
        is_odd = status != 200 or rng.random() < 0.1
        odd = Code(status, json.dumps(rng.choice(ANSWERS)).encode())
        server.answers[f"/{verb}"] = odd if is_odd else answer_of(verb)
    server.calls.clear()
    extender = {
        "urlPrefix": server.url,
        "filterVerb": "filter",
        "prioritizeVerb": "prioritize",
        "weight": 3,
        "preemptVerb": "preempt",
        "bindVerb": "bind",
        "httpTimeout": "2s",
        "nodeCacheCapable": rng.random() < 0.5,
        "ignorable": rng.random() < 0.2,
    }
    kind = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    (folder / "config.json").write_text(json.dumps({**kind, "extenders": [extender]}))
    state_file = str(EXAMPLES / rng.choice(("preemption", "first-cluster")) / "cluster.yaml")
    options = ("--state", state_file, "--config", str(folder / "config.json"), "-o", "json")
    bind = ("--extender-bind",) if rng.random() < 0.3 else ()
    command = rng.choice((("schedule", "--trace"), ("drift",), ("explain", "--pending")))
    return Input("seed.txt", str(seed).encode(), (*command, *options, *bind))


ANSWERS: tuple[Any, ...] = (
    {"NodeNames": ["birch", "z"], "Nodes": None, "FailedNodes": {"apple": "no"}, "Error": ""},
    {"Nodes": {"items": [{"metadata": {"name": "birch"}}]}, "NodeNames": None},
    {"NodeNames": [], "FailedAndUnresolvableNodes": {"cedar": "-"}},
    [{"Host": "apple", "Score": 2**40}, {"Host": "z", "Score": -1}],
    {"NodeNameToMetaVictims": {"apple": {"Pods": [{"UID": "default/low"}], "NumPDBViolations": 0}}},
    {"Error": "busy"},
    None,
)


@cache
def _api_server() -> ApiServer:
    return ApiServer()


def api_server(rng: random.Random, folder: Path) -> Input:
    """What an API server lists, in pages. The input has the objects."""
    original = any_case(rng).objects
    changed = mutated(original, rng, [any_case(rng).objects])
    objects = [item for item in changed if _is_listed(item)] if isinstance(changed, list) else []
    server = _api_server()
    server.objects, server.page = objects, rng.choice((3, 500))
    server.requests.clear()
    kubeconfig = str(write_kubeconfig(folder / "kubeconfig", server.url))
    written = ("snapshot", str(folder / "out.json.gz"), "--kubeconfig", kubeconfig)
    commands = (written, (*written, "-o", "json"), (*written, "--redact"))
    return Input("objects.json", json.dumps(objects).encode(), rng.choice(commands))


def _is_listed(item: Any) -> bool:
    """The server lists by kind and namespace."""
    return isinstance(item, dict) and "kind" in item and isinstance(item.get("metadata"), dict)


SUBJECTS = (
    Subject("recording", recording),
    Subject("scheduler-log", scheduler_log),
    Subject("answers", answers),
    Subject("api-server", api_server),
)
