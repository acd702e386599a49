"""A state without a node is an error, unless something adds nodes or an option accepts it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ksched_cli.testing import node, pod
from tests.commands.runners import Ksched
from tests.live.fake_api_server import ApiServer, write_kubeconfig

TABLE = {
    "apiVersion": "meta.k8s.io/v1",
    "kind": "Table",
    "rows": [{"cells": ["n"], "object": {"kind": "PartialObjectMetadata"}}],
}
EMPTY = {"apiVersion": "v1", "kind": "List", "items": []}
HEAD = {"apiVersion": "ksched/v1"}
JOINS = {**HEAD, "kind": "Timeline", "events": [{"at": 1, "put": node("n")}]}
NOBODY = {**HEAD, "kind": "Timeline", "events": [{"at": 1, "pod": pod("q")}]}
EXPECTATIONS = {**HEAD, "kind": "Expectations", "state": "state.json", "expect": [{"pending": 0}]}
SWEEP = {**HEAD, "kind": "Sweep", "states": "state.json"}
GROUP = {"name": "g", "maxSize": 3, "template": node("t")}
GROUPS = {**HEAD, "kind": "Autoscaler", "nodeGroups": [GROUP]}
LACKS = "the state has no Node"
ALLOW = "--allow-empty-state"


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    monkeypatch.chdir(tmp_path)

    def write(**files: Any) -> None:
        for name, content in files.items():
            (tmp_path / f"{name}.json").write_text(json.dumps(content))

    write(state=EMPTY, expectations=EXPECTATIONS, sweep=SWEEP, nobody=NOBODY, joins=JOINS)
    return write


COMMANDS: dict[str, tuple[str, ...]] = {
    "schedule": ("schedule", "--state", "state.json"),
    "explain": ("explain", "--pending", "--state", "state.json"),
    "preempt": ("preempt", "p", "--state", "state.json"),
    "fix": ("fix", "p", "--state", "state.json"),
    "drift": ("drift", "--state", "state.json"),
    "capacity": ("capacity", "p", "--state", "state.json"),
    "shrink": ("shrink", "--state", "state.json"),
    "compare": ("compare", "--state", "state.json", "--vs", "--no-preemption"),
    "replay": ("replay", "nobody.json", "--state", "state.json"),
    "from now": ("replay", "--from-now", "--state", "state.json"),
    "after a replay": ("schedule", "--timeline", "nobody.json", "--state", "state.json"),
    "test": ("test", "expectations.json"),
    "sweep": ("sweep", "sweep.json"),
    "snapshot": ("snapshot", "copy.json", "--state", "state.json"),
    "redaction": ("snapshot", "copy.json", "--redact", "--state", "state.json"),
    "audit": ("audit", "--before", "state.json", "--after", "state.json", "--scheduler-log", "l"),
}


@pytest.mark.parametrize("state", [EMPTY, TABLE, {**EMPTY, "items": [pod("p")]}])
@pytest.mark.parametrize("command", COMMANDS)
def test_a_state_without_nodes_is_an_error_of_every_command(
    command: str, state: Any, ksched: Ksched, write: Callable[..., None], tmp_path: Path
) -> None:
    write(state=state)
    code, out, err = ksched(*COMMANDS[command])
    assert (code, out) == (2, "")
    assert (LACKS in err, ALLOW in err) == (True, True)
    assert ("1 Table" in err) is (state is TABLE)
    assert not (tmp_path / "copy.json").exists()


@pytest.mark.parametrize(
    "command", ["schedule", "replay", "test", "sweep", "snapshot", "redaction", "drift"]
)
def test_an_option_accepts_it(
    command: str, ksched: Ksched, write: Callable[..., None], runs_here: None
) -> None:
    code, _, err = ksched(*COMMANDS[command], ALLOW)
    assert LACKS not in err
    assert code == (1 if command == "replay" else 0), err


@pytest.mark.parametrize("name", ["expectations", "sweep"])
def test_a_file_accepts_it(
    name: str, ksched: Ksched, write: Callable[..., None], runs_here: None
) -> None:
    write(
        expectations={**EXPECTATIONS, "allowEmptyState": True},
        sweep={**SWEEP, "allowEmptyState": True},
    )
    assert ksched(*COMMANDS["test" if name == "expectations" else "sweep"])[0] == 0


@pytest.mark.parametrize(
    "options",
    [
        ("schedule", "--change", "add-nodes n --cpu 4 --memory 8Gi --count 2"),
        ("replay", "joins.json"),
        ("schedule", "--timeline", "joins.json"),
        ("replay", "nobody.json", "--autoscaler", "groups.json"),
    ],
    ids=lambda options: " ".join(options[:2]),
)
def test_a_cluster_may_begin_empty_where_something_adds_nodes(
    options: tuple[str, ...], ksched: Ksched, write: Callable[..., None]
) -> None:
    write(groups=GROUPS)
    code, _, err = ksched(*options, "--state", "state.json")
    assert (code in (0, 1), LACKS in err) == (True, False), err


def test_a_cluster_may_lose_all_its_nodes(ksched: Ksched, write: Callable[..., None]) -> None:
    write(state={**EMPTY, "items": [node("n")]})
    assert ksched("schedule", "--state", "state.json", "--change", "delete node/n")[0] == 0


def test_a_live_cluster_without_nodes_is_one_too(
    ksched: Ksched, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    server = ApiServer([pod("p")])
    monkeypatch.setenv("KUBECONFIG", str(write_kubeconfig(tmp_path / "kubeconfig", server.url)))
    try:
        for command in (("snapshot", "a.json"), ("schedule", "--live")):
            code, _, err = ksched(*command)
            assert (code, LACKS in err) == (2, True)
            code, _, err = ksched(*command, ALLOW)
            assert (code in (0, 1), LACKS in err) == (True, False), err
    finally:
        server.close()


@pytest.mark.parametrize(
    ("item", "message"),
    [
        ({**node("n"), "kind": "node"}, 'there is no kind "node"; did you mean "Node"?'),
        ({**pod("p"), "kind": "POD"}, 'there is no kind "POD"; did you mean "Pod"?'),
        ({"kind": "list", "apiVersion": "v1", "items": [node("n")]}, 'did you mean "List"?'),
        ({"kind": "nodelist", "items": [node("n")]}, 'did you mean "NodeList"?'),
        (
            {"kind": "poddisruptionbudget", "apiVersion": "policy/v1", "metadata": {"name": "b"}},
            'did you mean "PodDisruptionBudget"?',
        ),
    ],
)
@pytest.mark.parametrize("command", ["schedule", "test", "snapshot", "redaction"])
def test_a_kind_in_the_wrong_case_is_named(
    command: str, item: Any, message: str, ksched: Ksched, write: Callable[..., None]
) -> None:
    write(state={**EMPTY, "items": [node("m"), item]})
    code, out, err = ksched(*COMMANDS[command])
    assert (code, out, message in err) == (2, "", True)


def test_a_kind_of_another_group_may_have_any_case(
    ksched: Ksched, write: Callable[..., None]
) -> None:
    other = {"kind": "pod", "apiVersion": "acme.example/v1", "metadata": {"name": "p"}}
    write(state={**EMPTY, "items": [node("m"), other]})
    code, _, err = ksched(*COMMANDS["schedule"], "-v")
    assert (code, "skipped kinds that no plugin reads: 1 pod" in err) == (0, True)


def test_in_a_folder_which_may_have_files_of_others_it_is_a_warning(
    ksched: Ksched, write: Callable[..., None], tmp_path: Path
) -> None:
    (tmp_path / "dump").mkdir()
    for name, item in (("a", node("m")), ("b", {**pod("p"), "kind": "pod"})):
        (tmp_path / "dump" / f"{name}.json").write_text(json.dumps(item))
    code, _, err = ksched("schedule", "--state", "dump")
    assert (code, 'there is no kind "pod"; did you mean "Pod"?' in err) == (0, True)
