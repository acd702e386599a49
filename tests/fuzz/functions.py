"""Functions that read a text or a value of a user's, each with the errors by which it refuses."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import served
from corpora import CASES, CONFIGS, EXAMPLES
from mutations import interesting
from texts import grown_texts, mutated_text

from ksched_cli.cel.values import CelAbortError, CelError, DomainMap, Semver
from ksched_cli.cluster.loading.load import load_sources
from ksched_cli.cluster.loading.sources import Source
from ksched_cli.cluster.node_affinity import node_terms
from ksched_cli.cluster.objects.base import (
    LabelSelector,
    NodeSelector,
    ResourceAmount,
    decode_hook,
)
from ksched_cli.config.load import load_configuration
from ksched_cli.errors import KschedError
from ksched_cli.extenders import wire
from ksched_cli.framework.preemption import ExtenderError
from ksched_cli.kube.documents import load_documents
from ksched_cli.kube.formatting import DurationError, duration_text, parse_duration
from ksched_cli.kube.quantity import Quantity, QuantityError
from ksched_cli.kube.selectors import SelectorError, label_selector
from ksched_cli.kube.versions import MINORS, release_of
from ksched_cli.plugins import registry_of
from ksched_cli.scenario.change import ChangeError
from ksched_cli.scenario.file import parse_change

TESTS = Path(__file__).parent.parent
SMALL = 8000  # bytes
QUANTITY_CORPUS = (
    "0",
    "1",
    "100m",
    "1.5Gi",
    "2e3",
    "1E",
    "12E6",
    "5k",
    "1024Ki",
    "0.000000001",
    "-3",
    "+.5",
    "1n",
    "9223372036854775807",
    "9223372036854775.807k",
    "1e-3",
    "3.",
    "007",
    "1Ei",
    "17u",
    "64Mi",
    "1e18",
)
DURATION_CORPUS = (
    "1h30m",
    "1.5s",
    "300ms",
    "-2m",
    "0",
    "1us",
    "1\u00b5s",
    "2h45m30.5s",
    "+7ns",
    ".5s",
)
CHANGE_CORPUS = (
    "drain node-a --ignore-daemonsets --force",
    "cordon n0 n1",
    "taint nodes n0 a=b:NoSchedule",
    "taint nodes --all k:NoExecute-",
    "label pods p a=b c- -n kube-system --overwrite",
    "scale deployment/web --replicas=3",
    "delete pod/p",
    "rollout restart deployment/web",
    "set resources deployment/web --requests=cpu=200m,memory=1Gi -c main",
    'patch pod/p -p \'{"spec": {"priority": 3}}\' --type=merge',
    "reschedule -l app=web,tier!=x",
    "reschedule -l 'a in (b,c),!d'",
    "add-nodes new --like n0 --count 2",
    "reschedule --all -A",
)
GATES_CORPUS = (
    "DRAAdminAccess=true",
    "AllAlpha=true,AllBeta=false",
    "A=true",
    "SchedulerQueueingHints=no",
)
DOCUMENT_CORPUS = (
    "a: 1\nb: [x, {y: z}]\n---\n- 'q'\n- \"w\\n\"\n- |\n  text\n",
    "&a {k: *a}",
    "<<: {a: 1}\nb: ~\n",
    '{"a": [1, 2.5e3, "\\u00e9", null, true], "b": {"c": {}}}',
    '[{"a": 1}]{"b": 2}',
    "!!binary aGk=",
    "? [a, b]\n: c\n",
    "a: 0x1F\nb: 1e3\nc: .inf\nd: 2026-01-01\n",
    "%YAML 1.2\n--- !!map\na: 'it''s'\n",
    "key: >-\n  folded\n  more\n\nother: |+\n  kept\n\n",
    "kind: List\nitems:\n- kind: Pod\n  a: b\n",
)
SEMVER_CORPUS = ("1.2.3", "0.0.1-alpha.1+build.5", "10.20.30", "1.0.0-rc.1", "v1.2", "1.2.3-0a")
RESPONSE_CORPUS = (
    '{"Nodes": {"items": [{"metadata": {"name": "a"}}]}, "NodeNames": null, "FailedNodes": {}}',
    '{"NodeNames": ["a", "b"], "FailedAndUnresolvableNodes": {}, "Error": ""}',
    '{"Error": "why"}',
    '[{"Host": "a", "Score": 10}, {"Host": "b", "Score": 0}]',
    "null",
    "[]",
    '{"Error": ""}',
    '{"NodeNameToMetaVictims": {"a": {"Pods": [{"UID": "u"}], "NumPDBViolations": 1}}}',
)
IN_TREE_PLUGINS = registry_of(release_of())
LARGE = Quantity.parse("1000E")
KEYS = ("app", "kubernetes.io/hostname", "a/b", "", "a/b/c", "metadata.name", "x" * 64, "\u00e9")
OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "", "in")
LABELS = {
    "app": "web",
    "kubernetes.io/hostname": "n",
    "a/b": "7",
    "huge": "9" * 5000,
    "metadata.name": "1",
}


@dataclass(frozen=True, slots=True)
class Function:
    """make: a text or value from randomness; read: what is given it; refusals: how it may fail;
    corpus: of one that reads texts, those that it is made from."""

    name: str
    make: Callable[[random.Random], Any]
    read: Callable[[Any], object]
    refusals: tuple[type[Exception], ...]
    corpus: Callable[[], Sequence[str]] | None = None


def _of_texts(
    name: str,
    corpus: Callable[[], Sequence[str]],
    read: Callable[[str], object],
    *refusals: type[Exception],
) -> Function:
    def texts() -> Sequence[str]:
        return (*corpus(), *grown_texts(name))

    return Function(name, lambda rng: mutated_text(texts(), rng), read, refusals, texts)


def read_quantity(text: str) -> None:
    for kind in (Quantity, ResourceAmount):
        amount = kind.parse(text)
        amount.value(), amount.milli_value(), amount.sign()
        if amount.sign() >= 0 and amount < LARGE:  # upstream prints others without a suffix
            again = Quantity.parse(str(amount))
            assert again == amount, (str(again), str(amount))
        str(amount + Quantity.parse("1")), amount < LARGE


def read_duration(text: str) -> None:
    nanoseconds = parse_duration(text)
    assert parse_duration(duration_text(nanoseconds)) == nanoseconds


def label_selectors(rng: random.Random) -> dict[str, Any]:
    expressions = [_expression(rng) for _ in range(rng.choice((0, 1, 1, 2)))]
    labels = {rng.choice(KEYS): rng.choice(("web", "", "a" * 64, "-", "\x00"))}
    return {"matchLabels": labels if rng.random() < 0.3 else {}, "matchExpressions": expressions}


def node_selectors(rng: random.Random) -> dict[str, Any]:
    terms = [
        {rng.choice(("matchExpressions", "matchFields")): [_expression(rng) for _ in range(2)]}
        for _ in range(rng.choice((0, 1, 2)))
    ]
    return {"nodeSelectorTerms": terms}


def _expression(rng: random.Random) -> dict[str, Any]:
    values = [mutated_text(("web", "7", "n", "1"), rng) for _ in range(rng.choice((0, 1, 1, 2)))]
    expression = {"key": rng.choice(tuple(LABELS) + KEYS), "operator": rng.choice(OPERATORS)}
    if rng.random() < 0.02:
        expression[rng.choice(tuple(expression))] = interesting(rng)
    return {**expression, "values": values}


def read_label_selector(value: Any) -> None:
    label_selector(msgspec.convert(value, LabelSelector)).matches(LABELS)


def read_node_selector(value: Any) -> None:
    node_terms(msgspec.convert(value, NodeSelector)).matches("n", LABELS)


@cache
def cel_corpus() -> tuple[str, ...]:
    lines = (TESTS / "cel" / "cel_expressions.jsonl").read_text().splitlines()
    return tuple(json.loads(line)["expression"] for line in lines)


@cache
def _device() -> Any:
    from ksched_cli.cel.interpreter import DeviceInput

    own = {"model": "a100", "idx": 3, "ecc": True, "ver": Semver.parse("1.2.3")}
    attributes = DomainMap({"d.io": own, "other.com": {"x": "y"}})
    return DeviceInput("d.io", attributes, DomainMap({"d.io": {"memory": Quantity.parse("40Gi")}}))


def read_cel(text: str) -> None:
    from ksched_cli.plugins.dynamic_resources.selectors import SelectorFailure, compile_selector

    program = compile_selector.__wrapped__(text)
    if not isinstance(program, SelectorFailure):
        program.evaluate(_device())


def read_change(text: str) -> None:
    parse_change(text, "default", TESTS / "nowhere")


def read_gates(text: str) -> None:
    for minor in MINORS:
        release_of(minor, text)


def read_documents(text: str) -> None:
    list(load_documents(text, "input.yaml"))


def read_response(text: str) -> None:
    body = text.encode("utf-8", "surrogatepass")
    readers = wire.filter_result, wire.host_priorities, wire.preemption_result, wire.binding_error
    for read in readers:
        try:
            read(body)
        except ExtenderError:
            continue


def read_quantity_field(value: Any) -> None:
    decode_hook(ResourceAmount, value)


def small_texts(files: Iterable[Path]) -> tuple[str, ...]:
    return tuple(file.read_text() for file in sorted(files) if file.stat().st_size < SMALL)


@cache
def state_texts() -> tuple[str, ...]:
    return small_texts((*CASES.glob("*/*/state.yaml"), *EXAMPLES.glob("*/cluster.yaml")))


@cache
def configuration_texts() -> tuple[str, ...]:
    return small_texts((*CONFIGS.glob("*/config.yaml"), *CASES.glob("*/*/config.yaml")))


def read_state(text: str) -> None:
    data = text.encode("utf-8", "surrogatepass")
    for name in ("input.yaml", "input.json"):
        with suppress(KschedError):
            load_sources([Source(name, data)], (), tuple)


def read_configuration(text: str) -> None:
    load_configuration(text, "input.yaml", IN_TREE_PLUGINS)


FUNCTIONS = (
    _of_texts("quantity", lambda: QUANTITY_CORPUS, read_quantity, QuantityError),
    Function("quantity-field", interesting, read_quantity_field, (QuantityError,)),
    _of_texts("duration", lambda: DURATION_CORPUS, read_duration, DurationError),
    Function(
        "label-selector",
        label_selectors,
        read_label_selector,
        (SelectorError, msgspec.ValidationError),
    ),
    Function(
        "node-selector",
        node_selectors,
        read_node_selector,
        (SelectorError, msgspec.ValidationError),
    ),
    _of_texts("cel", cel_corpus, read_cel, CelError, CelAbortError),
    _of_texts("version", lambda: SEMVER_CORPUS, Semver.parse, CelError),
    _of_texts("change", lambda: CHANGE_CORPUS, read_change, ChangeError),
    _of_texts("gates", lambda: GATES_CORPUS, read_gates, KschedError),
    _of_texts("document", lambda: DOCUMENT_CORPUS, read_documents, KschedError),
    _of_texts("response", lambda: RESPONSE_CORPUS, read_response),
    Function("run", served.run_documents, served.read_run, served.RUN_REFUSALS),
    Function("request", served.requests_of_extenders, served.answer_request, (ValueError,)),
    Function("tool-call", served.tool_calls, served.ask_tool, served.TOOL_REFUSALS),
    Function("mcp-message", served.messages, served.say, ()),
    _of_texts("state-text", state_texts, read_state),
    _of_texts("configuration-text", configuration_texts, read_configuration, KschedError),
)
