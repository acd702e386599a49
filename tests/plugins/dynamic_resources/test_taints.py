"""Which taints of devices bar which requests."""

import pytest

from ksched_cli.cluster.objects import DeviceTaint, DeviceToleration
from ksched_cli.plugins.dynamic_resources.requests import untolerated_taint

TAINT = DeviceTaint(key="k", value="v", effect="NoSchedule")


@pytest.mark.parametrize("effect", ["NoSchedule", "NoExecute"])
def test_a_taint_bars_a_request_without_tolerations(effect: str) -> None:
    taint = DeviceTaint(key="k", effect=effect)
    assert untolerated_taint([taint], []) == taint


@pytest.mark.parametrize("effect", ["None", "Later"])
def test_other_effects_bar_nothing(effect: str) -> None:
    assert untolerated_taint([DeviceTaint(key="k", effect=effect)], []) is None


@pytest.mark.parametrize(
    ("toleration", "is_tolerated"),
    [
        (DeviceToleration(key="k", value="v"), True),
        (DeviceToleration(key="k", value="other"), False),
        (DeviceToleration(key="k", operator="", value="v"), True),
        (DeviceToleration(key="k", operator="Exists"), True),
        (DeviceToleration(operator="Exists"), True),
        (DeviceToleration(key="other", operator="Exists"), False),
        (DeviceToleration(key="k", operator="Exists", effect="NoExecute"), False),
        (DeviceToleration(key="k", operator="Exists", effect="NoSchedule"), True),
        (DeviceToleration(key="k", operator="Lt", value="v"), False),
    ],
)
def test_tolerations(toleration: DeviceToleration, is_tolerated: bool) -> None:
    assert (untolerated_taint([TAINT], [toleration]) is None) is is_tolerated


def test_every_taint_must_be_tolerated() -> None:
    second = DeviceTaint(key="second", effect="NoExecute")
    assert untolerated_taint([TAINT, second], [DeviceToleration(key="k", value="v")]) == second
