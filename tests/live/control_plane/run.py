"""Lets the real scheduler loose on the scenarios, and audits what it did.

    python -m tests.live.control_plane.run [--kubernetes-version MINOR] [SCENARIO...]

A line per scenario says how many of the real decisions are ksched's. Exit code 1 when some is not.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ksched_cli.analysis.audit.audit import (
    CLAIMS_COME,
    IMAGE_COUNTS,
    RACE,
    STARTS,
)
from tests.live.control_plane.api import Api, Manifest, wait
from tests.live.control_plane.build import MINORS, binaries
from tests.live.control_plane.cluster import LOOPBACK, ControlPlane, free_port, is_serving
from tests.live.control_plane.scenarios import EXTENDER, SCENARIOS, Scenario, scenarios_of

EXTENDER_SCRIPT = Path(__file__).parents[2] / "conformance" / "extender.py"
# What kube-scheduler is known for, and no record of its objects tells.
_QUIRKS = (RACE + "{}", IMAGE_COUNTS, CLAIMS_COME, STARTS)
QUIRKS = re.compile("|".join(".*".join(map(re.escape, text.split("{}"))) for text in _QUIRKS))
SETTLED_SECONDS = 4.0
SETTLED_WITHIN = 900.0
# Longer than any backoff: what waits so long while nothing happens is not tried again.
STALLED_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Outcome:
    """audit: of two states and the scheduler's log, as `ksched audit -o json` prints it; recorded,
    alone: of a recording of the same run, with the log and without; seconds: of the whole scenario;
    stalled: keys of preemptors that kube-scheduler does not try again; is_followed: of the
    scenario"""

    audit: dict[str, Any]
    recorded: dict[str, Any]
    alone: dict[str, Any]
    seconds: float
    stalled: frozenset[str] = frozenset()
    is_followed: bool = True

    @property
    def agrees(self) -> bool:
        audits = (self.audit, self.recorded, self.alone)
        judged = self.audit if self.is_followed else self.recorded
        return not any(audit["differ"] for audit in audits) and all(
            QUIRKS.fullmatch(item["reason"]) or item["pod"] in self.stalled
            for item in judged["unexplained"]
        )


def play(scenario: Scenario, minor: str, folder: Path) -> Outcome:
    """folder: for the states, the logs and the answer"""
    start = time.monotonic()
    with ControlPlane(binaries(minor, kwok=scenario.kwok), folder) as plane:
        plane.api.create(scenario.objects())
        if scenario.kwok:
            plane.start_kwok()
        if scenario.controllers:
            plane.start_controllers()
        wait("the controllers", lambda: _is_prepared(plane.api, scenario), 120)
        config = scenario.config
        if scenario.extender:
            address = _start_extender(plane)
            config = json.loads(json.dumps(config).replace(EXTENDER, address))
        before, timeline = plane.snapshot(folder / "before.json"), plane.record()
        path = plane.start_scheduler(config, scenario.verbosity)
        scenario.meanwhile(plane.api)
        stalled = settle(plane)
        after = plane.snapshot(folder / "after.json", "--events")
        plane.stop("kube-scheduler")
        plane.stop("recorder")
        states = ("--before", str(before), "--after", str(after))
        log = ("--scheduler-log", str(path.with_name("kube-scheduler.log")))
        audits = {
            "audit": _audit(path, minor, *states, *log),
            "recorded": _audit(path, minor, "--timeline", str(timeline), *log),
            "alone": _audit(path, minor, "--timeline", str(timeline)),
        }
    for name, audit in audits.items():
        (folder / f"{name}.json").write_text(json.dumps(audit, indent=1))
    return Outcome(
        **audits,
        seconds=time.monotonic() - start,
        stalled=stalled,
        is_followed=scenario.is_followed,
    )


def _start_extender(plane: ControlPlane) -> str:
    port = free_port()
    command = [sys.executable, str(EXTENDER_SCRIPT), str(port)]
    plane.start("extender", command=command)
    address = f"http://{LOOPBACK}:{port}"
    wait("the extender", lambda: is_serving(f"{address}/log"))
    return address


def _is_prepared(api: Api, scenario: Scenario) -> bool:
    """Whether kwok and the controllers have done what they do before anything is scheduled."""
    for pod in api.pods():
        is_bound = bool(pod["spec"].get("nodeName"))
        if scenario.kwok and is_bound and pod["status"]["phase"] != "Running":
            return False
        templates = [
            claim
            for claim in pod["spec"].get("resourceClaims", ())
            if claim.get("resourceClaimTemplateName")
        ]
        if len(templates) > len(pod["status"].get("resourceClaimStatuses", ())):
            return False
    volumes = api.call("GET", "api/v1/persistentvolumes")["items"]
    if any(volume["status"].get("phase") != "Available" for volume in volumes):
        return False
    budgets = api.call("GET", "apis/policy/v1/poddisruptionbudgets")["items"]
    return all(budget["status"].get("observedGeneration") for budget in budgets)


def settle(plane: ControlPlane) -> frozenset[str]:
    """Until no pod is being placed, and nothing has happened for a while. Returns the preemptors
    that are left waiting for a node that is theirs: where two share a victim, kube-scheduler may
    keep the second gated, since movePodsToActiveOrBackoffQueue passes over gated pods."""
    quiet_since = changed_at = time.monotonic()
    seen = ""
    deadline = changed_at + SETTLED_WITHIN
    while time.monotonic() < deadline:
        plane.check()
        pods = plane.api.pods()
        state = repr([(pod["metadata"]["name"], node_of(pod), nominated(pod)) for pod in pods])
        busy = [pod for pod in pods if _is_being_placed(pod)]
        if state != seen:
            changed_at, seen = time.monotonic(), state
        if changed_at > quiet_since or busy:
            quiet_since = time.monotonic()
        elif time.monotonic() - quiet_since > SETTLED_SECONDS and _has_events(plane.api, pods):
            return frozenset()
        if time.monotonic() - changed_at > STALLED_SECONDS and busy and all(map(is_stalled, busy)):
            return frozenset(f"default/{pod['metadata']['name']}" for pod in busy)
        time.sleep(0.5)
    raise TimeoutError("the scheduler did not come to an end within a quarter of an hour")


def node_of(pod: Manifest) -> str:
    return str(pod["spec"].get("nodeName") or "")


def nominated(pod: Manifest) -> str:
    return str(pod["status"].get("nominatedNodeName") or "")


def is_stalled(pod: Manifest) -> bool:
    """Whether nothing but its nomination says that a pod is being placed."""
    status = {key: value for key, value in pod["status"].items() if key != "nominatedNodeName"}
    return bool(nominated(pod)) and not _is_being_placed({**pod, "status": status})


def _is_being_placed(pod: Manifest) -> bool:
    if pod["metadata"].get("deletionTimestamp"):
        return True
    if pod["spec"].get("nodeName") or pod["spec"].get("schedulingGates"):
        return False
    conditions = pod["status"].get("conditions", ())
    refused = [c for c in conditions if c["type"] == "PodScheduled" and c["status"] == "False"]
    return not refused or bool(pod["status"].get("nominatedNodeName"))


def _has_events(api: Api, pods: list[Manifest]) -> bool:
    """Whether every binding's event has been written: they come a little later."""
    written = {
        event["involvedObject"]["uid"] for event in api.events() if event["reason"] == "Scheduled"
    }
    conditions = {
        pod["metadata"]["uid"]: [c["type"] for c in pod["status"].get("conditions", ())]
        for pod in pods
        if pod["spec"].get("nodeName")
    }
    return all(uid in written for uid, types in conditions.items() if types == ["PodScheduled"])


