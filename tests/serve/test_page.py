"""The workbench over HTTP: who may ask, what an edit comes to, and what a server survives."""

from __future__ import annotations

import gzip
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
import urllib3
from typer.testing import CliRunner

from ksched_cli.commands.main import application
from ksched_cli.errors import UsageError
from ksched_cli.run.inputs import Inputs
from ksched_cli.run.open import Opener
from ksched_cli.run.run import Run
from ksched_cli.serve import page_server
from ksched_cli.serve.http import BoundedProtocol
from ksched_cli.serve.listening import Listening
from ksched_cli.serve.page_server import PageServer
from ksched_cli.serve.workbench_runs import RecentItems, Workbench
from ksched_cli.testing import node, pod
from tests.serve.conftest import PLUGINS

ROOT = Path(__file__).parents[2]
FIRST = ROOT / "examples" / "first-cluster" / "cluster.yaml"
TOKEN = "t0ken"
EVIL = "<script>alert(1)</script>"
HTTP = urllib3.PoolManager(maxsize=100, retries=False)
Manifest = dict[str, Any]
PACKING = (
    "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
    "profiles:\n- pluginConfig:  # as a person writes it\n  - name: NodeResourcesFit\n"
    "    args: {scoringStrategy: {type: MostAllocated}}\n"
)


@dataclass
class Bench:
    """A workbench that is served by a thread. state: of its Run"""

    workbench: Workbench
    state: str
    url: str = ""
    warnings: list[str] = field(default_factory=list)
    _stop: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def start(self) -> None:
        is_up = threading.Event()

        def show(url: str) -> None:
            self.url = url.partition("/#")[0]
            is_up.set()

        at = Listening("127.0.0.1", 0)
        server = PageServer(self.workbench, at, TOKEN, lambda line: None, self.warnings.append)
        self._thread = threading.Thread(target=server.run, args=(self._stop.is_set, show))
        self._thread.start()
        assert is_up.wait(100)

    def stop(self) -> None:
        self._stop.set()
        assert self._thread is not None
        self._thread.join(100)
        assert not self._thread.is_alive()
        assert not self.warnings

    def request(
        self, path: str, body: Any = None, *, token: str = TOKEN, **headers: str
    ) -> urllib3.BaseHTTPResponse:
        sent = {"authorization": f"Bearer {token}"} if token else {}
        sent |= {name.replace("_", "-"): value for name, value in headers.items()}
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        method = "GET" if body is None else "POST"
        return HTTP.request(
            method, self.url + path, body=None if body is None else content, headers=sent
        )

    def ask(self, path: str, body: Any = None) -> Any:
        answer = self.request(path, body)
        assert answer.status == 200, answer.data
        is_json = answer.headers["content-type"] == "application/json"
        return json.loads(answer.data) if is_json else answer.data.decode()

    def error(self, path: str, body: Any = None, **headers: str) -> tuple[int, str]:
        answer = self.request(path, body, **headers)
        is_plain = path.partition("?")[0].endswith(".html")  # in a frame
        return answer.status, answer.data.decode() if is_plain else json.loads(answer.data)["error"]

    def edited(self, **edits: Any) -> Any:
        """The view of a Run."""
        return self.ask("/api/runs", edits)


def started_bench(state: str, **fields: Any) -> Bench:
    run = Run(states=(state,), extenders=False, **fields)
    inputs = Inputs(keeps_states=True)
    bench = Bench(Workbench(run, Opener([run], inputs)), state)
    bench.start()
    return bench


@pytest.fixture(autouse=True, scope="module")
def nodes_decide_and_servers_end_at_once() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("KSCHED_KUBERNETES_VERSION")
        patch.setattr(page_server, "_IDLE_SECONDS", 0.01)
        yield


@pytest.fixture(scope="module")
def first(nodes_decide_and_servers_end_at_once: None) -> Iterator[Bench]:
    """About the first example, for tests that leave the server as it is."""
    bench = started_bench(str(FIRST))
    yield bench
    bench.stop()


