"""What is nearly what a pod asks for: other spellings of labels and names, tolerations that differ
from a taint by a part."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from ksched_cli.cluster.objects import Taint, Toleration
from ksched_cli.cluster.tolerations import COMPARISON_GATE, COMPARISONS, tolerates
from ksched_cli.kube.near_names import nearest
from ksched_cli.kube.selectors import IN, Requirement

_MAX_VALUES = 3


def near_label(requirement: Requirement, nodes: Iterable[Mapping[str, str]]) -> str:
    """Return which labels of nodes are nearly one that no node has, or "". nodes: their labels"""
    key = requirement.key
    counts = Counter(item for labels in nodes for item in labels.items())
    values = {value: count for (name, value), count in counts.items() if name == key}
    if values:
        if requirement.operator != IN:
            return ""
        # Values that are equally near are ranked by how many nodes have them.
        shown = nearest_values(requirement.values[0], values) if requirement.values else []
        shown = shown or [*values]
        shown.sort(key=lambda value: (-values[value], value))
        if len(shown) == 1:
            return f"{_nodes(values[shown[0]])} {key}={shown[0]}"
        more = ", …" if len(shown) > _MAX_VALUES else ""
        return f"nodes have {', '.join(shown[:_MAX_VALUES])}{more}"
    keys = {name for name, _ in counts}
    # The same name with another prefix, or none: zone, topology.kubernetes.io/zone.
    name = key.rpartition("/")[2]
    of_same_name = sorted(each for each in keys if each.rpartition("/")[2] == name)
    near = of_same_name[0] if of_same_name else nearest(key, keys)
    with_key = [(value, count) for (each, value), count in counts.items() if each == near]
    preferred = [(value, count) for value, count in with_key if value in requirement.values]
    if not with_key:
        return ""
    value, count = max(preferred or with_key, key=lambda item: item[1])
    return f"{_nodes(count)} {near}={value}"


def nearest_values(value: str, candidates: Iterable[str], cutoff: float = 0.72) -> list[str]:
    """Return the candidates that are most like a value, all of which are equally like it."""
    from difflib import SequenceMatcher  # which only near misses need

    matcher = SequenceMatcher(b=value.casefold())
    ratios: dict[str, float] = {}
    for candidate in candidates:
        matcher.set_seq1(candidate.casefold())
        ratios[candidate] = matcher.ratio()
    most = max(ratios.values(), default=0.0)
    return [each for each, ratio in ratios.items() if ratio == most >= cutoff]


def near_toleration(tolerations: Iterable[Toleration], taint: Taint, *, compares: bool) -> str:
    """Return which toleration nearly covers the taint, which none does, and what it lacks, or "".

    compares: whether the operators Lt and Gt compare values
    """
    of_key = [each for each in tolerations if each.key == taint.key]
    for each in of_key:
        text = toleration_text(each)
        if each.operator in COMPARISONS and not compares and tolerates(each, taint, compares=True):
            return f"its toleration {text} needs the feature gate {COMPARISON_GATE}"
        return f"it tolerates {text}"
    by_key = {each.key: each for each in tolerations if each.key}
    near = nearest(taint.key, by_key)
    return f"it tolerates {toleration_text(by_key[near])}" if near else ""


def toleration_text(toleration: Toleration) -> str:
    """Return the toleration as kubectl writes the taints that it covers."""
    key, effect = toleration.key, f":{toleration.effect}" if toleration.effect else ""
    if toleration.operator == "Exists":
        return f"{key}{effect}"
    if toleration.operator in COMPARISONS:
        return f"{key} {toleration.operator} {toleration.value}{effect}"
    return f"{key}={toleration.value}{effect}"


def _nodes(count: int) -> str:
    return "1 node has" if count == 1 else f"{count:,} nodes have"
