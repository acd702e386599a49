"""Python plugins as an extender: their verdicts and scores over HTTP, by kube-scheduler's rules."""

from __future__ import annotations

import base64
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import trustme
import yaml
from starlette.applications import Starlette

from ksched_cli.api import Run, UsageError
from ksched_cli.config.load import load_configuration
from ksched_cli.config.types import API_VERSION, KIND
from ksched_cli.errors import KschedError
from ksched_cli.kube.versions import release_of
from ksched_cli.plugins import registry_of
from ksched_cli.run.run import Run as ServedRun
from ksched_cli.serve import extender, http, plugins
from ksched_cli.serve.http import HttpServer
from ksched_cli.serve.listening import Listening
from ksched_cli.testing import node, pod
from tests.live.fake_api_server import EXPIRED, ApiServer
from tests.live.fixtures import Serve
from tests.serve.conftest import HTTP, PLUGINS, Manifest, Served, Start, serving

NODES = [
    node(f"node-{i}", cpu=4, labels={"forbidden": "yes"} if i % 5 == 4 else {}) for i in range(24)
]
NAMES = [f"node-{i}" for i in range(24)]
VERBS = {"filterVerb": "filter", "prioritizeVerb": "prioritize", "preemptVerb": "preempt"}
WEIGHTED = {
    "apiVersion": API_VERSION,
    "kind": KIND,
    "profiles": [
        {
            "plugins": {
                "filter": {"enabled": [{"name": "Even"}]},
                "score": {
                    "enabled": [{"name": "Even", "weight": 2}, {"name": "Third", "weight": 2}]
                },
            }
        }
    ],
}


def asking(url: str, **fields: Any) -> Manifest:
    """A configuration whose extender is at the URL."""
    entry = {"urlPrefix": url, "weight": 1, **VERBS, **fields}
    return {"apiVersion": API_VERSION, "kind": KIND, "extenders": [entry]}


def uid(name: str) -> Manifest:
    return {"uid": name, "namespace": "default", "name": name}


# -- verdicts and scores --------------------------------------------------------------------------


def test_pods_go_where_the_plugin_would_put_them_in_process(start: Start) -> None:
    pods = [pod(f"p{i}", cpu=i % 3 + 1, labels={"app": str(i % 4)}) for i in range(20)]
    served = start(NODES, "Even")
    own = Run(state=[*NODES, *pods], plugins=[f"{PLUGINS}:Even"]).schedule()
    remote = Run(state=[*NODES, *pods], config=asking(served.url, nodeCacheCapable=True)).schedule()
    assert len(own.placements) == 19
    assert remote.placements == own.placements
    assert remote.pending == own.pending
    assert '{outcome="ok",verb="filter"} ' in served.get("/metrics")[1]


def test_nodes_that_are_sent_whole_come_back_whole(start: Start) -> None:
    served = start(NODES, "Even")
    items = [{**each, "anything": "else"} for each in NODES[:3]]
    body = json.dumps({"Pod": pod(), "Nodes": {"items": items}, "NodeNames": None}).encode()
    status, answer = served.post("filter", body)
    assert (status, answer["Nodes"]["items"]) == (200, [items[0], items[2]])
    status, scores = served.post("prioritize", body)
    assert (status, [each["Score"] for each in scores]) == (200, [0, 1, 2])


def test_what_preemption_may_help_is_told_apart(start: Start) -> None:
    answer = start(NODES[:6], "Even").ask("filter", pod(), NAMES[:6])
    assert answer == {
        "NodeNames": ["node-0", "node-2"],
        "FailedNodes": dict.fromkeys(["node-1", "node-3", "node-5"], "node(s) had an odd number"),
        "FailedAndUnresolvableNodes": {"node-4": "node(s) were forbidden"},
    }


def test_weights_are_the_extenders_and_its_scores_are_of_ten(start: Start) -> None:
    """Even gives node-2 20 of 100 and Third 0, each with half of the weight."""
    served = start(NODES, "Even", "Third", config=WEIGHTED)
    answer = served.ask("prioritize", pod(), ["node-2", "node-3", "node-12"])
    assert answer == [
        {"Host": "node-2", "Score": 1},
        {"Host": "node-3", "Score": 7},
        {"Host": "node-12", "Score": 6},
    ]


