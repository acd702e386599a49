"""Runs tests on mutants of a module: run_mutants.py FOLDER COUNT MODULE.py TEST...

FOLDER has cosmic-ray. Whatever does not import the module is imported once. Each mutant is a fork
that imports the rest, with the mutant in place of the module, and runs the tests until one fails.
"""

import ast
import difflib
import importlib.util
import json
import os
import random
import resource
import select
import signal
import sys
import time
from contextlib import suppress
from importlib.machinery import ModuleSpec, SourceFileLoader
from pathlib import Path
from typing import Any

import pytest

folder, count, path, *tests = sys.argv[1:]
sys.path[:] = ["", *sys.path[1:], folder]
from cosmic_ray.ast import ast_nodes, get_ast  # noqa: E402
from cosmic_ray.mutating import mutate_code  # noqa: E402
from cosmic_ray.plugins import get_operator, operator_names  # noqa: E402

original = Path(path).read_text()
ARGUMENTS = ["-q", "-x", "-p", "no:cacheprovider", "-p", "no:xdist", *tests]
MEMORY = 4 << 30  # for a mutant that never stops growing


def code_of(source: str) -> str:
    """The code without annotations, which are not evaluated."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        for field in {"annotation", "returns"} & {*node._fields}:
            setattr(node, field, None if field == "returns" else ast.Constant(None))
    return ast.dump(tree)


def mutants() -> list[str]:
    """The sources that differ from the module's in one place, each once."""
    sources: dict[str, str] = {}
    nodes = [*ast_nodes(get_ast(original))]
    makers = (get_operator(name) for name in operator_names())
    for operator in (make() for make in makers if not make.arguments()):
        for i in range(sum(1 for node in nodes for _ in operator.mutation_positions(node))):
            # As of a `*` that is no operator, or of an exception with a dotted name.
            with suppress(SyntaxError, AttributeError):
                source = mutate_code(original, operator, i)
                sources.setdefault(code_of(source), source)
    sources.pop(code_of(original), None)
    return sorted(sources.values())


class Substitute(SourceFileLoader):
    """Finds the module alone, and has `source` in its place; None: it cannot be imported."""

    source: str | None = None

    def find_spec(self, name: str, *_: Any) -> ModuleSpec | None:
        if name != self.name:
            return None
        return importlib.util.spec_from_file_location(name, path, loader=self)

    def get_code(self, fullname: str) -> Any:
        if self.source is None:
            raise ImportError(fullname)
        return compile(self.source, path, "exec")


def outcome(source: str, limit: float | None = None, imported: int | None = None) -> str:
    """Run the tests on a source of the module. imported: a file for the names of all modules"""
    child = os.fork()
    if not child:
        os.setpgid(0, 0)
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        substitute.source = source
        code: int = pytest.ExitCode.INTERNAL_ERROR
        try:
            for stream in (1, 2) if imported is None else ():
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
            code = pytest.main(ARGUMENTS)
            if imported is not None:
                os.write(imported, json.dumps([*sys.modules]).encode())
        finally:
            os._exit(code)
    has_ended = select.select([process := os.pidfd_open(child)], [], [], limit)[0]
    os.close(process)
    if not has_ended:
        os.killpg(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    return "survived" if status == 0 else "killed" if has_ended else "never ended"


# 1. The module as it is, and what can be imported without it.
substitute = Substitute(path.removesuffix(".py").replace("/", "."), path)
sys.meta_path.insert(0, substitute)
with open(os.memfd_create("imported"), "r+") as imported:
    if outcome(original, imported=imported.fileno()) != "survived":
        sys.exit("the tests fail without a mutant")
    imported.seek(0)
    for module in json.load(imported):
        with suppress(ImportError):
            importlib.import_module(module)
start = time.monotonic()
if outcome(original) != "survived":
    sys.exit("the tests fail in a second process")
limit = 10 + 5 * (time.monotonic() - start)
# 2. The mutants.
sources = mutants()
drawn = random.Random(0).sample(sources, min(int(count), len(sources)))
start, counts = time.monotonic(), {"killed": 0, "never ended": 0, "survived": 0}
for source in drawn:
    result = outcome(source, limit)
    counts[result] += 1
    if result == "survived":
        lines = original.split("\n"), source.split("\n")
        print(*[*difflib.unified_diff(*lines, n=0, lineterm="")][2:], sep="\n", flush=True)
print(f"{len(drawn)} of {len(sources)} mutants in {time.monotonic() - start:.0f} s:", end=" ")
print(", ".join(f"{number} {result}" for result, number in counts.items()))
