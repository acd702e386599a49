"""What a file of kind Sweep says."""

from pathlib import Path
from typing import Any

import pytest

from ksched_cli.errors import InputError
from ksched_cli.run.run import ChangeSource, Run
from ksched_cli.sweep.sweep_file import read_sweep
from tests.sweep.sweeps import sweep_file, write_sweep

SCENARIO = "apiVersion: ksched/v1\nkind: Scenario\nchanges: [cordon a, cordon b]\n"


def runs(folder: Path, **fields: Any) -> list[Run]:
    return list(sweep_file(folder, Run(), **fields).plan.runs())


def test_paths_are_relative_to_the_file_and_names_are_for_people(tmp_path: Path) -> None:
    file = sweep_file(
        tmp_path,
        states=["a.json", {"name": "both", "files": ["a.json", "b.json"]}],
        configurations=["x.yaml#one", {"name": "default"}],
        combine="zip",
    )
    first, second = file.plan.runs()
    assert (first.states, first.configuration) == (
        (f"{tmp_path}/a.json",),
        f"{tmp_path}/x.yaml#one",
    )
    assert second.states == (f"{tmp_path}/a.json", f"{tmp_path}/b.json")
    assert second.configuration == ""
    parameters = [file.plan.parameters(indexes) for indexes in file.plan.indexes()]
    assert [each["state"] for each in parameters] == ["a.json", "both"]
    assert [each["configuration"] for each in parameters] == ["x.yaml#one", "default"]


def test_what_the_file_leaves_out_is_as_the_options_say(tmp_path: Path) -> None:
    base = Run(
        plugins=("p.py",), kubernetes_version="1.35", feature_gates="A=true", workloads=False
    )
    (run,) = sweep_file(tmp_path, base).plan.runs()
    assert run == Run(
        states=(f"{tmp_path}/cluster.json",),
        plugins=("p.py",),
        kubernetes_version="1.35",
        feature_gates="A=true",
        workloads=False,
    )


def test_seeds_are_a_number_or_a_list(tmp_path: Path) -> None:
    for seeds, listed in ((3, [0, 1, 2]), ([7, 9], [7, 9])):
        drawn = runs(tmp_path, seeds=seeds)
        assert [(run.tie_break, run.seed) for run in drawn] == [("random", seed) for seed in listed]


def test_changes_are_lines_lists_and_scenarios(tmp_path: Path) -> None:
    (tmp_path / "night.yaml").write_text(SCENARIO)
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "x"}}
    changes = [
        {"name": "nothing"},
        "drain a",
        {"name": "two", "changes": ["cordon a", {"apply": node}]},
        {"name": "night", "scenario": "night.yaml"},
    ]
    folder = str(tmp_path)
    assert [run.changes for run in runs(tmp_path, changes=changes)] == [
        (),
        (ChangeSource(line="drain a", folder=folder),),
        (ChangeSource(line="cordon a", folder=folder), ChangeSource(apply=node)),
        (ChangeSource(scenario=f"{tmp_path}/night.yaml"),),
    ]


def test_plugins_that_are_files_are_relative_to_the_file_too(tmp_path: Path) -> None:
    plugins: list[Any] = [[], "p.py:P", ["q.py", "package.module:Q"]]
    assert [run.plugins for run in runs(tmp_path, plugins=plugins)] == [
        (),
        (f"{tmp_path}/p.py:P",),
        (f"{tmp_path}/q.py", "package.module:Q"),
    ]


def test_prices_are_in_the_form_of_the_option_or_files_beside_the_file(tmp_path: Path) -> None:
    both = {"name": "both", "prices": ["pool=spot=0.3", "prices.yaml"]}
    prices: list[Any] = ["a=1", "prices.yaml", both]
    file = sweep_file(tmp_path, Run(), timelines=["week.jsonl"], prices=prices)
    assert [run.prices for run in file.plan.runs()] == [
        ("a=1",),
        (f"{tmp_path}/prices.yaml",),
        ("pool=spot=0.3", f"{tmp_path}/prices.yaml"),
    ]
    parameters = [file.plan.parameters(indexes) for indexes in file.plan.indexes()]
    assert [each["prices"] for each in parameters] == ["a=1", "prices.yaml", "both"]


