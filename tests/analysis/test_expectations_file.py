"""Files of expectations: what is read, and what is refused."""

from pathlib import Path

import pytest

from ksched_cli.analysis.expectations import (
    PodCount,
    PodsOn,
    PodsPending,
    Spread,
    read_expectations,
)
from ksched_cli.errors import InputError

HEAD = "apiVersion: ksched/v1\nkind: Expectations\nstate: cluster.yaml\n"


def write(tmp_path: Path, text: str) -> str:
    path = tmp_path / "e.yaml"
    path.write_text(text)
    return str(path)


def test_paths_are_relative_to_the_file(tmp_path: Path) -> None:
    text = HEAD.replace("cluster.yaml", "[a.yaml, ../b.yaml]")
    file = read_expectations(write(tmp_path, text + "config: c/d.yaml\nexpect: [{pending: 0}]\n"))
    (run,) = file.runs
    assert run.states == (str(tmp_path / "a.yaml"), str(tmp_path.parent / "b.yaml"))
    assert run.configuration == str(tmp_path / "c" / "d.yaml")


def test_expectations_are_read_with_their_names(tmp_path: Path) -> None:
    text = """\
expect:
- {name: in the east, pod: web-*, on: {zone: east}}
- pod: db
  on: node-1
- {pod: big, pending: true, because: cpu}
- pending: 1
- {spread: {pods: web-*, over: zone, atMost: 1}}
"""
    assert read_expectations(write(tmp_path, HEAD + text)).expectations == (
        PodsOn("in the east", "web-*", "", {"zone": "east"}),
        PodsOn("pod: db, on: node-1", "db", "node-1", {}),
        PodsPending("pod: big, pending: true, because: cpu", "big", "cpu"),
        PodCount("pending: 1", 1, "pending"),
        Spread("spread: {pods: web-*, over: zone, atMost: 1}", "web-*", "zone", 1),
    )


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a: b\n", "Expected apiVersion: ksched/v1, kind: Expectations"),
        (HEAD, "expect is missing"),
        (HEAD + "expect: [{pod: a}]\n", ":4:10: expect[0]: invalid combination of keys"),
        (HEAD + "expect: [{pod: a, on: b, pending: true}]\n", "expected `pod` with `on`"),
        (HEAD + "expect: [{nodesUsed: {}}]\n", "expect[0].nodesUsed: is empty"),
        (HEAD + "expect: []\n", "expect"),
    ],
)  # fmt: skip
def test_what_is_no_expectation_is_refused(tmp_path: Path, text: str, problem: str) -> None:
    with pytest.raises(InputError) as raised:
        read_expectations(write(tmp_path, text))
    assert problem in str(raised.value)
