#!/usr/bin/env python3
"""Prints a state as `kubectl get nodes,pods -A -o json` of a cluster in use has it.

    make_dump.py [--nodes N] [--pods N]

Objects of make_state.py, with what an API server and kubelets add: managedFields, environment,
probes, volumes of tokens, conditions, container statuses, images. The form is kubectl's: sorted
keys, indented by four. By default 2,000 nodes and 60,000 running pods, 1.1 GB.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
TIME = "2026-01-01T00:00:00Z"
INDENT = 4


def managed(manager: str, fields: int) -> dict[str, Any]:
    """An entry of managedFields. fields: how many it owns"""
    field: dict[str, Any] = {".": {}, "f:name": {}, "f:value": {}}
    owned = {f'k:{{"name":"FIELD_{number:02}"}}': field for number in range(fields)}
    spec = {"f:containers": {'k:{"name":"c"}': {".": {}, "f:env": owned, "f:image": {}}}}
    return {"apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": spec},
            "manager": manager, "operation": "Update", "time": TIME}  # fmt: skip


def condition(kind: str) -> dict[str, Any]:
    return {"lastProbeTime": None, "lastTransitionTime": TIME, "status": "True", "type": kind}


def enrich_pod(pod: dict[str, Any], number: int) -> None:
    metadata, spec = pod["metadata"], pod["spec"]
    token = f"kube-api-access-{number % 100_000:05}"
    metadata["managedFields"] = [managed("kube-controller-manager", 24), managed("kubelet", 8)]
    metadata["resourceVersion"] = str(10_000_000 + number)
    for container in spec["containers"]:
        container["env"] = [{"name": f"FIELD_{each:02}", "value": f"value of {each}"}
                            for each in range(24)]  # fmt: skip
        probe = {"httpGet": {"path": "/healthz", "port": 8080, "scheme": "HTTP"},
                 "failureThreshold": 3, "periodSeconds": 10, "timeoutSeconds": 1}  # fmt: skip
        container |= {"imagePullPolicy": "IfNotPresent", "livenessProbe": probe,
                      "readinessProbe": probe, "terminationMessagePath": "/dev/termination-log",
                      "volumeMounts": [{"mountPath": "/var/run/secrets/x", "name": token,
                                        "readOnly": True}]}  # fmt: skip
    sources = [{"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
               {"configMap": {"items": [{"key": "ca.crt", "path": "ca.crt"}],
                              "name": "kube-root-ca.crt"}}]  # fmt: skip
    spec.setdefault("volumes", []).append(
        {"name": token, "projected": {"defaultMode": 420, "sources": sources}}
    )
    spec |= {"dnsPolicy": "ClusterFirst", "enableServiceLinks": True, "restartPolicy": "Always",
             "securityContext": {}, "terminationGracePeriodSeconds": 30}  # fmt: skip
    kinds = ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled")
    statuses = [{"containerID": f"containerd://{number:064x}", "image": each["image"],
                 "imageID": f"registry.example.com/{each['image']}@sha256:{number:064x}",
                 "lastState": {}, "name": each["name"], "ready": True, "restartCount": 0,
                 "started": True, "state": {"running": {"startedAt": TIME}}}
                for each in spec["containers"]]  # fmt: skip
    pod["status"] = {"conditions": [condition(kind) for kind in kinds],
                     "containerStatuses": statuses, "hostIP": "10.0.0.1", "phase": "Running",
                     "podIP": "10.1.0.1", "podIPs": [{"ip": "10.1.0.1"}], "qosClass": "Burstable",
                     "startTime": TIME}  # fmt: skip


def enrich_node(node: dict[str, Any]) -> None:
    node["metadata"]["managedFields"] = [managed("kubelet", 20)]
    kinds = ("MemoryPressure", "DiskPressure", "PIDPressure", "Ready")
    node["status"] |= {
        "conditions": [{**condition(kind), "status": str(kind == "Ready")} for kind in kinds],
        "images": [{"names": [f"registry.example.com/team/image-{number}@sha256:{number:064x}",
                              f"registry.example.com/team/image-{number}:1.0"],
                    "sizeBytes": 10_000_000 + number} for number in range(50)],
        "nodeInfo": {"architecture": "amd64", "kubeletVersion": "v1.37.2",
                     "operatingSystem": "linux"},
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--nodes", type=int, default=2_000)
    parser.add_argument("--pods", type=int, default=60_000)
    options = parser.parse_args()
    command = [sys.executable, str(HERE / "make_state.py"), "mixed", str(options.nodes), "0"]
    command += ["--bound", str(options.pods)]
    state = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    margin = " " * 2 * INDENT
    sys.stdout.write('{\n    "apiVersion": "v1",\n    "items": [\n')
    for number, item in enumerate(json.loads(state)["items"]):
        if item["kind"] == "Pod":
            enrich_pod(item, number)
        elif item["kind"] == "Node":
            enrich_node(item)
        text = json.dumps(item, indent=INDENT, sort_keys=True)
        sys.stdout.write((",\n" if number else "") + margin + text.replace("\n", f"\n{margin}"))
    sys.stdout.write('\n    ],\n    "kind": "List",\n    "metadata": {}\n}\n')


if __name__ == "__main__":
    main()
