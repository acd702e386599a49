"""The openb trace as a state: from files of its form, written here."""

import json
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "openb.py"

NODES = """sn,cpu_milli,memory_mib,gpu,model
n0,32000,262144,0,
n1,64000,131072,8,V100M16
"""
PODS_HEADER = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time"
PODS = f"""{PODS_HEADER}
p0,6000,12288,1,460,V100M16|V100M32,LS,Running,427061
p1,8000,1024,0,0,,BE,Pending,427062
"""


def test_nodes_and_pods_have_what_the_trace_says(tmp_path: Path) -> None:
    folder = tmp_path / "data" / "csv"
    folder.mkdir(parents=True)
    (folder / "openb_node_list_all_node.csv").write_text(NODES)
    (folder / "openb_pod_list_default.csv").write_text(PODS)
    output = subprocess.run([sys.executable, SCRIPT, tmp_path], capture_output=True, check=True)
    plain, with_gpus, shared, without = json.loads(output.stdout)["items"]
    assert plain["status"]["allocatable"] == {"cpu": "32000m", "memory": "262144Mi", "pods": "110"}
    assert with_gpus["status"]["allocatable"]["nvidia.com/gpu"] == "8"
    assert shared["spec"]["containers"][0]["resources"]["limits"] == {"nvidia.com/gpu": "1"}
    affinity = shared["spec"]["affinity"]["nodeAffinity"]
    (term,) = affinity["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    assert term["matchExpressions"] == [
        {"key": "gpu-model", "operator": "In", "values": ["V100M16", "V100M32"]}
    ]
    assert with_gpus["metadata"]["labels"]["gpu-model"] == "V100M16"
    assert shared["metadata"]["creationTimestamp"] == "2023-01-05T22:37:41Z"
    assert "affinity" not in without["spec"]


def test_nodes_are_there_without_the_pods(tmp_path: Path) -> None:
    folder = tmp_path / "data" / "csv"
    folder.mkdir(parents=True)
    (folder / "openb_node_list_all_node.csv").write_text(NODES)
    (folder / "openb_pod_list_default.csv").write_text(PODS)
    command: list[str | Path] = [sys.executable, SCRIPT, tmp_path, "--nodes"]
    output = subprocess.run(command, capture_output=True, check=True)
    assert [item["kind"] for item in json.loads(output.stdout)["items"]] == ["Node", "Node"]
