#!/usr/bin/env python3
"""The openb trace, a production cluster of 1,523 nodes and 8,152 pods, as a cluster state.

    openb.py CHECKOUT > state.json
    openb.py CHECKOUT --nodes > nodes.json    its nodes alone, to replay its pods on
    openb.py CHECKOUT --compare [--repeat N] [--percentages P …]    beside the Go loop

CHECKOUT is a checkout of github.com/hkust-adsl/kubernetes-scheduler-simulator, or a folder with its
data/csv. All pods are pending, in the order in which they were created. A GPU is nvidia.com/gpu; a
pod that shares one asks for a whole one, for the default scheduler knows no less. The kind of GPU
that a pod asks for is a node affinity. Its pods with their own times are a timeline that
`ksched timeline from-csv` makes; its help has the options.
"""

import argparse
import csv
import datetime
import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from compare import Table, has_oracle
from machine import describe

Manifest = dict[str, Any]
Row = dict[str, str]

NODES, PODS = "openb_node_list_all_node.csv", "openb_pod_list_default.csv"
GPU, MODEL, HOST = "nvidia.com/gpu", "gpu-model", "kubernetes.io/hostname"
START = datetime.datetime(2023, 1, 1, tzinfo=datetime.UTC)


def node(row: Row) -> Manifest:
    amount = {"cpu": f"{row['cpu_milli']}m", "memory": f"{row['memory_mib']}Mi", "pods": "110"}
    labels = {HOST: row["sn"]}
    if row["gpu"] != "0":
        amount[GPU] = row["gpu"]
        labels[MODEL] = row["model"]
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": row["sn"], "labels": labels},
        "status": {"allocatable": amount, "capacity": amount},
    }


def pod(row: Row) -> Manifest:
    requests = {"cpu": f"{row['cpu_milli']}m", "memory": f"{row['memory_mib']}Mi"}
    resources: Manifest = {"requests": requests}
    if row["num_gpu"] != "0":
        requests[GPU] = row["num_gpu"]
        resources["limits"] = {GPU: row["num_gpu"]}
    spec: Manifest = {
        "containers": [{"name": "main", "image": "main", "resources": resources}],
        "priority": 0,
    }
    if row["gpu_spec"]:
        models = {"key": MODEL, "operator": "In", "values": row["gpu_spec"].split("|")}
        terms = {"nodeSelectorTerms": [{"matchExpressions": [models]}]}
        affinity = {"requiredDuringSchedulingIgnoredDuringExecution": terms}
        spec["affinity"] = {"nodeAffinity": affinity}
    created = START + datetime.timedelta(seconds=int(row["creation_time"]))
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": row["name"],
            "namespace": "default",
            "uid": row["name"],
            "creationTimestamp": created.strftime("%Y-%m-%dT%H:%M:%SZ"),
        },
        "spec": spec,
        "status": {"phase": "Pending"},
    }


def rows(path: Path) -> Iterator[Row]:
    with path.open(newline="") as file:
        yield from csv.DictReader(file)


def state_of(checkout: Path) -> Manifest:
    folder = checkout / "data" / "csv"
    items = [*map(node, rows(folder / NODES)), *map(pod, rows(folder / PODS))]
    return {"apiVersion": "v1", "kind": "List", "items": items}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("checkout", type=Path)
    parser.add_argument("--nodes", action="store_true", help="without the pods")
    parser.add_argument("--compare", action="store_true")
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--percentages", type=int, nargs="+", default=[0, 100])
    options = parser.parse_args()
    if not options.compare:
        state = state_of(options.checkout)
        if options.nodes:
            state["items"] = [item for item in state["items"] if item["kind"] == "Node"]
        json.dump(state, sys.stdout)
        return
    print(f"{describe()}\n")
    table = Table(options.repeat, has_oracle())
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(state_of(options.checkout), file)
        file.flush()
        for percentage in options.percentages:
            table.add("openb", Path(file.name), percentage)


if __name__ == "__main__":
    main()
