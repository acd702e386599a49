"""Extenders from the command line."""

import json
from importlib.resources import files
from pathlib import Path
from runpy import run_path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from ksched_cli.testing import node, pod
from tests.commands.runners import Ksched, WriteConfig, WriteState
from tests.extenders.fixtures import Serve, config_text
from tests.extenders.servers import everything, unused_port
from tests.thorough import is_thorough

EXAMPLE = Path(__file__).parents[2] / "examples" / "extender"


def valid(schema: str, text: str) -> dict[str, Any]:
    document = json.loads(text)
    loaded = json.loads(files("ksched_cli.schemas").joinpath(schema).read_text())
    Draft202012Validator(loaded).validate(document)
    return document


@pytest.fixture
def run(ksched: Ksched, write_state: WriteState, write_config: WriteConfig) -> Ksched:
    """Exit code, standard output and standard error of a command on a small cluster."""
    state = write_state(node("a"), node("b"), pod("p"), pod("q"))

    def command(*args: Path | str, extenders: list[dict[str, Any]]) -> tuple[int, str, str]:
        config = write_config(config_text(*extenders))
        name, *rest = args  # before --vs, for both sides
        return ksched(name, "--state", state, "--config", config, *rest)

    return command


def test_an_extender_that_cannot_be_reached_is_said_once_on_standard_error(
    run: Ksched,
) -> None:
    url = f"http://127.0.0.1:{unused_port()}"
    code, out, err = run("schedule", extenders=[{"urlPrefix": url, "filterVerb": "filter"}])
    assert code == 1
    assert err.count("warning: extender") == 1
    assert f"{url} cannot be reached" in err
    assert "connection refused" in out


def test_who_is_called_is_named_before_the_first_call_without_the_password(
    run: Ksched, serve: Serve
) -> None:
    server = serve({"/filter": everything})
    url = server.url.replace("http://", "http://me:secret@")
    code, _, err = run("schedule", extenders=[{"urlPrefix": url, "filterVerb": "filter"}])
    shown = url.replace("secret", "***")
    note = f"calling extenders at {shown} (--no-extenders disables this)"
    assert (code, err.splitlines()) == (0, [note])


def test_no_extenders_leaves_them_out(run: Ksched) -> None:
    url = f"http://127.0.0.1:{unused_port()}"
    extender = {"urlPrefix": url, "filterVerb": "filter"}
    code, _, err = run("schedule", "--no-extenders", extenders=[extender])
    assert (code, err) == (0, "")


def test_a_recorded_run_is_repeated_without_the_server(
    run: Ksched, serve: Serve, tmp_path: Path
) -> None:
    server = serve({"/filter": everything})
    extender = {"urlPrefix": server.url, "filterVerb": "filter"}
    file = tmp_path / "calls.jsonl.gz"
    first = run("schedule", "-o", "json", "--record-extenders", file, extenders=[extender])
    calls = len(server.calls)
    again = run("schedule", "-o", "json", "--replay-extenders", file, extenders=[extender])
    assert again[:2] == first[:2]
    assert again[2] == ""
    assert len(server.calls) == calls == 2
    code, _, err = run("explain", "q", "--replay-extenders", file, extenders=[extender])
    assert (code, err) == (0, "")


def test_a_recording_goes_on_when_nodes_join(
    ksched: Ksched,
    write_state: WriteState,
    write_config: WriteConfig,
    serve: Serve,
    tmp_path: Path,
) -> None:
    """Three pods come, and a node joins before the third: three calls, of two and three nodes."""
    server = serve({"/filter": everything})
    config = write_config(config_text({"urlPrefix": server.url, "filterVerb": "filter"}))
    timeline, calls = tmp_path / "timeline.json", tmp_path / "calls.jsonl"
    events = [{"at": at, "pod": pod(f"p{at}", cpu=1)} for at in (0, 1, 3)]
    header = {"apiVersion": "ksched/v1", "kind": "Timeline"}
    joining = {"at": 2, "put": node("c")}
    timeline.write_text(json.dumps({**header, "events": [*events, joining]}))
    options = ("--state", write_state(node("a"), node("b")), "--config", config, "-o", "json")
    first = ksched("replay", timeline, *options, "--record-extenders", calls)
    lines = map(json.loads, calls.read_text().splitlines())
    assert [len(line["request"]["Nodes"]["items"]) for line in lines] == [2, 2, 3]
    again = ksched("replay", timeline, *options, "--replay-extenders", calls)
    assert again[:2] == first[:2]
    assert len(server.calls) == 3