Start = Callable[..., Bench]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Serves a workbench about these objects, else the first example."""
    started: list[Bench] = []

    def go(*objects: Manifest, **fields: Any) -> Bench:
        state = str(FIRST)
        if objects:
            state = str(tmp_path / "state.json")
            Path(state).write_text(json.dumps(objects))
        bench = started_bench(state, **fields)
        started.append(bench)
        return bench

    yield go
    for each in started:
        each.stop()


def schedule(*options: object) -> Any:
    """What `ksched schedule` prints."""
    line = ["schedule", "--no-extenders", "-o", "json", *map(str, options)]
    run = CliRunner().invoke(application(["schedule"]), line)
    return json.loads(run.stdout)


# -- who may ask ----------------------------------------------------------------------------------


def test_only_clients_that_know_the_token_are_answered(start: Start) -> None:
    bench = start()
    assert bench.request("/api/start", token="").status == 401
    assert bench.request("/api/start", token="wrong").status == 401
    assert bench.request("/api/start").status == 200
    assert bench.request("/session", "wrong", token="").status == 401
    session = bench.request("/session", TOKEN, token="")
    cookie = session.headers["set-cookie"]
    assert session.status == 204
    assert re.fullmatch(r"ksched-\d+=t0ken; HttpOnly; Path=/; SameSite=strict", cookie)
    answer = bench.request("/api/start", token="", cookie=cookie.partition(";")[0])
    assert answer.status == 200
    digest = json.loads(answer.data)["run"]["digest"]
    for path in (f"/answers/{digest}/schedule.html", f"/exports/{digest}/scenario.yaml"):
        assert bench.request(path, token="").status == 401


@pytest.mark.parametrize(
    "headers",
    [
        {"host": "evil.example"},
        {"host": "127.0.0.1.evil.example:80"},
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": "http://127.0.0.1:1"},
        {"sec_fetch_site": "cross-site"},
        {"sec_fetch_site": "same-site"},
    ],
)
def test_a_page_of_another_site_cannot_ask(first: Bench, headers: dict[str, str]) -> None:
    status, message = first.error("/api/runs", {}, **headers)
    assert status == 403
    assert "another site" in message or "open 127.0.0.1 or localhost" in message


def test_a_forwarded_port_is_no_other_site(start: Start) -> None:
    own = {"host": "localhost:9000", "origin": "http://localhost:9000"}
    assert start().request("/api/runs", {}, **own).status == 200


def test_the_page_itself_needs_no_token_and_loads_nothing_from_elsewhere(start: Start) -> None:
    bench = start()
    for path in page_server.OPEN_PATHS[:3]:
        answer = bench.request(path, token="", sec_fetch_site="cross-site")
        assert answer.status == 200
        policy = answer.headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'")
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert not re.search(r"(?:src|href|url)[=(]\"?(?:https?:)?//", answer.data.decode())
        assert answer.headers["cross-origin-resource-policy"] == "same-origin"


# -- edits ----------------------------------------------------------------------------------------

EDITS: dict[str, dict[str, Any]] = {
    "nothing": {},
    "drain": {"changes": ["drain birch"]},
    "several": {"changes": ["cordon birch", "uncordon birch", "delete pod/too-big"]},
    "object": {"changes": [{"apply": pod("new", cpu=1)}]},
    "patch": {
        "changes": ["""patch node/birch --type=merge -p '{"spec":{"unschedulable":true}}'"""]
    },
    "configuration": {"configuration": PACKING},
    "weight": {
        "configuration": PACKING
        + "  plugins:\n    score:\n      enabled:\n      - {name: ImageLocality, weight: 9}\n"
    },
    "version": {"kubernetesVersion": "1.37"},
    "all": {
        "changes": ["taint nodes apple a=b:NoSchedule"],
        "configuration": PACKING,
        "kubernetesVersion": "1.36",
    },
}


@pytest.mark.parametrize("name", EDITS)
def test_the_answer_is_what_the_command_prints_of_the_same_run(
    first: Bench, tmp_path: Path, name: str
) -> None:
    """The changes and the configuration as the workbench saves them."""
    view = first.edited(**EDITS[name])
    options: list[object] = ["--state", first.state]
    for file, option in (("scenario.yaml", "--scenario"), ("configuration.yaml", "--config")):
        path = tmp_path / file
        path.write_text(first.ask(f"/exports/{view['digest']}/{file}"))
        options += [option, path]
    if minor := EDITS[name].get("kubernetesVersion"):
        options += ["--kubernetes-version", minor]
    answer = first.ask(f"/answers/{view['digest']}/schedule.json")
    assert answer == schedule(*options)
    assert view["summary"] == answer["summary"]
    assert [each["text"] for each in view["applied"]] == [
        each["text"] for each in answer["changes"]
    ]


def test_the_runs_of_the_command_line_are_what_edits_begin_with(
    start: Start, tmp_path: Path
) -> None:
    scenario = tmp_path / "first.yaml"
    scenario.write_text("apiVersion: ksched/v1\nkind: Scenario\nchanges: [cordon birch]\n")
    from ksched_cli.run.run import ChangeSource, Patch

    bench = start(
        changes=(ChangeSource(scenario=str(scenario)), ChangeSource(line="cordon apple")),
        patches=(Patch("percentageOfNodesToScore", 100),),
    )
    first = bench.ask("/api/start")["run"]
    assert first["given"] == 2
    assert "percentageOfNodesToScore: 100" in first["configuration"]
    view = bench.edited(changes=["uncordon apple"])
    assert [each["text"] for each in view["applied"]] == [
        "cordon birch", "cordon apple", "uncordon apple",
    ]  # fmt: skip
    path = tmp_path / "scenario.yaml"
    path.write_text(bench.ask(f"/exports/{view['digest']}/scenario.yaml"))
    expected = schedule(
        "--state", bench.state, "--scenario", scenario, "--scenario", path,
        "--patch", "percentageOfNodesToScore=100",
    )  # fmt: skip
    assert bench.ask(f"/answers/{view['digest']}/schedule.json") == expected


def test_an_edited_object_is_a_patch_in_kubectls_words(start: Start) -> None:
    """too-big requests 12 cores; with 2 it gets a node."""
    bench = start()
    digest = bench.ask("/api/start")["run"]["digest"]
    about = {"kind": "Pod", "namespace": "default", "name": "too-big"}
    text = bench.ask(f"/api/runs/{digest}/object?kind=Pod&namespace=default&name=too-big")["text"]
    assert "cpu: '12'" in text
    edited = {**about, "text": text.replace("cpu: '12'", "cpu: '2'")}
    change = bench.ask(f"/api/runs/{digest}/change", edited)["change"]
    assert change.startswith("patch pod/too-big -n default --type=merge -p '{")
    view = bench.edited(changes=[change])
    assert view["pending"] == []
    assert "default/too-big" in bench.ask(f"/answers/{view['digest']}/schedule.json")["placements"]
    renamed = {**about, "text": text.replace("name: too-big", "name: other")}
    change = bench.ask(f"/api/runs/{digest}/change", renamed)["change"]
    assert change["apply"]["metadata"]["name"] == "other"
    for wrong, message in (
        (text, "nothing is edited"),
        ("a: [", "the edited object"),
        ("- 1", "expected one object"),
        ("kind: Pod", "no metadata.name"),
    ):
        status, error = bench.error(f"/api/runs/{digest}/change", {**about, "text": wrong})
        assert (status, message in error) == (422, True), error


def test_a_new_object_is_applied(start: Start) -> None:
    bench = start()
    digest = bench.ask("/api/start")["run"]["digest"]
    text = "apiVersion: v1\nkind: Pod\nmetadata: {name: new}\nspec: {containers: [{name: c}]}\n"
    change = bench.ask(f"/api/runs/{digest}/change", {"text": text})["change"]
    view = bench.edited(changes=[change])
    assert "default/new" in bench.ask(f"/answers/{view['digest']}/schedule.json")["placements"]
    for wrong, message in (("a: [", "the new object"), ("- 1", "expected one object")):
        status, error = bench.error(f"/api/runs/{digest}/change", {"text": wrong})
        assert (status, message in error) == (422, True), error


def test_a_field_that_is_taken_away_is_gone(start: Start) -> None:
    bench = start(node("n", cpu=4, unschedulable=True), pod("p", cpu=1))
    digest = bench.ask("/api/start")["run"]["digest"]
    text = bench.ask(f"/api/runs/{digest}/object?kind=Node&name=n")["text"]
    assert "unschedulable: true" in text
    edited = {"kind": "Node", "name": "n", "text": text.replace("  unschedulable: true\n", "")}
    change = bench.ask(f"/api/runs/{digest}/change", edited)["change"]
    assert bench.edited(changes=[change])["summary"]["placed"] == 1


def test_a_weight_is_written_into_the_configuration(start: Start) -> None:
    bench = start()
    view = bench.edited(configuration=f"# a file\n{PACKING}")
    weight = {"profile": 0, "plugin": "NodeResourcesFit", "weight": 7}
    for value in (7, 9):
        new = bench.ask(f"/api/runs/{view['digest']}/weight", {**weight, "weight": value})
        view = bench.edited(configuration=new["configuration"])
        assert view["weights"][0]["weights"]["NodeResourcesFit"] == value
        assert view["weights"][0]["weights"]["TaintToleration"] == 3
        assert "# as a person writes it" in view["configuration"]


def test_what_validate_finds_has_its_line(start: Start) -> None:
    bench = start()
    wrong = PACKING + "parallelism: -1\n"
    findings = bench.ask("/api/findings", {"configuration": wrong})["findings"]
    assert [(each["line"], each["severity"]) for each in findings] == [
        (7, "error"), (5, "warning"),
    ]  # fmt: skip
    assert len(bench.ask("/api/findings", {"configuration": PACKING})["findings"]) == 1
    named = f"{PACKING}extenders: [{{urlPrefix: 'https://a', filterVerb: f, tlsConfig: "
    for path in ("/", "/nowhere"):  # which files there are is not said
        text = f"{named}{{caFile: {path}}}}}]\n"
        assert len(bench.ask("/api/findings", {"configuration": text})["findings"]) == 1
    status, error = bench.error("/api/runs", {"configuration": wrong})
    assert status == 422
    assert "parallelism" in error


def test_undo_is_the_run_before_and_a_link_of_a_run_that_is_gone_says_so(start: Start) -> None:
    bench = start()
    first, second = bench.edited(), bench.edited(changes=["drain birch"])
    assert first["digest"] != second["digest"]
    assert bench.ask(f"/api/runs/{first['digest']}") == first
    assert bench.edited() == first
    assert bench.edited(configuration=first["configuration"]) == first
    status, error = bench.error("/api/runs/0123")
    assert status == 404
    assert "no run 0123" in error


def test_over_time_the_clusters_at_the_end_are_compared(start: Start, tmp_path: Path) -> None:
    timeline = tmp_path / "timeline.json"
    timeline.write_text(
        json.dumps(
            {
                "apiVersion": "ksched/v1",
                "kind": "Timeline",
                "events": [{"at": 5, "pod": pod("late", cpu=1)}],
            }
        )
    )
    bench = start(node("a", cpu=2), node("b", cpu=2), timeline=str(timeline))
    before, after = bench.edited(), bench.edited(changes=["cordon a"])
    compared = bench.ask(f"/answers/{after['digest']}/compare.json?about={before['digest']}")
    assert [side["name"] for side in compared["sides"]] == ["before", "after"]
    assert compared["kind"] == "Comparison"


def test_runs_are_compared_pods_are_explained_and_fixed(start: Start) -> None:
    bench = start()
    before, after = bench.edited(), bench.edited(changes=["drain birch"])
    answers = f"/answers/{after['digest']}"
    compared = bench.ask(f"{answers}/compare.json?about={before['digest']}")
    assert [side["name"] for side in compared["sides"]] == ["before", "after"]
    assert compared["pods"]
    assert bench.ask(f"{answers}/explain.json?about=too-big")["pod"] == "default/too-big"
    remedies = bench.ask(f"{answers}/fix.json?about=default/too-big")["remedies"]
    assert all(remedy["verified"] for remedy in remedies)
    for question, about in (("compare", before["digest"]), ("explain", "web-2"), ("fix", "web-2")):
        page = bench.ask(f"{answers}/{question}.html?about={about}")
        assert page.startswith("<!doctype html>")


def test_expectations_that_are_saved_are_met(start: Start, tmp_path: Path) -> None:
    bench = start()
    view = bench.edited(changes=["drain birch"], configuration=PACKING)
    for file in ("expectations.yaml", "configuration.yaml"):
        (tmp_path / file).write_text(bench.ask(f"/exports/{view['digest']}/{file}"))
    path = str(tmp_path / "expectations.yaml")
    run = CliRunner().invoke(application(["test"]), ["test", "-o", "json", path])
    summary = json.loads(run.stdout)["summary"]
    assert summary["passed"] > 2
    assert summary["failed"] == 0


def test_the_page_of_an_answer_can_be_saved(start: Start) -> None:
    bench = start()
    digest = bench.edited()["digest"]
    answer = bench.request(f"/answers/{digest}/schedule.html?save")
    assert answer.headers["content-disposition"] == 'attachment; filename="schedule.html"'
    assert "Content-Security-Policy" in answer.data.decode()
    assert answer.headers["content-security-policy"] == "frame-ancestors 'self'"


# -- a state that is dropped on the page ----------------------------------------------------------


def dropped(*objects: Manifest) -> bytes:
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}).encode()


OTHER = dropped(node("oak", cpu=4), pod("p", cpu=1), pod("huge", cpu=100))


def test_a_dropped_state_takes_the_place_of_the_first_and_undo_leads_back(
    start: Start, tmp_path: Path
) -> None:
    """The changes of the command line are those of its own state."""
    from ksched_cli.run.run import ChangeSource

    bench = start(changes=(ChangeSource(line="cordon birch"),))
    first = bench.ask("/api/start")["run"]
    state = bench.ask("/api/state?name=other.json", OTHER)["state"]
    assert bench.ask("/api/start")["run"] == first
    view = bench.edited(state=state, configuration=PACKING)
    assert (view["source"], view["given"], view["applied"]) == ("other.json", 0, [])
    assert view["pending"] == ["default/huge"]
    changed = bench.edited(state=state, changes=["delete pod/huge"])
    assert changed["pending"] == []
    assert bench.ask(f"/api/runs/{first['digest']}") == first
    compared = bench.ask(f"/answers/{changed['digest']}/compare.json?about={view['digest']}")
    assert compared["kind"] == "Comparison"
    (tmp_path / "other.json").write_bytes(OTHER)
    answer = bench.ask(f"/answers/{view['digest']}/schedule.json")
    (tmp_path / "configuration.yaml").write_text(PACKING)
    options = ("--state", tmp_path / "other.json", "--config", tmp_path / "configuration.yaml")
    assert answer == schedule(*options)
    (tmp_path / "expectations.yaml").write_text(
        bench.ask(f"/exports/{view['digest']}/expectations.yaml")
    )
    path = str(tmp_path / "expectations.yaml")
    run = CliRunner().invoke(application(["test"]), ["test", "-o", "json", path])
    assert json.loads(run.stdout)["summary"]["failed"] == 0


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "other.json"),
        (b"\x89PNG\r\n\x1a\n\0\0", "other.json"),
        (b'{"apiVersion": "v1", "kind": "List", "items": [{]', "other.json:1"),
        (b"[" * 200_000, "other.json"),
        (b"\x1f\x8b\x08\0\0", "other.json"),
        (PACKING.encode(), "other.json"),
        (dropped(pod("p")), "): the state has no Node"),
    ],
)
def test_a_file_that_is_no_state_is_one_message_and_the_old_state_stays(
    start: Start, content: bytes, message: str
) -> None:
    bench = start()
    first = bench.ask("/api/start")["run"]
    status, error = bench.error("/api/state?name=other.json", content)
    assert (status, message in error) == (422, True), error
    assert len(error.splitlines()) <= 4
    assert bench.edited() == first
    assert not bench.workbench.opener.inputs.__dict__["_states"].keys() - {(bench.state,)}


def test_packed_and_yaml_states_are_read_too(start: Start) -> None:
    bench = start()
    yaml = b"apiVersion: v1\nkind: Node\nmetadata: {name: elm}\nstatus: {allocatable: {cpu: 1}}\n"
    for content in (yaml, gzip.compress(OTHER)):
        state = bench.ask("/api/state?name=x", content)["state"]
        assert bench.edited(state=state)["digest"]


def test_only_the_last_states_are_stored(start: Start) -> None:
    bench = start()
    states, views = [], []
    for name in ("a", "b", "c"):
        states.append(bench.ask(f"/api/state?name={name}", dropped(node(name)))["state"])
        views.append(bench.edited(state=states[-1]))
        assert bench.edited(state=states[-1], changes=[f"cordon {name}"])
    assert bench.edited(state=states[2]) == views[2]
    status, error = bench.error("/api/runs", {"state": states[0]})
    assert (status, "drop its file again" in error) == (422, True)
    status, error = bench.error(f"/api/runs/{views[0]['digest']}")
    assert (status, "no run" in error) == (404, True)
    assert bench.edited()["source"] == str(FIRST)


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"host": "evil.example"},
        {"sec_fetch_site": "cross-site"},
        {"sec_fetch_site": "same-site"},
        {"token": "wrong"},
        {"token": ""},
    ],
)
def test_a_page_of_another_site_cannot_send_a_state(
    first: Bench, headers: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor anybody who does not know the token; the body is not read."""
    monkeypatch.setattr(Workbench, "load", lambda *_: pytest.fail("was read"))
    status, _ = first.error("/api/state?name=x", OTHER, **headers)
    assert status in (401, 403)


