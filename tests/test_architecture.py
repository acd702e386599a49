"""What holds of all of the code: its picture of imports is up to date, its names are nouns."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parent.parent

NAMED_WELL = ("ksched_cli", "plugins", "benchmarks", "docs", "tests")
# These say nothing of what is named, alone or as a part of a name.
EMPTY_WORDS = frozenset((
    "asked", "fault", "few", "found", "kept", "known", "made", "one", "said", "spoken", "told",
    "wanted", "words",
))  # fmt: skip
ALLOWED_NAMES = {
    "EMPTY_WORDS": "these words",
    "KnownPlugin": "of the plugins that a configuration may name, as in known names",
    "KnownPlugins": "the same",
    "connection_made": "of asyncio.Protocol",
    "_WELL_KNOWN_TYPES": "CEL's and protobuf's term: well-known types",
    "_allocate_one": "upstream's allocateOne",
    "not_found_message": "of the API server's reason NotFound",
    "pick_one_node": "upstream's pickOneNodeForPreemption",
}


def test_the_picture_of_imports_is_drawn_from_the_code() -> None:
    pytest.importorskip("grimp", reason="comes with the linters")
    command = [sys.executable, "docs/draw_imports.py", "--check"]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", "docs/architecture.md"])
def test_files_that_a_page_names_are_there(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    paths = re.findall(r"`([a-z_]+(?:/[a-z_]+)*/[\w.-]+\.(?:py|json))`", text)
    assert len(paths) > 5
    roots = (ROOT, ROOT / "ksched_cli")
    assert not [path for path in paths if not any((root / path).is_file() for root in roots)]


# The nodes of a syntax tree that give a name, and the attribute that has it.
NAMING: dict[type[ast.AST], str] = {
    ast.FunctionDef: "name",
    ast.AsyncFunctionDef: "name",
    ast.ClassDef: "name",
    ast.arg: "arg",
    ast.Name: "id",
    ast.Attribute: "attr",
    ast.ExceptHandler: "name",
    ast.MatchAs: "name",
    ast.MatchStar: "name",
    ast.alias: "asname",
}


def assigned_names(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """The names that a module gives, and their lines: functions, classes, parameters, variables,
    attributes, aliases."""
    for node in ast.walk(tree):
        attribute = NAMING.get(type(node))
        if attribute is None or isinstance(getattr(node, "ctx", None), ast.Load | ast.Del):
            continue
        name = getattr(node, attribute)
        if name is not None:
            yield name, getattr(node, "lineno", 0)


@cache
def parts_of(name: str) -> frozenset[str]:
    """`oneNode`, `one_node` and `_ONE` all have the part "one"."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)
    return frozenset(spaced.lower().split("_"))


def empty_names(source: str) -> list[tuple[str, int]]:
    return [
        (name, line)
        for name, line in assigned_names(ast.parse(source))
        if parts_of(name) & EMPTY_WORDS and name not in ALLOWED_NAMES
    ]


@pytest.mark.parametrize("folder", NAMED_WELL)
def test_names_say_what_they_name(folder: str) -> None:
    """A test is named by a sentence, which may have any word."""
    files = sorted((ROOT / folder).rglob("*.py"))
    hits = [
        f"{file.relative_to(ROOT)}:{line}: {name}"
        for file in files
        for name, line in empty_names(file.read_text())
        if not name.startswith("test_")
    ]
    assert not hits, "a noun says what the thing is (CONTRIBUTING.md): " + ", ".join(hits)


@pytest.mark.parametrize(
    "source",
    [
        "found = 1",
        "def told(): pass",
        "def f(*, wanted_nodes): pass",
        "self.known = 1",
        "class OneNode: pass",
        "[x for one in y]",
        "import a as said",
        "MAX_FEW = 1",
        "try: pass\nexcept E as fault: pass",
        "match x:\n case [kept]: pass",
    ],
)
def test_a_name_that_says_nothing_is_noticed(source: str) -> None:
    assert empty_names(source)


def test_parts_of_other_terms_are_no_empty_names() -> None:
    assert not empty_names("unknown = foundation = acknowledged = None")


@pytest.mark.parametrize("folder", ["ksched_cli", "plugins"])
def test_a_finding_of_bandit_is_passed_over_with_its_number_and_a_reason(folder: str) -> None:
    lines = [
        f"{file.relative_to(ROOT)}: {line.strip()}"
        for file in sorted((ROOT / folder).rglob("*.py"))
        for line in file.read_text().splitlines()
        if re.search(r"#\s*nosec\b", line)
        and not re.search(r"# nosec B\d{3}(, B\d{3})*  # \S", line)
    ]
    assert not lines, "write `# nosec B123  # why`: " + ", ".join(lines)


# Methods that only plugins and the one module that calls them have.
PLUGIN_METHODS = frozenset((
    "compared_requests", "filter_nodes", "generate_placements", "normalize_scores",
    "placement_feasible", "pod_group_post_filter", "preempt_for_group", "row_scorer", "score_nodes",
    "score_placement", "sign_pod",
))  # fmt: skip
CALLS_PLUGINS = ("framework/caller.py", "framework/interface.py", "framework/in_tree_interface.py")


@pytest.mark.parametrize("room", ["framework", "engine", "analysis", "run", "scenario"])
def test_one_module_calls_plugins(room: str) -> None:
    package = ROOT / "ksched_cli"
    calls = [
        f"{file.relative_to(ROOT)}:{node.lineno}: {ast.unparse(node.func)}"
        for file in sorted((package / room).rglob("*.py"))
        if str(file.relative_to(package)) not in CALLS_PLUGINS
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in PLUGIN_METHODS
        and not ast.unparse(node.func.value).endswith("caller")
    ]
    assert not calls, "PluginCaller calls plugins: " + ", ".join(calls)
