"""`ksched validate` from the command line."""

import json
from importlib.resources import files
from pathlib import Path

import pytest
import yaml
from jsonschema import Draft202012Validator

from tests.commands.runners import Ksched, WriteConfig
from tests.report.schemas import conforms

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
    ksched: Ksched, write_config: WriteConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_config(HEAD + "paralelism: 3\n")
    monkeypatch.setenv("COLUMNS", "300")  # for the path of the file
    code, out, err = ksched("validate", path)
    assert code == 1
    assert f"{path}:3:1: error: paralelism" in out
    assert 'did you mean "parallelism"?' in out
    assert 'strict decoding error: unknown field "paralelism"' in out
    assert err == ""


def test_several_files_have_one_result(
    ksched: Ksched, write_config: WriteConfig, tmp_path: Path
) -> None:
    right, wrong = tmp_path / "right.yaml", write_config(HEAD + "paralelism: 3\n")
    right.write_text(HEAD)
    for paths in ([right, wrong], [tmp_path], [tmp_path / "*.yaml"]):
        code, out, _ = ksched("validate", *paths, "-o", "json")
        result = conforms(json.loads(out), "validation_results")
        verdicts = {Path(file["path"]).name: file["valid"] for file in result["files"]}
        assert (code, verdicts) == (1, {"right.yaml": True, "config.yaml": False})


@pytest.mark.parametrize(
    ("form", "beginning"), [("sarif", "{"), ("github", "::error "), ("junit", "<?xml")]
)
def test_the_forms_of_pipelines(
    ksched: Ksched, write_config: WriteConfig, form: str, beginning: str
) -> None:
    code, out, err = ksched("validate", write_config(HEAD + "foo: 3\n"), "-o", form)
    assert (code, out[: len(beginning)], err) == (1, beginning, "")


def test_nothing_to_annotate_prints_nothing(ksched: Ksched, write_config: WriteConfig) -> None:
    assert ksched("validate", write_config(HEAD), "-o", "github") == (0, "", "")


