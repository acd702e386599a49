"""A cluster that lives for a while: recorded, audited, and replayed.

    python -m tests.live.control_plane.day [--kubernetes-version MINOR] [--minutes N] [--every S]
        [--crowded]

Pods come, end and are deleted, nodes join, change and leave, three or four times a second or as
often as --every says. No two nodes are ever equally good, so that the replay of the recording has
to place every pod where the real scheduler did.

With --crowded there is too little room: pods of three priorities evict each other, are evicted
through the API, and are deleted before they have a node, nominated ones first. Such a recording is
audited and not replayed, for how long its evictions took is the cluster's to say.

The recorder and the scheduler notice changes a moment apart. Where the scheduler tried a pod before
it had noticed what the recorder had, or after, the replay decides on another cluster, and so do all
later decisions. Where the replay differs, it is repeated with the recorded events in the order in
which the scheduler's log has them: then not one pod may be elsewhere. Exit code 1 when one is, or
when the audit finds a decision that differs.
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import random
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from tests.live.control_plane.api import Api, ApiError, Manifest, wait
from tests.live.control_plane.build import MINORS, binaries
from tests.live.control_plane.cluster import ControlPlane
from tests.live.control_plane.manifests import HOST, amounts, nodes, pod, priority_classes
from tests.live.control_plane.run import node_of, settle

SEED = 17
NODES, MOST_NODES = 40, 49
# How many nodes a crowded day has.
CROWDED_NODES = 12
# Between two steps by default, and between those that change a node.
STEP_SECONDS, NODE_SECONDS = 0.25, 15.0
# The verbosity at which the log tells when an update of a node was noticed.
VERBOSITY = 4
# So many seconds the recorder and the scheduler may notice the same at most.
MOST_APART = 5.0
_EVENTS = {
    "Attempting to schedule pod": "attempt",
    "Delete event for scheduled pod": "departure",
    "Add event for node": "change",
    "Update event for node": "change",
    "Delete event for node": "departure",
}
_LOGGED = re.compile(
    rf'I(?P<time>\d{{4}} [\d:.]+) .*?\] "(?P<event>{"|".join(_EVENTS)})" '
    '(?:pod|node)="(?P<name>[^"]+)"'
)
# How many steps a pod is there.
LEAST_LIFE, MOST_LIFE = 40, 900
# Each of the plugins that score by what nodes hold outweighs the preference of a host, which is
# another one for each: no two nodes are equally good.
_HEAVY = ("NodeResourcesFit", "NodeResourcesBalancedAllocation", "TaintToleration")
CONFIG: dict[str, Any] = {
    "profiles": [
        {
            "plugins": {
                "score": {
                    "disabled": [{"name": "*"}],
                    "enabled": [
                        *({"name": name, "weight": 101} for name in _HEAVY),
                        {"name": "NodeAffinity", "weight": 1},
                    ],
                }
            }
        }
    ]
}


def preferences() -> Manifest:
    """Another weight for each host."""
    terms = []
    for number in range(MOST_NODES):
        host = {"key": HOST, "operator": "In", "values": [f"node-{number:03}"]}
        preference = {"matchExpressions": [host]}
        terms.append({"weight": 100 - 2 * number, "preference": preference})
    return {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": terms}}


@dataclass(slots=True)
class Day:
    """api: of the cluster; every: seconds between two steps; ends: step → names of the pods that
    end then; here: names of its nodes; created: how many pods came; count: of the nodes at first;
    is_crowded: see above"""

    api: Api
    machines: list[Manifest]
    every: float
    count: int = NODES
    is_crowded: bool = False
    draw: random.Random = field(default_factory=lambda: random.Random(SEED))
    ends: dict[int, list[str]] = field(default_factory=dict)
    here: list[str] = field(default_factory=list)
    created: int = 0

    def live(self, seconds: float) -> None:
        start, step, changed = time.monotonic(), 0, 0.0
        self.here = [each["metadata"]["name"] for each in self.machines[: self.count]]
        while (now := time.monotonic() - start) < seconds:
            step += 1
            for name in self.ends.pop(step, ()):
                self._end(name)
            if now - changed > NODE_SECONDS:
                self._change_node()
                changed = now
            elif self.is_crowded and self.draw.random() < 0.25:
                self.draw.choice([self._evict, self._withdraw])()
            else:
                self._come(step)
            remaining = start + step * self.every - time.monotonic()
            time.sleep(max(remaining, 0.02))

    def _come(self, step: int) -> None:
        priority = self.draw.choice(["low", "middle", *(["high"] if self.is_crowded else [])])
        name = f"pod-{self.created:05}"
        requests = {"cpu": "200m", **amounts(self.draw)}
        fields: dict[str, Any] = {"priorityClassName": priority, "affinity": preferences()}
        if self.is_crowded:
            requests["cpu"] = self.draw.choice(["1", "2", "3"])
            fields["terminationGracePeriodSeconds"] = 2
        self.api.create([pod(name, requests, **fields)])
        self.created += 1
        life = self.draw.randrange(LEAST_LIFE, MOST_LIFE)
        self.ends.setdefault(step + life, []).append(name)

    def _end(self, name: str) -> None:
        """Half of the pods are done before they are deleted. One that was evicted is gone."""
        with unless_gone():
            if self.draw.random() < 0.5:
                content = {"Content-Type": "application/merge-patch+json"}
                path = f"api/v1/namespaces/default/pods/{name}/status"
                self.api.call("PATCH", path, {"status": {"phase": "Succeeded"}}, **content)
            self.api.delete_pods([name])

    def _evict(self) -> None:
        """Through the API, as a drain does."""
        bound = [each["metadata"]["name"] for each in self.api.pods() if node_of(each)]
        if bound:
            name = self.draw.choice(sorted(bound))
            eviction: Manifest = {"apiVersion": "policy/v1", "kind": "Eviction"}
            eviction["metadata"] = {"name": name, "namespace": "default"}
            with unless_gone():
                self.api.call("POST", f"api/v1/namespaces/default/pods/{name}/eviction", eviction)
            self._forget(name)

    def _withdraw(self) -> None:
        """Delete a pod that has no node, a nominated one if there is any."""
        waiting = [each for each in self.api.pods() if not node_of(each)]
        nominated = [each for each in waiting if each["status"].get("nominatedNodeName")]
        names = sorted(each["metadata"]["name"] for each in nominated or waiting)
        if names:
            name = self.draw.choice(names)
            with unless_gone():
                self.api.delete_pods([name])
            self._forget(name)

    def _forget(self, name: str) -> None:
        """The pod does not end of its own accord any more."""
        for ending in self.ends.values():
            ending[:] = [each for each in ending if each != name]

    def _change_node(self) -> None:
        kind = self.draw.choice(["cordon", "uncordon", "taint", "label", "join", "leave"])
        name = self.draw.choice(self.here)
        absent = [each for each in self.machines if each["metadata"]["name"] not in self.here]
        if kind in ("cordon", "uncordon"):
            self.api.patch_node(name, {"spec": {"unschedulable": kind == "cordon" or None}})
        elif kind == "taint":
            taint = {"key": "worn", "value": "yes", "effect": "PreferNoSchedule"}
            self.api.patch_node(name, {"spec": {"taints": self.draw.choice([[taint], []])}})
        elif kind == "label":
            labels = {"disk": self.draw.choice(["ssd", "hdd"])}
            self.api.patch_node(name, {"metadata": {"labels": labels}})
        elif kind == "join" and absent:
            self.api.create(absent[:1])
            self.here.append(absent[0]["metadata"]["name"])
        elif len(self.here) > self.count - 5:
            self.api.delete_nodes([name])
            self.here.remove(name)
            own = [p for p in self.api.pods() if p["spec"].get("nodeName") == name]
            names = {each["metadata"]["name"] for each in own}
            for each in sorted(names):
                with unless_gone():
                    self.api.delete_pods([each])
            for ending in self.ends.values():
                ending[:] = [each for each in ending if each not in names]


@contextmanager
def unless_gone() -> Iterator[None]:
    """What the API server refuses because a pod is gone by now is nothing to do."""
    try:
        yield
    except ApiError as error:
        if ": 404 " not in str(error):
            raise


def machines() -> list[Manifest]:
    """Without images: kube-scheduler counts the nodes that have one as they were when a pod last
    came to or left the node, see docs/audit.md."""
    manifests = nodes(random.Random(SEED), MOST_NODES, plain=True)
    for manifest in manifests:
        del manifest["status"]["images"]
    return manifests


def ksched(*arguments: str) -> tuple[str, float]:
    """What it prints, and the seconds it takes."""
    start = time.monotonic()
    command = [sys.executable, "-m", "ksched_cli", *arguments]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    if run.returncode not in (0, 1):
        raise RuntimeError(f"ksched {arguments[0]} ended with {run.returncode}:\n{run.stderr}")
    return run.stdout, time.monotonic() - start


def bound(timeline: Path) -> dict[str, str]:
    """Pod → the node that it was bound to, as recorded."""
    events = map(json.loads, timeline.read_text().splitlines()[1:])
    decisions = (event["decision"] for event in events if "decision" in event)
    return {f"{d['namespace']}/{d['name']}": d["node"] for d in decisions if d.get("node")}


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--kubernetes-version", default="1.34", choices=MINORS)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--every", type=float, default=STEP_SECONDS, metavar="S")
    parser.add_argument("--crowded", action="store_true", help="with evictions")
    parser.add_argument("--keep", type=Path, help="keep the recording and the logs in this folder")
    options = parser.parse_args()
    minor = options.kubernetes_version
    folder = (options.keep or Path(tempfile.mkdtemp(prefix="ksched-live-"))).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    crowded: bool = options.crowded
    timeline = play(minor, 60 * options.minutes, options.every, folder, is_crowded=crowded)
    rules = ("--config", str(folder / "scheduler.yaml"), "--kubernetes-version", minor)
    differ = audited(timeline, *rules) + (0 if crowded else replayed(timeline, *rules))
    return 1 if differ else 0


def play(
    minor: str, seconds: float, every: float, folder: Path, *, is_crowded: bool = False
) -> Path:
    """The recording."""
    count = CROWDED_NODES if is_crowded else NODES
    with ControlPlane(binaries(minor), folder) as plane:
        manifests = machines()
        plane.api.create([*priority_classes(), *manifests[:count]])
        plane.start_kwok()
        timeline = plane.record()
        plane.start_scheduler(CONFIG, VERBOSITY)
        plane.api.create([pod("first", {}, affinity=preferences())])
        wait("the scheduler", lambda: all(map(node_of, plane.api.pods())), 120)
        day = Day(plane.api, manifests, every, count, is_crowded)
        day.live(seconds)
        if not is_crowded:  # a crowd never settles: the recording ends amid its evictions
            settle(plane)
        plane.stop("kube-scheduler")
        plane.stop("recorder")
    print(f"{day.created:,} pods in {seconds / 60:g} minutes, in {folder}", flush=True)
    return timeline


def audited(timeline: Path, *rules: str) -> int:
    """How many decisions differ."""
    differ = 0
    for log in ((), ("--scheduler-log", str(timeline.with_name("kube-scheduler.log")))):
        text, seconds = ksched("audit", "--timeline", str(timeline), "-o", "json", *log, *rules)
        audit = json.loads(text)
        differ += len(audit["differ"])
        grades = ", ".join(f"{count} {grade}" for grade, count in audit["summary"].items() if count)
        print(
            f"audit {'with' if log else 'without'} the log: {audit['decisions']:,} decisions,"
            f" {len(audit['differ'])} differ, {len(audit['unexplained'])} not judged, {grades},"
            f" {seconds:.1f} s",
            flush=True,
        )
        for item in audit["differ"][:5]:
            print(f"    differs: {item['pod']} on {item['node']}: {item['because']}")
    return differ


def replayed(timeline: Path, *rules: str) -> int:
    """How many pods the replay places elsewhere for another reason than that the scheduler noticed
    changes in another order."""
    others = _replayed_elsewhere("replayed", timeline, *rules)
    if not others:
        return 0
    noticed, moved = as_noticed(timeline, others[0])
    print(f"    in another order to the scheduler: {', '.join(moved[:5]) or 'nothing'}")
    differ = _replayed_elsewhere("replayed in the order of the scheduler's log", noticed, *rules)
    return len(differ) if moved else len(others)


def _replayed_elsewhere(title: str, timeline: Path, *rules: str) -> list[str]:
    """Keys of pods, in the order of their decisions."""
    state = str(timeline.with_name("recorded.state.json"))
    text, seconds = ksched("replay", str(timeline), "--state", state, "-o", "csv", *rules)
    nodes_of = {row["pod"]: row["node"] for row in csv.DictReader(io.StringIO(text))}
    real = bound(timeline)
    others = [key for key, node in real.items() if nodes_of.get(key) != node]
    alike = len(real) - len(others)
    print(f"{title} in {seconds:.1f} s: {alike:,} of {len(real):,} pods alike", flush=True)
    for key in others[:3]:
        print(f"    {key} was placed on {real[key]}, and in the replay on {nodes_of.get(key)}")
    return others


def as_noticed(timeline: Path, pod: str) -> tuple[Path, list[str]]:
    """The recording with its events when the scheduler's log has them, and those of them that
    change sides with the attempt to place the pod."""
    head, *lines = timeline.read_text().splitlines()
    start = datetime.fromisoformat(json.loads(head)["start"])
    noticed = _noticed(timeline.with_name("kube-scheduler.log"), start)
    events = [json.loads(line) for line in lines]
    later: dict[tuple[str, str], float] = {}  # than recorded, of pods and departures
    moves = []
    for event in events:
        subject, at = _subject(event), event["at"]
        times = (time for time in noticed.get(subject, ()) if abs(time - at) < MOST_APART)
        event["at"] = min(times, key=lambda time: abs(time - at), default=at)
        later[subject] = event["at"] - at
        if "ranFor" in event:
            event["ranFor"] += later[subject] - later.get(("attempt", event["end"]), 0.0)
        moves.append((subject, at, event["at"]))
    tried = next(move for move in moves if move[0] == ("attempt", pod))
    moved = [
        f"{kind} of {name} ({1000 * (now - was):+.1f} ms)"
        for (kind, name), was, now in moves
        if kind and (was < tried[1]) != (now < tried[2])
    ]
    events.sort(key=lambda event: float(event["at"]))
    path = timeline.with_name("noticed.jsonl")
    path.write_text("\n".join((head, *map(json.dumps, events))) + "\n")
    return path, moved


def _subject(event: Manifest) -> tuple[str, str]:
    """What an event is about, as the log tells of it."""
    if "pod" in event:
        return "attempt", f"default/{event['pod']['metadata']['name']}"
    if "end" in event:
        return "departure", event["end"]
    if "delete" in event:
        target = event["delete"]
        is_pod = target["kind"] == "Pod"
        return "departure", f"default/{target['name']}" if is_pod else target["name"]
    if event.get("put", {}).get("kind") == "Node":
        return "change", event["put"]["metadata"]["name"]
    return "", ""


def _noticed(log: Path, start: datetime) -> dict[tuple[str, str], list[float]]:
    """Seconds since the start, of each that the log tells of; a pod counts when it is tried."""
    times: dict[tuple[str, str], list[float]] = {}
    for line in log.read_text(errors="replace").splitlines():
        if match := _LOGGED.match(line):
            stamp = f"{start.year}{match['time']}+0000"
            at = (datetime.strptime(stamp, "%Y%m%d %H:%M:%S.%f%z") - start).total_seconds()
            times.setdefault((_EVENTS[match["event"]], match["name"]), []).append(at)
    return {key: each[:1] if key[0] == "attempt" else each for key, each in times.items()}


if __name__ == "__main__":
    sys.exit(main())
