"""kube-scheduler's own benchmark, test/integration/scheduler_perf, as cluster states.

A test case there is a list of operations (create nodes, create pods, …), a workload of it the
counts to put into them. What exists when the operations are through is the state, with every pod
pending: upstream has those created first scheduled before it measures the others, and they come
first in the queue here. Where pods created later have a higher priority, the earlier ones are
placed beforehand, so that the later ones find them running.

Operations that only make sense while a scheduler runs (churn, deletions) are left out.

Upstream: test/integration/scheduler_perf/{scheduler_perf,create,dra}.go, test/utils/runners.go.
"""

import copy
import fnmatch
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

Manifest = dict[str, Any]

CONFIG = "performance-config.yaml"
HOST = "kubernetes.io/hostname"
LEFT_OUT = ("churn", "deletePods")
NOT_A_STATE = {"updateAny": "updates objects while it runs"}
# Off by default in 1.34, so that the workload would not be what it is meant to be.
ALPHA_GATES = (
    "DRAConsumableCapacity",
    "DRADeviceTaints",
    "DRAExtendedResource",
    "DRAPartitionableDevices",
)
CLUSTER_SCOPED = ("DeviceClass", "ResourceSlice")
WITHOUT_EFFECT = {
    "barrier",
    "sleep",
    "startCollectingMetrics",
    "stopCollectingMetrics",
    *LEFT_OUT,
}
EXPRESSION = re.compile(r"\{\{\s*(?:(div|mod)\s+)?\.(Index|Count)(?:\s+(\d+))?\s*\}\}")


@dataclass(frozen=True)
class Workload:
    folder: Path
    test_case: str
    name: str
    parameters: dict[str, Any]
    operations: list[Manifest]
    labels: tuple[str, ...] = ()
    feature_gates: dict[str, bool] = field(default_factory=dict)
    pod_template: str = ""

    def count(self, operation: Manifest, key: str = "count", default: int = 0) -> int:
        parameter = operation.get(f"{key}Param", "")
        value = self.parameters[parameter[1:]] if parameter else operation.get(key, default)
        return int(value)

    def sum_of(self, opcode: str) -> int:
        return sum(self.count(each) for each in self.operations if each["opcode"] == opcode)

    @property
    def nodes(self) -> int:
        return self.sum_of("createNodes")

    @property
    def pods(self) -> int:
        sets = (each for each in self.operations if each["opcode"] == "createPodSets")
        return self.sum_of("createPods") + sum(
            self.count(each) * self.count(each["createPodsOp"]) for each in sets
        )

    @property
    def left_out(self) -> list[str]:
        """The operations that the state does not show."""
        return sorted({each["opcode"] for each in self.operations} & set(LEFT_OUT))

    def obstacle(self) -> str:
        """Why no state can be made of it; empty where one can."""
        for gate in ALPHA_GATES:
            if self.feature_gates.get(gate):
                return f"the feature gate {gate} is off by default"
        for operation in self.operations:
            if operation["opcode"] in NOT_A_STATE:
                return NOT_A_STATE[operation["opcode"]]
            if operation.get("steadyState"):
                return "deletes pods and creates them anew for a while"
        return ""


def read_workloads(folder: Path) -> Iterator[Workload]:
    """The workloads in the files under a folder; of several with the same counts the first."""
    seen: set[str] = set()
    for path in sorted(folder.rglob(CONFIG)):
        for test_case in yaml.safe_load(path.read_text()):
            for workload in test_case["workloads"]:
                gates = {**test_case.get("featureGates", {}), **workload.get("featureGates", {})}
                enabled = sorted(gate for gate in ALPHA_GATES if gates.get(gate))
                parameters = workload["params"]
                identity = repr((test_case["name"], sorted(parameters.items()), enabled))
                if identity in seen:
                    continue
                seen.add(identity)
                yield Workload(
                    folder=path.parent,
                    test_case=test_case["name"],
                    name=workload["name"],
                    parameters=parameters,
                    operations=test_case["workloadTemplate"],
                    labels=tuple(workload.get("labels", ())),
                    feature_gates=gates,
                    pod_template=test_case.get("defaultPodTemplatePath", ""),
                )


