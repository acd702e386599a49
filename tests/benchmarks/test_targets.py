"""The table of the ratios aimed at: which pods are taken, and which ratios are marked."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def targets(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    spec = importlib.util.spec_from_file_location("targets", BENCHMARKS / "targets.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Dataclasses look up their module.
    monkeypatch.setitem(sys.modules, "targets", module)
    spec.loader.exec_module(module)
    return module


def test_every_nth_pending_pod_is_taken_and_all_else_stays(targets: ModuleType) -> None:
    pods = [{"kind": "Pod", "metadata": {"name": f"p{i}"}, "spec": {}} for i in range(6)]
    running = {"kind": "Pod", "metadata": {"name": "r"}, "spec": {"nodeName": "n"}}
    node = {"kind": "Node", "metadata": {"name": "n"}}
    items = targets.thinned({"items": [node, *pods, running]}, 3)["items"]
    assert [item["metadata"]["name"] for item in items] == ["n", "p0", "p2", "p4", "r"]


@pytest.mark.parametrize(("rate", "cell"), [(100, "10.0"), (99, "**9.9**")])
def test_a_ratio_below_the_target_is_marked(targets: ModuleType, rate: int, cell: str) -> None:
    work = targets.Work("basic", 10, 0, None)
    ours = {"nodes": 5, "pods": 7, "podsPerSecond": rate}
    line = targets.row(work, ours, {"podsPerSecond": 10})
    assert line == f"| basic | 5 | 7 | adaptive | {rate} | 10 | {cell} | 10 |"


def test_a_short_run_has_the_same_works(targets: ModuleType) -> None:
    def names(short: bool) -> list[tuple[str, float, int]]:
        return [(work.name, work.target, work.percentage) for work in targets.kinds(short)]

    assert names(True) == names(False)
