"""`validate --fix`: edits of findings that have one right edit, which leave the rest as it is."""

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
    inner = "".join(f"    {line}\n" for line in (HEAD + "paralelism: 8  # few").splitlines())
    head = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: s}\ndata:\n  config.yaml: |\n"
    file.write_text(head + inner)
    assert ksched("validate", "--fix", "-w", file)[0] == 0
    assert file.read_text() == (head + inner).replace("paralelism", "parallelism")


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
