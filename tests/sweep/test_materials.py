"""The data that runs are made from, and their ids."""

import pickle
from pathlib import Path

import pytest

from ksched_cli.errors import UsageError
from ksched_cli.sweep.materials import CodeSource, digest, installed_versions
from ksched_cli.sweep.patches import parse_path
from ksched_cli.sweep.preparation import Settings
from tests.sweep.sweeps import STRATEGY, plan, write_state

SETTINGS = Settings(minors=("1.34",))


def test_a_digest_tells_parts_apart() -> None:
    assert digest("ab", "c") != digest("a", "bc")
    assert digest({"a": 1, "b": 2}) == digest({"b": 2, "a": 1})


def test_a_run_has_the_same_id_wherever_it_is_made(tmp_path: Path) -> None:
    materials = plan(tmp_path, changes=["cordon a"], seeds=2).materials
    again = pickle.loads(pickle.dumps(materials))
    assert materials.run(seed=1) == again.run(seed=1)


def test_whatever_may_decide_otherwise_gives_another_id(tmp_path: Path) -> None:
    fields = {"changes": [{"name": "none"}, "cordon a"]}
    materials = plan(tmp_path, SETTINGS, **fields).materials
    patch = ((parse_path(STRATEGY), "MostAllocated"),)
    ids = {
        materials.run().id,
        materials.run(seed=0).id,
        materials.run(seed=1).id,
        materials.run(changes=1).id,
        materials.run(minor="1.36").id,
        materials.run(patches=patch).id,
    }
    assert len(ids) == 6
    without_workloads = Settings(minors=("1.34",), workloads=False)
    assert plan(tmp_path, without_workloads, **fields).materials.run().id not in ids
    assert plan(tmp_path, SETTINGS, noRetries=True, **fields).materials.run().id not in ids
    write_state(tmp_path / "cluster.json", {"kind": "Node", "metadata": {"name": "z"}})
    smaller = plan(tmp_path, SETTINGS, states=["cluster.json"])
    assert smaller.materials.run().id not in ids


def test_names_do_not_change_an_id(tmp_path: Path) -> None:
    first = plan(tmp_path, changes=[{"name": "x", "changes": ["cordon a"]}]).materials.run()
    assert plan(tmp_path, changes=["cordon a"]).materials.run().id == first.id


def test_what_a_change_reads_from_a_file_counts(tmp_path: Path) -> None:
    manifest = "apiVersion: v1\nkind: Namespace\nmetadata: {name: %s}\n"
    ids = set()
    for name in ("first", "second"):
        (tmp_path / "it.yaml").write_text(manifest % name)
        ids.add(plan(tmp_path, changes=["apply -f it.yaml"]).materials.run().id)
    assert len(ids) == 2


def test_code_of_a_file_that_is_elsewhere_is_written_down(tmp_path: Path) -> None:
    path = tmp_path / "p.py"
    path.write_text("first = 1\n")
    source = CodeSource.of(f"{path}:P")
    assert source.here() == f"{path}:P"
    path.write_text("second = 2\n")
    copy = source.here()
    assert copy != f"{path}:P"
    assert Path(copy.removesuffix(":P")).read_text() == "first = 1\n"
    assert CodeSource.of(f"{path}:P").digest != source.digest


def test_code_of_a_module_counts_by_its_text_and_content() -> None:
    source = CodeSource.of("json.decoder:JSONDecoder")
    assert (source.here(), source.name) == ("json.decoder:JSONDecoder", "JSONDecoder")
    assert b"class JSONDecoder" in source.content


def test_a_file_that_is_missing_is_named() -> None:
    with pytest.raises(UsageError, match=r"missing\.py:P: No such file"):
        CodeSource.of("missing.py:P")


def test_versions_name_ksched() -> None:
    assert "ksched" in installed_versions()
