"""What is nearly what a pod asks for: other spellings of labels and names, tolerations that differ
from a taint by a part."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping

from ksched_cli.cluster.objects import Taint, Toleration
from ksched_cli.cluster.tolerations import COMPARISON_GATE, COMPARISONS, tolerates
from ksched_cli.kube.near_names import near_key, nearest
from ksched_cli.kube.selectors import IN, Requirement
from ksched_cli.plugins.helper import listed


def near_label(requirement: Requirement, nodes: Collection[Mapping[str, str]]) -> str:
    """Return which labels of nodes are nearly one that no node has, or "". nodes: their labels"""
    key = requirement.key
    counts = Counter(item for labels in nodes for item in labels.items())
    values = {value: count for (name, value), count in counts.items() if name == key}
    if values:
        if requirement.operator != IN:
            return ""
        shown = ranked_values(requirement.values[0] if requirement.values else "", values)
        if len(shown) == 1:
            return f"{_nodes(values[shown[0]])} {key}={shown[0]}"
        texts = [f"{value} ({values[value]:,})" for value in shown]
        return f"nodes have {listed(texts)}"
    keys = Counter(name for labels in nodes for name in labels)
    near = near_key(key, sorted(keys, key=lambda each: (-keys[each], each)))
    with_key = [(value, count) for (each, value), count in counts.items() if each == near]
    preferred = [(value, count) for value, count in with_key if value in requirement.values]
    if not with_key:
        return ""
    value, count = max(preferred or with_key, key=lambda item: item[1])
    return f"{_nodes(count)} {near}={value}"


def ranked_values(value: str, counts: Mapping[str, int], cutoff: float = 0.72) -> list[str]:
    """Return the candidates that are spelled nearly as the value, the most alike first, and of
    those that are equally alike what more nodes have; all by that where none is near. counts: how
    many nodes have each"""
    from difflib import SequenceMatcher  # which only near misses need

    matcher = SequenceMatcher(b=value.casefold())
    ratios: dict[str, float] = {}
    for candidate in counts:
        matcher.set_seq1(candidate.casefold())
        ratios[candidate] = matcher.ratio()
    near = [each for each, ratio in ratios.items() if ratio >= cutoff]
    if not near:
        return sorted(counts, key=lambda each: (-counts[each], each))
    return sorted(near, key=lambda each: (-ratios[each], -counts[each], each))


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
