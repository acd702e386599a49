"""Command lines."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from corpora import EXAMPLES
from format import DAY, REPLAY, Arguments, Format, Variants, encoded
from state_formats import beside_states
from substitutes import TOKENS, token_variants

# STATE, CONFIG and the like stand for files; all of the root is not read.
FILES = {
    "STATE": "own.json", "EVENTS": "t.jsonl", "OUT": "out.json", "EXTENDED": "extended.json",
    "CONFIG": str(EXAMPLES / "what-if" / "packing.yaml"), "DAY": DAY,
    "REPLAYED": str(REPLAY / "cluster.yaml"),
    "SCALING": str(REPLAY / "autoscaler.yaml"),
    "SWEEP": str(EXAMPLES / "sweep" / "sweep.yaml"),
    "EXPECTED": str(EXAMPLES / "what-if" / "expectations.yaml"),
    "RECORDED": "calls.jsonl", "POD": "pod.json", "TRACE": "trace.csv",
}  # fmt: skip
LINES = (
    "schedule --state STATE --config CONFIG -o json --trace web-1 -n default",
    "schedule --state STATE --tie-break random --seed 3 --feature-gates DRAAdminAccess=true",
    "schedule --state STATE --config EXTENDED --record-extenders OUT --plugin-timeout 5",
    "schedule --state STATE --config EXTENDED --replay-extenders RECORDED",
    "schedule --state STATE --kubernetes-version 1.35 --no-retries",
    "explain web-1 --state STATE --node n0 --top 3 -o json",
    "preempt default/web-1 --state STATE --all-candidates -o json",
    "capacity web-1 --state STATE --max 5 -o wide",
    "capacity -f POD --state STATE --max 3 -o name",
    "capacity --pending --like n0 --state STATE",
    "compare --config CONFIG --state STATE --vs --kubernetes-version 1.36 --no-retries",
    "drift --state STATE -o html",
    "audit --before STATE --after STATE --scheduler-log EVENTS",
    "replay EVENTS --state STATE --save-state OUT --tie-break random --seed 1 -o csv --usage",
    "replay DAY --state REPLAYED --autoscaler SCALING",
    "snapshot OUT --state STATE --redact-key KEY",
    "test EXPECTED -o junit",
    "sweep SWEEP --rows rows.jsonl --retries 2 --run-timeout 5 --dry-run",
    "validate CONFIG --allow-plugins A=filter+score,B -o github",
    "validate --explain weight-zero",
    "config diff CONFIG EXTENDED -o yaml",
    "plugins -o name --kubernetes-version 1.36",
    "timeline from-dump STATE --to out.jsonl",
    "timeline generate POD=2 --pods 4 --days 1 --arrivals burst:3 --runs-for fixed:9 --seed 1",
    "timeline generate POD --pods 4 --runs-for lognormal:1:2 --priority 3=1 --priority 5",
    "timeline from-csv TRACE --created t --request cpu=c:m --time-unit ms --start 2026-01-01",
    "timeline from-csv TRACE --created t --request cpu=c --ended e --scheduled s --label a=l",
    "timeline from-csv TRACE --created t --request cpu=c --event e --event-type end=1 --name {s}",
    "timeline from-csv TRACE --created t --request cpu=c --duration-on a=b=s --empty 0",
    "timeline from-csv TRACE --created t --request cpu=c --throughputs a=F --work e",
)  # fmt: skip


def _variants() -> Variants:
    """No process is given null bytes."""
    return encoded(token_variants(LINES, [each for each in TOKENS if each not in ("/", "\x00")]))


def _commands(file: str, folder: Path) -> Sequence[Arguments]:
    line = Path(file).read_bytes().decode("utf-8", "surrogatepass")
    arguments = []
    for argument in line.split(" "):
        name, sign, rest = argument.partition("=")
        arguments.append(f"{FILES.get(name, name)}{sign}{rest}")
    return (tuple(arguments),)


def _prepare(folder: Path) -> None:
    beside_states(folder)
    containers = [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}}
    (folder / "pod.json").write_text(json.dumps({**pod, "spec": {"containers": containers}}))
    (folder / "trace.csv").write_text("t,c,e,s,l\n0,1,5,1,x\n")
    (folder / "calls.jsonl").write_text("")


FORMATS = (Format("command line", "line", _variants, _commands, _prepare),)
