"""Files as the origin of a snapshot."""

import json
from pathlib import Path

import pytest

from ksched_cli.testing import node, pod
from tests.commands.runners import Ksched, WriteState


@pytest.mark.parametrize(("options", "is_whole"), [([], False), (["--full"], True)])
def test_a_dump_is_written_without_what_nobody_reads(
    options: list[str], is_whole: bool, ksched: Ksched, write_state: WriteState, tmp_path: Path
) -> None:
    secret = pod("p")
    secret["spec"]["containers"][0]["env"] = [{"name": "PASSWORD", "value": "hunter2"}]
    path = tmp_path / "copy.json"
    code, out, _ = ksched("snapshot", path, "--state", write_state(node("n"), secret), *options)
    assert code == 0
    assert "2 objects" in " ".join(out.split())
    assert [item["kind"] for item in json.loads(path.read_text())["items"]] == ["Node", "Pod"]
    assert ("hunter2" in path.read_text()) is is_whole


SECRET = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": {"a": "hunter2"}}
OTHERS = (
    SECRET,
    {**SECRET, "kind": "ConfigMap"},
    {**SECRET, "kind": "Event"},
    {**SECRET, "apiVersion": "acme.example/v1", "kind": "Widget"},
    {"apiVersion": "v1", "kind": "SecretList", "items": [SECRET]},
)
PLUGIN = """
from ksched_cli.api import SUCCESS, FilterPlugin

class Reader(FilterPlugin):
    name = "Reader"
    reads = ("Widget.acme.example", "Secret")

    def filter(self, state, pod, node):
        return SUCCESS
"""


@pytest.mark.parametrize("options", [(), ("--full",), ("--redact",)])
def test_kinds_that_no_plugin_reads_are_left_out_and_named(
    options: tuple[str, ...], ksched: Ksched, write_state: WriteState, tmp_path: Path
) -> None:
    path, state = tmp_path / "copy.json", write_state(node("n"), *OTHERS)
    code, _, err = ksched("snapshot", path, "--state", state, *options)
    assert (code, "hunter2" in path.read_text(), "Widget" in path.read_text()) == (0, False, False)
    assert "skipped kinds that no plugin reads: 1 ConfigMap, 1 Event, 2 Secret, 1 Widget" in err


@pytest.mark.parametrize("options", [(), ("--full",)])
def test_a_plugin_s_kinds_stay_but_for_secrets(
    options: tuple[str, ...], ksched: Ksched, write_state: WriteState, tmp_path: Path
) -> None:
    (tmp_path / "reader.py").write_text(PLUGIN)
    path, state = tmp_path / "copy.json", write_state(node("n"), *OTHERS)
    plugin = ("--plugin", tmp_path / "reader.py")
    code, _, err = ksched("snapshot", path, "--state", state, *plugin, *options)
    assert [item["kind"] for item in json.loads(path.read_text())["items"]] == ["Node", "Widget"]
    assert (code, "a plugin reads Secrets, which no snapshot has" in err) == (0, True)


def test_the_final_state_of_a_replay_has_what_a_snapshot_has(
    ksched: Ksched, write_state: WriteState, tmp_path: Path
) -> None:
    (tmp_path / "reader.py").write_text(PLUGIN)
    running = pod("p", node="n")
    running["spec"]["containers"][0]["env"] = [{"name": "PASSWORD", "value": "hunter2"}]
    storage = {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "c"}}
    storage |= {"provisioner": "d", "parameters": {"password": "hunter2"}}
    state = write_state(node("n"), running, storage, *OTHERS[:1], {**OTHERS[3], "data": {}})
    timeline, path = tmp_path / "t.json", tmp_path / "end.json"
    timeline.write_text('{"apiVersion": "ksched/v1", "kind": "Timeline", "events": []}')
    plugin = ("--plugin", tmp_path / "reader.py")
    code, _, _ = ksched("replay", timeline, "--state", state, "--save-state", path, *plugin)
    kinds = [item["kind"] for item in json.loads(path.read_text())["items"]]
    assert (code, kinds) == (0, ["Node", "Pod", "StorageClass", "Widget"])
    assert "hunter2" not in path.read_text()


def test_a_snapshot_of_a_part_of_a_cluster_is_still_warned_about(
    ksched: Ksched, tmp_path: Path
) -> None:
    part, saved = tmp_path / "part.json", tmp_path / "saved.json"
    real = {"uid": "u", "creationTimestamp": "2026-01-01T00:00:00Z", "resourceVersion": "7"}
    items = [node("n"), pod("web", node="n")]
    for item in items:
        item["metadata"] |= real
    part.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    assert ksched("snapshot", saved, "--state", part)[0] == 0
    for state in (part, saved):
        _, _, err = ksched("schedule", "--state", state)
        assert "the state looks like part of a cluster" in err
