"""The nodes that a pod is for, whatever else is in its way: where its volumes are, and the node
that its DaemonSet made it for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import NamedTuple

import numpy as np

from ksched_cli.cluster.node_affinity import NODE_NAME_FIELD, allowed_topologies
from ksched_cli.cluster.objects import PersistentVolume
from ksched_cli.cluster.snapshot import Mask, Snapshot
from ksched_cli.cluster.state import ClusterState
from ksched_cli.cluster.topology.node_selection import matches_any
from ksched_cli.engine.evaluation import Evaluation
from ksched_cli.kube.selectors import IN, Requirement, requirement_text
from ksched_cli.plugins.node_affinity import named_nodes
from ksched_cli.plugins.volume_binding.binder import SELECTED_NODE, provisions
from ksched_cli.plugins.volume_zone import LABELS, VolumeTopology, zones_of
from ksched_cli.plugins.volumes import (
    Reach,
    TranslationError,
    claim_class,
    translated_affinity,
    used_claims,
)

_HOSTNAME = "kubernetes.io/hostname"
_ABSENT = "which is not in the state"
_NOBODY_THERE = "and no node is there"


class FixedPlace(NamedTuple):
    """Nodes outside of which a pod cannot run.

    plugins: which of them reject the other nodes
    where:   a clause that says which nodes they are
    rows:    of the snapshot
    missing: what follows `where` if the cluster has none of them
    """

    plugins: tuple[str, ...]
    where: str
    rows: Mask
    missing: str


def fixed_places(evaluation: Evaluation, state: ClusterState) -> list[FixedPlace]:
    """Return the places that leave nodes out, as the plugins' verdicts show. evaluation: in
    EXHAUSTIVE or REASONS mode"""
    snapshot = evaluation.statuses.snapshot
    rejected = {
        answer.plugin: np.zeros(len(snapshot), dtype=np.bool_) for answer in evaluation.verdicts
    }
    for answer in evaluation.verdicts:
        rejected[answer.plugin] |= answer.verdicts.ids != 0
    nobody = np.zeros(len(snapshot), dtype=np.bool_)
    # 1. A pod may be for one node, as those of DaemonSets are.
    pod, places = evaluation.pod, list[FixedPlace]()
    required = pod.spec.required_nodes
    names = named_nodes(required.node_selector_terms) if required else None
    if required is not None and names is not None and len(names) == 1:
        (name,) = names
        kind, owner = pod.pod.owner
        maker = f"{kind} {owner} made it for" if kind == "DaemonSet" else "it is for"
        where = f"{maker} node {name}"
        places.append(FixedPlace(("NodeAffinity",), where, _named(name, snapshot), _ABSENT))
    # 2. Its volumes are somewhere, or will be.
    for use, claim in used_claims(pod.pod, state.persistent_volume_claims):
        if claim is None:
            continue
        volume = state.persistent_volumes.get(claim.spec.volume_name)
        if volume is not None:
            subject = f"the volume of claim {pod.namespace}/{use.claim}"
            places += _of_volume(subject, volume, snapshot)
        if claim.spec.volume_name:
            continue
        selected = claim.metadata.annotations.get(SELECTED_NODE, "")
        if selected:
            where = f"claim {claim.key} gets its volume on node {selected} (annotation "
            where += f"{SELECTED_NODE})"
            rows = _named(selected, snapshot)
            places.append(FixedPlace(("VolumeBinding",), where, rows, _ABSENT))
        #    Its class may say in which topologies volumes are made.
        storage_class = state.storage_classes.get(claim_class(claim))
        if storage_class is None or not provisions(storage_class):
            continue
        topologies = allowed_topologies(storage_class)
        if topologies.terms:
            text = terms_text([term.labels for term in topologies.terms])
            where = f"claim {claim.key} gets its volume in {text} (StorageClass "
            where += f"{storage_class.metadata.name})"
            rows = matches_any(snapshot, topologies)
            places.append(FixedPlace(("VolumeBinding",), where, rows, _NOBODY_THERE))
    return [
        place
        for place in places
        if not place.rows.all()
        and any(rejected.get(plugin, nobody)[~place.rows].all() for plugin in place.plugins)
    ]


def _named(name: str, snapshot: Snapshot) -> Mask:
    """Return the row of the node of this name, if there is one."""
    rows = np.zeros(len(snapshot), dtype=np.bool_)
    if name in snapshot.row:
        rows[snapshot.row[name]] = True
    return rows


def _of_volume(subject: str, volume: PersistentVolume, snapshot: Snapshot) -> Iterator[FixedPlace]:
    affinity = volume.spec.node_affinity
    with suppress(TranslationError):
        affinity = translated_affinity(volume)
    if affinity is not None and affinity.required is not None:
        rows = Reach(snapshot).mask(affinity)
        terms = [
            [
                Requirement(each.key, each.operator, each.values)
                for each in (*term.match_expressions, *term.match_fields)
            ]
            for term in affinity.required.node_selector_terms
        ]
        # Terms may name nothing but one host, or nothing but zones, regions and the like.
        requirements = [each for term in terms for each in term]
        host = ""
        if len(requirements) == 1 and requirements[0].key in (_HOSTNAME, NODE_NAME_FIELD):
            (only,) = requirements
            host = only.values[0] if only.operator == IN and len(only.values) == 1 else ""
        keys = [each.key for each in requirements]
        is_topology = all(key.startswith("topology.") or key in LABELS for key in keys)
        if host:
            where, missing = f"{subject} is on node {host}", _ABSENT
            if host in snapshot.row:
                missing = f"whose label {_HOSTNAME} is another"
        elif keys and is_topology:
            where, missing = f"{subject} is in {terms_text(terms)}", _NOBODY_THERE
        else:
            where, missing = (
                f"{subject} is for nodes with {terms_text(terms)}",
                "and there is none",
            )
        yield FixedPlace(("VolumeBinding",), where, rows, missing)
        return
    for key, values in zones_of(volume).items():
        rows = VolumeTopology("", volume.name, key, values).matching(snapshot)
        where = f"{subject} is in {requirement_text(Requirement(key, IN, values))}"
        yield FixedPlace(("VolumeZone",), where, rows, _NOBODY_THERE)


def terms_text(terms: Sequence[Sequence[Requirement]]) -> str:
    """Return terms of which one must be met, each as kubectl writes it in a selector."""
    return " or ".join(" and ".join(map(requirement_text, term)) for term in terms)
