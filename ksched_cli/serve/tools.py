"""The questions as tools: their arguments, their command lines, the schemas of their answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from re import escape
from typing import Any, TypeAlias

import msgspec

import ksched_cli
from ksched_cli.errors import UsageError
from ksched_cli.kube.versions import MINORS
from ksched_cli.scenario.change import ChangeError
from ksched_cli.scenario.file import file_named
from ksched_cli.serve.cut import Page

Schema: TypeAlias = Mapping[str, Any]

_SCHEMAS = Path(ksched_cli.__file__).parent / "schemas"
POD: Schema = {
    "type": "string",
    "minLength": 1,
    "description": "name, namespace/name, or a workload such as deployment/web",
}
NAMESPACE: Schema = {
    "type": "string",
    "minLength": 1,
    "description": "The namespace of the pod and of names in changes",
}
CHANGES: Schema = {
    "type": "array",
    "items": {"type": "string", "minLength": 1},
    "description": "Changes to the state, applied first, in kubectl's words: 'drain node-3', "
    "'scale "
    "deployment/web --replicas=12', 'label nodes node-1 disk=ssd', 'apply -f {JSON}'. A "
    "real cluster is never changed.",
}
CONFIGURATION: Schema = {
    "type": "string",
    "minLength": 1,
    "description": "A KubeSchedulerConfiguration as YAML, in place of the server's",
}
MINOR: Schema = {
    "type": "string",
    "pattern": rf"^({'|'.join(map(escape, MINORS))})(\.\d+)?$",
    "description": f"Whose rules apply: one of {', '.join(MINORS)}, or a patch release as 1.34.4",
}
PAGING: Mapping[str, Schema] = {
    "part": {
        "type": "string",
        "description": "A list of the answer that was cut, such as /placements; shows it from "
        "`offset` "
        "on",
    },
    "offset": {"type": "integer", "minimum": 0},
}
OF_STATE: Mapping[str, Schema] = {
    "changes": CHANGES,
    "configuration": CONFIGURATION,
    "kubernetes_version": MINOR,
}
OF_POD: Mapping[str, Schema] = {"pod": POD, "namespace": NAMESPACE, **OF_STATE}


@dataclass(frozen=True, slots=True)
class QuestionTool:
    """A question.

    command: its words; schema: of its answer, in schemas/
    arguments: by name, the JSON Schema of each; required: names of them
    """

    name: str
    command: tuple[str, ...]
    schema: str
    description: str
    arguments: Mapping[str, Schema]
    required: tuple[str, ...] = ()

    @property
    def reads_state(self) -> bool:
        return self.name not in ("validate", "config_show")

    @property
    def input_schema(self) -> dict[str, Any]:
        return {
            "type": "object",
            "properties": {**self.arguments, **PAGING},
            "required": list(self.required),
            "additionalProperties": False,
        }

    @property
    def output_schema(self) -> dict[str, Any]:
        return _schema(self.schema)

    @property
    def kind(self) -> str:
        """The answer's."""
        kind: str = self.output_schema["properties"]["kind"]["const"]
        return kind


@cache
def _schema(name: str) -> dict[str, Any]:
    schema: dict[str, Any] = msgspec.json.decode((_SCHEMAS / f"{name}.json").read_bytes())
    return schema


