"""Completion of `kubectl ksched`, as kubectl asks for it."""

import subprocess
import sys

import pytest

from ksched_cli.commands import completion as completion_module
from ksched_cli.commands.kubectl_completion import completion
from ksched_cli.scenario import owned_pods
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


@pytest.mark.parametrize(
    ("option", "begun", "candidates"),
    [
        ("--change", "dr", ["drain"]),
        ("--change", "set r", ["set resources"]),
        ("--change", "drain no", ["drain node-1", "drain node-2"]),
        ("--change", "drain node-1 node-2", ["drain node-1 node-2"]),
        ("--change", "drain node-1 --ig", ["drain node-1 --ignore-daemonsets"]),
        ("--change", "taint n", ["taint nodes"]),
        ("--change", "label pods w", ["label pods web-5f-a"]),
        ("--change", "scale ", ["scale deployment/web", "scale statefulset/db"]),
        ("--change", "delete po", ["delete pod/batch", "delete pod/web-5f-a"]),
        ("--change", "add-nodes x --like node-2", ["add-nodes x --like node-2"]),
        ("--change", "scale -n s", ["scale -n shop"]),
        ("--namespace", "", ["default", "empty", "shop"]),
        ("--owner", "", ["deployment/web", "statefulset/db"]),
        ("-o", "j", ["json"]),
        ("-o", "m", ["markdown"]),
        ("-o", "s", []),
    ],
)
def test_values_of_options_are_completed(
    option: str, begun: str, candidates: list[str], write_state: WriteState
) -> None:
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-5f", "controller": True}
    web = pod("web-5f-a", "shop", labels={"pod-template-hash": "5f"})
    web["metadata"]["ownerReferences"] = [owner]
    empty = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "empty"}}
    database = {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "db"}}
    path = str(write_state(node("node-1"), node("node-2"), pod("batch"), web, empty, database))
    *lines, _ = completion(["schedule", "--state", path, option, begun]).split("\n")
    assert lines == candidates


def test_forms_are_those_of_the_command() -> None:
    *lines, _ = completion(["validate", "-o", "s"]).split("\n")
    assert lines == ["sarif"]


def test_workloads_are_those_of_changes() -> None:
    assert set(completion_module.WORKLOADS) == set(owned_pods.WORKLOADS)


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
