"""Standard streams that are closed, full or without a reader, whatever command is asked."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from pathlib import Path
from subprocess import PIPE
from typing import Any

import pytest

from ksched_cli.commands.main import COMMANDS, GROUPS
from ksched_cli.testing import node, pod
from tests.thorough import is_thorough

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
CONFIG = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
KSCHED = {"apiVersion": "ksched/v1"}

# Each warns of something, or says something beside its result, where there is anything to say.
LINES = (
    "--help",
    "--version",
    "schedule --help",
    "schedule --state state.json",
    "schedule --state state.json -o json",
    "explain p --state state.json",
    "explain --pending --state state.json",
    "status --state state.json",
    "drain n --state state.json",
    "preempt p --state state.json",
    "capacity p --state state.json",
    "compare config.yaml --state state.json",
    "shrink --state state.json",
    "fix p --state state.json",
    "drift --state state.json",
    "audit --before state.json --after state.json --scheduler-log config.yaml",
    "replay timeline.json --state state.json",
    "snapshot - --state state.json",
    "record day.jsonl --kubeconfig nothing-such",
    "test expectations.json",
    "sweep sweep.json --dry-run",
    "sweep sweep.json",
    "tune tune.json",
    "plugins",
    "serve mcp --help",
    "validate config.yaml",
    "config show config.yaml",
    "config diff config.yaml config.yaml",
    "config migrate config.yaml",
    "timeline from-dump state.json",
    "timeline generate pod.json --pods 3",
    "timeline from-csv trace.csv --created t --request cpu=c",
    "nothing-such",
)
# Each stream in each way beside usable ones, and every pair of standard output and error; standard
# input, which none of these reads, is closed in every other pair.
KINDS = ("usable", "closed", "full", "gone")
COMBINATIONS = [
    ["usable", "usable", "usable"],
    ["closed", "usable", "usable"],
    *(
        [("closed", "usable")[index % 2], out, err]
        for index, (out, err) in enumerate(product(KINDS, KINDS))
        if (out, err) != ("usable", "usable")
    ),
]
# All combinations are tried with these; each fifth, beginning with another, with each other line;
# in the plain suite half as many.
WHOLE = ("--help", "schedule --state state.json", "schedule --state state.json -o json")
_SHARE = 1 if is_thorough() else 2
_SECONDS = re.compile(r"[\d.e-]+ ?s(econds)?\b")
UNWRITABLE = {"closed": "it is closed", "full": "No space left on device"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("streams")
    events = [{"at": 1, "change": "cordon n"}]
    weight = "profiles[0].plugins.multiPoint.enabled[NodeResourcesFit].weight"
    files = {
        "state.json": {"kind": "List", "apiVersion": "v1", "items": [
            node("n", cpu=4, labels={"a": "b"}), pod("p", cpu=1), pod("q", cpu=1, node="n"),
        ]},
        "pod.json": pod("p"),
        "timeline.json": {**KSCHED, "kind": "Timeline", "events": events},
        "expectations.json": {
            **KSCHED, "kind": "Expectations", "state": "state.json", "expect": [{"pending": 0}],
        },
        "sweep.json": {**KSCHED, "kind": "Sweep", "states": ["state.json"]},
        "tune.json": {
            **KSCHED, "kind": "Tune", "states": ["state.json"], "seeds": 2, "trials": 1,
            "space": [{"path": weight, "between": [1, 2]}],
            "objectives": [{"metric": "nodesUsed", "goal": "minimize"}],
        },
    }  # fmt: skip
    for name, value in files.items():
        (folder / name).write_text(json.dumps(value))
    (folder / "config.yaml").write_text(CONFIG)
    (folder / "trace.csv").write_text("t,c\n1,2\n")
    return folder


Answer = list[Any]  # exit code, standard output and error, and what went wrong beside them
Answers = Callable[[str, Sequence[Sequence[str]]], list[Answer]]


@pytest.fixture(scope="module")
def answers(folder: Path) -> Iterator[Answers]:
    environment = {"PYTHONPATH": str(ROOT), "PATH": os.environ["PATH"], "HOME": str(folder)}
    command = [sys.executable, "-m", "tests.commands.stream_table"]
    with subprocess.Popen(
        command, cwd=folder, env=environment, stdin=PIPE, stdout=PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        pipes = process.stdin, process.stdout

        def ask(line: str, combinations: Sequence[Sequence[str]]) -> list[Answer]:
            print(json.dumps([line.split(), combinations]), file=pipes[0], flush=True)
            text = _SECONDS.sub("so many s", pipes[1].readline())
            return list(json.loads(text))

        yield ask
        process.stdin.close()


def test_every_command_is_asked() -> None:
    assert {line.split()[0] for line in LINES} >= {*COMMANDS, *GROUPS}


@pytest.mark.parametrize("line", LINES)
def test_results_depend_on_no_other_stream(line: str, answers: Answers) -> None:
    step = _SHARE * (1 if line in WHOLE else 5)
    combinations = [COMBINATIONS[0], *COMBINATIONS[1 + LINES.index(line) % step :: step]]
    usual, *others = answers(line, combinations)
    assert usual[0] in (0, 1, 2)
    for (_, out, err), answer in zip(combinations[1:], others, strict=True):
        expected = list(usual)
        if out != "usable" and usual[1]:
            expected[:2] = [141 if out == "gone" else 2, ""]
        elif out == "closed":
            expected[0] = 2
        if err != "usable":
            expected[2] = ""
        elif out in UNWRITABLE and (out == "closed" or usual[1]):
            problem = f"error: standard output cannot be written: {UNWRITABLE[out]}\n"
            expected[2] = problem if out == "closed" else expected[2] + problem
        assert answer == expected, (out, err)


READING = (
    "schedule --state -",
    "explain p --state -",
    "capacity -f - --state state.json",
    "compare - --state state.json",
    "replay - --state state.json",
    "snapshot - --state -",
    "test -",
    "validate -",
    "config show -",
    "config diff - config.yaml",
    "config migrate -",
    "timeline from-dump -",
    "timeline generate - --pods 3",
    "timeline from-csv - --created t --request cpu=c",
    "schedule --state state.json --scenario -",
    "schedule --state state.json --config -",
)


@pytest.mark.parametrize("line", READING)
def test_standard_input_that_is_closed_is_one_line(line: str, answers: Answers) -> None:
    """All kinds of output and error are tried with the first line; each third, beginning with
    another, with each other line."""
    kinds = [*product(("usable",), KINDS), *zip(KINDS[1:], KINDS[1:], strict=True)]
    index = READING.index(line)
    kinds[1:] = kinds[1 + index % 3 :: 3 if index else 1]
    usual, *others = answers(line, [["closed", *pair] for pair in kinds])
    assert (usual[0], usual[1], usual[3]) == (2, "", "")
    assert usual[2].splitlines()[-1] == "error: standard input: it is closed"
    for (out, _), answer in zip(kinds[1:], others, strict=True):
        assert answer == [2, "", "", ""] if out == "usable" else answer[0] == 2


@pytest.mark.parametrize("command", ["schedule", "sweep"])
def test_what_plugins_print_may_be_lost(command: str, folder: Path) -> None:
    (folder / "chatty.py").write_text(
        "from ksched_cli.api import ScorePlugin\n"
        "class Chatty(ScorePlugin):\n"
        "    name = 'Chatty'\n"
        "    def score(self, state, pod, node):\n"
        "        print('x' * 100_000, flush=True)\n"
        "        return 1\n"
    )
    file = ["sweep.json"] if command == "sweep" else ["--state", "state.json"]
    arguments = [sys.executable, "-m", "ksched_cli", command, *file, "--plugin", "chatty.py"]
    for redirection in ("2>/dev/full", "2>&-"):
        done = subprocess.run(
            ["sh", "-c", f'exec "$@" {redirection}', "sh", *arguments],
            cwd=folder,
            env={"PYTHONPATH": str(ROOT), "PATH": os.environ["PATH"]},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout
        assert "1 placed" in done.stdout or "1 ok" in done.stdout


def test_a_file_takes_no_number_of_a_closed_stream(folder: Path) -> None:
    """What libraries write to standard error would be in a file that is written."""
    code = (
        "import os, sys\n"
        "from ksched_cli.commands.main import main\n"
        "sys.argv = ['ksched', 'plugins']\n"
        "try: main()\n"
        "except SystemExit as exit: code = exit.code\n"
        "opened = os.open('/dev/null', os.O_RDONLY)\n"
        "sys.exit(10 + code if opened > 2 else 1)\n"
    )
    done = subprocess.run(
        ["sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh", sys.executable, "-c", code],
        env={"PYTHONPATH": str(ROOT), "PATH": os.environ["PATH"]},
        check=False,
    )
    assert done.returncode == 12
