"""The code in the docs is what lies in the files it names, and runs."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from pathlib import Path

import pytest
from typer.testing import CliRunner

from ksched_cli import api
from ksched_cli.cluster.loading.kinds import DUMP_COMMAND
from ksched_cli.commands.main import application

ROOT = Path(__file__).parent.parent
DOCS = sorted((ROOT / "docs").glob("*.md"))
BLOCK = re.compile(r"^<!-- (?P<mark>[^\n]*) -->\n```\w*\n(?P<code>.+?)\n```$", re.M | re.S)
BLOCKS = [
    (f"{path.stem}: {number}: {block['mark']}", block["mark"], block["code"])
    for path in DOCS
    for number, block in enumerate(BLOCK.finditer(path.read_text(encoding="utf-8")), 1)
]
FILES = [pytest.param(mark[6:], code, id=name) for name, mark, code in BLOCKS if mark[:4] == "file"]
RUN = [pytest.param(code, id=name) for name, mark, code in BLOCKS if mark == "run"]


@pytest.mark.parametrize(("file", "code"), FILES)
def test_a_file_is_shown_as_it_is(file: str, code: str) -> None:
    assert (ROOT / file).read_text(encoding="utf-8").rstrip() == code


@pytest.mark.parametrize("code", RUN)
def test_code_runs_as_it_stands(code: str) -> None:
    exec(compile(code, "the docs", "exec"), {"__name__": "docs"})


# Pages whose indented commands are a walk: each may need the files of those before it.
WALKS = ("planning.md", pytest.param("research.md", marks=pytest.mark.slow))


@pytest.mark.parametrize("page", WALKS)
def test_a_walk_runs_from_its_first_command_to_its_last(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    commands = re.findall(r"^    (ksched(?:-referee)? .+)$", re.sub(r" *\\\n *", " ", text), re.M)
    assert len(commands) > 7
    for folder in ("examples", "plugins"):
        (tmp_path / folder).symlink_to(ROOT / folder)
    monkeypatch.chdir(tmp_path)
    for command in commands:
        program, *arguments = shlex.split(command)
        if program == "ksched":
            run = CliRunner().invoke(application(arguments[:1]), arguments)
        else:
            referee = pytest.importorskip(
                "ksched_referee.command_line", reason="a distribution; .ci/plugins installs it"
            )
            run = CliRunner().invoke(referee.app, arguments)
        assert run.exit_code in (0, 1), f"{command}: {run.output}"
        assert run.stdout or "--to" in arguments, command


def test_there_is_code_of_both_kinds() -> None:
    assert FILES
    assert RUN


@pytest.mark.parametrize("page", DOCS, ids=lambda path: path.stem)
def test_a_page_says_a_thing_under_one_heading(page: Path) -> None:
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    headings = Counter(re.findall(r"^##+ .+$", text, re.M))
    assert [heading for heading, count in headings.items() if count > 1] == []


def test_the_template_passes_its_own_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    template = ROOT / "plugins" / "template"
    monkeypatch.syspath_prepend(str(template))
    space: dict[str, object] = {}
    exec((template / "test_packing.py").read_text(encoding="utf-8"), space)
    tests = [value for name, value in space.items() if name.startswith("test_")]
    assert tests
    for test in tests:
        assert callable(test)
        test()


def test_the_page_names_every_extension_point() -> None:
    page = (ROOT / "docs" / "writing-a-plugin.md").read_text(encoding="utf-8")
    plugins = [name for name in api.__all__ if name.endswith("Plugin") and name != "Plugin"]
    assert [name for name in plugins if f"`{name}`" not in page] == []


@pytest.mark.parametrize("page", ["README.md", "docs/first-pending-pod.md", "docs/get-the-data.md"])
def test_the_command_that_dumps_a_cluster_reads_every_kind_of_the_plugins(page: str) -> None:
    text = re.sub(r"\\\n *", "", (ROOT / page).read_text())
    assert DUMP_COMMAND in text
