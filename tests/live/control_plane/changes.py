"""The same change done by kubectl to a real cluster, and by ksched to what that cluster was.

    python -m tests.live.control_plane.changes [--kubernetes-version MINOR]

The scheduler stands still while kubectl and the controllers do their part: what they leave is
compared with the changed state. Then it runs: what it places is compared with ksched's placements,
of which any way to break ties will do. A line per change; exit code 1 when some differs.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from ksched_cli.cluster.loading.load import load_state
from ksched_cli.cluster.state import ClusterState
from ksched_cli.config.load import load_configuration
from ksched_cli.engine.engine import Options
from ksched_cli.engine.scheduling_cycle import RandomChoice, first_by_name
from ksched_cli.engine.simulation import Simulation
from ksched_cli.kube.versions import release_of
from ksched_cli.plugins import registry_of
from ksched_cli.scenario.change import apply_changes
from ksched_cli.scenario.file import parse_change
from tests.live.control_plane.api import wait
from tests.live.control_plane.build import MINORS, binaries
from tests.live.control_plane.cluster import ControlPlane
from tests.live.control_plane.manifests import ZONE, Manifest, node, priority_classes, workload

CONTROLLERS = (
    "replicaset-controller",
    "deployment-controller",
    "statefulset-controller",
    "daemonset-controller",
    "disruption-controller",
    "taint-eviction-controller",
)
SCALED_DOWN = "scale deployment/web --replicas=9"
# In the order in which they are done to one cluster.
CHANGES = (
    "scale deployment/web --replicas=14",
    SCALED_DOWN,
    "drain node-2 --ignore-daemonsets",
    "taint nodes node-5 maintenance=tonight:NoExecute",
    "cordon node-3",
    "scale statefulset/db --replicas=5",
    "uncordon node-2",
    "label nodes node-4 role-",
    "drain node-4 node-6 --ignore-daemonsets",
    "scale deployment/api --replicas=12",
    "scale statefulset/db --replicas=1",
    "taint nodes node-5 maintenance-",
    "scale deployment/big --replicas=6",
)
QUIET_SECONDS = 4.0
DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"
# Draws among equally good nodes that are tried before placements count as different.
MAX_DRAWS = 30

_ATTEMPT = re.compile(r'"Attempting to schedule pod" pod="([^"]+)"')

Homes = Counter[tuple[str, str]]
"""App and node, "" for none → how many pods."""


@dataclass(frozen=True, slots=True)
class Difference:
    """after_change: before the scheduler runs, else after it. real, simulated: what only this one
    has"""

    after_change: bool
    real: Homes
    simulated: Homes


def objects() -> list[Manifest]:
    """Nodes of eight sizes, so that few are equally good, and workloads of as many priorities."""
    machines = [
        node(f"node-{i}", 3 + i, 6 + 3 * i, labels={ZONE: f"zone-{'ab'[i % 2]}", "role": "edge"})
        for i in range(8)
    ]
    budget = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "db", "namespace": "default"},
        "spec": {"maxUnavailable": 1, "selector": {"matchLabels": {"app": "db"}}},
    }
    apart = {
        "maxSkew": 1,
        "topologyKey": ZONE,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "db"}},
    }
    return [
        *priority_classes(),
        *machines,
        budget,
        workload(
            "DaemonSet",
            "agent",
            None,
            {"cpu": "100m", "memory": "700Mi"},
            "high",
            nodeSelector={"role": "edge"},
        ),
        workload(
            "StatefulSet",
            "db",
            3,
            {"cpu": "900m", "memory": "700Mi"},
            "high",
            topologySpreadConstraints=[apart],
        ),
        workload("Deployment", "api", 6, {"cpu": "700m", "memory": "700Mi"}, "middle"),
        workload("Deployment", "web", 8, {"cpu": "300m", "memory": "700Mi"}, "low"),
        workload("Deployment", "big", 2, {"cpu": "2500m", "memory": "700Mi"}, ""),
    ]


class Comparison:
    """One control plane, and one change after the other done to it."""

    def __init__(self, plane: ControlPlane, minor: str, folder: Path) -> None:
        self.plane, self.minor, self.folder = plane, minor, folder

    def start(self) -> None:
        """Raises where the control plane does not come up."""
        self.plane.start_kwok()
        self.plane.start(
            "kube-controller-manager",
            f"--kubeconfig={self.plane.kubeconfig}",
            f"--controllers={','.join(CONTROLLERS)}",
            "--leader-elect=false",
            "--secure-port=0",
        )
        manifests = {"apiVersion": "v1", "kind": "List", "items": objects()}
        self._kubectl(["create", "--validate=false", "-f", "-"], json.dumps(manifests))
        self._schedule()

    def compare(self, line: str) -> list[Difference]:
        if line == SCALED_DOWN:
            self._set_deletion_costs("web", 5)
        before = self._state()
        self._kubectl(shlex.split(line), check=False)
        self._settle()
        changed, _ = apply_changes(before, [parse_change(line)])
        differences = []
        if difference := _difference(True, homes(self._state()), homes(changed)):
            differences.append(difference)
        self._schedule()
        real = homes(self._state())
        simulated = [self._placed(changed, seed) for seed in (None, *range(MAX_DRAWS))]
        if real not in simulated:
            difference = _difference(False, real, simulated[0])
            differences += [difference] if difference else []
        return differences

    def _schedule(self) -> None:
        """Lets the scheduler place what waits."""
        waiting = [
            pod["metadata"]["name"]
            for pod in self.plane.api.pods()
            if not pod["spec"].get("nodeName")
        ]
        self.plane.start_scheduler({})
        wait("attempts for all pods", lambda: self._are_attempted(waiting), 120)
        self._settle()
        self.plane.stop("kube-scheduler")

    def _are_attempted(self, names: Iterable[str]) -> bool:
        self.plane.check()
        log = (self.folder / "kube-scheduler.log").read_text(errors="replace")
        attempts = set(_ATTEMPT.findall(log))
        return all(f"default/{name}" in attempts for name in names)

    def _set_deletion_costs(self, app: str, count: int) -> None:
        """So that it is clear which pods are removed: else ages of seconds would decide."""
        pods = [pod for pod in self.plane.api.pods() if pod["metadata"]["labels"]["app"] == app]
        names = sorted(pod["metadata"]["name"] for pod in pods)
        for cost, name in enumerate(names[:count], -count):
            self._kubectl(["annotate", "pod", name, f"{DELETION_COST}={cost}"])

    def _settle(self) -> None:
        """Until nothing has happened for a while."""
        quiet_since, last = time.monotonic(), ""
        deadline = quiet_since + 300
        while time.monotonic() - quiet_since < QUIET_SECONDS:
            if time.monotonic() > deadline:
                raise TimeoutError("the cluster did not come to rest within five minutes")
            self.plane.check()
            current = repr(sorted(map(_condition, self.plane.api.pods())))
            if current != last or "deleting" in current:
                quiet_since, last = time.monotonic(), current
            time.sleep(0.5)

    def _state(self) -> ClusterState:
        return load_state([str(self.plane.snapshot(self.folder / "state.json"))])

    def _kubectl(self, arguments: Iterable[str], text: str = "", *, check: bool = True) -> str:
        """Its output. A drain that a budget stops gives up after a while, and that is an answer."""
        command = [str(self.plane.binaries["kubectl"]), *arguments]
        command += ["--timeout=8s"] if "drain" in command else []
        run = subprocess.run(
            command,
            input=text,
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "KUBECONFIG": str(self.plane.kubeconfig)},
        )
        if run.returncode and check:
            raise RuntimeError(f"{shlex.join(command)}: {run.stderr}")
        if run.returncode:
            print(f"    kubectl: {run.stderr.strip().splitlines()[-1]}", file=sys.stderr)
        return run.stdout

    def _placed(self, state: ClusterState, seed: int | None) -> Homes:
        """Where pods are after a run of ksched. seed: of draws among equally good nodes"""
        registry = registry_of(release_of(self.minor, ""), ())
        configuration = load_configuration(None, "", registry)
        draw = first_by_name if seed is None else RandomChoice(seed)
        run = Simulation(state, configuration, registry, Options(tie_break=draw)).run()
        evicted = {eviction.pod for eviction in run.evicted}
        return Counter(
            (pod.metadata.labels["app"], pod.node_name or run.placements.get(pod.key, ""))
            for pod in state.pods
            if pod.key not in evicted
        )


def _condition(pod: Manifest) -> tuple[str, ...]:
    """What of a pod says that something is going on."""
    return (
        pod["metadata"]["name"],
        pod["spec"].get("nodeName", ""),
        pod["status"].get("phase", ""),
        "deleting" if pod["metadata"].get("deletionTimestamp") else "",
        repr(sorted(c["type"] + c["status"] for c in pod["status"].get("conditions", ()))),
    )


def homes(state: ClusterState) -> Homes:
    return Counter((pod.metadata.labels["app"], pod.node_name) for pod in state.pods)


def _difference(after_change: bool, real: Homes, simulated: Homes) -> Difference | None:
    if real == simulated:
        return None
    return Difference(after_change, real - simulated, simulated - real)


def compare_all(minor: str, folder: Path) -> dict[str, list[Difference]]:
    """By change. folder: for states and logs"""
    answer = {}
    with ControlPlane(binaries(minor), folder) as plane:
        comparison = Comparison(plane, minor, folder)
        comparison.start()
        for line in CHANGES:
            answer[line] = comparison.compare(line)
            _show(line, answer[line])
    return answer


def _show(line: str, differences: list[Difference]) -> None:
    print(f"{'differs' if differences else 'agrees':<8} {line}", flush=True)
    for difference in differences:
        moment = "after the change" if difference.after_change else "after scheduling"
        print(f"    {moment}: real only {dict(difference.real)}")
        print(f"    {moment}: ksched only {dict(difference.simulated)}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--kubernetes-version", default="1.34", choices=MINORS)
    minor = parser.parse_args().kubernetes_version
    with tempfile.TemporaryDirectory(prefix="ksched-live-") as folder:
        answer = compare_all(minor, Path(folder))
    agreeing = sum(not differences for differences in answer.values())
    print(f"{agreeing} of {len(answer)} changes leave what kubectl and the scheduler leave")
    return 0 if agreeing == len(answer) else 1


if __name__ == "__main__":
    sys.exit(main())
