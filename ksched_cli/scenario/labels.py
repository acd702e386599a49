"""label nodes|pods NAME... KEY=VALUE | KEY-"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, TypeVar

from msgspec import structs

from ksched_cli.cluster.change_record import Effect
from ksched_cli.cluster.objects import Node, Pod
from ksched_cli.cluster.state import ClusterState
from ksched_cli.scenario.arguments import Arguments
from ksched_cli.scenario.change import Change, Changed
from ksched_cli.scenario.lookup import choose_pods, read_selector
from ksched_cli.scenario.node_evictions import remove_stray_daemons
from ksched_cli.scenario.nodes import NodeChoice, edited_raw, node_names, replace_nodes
from ksched_cli.scenario.pod_passes import replace_pods

_KINDS = {
    **dict.fromkeys(("node", "nodes", "no"), "node"),
    **dict.fromkeys(("pod", "pods", "po"), "pod"),
}
_Labelled = TypeVar("_Labelled", Node, Pod)


@dataclass(frozen=True, slots=True)
class Label(Change):
    """kind: "node" or "pod". selector: of -l, "" for none. removed: keys. overwrites: whether a
    label may have another value already"""

    kind: str
    names: tuple[str, ...]
    selector: str
    namespace: str
    labels: tuple[tuple[str, str], ...]
    removed: tuple[str, ...]
    overwrites: bool = False

    @staticmethod
    def parse(arguments: Arguments) -> Label:
        tokens = list(arguments.names)
        kind_word, _, first = tokens.pop(0).partition("/") if tokens else ("", "", "")
        kind = _KINDS.get(kind_word)
        if kind is None:
            raise arguments.error('expected "label nodes NAME... KEY=VALUE", or pods')
        tokens = [first, *tokens] if first else tokens
        names = tuple(token for token in tokens if "=" not in token and not token.endswith("-"))
        pairs = [token.partition("=") for token in tokens if "=" in token]
        removed = tuple(token[:-1] for token in tokens if "=" not in token and token.endswith("-"))
        if not pairs and not removed:
            raise arguments.error("expected a label: KEY=VALUE, or KEY- to remove one")
        selector = arguments.flags.get("--selector", "")
        if not names and not selector and not arguments.has("--all"):
            raise arguments.error(f"expected the name of a {kind}, -l SELECTOR or --all")
        read_selector(arguments.text, selector)
        return Label(
            arguments.text,
            kind,
            node_names(arguments, names) if names and kind == "node" else names,
            selector,
            "" if arguments.has("--all-namespaces") else arguments.namespace,
            tuple((key, value) for key, _, value in pairs),
            removed,
            arguments.has("--overwrite"),
        )

    def apply(self, state: ClusterState) -> Changed:
        return self._nodes(state) if self.kind == "node" else self._pods(state)

    def _nodes(self, state: ClusterState) -> Changed:
        names = NodeChoice(self.names, self.selector).of(self, state)
        nodes = {node.name: node for node in state.nodes}
        effects = [effect for name in names for effect in self._effects(nodes[name])]
        state = replace_nodes(state, names, self._labelled)
        state, removals = remove_stray_daemons(state, frozenset(names))
        return state, effects + removals

    def _pods(self, state: ClusterState) -> Changed:
        pods = choose_pods(self, state, self.names, self.selector, self.namespace)
        if not pods and self.selector:
            raise self.error(f"no pod matches -l {self.selector}")
        effects = [effect for pod in pods for effect in self._effects(pod)]
        labelled = {id(pod): self._labelled(pod) for pod in pods}
        return replace(state, pods=replace_pods(state.pods, labelled)), effects

    def _labelled(self, obj: _Labelled) -> _Labelled:
        labels = {k: v for k, v in obj.metadata.labels.items() if k not in self.removed}
        labels |= dict(self.labels)

        def edit(data: dict[str, Any]) -> None:
            data["metadata"]["labels"] = labels

        metadata = structs.replace(obj.metadata, labels=labels)
        return structs.replace(obj, metadata=metadata, raw=edited_raw(obj.raw, edit))

    def _effects(self, obj: Node | Pod) -> list[Effect]:
        labels = obj.metadata.labels
        effects = []
        for key, value in self.labels:
            if labels.get(key, value) != value and not self.overwrites:
                problem = f"{obj.key} has {key}={labels[key]} already"
                raise self.error(f"{problem}; --overwrite replaces it, as kubectl's")
            detail = f"was {labels[key]}" if labels.get(key, value) != value else ""
            effects.append(Effect(obj.key, f"labelled {key}={value}", detail))
        for key in self.removed:
            if key in labels:
                effects.append(Effect(obj.key, f"label {key} removed", f"was {labels[key]}"))
            else:
                effects.append(Effect(obj.key, f"has no label {key}"))
        return effects
