"""The claims that controllers make for pods: of ResourceClaimTemplates, and of generic ephemeral
volumes."""

from typing import Any

import msgspec
import pytest

from ksched_cli.cluster.objects import Pod
from ksched_cli.cluster.state import ClusterState
from ksched_cli.scenario.arguments import Target
from ksched_cli.scenario.replicas import copies_with_claims, next_replicas
from ksched_cli.scenario.workloads import make_pods, with_workloads
from ksched_cli.testing import Manifest, cluster, node, pod, simulate, simulation
from tests import devices, volumes
from tests.scenario.build import changed, owned, template, workload

GPUS = [
    devices.device_class("gpu", [f'device.driver == "{devices.GPU}"']),
    devices.resource_slice(0, {"node": "a", "devices": {"g0": {}, "g1": {}}}),
]
REFERENCE = {"resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "one"}]}
SCRATCH: dict[str, Any] = {
    "accessModes": ["ReadWriteOnce"],
    "storageClassName": "local",
    "resources": {"requests": {"storage": "1Gi"}},
}


def claim_template(**metadata: Any) -> Manifest:
    spec = {"devices": {"requests": [devices.request("r", "gpu")]}}
    inner = {"metadata": metadata, "spec": spec}
    return devices.thing("ResourceClaimTemplate", "one", inner, namespace="default")


def with_scratch(**spec: Any) -> Manifest:
    claim = {"metadata": {"labels": {"a": "b"}}, "spec": SCRATCH | spec}
    return {"volumes": [{"name": "tmp", "ephemeral": {"volumeClaimTemplate": claim}}]}


def statuses(pod: Pod) -> dict[str, str | None]:
    return {each.name: each.resource_claim_name for each in pod.status.resource_claim_statuses}


def test_a_pod_has_a_claim_of_each_template_that_it_names() -> None:
    own = claim_template(labels={"team": "x"}, annotations={"k": "v"})
    state = with_workloads(cluster(node("a"), *GPUS, own, pod("p", spec=REFERENCE)))
    (claim,) = state.resource_claims.values()
    assert claim.name == "p-gpu-bbbbb"
    assert claim.metadata.labels == {"team": "x"}
    assert claim.metadata.annotations == {"k": "v", "resource.kubernetes.io/pod-claim-name": "gpu"}
    owner = claim.metadata.controller
    assert owner is not None
    assert (owner.kind, owner.name, owner.uid) == ("Pod", "p", "default/p")
    (only,) = state.pods
    assert statuses(only) == {"gpu": "p-gpu-bbbbb"}
    written = msgspec.json.decode(bytes(only.raw))["status"]["resourceClaimStatuses"]
    assert written == [{"name": "gpu", "resourceClaimName": "p-gpu-bbbbb"}]
    assert simulate(state).placements == {"default/p": "a"}
    assert any(
        line == "the claims of 1 pod are created: default/p (--no-workloads leaves them out)"
        for line in state.warnings
    )


@pytest.mark.parametrize(
    "objects",
    [
        [pod("p", spec=REFERENCE)],
        [claim_template(), pod("p", node="a", spec=REFERENCE)],
        [claim_template(), pod("p", spec=REFERENCE, status={"phase": "Succeeded"})],
        [
            claim_template(),
            pod("p", spec=REFERENCE, status={"resourceClaimStatuses": [{"name": "gpu"}]}),
        ],
        [pod("p", spec=with_scratch())],
    ],
    ids=["no template", "on a node", "finished", "not needed", "no storage in the state"],
)
def test_no_claim_is_made(objects: list[Manifest]) -> None:
    state = cluster(node("a"), *objects)
    assert make_pods(state) == (state, [])


def test_a_claim_that_was_made_is_found_though_the_status_does_not_name_it_yet() -> None:
    orphan = devices.claim("p-gpu-x7k2p", "gpu")
    orphan["metadata"] |= {
        "annotations": {"resource.kubernetes.io/pod-claim-name": "gpu"},
        "ownerReferences": [{"kind": "Pod", "name": "p", "uid": "default/p", "controller": True}],
    }
    state, _ = make_pods(cluster(node("a"), claim_template(), orphan, pod("p", spec=REFERENCE)))
    assert statuses(state.pods[0]) == {"gpu": "p-gpu-x7k2p"}
    assert list(state.resource_claims) == [("default", "p-gpu-x7k2p")]


def test_long_names_are_cut_in_proportion() -> None:
    name = "p" * 60
    state, _ = make_pods(cluster(node("a"), claim_template(), pod(name, spec=REFERENCE)))
    (claim,) = state.resource_claims.values()
    assert claim.name == f"{'p' * 52}-gpbbbbb"
    assert len(claim.name) <= 63


def test_an_ephemeral_volume_has_a_claim_of_its_own() -> None:
    state = cluster(node("a"), volumes.storage_class("local", "csi"), pod("p", spec=with_scratch()))
    state, _ = make_pods(state)
    claim = state.persistent_volume_claims["default", "p-tmp"]
    assert (claim.metadata.labels, claim.spec.storage_class_name) == ({"a": "b"}, "local")
    assert claim.metadata.controller is not None
    assert claim.metadata.controller.uid == "default/p"
    assert simulate(state).placements == {"default/p": "a"}


def test_a_claim_without_a_class_has_the_default_one() -> None:
    marked = {"annotations": {"storageclass.kubernetes.io/is-default-class": "true"}}
    classes = [volumes.storage_class(name, "csi") for name in ("a-class", "b-class")]
    for each in classes:
        each["metadata"] |= marked
    classes[1]["metadata"]["creationTimestamp"] = "2026-01-01T00:00:00Z"
    spec = with_scratch(storageClassName=None)
    claims = [{"metadata": {"name": "data"}, "spec": {}}]
    stateful = workload("StatefulSet", "db", replicas=1, volumeClaimTemplates=claims)
    state, _ = make_pods(cluster(node("a"), *classes, pod("p", spec=spec), stateful))
    assert {
        name: claim.spec.storage_class_name
        for (_, name), claim in state.persistent_volume_claims.items()
    } == {"p-tmp": "b-class", "data-db-0": "b-class"}


@pytest.mark.parametrize(
    "manifest",
    [
        workload("Deployment", replicas=2, template=template(**REFERENCE)),
        workload("Job", parallelism=2, completions=2, template=template(**REFERENCE)),
        workload("StatefulSet", replicas=2, template=template(**REFERENCE)),
    ],
    ids=lambda each: each["kind"],
)
def test_the_pods_of_a_workload_have_claims_of_their_own(manifest: Manifest) -> None:
    state, _ = make_pods(cluster(node("a"), *GPUS, claim_template(), manifest))
    assert len(state.resource_claims) == 2
    assert len(simulate(state).placements) == 2


def test_a_pod_that_is_applied_has_its_claims_and_takes_them_along() -> None:
    state = cluster(node("a"), *GPUS, claim_template())
    text = msgspec.json.encode(pod("p", spec=REFERENCE)).decode()
    state, _ = changed(state, f"apply -f '{text}'")
    assert [name for _, name in state.resource_claims] == ["p-gpu-bbbbb"]
    state, _ = changed(state, "delete pod/p")
    assert not state.resource_claims


def running_with_scratch(policy: str) -> ClusterState:
    """A pod on a node of zone a, where its ephemeral volume is."""
    return cluster(
        node("a", labels={"topology.kubernetes.io/zone": "a"}),
        node("b", labels={"topology.kubernetes.io/zone": "b"}),
        volumes.storage_class("local", "csi"),
        owned("p", node="a", spec=with_scratch()),
        volumes.claim("p-tmp", volume="v", owner="p", selected_node="a"),
        volumes.volume(
            "v",
            zones=["a"],
            claim="p-tmp",
            phase="Bound",
            persistentVolumeReclaimPolicy=policy,
        ),
    )


@pytest.mark.parametrize("policy", ["Delete", "Retain"])
def test_an_ephemeral_volume_goes_with_its_pod_which_may_go_to_another_zone(policy: str) -> None:
    state, _ = changed(running_with_scratch(policy), "drain a")
    assert simulate(state).placements == {"default/p": "b"}
    assert ("v" in state.persistent_volumes) == (policy == "Retain")
    # The volume is not the new claim's, though that has the name of the former one.
    state, _ = changed(state, "cordon b", "uncordon a")
    assert simulate(state).placements == {"default/p": "a"}
    state, _ = changed(running_with_scratch(policy), "delete replicaset/web")
    assert not state.persistent_volume_claims


def test_a_pod_made_anew_keeps_the_name_of_its_claim() -> None:
    held = pod("p", spec=REFERENCE)
    held["metadata"]["ownerReferences"] = [{"kind": "ReplicaSet", "name": "r", "controller": True}]
    state, _ = make_pods(cluster(node("a"), *GPUS, claim_template(), held))
    run = simulation(state)
    run.run()
    state, _ = changed(run.current_state(), "drain a", "uncordon a")
    (claim,) = state.resource_claims.values()
    assert claim.status.allocation is None
    assert statuses(state.pods[0]) == {"gpu": "p-gpu-bbbbb"}
    assert simulate(state).placements == {"default/p": "a"}


def test_copies_of_a_pod_have_claims_like_its_own_without_the_template() -> None:
    model = devices.claim("p-gpu-x", "gpu")
    status = {"resourceClaimStatuses": [{"name": "gpu", "resourceClaimName": "p-gpu-x"}]}
    state = cluster(node("a"), *GPUS, model, owned("p", spec=REFERENCE, status=status))
    after, pods = copies_with_claims(state, state.pods[0], 2)
    assert [each.name for each in pods] == ["p-copy-1", "p-copy-2", "p-copy-3"]
    assert len(after.resource_claims) == 4
    state, _ = changed(state, "scale replicaset/web --replicas=3")
    assert [statuses(each) for each in state.pods[1:]] == [
        {"gpu": "web-bbbbb-gpu-bbbbb"},
        {"gpu": "web-bbbbc-gpu-bbbbb"},
    ]


@pytest.mark.parametrize("kind", ["ReplicaSet", "Job"])
def test_next_replicas_have_claims_of_their_own(kind: str) -> None:
    manifest = workload(kind, template=template(**REFERENCE))
    state = with_workloads(cluster(node("a"), *GPUS, claim_template(), manifest))
    after, _, replicas = next_replicas(state, Target(kind, "web", "default"), 2)
    assert len(replicas) == 3
    assert len(after.resource_claims) - len(state.resource_claims) == 3
    assert len(after.pods) == len(state.pods)
