"""`ksched config show` from the command line."""

import json
import subprocess
from importlib.resources import files
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from tests.commands.runners import Ksched
from tests.report.schemas import conforms

HEAD = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
SCHEMA = json.loads(
    files("ksched_cli.schemas").joinpath("effective_configuration.json").read_text()
)


def test_without_a_file_the_default_is_shown(ksched: Ksched) -> None:
    code, out, _ = ksched("config", "show", "-o", "json")
    shown = json.loads(out)
    Draft202012Validator(SCHEMA).validate(shown)
    assert code == 0
    assert shown["weights"]["default-scheduler"]["TaintToleration"] == 3
    assert shown["origin"]["default-scheduler"]["bind"] == {"DefaultBinder": "default"}


def test_the_environment_names_a_file(
    ksched: Ksched, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(HEAD + "profiles: [{schedulerName: batch}]\n")
    monkeypatch.setenv("KSCHED_CONFIG", str(path))
    _, out, _ = ksched("config", "show", "-o", "json")
    assert list(json.loads(out)["profiles"]) == ["batch"]


def test_the_table_shows_weights_and_origins(ksched: Ksched, tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(
        HEAD + "profiles:\n- plugins: {score: {enabled: [{name: ImageLocality, weight: 7}]}}\n"
    )
    code, out, _ = ksched("config", "show", path)
    assert code == 0
    assert "ImageLocality+ (7)" in out
    assert "TaintToleration (3)" in out


def test_a_refused_file_is_exit_code_2_with_its_line(ksched: Ksched, tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(HEAD + "parallelism: 0\n")
    code, out, err = ksched("config", "show", path)
    assert (code, out) == (2, "")
    assert f"{path}:3:1: parallelism" in err


def test_what_differs_between_two_files(ksched: Ksched, tmp_path: Path) -> None:
    head = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
    first, second, same = (tmp_path / f"{name}.yaml" for name in "abc")
    first.write_text(head)
    second.write_text(head + "parallelism: 8\n")
    same.write_text(head + "parallelism: 16\n")
    code, out, _ = ksched("config", "diff", first, second, "-o", "json")
    document = conforms(json.loads(out), "configuration_diff")
    assert code == 1
    assert document["changes"] == [{"profile": "", "path": "parallelism", "from": 16, "to": 8}]
    code, out, _ = ksched("config", "diff", first, same)
    assert code == 0
    assert out.startswith("Nothing differs once both take effect\n")


def test_what_an_upgrade_makes_of_a_file(ksched: Ksched, tmp_path: Path) -> None:
    file = tmp_path / "scheduler.yaml"
    file.write_text(HEAD)
    between = ("--from-version", "1.36", "--kubernetes-version", "1.37")
    code, out, _ = ksched("config", "diff", *between, file, file, "-o", "json")
    document = conforms(json.loads(out), "configuration_diff")
    paths = {change["path"]: (change["from"], change["to"]) for change in document["changes"]}
    assert code == 1
    assert paths["plugins.preFilter.NodeName"] == (None, True)
    assert paths["plugins.podGroupPostFilter.DefaultPreemption"] == (None, True)
    code, out, _ = ksched("config", "diff", *between, file, file)
    assert "scheduler.yaml (1.36)" in out
    assert "scheduler.yaml (1.37)" in out


def test_a_line_that_the_newer_minor_refuses_is_named_with_the_minor(
    ksched: Ksched, tmp_path: Path
) -> None:
    file = tmp_path / "scheduler.yaml"
    plugins = "{permit: {enabled: [{name: GangScheduling}]}}"
    file.write_text(f"{HEAD}profiles: [{{schedulerName: a, plugins: {plugins}}}]\n")
    between = ("--from-version", "1.37", "--kubernetes-version", "1.38")
    code, _, err = ksched("config", "diff", *between, file, file)
    assert code == 2
    assert "Kubernetes 1.38 refuses this: GangScheduling does not extend permit" in err


OLD = HEAD.replace("/v1\n", "/v1beta2\n") + "profiles: [{schedulerName: a}]  # ours\n"


def test_an_old_file_is_printed_in_the_newest_version(ksched: Ksched, tmp_path: Path) -> None:
    path, new = tmp_path / "old.yaml", tmp_path / "new.yaml"
    path.write_text(OLD)
    code, out, err = ksched("config", "migrate", path)
    new.write_text(out)
    assert code == 0
    assert out.startswith(HEAD)
    assert out.endswith("  # ours\n")
    assert f"{path}:3: weights that v1beta2 had by default are written out" in err
    assert ksched("validate", new)[0] == 0
    _, out, err = ksched("config", "migrate", path, "-o", "json", "-q")
    document = conforms(json.loads(out), "configuration_migration")
    assert (document["from"], document["complete"], err) == (
        "kubescheduler.config.k8s.io/v1beta2",
        True,
        "",
    )
    assert document["text"] == new.read_text()


def test_what_is_not_carried_over_is_a_warning_and_exit_code_1(
    ksched: Ksched, tmp_path: Path
) -> None:
    path = tmp_path / "policy.json"
    path.write_text('{"kind": "Policy", "apiVersion": "v1", "alwaysCheckAllPredicates": true}')
    code, out, err = ksched("config", "migrate", path, "-o", "json")
    assert code == 1
    assert json.loads(json.loads(out)["text"])["kind"] == "KubeSchedulerConfiguration"
    assert "warning: " in err
    assert len(json.loads(out)["warnings"]) == 1


def test_what_cannot_be_migrated_is_exit_code_2(ksched: Ksched, tmp_path: Path) -> None:
    path = tmp_path / "pod.yaml"
    path.write_text("apiVersion: v1\nkind: Pod\n")
    code, out, err = ksched("config", "migrate", path)
    assert (code, out) == (2, "")
    assert "Pod of v1 cannot be migrated" in err


CONFIG_MAP = """\
apiVersion: v1
kind: ConfigMap
metadata: {{name: s}}
data:
  {}
  other: x
"""
BLOCK = "config.yaml: |\n" + "".join(f"    {line}\n" for line in OLD.splitlines())


@pytest.mark.parametrize("holder", ["{}", CONFIG_MAP], ids=["a file", "a ConfigMap"])
def test_migrate_writes_a_file_in_its_place(ksched: Ksched, tmp_path: Path, holder: str) -> None:
    path = tmp_path / "old.yaml"
    before = OLD if holder == "{}" else holder.format(BLOCK.rstrip())
    path.write_text(before)
    code, out, err = ksched("config", "migrate", "-w", path)
    after = path.read_text()
    assert (code, out, err.splitlines()[-1]) == (0, "", f"wrote {path}")
    assert {line.strip() for line in set(before.splitlines()) - set(after.splitlines())} == {
        "apiVersion: kubescheduler.config.k8s.io/v1beta2",
        "profiles: [{schedulerName: a}]  # ours",
    }
    code, _, err = ksched("config", "migrate", "-w", path)
    assert (code, err, path.read_text()) == (0, f"no change is needed in {path}\n", after)


@pytest.mark.parametrize(
    ("text", "options", "code", "problem"),
    [
        (CONFIG_MAP.format(f"config.yaml: {json.dumps(OLD)}"), [], 2, "cannot be written in its"),
        (HEAD.replace("/v1\n", "/v1beta2\n"), ["-o", "json"], 2, "cannot be combined with -o json"),
        (
            '{"kind": "Policy", "apiVersion": "v1", "alwaysCheckAllPredicates": true}',
            [],
            1,
            "did not write",
        ),
    ],
    ids=["in a quoted string", "with a document", "not all is carried over"],
)
def test_what_cannot_be_migrated_in_its_place_stays(
    ksched: Ksched, tmp_path: Path, text: str, options: list[str], code: int, problem: str
) -> None:
    path = tmp_path / "old.yaml"
    path.write_text(text)
    ended, out, err = ksched("config", "migrate", "-w", path, *options)
    assert (ended, out, problem in err, path.read_text()) == (code, "", True, text), err


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository whose last commit has another configuration than its work tree."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "deploy").mkdir()
    path = tmp_path / "deploy" / "c.yaml"
    path.write_text(HEAD + "parallelism: 8\n")
    for command in ("init -q", "add .", "-c user.name=a -c user.email=a@b commit -qm first"):
        subprocess.run(["git", *command.split()], check=True)
    path.write_text(HEAD + "parallelism: 4\n")
    return tmp_path


def test_a_file_as_git_has_it_is_compared(
    ksched: Ksched, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code, out, _ = ksched("config", "diff", "HEAD:deploy/c.yaml", "deploy/c.yaml", "-o", "json")
    (change,) = json.loads(out)["changes"]
    assert (code, change["from"], change["to"]) == (1, 8, 4)
    monkeypatch.chdir(repository / "deploy")
    _, out, _ = ksched("config", "diff", "HEAD:./c.yaml", "c.yaml", "-o", "markdown")
    assert "| `~` | parallelism | 8 | 4 |" in out
    _, out, _ = ksched("config", "diff", "HEAD:./c.yaml#1", "HEAD:./c.yaml")
    assert out.startswith("Nothing differs once both take effect\n")


@pytest.mark.parametrize("reference", ["HEAD:c.yaml", "nowhere:deploy/c.yaml", "HEAD:deploy"])
def test_what_git_does_not_have_is_an_error(
    ksched: Ksched, repository: Path, reference: str
) -> None:
    code, out, err = ksched("config", "show", reference)
    assert (code, out) == (2, "")
    assert err.startswith(f"error: {reference}: there is no such file, and git says: ")


def test_no_file_has_git_run(ksched: Ksched, repository: Path) -> None:
    (repository / "e.yaml").write_text(
        "apiVersion: ksched/v1\nkind: Expectations\nstate: s.yaml\n"
        "config: HEAD:deploy/c.yaml\nexpect: [{pending: 0}]\n"
    )
    (repository / "s.yaml").write_text("apiVersion: v1\nkind: Node\nmetadata: {name: a}\n")
    code, _, err = ksched("test", "e.yaml")
    assert (code, err) == (2, "error: HEAD:deploy/c.yaml: there is no such file\n")
