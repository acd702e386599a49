"""rollout restart KIND/NAME, set resources KIND/NAME --requests=… --limits=… [-c CONTAINER]"""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from ksched_cli.cluster.change_record import Effect
from ksched_cli.cluster.loading.kinds import KINDS
from ksched_cli.cluster.state import ClusterState
from ksched_cli.scenario.arguments import Arguments
from ksched_cli.scenario.change import Changed
from ksched_cli.scenario.objects import Manifest, plain_object, replaced
from ksched_cli.scenario.pods import is_running, moved, pending_again
from ksched_cli.scenario.targets import (
    Target,
    TargetsChange,
    Workload,
    current_pods,
    find_workload,
    read_targets,
)

RESTARTABLE = ("Deployment", "StatefulSet", "DaemonSet")
WITH_TEMPLATE = (*RESTARTABLE, "ReplicaSet", "ReplicationController")


def restarted(state: ClusterState, workload: Workload) -> Changed:
    """Its running pods pending again, all in one step."""
    running = [pod for pod in workload.pods if is_running(pod)]
    return pending_again(state, running), moved(running)


@dataclass(frozen=True, slots=True)
class RolloutRestart(TargetsChange):
    @staticmethod
    def parse(arguments: Arguments) -> RolloutRestart:
        return RolloutRestart(arguments.text, read_targets(arguments, RESTARTABLE))

    def apply_to(self, state: ClusterState, target: Target) -> Changed:
        return restarted(state, find_workload(self, state, target))


@dataclass(frozen=True, slots=True)
class SetResources(TargetsChange):
    """requests, limits: resource and amount. container: a name, "*" in it for any characters."""

    requests: tuple[tuple[str, str], ...]
    limits: tuple[tuple[str, str], ...]
    container: str

    @staticmethod
    def parse(arguments: Arguments) -> SetResources:
        requests = _amounts(arguments, "--requests")
        limits = _amounts(arguments, "--limits")
        if not requests and not limits:
            raise arguments.error("expected --requests=cpu=200m,memory=512Mi or --limits=…")
        targets = read_targets(arguments, WITH_TEMPLATE)
        container = arguments.flags.get("--containers", "*")
        return SetResources(arguments.text, targets, requests, limits, container)

    def apply_to(self, state: ClusterState, target: Target) -> Changed:
        workload = find_workload(self, state, target)
        effects = [Effect(workload.text, "resources set")]
        state, more = restarted(state, workload)
        pods = [plain_object(KINDS["Pod"], pod) for pod in current_pods(state, workload)]
        count = sum(self._edit(pod["spec"]) for pod in pods)
        state = replaced(state, KINDS["Pod"], pods)
        objects: list[tuple[str, Any]] = [("ReplicaSet", rs) for rs in workload.replica_sets]
        objects += [(workload.kind, workload.obj)] if workload.obj is not None else []
        for kind, obj in objects:
            plain = plain_object(KINDS[kind], obj)
            spec = ((plain.get("spec") or {}).get("template") or {}).get("spec") or {}
            count += self._edit(spec)
            state = replaced(state, KINDS[kind], [plain])
        if not count:
            raise self.error(f'{workload.text} has no container "{self.container}"')
        return state, effects + more

    def _edit(self, spec: Manifest) -> int:
        """Sets the resources in a pod's spec; how many containers that were. Upstream:
        SetResourcesOptions.Run."""
        containers = [
            container
            for part in ("containers", "initContainers")
            for container in spec.get(part) or ()
            if fnmatchcase(container.get("name") or "", self.container)
        ]
        for container in containers:
            resources = dict(container.get("resources") or {})
            for part, amounts in (("requests", self.requests), ("limits", self.limits)):
                if amounts:
                    resources[part] = {**(resources.get(part) or {}), **dict(amounts)}
            container["resources"] = resources
        return len(containers)


def _amounts(arguments: Arguments, flag: str) -> tuple[tuple[str, str], ...]:
    """Reads "cpu=200m,memory=512Mi". Raises ChangeError."""
    text = arguments.flags.get(flag, "")
    pairs = [part.partition("=") for part in text.split(",") if part]
    for name, _, amount in pairs:
        if not name or not amount:
            raise arguments.error(f'{flag}: "{name}" is not RESOURCE=AMOUNT, such as cpu=200m')
    return tuple((name, amount) for name, _, amount in pairs)
