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
