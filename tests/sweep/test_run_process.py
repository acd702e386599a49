"""Runs in a process of their own."""

import pickle
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from ksched_cli.analysis.run_figures import Failed
from ksched_cli.run.run import Run
from ksched_cli.sweep import run_process
from ksched_cli.sweep.outcome import Performer
from ksched_cli.sweep.run_process import RunProcess
from tests.pickles import calls, names, text
from tests.sweep.sweeps import Sweep, sweep

pytestmark = pytest.mark.slow

# What a pod of this name does to the process that places it.
POISON = """
import os, sys, time
from ksched_cli.api import SUCCESS, FilterPlugin

class Poison(FilterPlugin):
    name = "Poison"
    def filter(self, state, pod, node):
        if node.name == "hang":
            time.sleep(60)
        if node.name == "crash":
            os._exit(7)
        print("chatter")
        return SUCCESS
"""
CHANGES = [
    {"name": "none"},
    "add-nodes hang --like a --count 1",
    "add-nodes crash --like a --count 1",
]


@pytest.fixture(scope="module")
def poisonous(tmp_path_factory: pytest.TempPathFactory) -> Sweep:
    """With changes that make the plugin hang or crash."""
    folder: Path = tmp_path_factory.mktemp("poison")
    source = POISON.replace('== "hang"', '== "hang-1"').replace('== "crash"', '== "crash-1"')
    (folder / "poison.py").write_text(source)
    base = Run(plugins=(f"{folder}/poison.py",), kubernetes_version="1.34")
    return sweep(folder, base, changes=CHANGES)


@pytest.fixture(scope="module")
def process(poisonous: Sweep) -> Iterator[RunProcess]:
    process = RunProcess(poisonous.shared, timeout=60)
    yield process
    process.close()


def test_an_outcome_is_that_of_this_process_and_what_plugins_print_is_no_part_of_it(
    process: RunProcess, poisonous: Sweep
) -> None:
    task = poisonous.tasks()[0]
    here, there = Performer(poisonous.shared).perform(task), process.perform(task)
    assert there.status == "ok"
    assert replace(here, seconds=0) == replace(there, seconds=0)


def test_a_run_that_hangs_is_ended(poisonous: Sweep) -> None:
    process = RunProcess(poisonous.shared, timeout=1)
    outcome = process.perform(poisonous.tasks()[1])
    process.close()
    assert isinstance(outcome, Failed)
    assert (outcome.status, outcome.is_defect) == ("timeout", False)
    assert outcome.error == "took longer than 1 s, and was ended"


FORGER = """
import os, stat
from pathlib import Path
from ksched_cli.api import SUCCESS, FilterPlugin

class Forger(FilterPlugin):
    name = "Forger"
    def filter(self, state, pod, node):
        for number in range(3, 20):
            try:
                if stat.S_ISFIFO(os.fstat(number).st_mode):
                    os.write(number, Path(__file__).with_name("answer").read_bytes())
            except OSError:
                pass
        os._exit(0)
"""


@pytest.mark.parametrize("line", [b"", b"5\n", b"[]\n", b"\xff\n", b"{\n"])
def test_an_answer_that_a_plugin_forges_is_none_and_runs_nothing(
    line: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_process, "ATTEMPTS", 1)  # that of a second is the same
    effect = calls(names("os", "mkdir"), text(str(tmp_path / "effect")))
    (tmp_path / "answer").write_bytes(line or pickle.PROTO + b"\x04" + effect + pickle.STOP)
    (tmp_path / "forger.py").write_text(FORGER)
    read = sweep(tmp_path, plugins=["forger.py"])
    process = RunProcess(read.shared, timeout=60)
    outcome = process.perform(read.tasks()[0])
    process.close()
    assert isinstance(outcome, Failed)
    assert not (tmp_path / "effect").exists()
    assert outcome.status == "error"
    assert outcome.error.startswith("its process ended: ")


def test_what_is_closed_starts_no_process_again(poisonous: Sweep) -> None:
    process = RunProcess(poisonous.shared, timeout=60)
    process.close()
    outcome = process.perform(poisonous.tasks()[0])
    assert isinstance(outcome, Failed)
    assert outcome.error == "its process ended: it was closed"


def test_a_run_that_ends_its_process_is_an_error_and_the_next_is_made(
    process: RunProcess, poisonous: Sweep
) -> None:
    outcome = process.perform(poisonous.tasks()[2])
    assert isinstance(outcome, Failed)
    assert (outcome.status, outcome.is_defect) == ("error", True)
    assert outcome.error == "its process ended: exit code 7"
    assert process.perform(poisonous.tasks()[0]).status == "ok"
