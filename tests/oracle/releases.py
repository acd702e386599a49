#!/usr/bin/env python3
"""Writes ksched_cli/kube/gates-MINOR.json anew: every minor's feature gates, as in upstream.

    releases.py

The gates of a minor are what its own release says: upstream rewrites the history of a gate in later
ones. `schedules` marks the gates that the scheduler's own code mentions.
"""

from __future__ import annotations

import json
import re
import subprocess
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
# Further patch releases of a minor, and the first patch from which on the minor's scheduler is as
# theirs: what differs between two patches came with that one.
PATCHES = {"1.34.4": ("go-1.34.4.mod", 2)}
RELEASES = {**MODULES, **{patch: module for patch, (module, _) in PATCHES.items()}}
# Beside pkg/scheduler itself: what it decides with.
FOLDERS = ("pkg/scheduler", "cmd/kube-scheduler")


def go(module: str, *arguments: str) -> str:
    """What a command of Go prints, under the module file of a minor."""
    command, *rest = arguments
    flags = [f"-modfile={module}", "-mod=mod"]
    return subprocess.run(
        ["go", command, *flags, *rest], cwd=HERE, check=True, stdout=subprocess.PIPE, text=True
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


def with_patches(minor: str, entry: dict[str, Any]) -> dict[str, Any]:
    """The gates of a minor, with what its patch releases have changed. A gate that is new has
    `since`, one that is another `patches`."""
    gates = dict(entry["gates"])
    for patch, (module, first) in PATCHES.items():
        if patch.rpartition(".")[0] != minor:
            continue
        for name, gate in release(module)["gates"].items():
            before = gates.get(name)
            if before is None:
                gates[name] = {**gate, "since": first}
            elif changes := {key: gate[key] for key in gate if gate[key] != before.get(key)}:
                gates[name] = {**before, "patches": {str(first): changes}}
    return {**entry, "gates": dict(sorted(gates.items()))}


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
