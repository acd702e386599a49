"""What Runs are made from: digests of it, and copies where the files are not."""

import json
import pickle
import sys
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import Any

import pytest

from ksched_cli import __version__
from ksched_cli.errors import UsageError
from ksched_cli.framework.hookspecs import PROJECT
from ksched_cli.run.inputs import CodeSource, Inputs, digest, installed_versions
from ksched_cli.run.open import Opener
from ksched_cli.run.run import ChangeSource, Run
from tests.run.runs import write_files

PRICES: dict[str, Any] = {
    "apiVersion": "ksched/v1",
    "kind": "Prices",
    "prices": [{"node": "*", "price": 1}],
}


def test_a_digest_tells_parts_apart() -> None:
    assert digest("ab", "c") != digest("a", "bc")
    assert digest({"a": 1, "b": 2}) == digest({"b": 2, "a": 1})


def test_what_is_digested_is_digested_once() -> None:
    inputs, contents = Inputs(), iter("ab")
    assert [inputs.digested(b"key", lambda: next(contents)) for _ in range(2)] == ["a", "a"]


def test_code_of_a_file_that_is_elsewhere_is_written_down(tmp_path: Path) -> None:
    path = tmp_path / "p.py"
    path.write_text("first = 1\n")
    source = CodeSource.of(f"{path}:P")
    assert source.here() == f"{path}:P"
    path.write_text("second = 2\n")
    copy = source.here()
    assert copy != f"{path}:P"
    assert Path(copy.removesuffix(":P")).read_text() == "first = 1\n"
    assert Path(copy).name == "p.py:P"
    assert CodeSource.of(f"{path}:P").content != source.content


def test_a_file_keeps_the_name_that_it_has_in_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "p.py").touch()
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    source = CodeSource.of("p.py")
    assert source.here() == "p.py"
    monkeypatch.chdir("elsewhere")
    assert source.here() == str(tmp_path / "p.py")


def test_a_file_is_read_where_it_is_until_it_changes(tmp_path: Path) -> None:
    path = tmp_path / "week.json"
    path.write_text("first")
    inputs = Inputs()
    assert inputs.file(str(path)).content == b"first"
    assert inputs.path_here(str(path)) == str(path)
    later = Inputs()
    assert later.file(str(path)).content == b"first"
    path.write_text("second")
    copy = Path(later.path_here(str(path)))
    assert (copy.name, copy.read_text()) == ("week.json", "first")


def test_standard_input_is_kept_as_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", TextIOWrapper(BytesIO(b"events: []")))
    inputs = Inputs()
    paths = {inputs.path_here("-") for _ in range(2)}
    assert [Path(path).read_text() for path in paths] == ["events: []"]


def test_a_state_that_is_kept_is_read_once(tmp_path: Path) -> None:
    write_files(tmp_path)
    states = (str(tmp_path / "cluster.json"),)
    inputs = Inputs(keeps_states=True)
    nodes = inputs.load(states, frozenset()).nodes
    (tmp_path / "cluster.json").unlink()
    assert inputs.load(states, frozenset()).nodes == nodes


def test_runs_are_opened_where_their_files_are_missing(tmp_path: Path) -> None:
    folder = tmp_path / "here"
    folder.mkdir()
    write_files(folder)
    (folder / "prices.json").write_text(json.dumps(PRICES))
    run = Run(
        states=(str(folder / "cluster.json"),),
        changes=(ChangeSource(scenario=str(folder / "scenario.yaml")),),
        configuration=str(folder / "packing.yaml"),
        plugins=(str(folder / "last.py"),),
        timeline=str(folder / "week.json"),
        autoscaler=str(folder / "groups.json"),
        prices=(str(folder / "prices.json"),),
    )
    inputs = Inputs()
    inputs.read([run])
    sent = pickle.dumps(inputs)
    placements = Opener([run]).simulation(run).run().placements
    folder.rename(tmp_path / "there")
    elsewhere = pickle.loads(sent)  # written three lines above
    assert Opener([run], elsewhere).simulation(run).run().placements == placements


def test_code_of_a_module_counts_by_its_text_and_content() -> None:
    source = CodeSource.of("json.decoder:JSONDecoder")
    assert source.here() == "json.decoder:JSONDecoder"
    assert b"class JSONDecoder" in source.content


def test_code_of_a_module_counts_without_an_import_of_its_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "unimported" / "inner"
    package.mkdir(parents=True)
    for folder in (package.parent, package):
        (folder / "__init__.py").write_text("raise AssertionError('imported')\n")
    (package / "plugin.py").write_text("class P: pass\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert CodeSource.of("unimported.inner.plugin:P").content == b"class P: pass\n"
    assert CodeSource.of("unimported.inner.missing:P").content == b""
    assert CodeSource.of("missing.plugin:P").content == b""


def test_a_file_that_is_missing_is_named() -> None:
    with pytest.raises(UsageError, match=r"missing\.py:P: No such file"):
        CodeSource.of("missing.py:P")


def test_versions_name_ksched_and_the_distributions_of_plugins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    information = tmp_path / "my_plugins-1.2.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: my-plugins\nVersion: 1.2\n")
    (information / "entry_points.txt").write_text(f"[{PROJECT}]\nmine = my_plugins\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert {"ksched": __version__, "my-plugins": "1.2"}.items() <= installed_versions().items()
