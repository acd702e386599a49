"""Measures `ksched serve extender`: processor time per request, server and client apart.

    python benchmarks/extender_latency.py STATE PLUGIN [--requests 20]

Starts the command with a state, sends Filter and Prioritize about all of its nodes, by name
and whole, and prints the server's processor time per request from the system's accounts.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import urllib3

IMAGES = 30
TICKS = os.sysconf("SC_CLK_TCK")


def processor_seconds(process: int) -> float:
    """User and system time so far."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def resident_mebibytes(process: int) -> float:
    status = Path(f"/proc/{process}/status").read_text()
    line = re.search(r"VmRSS:\s+(\d+)", status)
    return int(line[1]) / 1024 if line else 0.0


def bodies(state: Path) -> dict[str, bytes]:
    """Requests about all nodes of a state: by name, and whole."""
    items = json.loads(state.read_text())["items"]
    nodes = [item for item in items if item["kind"] == "Node"]
    for node in nodes:  # about as large as those of a real cluster
        node["status"]["images"] = [
            {"names": [f"registry.example.com/team-{i}/image@sha256:{'0' * 64}"], "sizeBytes": i}
            for i in range(IMAGES)
        ]
    pod = {
        "metadata": {"name": "p", "namespace": "default", "uid": "p"},
        "spec": {"containers": [{"name": "c", "resources": {"requests": {"memory": "1Gi"}}}]},
    }
    names = [node["metadata"]["name"] for node in nodes]
    return {
        "names": json.dumps({"Pod": pod, "NodeNames": names}).encode(),
        "whole": json.dumps({"Pod": pod, "Nodes": {"items": nodes}}).encode(),
    }


def measure(server: int, url: str, form: str, body: bytes, requests: int) -> None:
    """Prints a line. server: its process; url: with the verb"""
    http = urllib3.PoolManager()
    http.request("POST", url, body=body)
    before, began = processor_seconds(server), time.monotonic()
    for _ in range(requests):
        answer = http.request("POST", url, body=body)
        assert answer.status == 200, answer.data[:200]
    spent = (processor_seconds(server) - before) / requests
    elapsed = (time.monotonic() - began) / requests
    print(
        f"{url.rpartition('/')[2]:11} {form:6} {len(body) / 1e6:10.1f}  {1000 * spent:12.1f}"
        f"  {1000 * elapsed:10.1f}  {resident_mebibytes(server):12.0f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("state", type=Path)
    parser.add_argument("plugin")
    parser.add_argument("--requests", type=int, default=20)
    arguments = parser.parse_args()
    line = ["serve", "extender", "--state", str(arguments.state), "--plugin", arguments.plugin]
    server = subprocess.Popen(
        [sys.executable, "-m", "ksched_cli", *line, "--listen", "127.0.0.1:0"],
        stderr=subprocess.PIPE,
        text=True,
    )
    assert server.stderr is not None
    first = server.stderr.readline()
    print(first.strip())
    url = first.removeprefix("serving ").partition(": ")[0]
    print("verb        nodes  request MB  processor ms  elapsed ms  resident MiB")
    try:
        for verb in ("filter", "prioritize"):
            for form, body in bodies(arguments.state).items():
                measure(server.pid, f"{url}/{verb}", form, body, arguments.requests)
    finally:
        server.terminate()
        server.wait()


if __name__ == "__main__":
    main()