def test_a_replay_without_the_answer_is_an_error_that_says_what_to_do(
    run: Ksched, tmp_path: Path
) -> None:
    file = tmp_path / "calls.jsonl"
    file.write_text("")
    extender = {"urlPrefix": "http://127.0.0.1:1", "filterVerb": "filter"}
    code, out, err = run("schedule", "--replay-extenders", file, extenders=[extender])
    assert (code, out) == (2, "")
    assert "record again" in err


def test_bindings_are_shown_and_sent_only_when_asked_for(run: Ksched, serve: Serve) -> None:
    server = serve({"/bind": {}})
    extender = {"urlPrefix": server.url, "bindVerb": "bind"}
    code, out, _ = run("schedule", "-o", "json", extenders=[extender])
    calls = valid("schedule_result.json", out)["extenderBindings"]
    assert (code, server.calls) == (0, [])
    assert [(call["request"]["PodName"], call["sent"]) for call in calls] == [
        ("p", False),
        ("q", False),
    ]
    _, out, _ = run("schedule", extenders=[extender])
    assert f"{server.url}/bind" in out
    assert "--extender-bind sends them" in out
    _, out, _ = run("schedule", "-o", "json", "--extender-bind", extenders=[extender])
    calls = valid("schedule_result.json", out)["extenderBindings"]
    assert [call["request"] for call in calls] == [request.data for request in server.calls]


def test_explain_names_the_extender(run: Ksched, serve: Serve) -> None:
    server = serve(
        {
            "/rank/filter": {"NodeNames": ["a", "b"]},
            "/rank/prioritize": [{"Host": "b", "Score": 30}],
        }
    )
    extender = {
        "urlPrefix": f"{server.url}/rank",
        "filterVerb": "filter",
        "prioritizeVerb": "prioritize",
        "weight": 2,
        "nodeCacheCapable": True,
    }
    _, out, _ = run("explain", "p", "-o", "json", extenders=[extender])
    nodes = {entry["node"]: entry for entry in valid("explanation.json", out)["nodes"]}
    assert nodes["b"]["scores"][f"{server.url}/rank"]["weighted"] == 600
    assert f"{server.url}/rank" not in nodes["a"]["scores"]
    _, out, _ = run("explain", "p", extenders=[extender])
    assert next(line for line in out.splitlines() if line.startswith("RANK")).endswith("RANK")
    server.answers["/rank/filter"] = {"NodeNames": [], "FailedNodes": {"a": "full"}}
    code, out, _ = run("explain", "p", extenders=[extender])
    assert code == 1
    assert f"{server.url}/rank" in out
    assert "full" in out


def test_the_example_runs_as_its_first_lines_say(
    ksched: Ksched, serve: Serve, write_config: WriteConfig
) -> None:
    verbs = run_path(str(EXAMPLE / "extender.py"))["VERBS"]
    server = serve(verbs)
    text = (EXAMPLE / "scheduler.yaml").read_text()
    config = write_config(text.replace("http://127.0.0.1:8888", server.url))
    state = EXAMPLE / "cluster.yaml"
    _, out, _ = ksched("schedule", "--state", state, "--config", config, "-o", "json")
    assert json.loads(out)["placements"] == {"default/render": "cedar", "default/web": "apple"}
    assert [request.path for request in server.calls] == ["/filter", "/prioritize"]


def test_in_a_replay_a_pod_that_an_extender_rejected_is_tried_again_after_every_event(
    run: Ksched, serve: Serve, tmp_path: Path
) -> None:
    """Upstream: the name Extender is registered for every event, the pod's own new condition among
    them."""

    def from_the_fifth_call_on(data: dict[str, Any]) -> dict[str, Any]:
        if len(server.calls) < 5:
            return {"NodeNames": []}
        return everything(data)

    server = serve({"/filter": from_the_fifth_call_on})
    extender = {"urlPrefix": server.url, "filterVerb": "filter", "nodeCacheCapable": True}
    path = tmp_path / "timeline.json"
    change = {"at": 60, "change": "label nodes a x=y"}
    header = {"apiVersion": "ksched/v1", "kind": "Timeline", "events": [change]}
    path.write_text(json.dumps(header))
    code, out, _ = run("replay", path, "-o", "json", "--trace", extenders=[extender])
    assert code == 0
    result = json.loads(out)
    assert [each["rejectedBy"] for each in result["attempts"]] == [["Extender"]] * 4 + [[]] * 2
    pods = result["pods"]
    assert [(each["firstTried"], each["placed"]) for each in pods] == [(0, 60), (0, 60)]


