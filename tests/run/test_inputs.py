"""What Runs are made from: digests of it, and copies where the files are not."""

from pathlib import Path

import pytest

from ksched_cli.errors import UsageError
from ksched_cli.run.inputs import CodeSource, Inputs, digest, installed_versions


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
    assert CodeSource.of(f"{path}:P").content != source.content


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


def test_versions_name_ksched() -> None:
    assert "ksched" in installed_versions()
