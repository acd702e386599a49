"""Changes that would make a node meet spread constraints: a larger maxSkew, or a soft
constraint."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from ksched_cli.cluster.objects import TopologySpreadConstraint, plain_fields
from ksched_cli.framework.interface import Proposal


def proposals(
    constraints: Sequence[TopologySpreadConstraint],
    hard: Sequence[TopologySpreadConstraint],
    skews: Mapping[int, int],
) -> Iterator[Proposal]:
    """constraints: of the pod; hard: those that decide; skews: by index into these, the least
    maxSkew with which the node meets it; 0 where the node lacks the label"""
    if all(skews.values()):
        looser = {id(hard[index]): {"max_skew": skew} for index, skew in skews.items()}
        texts = [
            f"raise the maxSkew over {hard[index].topology_key} from {hard[index].max_skew}"
            f" to {skew}"
            for index, skew in skews.items()
        ]
        excess = sum(skew - hard[index].max_skew for index, skew in skews.items())
        yield _spread(constraints, looser, texts, excess)
    # minDomains is of hard constraints alone.
    fields = {"when_unsatisfiable": "ScheduleAnyway", "min_domains": None}
    soft = {id(hard[index]): fields for index in skews}
    keys = ", ".join(hard[index].topology_key for index in skews)
    texts = [f"let the spread over {keys} be ScheduleAnyway"]
    yield _spread(constraints, soft, texts, SOFT)


# More than any maxSkew: a constraint that is soft bounds nothing.
SOFT = 1_000


def _spread(
    constraints: Sequence[TopologySpreadConstraint],
    fields: Mapping[int, Mapping[str, Any]],
    texts: Sequence[str],
    amount: int,
) -> Proposal:
    """The constraints with these fields, by identity."""
    changed = [plain_fields(replace(each, **fields.get(id(each), {}))) for each in constraints]
    patch = {"spec": {"topologySpreadConstraints": [{"$patch": "replace"}, *changed]}}
    return Proposal("spread", " and ".join(texts), patch=patch, amount=amount)