PASSWORD = "s3cretpw"
FAILURES = {
    "an error of the server": lambda data: 500,
    "a node that nobody knows": lambda data: {"NodeNames": ["unknown"]},
    "a message with the URL": lambda data: {"Error": f"http://me:{PASSWORD}@host failed"},
    "an answer": everything,
}
QUESTIONS = (
    *(("schedule", "-o", form) for form in ("table", "wide", "json", "yaml", "html", "markdown")),
    ("schedule", "--trace", "-o", "json", "--extender-bind"),
    ("schedule", "--debug"),
    ("explain", "p", "-o", "table"),
    ("explain", "p", "-o", "json"),
    ("explain", "--pending", "-o", "html"),
    ("preempt", "p", "-o", "json"),
    ("fix", "p", "-o", "json", "--max-runs", "3"),
    ("drift", "-o", "json"),
    ("capacity", "p", "-o", "html"),
    ("compare", "--vs", "--no-extenders", "-o", "html"),
    ("compare", "--vs", "--patch", f"extenders[0].urlPrefix=http://a:{PASSWORD}@b"),
    ("compare", "--vs", "--patch", f"extenders[0].urlPrefix=http://a:{PASSWORD}@b", "-o", "json"),
)


@pytest.mark.parametrize("failure", FAILURES)
def test_no_command_shows_the_password_of_a_url(failure: str, run: Ksched, serve: Serve) -> None:
    answer = FAILURES[failure]
    server = serve({"/filter": answer, "/prioritize": answer, "/bind": answer})
    url = server.url.replace("http://", f"http://me:{PASSWORD}@")
    verbs = {"filterVerb": "filter", "prioritizeVerb": "prioritize", "bindVerb": "bind"}
    extender = {"urlPrefix": url, "nodeCacheCapable": True, "weight": 1, **verbs}
    # The plain suite asks every question of the last answer, and some of them of the others.
    is_brief = not is_thorough() and failure != "an answer"
    for command in QUESTIONS[:: 3 if is_brief else 1]:
        code, out, err = run(*command, extenders=[extender])
        assert PASSWORD not in out, command
        assert PASSWORD not in err, command
        assert code != 2, (command, err)


@pytest.mark.parametrize("form", ["table", "json", "yaml", "html"])
def test_config_shows_no_password_token_or_key(
    form: str, ksched: Ksched, write_config: WriteConfig, tmp_path: Path
) -> None:
    extender = {"urlPrefix": f"https://me:{PASSWORD}@h/x?token={PASSWORD}", "filterVerb": "f"}
    args = {"token": PASSWORD, "headers": [{"name": "Authorization", "value": PASSWORD}]}
    plugins = {"score": {"enabled": [{"name": "Acme"}]}}
    profile = {"pluginConfig": [{"name": "Acme", "args": args}], "plugins": plugins}
    path = write_config(config_text(extender, profiles=[profile]))
    plain = tmp_path / "plain.json"
    plain.write_text(config_text())
    for command in (
        ("config", "show", path, "--allow-plugins", "Acme"),
        ("config", "diff", path, plain, "--allow-plugins", "Acme"),
        ("validate", path),
    ):
        code, out, err = ksched(*command, "-o", form)
        assert code != 2, err
        assert PASSWORD not in out + err, command


def test_messages_about_a_configuration_show_no_password(
    ksched: Ksched, write_config: WriteConfig, write_state: WriteState
) -> None:
    """What is not valid is quoted in errors and findings."""
    state = write_state(node("a"), pod("p"))
    for url in (f"me:{PASSWORD}@h", f"ftp://me:{PASSWORD}@h", f"http://me:{PASSWORD}@h:x/"):
        path = write_config(config_text({"urlPrefix": url, "filterVerb": "f", "weight": -1}))
        for command in (("validate", path), ("schedule", "--state", state, "--config", path)):
            _, out, err = ksched(*command)
            assert PASSWORD not in out + err, (command, url, out, err)


def test_a_migrated_configuration_keeps_its_password(
    ksched: Ksched, write_config: WriteConfig
) -> None:
    text = config_text({"urlPrefix": f"http://me:{PASSWORD}@h", "filterVerb": "f"})
    path = write_config(
        text.replace("kubescheduler.config.k8s.io/v1", "kubescheduler.config.k8s.io/v1beta3")
    )
    assert PASSWORD in ksched("config", "migrate", path)[1]
