import pytest
import yaml

from ksched_cli.kube.shown_yaml import block_yaml, flow_yaml


@pytest.mark.parametrize("text", ["y", "N", "1e3", "+1", "0o7", "1_000", "0x1f", ".5"])
def test_a_text_that_go_yaml_reads_as_something_else_is_quoted(text: str) -> None:
    assert block_yaml({text: text}) == f"'{text}': '{text}'\n"


@pytest.mark.parametrize("text", ["yes", "null", "2024-01-01", "a: b", "# no", "x" * 500, "ä", ""])
def test_what_is_written_is_read_as_the_same(text: str) -> None:
    data = {"kind": "K", "list": [1, text, {text: True}]}
    assert yaml.safe_load(block_yaml(data)) == data
    assert yaml.safe_load(flow_yaml(data)) == data
    assert "\n" not in flow_yaml(data)


def test_a_job_takes_no_command_from_a_text(monkeypatch: pytest.MonkeyPatch) -> None:
    data = {"name": "a\n::error::b"}
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    text = block_yaml(data)
    assert len(text.splitlines()) == 1
    assert yaml.safe_load(text) == data
