"""kube-scheduler's own benchmark as states: from workloads of its form, written here."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

Manifest = dict[str, Any]

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "scheduler_perf.py"

CONFIG = """
- name: Small
  defaultPodTemplatePath: pod.yaml
  workloadTemplate:
  - opcode: createNodes
    countParam: $nodes
    labelNodePrepareStrategy: {labelKey: zone, labelValues: [a, b]}
  - {opcode: createNamespaces, prefix: init, count: 2, namespaceTemplatePath: namespace.yaml}
  - opcode: createPodSets
    count: 2
    namespacePrefix: init
    createPodsOp: {opcode: createPods, countParam: $initPods}
  - {opcode: barrier}
  - {opcode: churn, mode: create, templatePaths: [pod.yaml]}
  - {opcode: createPods, countParam: $pods, podTemplatePath: indexed-pod.yaml, namespace: measured}
  workloads:
  - {name: few, labels: [performance], params: {nodes: 3, initPods: 1, pods: 4}}
  - {name: again, labels: [performance], params: {nodes: 3, initPods: 1, pods: 4}}
  - {name: more, labels: [performance], params: {nodes: 3, initPods: 1, pods: 6}}
  - {name: unmeasured, labels: [short], params: {nodes: 9, initPods: 1, pods: 6}}
- name: Preemption
  workloadTemplate:
  - {opcode: createNodes, count: 1}
  - {opcode: createPods, count: 1, podTemplatePath: pod.yaml}
  - {opcode: createPods, count: 1, podTemplatePath: high-priority-pod.yaml}
  workloads: [{name: only, labels: [performance], params: {}}]
- name: Volumes
  workloadTemplate:
  - opcode: createNodes
    count: 1
    nodeAllocatableStrategy:
      nodeAllocatable: {attachable-volumes-csi-driver: "39"}
      csiNodeAllocatable: {driver: {count: 39}}
  - opcode: createPods
    count: 2
    persistentVolumeTemplatePath: volume.yaml
    persistentVolumeClaimTemplatePath: volume-claim.yaml
  workloads: [{name: only, labels: [performance], params: {}}]
- name: Claims
  workloadTemplate:
  - {opcode: createNodes, count: 1, nodeTemplatePath: node.yaml}
  - {opcode: createNodes, count: 1}
  - opcode: createResourceDriver
    driverName: driver
    nodes: devices-*
    maxClaimsPerNodeParam: $devices
  - {opcode: createAny, templatePath: claim-template.yaml, namespace: test}
  - {opcode: createPods, count: 2, podTemplatePath: claim-pod.yaml, namespace: test}
  workloads: [{name: only, labels: [performance], params: {devices: 2}}]
- name: Updating
  workloadTemplate: [{opcode: updateAny}]
  workloads: [{name: only, labels: [performance], params: {}}]
- name: Alpha
  featureGates: {DRADeviceTaints: true}
  workloadTemplate: [{opcode: createNodes, count: 1}]
  workloads: [{name: only, labels: [performance], params: {}}]
