"""Servers and clients that misbehave for a while, and what becomes of ksched's answers and memory.

    python -m tests.live.faults [--minutes N] [--tls] [SUBJECT...]

record: an API server behind a proxy that cuts, resets, delays and garbles; the recording has to
lead to what the cluster has in the end. clock: the machine's clock jumps while it records.
snapshot: behind the proxy, again and again; a whole file, or one line. schedule: an extender behind
it. extender, mcp: clients of `ksched serve` misbehave, while others have to be answered. Memory is
the process's own (VmRSS), or the largest of many processes.
Exit code 1 when something is lost, there twice, unanswered, or a traceback.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import trustme
import urllib3

from ksched_cli.testing import node, pod
from tests.extenders.fixtures import config_text
from tests.extenders.servers import Server, everything
from tests.live.fake_api_server import ApiServer, write_kubeconfig
from tests.live.kills import ROOT, WRITTEN_WITHIN, Publisher
from tests.live.proxy import Proxy, reset
from tests.sweep.sweeps import write_state

SHARE = 0.4
# After the faults, until the last watch that hangs is begun again.
CALM_SECONDS = 300.0
PLUGIN = ROOT / "plugins" / "template" / "packing.py"
CLIENTS = 6
# An honest client is answered by then.
ANSWERED_WITHIN = 30.0


@dataclass(slots=True)
class Report:
    """problems: what was not as it should be; rss: in MiB, in the order of time"""

    name: str
    problems: list[str] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    rss: list[float] = field(default_factory=list)

    def check(self, is_so: bool, problem: str) -> None:
        if not is_so:
            self.problems.append(problem)
            print(f"    {self.name}: {problem}", flush=True)

    def show(self) -> None:
        counts = ", ".join(f"{count:,} {what}" for what, count in sorted(self.counts.items()))
        print(f"{self.name}: {counts}; {len(self.problems)} problems")
        if self.rss:
            fifth = max(len(self.rss) // 5, 1)
            parts = [self.rss[place : place + fifth] for place in range(0, 5 * fifth, fifth)]
            means = ", ".join(f"{sum(part) / len(part):.1f}" for part in parts if part)
            print(f"    MiB in each fifth of the time: {means}; at most {max(self.rss):.1f}")
        sys.stdout.flush()


def ksched(folder: Path, *arguments: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "ksched_cli", *map(str, arguments)],
        stdin=subprocess.DEVNULL,
        stdout=(folder / "out").open("w"),
        stderr=(folder / "err").open("w"),
        text=True,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join((str(folder), str(ROOT)))},
    )


def resident(pid: int) -> float:
    """MiB; 0 of a process that has ended."""
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) / 1024
    return 0.0


@contextmanager
def api_server(folder: Path, *, tls: bool) -> Iterator[tuple[ApiServer, Proxy]]:
    """In which pods come and go, behind a proxy that the kubeconfig names."""
    context = None
    if tls:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        trustme.CA().issue_cert("127.0.0.1").configure_cert(context)
    server = ApiServer([node("n"), *(pod(f"old-{n}", node="n") for n in range(60))], tls=context)
    proxy = Proxy(int(server.url.rpartition(":")[2]), 0.0)
    url = f"http{'s' if tls else ''}://127.0.0.1:{proxy.port}"
    cluster = {"insecure-skip-tls-verify": True} if tls else {}
    write_kubeconfig(folder / "kubeconfig", url, cluster=cluster)
    try:
        yield server, proxy
    finally:
        proxy.close()
        server.close()


# -- record ---------------------------------------------------------------------------------------


def record(report: Report, folder: Path, seconds: float, *, tls: bool) -> None:
    with api_server(folder, tls=tls) as (server, proxy):
        publisher = Publisher(server)
        thread = threading.Thread(target=publisher.run, daemon=True)
        process = ksched(folder, "record", "day.jsonl", "--kubeconfig", "kubeconfig")
        _begun(report, folder, process)
        thread.start()
        proxy.share = SHARE
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline and process.poll() is None:
            # A watch is one answer for minutes: it ends now and then, and the next one has a fault.
            time.sleep(2)
            proxy.break_some(0.2)
            report.rss.append(resident(process.pid))
        proxy.share = 0.0
        publisher.ends.set()
        thread.join()
        report.check(process.poll() is None, f"ended: {(folder / 'err').read_text()}")
        _compare(report, folder, server)
        process.send_signal(signal.SIGTERM)
        report.check(process.wait(60) == 0, f"ended with {process.returncode}")
        err = (folder / "err").read_text()
        report.check("Traceback" not in err and "defect" not in err, err)
        report.counts["pods"] = publisher.counts[-1][1]
        report.counts.update(proxy.faults())


def _begun(report: Report, folder: Path, process: subprocess.Popen[str]) -> Path:
    """The timeline, once it has its first line."""
    timeline = folder / "day.jsonl"
    while process.poll() is None and not (timeline.exists() and timeline.stat().st_size):
        time.sleep(0.1)
    report.check(process.poll() is None, f"ended: {(folder / 'err').read_text()}")
    return timeline


def _compare(report: Report, folder: Path, server: ApiServer) -> None:
    """The recording with the cluster, when no more faults are done."""
    truth = {obj["metadata"]["name"] for obj in server.objects if obj["kind"] == "Pod"}
    begun = time.monotonic()
    while (there := _there(report, folder)[0]) != truth and time.monotonic() < begun + CALM_SECONDS:
        time.sleep(1)
    report.counts["s until all was there"] = round(time.monotonic() - begun)
    report.check(there == truth, f"{there ^ truth} differ in the end")
    _, twice, report.counts["gaps"] = _there(report, folder)
    report.check(not twice, f"twice: {twice}")


def _there(report: Report, folder: Path) -> tuple[set[str], list[str], int]:
    """The pods in the end by the recording, those that come or go twice, and how many gaps."""
    items = json.loads((folder / "day.state.json").read_text())["items"]
    here = {item["metadata"]["name"] for item in items if item["kind"] == "Pod"}
    twice, gaps, at = [], 0, 0.0
    for line in (folder / "day.jsonl").read_text().splitlines()[1:]:
        if not line.endswith("}"):
            continue
        event = json.loads(line)
        report.check(event["at"] >= at, "times fall")
        at = event["at"]
        gaps += "gap" in event
        if "pod" in event:
            name = event["pod"]["metadata"]["name"]
            twice += [name] if name in here else []
            here.add(name)
        elif "delete" in event:
            name = event["delete"]["name"]
            twice += [] if name in here else [name]
            here.discard(name)
    return here, twice, gaps


# A wall clock that is wrong by as many seconds as the file beside says.
CLOCK = """
import time
from pathlib import Path
real, path = time.time, Path(__file__).with_name("seconds")
time.time = lambda: real() + float(path.read_text() or 0)
"""


def clock(report: Report, folder: Path, seconds: float, *, tls: bool) -> None:
    """`record` on a machine whose clock is set back and forth by up to an hour every few seconds:
    no event waits, and times do not fall."""
    (folder / "sitecustomize.py").write_text(CLOCK)
    (folder / "seconds").write_text("0")
    draw = random.Random(0)
    with api_server(folder, tls=tls) as (server, _):
        publisher = Publisher(server)
        thread = threading.Thread(target=publisher.run, daemon=True)
        process = ksched(folder, "record", "day.jsonl", "--kubeconfig", "kubeconfig")
        timeline = _begun(report, folder, process)
        thread.start()
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline and process.poll() is None:
            aside = folder / "aside"
            aside.write_text(str(draw.uniform(-3600, 3600)))
            aside.replace(folder / "seconds")
            report.counts["jumps"] += 1
            time.sleep(draw.uniform(1, 5))
            written = timeline.read_text().count('"pod":')
            behind = publisher.count_at(time.monotonic() - WRITTEN_WITHIN) - written
            report.check(behind <= 0, f"{behind} pods wait to be written")
            report.rss.append(resident(process.pid))
        publisher.ends.set()
        thread.join()
        _compare(report, folder, server)
        process.send_signal(signal.SIGTERM)
        report.check(process.wait(60) == 0, f"ended with {process.returncode}")
        err = (folder / "err").read_text()
        report.check("Traceback" not in err and "defect" not in err, err)
        report.counts["pods"] = publisher.counts[-1][1]


# -- one process after the other ------------------------------------------------------------------


def again_and_again(
    report: Report, folder: Path, seconds: float, run: Callable[[], str], *command: object
) -> None:
    """run: what is made of what a process leaves, a word that is counted"""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        process = ksched(folder, *command)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        report.rss.append(usage.ru_maxrss / 1024)
        err = (folder / "err").read_text()
        report.check("Traceback" not in err and "defect" not in err, err)
        report.counts[f"{run()} (exit code {process.returncode})"] += 1


def snapshot(report: Report, folder: Path, seconds: float, *, tls: bool) -> None:
    with api_server(folder, tls=tls) as (server, proxy):
        proxy.share = SHARE
        names = {obj["metadata"]["name"] for obj in server.objects}
        path = folder / "cluster.json"

        def result() -> str:
            err = (folder / "err").read_text()
            if path.exists():
                items = json.loads(path.read_text())["items"]
                path.unlink()
                report.check({item["metadata"]["name"] for item in items} == names, "is not whole")
                return "whole"
            report.check(err.count("\n") == 1, f"not one line: {err}")
            report.counts[err.split("(context")[0].rpartition(": ")[2].strip()] += 1
            left = {entry.name for entry in folder.iterdir()} - {"kubeconfig", "out", "err"}
            report.check(not left, f"left {left}")
            return "refused"

        command = ("snapshot", path, "--kubeconfig", "kubeconfig")
        again_and_again(report, folder, seconds, result, *command)
        report.counts.update(proxy.faults())


def schedule(report: Report, folder: Path, seconds: float, *, tls: bool) -> None:
    """An extender that misbehaves half of the time, and may be ignored."""
    server = Server({"/filter": everything})
    proxy = Proxy(server.port, SHARE)
    extender = {
        "urlPrefix": f"http://127.0.0.1:{proxy.port}",
        "filterVerb": "filter",
        "ignorable": True,
        "httpTimeout": "500ms",
    }
    (folder / "config.json").write_text(config_text(extender))
    nodes, pods = (
        [node(f"n-{n}", cpu=64, pods=200) for n in range(20)],
        [pod(f"p-{n}", cpu="10m") for n in range(40)],
    )
    write_state(folder / "state.json", *nodes, *pods)

    def result() -> str:
        server.calls.clear()  # a process's largest memory is at least that of the one it began in
        out = (folder / "out").read_text()
        placed = len(json.loads(out)["placements"]) if out else 0
        report.check(placed == len(pods), f"{placed} placed: {(folder / 'err').read_text()}")
        return "whole" if placed == len(pods) else "not whole"

    command = ("schedule", "--state", "state.json", "--config", "config.json", "-o", "json")
    again_and_again(report, folder, seconds, result, *command)
    report.counts.update(proxy.faults())
    proxy.close()
    server.close()


# -- clients --------------------------------------------------------------------------------------

Client = Callable[[socket.socket, bytes, random.Random], None]


def half_a_request(connection: socket.socket, request: bytes, draw: random.Random) -> None:
    connection.sendall(request[: draw.randrange(len(request))])
    time.sleep(draw.random())


def leaves(connection: socket.socket, request: bytes, draw: random.Random) -> None:
    connection.sendall(request)
    reset(connection)


def garbage(connection: socket.socket, request: bytes, draw: random.Random) -> None:
    connection.sendall(draw.randbytes(draw.randrange(1, 5_000)))
    connection.recv(1)


def garbled(connection: socket.socket, request: bytes, draw: random.Random) -> None:
    head, _, body = request.partition(b"\r\n\r\n")
    text = bytearray(body)
    for _ in range(draw.randrange(1, 9)):
        text[draw.randrange(len(text))] = draw.randrange(256)
    connection.sendall(head + b"\r\n\r\n" + bytes(text))
    connection.recv(100)


def says_more(connection: socket.socket, request: bytes, draw: random.Random) -> None:
    connection.sendall(request.replace(b"Content-Length: ", b"Content-Length: 9"))
    time.sleep(draw.uniform(0, 5))


def says_less(connection: socket.socket, request: bytes, draw: random.Random) -> None:
    head, _, body = request.partition(b"\r\n\r\n")
    lines = [each for each in head.split(b"\r\n") if b"Content-Length" not in each]
    lines.append(b"Content-Length: %d" % (len(body) // 2))
    connection.sendall(b"\r\n".join(lines) + b"\r\n\r\n" + body)
    connection.recv(100)


def slowly(connection: socket.socket, request: bytes, draw: random.Random) -> None:
    for place in range(min(len(request), 60)):
        connection.sendall(request[place : place + 1])
        time.sleep(0.05)


def without_an_end(connection: socket.socket, request: bytes, draw: random.Random) -> None:
    line = request.partition(b"\r\n")[0]
    connection.sendall(line + b"\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
    block = b"10000\r\n" + b" " * 65_536 + b"\r\n"
    for _ in range(600):
        connection.sendall(block)
        time.sleep(0.005)


def never_reads(connection: socket.socket, request: bytes, draw: random.Random) -> None:
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    for _ in range(20):
        connection.sendall(request)
    time.sleep(draw.uniform(0, 5))


MISBEHAVIOURS: tuple[Client, ...] = (
    half_a_request,
    leaves,
    garbage,
    garbled,
    says_more,
    says_less,
    slowly,
    without_an_end,
    never_reads,
)


def misbehave(report: Report, port: int, request: bytes, ends: threading.Event, seed: int) -> None:
    draw = random.Random(seed)
    while not ends.wait(draw.uniform(0, 0.4)):
        client = draw.choice(MISBEHAVIOURS)
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), 10) as connection:
            connection.settimeout(10)
            client(connection, request, draw)
        report.counts[client.__name__.replace("_", " ")] += 1


def served(
    report: Report,
    folder: Path,
    seconds: float,
    command: Sequence[object],
    path: str,
    body: Any,
    headers: dict[str, str],
    is_right: Callable[[bytes], bool],
) -> None:
    """Ask what has an answer while others misbehave. body: of a request that is right"""
    process = ksched(folder, "serve", *command, "--listen", "127.0.0.1:0")
    ends, threads, content = threading.Event(), list[threading.Thread](), json.dumps(body).encode()
    try:
        port = int(_url(process, folder).rpartition(":")[2].split("/")[0])
        lines = {"Host": f"127.0.0.1:{port}", "Content-Type": "application/json", **headers}
        head = "".join(f"{key}: {value}\r\n" for key, value in lines.items())
        request = f"POST {path} HTTP/1.1\r\n{head}Content-Length: {len(content)}\r\n\r\n".encode()
        for seed in range(CLIENTS):
            arguments = (report, port, request + content, ends, seed)
            threads.append(threading.Thread(target=misbehave, args=arguments, daemon=True))
            threads[-1].start()
        slowest, deadline = 0.0, time.monotonic() + seconds
        while time.monotonic() < deadline and process.poll() is None:
            begun = time.monotonic()
            ask(report, f"http://127.0.0.1:{port}{path}", content, lines, is_right)
            slowest = max(slowest, time.monotonic() - begun)
            report.rss.append(resident(process.pid))
            time.sleep(1)
        report.check(process.poll() is None, f"ended: {(folder / 'err').read_text()}")
        report.counts["ms for the slowest honest answer"] = round(1000 * slowest)
    finally:
        ends.set()
        for thread in threads:
            thread.join(30)
        process.send_signal(signal.SIGTERM)
        code = process.wait(30)
    report.check(code == 0, f"ended with {code}")
    err = (folder / "err").read_text() + (folder / "out").read_text()
    report.check("Traceback" not in err and "defect" not in err, err[-3000:])


def ask(
    report: Report,
    url: str,
    body: bytes,
    headers: dict[str, str],
    is_right: Callable[[bytes], bool],
) -> None:
    """An honest request."""
    try:
        answer = urllib3.request("POST", url, body=body, headers=headers, timeout=ANSWERED_WITHIN)
    except urllib3.exceptions.HTTPError as error:
        report.check(False, str(error))
        return
    if answer.status == 503:  # as many bodies or questions as there may be
        report.counts["honest requests told to come again"] += 1
        return
    is_answered = answer.status == 200 and is_right(answer.data)
    report.check(is_answered, f"{answer.status}: {answer.data[:300]!r}")
    report.counts["honest requests answered"] += is_answered


def _url(process: subprocess.Popen[str], folder: Path) -> str:
    while process.poll() is None:
        for line in ((folder / "err").read_text() + (folder / "out").read_text()).splitlines():
            if "http://" in line:
                return line[line.index("http://") :].split()[0].rstrip(":,;")
        time.sleep(0.1)
    raise RuntimeError(f"no address: {(folder / 'err').read_text()}")


def extender(report: Report, folder: Path, seconds: float, *, tls: bool) -> None:
    names = [f"n-{n}" for n in range(200)]
    write_state(folder / "state.json", *(node(name, cpu=4) for name in names))
    body = {"Pod": pod("p", cpu=1), "Nodes": None, "NodeNames": names}
    served(
        report,
        folder,
        seconds,
        ("extender", "--plugin", PLUGIN, "--state", "state.json"),
        "/filter",
        body,
        {},
        lambda data: json.loads(data)["NodeNames"] == names,
    )


def mcp(report: Report, folder: Path, seconds: float, *, tls: bool) -> None:
    write_state(folder / "state.json", node("n", cpu=4), pod("p", cpu=1))
    hello = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "honest", "version": "1"},
    }
    served(
        report,
        folder,
        seconds,
        ("mcp", "--http", "--state", "state.json"),
        "/mcp",
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello},
        {"Accept": "application/json, text/event-stream"},
        lambda data: b'"serverInfo"' in data,
    )


SUBJECTS: dict[str, Callable[..., None]] = {
    "record": record,
    "clock": clock,
    "snapshot": snapshot,
    "schedule": schedule,
    "extender": extender,
    "mcp": mcp,
}


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--minutes", type=float, default=60.0, help="for each subject")
    parser.add_argument("--tls", action="store_true", help="of the API server")
    parser.add_argument("subjects", nargs="*", metavar="SUBJECT", help=", ".join(SUBJECTS))
    options = parser.parse_args()
    problems = 0
    for name in options.subjects or SUBJECTS:
        report = Report(name)
        with tempfile.TemporaryDirectory(prefix="ksched-faults-") as folder:
            SUBJECTS[name](report, Path(folder), 60 * options.minutes, tls=options.tls)
        report.show()
        problems += len(report.problems)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
