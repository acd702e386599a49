"""Plugins of pod groups are named from their minor on, and off by default."""

from ksched_cli.kube.versions import MINORS, release_of
from ksched_cli.plugins import registry_of


def test_they_are_there_from_their_minor_on_and_off() -> None:
    gang = [registry_of(release_of(minor)).get("GangScheduling") for minor in MINORS]
    counts = [registry_of(release_of(minor)).get("PodGroupPodsCount") for minor in MINORS]
    assert [entry is not None for entry in gang] == [False, True, True]
    assert [entry is not None for entry in counts] == [False, False, True]
    assert not any(entry.enabled_by_default for entry in (*gang, *counts) if entry)
    assert ["reserve" in entry.points for entry in gang if entry] == [True, False]
    assert [entry.load().__name__ for entry in (gang[-1], counts[-1]) if entry] == [
        "GangScheduling",
        "PodGroupPodsCount",
    ]
