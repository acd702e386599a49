"""`ksched serve extender` under the real kube-scheduler: it has to decide as the same plugins do in
process, and continue once the server was killed and has come back.

    python -m tests.live.control_plane.served [--kubernetes-version MINOR] [--nodes N] [--pods N]

`ksched audit` judges kube-scheduler's decisions by a configuration with the plugins in process.
"""

from __future__ import annotations

import argparse
import json
import random
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
from tests.live.control_plane.api import Manifest, wait
from tests.live.control_plane.build import MINORS, binaries
from tests.live.control_plane.cluster import LOOPBACK, ControlPlane, free_port, is_serving
from tests.live.control_plane.manifests import amounts, nodes, pod, priority_classes
from tests.live.control_plane.run import settle

SEED = 11
ROOT = Path(__file__).parents[3]
PLUGINS = (
    f"{ROOT}/plugins/template/packing.py",
    f"{ROOT}/tests/serve/plugins.py:Even",
    f"{ROOT}/tests/serve/plugins.py:TenPods",
)
POINTS = {
    "filter": {"enabled": [{"name": "Packing"}, {"name": "TenPods"}]},
    "score": {"enabled": [{"name": "Even", "weight": 2}]},
}
DOWN_SECONDS = 2.0
KSCHED = (sys.executable, "-m", "ksched_cli")


def objects(node_count: int, pod_count: int) -> Iterator[Manifest]:
    draw = random.Random(SEED)
    yield from priority_classes()
    yield from nodes(draw, node_count, plain=True)
    for number in range(pod_count):
        yield pod(f"pod-{number:04}", amounts(draw), priorityClassName="middle")


class Served:
    """The server's command line, and where it listens."""

    def __init__(self, minor: str, folder: Path) -> None:
        config = folder / "in-process.json"
        kind = {"apiVersion": API_VERSION, "kind": KIND}
        config.write_text(json.dumps({**kind, "profiles": [{"plugins": POINTS}]}))
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
        plane.api.create(objects(node_count, pod_count))
        before = plane.snapshot(folder / "before.json")
        served.start(plane)
        plane.start_scheduler({"extenders": served.extenders()})
        wait("half of the pods", lambda: placed(plane) > pod_count // 2, 600)
        plane.kill("extender")
        time.sleep(DOWN_SECONDS)
        served.start(plane)
        settle(plane)
        after = plane.snapshot(folder / "after.json", "--events")
        plane.stop("kube-scheduler")
        plane.stop("extender")
    line = [*KSCHED, "audit", "-o", "json", f"--before={before}", f"--after={after}"]
    line += [f"--scheduler-log={folder / 'kube-scheduler.log'}", *served.in_process]
    run = subprocess.run(line, capture_output=True, text=True, check=False)
    if run.returncode not in (0, 1):
        raise RuntimeError(f"ksched audit ended with {run.returncode}:\n{run.stderr}")
    answer: dict[str, Any] = json.loads(run.stdout)
    return answer


def placed(plane: ControlPlane) -> int:
    return sum(bool(each["spec"].get("nodeName")) for each in plane.api.pods())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kubernetes-version", default="1.34", choices=MINORS)
    parser.add_argument("--nodes", type=int, default=60)
    parser.add_argument("--pods", type=int, default=500)
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="ksched-served-"))
    audit = play(options.kubernetes_version, options.nodes, options.pods, folder)
    print(
        f"{audit['agree']} of {audit['decisions']} decisions agree, {len(audit['differ'])} differ, "
        f"{len(audit['unexplained'])} are unexplained"
    )
    for item in (*audit["differ"][:8], *audit["unexplained"][:8]):
        print(f"    {item}")
    if audit["differ"] or audit["unexplained"]:
        print(f"    states and logs are in {folder}")
        return 1
    shutil.rmtree(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