"""
CONTAINER = "containers: [{name: main, image: main, resources: {requests: {cpu: 3, memory: 1Gi}}}]"
TEMPLATES = {
    "pod.yaml": f"""
        apiVersion: v1
        kind: Pod
        metadata: {{generateName: pod-}}
        spec:
          {CONTAINER}
          topologySpreadConstraints: [{{maxSkew: 1, NodeTaintsPolicy: Honor}}]""",
    "indexed-pod.yaml": f"""
        apiVersion: v1
        kind: Pod
        metadata: {{name: "pod-{{{{.Index}}}}", labels: {{half: "h{{{{div .Index 2}}}}"}}}}
        spec: {{{CONTAINER}}}""",
    "high-priority-pod.yaml": f"""
        apiVersion: v1
        kind: Pod
        metadata: {{generateName: high-}}
        spec: {{priority: 10, {CONTAINER}}}""",
    "namespace.yaml": "{apiVersion: v1, kind: Namespace, metadata: {labels: {team: a}}}",
    "node.yaml": """
        apiVersion: v1
        kind: Node
        metadata: {generateName: devices-}
        status: {capacity: {cpu: 4, memory: 32Gi, pods: 110}}""",
    "volume.yaml": """
        apiVersion: v1
        kind: PersistentVolume
        spec: {accessModes: [ReadOnlyMany], capacity: {storage: 1Gi}, csi: {driver: driver}}""",
    "volume-claim.yaml": """
        apiVersion: v1
        kind: PersistentVolumeClaim
        metadata: {annotations: {pv.kubernetes.io/bind-completed: "true"}}
        spec: {accessModes: [ReadOnlyMany], resources: {requests: {storage: 1Gi}}}""",
    "claim-template.yaml": """
        apiVersion: resource.k8s.io/v1
        kind: ResourceClaimTemplate
        metadata: {name: template}
        spec: {spec: {devices: {requests: [{name: r, exactly: {deviceClassName: class}}]}}}""",
    "claim-pod.yaml": f"""
        apiVersion: v1
        kind: Pod
        metadata: {{generateName: claim-}}
        spec:
          {CONTAINER}
          resourceClaims: [{{name: device, resourceClaimTemplateName: template}}]""",
}


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, list[Manifest]], str]:
    """The objects of each state that the script writes, and its standard error."""
    folder = tmp_path_factory.mktemp("scheduler_perf")
    (folder / "performance-config.yaml").write_text(CONFIG)
    for name, template in TEMPLATES.items():
        (folder / name).write_text(template)
    states = folder / "states"
    command = [sys.executable, str(SCRIPT), "--source", str(folder), "--write", str(states)]
    process = subprocess.run(command, capture_output=True, text=True, check=True)
    objects = {path.stem: json.loads(path.read_text())["items"] for path in states.iterdir()}
    return objects, process.stderr


@pytest.fixture
def states(written: tuple[dict[str, list[Manifest]], str]) -> dict[str, list[Manifest]]:
    return written[0]


def of_kind(objects: list[Manifest], kind: str) -> list[Manifest]:
    return [each for each in objects if each["kind"] == kind]


def test_one_state_per_test_case_that_can_be_one(
    written: tuple[dict[str, list[Manifest]], str],
) -> None:
    objects, stderr = written
    assert sorted(objects) == ["Claims-only", "Preemption-only", "Small-more", "Volumes-only"]
    assert "Updating/only: updates objects while it runs" in stderr
    assert "Alpha/only: the feature gate DRADeviceTaints is off by default" in stderr


def test_nodes_are_labelled_in_turn_and_allocate_what_they_have(
    states: dict[str, list[Manifest]],
) -> None:
    nodes = of_kind(states["Small-more"], "Node")
    assert [node["metadata"]["labels"]["zone"] for node in nodes] == ["a", "b", "a"]
    assert nodes[0]["metadata"]["labels"]["kubernetes.io/hostname"] == nodes[0]["metadata"]["name"]
    assert nodes[0]["status"]["allocatable"] == nodes[0]["status"]["capacity"]


def test_pods_come_in_order_of_creation_with_their_index(
    states: dict[str, list[Manifest]],
) -> None:
    pods = of_kind(states["Small-more"], "Pod")
    namespaces = [pod["metadata"]["namespace"] for pod in pods]
    assert namespaces == ["init-0", "init-1", *["measured"] * 6]
    assert [pod["metadata"]["labels"]["half"] for pod in pods[2:]] == [
        *("h0", "h0", "h1", "h1", "h2", "h2")
    ]
    assert pods[0]["spec"]["topologySpreadConstraints"][0]["nodeTaintsPolicy"] == "Honor"
    assert all("nodeName" not in pod["spec"] for pod in pods)


def test_pods_of_lower_priority_than_later_ones_run_already(
    states: dict[str, list[Manifest]],
) -> None:
    low, high = of_kind(states["Preemption-only"], "Pod")
    assert low["spec"]["nodeName"] == "scheduler-perf-00000"
    assert low["status"]["phase"] == "Running"
    assert "nodeName" not in high["spec"]


def test_each_pod_has_a_volume_of_its_own(states: dict[str, list[Manifest]]) -> None:
    objects = states["Volumes-only"]
    volumes, claims = (
        of_kind(objects, "PersistentVolume"),
        of_kind(objects, "PersistentVolumeClaim"),
    )
    assert [claim["spec"]["volumeName"] for claim in claims] == [
        volume["metadata"]["name"] for volume in volumes
    ]
    assert len({volume["spec"]["csi"]["volumeHandle"] for volume in volumes}) == 2
    (csi_node,) = of_kind(objects, "CSINode")
    assert csi_node["spec"]["drivers"][0]["allocatable"] == {"count": 39}


def test_each_pod_has_a_claim_of_its_template(states: dict[str, list[Manifest]]) -> None:
    objects = states["Claims-only"]
    claims, pods = of_kind(objects, "ResourceClaim"), of_kind(objects, "Pod")
    statuses = [pod["status"]["resourceClaimStatuses"] for pod in pods]
    assert statuses == [
        [{"name": "device", "resourceClaimName": claim["metadata"]["name"]}] for claim in claims
    ]
    assert claims[0]["spec"]["devices"]["requests"][0]["name"] == "r"
    (resource_slice,) = of_kind(objects, "ResourceSlice")
    assert resource_slice["spec"]["nodeName"] == "devices-00000"
    assert len(resource_slice["spec"]["devices"]) == 2
