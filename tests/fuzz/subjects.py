"""The kinds of input that are mutated: where their corpus is, and which commands read them."""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from mutations import mangled, mutated

from tests.extenders.servers import Code, Server

HERE = Path(__file__).parent
CASES = HERE.parent / "conformance" / "cases"
CONFIGS = HERE.parent / "conformance" / "configs"
EXAMPLES = HERE.parent.parent / "examples"
SIZE_MAX = 60_000  # bytes of a corpus file: larger ones are slow and show nothing more


@dataclass(frozen=True, slots=True)
class Input:
    """One mutated file and the command line that reads it."""

    name: str
    data: bytes
    arguments: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Subject:
    """make: from randomness and the folder that the file will be written to, an input."""

    name: str
    make: Callable[[random.Random, Path], Input]


def _documents(file: Path) -> list[Any]:
    """The objects of a file, those of lists too."""
    objects: list[Any] = []
    for document in yaml.load_all(file.read_text(), Loader=yaml.CSafeLoader):
        is_list = isinstance(document, dict) and "items" in document
        objects += document["items"] if is_list else [document]
    return [item for item in objects if item is not None]


@cache
def state_corpus() -> list[list[Any]]:
    files = sorted(CASES.glob("*/*/state.yaml")) + sorted(EXAMPLES.glob("*/cluster.yaml"))
    small = [file for file in files if file.stat().st_size < SIZE_MAX]
    return [_documents(file) for file in small if "127.0.0.1" not in file.read_text()]


@cache
def config_corpus() -> list[Any]:
    files = [*sorted(CONFIGS.glob("*/config.yaml")), *sorted(CASES.glob("*/*/config.yaml"))]
    configurations = []
    for file in files:
        try:
            configurations += _documents(file)[:1]
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


def _written(documents: Sequence[Any], rng: random.Random) -> tuple[str, bytes]:
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


def _pod_name(documents: list[Any], rng: random.Random) -> str:
    pods = [
        document["metadata"]["name"]
        for document in documents
        if isinstance(document, dict) and document.get("kind") == "Pod"
    ]
    return str(rng.choice(pods)) if pods else "pod"


def _state_command(rng: random.Random, pod: str, file: str) -> tuple[str, ...]:
    commands = (
        ("schedule",), ("schedule", "--trace"), ("explain", pod), ("explain", "--pending"),
        ("explain", pod, "--alone"), ("preempt", pod), ("capacity", pod, "--max", "20"), ("drift",),
    )  # fmt: skip
    command = (*rng.choice(commands), "--state", file)
    if "--trace" in command or rng.random() < 0.5:
        command += ("-o", "json")
    if rng.random() < 0.1:
        command += ("--change", rng.choice(CHANGES))
    return command


def state(rng: random.Random, folder: Path) -> Input:
    corpus = state_corpus()
    original = rng.choice(corpus)
    documents = mutated(original, rng, [rng.choice(corpus)])
    name, data = _written(documents if isinstance(documents, list) else [documents], rng)
    return Input(name, data, _state_command(rng, _pod_name(original, rng), str(folder / name)))


def configuration(rng: random.Random, folder: Path) -> Input:
    corpus = config_corpus()
    document = mutated(rng.choice(corpus), rng, [rng.choice(corpus)])
    name, data = _written([document], rng)
    file, state_file = str(folder / name), str(EXAMPLES / "first-cluster" / "cluster.yaml")
    commands = (
        ("validate", file), ("validate", file, "-o", "json"), ("config", "show", file),
        ("config", "show", file, "-o", "json"),
        ("schedule", "--state", state_file, "--config", file, "-o", "json"),
    )  # fmt: skip
    return Input(name, data, rng.choice(commands))


def scenario(rng: random.Random, folder: Path) -> Input:
    corpus = scenario_corpus()
    document = mutated(rng.choice(corpus), rng, [rng.choice(corpus)])
    name, data = _written([document], rng)
    state_file = str(rng.choice(sorted(EXAMPLES.glob("*/cluster.yaml"))))
    arguments = ("schedule", "--state", state_file, "--scenario", str(folder / name), "-o", "json")
    return Input(name, data, arguments)


@cache
def expectations_corpus() -> list[tuple[Path, Any]]:
    files = sorted(EXAMPLES.glob("*/expectations.yaml"))
    return [(file, document) for file in files for document in _documents(file)]


def expectations(rng: random.Random, folder: Path) -> Input:
    file, document = rng.choice(expectations_corpus())
    document = mutated(document, rng, [rng.choice(expectations_corpus())[1]])
    name, data = _written([document], rng)
    # The state and the configuration are beside the file.
    for neighbour in file.parent.glob("*.yaml"):
        target = folder / neighbour.name
        if not target.exists():
            target.symlink_to(neighbour)
    return Input(name, data, ("test", str(folder / name), "-o", "json"))


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
    """An extender whose answers are the items of the file that was written last."""
    return Server({f"/{verb}": b"" for verb in VERBS})


def answers(rng: random.Random, folder: Path) -> Input:
    """What an extender answers, over HTTP. The input has a line per verb."""
    server, lines = _answering(), []
    for verb in VERBS:
        answer = rng.choice(ANSWERS) if rng.random() < 0.3 else PROPER_ANSWERS[verb]
        answer = mutated(answer, rng, list(ANSWERS)) if rng.random() < 0.5 else answer
        body = json.dumps(answer).encode()
        body = mangled(body, rng) if rng.random() < 0.2 else body
        lines.append(body)
        status = rng.choice((200,) * 12 + (204, 500, 307))
        server.answers[f"/{verb}"] = body if status == 200 else Code(status, body)
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
    example = rng.choice(("preemption", "first-cluster"))
    state_file = str(EXAMPLES / example / "cluster.yaml")
    arguments = (
        "schedule",
        "--state",
        state_file,
        "--config",
        str(folder / "config.json"),
        "--trace",
    )
    bind = ("--extender-bind",) if rng.random() < 0.3 else ()
    return Input("answers.txt", b"\n".join(lines), (*arguments, *bind, "-o", "json"))


NAMES = ("apple", "birch", "cedar", "node-1", "node-2")
ANSWERS: tuple[Any, ...] = (
    {"NodeNames": list(NAMES), "Nodes": None, "FailedNodes": {}, "Error": ""},
    {"Nodes": {"items": [{"metadata": {"name": name}} for name in NAMES[:3]]}, "NodeNames": None},
    {
        "NodeNames": ["birch"],
        "FailedNodes": {"apple": "no"},
        "FailedAndUnresolvableNodes": {"cedar": "-"},
    },
    [{"Host": name, "Score": score} for score, name in enumerate(NAMES)],
    {"NodeNameToMetaVictims": {"apple": {"Pods": [{"UID": "default/low"}], "NumPDBViolations": 0}}},
    {"Error": "busy"},
    None,
)

PROPER_ANSWERS = dict(zip(VERBS, (ANSWERS[0], ANSWERS[3], ANSWERS[4], None), strict=True))

SUBJECTS = (
    Subject("state", state),
    Subject("configuration", configuration),
    Subject("scenario", scenario),
    Subject("expectations", expectations),
    Subject("recording", recording),
    Subject("scheduler-log", scheduler_log),
    Subject("answers", answers),
)
