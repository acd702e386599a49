"""Reading a sweep's parts, and what is wrong with them."""

from pathlib import Path
from typing import Any

import pytest

from ksched_cli.errors import KschedError
from ksched_cli.sweep.preparation import Settings, plan_of
from tests.sweep.sweeps import OBJECTS, STRATEGY, WEIGHT, plan, sweep_file, write_state

SETTINGS = Settings(minors=("1.34",))


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"states": ["missing.json"]}, "missing.json: there is no such file"),
        ({"changes": ["drain z"]}, 'no node "z" in the state'),
        ({"configurations": ["missing.yaml"]}, "missing.yaml: there is no such file"),
        ({"patches": [{"path": STRATEGY, "values": ["Fullest"]}]}, "Fullest"),
        ({"patches": [{"path": "profiles.x", "values": [1]}]}, None),
        ({"patches": [{"path": "profile", "values": [1]}]}, 'unknown key "profile"'),
        ({"patches": [{"path": f"{WEIGHT}.x", "values": [1]}]}, "weight"),
        ({"kubernetesVersions": ["1.20"]}, "--kubernetes-version takes"),
        ({"plugins": ["missing.py"]}, "missing.py: No such file"),
    ],
)
def test_whatever_is_wrong_is_an_error_before_the_first_run(
    fields: dict[str, Any], problem: str | None, tmp_path: Path
) -> None:
    with pytest.raises(KschedError, match=problem):
        plan_of(sweep_file(tmp_path, **fields), SETTINGS)


def test_a_metric_that_is_not_there_is_an_error_too(tmp_path: Path) -> None:
    with pytest.raises(KschedError, match="there is no function missing"):
        plan(tmp_path, Settings(metrics=("json:missing",)))


def test_versions_of_the_file_go_before_those_of_the_options(tmp_path: Path) -> None:
    assert plan(tmp_path, SETTINGS).minors == ("1.34",)
    assert plan(tmp_path, SETTINGS, kubernetesVersions=["1.35", "1.36"]).minors == ("1.35", "1.36")
    assert plan(tmp_path, Settings()).minors == ("",)


def test_plugins_of_the_options_are_in_every_set(tmp_path: Path) -> None:
    for name in ("P", "Q"):
        (tmp_path / f"{name}.py").write_text(
            "from ksched_cli.api import SUCCESS, FilterPlugin\n"
            f"class {name}(FilterPlugin):\n"
            f"    name = '{name}'\n"
            "    def filter(self, state, pod, node):\n"
            "        return SUCCESS\n"
        )
    settings = Settings((f"{tmp_path}/P.py",), minors=("1.34",))
    texts = plan(tmp_path, settings, plugins=[[], "Q.py"]).plugin_texts
    assert texts == ((f"{tmp_path}/P.py",), (f"{tmp_path}/Q.py", f"{tmp_path}/P.py"))


def test_warnings_are_those_of_the_states_and_files(tmp_path: Path) -> None:
    folder = tmp_path / "dump"
    folder.mkdir()
    lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "l"}}
    write_state(folder / "state.json", *OBJECTS, lease)
    (folder / "notes.yaml").write_text("hello: there\n")
    (folder / "log.txt").write_text("x")
    file = sweep_file(tmp_path, states=["dump"])
    _, prepared = plan_of(file, SETTINGS)
    (line,) = [line for line in prepared.warnings if "passed over" in line]
    assert "skipped what no plugin reads: 1 Lease" in prepared.warnings
    assert "notes.yaml" in line
    assert "log.txt" in line
    assert prepared.release.version == "v1.34.1"
    assert len(prepared.configurations) == 1
