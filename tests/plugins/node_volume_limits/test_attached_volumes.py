"""Counts of attached volumes, and the names under which volumes are counted."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ksched_cli.cluster.state import ClusterState
from ksched_cli.framework.nodes import Nodes
from ksched_cli.plugins.node_volume_limits import (
    AttachedVolumes,
    ClaimMissingError,
    Migration,
    VolumeNames,
    volume_text,
)
from ksched_cli.testing import cluster, find, node, simulation
from tests.narrowing import present
from tests.plugins.node_volume_limits.manifests import NAMES, limited, wants
from tests.volumes import CSI, attachment, bound, claim, storage_class

POD = st.tuples(st.lists(st.sampled_from(NAMES), max_size=3), st.integers(0, 1))


@given(st.lists(POD, max_size=6), st.lists(st.integers(0, 5), max_size=4), st.booleans())
def test_counts_follow_pods_as_if_counted_anew(
    pods: list[tuple[list[str], int]], leaving: list[int], attached: bool
) -> None:
    manifests = [wants(f"x{i}", *claims, node="ab"[row]) for i, (claims, row) in enumerate(pods)]
    run = simulation(limited(*manifests, *([attachment("va", "a", "v0")] if attached else [])))
    handle = run.frameworks["default-scheduler"].handle
    following = AttachedVolumes.following(handle)
    trial = run.snapshot.fork([0, 1])
    everyone = [(row, info) for row in (0, 1) for info in run.snapshot.pods[row]]
    for index in sorted({i for i in leaving if i < len(everyone)}):
        row, info = everyone[index]
        run.snapshot.remove(info, row)
        trial.remove(info, row)
    anew = AttachedVolumes(handle).seen_by(Nodes(run.snapshot))
    tried = following.seen_by(Nodes(trial))
    fresh = AttachedVolumes.following(handle)
    assert anew.users == {}
    volumes = [*following.users, "used by nobody"]
    for nodes in (Nodes(run.snapshot), Nodes(run.snapshot, np.array([1]))):
        counts = following.count(CSI, nodes).tolist()
        missing = following.missing(volumes, nodes).tolist()
        for counted in (tried, fresh):
            assert counted.count(CSI, nodes).tolist() == counts
            assert counted.missing(volumes, nodes).tolist() == missing
        assert missing == [
            sum(row not in following.users.get(name, {}) for name in volumes)
            for row in nodes.indices().tolist()
        ]


def names_of(state: ClusterState, *, new: bool = True) -> dict[str, str] | None:
    run = simulation(state)
    names = run.frameworks["default-scheduler"].handle.service(VolumeNames)
    return names.of_pod(find(run).pod, Migration(True, False), new=new)


def test_a_bound_volume_is_named_by_driver_and_handle() -> None:
    state = cluster(node("a"), *bound("v", handle="h"), wants("p", "v"))
    assert names_of(state) == {f"{CSI}/h": CSI}


def test_a_volume_to_be_provisioned_is_named_by_its_claim() -> None:
    state = cluster(
        node("a"), storage_class("wait", CSI), claim("c", storage_class="wait"), wants("p", "c")
    )
    (name,) = present(names_of(state))
    assert volume_text(name, CSI) == "a new one for claim default/c"


def test_a_missing_claim_is_an_error_for_a_new_pod_only() -> None:
    state = cluster(node("a"), wants("p", "gone"))
    assert names_of(state, new=False) == {}
    with pytest.raises(ClaimMissingError, match=r'looking up PVC default/gone: .*"gone" not found'):
        names_of(state)
