"""Remedies of `ksched fix`, done by kubectl to a real cluster: what becomes of the pods is what was
promised.

    python -m tests.live.control_plane.remedies [--kubernetes-version MINOR] [--count N] [--seed S]
        [--kind KIND] [--keep FOLDER]

Workloads that wait for random reasons come to a random cluster, one after the other. `ksched fix`
is asked about each, and one of its remedies is made: by its printed commands, or, where it adds
nodes, by writing them. Pods that move do so one after the other. --kind: remedies of this kind
alone; of kind move, in clusters whose free room is in many places. The scheduler and the
controllers run all the time, and KWOK is the kubelet.
A promise is kept if all pods asked about have a node then. Some are broken by races that no state
shows: the pods that come for evicted ones may be tried first, and others may take a new node before
its DaemonSets' pods. Exit code 1 when fewer than nine of ten are kept. --keep has the logs, and for
each promise that is broken the state and the answer of `fix` before, and the state after.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from ksched_cli.analysis.proposals import COSTS
from ksched_cli.cluster.loading.kinds import KINDS
from ksched_cli.cluster.loading.load import load_state
from ksched_cli.commands.main import application
from ksched_cli.scenario.change import apply_changes
from ksched_cli.scenario.file import parse_change
from ksched_cli.scenario.objects import plain_object
from tests.live.control_plane.api import ApiError
from tests.live.control_plane.build import MINORS, binaries
from tests.live.control_plane.cluster import ControlPlane
from tests.live.control_plane.manifests import (
    GPU,
    ZONE,
    ZONES,
    Manifest,
    near,
    node,
    priority_classes,
    spread,
    workload,
)

CONTROLLERS = (
    "deployment-controller",
    "replicaset-controller",
    "statefulset-controller",
    "daemonset-controller",
    "job-controller",
    "disruption-controller",
    "garbage-collector-controller",
    "persistentvolume-binder-controller",
    "taint-eviction-controller",
)
# What waits is tried again soon.
PROFILES = {"podInitialBackoffSeconds": 1, "podMaxBackoffSeconds": 1}
QUIET_SECONDS, SETTLED_WITHIN = 2.5, 120.0
WORKLOADS_PER_CLUSTER = 8
HOST = "kubernetes.io/hostname"
NAMESPACE = "default"
# How many pods there are to be: where, and in which field of the spec.
SCALED = {
    "Deployment": ("apps/v1", "deployments", "replicas"),
    "ReplicaSet": ("apps/v1", "replicasets", "replicas"),
    "StatefulSet": ("apps/v1", "statefulsets", "replicas"),
    "Job": ("batch/v1", "jobs", "parallelism"),
}


@dataclass(slots=True)
class Trial:
    """A remedy that was made.

    pods: promised to have a node; waiting: those of them that have none
    extra: owner → how many more pods of others wait than was said
    problem: a command that failed; gone: a pod had left before it was to be deleted
    """

    subject: str
    kinds: tuple[str, ...]
    text: str
    commands: tuple[str, ...]
    pods: int
    waiting: list[str] = field(default_factory=list)
    extra: Counter[str] = field(default_factory=Counter)
    problem: str = ""
    gone: bool = False

    @property
    def is_fulfilled(self) -> bool:
        return not self.waiting and not self.problem


# -- random clusters and workloads ----------------------------------------------------------------


def cluster(draw: random.Random) -> list[Manifest]:
    """Nodes in three zones, and the workloads that run on them."""
    nodes = []
    for number in range(draw.randrange(5, 9)):
        taints = []
        if draw.random() < 0.25:
            value, effect = draw.choice(["batch", "gpu"]), "NoSchedule"
            taints.append({"key": "dedicated", "value": value, "effect": effect})
        fields: dict[str, Any] = {
            "labels": {ZONE: ZONES[number % 3], "disk": draw.choice(["ssd", "hdd"])},
            "taints": taints,
            "gpus": draw.choice([0, 0, 0, 2]),
            "unschedulable": draw.random() < 0.15,
        }
        size = draw.choice([4, 4, 8])
        nodes.append(node(f"node-{number}", size, 4 * size, **fields))
    running = []
    for number in range(draw.randrange(2, 5)):
        name = f"run-{number}"
        kind = draw.choice(["Deployment", "Deployment", "StatefulSet"])
        replicas, cpu = draw.randrange(1, 5), draw.choice(["500m", "1", "1500m"])
        priority = draw.choice(["", "low", "middle"])
        running.append(workload(kind, name, replicas, {"cpu": cpu}, priority))
    agent = workload("DaemonSet", "agent", None, {"cpu": "100m"}, "high")
    agent["spec"]["template"]["spec"]["tolerations"] = [{"operator": "Exists"}]
    guarded = draw.choice(running)["metadata"]["name"]
    budget = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": guarded, "namespace": NAMESPACE},
        "spec": {"maxUnavailable": 1, "selector": {"matchLabels": {"app": guarded}}},
    }
    return [*nodes, agent, *running, budget]


def full_cluster(draw: random.Random) -> list[Manifest]:
    """Nodes with a little room each, and workloads that run on them, whose pods may move."""
    sizes = [draw.choice([4, 4, 8]) for _ in range(draw.randrange(5, 9))]
    labels = ({"disk": draw.choice(["ssd", "hdd"])} for _ in sizes)
    nodes = [
        node(f"node-{number}", size, 4 * size, labels=own)
        for number, (size, own) in enumerate(zip(sizes, labels, strict=True))
    ]
    running, left = list[Manifest](), sum(sizes) - draw.uniform(0.8, 1.2) * len(sizes)
    while left > 0:
        cpu, replicas = draw.choice([500, 1000, 1500]), draw.randrange(2, 5)
        left -= cpu / 1000 * replicas
        kind = draw.choice(["Deployment", "Deployment", "StatefulSet"])
        name = f"run-{len(running)}"
        running.append(workload(kind, name, replicas, {"cpu": f"{cpu}m"}, draw.choice(["", "low"])))
    return [*nodes, *running]


def large_pod(draw: random.Random, name: str) -> Manifest:
    """A pod that needs more than most nodes have free."""
    kind = draw.choice(["Pod", "Deployment"])
    return workload(kind, name, 1, {"cpu": draw.choice(["1500m", "2", "2500m"])}, "")


def waiting_workload(draw: random.Random, name: str) -> Manifest:
    """A workload with one to three obstacles."""
    kind = draw.choice(WAITING_KINDS)
    cpu = draw.choice(["250m", "500m", "1", "2"])
    priority = draw.choice(["", "", "low", "middle"])
    manifest = workload(kind, name, draw.randrange(1, 5), {"cpu": cpu}, priority)
    spec: Manifest = manifest["spec"] if kind == "Pod" else manifest["spec"]["template"]["spec"]
    for obstacle in draw.sample(sorted(OBSTACLES), draw.choice([1, 1, 1, 2, 3])):
        most = OBSTACLES[obstacle](draw, name, spec)
        if kind != "Pod" and most:
            count = draw.randrange(4, most)
            fields = ("parallelism", "completions") if kind == "Job" else ("replicas",)
            manifest["spec"] |= dict.fromkeys(fields, count)
    if kind == "StatefulSet":
        manifest["spec"]["podManagementPolicy"] = draw.choice(["Parallel", "OrderedReady"])
    return manifest


def _requests(draw: random.Random, spec: Manifest, name: str, *amounts: str) -> int:
    resources = spec["containers"][0]["resources"]
    resources["requests"][name] = draw.choice(amounts)
    if "/" in name:
        resources["limits"][name] = resources["requests"][name]
    return 0


def _selects(draw: random.Random, name: str, spec: Manifest) -> int:
    pairs = [("disk", "sdd"), ("disk", "nvme"), (ZONE, "zone-d"), ("pool", "web")]
    spec["nodeSelector"] = dict([draw.choice(pairs)])
    return 0


def _is_near(draw: random.Random, name: str, spec: Manifest) -> int:
    app = draw.choice(["run-0", "run-1", "nobody"])
    spec["affinity"] = {"podAffinity": near(app, draw.choice([ZONE, HOST]))}
    return 0


def _is_apart(draw: random.Random, name: str, spec: Manifest) -> int:
    app = draw.choice([name, name, "agent"])
    spec["affinity"] = {"podAntiAffinity": near(app, draw.choice([ZONE, HOST]))}
    return 0


def _is_spread(draw: random.Random, name: str, spec: Manifest) -> int:
    spec["topologySpreadConstraints"] = [spread(draw.choice([ZONE, HOST]), name, hard=True)]
    return 12


def _has_port(draw: random.Random, name: str, spec: Manifest) -> int:
    spec["containers"][0]["ports"] = [{"containerPort": 80, "hostPort": 8080}]
    return 10


def _is_gated(draw: random.Random, name: str, spec: Manifest) -> int:
    spec["schedulingGates"] = [{"name": "example.com/approved"}]
    return 0


def _has_claim(draw: random.Random, name: str, spec: Manifest) -> int:
    volume = {"persistentVolumeClaim": {"claimName": f"data-{name}"}}
    spec["volumes"] = [{"name": "data", **volume}]
    return 0


WAITING_KINDS = ("Pod", "Deployment", "Deployment", "StatefulSet", "ReplicaSet", "Job")
# Each changes the pod's spec, and returns how many replicas there may be because of it.
OBSTACLES: dict[str, Callable[[random.Random, str, Manifest], int]] = {
    "size": lambda draw, _, spec: _requests(draw, spec, "cpu", "3", "5", "7", "9"),
    "memory": lambda draw, _, spec: _requests(draw, spec, "memory", "20Gi", "30Gi", "40Gi"),
    "gpu": lambda draw, _, spec: _requests(draw, spec, GPU, "1", "2", "4"),
    "selector": _selects,
    "affinity": _is_near,
    "apart": _is_apart,
    "spread": _is_spread,
    "port": _has_port,
    "gate": _is_gated,
    "claim": _has_claim,
    "many": lambda *_: 20,
}


# -- one control plane ----------------------------------------------------------------------------


class Trials:
    """A control plane, and one remedy after the other made in it."""

    def __init__(self, plane: ControlPlane, folder: Path, seed: int, kind: str = "") -> None:
        """kind: of the remedies; "" for any"""
        self.plane, self.folder, self.seed, self.kind = plane, folder, seed, kind
        self.draw = random.Random(seed)
        self.without_remedy = 0
        self._missed = False
        self._number = 0

    def start(self) -> None:
        """Raises where the control plane does not come up."""
        self.plane.start_kwok()
        self.plane.start(
            "kube-controller-manager",
            f"--kubeconfig={self.plane.kubeconfig}",
            f"--controllers={','.join(CONTROLLERS)}",
            "--leader-elect=false",
            "--secure-port=0",
            "--kube-api-qps=500",
            "--kube-api-burst=500",
        )
        self.plane.start_scheduler(PROFILES, verbosity=2)
        self.plane.api.create(priority_classes())

    def renew(self, build: Callable[[random.Random], list[Manifest]]) -> None:
        """Begin anew, with another cluster."""
        self._clear()
        self.plane.api.create(build(self.draw))
        self.settle()

    def run(self) -> Iterator[Trial]:
        """Make remedies, without end."""
        number = 0
        while True:
            moves = self.kind == "move"
            self.renew(full_cluster if moves else cluster)
            for _ in range(WORKLOADS_PER_CLUSTER):
                number += 1
                name = f"w-{number}"
                manifest = (large_pod if moves else waiting_workload)(self.draw, name)
                self.plane.api.create([manifest])
                self.settle()
                if not self._waiting(name, manifest):
                    continue
                trial = self._try(manifest["kind"], name, manifest)
                if trial is not None:
                    yield trial

    def _answer(self, subject: str, state: Path) -> dict[str, Any]:
        """Return what `fix` says of the workload in the state."""
        arguments = ["fix", subject, "--state", str(state), "-o", "json"]
        if not subject.startswith(f"{NAMESPACE}/"):
            arguments += ["-n", NAMESPACE]
        if self.kind:
            arguments += ["--never", ",".join(each for each in COSTS if each != self.kind)]
        answer: dict[str, Any] = json.loads(ksched(*arguments))
        return answer

    def _try(self, kind: str, name: str, manifest: Manifest) -> Trial | None:
        """Make one of the remedies of the workload; None where it has none."""
        state = self.folder / "state.json"
        kubeconfig = ("--kubeconfig", str(self.plane.kubeconfig))
        ksched("snapshot", str(state), *kubeconfig)
        subject = f"{NAMESPACE}/{name}" if kind == "Pod" else f"{kind.lower()}/{name}"
        answer = self._answer(subject, state)
        if not answer["remedies"]:
            self.without_remedy += 1
            return None
        self._number += 1
        remedy = self.draw.choice(answer["remedies"])
        before = self.pending()
        trial = Trial(
            subject,
            tuple(remedy["kinds"]),
            remedy["text"],
            tuple(remedy["commands"]),
            len(answer["pods"]),
        )
        try:
            self._make(state, remedy)
        except (RuntimeError, ApiError) as error:
            trial.problem = str(error)
        trial.gone = self._missed
        self.settle()
        trial.waiting = self._waiting(name, manifest)
        # What was said of others: those that lose their node, less those that get one.
        foretold = before + Counter(map(self.owner_of, remedy["also"]["pendingAgain"]))
        foretold.subtract(map(self.owner_of, remedy["also"]["placed"]))
        for owner, count in self.pending().items():
            if owner != name and count > foretold[owner]:
                trial.extra[owner] = count - foretold[owner]
        if not trial.is_fulfilled or trial.extra:
            broken = f"{self._number:03}-{name}"
            state.replace(self.folder / f"{broken}-before.json")
            (self.folder / f"{broken}-answer.json").write_text(json.dumps([remedy, answer]))
            ksched("snapshot", str(self.folder / f"{broken}-after.json"), *kubeconfig)
        return trial

    def _make(self, state: Path, remedy: dict[str, Any]) -> None:
        """Raises RuntimeError where a command fails."""
        self._missed = False
        for line, command in zip(remedy["changes"], remedy["commands"], strict=True):
            if line.startswith("add-nodes "):
                before = load_state([str(state)])
                after, _ = apply_changes(before, [parse_change(line)])
                there = {each.name for each in before.nodes}
                new = [each for each in after.nodes if each.name not in there]
                self.plane.api.create(_writable(plain_object(KINDS["Node"], each)) for each in new)
            elif command:
                self.shell(command)
            else:
                raise RuntimeError(f"no command for {line}")
            if remedy.get("moves"):
                self.settle()

    def shell(self, command: str) -> None:
        folder = self.plane.binaries["kubectl"].parent
        environment = {**os.environ, "KUBECONFIG": str(self.plane.kubeconfig)}
        environment["PATH"] = f"{folder}:{environment['PATH']}"
        run = subprocess.run(
            ["bash", "-o", "pipefail", "-c", command],
            capture_output=True,
            text=True,
            check=False,
            env=environment,
        )
        if run.returncode and " delete pods " in command and "(NotFound)" in run.stderr:
            self._missed = True
        elif run.returncode:
            raise RuntimeError(f"{command}: {run.stderr.strip()}")

    # -- what is there ----------------------------------------------------------------------------

    def _waiting(self, name: str, manifest: Manifest) -> list[str]:
        """The pods of the workload that have no node, or are missing."""
        pods = [pod for pod in self.plane.api.pods() if self._app_of(pod) == name]
        waiting = [p["metadata"]["name"] for p in pods if not p["spec"].get("nodeName")]
        count = 1
        if manifest["kind"] != "Pod":
            group, plural, field_name = SCALED[manifest["kind"]]
            path = f"apis/{group}/namespaces/{NAMESPACE}/{plural}/{name}"
            count = self.plane.api.call("GET", path)["spec"][field_name]
        return waiting + ["missing"] * (count - len(pods))

    @staticmethod
    def _app_of(pod: Manifest) -> str:
        return str(pod["metadata"].get("labels", {}).get("app", ""))

    @staticmethod
    def owner_of(key: str) -> str:
        """The workload of a pod, by its name: run-0, w-1, or agent."""
        first, *rest = key.partition("/")[2].split("-")
        return first if first == "agent" else f"{first}-{rest[0]}"

    def pending(self) -> Counter[str]:
        pods = self.plane.api.pods()
        return Counter(self._app_of(pod) for pod in pods if not pod["spec"].get("nodeName"))

    def settle(self) -> None:
        """Until nothing has happened for a while, and no pod is being placed."""
        quiet_since, last = time.monotonic(), ""
        deadline = quiet_since + SETTLED_WITHIN
        while time.monotonic() - quiet_since < QUIET_SECONDS:
            if time.monotonic() > deadline:
                raise TimeoutError(f"the cluster did not come to rest: {last[:2000]}")
            self.plane.check()
            pods = self.plane.api.pods()
            current = repr(sorted(map(_condition, pods))) + repr(self._unobserved())
            if current != last or "deleting" in current or "new" in current:
                quiet_since, last = time.monotonic(), current
            time.sleep(0.3)

    def _unobserved(self) -> list[str]:
        """ "new" for each workload that its controller has not seen yet."""
        return [
            "new"
            for plural in ("deployments", "statefulsets", "daemonsets", "replicasets")
            for item in self.plane.api.call("GET", f"apis/apps/v1/{plural}")["items"]
            if item["status"].get("observedGeneration") != item["metadata"]["generation"]
        ]

    def _clear(self) -> None:
        """Delete everything."""
        api, space = self.plane.api, f"namespaces/{NAMESPACE}"
        kinds = ("deployments", "statefulsets", "daemonsets", "replicasets")
        paths = [f"apis/apps/v1/{space}/{plural}" for plural in kinds]
        paths += [f"apis/apps/v1/{space}/controllerrevisions"]
        paths += [f"apis/batch/v1/{space}/jobs"]
        paths += [f"apis/policy/v1/{space}/poddisruptionbudgets"]
        paths += [f"api/v1/{space}/pods", f"api/v1/{space}/persistentvolumeclaims"]
        deadline = time.monotonic() + SETTLED_WITHIN
        while True:
            for path in paths:
                api.call("DELETE", path, {"gracePeriodSeconds": 0, "propagationPolicy": "Orphan"})
            if not any(api.call("GET", path)["items"] for path in paths):
                break
            if time.monotonic() > deadline:
                raise TimeoutError("the cluster could not be cleared")
            time.sleep(0.3)
        api.call("DELETE", "api/v1/nodes", {})


def _condition(pod: Manifest) -> tuple[str, ...]:
    """What of a pod says that something is going on."""
    conditions = pod["status"].get("conditions", ())
    is_bound = bool(pod["spec"].get("nodeName"))
    is_tried = any(c["type"] == "PodScheduled" for c in conditions)
    # Those of Jobs end soon.
    is_running = pod["status"].get("phase") in ("Running", "Succeeded")
    is_new = is_bound != is_running or not (is_bound or is_tried)
    return (
        pod["metadata"]["name"],
        pod["spec"].get("nodeName", ""),
        "deleting" if pod["metadata"].get("deletionTimestamp") else "",
        "new" if is_new else "",
        pod["status"].get("nominatedNodeName", ""),
    )


def _writable(manifest: dict[str, Any]) -> Manifest:
    """A node as it can be created."""
    metadata = {k: v for k, v in manifest["metadata"].items() if k in ("name", "labels")}
    return {**manifest, "apiVersion": "v1", "kind": "Node", "metadata": metadata}


def ksched(*arguments: str) -> str:
    """What a command prints. Raises RuntimeError where it fails."""
    run = CliRunner().invoke(application(arguments[:1]), arguments)
    if run.exit_code not in (0, 1) or (run.exception and run.exit_code not in (0, 1)):
        raise RuntimeError(f"ksched {shlex.join(arguments)}: {run.output}")
    return run.stdout


# -- the count ------------------------------------------------------------------------------------


def make_all(
    minor: str,
    folder: Path,
    count: int,
    seed: int,
    minutes: float = math.inf,
    kind: str = "",
) -> tuple[list[Trial], int]:
    """The trials, and how many workloads have no remedy. folder: for states and logs; minutes:
    after which no other trial begins"""
    deadline = time.monotonic() + 60 * minutes
    trials: list[Trial] = []
    with ControlPlane(binaries(minor), folder) as plane:
        machinery = Trials(plane, folder, seed, kind)
        machinery.start()
        for trial in machinery.run():
            trials.append(trial)
            _show(len(trials), trial)
            if len(trials) == count or time.monotonic() > deadline:
                break
    return trials, machinery.without_remedy


def _show(number: int, trial: Trial) -> None:
    verdict = "kept" if trial.is_fulfilled else "BROKEN"
    print(f"{number:>4} {verdict:<7}{'+'.join(trial.kinds):<24}{trial.subject}: {trial.text}")
    if trial.gone:
        print("     a pod had left before it was to be deleted")
    if trial.problem:
        print(f"     {trial.problem}")
    if trial.waiting:
        print(f"     without a node: {', '.join(trial.waiting)}")
    if trial.extra:
        print(f"     more of others wait than was said: {dict(trial.extra)}")
    if not trial.is_fulfilled:
        for command in trial.commands:
            print(f"     {command}")
    sys.stdout.flush()


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--kubernetes-version", default="1.34", choices=MINORS)
    parser.add_argument("--count", type=int, default=40, help="remedies")
    parser.add_argument("--minutes", type=float, default=math.inf, help="no more after these")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kind", choices=COSTS, default="", help="of the remedies")
    parser.add_argument("--keep", type=Path, help="folder for logs and states")
    options = parser.parse_args()
    # The control plane ends with this program.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    start = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="ksched-live-") as temporary:
        folder = options.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        minor, limits = (
            options.kubernetes_version,
            (
                options.count,
                options.seed,
                options.minutes,
                options.kind,
            ),
        )
        trials, without = make_all(minor, folder.resolve(), *limits)
    by_kind: dict[str, list[Trial]] = {}
    for trial in trials:
        by_kind.setdefault("+".join(trial.kinds), []).append(trial)
    for kind, group in sorted(by_kind.items(), key=lambda item: -len(item[1])):
        print(f"{kind:<32}{sum(each.is_fulfilled for each in group):>4} of {len(group)}")
    fulfilled = sum(trial.is_fulfilled for trial in trials)
    foreseen = sum(not trial.extra for trial in trials)
    print(
        f"{fulfilled} of {len(trials)} promises kept, the others as said in {foreseen}; "
        f"{without} workloads without remedy ({time.monotonic() - start:.0f} s)"
    )
    return 0 if fulfilled >= 0.9 * len(trials) else 1


if __name__ == "__main__":
    sys.exit(main())