def test_nodes_that_are_not_known_yet_fail_and_may_be_asked_about_again(start: Start) -> None:
    served = start(NODES, "Even")
    assert served.ask("filter", pod(), ["node-0", "new"]) == {
        "NodeNames": ["node-0"],
        "FailedNodes": {"new": "node(s) that the extender does not know yet"},
        "FailedAndUnresolvableNodes": {},
    }
    assert {"Host": "new", "Score": 0} in served.ask("prioritize", pod(), ["node-0", "new"])


@pytest.mark.parametrize("caches", [True, False])
def test_candidates_stay_where_the_plugin_accepts_the_pod_without_the_victims(
    start: Start, caches: bool
) -> None:
    """Two of the pods on `a-0` go, and only one of the three on `b-0`."""
    running = [
        pod(f"{name}{i}", node=f"{name}-0", metadata=uid(f"{name}{i}"))
        for name, count in (("a", 2), ("b", 3))
        for i in range(count)
    ]
    served = start([node("a-0"), node("b-0"), *running], "TwoPods")
    leaving = {"a-0": ["a0", "a1"], "b-0": ["b0"], "gone-0": ["c"]}
    if caches:
        meta = {n: {"Pods": [{"UID": u} for u in uids]} for n, uids in leaving.items()}
        args = {"Pod": pod(), "NodeNameToMetaVictims": meta}
    else:
        whole = {
            n: {"Pods": [pod(u, metadata=uid(u)) for u in uids], "NumPDBViolations": 0}
            for n, uids in leaving.items()
        }
        args = {"Pod": pod(), "NodeNameToVictims": whole}
    status, answer = served.post("preempt", json.dumps(args).encode())
    both = {"Pods": [{"UID": "a0"}, {"UID": "a1"}], "NumPDBViolations": 0}
    assert (status, answer) == (200, {"NodeNameToMetaVictims": {"a-0": both}})


# -- plugins that fail ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fail", "message"),
    [
        ("refuses", "the database is down"),
        ("raises", "plugin Broken failed in filter: KeyError: 'nothing'"),
    ],
)
def test_a_plugin_that_fails_is_an_error_unless_the_extender_is_ignorable(
    start: Start, fail: str, message: str
) -> None:
    served = start(NODES, "Broken")
    state = [*NODES, pod("p", labels={"fail": fail})]
    assert message in Run(state=state, config=asking(served.url)).schedule().messages["default/p"]
    ignorable = Run(state=state, config=asking(served.url, ignorable=True)).schedule()
    assert "default/p" in ignorable.placements
    assert 'outcome="plugin",verb="filter"} ' in served.get("/metrics")[1]
    assert any("Traceback" in line for line in served.lines) == (fail == "raises")


def test_scores_outside_of_their_range_give_no_scores(start: Start) -> None:
    served = start(NODES, "Broken")
    args = {"Pod": pod(labels={"wild": "yes"}), "NodeNames": NAMES}
    status, message = served.post("prioritize", json.dumps(args).encode())
    assert status == 500
    assert "1000" in message


def test_a_plugin_that_hangs_is_interrupted_and_the_server_answers_on(tmp_path: Path) -> None:
    process, url = command(tmp_path, "--plugin-timeout", "0.2", plugin="Broken")
    try:
        hanging = json.dumps({"Pod": pod(labels={"fail": "hangs"}), "NodeNames": ["node-0"]})
        answer = HTTP.request("POST", f"{url}/filter", body=hanging)
        assert "took longer than 0.2 s" in json.loads(answer.data)["Error"]
        well = json.dumps({"Pod": pod(), "NodeNames": ["node-0"]})
        assert json.loads(HTTP.request("POST", f"{url}/filter", body=well).data)["NodeNames"]
        assert HTTP.request("GET", f"{url}/healthz").status == 200
    finally:
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=100)
    assert process.returncode == 0
    assert "Traceback" not in errors.splitlines()[0]


def command(folder: Path, *options: str, plugin: str) -> tuple[subprocess.Popen[str], str]:
    """`ksched serve extender` on a free port, and its URL."""
    state = folder / "state.json"
    state.write_text(json.dumps(NODES))
    line = ["serve", "extender", "--state", str(state), "--plugin", f"{PLUGINS}:{plugin}"]
    process = subprocess.Popen(
        [sys.executable, "-m", "ksched_cli", *line, "--listen", "127.0.0.1:0", *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(PLUGINS.parents[2])},
    )
    assert process.stderr is not None
    return process, process.stderr.readline().removeprefix("serving ").partition(": ")[0]