TOOLS = (
    QuestionTool(
        "schedule", ("schedule",), "schedule_result",
        "Where kube-scheduler would place the pending pods, and why the others stay pending.",
        OF_STATE,
    ),
    QuestionTool(
        "explain", ("explain",), "explanation",
        "Why a pod goes where it goes, or nowhere: every plugin's verdict and score per node.",
        OF_POD, ("pod",),
    ),
    QuestionTool(
        "explain_pending", ("explain", "--pending"), "pending_report",
        "Why pods stay pending, in groups by owner and reason.",
        {"namespace": NAMESPACE, **OF_STATE},
    ),
    QuestionTool(
        "fix", ("fix",), "remedies",
        "The smallest changes after which a pod is placed, each verified by a run.",
        OF_POD, ("pod",),
    ),
    QuestionTool(
        "preempt", ("preempt",), "preemption_result",
        "Whom a pod would evict, where, and why there.",
        OF_POD, ("pod",),
    ),
    QuestionTool(
        "capacity", ("capacity",), "capacity_result",
        "How many more copies of a pod fit, and what stops the next one.",
        OF_POD, ("pod",),
    ),
    QuestionTool(
        "shrink", ("shrink",), "shrink_result",
        "Which nodes could be drained with every pod placed elsewhere, and what holds the others.",
        OF_STATE,
    ),
    QuestionTool(
        "compare", ("compare",), "comparison",
        "Compare the state with and without these changes, this configuration or this "
        "Kubernetes version: which pods move or become pending, and why.",
        OF_STATE,
    ),
    QuestionTool(
        "drift", ("drift",), "drift_result",
        "Every running pod: where it is, and where it would go today.",
        OF_STATE,
    ),
    QuestionTool(
        "validate", ("validate",), "validation_result",
        "Check whether kube-scheduler accepts a configuration; findings by line.",
        {"configuration": CONFIGURATION, "kubernetes_version": MINOR}, ("configuration",),
    ),
    QuestionTool(
        "config_show", ("config", "show"), "effective_configuration",
        "Show the configuration that takes effect: plugins, weights and args of every profile.",
        {"configuration": CONFIGURATION, "kubernetes_version": MINOR},
    ),
)  # fmt: skip
BY_NAME = {tool.name: tool for tool in TOOLS}


class ArgumentsError(UsageError):
    """The client's arguments do not fit the tool."""


@dataclass(frozen=True, slots=True)
class Call:
    """A question to be asked. line: of the command; stdin: what it reads"""

    line: tuple[str, ...]
    stdin: bytes
    page: Page


def call_of(
    tool: QuestionTool,
    arguments: Mapping[str, Any],
    of_state: Sequence[str],
    of_configuration: Sequence[str],
) -> Call:
    """of_state, of_configuration: options of the server's. Raises ArgumentsError."""
    _check(tool, arguments)
    own = [
        *(f"--change={inline(text)}" for text in arguments.get("changes", ())),
        *_option("--namespace", arguments.get("namespace")),
        *_option("--kubernetes-version", arguments.get("kubernetes_version")),
    ]
    configuration = arguments.get("configuration")
    shared = [*(of_state if tool.reads_state else ()), *_others(of_configuration, arguments)]
    names = [arguments["pod"]] if "pod" in arguments else []
    if not tool.reads_state:
        server = [option for option in of_configuration if option.startswith("--config=")]
        names = ["-"] if configuration else [option.partition("=")[2] for option in server]
        shared = [option for option in shared if option not in server]
    elif configuration:
        own.append("--config=-")
    if tool.name == "compare":
        if not own:
            raise ArgumentsError("compare requires changes, configuration or kubernetes_version")
        own = ["--vs", *own]
    line = (*tool.command, "-o", "json", "--no-extenders", *shared, *own, "--", *names)
    page = Page(arguments.get("part", ""), arguments.get("offset", 0))
    return Call(line, (configuration or "").encode(), page)


def _others(options: Sequence[str], arguments: Mapping[str, Any]) -> list[str]:
    """The server's options that the arguments do not replace."""
    options_by_name = {"kubernetes_version": "--kubernetes-version=", "configuration": "--config="}
    replaced = tuple(option for name, option in options_by_name.items() if name in arguments)
    return [option for option in options if not option.startswith(replaced)]


def _option(name: str, value: str | None) -> list[str]:
    return [f"{name}={value}"] if value else []


def _check(tool: QuestionTool, arguments: Mapping[str, Any]) -> None:
    from jsonschema import Draft202012Validator

    errors = sorted(Draft202012Validator(tool.input_schema).iter_errors(arguments), key=str)
    if errors:
        raise ArgumentsError("; ".join(f"{e.json_path}: {e.message}" for e in errors))


def inline(text: str) -> str:
    """A change that reads no file of this machine. Raises ArgumentsError."""
    try:
        path = file_named(text)
    except ChangeError as error:
        raise ArgumentsError(str(error)) from None
    if path:
        raise ArgumentsError(f"{text}: write the object as JSON; files cannot be read")
    return text
