"""A run can be recorded, and repeated without a network."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from ksched_cli.errors import InputError, UsageError
from ksched_cli.testing import cluster, node, pod
from tests.extenders.fixtures import Extended, Serve
from tests.extenders.servers import Code, Server, everything

STATE = cluster(node("a"), node("b"), pod("p"), pod("q"))


def scores(data: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"Host": "b", "Score": 10}]


def extender(server: Server, **fields: Any) -> dict[str, Any]:
    return {"urlPrefix": server.url, "filterVerb": "filter", "nodeCacheCapable": True, **fields}


@pytest.fixture(params=["calls.jsonl", "calls.jsonl.gz"])
def file(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return str(tmp_path / request.param)


def test_a_replayed_run_ends_as_the_recorded_one_and_calls_nobody(
    file: str, serve: Serve, extended: Extended
) -> None:
    server = serve({"/filter": everything, "/prioritize": scores})
    config = extender(server, prioritizeVerb="prioritize", weight=2)
    run, _ = extended(STATE, config, record=file)
    recorded = run.run()
    run.close()
    assert len(server.calls) == 4
    run, _ = extended(STATE, config, replay=file)
    assert run.run() == recorded
    assert len(server.calls) == 4


def test_failures_are_recorded_too(file: str, serve: Serve, extended: Extended) -> None:
    server = serve({"/filter": Code(500), "/prioritize": b"\xff\xfe"})
    config = extender(server, prioritizeVerb="prioritize", weight=2, ignorable=True)
    gone = {"urlPrefix": "http://127.0.0.1:1", "filterVerb": "filter", "ignorable": True}
    run, warnings = extended(STATE, config, gone, record=file)
    recorded = run.run()
    run.close()
    run, again = extended(STATE, config, gone, replay=file)
    assert run.run() == recorded
    assert again == warnings


def test_a_recording_is_a_line_of_json_per_call(
    serve: Serve, extended: Extended, tmp_path: Path
) -> None:
    server = serve({"/filter": everything})
    file = tmp_path / "calls.jsonl"
    run, _ = extended(cluster(node("a"), pod("p")), extender(server), record=str(file))
    run.run()
    (line,) = file.read_text().splitlines()
    exchange = json.loads(line)
    assert exchange["url"] == f"{server.url}/filter"
    assert exchange["request"] == server.calls[0].data
    assert (exchange["status"], json.loads(exchange["answer"])["NodeNames"]) == (200, ["a"])


def test_a_request_that_was_not_recorded_ends_the_run(
    file: str, serve: Serve, extended: Extended
) -> None:
    server = serve({"/filter": everything})
    run, _ = extended(STATE, extender(server), record=file)
    run.run()
    run.close()
    other = cluster(node("a"), node("c"), pod("p"))
    run, _ = extended(other, extender(server, ignorable=True), replay=file)
    with pytest.raises(UsageError, match="has no recorded answer to this request"):
        run.run()


def test_that_holds_for_preemption_as_well(
    serve: Serve, extended: Extended, tmp_path: Path
) -> None:
    file = tmp_path / "empty.jsonl"
    file.write_bytes(b"")
    state = cluster(
        node("a", cpu="1"), pod("low", cpu="1", node="a"), pod("p", cpu="1", priority=9)
    )
    preempter = {"urlPrefix": "http://127.0.0.1:1", "preemptVerb": "preempt"}
    run, _ = extended(state, preempter, replay=str(file))
    with pytest.raises(UsageError, match="has no recorded answer to this request"):
        run.run()


def test_a_file_that_is_no_recording_is_named_with_the_line(
    extended: Extended, tmp_path: Path
) -> None:
    file = tmp_path / "calls.jsonl"
    file.write_text('{"url": "u", "request": {}}\n[]\n')
    with pytest.raises(
        InputError, match=r"calls\.jsonl:2:1: this is not an exchange with an extender"
    ):
        extended(STATE, {"urlPrefix": "http://x", "filterVerb": "f"}, replay=str(file))
    with pytest.raises(InputError, match="No such file"):
        extended(STATE, {"urlPrefix": "http://x", "filterVerb": "f"}, replay=f"{file}.none")


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("calls.jsonl", b'{"url": "\xff", "request": {}}', "not an exchange with an extender"),
        (
            "calls.jsonl.gz",
            gzip.compress(bytes(range(256)) * 9, mtime=0)[:90],
            "not an exchange with an extender",
        ),
        (
            "calls.jsonl.gz",
            gzip.compress(b"", mtime=0)[:10] + b"\xff" * 99,
            "not gzip: .*invalid",
        ),
        ("calls.jsonl.gz", b"{}", "not gzip: not a gzipped file"),
    ],
    ids=["bytes", "cut off", "damaged", "not packed"],
)
def test_a_damaged_recording_is_named(
    name: str, data: bytes, message: str, extended: Extended, tmp_path: Path
) -> None:
    file = tmp_path / name
    file.write_bytes(data)
    with pytest.raises(InputError, match=message):
        extended(STATE, {"urlPrefix": "http://x", "filterVerb": "f"}, replay=str(file))


def test_a_file_that_cannot_be_written_is_an_error_before_the_run(
    extended: Extended, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match="cannot be written"):
        extended(STATE, {"urlPrefix": "http://x", "filterVerb": "f"}, record=str(tmp_path))