def test_a_state_that_is_too_large_is_refused(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page_server, "MAX_STATE", len(OTHER))
    bench = start()
    assert bench.request("/api/state?name=x", OTHER).status == 200
    assert bench.error("/api/state?name=x", OTHER + b" ")[0] == 413
    assert bench.request("/api/state?name=x", OTHER).status == 200


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("../../etc/passwd", "passwd"),
        ("a\x1b[31mb", r"a\x1b[31mb"),
        ("", "the dropped file"),
        ("x" * 500, "x" * 100),
    ],
)
def test_the_name_of_a_dropped_file_is_a_name_alone(start: Start, name: str, shown: str) -> None:
    bench = start()
    answer = HTTP.request(
        "POST", f"{bench.url}/api/state?{urlencode({'name': name})}", body=OTHER,
        headers={"authorization": f"Bearer {TOKEN}"},
    )  # fmt: skip
    state = json.loads(answer.data)["state"]
    assert bench.edited(state=state)["source"] == shown


# -- the tree -------------------------------------------------------------------------------------


def test_the_state_is_a_tree_with_a_search(start: Start) -> None:
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-77", "controller": True}
    pods = [
        pod(
            f"web-77-{i:03}",
            labels={"pod-template-hash": "77"},
            metadata={"ownerReferences": [owner]},
        )
        for i in range(250)
    ]
    claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim",
             "metadata": {"name": "data", "namespace": "default"}, "spec": {}}  # fmt: skip
    job = {"apiVersion": "batch/v1", "kind": "Job",
           "metadata": {"name": "once", "namespace": "default"}}  # fmt: skip
    nodes = [node("b"), node("a", unschedulable=True)]
    bench = start(*nodes, *pods, pod("alone", node="a"), claim, job)
    objects = f"/api/runs/{bench.ask('/api/start')['run']['digest']}/objects"
    assert [(each["path"], each["size"]) for each in bench.ask(objects)["items"]] == [
        ("nodes", 2), ("namespace/default", 252),
    ]  # fmt: skip
    listed = bench.ask(f"{objects}?path=nodes")["items"]
    assert {each["name"]: each.get("note", "") for each in listed} == {"a": "cordoned", "b": ""}
    inside = bench.ask(f"{objects}?path=namespace/default")["items"]
    assert [(each["kind"], each["name"]) for each in inside] == [
        ("Deployment", "web"), ("Job", "once"), ("Pod", "alone"), ("PersistentVolumeClaim", "data"),
    ]  # fmt: skip
    alone = {"name": "alone", "kind": "Pod", "namespace": "default", "note": "a"}
    assert inside[2] == alone
    (once,) = bench.ask(f"{objects}?path={inside[1]['path']}")["items"]
    assert once == {"name": "once", "kind": "Job", "namespace": "default"}
    web = bench.ask(f"{objects}?path={inside[0]['path']}")
    assert (len(web["items"]), web["more"]) == (200, 50)
    assert {each["note"] for each in web["items"]} == {"gets b", "pending"}
    assert [each["name"] for each in bench.ask(f"{objects}?search=77-249+pending")["items"]] == [
        "web-77-249"
    ]
    assert bench.error(f"{objects}?path=nowhere")[0] == 422