# -- a cluster that changes -----------------------------------------------------------------------


@pytest.fixture
def cluster(api_server: Serve) -> ApiServer:
    return api_server(node("a-0"), node("b-0"), pod("old", node="a-0", metadata=uid("old")))


def until(condition: Any) -> None:
    """Waits for what a watch tells."""
    deadline = time.monotonic() + 100
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_pods_that_come_and_go_are_heard_of(start: Start, cluster: ApiServer) -> None:
    served = start(cluster, "TwoPods")
    other = pod("other", node="a-0", metadata=uid("other"))
    assert served.passing(pod(), "a-0", "b-0") == ["a-0", "b-0"]
    cluster.publish("ADDED", other)
    until(lambda: served.passing(pod(), "a-0", "b-0") == ["b-0"])
    cluster.publish("MODIFIED", {**other, "status": {"phase": "Succeeded"}})
    until(lambda: served.passing(pod(), "a-0", "b-0") == ["a-0", "b-0"])
    cluster.publish("MODIFIED", other)
    until(lambda: served.passing(pod(), "a-0", "b-0") == ["b-0"])
    cluster.publish("DELETED", other)
    until(lambda: served.passing(pod(), "a-0", "b-0") == ["a-0", "b-0"])


def loud_node(name: str) -> Manifest:
    manifest = node(name)
    manifest["metadata"]["annotations"] = {"loud": "yes"}
    return manifest


def test_plugins_see_annotations_of_what_is_watched(
    start: Start, cluster: ApiServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plugins, "RENEW_SECONDS", 0.0)
    cluster.objects.append(loud_node("c-0"))
    served = start(cluster, "Quiet")
    assert served.passing(pod(), "a-0", "b-0", "c-0") == ["a-0", "b-0"]
    loud = {**uid("loud"), "annotations": {"loud": "yes"}}
    cluster.publish("ADDED", pod("loud", node="a-0", metadata=loud))
    until(lambda: served.passing(pod(), "a-0", "b-0") == ["b-0"])
    cluster.publish("MODIFIED", loud_node("b-0"))
    until(lambda: served.passing(pod(), "a-0", "b-0") == [])


def test_nodes_that_come_change_and_go_are_heard_of(
    start: Start, cluster: ApiServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plugins, "RENEW_SECONDS", 0.0)
    served = start(cluster, "Even")
    cluster.publish("ADDED", node("c-2"))
    until(lambda: served.passing(pod(), "c-2") == ["c-2"])
    cluster.publish("MODIFIED", node("c-2", labels={"forbidden": "yes"}))
    until(lambda: served.passing(pod(), "c-2") == [])
    cluster.publish("DELETED", node("c-2"))
    until(lambda: "c-2" in served.ask("filter", pod(), ["c-2"])["FailedNodes"])


