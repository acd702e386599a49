"""The line of a change: names and flags, as kubectl reads them, and the objects that they mean."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ksched_cli.cluster.change_record import Effect
from ksched_cli.cluster.loading.kinds import KINDS, ObjectKind
from ksched_cli.cluster.objects import (
    KubeObject,
    LabelSelector,
    LabelSelectorRequirement,
    Pod,
    ReplicaSet,
)
from ksched_cli.cluster.state import ClusterState
from ksched_cli.kube.int64 import parse_int64
from ksched_cli.kube.near_names import near_hint
from ksched_cli.kube.selectors import Selector, SelectorError, label_selector
from ksched_cli.scenario.change import Change, Changed, ChangeError
from ksched_cli.scenario.objects import kind_of, objects_of
from ksched_cli.scenario.owned_pods import OwnedPods
from ksched_cli.scenario.pods import select_by_labels, select_by_name
from ksched_cli.scenario.workloads import MAX_PODS

# Blanks between tokens, or a part of a token: plain, a character after a backslash, in quotes.
_PART = re.compile(
    r"""(?P<blank>[ \t\r\n]+)|(?P<plain>[^ \t\r\n"'\\]+)|\\(?P<escaped>.)"""
    r"""|"(?P<double>(?:[^"\\]|\\.)*+)"|'(?P<single>[^']*)'""",
    re.DOTALL,
)
_ESCAPED = re.compile(r'\\(["\\])')
_SHORT = {
    "-n": "--namespace",
    "-l": "--selector",
    "-c": "--containers",
    "-p": "--patch",
    "-f": "--filename",
    "-A": "--all-namespaces",
    "-i": "--interactive",
    "-o": "--output",
    "-s": "--server",
    "-v": "--v",
}
_EVERY_VERB = {"--namespace": True}
# Flags of kubectl's that only matter to a real cluster or to a terminal: whether they take a value.
_IGNORED: Mapping[str, bool] = {
    **dict.fromkeys(
        (
            "--as", "--as-group", "--as-uid", "--cache-dir", "--certificate-authority",
            "--chunk-size", "--client-certificate", "--client-key", "--cluster", "--context",
            "--field-manager", "--grace-period", "--kubeconfig", "--output", "--request-timeout",
            "--server", "--skip-wait-for-delete-timeout", "--template", "--timeout",
            "--tls-server-name", "--token", "--user", "--v",
        ),
        True,
    ),
    # Their value, if there is one, follows "=".
    **dict.fromkeys(
        (
            "--allow-missing-template-keys", "--disable-compression", "--dry-run", "--force",
            "--force-conflicts", "--ignore-errors", "--insecure-skip-tls-verify", "--interactive",
            "--match-server-version", "--now", "--openapi-patch", "--record", "--save-config",
            "--server-side", "--show-labels", "--show-managed-fields", "--validate", "--wait",
            "--warnings-as-errors",
        ),
        False,
    ),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Arguments:
    """The line of a change without its verb.

    text:      the whole line
    names:     what is not a flag, in order
    flags:     long name → value, "true" for a flag that takes none; of a repeated one the last
    values:    long name → all values, in order
    namespace: of -n, else the one that holds for all changes; "" where neither is given
    folder:    what paths in the line are relative to
    ignored:   flags of kubectl's that change nothing here, as written
    """

    text: str
    names: tuple[str, ...]
    flags: Mapping[str, str]
    namespace: str = ""
    folder: Path = Path()
    values: Mapping[str, Sequence[str]] = field(default_factory=dict)
    ignored: tuple[str, ...] = ()

    def error(self, problem: str) -> ChangeError:
        return ChangeError(self.text, problem)

    def pairs(self, flag: str) -> dict[str, str]:
        """Return the values of a repeatable flag, as KEY=VALUE. Raises ChangeError."""
        pairs = {}
        for text in self.values.get(flag, ()):
            key, separator, value = text.partition("=")
            if not key or not separator:
                raise self.error(f'{flag} is "{text}"; it takes KEY=VALUE')
            pairs[key] = value
        return pairs

    def has(self, flag: str) -> bool:
        """Return whether a flag without a value is on."""
        return self.flags.get(flag, "false") != "false"

    def count(self, flag: str) -> int:
        """Return a whole number from 0 to MAX_PODS. Raises ChangeError."""
        text = self.flags.get(flag)
        if text is None:
            raise self.error(f"{flag}=N is missing")
        number = parse_int64(text)
        if number is None or number < 0:
            raise self.error(f'{flag} is "{text}"; it takes a whole number')
        if number > MAX_PODS:
            raise self.error(f"{flag} is {number}; it takes at most {MAX_PODS}")
        return number


def split_line(text: str) -> tuple[str, ...]:
    """Return the tokens of a line, quotes undone, without a leading "kubectl". Raises ChangeError.

    As shlex.split, which copies a token for each of its characters.
    """
    parts: list[list[str]] = [[]]
    end = 0
    while match := _PART.match(text, end):
        end = match.end()
        if match["blank"]:
            parts.append([])
        elif match["double"] is not None:
            parts[-1].append(_ESCAPED.sub(r"\1", match["double"]))
        else:
            parts[-1].append(match[match.lastgroup or 0])
    if end < len(text):
        problem = "no escaped character" if text[end] == "\\" else "no closing quotation"
        raise ChangeError(text, f"cannot be read: {problem}")
    tokens = tuple("".join(part) for part in parts if part)
    return tokens[1:] if tokens[:1] == ("kubectl",) else tokens


def read_arguments(
    text: str,
    tokens: Sequence[str],
    takes_value: Mapping[str, bool],
    namespace: str,
    folder: Path,
) -> Arguments:
    """Return the words and the flags of a change. tokens: the line after its verb. takes_value: the
    verb's flags, and which have a value.

    Raises ChangeError.
    """
    takes_value = {**_EVERY_VERB, **takes_value}
    names: list[str] = []
    flags: dict[str, str] = {}
    values: dict[str, list[str]] = {}
    ignored: list[str] = []
    every_flag = {**_IGNORED, **takes_value}
    rest = iter(tokens)
    for word in rest:
        if word.startswith("-") and word != "-":
            # A flag has a long name and a value, which may be the next token.
            written, has_value, value = word.partition("=")
            if not word.startswith("--") and word[:2] in _SHORT and len(word) > 2:
                written, has_value, value = word[:2], "=", word[2:].removeprefix("=")
            flag = _SHORT.get(written, written)
            flag = "--containers" if flag == "--container" else flag
            if flag not in every_flag:
                hint = (
                    near_hint(flag, takes_value, most=1) or f"; it takes {', '.join(takes_value)}"
                )
                raise ChangeError(text, f'unknown flag "{written}"{hint}')
            if not has_value:
                value = next(rest, "") if every_flag[flag] else "true"
                if not value:
                    raise ChangeError(text, f"{written} takes a value")
            if flag in takes_value:
                flags[flag] = value
                values.setdefault(flag, []).append(value)
            else:
                ignored.append(word)
        else:
            names.append(word)
    namespace = flags.pop("--namespace", namespace)
    return Arguments(text, tuple(names), flags, namespace, folder, values, tuple(ignored))


# -- selectors, and pods by name ------------------------------------------------------------------


_SET = re.compile(r"(?P<key>\S+)\s+(?P<operator>in|notin)\s*\((?P<values>[^()]*)\)")
_OPERATORS = {"in": "In", "notin": "NotIn"}


def find_pods(
    change: Change, state: ClusterState, names: Sequence[str], namespace: str
) -> list[Pod]:
    """Return the pods of these names, "pod/NAME" and "NAMESPACE/NAME" allowed.

    namespace: where to look; "" for everywhere
    Raises ChangeError for a name that is not there, or in several namespaces.
    """
    by_name: dict[str, list[Pod]] = {}
    for pod in select_by_name(state.pods, {name.rpartition("/")[2] for name in names}):
        by_name.setdefault(pod.name, []).append(pod)
    chosen: list[Pod] = []
    for written in names:
        parent, _, name = written.rpartition("/")
        within = namespace if parent in ("", "po", "pod", "pods") else parent
        pods = [p for p in by_name.get(name, ()) if not within or p.namespace == within]
        if not pods and name in by_name:
            raise change.elsewhere("pod", name, within, [pod.key for pod in by_name[name]])
        if not pods:
            raise change.unknown("pod", name, list({pod.name: None for pod in state.pods}))
        if len(pods) > 1:
            keys = ", ".join(sorted(pod.key for pod in pods))
            raise change.error(f'several pods are named "{name}": {keys}; add -n NAMESPACE')
        chosen += pods
    return chosen


def choose_pods(
    change: Change, state: ClusterState, names: Sequence[str], selector: str, namespace: str
) -> list[Pod]:
    """Return the pods of these names; without any those that the selector matches, "" all.
    namespace: "" for every one. Raises ChangeError."""
    if names:
        return find_pods(change, state, names, namespace)
    pods = select_by_labels(state.pods, read_selector(change.text, selector))
    return [pod for pod in pods if pod.namespace == namespace] if namespace else pods


def split_at_commas(text: str) -> list[str]:
    """Split a text at its commas outside of parentheses."""
    return re.findall(r"(?:[^,(]|\([^)]*\)?)+", text)


def read_selector(change_text: str, text: str) -> Selector:
    """Return a selector as -l takes it: "a=b,c!=d,e in (f,g),h,!i"; "" matches everything.

    Raises ChangeError. Upstream: apimachinery/pkg/labels (Parse).
    """
    parts = split_at_commas(text)
    expressions = tuple(_expression(change_text, part) for part in parts if part.strip())
    try:
        return label_selector(LabelSelector(match_expressions=expressions))
    except SelectorError as error:
        raise ChangeError(change_text, f'-l "{text}": {error}') from None


def _expression(change_text: str, part: str) -> LabelSelectorRequirement:
    part = part.strip()
    match = _SET.fullmatch(part)
    if match is not None:
        values = tuple(value.strip() for value in match["values"].split(","))
        return LabelSelectorRequirement(match["key"], _OPERATORS[match["operator"]], values)
    if "!=" in part:
        key, _, value = part.partition("!=")
        return LabelSelectorRequirement(key.strip(), "NotIn", (value.strip(),))
    if "=" in part:
        key, _, value = part.partition("=")
        return LabelSelectorRequirement(key.strip(), "In", (value.removeprefix("=").strip(),))
    if " " in part:
        raise ChangeError(change_text, f'-l: "{part}" is not a selector; expected KEY=VALUE')
    if part.startswith("!"):
        return LabelSelectorRequirement(part[1:], "DoesNotExist")
    return LabelSelectorRequirement(part, "Exists")


# -- KIND/NAME ------------------------------------------------------------------------------------
# The objects that KIND/NAME in a change means; for workloads their pods and ReplicaSets too.


@dataclass(frozen=True, slots=True)
class Target:
    """KIND/NAME, or KIND -l SELECTOR. namespace: "" to look everywhere; selector: in place of a
    name, "" for all"""

    kind: str
    name: str
    namespace: str
    selector: str | None = None

    @property
    def text(self) -> str:
        return f"{self.kind.lower()}/{self.name}"


@dataclass(frozen=True, slots=True)
class NamedWorkload:
    """A workload that a change names.

    obj:          None where the state has only its pods
    pods:         its active ones
    replica_sets: of a deployment
    """

    kind: str
    namespace: str
    name: str
    obj: Any
    pods: tuple[Pod, ...]
    replica_sets: tuple[ReplicaSet, ...]

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"

    @property
    def text(self) -> str:
        return f"{self.kind} {self.key}"


def read_targets(arguments: Arguments, kinds: Iterable[str]) -> tuple[Target, ...]:
    """Read "KIND/NAME...", "KIND NAME..." or "KIND -l SELECTOR". Raises ChangeError. kinds: that
    the change takes"""
    names = arguments.names
    selector = arguments.flags.get("--selector")
    if selector is not None or arguments.has("--all"):  # "KIND,KIND -l SELECTOR", "KIND --all"
        if len(names) != 1 or "/" in names[0]:
            raise arguments.error("expected KIND -l SELECTOR, such as deployments -l app=web")
        read_selector(arguments.text, selector or "")
        namespace = "" if arguments.has("--all-namespaces") else arguments.namespace
        chosen = [_kind(arguments, name, name, kinds) for name in names[0].split(",")]
        return tuple(Target(kind, "", namespace, selector or "") for kind in chosen)
    if names and "/" not in names[0]:
        names = tuple(f"{names[0]}/{name}" for name in names[1:])
    if not names:
        raise arguments.error("expected KIND/NAME, such as deployment/web")
    targets = []
    for written in names:
        word, _, name = written.partition("/")
        kind = _kind(arguments, word if name else "", written, kinds)
        targets.append(Target(kind, name, arguments.namespace))
    return tuple(targets)


def _kind(arguments: Arguments, word: str, written: str, kinds: Iterable[str]) -> str:
    kind = kind_of(word)
    if kind is None or kind.name not in kinds:
        listed = ", ".join(kind.lower() for kind in kinds)
        raise arguments.error(
            f'"{written}" is not accepted here; expected KIND/NAME, with KIND one of {listed}'
        )
    return kind.name


@dataclass(frozen=True, slots=True)
class TargetsChange(Change):
    """A change of objects, one after the other."""

    targets: tuple[Target, ...]

    def apply(self, state: ClusterState) -> Changed:
        # 1. The targets by name: of a selector, the objects that it matches.
        named: list[Target] = []
        for target in self.targets:
            if target.selector is None:
                named.append(target)
                continue
            kind, selector = KINDS[target.kind], read_selector(self.text, target.selector)
            everywhere = not kind.namespaced or not target.namespace
            keys = [
                key
                for key, obj in objects_of(state, kind).items()
                if (everywhere or key[0] == target.namespace)
                and selector.matches(obj.metadata.labels)
            ]
            if not keys:
                which = f" matches -l {target.selector}" if target.selector else " is there"
                where = "" if everywhere else f" in namespace {target.namespace}"
                raise self.error(f"no {target.kind}{where}{which}")
            named += (Target(target.kind, name, namespace) for namespace, name in keys)
        # 2. What happens to them, one after the other.
        effects: list[Effect] = []
        for target in named:
            state, more = self.apply_to(state, target)
            effects += more
        return state, effects

    @abstractmethod
    def apply_to(self, state: ClusterState, target: Target) -> Changed:
        """Return the state with one of the objects changed. target: by name. Raises ChangeError."""


def read_target(arguments: Arguments, kinds: Iterable[str]) -> Target:
    """Return the only one. Raises ChangeError."""
    targets = read_targets(arguments, kinds)
    if len(targets) > 1:
        raise arguments.error("expected one KIND/NAME")
    return targets[0]


def find_object(
    change: Change, state: ClusterState, target: Target
) -> tuple[ObjectKind, KubeObject]:
    """Return the object that a target names, and its kind. Raises ChangeError if there is none, or
    several."""
    kind = KINDS[target.kind]
    pods = select_by_name(state.pods, {target.name}) if kind is KINDS["Pod"] else ()
    objects: dict[tuple[str, str], KubeObject] = {(pod.namespace, pod.name): pod for pod in pods}
    objects = objects or objects_of(state, kind)
    namespace = _namespace(change, target, objects)
    return kind, objects[namespace, target.name]


def _namespace(change: Change, target: Target, keys: Iterable[tuple[str, str]]) -> str:
    """Return the namespace of the target among the keys. Raises ChangeError."""
    keys = list(keys)
    namespace_filter = target.namespace if KINDS[target.kind].namespaced else ""
    namespaces = [
        namespace
        for namespace, name in keys
        if name == target.name and namespace_filter in ("", namespace)
    ]
    elsewhere = [f"{namespace}/{name}" for namespace, name in keys if name == target.name]
    if not namespaces and elsewhere:
        raise change.elsewhere(target.kind, target.name, namespace_filter, elsewhere)
    if not namespaces:
        raise change.unknown(target.kind, target.name, sorted({name for _, name in keys}))
    if len(namespaces) > 1:
        listed = ", ".join(f"{namespace}/{target.name}" for namespace in namespaces)
        raise change.error(f"several match: {listed}; add -n NAMESPACE")
    return namespaces[0]


def find_workload(change: Change, state: ClusterState, target: Target) -> NamedWorkload:
    """Return a workload by its object, or by its pods alone. Raises ChangeError."""
    objects = objects_of(state, KINDS[target.kind])
    owned = OwnedPods.of(state.pods).active
    by_pods = {(ns, name) for ns, kind, name in owned if kind == target.kind}
    namespace = _namespace(change, target, {**objects, **dict.fromkeys(by_pods)})
    replica_sets = [
        replica_set
        for replica_set in state.replica_sets.values()
        if target.kind == "Deployment"
        and replica_set.namespace == namespace
        and replica_set.owner == ("Deployment", target.name)
    ]
    pods = {id(pod): pod for pod in owned.get((namespace, target.kind, target.name), ())}
    for replica_set in replica_sets:
        own = owned.get((namespace, "ReplicaSet", replica_set.name), ())
        pods |= {id(pod): pod for pod in own}
    return NamedWorkload(
        target.kind,
        namespace,
        target.name,
        objects.get((namespace, target.name)),
        tuple(pods.values()),
        tuple(replica_sets),
    )


def current_pods(state: ClusterState, workload: NamedWorkload) -> list[Pod]:
    """Return the workload's pods as they are in a later state, in its order."""
    keys = {(pod.namespace, pod.name) for pod in workload.pods}
    named = select_by_name(state.pods, {name for _, name in keys})
    return [pod for pod in named if (pod.namespace, pod.name) in keys]
