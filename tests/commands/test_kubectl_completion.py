"""Completion of `kubectl ksched`, as kubectl asks for it."""

import subprocess
import sys

import pytest

from ksched_cli.commands.kubectl_completion import completion
from ksched_cli.testing import node, pod
from tests.commands.runners import WriteState


def test_commands_are_completed_with_what_they_do() -> None:
    *lines, directive = completion(["sche"]).split("\n")
    assert [line.partition("\t")[0] for line in lines] == ["schedule"]
    assert "Place the pending pods" in lines[0]
    assert directive == ":4"


def test_options_are_completed() -> None:
    lines = completion(["schedule", "--sta"]).split("\n")
    assert lines[0].startswith("--state")


def test_pods_are_completed_from_the_state(write_state: WriteState) -> None:
    path = str(write_state(node("n"), pod("web-1"), pod("db-1")))
    assert completion(["explain", "--state", path, "we"]).split("\n") == ["web-1", ":4"]


@pytest.mark.parametrize("arguments", [["schedule", "--state", ""], ["nothing", "x"]])
def test_where_there_is_nothing_to_choose_the_shell_completes_files(arguments: list[str]) -> None:
    assert completion(arguments).split("\n")[-1] == ":0"


def test_candidates_that_cannot_be_written_are_exit_code_2() -> None:
    code = "from ksched_cli.commands.kubectl_completion import main; main()"
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-c", code, "sche"], stdout=full, stderr=subprocess.PIPE, check=False
        )
    message = b"error: standard output cannot be written: No space left on device\n"
    assert (done.returncode, done.stderr) == (2, message)
