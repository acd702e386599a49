"""What plugins of one attempt hand on to each other."""

import pytest

from ksched_cli.framework.cycle_state import CycleState
from ksched_cli.framework.status import PluginError


class Counter:
    def __init__(self, count: int = 0) -> None:
        self.count = count

    def clone(self) -> "Counter":
        return Counter(self.count)


def test_what_was_not_written_cannot_be_read() -> None:
    with pytest.raises(PluginError, match='reading "key" from cycleState: not found'):
        CycleState().read("key")


def test_a_clone_has_its_own_copy_of_what_can_be_cloned_and_shares_the_rest() -> None:
    state = CycleState()
    state.write("counter", Counter(1))
    state.write("list", [1])
    twin = state.clone()
    twin.read("counter").count += 1
    twin.write("more", 1)
    assert state.read("counter").count == 1
    assert twin.read("list") is state.read("list")
    assert "more" not in state.data


def test_the_last_note_of_a_name_holds() -> None:
    state = CycleState()
    assert state.notes is None
    state.note("GPU", [0])
    state.note("GPU", [0, 3])
    assert state.notes == {"GPU": [0, 3]}
