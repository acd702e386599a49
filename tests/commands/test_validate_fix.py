"""`validate --fix`: edits of findings that have one right edit, which leave the rest as it is."""

import io
import json
import sys
from pathlib import Path

import pytest

from tests.commands.runners import Ksched

HEAD = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
BROKEN = """\
# ours
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfigration
profiles:
- schedulerName: packer   # for batch
  plugins:
    scores:
      enabled:
      - name: NodeResourceFit
        weight: "3"   # much
  pluginConfg:
  - name: NodeResourcesFit
    args: {scoringStrategy: {type: MostAlocated, resources: [{name: cpu, weight: 1}]}}
"""
MENDED = """\
# ours
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: packer   # for batch
  plugins:
    score:
      enabled:
      - name: NodeResourcesFit
        weight: 3   # much
  pluginConfig:
  - name: NodeResourcesFit
    args: {scoringStrategy: {type: MostAllocated, resources: [{name: cpu, weight: 1}]}}
"""
MISSPELT = "paralelism: 8  # few\n"


def config_map(name: str, text: str) -> str:
    head = f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\ndata:\n  c.yaml: |\n"
    return head + "".join(f"    {line}\n" for line in text.splitlines())


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "scheduler.yaml"


def test_edits_keep_comments_and_layout(ksched: Ksched, file: Path) -> None:
    file.write_text(BROKEN)
    # What is mended may bring other findings to light: the default plugin is enabled twice.
    _, out, err = ksched("validate", "--fix", "-w", file)
    assert (out, file.read_text()) == ("", MENDED)
    assert f"{file}: wrote 6 edits" in err


def test_without_w_the_edits_are_a_diff_and_the_file_stays(ksched: Ksched, file: Path) -> None:
    file.write_text(BROKEN)
    code, out, _ = ksched("validate", "--fix", file)
    assert (code, file.read_text()) == (1, BROKEN)
    assert out.startswith(f"--- {file}\n+++ {file}\n@@ ")
    assert "\n-kind: KubeSchedulerConfigration\n+kind: KubeSchedulerConfiguration\n" in out


@pytest.mark.parametrize(
    ("broken", "mended"),
    [
        ("kind: KubeSchedulerConfiguration\n", HEAD.partition("\n")[0]),
        (HEAD + "leaderElection: {leaderElct: true}\n", "leaderElection: {leaderElect: true}"),
        (HEAD + "parallelism: '16'\n", "parallelism: 16"),
        (HEAD.replace("/v1", "/v2"), "apiVersion: kubescheduler.config.k8s.io/v1"),
    ],
)
def test_what_has_one_right_edit_is_mended(
    ksched: Ksched, file: Path, broken: str, mended: str
) -> None:
    file.write_text(broken)
    assert ksched("validate", "--fix", "-w", file)[0] == 0
    assert mended in file.read_text().splitlines()


@pytest.mark.parametrize(
    "text",
    [
        HEAD + "percentageOfNodesToScore: 300\n",  # which number was meant?
        HEAD + "parallelism: 4\nparalelism: 8\n",  # the key is there already
        HEAD + "zzz: 1\n",
        "apiVersion: kubescheduler.config.k8s.io/v1beta2\nkind: KubeSchedulerConfiguration\n",
    ],
)
def test_what_has_no_edit_or_several_stays(ksched: Ksched, file: Path, text: str) -> None:
    file.write_text(text)
    code, out, err = ksched("validate", "--fix", "-w", file)
    assert (code, out, file.read_text()) == (1, "", text)
    assert "no edit" in err


def test_a_configuration_in_a_config_map_is_mended_in_its_place(ksched: Ksched, file: Path) -> None:
    text = config_map("s", HEAD + MISSPELT)
    file.write_text(text)
    assert ksched("validate", "--fix", "-w", file)[0] == 0
    assert file.read_text() == text.replace("paralelism", "parallelism")


def test_all_configurations_of_a_file_are_mended_in_their_places(
    ksched: Ksched, file: Path
) -> None:
    # The edit of the first takes a line away, so that the second begins elsewhere.
    quoted, mended = 'parallelism:\n  "8"\n', "parallelism: 8\n"
    before = [config_map("a", HEAD + quoted), config_map("b", HEAD + MISSPELT)]
    after = [config_map("a", HEAD + mended), config_map("b", HEAD + "parallelism: 8  # few\n")]
    file.write_text("---\n".join(before))
    code, out, _ = ksched("validate", "--fix", file)
    assert (code, out.count(f"--- {file}\n+++ {file}\n")) == (1, 1)
    assert ksched("validate", "--fix", "-w", file)[0] == 0
    assert file.read_text() == "---\n".join(after)


def test_no_file_is_written_where_one_cannot_be(ksched: Ksched, file: Path, tmp_path: Path) -> None:
    text = json.dumps(HEAD + MISSPELT)
    quoted = tmp_path / "quoted.yaml"
    quoted.write_text(config_map("s", "").replace("|\n", f"{text}\n"))
    file.write_text(HEAD + MISSPELT)
    code, _, err = ksched("validate", "--fix", "-w", file, quoted)
    assert (code, file.read_text()) == (2, HEAD + MISSPELT)
    assert "ConfigMap s" in err
    assert "cannot be edited in its place" in err


@pytest.mark.parametrize("text", [HEAD + MISSPELT, config_map("s", HEAD + MISSPELT)])
def test_standard_input_gets_a_diff_and_is_not_written(
    ksched: Ksched, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, text: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    code, out, _ = ksched("validate", "--fix", "-")
    assert (code, "parallelism: 8  # few\n" in out) == (1, True)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    code, out, err = ksched("validate", "--fix", "-w", "-")
    assert (code, out, list(tmp_path.iterdir())) == (2, "", [])
    assert "-w requires files" in err


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["-w"], "-w requires --fix"),
        (["--fix", "-o", "json"], "--fix has no effect with -o json"),
    ],
)
def test_options_that_do_not_go_together_are_errors(
    ksched: Ksched, file: Path, options: list[str], problem: str
) -> None:
    file.write_text(HEAD)
    code, _, err = ksched("validate", *options, file)
    assert (code, problem in err) == (2, True)
