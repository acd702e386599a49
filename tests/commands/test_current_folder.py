"""Nothing is imported from the folder in which ksched is started: agents, hooks and CI jobs start
it in folders of other people."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
import urllib3
from mcp import Client, StdioServerParameters

import ksched_cli
from ksched_cli.commands.main import COMMANDS
from ksched_cli.testing import node, pod
from tests.hostile_files import TUNE, text_of
from tests.live.fake_api_server import ApiServer, write_kubeconfig

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
CLUSTER = ROOT / "examples" / "what-if" / "cluster.yaml"
PACKAGE = Path(ksched_cli.__file__).parent
# Whatever ksched, its libraries or Python itself may import, and one that is imported if there.
MODULES = {*sys.stdlib_module_names, *packages_distributions(), "ksched_cli", "sitecustomize"}
TRAP = "open({log!r}, 'a').write(__name__ + '\\n')\nraise ImportError\n"
# Runs command lines one after the other in one process, and prints the exit code of each.
RUNNER = """
import json, sys
from ksched_cli.commands.main import main

codes = []
for line in json.load(sys.stdin):
    sys.argv = ["ksched", *line]
    try:
        main()
    except SystemExit as exit:
        codes.append(exit.code or 0)
print(json.dumps(codes), file=sys.stderr)
"""
PYTHON = [sys.executable, "-P"]
# The package may lie beside the tests, and not be installed.
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(PACKAGE.parent)}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a trap for each module, and files for the commands."""
    folder = tmp_path_factory.mktemp("theirs")
    files = {
        "e.yaml": text_of("Expectations", state=str(CLUSTER), expect=[{"pending": 1}]),
        "sweep.yaml": text_of("Sweep", states=str(CLUSTER), seeds=2),
        "tune.yaml": text_of("Tune", states=str(CLUSTER), seeds=1, **TUNE),
        "pod.json": json.dumps(pod("p")),
        "t.yaml": text_of("Timeline", events=[]),
        "c.yaml": "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n",
    }
    for name, text in files.items():
        (folder / name).write_text(text)
    for module in MODULES:
        (folder / f"{module}.py").write_text(TRAP.format(log=str(folder / "imported")))
    return folder


def imported(folder: Path) -> list[str]:
    """The traps that were imported since the last call."""
    log = folder / "imported"
    names = log.read_text().split() if log.exists() else []
    log.unlink(missing_ok=True)
    return names


def test_a_trap_is_noticed(folder: Path) -> None:
    subprocess.run([sys.executable, "-c", "import yaml"], cwd=folder, capture_output=True)
    assert "yaml" in imported(folder)


def test_no_command_imports_from_the_current_folder(folder: Path) -> None:
    server = ApiServer([node("a"), pod("p")])
    kubeconfig = write_kubeconfig(folder / "kubeconfig", server.url)
    state, live = f"--state={CLUSTER}", f"--kubeconfig={kubeconfig}"
    lines = [
        ["schedule", state, "-o", "html"],
        ["explain", "web-2", state, "-o", "yaml"],
        ["status", state],
        ["drain", "node-1", state],
        ["preempt", "web-2", state],
        ["fix", "web-2", state],
        ["drift", state],
        ["capacity", "web-2", state],
        ["shrink", state],
        ["compare", state, "--vs", "--change=drain node-1", "-o", "html"],
        ["replay", "t.yaml", state],
        ["sweep", "sweep.yaml"],
        ["sweep", "sweep.yaml", "--workers=2", "-o", "json"],
        ["tune", "tune.yaml", "--study=study"],
        ["validate", "-o", "junit", "--", "c.yaml"],
        ["test", "--", "e.yaml"],
        ["plugins"],
        ["snapshot", "s.json", live],
        ["record", "day.jsonl", live, "--for=10ms"],
        ["audit", "--timeline=day.jsonl", "--before=day.state.json"],
        ["config", "show", "c.yaml"],
        ["timeline", "generate", "pod.json", "--pods=2"],
    ]
    done = subprocess.run(
        [*PYTHON, "-c", RUNNER],
        cwd=folder,
        input=json.dumps(lines),
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        check=False,
    )
    server.close()
    codes = json.loads(done.stderr.splitlines()[-1])
    assert {*codes} <= {0, 1}, (codes, done.stderr)
    assert {line[0] for line in lines} >= {*COMMANDS}
    assert imported(folder) == []


def test_the_module_imports_nothing_but_itself_from_there(folder: Path) -> None:
    """`python -m` would import Python's own modules from there before ksched is reached."""
    python_modules = {*sys.stdlib_module_names, "ksched_cli", "sitecustomize"}
    theirs = folder / "libraries"
    theirs.mkdir()
    for module in MODULES - python_modules:
        (theirs / f"{module}.py").write_text(TRAP.format(log=str(folder / "imported")))
    command = [sys.executable, "-m", "ksched_cli", "schedule", "--state", str(CLUSTER)]
    done = subprocess.run(command, cwd=theirs, env=ENVIRONMENT, capture_output=True, check=False)
    assert done.returncode in (0, 1), done.stderr
    assert imported(folder) == []


def test_an_agent_s_questions_import_nothing_from_there(folder: Path) -> None:
    async def ask() -> bool:
        command = StdioServerParameters(
            command=PYTHON[0],
            args=[*PYTHON[1:], "-m", "ksched_cli", "serve", "mcp", f"--state={CLUSTER}"],
            env=ENVIRONMENT,
            cwd=folder,
        )
        async with Client(command) as client:
            return bool((await client.call_tool("schedule", {})).is_error)

    assert not asyncio.run(ask())
    assert imported(folder) == []


@pytest.mark.parametrize("server", ["page", "extender"])
def test_servers_import_nothing_from_there(folder: Path, server: str) -> None:
    line = ["serve", server, f"--state={CLUSTER}", "--listen=127.0.0.1:0"]
    if server == "extender":
        line += [f"--plugin={ROOT / 'tests' / 'serve' / 'plugins.py'}:TwoPods"]
    with subprocess.Popen(
        [*PYTHON, "-m", "ksched_cli", *line],
        cwd=folder,
        env=ENVIRONMENT,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stderr is not None
            printed = next(text for text in process.stderr if "http://" in text)
            address = re.search(r"(http://[\d.]+:\d+)(?:/#token=(\S+))?", printed)
            assert address is not None
            url, token = address.groups()
            if server == "page":
                headers = {"Authorization": f"Bearer {token}"}
                answer = urllib3.request("POST", f"{url}/api/runs", json={}, headers=headers)
            else:
                body = {"Pod": pod("p"), "NodeNames": []}
                answer = urllib3.request("POST", f"{url}/filter", json=body)
            assert answer.status == 200, answer.data
        finally:
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=60)
    assert imported(folder) == []


def test_one_function_starts_every_python_of_ksched() -> None:
    places = [path for path in PACKAGE.rglob("*.py") if "sys.executable" in path.read_text()]
    assert [path.name for path in places] == ["own_python.py"]