def test_pods_that_were_missed_are_listed_anew(
    start: Start, cluster: ApiServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    later = [pod(f"p{i}", node="b-0", metadata=uid(f"p{i}")) for i in range(2)]
    after = [node("a-0"), node("b-0"), *later]
    monkeypatch.setattr(cluster, "watches_begin", lambda path: setattr(cluster, "objects", after))
    cluster.faults.watches["/api/v1/pods"] = [EXPIRED]
    served = start(cluster, "TwoPods")
    until(lambda: served.passing(pod(), "a-0", "b-0") == ["a-0"])


def test_a_request_waits_until_the_pod_before_is_heard_of(start: Start, cluster: ApiServer) -> None:
    served = start(cluster, "TwoPods", settle=5.0)
    first = pod("first", metadata=uid("first"))
    assert served.passing(first, "a-0") == ["a-0"]
    began = time.monotonic()
    assert served.ask("prioritize", first, ["a-0"]) == [{"Host": "a-0", "Score": 0}]
    assert time.monotonic() - began < 3, "for what becomes of the pod itself nobody waits"
    bound = pod("first", node="a-0", metadata=uid("first"))
    threading.Timer(0.3, cluster.publish, ("MODIFIED", bound)).start()
    began = time.monotonic()
    assert served.passing(pod("second", metadata=uid("second")), "a-0") == []
    assert 0.2 < time.monotonic() - began < 3


def test_a_request_waits_no_longer_than_it_may(start: Start, cluster: ApiServer) -> None:
    served = start(cluster, "TwoPods", settle=0.3)
    assert served.passing(pod("first", metadata=uid("first")), "b-0") == ["b-0"]
    began = time.monotonic()
    assert served.passing(pod("second", metadata=uid("second")), "b-0") == ["b-0"]
    assert 0.25 < time.monotonic() - began < 20


# -- who may ask, and how -------------------------------------------------------------------------


def test_a_token_is_asked_for_and_kube_scheduler_can_send_it(start: Start, tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("s3cret\n")
    served = start(NODES, "Even", listening=Listening.of("127.0.0.1:0", "", "", str(file)))
    body = json.dumps({"Pod": pod(), "NodeNames": NAMES}).encode()
    assert served.post("filter", body)[0] == 401
    assert served.post("filter", body, Authorization="Bearer wrong")[0] == 401
    assert served.post("filter", body, Authorization="Basic ???")[0] == 401
    assert served.post("filter", body, Authorization="Bearer s3cret")[0] == 200
    basic = base64.b64encode(b"ksched:s3cret").decode()
    assert served.post("filter", body, Authorization=f"Basic {basic}")[0] == 200
    assert served.get("/metrics")[0] == 401
    assert served.get("/readyz") == (200, "ok\n")
    with_token = served.url.replace("://", "://ksched:s3cret@")
    result = Run(state=[*NODES, pod("p")], config=asking(with_token)).schedule()
    assert result.placements


def test_https_is_served_with_a_certificate_of_ones_own(start: Start, tmp_path: Path) -> None:
    authority = trustme.CA()
    issued = authority.issue_cert("127.0.0.1")
    certificate, key, ca = (tmp_path / name for name in ("cert.pem", "key.pem", "ca.pem"))
    issued.cert_chain_pems[0].write_to_path(str(certificate))
    issued.private_key_pem.write_to_path(str(key))
    authority.cert_pem.write_to_path(str(ca))
    at = Listening.of("127.0.0.1:0", str(certificate), str(key), "")
    served = start(NODES, "Even", listening=at)
    trusting = asking(served.url, enableHTTPS=True, tlsConfig={"caFile": str(ca)})
    assert Run(state=[*NODES, pod("p")], config=trusting).schedule().placements
    with pytest.raises(UsageError, match="cannot be used"):
        HttpServer(Starlette(), Listening.of("127.0.0.1:0", str(key), str(key), ""), print)


@pytest.mark.parametrize(
    ("address", "files", "message"),
    [
        ("8888", ("", "", ""), "--listen 8888: expected HOST:PORT"),
        ("127.0.0.1:99999", ("", "", ""), "expected HOST:PORT"),
        ("0.0.0.0:8888", ("", "", ""), "requires --token-file"),
        ("[::]:8888", ("", "", ""), "requires --token-file"),
        ("127.0.0.1:1", ("cert.pem", "", ""), "--tls-certificate and --tls-key require each other"),
        ("127.0.0.1:1", ("", "", "nowhere"), "nowhere: cannot be read"),
    ],
)  # fmt: skip
def test_addresses_and_files_that_cannot_be_used_are_said(
    address: str, files: tuple[str, str, str], message: str
) -> None:
    with pytest.raises(KschedError) as error:
        Listening.of(address, *files)
    assert message in str(error.value)


def test_a_port_that_is_taken_is_said(start: Start) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(UsageError, match="cannot be used: Address already in use"):
            Listening("127.0.0.1", taken.getsockname()[1]).bind()


def test_without_a_plugin_there_is_nothing_to_serve(start: Start) -> None:
    with pytest.raises(UsageError, match="no plugin filters or scores"):
        start(NODES)


# -- what may come --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def even(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Serves Even to tests that leave the server as it is."""
    state = tmp_path_factory.mktemp("even") / "state.json"
    state.write_text(json.dumps(NODES))
    run = ServedRun(plugins=(f"{PLUGINS}:Even",), states=(str(state),), workloads=False)
    served = serving(run, Listening("127.0.0.1", 0))
    yield served
    served.stop()


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b'{"Pod": 5}', b'{"NodeNames": []}', b'{"Pod": {"metadata": 1}}',
             b"[" * 100_000, b"\xff", b'{"Pod": {"spec": {"containers": 1}}, "NodeNames": ["a"]}']
)  # fmt: skip
@pytest.mark.parametrize("verb", ["filter", "prioritize", "preempt"])
def test_what_is_no_request_is_refused_with_its_cause(even: Served, verb: str, body: bytes) -> None:
    status, message = even.post(verb, body)
    assert status == 400
    assert message.startswith("not an extender request: ")
    assert even.passing(pod(), "node-0") == ["node-0"]


