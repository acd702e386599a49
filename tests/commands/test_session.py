"""From options to plugins, a configuration and a simulation."""

from pathlib import Path

import numpy as np
import pytest

from ksched_cli.commands import session
from ksched_cli.commands.options import StateOptions
from ksched_cli.errors import UsageError
from ksched_cli.testing import node, pod
from tests.commands.runners import Ksched, WriteConfig, WriteState


def test_ties_go_to_the_first_or_are_drawn() -> None:
    ties = np.array([3, 5, 7])
    assert session.tie_break("name", None)(ties) == 3
    assert {session.tie_break("random", seed)(ties) for seed in range(20)} == set(ties.tolist())
    draws = [session.tie_break("random", 4) for _ in range(2)]
    assert [draws[0](ties) for _ in range(9)] == [draws[1](ties) for _ in range(9)]
    with pytest.raises(UsageError, match='not "odd"'):
        session.tie_break("odd", None)


@pytest.mark.parametrize(
    ("options", "extender_bind"),
    [
        (StateOptions(record_extenders="a", replay_extenders="b"), False),
        (StateOptions(no_extenders=True, record_extenders="a"), False),
        (StateOptions(no_extenders=True), True),
        (StateOptions(replay_extenders="a"), True),
    ],
)
def test_options_about_extenders_that_contradict_are_refused(
    options: StateOptions, extender_bind: bool
) -> None:
    with pytest.raises(UsageError, match=r"^--"):
        session.open_simulation(options, extender_bind=extender_bind)


def test_the_state_and_configuration_of_the_options_are_opened(
    write_state: WriteState, write_config: WriteConfig
) -> None:
    head = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
    config = write_config(head + "profiles: [{schedulerName: batch}]\n")
    state = write_state(node("a"), pod("p"))
    run = session.open_simulation(StateOptions(state=[str(state)], config=str(config)))
    assert list(run.frameworks) == ["batch"]
    assert run.snapshot.names == ("a",)


def test_what_is_skipped_is_warned_of(
    write_state: WriteState, capsys: pytest.CaptureFixture[str]
) -> None:
    odd = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}
    session.open_simulation(StateOptions(state=[str(write_state(odd, node("a")))]))
    assert "warning: skipped what no plugin reads: 1 ConfigMap" in capsys.readouterr().err


def test_a_plugin_file_that_does_not_load_is_refused_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "broken.py"
    file.write_text("import nothing_like_this\n")
    with pytest.raises(UsageError, match=r"ModuleNotFoundError.*\n  at File .*, line 1"):
        session.usable_plugins([str(file)])


def test_a_state_that_was_not_given_is_named(
    ksched: Ksched, write_state: WriteState, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = {"kind": "Node", "metadata": {"name": "n"}}
    path = write_state(node, {"kind": "Pod", "metadata": {"name": "p"}})
    monkeypatch.chdir(path.parent)
    assert "reading cluster.json\n" in ksched("schedule")[2]
    assert "reading" not in ksched("schedule", "--state", path)[2]
    monkeypatch.setenv("KSCHED_STATE", str(path))
    assert "reading" not in ksched("schedule")[2]
