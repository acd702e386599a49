"""How often and how long plugins were called, as a table and as spans."""

import json
from pathlib import Path
from typing import Any

import pytest

from ksched_cli.testing import node, pod
from tests.commands.runners import Ksched, WriteState

REPLAY = ("replay", "examples/replay/day.yaml", "--state", "examples/replay/cluster.yaml")


@pytest.fixture
def state(write_state: WriteState) -> Path:
    return write_state(node("n", cpu=4), pod("fits", cpu=1), pod("large", cpu=9))


def test_a_table_on_standard_error_has_every_plugin_and_the_slowest_pods(
    ksched: Ksched, state: Path
) -> None:
    plain = ksched("schedule", "--state", state)
    code, out, err = ksched("schedule", "--state", state, "--timings", "table")
    assert (code, out) == plain[:2]
    lines = [line.split() for line in err.splitlines()]
    assert any(line[:4] == ["2", "attempts", "of", "2"] for line in lines)
    calls = {tuple(line[:2]): int(line[2]) for line in lines if line[2:] and line[2].isdigit()}
    assert calls["filter", "NodeResourcesFit"] >= 2
    assert calls["bind", "DefaultBinder"] == calls["postFilter", "DefaultPreemption"] == 1
    assert {line[0] for line in lines if line} >= {"default/fits", "default/large"}


def spans_of(file: Path) -> list[dict[str, Any]]:
    (resource,) = json.loads(file.read_text())["resourceSpans"]
    (scope,) = resource["scopeSpans"]
    spans: list[dict[str, Any]] = scope["spans"]
    return spans


def attributes(span: dict[str, Any]) -> dict[str, str]:
    return {each["key"]: next(iter(each["value"].values())) for each in span["attributes"]}


def test_a_file_has_a_span_per_attempt_extension_point_and_plugin_each_within_the_one_above(
    ksched: Ksched, tmp_path: Path
) -> None:
    file = tmp_path / "spans.json"
    err = ksched(*REPLAY, "--timings", file)[2]
    assert f"their spans are in {file}" in " ".join(err.split())
    spans = spans_of(file)
    by_id = {span["spanId"]: span for span in spans}
    assert len(by_id) == len(spans)
    (root,) = (span for span in spans if not span["parentSpanId"])
    for span in spans:
        above = root if span is root else by_id[span["parentSpanId"]]
        assert int(above["startTimeUnixNano"]) <= int(span["startTimeUnixNano"])
        assert int(span["startTimeUnixNano"]) <= int(span["endTimeUnixNano"])
        assert int(span["endTimeUnixNano"]) <= int(above["endTimeUnixNano"])
        assert span["traceId"] == root["traceId"]
    attempts = [span for span in spans if span["name"] == "attempt ml/training-1"]
    numbers = [int(attributes(span)["attempt"]) for span in attempts]
    assert numbers == list(range(1, len(attempts) + 1))
    assert len(attempts) > 1
    below = {span["name"] for span in spans if span["parentSpanId"] == attempts[0]["spanId"]}
    assert below >= {"preFilter", "filter"}


@pytest.mark.parametrize("target", ["yes", "spans.txt"])
def test_another_value_is_refused(ksched: Ksched, state: Path, target: str) -> None:
    code, out, err = ksched("schedule", "--state", state, "--timings", target)
    assert (code, out) == (2, "")
    assert '--timings takes "table", or the name of a file that ends in .json' in err


def test_a_file_that_cannot_be_written_is_an_error(ksched: Ksched, state: Path) -> None:
    code, _, err = ksched("schedule", "--state", state, "--timings", "no/folder/x.json")
    assert code == 2
    assert "no/folder/x.json" in err


def test_it_is_of_the_whole_answer_wherever_it_stands(ksched: Ksched, state: Path) -> None:
    command = ("compare", "--state", state, "--vs", "--change", "cordon n", "--timings", "table")
    code, _, err = ksched(*command)
    assert code in (0, 1), err
    assert sum(line.startswith(("2 attempts of 2", "1 attempt of")) for line in err.splitlines())
