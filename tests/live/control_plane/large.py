"""`ksched snapshot` of a large cluster: what it takes, and what becomes of it.

    python -m tests.live.control_plane.large [--kubernetes-version MINOR] [--nodes N] [--pods N]

Most pods have a node, every twentieth waits for one. The snapshot is taken, scheduled and redacted;
then the API server is killed while another one is taken, which has to end with one message and
without a file.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.live.control_plane.api import Manifest, wait
from tests.live.control_plane.build import MINORS, binaries
from tests.live.control_plane.cluster import ControlPlane
from tests.live.control_plane.manifests import nodes, pod, priority_classes

SEED = 3
PENDING = 20
VARIABLES = 30

# A small process in between: a child begins with the memory of the one that starts it.
MEASURED = """
import resource, subprocess, sys
code = subprocess.run(sys.argv[1:]).returncode
usage = resource.getrusage(resource.RUSAGE_CHILDREN)
print(code, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, file=sys.stderr)
"""


@dataclass(frozen=True, slots=True)
class Usage:
    """seconds: of processor time; mebibytes: at most"""

    code: int
    out: str
    err: str
    seconds: float
    mebibytes: float


def objects(node_count: int, pod_count: int) -> Iterator[Manifest]:
    draw = random.Random(SEED)
    yield from priority_classes()
    machines = nodes(draw, node_count, plain=True)
    yield from machines
    for number in range(pod_count):
        fields: Manifest = {"priorityClassName": draw.choice(["low", "middle", "high"])}
        if number % PENDING:
            fields["nodeName"] = draw.choice(machines)["metadata"]["name"]
        labels = {"app": f"app-{number % 200}"}
        manifest = pod(f"pod-{number:05}", {"cpu": "100m"}, labels=labels, **fields)
        manifest["spec"]["containers"][0]["env"] = [
            {"name": f"VARIABLE_{index}", "value": f"value-{index}"} for index in range(VARIABLES)
        ]
        yield manifest


def ksched(folder: Path, *arguments: str) -> Usage:
    """In the folder."""
    command = [sys.executable, "-c", MEASURED, sys.executable, "-m", "ksched_cli", *arguments]
    run = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    *lines, last = run.stderr.splitlines()
    code, seconds, mebibytes = last.split()
    return Usage(int(code), run.stdout, "\n".join(lines), float(seconds), float(mebibytes))


def _show(what: str, usage: Usage, more: str = "") -> None:
    print(f"{what:<22}{usage.seconds:>6.1f} s{usage.mebibytes:>7.0f} MiB  {more}", flush=True)
    if usage.code not in (0, 1) or "Traceback" in usage.err:
        raise SystemExit(f"{what} ended with {usage.code}: {usage.err}")


def measure(plane: ControlPlane, folder: Path) -> bool:
    """Whether the redacted state's run is the same."""
    kubeconfig = ("--kubeconfig", str(plane.kubeconfig))
    taken = ksched(folder, "snapshot", "cluster.json.gz", *kubeconfig, "-o", "json")
    size = (folder / "cluster.json.gz").stat().st_size / 2**20
    counts = {entry["kind"]: entry["objects"] for entry in json.loads(taken.out)["lists"]}
    _show("snapshot", taken, f"{counts['Node']:,} nodes, {counts['Pod']:,} pods, {size:.1f} MiB")
    key = ("--redact-key", "key.json")
    renamed = ksched(folder, "snapshot", "renamed.json.gz", "--state", "cluster.json.gz", *key)
    _show("redacted, and checked", renamed)
    placed = []
    for name in ("cluster", "renamed"):
        run = ksched(folder, "schedule", "--state", f"{name}.json.gz", "-o", "json")
        placements = json.loads(run.out)["placements"]
        placed.append(len(placements))
        _show(f"schedule, {name}", run, f"{placed[-1]:,} pods placed")
    return renamed.code == 0 and placed[0] == placed[1] > 0


def end_midway(plane: ControlPlane, folder: Path) -> str:
    """What is wrong with a snapshot whose API server is killed, or ""."""
    aside = folder / "midway"
    aside.mkdir()
    command = [sys.executable, "-m", "ksched_cli", "snapshot", "cluster.json"]
    process = subprocess.Popen(
        [*command, "--kubeconfig", str(plane.kubeconfig)],
        cwd=aside,
        stderr=subprocess.PIPE,
        text=True,
    )
    wait("the first bytes", lambda: any(path.stat().st_size for path in aside.iterdir()), 120)
    plane.kill("kube-apiserver")
    _, message = process.communicate(timeout=300)
    print(f"killed midway         exit code {process.returncode}: {message.strip()}")
    if process.returncode != 2 or message.count("\n") != 1 or list(aside.iterdir()):
        return f"exit code {process.returncode}, {sorted(aside.iterdir())}: {message}"
    return ""


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--kubernetes-version", default="1.34", choices=MINORS)
    parser.add_argument("--nodes", type=int, default=5000)
    parser.add_argument("--pods", type=int, default=20_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="ksched-live-") as aside:
        folder = Path(aside)
        with ControlPlane(binaries(options.kubernetes_version, kwok=False), folder) as plane:
            start = time.monotonic()
            plane.api.create(objects(options.nodes, options.pods))
            print(f"created in {time.monotonic() - start:.0f} s", flush=True)
            is_same = measure(plane, folder)
            problem = end_midway(plane, folder)
    if not is_same:
        print("the redacted state's run differs")
    if problem:
        print(problem)
    return 0 if is_same and not problem else 1


if __name__ == "__main__":
    sys.exit(main())
