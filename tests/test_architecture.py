"""What holds of all of the code: its picture of imports is up to date, its names are nouns, each
module has a test file of its own."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

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


def assigned_names(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """The names that a module gives, and their lines: functions, classes, parameters, variables,
    attributes, aliases."""
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield name, node.lineno
            case ast.ClassDef(name=name):
                yield name, node.lineno
            case ast.arg(arg=name):
                yield name, node.lineno
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                yield name, node.lineno
            case ast.ExceptHandler(name=str(name)):
                yield name, node.lineno
            case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                yield name, node.lineno
            case ast.alias(asname=str(name)):
                yield name, node.lineno


def parts_of(name: str) -> set[str]:
    """`oneNode`, `one_node` and `_ONE` all have the part "one"."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)
    return set(spaced.lower().split("_"))


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


# Modules without a test file of their name, and why: a module with behaviour of its own has one.
UNTESTED = {
    "__main__.py": "runs main; the tests of commands start it as a process",
    "cluster/objects/devices.py": "types; test_base holds their fields against Kubernetes's schema",
    "cluster/objects/storage.py": "the same",
    "cluster/objects/volumes.py": "the same",
    "cluster/objects/workloads.py": "the same",
    "commands/subjects.py": "a type of what the tests of compare compare",
    "engine/replay/autoscaler/state.py": "types of what the autoscaler's tests compare",
    "engine/replay/records.py": "types of what the replay's tests compare",
    "framework/extender.py": "a protocol and an exception; DefaultPreemption's tests call it",
    "framework/hookspecs.py": "a hook's specification; test_discovery registers plugins by it",
    "framework/plugins_runner.py": "protocols; FilterRunner and Framework are tested",
    "framework/preemption.py": "types of what DefaultPreemption's tests compare",
    "plugins/dynamic_resources/candidates.py": "types of what test_allocator hands out",
    "plugins/helper/function_shape.py": "a type; the tests of the args that have it check it",
}


def modules() -> set[str]:
    """All with code, as paths in ksched_cli/. A package's `__init__` is tested with its modules."""
    package = ROOT / "ksched_cli"
    return {
        file.relative_to(package).as_posix()
        for file in package.rglob("*.py")
        if file.name != "__init__.py"
    }


def test_every_module_has_a_test_file_of_its_name_or_a_reason_for_none() -> None:
    tested = {
        module
        for module in modules()
        if (ROOT / "tests" / module).with_name(f"test_{Path(module).name}").exists()
    }
    missing = modules() - tested - UNTESTED.keys()
    assert not missing, f"write tests/…/test_NAME.py of the same folder for: {sorted(missing)}"
    obsolete = UNTESTED.keys() & tested | UNTESTED.keys() - modules()
    assert not obsolete, f"no longer to be listed in UNTESTED: {sorted(obsolete)}"
