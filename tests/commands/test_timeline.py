"""`ksched timeline` from the command line."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from ksched_cli.testing import node
from tests.commands.runners import Ksched, WriteState

TEMPLATE = """
apiVersion: v1
kind: Pod
metadata: {name: job}
spec: {containers: [{name: c, resources: {requests: {cpu: "1"}}}]}
"""


@pytest.fixture
def template(tmp_path: Path) -> Path:
    path = tmp_path / "job.yaml"
    path.write_text(TEMPLATE)
    return path


def test_a_generated_timeline_can_be_replayed(
    ksched: Ksched, write_state: WriteState, template: Path, tmp_path: Path
) -> None:
    path = tmp_path / "pods.jsonl.gz"
    options = ("--pods", 20, "--days", 0.1, "--arrivals", "burst:5", "--priority", "7")
    assert ksched("timeline", "generate", f"{template}=2", *options, "--to", path) == (0, "", "")
    assert len(gzip.decompress(path.read_bytes()).splitlines()) == 21
    state = write_state(node("n", cpu=64))
    code, out, _ = ksched("replay", path, "--state", state, "-o", "json", "--summary")
    assert (code, json.loads(out)["summary"]["placed"]) == (0, 20)
    assert json.loads(out)["waiting"]["priority"][0]["name"] == "7"


def test_a_dump_and_a_trace_go_to_standard_output(ksched: Ksched, tmp_path: Path) -> None:
    dump, trace = tmp_path / "dump.json", tmp_path / "trace.csv"
    metadata = {"name": "p", "creationTimestamp": "2026-01-01T00:00:00Z"}
    spec = {"containers": [{"name": "c"}]}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
    dump.write_text(json.dumps(pod))
    trace.write_text("at,cores\n3,2\n")
    code, out, _ = ksched("timeline", "from-dump", dump)
    assert (code, json.loads(out.splitlines()[1])["pod"]["metadata"]) == (0, {"name": "p"})
    columns = ("--created", "at", "--request", "cpu=cores", "--start", "2026-01-01")
    code, out, _ = ksched("timeline", "from-csv", trace, *columns)
    assert (code, json.loads(out.splitlines()[0])["start"]) == (0, "2026-01-01T00:00:03Z")


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["generate", "{}=0"], 'FILE[=WEIGHT]: "0" is no weight'),
        (["generate", "{}=1e308", "{}=1e308"], 'FILE[=WEIGHT]: "1e308" is no weight'),
        (["generate", "{}=5e-324"], 'FILE[=WEIGHT]: "5e-324" is no weight'),
        (["generate", "{}", "--priority", "2147483648"], "a whole number of at most 2,147,483,647"),
        (["generate", "{}", "--days", "0"], "--days takes a number greater than 0"),
        (["generate", "{}", "--priority", "high"], "--priority takes VALUE[=WEIGHT]"),
        (["generate", "{}", "--arrivals", "daily"], "--arrivals takes uniform"),
        (["generate", "{}", "--to", "pods.json"], "the name must end in .jsonl"),
        (["generate", "nowhere.yaml"], "nowhere.yaml: there is no such file"),
        (["from-csv", "{}", "--created", "a", "--request", "cpu"], "--request takes KEY=COLUMN"),
        (["from-csv", "{}", "--created", "a", "--request", "cpu=c", "--time-unit", "h"], "takes s"),
        (["from-csv", "{}", "--created", "a", "--request", "cpu=c", "--start", "x"], "--start"),
        (["from-csv", "{}", "--created", "a", "--request", "cpu=c", "--scheduled", "b"], "--ended"),
        (
            [
                "from-csv",
                "{}",
                "--created",
                "a",
                "--request",
                "c=c",
                "--ended",
                "b",
                "--duration=d",
            ],
            "--duration says how long",
        ),
        (["from-dump", "{}"], "there are no pods in it"),
    ],
)
def test_what_cannot_be_done_is_one_message(
    ksched: Ksched, template: Path, options: list[str], problem: str
) -> None:
    template.write_text(TEMPLATE.replace("Pod", "Node") if "from-dump" in options else TEMPLATE)
    code, out, err = ksched("timeline", *(option.format(template) for option in options))
    assert (code, out) == (2, "")
    assert problem in err
    assert err.count("\n") <= 2
