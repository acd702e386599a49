#!/usr/bin/env python3
"""How long reading a cluster state takes and how much memory, JSON and YAML.

    loading.py [--nodes N] [--pods N …]

Prints a table in Markdown: per number of running pods, the same state in both forms. Each is read
in a process of its own; `s` is processor time, `MiB` what the process takes at most, `bytes per
object` what it takes more than one that reads nothing.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from machine import describe

HERE = Path(__file__).parent
KIB, MB = 1024, 1_000_000


def read(path: str) -> dict[str, Any]:
    """The measurements of this process. path: "" to read nothing."""
    from ksched_cli.cluster.loading.load import load_state

    start = time.process_time()
    state = load_state([path]) if path else None
    seconds = time.process_time() - start
    objects = len(state.nodes) + len(state.pods) if state else 0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * KIB
    return {"seconds": seconds, "objects": objects, "peak": peak}


def read_in_subprocess(path: str) -> dict[str, Any]:
    command = [sys.executable, __file__, "--read", path]
    process = subprocess.run(command, capture_output=True, text=True, check=True)
    measurements: dict[str, Any] = json.loads(process.stdout)
    return measurements


def make(folder: Path, nodes: int, pods: int) -> Path:
    path = folder / f"{pods}.json"
    command = [sys.executable, str(HERE / "make_state.py"), "mixed", str(nodes), "0"]
    with path.open("w") as file:
        subprocess.run([*command, "--bound", str(pods)], stdout=file, check=True)
    return path


def as_yaml(path: Path) -> Path:
    """The same state in YAML, as kubectl writes a list."""
    yaml_path = path.with_suffix(".yaml")
    # In a process of its own: what this one takes would count as its subprocesses' peak.
    subprocess.run([sys.executable, __file__, "--convert", str(path), str(yaml_path)], check=True)
    return yaml_path


def convert(path: Path, yaml_path: Path) -> None:
    import yaml

    with yaml_path.open("w") as file:
        file.write("apiVersion: v1\nitems:\n")
        for item in json.loads(path.read_text())["items"]:
            yaml.dump([item], file, Dumper=yaml.CSafeDumper)
        file.write("kind: List\n")


def row(path: Path, baseline: dict[str, Any]) -> str:
    result = read_in_subprocess(str(path))
    size = path.stat().st_size
    per_object = (result["peak"] - baseline["peak"]) / result["objects"]
    return " | ".join(
        (
            path.suffix[1:].upper(),
            f"{result['objects']}",
            f"{size / MB:.0f}",
            f"{result['seconds']:.2f}",
            f"{size / MB / result['seconds']:.0f}",
            f"{result['seconds'] / result['objects'] * 1e6:.1f}",
            f"{result['peak'] / KIB / KIB:.0f}",
            f"{per_object:.0f}",
        )
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--nodes", type=int, default=5000)
    parser.add_argument("--pods", type=int, nargs="+", default=[10_000, 150_000])
    parser.add_argument("--read", help=argparse.SUPPRESS)
    parser.add_argument("--convert", type=Path, nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.read is not None:
        print(json.dumps(read(options.read)))
        return
    if options.convert:
        convert(*options.convert)
        return
    print(f"{describe()}\n")
    print("| form | objects | MB | s | MB/s | µs per object | MiB | bytes per object |")
    print("| --- " * 8 + "|")
    baseline = read_in_subprocess("")
    with tempfile.TemporaryDirectory() as name:
        for pods in options.pods:
            path = make(Path(name), options.nodes, pods)
            print(f"| {row(path, baseline)} |", flush=True)
            print(f"| {row(as_yaml(path), baseline)} |", flush=True)


if __name__ == "__main__":
    main()