def test_timelines_and_autoscalers_are_paths_or_none(tmp_path: Path) -> None:
    timelines = ["week.jsonl", {"name": "long", "file": "year.jsonl"}]
    autoscalers = ["none", "groups.yaml"]
    file = sweep_file(tmp_path, Run(), timelines=timelines, autoscalers=autoscalers)
    assert [(run.timeline, run.autoscaler) for run in file.plan.runs()] == [
        (f"{tmp_path}/{timeline}", autoscaler and f"{tmp_path}/{autoscaler}")
        for timeline in ("week.jsonl", "year.jsonl")
        for autoscaler in ("", "groups.yaml")
    ]
    parameters = [file.plan.parameters(indexes) for indexes in file.plan.indexes()]
    assert [(each["timeline"], each["autoscaler"]) for each in parameters] == [
        (timeline, autoscaler)
        for timeline in ("week.jsonl", "long")
        for autoscaler in (None, "groups.yaml")
    ]


@pytest.mark.parametrize(
    ("field", "values", "attribute", "expected"),
    [
        ("featureGates", ["", "A=true"], "feature_gates", ["", "A=true"]),
        ("namespace", "shop", "namespace", ["shop"]),
        ("until", ["6h", 90], "until", ["6h", "90"]),
        ("evictAtOnce", True, "evict_at_once", [True]),
        ("noPreemption", [False, True], "preemption", [True, False]),
        ("noRetries", True, "retries", [False]),
        ("noWorkloads", [True], "workloads", [False]),
        ("noExtenders", True, "extenders", [False]),
        ("noCache", True, "cache", [False]),
        ("pluginTimeout", [0, 2.5], "plugin_timeout", [0, 2.5]),
    ],
)
def test_a_setting_is_a_value_or_a_list_and_in_the_rows(
    field: str, values: Any, attribute: str, expected: list[Any], tmp_path: Path
) -> None:
    plan = sweep_file(tmp_path, Run(), timelines=["t.yaml"], **{field: values}).plan
    assert [getattr(run, attribute) for run in plan.runs()] == expected
    listed = values if isinstance(values, list) else [values]
    rows = [plan.parameters(indexes)[field] for indexes in plan.indexes()]
    assert rows == ([str(value) for value in listed] if field == "until" else listed)


def test_recordings_are_relative_to_the_file(tmp_path: Path) -> None:
    (run,) = runs(tmp_path, replayExtenders="calls.jsonl")
    assert run.replay_extenders == f"{tmp_path}/calls.jsonl"


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"states": ["a.json", "a.json"]}, '"a.json" appears twice'),
        ({"timelines": ["t", "t"]}, '"t" appears twice'),
        ({"patches": [{"path": "x", "values": [1]}] * 2}, '"x" appears twice'),
        ({"patches": [{"path": "a b", "values": [1]}]}, r"patches\[0\]\.path"),
        ({"changes": [{"name": "x", "scenario": "y", "changes": []}]}, "keep one of them"),
        ({"changes": ["cordon a", "dran a"]}, r"changes\[1\]: .*did you mean drain"),
        (
            {"changes": [{"name": "x", "changes": ["dran a"]}]},
            r"changes\[0\]\.changes\[0\]: .*drain",
        ),
        ({"seed": 3}, 'seed: unknown key "seed"\n  did you mean "seeds"'),
        ({"seeds": 0}, "seeds"),
        ({"seeds": []}, "seeds"),
        ({"metrics": {"pending": "less"}}, "metrics.pending"),
        ({"autoscalers": ["none"]}, "autoscalers: requires `timelines`"),
        ({"until": "6h"}, "until: requires `timelines`"),
        ({"evictAtOnce": [False, True]}, "evictAtOnce: requires `timelines`"),
        ({"timelines": "t.yaml"}, "timelines: expected a list"),
        ({"noPreemption": "yes"}, "noPreemption"),
        ({"pluginTimeout": -1}, "pluginTimeout"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(
    fields: dict[str, Any], problem: str, tmp_path: Path
) -> None:
    path = write_sweep(tmp_path, **fields)
    with pytest.raises(InputError, match=rf"sweep\.yaml:1:\d+: .*{problem}"):
        read_sweep(str(path), Run())


def test_another_kind_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="kind: Sweep"):
        read_sweep(str(write_sweep(tmp_path, kind="Tune")), Run())
