"""The recipes of docs/kubectl.md: releases that are asked about first, keys of k9s, metrics."""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from ksched_cli.commands.main import application
from ksched_cli.testing import node, pod

ROOT = Path(__file__).parent.parent
GITOPS, MONITORING = ROOT / "examples" / "gitops", ROOT / "examples" / "monitoring"


def ksched(line: list[str]) -> tuple[int, str]:
    run = CliRunner().invoke(application(line[:1]), line)
    return run.exit_code, run.stdout


@pytest.fixture
def state(tmp_path: Path) -> Path:
    """Room for two pods of a quarter of a cpu, and no more."""
    path = tmp_path / "cluster.json"
    path.write_text(json.dumps([node("n", cpu=1), pod("p", node="n", cpu="500m")]))
    return path


@pytest.mark.parametrize(("cpu", "code"), [("250m", 0), ("300m", 1)])
def test_the_hook_of_argo_cd_ends_in_yes_or_no(
    tmp_path: Path, state: Path, cpu: str, code: int
) -> None:
    release, job = yaml.safe_load_all((GITOPS / "argocd-presync.yaml").read_text())
    (container,) = job["spec"]["template"]["spec"]["containers"]
    mounted = tmp_path / "release.yaml"
    mounted.write_text(release["data"]["release.yaml"].replace("250m", cpu))
    given = {"/release/release.yaml": [str(mounted)], "--live": ["--state", str(state)]}
    line = [word for each in container["args"] for word in given.get(each, [each])]
    assert ksched(line)[0] == code
    assert job["metadata"]["annotations"]["argocd.argoproj.io/hook"] == "PreSync"