class StateBuilder:
    """The objects that a workload's operations create, in that order."""

    def __init__(self, workload: Workload) -> None:
        self.workload = workload
        self.objects: list[Manifest] = []
        self.nodes: list[Manifest] = []
        self.pods: list[Manifest] = []
        self._operations = {
            "createNodes": self._create_nodes,
            "createNamespaces": self._create_namespaces,
            "createPods": self._create_pods,
            "createPodSets": self._create_pod_sets,
            "createAny": self._create_any,
            "createResourceDriver": self._create_resource_driver,
        }

    def build(self) -> None:
        for index, operation in enumerate(self.workload.operations):
            if operation["opcode"] not in WITHOUT_EFFECT:
                create = self._operations[operation["opcode"]]
                create({"namespace": f"namespace-{index}", **operation})

    def state(self) -> Manifest:
        items = [*self.objects, *self.nodes, *self.pods]
        return {"apiVersion": "v1", "kind": "List", "items": items}

    def _template(self, path: str, index: int = 0, count: int = 1) -> Manifest:
        values = {"Index": index, "Count": count}
        text = (self.workload.folder / path).read_text()
        manifest: Manifest = yaml.safe_load(
            EXPRESSION.sub(lambda match: _evaluate(match, values), text)
        )
        return manifest

    def _copies(self, path: str, count: int) -> Iterator[Manifest]:
        """The template once per index; it is read anew only where it asks for the index."""
        if EXPRESSION.search((self.workload.folder / path).read_text()):
            yield from (self._template(path, index, count) for index in range(count))
        else:
            manifest = self._template(path)
            yield from (copy.deepcopy(manifest) for _ in range(count))

    def _create_nodes(self, operation: Manifest) -> None:
        count = self.workload.count(operation)
        path = operation.get("nodeTemplatePath")
        copies = self._copies(path, count) if path else (_default_node() for _ in range(count))
        labels = operation.get("labelNodePrepareStrategy")
        strategy = operation.get("nodeAllocatableStrategy")
        for index, node in enumerate(copies):
            metadata = node["metadata"]
            prefix = metadata.pop("generateName", "")
            name = metadata.setdefault("name", f"{prefix}{len(self.nodes):05d}")
            metadata.setdefault("labels", {})[HOST] = name
            if labels:
                values = labels["labelValues"]
                metadata["labels"][labels["labelKey"]] = values[index % len(values)]
            status = node["status"]
            status["allocatable"] = dict(status["capacity"])
            if strategy:
                status["allocatable"] |= strategy.get("nodeAllocatable", {})
                self.objects.append(_csi_node(name, strategy))
            self.nodes.append(node)

    def _create_namespaces(self, operation: Manifest) -> None:
        for index in range(self.workload.count(operation)):
            path = operation.get("namespaceTemplatePath")
            manifest: Manifest = {"apiVersion": "v1", "kind": "Namespace"}
            if path:
                manifest = self._template(path)
            manifest.setdefault("metadata", {})["name"] = f"{operation['prefix']}-{index}"
            self.objects.append(manifest)

    def _create_pod_sets(self, operation: Manifest) -> None:
        for index in range(self.workload.count(operation)):
            namespace = f"{operation['namespacePrefix']}-{index}"
            self._create_pods({**operation["createPodsOp"], "namespace": namespace})

    def _create_pods(self, operation: Manifest) -> None:
        namespace = operation["namespace"]
        count = self.workload.count(operation)
        path = operation.get("podTemplatePath", self.workload.pod_template)
        copies = self._copies(path, count) if path else (_default_pod() for _ in range(count))
        for index, pod in enumerate(copies):
            metadata = pod["metadata"]
            prefix = metadata.pop("generateName", "")
            metadata.setdefault("name", f"{prefix}{len(self.pods):06d}")
            metadata["namespace"] = namespace
            metadata["uid"] = f"{namespace}-{metadata['name']}"
            metadata["creationTimestamp"] = "2026-01-01T00:00:00Z"
            pod["spec"].setdefault("priority", 0)
            pod.setdefault("status", {})["phase"] = "Pending"
            for constraint in pod["spec"].get("topologySpreadConstraints", ()):
                _lower_case_fields(constraint)
            if "persistentVolumeTemplatePath" in operation:
                self._add_volume(pod, operation, index)
            self._add_claims(pod)
            self.pods.append(pod)

    def _add_volume(self, pod: Manifest, operation: Manifest, index: int) -> None:
        """A volume and a claim, bound to each other, for the pod alone."""
        namespace = pod["metadata"]["namespace"]
        volume = self._template(operation["persistentVolumeTemplatePath"])
        claim = self._template(operation["persistentVolumeClaimTemplatePath"])
        claim_name, volume_name = f"pvc-{index}", f"{namespace}-vol-{index}"
        claim.setdefault("metadata", {}).update(name=claim_name, namespace=namespace)
        claim["spec"]["volumeName"] = volume_name
        claim["status"] = {"phase": "Bound"}
        volume.setdefault("metadata", {})["name"] = volume_name
        if "csi" in volume["spec"]:
            volume["spec"]["csi"]["volumeHandle"] = volume_name
        else:
            volume["spec"]["awsElasticBlockStore"]["volumeID"] = f"vol-{index}"
        reference = {"kind": "PersistentVolumeClaim", "apiVersion": "v1"}
        volume["spec"]["claimRef"] = {**reference, "namespace": namespace, "name": claim_name}
        volume["status"] = {"phase": "Bound"}
        self.objects += [volume, claim]
        source = {"persistentVolumeClaim": {"claimName": claim_name}}
        pod["spec"]["volumes"] = [{"name": "vol", **source}]

    def _add_claims(self, pod: Manifest) -> None:
        """The ResourceClaims that the controller makes of the templates that a pod names."""
        namespace, name = pod["metadata"]["namespace"], pod["metadata"]["name"]
        for entry in pod["spec"].get("resourceClaims", ()):
            template_name = entry.get("resourceClaimTemplateName")
            if template_name is None:
                continue
            template = next(
                each
                for each in reversed(self.objects)
                if each["kind"] == "ResourceClaimTemplate"
                and each["metadata"] == {"name": template_name, "namespace": namespace}
            )
            claim_name = f"{name}-{entry['name']}"
            owner = {"apiVersion": "v1", "kind": "Pod", "name": name, "uid": pod["metadata"]["uid"]}
            metadata = {
                "name": claim_name,
                "namespace": namespace,
                "uid": f"{namespace}-{claim_name}",
                "ownerReferences": [{**owner, "controller": True}],
            }
            claim = {"apiVersion": template["apiVersion"], "kind": "ResourceClaim"}
            self.objects.append(
                {**claim, "metadata": metadata, "spec": copy.deepcopy(template["spec"]["spec"])}
            )
            statuses = pod["status"].setdefault("resourceClaimStatuses", [])
            statuses.append({"name": entry["name"], "resourceClaimName": claim_name})

    def _create_any(self, operation: Manifest) -> None:
        count = self.workload.count(operation, default=1)
        for index, manifest in enumerate(self._copies(operation["templatePath"], count)):
            metadata = manifest.setdefault("metadata", {})
            if "generateName" in metadata:
                metadata["name"] = f"{metadata.pop('generateName')}{index}"
            if manifest["kind"] not in CLUSTER_SCOPED:
                metadata["namespace"] = operation["namespace"]
            self.objects.append(manifest)

    def _create_resource_driver(self, operation: Manifest) -> None:
        devices = [
            _device(index) for index in range(self.workload.count(operation, "maxClaimsPerNode"))
        ]
        for node in self.nodes:
            name = node["metadata"]["name"]
            if fnmatch.fnmatchcase(name, operation["nodes"]):
                pool = {"name": name, "generation": 0, "resourceSliceCount": 1}
                spec = {"driver": operation["driverName"], "nodeName": name, "pool": pool}
                self.objects.append(
                    {
                        "apiVersion": "resource.k8s.io/v1",
                        "kind": "ResourceSlice",
                        "metadata": {"name": name},
                        "spec": {**spec, "devices": devices},
                    }
                )


