"""What -o takes, and options that would do nothing."""

import csv
import io
import shlex
from collections.abc import Mapping
from typing import Any, ClassVar

import pytest

from ksched_cli.answers import Answer
from ksched_cli.report.rows import as_parquet
from ksched_cli.testing import node, pod
from tests.commands.runners import ExitCode, Ksched, WriteConfig, WriteState

VALID = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"


class Remarks(Answer, frozen=True, kw_only=True):
    """Rows of any types."""

    ROWS: ClassVar = "remarks"
    kind: str = "Remarks"
    remarks: tuple[Mapping[str, Any], ...]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["-o", "xml"],
            "-o of ksched schedule takes one of table, json, yaml, html, markdown, latex, csv, "
            'parquet, wide, name; not "xml"',
        ),
        (["--seed", "3"], "--seed requires --tie-break random"),
        (["--tie-break", "best"], '--tie-break takes name or random; not "best"'),
        (["--trace"], "--trace has no effect without -o json or -o yaml"),
        (["--nodes", "-o", "json"], "--nodes has no effect with -o json"),
    ],
)
def test_bad_options_are_refused_in_a_sentence(
    arguments: list[str], message: str, ksched: Ksched, write_state: WriteState
) -> None:
    code, out, err = ksched("schedule", "--state", write_state(node("a")), *arguments)
    assert (code, out, err) == (2, "", f"error: {message}\n")


def test_a_form_that_the_command_does_not_take_is_refused(
    ksched: Ksched, write_config: WriteConfig
) -> None:
    code, _, err = ksched("validate", write_config("{}"), "-o", "wide")
    assert code == 2
    forms = "table, json, yaml, html, markdown, latex, csv, parquet, sarif, github, junit"
    assert f'takes one of {forms}; not "wide"' in err


def test_names_are_those_of_pending_pods_and_of_nodes_that_fit(
    ksched: Ksched, write_state: WriteState
) -> None:
    path = write_state(node("a"), node("b", cpu="8"), pod("p", cpu="1"), pod("q", cpu="9"))
    assert ksched("schedule", "--state", path, "-o", "name")[:2] == (1, "default/q\n")
    assert ksched("explain", "p", "--state", path, "-o", "name")[:2] == (0, "b\na\n")
    assert ksched("explain", "q", "--state", path, "-o", "name")[:2] == (1, "")


@pytest.mark.parametrize(
    "arguments", [["pod/p", "-n", "default"], ["default/p"], ["p", "-n", "default"], ["pod/p"]]
)
def test_a_pod_is_named_as_kubectl_names_it(
    arguments: list[str], ksched: Ksched, write_state: WriteState
) -> None:
    path = write_state(node("a"), pod("p"), pod("p", namespace="other") | {})
    if len(arguments) == 1 and arguments[0] != "default/p":
        path = write_state(node("a"), pod("p"))
    code, out, _ = ksched("explain", *arguments, "--state", path)
    assert (code, out.splitlines()[0].split()[0]) == (0, "default/p")


def test_a_namespace_that_contradicts_the_name_is_refused(
    ksched: Ksched, write_state: WriteState
) -> None:
    path = write_state(node("a"), pod("p"))
    code, _, err = ksched("explain", "default/p", "-n", "other", "--state", path)
    assert code == 2
    assert err == 'error: -n is "other", but "default/p" is in namespace "default"\n'


def test_quiet_says_nothing_beside_the_result(ksched: Ksched, write_state: WriteState) -> None:
    path = write_state(node("a"), pod("p", priority=None), {"kind": "Widget", "apiVersion": "x/v1"})
    assert ksched("schedule", "--state", path, "--quiet")[2] == ""


@pytest.mark.parametrize(
    "command",
    [
        *("schedule", "status", "drift", "shrink", "capacity", "drain a", "drain --each node"),
        *("explain p", "explain", "capacity p", "compare --vs --change 'cordon a'"),
    ],
)
def test_rows_are_the_same_as_csv_and_as_typed_parquet(
    command: str,
    write_state: WriteState,
    exit_code: ExitCode,
    capsysbinary: pytest.CaptureFixture[bytes],
) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    path = str(write_state(node("a", cpu=2), node("b", cpu=2), pod("p", cpu=1), pod("r", node="a")))

    def output(form: str) -> bytes:
        name, *rest = shlex.split(command)
        code = exit_code(name, "--state", path, *rest, "-o", form)
        captured = capsysbinary.readouterr()
        assert code in (0, 1), captured.err
        return captured.out

    rows = [*csv.DictReader(io.StringIO(output("csv").decode()))]
    table = parquet.read_table(io.BytesIO(output("parquet")))
    assert table.num_rows == len(rows)
    for column in table.column_names:
        values = ["" if each is None else str(each) for each in table[column].to_pylist()]
        assert values == [row[column] for row in rows]


def test_parquet_has_one_type_per_column(write_state: WriteState) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    answer = Remarks(
        remarks=(
            {"count": 1, "share": 1, "name": "a", "mixed": 2, "huge": 2**70, "password": "x"},
            {"count": None, "share": 0.5, "name": None, "mixed": "b", "huge": 1},
        )
    )
    table = parquet.read_table(io.BytesIO(as_parquet(answer)))
    assert table.to_pylist() == [
        {"count": 1, "share": 1.0, "name": "a", "mixed": "2", "huge": str(2**70), "password": "x"},
        {"count": None, "share": 0.5, "name": None, "mixed": "b", "huge": "1", "password": None},
    ]


def test_an_answer_without_rows_says_so(ksched: Ksched, write_config: WriteConfig) -> None:
    code, out, err = ksched("config", "show", write_config(VALID), "-o", "csv")
    assert (code, out) == (2, "")
    assert "EffectiveConfiguration has no main list" in err