def test_requests_without_end_are_refused(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "MAX_BODY", 100_000)
    monkeypatch.setattr(http, "READ_SECONDS", 0.2)
    served = start(NODES, "Even")
    assert served.post("filter", b"x" * 200_000) == (413, "a request has at most 100000 bytes\n")
    host, _, port = served.url.removeprefix("http://").partition(":")
    head = b"POST /filter HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n"
    with socket.create_connection((host, int(port)), 5) as half:
        half.sendall(head + b"{")
        assert b" 408 " in half.recv(1000)
    with socket.create_connection((host, int(port)), 5) as gone:
        gone.sendall(head + b"{")
    monkeypatch.setattr(http, "MAX_BODIES", 10)
    assert served.post("filter", b"x" * 20)[0] == 503
    monkeypatch.setattr(http, "MAX_BODIES", 1_000_000)
    assert served.passing(pod(), "node-0") == ["node-0"]


HEAD = b"POST /filter HTTP/1.1\r\nHost: a\r\n"


@pytest.mark.parametrize(
    "parts",
    [
        [],
        [b"POST /fil"],
        [b"POST /filter HTTP/1.1\r\nHost: a\r\nContent-Le"],
        [HEAD, *[b"X: y\r\n"] * 100],
        [b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n", b"GET /hea"],
        [b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n"],
        [b"POST /nowhere HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n", *[b"x"] * 100],
    ],
    ids=["nothing", "half a line", "half a head", "a head in drops", "half of a second", "one",
         "a body in drops that nobody reads"],
)  # fmt: skip
def test_a_client_that_does_not_go_on_is_closed_while_others_are_served(
    start: Start, monkeypatch: pytest.MonkeyPatch, parts: list[bytes]
) -> None:
    monkeypatch.setattr(http, "REQUEST_SECONDS", 0.3)
    monkeypatch.setattr(http, "KEEP_ALIVE_SECONDS", 0.3)
    served = start(NODES, "Even")
    host, _, port = served.url.removeprefix("http://").partition(":")
    began = time.monotonic()
    with socket.create_connection((host, int(port)), 5) as slow:
        slow.settimeout(0.05)
        is_open, rest = True, iter(parts)
        while is_open:
            assert time.monotonic() - began < 30, "it is still open"
            assert served.passing(pod(), "node-0") == ["node-0"]
            try:
                slow.sendall(next(rest, b""))
                is_open = bool(slow.recv(1000))
            except TimeoutError:
                continue
            except ConnectionError:
                is_open = False
    assert time.monotonic() - began > 0.25


def test_an_answer_that_nobody_reads_is_dropped(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http, "KEEP_ALIVE_SECONDS", 1)
    dropped, lost = threading.Event(), http.BoundedProtocol.connection_lost

    def note(connection: http.BoundedProtocol, error: Exception | None) -> None:
        lost(connection, error)
        dropped.set()

    monkeypatch.setattr(http.BoundedProtocol, "connection_lost", note)
    served = start(NODES, "Even")
    body = json.dumps({"Pod": pod(), "NodeNames": ["x" * 20_000_000]}).encode()
    host, _, port = served.url.removeprefix("http://").partition(":")
    with socket.create_connection((host, int(port)), 60) as mute:
        mute.sendall(HEAD + b"Content-Length: %d\r\n\r\n" % len(body) + body)
        assert dropped.wait(60)
        received = 0
        with suppress(ConnectionError):
            while part := mute.recv(1 << 20):
                received += len(part)
        assert received < 20_000_000
    assert served.passing(pod(), "node-0") == ["node-0"]


def test_a_server_that_is_busy_for_long_is_unhealthy_and_one_with_a_queue_is_not_ready(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One request is being answered, and others wait: more than half of the six that may."""
    monkeypatch.setattr(extender, "MAX_WAITING", 6)
    served, end = start(NODES, "Waiting"), tmp_path / "end"
    slow = pod(labels={"until": str(end)})

    def waiting(count: int) -> bool:
        return f"\nksched_extender_waiting {count}.0\n" in served.get("/metrics")[1]

    began = time.monotonic()
    with ThreadPoolExecutor(5) as clients:
        try:
            answers = [clients.submit(served.passing, slow, "node-0") for _ in range(4)]
            until(lambda: waiting(3))
            assert served.get("/readyz") == (200, "ok\n")
            answers.append(clients.submit(served.passing, slow, "node-0"))
            until(lambda: waiting(4))
            assert served.get("/readyz") == (503, "4 requests and changes wait\n")
            assert served.get("/healthz") == (200, "ok\n")
            with monkeypatch.context() as patch:
                patch.setattr(extender, "ANSWER_SECONDS", 0.0)
                status, text = served.get("/healthz")
            (seconds,) = map(int, re.findall(r"a request has taken (\d+) s so far", text))
            assert (status, seconds <= time.monotonic() - began + 0.5) == (503, True)
        finally:
            end.touch()
    assert [answer.result() for answer in answers] == [["node-0"]] * 5
    assert served.get("/readyz") == (200, "ok\n")


def test_many_at_once_are_all_answered_alike(start: Start) -> None:
    served = start(NODES, "Even")
    bodies = [
        json.dumps({"Pod": pod(f"p{i}", metadata=uid(f"p{i}")), "NodeNames": NAMES}).encode()
        for i in range(200)
    ]
    with ThreadPoolExecutor(16) as clients:
        answers = list(clients.map(lambda body: served.post("filter", body), bodies))
    assert [status for status, _ in answers] == [200] * 200
    assert len({json.dumps(answer) for _, answer in answers}) == 1
    assert (
        'ksched_extender_requests_total{outcome="ok",verb="filter"} 200.0'
        in (served.get("/metrics")[1])
    )


def test_an_answer_is_not_held_back(start: Start) -> None:
    """Head and body are two writes; a client that acknowledges the first late waits for 40 ms."""
    served = start(NODES, "Even")
    seconds = []
    for _ in range(20):
        began = time.monotonic()
        served.passing(pod(), *NAMES)
        seconds.append(time.monotonic() - began)
    assert sorted(seconds)[5] < 0.03


# -- the configuration that belongs to it ---------------------------------------------------------


def test_the_printed_configuration_is_one_that_kube_scheduler_takes(tmp_path: Path) -> None:
    token, config = tmp_path / "token", tmp_path / "config.json"
    token.write_text("s3cret")
    config.write_text(json.dumps(WEIGHTED))
    line = ["--print-config", "--config", str(config), "--listen", "10.0.0.1:99",
            "--token-file", str(token), "--plugin", str(PLUGINS)]  # fmt: skip
    run = subprocess.run(
        [sys.executable, "-m", "ksched_cli", "serve", "extender", *line],
        capture_output=True,
        text=True,
        check=True,
    )
    registry = registry_of(release_of("1.34"))
    (entry,) = load_configuration(run.stdout, "printed", registry).extenders
    assert (entry.weight, entry.node_cache_capable, entry.ignorable) == (4, True, False)
    assert (entry.filter_verb, entry.prioritize_verb, entry.preempt_verb, entry.bind_verb) == (
        "filter", "prioritize", "preempt", "",
    )  # fmt: skip
    assert yaml.safe_load(run.stdout)["extenders"][0]["urlPrefix"] == (
        "http://ksched:TOKEN@10.0.0.1:99"
    )
    assert "s3cret" not in run.stdout


def test_a_page_of_another_port_may_not_ask(start: Start) -> None:
    url = start(NODES, "Even").url
    for origin, status in (("http://127.0.0.1:1", 403), ("null", 403), (url, 200)):
        assert HTTP.request("GET", f"{url}/healthz", headers={"Origin": origin}).status == status
