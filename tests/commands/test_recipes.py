"""`ksched timeline from-csv --recipe`: every recipe on rows as its trace has them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ksched_cli.scenario.timelines.recipes import read_recipe, recipe_names
from tests.commands.runners import Ksched

# By recipe: rows as in its file; other files; how many rows there are; the last pod, and the last
# node.
SHAPES: dict[str, dict[str, Any]] = {
    "alibaba-gpu-2023": {
        "rows": (
            "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,"
            "deletion_time,scheduled_time\n"
            "p-0,12000,16384,1,1000,,LS,Running,0,12537496,0\n"
            "p-1,6000,12288,1,460,T4|P100,BE,Running,100,2200,200\n"
        ),
        "files": {
            "openb_node_list_all_node.csv": "sn,cpu_milli,memory_mib,gpu,model\n"
            "n-0,32000,262144,0,\nn-1,64000,262144,2,P100\n",
        },
        "pod": (100, 2000, {"cpu": "6000m", "memory": "12288Mi", "nvidia.com/gpu": "1"}),
        "node": ("n-1", {"cpu": "64000m", "memory": "262144Mi", "nvidia.com/gpu": "2"}),
    },
    "alibaba-dlrm-2025": {
        "rows": (
            "instance_sn,role,app_name,cpu_request,cpu_limit,gpu_request,gpu_limit,rdma_request,"
            "rdma_limit,memory_request,memory_limit,disk_request,disk_limit,max_instance_per_node,"
            "creation_time,scheduled_time,deletion_time\n"
            "i-0,HN,app_0,12,12,1,1,25,25,120.0,120.0,640.0,800.0,8,,,\n"
            "i-1,CN,app_1,64,64,0,0,1,1,320.0,320.0,255.0,300.0,-1,40.0,50.0,150.0\n"
        ),
        "pod": (
            40,
            100,
            {
                "cpu": "64",
                "memory": "320.0Gi",
                "ephemeral-storage": "255.0Gi",
                "example.com/rdma": "1",
            },
        ),
    },
    "tiresias": {
        "rows": (
            "job_id,num_gpu,submit_time,iterations,model_name,duration,interval\n"
            "0,1,0,606,vgg19,164,30\n1,8,30,133,vgg11,147,23\n"
        ),
        "pod": (30, 147, {"nvidia.com/gpu": "1"}),
        "node": ("node-31", {"nvidia.com/gpu": "4", "cpu": "40", "memory": "256Gi"}),
    },
    "philly-sia": {
        "rows": (
            "timestamp,duration,num_gpus,gpu_time,cluster\n"
            "2017-10-09 07:01:55,66.0,1,66.0,11cb48\n2017-10-09 07:02:00,2951.5,2,5903,6214e9\n"
        ),
        "pod": (5, 2951.5, {"nvidia.com/gpu": "1"}),
    },
    "swf": {
        "rows": (
            "; Version: 2.2\n; MaxProcs: 128\n"
            "    1     0  10 1451  4 -1 -1  4  3600 -1 1 3 1 1 1 -1 -1 -1\n"
            "    2  1460   0 3726  2 -1 -1  8 14400 -1 0 3 1 1 1 -1 -1 -1\n"
        ),
        "pod": (1460, 3726, {"cpu": "1000m"}),
    },
    "helios": {
        "rows": (
            "job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,"
            "duration,queue\n"
            "1,uA,vcA,1,1,1,COMPLETED,2020-06-09 18:41:01,2020-06-09 18:41:01,"
            "2020-06-10 04:55:09,36848,0\n"
            "2,uB,vcB,16,64,2,FAILED,2020-06-09 18:41:27,2020-06-09 18:41:37,"
            "2020-06-09 18:45:36,239,10\n"
        ),
        "pod": (26, 239, {"cpu": "32000m", "nvidia.com/gpu": "8"}),
    },
    "acme": {
        "rows": (
            "job_id,user,node_num,gpu_num,cpu_num,type,state,submit_time,start_time,end_time,"
            "duration,queue,gpu_time\n"
            "1,uA,1,8,128,Other,FAILED,2023-03-01 00:18:22+08:00,2023-03-01 00:18:54+08:00,"
            "2023-03-01 00:20:51+08:00,117,32,936.0\n"
            "2,uA,2,16,256,Other,COMPLETED,2023-03-01 00:23:58+08:00,2023-03-01 00:24:11+08:00,"
            "2023-03-01 01:09:04+08:00,2693,13,43088.0\n"
        ),
        "pod": (336, 2693, {"cpu": "128000m", "nvidia.com/gpu": "8"}),
    },
    "gavel": {
        "rows": (
            "A3C\tcd %s/rl && python3 main.py --env Pong\t%s/rl\t--max-steps\t0\t1000"
            "\t1\t1\t-1.000000\t0\n"
            "LM (batch size 5)\tcd %s/lm && python main.py\t%s/lm\t--steps\t1\t8000\t2"
            "\t1\t-1.000000\t60\n"
        ),
        "files": {
            "physical_cluster_throughputs.json": json.dumps(
                {
                    "k80": {"('A3C', 1)": {"null": 4.0}, "('LM (batch size 5)', 2)": {"null": 0.0}},
                    "v100": {
                        "('A3C', 1)": {"null": 8.0, "('A3C', 1)": [5.0, 5.0]},
                        "('LM (batch size 5)', 2)": {"null": 16.0},
                    },
                }
            )
        },
        # It makes no progress on a k80.
        "pod": (60, {"label": "gpu", "seconds": {"v100": 500}}, {"nvidia.com/gpu": "2"}),
        "node": ("k80-5", {"nvidia.com/gpu": "4", "cpu": "32", "memory": "256Gi"}),
    },
    "google-2019": {
        "rows": (
            "time,type,collection_id,instance_index,priority,cpus,memory\n"
            "0,0,7,0,200,0.01,0.02\n"
            "0,3,7,0,200,0.01,0.02\n"
            "1000000,0,8,3,103,0.5,0.25\n"
            "1500000,2,8,3,103,0.5,0.25\n"
            "2000000,3,8,3,103,0.5,0.25\n"
            "9000000,4,8,3,103,0.5,0.25\n"
            "9000000,0,8,3,103,0.5,0.25\n"
            "12000000,3,8,3,103,0.5,0.25\n"
            "42000000,6,8,3,103,0.5,0.25\n"
            "9223372036854775807,6,7,0,200,0.01,0.02\n"
        ),
        "count": 10,
        # Its run of 7 s was cut off by the recorded scheduler.
        "pod": (1, 30, {"cpu": "32000m", "memory": str(128 * 2**30)}),
    },
    "alibaba-pai-2020": {
        "rows": (
            "4f057009a5d481acec67b088,tensorflow,1.0,Terminated,1739162.0,1739200.0,600.0,29.296875,"
            "50.0,MISC\n"
            "af724763f4f5d0beef445849,worker,2.0,Failed,1739262.0,1739562.0,400.0,16.0,200.0,V100\n"
            "af724763f4f5d0beef445850,worker,2.0,Waiting,,,400.0,16.0,200.0,V100\n"
        ),
        "count": 3,
        "files": {
            "pai_machine_spec.csv": "471dda9ed84965451e042145,P100,64,512,2\n"
            "471dda9ed84965451e042146,V100,96,512,8\n"
        },
        "pod": (100, 300, {"cpu": "4000m", "memory": "16.0Gi", "nvidia.com/gpu": "2"}),
        "node": (
            "471dda9ed84965451e042146",
            {"cpu": "96", "memory": "512Gi", "nvidia.com/gpu": "8"},
        ),
    },
    "azure-packing-2020": {
        "rows": (
            "vmId,tenantId,vmTypeId,priority,starttime,endtime,core,memory\n"
            "0,0,3,0,-3.50000,,0.03125,0.0234375\n1,1,3,1,-3.49000,0.51000,0.1,0.0234375\n"
        ),
        "pod": (864, 345_600, {"cpu": "6400m", "memory": str(12 * 2**30)}),
    },
}
# Their traces have no nodes and no gangs.
WITHOUT_STATE = ("alibaba-dlrm-2025", "azure-packing-2020", "google-2019")


@pytest.mark.parametrize("name", recipe_names())
def test_a_recipe_reads_its_trace(name: str, ksched: Ksched, tmp_path: Path) -> None:
    shape = SHAPES[name]
    paths = (read_recipe(name).file, "pods.jsonl", "state.json")
    trace, pods, state = (tmp_path / each for each in paths)
    trace.parent.mkdir(parents=True, exist_ok=True)
    trace.write_text(shape["rows"])
    for file, text in shape.get("files", {}).items():
        (tmp_path / file).write_text(text)
    to_state = () if name in WITHOUT_STATE else ("--state-to", state)
    code, _, err = ksched("timeline", "from-csv", trace, "--recipe", name, "--to", pods, *to_state)
    read = f"{shape.get('count', 2)} rows read"
    assert (code, err.startswith(read)) == (0, True), err
    header, *events = [json.loads(line) for line in pods.read_text().splitlines()]
    last = events[-1]
    (container,) = header["templates"][last["template"]]["spec"]["containers"]
    assert (last["at"], last["runsFor"], container["resources"]["requests"]) == shape["pod"]
    if "node" in shape:
        nodes = [o for o in json.loads(state.read_text())["items"] if o["kind"] == "Node"]
        node_name, capacity = shape["node"]
        assert nodes[-1]["metadata"]["name"] == node_name
        assert nodes[-1]["status"]["capacity"] == {"pods": "110", **capacity}


def test_options_replace_those_of_the_recipe(ksched: Ksched, tmp_path: Path) -> None:
    trace = tmp_path / "trace.csv"
    trace.write_text(SHAPES["alibaba-dlrm-2025"]["rows"])
    command = ("timeline", "from-csv", trace, "--recipe", "alibaba-dlrm-2025")
    code, out, _ = ksched(*command, "--request", "cpu=cpu_limit", "--where", "role=CN")
    assert code == 0
    header, event = [json.loads(line) for line in out.splitlines()]
    (container,) = header["templates"][event["template"]]["spec"]["containers"]
    assert container["resources"]["requests"] == {"cpu": "64"}


def test_a_recipe_of_ones_own(ksched: Ksched, tmp_path: Path) -> None:
    trace, recipe, state = (tmp_path / each for each in ("t.csv", "r.yaml", "state.json"))
    trace.write_text("t,c\n0,1\n")
    options = "{created: t, request: [cpu=c]}"
    nodes = '[{name: big, count: 2, capacity: {cpu: "8"}, labels: {zone: a}}]'
    text = f"about: mine\nsource: here\nfile: t.csv\noptions: {options}\nnodes: {nodes}\n"
    recipe.write_text(text)
    command = ("timeline", "from-csv", trace, "--recipe", recipe)
    assert ksched(*command, "--state-to", state)[0] == 0
    labels = [each["metadata"]["labels"] for each in json.loads(state.read_text())["items"]]
    assert [each["zone"] for each in labels] == ["a", "a"]
    code, _, err = ksched(*command)
    assert (code, "recipes with nodes require --state-to FILE.json" in err) == (2, True)
    for wrong, problem in (
        (text.replace("created", "creation"), "unknown option creation"),
        (text.replace("about", "abuot"), "this is not a recipe"),
        (text.replace('"8"', "8x"), 'nodes: "8x" is not an amount of cpu'),
        (f"{text}---\n{text}", "this is not a recipe"),
    ):
        recipe.write_text(wrong)
        code, _, err = ksched(*command, "--state-to", state)
        assert (code, problem in err) == (2, True), err


def test_an_unknown_recipe_names_the_others(ksched: Ksched, tmp_path: Path) -> None:
    code, _, err = ksched("timeline", "from-csv", tmp_path / "t.csv", "--recipe", "borg")
    assert code == 2
    assert all(name in err for name in recipe_names())
