"""What -o takes, and options that would do nothing."""

import pytest

from ksched_cli.testing import node, pod
from tests.commands.runners import Ksched, WriteConfig, WriteState


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["-o", "xml"],
            "-o of ksched schedule takes one of table, json, yaml, html, markdown, latex, wide, "
            'name; not "xml"',
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
    forms = "table, json, yaml, html, markdown, latex, sarif, github, junit"
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
