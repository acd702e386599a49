"""Every node gets what FindMatchingVolume chooses for it alone; assuming is reversible."""

from collections.abc import Iterable
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from ksched_cli.cluster.objects.storage import PersistentVolume, PersistentVolumeClaim
from ksched_cli.cluster.state import ClusterState
from ksched_cli.plugins.volume_binding.binder import VolumeBinder
from ksched_cli.plugins.volumes import capacity, is_bound_to, requested
from ksched_cli.testing import cluster, find, node, pod, simulation
from tests.narrowing import present
from tests.volumes import claim, storage_class, uses, volume

HOSTS = ["a", "b", "c", "d"]
ZONES = {"a": "north", "b": "north", "c": "south", "d": ""}
SIZES = st.sampled_from(["1Gi", "2Gi", "1500M", "3Gi", "4Gi", "5Gi"])
MODES = st.sampled_from(
    [("ReadWriteOnce",), ("ReadWriteMany",), ("ReadWriteOnce", "ReadWriteMany")]
)
NAMES = [f"c{i}" for i in range(4)]


@st.composite
def volumes(draw: st.DrawFn, name: str) -> dict[str, Any]:
    reach = draw(
        st.one_of(
            st.just({}),
            st.builds(lambda hosts: {"on": hosts}, st.lists(st.sampled_from(HOSTS), min_size=1)),
            st.builds(lambda zone: {"zones": [zone]}, st.sampled_from(["north", "south"])),
        )
    )
    return volume(
        name,
        draw(SIZES),
        draw(st.sampled_from(["local", "local", "other"])),
        claim=draw(st.sampled_from(["", "", "", *NAMES, "else"])),
        modes=draw(MODES),
        phase=draw(st.sampled_from(["Available"] * 4 + ["Released"])),
        labels={"disk": draw(st.sampled_from(["ssd", "hdd"]))},
        **reach,
    )


@st.composite
def claims(draw: st.DrawFn, name: str) -> dict[str, Any]:
    selectors: list[dict[str, Any]] = [{}, {}, {"selector": {"matchLabels": {"disk": "ssd"}}}]
    selector = draw(st.sampled_from(selectors))
    chosen = draw(st.sampled_from(["local", "local", "other"]))
    return claim(name, draw(SIZES), chosen, modes=draw(MODES), **selector)


@st.composite
def states(draw: st.DrawFn) -> ClusterState:
    nodes = []
    for host in HOSTS:
        labels = {"kubernetes.io/hostname": host}
        if ZONES[host]:
            labels["topology.kubernetes.io/zone"] = ZONES[host]
        nodes.append(node(host, labels=labels))
    used = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=4))
    return cluster(
        *nodes,
        storage_class("local"),
        storage_class("other"),
        *(draw(volumes(f"v{i}")) for i in range(draw(st.integers(0, 7)))),
        *(draw(claims(name)) for name in NAMES),
        pod("p", spec={"volumes": uses(*used)}),
    )


def reaches(volume: PersistentVolume, host: str) -> bool:
    """The affinities made here have one requirement at most."""
    if volume.spec.node_affinity is None:
        return True
    selector = present(volume.spec.node_affinity.required)
    (requirement,) = selector.node_selector_terms[0].match_expressions
    label = host if requirement.key == "kubernetes.io/hostname" else ZONES[host]
    return label in requirement.values


def smallest(
    claim: PersistentVolumeClaim, volumes: Iterable[PersistentVolume], host: str, chosen: set[str]
) -> PersistentVolume | None:
    """FindMatchingVolume for one claim and one node, word for word."""
    best = None
    for candidate in sorted(volumes, key=lambda candidate: (capacity(candidate), candidate.name)):
        ref, labels = candidate.spec.claim_ref, candidate.metadata.labels
        if (
            candidate.name in chosen
            or candidate.spec.storage_class_name != claim.spec.storage_class_name
        ):
            continue
        if capacity(candidate) < requested(claim):
            continue
        if ref is not None and not is_bound_to(ref, claim):
            continue
        if ref is not None:
            return candidate if reaches(candidate, host) else None
        fits = candidate.status.phase == "Available" and reaches(candidate, host)
        fits = fits and set(claim.spec.access_modes) <= set(candidate.spec.access_modes)
        if claim.spec.selector is not None:
            fits = fits and labels["disk"] == claim.spec.selector.match_labels["disk"]
        if fits and best is None:
            best = candidate
    return best


@given(states())
def test_every_node_gets_what_a_look_at_it_alone_would_choose(state: ClusterState) -> None:
    run = simulation(state)
    binder = VolumeBinder(run.frameworks["default-scheduler"].handle)
    pod_claims = binder.claims(find(run).pod)
    bindings = binder.find(pod_claims)
    for row, host in enumerate(HOSTS):
        chosen: dict[Any, Any] = {}
        for claim_ in sorted(pod_claims.delayed_binding, key=requested):
            best = smallest(claim_, state.persistent_volumes.values(), host, set(chosen.values()))
            if best is not None:
                chosen[len(chosen), claim_.name] = best.name
        got = [(claim.name, volume.name) for claim, volume in bindings.static_bindings_at(row)]
        assert got == [(name, volume) for (_, name), volume in chosen.items()]


@given(states())
def test_taking_and_giving_back_changes_nothing(state: ClusterState) -> None:
    run = simulation(state)
    binder = VolumeBinder(run.frameworks["default-scheduler"].handle)
    bindings = binder.find(binder.claims(find(run).pod))
    before = [binder.assumed.taken(name).tolist() for name in ("local", "other")]
    for row in range(len(HOSTS)):
        binder.assume(bindings, row)
        binder.revert(bindings, row)
    assert (binder.assumed.claim_refs, binder.assumed.selected_nodes) == ({}, {})
    assert [binder.assumed.taken(name).tolist() for name in ("local", "other")] == before
