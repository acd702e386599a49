"""Extenders that answer properly, or what a file has."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from answer_subjects import RECORDING, VERBS, proper_answer
from corpora import EXAMPLES
from format import JSON, PREEMPTION, Arguments, Format, of_documents, singly

from tests.extenders.servers import Server


@cache
def _answering() -> Server:
    return Server({f"/{verb}": lambda data, verb=verb: proper_answer(verb, data) for verb in VERBS})


def extender(url: str, *, capable: bool) -> dict[str, Any]:
    return {"urlPrefix": url, "filterVerb": "filter", "prioritizeVerb": "prioritize", "weight": 3,
            "preemptVerb": "preempt", "bindVerb": "bind", "httpTimeout": "2s",
            "nodeCacheCapable": capable}  # fmt: skip


def write_extended(folder: Path, *, capable: bool) -> None:
    kind = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    own = extender(_answering().url, capable=capable)
    (folder / "extended.json").write_text(json.dumps({**kind, "extenders": [own]}))


class _Saying(Server):
    """An extender of which each verb answers properly but the one whose answer a file has."""

    def __init__(self) -> None:
        super().__init__({})
        self.file = Path()
        self.verb = ""
        self.answers = {f"/{verb}": self._answer_of(verb) for verb in VERBS}

    def _answer_of(self, verb: str) -> Callable[[Any], Any]:
        def answer(data: Any) -> Any:
            return self.file.read_bytes() if verb == self.verb else proper_answer(verb, data)

        return answer


@cache
def _saying(verb: str) -> _Saying:
    server = _Saying()
    server.verb = verb
    return server


def _answers(verb: str, example: Any) -> Format:
    def commands(file: str, folder: Path) -> Sequence[Arguments]:
        server = _saying(verb)
        server.file = Path(file)
        kind = "KubeSchedulerConfiguration"
        questions: list[Arguments] = []
        for capable in (True, False):
            own = extender(server.url, capable=capable)
            document = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": kind}
            config = folder / f"config-{capable}.json"
            config.write_text(json.dumps({**document, "extenders": [own]}))
            files = ("--state", PREEMPTION, "--config", str(config), *JSON)
            questions += [("schedule", "--trace", *files, "--extender-bind"), ("drift", *files)]
            questions.append(("explain", "--pending", *files))
        return questions

    return Format(f"answers to {verb}", "answer.json", singly(lambda: [example]), commands)


BIRCH = {
    "metadata": {"name": "birch", "labels": {"a": "b"}},
    "spec": {"taints": [{"key": "a", "effect": "NoSchedule"}]},
    "status": {"allocatable": {"cpu": "4"}, "capacity": {"cpu": "4"}},
}
FILTERED = {
    "NodeNames": ["birch"], "Nodes": {"items": [BIRCH]}, "FailedNodes": {"apple": "no"},
    "FailedAndUnresolvableNodes": {"cedar": "-"}, "Error": "",
}  # fmt: skip
VICTIMS = {"apple": {"Pods": [{"UID": "default/low"}], "NumPDBViolations": 0}}


def _recording_commands(file: str, folder: Path) -> Sequence[Arguments]:
    example = EXAMPLES / "extender"
    files = ("--state", str(example / "cluster.yaml"), "--config", str(example / "scheduler.yaml"))
    return (("schedule", *files, *JSON, "--replay-extenders", file),)


def _recorded() -> list[Any]:
    return list(map(json.loads, RECORDING.read_text().splitlines()))


FORMATS = (
    Format("recording", "calls.jsonl", of_documents(lambda: [_recorded()]), _recording_commands),
    _answers("filter", FILTERED),
    _answers("prioritize", [{"Host": "apple", "Score": 3}, {"Host": "birch", "Score": 0}]),
    _answers("preempt", {"NodeNameToMetaVictims": VICTIMS}),
    _answers("bind", {"Error": ""}),
)
