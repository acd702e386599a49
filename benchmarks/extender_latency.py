"""Measures `ksched serve extender`: processor time per request, server and client apart.

    python benchmarks/extender_latency.py STATE PLUGIN [--requests 20] [--load SECONDS]

Starts the command with a state, sends Filter and Prioritize about all of its nodes, by name
and whole, and prints the server's processor time per request from the system's accounts.

--load sends 2,000 requests by name from 16 clients, spread over so many seconds, while 100 more
clients send half of a request's head and hang. Exit code 1 when a request is lost, a Filter and
Prioritize take more than 50 ms of processor time together, or memory grows by more than a tenth.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import urllib3

IMAGES = 30
REQUESTS, CLIENTS, SLOW_CLIENTS = 2_000, 16, 100
MOST_SECONDS, MOST_GROWTH = 0.05, 1.1
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


def load(server: int, url: str, body: bytes, seconds: float) -> bool:
    """Prints a line per tenth of the requests. Returns whether all is as it has to be."""
    http = urllib3.PoolManager(maxsize=CLIENTS, retries=False)
    host, _, port = url.removeprefix("http://").partition(":")
    began, before = time.monotonic(), processor_seconds(server)
    slow = [socket.create_connection((host, int(port))) for _ in range(SLOW_CLIENTS)]
    for connection in slow:
        connection.sendall(b"POST /filter HTTP/1.1\r\nHost: a\r\nContent-Le")

    def ask(number: int) -> float:
        """The seconds that the answer took; infinite where there was none."""
        time.sleep(max(began + number * seconds / REQUESTS - time.monotonic(), 0))
        verb, sent = ("filter", "prioritize")[number % 2], time.monotonic()
        try:
            answer = http.request("POST", f"{url}/{verb}", body=body)
        except urllib3.exceptions.HTTPError:
            return math.inf
        return time.monotonic() - sent if answer.status == 200 else math.inf

    print("answered  elapsed s  slowest ms  resident MiB")
    resident: list[float] = []
    times: list[float] = []
    with ThreadPoolExecutor(CLIENTS) as clients:
        for number, took in enumerate(clients.map(ask, range(REQUESTS)), 1):
            times.append(took)
            if number % (REQUESTS // 10) == 0:
                resident.append(resident_mebibytes(server))
                answered, elapsed = sum(map(math.isfinite, times)), time.monotonic() - began
                print(f"{answered:8,}  {elapsed:9.1f}  {1000 * max(times):10.0f}"
                      f"  {resident[-1]:12.0f}", flush=True)  # fmt: skip
    spent = 2 * (processor_seconds(server) - before) / REQUESTS
    closed = sum(is_closed(connection) for connection in slow)
    lost = REQUESTS - sum(map(math.isfinite, times))
    print(f"{lost} lost; {1000 * spent:.1f} ms of processor time for Filter and Prioritize; "
          f"memory grew by {resident[-1] / resident[0] - 1:.1%}; {closed} of {SLOW_CLIENTS} "
          "clients with half a head were closed")  # fmt: skip
    return not lost and spent < MOST_SECONDS and resident[-1] < MOST_GROWTH * resident[0]


def is_closed(connection: socket.socket) -> bool:
    connection.setblocking(False)
    with connection:
        try:
            return not connection.recv(1)
        except BlockingIOError:
            return False
        except ConnectionError:
            return True


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("state", type=Path)
    parser.add_argument("plugin")
    parser.add_argument("--requests", type=int, default=20)
    parser.add_argument("--load", type=float, default=0.0, metavar="SECONDS")
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
    sent = bodies(arguments.state)
    try:
        for verb in ("filter", "prioritize"):
            for form, body in sent.items():
                measure(server.pid, f"{url}/{verb}", form, body, arguments.requests)
        if arguments.load:
            return 0 if load(server.pid, url, sent["names"], arguments.load) else 1
        return 0
    finally:
        server.terminate()
        server.wait()


if __name__ == "__main__":
    sys.exit(main())
