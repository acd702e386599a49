#!/usr/bin/env python3
"""What a release of Kubernetes that ksched does not know changes.

    new_minor.py [1.NN.P] [--diff FOLDER]

For a new minor, or a new patch of one; without a version, for the newest tag of a minor after those
that are known, pre-releases included. Prints upstream's source files that changed, those that
ksched implements first; writes the module file and the feature gates; builds the oracle; asks it
for every case of tests/conformance, and prints what it decides otherwise than the newest minor that
is known (or the same minor's patch before), grouped by the first difference. Exit status 1 where
the oracle does not compile: the errors say what upstream moved.
"""

from __future__ import annotations

import argparse
import difflib
import json
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import releases
from cases import OLDEST, differs, expected_file, families
from releases import HERE, MODULES, OUT, staging_version

from oracle import Oracle, UnavailableError, binary, build

CONFORMANCE = HERE.parent / "conformance"
SOURCES = HERE.parent.parent / "ksched_cli"
# The folders whose rules ksched implements, by module.
FOLDERS = {
    "kubernetes": ("pkg/scheduler", "pkg/apis/core/v1/helper"),
    "dynamic-resource-allocation": ("structured", "cel", "resourceclaim", "resourceslice"),
    "component-helpers": ("resource", "scheduling", "storage", "nodedeclaredfeatures"),
    "kube-scheduler": ("config", "framework", "extender"),
}
# What a release requires and the module proxy does not have → what it does have.
UNPUBLISHED = {"sigs.k8s.io/structured-merge-diff/v7": "v7.0.0"}  # v1.38.0-beta.0 requires v7.0.1
UNREAD = re.compile(r"_test\.go$|/testing/|/zz_generated|/metrics/|\.pb\.go$")


def go(*arguments: str, module: Path | None = None) -> str:
    """module: the file whose Go is needed; without it the newest that any module file needs"""
    return subprocess.run(
        ["go", *arguments],
        cwd=HERE,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
        env=releases.environment(module or HERE / list(MODULES.values())[-1]),
    ).stdout


def later_tag(tags: list[str], minor: str) -> str:
    """The newest of the tags whose minor is later, or "". tags: oldest first, as Go lists them"""
    later = [tag for tag in tags if _minor_numbers(tag) > _minor_numbers(minor)]
    return later[-1] if later else ""


def _minor_numbers(version: str) -> list[int]:
    return [int(number) for number in version.removeprefix("v").split(".")[:2]]


def module_folder(module: str, version: str) -> Path:
    """A module's sources in Go's cache, downloaded where they are not there."""
    return Path(json.loads(go("mod", "download", "-json", f"{module}@{version}"))["Dir"])


def is_published(module: str, version: str) -> bool:
    """Whether the module proxy has it."""
    try:
        module_folder(module, version)
    except subprocess.CalledProcessError:
        return False
    return True


def _go_line(module_file: str) -> str:
    match = re.search(r"^go .*", module_file, re.MULTILINE)
    assert match is not None, "every module file of upstream's names its Go"
    return match[0]


def write_module_file(minor: str, version: str, previous: str) -> Path:
    """A copy of the newest minor's (or of its own, for a patch) at the version, with upstream's Go
    and every staging module that upstream's has; the proxy may lack those for tests only."""
    file = HERE / f"go-{minor}.mod"
    source = HERE / MODULES[previous]
    before = releases.version_of(source)
    text = source.read_text().replace(before, version)
    text = text.replace(staging_version(before), staging_version(version))
    upstream = (module_folder("k8s.io/kubernetes", version) / "go.mod").read_text()
    staging = re.findall(r"^\s*(k8s\.io/\S+) => \./staging", upstream, re.MULTILINE)
    head = re.sub(
        r"^go .*", _go_line(upstream), text[: text.index("replace (")], flags=re.MULTILINE
    )
    published = {name: is_published(name, staging_version(version)) for name in sorted(staging)}
    lines = [
        f"\t{name} => {name} {staging_version(version)}\n" for name in staging if published[name]
    ]
    lines += [f"\t{name} => {name} {at}\n" for name, at in UNPUBLISHED.items() if name in upstream]
    tail = "".join(f"exclude {name} v0.0.0\n" for name in staging if not published[name])
    file.write_text(f"{head}replace (\n{''.join(sorted(lines))})\n{tail}")
    sums = file.with_suffix(".sum")
    if not sums.exists():
        sums.write_text(source.with_suffix(".sum").read_text())
    # Other minors' sources import what this one may not have: -e goes on.
    go("mod", "tidy", "-e", f"-modfile={file.name}", module=file)
    return file


# -- gates ----------------------------------------------------------------------------------------


def gate_changes(minor: str, previous: str) -> list[str]:
    """The scheduler's gates: what came, went or changed."""
    before, after = (
        {
            name: gate
            for name, gate in json.loads((OUT / f"gates-{each}.json").read_bytes())["gates"].items()
            if gate.get("schedules")
        }
        for each in (previous, minor)
    )
    return [
        f"{name}: {_gate_text(before.get(name))} → {_gate_text(after.get(name))}"
        for name in sorted(before | after)
        if before.get(name) != after.get(name)
    ]


def _gate_text(gate: dict[str, object] | None) -> str:
    if gate is None:
        return "none"
    stage = str(gate["stage"] or "GA").lower()
    return f"{stage} {'on' if gate['default'] else 'off'}{' locked' if gate.get('locked') else ''}"


# -- decisions ------------------------------------------------------------------------------------