def _evaluate(match: re.Match[str], values: dict[str, int]) -> str:
    function, name, operand = match.groups()
    value = values[name]
    if function == "div":
        value //= int(operand)
    elif function == "mod":
        value %= int(operand)
    return str(value)


def _lower_case_fields(manifest: Manifest) -> None:
    """Go reads a field in any case; a template upstream has one that begins with a capital."""
    for name in [name for name in manifest if name[0].isupper()]:
        manifest[name[0].lower() + name[1:]] = manifest.pop(name)


def _default_node() -> Manifest:
    capacity = {"pods": "110", "cpu": "4", "memory": "32Gi"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"generateName": "scheduler-perf-"},
        "status": {"capacity": capacity, "phase": "Running"},
    }


def _default_pod() -> Manifest:
    resources = {"cpu": "100m", "memory": "500Mi"}
    container = {
        "name": "pause",
        "image": "registry.k8s.io/pause:3.10.1",
        "ports": [{"containerPort": 80}],
        "resources": {"limits": resources, "requests": resources},
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"generateName": "pod-"},
        "spec": {"containers": [container]},
    }


def _csi_node(name: str, strategy: Manifest) -> Manifest:
    migrated = ",".join(strategy.get("migratedPlugins", ()))
    annotations = {"storage.alpha.kubernetes.io/migrated-plugins": migrated}
    drivers = [
        {"name": driver, "nodeID": name, "allocatable": allocatable}
        for driver, allocatable in strategy.get("csiNodeAllocatable", {}).items()
    ]
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSINode",
        "metadata": {"name": name, "annotations": annotations},
        "spec": {"drivers": drivers},
    }


def _device(index: int) -> Manifest:
    return {
        "name": f"instance-{index}",
        "attributes": {
            "model": {"string": "A100"},
            "family": {"string": "GPU"},
            "driverVersion": {"version": "1.2.3"},
            "dra.example.com/numa": {"int": index},
        },
        "capacity": {"memory": {"value": "1Gi"}},
    }
