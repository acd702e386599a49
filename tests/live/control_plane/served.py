"""`ksched serve extender` under the real kube-scheduler: it has to decide as the same plugins do in
process, and continue once the server was killed and has come back.

    python -m tests.live.control_plane.served [--kubernetes-version MINOR] [--nodes N] [--pods N]

Three plugins are served: the template's Filter, Coscheduling's PreFilter, FGD's Score. Some groups
are whole only once the server was killed. `ksched audit` judges kube-scheduler's decisions by a
configuration with the plugins in process. kube-scheduler continues without the scores of an
extender that does not answer: a pod that the kill met between Filter and Score is named, and not
judged.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from ksched_cli.config.types import API_VERSION, KIND
from tests.live.control_plane.api import Api, ApiError, Manifest, wait
from tests.live.control_plane.build import MINORS, binaries
from tests.live.control_plane.cluster import LOOPBACK, ControlPlane, free_port, is_serving
from tests.live.control_plane.manifests import amounts, nodes, pod, priority_classes
from tests.live.control_plane.run import settle

SEED = 11
ROOT = Path(__file__).parents[3]
_OWN = f"{ROOT}/tests/live/control_plane/served_plugins.py"
PLUGINS = (f"{ROOT}/plugins/template/packing.py", f"{_OWN}:Coscheduling", f"{_OWN}:FgdInTens")
POINTS = {
    "preFilter": {"enabled": [{"name": "Coscheduling"}]},
    "filter": {"enabled": [{"name": "Packing"}]},
    "score": {"enabled": [{"name": "FgdInTens", "weight": 20}]},
}
# So much that Packing rejects nodes.
ARGS = [{"name": "Packing", "args": {"keepFreePercent": 85}}]
DOWN_SECONDS = 2.0
# The verbosity at which the log tells for which pods an extender gave no scores.
VERBOSITY = 5
_NO_SCORES = re.compile(r'No score given by this extender\..* pod="(?P<pod>[^"]+)"')
KSCHED = (sys.executable, "-m", "ksched_cli")
GROUPS, GROUP_SIZE, LATE_GROUPS = "podgroups.scheduling.x-k8s.io", 5, 3
_GROUP_LABEL = "scheduling.x-k8s.io/pod-group"
_GPU = "alibabacloud.com/gpu"
_GPU_REQUESTS = (("1", "250"), ("1", "500"), ("1", "1000"), ("2", "1000"))


def definition() -> Manifest:
    """The kind of Coscheduling's groups, with any fields."""
    plural, _, group = GROUPS.partition(".")
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1alpha1", "served": True, "storage": True}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": GROUPS},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"plural": plural, "kind": "PodGroup"},
            "versions": [{**version, "schema": {"openAPIV3Schema": schema}}],
        },
    }


