"""From a Run to its state and configuration."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.state import ClusterState
from ksched_cli.config.effective import Configuration
from ksched_cli.config.load import load_configuration
from ksched_cli.config.types import API_VERSION, KIND
from ksched_cli.errors import InputError
from ksched_cli.framework.cycle_state import CycleState
from ksched_cli.framework.interface import ScorePlugin
from ksched_cli.framework.nodes import NodeInfo
from ksched_cli.framework.registry import PluginEntry, Registry, make
from ksched_cli.kube.documents import load_documents
from ksched_cli.kube.versions import release_of
from ksched_cli.plugins import registry_of
from ksched_cli.run.open import CHANGED_STATES, Opener
from ksched_cli.run.run import ChangeSource, KubeconfigCluster, Patch, Run
from ksched_cli.testing import cluster, node, pod
from tests.run.runs import OBJECTS, PLUGIN
from tests.sweep.sweeps import STRATEGY, WEIGHT, write_state


def test_a_state_is_decoded_once_and_changed_on_its_own(tmp_path: Path) -> None:
    states = (str(write_state(tmp_path / "cluster.json", *OBJECTS)),)
    lines = [f"label nodes a x={number}" for number in range(CHANGED_STATES + 1)]
    runs = [Run(states=states, changes=(ChangeSource(line=line),)) for line in lines]
    opener = Opener(runs)
    base = opener.base_state(Run(states=states))
    assert all(opener.base_state(run) is base for run in runs)
    changed = [opener.state(run) for run in runs]
    labels = [next(n for n in s.nodes if n.name == "a").metadata.labels["x"] for s in changed]
    assert labels == [str(number) for number in range(CHANGED_STATES + 1)]
    assert opener.state(runs[-1]) is changed[-1], f"{CHANGED_STATES} of them are remembered"
    assert opener.state(runs[0]) is not changed[0]


def test_patches_take_effect() -> None:
    run = Run(patches=(Patch(STRATEGY, "MostAllocated"), Patch(WEIGHT, 7)))
    (profile,) = Opener().configuration(run).profiles
    assert profile.weights["NodeResourcesFit"] == 7
    assert profile.args["NodeResourcesFit"].scoring_strategy.type == "MostAllocated"


def test_a_configuration_that_kube_scheduler_refuses_is_an_error() -> None:
    run = Run(patches=(Patch(WEIGHT, 1), Patch(STRATEGY, "Fullest")))
    with pytest.raises(InputError, match=r"the default configuration with [^:]*Fullest.*: "):
        Opener().configuration(run)


def test_the_minor_is_the_runs_or_that_of_the_kubelets(tmp_path: Path) -> None:
    states = (str(write_state(tmp_path / "cluster.json", *OBJECTS)),)
    for minor, version in (("1.35", "v1.35.4"), ("", release_of().version)):
        run = Run(states=states, kubernetes_version=minor)
        assert Opener().configuration(run).release.version == version


def test_a_live_cluster_is_read_with_the_kinds_of_all_plugins(tmp_path: Path) -> None:
    code = PLUGIN.replace('name = "Last"', 'name = "Last"\n    reads = ("Door.example.com",)')
    (tmp_path / "p.py").write_text(code)
    runs = [
        Run(live=KubeconfigCluster(context="x"), plugins=plugins)
        for plugins in ((), (str(tmp_path / "p.py"),))
    ]
    reads: list[frozenset[str]] = []

    def read(named: KubeconfigCluster, kinds: frozenset[str]) -> ClusterState:
        reads.append(kinds)
        return cluster(node("a"))

    opener = Opener(runs, read_live=read)
    assert opener.base_state(runs[0]).nodes == opener.base_state(runs[1]).nodes
    (kinds,) = reads
    assert "Door.example.com" in kinds


@pytest.mark.parametrize(("workloads", "count"), [(True, 2), (False, 0)])
def test_workloads_have_their_pods(tmp_path: Path, workloads: bool, count: int) -> None:
    template = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c"}]}}
    web = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web"},
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": {"app": "web"}},
            "template": template,
        },
    }
    states = (str(write_state(tmp_path / "cluster.json", node("a"), web)),)
    assert len(Opener().base_state(Run(states=states, workloads=workloads)).pods) == count


def test_random_ties_are_those_of_the_seed(tmp_path: Path) -> None:
    objects = node("a"), node("b"), pod("p")
    states = (str(write_state(tmp_path / "cluster.json", *objects)),)
    opener = Opener()

    def placed(seed: int) -> str:
        run = Run(states=states, tie_break="random", seed=seed)
        return opener.simulation(run).run().placements["default/p"]

    nodes = [placed(seed) for seed in range(8)]
    assert set(nodes) == {"a", "b"}
    assert [placed(seed) for seed in range(8)] == nodes


# -- args of plugins ------------------------------------------------------------------------------


class Part(msgspec.Struct, forbid_unknown_fields=True):
    share: float
    count: int = 1


class Args(msgspec.Struct, rename="camel"):
    factor: float = 1.0
    limit: int = 3
    parts: list[Part] = msgspec.field(default_factory=list)
    by_name: dict[str, Part | None] = msgspec.field(default_factory=dict)
    others: Any = None


class Untyped(ScorePlugin):
    name = "Untyped"

    def score(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> int:
        return 0


class Typed(Untyped):
    name = "Typed"
    args = Args


WITH_ARGS = registry_of(release_of(), [PluginEntry.of(cls, "mine 1.0") for cls in (Typed, Untyped)])

NUMBERS = st.one_of(
    st.integers(-3, 3),
    st.integers(-(2**70), 2**70),
    st.floats(allow_nan=False, allow_infinity=False),
    st.integers(-3, 3).map(float),
)
# Among them texts that look like numbers.
TEXTS = st.one_of(st.text("ab1.-", max_size=3), NUMBERS.map(str))
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), NUMBERS, TEXTS),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)
PARTS = st.fixed_dictionaries({"share": NUMBERS | VALUES}, optional={"count": NUMBERS, "x": VALUES})
TYPED_ARGS = st.fixed_dictionaries(
    {},
    optional={
        "factor": NUMBERS | VALUES,
        "limit": NUMBERS,
        "parts": st.lists(PARTS, max_size=3),
        "byName": st.dictionaries(TEXTS, PARTS, max_size=3),
        "others": VALUES,
        "unknown": VALUES,
    },
)


def with_args(args: Any) -> dict[str, Any]:
    """A configuration with two foreign plugins of these args."""
    enabled = [{"name": name} for name in ("Typed", "Untyped")]
    profile = {
        "plugins": {"score": {"enabled": enabled}},
        "pluginConfig": [{"name": item["name"], "args": args} for item in enabled],
    }
    return {"apiVersion": API_VERSION, "kind": KIND, "profiles": [profile]}


class WithArgs(Opener):
    """Two plugins more."""

    def registry(self, run: Run) -> Registry:
        return WITH_ARGS


def patched_to(args: str, text: str) -> Configuration:
    """The configuration of a text with other args. Both are text."""
    (patch,) = load_documents(args, "sweep")
    paths = [f"profiles[0].pluginConfig[{name}].args" for name in ("Typed", "Untyped")]
    with TemporaryDirectory() as folder:
        path = Path(folder, "c")
        path.write_text(text)
        patches = tuple(Patch(path, patch["args"]) for path in paths)
        return WithArgs().configuration(Run(configuration=str(path), patches=patches))


def outcome(load: Callable[..., Configuration], *texts: Any) -> str:
    """What the plugins get, or what is wrong and at which key."""
    try:
        args = load(*texts).profiles[0].args
    except InputError as error:
        return f"{error.subject}: {error.problem} ({error.hint})"
    return repr((make(Args, args.get("Typed")), args.get("Untyped")))


@given(args=TYPED_ARGS | VALUES)
def test_args_are_the_same_in_yaml_in_json_and_after_a_patch(args: Any) -> None:
    text, base = json.dumps(with_args(args)), json.dumps(with_args({"factor": 2.5}))
    outcomes = {
        outcome(load_configuration, f"---\n{text}", "c", WITH_ARGS),
        outcome(load_configuration, text, "c", WITH_ARGS),
        outcome(patched_to, f"---\n{json.dumps({'args': args})}", f"---\n{base}"),
        outcome(patched_to, json.dumps({"args": args}), base),
    }
    assert len(outcomes) == 1


def test_a_patch_leaves_numbers_of_yaml_as_kube_scheduler_reads_them() -> None:
    assert patched_to('{"args": {}}', json.dumps({**with_args({}), "parallelism": 2})) == (
        patched_to("args: {}", f"---\n{json.dumps({**with_args({}), 'parallelism': 2.0})}")
    )
