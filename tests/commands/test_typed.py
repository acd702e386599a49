"""What newcomers type, and whether what they read helps them on."""

import json
import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml

from ksched_cli.testing import node, pod
from tests.commands.runners import Ksched

CASES = yaml.safe_load(Path(__file__).with_name("typed.yaml").read_text())
CONTAINER = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}
SPEC = {"restartPolicy": "Never", "containers": [CONTAINER]}
JOB = {"parallelism": 3, "completions": 3, "template": {"spec": SPEC}}
FILES: dict[str, Any] = {
    "gen-job.yaml": {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"generateName": "sample-"},
        "spec": JOB,
    },
    "cron.yaml": {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": {"name": "nightly"},
        "spec": {"schedule": "0 2 * * *", "jobTemplate": {"spec": {"template": {"spec": SPEC}}}},
    },
    "new.yaml": {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
    },
}


def owned(name: str, owner: str, **fields: Any) -> dict[str, Any]:
    kind, own = owner.split("/")
    reference = {"apiVersion": "apps/v1", "kind": kind, "name": own, "controller": True}
    return pod(name, cpu=1, metadata={"ownerReferences": [reference]}, **fields)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder in which they were typed, which has a cluster file."""
    monkeypatch.chdir(tmp_path)
    objects = [
        node("ip-10-20-110-24.eu-west-1.compute.internal", cpu=4, labels={"pool": "blue"}),
        node("n1", cpu=4, labels={"pool": "blue"}),
        owned("web-1", "ReplicaSet/web", node="n1"),
        owned("web-2", "ReplicaSet/web"),
        pod("big", cpu=9),
        owned("api-0", "StatefulSet/api", node="n1", namespace="shop"),
    ]
    for name, content in {**FILES, "cluster.json": objects}.items():
        Path(name).write_text(json.dumps(content))


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case["typed"])
def test_what_newcomers_type_is_answered_or_corrected(ksched: Ksched, case: Any) -> None:
    code, out, err = ksched(*shlex.split(case["typed"]))
    assert (code, case["says"] in f"{out}{err}") == (case["code"], True), err or out