def groups(pod_count: int) -> Iterator[Manifest]:
    """Two pods of five are of groups; the first few groups lack one."""
    for number in range(2 * pod_count // 5 // GROUP_SIZE):
        yield {
            "apiVersion": "scheduling.x-k8s.io/v1alpha1",
            "kind": "PodGroup",
            "metadata": {"name": f"group-{number}", "namespace": "default"},
            "spec": {"minMember": GROUP_SIZE + (number < LATE_GROUPS)},
        }


def objects(node_count: int, pod_count: int) -> Iterator[Manifest]:
    draw = random.Random(SEED)
    yield from priority_classes()
    for manifest in nodes(draw, node_count, plain=True):
        amount = {f"{_GPU}-count": draw.choice(["0", "2", "8"])}
        manifest["status"]["capacity"] = {**manifest["status"]["capacity"], **amount}
        manifest["metadata"]["labels"][f"{_GPU}-card-model"] = draw.choice(["V100M16", "T4"])
        yield manifest
    grouped = 2 * pod_count // 5
    for number in range(pod_count - LATE_GROUPS):
        group = number // GROUP_SIZE if number < grouped else None
        yield member(f"pod-{number:04}", draw, group)


def late(pod_count: int) -> Iterator[Manifest]:
    """The last pods, which make the first groups whole."""
    draw = random.Random(SEED + 1)
    for group in range(LATE_GROUPS):
        yield member(f"pod-{pod_count - LATE_GROUPS + group:04}", draw, group)


def member(name: str, draw: random.Random, group: int | None) -> Manifest:
    labels = {} if group is None else {_GROUP_LABEL: f"group-{group}"}
    manifest = pod(name, amounts(draw), labels=labels, priorityClassName="middle")
    if draw.random() < 0.5:
        count, milli = draw.choice(_GPU_REQUESTS)
        manifest["metadata"]["annotations"] = {f"{_GPU}-count": count, f"{_GPU}-milli": milli}
    return manifest


class Served:
    """The server's command line, and where it listens."""

    def __init__(self, minor: str, folder: Path) -> None:
        config = folder / "in-process.json"
        kind = {"apiVersion": API_VERSION, "kind": KIND}
        config.write_text(
            json.dumps({**kind, "profiles": [{"plugins": POINTS, "pluginConfig": ARGS}]})
        )
        self.in_process = [f"--config={config}", *(f"--plugin={source}" for source in PLUGINS)]
        self.in_process.append(f"--kubernetes-version={minor}")
        self.address = f"{LOOPBACK}:{free_port()}"
        self.command = [*KSCHED, "serve", "extender", f"--listen={self.address}", *self.in_process]

    def extenders(self) -> Any:
        """What kube-scheduler's configuration has to name."""
        line = [*self.command, "--print-config"]
        printed = subprocess.run(line, check=True, capture_output=True).stdout
        return yaml.safe_load(printed)["extenders"]

    def start(self, plane: ControlPlane) -> None:
        plane.start("extender", f"--kubeconfig={plane.kubeconfig}", command=self.command)
        wait("the extender", lambda: is_serving(f"http://{self.address}/readyz"), 60)


def play(minor: str, node_count: int, pod_count: int, folder: Path) -> dict[str, Any]:
    """The audit's answer."""
    served = Served(minor, folder)
    with ControlPlane(binaries(minor, kwok=False), folder) as plane:
        define_groups(plane.api, pod_count)
        plane.api.create(objects(node_count, pod_count))
        reads = ["--full", *(f"--plugin={source}" for source in PLUGINS)]
        before = plane.snapshot(folder / "before.json", *reads)
        served.start(plane)
        plane.start_scheduler({"extenders": served.extenders()}, VERBOSITY)
        wait("half of the pods", lambda: placed(plane) > pod_count // 2, 600)
        plane.kill("extender")
        time.sleep(DOWN_SECONDS)
        served.start(plane)
        plane.api.create(late(pod_count))
        wait("all pods", lambda: placed(plane) == pod_count, 600)
        settle(plane)
        after = plane.snapshot(folder / "after.json", "--events", *reads)
        plane.stop("kube-scheduler")
        plane.stop("extender")
    line = [*KSCHED, "audit", "-o", "json", f"--before={before}", f"--after={after}"]
    line += [f"--scheduler-log={folder / 'kube-scheduler.log'}", *served.in_process]
    run = subprocess.run(line, capture_output=True, text=True, check=False)
    if run.returncode not in (0, 1):
        raise RuntimeError(f"ksched audit ended with {run.returncode}:\n{run.stderr}")
    answer: dict[str, Any] = json.loads(run.stdout)
    return answer


def define_groups(api: Api, pod_count: int) -> None:
    api.call("POST", "apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition())
    plural, _, group = GROUPS.partition(".")
    path = f"apis/{group}/v1alpha1/namespaces/default/{plural}"

    def is_served() -> bool:
        try:
            api.call("GET", path)
        except ApiError:
            return False
        return True

    wait("the definition of groups", is_served)
    for manifest in groups(pod_count):
        api.call("POST", path, manifest)


def placed(plane: ControlPlane) -> int:
    return sum(bool(each["spec"].get("nodeName")) for each in plane.api.pods())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kubernetes-version", default="1.34", choices=MINORS)
    parser.add_argument("--nodes", type=int, default=60)
    parser.add_argument("--pods", type=int, default=500)
    parser.add_argument("--keep", type=Path, help="keep the states and logs in this folder")
    options = parser.parse_args()
    folder = (options.keep or Path(tempfile.mkdtemp(prefix="ksched-served-"))).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    audit = play(options.kubernetes_version, options.nodes, options.pods, folder)
    log = (folder / "kube-scheduler.log").read_text(errors="replace")
    unscored = {match["pod"] for match in _NO_SCORES.finditer(log)}
    differ = [item for item in audit["differ"] if item["pod"] not in unscored]
    print(
        f"{audit['agree']} of {audit['decisions']} decisions agree, {len(differ)} differ, "
        f"{len(audit['unexplained'])} are unexplained; "
        f"decided without the plugins' scores while the server was down: {len(unscored)}"
    )
    for item in (*differ[:8], *audit["unexplained"][:8]):
        print(f"    {item}")
    if differ or audit["unexplained"] or len(unscored) > 1:
        print(f"    states and logs are in {folder}")
        return 1
    if options.keep is None:
        shutil.rmtree(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
