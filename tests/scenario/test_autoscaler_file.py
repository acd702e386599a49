"""Files of kind Autoscaler."""

from __future__ import annotations

from pathlib import Path

import pytest

from ksched_cli.errors import InputError
from ksched_cli.scenario.node_groups import AutoscalerSettings, Expander, ScaleDown, read_autoscaler
from tests.replays import node, state_of

HEADER = "apiVersion: ksched/v1\nkind: Autoscaler\n"
SECOND = 1_000_000


def read(folder: Path, text: str) -> AutoscalerSettings:
    path = folder / "autoscaler.yaml"
    path.write_text(HEADER + text)
    return read_autoscaler(str(path), state_of(folder, node("worker-1", "4")))


def test_what_is_not_given_is_as_in_the_cluster_autoscaler(tmp_path: Path) -> None:
    settings = read(tmp_path, "nodeGroups: [{name: g, like: worker-1, maxSize: 5}]")
    (group,) = settings.groups
    assert (group.min_size, group.max_size, group.template.name) == (0, 5, "worker-1")
    assert group.provisioning_delay == 120 * SECOND
    assert settings.scan_interval == 10 * SECOND
    assert settings.expanders == (Expander.LEAST_WASTE,)
    assert settings.expendable_pods_priority_cutoff == -10
    assert settings.scale_down == ScaleDown(
        enabled=True,
        unneeded_time=600 * SECOND,
        utilization_threshold=0.5,
        delay_after_add=600 * SECOND,
        max_empty_bulk_delete=10,
    )


def test_times_are_seconds_or_durations(tmp_path: Path) -> None:
    settings = read(
        tmp_path,
        "scanInterval: 30\nscaleDown: {unneededTime: 1h30m, delayAfterAdd: 0}\n"
        "nodeGroups: [{name: g, like: worker-1, maxSize: 5, provisioningDelay: 1.5}]",
    )
    assert settings.scan_interval == 30 * SECOND
    assert settings.scale_down.unneeded_time == 5400 * SECOND
    assert settings.scale_down.delay_after_add == 0
    assert settings.groups[0].provisioning_delay == 1.5 * SECOND


def test_a_template_gets_a_name_and_a_host_name(tmp_path: Path) -> None:
    settings = read(
        tmp_path,
        "nodeGroups:\n- name: g\n  maxSize: 1\n  template:\n    metadata: {labels: {a: b}}\n"
        '    status: {capacity: {cpu: "4"}}',
    )
    new = settings.groups[0].new_node("g-7")
    assert new.metadata.labels == {"a": "b", "kubernetes.io/hostname": "g-7"}
    assert str(new.status.capacity["cpu"]) == "4"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nodeGroups: []", "nodeGroups: is empty"),
        ("nodeGroups: [{name: g, maxSize: 1}]", "expected"),
        ("nodeGroups: [{name: g, like: worker-2, maxSize: 1}]", "did you mean worker-1"),
        ("nodeGroups: [{name: g, like: worker-1, minSize: 2, maxSize: 1}]", "minSize 2 is more"),
        (
            "nodeGroups: [{name: g, like: worker-1, maxSize: 1}, {name: g, like: worker-1, "
            "maxSize: 1}]",
            'two node groups are named "g"',
        ),
        (
            "scanInterval: 5 minutes\nnodeGroups: [{name: g, like: worker-1, maxSize: 1}]",
            "expected a time such as 90s",
        ),
        (
            "scanInterval: 0.5\nnodeGroups: [{name: g, like: worker-1, maxSize: 1}]",
            "at least a second",
        ),
        (
            "scaleDown: {unneededTime: -1s}\nnodeGroups: [{name: g, like: worker-1, maxSize: 1}]",
            "not negative",
        ),
        (
            "nodeGroups: [{name: g, template: {status: {capacity: {cpu: x}}}, maxSize: 1}]",
            "quantity",
        ),
        ("nodeGroups: [{name: g, like: worker-1, maxSize: 1}]\n---\na: 1", "one document"),
    ],
)
def test_what_is_not_valid_is_told_with_its_place(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as raised:
        read(tmp_path, text)
    assert "one document" in message or raised.value.position is not None