def test_names_of_the_state_are_escaped(start: Start) -> None:
    bench = start(node("n", cpu=4), pod(EVIL, cpu=1), pod("b\x1b[31m", cpu=100))
    digest = bench.edited()["digest"]
    for question, about in (("schedule", ""), ("explain", EVIL), ("fix", EVIL)):
        page = HTTP.request(
            "GET", f"{bench.url}/answers/{digest}/{question}.html", fields={"about": about},
            headers={"authorization": f"Bearer {TOKEN}"},
        )  # fmt: skip
        assert page.status == 200
        assert b"<script>alert" not in page.data
        assert b"\x1b" not in page.data
    status, error = bench.error("/api/runs", {"changes": ["drain \x1b[31mred"]})
    assert (status, "\x1b" in error) == (422, False)


# -- bad input ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "body", "status", "message"),
    [
        ("/api/runs", b"{", 400, "truncated"),
        ("/api/runs", b"\xff\xfe", 400, "not a request"),
        ("/api/runs", b"[" * 100_000, 400, "not a request"),
        ("/api/runs", {"changes": 5}, 400, "Expected `array`"),
        ("/api/runs", {"states": ["/etc"]}, 400, "unknown field `states`"),
        ("/api/runs", {"changes": ["drain nowhere"]}, 422, "nowhere"),
        ("/api/runs", {"changes": ["drian birch"]}, 422, "did you mean drain?"),
        ("/api/runs", {"changes": ["apply -f /etc/passwd"]}, 422, "write the object as JSON"),
        ("/api/runs", {"changes": ["patch node/birch -p @/etc/passwd"]}, 422, "write the object"),
        ("/api/runs", {"changes": [{"scenario": "/etc/passwd"}]}, 422, "a change is a line, or"),
        ("/api/runs", {"changes": [{"apply": {"kind": "Pod"}}]}, 422, "Pod"),
        ("/api/runs", {"changes": ["cordon birch"] * 501}, 422, "at most 500"),
        ("/api/runs", {"configuration": "kind: Nonsense"}, 422, "Nonsense"),
        ("/api/runs", {"kubernetesVersion": "1.2"}, 422, "expected one of 1.34"),
        ("/api/runs", b" " * (page_server.MAX_BODY + 1), 413, "at most 4194304 bytes"),
        ("/api/runs/DIGEST/objects?path=x", None, 422, "there is no x"),
        ("/api/runs/DIGEST/object?kind=Pod&name=x", None, 422, "there is no Pod x"),
        ("/api/runs/DIGEST/object?kind=../x&name=x", None, 422, "there is no"),
        ("/answers/DIGEST/nothing.html", None, 422, "no question nothing"),
        ("/answers/DIGEST/schedule.exe", None, 404, "html or json"),
        ("/answers/DIGEST/explain.html?about=nobody", None, 422, 'no pod "nobody"'),
        ("/answers/DIGEST/compare.html?about=0123", None, 404, "no run 0123"),
        ("/exports/DIGEST/passwd", None, 422, "there is no passwd to save"),
    ],
)
def test_what_cannot_be_answered_is_an_error_and_the_server_lives(
    first: Bench, path: str, body: Any, status: int, message: str
) -> None:
    digest = first.edited()["digest"]
    answered, error = first.error(path.replace("DIGEST", digest), body)
    assert (answered, message in error) == (status, True), error
    assert first.edited()["digest"] == digest


