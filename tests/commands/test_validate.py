"""`ksched validate` from the command line."""

import json
import subprocess
import sys
from importlib.resources import files

import pytest
import yaml
from jsonschema import Draft202012Validator

from ksched_cli.commands.main import main

HEAD = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
SCHEMA = json.loads(files("ksched_cli.schemas").joinpath("validation_result.json").read_text())


def run(monkeypatch, capsys, *args):
    """Exit code, standard output, standard error."""
    monkeypatch.setattr(sys, "argv", ["ksched", *map(str, args)])
    with pytest.raises(SystemExit) as ended:
        main()
    out = capsys.readouterr()
    return ended.value.code, out.out, out.err


@pytest.fixture
def ksched(monkeypatch, capsys):
    return lambda *args: run(monkeypatch, capsys, *args)


@pytest.fixture
def write(tmp_path):
    def written(text):
        path = tmp_path / "config.yaml"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return written


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
def test_the_exit_code_and_the_json_agree(ksched, write, text, code):
    ended, out, _ = ksched("validate", write(text), "-o", "json")
    result = json.loads(out)
    Draft202012Validator(SCHEMA).validate(result)
    assert (ended, result["valid"], result["kubeScheduler"]["accepts"]) == (
        code,
        not code,
        not code,
    )


def test_yaml_says_the_same_as_json(ksched, write):
    path = write(HEAD + "parallelism: 0\nfoo: 1\n")
    _, as_json, _ = ksched("validate", path, "-o", "json")
    _, as_yaml, _ = ksched("validate", path, "-o", "yaml")
    assert yaml.safe_load(as_yaml) == json.loads(as_json)


def test_the_table_names_file_line_problem_and_hint(ksched, write):
    path = write(HEAD + "paralelism: 3\n")
    code, out, err = ksched("validate", path)
    assert code == 1
    assert f"{path}:3:1: error: paralelism" in out
    assert 'did you mean "parallelism"?' in out
    assert 'strict decoding error: unknown field "paralelism"' in out
    assert err == ""


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("validate", "/nowhere/config.yaml"), "there is no such file"),
        (("validate", "/"), "this is a folder"),
        (("validate",), "Missing argument"),
        (("validate", "/dev/null", "-o", "xml"), "'xml' is not one of"),
    ],
)
def test_a_question_that_cannot_be_asked_is_exit_code_2(ksched, args, said):
    code, out, err = ksched(*args)
    assert (code, out) == (2, "")
    assert said in err
    assert "Traceback" not in err


@pytest.mark.parametrize("args", [["--help"], ["validate", "/dev/null"], ["plugins"]])
def test_nothing_slow_is_loaded(args):
    script = (
        "import sys; sys.argv[1:] = " + repr(args) + "\n"
        "from ksched_cli.commands.main import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "assert not {'numpy', 'msgspec'} & set(sys.modules), set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True, capture_output=True)
