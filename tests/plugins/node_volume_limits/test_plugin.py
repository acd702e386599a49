"""NodeVolumeLimits where pods come and go: counters that follow, trials, preemption."""

from hypothesis import given
from hypothesis import strategies as st

from ksched_cli.cluster.snapshot_fork import SnapshotFork
from ksched_cli.framework.nodes import Nodes
from ksched_cli.plugins.node_volume_limits.attached_volumes import AttachedVolumes, VolumeNames
from ksched_cli.testing import cluster, node, pod, simulate, simulation
from volumes import CSI, attachment, bound, csi_node, storage_class, uses

NAMES = [f"v{i}" for i in range(4)]


def wants(name, *claims, **more):
    return pod(name, spec={"volumes": uses(*claims)}, **more)


def limited(*pods, limit=1, names=("a", "b")):
    return cluster(
        *(node(name) for name in names),
        *(csi_node(name, csi_example_com=limit) for name in names),
        *(one for name in NAMES for one in bound(name)),
        *pods,
    )


def test_pods_placed_in_the_run_take_up_the_limit():
    run = simulate(limited(*(wants(f"p{i}", name) for i, name in enumerate(NAMES))))
    assert sorted(run.placements.values()) == ["a", "b"]
    assert len(run.pending) == 2


def test_pods_that_share_a_volume_go_where_it_is_attached():
    run = simulate(
        limited(wants("p0", "v0"), wants("p1", "v1"), wants("p2", "v0"), wants("p3", "v1"))
    )
    assert run.pending == ()
    assert run.placements["default/p0"] == run.placements["default/p2"]
    assert run.placements["default/p1"] == run.placements["default/p3"]


def test_volumes_yet_to_be_made_count_too():
    claims = [
        {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": f"c{i}"}}
        | {"spec": {"storageClassName": "wait"}}
        for i in range(3)
    ]
    pods = [wants(f"p{i}", f"c{i}") for i in range(3)]
    run = simulate(limited(storage_class("wait", CSI), *claims, *pods))
    assert len(run.placements) == 2


def test_preemption_frees_a_place():
    run = simulate(
        limited(wants("low", "v0", node="a"), wants("high", "v1", priority=9), names=["a"])
    )
    assert [one.pod for one in run.evicted] == ["default/low"]
    assert run.placements == {"default/high": "a"}


def test_preemption_spares_pods_whose_volume_the_pod_has_too():
    state = limited(
        wants("same", "v1", node="a"),
        wants("low", "v0", node="a"),
        wants("high", "v1", "v2", priority=9),
        limit=2,
        names=["a"],
    )
    run = simulate(state)
    assert [one.pod for one in run.evicted] == ["default/low"]


POD = st.tuples(st.lists(st.sampled_from(NAMES), max_size=3), st.integers(0, 1))


@given(st.lists(POD, max_size=6), st.lists(st.integers(0, 5), max_size=4), st.booleans())
def test_counts_follow_pods_as_if_counted_anew(pods, leaving, attached):
    made = [wants(f"x{i}", *claims, node="ab"[row]) for i, (claims, row) in enumerate(pods)]
    run = simulation(limited(*made, *([attachment("va", "a", "v0")] if attached else [])))
    handle = run.frameworks["default-scheduler"].handle
    names = VolumeNames(handle.cluster)
    following = AttachedVolumes.following(handle, names)
    trial = SnapshotFork(run.snapshot, [0, 1])
    everyone = [(row, one) for row in (0, 1) for one in run.snapshot.pods[row]]
    for index in sorted({i for i in leaving if i < len(everyone)}):
        row, one = everyone[index]
        run.snapshot.remove(one, row)
        trial.remove(one, row)
    anew = AttachedVolumes(handle, names).seen_by(Nodes(run.snapshot))
    tried = following.seen_by(Nodes(trial))
    fresh = AttachedVolumes.following(handle, names)
    assert anew.users == {}
    for found in (tried, fresh):
        assert found.count(CSI).tolist() == following.count(CSI).tolist()
        assert found.missing(NAMES).tolist() == following.missing(NAMES).tolist()