def test_a_defect_is_an_error_with_a_traceback_and_the_server_lives(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = start()
    monkeypatch.setattr(Workbench, "view", lambda _, name: {}[name])
    assert bench.error("/api/runs/0123") == (500, "ksched has a defect: KeyError: '0123'")
    assert bench.warnings.pop().startswith("Traceback")
    assert bench.edited()["digest"]


def test_half_a_request_keeps_nobody_else_waiting(start: Start) -> None:
    bench = start()
    host, port = bench.url.removeprefix("http://").split(":")
    head = (
        f"POST /api/runs HTTP/1.1\r\nHost: {host}:{port}\r\nAuthorization: Bearer {TOKEN}\r\n"
        "Content-Length: 100\r\n\r\n{"
    )
    with socket.create_connection((host, int(port)), 5) as half:
        half.sendall(head.encode())
        assert bench.edited()["digest"]


def test_a_hundred_at_once_are_all_answered(start: Start) -> None:
    bench = start()
    lines = ["cordon birch", "cordon apple", "drain birch", "drain apple"]
    with ThreadPoolExecutor(100) as pool:
        views = list(pool.map(lambda i: bench.edited(changes=[lines[i % 4]]), range(100)))
    assert len({view["digest"] for view in views}) == 4


def test_the_question_of_a_client_that_goes_away_is_not_answered(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether it waits, or is being answered."""
    bench = start()
    begun, ended, calls = threading.Event(), threading.Event(), []
    opened = Workbench.open

    def slow(workbench: Workbench, edits: Any) -> bytes:
        calls.append(edits.changes)
        if edits.changes == ("slow",):
            begun.set()
            while not bench.workbench.is_abandoned():
                time.sleep(0.01)
            ended.set()
        return opened(workbench, edits) if not edits.changes else b"{}"

    monkeypatch.setattr(Workbench, "open", slow)
    lost = BoundedProtocol.connection_lost
    gone = threading.Event()

    def note(connection: BoundedProtocol, error: Exception | None) -> None:
        lost(connection, error)
        gone.set()

    with_slow = send_and_leave(bench, "slow")
    assert begun.wait(60)
    waiting = send_and_leave(bench, "waits")
    time.sleep(0.2)  # it may be waiting by now
    monkeypatch.setattr(BoundedProtocol, "connection_lost", note)
    waiting.close()
    assert gone.wait(60)
    with_slow.close()
    assert ended.wait(60)
    assert bench.ask("/api/start")["run"]["digest"]
    assert calls == [("slow",), ()]


def send_and_leave(bench: Bench, change: str) -> socket.socket:
    """A connection with a question, to be closed before it is answered."""
    host, port = bench.url.removeprefix("http://").split(":")
    body = json.dumps({"changes": [change]})
    connection = socket.create_connection((host, int(port)), 5)
    head = (
        f"POST /api/runs HTTP/1.1\r\nHost: {host}:{port}\r\nAuthorization: Bearer {TOKEN}\r\n"
        f"Content-Length: {len(body)}\r\n\r\n{body}"
    )
    connection.sendall(head.encode())
    return connection


def test_what_is_kept_is_bounded() -> None:
    items: RecentItems[str] = RecentItems(10)
    for name in "abc":
        items.put(name, name * 4)
    assert [items.get(name) for name in "abc"] == [None, "bbbb", "cccc"]
    items.put("large", "x" * 100)
    assert list(items.items) == ["large"]
    items.put("large", "y" * 3)
    assert items.size == 3


# -- the command ----------------------------------------------------------------------------------


HANGING = {"changes": [{"apply": pod("slow", labels={"fail": "hangs"})}]}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "questions"),
    [(signal.SIGINT, [(HANGING, 1), ({}, 0)]), (signal.SIGTERM, [({}, 0)])],
)
def test_it_prints_its_address_outlives_a_plugin_that_hangs_and_ends_with_a_signal(
    number: signal.Signals, questions: list[tuple[Any, int]]
) -> None:
    line = ["-m", "ksched_cli", "serve", "page", "--state", str(FIRST)]
    line += ["--plugin", f"{PLUGINS}:Broken", "--plugin-timeout", "1"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(
        [sys.executable, *line], stderr=subprocess.PIPE, text=True, env=environment
    )
    assert process.stderr is not None
    lines = iter(process.stderr.readline, "")
    url, token = next(
        match.groups()
        for text in lines
        if (match := re.match(r"(http://127\.0\.0\.1:\d+)/#token=(\S{40,})$", text))
    )
    for edits, undecided in questions:
        answer = HTTP.request(
            "POST", f"{url}/api/runs", json=edits, headers={"authorization": f"Bearer {token}"}
        )
        assert json.loads(answer.data)["summary"]["undecided"] == undecided
    process.send_signal(number)
    assert process.wait(60) == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--listen", "0.0.0.0:0"], "requires --token-file"),
        (["--record-extenders", "x"], "no extender is called"),
        (["--change", "drain nowhere"], "nowhere"),
        (["--config", "nowhere.yaml"], "nowhere.yaml"),
    ],
)
def test_what_cannot_be_served_is_said_at_once(options: list[str], message: str) -> None:
    line = ["serve", "page", "--state", str(FIRST), *options]
    run = CliRunner().invoke(application(["serve"]), line)
    assert message in str(run.exception)
    assert isinstance(run.exception, UsageError) or "nowhere" in message
