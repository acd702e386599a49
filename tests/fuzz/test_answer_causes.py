"""What happens over time, and what others write or answer, of another shape or out of range."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from corpora import EXAMPLES
from format import DAY, REPLAY
from judge import judged
from test_causes import DIGITS, KIND, judge_state
from test_file_causes import judge_file

from ksched_cli.testing import node, pod
from tests.extenders.fixtures import Serve
from tests.extenders.servers import Code
from tests.live.fake_api_server import write_kubeconfig

pytestmark = pytest.mark.slow

STATE = str(REPLAY / "cluster.yaml")


# -- over time ------------------------------------------------------------------------------------


@pytest.mark.parametrize("manifest", [
    {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass"},
    {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": []},
    {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": {}}},
])  # fmt: skip
def test_a_class_without_a_name_is_not_put(manifest: dict[str, object], tmp_path: Path) -> None:
    timeline = {
        "apiVersion": "ksched/v1",
        "kind": "Timeline",
        "events": [{"at": 1, "put": manifest}],
    }
    arguments = ("replay", "{}", "--state", STATE)
    assert judge_file(tmp_path, "t.json", timeline, *arguments).code == 2


@pytest.mark.parametrize(
    "start", ["0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59Z", "3000-01-01T00:00:00Z"]
)
def test_a_replay_does_not_leave_the_calendar(start: str, tmp_path: Path) -> None:
    timeline = {"apiVersion": "ksched/v1", "kind": "Timeline", "start": start}
    lines: list[object] = [timeline, {"at": 5, "pod": pod("q")}]
    verdict = judge_file(tmp_path, "t.jsonl", lines, "replay", "{}", "--state", STATE)
    assert verdict.code == 2
    assert "expected a time in the years 1000 to 2999" in verdict.errors
    late = pod("p", cpu=1)
    late["metadata"]["creationTimestamp"] = "9999-12-31T23:59:59Z"
    state = tmp_path / "state.json"
    state.write_text("\n".join(map(json.dumps, (node("a"), late))))
    lines[0] = {"apiVersion": "ksched/v1", "kind": "Timeline"}
    arguments = ("replay", "{}", "--state", str(state), "--trace", "-o", "json")
    assert judge_file(tmp_path, "t.jsonl", lines, *arguments).code in (0, 1)


@pytest.mark.parametrize("fields", [
    {"provisioningDelay": 10**400}, {"maxSize": 2.0}, {"template": {"metadata": "x"}},
    {"template": {"metadata": {"labels": [1]}}}, {"template": {"apiVersion": "apps/v1"}},
])  # fmt: skip
def test_a_node_group_of_another_shape_is_refused(fields: Any, tmp_path: Path) -> None:
    group = {"name": "g", "maxSize": 1, "template": {}, **fields}
    scaling = {"apiVersion": "ksched/v1", "kind": "Autoscaler", "nodeGroups": [group]}
    arguments = ("replay", DAY, "--state", STATE, "--autoscaler", "{}")
    assert judge_file(tmp_path, "a.json", scaling, *arguments).code == 2


@pytest.mark.parametrize("part", [
    {"metadata": "x"}, {"metadata": {"annotations": 5}}, {"status": "x"}, {"spec": []},
    {"status": {"phase": "Failed", "conditions": ["x"]}},
    {"status": {"phase": "Failed", "conditions": [{"type": []}]}},
    {"status": {"phase": "Failed", "containerStatuses": [{"state": "x"}]}},
    {"spec": {"volumes": [None]}},
    {"metadata": {"name": "p", "creationTimestamp": "0001-01-01T00:00:00+23:59"}},
])  # fmt: skip
@pytest.mark.parametrize("command", ["from-dump", "generate"])
def test_a_pod_of_another_shape_makes_no_timeline(
    part: dict[str, object], command: str, tmp_path: Path
) -> None:
    own = pod("p")
    own["metadata"]["creationTimestamp"] = "2026-01-01T00:00:00Z"
    arguments = ("timeline", command, "{}")
    assert judge_file(tmp_path, "d.json", {**own, **part}, *arguments).code in (0, 2)


@pytest.mark.parametrize("options", [
    ("--arrivals", f"burst:{DIGITS}"), ("--arrivals", "burst:1000000000000"),
    ("--runs-for", "lognormal:1:1e6"), ("--runs-for", "fixed:1e300"),
])  # fmt: skip
def test_a_random_timeline_out_of_range_is_refused_or_made(
    options: tuple[str, ...], tmp_path: Path
) -> None:
    arguments = ("timeline", "generate", "{}", "--pods", "3", *options)
    assert judge_file(tmp_path, "p.json", pod("p"), *arguments).code in (0, 2)


@pytest.mark.parametrize("row", ["1e19,1", "1e12,1", "0,1e19", f'0,"{"1" * 200_000}"', '0,"\x00'])
def test_a_trace_out_of_range_is_refused(row: str, tmp_path: Path) -> None:
    columns = ("--created", "t", "--request", "cpu=cpu", "--priority", "cpu")
    arguments = ("timeline", "from-csv", "{}", *columns)
    assert judge_file(tmp_path, "t.csv", f"t,cpu\n{row}\n", *arguments).code == 2


def test_a_trace_may_request_more_than_a_float_holds(tmp_path: Path) -> None:
    arguments = ("timeline", "from-csv", "{}", "--created", "t", "--request", "memory=m")
    assert judge_file(tmp_path, "t.csv", f"t,m\n0,{'9' * 400}\n", *arguments).code == 0


# -- what others write or answer ------------------------------------------------------------------


@pytest.mark.parametrize("parts", [
    {"a": "b"}, {"a": ""}, {"a": "x1"}, {"a-b": "c"}, {"a": "d", "b": "c"}, {"a": "c", "b": "c"},
])  # fmt: skip
def test_a_key_whose_codes_were_changed_is_none(parts: dict[str, str], tmp_path: Path) -> None:
    """Between two codes that are not in order there is no third."""
    key = {"kind": "RedactionKey", "apiVersion": "ksched/v1", "parts": parts, "names": {}}
    out = str(tmp_path / "out.json")
    arguments = ("snapshot", out, "--state", STATE, "--redact-key", "{}")
    verdict = judge_file(tmp_path, "key.json", key, *arguments)
    assert verdict.code == 2
    assert "its codes were changed" in verdict.errors


def test_a_recording_that_is_nested_deeply_is_none(tmp_path: Path) -> None:
    example = EXAMPLES / "extender"
    files = ("--state", str(example / "cluster.yaml"), "--config", str(example / "scheduler.yaml"))
    line = f'{{"url": "u", "request": {"[" * 100_000}'
    arguments = ("schedule", *files, "--replay-extenders", "{}")
    assert judge_file(tmp_path, "calls.jsonl", line, *arguments).code == 2


@pytest.mark.parametrize("location", ["http://a:99999999/x", "http://[::1", "http://[x]/", "//"])
def test_a_redirect_to_no_url_is_a_failure(location: str, serve: Serve, tmp_path: Path) -> None:
    server = serve({"/filter": Code(307, headers={"Location": location})})
    extender = {"urlPrefix": server.url, "filterVerb": "filter", "ignorable": True}
    extender["httpTimeout"] = "2562047h47m16.854775807s"
    config = tmp_path / "config.json"
    config.write_text(json.dumps({**KIND, "extenders": [extender]}))
    state = "\n".join(map(json.dumps, [node("a"), pod("p")]))
    arguments = ("schedule", "--config", str(config))
    verdict = judge_state(tmp_path, state, *arguments, name="x.json")
    assert verdict.code == 0
    assert "Traceback" not in verdict.errors


NODES = "/api/v1/nodes"


@pytest.mark.parametrize(("path", "answer"), [
    (NODES, b'{"items": [1]}'), (NODES, b'{"items": [null]}'),
    (NODES, b'{"items": [{"x": 1e400}]}'),
    (NODES, b'{"items": [{"metadata": {"name": "\xff"}}]}'), (NODES, b"[" * 100_000),
    (NODES, b'{"metadata": {"continue": "\xff"}}'), ("/apis", b'{"groups": [{"name": "\xff"}]}'),
    (NODES, b'{"items": [{"kind": 5, "apiVersion": []}]}'), ("/version", b'{"gitVersion": "\xff"}'),
    ("/api/v1/events", b'{"items": [{"reason": []}]}'),
])  # fmt: skip
def test_an_api_server_that_answers_something_else_is_no_defect(
    path: str, answer: bytes, serve: Serve, tmp_path: Path
) -> None:
    kinds = [{"name": name, "kind": kind, "verbs": ["list"]}
             for name, kind in (("nodes", "Node"), ("events", "Event"))]  # fmt: skip
    answers = {"/api/v1": {"resources": kinds}, "/apis": {}, "/version": {}, path: answer}
    server = serve({**answers, **{f"{key}?limit=500": value for key, value in answers.items()}})
    config = write_kubeconfig(tmp_path / "kubeconfig", server.url)
    arguments = ["snapshot", str(tmp_path / "o.json"), "--kubeconfig", str(config), "--events"]
    verdict = judged(arguments, config)
    assert not verdict.rule, verdict


@pytest.mark.parametrize("contexts", [
    [{"name": 1, "context": {}}], [{"name": [], "context": "x"}],
    [{"name": "here", "context": "x"}],
    [{"name": "here", "context": {"cluster": 3, "user": []}}], "x", [None],
])  # fmt: skip
def test_a_kubeconfig_of_another_shape_is_none(contexts: object, tmp_path: Path) -> None:
    document = {"apiVersion": "v1", "kind": "Config", "contexts": contexts}
    for context in ("here", "there"):
        arguments = ("schedule", "--live", "--kubeconfig", "{}", "--context", context)
        assert judge_file(tmp_path, "k.yaml", document, *arguments).code == 2


def test_a_timeline_that_is_nested_deeply_is_refused(tmp_path: Path) -> None:
    timeline = {"apiVersion": "ksched/v1", "kind": "Timeline"}
    lines = [timeline, f'{{"at": 1, "put": {{"a": {"[" * 100_000}']
    path = tmp_path / "t.jsonl.gz"
    path.write_bytes(gzip.compress(f"{json.dumps(lines[0])}\n{lines[1]}".encode(), 1))
    verdict = judged(["replay", str(path), "--state", STATE], path)
    assert (verdict.rule, verdict.code) == ("", 2)