def _audit(config: Path, minor: str, *options: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "ksched_cli", "audit", "-o", "json", *options]
    command += ["--config", str(config), "--kubernetes-version", minor]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    if run.returncode not in (0, 1):
        raise RuntimeError(f"ksched audit ended with {run.returncode}:\n{run.stderr}")
    answer: dict[str, Any] = json.loads(run.stdout)
    return answer


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--kubernetes-version", default="1.34", choices=MINORS)
    parser.add_argument("--keep", type=Path, help="keep the states and logs in this folder")
    parser.add_argument("scenarios", nargs="*", metavar="SCENARIO", help=", ".join(SCENARIOS))
    options = parser.parse_args()
    minor = options.kubernetes_version
    start = time.monotonic()
    names = options.scenarios or scenarios_of(minor)
    binaries(minor, kwok=any(SCENARIOS[name].kwok for name in names))
    print(f"kube-scheduler {MINORS[minor]}: built or cached in {time.monotonic() - start:.0f} s")
    print(f"{'SCENARIO':<18}{'DECISIONS':>10}{'AGREE':>8}{'DIFFER':>8}{'UNEXPLAINED':>13}{'s':>6}")
    outcomes = []
    for name in names:
        parent = options.keep or Path(tempfile.mkdtemp(prefix="ksched-live-"))
        folder = (parent / f"{minor}-{name}").resolve()
        folder.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(folder / "etcd", ignore_errors=True)  # of an earlier run
        outcome = play(SCENARIOS[name], minor, folder)
        outcomes.append(outcome)
        _show(name, outcome)
        if not outcome.agrees:
            print(f"    its states and logs are in {folder}", flush=True)
        elif options.keep is None:
            shutil.rmtree(parent)
    total = sum(outcome.audit["decisions"] for outcome in outcomes)
    agree = sum(outcome.audit["agree"] for outcome in outcomes)
    print(f"{agree:,} of {total:,} real decisions agree ({time.monotonic() - start:.0f} s)")
    return 0 if all(outcome.agrees for outcome in outcomes) else 1


def _show(name: str, outcome: Outcome) -> None:
    audit = outcome.audit
    print(
        f"{name:<18}{audit['decisions']:>10,}{audit['agree']:>8,}{len(audit['differ']):>8,}"
        f"{len(audit['unexplained']):>13,}{outcome.seconds:>6.0f}"
    )
    grades = ", ".join(f"{count} {grade}" for grade, count in audit["summary"].items() if count)
    print(f"    {grades}", flush=True)
    for name, other in (("recorded", outcome.recorded), ("without the log", outcome.alone)):
        grades = ", ".join(f"{count} {grade}" for grade, count in other["summary"].items() if count)
        print(
            f"    {name}: {other['decisions']:,} decisions, {len(other['differ'])} differ,"
            f" {len(other['unexplained'])} unexplained; {grades}",
            flush=True,
        )
        for item in other["differ"][:5]:
            print(f"        differs: {item['pod']} on {item['node']}: {item['because']}")
        for item in other["unexplained"][:3]:
            print(f"        unexplained: {item['pod']}: {item['reason']}")
    if outcome.stalled:
        print(f"    left gated by kube-scheduler: {', '.join(sorted(outcome.stalled))}", flush=True)
    for item in audit["differ"][:5]:
        print(f"    differs: {item['pod']} on {item['node']}: {item['because']}")
    for item in audit["unexplained"][:5]:
        print(f"    unexplained: {item['pod']}: {item['reason']}")


if __name__ == "__main__":
    sys.exit(main())
