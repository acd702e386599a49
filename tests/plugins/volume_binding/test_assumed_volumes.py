"""The assume cache: what it hides of the stored objects, and that it can be restored."""

from dataclasses import replace

from ksched_cli.cluster.state import ClusterState
from ksched_cli.plugins.volume_binding.binder import AssumedVolumes
from ksched_cli.plugins.volume_binding.plugin import VolumeBinding
from ksched_cli.plugins.volumes import ClassVolumes, PersistentVolumes
from ksched_cli.testing import cluster, node, pod, simulation
from tests.narrowing import plugin_of, present
from tests.volumes import claim, storage_class, uses, volume


def stored() -> tuple[AssumedVolumes, ClassVolumes, ClusterState]:
    """An empty cache over two volumes, one of which has a claim; its state."""
    state = cluster(
        node("a"), volume("free"), volume("taken", claim="c1"), claim("c0"), claim("c1")
    )
    volumes = PersistentVolumes(simulation(state).frameworks["default-scheduler"].handle)
    return AssumedVolumes(volumes), volumes.of_class("local"), state


def test_an_assumed_volume_is_its_claims_until_it_is_restored() -> None:
    assumed, table, state = stored()
    free, asking = state.persistent_volumes["free"], state.persistent_volume_claims["default", "c0"]
    assert assumed.taken("local").tolist() == [False, True]
    assumed.assume_bound(free, asking)
    assert present(assumed.claim_ref(free)).name == "c0"
    assert assumed.bound_to(asking, table) == [0]
    assert assumed.taken("local").tolist() == [True, True]
    assumed.restore_volume(free)
    assert assumed.claim_ref(free) is None
    assert assumed.bound_to(asking, table) == []
    assert assumed.taken("local").tolist() == [False, True]


def test_a_volume_that_is_the_claims_already_is_not_assumed() -> None:
    assumed, table, state = stored()
    bound = state.persistent_volume_claims["default", "c1"]
    assumed.assume_bound(state.persistent_volumes["taken"], bound)
    assert assumed.claim_refs == {}
    assert assumed.bound_to(bound, table) == [1]


def test_a_selected_node_replaces_the_annotation_until_it_is_restored() -> None:
    state = cluster(claim("c", selected_node="a"))
    assumed = AssumedVolumes(
        PersistentVolumes(simulation(state).frameworks["default-scheduler"].handle)
    )
    (asking,) = state.persistent_volume_claims.values()
    assumed.assume_provisioned(asking, "b")
    assert assumed.selected_node(asking) == "b"
    assumed.restore_claim(asking)
    assert assumed.selected_node(asking) == "a"


def test_of_equal_volumes_the_first_by_name_is_taken() -> None:
    state = cluster(
        node("a"),
        storage_class("local"),
        *(volume(name) for name in ("v3", "v1", "v2")),
        claim("c"),
        pod("p", spec={"volumes": uses("c")}),
    )
    run = simulation(state)
    run.run()
    assumed = plugin_of(run, VolumeBinding).binder.assumed
    assert set(assumed.claim_refs) == {"v1"}


def test_what_was_assumed_of_unchanged_objects_is_assumed_again() -> None:
    previous, _, before = stored()
    volume_, asking = (
        before.persistent_volumes["free"],
        before.persistent_volume_claims["default", "c0"],
    )
    previous.assume_bound(volume_, asking)
    previous.assume_provisioned(asking, "a")
    again = AssumedVolumes(
        PersistentVolumes(simulation(before).frameworks["default-scheduler"].handle)
    )
    again.carry_over(previous, before, before)
    assert present(again.claim_ref(volume_)).name == "c0"
    assert again.selected_nodes == {("default", "c0"): "a"}
    assert again.taken("local").tolist() == [True, True]
    changed, _, after = stored()  # equal objects, but others
    changed.carry_over(previous, before, after)
    assert changed.claim_refs == {}
    assert changed.selected_nodes == {}


def test_a_volume_stays_assumed_when_its_claim_is_deleted() -> None:
    previous, _, before = stored()
    volume_ = before.persistent_volumes["free"]
    previous.assume_bound(volume_, before.persistent_volume_claims["default", "c0"])
    claims = {("default", "c1"): before.persistent_volume_claims["default", "c1"]}
    after = replace(before, persistent_volume_claims=claims)
    again = AssumedVolumes(
        PersistentVolumes(simulation(after).frameworks["default-scheduler"].handle)
    )
    again.carry_over(previous, before, after)
    assert present(again.claim_ref(volume_)).name == "c0"
    assert again.taken("local").tolist() == [True, True]
