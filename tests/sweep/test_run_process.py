"""Runs in a process of their own."""

from collections.abc import Iterator

import pytest

from ksched_cli.sweep.environment import RunEnvironment
from ksched_cli.sweep.materials import Materials, Run
from ksched_cli.sweep.outcome import perform
from ksched_cli.sweep.preparation import Settings
from ksched_cli.sweep.run_process import RunProcess
from tests.sweep.sweeps import plan

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
def materials(tmp_path_factory: pytest.TempPathFactory) -> Materials:
    """With changes that make the plugin hang or crash."""
    folder = tmp_path_factory.mktemp("poison")
    source = POISON.replace('== "hang"', '== "hang-1"').replace('== "crash"', '== "crash-1"')
    (folder / "poison.py").write_text(source)
    settings = Settings((f"{folder}/poison.py",), minors=("1.34",))
    return plan(folder, settings, changes=CHANGES).materials


@pytest.fixture(scope="module")
def process(materials: Materials) -> Iterator[RunProcess]:
    process = RunProcess(materials, timeout=60)
    yield process
    process.close()


def test_an_outcome_is_that_of_this_process_and_what_plugins_print_is_no_part_of_it(
    process: RunProcess, materials: Materials
) -> None:
    run = materials.run(seed=3)
    here, there = perform(RunEnvironment(materials), run), process.perform(run)
    assert there["status"] == "ok"
    assert {**here, "seconds": 0} == {**there, "seconds": 0}


def test_a_run_that_hangs_is_ended(materials: Materials) -> None:
    process = RunProcess(materials, timeout=1)
    outcome = process.perform(materials.run(changes=1))
    process.close()
    assert (outcome["status"], outcome["defect"]) == ("timeout", False)
    assert outcome["error"] == "took longer than 1 s, and was ended"


def test_what_is_closed_starts_no_process_again(materials: Materials) -> None:
    process = RunProcess(materials, timeout=60)
    process.close()
    assert process.perform(materials.run())["error"] == "its process ended: it was closed"


def test_a_run_that_ends_its_process_is_an_error_and_the_next_is_made(
    process: RunProcess, materials: Materials
) -> None:
    outcome = process.perform(materials.run(changes=2))
    assert (outcome["status"], outcome["defect"]) == ("error", True)
    assert outcome["error"] == "its process ended: exit code 7"
    assert process.perform(Run("x", 0, 0, 0, 0, minor="1.34"))["status"] == "ok"
