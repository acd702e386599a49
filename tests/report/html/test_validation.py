"""The page of a validation shows what the record has."""

from pathlib import Path

from tests.commands.runners import Ksched, WriteConfig
from tests.report.html.pages import check_stands_alone, titled

WRONG = """apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
parallelism: -1
"""


def test_findings_have_their_lines_and_kube_schedulers_words(
    ksched: Ksched, write_config: WriteConfig
) -> None:
    path = write_config(WRONG)
    code, out, _ = ksched("validate", path, "-o", "html")
    assert code == 1
    text = " ".join(check_stands_alone(out).text)
    assert f"{path}: not valid" in text
    assert f"{path}:3:1: error: parallelism" in text
    assert "3 | parallelism: -1" in text
    assert "kube-scheduler v1." in text
    assert "refuses it at" in text


def test_a_valid_configuration_has_a_page(ksched: Ksched, write_config: WriteConfig) -> None:
    path = write_config(WRONG.replace("-1", "16"))
    code, out, _ = ksched("validate", path, "-o", "html")
    assert code == 0
    assert f"{path}: valid" in " ".join(check_stands_alone(out).text)


def test_many_files_are_rows_and_their_findings_one_list(
    ksched: Ksched, write_config: WriteConfig
) -> None:
    wrong = str(write_config(WRONG))
    right = str(Path(wrong).with_name("right.yaml"))
    Path(right).write_text(WRONG.replace("-1", "16"))
    code, out, _ = ksched("validate", right, wrong, "-o", "html")
    assert code == 1
    page = check_stands_alone(out)
    files = titled(page.data["grids"]["files"])
    assert (files["File"], files["Verdict"]) == ([wrong, right], ["not valid", "valid"])
    assert "1 of 2 configurations is not valid" in page.text
    links = [attributes for tag, attributes in page.tags if tag == "a"]
    assert len(links) == 4  # the sections and the skip link, not one for each file