def test_a_folder_without_a_configuration_is_an_error(ksched: Ksched, tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("a: b\n")
    code, _, err = ksched("validate", tmp_path)
    assert code == 2
    assert f"no configuration in {tmp_path} (1 YAML and JSON files)" in err
    code, out, _ = ksched("validate", "--skip-others", tmp_path / "a.yaml")
    assert (code, out) == (
        0,
        "No configuration was found\n1 file without a configuration\n",
    )


def test_templates_are_warned_of(ksched: Ksched, tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(HEAD)
    (tmp_path / "t.yaml").write_text("{{ if x }}\n" + HEAD)
    code, _, err = ksched("validate", tmp_path)
    assert code == 0
    assert "t.yaml is a template: render it first" in err


def test_plugins_of_another_build_are_allowed(ksched: Ksched, write_config: WriteConfig) -> None:
    path = write_config(HEAD + "profiles: [{plugins: {score: {enabled: [{name: Green}]}}}]\n")
    assert ksched("validate", path)[0] == 1
    assert ksched("validate", path, "--allow-plugins", "Green")[0] == 0


def test_a_rule_is_explained(ksched: Ksched) -> None:
    code, out, _ = ksched("validate", "--explain", "weight-zero")
    assert (code, out.partition(":")[0]) == (0, "weight-zero (warning, weights)")
    assert "strategy-outvoted" in ksched("validate", "--explain", "all")[1]
    code, _, err = ksched("validate", "--explain", "weight-zro")
    assert (code, err) == (2, 'error: unknown rule "weight-zro"; did you mean "weight-zero"?\n')


@pytest.mark.parametrize("arguments", [(), ("--explain", "syntax", "c.yaml")])
def test_a_configuration_or_a_rule_is_needed(ksched: Ksched, arguments: tuple[str, ...]) -> None:
    assert ksched("validate", *arguments)[0] == 2


def test_a_family_is_explained_by_its_rules(ksched: Ksched) -> None:
    code, out, _ = ksched("validate", "--explain", "extenders")
    assert (code, len(out.splitlines())) == (0, 9)


WEIGHTLESS = HEAD + (
    "profiles: [{plugins: {score: {enabled: [{name: ImageLocality, weight: 0}]}}}]\n"
)


def test_a_second_schedulers_file_has_nothing_to_remark(
    ksched: Ksched, write_config: WriteConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "300")  # for the path of the file
    path = write_config(HEAD + "profiles: [{schedulerName: second}]\n")
    assert ksched("validate", path)[1] == f"{path}: valid, no findings\n"
    _, out, _ = ksched("validate", "--extend-select", "no-default-profile", path)
    assert "(no-default-profile)" in out


@pytest.mark.parametrize(
    ("options", "code", "remarks"),
    [
        ([], 0, 1),
        (["--fail-on", "warning"], 1, 1),
        (["--fail-on", "error"], 0, 1),
        (["--ignore", "weights"], 0, 0),
        (["--ignore", "args,weight-zero", "--fail-on", "warning"], 0, 0),
        (["--select", "args", "--select", "safety"], 0, 0),
        (["--select", "args", "--extend-select", "weights"], 0, 1),
    ],
)
def test_options_choose_the_rules_and_what_fails(
    ksched: Ksched, write_config: WriteConfig, options: list[str], code: int, remarks: int
) -> None:
    ended, out, err = ksched("validate", *options, "-o", "json", write_config(WEIGHTLESS))
    result = conforms(json.loads(out), "validation_result")
    assert (ended, len(result["findings"]), result["valid"], err) == (code, remarks, True, "")


@pytest.mark.parametrize(
    ("option", "value", "problem"),
    [
        ("--select", "weigths", 'did you mean "weights"?'),
        ("--ignore", "unknown-key", "cannot be ignored"),
        ("--fail-on", "info", "--fail-on takes error or warning"),
    ],
)
def test_what_cannot_be_chosen_is_an_error(
    ksched: Ksched, write_config: WriteConfig, option: str, value: str, problem: str
) -> None:
    code, out, err = ksched("validate", option, value, write_config(WEIGHTLESS))
    assert (code, out, problem in err) == (2, "", True)


def test_a_project_file_decides_for_the_files_below_it(
    ksched: Ksched, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("KSCHED_KUBERNETES_VERSION")
    (tmp_path / ".ksched.yaml").write_text(
        "kubernetesVersion: '1.35'\nfailOn: warning\nallowPlugins: [Mine=score]\n"
        "perFileIgnores: {'*.json': ['weight-zero@profiles[0].plugins.score']}\n"
    )
    (tmp_path / "a.yaml").write_text(WEIGHTLESS)
    mine = HEAD + "profiles: [{plugins: {score: {enabled: [{name: Mine}]}}}]\n"
    (tmp_path / "b.yaml").write_text(mine)
    (tmp_path / "c.json").write_text(json.dumps(yaml.safe_load(WEIGHTLESS)))
    code, out, err = ksched("validate", tmp_path, "-o", "json")
    files = conforms(json.loads(out), "validation_results")["files"]
    assert [len(file["findings"]) for file in files] == [1, 0, 0]
    assert [len(file["ignored"]) for file in files] == [0, 0, 1]
    assert (code, files[0]["kubeScheduler"]["version"][:5], err) == (1, "v1.35", "")
    assert ksched("validate", "--fail-on", "error", tmp_path)[0] == 0
    code, out, _ = ksched("validate", "--isolated", tmp_path)
    assert (code, 'unknown plugin "Mine"' in out) == (1, True)


def test_a_warning_that_fails_is_said_to(ksched: Ksched, write_config: WriteConfig) -> None:
    path = write_config(WEIGHTLESS)
    _, out, _ = ksched("validate", "--fail-on", "warning", path)
    title = f"{path}: valid: 1 warning; warnings fail (--fail-on warning)"
    assert " ".join(out.partition("\n\n")[0].split()) == title
    _, out, _ = ksched("validate", "--fail-on", "warning", "-o", "junit", path)
    assert 'failures="1"' in out


def test_settings_are_shown_as_a_project_file_that_says_them_all(
    ksched: Ksched, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("KSCHED_KUBERNETES_VERSION")
    path = tmp_path / "a.yaml"
    path.write_text(WEIGHTLESS)
    given = tmp_path / ".ksched.yaml"
    given.write_text("kubernetesVersion: '1.35'\nperFileIgnores: {a.yaml: [args]}\n")
    _, out, _ = ksched("validate", "--show-settings", "--ignore", "weights", path)
    shown = yaml.safe_load(out)
    assert out.startswith(f"# {path}: settings of {given} and the options\n")
    assert "# ignored in this file: args" in out
    assert (shown["kubernetesVersion"], "weight-zero" in shown["select"]) == ("1.35.4", False)
    given.write_text(out)
    assert yaml.safe_load(ksched("validate", "--show-settings", path)[1]) == shown


def test_a_project_file_with_a_mistake_is_an_error(ksched: Ksched, tmp_path: Path) -> None:
    (tmp_path / ".ksched.yaml").write_text("ignore: [weigths]\n")
    (tmp_path / "a.yaml").write_text(WEIGHTLESS)
    code, out, err = ksched("validate", tmp_path / "a.yaml")
    assert (code, out, '.ksched.yaml:1:10: ignore[0]: "weigths" is neither a rule' in err) == (
        2,
        "",
        True,
    )
