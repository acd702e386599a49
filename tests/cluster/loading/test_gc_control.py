"""Cyclic garbage collection is paused or rare, and afterwards as it was."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from time import sleep
from weakref import ref

import pytest

from ksched_cli.cluster.loading import gc_control
from ksched_cli.cluster.loading.gc_control import RARE, gc_paused, gc_rare

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def restored(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Whether somebody has frozen objects is asked again, and blocks are counted at once."""
    monkeypatch.setattr(RARE, "others", False)
    monkeypatch.setattr(RARE, "count_at", 0.0)
    enabled, threshold = gc.isenabled(), gc.get_threshold()
    yield
    (gc.enable if enabled else gc.disable)()
    gc.set_threshold(*threshold)


@pytest.fixture
def thawed() -> Iterator[None]:
    """Nothing is frozen; afterwards the tests are again."""
    gc.unfreeze()
    yield
    gc.freeze()


@pytest.mark.parametrize("enabled", [True, False])
def test_collection_is_off_while_paused_and_then_as_before(enabled: bool) -> None:
    (gc.enable if enabled else gc.disable)()
    with gc_paused():
        assert not gc.isenabled()
    assert gc.isenabled() is enabled


def test_collection_resumes_after_an_error() -> None:
    gc.enable()
    with pytest.raises(KeyError), gc_paused():
        raise KeyError
    assert gc.isenabled()


@pytest.mark.usefixtures("thawed")
def test_what_was_made_meanwhile_counts_as_old() -> None:
    gc.enable()
    with gc_paused():
        lists = [[number] for number in range(10_000)]
    youngest = {id(each) for each in gc.get_objects(generation=0)}
    assert not youngest.intersection(map(id, lists))


@pytest.mark.parametrize(("youngest", "during"), [(700, 100_000), (200_000, 200_000), (0, 0)])
def test_the_threshold_is_raised_but_never_lowered_or_switched_on(
    youngest: int, during: int
) -> None:
    gc.set_threshold(youngest, 10, 10)
    with gc_rare():
        assert gc.get_threshold() == (during, 10, 10)
    assert gc.get_threshold() == (youngest, 10, 10)


@pytest.mark.usefixtures("thawed")
def test_what_is_there_before_is_left_out_of_collections_meanwhile() -> None:
    before = gc.get_freeze_count()
    with gc_rare():
        frozen = gc.get_freeze_count()
        assert frozen > before
        with gc_rare():
            pass
        assert before < gc.get_freeze_count() <= frozen  # threads may end some
    assert gc.get_freeze_count() <= before


@pytest.mark.parametrize("enabled", [True, False])
def test_garbage_of_many_runs_does_not_fill_the_memory(
    enabled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Cycle:
        def __init__(self) -> None:
            self.own = self

    (gc.enable if enabled else gc.disable)()
    monkeypatch.setattr(gc_control, "_MORE_BLOCKS", -2 * sys.getallocatedblocks())
    garbage = ref(Cycle())
    with gc_rare():
        pass
    assert (garbage() is None) is enabled


def test_blocks_are_not_counted_after_each_of_many_small_runs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    count = 0

    def blocks() -> int:
        nonlocal count
        count += 1
        sleep(0.05)
        return 0

    gc.enable()
    monkeypatch.setattr(sys, "getallocatedblocks", blocks)
    for _ in range(50):
        with gc_rare():
            pass
    assert 0 < count < 10


@pytest.mark.usefixtures("thawed")
def test_objects_that_somebody_else_froze_stay_frozen() -> None:
    gc.freeze()
    before = gc.get_freeze_count()
    for _ in range(2):
        with gc_rare():
            assert gc.get_freeze_count() <= before
        assert 0 < gc.get_freeze_count() <= before