def decided_otherwise(minor: str, previous: str) -> dict[str, list[str]]:
    """Per kind of first difference, the cases that have it."""
    groups: dict[str, list[str]] = defaultdict(list)
    with Oracle(minor) as oracle:
        for family, cases in families(CONFORMANCE, []).items():
            for case in cases:
                if family == "extenders" or not expected_file(case.folder, previous).exists():
                    continue
                answer = oracle.ask(case)
                if "result" not in answer:
                    groups[f"refused: {answer['error'].splitlines()[0]}"].append(case.folder.name)
                    continue
                difference = differs(case.expected(previous), answer["result"], case.is_config)
                if difference:
                    groups[_kind(difference)].append(f"{family}/{case.folder.name}")
    return groups


def _kind(difference: str) -> str:
    """A difference without what is of one case only: indices, names of pods and nodes, numbers."""
    path, _, values = difference.partition(": ")
    path = re.sub(r"\[\d+\]|\([^)]*\)", "", path)
    path = re.sub(r"\.(n|m)\d+\b", ".NODE", path)
    values = re.sub(r"\d+", "0", values)
    return f"{path}: {values[:100]}" if path.endswith(("message", "error")) else path


# -- sources --------------------------------------------------------------------------------------


def implemented_files() -> dict[str, list[str]]:
    """The end of an upstream file's path, as docstrings cite it → the modules that do."""
    cited: dict[str, list[str]] = defaultdict(list)
    for module in sorted(SOURCES.rglob("*.py")):
        text = module.read_text()
        name = str(module.relative_to(SOURCES.parent))
        for start, several, single in re.findall(
            r"([\w./-]*/)?(?:\{([\w., ]+)\}\.go|([\w-]+\.go))", text
        ):
            for file in (
                [f"{each.strip()}.go" for each in several.split(",")] if several else [single]
            ):
                cited[f"{start.lstrip('/')}{file}"].append(name)
    return cited


def changed_files(version: str, before: str) -> Iterator[tuple[str, int, list[str]]]:
    """Upstream's files that changed: path, lines added and removed, and the diff."""
    for module, folders in FOLDERS.items():
        is_main = module == "kubernetes"
        old, new = (
            module_folder(f"k8s.io/{module}", each if is_main else staging_version(each))
            for each in (before, version)
        )
        paths = {
            str(file.relative_to(root))
            for root in (old, new)
            for folder in folders
            for file in (root / folder).rglob("*.go")
        }
        for path in sorted(paths):
            if UNREAD.search(path):
                continue
            before_lines, after_lines = (
                (root / path).read_text().splitlines() if (root / path).exists() else []
                for root in (old, new)
            )
            names = (f"a/{path}", f"b/{path}")
            diff = list(difflib.unified_diff(before_lines, after_lines, *names, lineterm=""))
            count = sum(line[:1] in "+-" for line in diff) - 2
            if count > 0:
                yield f"{module}/{path}", count, diff


def show_sources(version: str, before: str, folder: Path | None) -> None:
    cited = implemented_files()
    rows = []
    for path, count, diff in changed_files(version, before):
        users = sorted(
            {u for end, names in cited.items() if path.endswith(f"/{end}") for u in names}
        )
        rows.append((not users, -count, path, users))
        if folder is not None:
            file = folder / f"{path.replace('/', '_')}.diff"
            file.write_text("\n".join(diff) + "\n")
    for _, count, path, users in sorted(rows):
        print(f"{-count:6d} lines  {path}{': ' + ', '.join(users[:3]) if users else ''}")


def show_gates(minor: str, version: str, previous: str) -> None:
    """Writes the module file and the gates, and prints what is new among them."""
    print("== gates of the scheduler")
    earlier = (OUT / f"gates-{previous}.json").read_bytes()
    file = write_module_file(minor, version, previous)
    MODULES[minor] = file.name
    gates = OUT / f"gates-{minor}.json"
    entry = releases.with_patches(minor, releases.release(file.name))
    gates.write_text(releases.text(entry))
    if previous == minor:
        print("some changed" if gates.read_bytes() != earlier else "none changed")
    else:
        print(*gate_changes(minor, previous) or ["none changed"], sep="\n")


def show_decisions(minor: str, previous: str) -> None:
    groups = decided_otherwise(minor, previous)
    for kind, cases in sorted(groups.items(), key=lambda item: -len(item[1])):
        print(f"{len(cases):5d} {kind} ({cases[0]})")
    print(f"{sum(map(len, groups.values()))} cases in {len(groups)} kinds")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("version", nargs="?", metavar="1.NN.P")
    parser.add_argument("--diff", type=Path, metavar="FOLDER", help="write the sources' diffs here")
    options = parser.parse_args()
    given = options.version or later_tag(
        go("list", "-m", "-versions", "k8s.io/kubernetes").split()[1:], list(MODULES)[-1]
    )
    if not given:
        print(f"nothing after {list(MODULES)[-1]}")
        return 0
    version = f"v{given.removeprefix('v')}"
    minor = ".".join(version.removeprefix("v").split(".")[:2])
    if minor == OLDEST:
        parser.error("a patch of the oldest minor is written into go.mod by hand")
    previous = minor if minor in MODULES else list(MODULES)[-1]
    before = releases.version_of(HERE / MODULES[previous])
    if options.diff is not None:
        options.diff.mkdir(parents=True, exist_ok=True)
    print(f"== {before} → {version}: sources that changed, those that ksched cites first")
    show_sources(version, before, options.diff)
    show_gates(minor, version, previous)
    print("== the oracle", flush=True)
    binary(minor).unlink(missing_ok=True)
    print(build(minor))
    print(f"== decided otherwise than by {before}", flush=True)
    show_decisions(minor, previous)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except UnavailableError as why:
        print(why, file=sys.stderr)
        sys.exit(1)
