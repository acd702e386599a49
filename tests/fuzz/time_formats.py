"""What happens over time: timelines, autoscalers, traces."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from corpora import autoscaler_corpus, timeline_corpus
from format import DAY, JSON, REPLAY, Arguments, Format, encoded, of_documents, singly
from own_state import own_state
from state_formats import beside_states
from substitutes import cell_variants

from ksched_cli.kube.versions import NEWEST


def _timeline_commands(file: str, folder: Path) -> Sequence[Arguments]:
    state = ("--state", str(folder / "own.json"))
    return (
        ("replay", file, *state, *JSON), ("replay", file, *state, *JSON, "--trace"),
        ("replay", file, *state, "-o", "csv", "--usage"), ("replay", file, *state, "-o", "html"),
        ("compare", "--timeline", file, *state, *JSON),
        ("replay", file, *state, *JSON, "--kubernetes-version", NEWEST,
         "--save-state", str(folder / "end.json")),
    )  # fmt: skip


def _timelines() -> Iterator[Any]:
    yield from timeline_corpus()
    (day,) = timeline_corpus()
    head = {key: day[key] for key in ("apiVersion", "kind", "start", "templates")}
    for manifest in own_state():
        yield {**head, "until": 100, "events": [{"at": 1, "put": manifest},
                                                {"at": 2,
                                                "change": {"apply": [manifest]}}]}  # fmt: skip
    target = {"kind": "Pod", "namespace": "default", "name": "web-1"}
    yield {**head, "events": [{"at": 1.5, "delete": target, "gracePeriod": 3}]}
    by_node = {"label": "gpu", "seconds": {"a": 5, "b": 2.5}, "otherwise": 9}
    pod = {"metadata": {"name": "own"}, "spec": {"containers": [{"name": "c"}]}}
    yield {**head, "events": [{"at": 1, "pod": pod, "runsFor": by_node, "restartOverhead": 2}]}


def _timeline_lines() -> Iterator[Sequence[Any]]:
    for document in _timelines():
        head = {key: value for key, value in document.items() if key != "events"}
        yield [head, *sorted(document["events"], key=lambda event: str(event["at"]))]


def _autoscalers() -> Iterator[Any]:
    yield from autoscaler_corpus()
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"taints": []},
                "status": {"capacity": {"cpu": "8", "pods": "20"}}}  # fmt: skip
    group = {"name": "g", "template": template, "maxSize": 3, "minSize": 1, "priority": 2,
             "nodeSelector": {"a": "b"}, "provisioningDelay": 60}  # fmt: skip
    down = {"enabled": True, "unneededTime": "1m", "utilizationThreshold": 0.4,
            "delayAfterAdd": 60, "maxEmptyBulkDelete": 2}  # fmt: skip
    yield {"apiVersion": "ksched/v1", "kind": "Autoscaler", "nodeGroups": [group],
           "scanInterval": "20s", "expanders": ["priority", "most-pods"], "maxNodesTotal": 9,
           "expendablePodsPriorityCutoff": -5, "skipNodesWithSystemPods": False,
           "skipNodesWithLocalStorage": False, "scaleDown": down}  # fmt: skip


def _autoscaler_commands(file: str, folder: Path) -> Sequence[Arguments]:
    files = ("--state", str(REPLAY / "cluster.yaml"), "--autoscaler", file)
    return (("replay", DAY, *files, *JSON), ("replay", DAY, *files, "-o", "html"),
            ("compare", "--timeline", DAY, *files, *JSON))  # fmt: skip


TRACE = [
    [
        "name",
        "namespace",
        "created",
        "scheduled",
        "ended",
        "cpu",
        "gpu",
        "priority",
        "model",
        "team",
    ],
    ["a", "ns", "0", "1", "50", "100", "1", "5", "x|y", "t"],
    ["b", "", "2026-01-01T00:00:00Z", "", "2026-01-02T00:00:00Z", "2", "", "", "", ""],
]


def _trace_commands(file: str, folder: Path) -> Sequence[Arguments]:
    columns = ("--created", "created", "--request", "cpu=cpu:m", "--request", "nvidia.com/gpu=gpu",
               "--name", "name", "--namespace", "namespace", "--priority", "priority",
               "--node-selector", "m=model", "--label", "team=team")  # fmt: skip
    out = str(folder / "out.jsonl")
    times = ("--scheduled", "scheduled", "--ended", "ended")
    events = ("--event", "model", "--event-type", "submit=x|y", "--event-type", "end=0",
              "--duration-default", "forever", "--empty", "1")  # fmt: skip
    by_node = ("--duration-on", "gpu=a=ended", "--duration-on", "gpu=b=cpu", "--restart-overhead",
               "5", "--annotate-run-times")  # fmt: skip
    return (("timeline", "from-csv", file, *columns, *times, "--to", out),
            ("timeline", "from-csv", file, *columns, *events),
            ("timeline", "from-csv", file, *columns, *by_node),
            ("timeline", "from-csv", file, *columns, "--duration", "ended", "--time-unit",
                "ms"))  # fmt: skip


FORMATS = (
    Format("timeline", "input.json", singly(_timelines), _timeline_commands, beside_states),
    Format("timeline in lines", "input.jsonl", of_documents(_timeline_lines), _timeline_commands,
           beside_states),
    Format("autoscaler", "input.json", singly(_autoscalers), _autoscaler_commands),
    Format("trace", "trace.csv", lambda: encoded(cell_variants(TRACE)), _trace_commands),
)  # fmt: skip
