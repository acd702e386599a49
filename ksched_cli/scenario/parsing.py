"""From the line of a change to a Change."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from pathlib import Path

from ksched_cli.scenario.apply import Apply, Patch
from ksched_cli.scenario.arguments import Arguments, read_arguments, split_line
from ksched_cli.scenario.change import Change, ChangeError
from ksched_cli.scenario.delete import Delete
from ksched_cli.scenario.drain import Drain
from ksched_cli.scenario.labels import Label
from ksched_cli.scenario.nodes import AddNodes, Cordon, TaintNodes, Uncordon
from ksched_cli.scenario.reschedule import Reschedule
from ksched_cli.scenario.rollout import RolloutRestart, SetResources
from ksched_cli.scenario.scale import Scale


@dataclass(frozen=True, slots=True)
class Verb:
    """parse: makes the change. flags: long name → whether it takes a value."""

    parse: Callable[[Arguments], Change]
    flags: Mapping[str, bool] = field(default_factory=dict)


_DRAIN_FLAGS = {
    "--force": False,
    "--ignore-daemonsets": False,
    "--delete-emptydir-data": False,
    "--disable-eviction": False,
    "--pod-selector": True,
}
_SELECTING = {"--selector": True}
_CHOOSING = {"--selector": True, "--all": False, "--all-namespaces": False}

_ADD_NODES_FLAGS = dict.fromkeys(
    ("--like", "--count", "--label", "--cpu", "--memory", "--resource", "--taint"), True
)

VERBS: Mapping[str, Verb] = {
    "drain": Verb(Drain.parse, {**_DRAIN_FLAGS, **_SELECTING}),
    "cordon": Verb(Cordon.parse, _SELECTING),
    "uncordon": Verb(Uncordon.parse, _SELECTING),
    "taint": Verb(TaintNodes.parse, {"--all": False, "--overwrite": False, **_SELECTING}),
    "label": Verb(Label.parse, {"--overwrite": False, **_CHOOSING}),
    "scale": Verb(Scale.parse, {"--replicas": True, **_CHOOSING}),
    "set resources": Verb(
        SetResources.parse,
        {"--requests": True, "--limits": True, "--containers": True, **_CHOOSING},
    ),
    "apply": Verb(Apply.parse, {"--filename": True, **_SELECTING}),
    "delete": Verb(Delete.parse, {"--cascade": False, **_CHOOSING}),
    "patch": Verb(Patch.parse, {"--patch": True, "--patch-file": True, "--type": True}),
    "rollout restart": Verb(RolloutRestart.parse, _CHOOSING),
    "add-nodes": Verb(AddNodes.parse, _ADD_NODES_FLAGS),
    "reschedule": Verb(Reschedule.parse, _CHOOSING),
}


def parse_change(text: str, namespace: str = "", folder: Path | None = None) -> Change:
    """The change of a line in kubectl's words.

    namespace: of names without -n; "" to look everywhere
    folder:    what paths are relative to; the current one unless given
    Raises ChangeError.
    """
    tokens = split_line(text)
    if not tokens:
        raise ChangeError(text, f"expected one of {', '.join(VERBS)}")
    length = 2 if " ".join(tokens[:2]) in VERBS else 1
    name = " ".join(tokens[:length])
    verb = VERBS.get(name)
    if verb is None:
        near = get_close_matches(name, VERBS, n=1)
        hint = f"did you mean {near[0]}?" if near else f"expected one of {', '.join(VERBS)}"
        raise ChangeError(text, f'"{name}" is no change; {hint}')
    arguments = read_arguments(text, tokens[length:], verb.flags, namespace, folder or Path())
    return replace(verb.parse(arguments), ignored=arguments.ignored)
