"""Requests to the servers, and Runs as JSON: values that mutated messages are made of."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import threading
from atexit import register
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import msgspec
import urllib3
from combinations import combination
from corpora import EXAMPLES, any_case
from mutations import mangled, mutated

from ksched_cli.errors import KschedError
from ksched_cli.run.open import Opener
from ksched_cli.run.run import Run
from ksched_cli.serve.answering import answered
from ksched_cli.serve.extender import ExtenderServer
from ksched_cli.serve.listening import Listening
from ksched_cli.serve.tools import BY_NAME, TOOLS, ArgumentsError, ToolCall, call_of

PLUGINS = Path(__file__).parents[1] / "serve" / "plugins.py"
FIRST_CLUSTER = EXAMPLES / "first-cluster" / "cluster.yaml"
HTTP = urllib3.PoolManager(retries=False)
ROUTES = ("filter", "prioritize", "preempt", "healthz", "readyz", "metrics", "", "bind", "%2e%2e/")
METHODS = (*("POST",) * 12, "GET", "PUT", "HEAD", "DELETE", "OPTIONS")
TOKEN_TYPES = ("application/json", "text/plain", "multipart/form-data; boundary=x", "\u00e9")

# -- Runs -----------------------------------------------------------------------------------------


@cache
def _folder() -> Path:
    return Path(mkdtemp(prefix="ksched-fuzz-"))


def run_documents(rng: random.Random) -> bytes:
    document = msgspec.to_builtins(combination(rng.randrange(50), _folder()).run)
    text = json.dumps(mutated(document, rng, [document])).encode()
    return mangled(text, rng) if rng.random() < 0.1 else text


def read_run(data: bytes) -> None:
    run = msgspec.json.decode(data, type=Run)
    run.check()
    Opener([run]).simulation(run).close()


RUN_REFUSALS = (KschedError, msgspec.DecodeError, UnicodeDecodeError)

# -- the extender ---------------------------------------------------------------------------------


@cache
def _extender() -> str:
    """The address of one that runs until this process ends."""
    is_up = threading.Event()
    lines: list[str] = []

    def note(line: str) -> None:
        lines.append(line)
        if line.startswith("serving "):
            is_up.set()

    run = Run(
        states=(str(FIRST_CLUSTER),),
        plugins=tuple(f"{PLUGINS}:{name}" for name in ("TwoPods", "Quiet")),
    )
    server = ExtenderServer.of(run, Listening("127.0.0.1", 0), note, note, 0.0)
    threading.Thread(target=server.run, args=(lambda: False,), daemon=True).start()
    assert is_up.wait(10)
    return next(line for line in lines if line.startswith("serving ")).split()[1].rstrip(":")


def requests_of_extenders(rng: random.Random) -> tuple[str, str, bytes, dict[str, str]]:
    """Method, route, body and headers."""
    pods = [item for item in any_case(rng).objects if item["kind"] == "Pod"]
    nodes = [item for item in any_case(rng).objects if item["kind"] == "Node"]
    names = ["apple", "birch", "cedar", "nowhere"]
    victims = {name: {"Pods": [{"UID": "u"}], "NumPDBViolations": 0} for name in names}
    bodies: tuple[Any, ...] = (
        {"Pod": rng.choice(pods or [{}]), "NodeNames": names, "Nodes": None},
        {"Pod": rng.choice(pods or [{}]), "NodeNames": None, "Nodes": {"items": nodes}},
        {"Pod": rng.choice(pods or [{}]), "NodeNameToMetaVictims": victims},
        {"Pod": rng.choice(pods or [{}]), "NodeNameToVictims": {"apple": {"Pods": pods}}},
    )
    content = mutated(rng.choice(bodies), rng, list(bodies))
    body = json.dumps(content).encode()
    body = mangled(body, rng) if rng.random() < 0.2 else body
    headers = {"Content-Type": rng.choice(TOKEN_TYPES[:3])} if rng.random() < 0.3 else {}
    if rng.random() < 0.03:
        headers["Content-Encoding"] = rng.choice(("gzip", "br", "x"))
    return rng.choice(METHODS), rng.choice((*ROUTES[:3] * 5, *ROUTES)), body, headers


def answer_request(request: tuple[str, str, bytes, dict[str, str]]) -> None:
    """Raises ValueError where it is refused; fails where the server broke."""
    method, route, body, headers = request
    answer = HTTP.request(method, f"{_extender()}/{route}", body=body, headers=headers, timeout=10)
    text = answer.data.decode()
    assert "Traceback" not in text, text
    assert "defect" not in text, text
    assert answer.status < 500, (answer.status, text)
    if answer.status >= 400:
        raise ValueError(text)
    if answer.headers.get("content-type") == "application/json":
        json.loads(text)


# -- MCP ------------------------------------------------------------------------------------------

STATE = [f"--state={FIRST_CLUSTER}"]
BASE = Run(states=(str(FIRST_CLUSTER),), extenders=False)
ARGUMENTS: dict[str, Any] = {
    "pod": "too-big",
    "namespace": "default",
    "changes": ["drain birch", "cordon apple"],
    "kubernetes_version": "1.36",
    "part": "/placements",
    "offset": 1,
}


def tool_calls(rng: random.Random) -> tuple[str, Any]:
    """A tool, and its arguments."""
    tool = rng.choice(TOOLS)
    named = tool.input_schema["properties"]
    arguments = {name: value for name, value in ARGUMENTS.items() if name in named}
    fewer = {name: value for name, value in arguments.items() if rng.random() < 0.7}
    return tool.name, mutated(fewer, rng, [ARGUMENTS]) if rng.random() < 0.8 else fewer


def ask_tool(call: tuple[str, Any]) -> None:
    """Asks in this process what the server asks in another."""
    name, arguments = call
    if not isinstance(arguments, dict):
        raise ValueError("no object")
    sending, _ = call_of(BY_NAME[name], arguments, BASE)
    sent = msgspec.json.decode(msgspec.json.encode(sending), type=ToolCall)
    try:
        assert answered(sent)
    except KschedError as error:
        if error.exit_code != 2 or not str(error):
            raise


TOOL_REFUSALS = (ArgumentsError, ValueError)  # of the SDK, which takes objects only

MESSAGES: tuple[Any, ...] = (
    {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}},
    {"jsonrpc": "2.0", "id": "a", "method": "tools/call",
     "params": {"name": "explain", "arguments": {"pod": 1}}},
    {"jsonrpc": "2.0", "id": 2, "method": "resources/list"},
    {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}},
    {"jsonrpc": "2.0", "id": 3, "method": "ping"},
    {"jsonrpc": "2.0", "id": 4, "result": {}},
)  # fmt: skip
HELLO = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
    "protocolVersion": "2025-06-18", "capabilities": {},
    "clientInfo": {"name": "fuzz", "version": "1"}}}  # fmt: skip


class Conversation:
    """With `ksched serve mcp` over standard input and output."""

    def __init__(self) -> None:
        command = [sys.executable, "-m", "ksched_cli", "serve", "mcp", *STATE]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        self._process = subprocess.Popen(command, **pipes)  # type: ignore[call-overload]
        register(self.end)
        self._count = 0
        self.say(json.dumps(HELLO).encode())
        self._answers_until(0)
        self.say(b'{"jsonrpc": "2.0", "method": "notifications/initialized"}')

    def end(self) -> None:
        self._process.kill()
        self._process.communicate()

    def say(self, line: bytes) -> None:
        self._process.stdin.write(line.replace(b"\n", b" ") + b"\n")
        self._process.stdin.flush()

    def _answers_until(self, identity: Any) -> None:
        """Each is one line of JSON. Fails where the server ends."""
        while True:
            line = self._process.stdout.readline()
            assert line, f"the server ended with {self._process.wait()}"
            if json.loads(line).get("id") == identity:
                return

    def check(self, line: bytes) -> None:
        """Says it; then the server still answers a ping."""
        self._count += 1
        identity = f"ping {self._count}"
        self.say(line)
        self.say(json.dumps({"jsonrpc": "2.0", "id": identity, "method": "ping"}).encode())
        self._answers_until(identity)


@cache
def _conversation() -> Conversation:
    return Conversation()


def messages(rng: random.Random) -> bytes:
    line = json.dumps(mutated(rng.choice(MESSAGES), rng, list(MESSAGES))).encode()
    return mangled(line, rng) if rng.random() < 0.3 else line


def say(line: bytes) -> None:
    _conversation().check(line)