@pytest.mark.parametrize(("cpu", "upgrades"), [("250m", True), ("300m", False)])
def test_a_helm_release_is_upgraded_only_where_it_fits(
    tmp_path: Path, state: Path, cpu: str, upgrades: bool
) -> None:
    release, _ = yaml.safe_load_all((GITOPS / "argocd-presync.yaml").read_text())
    (tmp_path / "release.yaml").write_text(release["data"]["release.yaml"].replace("250m", cpu))
    log = tmp_path / "upgraded"
    programs = {
        "helm": f'case $1 in template) cat {tmp_path}/release.yaml;; *) echo "$@" > {log};; esac',
        "ksched": f'exec {sys.executable} -m ksched_cli "$@"',
    }
    for name, text in programs.items():
        program = tmp_path / name
        program.write_text(f"#!/bin/sh\n{text}\n")
        program.chmod(0o700)
    run = subprocess.run(
        [GITOPS / "upgrade.sh", "web", "./chart", "--namespace", "shop"],
        env={
            **os.environ,
            "PATH": f"{tmp_path}:{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT),
            "KSCHED_OPTIONS": f"--state {state}",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert (run.returncode == 0, log.exists()) == (upgrades, upgrades), run.stderr
    if upgrades:
        assert log.read_text() == "upgrade --install web ./chart --namespace shop\n"


def workload(kind: str, group: str) -> dict[str, Any]:
    template = {
        "metadata": {"labels": {"app": kind}},
        "spec": {"containers": [{"name": "c"}], "restartPolicy": "Never"},
    }
    spec: dict[str, Any] = {"template": template}
    if kind != "Job":
        spec |= {"replicas": 1, "selector": {"matchLabels": {"app": kind}}}
    metadata = {"name": "p", "namespace": "default"}
    return {"apiVersion": f"{group}/v1", "kind": kind, "metadata": metadata, "spec": spec}


def test_the_keys_of_k9s_run_what_ksched_has(tmp_path: Path) -> None:
    state = tmp_path / "cluster.json"
    workloads = [workload("Job", "batch")]
    workloads += [workload(kind, "apps") for kind in ("Deployment", "StatefulSet")]
    state.write_text(json.dumps([node("n", cpu=1), pod("p", node="n"), *workloads]))
    page = (ROOT / "docs" / "kubectl.md").read_text()
    (block,) = re.findall(r"```yaml\n(plugins:.*?)```", page, re.S)
    plugins = yaml.safe_load(block)["plugins"]
    assert len(plugins) == 4
    for plugin in plugins.values():
        for scope in plugin["scopes"]:
            command = plugin["args"][1].partition(" 2>&1")[0]
            values = {"RESOURCE_NAME": scope, "NAME": "n" if scope == "nodes" else "p"}
            values["NAMESPACE"] = "default"
            for name, value in values.items():
                command = re.sub(rf"\${name}\b", value, command)
            command = command.replace("--context $CONTEXT", f"--state {state}")
            code, out = ksched(shlex.split(command)[1:])
            assert code in (0, 1)
            assert out


Metrics = dict[str, list[tuple[dict[str, str], float]]]


def metrics_of(line: list[str], state: Path) -> Metrics:
    code, out = ksched([*line, "--state", str(state), "-o", "prometheus"])
    assert code in (0, 1)
    return metrics_in(out)


def metrics_in(text: str) -> Metrics:
    parser = pytest.importorskip(
        "prometheus_client.parser", reason="the extra metrics is not installed"
    )
    families = [*parser.text_string_to_metric_families(text + "\n")]
    metrics = {
        family.name: [(sample.labels, sample.value) for sample in family.samples]
        for family in families
    }
    assert len(metrics) == len(families), "a gateway refuses a metric that is there twice"
    return metrics


def test_the_status_is_metrics(tmp_path: Path) -> None:
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "controller": True}
    objects: list[dict[str, Any]] = [
        node("a", cpu=4, labels={"pool": "blue"}),
        {**node("b", cpu=4), "spec": {"unschedulable": True}},
        pod("p", node="a", cpu=1),
        *(pod(f"w{i}", cpu=9, metadata={"ownerReferences": [owner]}) for i in range(2)),
    ]
    state = tmp_path / "state.json"
    state.write_text(json.dumps(objects))
    metrics = metrics_of(["status", "--by", "pool", "--price", "*=2"], state)
    nodes = {labels["state"]: value for labels, value in metrics["ksched_nodes"]}
    assert nodes == {"taking pods": 1, "cordoned": 1}
    pods = {labels["state"]: value for labels, value in metrics["ksched_pods"]}
    assert pods == {"running": 1, "placeable": 0, "pending": 2, "gated": 0}
    (pending,) = metrics["ksched_pending_pods"]
    labels = {"namespace": "default", "owner": "ReplicaSet/web", "plugin": "NodeResourcesFit"}
    assert pending == (labels, 2)
    assert ({"pool": "blue", "resource": "cpu"}, 0.25) in metrics["ksched_requested_ratio"]
    assert ({"part": "idle"}, 3.5) in metrics["ksched_cost_per_hour"]


def test_drains_of_each_node_are_metrics(state: Path) -> None:
    metrics = metrics_of(["drain", "--each", "node", "--failed"], state)
    assert metrics["ksched_survivable"] == [({"label": "node", "value": "n"}, 1)]
    assert metrics["ksched_loss_pods_without_node"] == [({"label": "node", "value": "n"}, 0)]
    assert metrics_of(["drain", "n"], state)["ksched_drainable"][0][1] == 0


def test_the_dashboard_shows_what_the_job_sends_and_the_extender_has(tmp_path: Path) -> None:
    state = tmp_path / "cluster.json"
    zones = [node(name, cpu=1, labels={"topology.kubernetes.io/zone": name}) for name in "ab"]
    state.write_text(json.dumps([*zones, pod("p", node="a", cpu=1), pod("q", cpu=2)]))
    job = yaml.safe_load((MONITORING / "cronjob.yaml").read_text())
    (container,) = job["spec"]["jobTemplate"]["spec"]["template"]["spec"]["containers"]
    commands = re.findall(r"ksched (.*--live.*)", container["args"][0])
    texts = [ksched(line.replace("--live", f"--state {state}").split())[1] for line in commands]
    sent = metrics_in("\n".join(texts))
    panels = json.loads((MONITORING / "dashboard.json").read_text())["panels"]
    expressions = [target["expr"] for panel in panels for target in panel["targets"]]
    shown = {name for text in expressions for name in re.findall(r"ksched_\w+", text)}
    served = (ROOT / "ksched_cli" / "serve" / "extender.py").read_text()
    extender = {name for name in shown if name.startswith("ksched_extender_")}
    for name in extender:
        assert re.sub("_(total|bucket)$", "", name) in served
    assert shown - extender - {"ksched_cost_per_hour"} <= sent.keys()
    assert shown <= {*extender, *sent, *metrics_of(["status", "--price", "*=2"], state)}
    assert len({panel["id"] for panel in panels}) == len(panels)
