#!/usr/bin/env python3
"""Writes ksched_cli/kube/gates-MINOR.json anew: every minor's feature gates, as in upstream.

    releases.py

The gates of a minor are what its own release says: upstream rewrites the history of a gate in later
ones. `schedules` marks the gates that the scheduler's own code mentions.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
OUT = HERE.parent.parent / "ksched_cli" / "kube"
# Oldest first; go.mod, which go commands take without -modfile, is the oldest minor's.
MODULES = {
    "1.34": "go.mod",
    **{
        file.stem.removeprefix("go-"): file.name
        for file in sorted(HERE.glob("go-1.*.mod"), key=lambda file: (len(file.name), file.name))
        if file.stem.count(".") == 1
    },
}
# Further patch releases that have an oracle, and the families that they may decide otherwise than
# the release of MODULES: fuzz.py tries no others by default.
PATCHES = {
    "1.34.4": ("taints", "preempt", "nominated", "everything", "replay"),
    "1.35.8": ("claims", "extended_resources", "gated", "replay"),
    "1.36.1": ("claims", "devices", "device_pools", "extended_resources", "replay"),
    "1.36.4": ("devices", "device_pools", "gated", "replay", "replay_groups"),
}
RELEASES = {**MODULES, **{patch: f"go-{patch}.mod" for patch in PATCHES}}
# Patch releases that changed gates, oldest first. The oldest ones differ from no release before.
GATE_CHANGES = {
    "1.34": ("1.34.1", "1.34.2"),
    "1.35": ("1.35.0", "1.35.1", "1.35.4"),
}
# Beside pkg/scheduler itself: what it decides with.
FOLDERS = ("pkg/scheduler", "cmd/kube-scheduler")


def environment(module: Path) -> dict[str, str]:
    """The environment of Go's commands, which fetch the Go that a module file names where that is
    newer than the installed one: they do so by themselves for go.mod only."""
    match = re.search(r"^go (\d+)\.(\d+)(.*)", module.read_text(), re.MULTILINE)
    if match is None:
        raise ValueError(f"{module.name} does not name a version of Go")
    installed = subprocess.run(
        ["go", "env", "GOVERSION"], check=True, stdout=subprocess.PIPE, text=True
    ).stdout
    has = tuple(int(number) for number in re.findall(r"\d+", installed)[:2])
    if has >= (int(match[1]), int(match[2])):
        return dict(os.environ)
    return {**os.environ, "GOTOOLCHAIN": f"go{match[1]}.{match[2]}{match[3]}"}


def go(module: str, *arguments: str) -> str:
    """What a command of Go prints, under the module file of a minor."""
    command, *rest = arguments
    flags = [f"-modfile={module}", "-mod=mod"]
    return subprocess.run(
        ["go", command, *flags, *rest],
        cwd=HERE,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
        env=environment(HERE / module),
    ).stdout


def mentioned_gates(source: Path) -> set[str]:
    """The names after `features.` in the scheduler's sources, without its tests."""
    texts = (
        file.read_text()
        for folder in FOLDERS
        for file in (source / folder).rglob("*.go")
        if not file.name.endswith("_test.go")
    )
    return {name for text in texts for name in re.findall(r"features\.([A-Z]\w+)", text)}


def module_at(version: str, folder: Path) -> str:
    """A copy, in the folder, of the minor's module file at another patch release. Go adds the sums
    of Kubernetes's own modules."""
    file = HERE / MODULES[version.rpartition(".")[0]]
    before = version_of(file)
    text = file.read_text().replace(before, f"v{version}")
    copy = folder / f"go-{version}.mod"
    copy.write_text(text.replace(staging_version(before), staging_version(f"v{version}")))
    sums = file.with_suffix(".sum").read_text().splitlines(keepends=True)
    others = (line for line in sums if f" {staging_version(before)}" not in line)
    copy.with_suffix(".sum").write_text("".join(line for line in others if before not in line))
    return str(copy)


def release(module: str) -> dict[str, Any]:
    gates = json.loads(go(module, "run", "./gates"))
    version, folder = go(
        module, "list", "-m", "-f", "{{.Version}} {{.Dir}}", "k8s.io/kubernetes"
    ).split()
    mentioned = mentioned_gates(Path(folder))
    for name, gate in gates.items():
        if name in mentioned:
            gate["schedules"] = True
    return {"version": version, "gates": gates}


def gates_of(version: str) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        gates: dict[str, Any] = release(module_at(version, Path(folder)))["gates"]
    return gates


def with_patches(minor: str, entry: dict[str, Any]) -> dict[str, Any]:
    """The gates of a minor's first release, with what its patch releases have changed. A gate that
    is new has `since`, one that is another `patches`."""
    first, *later = GATE_CHANGES.get(minor, (version_of(HERE / MODULES[minor]),))
    if not later:
        return entry
    before = gates_of(first)
    gates = dict(before)
    for version in later:
        after, patch = gates_of(version), int(version.rpartition(".")[2])
        for name, gate in after.items():
            if name not in before:
                gates[name] = {**gate, "since": patch}
            elif changes := {key: gate[key] for key in gate if gate[key] != before[name].get(key)}:
                patches = gates[name].get("patches", {})
                gates[name] = {**gates[name], "patches": {**patches, str(patch): changes}}
        before = after
    return {**entry, "gates": dict(sorted(gates.items()))}


def staging_version(version: str) -> str:
    """ "v1.38.0" → "v0.38.0", of the modules released the same day."""
    return version.replace("v1.", "v0.", 1)


def version_of(module: Path) -> str:
    """The Kubernetes version that a module file names."""
    match = re.search(r"k8s\.io/kubernetes (v\S+)", module.read_text())
    if match is None:
        raise ValueError(f"{module.name} does not name a version of k8s.io/kubernetes")
    return match[1]


def text(entry: dict[str, Any]) -> str:
    """JSON, a gate a line."""
    gates = ",\n".join(
        f"  {json.dumps(name)}: {json.dumps(gate)}" for name, gate in entry["gates"].items()
    )
    return f'{{"version": {json.dumps(entry["version"])}, "gates": {{\n{gates}}}}}\n'


if __name__ == "__main__":
    for minor, module in MODULES.items():
        entry = with_patches(minor, release(module))
        (OUT / f"gates-{minor}.json").write_text(text(entry))
