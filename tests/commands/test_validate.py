"""`ksched validate` from the command line."""

import json
from importlib.resources import files

import pytest
import yaml
from jsonschema import Draft202012Validator

from tests.commands.runners import Ksched, WriteConfig

HEAD = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
SCHEMA = json.loads(files("ksched_cli.schemas").joinpath("validation_result.json").read_text())


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (HEAD, 0),
        (HEAD + "parallelism: 0\n", 1),
        (HEAD + "profiles: [{schedulerName: x}]\n", 0),
        ("a: b: c", 1),
        ("", 1),
        (b"\x80", 1),
        ("{", 1),
    ],
    ids=["right", "wrong", "warned of", "no YAML", "empty", "no text", "no JSON"],
)
def test_the_exit_code_and_the_json_agree(
    ksched: Ksched, write_config: WriteConfig, text: bytes | str, code: int
) -> None:
    ended, out, _ = ksched("validate", write_config(text), "-o", "json")
    result = json.loads(out)
    Draft202012Validator(SCHEMA).validate(result)
    assert (ended, result["valid"], result["kubeScheduler"]["accepts"]) == (
        code,
        not code,
        not code,
    )


def test_yaml_says_the_same_as_json(ksched: Ksched, write_config: WriteConfig) -> None:
    path = write_config(HEAD + "parallelism: 0\nfoo: 1\n")
    _, as_json, _ = ksched("validate", path, "-o", "json")
    _, as_yaml, _ = ksched("validate", path, "-o", "yaml")
    assert yaml.safe_load(as_yaml) == json.loads(as_json)


def test_the_table_names_file_line_problem_and_hint(
    ksched: Ksched, write_config: WriteConfig
) -> None:
    path = write_config(HEAD + "paralelism: 3\n")
    code, out, err = ksched("validate", path)
    assert code == 1
    assert f"{path}:3:1: error: paralelism" in out
    assert 'did you mean "parallelism"?' in out
    assert 'strict decoding error: unknown field "paralelism"' in out
    assert err == ""
